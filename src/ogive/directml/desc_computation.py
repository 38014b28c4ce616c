"""From a desc to what computes it: the catalogue's formula, or a row-wise operator of the catalogue.

Operators are found by the DirectML name that the catalogue gives them, or by catalog/standards.py, where names, members
and choices differ.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import count
from typing import Any, Literal, NamedTuple

import numpy as np

from ogive.catalog.standards import counterpart, row_of, rows
from ogive.common.dtypes import UNSIGNED, ElementType
from ogive.directml.descs import OperatorDesc
from ogive.directml.enumerations import short_name
from ogive.directml.results import DMLError, refuse
from ogive.directml.support import is_rowwise, reduced_axes
from ogive.directml.tensor import DML_BUFFER_TENSOR_DESC, element_type
from ogive.engine.computation import Formula, Fused, cast, make_ufunc, under
from ogive.engine.plan import RowsAlong
from ogive.engine.rows import RowFormula
from ogive.errors import ParameterError
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, constant, lift, node
from ogive.operators.operator import Operator
from ogive.operators.signature import ANY, Parameter, Signature

#: Operators that take elements as bits, whatever their type.
ON_BITS = ("ELEMENT_WISE_BIT_",)

#: Members that are no number of the formula.
_STRUCTURAL = ("ScaleBias", "FusedActivation", "MinMaxDataType", "AxisCount", "Axes")


class ElementwiseDesc(NamedTuple):
    """An element-wise computation with its parameters' values. Its operands are the input tensors that are there."""

    name: str
    formulas: Formula | Fused
    parameters: tuple[float, ...]


@dataclass(frozen=True)
class Whole:
    """A function of the whole inputs that writes into ``out``: what no element is computed from one element."""

    name: str
    function: Callable[..., Any]
    along: RowsAlong | None = None

    def __call__(self, *inputs: np.ndarray, out: np.ndarray) -> None:
        self.function(*inputs, out=out)


class RowWiseDesc(NamedTuple):
    """A computation over rows, which lie along the last axis."""

    name: str
    formulas: RowFormula


Computation = ElementwiseDesc | RowWiseDesc | Whole


@cache
def find(operator_name: str) -> Operator:
    """The operator of the catalogue for a DirectML operator.

    >>> find("ELEMENT_WISE_TANH")
    <operator tanh(x)>
    """
    return rows("directml", operator_name)[0].operator


def computation(desc: OperatorDesc, accuracy: str, *, compiles: bool = True) -> Callable[[], Computation]:
    """The maker of the desc's computation. Refuses at once numbers for which the formula has no meaning.

    ``accuracy`` is the contract of element-wise formulas. ``compiles``: whether the processor computes them.

    The desc has been validated.
    """
    name = desc.FACTS.name
    if name in FILLS:
        return partial(FILLS[name], desc)
    if name == "CAST":
        return lambda: ElementwiseDesc("cast", cast(*_kinds(desc)), ())
    if is_rowwise(name):
        return _rowwise(desc, find(name), compiles=compiles)
    recipe = _recipe(desc, find(name))
    activation = getattr(desc, "FusedActivation", None)
    if activation is None:
        return lambda: _under(recipe.elementwise(), accuracy)
    following = _recipe(activation, find(activation.FACTS.name), (recipe.types[-1],) * 2)
    return lambda: _under(_in_sequence(recipe, following), accuracy)


def _under(made: ElementwiseDesc, accuracy: str) -> ElementwiseDesc:
    return made._replace(formulas=under(made.formulas, accuracy))


# ---- row-wise operators


