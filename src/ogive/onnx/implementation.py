"""What computes a node: the one place that knows which operators there are.

A node is a constant, another name for a value, an element-wise program (which can fuse), or a function on
arrays. Element-wise operators come from the catalogue, by ONNX's name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ogive.dtypes import NUMBERS, ElementType
from ogive.errors import ModelError, ParameterError, UnsupportedError, message
from ogive.expression import Expression, Format, lift
from ogive.expression import node as expression
from ogive.onnx import formulas
from ogive.onnx.broadcasting import Rule, rule_of
from ogive.onnx.casting import cast_program, convert
from ogive.onnx.data_types import DATA_TYPES, data_type, data_type_of, element_types
from ogive.onnx.graph import Node
from ogive.onnx.movement import MOVEMENTS, SHAPE_ONLY
from ogive.onnx.reductions import REDUCTIONS
from ogive.operator import Operator, Signature
from ogive.transform.fold import fold
from ogive.transform.lower import Program, lower

__all__ = ["Alias", "Constant", "Elementwise", "Function", "Implementation", "implementation"]

#: Attributes that say how operands broadcast, or nothing at all: broadcasting.py has them.
_NOT_OF_THE_FORMULA = frozenset({"axis", "broadcast", "consumed_inputs"})


@dataclass(frozen=True, eq=False)
class Alias:
    """The output is the first input."""

    value: str
    type: str


@dataclass(frozen=True, eq=False)
class Constant:
    """The output is known."""

    array: np.ndarray
    type: str


@dataclass(frozen=True, eq=False)
class Elementwise:
    """Each element of the output follows from the elements of the operands at its place."""

    operands: tuple[str, ...]
    inputs: tuple[ElementType, ...]
    result: ElementType
    type: str
    rule: Rule
    make_program: Callable[[], Program]
    bind: Callable[[], np.ufunc] | None = None
    """The catalogue's ufunc of the same program, where there is one."""

    @cached_property
    def program(self) -> Program:
        return self.make_program()


@dataclass(frozen=True, eq=False)
class Function:
    """The output is computed from whole arrays."""

    operands: tuple[str, ...]
    function: Callable[..., np.ndarray]
    type: str
    is_view: bool = False
    """Whether the output may share memory with the first operand."""
    shape_only: bool = False
    """Whether nothing but the shape of the operand is looked at."""


Implementation = Alias | Constant | Elementwise | Function


def implementation(node: Node, output_type: str | None) -> Implementation | None:
    """What computes the node; None where Ogive has no such operator.

    ``output_type`` is what the schema says of the output, None where it leaves that to the attributes.
    Raises UnsupportedError where Ogive has the operator, but not for these types or attributes, and
    ModelError where the attributes make no sense.
    """
    make = _MAKERS.get(node.operator)
    if make is not None:
        return make(node, output_type)
    if node.operator in MOVEMENTS:
        return _movement(node, output_type)
    if node.operator in REDUCTIONS:
        return _reduction(node, output_type)
    return _from_catalogue(node, output_type)


# ---- no computation


def _identity(node: Node, output_type: str | None) -> Implementation:
    assert node.inputs[0] is not None
    assert output_type is not None
    return Alias(node.inputs[0], output_type)


def _constant(node: Node, output_type: str | None) -> Implementation:
    given = sorted(node.given)
    if len(given) != 1:
        raise ModelError(message(node.label, f"it has {len(given)} values", "exactly one attribute"))
    value: Any = node.attributes[given[0]]
    if given[0] != "value":
        kind = {"f": "float", "i": "int64", "s": "string"}[given[0].removeprefix("value_")[0]]
        value = np.array(value, DATA_TYPES[f"tensor({kind})"].numpy)
        value.flags.writeable = False
    found = data_type_of(value.dtype)
    assert found is not None
    return Constant(value, found.type)


# ---- functions on arrays


def _movement(node: Node, output_type: str | None) -> Implementation:
    others = node.operand_parameters[1:]
    attributes = {name: value for name, value in node.attributes.items() if name != "consumed_inputs"}
    if node.operator == "ConstantOfShape":
        value = attributes.get("value", np.zeros((), np.float32))
        if value.size != 1:
            raise ModelError(message(node.label, f"the attribute 'value' has {value.size} elements", "one"))
        found = data_type_of(value.dtype)
        assert found is not None
        output_type = found.type
    assert output_type is not None
    function = partial(_by_name, MOVEMENTS[node.operator], others, attributes)
    return Function(
        node.operands,
        function,
        output_type,
        is_view=node.operator not in SHAPE_ONLY,
        shape_only=node.operator in SHAPE_ONLY,
    )


def _reduction(node: Node, output_type: str | None) -> Implementation:
    assert output_type is not None
    function = partial(_by_name, REDUCTIONS[node.operator], node.operand_parameters[1:], node.attributes)
    return Function(node.operands, function, output_type)


def _by_name(
    function: Callable[..., np.ndarray],
    names: tuple[str, ...],
    attributes: Mapping[str, Any],
    first: np.ndarray,
    *others: np.ndarray,
) -> np.ndarray:
    return function(first, **attributes, **dict(zip(names, others, strict=True)))


# ---- casts


