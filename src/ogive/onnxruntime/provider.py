"""Ogive as an execution provider of ONNX Runtime: a session of an unmodified model computes what Ogive can with Ogive.

ONNX Runtime opens the native extension as a plug-in (runtime/native/provider.c), shows every graph to the functions here,
and lets them claim nodes. A group of neighbouring nodes becomes one, which runs as a model of `ogive.onnx` does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper

import ogive
import ogive.onnx
from ogive import _native
from ogive.contracts import checked
from ogive.errors import MissingPackageError, OgiveError, message
from ogive.onnx.loading import survey
from ogive.onnxruntime.graphs import Shown, read_graph
from ogive.onnxruntime.groups import MOVES, neighbours
from ogive.onnxruntime.ort_interface import VERSION, OrtInterface

__all__ = ["PROVIDER", "add_provider"]

#: The provider's name in ONNX Runtime.
PROVIDER = "OgiveExecutionProvider"

#: The domains whose operators are offered to `ogive.onnx.load`, which says what it computes.
DOMAINS = frozenset({"", "ai.onnx", "com.microsoft"})

_OPTION = f"ep.{PROVIDER.lower()}.accuracy".encode()

Status = c_void_p
_TEXT = CFUNCTYPE(c_void_p, c_void_p)
_NUMBER = CFUNCTYPE(c_uint32, c_void_p)
_FLAG = CFUNCTYPE(c_bool, c_void_p)
_RELEASE = CFUNCTYPE(None, c_void_p, c_void_p)
_DEVICES = CFUNCTYPE(
    Status, c_void_p, POINTER(c_void_p), c_size_t, POINTER(c_void_p), c_size_t, POINTER(c_size_t)
)  # fmt: skip
_CREATE = CFUNCTYPE(Status, *[c_void_p] * 3, c_size_t, c_void_p, c_void_p, POINTER(c_void_p))
_GIVE_1 = CFUNCTYPE(Status, c_void_p, POINTER(c_void_p))
_GIVE_3 = CFUNCTYPE(Status, c_void_p, c_void_p, c_void_p, POINTER(c_void_p))
_CAPABILITY = CFUNCTYPE(Status, c_void_p, c_void_p, c_void_p)
_COMPILE = CFUNCTYPE(
    Status, c_void_p, POINTER(c_void_p), POINTER(c_void_p), c_size_t, POINTER(c_void_p), POINTER(c_void_p)
)
_RELEASE_MANY = CFUNCTYPE(None, c_void_p, POINTER(c_void_p), c_size_t)
_FACTORIES = CFUNCTYPE(
    Status, c_char_p, c_void_p, c_void_p, POINTER(c_void_p), c_size_t, POINTER(c_size_t)
)  # fmt: skip


class _Factory(Structure):
    """``OrtEpFactory`` of version 23."""

    _fields_ = (
        ("version", c_uint32),
        ("get_name", _TEXT),
        ("get_vendor", _TEXT),
        ("get_supported_devices", _DEVICES),
        ("create", _CREATE),
        ("release", _RELEASE),
        ("get_vendor_id", _NUMBER),
        ("get_version", _TEXT),
        ("validate_compatibility", c_void_p),
        ("create_allocator", _GIVE_3),
        ("release_allocator", _RELEASE),
        ("create_data_transfer", _GIVE_1),
        ("is_stream_aware", _FLAG),
        ("create_stream", c_void_p),
    )


class _Provider(Structure):
    """``OrtEp`` of version 23; what is left NULL is optional."""

    _fields_ = (
        ("version", c_uint32),
        ("get_name", _TEXT),
        ("get_capability", _CAPABILITY),
        ("compile", _COMPILE),
        ("release_nodes", _RELEASE_MANY),
        ("optional", c_void_p * 8),
    )


def _text(text: str) -> Any:
    """A function that gives a text, which lives as long as the process."""
    kept = ctypes.create_string_buffer(text.encode())
    return _TEXT(lambda _, kept=kept: ctypes.addressof(kept))


def _version() -> str:
    """ONNX Runtime refuses what is no number of a version, as the sources alone have none."""
    return ogive.__version__ if ogive.__version__[:1].isdigit() else "0.0.0"


# ---- what is claimed, and computed


def claimed(shown: Shown, accuracy: str) -> list[list[int]]:
    """The places of the nodes of a graph that Ogive computes, in groups that become one node each."""
    nodes = list(shown.model.graph.node)
    offered = [place for place, node in enumerate(nodes) if _is_offered(node, shown)]
    taken = {id(nodes[place]) for place in _taken(shown, offered, accuracy)}
    found: list[list[int]] = []
    for group in neighbours(nodes, lambda node: id(node) in taken):
        parts = [group] if _loads(shown, group, accuracy) else [[place] for place in group]
        found += [part for part in parts if not all(nodes[place].op_type in MOVES for place in part)]
    return found


def _is_offered(node: NodeProto, shown: Shown) -> bool:
    """Whether all is known of a node that Ogive needs: values without a known shape are ONNX Runtime's."""
    names = [name for name in (*node.input, *node.output) if name]
    return node.domain in DOMAINS and bool(node.input) and all(name in shown.known for name in names)