def _rowwise(desc: OperatorDesc, operator: Operator, *, compiles: bool) -> Callable[[], RowWiseDesc | Whole]:
    axes = reduced_axes(desc)
    axis = axes[0] if len(axes) == 1 else axes
    source, result = _kinds(desc)

    def make() -> RowWiseDesc | Whole:
        sizes = desc.InputTensor.Sizes
        signature = Signature((source,), (result,))
        formula = RowFormula(operator.computation(signature).roots, (source,), (result,))
        if axes == (len(sizes) - 1,) and sizes[-1] > 1:
            return RowWiseDesc(operator.name, formula)
        if compiles:
            operator.kernel(signature).prepare()
        along = RowsAlong(formula, operator, tuple(axes))
        return Whole(f"{operator.name}(axis={axis})", lambda x, out: operator(x, axis=axis, out=out), along)

    return make


# ---- operators without inputs


def _constant(desc: OperatorDesc) -> Whole:
    value = desc.Value.value(desc.ValueDataType)

    def fill(out: np.ndarray) -> None:
        out[...] = value

    return Whole("fill_value_constant", fill)


def _element_of_sequence(kind: ElementType) -> Formula:
    """Element ``index`` of a sequence, rounded once; of integers modulo the size of the type."""
    index, start, delta = (lift(_leaf(i)) for i in range(3))
    inputs = (next(t for t in UNSIGNED if t.bits == 32), kind, kind)
    return Formula((start + index * delta,), inputs, (kind,), modular=not kind.is_float)


def _sequence(desc: OperatorDesc) -> Whole:
    kind = kind_of(desc, desc.output)
    start, delta = (
        np.array(union.value(desc.ValueDataType), kind.numpy) for union in (desc.ValueStart, desc.ValueDelta)
    )
    ufunc = make_ufunc("fill_value_sequence", _element_of_sequence(kind))

    def fill(out: np.ndarray) -> None:
        flat = np.empty(out.size, out.dtype)
        for first in range(0, out.size, _CHUNK):
            part = flat[first : first + _CHUNK]
            ufunc(np.arange(first, first + part.size, dtype=np.uint32), start, delta, out=part)
        np.copyto(out, flat.reshape(out.shape))

    return Whole("fill_value_sequence", fill)


#: Elements of a sequence that are computed at a time.
_CHUNK = 1 << 16

FILLS: dict[str, Callable[[OperatorDesc], Whole]] = {
    "FILL_VALUE_CONSTANT": _constant,
    "FILL_VALUE_SEQUENCE": _sequence,
}


# ---- element-wise operators


class _TensorOperand(NamedTuple):
    """The source of a tensor of the catalogue's operator: an input by its number, an open parameter, or a constant."""

    kind: Literal["input", "parameter", "constant"]
    value: int | float | str


class _Recipe(NamedTuple):
    """The arguments of `_formulas`, and the values of the parameters that it leaves open."""

    operator: Operator
    types: tuple[ElementType, ...]
    operands: tuple[_TensorOperand, ...]
    choices: tuple[tuple[str, Any], ...]
    is_scaled: bool
    parameters: tuple[float, ...]

    def formulas(self) -> Formula | Fused:
        return _formulas(self.operator, self.types, self.operands, self.choices, self.is_scaled)

    def elementwise(self) -> ElementwiseDesc:
        return ElementwiseDesc(self.operator.name, self.formulas(), self.parameters)


def _kinds(desc: OperatorDesc) -> tuple[ElementType, ...]:
    """The element types that the computation sees: of the inputs that are there, then of the output."""
    tensors = [getattr(desc, member.name) for member in (*desc.FACTS.inputs, desc.FACTS.output)]
    return tuple(kind_of(desc, tensor) for tensor in tensors if tensor is not None)


def kind_of(desc: OperatorDesc, tensor: DML_BUFFER_TENSOR_DESC) -> ElementType:
    """The element type in which an operator sees one of its tensors."""
    kind = element_type(tensor.DataType)
    assert kind is not None, "the support tables let no 4-bit type pass"
    if desc.FACTS.name.startswith(ON_BITS) and not kind.is_integer:
        return next(t for t in UNSIGNED if t.bits == kind.bits)
    return kind


