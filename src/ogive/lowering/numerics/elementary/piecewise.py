"""Functions of a positive number in pairs of float32: a polynomial in each of 32 intervals (derived_numbers.json).

With u = w - X, which is exact:

    f(w) = c0 + u (c1 + u c2 + u**2 q)

The two outer sums are leading parts, or three where u is larger, and what these lose goes to low words. The coefficients stand
in tables, of which the interval's number takes each; so does the bound. Intervals become shorter towards a pole: -1 for tanh, atan and
asinh, 1 for asin, acos, atanh and acosh.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, node
from ogive.lowering.numerics.float_float import (
    LARGEST,
    SMALLEST,
    Around,
    FloatFloat,
    FloatFloatArithmetic,
    U,
    low_of,
)
from ogive.lowering.numerics.interval import Interval


@dataclass(frozen=True)
class Piecewise:
    """A function, by intervals that lie around the multiples of ``1 / scale``, or are parts of binades of the distance from a pole."""

    scale: float | None
    most: float
    """The largest operand; larger ones are moved there."""
    is_signed: bool
    """Whether the function crosses zero: then bounds, errors and shares are absolute."""
    leading: int
    """How many sums are leading parts."""
    pole: float
    parts: int
    """How many intervals a binade has."""
    slope_errors: tuple[float, ...]
    """How wrong the slopes of the rule are, times the operand, relative to the function."""
    nodes: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    """The coefficients of all intervals, by powers of u."""
    bounds: tuple[float, ...]
    """Relative to the function."""
    shares: tuple[float, ...]
    """How large low words are at most, relative to the function."""
    lacks: tuple[float, ...] = ()
    """The parts that the slopes c1 lack; nothing if empty."""


def evaluated(m: FloatFloatArithmetic, table: Piecewise, argument: FloatFloat, steepness: float = 1.0) -> FloatFloat:
    """The function of a positive number, and its bound. Numbers beyond the last interval are moved into it.

    ``steepness``: the operand times the slope, relative to the function, is no more than this times the largest operand.
    """
    where, is_sure = argument.where, argument.is_single or argument.is_quotient
    argument = m.normalised(argument)
    if not (is_sure or argument.interval.largest_magnitude <= LARGEST):
        # The low word of a computed infinity is NaN: `inf * exp(-29)`.
        is_finite = m.less_equal_(m.abs_(argument.high), m.number(LARGEST))
        where = replace(where, holds=(*where.holds, is_finite))
    most = m.number(table.most)
    w = m.smaller_(most, argument.high)
    if table.scale is None:
        # A pole of 1 is moved by a last place, so that the distance of 0 is in the binade below 1.
        is_above = table.most > table.pole
        distance = m.add_(w, m.number(-table.pole)) if is_above else m.sub_(m.number(table.pole - U), w)
        index = m.shift_right_(m.bits_(distance), 24 - table.parts.bit_length())
    else:
        index = m.bits_(m.fma_(w, m.number(table.scale), m.number(m.magic)))

    def looked_up(numbers: tuple[float, ...]) -> Expression:
        return node(ops.TABLE, (index,), numbers, Format.F32)

    u = m.sub_(w, looked_up(table.nodes))
    coefficients = [looked_up(numbers) for numbers in table.coefficients]
    *tail, q = coefficients[table.leading + 1 :]
    for c in reversed(tail):
        q = m.fma_(q, u, c)
    square = m.mul_(u, u)
    high, low = coefficients[table.leading], None
    for k in reversed(range(table.leading)):
        c, inner = coefficients[k], high
        if k == 0 and table.is_signed:
            product = m.mul_(u, inner)
            high, lost = m.two_sum(c, product)
            lost = m.add_(lost, m.fma_(u, inner, m.neg_(product)))
        else:
            high = m.fma_(u, inner, c)
            lost = m.fma_(u, inner, m.neg_(m.sub_(high, c)))
        if k == 1 and table.lacks:
            lost = m.add_(lost, looked_up(table.lacks))
        low = m.fma_(square, q, lost) if low is None else m.fma_(u, low, lost)
    assert low is not None
    reach = table.most * steepness
    relative = argument.relative * reach + (argument.share * reach) ** 2
    times = m.roundings + (0 if argument.low is None else 1)
    pieces = zip(table.bounds, table.shares, table.slope_errors, strict=True)
    bound = looked_up(
        tuple(
            m.upwards(bound + times * U * share + relative + argument.share * slope) for bound, share, slope in pieces
        )
    )
    if argument.low is not None:
        # The function rises by its slope times the low word: c1 + 2 c2 u + 3 u**2 q, of all that is behind c2.
        _, c1, c2, c3, *_ = coefficients
        q = q if table.leading == 2 else m.fma_(u, q, c3)
        more = m.select_(m.less_(argument.high, most), argument.low, m.number(0.0))
        slope = m.fma_(u, m.fma_(m.mul_(u, m.number(3.0)), q, c2), m.fma_(u, c2, c1))
        low = m.fma_(more, slope, low)
    return FloatFloat(
        high,
        low=low,
        around=Around(m.number(1.0) if table.is_signed else high, bound, m.number(0.0)),
        covered=m.roundings,
        where=where,
    )


def with_sign(m: FloatFloatArithmetic, size: FloatFloat, u: FloatFloat, *, is_result: bool) -> FloatFloat:
    """The number with the sign of u."""
    if u.interval.low >= 0:
        return size
    found = replace(size, turn=u.high)
    if is_result:
        return found
    lies = Interval(-size.interval.high, size.interval.high if u.interval.high > 0 else 0.0)
    return replace(m.settled(found), interval=lies)


def less(m: FloatFloatArithmetic, a: Expression, b: FloatFloat) -> tuple[Expression, Expression]:
    """``a - b`` in two words, of a number that is larger than b."""
    high = m.sub_(a, b.high)
    return high, m.sub_(m.sub_(m.sub_(a, high), b.high), low_of(b))


def odd_in_pairs(
    table: Piecewise,
    largest: float,
    m: FloatFloatArithmetic,
    u: FloatFloat,
    steepness: float = 1.0,
    *,
    is_result: bool,
    reaches_all: bool,
) -> FloatFloat:
    """A function that is zero at zero and no larger than that."""
    u = m.as_words(u)
    found = evaluated(m, table, m.absolute(u), steepness)
    lies = Interval(0.0, largest)
    found = replace(
        found,
        interval=lies,
        is_nonzero=u.is_nonzero,
        may_be_zero=u.may_be_zero,
        lost=1.25 * u.lost + 4 * SMALLEST,
    )
    return with_sign(m, found, u, is_result=is_result)
