"""Arrays of other libraries: what comes in comes out.

NumPy's ufuncs hand a call over to containers that implement ``__array_ufunc__`` (pandas, xarray, Dask, ...). That is
right for element-wise operators. Two tables add the rest:

- ``EXCHANGED``: containers without ``__array_ufunc__``, such as torch tensors. Each kind says how a NumPy array is
  taken out, without a copy where possible, and how the result is put back.
- ``WITH_ROWS``: containers whose own support of ``__array_ufunc__`` does not know rows, masks or labels. Each kind
  says how a row operator is applied.

No library is imported here. An object of a library exists only if the library is in ``sys.modules``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ogive.common.records import record
from ogive.errors import ArgumentError, DTypeError, OutputError, ParameterError, ShapeError, described, message

NOT_ONE: Any = object()
"""The answer of a function here if no argument is of a kind in its table."""

GiveBack = Callable[[np.ndarray], Any]


@record()
class Exchanged:
    """A kind of container that exchanges its memory with NumPy."""

    is_one: Callable[[Any], bool]
    take: Callable[[Any, str, Any], np.ndarray]
    """(operator, name of the argument, container) -> its elements."""
    way_back: Callable[[Any, str, Any], GiveBack]
    """(operator, name of the argument, container) -> what makes such a container of a result."""
    written: Callable[[Any], None] = lambda container: None
    """Tells the library that its container was written to."""


@record()
class WithRows:
    """A kind of container to which row operators are applied in a way of its own."""

    is_one: Callable[[Any], bool]
    apply: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    """(row operator, tensors, keywords) -> result."""


# ---- calls


def call_exchanged(operator: Any, tensors: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """The call on NumPy's arrays, and its result as the first container of ``EXCHANGED`` among the tensors.

    A tensor with ``__array_ufunc__``, such as a pandas Series, decides instead, wherever it stands.
    """
    out = keywords.get("out")
    outs = out if isinstance(out, tuple) else (out,)
    kinds = [_kind_of(tensor) for tensor in tensors]
    out_kinds = [_kind_of(target) for target in outs]
    mask_kind = _kind_of(keywords.get("where"))
    if not any((*kinds, *out_kinds, mask_kind)):
        return NOT_ONE
    arrays, give_back = list(tensors), None
    for i, kind in enumerate(kinds):
        if kind:
            arrays[i] = kind.take(operator, operator.tensors[i], tensors[i])
            if give_back is None and any(target is None for target in outs):
                give_back = kind.way_back(operator, operator.tensors[i], tensors[i])
    rest = dict(keywords)
    if mask_kind:
        rest["where"] = mask_kind.take(operator, "where", keywords["where"])
    if any(out_kinds):
        rest["out"] = tuple(
            _writable(operator, kind.take(operator, "out", target), target) if kind else target
            for kind, target in zip(out_kinds, outs, strict=True)
        )
    if "dtype" in rest:
        rest["dtype"] = _numpy_dtype(rest["dtype"])
    result = operator(*arrays, **rest)
    if not isinstance(result, tuple):
        return _given(operator, result, out_kinds[0], outs[0], give_back)
    if out is None:
        outs, out_kinds = (None,) * len(result), [None] * len(result)
    results = zip(result, out_kinds, outs, strict=True)
    return tuple(_given(operator, value, kind, target, give_back) for value, kind, target in results)


def _given(operator: Any, value: Any, kind: Exchanged | None, target: Any, give_back: GiveBack | None) -> Any:
    """One result as the caller gets it: the container that it was written to, or a new one."""
    if kind:
        kind.written(target)
        return target
    is_array = type(value) is np.ndarray or isinstance(value, np.generic)
    if target is not None or give_back is None or not is_array:
        return value
    array = np.asarray(value)
    try:
        return give_back(array)
    except Exception as error:
        what = f"the result of dtype {array.dtype} cannot be put into the container that was given ({error})"
        raise DTypeError(message(operator.name, what, "", "Give a NumPy array, or say dtype=")) from error


METHOD_ARGUMENTS = {"outer": ("a", "b"), "at": ("a", "indices", "b")}
"""The names of positional arguments of a ufunc's methods, for messages; of the others the first is the array."""


