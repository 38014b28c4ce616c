"""exp, expm1 and the logistic function in pairs of float32.

With n the integer nearest to ``32 u / log(2)``, r = u - n L and T = 2**(n / 32), where L is log(2) / 32 rounded to float32:

    exp(u) = T + T r + T q,   q = r**2 (1/2 + r/6 + r**2/24) + rest (1 + r)

``u - n L`` is exact: u, n L and r are multiples of 2**-30 where n is not zero, and r is smaller than 2**-6.5. The rest is what
L lacks of log(2) / 32, n times, and what the table's T lacks of the power, relative to it. n stands in the last bits of
``u 32 / log(2) 2**-22 + 2``: the lowest five are the table's index, and shifted they are added to T's exponent. Its other bits
are zero as long as n lies between -2048 and 2047. So one test finds all other operands, NaN among them.

Functions of a positive number in pairs of float32: a polynomial in each of 32 intervals (derived_numbers.json).

With u = w - X, which is exact:

    f(w) = c0 + u (c1 + u c2 + u**2 q)

The two outer sums are leading parts, and what these lose goes to low words. The coefficients stand in tables, of which the
interval's number takes each; so does the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from ogive import operations as ops
from ogive.expression import Expression, Format, node
from ogive.numerics.elementary.derived_numbers import PIECEWISE, TABLES
from ogive.numerics.elementary.own_errors import PAIRED
from ogive.numerics.interval import Interval
from ogive.numerics.paired import Around, Conditions, Paired, PairedArithmetic, U, Unpaired, unsigned

__all__ = [
    "FUNCTIONS_IN_PAIRS",
    "MOST",
    "NORMAL_TAIL",
    "STEP",
    "STEP_LACKS",
    "Piecewise",
    "evaluated",
    "exp_in_pairs",
    "gated",
]


@dataclass(frozen=True)
class Piecewise:
    """A function, by intervals that lie around the multiples of ``1 / scale``, up to ``most``."""

    scale: float
    most: float
    nodes: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    """Of all intervals, by powers of u."""
    bounds: tuple[float, ...]
    """Relative to the function."""


#: erfc(w / sqrt(2)) / 2.
NORMAL_TAIL = Piecewise(**PIECEWISE["NORMAL_TAIL"])


def evaluated(m: PairedArithmetic, table: Piecewise, w: Expression) -> Paired:
    """The function of a positive number, and its bound. Numbers beyond the last interval are moved into it."""
    w = m.smaller_(m.number(table.most), w)
    index = m.bits_(m.fma_(w, m.number(table.scale), m.number(m.magic)))

    def looked_up(numbers: tuple[float, ...]) -> Expression:
        return node(ops.TABLE, (index,), numbers, Format.F32)

    u = m.sub_(w, looked_up(table.nodes))
    c0, c1, c2, *tail = map(looked_up, table.coefficients)
    q = tail[-1]
    for c in reversed(tail[:-1]):
        q = m.fma_(q, u, c)
    inner = m.fma_(u, c2, c1)
    rest = m.fma_(u, c2, m.neg_(m.sub_(inner, c1)))
    rest = m.fma_(m.mul_(u, u), q, rest)
    high = m.fma_(u, inner, c0)
    lost = m.fma_(u, inner, m.neg_(m.sub_(high, c0)))
    return Paired(high, low=m.fma_(u, rest, lost), around=Around(high, looked_up(table.bounds), m.number(0.0)))


#: Beyond this magnitude of the operand there is no rule.
MOST = 2048 * math.log(2) / 32

#: How many powers there are in an octave.
POWERS_OF_TWO = 32

#: log(2) / 32 in two parts, and the reciprocal.
STEP, STEP_LACKS = float.fromhex("0x1.62e43p-6"), float.fromhex("-0x1.05c61p-34")
STEPS = float.fromhex("0x1.715476p+5")

#: n = 0 stands in the last bits of this number, behind which n is a multiple of the unit.
UNIT = 2.0**-22
MIDDLE = 2.0 + 2048 * UNIT

#: The bits of a number between 2 and 2 + 4096 units that are zero.
ZERO_BITS = 0xBFFFF000

#: 1/6 and 1/24.
SIXTH, TWENTY_FOURTH = float.fromhex("0x1.555556p-3"), float.fromhex("0x1.555556p-5")

#: To where operands are moved whose result does not depend on them: exp(-44) is nothing beside 1.
FAR = 44.0
NOTHING = math.exp(-FAR)

#: The share of low words of exp.
SHARE = (math.log(2) / 64) ** 2 * 0.51 + 2.0**-18

#: How often low words of expm1 are rounded that its error covers: here, in a product and in a result.
ROUNDINGS = 4

#: Where T is small what T - 1 and the leading part lose of it is in the low word, which is rounded: units of 2**-24 of that.
FAR_BELOW_ZERO = (ROUNDINGS + 2) * U * U

#: T is no larger a multiple of expm1 than this where it is not 1.
LARGEST_SHARE = 96.0


@dataclass(frozen=True)
class _PairedExponential:
    """What the rules are made of: ``T``, ``r`` and ``q``."""

    power: Expression
    r: Expression
    q: Expression
    relative: float
    """The error of ``T + T r + T q``, relative to T."""
    where: Conditions


def _core(m: PairedArithmetic, u: Paired, bias: float = 0.0) -> _PairedExponential:
    u = m.as_words(u)
    if u.around is not None or u.share > 2 * U:
        raise Unpaired("an exponential of a number with a large low word")
    shifted = m.fma_(u.high, m.number(STEPS * UNIT), m.number(MIDDLE))
    n = m.sub_(shifted, m.number(MIDDLE))
    r = m.fma_(n, m.number(-STEP / UNIT), u.high)
    bits = m.bits_(shifted)
    lacks = tuple(m.rounded(Fraction(value) + Fraction(bias)) for value in TABLES["POWERS_LACK"])
    rest = m.fma_(n, m.number(-STEP_LACKS / UNIT), node(ops.TABLE, (bits,), lacks, Format.F32))
    whole = r
    if u.low is not None:
        rest = m.add_(rest, u.low)
        whole = m.add_(r, rest)
    c = m.fma_(m.fma_(whole, m.number(TWENTY_FOURTH), m.number(SIXTH)), whole, m.number(0.5))
    q = m.fma_(r, m.fma_(r, c, rest), rest) if whole is r else m.fma_(m.mul_(whole, whole), c, rest)
    table = m.bits_(node(ops.TABLE, (bits,), TABLES["POWERS"], Format.F32))
    power = m.from_bits_(node(ops.ADD, (table, m.shift_left_(bits, 18)), None, m.integer))
    other = node(ops.AND, (node(ops.BITCAST, (shifted,), None, Format.U32), unsigned(ZERO_BITS)), None, Format.U32)
    relative = PAIRED["exp" if u.low is None else "exp of two words"] + MOST * u.relative + u.lost
    return _PairedExponential(power, r, q, relative, replace(u.where, doubts=(*u.where.doubts, other)))


def _inside(u: Paired) -> Interval:
    return Interval(max(u.interval.low, -MOST), max(min(u.interval.high, MOST), -MOST))


def exp_in_pairs(m: PairedArithmetic, u: Paired, bias: float = 0.0) -> Paired:
    core = _core(m, u, bias)
    high = m.fma_(core.power, core.r, core.power)
    lost = m.fma_(core.power, core.r, m.neg_(m.sub_(high, core.power)))
    return Paired(
        high,
        low=m.fma_(core.power, core.q, lost),
        share=SHARE,
        relative=core.relative * SLACK_OF_POWER,
        bias=bias / SLACK_OF_POWER,
        interval=_inside(u).map(math.exp),
        is_nonzero=True,
        where=core.where,
    )


#: The leading part is T (1 + r).
SLACK_OF_POWER = 1 + 2.0**-6


def _exp(m: PairedArithmetic, u: Paired, *, is_result: bool, reaches_all: bool) -> Paired:
    if not is_result:
        return exp_in_pairs(m, u)
    plain = exp_in_pairs(m, u)
    return exp_in_pairs(m, u, bias=(plain.relative + 4 * U * plain.share) * SLACK_OF_POWER**3)


def _logistic(m: PairedArithmetic, u: Paired, *, is_result: bool, reaches_all: bool) -> Paired:
    if reaches_all and u.is_single:
        u = replace(u, high=m.smaller_(m.number(FAR), u.high))
    found = m.reciprocal(m.add(m.constant(1.0), exp_in_pairs(m, m.negate(u))))
    lies = _inside(u).map(lambda x: 1 / (1 + math.exp(-x)))
    return replace(found, relative=found.relative + NOTHING, interval=lies)


def _expm1(m: PairedArithmetic, u: Paired, *, is_result: bool, reaches_all: bool) -> Paired:
    """T - 1 first, which is exact where it cancels."""
    u = m.as_words(u)
    if u.lost and not u.is_nonzero:
        raise Unpaired("underflow shows in an operand that may be zero")
    is_moved = reaches_all and u.is_single and u.is_nonzero
    core = _core(m, replace(u, high=m.larger_(m.number(-FAR), u.high)) if is_moved else u)
    one = m.number(1.0)
    first = m.sub_(core.power, one)
    if u.interval.high <= 0:
        lost = m.sub_(core.power, m.add_(first, one))
    else:
        first, lost = m.two_sum(core.power, m.number(-1.0))
    high = m.fma_(core.power, core.r, first)
    rest = m.fma_(core.power, core.r, m.neg_(m.sub_(high, first)))
    low = m.add_(m.fma_(core.power, core.q, rest), lost)
    # The error is that of exp, and where T is 1 no more than a share of the result.
    error = core.relative + ROUNDINGS * U * SHARE + FAR_BELOW_ZERO
    base, plus = core.power, m.number(0.0)
    if u.is_nonzero:
        plus = m.bound(FAR_BELOW_ZERO + (NOTHING if is_moved else 0.0))
    else:
        base = m.add_(base, m.bound(FAR_BELOW_ZERO / error))
        near_zero = max(PAIRED["expm1 near zero"] + u.relative, LARGEST_SHARE * error)
        base = m.smaller_(m.mul_(m.abs_(high), m.bound(near_zero / error)), base)
        high = m.make(ops.COPY_SIGN, high, u.high)
    around = Around(base, m.bound(error), plus)
    return Paired(
        high,
        low=low,
        around=around,
        interval=_inside(u).map(math.expm1),
        is_nonzero=u.is_nonzero,
        may_be_zero=high,
        where=core.where,
    )


#: Below this the last interval of the normal tail begins, and its bound says nothing.
LEAST_OF_GATE = -30.5 / NORMAL_TAIL.scale * (1 - 2.0**-10)


def gated(m: PairedArithmetic, x: Paired) -> Paired:
    """``x`` times the normal distribution up to x, as ``abs(x) ((x >= 0) - Q(abs(x)))``: 1 - Q is a half at least."""
    if not x.is_single:
        raise Unpaired("a gate of a computed number")
    size = m.abs_(x.high)
    tail = evaluated(m, NORMAL_TAIL, size)
    assert tail.low is not None
    assert tail.around is not None
    is_below = m.less_(x.high, m.number(0.0))
    step = m.select_(is_below, m.number(0.0), m.number(1.0))
    high = m.sub_(step, tail.high)
    low = m.sub_(m.sub_(m.sub_(step, high), tail.high), tail.low)
    # What 1 - Q loses is rounded some times.
    plus = m.select_(is_below, m.number(0.0), m.number(2.0**-46))
    share = Paired(high, low=low, around=replace(tail.around, plus=plus), interval=Interval(-0.5, 1.0), is_nonzero=True)
    is_inside = m.less_equal_(m.bound(LEAST_OF_GATE), x.high)
    found = m.multiply(share, m.exactly(size))
    where = Conditions(holds=(is_inside,))
    return replace(found, sign=x.high, where=where, interval=Interval(LEAST_OF_GATE, 1.0))  # no larger than x


#: A function of a number, by the name of its operation. ``is_result``: whether nothing more is computed of it.
#: ``reaches_all``: whether operands may be moved to where the rule holds.
FUNCTIONS_IN_PAIRS: dict[str, Callable[..., Paired]] = {"exp": _exp, "expm1": _expm1, "logistic": _logistic}
