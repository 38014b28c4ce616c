"""Random calls of operators: operands in all kinds of containers, and keywords, right ones and wrong ones."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from ogive.catalog.glu_halves import OfHalves
from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.errors import ArgumentError, DTypeError, OgiveError, OutputError, ParameterError, ShapeError
from ogive.operators.signature import ANY
from tests.inputs import random_values, special_values

#: The largest parts that an error may be of.
Errors = tuple[type[OgiveError], ...]


class Named(np.ndarray):
    """A subclass, which results keep unless subok says otherwise."""


# ---- layouts of NumPy's arrays


def contiguous(x: np.ndarray) -> np.ndarray:
    return np.array(x, order="C")


def fortran(x: np.ndarray) -> np.ndarray:
    return np.array(x, order="F")


def strided(x: np.ndarray) -> np.ndarray:
    return np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x


def negative(x: np.ndarray) -> np.ndarray:
    return x[::-1].copy()[::-1] if x.ndim else x


def constant(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x.reshape(-1)[:1].reshape(()), x.shape) if x.size else x


def big_endian(x: np.ndarray) -> np.ndarray:
    return x.astype(x.dtype.newbyteorder(">")) if x.dtype.isbuiltin == 1 else x


def unaligned(x: np.ndarray) -> np.ndarray:
    buffer = np.empty(x.nbytes + 1, np.uint8)[1:]
    result = np.ndarray(x.shape, x.dtype, buffer)
    result[...] = x
    return result


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


LAYOUTS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    contiguous,
    fortran,
    strided,
    negative,
    constant,
    big_endian,
    unaligned,
    read_only,
)


# ---- containers


def names_of(*names: str) -> frozenset[str]:
    return frozenset(names)


ALL = names_of(*ELEMENT_TYPES)
NARROW = ALL - {"float64", "int64", "uint64"}
OF_NUMPY = ALL - {"bfloat16"}


@dataclass(frozen=True)
class Container:
    """A kind of container: how an array is put in, and taken out of a result."""

    name: str
    make: Callable[[np.ndarray], Any]
    library: str = "numpy"
    types: frozenset[str] = OF_NUMPY
    dimensions: tuple[int, ...] = (0, 1, 2, 3)
    read: Callable[[Any], np.ndarray] = np.asarray
    comes_out: Callable[[Any], bool] = lambda result: type(result) is np.ndarray or isinstance(result, np.generic)
    #: NumPy's keywords are for these alone.
    takes_keywords: bool = False
    #: Whether operands of other shapes broadcast as NumPy's do.
    broadcasts: bool = True

    def __repr__(self) -> str:
        return self.name


def imported(name: str) -> Any:
    return importlib.import_module(name)


def to_torch(x: np.ndarray) -> Any:
    torch, x = imported("torch"), x.copy()
    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)


def from_torch(x: Any) -> np.ndarray:
    torch = imported("torch")
    if x.dtype == torch.bfloat16:
        return x.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return x.numpy()


def of_class(module: str, name: str) -> Callable[[Any], bool]:
    return lambda result: isinstance(result, getattr(imported(module), name))


def masked(x: np.ndarray) -> Any:
    return np.ma.MaskedArray(x.copy(), mask=np.arange(x.size).reshape(x.shape) % 3 == 1)


def with_dimensions(x: np.ndarray) -> Any:
    return imported("xarray").DataArray(x, dims=("a", "b", "c")[3 - x.ndim :])


CONTAINERS = (
    *(Container(f.__name__, f, types=ALL, takes_keywords=True) for f in LAYOUTS),
    Container("list", lambda x: x.tolist(), takes_keywords=True),
    Container("tuple", lambda x: tuple(x.tolist()), dimensions=(1, 2), takes_keywords=True),
    Container("number", lambda x: x.item(), dimensions=(0,), takes_keywords=True),
    Container("scalar", lambda x: x[()], types=ALL, dimensions=(0,), takes_keywords=True),
    Container("memoryview", lambda x: memoryview(x.copy()), takes_keywords=True),
    Container("masked", masked, dimensions=(1, 2, 3), comes_out=lambda r: isinstance(r, np.ma.MaskedArray)),
    Container(
        "subclass",
        lambda x: x.copy().view(Named),
        types=ALL,
        dimensions=(1, 2, 3),
        read=lambda r: r.view(np.ndarray),
        comes_out=lambda r: isinstance(r, Named),
    ),
    Container("torch", to_torch, "torch", ALL, read=from_torch, comes_out=of_class("torch", "Tensor")),
    Container("jax", lambda x: imported("jax.numpy").asarray(x), "jax", NARROW, comes_out=of_class("jax", "Array")),
    Container(
        "series",
        lambda x: imported("pandas").Series(x.copy()),
        "pandas",
        dimensions=(1,),
        read=lambda r: r.to_numpy(),
        comes_out=of_class("pandas", "Series"),
        broadcasts=False,
    ),
    Container(
        "frame",
        lambda x: imported("pandas").DataFrame(x.copy()),
        "pandas",
        dimensions=(2,),
        read=lambda r: r.to_numpy(),
        comes_out=of_class("pandas", "DataFrame"),
        broadcasts=False,
    ),
    Container(
        "xarray",
        with_dimensions,
        "xarray",
        dimensions=(1, 2, 3),
        read=lambda r: r.to_numpy(),
        comes_out=of_class("xarray", "DataArray"),
        broadcasts=False,
    ),
    Container(
        "dask",
        lambda x: imported("dask.array").from_array(x.copy(), chunks=-1),
        "dask",
        dimensions=(1, 2, 3),
        read=lambda r: np.asarray(r.compute(scheduler="synchronous")),
        comes_out=of_class("dask.array", "Array"),
    ),
)

INSTALLED = tuple(c for c in CONTAINERS if importlib.util.find_spec(c.library) is not None)


# ---- right calls


@dataclass
class Call:
    """A call, and all that is needed to say what must come out."""

    op: Any
    operands: list[Any]
    arrays: list[np.ndarray]
    """The operands as NumPy reads them."""
    weak: list[bool]
    """The ones of them that are Python's numbers, which take the type of what stands beside them."""
    container: Container
    is_contained: list[bool]
    parameters: dict[str, Any]
    """As they are given."""
    keywords: dict[str, Any] = field(default_factory=dict)
    """NumPy's, axis and dim."""
    axis: int | tuple[int, ...] | None = -1

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*(array.shape for array in self.arrays))

    def __call__(self) -> Any:
        return self.op(*self.operands, **self.parameters, **self.keywords)