def call_method(operator: Any, ufunc: np.ufunc, method: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A method of a ufunc, such as ``reduce``, on NumPy's arrays; its result as the first container of ``EXCHANGED``."""
    names = METHOD_ARGUMENTS.get(method, ("array", "indices"))
    arrays, give_back, out = list(args), None, keywords.get("out")
    for i, (name, arg) in enumerate(zip(names, args, strict=False)):
        kind = _kind_of(arg)
        if kind:
            arrays[i] = kind.take(operator, name, arg)
            if give_back is None and out is None and method != "at":
                give_back = kind.way_back(operator, name, arg)
    written = args[0] if method == "at" and args else out[0] if isinstance(out, tuple) and len(out) == 1 else out
    kind = _kind_of(written)
    if kind and method == "at":
        arrays[0] = _writable(operator, kind.take(operator, "out", written), written)
    elif kind:
        keywords["out"] = _writable(operator, kind.take(operator, "out", written), written)
    if "dtype" in keywords:
        keywords["dtype"] = _numpy_dtype(keywords["dtype"])
    mask_kind = _kind_of(keywords.get("where"))
    if mask_kind:
        keywords["where"] = mask_kind.take(operator, "where", keywords["where"])
    result = getattr(ufunc, method)(*arrays, **keywords)
    if method == "at":
        if kind:
            kind.written(written)
        return None
    return _given(operator, result, kind, written, give_back)


def call_on_rows(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The call of a row operator, in the way of the first tensor that is of a kind in ``WITH_ROWS``."""
    for tensor in tensors:
        for kind in WITH_ROWS:
            if kind.is_one(tensor):
                return kind.apply(operator, tensors, keywords)
    return NOT_ONE


def call_with_labels(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The call of a row operator with a mask, ``where``, in the way of the first tensor that has labels."""
    for tensor in tensors:
        for is_one, apply in ((_is_pandas, _pandas_rows), (is_xarray, _xarray_rows)):
            if is_one(tensor):
                return apply(operator, tensors, keywords)
    return NOT_ONE


def call_with_sums(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The call of gradients that may be sums over what was broadcast, in the way of the containers among the tensors.

    The operator says by ``operands`` which tensor each result belongs to, None for a parameter; by ``sums``, whether
    a call has to sum.
    """
    result = call_exchanged(operator, tensors, keywords)
    if result is not NOT_ONE:
        return result
    for is_one, apply in WITH_SUMS:
        if any(map(is_one, tensors)):
            return apply(operator, tensors, keywords)
    for name, tensor in zip(operator.tensors, tensors, strict=True):
        if hasattr(tensor, "__array_ufunc__") and not isinstance(tensor, np.ndarray | np.generic):
            if not operator.sums(tensors):
                break
            what = f"is a {_type_name(tensor)}, and gradients are summed over what was broadcast"
            way_out = "Give operands of one shape, or NumPy arrays"
            _refuse(operator, name, what, "containers that docs/arrays.md lists", way_out)
    return NOT_ONE


def outline(operator: Any, argument: str, value: Any) -> np.ndarray:
    """An array with the shape and type of an argument, for messages. Nothing lazy is computed for it."""
    try:
        if hasattr(value, "__array_ufunc__") and not isinstance(value, np.ndarray):
            return np.broadcast_to(np.empty((), value.dtype), value.shape)
    except (AttributeError, TypeError, ValueError):
        pass  # it does not tell, or it is of a type that NumPy does not have
    try:
        return np.asarray(value)
    except Exception as error:
        _refuse_conversion(operator, argument, value, error)


def _kind_of(value: Any) -> Exchanged | None:
    if value is None or isinstance(value, np.ndarray | np.generic | int | float) or hasattr(value, "__array_ufunc__"):
        return None
    return next((kind for kind in EXCHANGED if kind.is_one(value)), None)


def _writable(operator: Any, array: np.ndarray, target: Any) -> np.ndarray:
    if not array.flags.writeable:
        _refuse(operator, "out", f"is a read-only {_type_name(target)}", "writable arrays", "Use the result instead")
    return array


# ---- refusals


def _refuse(operator: Any, argument: str, what: str, allowed: str, way_out: str) -> NoReturn:
    error = OutputError if argument == "out" else ArgumentError
    raise error(message(operator.name, f"{argument} {what}", allowed, way_out))


def _refuse_conversion(operator: Any, argument: str, value: Any, error: Exception) -> NoReturn:
    if isinstance(value, list | tuple):
        is_ragged = "inhomogeneous" in str(error)
        reason = "whose rows are not equally long" if is_ragged else f"that makes no array ({error})"
        what = f"{argument} is {described(value)} {reason}"
        way_out = "Compute row by row, or give an awkward array"
        raise ShapeError(message(operator.name, what, "arrays, and lists of equally long rows", way_out)) from error
    what = f"{argument} is a {_type_name(value)}, which NumPy cannot read ({error})"
    way_out = (
        "Use the result instead" if argument == "out" else "Copy it to a NumPy array first, by a method of its own"
    )
    kind = OutputError if argument == "out" else ArgumentError
    raise kind(message(operator.name, what, "arrays in the memory of the CPU", way_out)) from error


def _refuse_keywords(operator: Any, keywords: Iterable[str], refused: Iterable[str], container: str) -> None:
    for name in refused:
        if name in keywords:
            what = f"{name} is not taken for rows of {container}"
            raise ArgumentError(message(operator.name, what, "axis, dtype, casting", "Use the result instead"))


NOT_FOR_RESULTS = ("out", "where", "order", "subok", "signature")
"""Keywords that say how a result is written to a NumPy array."""


def _type_name(value: Any) -> str:
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"


def _class(module: str, name: str) -> Callable[[Any], bool]:
    """Whether a value is of a class, if its module has been imported at all."""

    def is_one(value: Any) -> bool:
        """Whether the value is of this class."""
        found = getattr(sys.modules.get(module), name, None)
        return found is not None and isinstance(value, found)

    return is_one


def _library(name: str) -> Any:
    return sys.modules[name]


# ---- torch

BY_VIEW = {
    "bfloat16": "int16",
    "float8_e4m3fn": "int8",
    "float8_e4m3fnuz": "int8",
    "float8_e5m2": "int8",
    "float8_e5m2fnuz": "int8",
}
"""The types of torch that its own conversion does not know, and the type that their bits are exchanged as."""


DENSE = "dense tensors on the CPU that need no gradient"


def _is_torch_dtype(value: Any) -> bool:
    return _class("torch", "dtype")(value)


def _numpy_dtype(dtype: Any) -> Any:
    """NumPy's dtype for torch's; others as they are."""
    if not _is_torch_dtype(dtype):
        return dtype
    name = str(dtype).removeprefix("torch.")
    return _ml_dtype(name) if name in BY_VIEW else np.dtype(name)


def _ml_dtype(name: str) -> np.dtype:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))  # type: ignore[no-any-return]  # ml_dtypes has no types


def _take_torch(operator: Any, argument: str, tensor: Any) -> np.ndarray:
    try:
        array: np.ndarray = tensor.numpy()
    except Exception:  # what is wrong with it is looked for only now: ordinary tensors do not wait
        return take_unusual_torch(operator, argument, tensor)
    if array.dtype.kind == "c":
        taken = dict.fromkeys(t.name for signature in operator.signatures for t in signature.inputs)
        way_out = f"Convert it first: {argument}.to(...), or take {argument}.real"
        raise DTypeError(message(operator.name, f"{argument} has dtype {tensor.dtype}", ", ".join(taken), way_out))
    if _library("torch").autograd.forward_ad.unpack_dual(tensor).tangent is not None:
        way_out = f"Give {argument}.detach() if you need none"
        _refuse(operator, argument, "carries a tangent, and Ogive computes none", DENSE, way_out)
    return array


def take_unusual_torch(operator: Any, argument: str, tensor: Any, allowed: str = "") -> np.ndarray:
    """A tensor of a type that torch does not convert itself, or a refusal."""
    allowed = allowed or DENSE
    torch = _library("torch")
    refusals = [
        (tensor.is_meta, "is a meta tensor, which has no elements", "Give a tensor with elements"),
        (tensor.is_nested, "is a nested tensor", f"Pad it: {argument}.to_padded_tensor(...), or unbind it"),
        (tensor.is_mkldnn, "has the layout of mkldnn, which hides its elements", f"Give {argument}.to_dense()"),
        (tensor.layout != torch.strided, "is a sparse tensor", f"Give {argument}.to_dense()"),
        (tensor.is_quantized, "is a quantized tensor", f"Give {argument}.dequantize()"),
        (tensor.device.type != "cpu", f"is on the device {tensor.device}", f"Copy it first: {argument}.cpu()"),
        (
            tensor.requires_grad,
            "requires a gradient, and Ogive records none",
            f"Give {argument}.detach() if you need none; the functions of ogive.torch record it",
        ),
    ]
    for is_so, what, way_out in refusals:
        if is_so:
            _refuse(operator, argument, what, allowed, way_out)
    name = str(tensor.dtype).removeprefix("torch.")
    try:
        if name in BY_VIEW:
            bits: np.ndarray = tensor.view(getattr(torch, BY_VIEW[name])).numpy()
            return bits.view(_ml_dtype(name))
        # A view of the imaginary part of a conjugate holds the negative numbers. Such a view is no target.
        return (tensor if argument == "out" else tensor.resolve_conj().resolve_neg()).numpy()  # type: ignore[no-any-return]
    except Exception as error:  # tensors of torch.func, and subclasses
        _refuse_conversion(operator, argument, tensor, error)


def _give_torch(operator: Any, argument: str, tensor: Any) -> GiveBack:
    torch = _library("torch")

    def give(array: np.ndarray) -> Any:
        name = array.dtype.name
        if name not in BY_VIEW:
            return torch.from_numpy(array)
        return torch.from_numpy(array.view(BY_VIEW[name])).view(getattr(torch, name))

    return give


def _torch_was_written(tensor: Any) -> None:
    """Autograd counts the writes to a tensor: without this, a gradient could use overwritten values."""
    increment = getattr(_library("torch").autograd.graph, "increment_version", None)
    if increment is not None and not tensor.is_inference():
        increment(tensor)


# ---- JAX


def _take_jax(operator: Any, argument: str, array: Any) -> np.ndarray:
    jax = _library("jax")
    concrete = "concrete arrays on the CPU"
    if isinstance(array, jax.core.Tracer):
        what = "is traced by JAX (jit, grad, vmap), and Ogive computes on concrete arrays"
        way_out = "Use ogive.jax, which takes traced arrays: ogive.jax.gelu, or ogive.jax.function(operator) of one of your own"
        _refuse(operator, argument, what, concrete, way_out)
    if argument == "out":
        _refuse(operator, argument, "is a JAX array, which cannot be written to", "writable arrays", "Use the result")
    try:
        if any(device.platform != "cpu" for device in array.devices()):
            way_out = f'Copy it first: jax.device_put({argument}, jax.devices("cpu")[0])'
            _refuse(operator, argument, f"is on {array.device}", concrete, way_out)
        return np.asarray(array)
    except (TypeError, RuntimeError, ValueError) as error:  # keys of random numbers, deleted arrays
        if isinstance(error, ArgumentError):
            raise
        _refuse_conversion(operator, argument, array, error)


def _give_jax(operator: Any, argument: str, array: Any) -> GiveBack:
    jax = _library("jax")
    devices = array.devices()
    device = next(iter(devices)) if len(devices) == 1 and getattr(array, "committed", True) else None
    return lambda result: jax.device_put(result, device)


def _is_jax(value: Any) -> bool:
    return _class("jax", "Array")(value)


# ---- the array API, DLPack, SciPy


def _take_dlpack(operator: Any, argument: str, container: Any) -> np.ndarray:
    try:
        if hasattr(container, "__dlpack__"):
            return np.from_dlpack(container)
        return np.asarray(container)
    except Exception as error:
        _refuse_conversion(operator, argument, container, error)


def _give_array_api(operator: Any, argument: str, container: Any) -> GiveBack:
    namespace = container.__array_namespace__()

    def give(result: np.ndarray) -> Any:
        try:
            return namespace.asarray(result, device=container.device)
        except (AttributeError, BufferError, TypeError, ValueError, RuntimeError):
            return namespace.from_dlpack(result)

    return give


def _give_dlpack(operator: Any, argument: str, container: Any) -> GiveBack:
    library = sys.modules.get(type(container).__module__.partition(".")[0])
    make: Any = getattr(type(container), "from_dlpack", None) or getattr(library, "from_dlpack", None)
    if not callable(make):
        what = f"is a {_type_name(container)}, which exports DLPack but whose library has no from_dlpack"
        way_out = f"Give numpy.from_dlpack({argument}); the result is then a NumPy array"
        _refuse(operator, argument, what, "containers that the result can be put into", way_out)
    given: GiveBack = make
    return given


def _refuse_sparse(operator: Any, argument: str, container: Any) -> NoReturn:
    what = f"is a sparse array ({_type_name(container)})"
    _refuse(operator, argument, what, "dense arrays", f"Give {argument}.toarray()")


def _refuse_on_device(operator: Any, argument: str, container: Any) -> NoReturn:
    module = "cuda" if _is_on_cuda(container) else "opencl"
    way_out = f"Compute there with ogive.{module}.function, or copy it first: {argument}.get()"
    _refuse(operator, argument, f"is a {_type_name(container)} on a device", "arrays in the memory of the CPU", way_out)


def _is_on_cuda(value: Any) -> bool:
    return hasattr(type(value), "__cuda_array_interface__")


def _is_scipy_sparse(value: Any) -> bool:
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


EXCHANGED = (
    Exchanged(_class("torch", "Tensor"), _take_torch, _give_torch, _torch_was_written),
    Exchanged(_is_jax, _take_jax, _give_jax),
    Exchanged(_is_scipy_sparse, _refuse_sparse, _refuse_sparse),
    Exchanged(_class("pyopencl.array", "Array"), _refuse_on_device, _refuse_on_device),
    Exchanged(_is_on_cuda, _refuse_on_device, _refuse_on_device),
    Exchanged(lambda value: hasattr(type(value), "__array_namespace__"), _take_dlpack, _give_array_api),
    # With __array__ as well, they are read as NumPy reads them, and a NumPy array comes out.
    Exchanged(
        lambda value: hasattr(type(value), "__dlpack__") and not hasattr(type(value), "__array__"),
        _take_dlpack,
        _give_dlpack,
    ),
)


# ---- rows of different lengths


def _ragged(compute: Callable[..., np.ndarray], elements: list[np.ndarray], lengths: np.ndarray) -> np.ndarray:
    """Rows that lie one after another, computed together with the others of their length."""
    different = np.unique(lengths)
    if len(different) == 1 and different[0]:
        return compute(*(e.reshape(-1, different[0]) for e in elements)).reshape(-1)
    starts = np.cumsum(lengths) - lengths
    result: np.ndarray | None = None
    for length in different[different > 0]:
        index = starts[lengths == length][:, None] + np.arange(length)
        rows = compute(*(e[index] for e in elements))
        if result is None:
            result = np.empty(elements[0].shape, rows.dtype)
        result[index] = rows
    return result if result is not None else compute(*(e.reshape(0, 1) for e in elements)).reshape(0)


def reduced_rows(compute: Callable[..., np.ndarray], elements: list[np.ndarray], lengths: np.ndarray) -> np.ndarray:
    """One number of each of the rows that lie one after another."""
    starts = np.cumsum(lengths) - lengths
    result: np.ndarray | None = None
    for length in np.unique(lengths):
        rows = compute(*(e[starts[lengths == length][:, None] + np.arange(length)] for e in elements))
        if result is None:
            result = np.empty(lengths.shape, rows.dtype)
        result[lengths == length] = rows
    return result if result is not None else compute(*(e.reshape(0, 1) for e in elements))


# ---- masked arrays


def _masked_rows(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Masked elements are no part of their row: the others are computed as a shorter row."""
    _refuse_keywords(operator, keywords, NOT_FOR_RESULTS, "a masked array")
    arrays = [np.ma.asanyarray(tensor) for tensor in tensors]
    shape = arrays[0].shape
    if any(array.shape != shape for array in arrays):
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise ShapeError(message(operator.name, f"masked arrays of the shapes {shapes}", "equal shapes"))
    axes = sorted(operator.row_axes(keywords.pop("axis", -1), len(shape)))
    last = range(-len(axes), 0)
    keepdims = operator.reduces and keywords.pop("keepdims", False)
    compute = partial(operator, **keywords)
    mask = np.logical_or.reduce([np.ma.getmaskarray(array) for array in arrays])
    moved = [np.moveaxis(np.asarray(array.data), axes, last) for array in arrays]
    there = ~np.moveaxis(mask, axes, last)
    rows = there.reshape(*there.shape[: -len(axes)], math.prod(there.shape[-len(axes) :]))
    lengths = rows.sum(axis=-1)
    if operator.reduces:  # a row of masked elements alone has a masked result, as sums have in NumPy
        found = reduced_rows(compute, [array[there] for array in moved], lengths.reshape(-1)).reshape(lengths.shape)
        reduced = np.ma.MaskedArray(found, mask=lengths == 0)
        return np.ma.expand_dims(reduced, tuple(axes)) if keepdims else reduced[()]
    values = _ragged(compute, [array[there] for array in moved], lengths.reshape(-1))
    result = np.zeros(there.shape, values.dtype)
    result[there] = values
    return np.ma.MaskedArray(np.moveaxis(result, last, axes), mask=mask)


# ---- awkward arrays


def _awkward_rows(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Rows are the innermost lists, whatever their lengths."""
    ak = _library("awkward")
    _refuse_keywords(operator, keywords, (*NOT_FOR_RESULTS, "keepdims"), "an awkward array")
    name = operator.tensors[0]
    if len(tensors) > 1:
        _refuse(operator, name, "is an awkward array beside others", "one awkward array", "Give NumPy arrays")
    array = ak.to_packed(tensors[0])
    if ak.backend(array) != "cpu":
        way_out = f'Give awkward.to_backend({name}, "cpu")'
        _refuse(operator, name, f"is an awkward array of the backend {ak.backend(array)}", "cpu", way_out)
    axis = keywords.pop("axis", -1)
    if array.ndim > 1 and axis not in (-1, array.ndim - 1):
        what = f"axis is {axis!r} for an awkward array of {array.ndim} dimensions"
        way_out = "Other axes have no rows of one length; awkward.to_regular and to_numpy make a NumPy array"
        raise ParameterError(message(operator.name, what, f"-1, {array.ndim - 1}", way_out))
    compute = partial(operator, **keywords)

    def elements(content: Any) -> np.ndarray:
        if content.is_unknown:  # no list has an element
            return np.empty(0)
        if not content.is_numpy or content.parameter("__array__") is not None:  # text is numbers with a mark
            what = "is an awkward array with missing values, records, unions or text where numbers should be"
            way_out = "Leave out missing values with awkward.drop_none, or fill them with awkward.fill_none"
            _refuse(operator, name, what, "numbers in lists", way_out)
        return np.asarray(content.data)

    def action(layout: Any, **_: Any) -> Any:
        if layout.is_record or layout.is_union or layout.parameter("__array__") is not None:
            elements(layout)
        if layout.is_unknown:
            return ak.contents.NumpyArray(elements(layout))
        if layout.is_numpy:
            # Rows of one length, as an array of NumPy's; or an array of one dimension, which is one row.
            return ak.contents.NumpyArray(compute(layout.data))
        if layout.is_list and layout.purelist_depth <= 2 and layout.is_regular:
            values = elements(layout.content)
            rows = compute(values[: len(layout) * layout.size].reshape(len(layout), layout.size))
            if operator.reduces:
                return ak.contents.NumpyArray(rows)
            content = ak.contents.NumpyArray(rows.reshape(-1))
            return ak.contents.RegularArray(content, layout.size, zeros_length=len(layout))
        if layout.is_list and layout.purelist_depth <= 2:
            lists = layout.to_ListOffsetArray64(True)
            offsets = np.asarray(lists.offsets)
            if operator.reduces:
                every = [elements(lists.content)[: offsets[-1]]]
                return ak.contents.NumpyArray(reduced_rows(compute, every, np.diff(offsets)))
            values = _ragged(compute, [elements(lists.content)[: offsets[-1]]], np.diff(offsets))
            return ak.contents.ListOffsetArray(lists.offsets, ak.contents.NumpyArray(values))
        if layout.is_option and layout.purelist_depth == 1:
            elements(layout)
        return None

    if operator.reduces and array.ndim == 1:
        return compute(elements(array.layout))
    return ak.transform(action, array)


def _awkward_sums(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Gradients of awkward arrays of one structure, and sums for numbers beside them."""
    ak = _library("awkward")
    if operator.is_row_wise:
        return NOT_ONE
    one_array = _class("awkward", "Array")
    whole = ak.broadcast_arrays(*tensors)
    flat = [ak.to_numpy(ak.flatten(array, axis=None)) for array in whole]
    for name, tensor, elements in zip(operator.tensors, tensors, flat, strict=True):
        is_plain = len(elements) == len(flat[0]) and not isinstance(elements, np.ma.MaskedArray)
        is_whole = one_array(tensor) and len(ak.flatten(tensor, axis=None)) == len(elements)
        if not is_plain or not (is_whole or np.ndim(tensor) == 0):
            what = "is broadcast beside awkward arrays, or has missing values" if is_plain else "has missing values"
            way_out = "Broadcast them first: awkward.broadcast_arrays(...), and leave out missing values"
            _refuse(operator, name, what, "awkward arrays of one structure, and numbers", way_out)
    operator.refuse_numpy_keywords(keywords, "awkward arrays", "NumPy arrays")
    of_elements = None
    sums: Any = None
    results = []
    for i, place in enumerate(operator.operands):
        if place is not None and one_array(tensors[place]):
            if of_elements is None:
                found = operator.by_elements(whole, keywords)
                of_elements = found if isinstance(found, tuple) else (found,)
            results.append(of_elements[i])
        else:
            if sums is None:
                numbers = (b if one_array(a) else a for a, b in zip(tensors, flat, strict=True))
                found = operator(*numbers, **keywords)
                sums = found if isinstance(found, tuple) else (found,)
            results.append(sums[i])
    return tuple(results) if len(results) > 1 else results[0]


def _without_where(operator: Any, keywords: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The keywords without the mask of rows that some elements are left out of, and the mask."""
    if operator.masks is None:
        return keywords, None
    return {name: value for name, value in keywords.items() if name != "where"}, keywords.get("where")


# ---- pandas


def _pandas_rows(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The labels of the first pandas object; others must have the same."""
    pd = _library("pandas")
    keywords, where = _without_where(operator, keywords)
    _refuse_keywords(operator, keywords, (*NOT_FOR_RESULTS, "keepdims"), "a pandas object")
    if where is not None:
        keywords["where"] = np.asarray(where)
    labelled = [tensor for tensor in tensors if _is_pandas(tensor)]
    first = labelled[0]
    for other in labelled[1:]:
        if type(other) is not type(first) or not all(
            getattr(first, labels).equals(getattr(other, labels))
            for labels in ("index", "columns")
            if hasattr(first, labels)
        ):
            what = "the labels of the pandas objects differ"
            raise ShapeError(message(operator.name, what, "equal labels", "Align them first: x.align(y)"))
    arrays = [_without_labels(operator, *pair) for pair in zip(operator.tensors, tensors, strict=True)]
    result = operator(*arrays, **keywords)
    if operator.reduces:
        axes = operator.row_axes(keywords.get("axis", -1), first.ndim)
        left = [axis for axis in range(first.ndim) if axis not in axes]
        return pd.Series(result, index=first.axes[left[0]]) if left else result
    if isinstance(first, pd.DataFrame):
        return pd.DataFrame(result, index=first.index, columns=first.columns)
    if isinstance(first, pd.Series):
        return pd.Series(result, index=first.index, name=first.name)
    return pd.Index(result, name=first.name)


def _without_labels(operator: Any, name: str, value: Any) -> Any:
    """The elements of a pandas object; others as they are."""
    if not _is_pandas(value):
        return value
    pd = _library("pandas")
    array = value.to_numpy()
    columns = [value.iloc[:, i] for i in range(value.shape[1])] if isinstance(value, pd.DataFrame) else [value]
    has_missing = any(not isinstance(c.dtype, np.dtype) and bool(c.isna().any()) for c in columns)
    if has_missing or array.dtype == object:
        taken = dict.fromkeys(t.name for signature in operator.signatures for t in signature.inputs)
        way_out = f"Fill missing values, {name}.fillna(...), and convert it: {name}.astype(...)"
        if has_missing:  # NumPy would read them as NaN, and so lose what pandas knows
            raise DTypeError(message(operator.name, f"{name} has missing values", "numbers alone", way_out))
        what = f"{name} has columns or values that have no common type of NumPy's"
        raise DTypeError(message(operator.name, what, ", ".join(taken), way_out))
    return array


def _pandas_sums(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """By label, as in pandas: labels that an operand lacks have NaN there. A gradient has the labels of its operand."""
    pd = _library("pandas")
    labelled = [tensor for tensor in tensors if _is_pandas(tensor)]
    first = labelled[0]
    if any(type(other) is not type(first) for other in labelled):
        kinds = " and ".join(dict.fromkeys(type(one).__name__ for one in labelled))
        what, way_out = f"the operands are a {kinds} of pandas", "Give NumPy arrays: x.to_numpy()"
        raise ArgumentError(message(operator.name, what, "pandas objects of one kind", way_out))
    labels = [[one] if isinstance(one, pd.Index) else one.axes for one in labelled]
    are_equal = all(a.equals(b) for other in labels[1:] for a, b in zip(labels[0], other, strict=True))
    if not operator.is_row_wise and are_equal and not operator.sums(tensors):
        return operator.by_elements(tensors, keywords)
    if not are_equal and (operator.is_row_wise or isinstance(first, pd.Index)):
        what = "the labels of the pandas objects differ"
        raise ShapeError(message(operator.name, what, "equal labels", "Align them first: x.align(y)"))
    if operator.is_row_wise:
        _refuse_keywords(operator, keywords, NOT_FOR_RESULTS, "a pandas object")
    together = tensors
    if not are_equal:
        axes = [parts[0] for parts in zip(*labels, strict=True)]
        for other in labels[1:]:
            axes = [a if a.equals(b) else a.union(b) for a, b in zip(axes, other, strict=True)]
        names = ("index", "columns")[: len(axes)]
        wanted = dict(zip(names, axes, strict=True))
        together = tuple(one.reindex(**wanted) if _is_pandas(one) else one for one in tensors)
    arrays = [_without_labels(operator, *pair) for pair in zip(operator.tensors, together, strict=True)]
    found = operator(*arrays, **keywords)
    results = []
    for place, value in zip(operator.operands, found if isinstance(found, tuple) else (found,), strict=True):
        of: Any = None if place is None else tensors[place]
        if not _is_pandas(of):
            results.append(value)
        elif isinstance(of, pd.Index):
            results.append(pd.Index(value, name=of.name))
        else:
            with_labels = together[place]
            kept = {"name": of.name} if isinstance(of, pd.Series) else {"columns": with_labels.columns}
            made = type(of)(value, index=with_labels.index, **kept)
            results.append(made if are_equal else made.reindex_like(of))
    return tuple(results) if len(results) > 1 else results[0]


def _is_pandas(value: Any) -> bool:
    pd = sys.modules.get("pandas")
    return pd is not None and isinstance(value, (pd.DataFrame, pd.Series, pd.Index))


# ---- xarray


def _xarray_rows(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Rows along the dimensions that ``dim`` names."""
    xr = _library("xarray")
    keywords, where = _without_where(operator, keywords)
    _refuse_keywords(operator, keywords, (*NOT_FOR_RESULTS, "keepdims"), "an xarray object")
    first = next(tensor for tensor in tensors if is_xarray(tensor))
    known = ", ".join(repr(name) for name in first.dims) or "arrays of one dimension or more"
    if "axis" in keywords or "dim" not in keywords:
        what = "axis was given for an xarray object" if "axis" in keywords else "dim is missing for an xarray object"
        example = next(iter(first.dims), "x")
        way_out = f"Say by name which dimension rows lie along: dim={example!r}"
        raise ArgumentError(message(operator.name, what, f"dim=, one or several of {known}", way_out))
    dim = keywords.pop("dim")
    dims = list(dim) if isinstance(dim, list | tuple) else [dim]
    if isinstance(first, xr.Dataset):
        if len(tensors) > 1:
            _refuse(operator, operator.tensors[0], "is a Dataset beside others", "DataArrays", "Give its variables")
        masked = keywords if where is None else {**keywords, "where": where}
        return first.map(lambda variable: operator(variable, dim=dims, **masked), keep_attrs=True)
    for tensor in filter(is_xarray, tensors):
        if not dims or len(set(dims)) < len(dims) or not set(dims) <= set(tensor.dims):
            names = ", ".join(repr(name) for name in tensor.dims)
            what = f"dim is {dim!r} for an array with the dimensions {names or 'none'}"
            raise ParameterError(message(operator.name, what, f"one or several of {names}, each once"))
        cut = [name for name in dims if len(dict(tensor.chunksizes).get(name, ())) > 1]
        if cut:
            what = f"the array is cut into chunks along {cut[0]!r}, and a row must lie in one chunk"
            raise ShapeError(message(operator.name, what, "", f"Rechunk it: x.chunk({{{cut[0]!r}: -1}})"))
    compute = partial(operator, axis=tuple(range(-len(dims), 0)), **keywords)
    if where is not None:
        if isinstance(where, xr.DataArray):
            mask = where.broadcast_like(first)
        else:
            mask = xr.DataArray(np.broadcast_to(np.asarray(where), first.shape), dims=first.dims)
        tensors = (*tensors, mask)
    result = xr.apply_ufunc(
        compute if where is None else lambda *arrays: compute(*arrays[:-1], where=arrays[-1]),
        *tensors,
        input_core_dims=[dims] * len(tensors),
        output_core_dims=[[] if operator.reduces else dims],
        dask="allowed",
        keep_attrs=True,
    )
    return result if operator.reduces else result.transpose(*first.dims, ...)


def _xarray_sums(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """By name, as in xarray: each gradient has the dimensions and coordinates of its operand."""
    xr = _library("xarray")
    data_sets = [tensor for tensor in tensors if isinstance(tensor, xr.Dataset)]
    if data_sets:
        names = list(data_sets[0].data_vars)
        for other in data_sets[1:]:
            if list(other.data_vars) != names:
                what = "the Datasets have different variables"
                raise ArgumentError(message(operator.name, what, "the same ones", "Choose them: x[names]"))
        of_each = {}
        for name in names:
            chosen = [tensor[name] if isinstance(tensor, xr.Dataset) else tensor for tensor in tensors]
            found = operator(*chosen, **keywords)
            of_each[name] = found if isinstance(found, tuple) else (found,)
        together = [xr.Dataset({name: found[i] for name, found in of_each.items()}) for i in range(operator.nout)]
        return tuple(together) if len(together) > 1 else together[0]
    named = [tensor for tensor in tensors if is_xarray(tensor)]
    arrays = [tensor for tensor in named if isinstance(tensor, xr.DataArray)]
    joined = iter(xr.align(*arrays, join=xr.get_options()["arithmetic_join"], copy=False))
    aligned = [next(joined) if isinstance(tensor, xr.DataArray) else tensor for tensor in tensors]
    dims = list(dict.fromkeys(dim for tensor in aligned if is_xarray(tensor) for dim in tensor.dims))
    if operator.is_row_wise:
        _refuse_keywords(operator, keywords, NOT_FOR_RESULTS, "an xarray object")
        keywords = _rows_by_name(operator, keywords, dims)
    given = []
    for name, tensor in zip(operator.tensors, aligned, strict=True):
        if is_xarray(tensor):
            own = [dim for dim in dims if dim in tensor.dims]
            sizes = tuple(tensor.sizes[dim] if dim in own else 1 for dim in dims)
            given.append(tensor.transpose(*own).data.reshape(sizes))
        elif np.ndim(tensor) > len(dims):
            what = f"{name} has {np.ndim(tensor)} axes, and the xarray objects have the dimensions {', '.join(map(repr, dims))}"
            raise ShapeError(message(operator.name, what, "an axis for each dimension", "Name them: xarray.DataArray"))
        else:
            given.append(tensor)
    found = operator(*given, **keywords)
    results = []
    for place, value in zip(operator.operands, found if isinstance(found, tuple) else (found,), strict=True):
        of: Any = None if place is None else aligned[place]
        if not is_xarray(of):
            results.append(value)
            continue
        own = [dim for dim in dims if dim in of.dims]
        data = value.reshape([of.sizes[dim] for dim in own])
        made: Any = xr.Variable(own, data)
        if isinstance(of, xr.DataArray):
            made = xr.DataArray(made, coords=of.coords, name=of.name)
            if any(made.sizes[dim] != tensors[place].sizes[dim] for dim in own):
                made = made.reindex_like(tensors[place], fill_value=0)  # what has no partner takes no part
        results.append(made.transpose(*of.dims))
    return tuple(results) if len(results) > 1 else results[0]


def _rows_by_name(operator: Any, keywords: Mapping[str, Any], dims: Sequence[Any]) -> dict[str, Any]:
    """The keywords of a call over rows, with ``axis`` in the place of ``dim``."""
    known = ", ".join(map(repr, dims)) or "arrays of one dimension or more"
    if "axis" in keywords or "dim" not in keywords:
        what = "axis was given for an xarray object" if "axis" in keywords else "dim is missing for an xarray object"
        way_out = f"Say by name which dimension rows lie along: dim={next(iter(dims), 'x')!r}"
        raise ArgumentError(message(operator.name, what, f"dim=, one or several of {known}", way_out))
    rest = dict(keywords)
    dim = rest.pop("dim")
    wanted = list(dim) if isinstance(dim, list | tuple) else [dim]
    if not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(dims):
        what = f"dim is {dim!r} for arrays with the dimensions {known}"
        raise ParameterError(message(operator.name, what, f"one or several of {known}, each once"))
    if "keepdims" in operator.keywords:
        rest["keepdims"] = True  # the axes that the gradient lacks have length 1 here
    return {**rest, "axis": tuple(dims.index(name) for name in wanted)}


def is_xarray(value: Any) -> bool:
    """Whether the dimensions of a value have names."""
    xr = sys.modules.get("xarray")
    return xr is not None and isinstance(value, (xr.DataArray, xr.Dataset, xr.Variable))


# ---- Dask


def _dask_rows(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Chunk by chunk, when it is computed. A row must lie in one chunk."""
    da = _library("dask.array")
    _refuse_keywords(operator, keywords, NOT_FOR_RESULTS, "a Dask array")
    arrays = [da.asanyarray(tensor) for tensor in tensors]
    dimensions = arrays[0].ndim
    axes = operator.row_axes(keywords.pop("axis", -1), dimensions)
    for array in arrays:
        if array.ndim != dimensions:
            what = f"Dask arrays of {dimensions} and {array.ndim} dimensions"
            raise ShapeError(message(operator.name, what, "equal numbers of dimensions"))
        cut = [axis for axis in axes if array.numblocks[axis] > 1]
        if cut:
            what = f"the Dask array is cut into chunks along axis {cut[0]}, and a row must lie in one chunk"
            raise ShapeError(message(operator.name, what, "", f"Rechunk it: x.rechunk({{{cut[0]}: -1}})"))
    compute = partial(operator, axis=axes, **keywords)
    # Types do not depend on values: two small arrays tell the result's.
    meta = np.asarray(compute(*(np.ones((1,) * dimensions, array.dtype) for array in arrays)))
    others: dict[str, Any] = {}
    if operator.reduces and keywords.get("keepdims"):
        others["chunks"] = tuple((1,) if axis in axes else arrays[0].chunks[axis] for axis in range(dimensions))
    elif operator.reduces:
        others["drop_axis"] = axes
    return da.map_blocks(compute, *arrays, dtype=meta.dtype, meta=meta[(slice(0, 0),) * meta.ndim], **others)


is_dask = _class("dask.array", "Array")
"""Whether a value is a Dask array."""


def dask_elements(
    compute: Callable[..., Any], count: int, tensors: Sequence[Any], dtypes: Sequence[np.dtype]
) -> list[Any]:
    """The results of a function that computes ``count`` of them element by element: each as a lazy Dask array.

    Each is computed for itself, so what one needs does not wait for the others.
    """
    da = _library("dask.array")
    arrays = [da.asarray(tensor) for tensor in tensors]
    rank = max(array.ndim for array in arrays)
    pairs = [part for array in arrays for part in (array, tuple(range(rank - array.ndim, rank)))]
    return [
        da.blockwise(
            partial(_one_of, compute, i, count),
            tuple(range(rank)),
            *pairs,
            dtype=dtype,
            meta=np.empty((0,) * rank, dtype),
        )
        for i, dtype in zip(range(count), dtypes, strict=True)
    ]


def _one_of(compute: Callable[..., Any], place: int, count: int, *blocks: np.ndarray) -> Any:
    results = compute(*blocks)
    return results[place] if count > 1 else results


def _refuse_sparse_rows(operator: Any, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> NoReturn:
    what = "is a sparse array, whose rows Ogive does not compute"
    name = operator.tensors[0]
    _refuse(operator, name, what, "dense arrays", f"Give {name}.todense()")


WITH_ROWS = (
    WithRows(lambda value: isinstance(value, np.ma.MaskedArray), _masked_rows),
    WithRows(_class("awkward", "Array"), _awkward_rows),
    WithRows(_is_pandas, _pandas_rows),
    WithRows(is_xarray, _xarray_rows),
    WithRows(is_dask, _dask_rows),
    WithRows(_class("sparse", "SparseArray"), _refuse_sparse_rows),
)

#: In the order in which they decide: what is of such a kind, and how gradients that may be sums are computed of it.
WITH_SUMS: tuple[tuple[Callable[[Any], bool], Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]], ...] = (
    (is_xarray, _xarray_sums),
    (_is_pandas, _pandas_sums),
    (_class("awkward", "Array"), _awkward_sums),
    (is_dask, lambda operator, tensors, keywords: operator.over_dask(tensors, keywords)),
)