def _recipe(desc: OperatorDesc, operator: Operator, kinds: tuple[ElementType, ...] | None = None) -> _Recipe:
    types = _kinds(desc) if kinds is None else kinds
    numbers, constants, choices = _attributes(desc)
    operands = _operands(desc, operator, numbers, constants)
    numeric = [parameter.name for parameter in operator.numeric_parameters]
    own = {name: value for name, value in numbers.items() if name in numeric}
    values = _checked(desc, operator, own | choices)
    scale_bias = getattr(desc, "ScaleBias", None)
    scale = {} if scale_bias is None else {"ScaleBias.Scale": scale_bias.Scale, "ScaleBias.Bias": scale_bias.Bias}
    extra = {str(operand.value): numbers[str(operand.value)] for operand in operands if operand.kind == "parameter"}
    member_of = {counterpart("directml", desc.FACTS.name, member.name): member.name for member in desc.FACTS.members}
    for name, value in (scale | extra).items():
        _check_number(desc, member_of.get(name, name), value)
    return _Recipe(
        operator=operator,
        types=types,
        operands=operands,
        choices=tuple(sorted(choices.items())),
        is_scaled=scale_bias is not None,
        parameters=(
            *scale.values(),
            *(values[name] for name in numeric),
            *extra.values(),
        ),
    )


def _operands(
    desc: OperatorDesc, operator: Operator, numbers: dict[str, float], constants: dict[str, int | float]
) -> tuple[_TensorOperand, ...]:
    """The desc's tensors are those of the catalogue's operator for which no member gives a number, in order."""
    members = iter(desc.FACTS.inputs)
    positions = count()
    operands = []
    for tensor in operator.tensors:
        if tensor in constants:
            operands.append(_TensorOperand("constant", constants[tensor]))
        elif tensor in numbers:
            operands.append(_TensorOperand("parameter", tensor))
        else:
            member = next(members)
            is_there = not member.optional or getattr(desc, member.name) is not None
            # The zero points, which are what may be left out, are then 0.
            operands.append(_TensorOperand("input", next(positions)) if is_there else _TensorOperand("constant", 0))
    return tuple(operands)


def _attributes(desc: OperatorDesc) -> tuple[dict[str, float], dict[str, int | float], dict[str, Any]]:
    """The members that are not tensors: FLOAT numbers, exact numbers, choices; by their names in Ogive."""
    numbers: dict[str, float] = {}
    constants: dict[str, int | float] = {}
    name_of = desc.FACTS.name
    members = {m.name: getattr(desc, m.name) for m in desc.FACTS.members if not m.is_tensor}
    modes = {name: short_name(value) for name, value in members.items() if isinstance(value, enum.IntEnum)}
    row = row_of("directml", name_of, modes)
    choices = {} if row is None else dict(row.choices)
    for member in desc.FACTS.members:
        if member.is_tensor or member.name in _STRUCTURAL or member.name in modes:
            continue
        name, value = counterpart("directml", name_of, member.name), members[member.name]
        if member.type == "DML_SCALAR_UNION":
            constants[name] = value.value(desc.scalar_type)
        else:
            numbers[name] = value
    return numbers, constants, choices


def _checked(desc: OperatorDesc, operator: Operator, given: dict[str, Any]) -> dict[str, Any]:
    """Every parameter with its value; what the formula has no meaning for is refused by its DirectML name."""
    try:
        return operator.checked_parameters(given)
    except ParameterError as error:
        for member in desc.FACTS.members:
            name = counterpart("directml", desc.FACTS.name, member.name)
            parameter = next((p for p in operator.parameters if p.name == name), None)
            if parameter is None or name not in given:
                continue
            try:
                parameter.checked(operator.name, given[name])
            except ParameterError as own:
                allowed = str(own).partition("allowed: ")[2]
                what = f"{member.name} is {getattr(desc, member.name)}"
                refuse(type(desc).__name__, what, allowed, member=member.name, cause=own)
        refuse(desc.FACTS.type_name, str(error), cause=error)


