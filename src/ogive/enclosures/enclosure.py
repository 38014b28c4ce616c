"""The correctly rounded result of a formula, decided with enclosures: balls of Arb and exact fractions.

A formula is a statement about real numbers, so it has one right result in every element type. Balls (a number and a
bound of what it is wrong by) are computed with more and more bits, until all that is in the last one rounds alike.
Sums, products, quotients, powers and roots of rational numbers are fractions, which decide ties. Where balls lose a sign, equal
terms of sums cancel first: ``(exp(x) + 1) - exp(x)`` is 1 (`ogive.enclosures.combinations`).
A question that `BITS` bits do not decide, and more for vast numbers, is taken as exact: a difference that may be zero is zero, numbers
that may be equal are equal, a result that may be a tie is a tie. ``sin(x)**2 + cos(x)**2 - 1`` is 0 that way. Where all that a value
may be is rounded to zero, its sign is looked for with fewer bits, as many as the exponents on the way ask for.

Balls are python-flint's. Rows (`row_sum` and the like) have no rule here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

from ogive.common import forking
from ogive.common.dtypes import ELEMENT_TYPES, FLOAT_FORMATS, ElementType
from ogive.common.effects import Effects, Table, complete
from ogive.enclosures import combinations
from ogive.enclosures.combinations import exact_root
from ogive.enclosures.combinations import flint as _flint
from ogive.errors import UnsupportedError
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Operation, walk
from ogive.graph.limits import with_limits

#: An element that is undecided at this precision is taken as exact, where no number on the way is vast.
BITS = 4096
_FIRST_BITS = 128

#: Numbers of more bits than this before the point get as many bits more, up to so many: `expm1(x) - exp(x)` at 8000. The
#: most bits take 20 ms an element.
_VAST_EXPONENT, _MOST_BITS = 2000, 1 << 14

#: A value that is rounded to zero gets as many bits for its sign, and four times the bits that numbers on the way span:
#: what cancels by more is an identity. ``sin(x)**2 + cos(x)**2 - 1`` takes 520 bits, and not `BITS`.
_BITS_OF_SIGN = 512

#: Fractions of more bits are given up for balls: no result of so many bits is a tie.
_LONGEST = 20_000

#: A sum that cancels by so many bits is taken for zero at the last precision.
_CANCELLED = 1000

#: Beyond this power of two every element type has only infinity and zero left.
_OUT_OF_RANGE = 2000

#: Arb's precision belongs to the process.
_lock = forking.lock()


class Undecided(Exception):
    """More bits are needed."""


class Negligible(Undecided):
    """All that a value may be is rounded to zero: more bits are needed for its sign alone."""


class _NextToFraction(NamedTuple):
    fraction: Any
    side: int
    """1 or -1: on which side of the fraction the value is. 0 where it is the fraction."""
    apart: Callable[[], Any] | None
    """A ball of the distance, where that is known to as many bits as other balls. It is computed once."""


class Beside(_NextToFraction):
    """A value is next to a fraction, however near.

    That decides the sign of 1 + tanh(-10**9), and on which side of a tie 1.5 + exp(-10**9) is. The distance is the value of what
    cancels: 1 + tanh(-10**9) is 2 exp(-2 * 10**9). Distances are made of distances, and shared ones are asked for again and again.
    """

    __slots__ = ()

    def __new__(cls, fraction: Any, side: int, apart: Callable[[], Any] | None = None) -> Beside:
        return super().__new__(cls, fraction, side, None if apart is None else cache(apart))


class Value:
    """A number of the extended reals, with signed zeros: exactly, or in a ball."""

    __slots__ = ("ball", "beside", "fraction", "kind", "made_by", "sign", "written")

    def __init__(
        self, kind: str, sign: int = 0, fraction: Any = None, ball: Any = None, beside: Beside | None = None
    ) -> None:
        self.kind = kind
        """``nan``, ``infinity``, ``zero``, ``fraction`` (not zero), or ``ball``."""
        self.sign = sign
        """1, -1, or 0 where it is not known: of a ball that contains zero it may be, as of exp(-10**30)."""
        self.fraction, self.ball = fraction, ball
        self.beside = beside
        """For some balls, the fraction that the value is next to."""
        self.made_by: tuple[Operation, Sequence[Value]] | None = None
        """The operation that made a ball, and its operands."""
        self.written: combinations.Quotient | None = None
        """The value in terms of shared numbers, where it was asked for."""


_ALL_MADE: Mapping[type, Effects] = {Value: Effects(made="kind sign fraction ball beside made_by written")}

#: The effects of operations on the fields of values.
EFFECTS: Table = {
    "negate": {Value: Effects(kept="kind", made="sign fraction ball beside made_by written")},
    "copy_sign": {Value: Effects(kept="kind", made="sign fraction ball beside made_by written")},
    **dict.fromkeys(("add", "multiply", "divide", "extreme"), _ALL_MADE),
    "square_root": _ALL_MADE,
    "whole": {
        Value: Effects(
            made="kind sign fraction ball made_by",
            dropped=dict.fromkeys(("beside", "written"), "a whole number is a fraction, but for vast ones"),
        )
    },
}
complete(EFFECTS)

_NAN = Value("nan")
_ZERO = {sign: Value("zero", sign) for sign in (1, -1)}
_INFINITY = {sign: Value("infinity", sign) for sign in (1, -1)}


def _of_fraction(q: Any) -> Value:
    if q == 0:
        return _ZERO[1]
    return Value("fraction", 1 if q > 0 else -1, fraction=q)


def of_ball(ball: Any, sign: int = 0, beside: Beside | None = None) -> Value:
    """A ball; ``sign`` where that is known although the ball may contain zero."""
    if beside and not beside.fraction and beside.apart is not None:
        ball = _tighter(ball, beside.side * beside.apart())
    if not sign and beside and beside.fraction * beside.side >= 0:
        sign = beside.side
    if not sign and ball.is_finite():
        sign = 1 if ball > 0 else -1 if ball < 0 else 0
    return Value("ball", sign, ball=ball, beside=beside)


def _tighter(ball: Any, other: Any) -> Any:
    """The smaller one of two balls of a number: next to a fraction that of the distance, and elsewhere perhaps the other."""
    if not ball.is_finite() or not other.is_finite():
        return other if other.is_finite() else ball
    return other if other.rad() < ball.rad() else ball


def _beside(value: Value) -> Beside | None:
    """The fraction that a value is, or is next to."""
    return Beside(value.fraction, 0) if value.kind == "fraction" else value.beside


def _scaled(value: Value, factor: Any) -> Beside | None:
    """The fraction that the product with a fraction is next to."""
    if value.beside is None:
        return None
    fraction, side, apart = value.beside
    more = None if apart is None else lambda: apart() * abs(factor)
    return Beside(fraction * factor, side if factor > 0 else -side, more)


def _size(value: Value) -> Beside | None:
    """A fraction of a value's sign, and 1 or -1 where the value's magnitude is the larger or the smaller one, 0 where it is the same."""
    found = _beside(value)
    if not found or not value.sign or found.fraction * value.sign <= 0:
        return None
    return Beside(found.fraction, found.side * value.sign, found.apart)


def _offset(found: Beside) -> Any:
    """The difference to the fraction as a ball; None where it is not known."""
    if found.side == 0:
        return 0
    return None if found.apart is None else found.side * found.apart()


def of_number(value: Any) -> Value:
    """The value of an element, a parameter or a constant."""
    if isinstance(value, Fraction):
        return _of_fraction(_flint().fmpq(value.numerator, value.denominator))
    if isinstance(value, int):
        return _of_fraction(_flint().fmpq(value))
    value = float(value)
    if math.isnan(value):
        return _NAN
    sign = -1 if math.copysign(1, value) < 0 else 1
    if math.isinf(value):
        return _INFINITY[sign]
    return _of_fraction(_flint().fmpq(*value.as_integer_ratio())) if value else _ZERO[sign]


def ball_of(value: Value) -> Any:
    """A value as a ball; one that is not finite where it is not."""
    arb = _flint().arb
    if value.kind in ("nan", "infinity"):
        return arb(math.nan if value.kind == "nan" else value.sign * math.inf)
    return value.ball if value.kind == "ball" else arb(0) if value.kind == "zero" else arb(value.fraction)


def _fraction(value: Value) -> Any:
    return _flint().fmpq(0) if value.kind == "zero" else value.fraction


def _whole(value: Value) -> int:
    """An integer, in formulas about the bits of integers."""
    return 0 if value.kind == "zero" else int(value.fraction.p) // int(value.fraction.q)


#: The first half of an integer that is not below a fraction n / d, and the last one that is not above it.
_HALVES: tuple[Callable[[int, int], int], ...] = (lambda n, d: -(-2 * n // d), lambda n, d: 2 * n // d)


class _Rules:
    """The meaning of the nodes. ``is_last``: a question that is undecided now is taken as exact.

    Rules of elementary functions (`Operation.enclosure`) are made of these methods and values.
    """

    nan, zero, infinity = _NAN, _ZERO, _INFINITY
    number = staticmethod(of_number)

    def __init__(self, is_last: bool, bits: int) -> None:
        self.is_last, self.bits = is_last, bits
        self.exponent: int | None = None
        """The largest exponent of a number on the way, where that is looked for; None where it is not."""
        self.least = 0
        """The smallest one, of numbers and of their distances from the fractions that they are beside."""
        self.is_near = False
        """Whether a number could not be told from the fraction that it is beside."""
        self.tells = True
        """Whether balls whose sign is lost are told what they are made of, which takes a millisecond (`without_signs`)."""
        flint = _flint()
        self.arb, self.fmpq = flint.arb, flint.fmpq
        self.vast = flint.arb(2) ** _OUT_OF_RANGE
        bit = {ops.AND: int.__and__, ops.OR: int.__or__, ops.EXCLUSIVE_OR: int.__xor__}
        self.table: dict[str, Callable[..., Any]] = {
            ops.ADD: self.add,
            ops.SUBTRACT: lambda a, b: self.add(a, self.negate(b)),
            ops.MULTIPLY: self.multiply,
            ops.DIVIDE: self.divide,
            ops.NEGATE: self.negate,
            ops.ABSOLUTE: lambda a: self.negate(a) if self.sign(a) < 0 else a,
            ops.SQUARE_ROOT: self.square_root,
            ops.FLOOR: partial(self.whole, lambda n, d: n // d),
            ops.CEILING: partial(self.whole, lambda n, d: -(-n // d)),
            ops.TRUNCATE: partial(self.whole, lambda n, d: abs(n) // d * (1 if n > 0 else -1)),
            ops.ROUND_EVEN: partial(self.whole, lambda n, d: round(Fraction(n, d))),
            ops.COPY_SIGN: self.copy_sign,
            ops.LESS: lambda a, b: self.compare(a, b) == -1,
            ops.LESS_EQUAL: lambda a, b: self.compare(a, b) in (-1, 0),
            ops.EQUAL: lambda a, b: self.compare(a, b) == 0,
            **{name: partial(self.bits_or_truth, function) for name, function in bit.items()},
            ops.NOT: lambda a: (not a) if isinstance(a, bool) else of_number(~_whole(a)),
            ops.REMAINDER: self.remainder,
            ops.QUOTIENT: self.quotient,
            ops.INTEGER_POWER: self.integer_power,
            ops.BIT_COUNT: lambda a: of_number((_whole(a) % (1 << bits)).bit_count()),
            ops.BIT_SHIFT_LEFT: lambda a, b: of_number(_whole(a) << _whole(b) if _whole(b) < bits else 0),
            ops.BIT_SHIFT_RIGHT: lambda a, b: of_number(_whole(a) >> _whole(b) if _whole(b) < bits else 0),
        }

    def rule(self, operation: Operation) -> Callable[..., Any] | None:
        """The meaning of a kind of node; elementary functions say so themselves."""
        found = self.table.get(operation)
        if found is None and not (operation.enclosure is None and operation.ball is None):
            by_ball = partial(self.by_ball, operation)
            found = by_ball if operation.enclosure is None else partial(operation.enclosure, self)
            if operation.near_zero is not None:
                found = partial(self.near_zero, found, operation.near_zero)
            self.table[operation] = found
        return found

    # ---- what a domain of rows says (enclosures/row_enclosure.py)

    def leaf(self, n: Expression, value: Any) -> Any:
        """An operand, a parameter or a constant."""
        return bool(value) if n.format is Format.TRUTH else self.settled(of_number(value))

    def applied(self, operation: Operation, operands: Sequence[Any]) -> Any:
        """The value of a node."""
        if operation is ops.SELECT:
            return operands[1 if operands[0] else 2]
        rule = self.rule(operation)
        if rule is None:
            raise UnsupportedError(f"exact results: there is no rule for {operation}")
        value = rule(*operands)
        if isinstance(value, bool):
            return value
        if value.kind == "ball" and value.made_by is None:
            value = self.told(value, operation, operands)
        return self.settled(value)

    def holds(self, truth: bool) -> bool:
        return truth

    def order(self, a: Value, b: Value) -> int | None:
        return self.compare(a, b)

    # ---- what has to be decided

    def settled(self, value: Value) -> Value:
        """At the last precision a ball is a number: what may be zero is, what has no bound, or a vast one, is infinite."""
        if self.exponent is not None:
            self.exponent = max(self.exponent, self.look_at(value))
        if not self.is_last or value.kind != "ball":
            return value
        ball = value.ball
        if not ball.is_finite():
            if value.sign:
                return _INFINITY[value.sign]
            raise UnsupportedError(f"exact results: a step of the formula is undecided with {BITS} bits")
        if not ball.contains(0):
            return value
        if ball.rad() < self.vast:
            return _ZERO[value.sign or 1]
        # So large that Arb has only a bound of it, as exp(exp(10**4)).
        if value.sign:
            return _INFINITY[value.sign]
        if self.exponent is not None and _log2_of(ball.rad()) < self.exponent - _CANCELLED:
            return _ZERO[1]  # numbers of far more bits than are looked at cancel
        raise UnsupportedError(f"exact results: a step of the formula is undecided with {BITS} bits")

    @contextmanager
    def without_signs(self) -> Iterator[None]:
        """A time in which no sign of a ball is needed."""
        before, self.tells = self.tells, False
        try:
            yield
        finally:
            self.tells = before

    def look_anew(self) -> None:
        self.exponent, self.least, self.is_near = 0, 0, False

    def look_at(self, value: Value) -> int:
        """The exponent of a number, 0 where it may be zero. The smallest one is kept."""
        if value.kind == "fraction":
            found = int(value.fraction.p).bit_length() - int(value.fraction.q).bit_length()
            self.least = min(self.least, found)
            return found
        if value.kind != "ball" or not value.ball.is_finite():
            return 0
        size, may_be_zero = abs(value.ball), value.ball.contains(0)
        found = 0 if may_be_zero else _log2_of(size.lower())
        if value.sign:
            self.least = min(self.least, _log2_of(size.upper()) if may_be_zero else found)
        if value.beside:
            distance = value.ball - value.beside[0]
            self.is_near = self.is_near or distance.contains(0)
            self.least = min(self.least, _log2_of(abs(distance).lower()))
        return found

    def bits_of_sign(self) -> int:
        """How many bits tell the sign of what is next to nothing, if there is one."""
        if self.exponent is None or self.is_near:
            return BITS
        return min(_BITS_OF_SIGN + 4 * max(self.exponent, -self.least), BITS)

    def sign(self, value: Value) -> int:
        """1 or -1; of NaN 1."""
        if value.sign or value.kind == "nan":
            return value.sign or 1
        raise Undecided

    def compare(self, a: Value, b: Value) -> int | None:
        """-1, 0 or 1; None where one of them is NaN."""
        if a.kind == "nan" or b.kind == "nan":
            return None
        if a is b:
            return 0
        if "infinity" in (a.kind, b.kind):
            ranks = [value.sign if value.kind == "infinity" else 0 for value in (a, b)]
            return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])
        if "ball" not in (a.kind, b.kind):
            p, q = _fraction(a), _fraction(b)
            return int(p > q) - int(p < q)
        if a.sign and b.sign and (a.sign != b.sign or "zero" in (a.kind, b.kind)):
            if a.kind == "zero":
                return -b.sign
            return a.sign if b.kind == "zero" else 1 if a.sign > b.sign else -1
        x, y = ball_of(a), ball_of(b)
        if x.is_finite() and y.is_finite():
            if x > y:
                return 1
            if x < y:
                return -1
        rest = self.add(a, self.negate(b))  # of numbers that are beside fractions, or made of the same ones
        if rest.kind == "zero":
            return 0
        if rest.sign or self.is_last:
            return rest.sign
        raise Undecided

    # ---- arithmetic

    def told(self, value: Value, operation: Operation, operands: Sequence[Value]) -> Value:
        """A ball, told which operation made it. Where its sign is lost, equal terms of what it is made of cancel first."""
        value.made_by = operation, operands
        if not self.tells or (value.sign and value.ball.is_finite()):
            return value
        written = combinations.written(value)
        fraction = combinations.fraction(written)
        if fraction is not None:
            return _of_fraction(fraction)
        found = _tighter(value.ball, combinations.ball(written))
        if not found.is_finite() and combinations.size(written) < -_OUT_OF_RANGE:
            found = self.arb(0, 1 / self.vast)
        found = of_ball(found, value.sign or combinations.sign(written), value.beside)
        found.made_by, found.written = value.made_by, written
        return found

    def side(self, a: Value, fraction: Any) -> int | None:
        """1 or -1 of a number above or below a fraction, 0 of the fraction; None where that is not known."""
        rest = self.add(a, _of_fraction(-fraction))
        return 0 if rest.kind == "zero" else rest.sign or None

    def negate(self, a: Value) -> Value:
        if a.kind == "zero":
            return _ZERO[-a.sign]
        if a.kind == "infinity":
            return _INFINITY[-a.sign]
        if a.kind == "fraction":
            return Value("fraction", -a.sign, fraction=-a.fraction)
        return (
            a
            if a.kind == "nan"
            else self.told(Value("ball", -a.sign, ball=-a.ball, beside=_scaled(a, -1)), ops.NEGATE, (a,))
        )

    def signed(self, sign: int, ball: Any) -> Value:
        return of_ball(ball if sign > 0 else -ball)

    def copy_sign(self, a: Value, b: Value) -> Value:
        return a if a.kind == "nan" or self.sign(a) == self.sign(b) else self.negate(a)

    def add(self, a: Value, b: Value) -> Value:
        kinds = (a.kind, b.kind)
        if "nan" in kinds:
            return _NAN
        if "infinity" in kinds:
            if kinds == ("infinity", "infinity") and a.sign != b.sign:
                return _NAN
            return a if a.kind == "infinity" else b
        if kinds == ("zero", "zero"):
            return a if a.sign == b.sign else _ZERO[1]
        if "zero" in kinds:
            return b if a.kind == "zero" else a
        if kinds == ("fraction", "fraction"):
            q = a.fraction + b.fraction
            if q.height_bits() <= _LONGEST:
                return _of_fraction(q)
        beside = self.beside_sum(a, b) or self.beside_sum(b, a)
        total = of_ball(ball_of(a) + ball_of(b), a.sign if a.sign == b.sign else 0, beside)
        return self.told(total, ops.ADD, (a, b))

    def beside_sum(self, a: Value, b: Value) -> Beside | None:
        """The fraction that a sum is next to: of a fraction and a number with a sign, and of two beside fractions."""
        p, q = _beside(a), _beside(b)
        if not p:
            return None
        small = Beside(self.fmpq(0), b.sign, lambda: abs(ball_of(b))) if b.sign else None
        for other in (q, small):
            found = other and self.joined(p, other)
            if found:
                return found
        return None

    def joined(self, p: Beside, q: Beside) -> Beside | None:
        """The fraction that the sum of two numbers is next to; None where they lie on both sides, and one is not known."""
        fraction, lacks_distance = p.fraction + q.fraction, self.lacks_distance(p, q)
        if lacks_distance:
            return Beside(fraction, p.side or q.side, None) if p.side * q.side >= 0 else None
        # It is computed at once: over the sum of a row calls of calls would be as deep as the row is long.
        rest = _offset(p) + _offset(q)
        if p.side * q.side < 0 and not (rest > 0 or rest < 0):
            return None
        side = p.side or q.side if p.side * q.side >= 0 else 1 if rest > 0 else -1
        return Beside(fraction, side, lambda: abs(rest))

    def lacks_distance(self, *numbers: Beside) -> bool:
        return any(number.side and number.apart is None for number in numbers)

    def multiply(self, a: Value, b: Value) -> Value:
        kinds = (a.kind, b.kind)
        if "nan" in kinds or ("infinity" in kinds and "zero" in kinds):
            return _NAN
        if "infinity" in kinds:
            return _INFINITY[self.sign(a) * self.sign(b)]
        if "zero" in kinds:
            return _ZERO[self.sign(a) * self.sign(b)]
        if kinds == ("fraction", "fraction"):
            q = a.fraction * b.fraction
            if q.height_bits() <= _LONGEST:
                return _of_fraction(q)
        if "fraction" in kinds:
            beside = _scaled(a, b.fraction) if b.kind == "fraction" else _scaled(b, a.fraction)
        else:
            beside = self.beside_product(_size(a), _size(b))
        return self.told(of_ball(ball_of(a) * ball_of(b), a.sign * b.sign, beside), ops.MULTIPLY, (a, b))

    def beside_product(self, a: Beside | None, b: Beside | None) -> Beside | None:
        """The fraction that a product is next to, by the sizes of both factors."""
        if not (a and b) or a.side * b.side < 0:
            return None
        p, q = a.fraction, b.fraction
        fraction = p * q
        if fraction.height_bits() > _LONGEST:
            return None

        def apart() -> Any:
            first, second = _offset(a), _offset(b)  # of the magnitudes
            return abs(first * abs(q) + second * abs(p) + first * second)

        side = (a.side or b.side) * (1 if fraction > 0 else -1)
        return Beside(fraction, side, None if self.lacks_distance(a, b) else apart)

    def divide(self, a: Value, b: Value) -> Value:
        if "nan" in (a.kind, b.kind) or (a.kind == b.kind and a.kind in ("zero", "infinity")):
            return _NAN
        if a.kind == "infinity" or b.kind == "zero":
            return _INFINITY[self.sign(a) * self.sign(b)]
        if a.kind == "zero" or b.kind == "infinity":
            return _ZERO[self.sign(a) * self.sign(b)]
        if (a.kind, b.kind) == ("fraction", "fraction"):
            q = a.fraction / b.fraction
            if q.height_bits() <= _LONGEST:
                return _of_fraction(q)
        if b.kind == "fraction":
            beside = _scaled(a, 1 / b.fraction)
        else:
            beside = self.beside_product(_size(a), self.beside_inverse(b))
        return self.told(of_ball(ball_of(a) / ball_of(b), a.sign * b.sign, beside), ops.DIVIDE, (a, b))

    def beside_inverse(self, b: Value) -> Beside | None:
        """The size of the inverse of a number."""
        size = _size(b)
        if not size:
            return None
        fraction, side, apart = size
        return Beside(1 / fraction, -side, None if apart is None else lambda: apart() / abs(fraction * ball_of(b)))

    def square_root(self, a: Value) -> Value:
        if a.kind in ("nan", "zero"):
            return a
        if self.sign(a) < 0:
            return _NAN
        if a.kind == "infinity":
            return a
        size = _size(a)
        root = None if size is None else exact_root(size[0], 2)
        if a.kind == "fraction" and root is not None:
            return _of_fraction(root)
        ball = ball_of(a).sqrt()
        if size is None or root is None:
            return of_ball(ball, 1)
        apart = size.apart
        return of_ball(ball, 1, Beside(root, size.side, None if apart is None else lambda: apart() / (ball + root)))

    def whole(self, function: Callable[[int, int], int], a: Value) -> Value:
        """Round to an integer. A number that becomes 0 keeps its sign.

        What is undecided at last is exact: the one half of an integer, or integer, that the ball contains.
        """
        if a.kind in ("nan", "infinity", "zero"):
            return a
        if a.kind == "fraction":
            n = function(int(a.fraction.p), int(a.fraction.q))
            return of_number(n) if n else _ZERO[a.sign]
        if not a.ball.is_finite():
            raise Undecided
        ends = [_mantissa(end) for end in (a.ball.lower(), a.ball.upper())]
        if any(m.bit_length() + e > _LONGEST for m, e in ends):
            return of_ball(a.ball + self.arb(0, 1), a.sign)
        low, high = (function(*_ratio(m, e)) for m, e in ends)
        if a.beside and low != high:
            # Between the fraction and the ball's end on that side. No half of an integer is as near to n / d as 1 / (4 d).
            (n, d), side = (int(a.beside[0].p), int(a.beside[0].q)), a.beside[1]
            limit = function(4 * n + side, 4 * d)
            low, high = (max(low, limit), high) if side > 0 else (low, min(high, limit))
        if low != high:
            first, last = (
                function_of_halves(*_ratio(m, e)) for function_of_halves, (m, e) in zip(_HALVES, ends, strict=True)
            )
            on = self.side(a, self.fmpq(first, 2)) if first == last else None
            if on is None and not self.is_last:
                raise Undecided
            if first != last:
                raise UnsupportedError(f"exact results: a step of the formula is undecided with {BITS} bits")
            high = function(4 * first + (on or 0), 8)
        return of_number(high) if high else _ZERO[self.sign(a)]

    def remainder(self, a: Value, b: Value) -> Value:
        if "nan" in (a.kind, b.kind) or a.kind == "infinity" or b.kind == "zero":
            return _NAN
        if b.kind == "infinity" or a.kind == "zero":
            return a
        quotient = self.table[ops.TRUNCATE](self.divide(a, b))
        rest = self.settled(self.add(a, self.negate(self.multiply(quotient, b))))
        return _ZERO[self.sign(a)] if rest.kind == "zero" else rest

    def quotient(self, a: Value, b: Value) -> Value:
        return _ZERO[1] if b.kind == "zero" else self.table[ops.TRUNCATE](self.divide(a, b))

    def power(self, a: Value, b: Value) -> Value:
        one = of_number(1)
        if b.kind == "zero" or self.is_one(a):
            return one
        if "nan" in (a.kind, b.kind):
            return _NAN
        is_negative, size = self.sign(a) < 0, self.table[ops.ABSOLUTE](a)
        if b.kind == "infinity":
            order = self.compare(size, one)
            return one if order == 0 else _INFINITY[1] if order == b.sign else _ZERO[1]
        is_whole = b.kind == "fraction" and int(b.fraction.q) == 1
        if b.kind == "ball" and is_negative and not self.is_last:
            raise Undecided  # whether it is an integer
        if is_negative and not is_whole and a.kind not in ("zero", "infinity"):
            return _NAN
        sign = -1 if is_negative and is_whole and int(b.fraction.p) % 2 else 1
        if a.kind in ("zero", "infinity"):
            return _INFINITY[sign] if (a.kind == "zero") == (self.sign(b) < 0) else _ZERO[sign]
        if size.kind == b.kind == "fraction":
            found = self.exact_power(size.fraction, b.fraction)
            if found is not None:
                return _of_fraction(sign * found)
        return of_ball(sign * (ball_of(b) * ball_of(size).log()).exp(), sign)

    def exact_power(self, base: Any, exponent: Any) -> Any:
        """A positive fraction to the power of a fraction, if that is one of not too many bits; else None."""
        degree, times = int(exponent.q), int(exponent.p)
        if degree > 1:
            # A fraction that is no power of its own has no root of a high degree.
            base = exact_root(base, degree) if degree <= base.height_bits() else None
        if base is None or base.height_bits() * abs(times) > _LONGEST:
            return None
        return base**times

    def is_one(self, a: Value) -> bool:
        return a.kind == "fraction" and bool(a.fraction == 1)

    def integer_power(self, a: Value, b: Value) -> Value:
        base, exponent = _whole(a), _whole(b)
        if exponent >= 0:
            return of_number(pow(base, exponent, 2**64))
        return of_number(1 if base == 1 or (base == -1 and exponent % 2 == 0) else -1 if base == -1 else 0)

    def bits_or_truth(self, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        return bool(function(int(a), int(b))) if isinstance(a, bool) else of_number(function(_whole(a), _whole(b)))

    def extreme(self, wanted: int, a: Value, b: Value) -> Value:
        if "nan" in (a.kind, b.kind):
            return _NAN
        if a.kind == b.kind == "zero":
            return a if a.sign == wanted else b
        return b if self.compare(a, b) == -wanted else a

    # ---- functions. A ball is given where the result is no fraction.

    def by_ball(self, operation: Operation, a: Value, sides: ops.Sides | None = None) -> Value:
        """A function of one number by its row: `Operation.ball`, and its values at zero and at the infinities.

        ``sides`` says what follows from where the number is, of functions whose sign is not that of the operand, or 1.
        """
        ball, at_zero, ends = operation.ball, operation.at_zero, operation.at_infinities
        assert ball is not None
        assert ends is not None
        if a.kind == "nan" or (a.kind == "zero" and at_zero == 0 and math.copysign(1, at_zero) > 0):
            return a
        if a.kind == "zero":
            return of_ball(ball(self.arb(0))) if at_zero is None or _is_irrational(at_zero) else of_number(at_zero)
        end = ends[a.sign > 0]
        if a.kind == "infinity":
            return of_number(end)
        operand = ball_of(a)
        if sides is not None:
            sign, near = sides(operand)
            return of_ball(ball(operand), sign, near and Beside(self.fmpq(near[0]), near[1]))
        sign = 0 if math.isnan(end) else a.sign if at_zero == 0 else 1
        beside = None
        if a.sign and end and ops.is_exact(end):  # such functions stay nearer to zero than their limit
            apart = operation.apart
            distance = None if apart is None else lambda: apart(abs(ball_of(a)))
            beside = Beside(of_number(end).fraction, -1 if end > 0 else 1, distance)
        return of_ball(ball(operand), sign, beside)

    def near_zero(
        self, function: Callable[[Value], Value], near: Callable[[Any, int], tuple[Any, int]], a: Value
    ) -> Value:
        """A function of a number that is not large: beside which fraction the value is."""
        value = function(a)
        if value.kind == "ball" and a.kind == "fraction" and abs(a.fraction) <= 1:
            fraction, side = near(a.fraction, a.sign)
            value = of_ball(value.ball, value.sign, Beside(self.fmpq(fraction), side))
        elif value.kind == a.kind == "ball" and a.sign and abs(a.ball) < 1:
            begin = function(_ZERO[a.sign])
            if begin.kind == "fraction" and value.ball.contains(begin.fraction):
                # All these functions rise or fall from zero to 1 on each side.
                order = self.compare(function(of_number(Fraction(a.sign, 2))), begin)
                value = of_ball(value.ball, value.sign, Beside(begin.fraction, order or 1))
        return value

    def inside(self, function: Callable[[Any], Any], at_ends: Mapping[int, Value], a: Value) -> Value:
        """Functions of what is between -1 and 1."""
        if a.kind == "nan":
            return a
        for end in (1, -1):
            order = self.compare(a, of_number(end))
            if order == end:
                return _NAN
            if order == 0 and end in at_ends:
                return at_ends[end]
        is_odd = function != self.arb.acos
        if is_odd and a.kind == "zero":
            return a
        return of_ball(function(ball_of(a)), a.sign if is_odd else 1)

    def acosh(self, a: Value) -> Value:
        order = self.compare(a, of_number(1))
        if order in (None, -1):
            return _NAN
        if order == 0:
            return _ZERO[1]
        if a.kind == "infinity":
            return a
        _, more = self.from_one(a)
        found = ball_of(a).acosh()
        return of_ball(found if more is None else _tighter(found, (more + (more * (more + 2)).sqrt()).log1p()), 1)

    def log(self, a: Value) -> Value:
        if a.kind == "zero":
            return _INFINITY[-1]
        if a.kind == "nan" or self.sign(a) < 0:
            return _NAN
        if self.is_one(a):
            return _ZERO[1]
        if a.kind == "infinity":
            return a
        side, more = self.from_one(a)
        found = ball_of(a).log()
        return of_ball(found if more is None else _tighter(found, more.log1p()), side)

    def from_one(self, a: Value) -> tuple[int, Any]:
        """On which side of 1 a number is, where it is beside that: 1 or -1; and the difference, where that is known."""
        if not a.beside or a.beside.fraction != 1:
            return 0, None
        return a.beside.side, _offset(a.beside)

    def log_to_base(self, base: int, a: Value) -> Value:
        found = self.log(a)
        if found.kind != "ball":
            return found
        if a.kind == "fraction" and self.is_power(a.fraction, base):
            p, q = int(a.fraction.p), int(a.fraction.q)
            exponent = round(math.log(max(p, q), base))
            return of_number(exponent if q == 1 else -exponent)
        return of_ball(found.ball / self.arb(base).log(), found.sign)

    def is_power(self, q: Any, base: int) -> bool:
        """Whether a fraction is a power of a number, with an exponent of either sign."""
        n, rest = max(int(q.p), int(q.q)), min(int(q.p), int(q.q))
        while n % base == 0:
            n //= base
        return n == rest == 1

    def cube_root(self, a: Value) -> Value:
        if a.kind in ("nan", "zero", "infinity"):
            return a
        if a.kind == "fraction":
            root = exact_root(abs(a.fraction), 3)
            if root is not None:
                return _of_fraction(a.sign * root)
        if not a.sign:
            raise Undecided
        return self.signed(a.sign, (a.sign * ball_of(a)).root(3))

    def log_ndtr(self, erfc: Callable[[Any], Any], a: Value) -> Value:
        """The logarithm of the normal distribution function; far below, by the bounds of its tail."""
        if a.kind == "nan":
            return a
        if a.kind == "infinity":
            return _ZERO[-1] if a.sign > 0 else _INFINITY[-1]
        x = ball_of(a)
        if not x < -1000:
            tail = erfc(abs(x) / self.arb(2).sqrt()) / 2
            return of_ball((-tail).log1p() if x > 0 else tail.log() if x < 0 else (1 - tail).log(), -1)
        # The tail is exp(-x**2 / 2) / (abs(x) sqrt(2 pi)) times 1 - 1/x**2 + 3/x**4 - ...: that series is cut between
        # two terms, which enclose it.
        u = 1 / (x * x)
        total, term = self.arb(0), self.arb(1)
        for n in range(1, 200):
            total, term = total + term, -term * (2 * n - 1) * u
        series = total + self.arb(0.5, 0.5) * term
        return of_ball(-x * x / 2 - (-x * (2 * self.arb.pi()).sqrt()).log() + series.log(), -1)

    def log1p(self, a: Value) -> Value:
        if a.kind in ("zero", "nan"):
            return a
        order = self.compare(a, of_number(-1))
        if order == -1:
            return _NAN
        if order == 0:
            return _INFINITY[-1]
        if a.kind == "infinity":
            return a
        more = _offset(a.beside) if a.beside and a.beside.fraction == -1 else None
        found = ball_of(a).log1p()
        return of_ball(found if more is None else _tighter(found, more.log()), a.sign)

    def atan2(self, a: Value, b: Value) -> Value:
        if "nan" in (a.kind, b.kind):
            return _NAN
        sign, pi = self.sign(a), self.arb.pi()
        if a.kind == "infinity":
            if b.kind != "infinity":
                return self.signed(sign, pi / 2)
            return self.signed(sign, pi / 4 if b.sign > 0 else 3 * pi / 4)
        if a.kind == "zero" or b.kind == "infinity":
            return _ZERO[sign] if self.sign(b) > 0 else self.signed(sign, pi)
        if b.kind == "zero":
            return self.signed(sign, pi / 2)
        return of_ball(self.arb.atan2(ball_of(a), ball_of(b)), sign)


def _is_irrational(value: ops.Fact) -> bool:
    """Whether a value of a function is next to a number, and not that."""
    return math.isfinite(value) and not ops.is_exact(value)


# ---- evaluation


@lru_cache(maxsize=256)
def _steps(root: Expression) -> tuple[tuple[Expression, tuple[int, ...]], ...]:
    """The nodes of a graph, operands first, and where the operands are: to look up a node takes longer than to add."""
    places: dict[Expression, int] = {}
    for current in walk(root):
        places[current] = len(places)
    return tuple((current, tuple(places[operand] for operand in current.operands)) for current in places)


def evaluated(root: Expression, leaf: Callable[[Expression], Any], rules: _Rules) -> Any:
    """The value of a graph. In a `select` only the branch that is taken is looked at."""
    steps = _steps(root)
    values: list[Any] = [None] * len(steps)
    stack = [len(steps) - 1]
    while stack:
        place = stack[-1]
        if values[place] is not None:
            stack.pop()
            continue
        current, wanted = steps[place]
        is_choice = current.operation == ops.SELECT
        if is_choice:
            condition = values[wanted[0]]
            wanted = wanted[:1] if condition is None else (wanted[1 if condition else 2],)
        missing = [operand for operand in wanted if values[operand] is None]
        if missing:
            stack.extend(reversed(missing))
        elif is_choice:
            values[place] = values[wanted[0]]
        elif not wanted:
            value = leaf(current)
            values[place] = value if isinstance(value, bool) else rules.settled(value)
        else:
            values[place] = rules.applied(current.operation, [values[operand] for operand in wanted])
    return values[-1]


@lru_cache(maxsize=256)
def _with_limits(root: Expression, kind: ElementType) -> Expression:
    return with_limits([root], kind)[0]


def right_result(
    root: Expression,
    inputs: Sequence[Any],
    parameters: Mapping[str, float],
    kind: ElementType,
    *,
    bits: int = 64,
    modular: bool = False,
) -> tuple[float | int, bool]:
    """The correctly rounded value of a formula at one element, and whether that was decided.

    Floating-point types: the nearest number, of two equally near ones the even one; signed zeros, infinities and NaN
    as in IEEE 754. Integers: cut off towards zero, saturating, NaN as 0; or ``modular``, modulo ``2**kind.bits``.
    ``bits`` is the width of integer operands. The second value is false where `BITS` bits do not decide and the result
    is that of taking the value as exact.

    Raises UnsupportedError for formulas of rows.
    """

    def with_decision(value: Any, is_last: bool) -> tuple[float | int, bool]:
        return rounded(value, kind, modular, is_last), not is_last

    root = _with_limits(root, kind if kind.is_float else ELEMENT_TYPES["float64"])
    found: tuple[float | int, bool] = _decided(partial(evaluated, root, _leaf(inputs, parameters)), with_decision, bits)
    return found


def exact_value(
    root: Expression, inputs: Sequence[Any], parameters: Mapping[str, float], digits: int = 50, *, bits: int = 64
) -> Decimal:
    """The value of a formula at one element, correctly rounded to so many significant decimal digits.

    Truth values are 1 and 0. A number beyond ``10**999999`` is given as an infinity, and what is as near to zero as a
    zero, with the sign.

    Raises UnsupportedError for formulas of rows.
    """
    (root,) = with_limits([root], ELEMENT_TYPES["float64"])
    decimal = partial(to_decimal, digits=digits)
    found: Decimal = _decided(partial(evaluated, root, _leaf(inputs, parameters)), decimal, bits)
    return found


def decided(compute: Callable[[Any], Any], accept: Callable[[Any, bool], Any], *, bits: int = 64) -> Any:
    """The answer of `accept` to what `compute` finds with the rules it gets, in as many bits as that takes.

    `accept` gets the value, and whether what is undecided now is taken as exact; it raises `Undecided` for more bits.
    """
    return _decided(compute, accept, bits)


def _leaf(inputs: Sequence[Any], parameters: Mapping[str, float]) -> Callable[[Expression], Any]:
    def leaf(current: Expression) -> Any:
        if current.operation == ops.INPUT:
            value = inputs[current.attribute]
            return bool(value) if current.format is Format.TRUTH else of_number(value)
        if current.operation == ops.PARAMETER:
            return of_number(parameters[current.attribute[1]])
        if current.operation != ops.CONSTANT:
            raise UnsupportedError(f"exact results: there is no rule for {current.operation}")
        return bool(current.attribute) if current.format is Format.TRUTH else of_number(current.attribute)

    return leaf


def _decided(compute: Callable[[Any], Any], accept: Callable[[Any, bool], Any], bits: int) -> Any:
    context = _flint().ctx
    with _lock:
        before = context.prec
        try:
            context.prec, most, is_last = _FIRST_BITS, BITS, False
            while True:
                # At first numbers are not looked at, which takes time.
                is_first = context.prec == _FIRST_BITS
                rules = _rules(is_last, bits, not is_first)
                if not is_first:
                    rules.look_anew()
                try:
                    return accept(compute(rules), is_last)
                except UnsupportedError:
                    if not is_last or context.prec >= most:
                        raise
                    wanted, is_last = 2 * context.prec, False
                except Undecided as undecided:
                    if is_last and context.prec >= most:
                        raise UnsupportedError(
                            f"exact results: a step of the formula is undecided with {most} bits"
                        ) from None
                    if rules.exponent is not None and rules.exponent > _VAST_EXPONENT:
                        most = min(BITS + rules.exponent, _MOST_BITS)
                    # The largest number needs so many. Where that is beyond all bits, it may still not count.
                    needed = (rules.exponent or 0) + _FIRST_BITS
                    wanted = max(2 * context.prec, needed if needed < most else 0)
                    if isinstance(undecided, Negligible) and not is_first and not is_last:
                        enough = rules.bits_of_sign()
                        is_last = enough < BITS and context.prec >= enough
                        wanted = context.prec if is_last else max(context.prec + 1, enough) if enough < BITS else wanted
                    else:
                        is_last = False
                context.prec = min(wanted, most)
                is_last = is_last or context.prec >= most
        finally:
            context.prec = before


@cache
def _rules(is_last: bool, bits: int, looks: bool = False) -> _Rules:
    """To make them takes as long as some nodes. ``looks``: whether numbers on the way are looked at."""
    return _Rules(is_last, bits)


def _log2_of(end: Any) -> int:
    m, e = _mantissa(end)
    return m.bit_length() + e if m else -_OUT_OF_RANGE


# ---- rounding


def _mantissa(end: Any) -> tuple[int, int]:
    """An end of a ball: an integer times a power of two."""
    m, e = end.man_exp()
    return int(m), int(e)


def _ratio(m: int, e: int) -> tuple[int, int]:
    """The same as a fraction; what is far below every element type stays there."""
    if e >= 0:
        return m << e, 1
    # Beyond, only the sign and being small count.
    size = m.bit_length() + e
    return (m, 1 << -e) if size > -_LONGEST else ((m > 0) - (m < 0), 1 << _LONGEST)


def nearest(n: int, d: int, kind: str) -> float:
    """The fraction n / d, which is not zero, rounded to a floating-point type: to nearest, ties to even.

    >>> nearest(1, 3, "bfloat16"), nearest(-1, 2**25, "float16"), nearest(65520, 1, "float16")
    (0.333984375, -0.0, inf)
    """
    precision, smallest, largest = FLOAT_FORMATS[kind]
    size = abs(n)
    exponent = size.bit_length() - d.bit_length()
    if (size << max(-exponent, 0)) < (d << max(exponent, 0)):
        exponent -= 1
    shift = max(exponent, smallest) - precision + 1  # of the last place
    whole, rest = divmod(size << max(-shift, 0), d << max(shift, 0))
    half = 2 * rest - (d << max(shift, 0))
    whole += half > 0 or (half == 0 and whole % 2)
    is_infinite = whole.bit_length() + shift > math.frexp(largest)[1] or math.ldexp(whole, shift) > largest
    return math.copysign(math.inf if is_infinite else math.ldexp(whole, shift), 1 if n > 0 else -1)


#: Exponents of the decimal numbers that are told from zero and infinity.
_DECIMAL_EXPONENT = 999_999


def to_decimal(value: Any, is_last: bool, digits: int) -> Decimal:
    """A value with so many decimal digits, to nearest; of a ball both ends must have the same."""
    if isinstance(value, bool):
        return Decimal(int(value))
    if value.kind == "nan":
        return Decimal("nan")
    if value.kind in ("infinity", "zero"):
        return Decimal("Infinity" if value.kind == "infinity" else 0).copy_sign(Decimal(value.sign))
    context = Context(prec=digits, Emax=_DECIMAL_EXPONENT, Emin=-_DECIMAL_EXPONENT, traps=[])
    if value.kind == "fraction":
        return context.divide(Decimal(int(value.fraction.p)), Decimal(int(value.fraction.q)))
    if not value.ball.is_finite():
        raise Undecided
    ends = [_decimal_of_end(*_mantissa(end), context) for end in (value.ball.lower(), value.ball.upper())]
    if ends[0] != ends[1]:
        if not is_last:
            raise Undecided
        ends[0] = _decimal_of_end(*_mantissa(value.ball.mid()), context)
    return ends[0].copy_sign(Decimal(value.sign)) if value.sign else ends[0]


def _decimal_of_end(m: int, e: int, context: Context) -> Decimal:
    if m == 0:
        return Decimal(0)
    size = m.bit_length() + e
    if abs(size) > 4 * _DECIMAL_EXPONENT:
        return Decimal("Infinity" if size > 0 else 0).copy_sign(Decimal(m))
    if abs(e) < _LONGEST:
        return context.divide(Decimal(m << max(e, 0)), Decimal(1 << max(-e, 0)))
    longer = Context(prec=context.prec + 30, Emax=context.Emax * 4, Emin=-context.Emax * 4, traps=[])
    return context.plus(longer.multiply(Decimal(m), longer.power(Decimal(2), Decimal(e))))


def rounded(value: Any, kind: ElementType, modular: bool, is_last: bool) -> float | int:
    """The number of a type that an enclosed value is rounded to.

    Integers wrap around if ``modular``, and saturate otherwise. Raises `Undecided` where the ends of the enclosure round
    differently, unless this is the last precision: then the value is taken for the boundary between them.
    """
    if isinstance(value, bool):
        return int(value)
    if value.kind in ("nan", "infinity", "zero"):
        if kind.name == "bool":
            return int(value.kind != "zero")
        if not kind.is_float:
            return 0 if value.kind != "infinity" else kind.maximum if value.sign > 0 else kind.minimum
        return math.nan if value.kind == "nan" else value.sign * (0.0 if value.kind == "zero" else math.inf)
    if kind.name == "bool":
        return 1
    if value.kind == "fraction":
        return _end(int(value.fraction.p), int(value.fraction.q), kind, modular)
    if value.ball.is_finite():
        ends = [_mantissa(end) for end in (value.ball.lower(), value.ball.upper())]
    elif value.sign and value.written and combinations.size(value.written) > _OUT_OF_RANGE:
        ends = [(value.sign, _OUT_OF_RANGE)] * 2
    else:
        raise Undecided
    if value.ball.contains(0) and value.ball.is_finite() and (value.sign or kind.is_float):
        if not value.sign:
            is_nothing = all(not _of_end(m, e, 1, kind) for m, e in ends)
            raise Negligible if is_nothing else Undecided
        ends[0 if value.sign > 0 else 1] = (0, 0)
    if modular and not kind.is_float:
        raise UnsupportedError("exact results: a formula modulo 2**bits has a value that is no fraction")
    low, high = (_of_end(m, e, value.sign, kind) for m, e in ends)
    if value.beside and low != high:
        # Between the fraction and the ball's end on that side.
        fraction, side = value.beside[:2]
        limit = _of_side(int(fraction.p), int(fraction.q), side, kind)
        # The fraction may lie far outside of the ball.
        low, high = (max(low, limit), high) if side > 0 else (low, min(high, limit))
    if low != high:
        low, high = _beside_tie(value, low, high, kind)
    if low == high:
        return low
    if not is_last:
        raise Undecided
    return _tied(low, high, kind)


def _beside_tie(
    value: Value, low: float | int, high: float | int, kind: ElementType
) -> tuple[float | int, float | int]:
    """The neighbours between which a number is, or the one on its side of their tie, where that is known."""
    if not kind.is_float:
        tie = Fraction(low if abs(low) > abs(high) else high)
    elif math.isinf(low) or math.isinf(high):
        largest = Fraction(FLOAT_FORMATS[kind.name][2])
        tie = (largest + 2 ** (largest.numerator.bit_length())) / 2 * (1 if high > 0 else -1)
    else:
        tie = (Fraction(low) + Fraction(high)) / 2
    n, d = tie.as_integer_ratio()
    if not n or (_of_side(n, d, -1, kind), _of_side(n, d, 1, kind)) != (low, high):
        return low, high  # there is more than one tie between them
    side = _rules(False, 64).side(value, _flint().fmpq(n, d))
    if side is None:
        return low, high
    found = _of_side(n, d, side, kind) if side else _end(n, d, kind, False)
    return found, found


def _of_end(m: int, e: int, sign: int, kind: ElementType) -> float | int:
    if m == 0:
        return math.copysign(0.0, sign) if kind.is_float else 0
    size = m.bit_length() + e
    if size > _OUT_OF_RANGE:
        m, e = (1 if m > 0 else -1), _OUT_OF_RANGE
    elif size < -_OUT_OF_RANGE:
        m, e = (1 if m > 0 else -1), -_OUT_OF_RANGE
    return _end(*_ratio(m, e), kind, False)


def _of_side(n: int, d: int, side: int, kind: ElementType) -> float | int:
    """The number next to a fraction, nearer to it than any other number."""
    if n == 0:
        return math.copysign(0.0, side) if kind.is_float else 0
    # Numbers and ties have denominators up to 2**1075: none is as near to n / d as this.
    return _end((n << 1100) + side, d << 1100, kind, False)


def _end(n: int, d: int, kind: ElementType, modular: bool) -> float | int:
    if kind.is_float:
        return nearest(n, d, kind.name)
    whole: int = abs(n) // d * (1 if n > 0 else -1)
    if modular:
        return ((whole - kind.minimum) & ((1 << kind.bits) - 1)) + kind.minimum
    return min(max(whole, kind.minimum), kind.maximum)


def _tied(low: float | int, high: float | int, kind: ElementType) -> float | int:
    """The result of what lies between two neighbours, so near their middle that it is taken for that."""
    if not kind.is_float:
        return low if abs(low) > abs(high) else high
    if math.isinf(low) or math.isinf(high):
        precision, _, largest = FLOAT_FORMATS[kind.name]
        is_odd = int(math.ldexp(math.frexp(largest)[0], precision)) % 2  # that of float8_e4m3fn is even
        return (low if math.isinf(low) else high) if is_odd else (high if math.isinf(low) else low)
    middle = (Fraction(low) + Fraction(high)) / 2
    return nearest(middle.numerator, middle.denominator, kind.name) if middle else 0.0
