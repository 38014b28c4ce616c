"""The partial derivatives of the length and of the angle of a point (a, b), of orders 1 to 3.

Each is ``a**m * b**n * P(a * a, b * b) / (a * a + b * b)**(e / 2)`` with a polynomial P. In this form a zero has the sign that the
derivative has next to it, and nothing cancels but beside a zero of P. Derivatives of sums of quotients would have neither.
At the origin all are 0. Where one coordinate is infinite they are their limits, and where both are, NaN.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

#: How many times by a and by b.
ORDERS = tuple((i, total - i) for total in (1, 2, 3) for i in range(total, -1, -1))

#: Powers of a and of b, and their coefficient.
Polynomial = dict[tuple[int, int], int]

#: Functions by their derivatives of first order: the numerator, and the power of the length below.
FIRST: dict[str, dict[tuple[int, int], tuple[Polynomial, int]]] = {
    "hypot": {(1, 0): ({(1, 0): 1}, 1), (0, 1): ({(0, 1): 1}, 1)},
    "angle": {(1, 0): ({(0, 1): 1}, 2), (0, 1): ({(1, 0): -1}, 2)},  # of the angle a is the sine's side
}


class Form(NamedTuple):
    """A derivative, as above."""

    m: int
    n: int
    polynomial: Polynomial
    """Powers of the squares."""
    e: int

    @property
    def falls(self) -> int:
        """The power of the point's distance by which the derivative falls."""
        degree = max(i + j for i, j in self.polynomial)
        return self.e - self.m - self.n - 2 * degree

    def over(self, a: Any, b: Any, number: Callable[[int], Any], multiply: Any, add: Any) -> Any:
        """The numerator in any arithmetic."""
        squares = multiply(a, a), multiply(b, b)
        total = None
        for powers, coefficient in self.polynomial.items():
            term = number(coefficient)
            for square, power in zip(squares, powers, strict=True):
                for _ in range(power):
                    term = multiply(term, square)
            total = term if total is None else add(total, term)
        for factor, power in ((a, self.m), (b, self.n)):
            for _ in range(power):
                total = multiply(total, factor)
        return total

    def size(self, a: Any, b: Any) -> Any:
        """The magnitude of the numerator's terms together."""
        terms = Form(self.m, self.n, {powers: abs(c) for powers, c in self.polynomial.items()}, self.e)
        return terms.over(abs(a), abs(b), float, operator.mul, operator.add)


@cache
def of_order(name: str, i: int, j: int) -> Form:
    """The derivative of a function by a and by b, so many times each."""
    numerator, e = _quotient(name, i, j)
    m, n = (min(powers[k] for powers in numerator) for k in (0, 1))
    m, n = m % 2, n % 2
    return Form(m, n, {((p - m) // 2, (q - n) // 2): c for (p, q), c in numerator.items()}, e)


def _quotient(name: str, i: int, j: int) -> tuple[Polynomial, int]:
    if i + j == 1:
        return FIRST[name][i, j]
    k = 0 if i else 1
    before, e = _quotient(name, i - (k == 0), j - (k == 1))
    found: Polynomial = {}
    for powers, c in before.items():
        # (N / h**e)' is (N' h**2 - e x N) / h**(e + 2).
        if powers[k]:
            _add(found, _raised(_raised(powers, k, -1), 0, 2), c * powers[k])
            _add(found, _raised(_raised(powers, k, -1), 1, 2), c * powers[k])
        _add(found, _raised(powers, k, 1), -e * c)
    return {powers: c for powers, c in found.items() if c}, e + 2


def _raised(powers: tuple[int, int], k: int, by: int) -> tuple[int, int]:
    return (powers[0] + by, powers[1]) if k == 0 else (powers[0], powers[1] + by)


def _add(terms: Polynomial, powers: tuple[int, int], c: int) -> None:
    terms[powers] = terms.get(powers, 0) + c


def enclosure(form: Form, e: Any, a: Any, b: Any) -> Any:
    """The derivative by the rules of enclosures."""
    kinds = a.kind, b.kind
    if "nan" in kinds or kinds == ("infinity", "infinity"):
        return e.nan
    if kinds == ("zero", "zero"):
        return e.zero[1]
    if "infinity" in kinds:
        p, q = (e.number(x.sign) if x.kind == "infinity" else e.zero[e.sign(x)] for x in (a, b))
        limit = form.over(p, q, e.number, e.multiply, e.add)
        return e.zero[limit.sign] if form.falls else limit
    square = e.add(e.multiply(a, a), e.multiply(b, b))
    under = e.square_root(square) if form.e % 2 else e.number(1)
    for _ in range(form.e // 2):
        under = e.multiply(under, square)
    return e.divide(form.over(a, b, e.number, e.multiply, e.add), under)


def exactly(form: Form, mp: Any, a: Any, b: Any) -> Any:
    """The derivative at a point of numbers of mpmath."""
    if mp.isnan(a) or mp.isnan(b) or (mp.isinf(a) and mp.isinf(b)):
        return mp.nan
    if mp.isinf(a) or mp.isinf(b):
        if form.falls:
            return mp.mpf(0)
        a, b = (mp.sign(x) if mp.isinf(x) else mp.mpf(0) for x in (a, b))
    if a == 0 and b == 0:
        return mp.mpf(0)
    return form.over(a, b, mp.mpf, operator.mul, operator.add) / mp.sqrt(a * a + b * b) ** form.e
