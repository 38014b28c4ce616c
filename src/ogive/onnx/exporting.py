"""A formula as an ONNX function: a body of standard operators, for other runtimes to run."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ogive.differentiation.slope_forms import with_slopes
from ogive.errors import ArgumentError, UnsupportedError, described, message
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, depends_on_elements, walk
from ogive.operators.operator import Operator

#: ReduceMax takes its axes as an input from here on, and CastLike is there.
OPSET = 18
DOMAIN = "ai.ogive"

#: Kinds of nodes that are one operator of ONNX.
OPERATORS = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "negate": "Neg",
    "absolute": "Abs",
    "square_root": "Sqrt",
    "floor": "Floor",
    "ceiling": "Ceil",
    "round_even": "Round",
    "power": "Pow",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "equal": "Equal",
    "select": "Where",
    "and": "And",
    "or": "Or",
    "exclusive_or": "Xor",
    "not": "Not",
    "larger": "Max",
    "smaller": "Min",
    "exp": "Exp",
    "log": "Log",
    "logistic": "Sigmoid",
    "erf": "Erf",
    "tanh": "Tanh",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
}


def export(operator: Operator, /, **choices: Any) -> onnx.FunctionProto:
    """The operator as an ONNX function of the domain ``ai.ogive``, with a body of standard operators of opset 18.

    Its inputs are the operator's tensors, its attributes the parameters that are numbers, with their defaults; choices
    are made here, by keyword. Derivatives can be exported too. Put it into ``model.functions``, and any runtime runs its
    nodes. The function works in the element type of its first input, so results have the accuracy of that runtime, not
    of Ogive. In place of expm1 and log1p, which ONNX has not, it has forms that do not cancel near zero; erfc and the
    normal tail are 1 - Erf, which does.

    Raises ArgumentError for what is no operator, UnsupportedError for formulas that look at bits, or for the first
    element of a row for which something holds.

    >>> import ogive
    >>> function = ogive.onnx.export(ogive.celu)
    >>> function.domain, function.name, [*function.input], [a.name for a in function.attribute_proto]
    ('ai.ogive', 'celu', ['x'], ['alpha'])
    """
    if not isinstance(operator, Operator):
        raise ArgumentError(message("ogive.onnx.export", f"operator is {described(operator)}", "an operator"))
    names = {parameter.name for parameter in operator.parameters if parameter.choices}
    for name in choices:
        if name not in names:
            allowed = ", ".join(sorted(names)) or "no choices"
            raise ArgumentError(message("ogive.onnx.export", f"{operator.name} has no choice {name!r}", allowed))
    values = operator.checked_parameters(
        {parameter.name: 1.0 for parameter in operator.numeric_parameters if parameter.is_required} | choices
    )
    chosen = {name: values[name] for name in names}
    body = _Body(operator)
    outputs = [f"result_{i}" if operator.nout > 1 else "result" for i in range(operator.nout)]
    for root, output in zip(with_slopes(operator.formula(**chosen)), outputs, strict=True):
        body.result(root, output)
    suffix = "".join(f"_{value}" for name, value in chosen.items() if value != _default(operator, name))
    function = helper.make_function(
        DOMAIN,
        f"{operator.name}{suffix}",
        list(operator.tensors),
        outputs,
        body.nodes,
        [helper.make_opsetid("", OPSET)],
        attributes=[p.name for p in operator.numeric_parameters if p.is_required],
        attribute_protos=[
            helper.make_attribute(p.name, float(p.default)) for p in operator.numeric_parameters if not p.is_required
        ],
    )
    function.doc_string = (operator.function.__doc__ or operator.name).strip().splitlines()[0]
    return function


def _default(operator: Operator, name: str) -> Any:
    return next(parameter.default for parameter in operator.parameters if parameter.name == name)


class _Body:
    """The nodes of a function, in an order that runs."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.nodes: list[onnx.NodeProto] = []
        self.names: dict[Expression, str] = {}
        self.constants: dict[str, str] = {}
        numbers = [name for name in operator.tensors if name not in operator.truth_inputs]
        self.like = numbers[0]

    def result(self, root: Expression, output: str) -> None:
        for current in walk(root):
            if current not in self.names:
                self.names[current] = self._node(current)
        name = self.names[root]
        if not depends_on_elements(root):
            name = self.add("Expand", name, self.add("Shape", self.like))
        if self.operator.reduces:  # reductions here keep the axis of a row
            last = self.add("Constant", value=numpy_helper.from_array(np.array([-1])))
            name = self.add("Squeeze", name, last)
        self.nodes.append(helper.make_node("Identity", [name], [output]))

    def add(self, kind: str, *operands: str, **attributes: Any) -> str:
        """A node's result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [name], **attributes))
        return name

    def number(self, value: Fraction | float) -> str:
        """A constant of the element type."""
        key = repr(value)
        if key not in self.constants:
            tensor = numpy_helper.from_array(np.array(float(value), np.float64))
            self.constants[key] = self.add("CastLike", self.add("Constant", value=tensor), self.like)
        return self.constants[key]

    def _node(self, current: Expression) -> str:
        if current.operation == ops.INPUT:
            return str(self.operator.tensors[current.attribute])
        if current.operation == ops.PARAMETER:
            attribute = onnx.AttributeProto(name="value_float", ref_attr_name=current.attribute[1])
            attribute.type = onnx.AttributeProto.FLOAT
            name = self.add("Constant")
            self.nodes[-1].attribute.append(attribute)
            return self.add("CastLike", name, self.like)
        if current.operation == ops.CONSTANT:
            if current.format is Format.TRUTH:
                return self.add("Constant", value=numpy_helper.from_array(np.array(bool(current.attribute))))
            return self.number(current.attribute)
        if current.operation == ops.GIVEN:  # a FLOAT, as every parameter of ONNX
            return self.number(float(np.float32(current.attribute)))
        operands = [self.names[operand] for operand in current.operands]
        if current.operation == ops.SELECT and current.format is Format.TRUTH:
            condition, a, b = operands
            return self.add("Or", self.add("And", condition, a), self.add("And", self.add("Not", condition), b))
        if current.operation in OPERATORS:
            return self.add(OPERATORS[current.operation], *operands)
        if current.operation in FORMS:
            made: str = FORMS[current.operation](self, *operands)
            return made
        what = f"the formula uses {current.operation}, for which standard operators of ONNX have no form"
        raise UnsupportedError(message(f"ogive.onnx.export: {self.operator.name}", what))


def _near_zero(body: _Body, x: str, near: str, far: str, limit: float) -> str:
    return body.add("Where", body.add("Less", body.add("Abs", x), body.number(limit)), near, far)


def _expm1(body: _Body, x: str) -> str:
    """``2 t / (1 - t)`` for t = tanh(x / 2) near zero."""
    t = body.add("Tanh", body.add("Mul", x, body.number(0.5)))
    near = body.add("Div", body.add("Add", t, t), body.add("Sub", body.number(1), t))
    return _near_zero(body, x, near, body.add("Sub", body.add("Exp", x), body.number(1)), 1.0)


def _log1p(body: _Body, x: str) -> str:
    """``2 atanh(x / (2 + x))`` near zero."""
    share = body.add("Div", x, body.add("Add", x, body.number(2)))
    half = body.add("Atanh", share)
    far = body.add("Log", body.add("Add", x, body.number(1)))
    return _near_zero(body, x, body.add("Add", half, half), far, 0.5)


def _erfc(body: _Body, x: str) -> str:
    return body.add("Sub", body.number(1), body.add("Erf", x))


def _normal_tail(body: _Body, x: str) -> str:
    return body.add("Mul", body.number(0.5), _erfc(body, body.add("Mul", x, body.number(math.sqrt(0.5)))))


def _truncate(body: _Body, x: str) -> str:
    is_negative = body.add("Less", x, body.number(0))
    return body.add("Where", is_negative, body.add("Ceil", x), body.add("Floor", x))


def _exp2(body: _Body, x: str) -> str:
    return body.add("Pow", body.number(2), x)


def _log_of(base: float) -> Callable[[_Body, str], str]:
    return lambda body, x: body.add("Div", body.add("Log", x), body.number(math.log(base)))


def _cbrt(body: _Body, x: str) -> str:
    size = body.add("Pow", body.add("Abs", x), body.number(1 / 3))
    return body.add("Mul", body.add("Sign", x), size)


def _copy_sign(body: _Body, magnitude: str, sign: str) -> str:
    """The sign of a zero shows in its reciprocal."""
    zero = body.number(0)
    is_below = body.add("Less", sign, zero)
    is_negative = body.add("Or", is_below, body.add("Less", body.add("Reciprocal", sign), zero))
    size = body.add("Abs", magnitude)
    return body.add("Where", is_negative, body.add("Neg", size), size)


def _of_row(kind: str) -> Callable[[_Body, str], str]:
    def form(body: _Body, x: str) -> str:
        axes = body.add("Constant", value=numpy_helper.from_array(np.array([-1], np.int64)))
        return body.add(kind, x, axes, keepdims=1)

    return form


def _count(body: _Body, x: str) -> str:
    """How many elements a row has."""
    return body.add("CastLike", body.add("Shape", x, start=-1), body.like)


def _threshold(body: _Body, x: str) -> str:
    """The largest of (sum of the k largest elements - 1) / k."""
    ordered, axis, count = _ordered(body, x)
    above = body.add("Sub", body.add("CumSum", ordered, axis), body.number(1))
    return _of_row("ReduceMax")(body, body.add("Div", above, count))


def _square_threshold(body: _Body, x: str) -> str:
    """The largest of mean - sqrt((1 - sum((x - mean)**2)) / k) of the k largest elements that is not above them."""
    ordered, axis, count = _ordered(body, x)
    mean = body.add("Div", body.add("CumSum", ordered, axis), count)
    squares = body.add("Div", body.add("CumSum", body.add("Mul", ordered, ordered), axis), count)
    inner = body.add("Add", body.add("Sub", body.add("Mul", mean, mean), squares), body.add("Reciprocal", count))
    found = body.add("Sub", mean, body.add("Sqrt", inner))
    is_one = body.add("Not", body.add("Greater", found, ordered))
    is_one = body.add("And", is_one, body.add("Not", body.add("Less", inner, body.number(0))))
    return _of_row("ReduceMax")(body, body.add("Where", is_one, found, body.number(-2)))


def _ordered(body: _Body, x: str) -> tuple[str, str, str]:
    """The elements of a row from the largest on, the axis, and how many there are up to each."""
    axis = body.add("Constant", value=numpy_helper.from_array(np.array(-1, np.int64)))
    ordered = body.add("TopK", x, body.add("Shape", x, start=-1))
    body.nodes[-1].output.append(f"{ordered}_places")
    ones = body.add("Add", body.add("Mul", ordered, body.number(0)), body.number(1))
    return ordered, axis, body.add("CumSum", ones, axis)


#: Kinds of nodes that are several operators of ONNX.
FORMS: dict[str, Callable[..., str]] = {
    "expm1": _expm1,
    "log1p": _log1p,
    "erfc": _erfc,
    "normal_tail": _normal_tail,
    "truncate": _truncate,
    "copy_sign": _copy_sign,
    "exp2": _exp2,
    "log2": _log_of(2.0),
    "log10": _log_of(10.0),
    "cbrt": _cbrt,
    "remainder": lambda body, a, b: body.add("Mod", a, b, fmod=1),
    "row_count": _count,
    "row_product": _of_row("ReduceProd"),
    "row_sum": _of_row("ReduceSum"),
    "row_max": _of_row("ReduceMax"),
    "row_threshold": _threshold,
    "row_square_threshold": _square_threshold,
    "row_min": _of_row("ReduceMin"),
}
