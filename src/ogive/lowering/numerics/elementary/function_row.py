"""The row of a function of one number: its form for each level, and how it magnifies the error of its operand.

It stands at the end of the function's file. The form in double words is on the operation itself, where a function of two numbers
has its rule, too.

An error e of the operand u moves f(u) by about ``abs(f'(u)) e``: that is the slope. A relative error is magnified by the condition number,
``abs(u f'(u) / f(u))``. propagation.py makes bounds of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from ogive.common.forking import cached_property
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Operation
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.argument import Argument, Made, SingleOperand
from ogive.lowering.numerics.float_float import FloatFloat, FloatFloatArithmetic
from ogive.lowering.numerics.interval import EVERYTHING, Interval
from ogive.lowering.numerics.machine import Machine

#: The results of vast operands: a vast number, the limit, or what nobody knows.
Vast = Literal["vast", "limit", "unknown"]

#: An expression of a number of an arithmetic: of (arithmetic, operand, result).
Slope = Callable[[Arithmetic, Expression, Expression], Expression]


@dataclass(frozen=True)
class InPairs:
    """A function's form in pairs of float32."""

    rule: Callable[..., FloatFloat]
    """A rule of (arithmetic, operand, is_result, reaches_all): whether nothing more is computed of the result, and whether operands
    may be moved to where the rule holds."""
    is_limited: bool = False
    """Whether it has a rule for operands between -MOST and MOST alone. Elsewhere elements are undecided."""


def alike(rule: Callable[[FloatFloatArithmetic, FloatFloat], FloatFloat]) -> Callable[..., FloatFloat]:
    """A rule that is the same for results and for what more is computed of."""
    return lambda m, u, *, is_result, reaches_all: rule(m, u)


@dataclass(frozen=True)
class InSingle:
    """A function's form in float32, where it is tested and where it is not: in results of 16 bits, and in the fast contract."""

    limit: float = math.inf
    """Below this magnitude of the argument the rule without a test holds."""
    plain: Callable[[Machine, Argument], Expression] | None = None
    """The rule without a test."""
    whole: Callable[[Machine, Argument], Expression] | None = None
    """The rule without a test that holds for all numbers, where a processor has neither float64 nor fused multiply-add."""
    domain: Interval = EVERYTHING
    """Where operands have to lie for the rules without a test, whatever their magnitude."""
    tested: Callable[[SingleOperand, bool], Made] | None = None
    """The rule with a test, of an operand of any size, and whether nothing more is computed of the result."""
    of_product: float | None = None
    """The error that is added where the operand is a product that was not rounded: the reduced operand, 0.35 at most, is rounded a second
    time. For expm1 and tanh that counts as much as exp(u) is larger than these: 2.5 times. None: it takes no product."""
    reach: float = math.inf
    """The largest magnitude where the function's condition number counts: beyond that it is in doubt, or at its limit."""
    has_shorter_results: bool = False
    """Whether it has a shorter form for results, with bounds of its own."""


