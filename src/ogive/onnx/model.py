"""A loaded model: a function on arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, overload

import numpy as np
from onnx import ModelProto

from ogive._native import ModelCall, inherit_vectorcall
from ogive.common import forking
from ogive.common.contracts import checked
from ogive.device_names import device_of
from ogive.devices.device_plan import Device
from ogive.errors import ArgumentError, OutputError, ParameterError, ShapeError, described, message
from ogive.onnx.arguments import check_order, checked_inputs, named
from ogive.onnx.checked_graph import CheckedGraph, ValueInfo
from ogive.onnx.delivery import Delivery
from ogive.onnx.files import About, Home, about_model
from ogive.onnx.function_calls import MOST_EXPANDED_NODES
from ogive.onnx.lazy import map_blocks
from ogive.onnx.loading import graph_of
from ogive.onnx.on_device import DeviceRunner
from ogive.onnx.outline import outline
from ogive.onnx.partition import Computes, PartialModel
from ogive.onnx.reading import memory_for_messages, read_model, without_data
from ogive.onnx.runner import Ran, Runner
from ogive.runtime.free_memory import available_memory

#: The caller's arrays at the places of outputs, None for those without; empty where no array is given.
Targets = tuple[np.ndarray | None, ...]

Source = str | os.PathLike[str] | bytes | ModelProto


@overload
def load(
    model: Source,
    *,
    fuse: bool = ...,
    memory_limit: int | None = ...,
    node_limit: int = ...,
    accuracy: str | None = ...,
    device: Any = ...,
    partial: Literal[False] = ...,
) -> Model: ...


@overload
def load(
    model: Source,
    *,
    fuse: bool = ...,
    memory_limit: int | None = ...,
    node_limit: int = ...,
    accuracy: str | None = ...,
    device: None = ...,
    partial: Literal[True] | Callable[[ModelProto], Computes],
) -> PartialModel: ...


@overload
def load(
    model: Source,
    *,
    fuse: bool = ...,
    memory_limit: int | None = ...,
    node_limit: int = ...,
    accuracy: str | None = ...,
    device: Any = ...,
    partial: bool,
) -> Model | PartialModel: ...


def load(
    model: Source,
    *,
    fuse: bool = True,
    memory_limit: int | None = None,
    node_limit: int = MOST_EXPANDED_NODES,
    accuracy: str | None = None,
    device: Any = None,
    partial: bool | Callable[[ModelProto], Computes] = False,
) -> Model | PartialModel:
    """Load an ONNX model: a path, the bytes of a file, or an ``onnx.ModelProto``.

    Everything is checked here: a model that loads contains only operators, versions and types that Ogive
    has. ``fuse=False`` computes node by node; the results have the same bits. ``memory_limit`` is how many
    bytes the arrays of a run may have, for models that are not trusted; without it, as much as
    this process may use when the model is loaded. ``node_limit`` is how many nodes the functions of a model may stand for: a small file could stand for
    billions. ``accuracy`` is the contract of element-wise nodes: "exact", or "fast" (docs/accuracy.md); without it, the
    one of the process.

    With ``device="opencl:0"``, or what `ogive.device` gives, kernels run on that device, with the same bits: its arrays in,
    its arrays out, and nothing between two kernels goes to the host. NumPy's arrays are copied there, and results back.
    Nodes without a kernel there, such as TopK and losses of labels, are computed by the host between two copies:
    `Model.ran` names them. The first run for new shapes refuses nodes whose shape follows from values, such as NonZero.

    ``partial=True`` also takes models with nodes that Ogive does not have: ONNX Runtime computes those, and the result
    is a `PartialModel`. A function in its place gets each such part, an ``onnx.ModelProto``, and returns what computes
    it: a function from arrays by name to arrays by name.

    Raises ModelError for damaged or contradictory models; UnsupportedError for operators, opsets and types that Ogive
    does not have; ParameterError for a limit or a contract without meaning; OSError where a file cannot be read.

    >>> from onnx import helper, TensorProto
    >>> x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])
    >>> y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])
    >>> graph = helper.make_graph([helper.make_node("Celu", ["x"], ["y"], alpha=1.5)], "example", [x], [y])
    >>> opset = helper.make_opsetid("", 12)
    >>> celu = ogive.onnx.load(helper.make_model(graph, opset_imports=[opset], ir_version=8))
    >>> celu
    <model: (x: float32[N]) -> (y: float32[N])>
    >>> celu(x=np.float32([-1.0, 2.0]))
    array([-0.7298743,  2.       ], dtype=float32)
    """
    contract = checked("ogive.onnx.load", accuracy)
    if partial is not False:
        if device is not None:
            what = "device and partial were given"
            raise ArgumentError(message("ogive.onnx.load", what, "one of them", "Load the parts of ogive.onnx.split"))

        def load_part(part: ModelProto) -> Callable[..., Any]:
            return _loaded(part, None, "part", fuse, memory_limit, node_limit, contract, None).run

        return PartialModel(model, load_part, partial)
    place = None if device is None else device_of("ogive.onnx.load", device)
    with memory_for_messages():
        return _loaded(*read_model(model), fuse, memory_limit, node_limit, contract, place)


def _loaded(
    proto: ModelProto,
    home: Home | None,
    name: str,
    fuse: bool,
    memory_limit: int | None,
    node_limit: int,
    accuracy: str,
    device: Device | None,
    initialisers: dict[str, np.ndarray] | None = None,
) -> Model:
    """The model of a file; with ``initialisers``, of one whose data has been read."""
    limit = memory_limit
    if limit is None:
        limit = available_memory() if device is None else device.memory
    if not isinstance(limit, int) or limit < 1:
        what = f"memory_limit is {memory_limit!r}"
        raise ParameterError(message("ogive.onnx.load", what, "a whole number of bytes from 1 on, or None"))
    if not isinstance(node_limit, int) or node_limit < 0:
        what = f"node_limit is {node_limit!r}"
        raise ParameterError(message("ogive.onnx.load", what, "a whole number from 0 on"))
    graph = graph_of(proto, home, name, node_limit=node_limit, initialisers=initialisers, accuracy=accuracy)
    light = without_data(proto).SerializeToString()
    source = (light, home, name, fuse, memory_limit, node_limit, accuracy, device, graph.initialisers)
    on_device = None if device is None else DeviceRunner(graph, name, device, limit, fuse=fuse)
    about = about_model(proto)
    return Model(graph, name, fuse=fuse, memory_limit=limit, about=about, source=source, on_device=on_device)


def _unpickled(proto: bytes, *source: Any) -> Model:
    for array in source[-1].values():
        array.flags.writeable = False
    return _loaded(ModelProto.FromString(proto), *source)


@inherit_vectorcall
class Model(ModelCall):
    """A model that :func:`load` has checked. It can be called from many threads at once.

    ``model(x=array)``, ``model(array)`` and ``model({"x": array})`` are the same. The result is an array if
    the model has one output, else a tuple of arrays in the order of ``model.outputs``. `run` returns
    them by name. Results are new arrays; inputs are never written to.

    Raises ArgumentError, DTypeError and ShapeError for inputs that the model does not take, and ModelError
    or ShapeError, naming the node, where shapes inside the model turn out not to fit.
    """

    def __init__(
        self,
        graph: CheckedGraph,
        name: str,
        *,
        fuse: bool,
        memory_limit: int,
        about: About,
        source: tuple[Any, ...],
        on_device: DeviceRunner | None,
    ) -> None:
        self._on_device = on_device
        self.about = about
        self._source = source
        self._graph = graph
        self._name = name
        self._fuse = fuse
        self._memory_limit = memory_limit
        self._runners: dict[tuple[str, ...], Runner] = {}
        self._lock = forking.lock()
        self._input_names = tuple(info.name for info in graph.inputs)
        self._output_names = tuple(info.name for info in graph.outputs)
        self._set_names(self._input_names)
        self._name_set = set(self._input_names)
        self._output_set = set(self._output_names)
        # Texts are arrays that need no other check than this: each is looked at string by string.
        self._dtypes = tuple(None if info.dtype == object else info.dtype for info in graph.inputs)

    # ---- copies

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, self._source

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        proto, _, *rest = self._source  # the folder makes no difference
        return type(self).__qualname__, proto, *rest

    def __copy__(self) -> Self:
        return self  # nothing can change it

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # ---- what it is

    @property
    def inputs(self) -> tuple[ValueInfo, ...]:
        """The inputs of the model: name, type, shape, and whether it must be given."""
        return tuple(self._graph.inputs)

    @property
    def outputs(self) -> tuple[ValueInfo, ...]:
        """The outputs of the model: name, type, and the shape that it declares."""
        return tuple(self._graph.outputs)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return self._input_names

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self._output_names

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, infos)) for infos in (self._graph.inputs, self._graph.outputs))
        where = "" if self._on_device is None else f" on {self._on_device.device.name}"
        return f"<{self._name}: ({inputs}) -> ({outputs}){where}>"

    def _call(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call that none of the plans known to the native call path fits."""
        keywords = dict(keywords)
        out = keywords.pop("out", None) if "out" not in self.input_names else None
        targets = self._targets(out, self.output_names)
        results = self._results(named(self._name, self._input_names, args, keywords), self.output_names, targets)
        return results[0] if len(results) == 1 else tuple(results)

    def run(
        self,
        inputs: Mapping[str, Any],
        outputs: Sequence[str] | None = None,
        *,
        out: Mapping[str, np.ndarray] | None = None,
        delivery: Delivery | None = None,
    ) -> dict[str, Any]:
        """Compute outputs, by name; all of them, or those that are named, with only what they need.

        ``out`` has arrays that results are written to, by the names of outputs; each must have the result's type and
        shape. A ``delivery`` gives the memory for the results and is told the progress: ``ogive run`` has outputs
        computed into mapped files by it.

        >>> from onnx import parser
        >>> text = '''<ir_version: 8, opset_import: ["" : 14]>
        ...     example (float[N] x) => (float[N] y, float[N] z) { y = Relu(x)  z = Neg(y) }'''
        >>> model = ogive.onnx.load(parser.parse_model(text))
        >>> model.run({"x": np.float32([-1.0, 2.0])}, outputs=["z"])
        {'z': array([-0., -2.], dtype=float32)}
        """
        check_order(f"{self._name}, run", inputs, outputs)
        if outputs is None and delivery is None and inputs.keys() == self._name_set and self._binds_all(out):
            # By a plan of the native call path, which writes to the given arrays itself.
            bound = {} if out is None else {"out": tuple(out[name] for name in self._output_names)}
            results = self(*(inputs[name] for name in self._input_names), **bound)
            return dict(zip(self._output_names, results if len(self._output_names) > 1 else (results,), strict=True))
        names = self.output_names if outputs is None else tuple(outputs)
        known = set(self.output_names)
        for name in names:
            if not isinstance(name, str) or name not in known:
                raise ArgumentError(message(self._name, f"there is no output {name!r}", ", ".join(self.output_names)))
        wanted = set(names)
        # Outputs are computed in the model's order, each once.
        ordered = tuple(name for name in self.output_names if name in wanted)
        targets = self._targets(out, ordered)
        computed = dict(zip(ordered, self._results(inputs, ordered, targets, delivery), strict=True))
        return {name: computed[name] for name in names}

    def map_blocks(self, *args: Any, **keywords: Any) -> Any:
        """The model over Dask arrays, lazily: a Dask array for every output, computed chunk by chunk.

        Inputs are given as in a call. Chunks may cut every axis along which the nodes are element-wise; a row must lie
        in one chunk, and so must what a constant of several elements lies along. Each output is computed for itself.

        Raises ShapeError, naming the node, for chunks that cut what a node needs whole; ArgumentError for what are no
        Dask arrays of the model's types.

        >>> import dask.array as da
        >>> from onnx import parser
        >>> text = '<ir_version: 8, opset_import: ["" : 14]> example (float[N] x) => (float[N] y) { y = Relu(x) }'
        >>> model = ogive.onnx.load(parser.parse_model(text))
        >>> y = model.map_blocks(da.arange(-3, 3, chunks=2, dtype="float32"))
        >>> y
        dask.array<output, shape=(6,), dtype=float32, chunksize=(2,), chunktype=numpy.ndarray>
        >>> y.compute()
        array([0., 0., 0., 0., 1., 2.], dtype=float32)
        """
        return map_blocks(self, self._name, self._graph, named(self._name, self._input_names, args, keywords))

    def ran(self, outputs: Sequence[str] | None = None) -> Ran | None:
        """The work of the last run for these outputs (all of them by default); None before the first."""
        wanted = self.output_names if outputs is None else tuple(outputs)
        names = tuple(name for name in self.output_names if name in wanted)
        if self._on_device is not None:
            return self._on_device.ran(names)
        runner = self._runners.get(names)
        return None if runner is None else runner.ran()

    def _results(
        self,
        inputs: Mapping[str, Any],
        outputs: tuple[str, ...],
        targets: Targets,
        delivery: Delivery | None = None,
    ) -> Sequence[Any]:
        if self._on_device is not None:
            if targets or delivery is not None:
                what = f"out was given, and {self._on_device.device.name} gives new arrays"
                raise OutputError(message(self._name, what, "", "Leave out= away"))
            return self._on_device.results(inputs, outputs)
        values = checked_inputs(self._name, self._graph.inputs, self._dtypes, self._graph.defaults, inputs)
        runner = self._runners.get(outputs)
        if runner is None:
            with self._lock:
                made = Runner(
                    outline(self._graph, outputs, fuse=self._fuse),
                    self._memory_limit,
                    is_flexible=_takes_any_shape(self._graph.inputs),
                    declared=tuple(info.shape for info in self._graph.inputs),
                )
                runner = self._runners.setdefault(outputs, made)
        results, plan = runner.run(values, outputs, delivery)
        if outputs == self.output_names:
            self._publish(plan)
        return results if not targets else self._written(results, outputs, targets)

    # ---- arrays for the results

    def _binds_all(self, out: Any) -> bool:
        """Whether arrays are given for all outputs, or for none: then a call is as good as a run."""
        if out is None:
            return True
        return isinstance(out, Mapping) and out.keys() == self._output_set and "out" not in self._name_set

    def _targets(self, out: Any, outputs: tuple[str, ...]) -> Targets:
        """The caller's arrays for results, each at the place of its output. An output may be there twice."""
        if out is None:
            return ()
        if isinstance(out, Mapping):
            for name in out:
                if name not in outputs:
                    what = f"out names {name!r}, which is not computed"
                    raise ArgumentError(message(self._name, what, ", ".join(outputs)))
            arrays = tuple(map(out.get, outputs))
        else:
            arrays = out if isinstance(out, tuple) else (out,)
            if len(arrays) != len(outputs):
                what, allowed = f"out has {len(arrays)} arrays", f"{len(outputs)}, one for each output"
                raise ArgumentError(message(self._name, what, allowed))
        for name, array in zip(outputs, arrays, strict=True):
            if array is None and isinstance(out, Mapping) and name not in out:
                continue
            if not isinstance(array, np.ndarray):
                raise OutputError(message(self._name, f"out[{name!r}] is {described(array)}", "a NumPy array"))
            if not array.flags.writeable:
                raise OutputError(message(self._name, f"out[{name!r}] is a read-only array", "writable arrays"))
        return arrays

    def _written(self, results: Sequence[Any], outputs: tuple[str, ...], targets: Targets) -> Sequence[Any]:
        """The results, in the arrays that were given for them."""
        rows = tuple(zip(outputs, targets, results, strict=True))
        pairs = [(name, target, value) for name, target, value in rows if target is not None]
        for name, target, value in pairs:
            if not isinstance(value, np.ndarray):
                raise OutputError(message(self._name, f"the output {name!r} is a list", "outputs that are arrays"))
            if target.dtype != value.dtype:
                what = f"out[{name!r}] has dtype {target.dtype}"
                raise OutputError(message(self._name, what, f"{value.dtype}, as the result has"))
            if target.shape != value.shape:
                what = f"out[{name!r}] has shape {target.shape}"
                raise ShapeError(message(self._name, what, f"{value.shape}, as the result has"))
        for _, target, value in pairs:
            np.copyto(target, value)
        return [value if target is None else target for _, target, value in rows]


def _takes_any_shape(inputs: Sequence[ValueInfo]) -> bool:
    """Whether inputs of one shape are accepted whatever that shape is: no declared size contradicts another."""
    declared = {info.shape for info in inputs}
    if declared == {None}:
        return True
    shape = declared.pop() if len(declared) == 1 else None
    names = [size for size in shape or () if size is not None]
    return shape is not None and all(isinstance(size, str) for size in names) and len(set(names)) == len(names)
