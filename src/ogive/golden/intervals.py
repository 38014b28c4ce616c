"""Graphs: which results are admissible if every operator may be off by so many ULP, and which node went too far.

Tolerances of nodes do not add up: an error of one node goes through the derivatives of all that follow it, where it can
grow or vanish. So each value of a model gets an interval. A node's operands are anything in their intervals; what its
formula can be there is enclosed (balls.py), and its own budget comes on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ogive import operations as ops
from ogive.dtypes import BOOLEAN, FLOAT_FORMATS, ElementType, element_type_of
from ogive.enclosure import nearest, right_result
from ogive.engine.computation import Element, Formula, Fused
from ogive.errors import ArgumentError, UnsupportedError, described, message
from ogive.expression import walk
from ogive.onnx.checked_graph import CheckedGraph, CheckedStep
from ogive.onnx.loading import graph_of, read_model
from ogive.onnx.movement import COPIES, MOVEMENTS
from ogive.onnx.node_computation import ArrangedRows, ElementwiseNode, NodeFunction, RowWiseNode
from ogive.over_intervals import Interval, enclosed_over, enclosed_rows_over, softmax_over

__all__ = ["Bounds", "Departure", "admissible", "attribute"]

#: Operators that move elements, so that ends of intervals go where the elements go.
_MOVES = (
    MOVEMENTS.keys() | COPIES.keys() | {"Split", "ReduceMax", "ReduceMin"}
) - {"CumSum", "CumProd", "EyeLike", "NonZero", "Range", "Shape", "Size"}  # fmt: skip

_SUMS = ("ReduceSum", "ReduceMean")


#: Operations that choose, compare, and rounds to whole numbers: a formula of these alone has a number of the type as its result.
_CHOOSES = frozenset(
    {"input", "constant", "parameter", "select", "less", "less_equal", "equal", "and", "or", "exclusive_or", "not"}
    | {"negate", "absolute", "larger", "smaller", "copy_sign", "floor", "ceiling", "truncate", "round_even"}
)


@dataclass(frozen=True, eq=False)
class Bounds:
    """The admissible values of one array: from ``lower`` to ``upper``, both included.

    Where they are -inf and inf, nothing can be said, and NaN is admissible as well; where both are NaN, NaN is the
    result.
    """

    lower: np.ndarray
    upper: np.ndarray

    def outside(self, got: np.ndarray) -> np.ndarray:
        """The elements of an array that are not admissible."""
        with np.errstate(all="ignore"):
            low, high, x = (np.asarray(a, np.longdouble if a.dtype.kind == "f" else a.dtype) for a in self._wide(got))
            anything = (low == -np.inf) & (high == np.inf) if low.dtype.kind == "f" else np.zeros(low.shape, bool)
            is_in = (x >= low) & (x <= high)
            both_nan = np.isnan(low) & np.isnan(x) if low.dtype.kind == "f" else np.zeros(low.shape, bool)
        return np.asarray(~(is_in | both_nan | anything))

    def _wide(self, got: np.ndarray) -> tuple[np.ndarray, ...]:
        arrays = (self.lower, self.upper, np.asarray(got))
        return tuple(a.astype(np.float64) if a.dtype.name == "bfloat16" else a for a in arrays)


@dataclass(frozen=True)
class Departure:
    """The first node whose result is not admissible."""

    node: str
    """How messages call it."""
    operator: str
    value: str
    """The name of its result."""
    index: tuple[int, ...]
    """The place of the element that is farthest outside."""
    got: Any
    lower: Any
    upper: Any
    count: int
    """How many elements are outside."""
    from_own_inputs: bool
    """Whether the interval is that of the node alone, for the operands that were given."""

    def __str__(self) -> str:
        where = "for the operands that it had" if self.from_own_inputs else "for the model's inputs"
        return (
            f"{self.node}: {self.count} results are not admissible {where}; at {self.index} it is {self.got!s}, "
            f"admissible: {self.lower!s} to {self.upper!s}"
        )


def admissible(
    model: Any, inputs: Mapping[str, Any], *, budget: Mapping[str, float] | None = None, default: float = 1.0
) -> dict[str, Bounds]:
    """The bounds of every value of an ONNX model, by name, where each operator may be off by its budget.

    ``budget``: ULP by operator, against the exact result; ``default`` for the others. 0.5 is rounding correctly.

    >>> import numpy as np, ogive.golden
    >>> from onnx import parser
    >>> model = parser.parse_model('''<ir_version: 8, opset_import: ["" : 20]>
    ...     agraph (float[1] x) => (float[1] y) { a = Tanh (x) y = Exp (a) }''')
    >>> found = ogive.golden.admissible(model, {"x": np.float32([1.0])}, budget={"Exp": 0.5}, default=1)
    >>> found["y"].lower, found["y"].upper
    (array([2.1416876], dtype=float32), array([2.1416876], dtype=float32))

    Element-wise operators, what is computed of the rows of one tensor, extremes, and what moves elements. Raises
    UnsupportedError for others, and where the order of a row's elements decides and is in doubt; ArgumentError for
    inputs that are missing.
    """
    graph = _graph(model)
    allowance = _budget(budget, default)
    known = _given(graph, inputs)
    for step in graph.steps:
        known[step.output] = _step(graph, step, known, allowance)
    return _named(graph, known)


def attribute(
    model: Any,
    inputs: Mapping[str, Any],
    got: Mapping[str, Any],
    *,
    budget: Mapping[str, float] | None = None,
    default: float = 1.0,
) -> Departure | None:
    """The first node of an ONNX model whose result is not admissible, or None.

    ``got``: arrays that an implementation computed, by the names of values; the more intermediate ones, the better. A
    node is judged by the operands that the implementation had, where these are given as well. So an error is blamed on
    the node that made it. Elsewhere the bounds of `admissible` are propagated.

    Raises as `admissible`, and ArgumentError for a name that no node computes, and for arrays of another shape or type.
    """
    graph = _graph(model)
    allowance = _budget(budget, default)
    known = _given(graph, inputs)
    results = {info.name: name for info, name in zip(graph.outputs, graph.results, strict=True)}
    arrays = {results.get(name, name): np.asarray(value) for name, value in got.items()}
    made = [step.output for step in graph.steps]
    for name in arrays:
        if name not in made:
            raise ArgumentError(message("attribute", f"no node computes {name!r}", ", ".join(made)))
    for step in graph.steps:
        bounds = _step(graph, step, known, allowance)
        array = arrays.get(step.output)
        if array is None:
            known[step.output] = bounds
            continue
        if array.shape != bounds.lower.shape or array.dtype != bounds.lower.dtype:
            what = f"{step.output!r} is an array of {array.dtype} and shape {array.shape}"
            raise ArgumentError(message("attribute", what, f"{bounds.lower.dtype} and {bounds.lower.shape}"))
        outside = bounds.outside(array)
        if outside.any():
            operands = [name for name in step.made.operands if name in made]
            return _departure(step, array, bounds, outside, all(name in arrays for name in operands))
        known[step.output] = Bounds(array, array)
    return None


def _departure(step: CheckedStep, array: np.ndarray, bounds: Bounds, outside: np.ndarray, own: bool) -> Departure:
    with np.errstate(all="ignore"):
        low, high, x = (np.asarray(a, np.float64) for a in (bounds.lower, bounds.upper, array))
        far = np.where(outside, np.nan_to_num(np.maximum(low - x, x - high), nan=np.inf), -np.inf)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(far)), far.shape))
    return Departure(
        step.label,
        _operator(step),
        step.output,
        index,
        array[index],
        bounds.lower[index],
        bounds.upper[index],
        int(outside.sum()),
        own,
    )


# ---- the model


def _graph(model: Any) -> CheckedGraph:
    proto, folder, subject = read_model(model)
    return graph_of(proto, folder, subject)


def _budget(budget: Mapping[str, float] | None, default: float) -> Callable[[str], Fraction]:
    given = {**(budget or {})}
    for name, value in {**given, "default": default}.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.5 <= value < math.inf:
            text = message("admissible", f"the budget of {name} is {described(value)}", "0.5 ULP and more")
            raise ArgumentError(text)
    return lambda operator: Fraction(given.get(operator, default))


def _given(graph: CheckedGraph, inputs: Mapping[str, Any]) -> dict[str, Bounds]:
    known = {name: Bounds(array, array) for name, array in {**graph.initialisers, **graph.constants}.items()}
    for info in graph.inputs:
        if info.name not in inputs and info.name not in graph.defaults:
            raise ArgumentError(message("admissible", f"the input {info.name!r} is missing", "an array for each"))
        array = np.asarray(inputs[info.name] if info.name in inputs else graph.defaults[info.name])
        if array.dtype != info.dtype:
            what = f"the input {info.name!r} is {array.dtype}"
            raise ArgumentError(message("admissible", what, f"{info.dtype}", "Convert it first: array.astype(...)"))
        known[info.name] = Bounds(array, array)
    return known


def _named(graph: CheckedGraph, known: Mapping[str, Bounds]) -> dict[str, Bounds]:
    outputs = {info.name: known[name] for info, name in zip(graph.outputs, graph.results, strict=True)}
    return {**{step.output: known[step.output] for step in graph.steps}, **outputs}


def _operator(step: CheckedStep) -> str:
    return step.label.split(" ", 1)[0]


# ---- nodes


def _step(
    graph: CheckedGraph, step: CheckedStep, known: Mapping[str, Bounds], budget: Callable[[str], Fraction]
) -> Bounds:
    made, operator = step.made, _operator(step)
    operands = [known[name] for name in made.operands]
    if isinstance(made, ElementwiseNode):
        return _element_wise(step.label, made, operands, budget(operator))
    if isinstance(made, NodeFunction) and operator in _MOVES:
        ends = [np.asarray(made.function(*(getattr(x, end) for x in operands))) for end in ("lower", "upper")]
        return Bounds(*ends)
    if isinstance(made, ArrangedRows) and len(made.row_wise.operands) == 1:
        return _rows(operator, made, operands, budget(operator))
    allowed = "element-wise operators, rows of one tensor, ReduceMax, ReduceMin, and what moves elements"
    raise UnsupportedError(message(step.label, "there are no intervals for it", allowed))


def _element_wise(label: str, made: ElementwiseNode, operands: Sequence[Bounds], budget: Fraction) -> Bounds:
    shapes = made.rule(label, [x.lower.shape for x in operands])
    arrays = [(x.lower.reshape(shape), x.upper.reshape(shape)) for x, shape in zip(operands, shapes, strict=True)]
    shape = np.broadcast_shapes(*shapes)
    flat = [[np.broadcast_to(end, shape).reshape(-1) for end in ends] for ends in arrays]
    count = math.prod(shape)
    found = [_computed(made, [(low[i].item(), high[i].item()) for low, high in flat], budget) for i in range(count)]
    dtype = made.result.numpy
    ends = [np.array([pair[k] for pair in found], dtype).reshape(shape) for k in (0, 1)]
    return Bounds(*ends)


Ends = tuple[Any, Any]


def _computed(made: ElementwiseNode, operands: Sequence[Ends], budget: Fraction) -> Ends:
    """The ends of one element."""
    computation = made.computation
    values = list(operands)
    kinds = list(made.inputs)
    if isinstance(computation, Formula):
        return _formula(computation, made.parameters, values, kinds, budget)
    if not isinstance(computation, Fused):
        raise UnsupportedError("intervals: an element-wise node of another kind")
    for step, places in computation.steps:
        if isinstance(step, Element):
            values.append((step.value, step.value))
        else:
            assert isinstance(step, Formula)
            values.append(_formula(step, (), [values[p] for p in places], [kinds[p] for p in places], budget))
        kinds.append(step.outputs[0])
    return values[computation.results[0]]


def _formula(
    formula: Formula,
    parameters: Sequence[float],
    operands: Sequence[Ends],
    kinds: Sequence[ElementType],
    budget: Fraction,
) -> Ends:
    (root,), (kind,) = formula.roots, formula.outputs
    bound = dict(formula.bound)
    named = {
        n.attribute[1]: bound.get(n.attribute[1], parameters[n.attribute[0]] if parameters else 0.0)
        for n in walk(root)
        if n.operation == "parameter"
    }
    if all(_is_one(low, high) for low, high in operands) and (
        not kind.is_float or not all(_is_finite(low) for low, _ in operands)
    ):
        value, _ = right_result(root, [low for low, _ in operands], named, kind, modular=formula.modular)
        if not _is_finite(value) or not kind.is_float:
            return value, value
        exact: Any = (Fraction(value), Fraction(value))  # a limit at an infinity
    else:
        if formula.modular and not kind.is_float:
            return kind.minimum, kind.maximum
        exact = enclosed_over(root, [_interval(ends, k) for ends, k in zip(operands, kinds, strict=True)], named)
    if kind is BOOLEAN:
        return min(exact), max(exact)
    if all(n.operation in _CHOOSES for n in walk(root)):
        found = _widened(exact, kind, Fraction(0))
        if found[0] <= found[1]:  # else it is a constant that the type does not have
            return found
    return _widened(exact, kind, budget)


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _is_one(low: Any, high: Any) -> bool:
    return bool(low == high) or (low != low and high != high)


def _interval(ends: Ends, kind: ElementType) -> Any:
    low, high = ends
    if kind is BOOLEAN:
        return frozenset({bool(low), bool(high)})
    if not (_is_finite(low) and _is_finite(high)):
        return None
    return Fraction(low), Fraction(high)


def _widened(exact: Interval, kind: ElementType, budget: Fraction) -> Ends:
    """The admissible numbers of a type around exact values."""
    if not kind.is_float:
        if exact is None:
            return kind.minimum, kind.maximum
        return tuple(min(max(math.trunc(x), kind.minimum), kind.maximum) for x in exact)  # type: ignore[return-value]
    if exact is None:
        return -math.inf, math.inf
    low, high = exact
    return _lowest(low, high, kind.name, budget), -_lowest(-high, -low, kind.name, budget)


def _lowest(low: Fraction, high: Fraction, kind: str, budget: Fraction) -> float:
    """The smallest number of a type that is at most the budget below something from ``low`` to ``high``."""
    candidates = [low - budget * _ulp(low, kind)]
    if low > 0:  # the first power of two above: its ULP is larger
        power = Fraction(2) ** _exponent(low)
        power = power if power == low else power * 2
        if power <= high:
            candidates.append(power - budget * _ulp(power, kind))
    limit = min(candidates)
    found = nearest(limit.numerator, limit.denominator, kind)
    if math.isfinite(found) and Fraction(found) < limit:
        step = _ulp(Fraction(found), kind)
        above = Fraction(found) + step
        # Below a power of two numbers are closer together, towards zero.
        closer = Fraction(found) + step / 2
        if found < 0 and nearest(closer.numerator, closer.denominator, kind) == closer:
            above = closer
        found = nearest(above.numerator, above.denominator, kind)
    return found


def _exponent(x: Fraction) -> int:
    """The exponent of the power of two up to a positive number."""
    found = x.numerator.bit_length() - x.denominator.bit_length()
    return found if Fraction(2) ** found <= x else found - 1


def _ulp(x: Fraction, kind: str) -> Fraction:
    """The distance of neighbouring numbers of a type at a number."""
    precision, smallest, _ = FLOAT_FORMATS[kind]
    exponent = max(_exponent(abs(x)), smallest) if x else smallest
    return Fraction(2) ** (exponent - precision + 1)


# ---- rows


def _rows(operator: str, made: ArrangedRows, operands: Sequence[Bounds], budget: Fraction) -> Bounds:
    data, *others = operands
    arranged = made.arrange([data.lower.shape], [x.lower for x in others])
    kind = element_type_of(data.lower.dtype)
    if (
        arranged is None
        or arranged.split is not None
        or kind is None
        or not kind.is_float
        or kind != made.row_wise.result
    ):
        raise UnsupportedError(f"intervals: {operator} of these operands; allowed: floats, along axes")
    turned = [end.transpose(arranged.order) for end in (data.lower, data.upper)]
    first = turned[0].ndim - arranged.row_axes
    shape = turned[0].shape
    rows = [end.reshape(math.prod(shape[:first]), math.prod(shape[first:])).tolist() for end in turned]
    made_rows = []
    for low, high in zip(*rows, strict=True):
        row = [_interval(ends, kind) for ends in zip(low, high, strict=True)]
        if operator == "Softmax":  # each result rises with its element and falls with the others
            exact = softmax_over(row)
        elif operator in _SUMS:
            exact = [_summed(row, is_mean=operator == "ReduceMean")]
        else:
            exact = _of_formula(made.row_wise, row)
        made_rows.append([_widened(x, kind, budget) for x in exact])
    results = []
    for k in (0, 1):
        array = np.array([[ends[k] for ends in row] for row in made_rows], kind.numpy)
        if not made.row_wise.computation.reduces:
            array = array.reshape(shape).transpose(arranged.back)
        results.append(array.reshape(arranged.result))
    return Bounds(*results)


def _of_formula(row_wise: RowWiseNode, row: Sequence[Interval]) -> list[Interval]:
    """The range of a formula over rows: what it can be at each element, or what the row has one of."""
    formula = row_wise.computation
    (root,) = formula.roots
    named = {n.attribute[1]: row_wise.parameters[n.attribute[0]] for n in walk(root) if n.operation == ops.PARAMETER}
    found = enclosed_rows_over(root, [row], named) if row else []
    return found[:1] if formula.reduces else found


def _summed(row: Sequence[Interval], *, is_mean: bool) -> Interval:
    if any(x is None for x in row) or (is_mean and not row):
        return None
    known = [x for x in row if x is not None]
    count = len(known) if is_mean else 1
    return sum((x[0] for x in known), Fraction()) / count, sum((x[1] for x in known), Fraction()) / count
