"""Kernels that give a formula's value, its bound and where that is in doubt; and the same formula in balls of Arb."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np
from flint import arb

from ogive.common.dtypes import ELEMENT_TYPES
from ogive.graph.expression import STORAGE, Expression, Format, formula_node, node, walk
from ogive.lowering.numerics.bound import Bound
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.precisions import CORRECTED, IN_WORDS, PROMOTED
from ogive.lowering.numerics.single import SingleBounded
from ogive.lowering.program import Program
from ogive.lowering.single_results import SingleReals
from ogive.lowering.untested_elements import UntestedElements
from ogive.runtime.kernels import make_ufunc

BITS = 600


def operand(index: int = 0) -> Any:
    return node("input", (), index, Format.NUMBER)


class Kinds(NamedTuple):
    """The parts that formulas are drawn from: names of operations, and constants."""

    unary: Sequence[str]
    binary: Sequence[str]
    constants: Sequence[Any]


def drawn(depth: int, source: random.Random, kinds: Kinds) -> Any:
    """A formula of one operand, of so many operations one inside the other at most."""
    if depth == 0 or source.random() < 0.1:
        return operand() if source.random() < 0.75 else source.choice(kinds.constants)
    kind = source.random()
    if kind < 0.5:
        return formula_node(source.choice(kinds.unary), drawn(depth - 1, source, kinds))
    a, b = drawn(depth - 1, source, kinds), drawn(depth - 1, source, kinds)
    if kind < 0.93:
        return formula_node(source.choice(kinds.binary), a, b)
    return formula_node("select", formula_node("less", a, b), *(drawn(depth - 1, source, kinds) for _ in range(2)))


@dataclass(frozen=True)
class Values:
    """For each element the value in two parts, its largest error, and whether that is in doubt."""

    high: np.ndarray
    low: np.ndarray
    margin: np.ndarray
    doubt: np.ndarray
    bound: Bound

    def judged(self, exact: Sequence[Any]) -> tuple[list[int], float, int]:
        """(the elements whose bounds are false, the largest relative error of the others, how many were compared)."""
        wrong, worst, compared = [], 0.0, 0
        for i, ball in enumerate(exact):
            high = float(self.high[i])
            if self.doubt[i] or not math.isfinite(high) or ball is None or not ball.is_finite():
                continue
            compared += 1
            error = abs(arb(high) + arb(float(self.low[i])) - ball)
            margin = arb(float(self.margin[i])) * arb(1 + 2.0**-30) if math.isfinite(self.margin[i]) else None
            if margin is not None and not error.abs_lower() <= margin:
                wrong.append(i)
            if abs(high) > 2.0**-900:
                worst = max(worst, float(error.upper()) / abs(high))
        return wrong, worst, compared


def arithmetic_of(mode: str) -> Bounded:
    """Arithmetic with bounds: "promoted", "corrected", or that of float64's own kernels, "in words"."""
    return Bounded({"promoted": PROMOTED, "corrected": CORRECTED, "in words": IN_WORDS}[mode])


def evaluated(root: Expression, operands: Sequence[np.ndarray], *, mode: str) -> Values:
    """The formula in arithmetic with bounds."""
    types = [ELEMENT_TYPES[o.dtype.name] for o in operands]
    m = arithmetic_of(mode)
    value = m.unscaled(UntestedElements(m, tuple(types)).number(root))
    zero = m.number(0.0)
    margin = m.total(value) if value.error.is_known else m.number(math.inf)
    doubt = value.error.doubt or node("constant", (), False, Format.BIT)
    results = (
        value.high,
        zero if value.low is None else m.low_part(value),
        zero if margin is None else margin,
        node("convert", (doubt,), None, Format.U8),
    )
    outputs = tuple(ELEMENT_TYPES[name] for name in ("float64", "float64", "float64", "bool"))
    kernel = make_ufunc("bounded", Program(tuple(types), outputs, results))
    high, low, bounds, doubts = kernel(*operands)
    return Values(high, low, bounds, doubts | ~np.isfinite(bounds), value.error)


