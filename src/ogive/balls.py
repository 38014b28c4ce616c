"""Enclosures in Python's integers: what enclosure.py asks of python-flint, where that package is not installed.

A ball is kept by its two ends, which are dyadic numbers; without ends nothing is known of it. Ends are rounded outwards to
`ctx.prec` bits. A function that rises is computed at both ends. At one point it is computed in integers times ``2**-w``,
beside a count of the units that these are wrong by at most: so each end is proved by its own computation.

The names are python-flint's. It is slower, and as right: the tests compare results.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from numbers import Rational
from types import SimpleNamespace
from typing import Any

__all__ = ["arb", "ctx", "fmpq"]

#: The precision, in bits.
ctx = SimpleNamespace(prec=53)

#: For numbers beyond this power of two, exp is too large for a ball, or so small that only a bound is given.
_LARGEST_POWER = 4096

#: For numbers beyond this power of two, sine and cosine are between -1 and 1.
_LARGEST_ANGLE = 20_000

#: More bits while a function is computed.
_GUARD = 16

#: An integer, and the power of two that it is multiplied with.
_End = tuple[int, int]


@contextmanager
def _precision(bits: int) -> Iterator[None]:
    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before


# ---- fractions


class fmpq(Fraction):  # noqa: N801
    """A fraction whose parts have python-flint's names."""

    __slots__ = ()

    @property
    def p(self) -> int:
        return self.numerator

    @property
    def q(self) -> int:
        return self.denominator

    def height_bits(self) -> int:
        return max(self.numerator.bit_length(), self.denominator.bit_length())


def _closed(name: str) -> Callable[..., Any]:
    plain = getattr(Fraction, name)

    def method(*operands: Any) -> Any:
        found = plain(*operands)
        return fmpq(found) if isinstance(found, Fraction) else found

    return method


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "neg", "abs"):
    setattr(fmpq, f"__{_name}__", _closed(f"__{_name}__"))


# ---- ends


def _down(end: _End) -> _End:
    """Rounded down to the precision."""
    m, e = end
    shift = m.bit_length() - ctx.prec
    return (m >> shift, e + shift) if shift > 0 else end


def _negative(end: _End) -> _End:
    return -end[0], end[1]


def _top(end: _End) -> int:
    """Numbers but 0 are below two to this power, and not below half of that."""
    return end[0].bit_length() + end[1]


def _sum_down(a: _End, b: _End) -> _End:
    (m, e), (n, f) = (a, b) if _top(a) >= _top(b) else (b, a)
    if not m or not n:
        return _down((m or n, e if m else f))
    shift = max(ctx.prec + 4 - m.bit_length(), 0)
    if _top((n, f)) < e - shift:
        # The smaller number lies below a unit of the larger one.
        return _down(((m << shift) - (n < 0), e - shift))
    least = min(e, f)
    return _down(((m << (e - least)) + (n << (f - least)), least))


