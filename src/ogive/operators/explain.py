"""The mistake in a call of an operator: Ogive's errors in place of NumPy's, which name no argument.

A call is looked at only after it has failed, so none of this costs a call that succeeds. An error that finds no words
here stays as it was: it may come from an array of another library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ogive.common.array_shapes import broadcast_shapes
from ogive.common.dtypes import ElementType, element_type_of
from ogive.errors import (
    ArgumentError,
    DTypeError,
    OgiveError,
    OutputError,
    ShapeError,
    described,
    message,
    shapes_apart,
)
from ogive.operators.containers import is_dask, outline
from ogive.operators.signature import Signature, in_order

#: NumPy's keywords that are one of some values.
_CHOICES: dict[str, tuple[Any, ...]] = {
    "casting": ("no", "equiv", "safe", "same_kind", "unsafe"),
    "order": ("C", "F", "A", "K", None),
    "subok": (True, False),
}


class Called(Protocol):
    """The facts about the operator whose call has failed. Its type is above: operators import this file."""

    name: str
    tensors: tuple[str, ...]
    signatures: tuple[Signature, ...]

    @property
    def nin(self) -> int:
        """How many tensors it takes."""

    @property
    def nout(self) -> int:
        """How many results it has."""

    @property
    def types(self) -> Sequence[str]:
        """Its combinations of NumPy's own element types."""

    def result_shape(self, shape: tuple[int, ...], keywords: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape of its results, of operands that broadcast to ``shape``."""


def explain(op: Called, error: BaseException, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
    """Raise an error that names the operator and the argument, if one is due. ``args`` are as many as the tensors."""
    if isinstance(error, OgiveError) or not isinstance(error, TypeError | ValueError | OverflowError):
        return
    try:
        _check_results(op, args)
        _check_keywords(op, keywords)
        _check_out(op, keywords.get("out"))
        arrays = _arrays(op, args)
        if isinstance(error, OverflowError):
            _check_numbers(op, args, arrays, error)
            return
        _check_where(op, keywords, arrays)
        if isinstance(error, TypeError):
            _check_types(op, args, arrays, keywords)
        if isinstance(error, ValueError):
            _check_shapes(op, arrays, keywords)
    except OgiveError as explained:
        raise explained from error


def _targets(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)


def _named(op: Called, arrays: Iterable[Any], what: str) -> str:
    return " and ".join(f"{name} {getattr(array, what)}" for name, array in zip(op.tensors, arrays, strict=True))


# ---- results


def _check_results(op: Called, args: tuple[Any, ...]) -> None:
    """Dask has no element-wise functions of several results but NumPy's own."""
    for name, value in zip(op.tensors, args, strict=True):
        if op.nout > 1 and is_dask(value):
            layout = f"{','.join(['()'] * op.nin)}->{','.join(['()'] * op.nout)}"
            way_out = f"Use dask.array.apply_gufunc({op.name}, {layout!r}, ..., output_dtypes=...)"
            what = f"{name} is a Dask array, and there are {op.nout} results"
            raise ArgumentError(message(op.name, what, "Dask arrays where there is one result", way_out))


# ---- keywords


def _check_keywords(op: Called, keywords: Mapping[str, Any]) -> None:
    for name, choices in _CHOICES.items():
        value = keywords.get(name, choices[0])
        if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
            allowed = ", ".join(repr(choice) for choice in choices if choice is not None)
            raise ArgumentError(message(op.name, f"{name} is {value!r}", allowed))
    if keywords.get("dtype") is not None and keywords.get("signature") is not None:
        raise ArgumentError(message(op.name, "dtype and signature are both given", "one of them"))
    if keywords.get("dtype") is not None:
        _check_dtype(op, keywords["dtype"])


def _check_dtype(op: Called, given: Any) -> None:
    allowed = _listed(t for signature in op.signatures for t in signature.outputs)
    try:
        dtype = np.dtype(given)
    except TypeError:
        raise DTypeError(message(op.name, f"dtype is {given!r}, which is no dtype", allowed)) from None
    if not any(element_type_of(dtype) is t for signature in op.signatures for t in signature.outputs):
        raise DTypeError(message(op.name, f"dtype is {dtype}", allowed))


def _check_out(op: Called, out: Any) -> None:
    targets, wanted = _targets(out), len(op.signatures[0].outputs)
    if len(targets) != wanted:
        what = f"out has {len(targets)} arrays"
        raise OutputError(message(op.name, what, "an array" if wanted == 1 else f"a tuple of {wanted} arrays"))
    for target in targets:
        if isinstance(target, np.ndarray) and not target.flags.writeable:
            raise OutputError(message(op.name, "out is a read-only array", "writable arrays"))
        if isinstance(target, type) or (target is not None and not hasattr(target, "__array_ufunc__")):
            what, way_out = f"out is {described(target)}", "Make an array of a buffer with numpy.frombuffer"
            raise OutputError(message(op.name, what, "an array", way_out))


def _check_where(op: Called, keywords: Mapping[str, Any], arrays: list[np.ndarray]) -> None:
    where = np.asarray(keywords.get("where", True))
    if where.dtype != bool:
        way_out = "Convert it first: where != 0"
        raise DTypeError(message(op.name, f"where has dtype {where.dtype}", "bool", way_out))
    try:
        shape = broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        return  # said of the operands
    try:
        broadcast_shapes(where.shape, shape)
    except ValueError:
        what = f"where has shape {where.shape}"
        raise ShapeError(message(op.name, what, f"shapes that broadcast together with {shape}")) from None


# ---- operands


def _arrays(op: Called, args: tuple[Any, ...]) -> list[np.ndarray]:
    return [outline(op, name, arg) for name, arg in zip(op.tensors, args, strict=True)]


def _check_numbers(op: Called, args: tuple[Any, ...], arrays: list[np.ndarray], error: OverflowError) -> None:
    """Python's integers take the type of the arrays beside them, which may be too small for them."""
    # Truth values are of a lower kind: beside them, numbers have types of their own.
    beside = [array for arg, array in zip(args, arrays, strict=True) if type(arg) is not int and array.dtype != bool]
    try:
        common = np.result_type(*beside) if beside else np.dtype(np.int64)
    except (TypeError, ValueError):  # there is none
        return
    for name, arg in zip(op.tensors, args, strict=True):
        if type(arg) is not int:
            continue
        shown = str(arg) if abs(arg) < 1 << 64 else f"a whole number of {arg.bit_length()} bits"
        what = f"{name} is {shown}, and takes the type of the arrays beside it, {common}"
        if not beside:
            what = f"{name} is {shown}, and is of type {common} where no array of numbers stands beside it"
        if common.kind in "iu":
            limits = np.iinfo(common)
            if not limits.min <= arg <= limits.max:
                allowed = f"{limits.min} to {limits.max}"
                way_out = (
                    "Convert the arrays to a larger type first" if beside else f"Say its type: numpy.uint64({name})"
                )
                raise DTypeError(message(op.name, what, allowed, way_out))
        elif abs(arg) >> 1023:
            raise DTypeError(message(op.name, what, "magnitudes below 2**1023"))
    # The operands are of several types, and only NumPy knows which of them the number takes.
    for position, (name, arg) in enumerate(zip(op.tensors, args, strict=True)):
        taken = [signature.inputs[position] for signature in op.signatures]
        holds = next((t.name for t in taken if type(arg) is int and t.minimum <= arg <= t.maximum), None)
        if type(arg) is int and len(set(taken)) > 1 and f" {arg} " in str(error):
            way_out = f"Say its type: numpy.{holds}({name})" if holds else ""
            raise DTypeError(message(op.name, f"{name} is {arg}, too large for its type here ({error})", "", way_out))


def _listed(types: Iterable[ElementType]) -> str:
    return ", ".join(t.name for t in in_order(dict.fromkeys(types)))


def _of_wrong_type(name: str, arg: Any, array: np.ndarray, taken: str) -> tuple[str, str, str]:
    """The kind of an operand, the element types that are allowed, and the way out."""
    if hasattr(arg, "dtype"):
        return f"{name} has dtype {array.dtype}", taken, f"Convert it first: {name}.astype(...){_lost(array.dtype)}"
    allowed = f"an array or a number, of {taken}"
    if array.dtype == object or isinstance(arg, str | bytes):
        return f"{name} is {described(arg)}", allowed, ""
    kind = "text" if array.dtype.kind in "US" else f"numbers of dtype {array.dtype}"
    way_out = f"Convert it first: numpy.array(..., dtype=...){_lost(array.dtype)}"
    return f"{name} is {described(arg)} with {kind}", allowed, way_out


def _lost(dtype: np.dtype[Any]) -> str:
    """The loss of a conversion to a real type of at most 64 bits."""
    if dtype.kind == "c":
        return ". It drops the imaginary part"
    return ". It rounds to 53 bits" if dtype.kind == "f" and dtype.itemsize > 8 else ""


def _takes(taken: Iterable[ElementType], arg: Any, array: np.ndarray, *, is_weak: bool) -> bool:
    """Whether an operand can be of one of these types: as it is, or converted safely."""
    if is_weak and array.dtype != object:  # it takes any type of its kind, and of a higher one
        return any(t.is_float or (type(arg) is int and t.name != "bool") for t in taken)
    return any(np.can_cast(array.dtype, t.numpy, "safe") for t in taken)


def _are_weak(args: tuple[Any, ...], arrays: list[np.ndarray]) -> list[bool]:
    """The operands that are Python's numbers that take the type of what stands beside them.

    NumPy lets them if an array is of their kind or of a higher one. Otherwise they are int64 and float64.
    """
    kinds = "biuf"  # truth values, integers, floating-point numbers
    numbers = [type(arg) in (int, float) for arg in args]
    of_numbers = ["f" if type(arg) is float else "i" for arg, is_number in zip(args, numbers, strict=True) if is_number]
    beside = [array.dtype.kind for array, is_number in zip(arrays, numbers, strict=True) if not is_number]
    highest = max((kinds.find(kind) if kind in kinds else len(kinds) for kind in beside), default=-1)
    if all(kinds.find(kind) <= highest for kind in of_numbers):
        return numbers
    return [False] * len(args)


def _check_types(op: Called, args: tuple[Any, ...], arrays: list[np.ndarray], keywords: Mapping[str, Any]) -> None:
    weak = _are_weak(args, arrays)
    for position, (name, arg, array) in enumerate(zip(op.tensors, args, arrays, strict=True)):
        taken = [signature.inputs[position] for signature in op.signatures]
        if not _takes(taken, arg, array, is_weak=weak[position]):
            if type(arg) in (int, float) and array.dtype != object:
                what = f"{name} is {arg!r}, which is of type {array.dtype} here"
                is_of_kind = taken[0].is_float if type(arg) is float else taken[0].is_integer
                way_out = f"{'Say its type' if is_of_kind else 'Convert it first'}: numpy.{taken[0].name}({name})"
                raise DTypeError(message(op.name, what, _listed(taken), way_out))
            raise DTypeError(message(op.name, *_of_wrong_type(name, arg, array, _listed(taken))))
    casting = keywords.get("casting", "same_kind")
    if casting in ("no", "equiv") and len({array.dtype for array in arrays}) > 1:
        what = f"casting is {casting!r}, and the operands have several dtypes: {_named(op, arrays, 'dtype')}"
        raise DTypeError(message(op.name, what, "operands of one dtype, or casting='same_kind'"))
    if not any(
        all(
            _takes([t], arg, array, is_weak=is_weak)
            for t, arg, array, is_weak in zip(signature.inputs, args, arrays, weak, strict=True)
        )
        for signature in op.signatures
    ):
        what = f"no type takes all operands: {_named(op, arrays, 'dtype')}"
        allowed = _listed(t for signature in op.signatures for t in signature.inputs)
        raise DTypeError(message(op.name, what, allowed, "Convert one of them first: array.astype(...)"))
    for target in _targets(keywords.get("out")):
        if isinstance(target, np.ndarray):
            given = " and ".join(str(array.dtype) for array in arrays)
            what = f"out has dtype {target.dtype}, which cannot take the result for {given}"
            results = {t for signature in op.signatures for t in signature.outputs}
            taken = [t for t in results if np.can_cast(np.result_type(*arrays), t.numpy, "same_kind")]
            allowed = _listed(taken or results)
            raise DTypeError(message(op.name, what, allowed, "Give casting='unsafe' to cut the result to any dtype"))
    _check_loop(op, arrays, keywords)


def _check_loop(op: Called, arrays: list[np.ndarray], keywords: Mapping[str, Any]) -> None:
    """The part of the call that asks for one combination of types: the operands may not be convertible to it."""
    for name in ("dtype", "signature"):
        if keywords.get(name) is not None:
            casting = keywords.get("casting", "same_kind")
            asked = np.dtype(keywords[name]) if name == "dtype" else repr(keywords[name])
            what = f"{name} is {asked}, to which casting={casting!r} does not convert the operands"
            allowed = ", ".join(op.types)
            way_out = "Convert the operands first, or leave it out"
            raise DTypeError(message(op.name, f"{what}: {_named(op, arrays, 'dtype')}", allowed, way_out))


def _check_shapes(op: Called, arrays: list[np.ndarray], keywords: Mapping[str, Any]) -> None:
    try:
        shape = broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        raise shapes_apart(op.name, op.tensors, (array.shape for array in arrays)) from None
    shape = broadcast_shapes(shape, np.shape(keywords.get("where", True)))
    shape = op.result_shape(shape, keywords)
    for target in _targets(keywords.get("out")):
        if isinstance(target, np.ndarray) and target.shape != shape:
            raise ShapeError(message(op.name, f"out has shape {target.shape}", f"{shape}"))
    if keywords.get("signature") is not None:
        what = f"signature is {keywords['signature']!r}"
        raise ArgumentError(message(op.name, what, "the types of one loop, as bind(...).types lists them"))
