"""The specification of right results: one operator, of one standard and version, for certain element types, with its parameters.

`Specification` computes expected results of whole arrays. Nothing of it runs a kernel: NumPy decides what its running
bounds allow (`accuracy/running_bound.py`), and enclosures the rest (`enclosures/enclosure.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple, cast

import numpy as np

from ogive.catalog import OPERATORS, load
from ogive.catalog.aliases import ALIASES, by_name
from ogive.catalog.other_names import advice
from ogive.catalog.rounded_steps import ONCE, roundings_of, steps_of
from ogive.common.array_shapes import broadcast_arrays
from ogive.common.conversion import stored
from ogive.common.dtypes import ELEMENT_TYPES, FLOAT_FORMATS, FLOATS_OF_8_BITS, ElementType, stored_type, stored_type_of
from ogive.enclosures.enclosure import exact_value, right_result
from ogive.enclosures.near_zero import leading_of
from ogive.enclosures.row_enclosure import exact_row, right_row
from ogive.errors import ArgumentError, DTypeError, ParameterError, UnsupportedError, message, suggestion
from ogive.graph.expression import Expression
from ogive.graph.limits import stored_in, with_limits
from ogive.laboratory.accuracy.running_bound import enclosed
from ogive.laboratory.accuracy.ulp import units_in_one
from ogive.operators.operator import Operator
from ogive.operators.row_operator import RowOperator
from ogive.operators.signature import Signature

#: An exact value in long format may be wrong by this much of a unit in the last place.
ACCURATE = 2.0**-9

#: How a file says what numbers a formula was computed with.
FLOAT32_PARAMETERS = "parameters are rounded to float32, to nearest, as the standards' FLOAT is"
FLOAT64_PARAMETERS = "parameters are float64 numbers, not rounded to float32"


class FormulaStep(NamedTuple):
    """One formula, whose result is rounded to an element type."""

    root: Expression
    operands: tuple[int, ...]
    """The numbers of its values: the inputs first, then the results of the steps before."""
    numbers: Mapping[str, float]
    """Its parameters."""
    kind: ElementType
    modular: bool = False
    saturates: bool = True
    """Whether floats of 8 bits end at the largest number; other types have an infinity there."""


class Expected(NamedTuple):
    """Results of arrays of inputs."""

    right: np.ndarray
    """Correctly rounded."""
    exact: np.ndarray
    """The exact values in a longer format: float64, or long double for float64 results."""


@dataclass(frozen=True, eq=False)
class Specification:
    """One operator in one combination of element types, with its parameters."""

    operator: str
    """The name in the standard, or that of Ogive's catalogue."""
    standard: str
    """``ogive``, ``onnx`` or ``directml``."""
    version: str
    """The version of an ONNX operator, or the feature level of a DirectML one."""
    tensors: tuple[str, ...]
    inputs: tuple[ElementType, ...]
    output: ElementType
    steps: tuple[FormulaStep, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """All, with choices, as they are given."""
    is_row_wise: bool = False
    reduces: bool = False
    """Whether a row has one result."""
    catalogue: str = ""
    """The name in Ogive's catalogue; empty if there is none."""
    parameter_rule: str = FLOAT32_PARAMETERS
    rounding: str = ONCE
    """Where a gated unit rounds."""
    bind: Callable[..., Any] | None = None
    """Ogive's own kernel, for tests of it. No expected result comes from here."""

    @property
    def title(self) -> str:
        """A line for people."""
        types = ", ".join(dict.fromkeys(t.name for t in (*self.inputs, self.output)))
        version = f" ({self.standard} {self.version})" if self.version else ""
        return f"{self.operator}, {types}{version}"

    @property
    def drops_axis(self) -> bool:
        """Whether results have no axis for the row: those of the catalogue, where the standards' keep it."""
        return self.reduces and self.standard == "ogive"

    @property
    def kind(self) -> ElementType:
        """The element type that people name: that of the first input that is no truth value."""
        return next((t for t in self.inputs if t.kind != "boolean"), (*self.inputs, self.output)[0])

    @property
    def root(self) -> Expression:
        """The formula of the last step."""
        return self.steps[-1].root

    def right(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The correctly rounded results."""
        return self.expected(arrays).right

    def expected(self, arrays: Sequence[np.ndarray], *, with_exact: bool = True) -> Expected:
        """The correctly rounded results and the exact values; without these where they are not wanted."""
        arrays = broadcast_arrays(*arrays) if len(arrays) > 1 and not self.is_row_wise else list(arrays)
        values: list[np.ndarray] = list(arrays)
        found = None
        for step in self.steps:
            operands = [values[i] for i in step.operands]
            last = step is self.steps[-1]
            if self.is_row_wise:
                found = _of_rows(step, operands[0], self.reduces)
            else:
                found = _of_elements(step, operands, with_exact=with_exact and last)
            values.append(found.right)
        assert found is not None
        if self.drops_axis:
            return Expected(found.right[..., 0], found.exact[..., 0])
        return found

    def decimal(self, inputs: Sequence[Any], digits: int = 50) -> Decimal:
        """The exact value at one element. Steps before the last are rounded to their element type."""
        values = list(inputs)
        for step in self.steps[:-1]:
            value, _ = right_result(
                step.root,
                [values[i] for i in step.operands],
                step.numbers,
                step.kind,
                bits=self.inputs[0].bits,
                modular=step.modular,
            )
            values.append(value)
        last = self.steps[-1]
        return exact_value(
            last.root, [values[i] for i in last.operands], last.numbers, digits, bits=self.inputs[0].bits
        )

    def decimals(self, row: Sequence[float], digits: int = 50) -> list[Decimal]:
        """The exact values of a row."""
        (step,) = self.steps
        return exact_row(step.root, row, step.numbers, digits)


#: A call of an operator of whole arrays: its name, the inputs, the results.
Call = tuple[str, tuple[Any, ...], tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class WholeSpecification(Specification):
    """One operator of whole arrays, for certain types and attributes."""

    calls: Callable[[int], Iterator[Call]] = lambda seed: iter(())
    """The golden data: names, inputs and results, for a seed."""
    results: tuple[str, ...] = ("result",)
    """The outputs."""
    input_types: tuple[str, ...] = ()
    """The inputs' types as ONNX has them."""
    result_types: tuple[str, ...] = ()

    def expected(self, arrays: Sequence[np.ndarray], *, with_exact: bool = True) -> Expected:
        raise UnsupportedError(message(self.operator, "its golden data are calls", "those of `make`"))


# ---- whole arrays


def _of_elements(step: FormulaStep, arrays: Sequence[np.ndarray], *, with_exact: bool) -> Expected:
    shape = arrays[0].shape
    flat = [np.ascontiguousarray(x).reshape(-1) for x in arrays]
    kind = step.kind
    is_tiny = kind.name in FLOATS_OF_8_BITS
    found = enclosed(step.root, flat, step.numbers, ELEMENT_TYPES["float32"] if is_tiny else kind, modular=step.modular)
    right, exact, bound = np.array(found.right), np.array(found.value), np.array(found.bound)
    unknown = ~found.known
    if is_tiny:  # of which there are 256 operands: enclosures decide them all
        right, unknown = np.zeros(found.right.shape, kind.numpy), np.ones(found.right.shape, bool)
    width = stored_type_of(flat[0].dtype)
    bits = width.bits if width is not None else 64
    has_series = width is not None and width.name not in FLOATS_OF_8_BITS and not is_tiny
    if unknown.any() and len(flat) == 1 and has_series:
        leading = leading_of(step.root, step.numbers, (cast(ElementType, width), kind))
        if leading is not None:
            with np.errstate(invalid="ignore"):  # signalling NaN
                x = flat[0].astype(np.float64)
            near = unknown & (np.abs(x) <= leading.limit) & (x != 0)
            rounded, is_decided = leading.rounded(kind.numpy, x[near])
            values, _ = leading.rounded(np.float64, x[near])
            near[near] = is_decided
            exact[near], right[near] = values[is_decided], rounded[is_decided]
            bound[near] = 2 * np.abs(np.spacing(exact[near]))
            unknown &= ~near
    if unknown.any():
        places, index, inverse = _distinct(flat, unknown)

        def decide(place: int) -> float | int:
            given = [python_value(x[place]) for x in flat]
            return right_result(step.root, given, step.numbers, kind, bits=bits, modular=step.modular)[0]

        decided = np.array([decide(place) for place in places[index]], _long(kind))
        right[places] = stored(decided, kind, saturate=step.saturates)[inverse]
    if not with_exact or not kind.is_float:
        return Expected(right.reshape(shape), right.reshape(shape))
    with np.errstate(all="ignore"):
        loose = ~(bound * units_in_one(exact, kind) <= ACCURATE)
        # Beyond the type's end the value stays where it is known well, and is infinite where it is not.
        beyond = found.known & ~np.isfinite(right)
        exact = np.where(beyond & loose, right.astype(exact.dtype), exact)
        loose &= ~beyond
    if loose.any():
        places, index, inverse = _distinct(flat, loose)
        digits = 40 if kind.bits == 64 else 25
        decimals = [
            exact_value(step.root, [python_value(x[place]) for x in flat], step.numbers, digits, bits=bits)
            for place in places[index]
        ]
        exact[places] = np.array([_to_long(d, exact.dtype) for d in decimals], exact.dtype)[inverse]
    if is_tiny:
        exact = _ended(exact, right, kind)
    return Expected(right.reshape(shape), exact.reshape(shape))


def _ended(exact: np.ndarray, right: np.ndarray, kind: ElementType) -> np.ndarray:
    """Exact values; beyond the ends of a float of 8 bits what its results are there."""
    long = right.astype(exact.dtype)
    with np.errstate(invalid="ignore"):
        beyond = np.isfinite(long) & (np.abs(exact) > FLOAT_FORMATS[kind.name].largest)
    return np.where(np.isfinite(long) & ~beyond, exact, long)


def _of_rows(step: FormulaStep, rows: np.ndarray, reduces: bool) -> Expected:
    kind = step.kind
    flat = rows.reshape(-1, rows.shape[-1]) if rows.size else rows.reshape(0, max(rows.shape[-1], 1))
    take = slice(0, 1) if reduces else slice(None)
    long = np.dtype(np.longdouble) if kind.bits == 64 else np.dtype(np.float64)
    right, exact = [], []
    for row in flat:
        given = [python_value(x) for x in row]
        right.append(right_row(step.root, given, step.numbers, kind)[take])
        exact.append([_to_long(d, long) for d in exact_row(step.root, given, step.numbers, 25)[take]])
    shape = (*rows.shape[:-1], 1) if reduces else rows.shape
    found = stored(np.array(right, _long(kind)), kind, saturate=step.saturates)
    values = np.array(exact, long)
    if kind.name in FLOATS_OF_8_BITS:
        values = _ended(values, found, kind)
    return Expected(found.reshape(shape), values.reshape(shape))


def _long(kind: ElementType) -> Any:
    return np.float64 if kind.is_float else object


def _to_long(value: Decimal, dtype: Any) -> Any:
    return np.longdouble(str(value)) if dtype == np.longdouble else float(value)


def _distinct(arrays: Sequence[np.ndarray], where: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, which of them are of different inputs (all NaN are one), and for each place which of these it is."""
    places = np.flatnonzero(where)
    bits = np.stack([bits_of(x[places], canonical=True).astype(np.uint64) for x in arrays])
    _, index, inverse = np.unique(bits, axis=1, return_index=True, return_inverse=True)
    return places, index, inverse.ravel()


def python_value(value: Any) -> Any:
    """An element as Python's number; of bfloat16 too."""
    kind = np.dtype(value.dtype).kind
    return bool(value) if kind == "b" else int(value) if kind in "iu" else float(value)


def bits_of(x: np.ndarray, *, canonical: bool = False) -> np.ndarray:
    """The elements as unsigned integers; ``canonical`` makes all NaN one."""
    if x.dtype == object:
        return np.array([str(v) for v in x.flat], object).reshape(x.shape)
    if x.dtype.kind == "c":
        parts = np.stack([x.real, x.imag])
        return bits_of(parts, canonical=canonical)
    if x.dtype.name in ("int4", "uint4", "int2", "uint2"):  # of which a byte has unused bits
        return x.astype(np.int8).view(np.uint8)
    kind = stored_type_of(x.dtype)
    bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")
    is_integer = kind.is_integer if kind is not None else "int" in x.dtype.name
    if canonical and not is_integer and x.dtype != bool:
        nan = np.array(np.nan, x.dtype).view(bits.dtype)
        with np.errstate(invalid="ignore"):  # signalling NaN
            bits = np.where(np.isnan(x), nan, bits)
    return bits


# ---- operators of the catalogue


def find_operator(operator: Operator | str) -> Operator:
    """An operator of the catalogue by one of its names in Ogive or in a standard; an operator itself.

    Raises ArgumentError for other names.

    >>> find_operator("LeakyRelu")
    <operator leaky_relu(x, *, alpha=0.01)>
    """
    return _found(operator)[0]


def _found(operator: Operator | str) -> tuple[Operator, str]:
    """An operator, and the name that its golden data have: an alias keeps its own."""
    if isinstance(operator, Operator):
        return operator, operator.name
    found = by_name(str(operator))
    if found is not None:
        return found
    way_out = advice(str(operator)) or suggestion(str(operator).lower(), [*OPERATORS, *ALIASES])
    what = f"there is no operator {operator!r}"
    raise ArgumentError(message("ogive.golden", what, "the names of `ogive list`", way_out))


def of_operator(
    operator: Operator | str,
    dtype: ElementType | np.dtype | type | str,
    parameters: Mapping[str, Any] | None = None,
    *,
    round_parameters: bool | None = None,
    saturate: bool = True,
    rounding: str = ONCE,
    name: str = "",
) -> Specification:
    """The specification of an operator of the catalogue, or of one's own, for tensors of one element type.

    ``name`` is that of files and reports, by default the one that was given.
    ``rounding`` says where a gated unit rounds: "once", or in steps, of which each is correctly rounded.
    ``saturate``: whether floats of 8 bits end at their largest number, as ONNX's Cast with saturate=1 does; else larger
    results are infinities, or NaN in types that have none.
    ``round_parameters``: whether parameters are rounded to float32; by default where the element type computes in it.

    Raises ArgumentError for an unknown operator, DTypeError where it has no such type, ParameterError for
    parameters that it does not take.

    >>> of_operator("celu", "float16", {"alpha": 0.1}).steps[0].numbers
    {'alpha': 0.10000000149011612}
    """
    op, shown = _found(operator)
    kind = _element_type(op.name, dtype)
    signature = _signature(op, kind)
    values = op.checked_parameters(dict(parameters or {}))
    is_rounded = kind.computes_in == "float32" if round_parameters is None else round_parameters
    of_all = tuple(range(len(signature.inputs)))
    allowed = roundings_of(op.base.name)
    if rounding not in allowed:
        raise ParameterError(message(op.name, f"rounding is {rounding!r}", ", ".join(map(repr, allowed))))
    steps = [_step(op, signature, of_all, values, saturate=saturate, is_rounded=is_rounded)]
    bound: dict[str, Any] = dict(values)
    if rounding != ONCE:
        bound["rounding"] = rounding
        steps, kinds = [], list(signature.inputs)
        for made in steps_of(op.base.name, rounding, kind, values):
            given = Signature(tuple(kinds[place] for place in made.operands), (made.kind,))
            applied = made.operator or load("identity")
            steps.append(
                _step(applied, given, made.operands, made.parameters, saturate=saturate, is_rounded=is_rounded)
            )
            kinds.append(made.kind)
    return Specification(
        name or shown,
        "ogive",
        "",
        op.tensors,
        signature.inputs,
        signature.outputs[0],
        tuple(steps),
        values,
        is_row_wise=isinstance(op, RowOperator),
        reduces=op.reduces,
        catalogue=op.name,
        parameter_rule=FLOAT32_PARAMETERS if is_rounded else FLOAT64_PARAMETERS,
        rounding=rounding,
        bind=None if kind.name in FLOATS_OF_8_BITS else op.bind(**bound),
    )


def _step(
    op: Operator,
    signature: Signature,
    operands: tuple[int, ...],
    values: Mapping[str, Any],
    *,
    saturate: bool,
    is_rounded: bool,
) -> FormulaStep:
    """An operator's formula, whose result is rounded."""
    choices = {p.name: values[p.name] for p in op.parameters if p.choices}
    values = {**{p.name: p.default for p in op.parameters if not p.is_required}, **values}
    numbers = {
        p.name: float(np.float32(values[p.name])) if is_rounded else float(values[p.name])
        for p in op.numeric_parameters
    }
    roots = op.formula(**choices) if op.is_row_wise else op.formula(for_integers=signature.is_of_integers, **choices)
    if len(roots) != 1:
        raise UnsupportedError(message(op.name, f"it has {len(roots)} results", "operators with one"))
    roots = with_limits(roots, stored_in(signature.inputs, signature.outputs))
    modular = op.modular and signature.is_of_integers
    return FormulaStep(roots[0], operands, numbers, signature.outputs[0], modular, saturate)


def _element_type(name: str, dtype: ElementType | np.dtype | type | str) -> ElementType:
    if isinstance(dtype, ElementType):
        return dtype
    found = stored_type(dtype) if isinstance(dtype, str) else None
    if found is None:
        try:
            found = stored_type_of(np.dtype(dtype))
        except TypeError:
            found = None
    if found is None:
        raise DTypeError(
            message(name, f"the element type is {dtype!r}", ", ".join([*ELEMENT_TYPES, *FLOATS_OF_8_BITS]))
        )
    return found


def _signature(op: Operator, kind: ElementType) -> Signature:
    """The combination of types whose first number is of this type. Floats of 8 bits take the place of float32."""
    if kind.name in FLOATS_OF_8_BITS:
        single = _signature(op, ELEMENT_TYPES["float32"])
        inputs, outputs = (
            [kind if t.name == "float32" else t for t in types] for types in (single.inputs, single.outputs)
        )
        return Signature(tuple(inputs), tuple(outputs))
    numbers = [i for i, name in enumerate(op.tensors) if name not in op.truth_inputs] or [0]
    for signature in op.signatures:
        if signature.inputs[numbers[0]] is kind:
            return signature
    allowed = ", ".join(dict.fromkeys(s.inputs[numbers[0]].name for s in op.signatures))
    raise DTypeError(message(op.name, f"the element type is {kind.name!r}", allowed))