shapes = st.one_of(
    st.sampled_from([(), (1,), (5,), (17,), (3, 4), (0,), (2, 0), (2, 3, 2), (1, 7)]),
    st.lists(st.integers(0, 6), min_size=0, max_size=3).map(tuple),
)


def part_of(draw: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to another one."""
    if draw(st.booleans()):
        return shape
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(1 if draw(st.booleans()) else n for n in kept)


def values(draw: Any, kind: ElementType, shape: tuple[int, ...]) -> np.ndarray:
    seed = draw(st.integers(0, 2**16))
    pool = np.concatenate([special_values(kind), random_values(kind, 40, seed)])
    with np.errstate(all="ignore"):
        pool = np.where(pool == pool, pool, np.nan).astype(kind.numpy) if kind.is_float else pool  # quiet NaN alone:
        # NumPy warns when it converts others before a loop sees them.
    return np.random.default_rng(seed).choice(pool, shape)


#: Magnitudes beyond which a float32 number that a quantised one stands for would be infinite.
QUANTISED = ("quantized_linear_add",)


def operand(draw: Any, op: Any, kind: ElementType, shape: tuple[int, ...]) -> np.ndarray:
    array = values(draw, kind, shape)
    if op.name in QUANTISED and kind.is_float:
        with np.errstate(all="ignore"):
            array = np.where(np.isfinite(array), np.clip(np.abs(array), 2.0**-40, 2.0**40), 1).astype(array.dtype)
    return array


def number(draw: Any, parameter: Any, of_integers: bool) -> Any:
    """A value that a numeric parameter takes, in one of the forms that numbers have.

    Bounds may be any number. A factor or divisor of a formula is of ordinary size: a product or a quotient that
    overflows or underflows on the way to the result is lost, as documented.
    """
    usual = st.sampled_from([0.75, -1.25, 3.0, 0.0, 1.0, -1.0, 0.5, 2.0, 1e-3, 100.0])
    anything = st.floats(-1000, 1000, width=32)
    if parameter.constraint is ANY:
        anything = st.floats(allow_nan=False, width=32)
    value = draw(usual if of_integers and parameter.constraint is not ANY else st.one_of(usual, anything))
    assume(parameter.constraint.holds(value))
    assume(value == 0 or abs(value) >= (2.0**-126 if parameter.constraint is ANY else 2.0**-10))
    forms: list[Callable[[float], Any]] = [float, np.float32, np.float64, np.array, lambda v: np.array(v, ">f8")]
    if np.isfinite(value) and value == int(value):
        forms += [int]
    return draw(st.sampled_from(forms))(value)


def parameters_of(draw: Any, op: Any, of_integers: bool) -> dict[str, Any]:
    given = {}
    for parameter in op.parameters:
        if parameter.is_required or draw(st.booleans()):
            choices = parameter.choices
            given[parameter.name] = draw(st.sampled_from(choices)) if choices else number(draw, parameter, of_integers)
    return given


def is_usable(container: Container, kinds: set[str], dimensions: int) -> bool:
    return kinds <= container.types and dimensions in container.dimensions


@st.composite
def operand_calls(draw: Any, op: Any) -> Call:
    """A call without NumPy's keywords."""
    signature = draw(st.sampled_from(op.signatures))
    shape = draw(shapes)
    assume(not op.is_row_wise or len(shape) > 0)
    size = math.prod(shape)
    kinds = {kind.name for kind in (*signature.inputs, *signature.outputs)}
    usable = [c for c in INSTALLED if is_usable(c, kinds, len(shape)) and (size or c.name != "frame")]
    has_rows_beside = op.is_row_wise and op.inputs > 1  # all in one container, of one shape; awkward arrays stand alone
    container = draw(st.sampled_from([c for c in usable if c.library != "awkward"] if has_rows_beside else usable))
    first = draw(st.integers(0, op.inputs - 1))  # one at least is in the container
    operands, arrays, weak, is_contained = [], [], [], []
    for i, kind in enumerate(signature.inputs):
        size = shape if i == first or has_rows_beside or not container.broadcasts else part_of(draw, shape)
        array = operand(draw, op, kind, size)
        kept = (
            container
            if i == first or has_rows_beside or (len(size) in container.dimensions and draw(st.booleans()))
            else None
        )
        if kept is None and not container.broadcasts:
            array, kept = operand(draw, op, kind, ()), None
        # pandas makes arrays of Python's numbers beside its objects.
        may_be_number = array.ndim == 0 and kind.name in OF_NUMPY and container.library != "pandas"
        if kept is None and may_be_number and draw(st.booleans()):
            made: Any = array.item()
        else:
            made = (kept.make if kept else draw(st.sampled_from(LAYOUTS)))(array)
        operands.append(made)
        is_contained.append(kept is container)
        weak.append(type(made) in (int, float))
        arrays.append(as_read(container if kept else None, made))
        assume(arrays[-1].shape == array.shape)  # empty lists have fewer dimensions
    parameters = parameters_of(draw, op, signature.is_of_integers)
    return Call(op, operands, arrays, weak, container, is_contained, parameters)


def as_read(container: Container | None, made: Any) -> np.ndarray:
    """An operand as a plain native array."""
    if container is None or container.library == "numpy":
        array = np.asarray(made)
    else:
        array = container.read(made)
    return np.array(array.astype(array.dtype.newbyteorder("=")) if array.dtype.isbuiltin != 2 else array)


@st.composite
def right_calls(draw: Any, op: Any) -> Call:
    call = draw(operand_calls(op))
    if op.is_row_wise and draw(st.booleans()):
        dimensions = len(call.shape)
        axis = draw(
            st.one_of(
                st.none(),
                st.integers(-dimensions, dimensions - 1),
                st.lists(st.integers(0, dimensions - 1), min_size=1, max_size=dimensions, unique=True).map(tuple),
            )
        )
        call.axis = axis
        if call.container.name != "xarray":
            call.keywords["axis"] = axis
    if call.container.name == "xarray" and op.is_row_wise:
        axes = range(len(call.shape)) if call.axis is None else np.atleast_1d(call.axis)
        dims = [call.operands[0].dims[a] for a in axes]
        call.keywords["dim"] = dims if len(dims) > 1 else dims[0]
    if call.container.takes_keywords and draw(st.booleans()):
        add_keywords(draw, call)
    return call


def add_keywords(draw: Any, call: Call) -> None:
    """NumPy's keywords, as they should be."""
    found = resolve(call)
    assume(found is not None)
    inputs, (result,) = found  # type: ignore[misc]
    keywords = call.keywords
    if draw(st.booleans()):
        keywords["casting"] = draw(st.sampled_from(["same_kind", "unsafe", "safe"]))
    if draw(st.booleans()):
        keywords["order"] = draw(st.sampled_from(["C", "F", "A", "K", None]))
    if draw(st.booleans()):
        keywords["subok"] = draw(st.booleans())
    if draw(st.booleans()) and all(kind is result for kind in inputs):
        keywords["dtype"] = result.numpy
    if draw(st.booleans()):
        out = values(draw, result, call.shape)
        layout = draw(st.sampled_from(["plain", "strided", "fortran", "big endian", "unaligned", "overlapping"]))
        if layout == "overlapping":
            candidates = [
                x
                for x, array in zip(call.operands, call.arrays, strict=True)
                if type(x) is np.ndarray and x.flags.writeable and x.shape == call.shape and x.dtype == result.numpy
            ]
            out = draw(st.sampled_from(candidates)) if candidates else out
            if candidates and draw(st.booleans()):
                out = out[::-1] if out.ndim else out
        else:
            made = {"strided": strided, "fortran": fortran, "big endian": big_endian, "unaligned": unaligned}
            out = made.get(layout, np.array)(out)
        keywords["out"] = (out,) if draw(st.booleans()) else out
        if draw(st.booleans()) and not call.op.is_row_wise:
            mask = values(draw, ELEMENT_TYPES["bool"], part_of(draw, call.shape))
            keywords["where"] = mask if draw(st.booleans()) or mask.ndim else bool(mask)


def resolve(call: Call) -> tuple[tuple[ElementType, ...], tuple[ElementType, ...]] | None:
    """The element types of the loop that NumPy chooses: that of the operands' own types, or the first that is safe."""
    weak = are_weak(call)
    has_own_types = not any(weak) or any(array.dtype == ml_dtypes.bfloat16 for array in call.arrays)
    for fits in (is_of, is_safe) if has_own_types else (is_safe,):
        for signature in call.op.signatures:
            if all(
                fits_number(kind, array) if is_weak else fits(kind, array)
                for kind, array, is_weak in zip(signature.inputs, call.arrays, weak, strict=True)
            ):
                return signature
    return None


def are_weak(call: Call) -> list[bool]:
    """The operands that are Python's numbers without a type of their own: all, if an array is of a kind that holds them."""
    order = "biuf"
    arrays = [order.index(a.dtype.kind) if a.dtype.kind in order else 3 for a in call.arrays]
    numbers = [min(kind, 1) if kind < 3 else 3 for kind, weak in zip(arrays, call.weak, strict=True) if weak]
    highest = max((kind for kind, weak in zip(arrays, call.weak, strict=True) if not weak), default=-1)
    return call.weak if all(kind <= highest for kind in numbers) else [False] * len(arrays)


def overflows(call: Call, kinds: tuple[ElementType, ...]) -> bool:
    """Whether a whole number of Python's does not fit the type that it has to take."""
    return any(
        type(x) is int and kind.is_integer and not kind.minimum <= x <= kind.maximum
        for x, kind in zip(call.operands, kinds, strict=True)
    ) or any(type(x) is int and abs(x) >= 2**63 for x in call.operands if not any(are_weak(call)))


def is_of(kind: ElementType, array: np.ndarray) -> bool:
    return array.dtype == kind.numpy


def is_safe(kind: ElementType, array: np.ndarray) -> bool:
    return array.dtype != object and np.can_cast(array.dtype, kind.numpy, "safe")


def fits_number(kind: ElementType, array: np.ndarray) -> bool:
    return kind.is_float or (array.dtype.kind in "iu" and kind.is_integer)


# ---- wrong calls: a right one with one mistake

Mistake = Callable[[Any, Call], "Errors"]


def one_of(draw: Any, listed: Any) -> Any:
    """One of some objects, which need not be hashable."""
    return listed[draw(st.integers(0, len(listed) - 1))]


def another_keyword(draw: Any, call: Call) -> Errors:
    name = draw(st.sampled_from(["alpa", "Alpha", "x", "dim", "axes", "keepdims", "inplace", "", "out_", "μ", "sig"]))
    taken = {parameter.name for parameter in call.op.parameters}
    assume(name not in taken and not (name == "dim" and call.container.name == "xarray"))
    call.keywords[name] = draw(st.sampled_from([0, None, 1.5, "a"]))
    return (ArgumentError,)


def parameter_of_no_number(draw: Any, call: Call) -> Errors:
    numeric = [p.name for p in call.op.numeric_parameters]
    assume(numeric)
    name = draw(st.sampled_from(numeric))
    wrong: list[Any] = ["1.5", b"1", True, 1j, [1.0], (1.0,), {}, object(), np.ones(2), np.ones((1, 1)), np.nan, "nan"]
    wrong += [10**400, -(10**5000), 1e-46, 1e39, np.str_("2"), np.datetime64(0, "s"), np.bool_(True), float, None]
    value = one_of(draw, wrong)
    assume(value is not None or call.op.name != "clamp")  # there None is no bound
    call.parameters[name] = value
    return (ParameterError,)


def parameter_of_no_choice(draw: Any, call: Call) -> Errors:
    selecting = [p for p in call.op.parameters if p.choices]
    assume(selecting)
    parameter = draw(st.sampled_from(selecting))
    wrong: list[Any] = [
        "Tanh",
        "",
        b"none",
        2,
        1.0,
        0.0,
        True,
        None,
        [],
        float("nan"),
        np.int64(1),
        np.ones(2),
        10**400,
    ]
    call.parameters[parameter.name] = one_of(draw, wrong)
    return (ParameterError,)


def parameter_left_out(draw: Any, call: Call) -> Errors:
    required = [p.name for p in call.op.parameters if p.is_required]
    assume(required)
    del call.parameters[draw(st.sampled_from(required))]
    return (ArgumentError,)


def operands_of_another_number(draw: Any, call: Call) -> Errors:
    assume(call.op.name not in ("clip", "clamp"))  # which take every usual call; the table below has the wrong ones
    right = {call.op.inputs, 1} if isinstance(call.op, OfHalves) else {call.op.inputs}  # one tensor holds both halves
    count = draw(st.sampled_from([n for n in range(12) if n not in right]))
    call.operands = (call.operands * 12)[:count]
    return (ArgumentError,)


def operand_of_none(draw: Any, call: Call) -> Errors:
    assume(call.op.name not in ("clip", "clamp"))
    last = 0 if isinstance(call.op, OfHalves) else call.op.inputs - 1  # without the second tensor the first holds both
    call.operands[draw(st.integers(0, last))] = None
    return (ArgumentError,)


WRONG_ARRAYS: tuple[Callable[[tuple[int, ...]], Any], ...] = (
    lambda shape: np.ones(shape, complex),
    lambda shape: np.ones(shape, np.complex64),
    lambda shape: np.full(shape, None, object),
    lambda shape: np.full(shape, "text"),
    lambda shape: np.full(shape, b"text"),
    lambda shape: np.zeros(shape, "datetime64[s]"),
    lambda shape: np.zeros(shape, "timedelta64[s]"),
    lambda shape: np.zeros(shape, [("a", float), ("b", int)]),
    lambda shape: np.zeros(shape, "V8"),
    lambda shape: np.zeros(shape, np.longdouble),
    lambda shape: np.zeros(shape, ml_dtypes.float8_e5m2),
    lambda shape: np.zeros(shape, ml_dtypes.int4),
    lambda shape: np.zeros(shape, np.dtypes.StringDType()),
)


def operand_of_another_type(draw: Any, call: Call) -> Errors:
    assume(call.container.takes_keywords)
    make = draw(st.sampled_from(WRONG_ARRAYS))
    i = draw(st.integers(0, call.op.inputs - 1))
    array = make(call.arrays[i].shape)
    call.operands[i] = array
    call.keywords.pop("dtype", None)
    call.keywords.pop("casting", None)
    assume(np.finfo(np.longdouble).nmant > 52 or array.dtype != np.longdouble)
    safe = any(np.can_cast(array.dtype, signature.inputs[i].numpy, "safe") for signature in call.op.signatures)
    assume(not safe)
    call.keywords.pop("out", None)
    call.keywords.pop("where", None)
    return (DTypeError,)


def operand_that_is_no_array(draw: Any, call: Call) -> Errors:
    assume(call.container.takes_keywords)
    wrong: list[Any] = [
        "text",
        b"text",
        {},
        {1.0},
        object(),
        1j,
        [[1.0], [1.0, 2.0]],
        [None],
        float,
        iter([1.0]),
        ...,
        slice(1),
        [object()],
        ["a"],
        range,
    ]
    call.operands[draw(st.integers(0, call.op.inputs - 1))] = one_of(draw, wrong)
    for name in ("casting", "dtype"):  # with casting="unsafe" NumPy makes numbers of text
        call.keywords.pop(name, None)
    call.keywords.pop("out", None)
    call.keywords.pop("where", None)
    return (DTypeError, ShapeError, ParameterError)  # to row operators an object is an array of no dimensions


def shapes_that_do_not_fit(draw: Any, call: Call) -> Errors:
    assume(call.container.takes_keywords and call.op.inputs > 1 and call.shape and call.shape[-1] > 1)
    i = draw(st.integers(0, call.op.inputs - 1))
    assume(any(array.shape[-1:] == call.shape[-1:] for j, array in enumerate(call.arrays) if j != i))
    call.operands[i] = np.ones((*call.shape[:-1], call.shape[-1] + 1), call.arrays[i].dtype)
    call.keywords.pop("out", None)
    call.keywords.pop("where", None)
    assume(resolve(call) is not None)
    return (ShapeError,)


def wrong_out(draw: Any, call: Call) -> Errors:
    found = resolve(call)
    assume(call.container.takes_keywords and found is not None)
    call.keywords.pop("where", None)
    call.keywords.pop("casting", None)
    call.keywords.pop("dtype", None)
    result = found[1][0].numpy  # type: ignore[index]
    right = np.zeros(call.shape, result)
    other = "datetime64[s]" if result.kind == "b" else bool
    wrong: list[tuple[Any, type[OgiveError]]] = [
        (right.tolist() if right.ndim else 1.0, OutputError),
        ((right, right), OutputError),
        ((), OutputError),
        ([right], OutputError),
        ("out", OutputError),
        (read_only(right), OutputError),
        (np.zeros(call.shape, other), DTypeError),
        (np.zeros(call.shape, "U4"), DTypeError),
        (np.zeros((*call.shape, call.shape[-1] + 1) if call.shape else (), result), ShapeError),
        (np.zeros((*call.shape[:-1], call.shape[-1] + 1) if call.shape else (), result), ShapeError),
        (memoryview(bytearray(8)), OutputError),
        (right.dtype, OutputError),
        (np.ndarray, OutputError),
        (True, OutputError),
    ]
    out, error = one_of(draw, wrong)
    assume(error is not ShapeError or (call.shape and call.shape[-1] > 1))
    call.keywords["out"] = out
    return (error,)


def wrong_where(draw: Any, call: Call) -> Errors:
    found = resolve(call)
    assume(call.container.takes_keywords and not call.op.is_row_wise and found is not None and math.prod(call.shape))
    call.keywords["out"] = np.zeros(call.shape, found[1][0].numpy)  # type: ignore[index]
    wrong: list[tuple[Any, type[OgiveError]]] = [
        (None, ArgumentError),
        (np.ones(call.shape), DTypeError),
        (np.ones((*call.shape, 7), bool), ShapeError),
    ]
    call.keywords["where"], error = one_of(draw, wrong)
    assume(error is not ShapeError or not call.shape or call.shape[-1] not in (1, 7))
    return (error, ShapeError) if error is DTypeError else (error,)


def wrong_choice_of_numpy(draw: Any, call: Call) -> Errors:
    assume(call.container.takes_keywords)
    name = draw(st.sampled_from(["casting", "order", "subok", "dtype", "signature"]))
    wrong: dict[str, list[Any]] = {
        "casting": ["exact", "", 1, [], "same-kind"],
        "order": ["Z", "", 1, [], "CF"],
        "subok": ["yes", 1, 0, None, []],
        "dtype": ["wide", complex, object, "U3", "datetime64[s]", 7, [], {}, [("a", float)], "f3", np.longdouble],
        "signature": ["ZZ->Z", "", 7, [], "d", (), ("d",), {}, "->", object],
    }
    value = one_of(draw, wrong[name])
    assume(np.finfo(np.longdouble).nmant > 52 or value is not np.longdouble)
    call.keywords.pop("dtype", None)
    call.keywords[name] = value
    return (ArgumentError, DTypeError)


def wrong_axis(draw: Any, call: Call) -> Errors:
    assume(call.op.is_row_wise and call.container.name != "xarray")
    n = len(call.shape)
    wrong: list[Any] = [
        n,
        -n - 1,
        10**30,
        1.0,
        "last",
        (),
        (0, 0),
        (0, -n),
        (0, n),
        [0.5],
        object(),
        b"",
        {},
        (None,),
        np.ones(2),
        {0: 1, "a": 2},
        ((0,),),
        np.nan,
    ]
    call.keywords["axis"] = one_of(draw, wrong)
    return (ParameterError,)


MISTAKES: tuple[Mistake, ...] = (
    another_keyword,
    parameter_of_no_number,
    parameter_of_no_choice,
    parameter_left_out,
    operands_of_another_number,
    operand_of_none,
    operand_of_another_type,
    operand_that_is_no_array,
    shapes_that_do_not_fit,
    wrong_out,
    wrong_where,
    wrong_choice_of_numpy,
    wrong_axis,
)


@st.composite
def wrong_calls(draw: Any, op: Any) -> tuple[Call, Errors]:
    call = draw(right_calls(op))
    return call, draw(st.sampled_from(MISTAKES))(draw, call)
