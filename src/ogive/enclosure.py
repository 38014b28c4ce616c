"""The correctly rounded result of a formula, decided with enclosures: balls of Arb and exact fractions.

A formula is a statement about real numbers, so it has one right result in every element type. Balls (a number and a
bound of what it is wrong by) are computed with more and more bits, until all that is in the last one rounds alike.
Sums, products, quotients, powers and roots of rational numbers are fractions, which decide ties.
What `BITS` bits do not decide is taken as exact: a difference that may be zero is zero, numbers that may be equal are
equal, a result that may be a tie is a tie. ``log(exp(x)) - x`` is 0 that way.

Needs the package python-flint. Rows (`row_sum` and the like) have no rule here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any

from ogive import forking
from ogive.dtypes import ElementType
from ogive.errors import MissingPackageError, UnsupportedError
from ogive.expression import Expression, Format

__all__ = ["BITS", "FLOATS", "nearest", "right_result"]

#: What is undecided at this precision is taken as exact.
BITS = 4096
_FIRST_BITS = 128

#: Significant bits, and the largest exponent, of each floating-point element type.
FLOATS = {"float16": (11, 15), "bfloat16": (8, 127), "float32": (24, 127), "float64": (53, 1023)}

#: Fractions of more bits are given up for balls: no result of so many bits is a tie.
_LONGEST = 20_000

#: Beyond this power of two every element type has only infinity and zero left.
_OUT_OF_RANGE = 2000

#: Arb's precision belongs to the process.
_lock = forking.lock()


@cache
def _flint() -> Any:
    try:
        import flint
    except ImportError:
        raise MissingPackageError(
            "exact results: the package python-flint is not installed. Install it: pip install 'ogive[exact]'"
        ) from None
    return flint


class _Undecided(Exception):
    """More bits are needed."""


class Value:
    """A number of the extended reals, with signed zeros: exactly, or in a ball."""

    __slots__ = ("ball", "beside", "fraction", "kind", "sign")

    def __init__(
        self, kind: str, sign: int = 0, fraction: Any = None, ball: Any = None, beside: tuple[Any, int] | None = None
    ) -> None:
        self.kind = kind
        """``nan``, ``infinity``, ``zero``, ``fraction`` (not zero), or ``ball``."""
        self.sign = sign
        """1, -1, or 0 where it is not known: of a ball that contains zero it may be, as of exp(-10**30)."""
        self.fraction, self.ball = fraction, ball
        self.beside = beside
        """Of some balls: a fraction, and on which side of it the value is, by however little: 1 or -1.

        That decides the sign of 1 + tanh(-10**9), and on which side of a tie 1.5 + exp(-10**9) is.
        """


_NAN = Value("nan")
_ZERO = {sign: Value("zero", sign) for sign in (1, -1)}
_INFINITY = {sign: Value("infinity", sign) for sign in (1, -1)}


def _of_fraction(q: Any) -> Value:
    if q == 0:
        return _ZERO[1]
    return Value("fraction", 1 if q > 0 else -1, fraction=q)


def _of_ball(ball: Any, sign: int = 0, beside: tuple[Any, int] | None = None) -> Value:
    """A ball; ``sign`` where that is known although the ball may contain zero."""
    if not sign and beside and beside[0] * beside[1] >= 0:
        sign = beside[1]
    if not sign and ball.is_finite():
        sign = 1 if ball > 0 else -1 if ball < 0 else 0
    return Value("ball", sign, ball=ball, beside=beside)


def _beside(value: Value) -> tuple[Any, int] | None:
    """A fraction, and on which side of it a value is: 0 where it is the fraction."""
    return (value.fraction, 0) if value.kind == "fraction" else value.beside


def _scaled(value: Value, factor: Any) -> tuple[Any, int] | None:
    """Beside which fraction the product with a fraction is."""
    return value.beside and (value.beside[0] * factor, value.beside[1] if factor > 0 else -value.beside[1])


def _of_number(value: Any) -> Value:
    """An element, a parameter or a constant."""
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


def _ball(value: Value) -> Any:
    """A finite value as a ball."""
    arb = _flint().arb
    return value.ball if value.kind == "ball" else arb(0) if value.kind == "zero" else arb(value.fraction)


def _fraction(value: Value) -> Any:
    return _flint().fmpq(0) if value.kind == "zero" else value.fraction


def _whole(value: Value) -> int:
    """An integer, in formulas about the bits of integers."""
    return 0 if value.kind == "zero" else int(value.fraction.p) // int(value.fraction.q)


#: For fractions u between -1 and 1 but 0, and their signs: a fraction that the function's value is beside, and on which
#: side. So ties that a formula comes near where u is tiny are told apart without many bits.
_NEAR_ZERO: dict[str, Callable[[Any, int], tuple[Any, int]]] = {
    **dict.fromkeys(("tanh", "sin", "atan", "asinh"), lambda u, sign: (u, -sign)),
    **dict.fromkeys(("sinh", "tan", "asin"), lambda u, sign: (u, sign)),
    "expm1": lambda u, sign: (u, 1),
    "log1p": lambda u, sign: (u, -1),
    "exp": lambda u, sign: (1 + u, 1),
    "cosh": lambda u, sign: (1, 1),
    "cos": lambda u, sign: (1, -1),
    "erfc": lambda u, sign: (1, -sign),
    "logistic": lambda u, sign: (_flint().fmpq(1, 2), sign),
    "normal_tail": lambda u, sign: (_flint().fmpq(1, 2), -sign),
}


class _Rules:
    """What the nodes mean. ``is_last``: what is undecided now is taken as exact."""

    def __init__(self, is_last: bool, bits: int) -> None:
        self.is_last, self.bits = is_last, bits
        flint = _flint()
        self.arb, self.fmpq = flint.arb, flint.fmpq
        bit = {"and": int.__and__, "or": int.__or__, "exclusive_or": int.__xor__}
        self.table: dict[str, Callable[..., Any]] = {
            "add": self.add,
            "subtract": lambda a, b: self.add(a, self.negate(b)),
            "multiply": self.multiply,
            "divide": self.divide,
            "negate": self.negate,
            "absolute": lambda a: self.negate(a) if self.sign(a) < 0 else a,
            "square_root": self.square_root,
            "floor": partial(self.whole, lambda n, d: n // d),
            "ceiling": partial(self.whole, lambda n, d: -(-n // d)),
            "truncate": partial(self.whole, lambda n, d: abs(n) // d * (1 if n > 0 else -1)),
            "round_even": partial(self.whole, lambda n, d: round(Fraction(n, d))),
            "copy_sign": self.copy_sign,
            "less": lambda a, b: self.compare(a, b) == -1,
            "less_equal": lambda a, b: self.compare(a, b) in (-1, 0),
            "equal": lambda a, b: self.compare(a, b) == 0,
            **{name: partial(self.bits_or_truth, function) for name, function in bit.items()},
            "not": lambda a: (not a) if isinstance(a, bool) else _of_number(~_whole(a)),
            "remainder": self.remainder,
            "quotient": self.quotient,
            "power": self.power,
            "integer_power": self.integer_power,
            "bit_count": lambda a: _of_number((_whole(a) % (1 << bits)).bit_count()),
            "bit_shift_left": lambda a, b: _of_number(_whole(a) << _whole(b) if _whole(b) < bits else 0),
            "bit_shift_right": lambda a, b: _of_number(_whole(a) >> _whole(b) if _whole(b) < bits else 0),
            "larger": partial(self.extreme, 1),
            "smaller": partial(self.extreme, -1),
            "atan2": self.atan2,
            "acos": partial(self.inside, self.arb.acos, {1: _ZERO[1]}),
            "asin": partial(self.inside, self.arb.asin, {}),
            "atanh": partial(self.inside, self.arb.atanh, {1: _INFINITY[1], -1: _INFINITY[-1]}),
            "acosh": self.acosh,
            "asinh": partial(self.odd, self.arb.asinh, lambda sign: _INFINITY[sign]),
            "atan": partial(self.odd, self.arb.atan, lambda sign: self.signed(sign, self.arb.pi() / 2)),
            "erf": partial(self.odd, self.arb.erf, lambda sign: _of_number(sign)),
            "expm1": partial(self.odd, self.arb.expm1, lambda sign: _INFINITY[1] if sign > 0 else _of_number(-1)),
            "sin": partial(self.odd, self.arb.sin, lambda sign: _NAN),
            "sinh": partial(self.odd, self.arb.sinh, lambda sign: _INFINITY[sign]),
            "tan": partial(self.odd, self.arb.tan, lambda sign: _NAN),
            "tanh": partial(self.odd, self.arb.tanh, lambda sign: _of_number(sign)),
            "cos": partial(self.other, self.arb.cos, 0, _of_number(1), _NAN, _NAN),
            "cosh": partial(self.other, self.arb.cosh, 1, _of_number(1), _INFINITY[1], _INFINITY[1]),
            "exp": partial(self.other, self.arb.exp, 1, _of_number(1), _ZERO[1], _INFINITY[1]),
            "erfc": partial(self.other, self.arb.erfc, 1, _of_number(1), _of_number(2), _ZERO[1]),
            "logistic": partial(
                self.other, lambda x: 1 / (1 + (-x).exp()), 1, _of_number(Fraction(1, 2)), _ZERO[1], _of_number(1)
            ),
            "normal_tail": partial(
                self.other,
                lambda x: (x / self.arb(2).sqrt()).erfc() / 2,
                1,
                _of_number(Fraction(1, 2)),
                _of_number(1),
                _ZERO[1],
            ),
            "log": self.log,
            "log1p": self.log1p,
        }
        for name, near in _NEAR_ZERO.items():
            self.table[name] = partial(self.near_zero, self.table[name], near)

    # ---- what has to be decided

    def settled(self, value: Value) -> Value:
        """At the last precision a ball is a number: what may be zero is, what has no bound is infinite."""
        if not self.is_last or value.kind != "ball":
            return value
        ball = value.ball
        if not ball.is_finite():
            if value.sign:
                return _INFINITY[value.sign]
            raise UnsupportedError(f"exact results: a step of the formula is undecided with {BITS} bits")
        return _ZERO[value.sign or 1] if ball.contains(0) else value

    def sign(self, value: Value) -> int:
        """1 or -1; of NaN 1."""
        if value.sign or value.kind == "nan":
            return value.sign or 1
        raise _Undecided

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
        x, y = _ball(a), _ball(b)
        if x.is_finite() and y.is_finite():
            if x > y:
                return 1
            if x < y:
                return -1
        if self.is_last:
            return 0
        raise _Undecided

    # ---- arithmetic

    def negate(self, a: Value) -> Value:
        if a.kind == "zero":
            return _ZERO[-a.sign]
        if a.kind == "infinity":
            return _INFINITY[-a.sign]
        if a.kind == "fraction":
            return Value("fraction", -a.sign, fraction=-a.fraction)
        return a if a.kind == "nan" else Value("ball", -a.sign, ball=-a.ball, beside=_scaled(a, -1))

    def signed(self, sign: int, ball: Any) -> Value:
        return _of_ball(ball if sign > 0 else -ball)

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
        return _of_ball(_ball(a) + _ball(b), a.sign if a.sign == b.sign else 0, beside)

    def beside_sum(self, a: Value, b: Value) -> tuple[Any, int] | None:
        """Beside which fraction a sum is: of a fraction and a number with a sign, and of two beside fractions."""
        p, q = _beside(a), _beside(b)
        if p and q and p[1] * q[1] >= 0:
            return p[0] + q[0], p[1] or q[1]
        return (p[0], b.sign) if p and b.sign and p[1] * b.sign >= 0 else None

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
        beside = _scaled(a, b.fraction) if b.kind == "fraction" else None
        beside = _scaled(b, a.fraction) if a.kind == "fraction" else beside
        return _of_ball(_ball(a) * _ball(b), a.sign * b.sign, beside)

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
        return _of_ball(
            _ball(a) / _ball(b), a.sign * b.sign, _scaled(a, 1 / b.fraction) if b.kind == "fraction" else None
        )

    def square_root(self, a: Value) -> Value:
        if a.kind in ("nan", "zero"):
            return a
        if self.sign(a) < 0:
            return _NAN
        if a.kind == "infinity":
            return a
        if a.kind == "fraction":
            root = self.exact_root(a.fraction, 2)
            if root is not None:
                return _of_fraction(root)
        return _of_ball(_ball(a).sqrt(), 1)

    def exact_root(self, q: Any, degree: int) -> Any:
        """The root of a positive fraction, if that is one; else None."""
        roots = []
        for n in (int(q.p), int(q.q)):
            root = math.isqrt(n) if degree == 2 else _integer_root(n, degree)
            if root**degree != n:
                return None
            roots.append(root)
        return self.fmpq(*roots)

    def whole(self, function: Callable[[int, int], int], a: Value) -> Value:
        """Round to an integer. What becomes 0 keeps its sign."""
        if a.kind in ("nan", "infinity", "zero"):
            return a
        if a.kind == "fraction":
            n = function(int(a.fraction.p), int(a.fraction.q))
            return _of_number(n) if n else _ZERO[a.sign]
        if not a.ball.is_finite():
            raise _Undecided
        ends = [_mantissa(end) for end in (a.ball.lower(), a.ball.upper())]
        if any(m.bit_length() + e > _LONGEST for m, e in ends):
            return _of_ball(a.ball + self.arb(0, 1), a.sign)
        low, high = (function(*_ratio(m, e)) for m, e in ends)
        if low != high and not self.is_last:
            raise _Undecided
        return _of_number(high) if high else _ZERO[self.sign(a)]

    def remainder(self, a: Value, b: Value) -> Value:
        if "nan" in (a.kind, b.kind) or a.kind == "infinity" or b.kind == "zero":
            return _NAN
        if b.kind == "infinity" or a.kind == "zero":
            return a
        quotient = self.table["truncate"](self.divide(a, b))
        rest = self.add(a, self.negate(self.multiply(quotient, b)))
        return _ZERO[self.sign(a)] if rest.kind == "zero" else rest

    def quotient(self, a: Value, b: Value) -> Value:
        return _ZERO[1] if b.kind == "zero" else self.table["truncate"](self.divide(a, b))

    def power(self, a: Value, b: Value) -> Value:
        one = _of_number(1)
        if b.kind == "zero" or self.is_one(a):
            return one
        if "nan" in (a.kind, b.kind):
            return _NAN
        is_negative, size = self.sign(a) < 0, self.table["absolute"](a)
        if b.kind == "infinity":
            order = self.compare(size, one)
            return one if order == 0 else _INFINITY[1] if order == b.sign else _ZERO[1]
        is_whole = b.kind == "fraction" and int(b.fraction.q) == 1
        if b.kind == "ball" and is_negative and not self.is_last:
            raise _Undecided  # whether it is an integer
        if is_negative and not is_whole and a.kind not in ("zero", "infinity"):
            return _NAN
        sign = -1 if is_negative and is_whole and int(b.fraction.p) % 2 else 1
        if a.kind in ("zero", "infinity"):
            return _INFINITY[sign] if (a.kind == "zero") == (self.sign(b) < 0) else _ZERO[sign]
        if size.kind == b.kind == "fraction":
            found = self.exact_power(size.fraction, b.fraction)
            if found is not None:
                return _of_fraction(sign * found)
        return _of_ball(sign * (_ball(b) * _ball(size).log()).exp(), sign)

    def exact_power(self, base: Any, exponent: Any) -> Any:
        """A positive fraction to the power of a fraction, if that is one of not too many bits; else None."""
        degree, times = int(exponent.q), int(exponent.p)
        if degree > 1:
            # A fraction that is no power of its own has no root of a high degree.
            base = self.exact_root(base, degree) if degree <= base.height_bits() else None
        if base is None or base.height_bits() * abs(times) > _LONGEST:
            return None
        return base**times

    def is_one(self, a: Value) -> bool:
        return a.kind == "fraction" and bool(a.fraction == 1)

    def integer_power(self, a: Value, b: Value) -> Value:
        base, exponent = _whole(a), _whole(b)
        if exponent >= 0:
            return _of_number(pow(base, exponent, 2**64))
        return _of_number(1 if base == 1 or (base == -1 and exponent % 2 == 0) else -1 if base == -1 else 0)

    def bits_or_truth(self, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        return bool(function(int(a), int(b))) if isinstance(a, bool) else _of_number(function(_whole(a), _whole(b)))

    def extreme(self, wanted: int, a: Value, b: Value) -> Value:
        if "nan" in (a.kind, b.kind):
            return _NAN
        if a.kind == b.kind == "zero":
            return a if a.sign == wanted else b
        return b if self.compare(a, b) == -wanted else a

    # ---- functions. A ball is given where the result is no fraction.

    def odd(self, function: Callable[[Any], Any], at_infinity: Callable[[int], Value], a: Value) -> Value:
        """Functions that are 0 at 0. The sign is that of the operand but of sine and tangent."""
        if a.kind in ("nan", "zero"):
            return a
        if a.kind == "infinity":
            return at_infinity(a.sign)
        is_periodic = function in (self.arb.sin, self.arb.tan)
        limit = at_infinity(a.sign) if a.sign else _NAN
        beside = (limit.fraction, -limit.sign) if limit.kind == "fraction" else None
        return _of_ball(function(_ball(a)), 0 if is_periodic else a.sign, beside)

    def other(
        self, function: Callable[[Any], Any], sign: int, at_zero: Value, below: Value, above: Value, a: Value
    ) -> Value:
        """Functions with other values at zero and at the infinities; ``sign`` where they have one."""
        if a.kind == "nan":
            return a
        if a.kind == "zero":
            return at_zero
        if a.kind == "infinity":
            return above if a.sign > 0 else below
        # Those whose limit is a fraction stay below it.
        limit = (below if a.sign < 0 else above) if a.sign else _NAN
        beside = (limit.fraction, -1) if limit.kind == "fraction" else None
        return _of_ball(function(_ball(a)), sign, beside)

    def near_zero(
        self, function: Callable[[Value], Value], near: Callable[[Any, int], tuple[Any, int]], a: Value
    ) -> Value:
        """A function of a fraction that is not large: beside which fraction the value is."""
        value = function(a)
        if value.kind == "ball" and a.kind == "fraction" and abs(a.fraction) <= 1:
            fraction, side = near(a.fraction, a.sign)
            value = _of_ball(value.ball, value.sign, (self.fmpq(fraction), side))
        return value

    def inside(self, function: Callable[[Any], Any], at_ends: Mapping[int, Value], a: Value) -> Value:
        """Functions of what is between -1 and 1."""
        if a.kind == "nan":
            return a
        for end in (1, -1):
            order = self.compare(a, _of_number(end))
            if order == end:
                return _NAN
            if order == 0 and end in at_ends:
                return at_ends[end]
        is_odd = function != self.arb.acos
        if is_odd and a.kind == "zero":
            return a
        return _of_ball(function(_ball(a)), a.sign if is_odd else 1)

    def acosh(self, a: Value) -> Value:
        order = self.compare(a, _of_number(1))
        if order in (None, -1):
            return _NAN
        if order == 0:
            return _ZERO[1]
        return a if a.kind == "infinity" else _of_ball(_ball(a).acosh(), 1)

    def log(self, a: Value) -> Value:
        if a.kind == "zero":
            return _INFINITY[-1]
        if a.kind == "nan" or self.sign(a) < 0:
            return _NAN
        if self.is_one(a):
            return _ZERO[1]
        return a if a.kind == "infinity" else _of_ball(_ball(a).log())

    def log1p(self, a: Value) -> Value:
        if a.kind in ("zero", "nan"):
            return a
        order = self.compare(a, _of_number(-1))
        if order == -1:
            return _NAN
        if order == 0:
            return _INFINITY[-1]
        return a if a.kind == "infinity" else _of_ball(_ball(a).log1p(), a.sign)

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
        return _of_ball(self.arb.atan2(_ball(a), _ball(b)), sign)


def _integer_root(n: int, degree: int) -> int:
    """The integer part of a root."""
    low, high = 0, 1 << (n.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**degree <= n:
            low = middle
        else:
            high = middle - 1
    return low


# ---- evaluation


def _evaluate(root: Expression, leaf: Callable[[Expression], Any], rules: _Rules) -> Any:
    """The value of a graph. Of a `select` only the branch that is taken is looked at."""
    values: dict[Expression, Any] = {}
    stack = [root]
    while stack:
        current = stack[-1]
        if current in values:
            stack.pop()
            continue
        if not current.operands:
            values[current] = leaf(current)
            continue
        wanted: Sequence[Expression] = current.operands
        if current.operation == "select":
            condition = current.operands[0]
            if condition in values:
                wanted = [condition, current.operands[1 if values[condition] else 2]]
            else:
                wanted = [condition]
        missing = [operand for operand in wanted if operand not in values]
        if missing:
            stack.extend(reversed(missing))
        elif current.operation == "select":
            if len(wanted) == 2:
                values[current] = values[wanted[1]]
        else:
            rule = rules.table.get(current.operation)
            if rule is None:
                raise UnsupportedError(f"exact results: there is no rule for {current.operation}")
            value = rule(*(values[operand] for operand in wanted))
            values[current] = value if isinstance(value, bool) else rules.settled(value)
    return values[root]


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

    Raises MissingPackageError without python-flint, UnsupportedError for formulas of rows.
    """

    def leaf(current: Expression) -> Any:
        if current.operation == "input":
            value = inputs[current.attribute]
            return bool(value) if current.format is Format.TRUTH else _of_number(value)
        if current.operation == "parameter":
            return _of_number(parameters[current.attribute[1]])
        if current.operation != "constant":
            raise UnsupportedError(f"exact results: there is no rule for {current.operation}")
        return bool(current.attribute) if current.format is Format.TRUTH else _of_number(current.attribute)

    context = _flint().ctx
    with _lock:
        before = context.prec
        try:
            context.prec = _FIRST_BITS
            while True:
                is_last = context.prec >= BITS
                try:
                    found = _evaluate(root, leaf, _rules(is_last, bits))
                    return _rounded(found, kind, modular, is_last), not is_last
                except _Undecided:
                    if is_last:
                        raise UnsupportedError(
                            f"exact results: a step of the formula is undecided with {BITS} bits"
                        ) from None
                    context.prec *= 2
        finally:
            context.prec = before


