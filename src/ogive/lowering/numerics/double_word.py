"""Arithmetic with more bits than the machine has: numbers kept as an unevaluated sum of two.

A `DoubleWord` number is ``(high + low) * 2**exponent``. Formulas are lowered with it so that a result is rounded
once, at the end, whatever the formula: that is where the accuracy of every operator comes from, the
user's own included. Three rules keep it cheap and safe:

* ``high`` alone is what plain IEEE evaluation of the formula gives, so infinities and NaN come out as IEEE
  arithmetic has them. ``low`` is a correction; where it is not finite (after an overflow) it is dropped.
* Intervals decide which of two numbers is larger, and whether an overflow is possible at all; what they
  exclude is not computed.
* ``exponent`` keeps the result of exp() exact where it would underflow, until the last operation.

The tricks are the classical ones: TwoSum (Knuth), Fast2Sum (Dekker), TwoProduct by FMA.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from ogive.common.effects import Checked, Effects, Table
from ogive.common.forking import cached_property
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Operation, depends_on_elements, node
from ogive.lowering.numerics.bound import UNKNOWN, Bound
from ogive.lowering.numerics.interval import EVERYTHING, Interval
from ogive.lowering.numerics.machine import Machine, is_power_of_two
from ogive.lowering.numerics.truths import both, either

#: Next to this power of two a number is zero or infinite, whatever it is multiplied by.
LARGEST_EXPONENT = 2.0**22


@dataclass(frozen=True)
class DoubleWord:
    """``(high + low) * 2**exponent``; None for a part that is zero."""

    high: Expression
    low: Expression | None = None
    exponent: Expression | None = None
    interval: Interval = EVERYTHING
    #: The interval of ``high`` when there is an exponent beside it.
    mantissa: Interval = EVERYTHING
    #: Whether ``low`` is a finite number wherever ``high`` is.
    low_is_number: bool = True
    #: Whether ``high`` is ``high + low`` rounded to the format.
    is_normal: bool = False
    #: Whether ``low`` is finite at least where ``high`` is and no operand was the largest number.
    low_follows: bool = False
    #: The error bound: known where the arithmetic is `Bounded` (bounded.py).
    error: Bound = UNKNOWN

    @property
    def stored(self) -> Interval:
        """The interval of ``high``."""
        return self.interval if self.exponent is None else self.mantissa

    @property
    def is_exact(self) -> bool:
        """Whether ``high`` is all there is."""
        return self.low is None and self.exponent is None


#: The effects that operations share on the fields of numbers: of their magnitude alone, and of new numbers.
_OF_MAGNITUDE = Effects(kept="exponent low_is_number low_follows", made="high low interval mantissa is_normal error")
_OF_ALL = Effects(made="high low exponent interval mantissa low_is_number is_normal low_follows error")

#: The same on bounds.
_KEPT = "relative static absolute doubt bits least largest exactly vast vast_exponent nan"
_BOUND_KEPT = Effects(kept=f"{_KEPT} keeps_sign", made="beyond")
_BOUND_MADE = Effects(made=f"{_KEPT} keeps_sign beyond")

#: The effects of operations on the fields of numbers, and of the bounds that some have (bounded.py).
EFFECTS: Table = {
    "negate": {
        DoubleWord: Effects(
            kept="exponent low_is_number is_normal low_follows", made="high low interval mantissa error"
        ),
        Bound: _BOUND_KEPT,
    },
    "absolute": {DoubleWord: _OF_MAGNITUDE, Bound: _BOUND_KEPT},
    "copy_sign": {
        DoubleWord: _OF_MAGNITUDE,
        Bound: Effects(
            kept=_KEPT,
            made="keeps_sign",
            dropped={"beyond": "a number of the other sign lies on the other side of it"},
        ),
    },
    "add": {
        DoubleWord: _OF_ALL,
        Bound: Effects(
            made="relative static absolute doubt least largest keeps_sign exactly beyond vast vast_exponent nan",
            dropped={"bits": "a sum is known by its unit"},
        ),
    },
    "multiply": {DoubleWord: _OF_ALL, Bound: _BOUND_MADE},
    "divide": {
        DoubleWord: Effects(
            made="high low exponent interval mantissa low_is_number error",
            dropped={"is_normal": "its second word may be large", "low_follows": "it is divided by what may be zero"},
        ),
        Bound: Effects(
            made="relative static absolute doubt least largest keeps_sign exactly beyond vast vast_exponent nan",
            dropped={"bits": "a quotient has any number of bits"},
        ),
    },
    "square_root": {
        DoubleWord: Effects(
            made="high low exponent interval mantissa low_is_number is_normal error",
            dropped={"low_follows": "it is divided by a root that may be zero"},
        ),
        Bound: Effects(
            made="relative static absolute doubt least largest exactly vast vast_exponent nan",
            dropped={
                "bits": "a root has any number of bits",
                "keeps_sign": "no root is negative",
                "beyond": "enclosures decide roots beside a tie",
            },
        ),
    },
    "select": {
        DoubleWord: Effects(
            made="high low exponent interval mantissa low_is_number is_normal error",
            dropped={"low_follows": "the other number's second word may be none"},
        ),
        Bound: _BOUND_MADE,
    },
    "integral": {
        DoubleWord: Effects(
            made="high low interval mantissa low_is_number is_normal low_follows error",
            dropped={"exponent": "it is multiplied in"},
        ),
        Bound: _BOUND_MADE,
    },
    "error_of_extreme": {
        DoubleWord: _OF_ALL,
        Bound: Effects(made=f"{_KEPT} beyond", dropped={"keeps_sign": "the sign of the other number may be another"}),
    },
}


class Multiple(NamedTuple):
    """A single number and the positive constant that it is multiplied by."""

    word: Expression
    factor: Fraction
    is_whole: bool
    """Whether two words hold the product."""


class Arithmetic(Machine, Checked):
    """The operations of real numbers on wide ones."""

    effects = EFFECTS

    #: Whether bounds say where numbers are exact as elements happen to be: in the repair of elements.
    follows_exactness = False

    #: Whether a sum is a result of float64's own kernels: that it overflows is no doubt, and its words may overlap.
    is_result = False

    def wide(self, value: Fraction | float) -> DoubleWord:
        """A constant, to twice the precision of the format."""
        if isinstance(value, float):
            if not math.isfinite(value) or value == 0:
                return DoubleWord(self.number(value), interval=Interval.point(value))
            value = Fraction(value)
        high = self.rounded(value)
        if not self.extended or not math.isfinite(high):
            return DoubleWord(self.number(high), interval=Interval.around(high))
        low = self.rounded(value - Fraction(high))
        interval = Interval.around(high) if low else Interval.point(high)
        return DoubleWord(self.number(high), self.number(low) if low else None, interval=interval)

    @cached_property
    def whole_numbers(self) -> dict[tuple[Expression, Expression], DoubleWord]:
        """The numbers whose power of two was kept apart (`with_exponent`)."""
        return {}

    @cached_property
    def multiples(self) -> dict[Expression, Multiple]:
        """The factors of numbers, by their first word: as what multiple of a single number they were made."""
        return {}

    def demoted(self, a: DoubleWord) -> DoubleWord:
        """A number of float64 as one of this format."""
        wide = Arithmetic(Format.F64)
        a = wide.unscaled(a)
        high = self.converted(a.high, self.format)
        rest = wide.sub_(a.high, self.converted(high, Format.F64))
        if a.low is not None:
            rest = wide.add_(rest, a.low)
        is_number = self.is_bounded(a.interval)
        low = self.converted(rest, self.format)
        return DoubleWord(high, low, interval=a.interval, low_is_number=is_number, is_normal=True)

    def is_bounded(self, *intervals: Interval) -> bool:
        """Whether no number of these intervals is, or rounds to, infinity."""
        return all(i.within(-self.largest / 2, self.largest / 2) for i in intervals)

    def low_part(self, a: DoubleWord) -> Expression:
        """``a.low`` where it is a finite number, zero elsewhere."""
        if a.low is None:
            return self.number(0.0)
        if a.low_is_number:
            return a.low
        return self.select_(self.is_finite_(a.low), a.low, self.number(0.0))

    def _corrected(self, a: DoubleWord, low: Expression) -> Expression:
        """``a.high + low``; where that is zero, it has the sign of ``a.high``."""
        if a.stored.smallest_magnitude > 0:
            return self.add_(a.high, low)
        # -0 + 0 is 0, but -0 - 0 is -0; and 0 - low is never -0.
        return self.sub_(a.high, self.sub_(self.number(0.0), low))

    def unscaled(self, a: DoubleWord) -> DoubleWord:
        """The number with its exponent multiplied in."""
        if a.exponent is None:
            return a
        if (a.high, a.exponent) in self.whole_numbers:
            return self.whole_numbers[a.high, a.exponent]
        low = None if a.low is None else self.scale_(a.low, a.exponent)
        if low is not None and not self.is_bounded(a.interval):
            # Far beyond the largest number the lower part overflows as well, perhaps to the other infinity.
            low = self.low_part(replace(a, low=low, low_is_number=False))
        error = self.scaled_error(a.error, a.exponent)
        return replace(a, high=self.scale_(a.high, a.exponent), low=low, exponent=None, is_normal=False, error=error)

    def scaled_error(self, error: Bound, exponent: Expression) -> Bound:
        """The bound of a number of which this exponent is multiplied in."""
        return error

    def mantissa(self, a: DoubleWord) -> DoubleWord:
        """The number without the power of two that is kept beside it."""
        if a.exponent is None:
            return a
        return replace(a, exponent=None, interval=a.mantissa, error=self.error_of_mantissa(a))

    def without_power(self, a: DoubleWord) -> DoubleWord:
        """The same, to be compared with zero."""
        return self.mantissa(a)

    def error_of_mantissa(self, a: DoubleWord) -> Bound:
        """The bound of that."""
        return a.error

    def error_in_frame(self, a: DoubleWord) -> Bound:
        """The bound of that beside a power of two that may be any."""
        return a.error

    #: Zeros count as numbers with -1 times this exponent.
    largest_exponent = LARGEST_EXPONENT

    def with_common_exponent(self, a: DoubleWord, b: DoubleWord) -> tuple[DoubleWord, DoubleWord, Expression]:
        """Two numbers without the larger of their exponents, and that. A zero has none."""
        zero, least = self.number(0.0), self.number(-self.largest_exponent)
        exponents = []
        for number in (a, b):
            exponent = zero if number.exponent is None else number.exponent
            exponents.append(self.select_(self.equal_(number.high, zero), least, exponent))
        first, second = exponents
        larger = self.select_(self.less_(first, second), second, first)
        numbers = []
        for number in (a, b):
            rest = self.neg_(larger) if number.exponent is None else self.sub_(number.exponent, larger)
            framed = replace(
                number, exponent=rest, interval=number.stored | Interval.point(0.0), mantissa=number.stored
            )
            numbers.append(self.unscaled(replace(framed, error=self.error_in_frame(number))))
        return numbers[0], numbers[1], larger

    def with_exponent(self, a: DoubleWord) -> DoubleWord:
        """A number with its power of two kept apart: 0 and infinity stay what they are."""
        exponent = self._power_of_two(a.high)
        down = self.neg_(exponent)
        low = None if a.low is None else self.scale_(self.low_part(a), down)
        error = self.error_scaled(a, down)
        power = exponent if a.exponent is None else self.add_(a.exponent, exponent)
        found = DoubleWord(self.scale_(a.high, down), low, power, a.interval, is_normal=a.is_normal, error=error)
        if a.low is None and a.exponent is None:
            found = replace(found, error=replace(a.error, beyond=error.beyond))
            self.whole_numbers[found.high, power] = a
        return found

    def error_scaled(self, a: DoubleWord, exponent: Expression) -> Bound:
        """The bound of the number without its own exponent and with another one."""
        return a.error

    def _power_of_two(self, a: Expression) -> Expression:
        """The exponent of a number, as a number."""
        size = self.abs_(a)
        is_small = self.less_(size, self.number(self.smallest_normal))
        lift = float(self.precision + 1)
        normal = self.select_(is_small, self.mul_(size, self.number(2.0**lift)), size)
        # The last bits of a large number are an integer.
        magic = self.number(self.magic)
        field = node(ops.ADD, (self.shift_right_(self.bits_(normal), 52), self.bits_(magic)), None, self.integer)
        exponent = self.sub_(self.sub_(self.from_bits_(field), magic), self.number(float(self.bias)))
        return self.select_(is_small, self.sub_(exponent, self.number(lift)), exponent)

    def _root_of_scaled(self, a: DoubleWord) -> DoubleWord:
        """The square root of a number with a power of two beside it, of which half is kept."""
        assert a.exponent is not None
        half = self.round_even_(self.mul_(a.exponent, self.number(0.5)))
        rest = self.fma_(half, self.number(-2.0), a.exponent)  # -1, 0 or 1
        lies = Interval(a.mantissa.low / 2, a.mantissa.high * 2) if a.mantissa.low >= 0 else EVERYTHING
        part = replace(self.mantissa(a), exponent=rest, interval=lies, mantissa=a.mantissa)
        root = self.square_root(self.unscaled(part))
        interval = Interval(max(a.interval.low, 0.0), max(a.interval.high, 0.0)).map(math.sqrt)
        return replace(root, exponent=half, interval=interval, mantissa=root.interval)

    def single(self, a: DoubleWord) -> Expression:
        """The number, rounded once to the format."""
        value = a.high if a.low is None or a.is_normal else self._corrected(a, self.low_part(a))
        return value if a.exponent is None else self._scaled_once(value, a.exponent, a)

    def _scaled_once(self, value: Expression, exponent: Expression, a: DoubleWord) -> Expression:
        """``value * 2**exponent``, where that is a, rounded.

        Where that is subnormal it is rounded again, and two roundings may come to 0.75 units. There, which is
        rare, the number is split at the last bit of the result: one part needs no rounding, the other is rounded
        once.
        """
        scaled = self.scale_(value, exponent)
        is_normal_anyway = a.interval.within(self.smallest_normal, self.largest)
        if a.low is None or exponent.operation == ops.CONSTANT or is_normal_anyway:
            return scaled
        assert a.exponent is not None
        # A number of the same sign whose last bit has the place of a subnormal result's last bit.
        splitter = self.make(ops.COPY_SIGN, self.number(self.smallest_normal), a.high)
        back, zero = self.neg_(a.exponent), self.number(0.0)
        back = self.select_(
            self.less_(back, zero), zero, back
        )  # what is made larger is not subnormal, nor is the splitter
        splitter = self.scale_(splitter, back)
        upper = self.sub_(self.add_(a.high, splitter), splitter)
        lower = self.add_(self.sub_(a.high, upper), self.low_part(a))
        once = self.add_(self.scale_(upper, a.exponent), self.scale_(lower, a.exponent))
        # A zero keeps its sign. Where the splitter or a huge number overflows, this is no number.
        once = self.select_(self.is_finite_(once), self.make(ops.COPY_SIGN, once, scaled), scaled)
        # Not "less than": that NaN is rare, too, spares the common numbers a look for it.
        magnitude = scaled if a.stored.low >= 0 else self.abs_(scaled)
        is_normal = self.less_equal_(self.number(self.smallest_normal), magnitude)
        return self.select_rare_(self.not_(is_normal), once, scaled)

    def renormalised(self, a: DoubleWord) -> DoubleWord:
        """The number with ``high`` as its rounded value."""
        if a.low is None or a.is_normal:
            return a
        low = self.low_part(a)
        high = self._corrected(a, low)
        return replace(a, high=high, low=self.sub_(low, self.sub_(high, a.high)), is_normal=True)

    def approximation(self, a: DoubleWord, share: float) -> DoubleWord:
        """A number that is only nearly the one that is meant, up to a share of it."""
        return a

    def threshold_step(self, near: DoubleWord, step: DoubleWord, count: DoubleWord) -> DoubleWord:
        """A number next to the threshold of squares of a row of so many elements, after a step of Newton's method."""
        return self.add(near, step)

    def clamped(self, a: DoubleWord, low: float, high: float) -> DoubleWord:
        """The number moved into [low, high], as far as its interval does not say that it lies there."""
        a = self.unscaled(a)
        value = a.high
        if a.interval.low < low:
            value = self.select_(self.less_(value, self.number(low)), self.number(low), value)
        if a.interval.high > high:
            value = self.select_(self.less_(self.number(high), value), self.number(high), value)
        if value is a.high:
            return a
        interval = Interval(min(max(a.interval.low, low), high), max(min(a.interval.high, high), low))
        if a.low is None:
            return DoubleWord(value, interval=interval)
        # Where the number was moved, its correction is void; and where it is NaN, so may the correction be.
        # Where it was not, high is a number of the interval, and low is one if it follows.
        is_safe = a.low_follows and self.is_bounded(interval)
        part = a.low if is_safe else self.low_part(a)
        correction = self.select_(self.equal_(value, a.high), part, self.number(0.0))
        return DoubleWord(value, correction, interval=interval)

    def negate(self, a: DoubleWord) -> DoubleWord:
        low = None if a.low is None else self.neg_(a.low)
        result = replace(a, high=self.neg_(a.high), low=low, interval=-a.interval, mantissa=-a.mantissa)
        if a.exponent is not None and (a.high, a.exponent) in self.whole_numbers:
            self.whole_numbers[result.high, a.exponent] = self.negate(self.whole_numbers[a.high, a.exponent])
        return result

    def absolute(self, a: DoubleWord) -> DoubleWord:
        if a.low is None:
            result = replace(a, high=self.abs_(a.high), interval=abs(a.interval), mantissa=abs(a.mantissa))
            if a.exponent is not None and (a.high, a.exponent) in self.whole_numbers:
                self.whole_numbers[result.high, a.exponent] = self.absolute(self.whole_numbers[a.high, a.exponent])
            return result
        if a.interval.low >= 0:
            return replace(a, high=self.abs_(a.high))  # -0 is not less than 0
        a = self.renormalised(a)
        assert a.low is not None
        negative = self.less_(a.high, self.number(0.0))
        low = self.select_(negative, self.neg_(a.low), a.low)
        return replace(a, high=self.abs_(a.high), low=low, interval=abs(a.interval), mantissa=abs(a.mantissa))

    def add(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        a, b = self.unscaled(a), self.unscaled(b)
        interval = a.interval + b.interval
        if not self.extended:
            return DoubleWord(self._sum(a.high, b.high), interval=interval)
        if _is_larger(a.interval, b.interval):
            high, low = self.fast_two_sum(a.high, b.high)
        elif _is_larger(b.interval, a.interval):
            high, low = self.fast_two_sum(b.high, a.high)
        else:
            high, low = self.two_sum(a.high, b.high)
        for part in (a.low, b.low):
            if part is not None:
                low = self.add_(low, part)
        is_number = a.low_is_number and b.low_is_number and self.is_bounded(a.interval, b.interval, interval)
        # The error of a sum of exact numbers is one, unless the sum overflows.
        follows = a.low is None and b.low is None
        result = DoubleWord(high, low, interval=interval, low_is_number=is_number, low_follows=follows)
        same_sign = min(a.interval.low, b.interval.low) >= 0 or max(a.interval.high, b.interval.high) <= 0
        if (a.low is None and b.low is None) or same_sign or self.is_result:
            return result
        # The highs may cancel; then what is left in low may be the larger part.
        return self.renormalised(result)

    def _sum(self, a: Expression, b: Expression) -> Expression:
        """A sum; one with a product is a single instruction."""
        for product, other in ((a, b), (b, a)):
            is_negated = product.operation == ops.NEGATE
            product = product.operands[0] if is_negated else product
            if product.operation == ops.MULTIPLY:
                x, y = product.operands
                return self.fma_(node(ops.NEGATE, (x,), None, self.format) if is_negated else x, y, other)
        return self.add_(a, b)

    def _times(self, a: Expression, b: Expression) -> Expression:
        """A product; one with the reciprocal of an element is a single division."""
        if not self.extended:
            for factor, reciprocal in ((a, b), (b, a)):
                if reciprocal.operation == ops.DIVIDE and reciprocal.operands[0] is self.number(1.0):
                    divisor = reciprocal.operands[1]
                    if depends_on_elements(divisor):
                        return self.div_(factor, divisor)
        return self.mul_(a, b)

    def subtract(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        return self.add(a, self.negate(b))

    def _cross(self, a: DoubleWord, b: DoubleWord) -> Expression | None:
        """The part of a * b that the product of the highs lacks."""
        cross = None
        if a.low is not None:
            cross = self.mul_(a.low, b.high)
        if b.low is not None:
            cross = self.mul_(a.high, b.low) if cross is None else self.fma_(a.high, b.low, cross)
        return cross

    def _product_is_number(self, a: DoubleWord, b: DoubleWord) -> bool:
        product = a.stored * b.stored
        return a.low_is_number and b.low_is_number and self.is_bounded(a.stored, b.stored, product)

    def _sum_of_exponents(self, a: Expression | None, b: Expression | None) -> Expression | None:
        return b if a is None else a if b is None else self.add_(a, b)

    def _partly_unscaled(self, a: DoubleWord) -> DoubleWord:
        """The number with a part of a negative exponent multiplied in: as much as cannot underflow."""
        if a.exponent is None or (a.exponent.operation == ops.CONSTANT and a.exponent.attribute >= 0):
            return a
        most = self.number(-60.0)
        part = self.select_(self.less_(a.exponent, most), most, a.exponent)
        part = self.select_(self.less_(self.number(0.0), part), self.number(0.0), part)
        low = None if a.low is None else self.scale_(a.low, part)
        rest = self.sub_(a.exponent, part)
        error = self.scaled_error(a.error, part)
        a = replace(a, high=self.scale_(a.high, part), low=low, exponent=rest, is_normal=False, error=error)
        return replace(a, mantissa=a.mantissa | Interval.point(0.0))

    def _ready_for_product(self, a: DoubleWord, b: DoubleWord) -> tuple[DoubleWord, DoubleWord]:
        """Factors whose high parts do not overflow where the product does not."""
        if not self.is_bounded(a.stored) and not self.is_bounded(b.stored):
            return self._partly_unscaled(a), self._partly_unscaled(b)
        return a, b

    def multiply(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        return self._product(*self._ready_for_product(a, b))

    def _product(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        interval, mantissa = a.interval * b.interval, a.stored * b.stored
        if (a.high, a.low, a.exponent) == (b.high, b.low, b.exponent):  # a square
            interval = Interval(max(interval.low, 0.0), interval.high)
        exponent = self._sum_of_exponents(a.exponent, b.exponent)
        for x, y in ((a, b), (b, a)):
            if x.is_exact and is_power_of_two(x.high):
                low = None if y.low is None else self.mul_(y.low, x.high)
                is_normal = y.is_normal and abs(x.high.attribute) >= 1  # a smaller number may be rounded again
                y = replace(y, high=self.mul_(y.high, x.high), low=low, is_normal=is_normal)
                return replace(y, interval=interval, mantissa=mantissa)
        high = self._times(a.high, b.high)
        if not self.extended:
            return DoubleWord(high, None, exponent, interval, mantissa)
        low = self.fma_(a.high, b.high, self.neg_(high))
        if a.low is not None:
            low = self.fma_(a.low, b.high, low)
        if b.low is not None:
            low = self.fma_(a.high, b.low, low)
        return DoubleWord(high, low, exponent, interval, mantissa, self._product_is_number(a, b))

    def multiply_single(self, a: DoubleWord, b: DoubleWord) -> Expression:
        """``single(multiply(a, b))`` with less work."""
        a, b = self._ready_for_product(a, b)
        cross = self._cross(a, b)
        if cross is None:
            value = self._times(a.high, b.high)
        else:
            is_number = self._product_is_number(a, b)
            cross = self.low_part(DoubleWord(a.high, cross, low_is_number=is_number))
            # 0 - cross is never -0: the result has the sign of the product also where that is zero.
            value = self.fma_(a.high, b.high, self.neg_(self.sub_(self.number(0.0), cross)))
        exponent = self._sum_of_exponents(a.exponent, b.exponent)
        if exponent is None:
            return value
        # Only a small product is looked at closely: with a larger factor its low part does not underflow.
        lift = 60.0
        parts = [None if part is None else self.mul_(part, self.number(2.0**lift)) for part in (b.high, b.low)]
        assert parts[0] is not None
        product = self._product(replace(a, exponent=None), replace(b, high=parts[0], low=parts[1], exponent=None))
        return self._scaled_once(value, exponent, replace(product, exponent=self.sub_(exponent, self.number(lift))))

    def divide(self, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        interval, mantissa = a.interval / b.interval, a.stored / b.stored
        exponent = a.exponent
        if b.exponent is not None:
            exponent = self._sum_of_exponents(exponent, self.neg_(b.exponent))
        one = self.number(1.0)
        if not self.extended:
            if not depends_on_elements(b.high):
                # One division for all elements; what that costs does not show in the shorter format.
                return DoubleWord(self.mul_(a.high, self.div_(one, b.high)), None, exponent, interval, mantissa)
            return DoubleWord(self.div_(a.high, b.high), None, exponent, interval, mantissa)
        # One division: by the reciprocal, which is good unless it may overflow.
        reciprocal = self.div_(one, b.high)
        if a.high is one:
            quotient = reciprocal
        elif b.stored.smallest_magnitude >= self.smallest_normal or _is_parameter(b.high):
            quotient = self.mul_(a.high, reciprocal)
        else:
            quotient = self.div_(a.high, b.high)
        minus = self.neg_(quotient)
        rest = self.fma_(minus, b.high, a.high)
        if a.low is not None:
            rest = self.add_(rest, a.low)
        if b.low is not None:
            rest = self.fma_(minus, b.low, rest)
        found = DoubleWord(quotient, self.mul_(rest, reciprocal), exponent, interval, mantissa)
        if a.low_is_number and b.low_is_number and self.is_bounded(a.stored, b.stored, mantissa):
            return found
        # A rest beside an infinite divisor is NaN, and the quotient is zero: what is added to it may have a second word.
        return replace(found, low=self.low_part(replace(found, low_is_number=False)))

    def square_root(self, a: DoubleWord) -> DoubleWord:
        if self.of_doubles and a.exponent is not None:
            return self._root_of_scaled(a)
        a = self.unscaled(a)
        interval = Interval(max(a.interval.low, 0.0), max(a.interval.high, 0.0)).map(math.sqrt)
        root = self.sqrt_(a.high)
        if not self.extended:
            return DoubleWord(root, interval=interval)
        rest = self.fma_(self.neg_(root), root, a.high)
        if a.low is not None:
            rest = self.add_(rest, a.low)
        low = self.mul_(rest, self.div_(self.number(0.5), root))
        return DoubleWord(root, low, interval=interval, low_is_number=False)

    def select(self, condition: Expression, a: DoubleWord, b: DoubleWord) -> DoubleWord:
        zero = self.number(0.0)
        low = exponent = None
        if a.low is not None or b.low is not None:
            low = self.select_(condition, zero if a.low is None else a.low, zero if b.low is None else b.low)
        if a.exponent is not None or b.exponent is not None:
            exponent = self.select_(
                condition,
                zero if a.exponent is None else a.exponent,
                zero if b.exponent is None else b.exponent,
            )
        high = self.select_(condition, a.high, b.high)
        is_number = a.low_is_number and b.low_is_number
        is_normal = all(value.low is None or value.is_normal for value in (a, b))
        return DoubleWord(high, low, exponent, a.interval | b.interval, a.stored | b.stored, is_number, is_normal)

    def signed(self, a: DoubleWord) -> Expression:
        """One word with the sign of a number, which may have lost that where it is zero."""
        return self.single(a)

    def copy_sign(self, magnitude: DoubleWord, sign: Expression) -> DoubleWord:
        magnitude = self.absolute(magnitude)
        high = self._on_singles(ops.COPY_SIGN, magnitude.high, sign)
        low = magnitude.low
        if low is not None:
            # Flip low where high was flipped: multiply by the sign as one.
            low = self.mul_(low, self.make(ops.COPY_SIGN, self.number(1.0), sign))
        interval = magnitude.interval | -magnitude.interval
        mantissa = magnitude.mantissa | -magnitude.mantissa
        return replace(magnitude, high=high, low=low, interval=interval, mantissa=mantissa)

    # ---- what an arithmetic with bounds says of choices (bounded.py)

    def error_of_choice(self, choice: DoubleWord, a: DoubleWord, b: DoubleWord) -> Bound:
        """The error bound of the larger or smaller of two numbers."""
        return choice.error

    def doubted_by_sign(self, magnitude: DoubleWord, sign: DoubleWord) -> DoubleWord:
        """A magnitude that gets the sign of a number, which may be in doubt."""
        return magnitude

    def doubt_limits(self, truth: Expression, *numbers: DoubleWord) -> None:
        """Keep where it is in doubt whether numbers are infinite or NaN."""

    def compare(self, operation: Operation, a: DoubleWord, b: DoubleWord) -> Expression:
        """``less``, ``less_equal`` or ``equal`` of the numbers that are meant, not of their high parts."""
        a, b = self.compared(a, b)
        on_high = self._on_singles(operation, a.high, b.high)
        if a.low is None and b.low is None:
            return on_high
        on_low = node(operation, (self.low_part(a), self.low_part(b)), None, Format.BIT)
        tied = both(self.equal_(a.high, b.high), on_low)
        if operation == ops.EQUAL:
            return tied
        return either(self.less_(a.high, b.high), tied)

    def compared(self, a: DoubleWord, b: DoubleWord) -> tuple[DoubleWord, DoubleWord]:
        """Numbers without exponents that compare as these do. Beside zero no power of two counts, and none makes zero of a number."""
        zero = self.number(0.0)
        a, b = (
            self.without_power(n) if other.high is zero and other.is_exact else self.unscaled(n)
            for n, other in ((a, b), (b, a))
        )
        return self.renormalised(a), self.renormalised(b)

    @property
    def largest_whole(self) -> float:
        """Beyond it a whole number of one word has no bit for its last integer."""
        return float(2.0 ** (self.precision - 1))

    def integral(self, operation: Operation, a: DoubleWord) -> DoubleWord:
        """``floor``, ``ceiling``, ``truncate`` or ``round_even``."""
        if a.is_exact:
            return DoubleWord(
                self.make(operation, a.high), interval=a.interval | Interval(a.interval.low - 1, a.interval.high + 1)
            )
        return DoubleWord(
            self.make(operation, self.single(a)), interval=Interval(a.interval.low - 1, a.interval.high + 1)
        )


def _is_larger(a: Interval, b: Interval) -> bool:
    """Whether Fast2Sum is exact with a before b: if abs(a) >= abs(b), and already if the exponent is not smaller.

    A number's high part may lie a little outside its interval; that of a constant does not.
    """
    if a.smallest_magnitude >= b.largest_magnitude:
        return True
    if a.low != a.high or not math.isfinite(b.largest_magnitude):
        return False
    return math.frexp(a.low)[1] >= math.frexp(b.largest_magnitude * (1 + 2.0**-10))[1]


def _is_parameter(value: Expression) -> bool:
    """Whether this is a parameter, converted or not. A parameter is zero or a normal float32 number."""
    return value.operation == ops.PARAMETER or (value.operation == ops.CONVERT and _is_parameter(value.operands[0]))