def _cast(node: Node, output_type: str | None) -> Implementation:
    source = node.input_types[0]
    wanted = output_type if node.operator == "CastLike" else _cast_target(node)
    assert source is not None
    assert wanted is not None
    assert node.inputs[0] is not None
    if source == wanted:
        return Alias(node.inputs[0], wanted)
    for kind in (source, wanted):
        if kind == "tensor(string)":
            raise UnsupportedError(message(node.label, f"it casts {source} to {wanted}", "numbers and truth values"))
    elements = element_types((source, wanted))
    if elements is not None:
        program = partial(cast_program, *elements)
        return Elementwise((node.inputs[0],), elements[:1], elements[1], wanted, rule_of(node), program)
    saturate, round_mode = bool(node.attributes.get("saturate", 1)), node.attributes.get("round_mode", "up")
    if round_mode not in ("up", "down", "nearest"):
        raise ModelError(message(node.label, f"round_mode is {round_mode!r}", "'up', 'down', 'nearest'"))
    function = partial(convert, source=source, result=wanted, saturate=saturate, round_mode=round_mode)
    return Function((node.inputs[0],), function, wanted)


def _cast_target(node: Node) -> str:
    to = node.attributes["to"]
    if isinstance(to, str):  # Cast-1
        found = next((row for row in DATA_TYPES.values() if row.name == to.upper()), None)
    else:
        found = data_type(to)
    if found is None:
        raise ModelError(message(node.label, f"the attribute 'to' is {to!r}", "an element type of ONNX"))
    return found.type


# ---- element-wise operators


def _from_catalogue(node: Node, output_type: str | None) -> Implementation | None:
    op = formulas.catalogue_operator(node.operator)
    if op is None:
        return None
    assert output_type is not None
    elements = element_types((*(t for t in node.input_types if t is not None), output_type))
    signature = None if elements is None else Signature(elements[:-1], elements[-1:])
    if signature is None or signature not in op.signatures:
        function = _with_numpy(node, output_type)
        if function is None:
            raise _wrong_types(node, (t for listed in op.signatures for t in listed.inputs))
        return function
    parameters = _parameters(node, op)
    return Elementwise(
        node.operands,
        signature.inputs,
        signature.outputs[0],
        output_type,
        rule_of(node),
        partial(op.program, signature, **parameters),
        partial(op.bind, **parameters),
    )


def _parameters(node: Node, op: Operator) -> dict[str, Any]:
    """The node's attributes as the parameters of the catalogue's operator."""
    known = {parameter.name for parameter in op.parameters}
    given = {name: value for name, value in node.attributes.items() if name not in _NOT_OF_THE_FORMULA}
    unknown = ", ".join(sorted(set(given) - known))
    if unknown:
        raise UnsupportedError(message(node.label, f"the attribute {unknown} has no counterpart in {op.name}"))
    try:
        return op.checked_parameters({**formulas.CHOICES.get(node.operator, {}), **given})
    except ParameterError as error:
        raise ModelError(f"{node.label}: {str(error).removeprefix(op.name + ': ')}") from error


def _wrong_types(node: Node, taken: Iterable[ElementType] = NUMBERS) -> UnsupportedError:
    given = " and ".join(dict.fromkeys(t for t in node.input_types if t is not None))
    allowed = ", ".join(dict.fromkeys(t.name for t in taken))
    return UnsupportedError(message(node.label, f"its inputs are {given}", allowed))


#: Comparing and choosing need no arithmetic: NumPy does it for what kernels have no type for.
_ANY_TYPE: dict[str, Callable[..., Any]] = {"Equal": np.equal, "Where": np.where}


def _with_numpy(node: Node, output_type: str) -> Function | None:
    function = _ANY_TYPE.get(node.operator)
    if function is None:
        return None
    rule, label, dtype = rule_of(node), node.label, DATA_TYPES[output_type].numpy

    def compute(*arrays: np.ndarray) -> np.ndarray:
        shapes = rule(label, [array.shape for array in arrays])
        aligned = [array.reshape(shape) for array, shape in zip(arrays, shapes, strict=True)]
        return np.asarray(function(*aligned)).astype(dtype, copy=False)

    return Function(node.operands, compute, output_type)


def _lowered(root: Any, inputs: tuple[ElementType, ...], result: ElementType) -> Program:
    return lower([fold(lift(root))], inputs, (result,))


def _leaves(count: int) -> list[Expression]:
    return [expression("input", (), i, Format.NUMBER) for i in range(count)]


def _variadic(node: Node, output_type: str | None) -> Implementation | None:
    assert output_type is not None
    root = formulas.VARIADIC[node.operator](_leaves(len(node.operands)))
    if root is None:
        return None
    if len(node.operands) == 1:
        return Alias(node.operands[0], output_type)
    elements = element_types((output_type,))
    if elements is None:
        raise _wrong_types(node)
    return _elementwise(node, root, elements[0], output_type)


def _elementwise(node: Node, root: Any, kind: ElementType, output_type: str) -> Elementwise:
    """A formula on operands that all have the type of the output."""
    inputs = (kind,) * len(node.operands)
    program = partial(_lowered, root, inputs, kind)
    return Elementwise(node.operands, inputs, kind, output_type, rule_of(node), program)


def _clip(node: Node, output_type: str | None) -> Implementation | None:
    """Bounds are inputs or attributes; one that is left out is at the end of the type's range."""
    assert output_type is not None
    op = formulas.catalogue_operator("Clip")
    if op is None:
        return None
    elements = element_types((output_type,))
    if elements is None:
        raise _wrong_types(node)
    kind = elements[0]
    x, *given = _leaves(len(node.operands))
    ends = {"min": -math.inf, "max": math.inf} if kind.is_float else {"min": kind.minimum, "max": kind.maximum}
    bounds = {**ends, **node.attributes, **dict(zip(node.operand_parameters[1:], given, strict=True))}
    return _elementwise(node, op(x, bounds["min"], bounds["max"]), kind, output_type)


_MAKERS: dict[str, Callable[[Node, str | None], Implementation | None]] = {
    "Cast": _cast,
    "CastLike": _cast,
    "Clip": _clip,
    "Constant": _constant,
    "Identity": _identity,
    **dict.fromkeys(formulas.VARIADIC, _variadic),
}
