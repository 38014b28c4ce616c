"""Functions that can be exported: an interface and the way to compute it here; those of operators.

A fixed set of elements checks an exported function, by the digest of its results. The set is made with 64-bit integers alone, so that C makes the same one (self_test.py). Every second element has any
bits, every other is of ordinary size. The digest is FNV-1a of 64 bits over the bytes of all results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ogive.common.contracts import IN_FLOAT
from ogive.common.dtypes import ElementType
from ogive.common.forking import cached_property
from ogive.engine.computation import Compilable, make_ufunc
from ogive.errors import ArgumentError, DTypeError, UnsupportedError, message
from ogive.exporting.interface import Interface, Operand, identifiers
from ogive.operators.operator import Operator
from ogive.operators.signature import Signature

#: Elements of an element-wise function: not a multiple of any block.
ELEMENTS = 4099

#: (rows, elements of each): short ones, more than are taken at a time; one that is cut into segments.
ROWS = ((19, 331), (2, 20011))

MASK = (1 << 64) - 1


def mixed(numbers: np.ndarray) -> np.ndarray:
    """SplitMix64 of whole numbers."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


#: (bits of the exponent's bias, bits of the mantissa) of each format.
FORMATS = {"float16": (15, 10), "bfloat16": (127, 7), "float32": (127, 23), "float64": (1023, 52)}


def elements(kind: ElementType, operand: int, count: int) -> np.ndarray:
    """So many elements of an operand."""
    numbers = np.arange(count, dtype=np.uint64)
    bits = mixed(numbers + (np.uint64(operand + 1) << np.uint64(32)))
    if kind.name == "bool":
        return (bits & np.uint64(1)).astype(bool)
    small = bits % np.uint64(17)
    if kind.is_float:
        bias, mantissa = FORMATS[kind.name]
        exponent = np.uint64(bias - 8) + (bits & np.uint64(15))
        fraction = (bits >> np.uint64(4)) & np.uint64((1 << mantissa) - 1)
        small = (bits >> np.uint64(63)) << np.uint64(kind.bits - 1) | exponent << np.uint64(mantissa) | fraction
    elif kind.kind == "signed":
        with np.errstate(over="ignore"):
            small = small - np.uint64(8)
    chosen = np.where(numbers % np.uint64(2) == 0, bits, small)
    return chosen.astype(f"u{kind.itemsize}").view(kind.numpy)


def fnv(arrays: Sequence[np.ndarray]) -> int:
    """The digest of the arrays' bytes, one after the other."""
    found = 0xCBF29CE484222325
    for array in arrays:
        for byte in array.tobytes():
            found = (found ^ byte) * 0x100000001B3 & MASK
    return found


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


@dataclass(frozen=True)
class ExportSource:
    """A function to be exported."""

    interface: Interface
    computation: Compilable
    values: tuple[float, ...]
    """The values of the parameters, where the function is checked."""

    @cached_property
    def digest(self) -> int:
        """The digest of what the function computes of the fixed set, one shape after the other."""
        return fnv(self._computed)

    @cached_property
    def undecided(self) -> int:
        """How many of these results no level in C decides, so that they are not those of Python."""
        pairs = zip(self._computed, self.results(has_enclosures=True), strict=True)
        return sum(int(np.count_nonzero(_bits(a) != _bits(b))) for a, b in pairs)

    @cached_property
    def _computed(self) -> list[np.ndarray]:
        return self.results(has_enclosures=False)

    def inputs(self) -> Iterator[list[np.ndarray]]:
        """The fixed set: operands of each shape."""
        for shape in ROWS if self.interface.is_row_wise else ((1, ELEMENTS),):
            inputs = []
            for number, operand in enumerate(o for o in self.interface.operands if o.is_input):
                rows, count = shape[0], 1 if operand.of_row else shape[1]
                inputs.append(elements(operand.type, number, rows * count).reshape(rows, count))
            yield inputs

    def results(self, *, has_enclosures: bool) -> list[np.ndarray]:
        """The function's results on the fixed set; without enclosures as in C."""
        values = self.values or self.interface.constants
        ufunc = make_ufunc(self.interface.name, self.computation, values, has_enclosures=has_enclosures)
        results: list[np.ndarray] = []
        for inputs in self.inputs():
            found = ufunc(*inputs)
            results += found if isinstance(found, tuple) else (found,)
        return results


class CalledOperator(NamedTuple):
    """An operator under another of its names, which is that of the function: with its default numbers, as silu has no alpha."""

    operator: Operator
    name: str