def _quotient_down(a: _End, b: _End) -> _End:
    """By a number above 0."""
    shift = max(ctx.prec + 2 + b[0].bit_length() - a[0].bit_length(), 0)
    return _down(((a[0] << shift) // b[0], a[1] - b[1] - shift))


def _compare(a: _End, b: _End) -> int:
    signs = [(m > 0) - (m < 0) for m, _ in (a, b)]
    if signs[0] != signs[1] or not signs[0]:
        return signs[0] - signs[1]
    if _top(a) != _top(b):
        return signs[0] if _top(a) > _top(b) else -signs[0]
    least = min(a[1], b[1])
    m, n = (end[0] << (end[1] - least) for end in (a, b))
    return (m > n) - (m < n)


def _least(*ends: _End) -> _End:
    found = ends[0]
    for end in ends[1:]:
        found = end if _compare(end, found) < 0 else found
    return found


def _greatest(*ends: _End) -> _End:
    return _negative(_least(*map(_negative, ends)))


def _fixed(end: _End, w: int) -> int:
    """The number in units of ``2**-w``, cut off: wrong by less than one unit."""
    shift = end[1] + w
    return end[0] << shift if shift >= 0 else end[0] >> -shift


# ---- balls


def _end(value: Any) -> _End:
    """An integer or a float, exactly."""
    n, d = value.as_integer_ratio()
    return n, 1 - d.bit_length()


class arb:  # noqa: N801
    """All numbers between two ends; without ends, all numbers and none. ``arb(middle, radius)``."""

    __slots__ = ("ends", "infinity")
    __hash__ = None  # type: ignore[assignment]

    ends: tuple[_End, _End] | None
    infinity: int
    """The sign of an infinity, which only comparisons tell from a ball without ends; 0 of all others."""

    def __init__(self, value: Any = 0, radius: float | None = None) -> None:
        self.infinity = 0
        if isinstance(value, arb):
            self.ends, self.infinity = value.ends, value.infinity
        elif isinstance(value, Fraction):
            a, b = (value.numerator, 0), (value.denominator, 0)
            self.ends = _quotient_down(a, b), _negative(_quotient_down(_negative(a), b))
        elif isinstance(value, float) and not math.isfinite(value):
            self.ends = None
            self.infinity = (value > 0) - (value < 0)
        else:
            self.ends = _end(value), _end(value)
        if radius:
            self.ends = (self + _between(_end(-radius), _end(radius))).ends

    def __repr__(self) -> str:
        if self.ends is None:
            return "arb(nan)"
        return " .. ".join(f"{m} * 2**{e}" for m, e in self.ends)

    def rounded(self) -> arb:
        """To the precision, outwards."""
        if self.ends is None:
            return self
        return _between(_down(self.ends[0]), _negative(_down(_negative(self.ends[1]))))

    # arithmetic

    def __neg__(self) -> arb:
        if self.ends is None:
            return arb(-self.infinity * math.inf)  # 0 * infinity is NaN: a ball without ends
        return _between(_negative(self.ends[1]), _negative(self.ends[0]))

    def __abs__(self) -> arb:
        if self.infinity < 0 or (self.ends is not None and self.ends[1][0] <= 0):
            return -self
        return (
            self
            if self.ends is None or self.ends[0][0] >= 0
            else _between((0, 0), _greatest(_negative(self.ends[0]), self.ends[1]))
        )

    def __add__(self, other: Any) -> arb:
        a, b = self.ends, _ball(other).ends
        if a is None or b is None:
            return _NOTHING
        return _between(_sum_down(a[0], b[0]), _negative(_sum_down(_negative(a[1]), _negative(b[1]))))

    __radd__ = __add__

    def __sub__(self, other: Any) -> arb:
        return self + -_ball(other)

    def __rsub__(self, other: Any) -> arb:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> arb:
        a, b = self.ends, _ball(other).ends
        if a is None or b is None:
            return _NOTHING
        if a[0] == a[1] and b[0] == b[1]:
            product = a[0][0] * b[0][0], a[0][1] + b[0][1]
            return _between(product, product).rounded()
        products = [(m * n, e + f) for m, e in a for n, f in b]
        return _between(_least(*products), _greatest(*products)).rounded()

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> arb:
        divisor = _ball(other)
        if self.ends is None or divisor.ends is None or divisor.contains(0):
            return _NOTHING
        if divisor.ends[1][0] < 0:
            return -self / -divisor
        (low, high), (small, large) = self.ends, divisor.ends
        return _between(
            _quotient_down(low, large if low[0] >= 0 else small),
            _negative(_quotient_down(_negative(high), small if high[0] >= 0 else large)),
        )

    def __rtruediv__(self, other: Any) -> arb:
        return arb(other) / self

    def __pow__(self, exponent: Any) -> arb:
        power = _ball(exponent)
        if not power.is_integer():
            return (power * self.log()).exp()
        assert power.ends is not None
        times = _fixed(power.ends[0], 0)
        if times < 0:
            return 1 / self**-times
        base, product = (self if times % 2 else abs(self)), arb(1)
        while times:
            product, base, times = (product * base if times % 2 else product), base * base, times // 2
        return product

    # what it is

    def _upper_end_to(self, other: arb) -> int:
        """-1, 0 or 1: how the upper end compares with the lower end of another; 1 where one of them has none."""
        if self.ends is not None and other.ends is not None:
            return _compare(self.ends[1], other.ends[0])
        known = all(ball.ends is not None or ball.infinity for ball in (self, other))
        return (self.infinity > other.infinity) - (self.infinity < other.infinity) if known else 1

    def __lt__(self, other: Any) -> bool:
        return self._upper_end_to(_ball(other)) < 0

    def __le__(self, other: Any) -> bool:
        return self._upper_end_to(_ball(other)) <= 0

    def __gt__(self, other: Any) -> bool:
        return _ball(other) < self

    def __ge__(self, other: Any) -> bool:
        return _ball(other) <= self

    def __eq__(self, other: object) -> bool:
        return self <= other and self >= other if isinstance(other, arb | Rational | float) else NotImplemented

    def is_finite(self) -> bool:
        return self.ends is not None

    def is_exact(self) -> bool:
        return self.ends is not None and not _compare(*self.ends)

    def is_integer(self) -> bool:
        if not self.is_exact():
            return False
        m, e = self.man_exp()
        return e >= 0 or m % (1 << -e) == 0

    def contains(self, value: Any) -> bool:
        return self.overlaps(_ball(value))

    def overlaps(self, other: arb) -> bool:
        return not (self < other or self > other)

    def man_exp(self) -> _End:
        """The value of an exact ball: an integer and a power of two."""
        assert self.ends is not None
        return self.ends[0]

    def lower(self) -> arb:
        return self if self.ends is None else _between(self.ends[0], self.ends[0])

    def upper(self) -> arb:
        return self if self.ends is None else _between(self.ends[1], self.ends[1])

    def mid(self) -> arb:
        """A number near the middle."""
        return self if self.is_exact() else ((self.lower() + self.upper()) / 2).lower()

    def rad(self) -> arb:
        """The largest distance of the ends from `mid`."""
        middle = self.mid()
        return (self.upper() - middle).max(middle - self.lower()).upper()

    def rel_accuracy_bits(self) -> int:
        middle, radius = self.mid(), self.rad()
        if middle.ends is None or radius.ends is None:
            return -_LARGEST_ANGLE
        return _top(middle.ends[0]) - _top(radius.ends[1]) if radius.ends[1][0] else _LARGEST_ANGLE

    def union(self, other: arb) -> arb:
        a, b = self.ends, other.ends
        return _NOTHING if a is None or b is None else _between(_least(a[0], b[0]), _greatest(a[1], b[1]))

    def intersection(self, other: arb) -> arb:
        a, b = self.ends, other.ends
        if a is None or b is None or not self.overlaps(other):
            raise ValueError("balls do not meet")
        return _between(_greatest(a[0], b[0]), _least(a[1], b[1]))

    def max(self, other: arb) -> arb:
        return -(-self).min(-other)

    def min(self, other: arb) -> arb:
        a, b = self.ends, other.ends
        return _NOTHING if a is None or b is None else _between(_least(a[0], b[0]), _least(a[1], b[1]))

    def floor(self) -> arb:
        return self if self.ends is None else _between(*((_fixed(end, 0), 0) for end in self.ends))

    def ceil(self) -> arb:
        return -(-self).floor()

    # functions

    @staticmethod
    def pi() -> arb:
        return _around(*_pi(ctx.prec + 4), ctx.prec + 4)

    @staticmethod
    def atan2(y: arb, x: arb) -> arb:
        """The angle of a point; all of them where it is not known on which side of the negative half-axis it is."""
        with _precision(ctx.prec + _GUARD):
            if x > 0:
                found = (y / x).atan()
            elif y > 0 or y < 0:
                found = arb.pi() / (2 if y > 0 else -2) - (x / y).atan()
            else:
                return _NOTHING
        return found.rounded()

    def sqrt(self) -> arb:
        return self.root(2)

    def root(self, degree: int) -> arb:
        if self.ends is None or self.ends[0][0] < 0:
            return _NOTHING
        return _at_ends(lambda end: _root(end, degree), self)

    def sin(self) -> arb:
        return _with_radius(0, self)

    def cos(self) -> arb:
        return _with_radius(1, self)

    def tan(self) -> arb:
        with _precision(ctx.prec + _GUARD):
            found = self.sin() / self.cos()
        return found.rounded()

    def cosh(self) -> arb:
        return _at_ends(_cosh, abs(self))

    def acos(self) -> arb:
        return -_at_ends(_minus_acos, self)

    def erfc(self) -> arb:
        return -_at_ends(_minus_erfc, self)

    def exp(self) -> arb:
        return _at_ends(_exp, self)

    def expm1(self) -> arb:
        return _at_ends(_expm1, self)

    def log(self) -> arb:
        return _at_ends(_log, self)

    def log1p(self) -> arb:
        return _at_ends(_log1p, self)

    def sinh(self) -> arb:
        return _at_ends(_odd(_sinh), self)

    def tanh(self) -> arb:
        return _at_ends(_odd(_tanh), self)

    def asinh(self) -> arb:
        return _at_ends(_odd(_asinh), self)

    def acosh(self) -> arb:
        return _at_ends(_acosh, self)

    def atanh(self) -> arb:
        return _at_ends(_odd(_atanh), self)

    def asin(self) -> arb:
        return _at_ends(_odd(_asin), self)

    def atan(self) -> arb:
        return _at_ends(_odd(_atan), self)

    def erf(self) -> arb:
        return _at_ends(_erf, self)

    def erfinv(self) -> arb:
        return _at_ends(_erfinv, self)


def _between(low: _End, high: _End) -> arb:
    found = object.__new__(arb)
    found.ends, found.infinity = (low, high), 0
    return found


_NOTHING = arb(math.nan)


def _ball(value: Any) -> arb:
    return value if isinstance(value, arb) else arb(value)


def _around(value: int, error: int, w: int, power: int = 0) -> arb:
    """A number in units of ``2**-w`` that is wrong by at most so many; times two to a power."""
    return _between((value - error, power - w), (value + error, power - w)).rounded()


def _at_ends(function: Callable[[_End], arb], x: arb) -> arb:
    """A function that rises."""
    if x.ends is None:
        return _NOTHING
    with _precision(ctx.prec + _GUARD):
        low = function(x.ends[0])
        found = low if x.ends[0] == x.ends[1] else low.union(function(x.ends[1]))
    return found.rounded()


# ---- constants: the number in units of 2**-w, and how many it is wrong by


@cache
def _arctangent_of_inverse(n: int, w: int, sign: int) -> tuple[int, int]:
    """``atan(1 / n)`` for the sign -1, ``atanh(1 / n)`` for 1."""
    power, total, count = (1 << w) // n, 0, 1
    while power:
        total += power // count * (sign if count % 4 == 3 else 1)
        power, count = power // (n * n), count + 2
    return total, count + 1  # a power and its part each lose less than one; what follows the last is less than one


@cache
def _pi(w: int) -> tuple[int, int]:
    return _combined(w, -1, ((16, 5), (-4, 239)))


@cache
def _log2(w: int) -> tuple[int, int]:
    return _combined(w, 1, ((18, 26), (-2, 4801), (8, 8749)))


def _combined(w: int, sign: int, parts: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    found = [(factor, *_arctangent_of_inverse(n, w, sign)) for factor, n in parts]
    return sum(factor * value for factor, value, _ in found), sum(abs(factor) * error for factor, _, error in found)


# ---- functions at a point, in the precision


def _root(x: _End, degree: int) -> arb:
    m, e = x
    shift = degree * ctx.prec + max(-m.bit_length(), 0)
    shift += (e - shift) % degree
    n = m << shift
    if degree == 2:
        root = math.isqrt(n)
    else:
        # Newton's method from above, which falls until it is there.
        root = 1 << -(-n.bit_length() // degree)
        while (lower := ((degree - 1) * root + n // root ** (degree - 1)) // degree) < root:
            root = lower
    power = (e - shift) // degree
    return _between((root, power), (root if root**degree == n else root + 1, power)).rounded()


def _exp(x: _End) -> arb:
    if not x[0]:
        return arb(1)
    if _top(x) > _LARGEST_POWER:
        return _NOTHING if x[0] > 0 else _between((0, 0), (1, -(1 << _LARGEST_POWER)))
    halvings = math.isqrt(ctx.prec) // 2 + 2
    w = ctx.prec + halvings + 24 + max(_top(x), 0)
    log2, of_log2 = _log2(w)
    whole = _fixed(x, w)
    k = (2 * whole + log2) // (2 * log2)
    # x = k log 2 + r 2**halvings, abs(r) < 0.1
    r, error = (whole - k * log2) >> halvings, ((1 + abs(k) * of_log2) >> halvings) + 2
    total = term = 1 << w
    count = 1
    while term not in (0, -1):
        term = (term * r >> w) // count
        total, count = total + term, count + 1
    # A term loses less than 3 units, and has a tenth of what the term before is wrong by, and of r's error.
    error = 2 * error + 4 * count + 2
    for _ in range(halvings):
        total, error = total * total >> w, (2 * total * error + error * error >> w) + 2
    return _around(total, error, w, k)


def _log(x: _End) -> arb:
    m, e = x
    if m <= 0:
        return _NOTHING
    k = _top(x)
    if 3 * m < 1 << (m.bit_length() + 1):
        k -= 1
    # x 2**-k is between 2/3 and 4/3. Where x is near 1, as many more bits as the result is small.
    extra = 0
    if k == 0:
        distance = m - (1 << -e) if e < 0 else m - 1
        if not distance:
            return arb(0)
        extra = max(-_top((distance, min(e, 0))), 0)
    roots = math.isqrt(ctx.prec) // 3 + 2
    w = ctx.prec + extra + roots + 24 + k.bit_length()
    one = 1 << w
    t, error = _fixed((m, e - k), w), 1
    for _ in range(roots):
        t, error = math.isqrt(t << w), error + 2  # a root's slope is below 1 here
    # log t = 2 atanh(z), abs(z) < 0.1
    z = ((t - one) << w) // (t + one)
    error += 2
    square, total, power, count = z * z >> w, 0, z, 1
    while power not in (0, -1):
        total += power // count
        power, count = power * square >> w, count + 2
    total, error = total << (roots + 1), (2 * error + 3 * count + 2) << (roots + 1)
    if k:
        log2, of_log2 = _log2(w)
        total, error = total + k * log2, error + abs(k) * of_log2
    return _around(total, error, w)


def _atan(x: _End) -> arb:
    if _top(x) > 1:
        return arb.pi() / (2 if x[0] > 0 else -2) - (1 / _between(x, x)).atan()
    halvings = math.isqrt(ctx.prec) // 3 + 2
    w = ctx.prec + max(-_top(x), 0) + halvings + 24
    t, error = _fixed(x, w), 1
    for _ in range(halvings):  # atan(t) = 2 atan(t / (1 + sqrt(1 + t**2))), whose slope is at most 1/2
        t, error = (t << w) // ((1 << w) + math.isqrt((1 << 2 * w) + t * t)), error + 3
    square, total, power, count = t * t >> w, 0, t, 1
    while power not in (0, -1):
        total += power // count * (-1 if count % 4 == 3 else 1)
        power, count = power * square >> w, count + 2
    return _around(total << halvings, (2 * error + 3 * count + 2) << halvings, w)


def _with_radius(which: int, x: arb) -> arb:
    """Sine or cosine: at the middle, and as far from it as the angle may be."""
    if x.ends is None:
        return _NOTHING
    with _precision(ctx.prec + _GUARD):
        middle, radius = x.mid(), x.rad()
        assert middle.ends is not None
        assert radius.ends is not None
        found = _sine_and_cosine(middle.ends[0])[which]
        found += _between(_negative(radius.ends[1]), radius.ends[1])
        found = found.intersection(_between((-1, 0), (1, 0)))
    return found.rounded()


def _sine_and_cosine(x: _End) -> tuple[arb, arb]:
    if not x[0]:
        return arb(0), arb(1)
    if _top(x) > _LARGEST_ANGLE:
        return (_between((-1, 0), (1, 0)),) * 2
    if 2 * _top(x) < -ctx.prec - 8:
        return _nearly(x, 2 * _top(x)), 1 + _between((-1, 2 * _top(x)), (0, 0))
    w = ctx.prec + abs(_top(x)) + 24
    pi, of_pi = _pi(w)
    whole = _fixed(x, w)
    k = (4 * whole + pi) // (2 * pi)
    r, error = whole - (k * pi >> 1), 3 + abs(k) * of_pi
    sums = [0, 0]
    term, count = 1 << w, 0
    while term not in (0, -1):
        sums[count % 2] += term if count % 4 < 2 else -term
        count += 1
        term = (term * r >> w) // count
    # abs(r) < 0.8: a term is wrong by less than 4 units, and the sum by less than 3 times r's error
    cosine, sine = (_around(value, 3 * error + 4 * count + 4, w) for value in sums)
    for _ in range(k % 4):
        sine, cosine = cosine, -sine
    return sine, cosine


def _nearly(x: _End, power: int) -> arb:
    """A number times what differs from 1 by less than two to this power."""
    return _between(x, x) * (1 + _between((-1, power), (1, power)))


def _odd(function: Callable[[_End], arb]) -> Callable[[_End], arb]:
    """A function that is ``x (1 + t x**2)``, abs(t) < 1, below 1/2. That is enough where x is tiny."""

    def at_point(x: _End) -> arb:
        if not x[0]:
            return arb(0)
        return _nearly(x, 2 * _top(x)) if 2 * _top(x) < -ctx.prec - 8 else function(x)

    return at_point


def _expm1(x: _End) -> arb:
    if not x[0]:
        return arb(0)
    if _top(x) < -ctx.prec - 8:  # x (1 + t x), abs(t) < 1
        return _nearly(x, _top(x))
    with _precision(ctx.prec + max(-_top(x), 0) + 4):
        return _exp(x) - 1


def _log1p(x: _End) -> arb:
    if not x[0]:
        return arb(0)
    if _top(x) < -ctx.prec - 8:
        return _nearly(x, _top(x))
    with _precision(ctx.prec + max(abs(_top(x)), x[0].bit_length())):
        one_more = 1 + _between(x, x)
    return one_more.log()


def _sinh(x: _End) -> arb:
    u = _expm1((abs(x[0]), x[1]))
    return (u + u / (1 + u)) / (2 if x[0] > 0 else -2)


def _cosh(x: _End) -> arb:
    e = _exp(x)
    return (e + 1 / e) / 2


def _tanh(x: _End) -> arb:
    u = _expm1((-2 * abs(x[0]), x[1]))
    return u / (u + 2) if x[0] < 0 else -u / (u + 2)


def _asinh(x: _End) -> arb:
    size = abs(_between(x, x))
    square = size * size
    found = (size + square / (1 + (1 + square).sqrt())).log1p()
    return found if x[0] > 0 else -found


def _acosh(x: _End) -> arb:
    more = _between(x, x) - 1
    return (more + (more * (more + 2)).sqrt()).log1p()


def _atanh(x: _End) -> arb:
    point = abs(_between(x, x))
    return (2 * point / (1 - point)).log1p() / (2 if x[0] > 0 else -2) if point < 1 else _NOTHING


def _asin(x: _End) -> arb:
    point = _between(x, x)
    if abs(point) < 1:
        return (point / ((1 - point) * (1 + point)).sqrt()).atan()
    return arb.pi() / (2 if x[0] > 0 else -2) if abs(point) <= 1 else _NOTHING


def _minus_acos(x: _End) -> arb:
    point = _between(x, x)
    if abs(point) < 1:
        return -2 * ((1 - point) / (1 + point)).sqrt().atan()
    return _NOTHING if not abs(point) <= 1 else arb(0) if x[0] > 0 else -arb.pi()


# ---- the error function


def _has_series(x: _End) -> bool:
    """Whether the square is at most the precision: else the asymptotic series of the tail has all bits."""
    return _top(x) < 40 and _fixed(x, 8) ** 2 >> 16 <= ctx.prec + 8


def _erf(x: _End) -> arb:
    if not x[0]:
        return arb(0)
    if 2 * _top(x) < -ctx.prec - 8:
        return 2 * _nearly(x, 2 * _top(x)) / arb.pi().sqrt()
    if _has_series(x):
        return _erf_by_series(x)
    tail = _tail((abs(x[0]), x[1]))
    return 1 - tail if x[0] > 0 else tail - 1


def _erf_by_series(x: _End) -> arb:
    """``2 x / sqrt(pi) exp(-x**2) (1 + 2 x**2 / 3 (1 + 2 x**2 / 5 (...)))``: no term is below 0."""
    w = ctx.prec + 2 * ctx.prec.bit_length() + 24
    twice = _fixed((x[0] * x[0], 2 * x[1] + 1), w) + 1  # too large by at most a unit
    total = term = 1 << w
    count, wrong, error = 1, 0, 0
    while term > 1 or (2 * count + 1) << w < 2 * twice:
        count += 2
        # The error of a term: the same of the one before, a unit of 2 x**2, and two roundings.
        wrong = ((wrong * twice + term) >> w) // count + 4
        term = (term * twice >> w) // count
        total, error = total + term, error + wrong
    series = _around(total, error + 2 * wrong + 4, w)  # what follows the last term is less than that
    return 2 * _between(x, x) / arb.pi().sqrt() * _exp((-x[0] * x[0], 2 * x[1])) * series


def _tail(x: _End) -> arb:
    """erfc, ``exp(-x**2) / (x sqrt(pi)) (1 - 1/(2 x**2) + 3/(2 x**2)**2 - ...)``: between the last sum and the one before."""
    point = _between(x, x)
    inverse = 1 / (2 * point * point)
    total, term = arb(0), arb(1)
    for n in range(1, ctx.prec + 8):
        total, term = total + term, -term * (2 * n - 1) * inverse
        assert term.ends is not None
        if max(map(_top, term.ends)) < -ctx.prec - 8:
            break
    return _exp((-x[0] * x[0], 2 * x[1])) / (point * arb.pi().sqrt()) * (total + arb(0.5, 0.5) * term)


def _minus_erfc(x: _End) -> arb:
    if x[0] <= 0 or _top(x) < 0:
        return _erf(x) - 1
    if not _has_series(x):
        return -_tail(x)
    with _precision(ctx.prec + 2 * (_fixed(x, 8) ** 2 >> 16) + 24):  # erfc(x) > exp(-x**2) / (3 x + 3)
        return _erf_by_series(x) - 1


def _erfinv(x: _End) -> arb:
    """Newton's method; then the error function on both sides proves it."""
    point = _between(x, x)
    if not abs(point) < 1:
        return _NOTHING
    if not x[0]:
        return arb(0)
    if x[0] < 0:
        return -_erfinv(_negative(x))
    if 2 * _top(x) < -ctx.prec - 8:
        return _nearly(x, 2 * _top(x)) * arb.pi().sqrt() / 2
    bits = ctx.prec
    beside = (1 - point).lower().man_exp()
    with _precision(2 * bits + 2 * max(-_top(beside), 0)):
        guess = (point if _top(x) < -20 else arb(_quantile(beside))) * arb(0.8862 if _top(x) < -20 else 1)
        root = arb.pi().sqrt() / 2
        for _ in range(bits.bit_length() + 12):
            step = ((point - guess.erf()) * root * (guess * guess).exp()).mid()
            guess = (guess + step).mid()
            if not step.man_exp()[0] or _top(step.man_exp()) < _top(guess.man_exp()) - bits - 8:
                break
        power = _top(guess.man_exp()) - bits - 8
        while True:
            radius = _between((-1, power), (1, power))
            found = guess + radius
            if found.lower().erf() < point < found.upper().erf():
                return found
            power += 1


def _quantile(beside: _End) -> float:
    """Near ``erfinv(1 - beside)``."""
    if _top(beside) > -900:
        tail = math.ldexp(beside[0] / (1 << beside[0].bit_length()), _top(beside) - 1)
        return -statistics.NormalDist().inv_cdf(tail) / math.sqrt(2)
    log = -_top(beside) * math.log(2)
    y = math.sqrt(log)
    for _ in range(8):
        y = math.sqrt(log - math.log(y * math.sqrt(math.pi)))
    return y
