"""Exponentials of rows in pairs of float32: beside the largest element of a row, as softmax takes them."""

from __future__ import annotations

from dataclasses import dataclass

from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, in_format, node
from ogive.lowering.numerics.elementary.derived_numbers import TABLES
from ogive.lowering.numerics.elementary.exponential.exp import SLACK_OF_POWER
from ogive.lowering.numerics.elementary.exponential.powers_of_two import POWERS, STEPS, power_and_rest, rest_of_one
from ogive.lowering.numerics.elementary.own_errors import PAIRED
from ogive.lowering.numerics.float_float import MANY_POWERS, UNIT, FloatFloatArithmetic
from ogive.lowering.numerics.machine import Machine

#: The coefficients of rows: 1/3, 1/12 and 1/60.
THIRD, TWELFTH, SIXTIETH = (float.fromhex(number) for number in ("0x1.555556p-2", "0x1.555556p-4", "0x1.111112p-6"))

#: How large the largest element may be; how far below it others are known, of short rows and of others, so that no share is
#: subnormal; and from where on shares are zero, whatever the sum is.
LARGEST_OF_ROW, DISTANCES_OF_ROW, NOTHING_OF_ROW = 64.0, (79.0, 72.0), 105.0
SHORT_ROW = 2048.0

#: The place of n = 0, and what exponentials are multiplied by then, so that none is subnormal: by its reciprocal.
MIDDLE_OF_ROW, SCALE_OF_ROW = 2.0 + 20480 * UNIT, 2.0**-64

#: The exponent of 1 in float32, times the reciprocal of that; and bits of 2**-86.75: elements that are zero whatever the sum is have
#: smaller powers, others larger ones.
BIAS_OF_POWERS, LEAST_POWER = 127.0 + 64.0, 0x141837F0

#: The share of low words: what a leading part loses, the third power, and the rest.
SHARE_OF_ROW = 2.0**-20.5


@dataclass(frozen=True)
class ExponentialOfRow:
    """``exp(x) 2**(64 - k)``, as ``high + low``."""

    high: Expression
    low: Expression
    power: Expression
    """k."""
    place: Expression | None
    """The bits of a power of two beside the exponential, in order from `LEAST_POWER` on: what is zero whatever the sum is comes last.
    None: all are known."""
    lowest: Expression | None
    """No place of a known element that is no such zero is smaller: a number of the row in float64."""
    share: float
    """No low word is a larger share of the exponential."""
    relative: float
    """The error of the exponential."""


def exponential_of_row(
    m: FloatFloatArithmetic,
    x: Expression,
    largest: Expression,
    is_counted: Expression | None = None,
    *,
    is_short: bool = False,
) -> ExponentialOfRow:
    """The exponential beside the largest of a row of up to `LARGEST_OF_ROW`, with k the integer nearest to ``largest / log(2)``.

    ``r + r**2 / 2`` is a leading part here, and what it loses is in the low word. So errors are small enough for a row: it is
    computed again if one of its elements is undecided. Exponentials that do not count are zero.

    ``is_short``: shares of 16 bits and sums alone need fewer bits, and ask of no element whether it is known.
    """
    k = m.round_even_(m.mul_(largest, m.number(STEPS / MANY_POWERS)))
    middle = m.fma_(k, m.number(-MANY_POWERS * UNIT), m.number(MIDDLE_OF_ROW))
    nothing = m.sub_(largest, m.number(NOTHING_OF_ROW))
    power, r, rest, _ = power_and_rest(m, m.larger_(nothing, x), middle, TABLES["POWERS"])
    place = node(ops.ADD, (m.bits_(power), m.whole((1 << 31) - LEAST_POWER)), None, m.integer)
    if is_counted is not None:
        power = m.select_(is_counted, power, m.number(0.0))
    if is_short:
        high = m.fma_(power, r, power)
        lost = m.fma_(power, r, m.neg_(m.sub_(high, power)))
        low = m.fma_(power, rest_of_one(m, r, rest), lost)
        return ExponentialOfRow(
            high, low, k, None, None, POWERS[MANY_POWERS].share, PAIRED["exp of rows of 16 bits"] * SLACK_OF_POWER
        )
    has_few = m.less_(node(ops.ROW_LENGTH, (), None, Format.F64), node(ops.CONSTANT, (), SHORT_ROW, Format.F64))
    distance = m.select_(has_few, *(m.number(distance) for distance in DISTANCES_OF_ROW))
    lowest = _place_of(m.larger_(m.sub_(largest, distance), m.number(-LARGEST_OF_ROW)), k)
    half = m.mul_(r, m.number(0.5))
    whole = m.fma_(half, r, r)
    lost = m.fma_(half, r, m.sub_(r, whole))
    c = m.fma_(m.fma_(r, m.number(SIXTIETH), m.number(TWELFTH)), r, m.number(THIRD))
    q = m.fma_(half, m.mul_(m.mul_(r, r), c), lost)
    high = m.fma_(power, whole, power)
    low = m.fma_(power, q, m.fma_(power, whole, m.neg_(m.sub_(high, power))))
    low = m.fma_(high, rest, low)
    return ExponentialOfRow(high, low, k, place, lowest, SHARE_OF_ROW, PAIRED["exp of rows"])


def _place_of(x: Expression, k: Expression) -> Expression:
    """No smaller than the place of the power of any smaller number: bits of a power are at most linear in its exponent."""
    m = Machine(Format.F64)
    x, k = (in_format(number, Format.F64) for number in (x, k))
    exponent = m.fma_(x, m.number(STEPS / MANY_POWERS), m.sub_(m.number(BIAS_OF_POWERS + 1 / MANY_POWERS), k))
    return m.fma_(exponent, m.number(2.0**23), m.number(-float(LEAST_POWER) - 2.0**31))