def with_choices(op: Operator, choices: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parameters that select a formula; others raise ArgumentError."""
    selecting = {p.name for p in op.parameters if p.choices}
    for key in choices or {}:
        if key not in selecting:
            allowed = ", ".join(sorted(selecting)) or f"nothing: {op.name} has no parameter that selects a formula"
            raise ArgumentError(message("ogive.export", f"choices has {key!r}", allowed))
    return dict(choices or {})


def source_of_operator(
    op: Operator,
    dtype: str | Sequence[str] | None,
    choices: dict[str, Any],
    bound: dict[str, Any],
    name: str | None,
    shown: str = "",
) -> ExportSource:
    """The function of an operator for one combination of element types, with some parameters bound.

    ``name`` is that of the function in C; without one it is made of ``shown``, or of the operator's name.
    """
    with_choices(op, choices)
    required = {p.name: 1.5 for p in op.numeric_parameters if p.is_required}
    values = op.checked_parameters({**required, **bound, **choices})
    chosen = {p.name: values[p.name] for p in op.parameters if p.choices}
    numbers = {p.name: float(values[p.name]) for p in op.numeric_parameters}
    signature = _signature(op, dtype)
    computation = op.computation(signature, **(values if bound else chosen))
    names = list(op.tensors)
    results = ["y"] if len(signature.outputs) == 1 else [f"y{i}" for i in range(len(signature.outputs))]
    parameters = [] if bound else [p.name for p in op.numeric_parameters]
    words = identifiers([*names, *results, *parameters])
    tensors, open_ones = words[: len(names) + len(results)], words[len(names) + len(results) :]
    types = [*signature.inputs, *signature.outputs]
    operands = tuple(
        Operand(word, kind, k < len(names), k in computation.row_operands)
        for k, (word, kind) in enumerate(zip(tensors, types, strict=True))
    )
    own = [str(chosen[p.name]) for p in op.parameters if p.choices and not p.is_default(chosen[p.name])]
    called = [shown or op.base.name, *([] if op.accuracy == "exact" else ["fast"])]
    (name,) = identifiers([name or "_".join(["ogive", *called, *own, *_words(op, signature)])])
    title = (op.function.__doc__ or op.name).strip().splitlines()[0]
    if bound and numbers:  # the function has no parameters in C: the header says which values are in it
        title += f" Here {', '.join(f'{name} = {value!r}' for name, value in numbers.items())}."
    if op.accuracy == IN_FLOAT and (op.is_row_wise or len(signature.outputs) > 1):
        what = f"{op.base.name} {'takes rows' if op.is_row_wise else 'has several results'}"
        allowed = "operators of elements with one result, with accuracy fast"
        raise UnsupportedError(message("ogive.export", what, allowed, "Take accuracy='exact'"))
    real = "float" if op.accuracy == IN_FLOAT else "double"
    interface = Interface(name, title, operands, tuple(open_ones), computation.program, real=real)
    return ExportSource(interface, computation, () if bound else tuple(numbers.values()))


def _signature(op: Operator, dtype: str | Sequence[str] | None) -> Signature:
    """The combination of element types: by the type of all operands, or by the types of each input."""
    if dtype is None:
        dtype = "float32"
    named = [str(np.dtype(d)) if not isinstance(d, str) else d for d in ([dtype] if isinstance(dtype, str) else dtype)]
    for signature in op.signatures:
        inputs = [t.name for t in signature.inputs]
        if named == inputs or named == [*inputs, *(t.name for t in signature.outputs)]:
            return signature
    for signature in op.signatures:
        if len(named) == 1 and named[0] in (_first(signature.inputs), signature.inputs[-1].name):
            return signature
    known = ", ".join(dict.fromkeys(" ".join(dict.fromkeys(t.name for t in s.inputs)) for s in op.signatures))
    raise DTypeError(message("ogive.export", f"dtype is {' '.join(named)!r}", f"{known}, for {op.name}"))


def _first(types: Sequence[ElementType]) -> str:
    return next((t.name for t in types if t.name != "bool"), "bool")


def _words(op: Operator, signature: Signature) -> list[str]:
    """The types: each once, where that tells the operator's combinations apart, or all of them."""
    words = _each_once(signature)
    if sum(_each_once(other) == words for other in op.signatures) == 1:
        return words
    return [t.name for t in (*signature.inputs, *signature.outputs)]


def _each_once(signature: Signature) -> list[str]:
    inputs = list(dict.fromkeys(t.name for t in signature.inputs if t.name != "bool")) or ["bool"]
    outputs = list(dict.fromkeys(t.name for t in signature.outputs))
    return inputs if set(outputs) <= {*inputs, "bool"} else [*inputs, "to", *outputs]