def _taken(shown: Shown, offered: Sequence[int], accuracy: str) -> list[int]:
    """The places of the nodes that Ogive computes. The graph is asked about as a whole: its nodes may be thousands."""
    if not offered:
        return []
    try:
        refusals = survey(_part(shown, offered), None, "graph").refusals
    except OgiveError:  # something is wrong with one of them; ONNX Runtime takes it
        return [place for place in offered if _loads(shown, [place], accuracy)]
    return [place for number, place in enumerate(offered) if number not in refusals]


def _loads(shown: Shown, places: Sequence[int], accuracy: str) -> bool:
    try:
        ogive.onnx.load(_part(shown, places), accuracy=accuracy)
    except OgiveError:
        return False
    return True


def _part(shown: Shown, places: Sequence[int]) -> ModelProto:
    """These nodes as a model."""
    graph = shown.model.graph
    nodes = [graph.node[place] for place in places]
    made = {name for node in nodes for name in node.output if name}
    reads = list(dict.fromkeys(name for node in nodes for name in node.input if name and name not in made))
    constants = [tensor for tensor in graph.initializer if tensor.name in reads]
    fixed = {tensor.name for tensor in constants}
    chosen = set(places)
    wanted = {name for place, node in enumerate(graph.node) if place not in chosen for name in node.input}
    wanted |= {info.name for info in graph.output}
    part = helper.make_graph(
        nodes,
        "part",
        [shown.known[name] for name in reads if name not in fixed],
        [shown.known[name] for node in nodes for name in node.output if name in wanted],
        constants,
    )
    return helper.make_model(part, opset_imports=shown.model.opset_import, ir_version=shown.model.ir_version)