def evaluated_shortly(root: Expression, operands: Sequence[np.ndarray], *, is_result: bool) -> Values:
    """The formula in float32 with bounds, of operands of 16 bits; as a result, or as a part of one."""
    kind = ELEMENT_TYPES[operands[0].dtype.name]
    m = SingleBounded(STORAGE[kind.name])
    reals = SingleReals(m, (kind,) * len(operands), Format.F32)
    value = reals.result(root) if is_result else reals.number(root)
    total = m.total(value)
    # The part of a running bound that its own rounding may have lost.
    margin = m.number(0.0) if total is None else m.widened(total)
    doubt = value.error.doubt or node("constant", (), False, Format.BIT)
    results = (value.high, margin, node("convert", (doubt,), None, Format.U8))
    outputs = tuple(ELEMENT_TYPES[name] for name in ("float32", "float32", "bool"))
    kernel = make_ufunc("bounded", Program((kind,) * len(operands), outputs, results))
    high, bounds, doubts = kernel(*operands)
    return Values(high, np.zeros_like(high), bounds, doubts | ~np.isfinite(bounds), value.error)


def _logistic(x: Any) -> Any:
    return 1 / (1 + (-x).exp())


def _normal_tail(x: Any) -> Any:
    return (x / arb(2).sqrt()).erfc() / 2


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(arb, name)
        for name in "acos acosh asin asinh atan atanh cos cosh erf erfc exp expm1 log log1p sin sinh tan tanh".split()  # noqa: SIM905
    },
    "logistic": _logistic,
    "normal_tail": _normal_tail,
    "square_root": arb.sqrt,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negate": lambda a: -a,
    "absolute": abs,
    "atan2": arb.atan2,
    "cbrt": lambda a: a.root(3) if a > 0 else -(-a).root(3),
    "erfinv": arb.erfinv,
    "exp2": lambda a: (a * arb(2).log()).exp(),
    "log2": lambda a: a.log() / arb(2).log(),
    "log10": lambda a: a.log() / arb(10).log(),
    "log_ndtr": lambda a: (
        (-a / arb(2).sqrt()).erfc().log() - arb(2).log() if a < 0 else (-((a / arb(2).sqrt()).erfc() / 2)).log1p()
    ),
    "power": lambda a, b: a**b,
    "bell": lambda a: (-(a * a)).exp(),
    "normal_density": lambda a: (-(a * a) / 2).exp() / (2 * arb.pi()).sqrt(),
    "logistic_slope": lambda a: _logistic(a) * _logistic(-a),
    "tanh_slope": lambda a: 4 * _logistic(2 * a) * _logistic(-2 * a),
    "gate_slope": lambda a: _logistic(a) * (1 + a * _logistic(-a)),
    "normal_gate_slope": lambda a: _normal_tail(-a) + a * (-(a * a) / 2).exp() / (2 * arb.pi()).sqrt(),
    "tanh_gate_slope": lambda a: _tanh_gate_slope(a),
    "mish_slope": lambda a: _mish_slope(a),
}


def _tanh_gate_slope(a: Any) -> Any:
    cubic, scale = arb(0.044715), 2 * (2 / arb.pi()).sqrt()
    u = scale * (a + cubic * a**3)
    return _logistic(u) * (1 + a * scale * (1 + 3 * cubic * a**2) * _logistic(-u))


def _mish_slope(a: Any) -> Any:
    gate = a.exp().log1p().tanh()
    return gate + a * (1 - gate * gate) * _logistic(a)


def _compared(operation: str, a: Any, b: Any) -> bool | None:
    difference = a - b
    if operation == "equal":
        return False if not difference.contains(0) else True if difference == 0 else None
    if difference < 0:
        return True
    if difference > 0:
        return False
    return operation == "less_equal" if difference == 0 else None


def exactly(root: Expression, *numbers: float) -> Any:
    """The formula in balls; None where that is not defined, or not decided."""
    flint.ctx.prec = BITS
    done: dict[Expression, Any] = {}
    for current in walk(root):
        values = [done[o] for o in current.operands]
        name = current.operation
        if name == "input":
            done[current] = arb(numbers[current.attribute])
        elif name == "constant":
            is_finite = math.isfinite(current.attribute)
            value = Fraction(current.attribute) if is_finite else None
            done[current] = arb(current.attribute) if value is None else arb(value.numerator) / arb(value.denominator)
        elif name == "select":
            done[current] = None if values[0] is None else values[1] if values[0] else values[2]
        elif any(value is None for value in values):
            done[current] = None
        elif name in ("less", "less_equal", "equal"):
            done[current] = _compared(name, *values)
        elif name in ("larger", "smaller"):
            is_less = _compared("less", *values)
            done[current] = None if is_less is None else values[is_less == (name == "larger")]
        else:
            found = FUNCTIONS[name](*values)
            done[current] = found if found.is_finite() else None
    return done[root]