@cache
def _rules(is_last: bool, bits: int) -> _Rules:
    return _Rules(is_last, bits)


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
    precision, largest = FLOATS[kind]
    size = abs(n)
    exponent = size.bit_length() - d.bit_length()
    if (size << max(-exponent, 0)) < (d << max(exponent, 0)):
        exponent -= 1
    shift = max(exponent, 1 - largest) - precision + 1  # of the last place
    whole, rest = divmod(size << max(-shift, 0), d << max(shift, 0))
    half = 2 * rest - (d << max(shift, 0))
    whole += half > 0 or (half == 0 and whole % 2)
    is_infinite = whole.bit_length() + shift > largest + 1
    return math.copysign(math.inf if is_infinite else math.ldexp(whole, shift), 1 if n > 0 else -1)


def _rounded(value: Any, kind: ElementType, modular: bool, is_last: bool) -> float | int:
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
    if not value.ball.is_finite():
        raise _Undecided
    ends = [_mantissa(end) for end in (value.ball.lower(), value.ball.upper())]
    if value.ball.contains(0):
        if not value.sign:
            raise _Undecided
        ends[0 if value.sign > 0 else 1] = (0, 0)
    if modular and not kind.is_float:
        raise UnsupportedError("exact results: a formula modulo 2**bits has a value that is no fraction")
    low, high = (_of_end(m, e, value.sign, kind) for m, e in ends)
    if value.beside and low != high:
        # Between the fraction and the ball's end on that side.
        fraction, side = value.beside
        limit = _of_side(int(fraction.p), int(fraction.q), side, kind)
        low, high = (limit, high) if side > 0 else (low, limit)
    if low == high:
        return low
    if not is_last:
        raise _Undecided
    return _tied(low, high, kind)


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
    """What is beside a fraction, nearer to it than any other number."""
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
        return low if math.isinf(low) else high  # the last bit of the largest number is set
    middle = (Fraction(low) + Fraction(high)) / 2
    return nearest(middle.numerator, middle.denominator, kind.name) if middle else 0.0