@dataclass(frozen=True)
class Function:
    """How a function of one number magnifies errors, and its forms in float32."""

    #: The condition number where the operand lies in an interval; the first interval that fits is taken.
    conditions: tuple[tuple[Interval, float], ...] = ()
    #: How much an absolute error grows, given (arithmetic, operand, result); None: not at all.
    slope: Slope | None = None
    #: The number that the error has to be small beside, 2**10 times smaller; None: beside nothing, the slope holds everywhere.
    room: Slope | None = None
    #: Beyond these the rule is saturated or not made for the operand, but for one of float32: (promoted, corrected).
    limits: tuple[float, float] = (math.inf, math.inf)
    #: Whether only the upper one of these limits counts.
    is_limited_above: bool = False
    #: The rule's addition to its relative error, absolutely, where the operand is not one of float32.
    static: float = 0.0
    #: Whether a relative error of the operand is an absolute one of the result, of the same size.
    is_logarithm: bool = False
    #: The function, if it is positive and grows.
    increasing: Callable[[float], float] | None = None
    #: Whether it grows everywhere, is u at zero, and no less than u/2 from there to 1.
    grows_as_operand: bool = False
    #: For finite operands the largest magnitude of a finite result.
    largest: float = math.inf
    #: Whether the slope grows without a limit near zero, so that no absolute error of the operand is next to nothing there.
    is_steep_at_zero: bool = False
    #: Whether the result may be so small that it has lost bits, or zero.
    underflows: bool = False
    #: Beyond this the function is next to nothing, and float64's own kernels know no more of it: a power of two is clamped there.
    nothing_beyond: float | None = None
    #: Whether the rule adds an exponent to its result, in float64's own kernels.
    takes_exponents: bool = False
    #: Whether the rule is saturated beyond the limits: what it returns there is beyond all element types but float64, as
    #: the exact value is.
    saturates: bool = False
    #: Whether the condition number grows as the square of the operand, and not as the operand.
    is_of_square: bool = False
    #: Up to this magnitude the result has the operand's sign, of functions that are not linear at zero by their rules' errors.
    has_sign_below: float | None = None
    #: An operand other than zero whose result is exact.
    exact_at: float | None = None
    #: Whether the rule cuts off vast operands: of these no lower part counts.
    cuts_off: bool = False
    #: Its name, by which its row is found (graph/elementary_functions.py).
    name: str = ""
    #: Its forms in pairs of float32 and in float32; None: it has none.
    in_pairs: InPairs | None = None
    in_single: InSingle | None = None

    @property
    def domain(self) -> tuple[float, float]:
        """Where the operand lies, or the result is NaN."""
        return ops.OPERATIONS[self.name].domain

    @property
    def at_zero(self) -> float | None:
        """The value at zero, if that is a number exactly."""
        value = ops.OPERATIONS[self.name].at_zero
        return None if value is None or not ops.is_exact(value) else float(value)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The values at the infinities, those that are numbers exactly; NaN for others, and for functions without an exact value at zero."""
        values = ops.OPERATIONS[self.name].at_infinities
        if values is None or self.at_zero is None:
            return math.nan, math.nan
        below, above = (
            math.nan if math.isfinite(value) and not ops.is_exact(value) else float(value) for value in values
        )
        return below, above

    @property
    def zero_at(self) -> float | None:
        """The end at which a positive function is zero, -inf or inf; None for others."""
        return None if 0 not in self.ends else -math.inf if self.ends[0] == 0 else math.inf

    @property
    def other_limit(self) -> float | None:
        """The finite limit of a function that is zero at one end at the other one; its values are below."""
        return max(self.ends) if 0 in self.ends and math.isfinite(max(self.ends)) else None

    @property
    def lower_limit(self) -> float | None:
        """The finite limit at minus infinity of a function that is zero at zero; its values are above."""
        return self.ends[0] if self.at_zero == 0 and math.isfinite(self.ends[0]) else None

    @property
    def is_below_one(self) -> bool:
        """Whether the result of finite operands has a magnitude below 1."""
        return self.ends == (-1.0, 1.0)

    @property
    def of_vast(self) -> tuple[Vast, Vast]:
        """Whether the function of vast numbers, of positive ones and of negative ones, is vast or next to its limit."""
        ends = ops.OPERATIONS[self.name].at_infinities
        if ends is None or self.at_zero is None:
            return "unknown", "unknown"
        below, above = map(self._kind_of, ends)
        return above, below

    def _kind_of(self, end: ops.Fact) -> Vast:
        if math.isfinite(end):
            return "limit"
        return "vast" if math.isinf(end) and self.saturates else "unknown"


#: The rows by name.
FUNCTIONS: dict[str, Function] = {}


def computed_by(
    operation: Operation,
    rule: Callable[..., DoubleWord] | None,
    function: Function | None = None,
    *,
    in_pairs: InPairs | None = None,
    in_single: InSingle | None = None,
) -> None:
    """Put the arithmetic of a function on its row: in double words, in pairs of float32 and in float32; and how it magnifies errors,
    if it is of one number.
    """
    operation.lowering = rule
    if function is not None:
        FUNCTIONS[operation.name] = replace(function, name=operation.name, in_pairs=in_pairs, in_single=in_single)


def known_in_pairs() -> frozenset[str]:
    """The functions that have a form in pairs of float32."""
    return frozenset(name for name, row in FUNCTIONS.items() if row.in_pairs is not None)


def known_in_single() -> frozenset[str]:
    """The functions that have a form in float32."""
    return frozenset(name for name, row in FUNCTIONS.items() if row.in_single is not None)


def anywhere(condition: float) -> tuple[tuple[Interval, float], ...]:
    """A condition number for all operands."""
    return ((Interval(-math.inf, math.inf), condition),)


def within(limit: float, condition: float) -> tuple[tuple[Interval, float], ...]:
    """A condition number for operands up to a magnitude."""
    return ((Interval(-limit, limit), condition),)


def unit(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.number(1.0)


def of_result(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.abs_(f)


def more_than_result(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    """More than the derivative, also where the value lacks an exponent of -1."""
    return m.add_(m.abs_(f), m.number(2.0))


def of_operand(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    return m.abs_(u)


def inside(m: Arithmetic, u: Expression, f: Expression) -> Expression:
    """How far from 1 and -1."""
    return m.sub_(m.number(1.0), m.abs_(u))


def inverse_squares(m: Arithmetic, u: Expression) -> Expression:
    """``1 - u * u``."""
    return m.mul_(m.sub_(m.number(1.0), u), m.add_(m.number(1.0), u))