@dataclass
class Computed:
    """What computes a fused node: called with arrays on its inputs, it fills the node's results."""

    model: Any
    kinds: tuple[int, ...]
    """ONNX's numbers of the results' types."""
    types: tuple[np.dtype, ...]
    """The same, as NumPy's."""
    shapes: dict[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """The shapes of the results, by those of the inputs, as far as they depend on nothing else."""

    def __call__(self, node: int, context: int, *arrays: np.ndarray) -> None:
        given = tuple(array.shape for array in arrays)
        shapes = self.shapes.get(given)
        if shapes is None:
            results = self.model(*arrays)
            results = results if isinstance(results, tuple) else (results,)
            for place, result in enumerate(results):
                self._output(node, context, place, result.shape)[...] = result
            if len(self.shapes) < MOST_SHAPES and not any(array.dtype.kind == "i" for array in arrays):
                self.shapes[given] = tuple(result.shape for result in results)
            return
        self.model(*arrays, out=tuple(self._output(node, context, place, s) for place, s in enumerate(shapes)))

    def _output(self, node: int, context: int, place: int, shape: tuple[int, ...]) -> np.ndarray:
        return _native.provider_output(node, context, place, shape, self.types[place], self.kinds[place])


#: Beyond so many shapes of inputs, results of new ones go through arrays of their own.
MOST_SHAPES = 64


# ---- the door


class _Door:
    """The factory, and the providers of sessions that live: everything that ONNX Runtime holds addresses of."""

    def __init__(self) -> None:
        self.ort: OrtInterface | None = None
        self.providers: dict[int, _Provider] = {}
        self.create_factories = _FACTORIES(self._guarded(self._create_factories))
        self.factory = _Factory(
            VERSION,
            _text(PROVIDER),
            _text("Ogive"),
            _DEVICES(self._guarded(self._devices)),
            _CREATE(self._guarded(self._create)),
            _RELEASE(lambda _, provider: self._release(provider)),
            _NUMBER(lambda _: 0),
            _text(_version()),
            None,
            _GIVE_3(lambda *given: self._nothing(given[-1])),
            _RELEASE(lambda *_: None),
            _GIVE_1(lambda *given: self._nothing(given[-1])),
            _FLAG(lambda _: False),
            None,
        )

    def _guarded(self, function: Callable[..., None]) -> Callable[..., int | None]:
        """What a function raises becomes a status: an exception cannot pass through ONNX Runtime."""

        def run(*given: Any) -> int | None:
            try:
                function(*given)
            except Exception as error:
                assert self.ort is not None
                return self.ort.status(f"ogive: {error}")
            return None

        return run

    def _nothing(self, result: Any) -> None:
        result[0] = None

    def _create_factories(self, _name: Any, base: int, _logger: Any, factories: Any, most: int, count: Any) -> None:
        self.ort = OrtInterface(base)
        if most:
            factories[0] = ctypes.addressof(self.factory)
        count[0] = min(most, 1)

    def _devices(self, _self: Any, devices: Any, number: int, found: Any, most: int, count: Any) -> None:
        assert self.ort is not None
        processors = [devices[i] for i in range(number) if self.ort.is_processor(devices[i])][:most]
        for place, device in enumerate(processors):
            found[place] = self.ort.create_device(ctypes.addressof(self.factory), device)
        count[0] = len(processors)

    def _create(self, _self: Any, _devices: Any, _pairs: Any, _n: int, options: int, _logger: Any, result: Any) -> None:
        assert self.ort is not None
        text, size = ctypes.create_string_buffer(64), c_size_t(64)
        try:
            self.ort.call("GetSessionConfigEntry", options, _OPTION, text, ctypes.byref(size))
            wanted = text.value.decode()
        except RuntimeError:  # it is not set
            wanted = checked(PROVIDER, None)
        accuracy = checked(PROVIDER, wanted)
        provider = _Provider(
            VERSION,
            _text(PROVIDER),
            _CAPABILITY(self._guarded(lambda _, graph, support: self._claim(graph, support, accuracy))),
            _COMPILE(
                self._guarded(lambda _, graphs, fused, n, made, _nodes: self._compile(graphs, fused, n, made, accuracy))
            ),
            _RELEASE_MANY(lambda _, nodes, count: self._release_nodes(nodes[:count])),
        )
        address = ctypes.addressof(provider)
        self.providers[address] = provider
        result[0] = address

    def _release(self, provider: int) -> None:
        self.providers.pop(provider, None)

    def _release_nodes(self, nodes: Sequence[int]) -> None:
        for node in nodes:
            _native.release_provider_node(node)

    def _claim(self, graph: int, support: int, accuracy: str) -> None:
        assert self.ort is not None
        shown = read_graph(self.ort, graph, is_offer=True)
        for places in claimed(shown, accuracy):
            self.ort.fuse(support, [shown.addresses[place] for place in places])

    def _compile(self, graphs: Any, fused: Any, count: int, result: Any, accuracy: str) -> None:
        assert self.ort is not None
        for place in range(count):
            result[place] = self._node(self.ort, graphs[place], fused[place], accuracy)

    def _node(self, ort: OrtInterface, graph: int, fused: int, accuracy: str) -> int:
        shown = read_graph(ort, graph)
        model = ogive.onnx.load(shown.model, accuracy=accuracy)
        given = [ort.text("GetValueInfoName", v) for v in ort.listed(fused, "Node_GetNumInputs", "Node_GetInputs")]
        kinds = {name: info.type.tensor_type.elem_type for name, info in shown.known.items()}
        read = [info.name for info in shown.model.graph.input]
        results = [info.name for info in shown.model.graph.output]
        types = [np.dtype(helper.tensor_dtype_to_np_dtype(kinds[name])) for name in (*read, *results)]
        computed = Computed(model, tuple(kinds[name] for name in results), tuple(types[len(read) :]))
        places = (*(given.index(name) for name in read), *(kinds[name] for name in read))
        return _native.provider_node(ort.address, computed, tuple(types[: len(read)]), places)


_door: _Door | None = None


def _devices() -> list[Any]:
    """What ONNX Runtime knows of the provider, which is registered once in a process."""
    global _door
    try:
        import onnxruntime
    except ImportError:
        what, way_out = "the package onnxruntime is not installed", "Install it: pip install onnxruntime"
        raise MissingPackageError(message("ogive.onnxruntime.add_provider", what, way_out=way_out)) from None
    if not hasattr(onnxruntime, "register_execution_provider_library"):
        what = f"onnxruntime {onnxruntime.__version__} has no plug-in providers"
        raise MissingPackageError(message("ogive.onnxruntime.add_provider", what, "1.23 or newer"))
    if _door is None:
        made = _Door()
        _native.set_provider(ctypes.cast(made.create_factories, c_void_p).value or 0)
        onnxruntime.register_execution_provider_library(PROVIDER, _native.__file__)
        _door = made
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]


def add_provider(options: Any = None, *, accuracy: str | None = None) -> Any:
    """Let a session of ONNX Runtime compute with Ogive whatever Ogive computes, in models as they are.

    ``options`` are ONNX Runtime's SessionOptions, new ones where none are given; they are returned. Groups of
    neighbouring nodes become one node each, and its results have the bits of ``ogive.onnx.load``; all other nodes stay
    ONNX Runtime's. ``accuracy`` is the contract: exact or fast.

    Raises ParameterError for an unknown contract, MissingPackageError without onnxruntime 1.23 or newer.

    >>> options = ogive.onnxruntime.add_provider(accuracy="exact")  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("model.onnx", options)  # doctest: +SKIP

    Source: onnxruntime_ep_c_api.h of ONNX Runtime 1.23.
    """
    name = checked("ogive.onnxruntime.add_provider", accuracy)
    devices = _devices()
    import onnxruntime

    options = onnxruntime.SessionOptions() if options is None else options
    options.add_provider_for_devices(devices, {"accuracy": name})
    return options
