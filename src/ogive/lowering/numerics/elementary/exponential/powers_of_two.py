"""The reduction of exponentials in pairs of float32, by a table of powers of two.

With n the integer nearest to ``32 u / log(2)``, r = u - n L and T = 2**(n / 32), where L is log(2) / 32 rounded to float32:

    exp(u) = T + T r + T q,   q = r**2 (1/2 + r/6 + r**2/24) + rest (1 + r)

``u - n L`` is exact: u, n L and r are multiples of 2**-30 where n is not zero, and r is smaller than 2**-6.5. The rest is what
L lacks of log(2) / 32, n times, and what the table's T lacks of the power, relative to it. n stands in the last bits of
``u 32 / log(2) 2**-22 + 2``: the lowest five are the table's index, and shifted they are added to T's exponent. Its other bits
are zero as long as n lies between -2048 and 2047. So one test finds all other operands, NaN among them.

For targets whose registers hold eight numbers there are eight powers in place of 32: then r is smaller than 2**-4.5, a multiple
of 2**-28, and q has one term more (`Powers`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, node
from ogive.lowering.numerics.elementary.derived_numbers import TABLES
from ogive.lowering.numerics.elementary.own_errors import PAIRED
from ogive.lowering.numerics.float_float import (
    FEW_POWERS,
    LARGEST,
    MANY_POWERS,
    UNIT,
    Conditions,
    FloatFloat,
    FloatFloatArithmetic,
    NoFloatFloat,
    bits_beyond,
)
from ogive.lowering.numerics.interval import Interval


@dataclass(frozen=True)
class Powers:
    """The powers of two of an octave, and how operands are reduced to the distance of the nearest."""

    count: int
    """How many: 32, or a power of two that is smaller."""
    coefficients: tuple[float, ...]
    """Those of ``(exp(r) - 1 - r) / r**2``."""
    multiple_of_expm1: float
    """T is no larger a multiple of expm1 than this where it is not 1."""

    @property
    def shift(self) -> int:
        """How far n is from the exponent of a float32 number."""
        return 24 - self.count.bit_length()

    @property
    def step(self) -> float:
        """The logarithm of two divided by the count, in one word; `step_lacks` is the rest."""
        return STEP * MANY_POWERS / self.count

    @property
    def step_lacks(self) -> float:
        return STEP_LACKS * MANY_POWERS / self.count

    @property
    def steps(self) -> float:
        """The reciprocal of the logarithm."""
        return STEPS * self.count / MANY_POWERS

    @property
    def share(self) -> float:
        """The share of low words of exp."""
        return (math.log(2) / (2 * self.count)) ** 2 * 0.51 + 2.0**-13 / self.count

    def of_table(self, name: str) -> list[float]:
        """A table's numbers for these powers."""
        return list(TABLES[name][:: MANY_POWERS // self.count])

    def window(self, of_many: Window) -> Window:
        """The same operands as a window of 32 powers has."""
        many = MANY_POWERS // self.count
        return replace(of_many, before=of_many.before // many, count=of_many.count // many, octave=self.count)


@dataclass(frozen=True)
class Window:
    """The n that have a rule: from -before on, so many. Both are multiples of the powers, and the latter is a power of two."""

    before: int
    count: int
    halved: bool = False
    """Whether a half of the power is computed, which does not overflow."""
    octave: int = MANY_POWERS

    @property
    def middle(self) -> float:
        """The number in whose last bits n = 0 stands."""
        return 2.0 + self.before * UNIT

    @property
    def powers(self) -> tuple[float, ...]:
        """The table of powers, off whose bits n is taken that will be added to them."""
        powers = POWERS[self.octave]
        bits = np.array(powers.of_table("POWERS"), np.float32).view(np.uint32)
        before = powers.window(USUAL).before - self.before << powers.shift
        bits += np.uint32(before - (self.halved << 23) & 0xFFFFFFFF)
        return tuple(bits.view(np.float32).tolist())

    @property
    def largest(self) -> int:
        """The largest magnitude of n."""
        most = math.ceil(INFINITE * POWERS[self.octave].steps)
        return max(self.before, most if self.halved else self.count - self.before)


USUAL = Window(2048, 4096)

#: The window with halves of powers.
HALVED = replace(USUAL, halved=True)

#: Beyond this magnitude of the operand there is no rule.
MOST = USUAL.before * math.log(2) / 32

#: exp is infinite from here on; larger operands are moved here where exp is the result.
INFINITE = 89.0

WIDE = Window(3072, 8192, halved=True)

#: The window of rows of 16 bits: powers down to 2**-88, and elements down to `-LARGEST_OF_ROW - NOTHING_OF_ROW`.
OF_SHORT_ROWS = Window(88 * 32, 1 << 14)

#: log(2) / 32 in two parts, and the reciprocal.
STEP, STEP_LACKS = float.fromhex("0x1.62e43p-6"), float.fromhex("-0x1.05c61p-34")

STEPS = float.fromhex("0x1.715476p+5")

#: 1/6 and 1/24.
SIXTH, TWENTY_FOURTH = float.fromhex("0x1.555556p-3"), float.fromhex("0x1.555556p-5")

#: The powers of two in tables, by their number. With eight the last two coefficients are those of the polynomial whose error is smallest.
POWERS = {
    MANY_POWERS: Powers(MANY_POWERS, (0.5, SIXTH, TWENTY_FOURTH), 96.0),
    FEW_POWERS: Powers(
        FEW_POWERS, (0.5, SIXTH, float.fromhex("0x1.555ace0000000p-5"), float.fromhex("0x1.1114320000000p-7")), 27.0
    ),
}

#: To where operands are moved whose result does not depend on them: exp(-44) is nothing beside 1.
FAR = 44.0

NOTHING = math.exp(-FAR)


def of_powers(octave: int) -> str:
    """The end of the names of errors, by how many powers a table has."""
    return "" if octave == MANY_POWERS else f", {octave} powers"


def power_and_rest(
    m: FloatFloatArithmetic, u: Expression, middle: Expression, powers: tuple[float, ...], bias: float = 0.0
) -> tuple[Expression, Expression, Expression, Expression]:
    """``T``, ``r`` and the rest of a number; and the number in whose last bits n stands, behind those of ``middle``."""
    among = POWERS[m.octave]
    shifted = m.fma_(u, m.number(among.steps * UNIT), middle)
    n = m.sub_(shifted, middle)
    r = m.fma_(n, m.number(-among.step / UNIT), u)
    bits = m.bits_(shifted)
    lacks = tuple(m.rounded(Fraction(value) + Fraction(bias)) for value in among.of_table("POWERS_LACK"))
    rest = m.fma_(n, m.number(-among.step_lacks / UNIT), node(ops.TABLE, (bits,), lacks, Format.F32))
    table = m.bits_(node(ops.TABLE, (bits,), powers, Format.F32))
    power = m.from_bits_(node(ops.ADD, (table, m.shift_left_(bits, among.shift)), None, m.integer))
    return power, r, rest, shifted


def rest_of_one(m: FloatFloatArithmetic, r: Expression, rest: Expression) -> Expression:
    """``exp(r + rest) - 1 - r``."""
    return m.fma_(r, m.fma_(r, series_in_pairs(m, r), rest), rest)


def series_in_pairs(m: FloatFloatArithmetic, r: Expression) -> Expression:
    """``(exp(r) - 1 - r) / r**2``."""
    *others, before, last = map(m.number, POWERS[m.octave].coefficients)
    value = m.fma_(r, last, before)
    for coefficient in reversed(others):
        value = m.fma_(value, r, coefficient)
    return value


@dataclass(frozen=True)
class ReducedInPairs:
    """The parts of the rules: ``T``, ``r`` and ``q``."""

    power: Expression
    r: Expression
    q: Expression
    relative: float
    """The error of ``T + T r + T q``, relative to T."""
    where: Conditions


def reduced_in_pairs(
    m: FloatFloatArithmetic, u: FloatFloat, bias: float = 0.0, window: Window = USUAL, most: float | None = None
) -> ReducedInPairs:
    """``most``: where larger operands are moved; they must be in the window all the same."""
    among, is_wide = POWERS[m.octave], window is WIDE
    window = among.window(window)
    u = given = m.normalised(u)
    if most is not None:
        u = not_beyond(m, given, most)
        if u is given:
            raise NoFloatFloat("an argument that may be anything where it is large")
    power, r, rest, shifted = power_and_rest(m, u.high, m.number(window.middle), window.powers, bias)
    if u is not given:
        shifted = m.fma_(given.high, m.number(among.steps * UNIT), m.number(window.middle))
    whole = r
    if u.low is not None:
        rest = m.add_(rest, u.low)
        whole = m.add_(r, rest)
    if whole is r:
        q = rest_of_one(m, r, rest)
    else:
        q = m.fma_(m.mul_(whole, whole), series_in_pairs(m, whole), rest)
    other = bits_beyond(shifted, window.count)
    name = ("wide " if is_wide else "") + ("exp" if u.low is None else "exp of two words") + of_powers(m.octave)
    relative = PAIRED[name] + (INFINITE if is_wide else MOST) * u.relative + u.lost
    return ReducedInPairs(power, r, q, relative, replace(u.where, doubts=(*u.where.doubts, other)))


def not_beyond(m: FloatFloatArithmetic, u: FloatFloat, most: float) -> FloatFloat:
    """The number, or the most positive or negative that it may be: where nothing but itself is out of range."""
    u = m.normalised(u)
    if not (u.is_single or u.is_quotient or u.interval.largest_magnitude <= LARGEST):
        return u
    far = m.number(most)
    high = m.smaller_(far, u.high) if most > 0 else m.larger_(far, u.high)
    if u.low is None:
        return replace(u, high=high)
    return replace(u, high=high, low=m.select_(m.equal_(high, far), m.number(0.0), u.low))


def inside_of_rule(u: FloatFloat, most: float | None = None) -> Interval:
    if u.interval.low > MOST or u.interval.high < -MOST:
        raise NoFloatFloat("an argument that is never in the window of exp")
    ends = max(u.interval.low, -MOST), max(min(u.interval.high, MOST), -MOST)
    return Interval(*(end if most is None else min(end, most) for end in ends))