def _check_number(desc: OperatorDesc, name: str, value: float) -> None:
    """The condition for every open parameter, for a number that is none of the catalogue's operator."""
    try:
        Parameter(name, None, ANY).checked(type(desc).__name__, value)
    except ParameterError as error:
        raise DMLError(str(error), subject=type(desc).__name__, member=name) from error


# ---- formulas


@lru_cache(maxsize=1024)
def _formulas(
    operator: Operator,
    types: tuple[ElementType, ...],
    operands: tuple[_TensorOperand, ...],
    choices: tuple[tuple[str, Any], ...],
    is_scaled: bool,
) -> Formula | Fused:
    """The computation for these element types. Its open parameters: scale and bias, the operator's, the operands'."""
    *inputs, _ = types
    if not is_scaled or inputs[0].is_float:
        return _formula(operator, types, operands, dict(choices), is_scaled)
    # Integers are rounded and saturated between ScaleBias and the operator.
    scaled = Formula((_scaled(_leaf(0)),), (inputs[0],), (inputs[0],), parameter_count=2)
    following = _formula(operator, types, operands, dict(choices), False)
    steps = ((scaled, (0,)), (following, (len(inputs), *range(1, len(inputs)))))
    return Fused(tuple(inputs), steps, (len(inputs) + 1,))


def _formula(
    operator: Operator,
    types: tuple[ElementType, ...],
    operands: tuple[_TensorOperand, ...],
    choices: dict[str, Any],
    is_scaled: bool,
) -> Formula:
    """The operator's formula with these operands, scaled before anything is rounded."""
    *inputs, output = types
    if not is_scaled and all(operand.kind == "input" for operand in operands):
        return operator.computation(Signature(tuple(inputs), (output,)), **choices)
    first = 2 if is_scaled else 0
    own = len(operator.numeric_parameters)
    positions = count(first + own)
    leaves: list[Expression] = []
    for operand in operands:
        if operand.kind == "constant":
            leaves.append(constant(operand.value))  # type: ignore[arg-type]
        elif operand.kind == "parameter":
            leaves.append(node(ops.PARAMETER, (), (next(positions), operand.value), Format.NUMBER))
        else:
            leaves.append(_leaf(operand.value))
    if is_scaled:
        leaves[0] = _scaled(leaves[0])
    is_whole = not any(t.is_float for t in inputs) and all(operand.kind != "parameter" for operand in operands)
    roots = operator.formula(for_integers=is_whole, **choices)
    modular = operator.modular and is_whole
    made = Formula(roots, tuple(inputs), (output,), modular=modular, parameter_count=own)
    return made.applied_to(leaves, tuple(inputs), first, next(positions))


def _leaf(position: int | float | str) -> Expression:
    """An input. A desc that has scales or numbers for operands has no truth values among them."""
    return node(ops.INPUT, (), position, Format.NUMBER)


def _scaled(x: Expression) -> Expression:
    """DML_SCALE_BIAS: its numbers are the first two parameters."""
    scale = node(ops.PARAMETER, (), (0, "Scale"), Format.NUMBER)
    bias = node(ops.PARAMETER, (), (1, "Bias"), Format.NUMBER)
    return lift(x) * lift(scale) + lift(bias)


def _in_sequence(first: _Recipe, second: _Recipe) -> ElementwiseDesc:
    """One computation for an operator and its fused activation; what goes between them is rounded."""
    inputs = first.types[:-1]
    steps = ((first.formulas(), tuple(range(len(inputs)))), (second.formulas(), (len(inputs),)))
    name = f"{first.operator.name}, {second.operator.name}"
    return ElementwiseDesc(name, Fused(inputs, steps, (len(inputs) + 1,)), first.parameters + second.parameters)
