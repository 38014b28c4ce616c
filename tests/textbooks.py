"""Formulas as people write them, from textbooks of statistics, physics, finance, geometry and of networks, and a judge of them.

Each formula is a function of a vocabulary `m` and of numbers, so that `ogive.formula` and balls of Arb both evaluate it.
The judge shares nothing with Ogive: it evaluates in Arb with more and more bits, and rounds both ends of a ball by hand.
Literals such as 0.044715 are the numbers that Python makes of them, on both sides.

    python -m tests.textbooks --count 400

judges all formulas, plain and in guards, in the exact types, and prints how many results are wrong.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

__all__ = ["TEXTBOOKS", "Judged", "Textbook", "judged", "operands", "right"]

PI, ROOT_2, ROOT_2_PI = math.pi, math.sqrt(2.0), math.sqrt(2 * math.pi)


class Textbook(NamedTuple):
    """One formula: of a vocabulary and of numbers, which lie in these domains."""

    formula: Callable[..., Any]
    domains: tuple[str, ...] = ("real",)


def _(formula: Callable[..., Any], *domains: str) -> Textbook:
    return Textbook(formula, domains or ("real",))


#: Black and Scholes: the call's d1 of price and strike, of one year at 5 % with a volatility of 20 %.
def _d1(m: Any, price: Any, strike: Any) -> Any:
    return (m.log(price / strike) + (0.05 + 0.2 * 0.2 / 2)) / 0.2


def _normal(m: Any, x: Any) -> Any:
    return 0.5 * (1 + m.erf(x / ROOT_2))


TEXTBOOKS: dict[str, Textbook] = {
    # ---- networks
    "sigmoid": _(lambda m, x: 1 / (1 + m.exp(-x))),
    "sigmoid by quotient": _(lambda m, x: m.exp(x) / (m.exp(x) + 1), "moderate"),
    "tanh by exponentials": _(lambda m, x: (m.exp(x) - m.exp(-x)) / (m.exp(x) + m.exp(-x)), "moderate"),
    "silu": _(lambda m, x: x / (1 + m.exp(-x))),
    "gelu by erf": _(lambda m, x: 0.5 * x * (1 + m.erf(x / ROOT_2))),
    "gelu by tanh": _(lambda m, x: 0.5 * x * (1 + m.tanh(math.sqrt(2 / PI) * (x + 0.044715 * x**3)))),
    "gelu by sigmoid": _(lambda m, x: x / (1 + m.exp(-1.702 * x))),
    "softplus": _(lambda m, x: m.log(1 + m.exp(x)), "moderate"),
    "softplus without overflow": _(lambda m, x: m.maximum(x, 0) + m.log1p(m.exp(-m.absolute(x)))),
    "mish": _(lambda m, x: x * m.tanh(m.log1p(m.exp(x))), "moderate"),
    "phish": _(lambda m, x: x * m.tanh(0.5 * x * (1 + m.erf(x / ROOT_2)))),
    "elu": _(lambda m, x: m.where(x > 0, x, m.exp(x) - 1), "moderate"),
    "selu": _(lambda m, x: 1.0507 * m.where(x > 0, x, 1.67326 * (m.exp(x) - 1)), "moderate"),
    "softsign": _(lambda m, x: x / (1 + m.absolute(x))),
    "tanhshrink": _(lambda m, x: x - m.tanh(x)),
    "softclip": _(lambda m, x: m.log((1 + m.exp(2 * x)) / (1 + m.exp(2 * (x - 1)))) / 2, "moderate"),
    "snake": _(lambda m, x: x + m.sin(x) ** 2),
    "squareplus": _(lambda m, x: (x + m.sqrt(x * x + 4)) / 2),
    "log-sigmoid": _(lambda m, x: -m.log(1 + m.exp(-x)), "moderate"),
    "lisht": _(lambda m, x: x * m.tanh(x)),
    "bent identity": _(lambda m, x: (m.sqrt(x * x + 1) - 1) / 2 + x),
    "gaussian": _(lambda m, x: m.exp(-(x**2))),
    "derivative of sigmoid": _(lambda m, x: m.exp(-x) / (1 + m.exp(-x)) ** 2, "moderate"),
    "swiglu": _(lambda m, x, y: x / (1 + m.exp(-x)) * y, "real", "real"),
    "binary cross entropy": _(lambda m, x, y: -(y * m.log(x) + (1 - y) * m.log(1 - x)), "unit", "unit"),
    "cross entropy of a logit": _(
        lambda m, x, y: m.maximum(x, 0) - x * y + m.log1p(m.exp(-m.absolute(x))), "real", "unit"
    ),
    "huber": _(lambda m, x: m.where(m.absolute(x) < 1, x * x / 2, m.absolute(x) - 0.5)),
    "log-cosh": _(lambda m, x: m.log(m.cosh(x)), "moderate"),
    "focal": _(lambda m, x: -((1 - x) ** 2) * m.log(x), "unit"),
    # ---- statistics
    "normal density": _(lambda m, x: m.exp(-x * x / 2) / ROOT_2_PI),
    "normal distribution": _(_normal),
    "tail of the normal distribution": _(lambda m, x: m.erfc(x / ROOT_2) / 2),
    "logit": _(lambda m, x: m.log(x / (1 - x)), "unit"),
    "entropy of a coin": _(lambda m, x: -x * m.log(x) - (1 - x) * m.log(1 - x), "unit"),
    "divergence of two coins": _(lambda m, x, y: x * m.log(x / y) + (1 - x) * m.log((1 - x) / (1 - y)), "unit", "unit"),
    "Cauchy density": _(lambda m, x: 1 / (PI * (1 + x * x))),
    "Cauchy distribution": _(lambda m, x: m.atan(x) / PI + 0.5),
    "Rayleigh density": _(lambda m, x: x * m.exp(-x * x / 2), "positive"),
    "Maxwell density": _(lambda m, x: math.sqrt(2 / PI) * x * x * m.exp(-x * x / 2), "positive"),
    "Weibull distribution": _(lambda m, x: 1 - m.exp(-((x / 2) ** 1.5)), "positive"),
    "Gumbel density": _(lambda m, x: m.exp(-(x + m.exp(-x))), "moderate"),
    "Gompertz growth": _(lambda m, x: 2 * m.exp(-3 * m.exp(-0.7 * x)), "moderate"),
    "Laplace density": _(lambda m, x: m.exp(-m.absolute(x)) / 2),
    "logistic density": _(lambda m, x: 1 / (4 * m.cosh(x / 2) ** 2), "moderate"),
    "Student density": _(lambda m, x: 0.375 * (1 + x * x / 4) ** -2.5),
    "log-normal density": _(lambda m, x: m.exp(-(m.log(x) ** 2) / 2) / (x * ROOT_2_PI), "positive"),
    "Box-Cox": _(lambda m, x: (x**0.3 - 1) / 0.3, "positive"),
    "Fisher's z": _(lambda m, x: m.log((1 + x) / (1 - x)) / 2, "unit"),
    "variance-stabilised share": _(lambda m, x: m.asin(m.sqrt(x)), "unit"),
    # ---- physics
    "Planck": _(lambda m, x: x**3 / (m.exp(x) - 1), "positive"),
    "Bose-Einstein": _(lambda m, x: 1 / (m.exp(x) - 1), "positive"),
    "Fermi-Dirac": _(lambda m, x: 1 / (m.exp((x - 1) / 0.1) + 1), "moderate"),
    "Einstein's heat capacity": _(lambda m, x: x**2 * m.exp(x) / (m.exp(x) - 1) ** 2, "small positive"),
    "Langevin": _(lambda m, x: 1 / m.tanh(x) - 1 / x, "positive"),
    "Brillouin of a half": _(lambda m, x: 2 / m.tanh(2 * x) - 1 / m.tanh(x), "positive"),
    "Morse": _(lambda m, x: 4.5 * (1 - m.exp(-1.9 * (x - 0.74))) ** 2, "moderate"),
    "Lennard-Jones": _(lambda m, x: 4 * ((1 / x) ** 12 - (1 / x) ** 6), "positive"),
    "Yukawa": _(lambda m, x: -m.exp(-x) / x, "positive"),
    "relativistic gamma": _(lambda m, x: 1 / m.sqrt(1 - x * x), "unit"),
    "relativistic kinetic energy": _(lambda m, x: 1 / m.sqrt(1 - x * x) - 1, "unit"),
    "relativistic sum of speeds": _(lambda m, x, y: (x + y) / (1 + x * y), "unit", "unit"),
    "damped oscillation": _(lambda m, x: m.exp(-0.1 * x) * m.cos(2 * x), "small positive"),
    "Arrhenius": _(lambda m, x: 1e13 * m.exp(-8000 / x), "positive"),
    "decay": _(lambda m, x: 100 * 2 ** (-x / 5.27), "positive"),
    "Gaussian beam": _(lambda m, x: m.sqrt(1 + (x / 2.5) ** 2)),
    "resonance": _(lambda m, x: 1 / m.sqrt((1 - x * x) ** 2 + (0.1 * x) ** 2)),
    "Michaelis-Menten": _(lambda m, x: 3 * x / (0.7 + x), "positive"),
    "Debye-Hueckel": _(lambda m, x: 10 ** (-0.509 * m.sqrt(x) / (1 + m.sqrt(x))), "positive"),
    "Nernst": _(lambda m, x, y: 0.0257 * m.log(x / y), "positive", "positive"),
    # ---- finance
    "Black-Scholes d1": _(_d1, "positive", "positive"),
    "Black-Scholes call": _(
        lambda m, s, k: s * _normal(m, _d1(m, s, k)) - k * math.exp(-0.05) * _normal(m, _d1(m, s, k) - 0.2),
        "price",
        "price",
    ),
    "compound interest": _(lambda m, x: 1000 * (1 + x) ** 30, "unit"),
    "annuity": _(lambda m, x: (1 - (1 + x) ** -30.0) / x, "unit"),
    "doubling time": _(lambda m, x: m.log(2.0) / m.log(1 + x), "unit"),
    # ---- geometry, sound and signals
    "hypotenuse": _(lambda m, x, y: m.sqrt(x * x + y * y), "real", "real"),
    "law of cosines": _(lambda m, x, y: m.sqrt(x * x + y * y - 2 * x * y * m.cos(1.0)), "real", "real"),
    "angle": _(lambda m, x, y: m.atan2(y, x), "real", "real"),
    "haversine": _(
        lambda m, x, y: 2 * m.asin(m.sqrt(m.sin((x - y) / 2) ** 2 + m.cos(x) * m.cos(y) * 0.25)), "unit", "unit"
    ),
    "sinc": _(lambda m, x: m.sin(PI * x) / (PI * x)),
    "versine": _(lambda m, x: 1 - m.cos(x)),
    "chord": _(lambda m, x: 2 * m.sin(x / 2)),
    "Gudermannian": _(lambda m, x: 2 * m.atan(m.tanh(x / 2))),
    "inverse Gudermannian": _(lambda m, x: m.log(m.tan(x / 2 + PI / 4)), "unit"),
    "volume of a cap": _(lambda m, x: PI * x * x * (3 - x) / 3, "unit"),
    "radians of degrees": _(lambda m, x: m.sin(x * PI / 180)),
    "decibels": _(lambda m, x: 20 * m.log10(x), "positive"),
    "mel": _(lambda m, x: 2595 * m.log10(1 + x / 700), "positive"),
    "sRGB": _(lambda m, x: m.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055), "unit"),
    "mu-law": _(lambda m, x: m.log(1 + 255 * x) / math.log(256.0), "unit"),
    "Hann window": _(lambda m, x: 0.5 - 0.5 * m.cos(2 * PI * x), "unit"),
    "difference of roots": _(lambda m, x: m.sqrt(x + 1) - m.sqrt(x), "positive"),
    "(1 - cos x) / x**2": _(lambda m, x: (1 - m.cos(x)) / x**2),
    "third term of the exponential": _(lambda m, x: (m.exp(x) - 1 - x - x * x / 2) / x**3, "moderate"),
}


def operands(name: str, dtype: Any, count: int, seed: int = 0) -> list[np.ndarray]:
    """Numbers of the formula's domains: ordinary ones, tiny and large ones."""
    generator = np.random.default_rng(seed)
    found = []
    for domain in TEXTBOOKS[name].domains:
        ordinary, wide = generator.normal(0, 3, count), 10.0 ** generator.uniform(-12, 12, count)
        signs = generator.choice([-1.0, 1.0], count)
        share = generator.random(count)
        values = {
            "real": np.where(share < 0.7, ordinary, signs * wide),
            "moderate": np.where(share < 0.7, ordinary, signs * 10.0 ** generator.uniform(-12, 2.5, count)),
            "positive": np.where(share < 0.7, np.abs(ordinary), wide),
            "small positive": np.where(share < 0.7, np.abs(ordinary), 10.0 ** generator.uniform(-6, 2, count)),
            "price": np.exp(generator.normal(4, 0.5, count)),
            "unit": np.where(share < 0.7, generator.random(count), 10.0 ** generator.uniform(-12, 0, count)),
        }[domain]
        with np.errstate(all="ignore"):
            given = values.astype(dtype)
        is_inside = np.isfinite(given) & (given != 0) & ((domain != "unit") | (given < 1))
        found.append(np.where(is_inside, given, given.dtype.type(0.375)))
    return found


# ---- the judge


class Undecided(Exception):
    """More bits are needed."""


class _Ball:
    """A ball of Arb with comparisons that are certain."""

    def __init__(self, ball: Any) -> None:
        self.ball = ball

    @staticmethod
    def of(value: Any) -> Any:
        import flint

        if isinstance(value, _Ball):
            return value.ball
        return flint.arb(flint.fmpq(*value.as_integer_ratio()))

    def __neg__(self) -> _Ball:
        return _Ball(-self.ball)

    def __add__(self, other: Any) -> _Ball:
        return _Ball(self.ball + self.of(other))

    def __sub__(self, other: Any) -> _Ball:
        return _Ball(self.ball - self.of(other))

    def __rsub__(self, other: Any) -> _Ball:
        return _Ball(self.of(other) - self.ball)

    def __mul__(self, other: Any) -> _Ball:
        return _Ball(self.ball * self.of(other))

    def __truediv__(self, other: Any) -> _Ball:
        return _Ball(self.ball / self.of(other))

    def __rtruediv__(self, other: Any) -> _Ball:
        return _Ball(self.of(other) / self.ball)

    def __pow__(self, other: Any) -> _Ball:
        return _Ball(self.ball**other) if isinstance(other, int) else _Ball(self.ball ** self.of(other))

    def __rpow__(self, other: Any) -> _Ball:
        return _Ball(self.of(other) ** self.ball)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Any) -> bool:
        a, b = self.ball, self.of(other)
        if a < b or a >= b:
            return bool(a < b)
        raise Undecided

    def __gt__(self, other: Any) -> bool:
        return _Ball(self.of(other)) < self

    def __le__(self, other: Any) -> bool:
        return not self > other


class _Balls:
    """The vocabulary of formulas in balls."""

    def __getattr__(self, name: str) -> Callable[..., _Ball]:
        method = {"log10": "log"}.get(name, name)

        def function(x: Any) -> _Ball:
            found = getattr(_Ball.of(x), method)()
            return _Ball(found / _Ball.of(10.0).log() if name == "log10" else found)

        return function

    def absolute(self, x: _Ball) -> _Ball:
        return _Ball(abs(x.ball))

    def where(self, condition: bool, a: Any, b: Any) -> _Ball:
        return _Ball(_Ball.of(a if condition else b))

    def maximum(self, a: Any, b: Any) -> _Ball:
        return _Ball(_Ball.of(a).max(_Ball.of(b)))

    def atan2(self, y: _Ball, x: _Ball) -> _Ball:
        return _Ball(y.ball.atan2(y.ball, x.ball))


#: Significant bits, and the largest exponent.
_FORMATS = {"float16": (11, 15), "bfloat16": (8, 127), "float32": (24, 127), "float64": (53, 1023)}

_BITS = (128, 320, 1000, 3000, 9000)


def _rounded(end: Any, dtype: str) -> float:
    """An end of a ball, to the nearest number, of two the even one."""
    m, e = (int(part) for part in end.man_exp())
    precision, largest = _FORMATS[dtype]
    if not m:
        return 0.0
    sign = 1 if m > 0 else -1
    exponent = m.bit_length() + e - 1
    if exponent > largest:
        return math.copysign(math.inf, sign)
    last = max(exponent, 1 - largest) - precision + 1
    if exponent < last - 2:
        return math.copysign(0.0, sign)
    steps = round(Fraction(m) * Fraction(2) ** (e - last))  # half to even
    number = Fraction(steps) * Fraction(2) ** last
    return (
        math.copysign(math.inf, sign)
        if abs(number) >= Fraction(2) ** (largest + 1)
        else math.copysign(float(number), sign)
    )


def right(name: str, numbers: tuple[float, ...], dtype: str) -> float | None:
    """The correctly rounded result; None where it is no finite number, or a tie that balls do not tell."""
    import flint

    before = flint.ctx.prec
    try:
        for flint.ctx.prec in _BITS:
            try:
                found = TEXTBOOKS[name].formula(_Balls(), *(_Ball(_Ball.of(x)) for x in numbers)).ball
            except Undecided:
                continue
            if not found.is_finite():
                continue
            ends = [_rounded(end, dtype) for end in (found.lower(), found.upper())]
            if ends[0] == ends[1] and (ends[0] or found.is_exact() or 0 not in found):
                return ends[0]
        return None
    finally:
        flint.ctx.prec = before


class Judged(NamedTuple):
    """Results that the judge has looked at."""

    right: int
    wrong: list[str]
    open: int
    """Results that are no finite number, or not told from a tie."""


def judged(name: str, dtype: str, compute: Callable[..., np.ndarray], arrays: list[np.ndarray]) -> Judged:
    """How many of a function's results are the correctly rounded ones."""
    with np.errstate(all="ignore"):
        results = compute(*arrays)
    count, unknown, wrong = 0, 0, []
    for numbers, result in zip(zip(*arrays, strict=True), results, strict=True):
        expected = right(name, tuple(map(float, numbers)), dtype)
        if expected is None:
            unknown += 1
        elif float(result) == expected:  # the sign of a zero that is exact is IEEE's, which balls do not have
            count += 1
        else:
            wrong.append(f"{name} {dtype} of {numbers}: {float(result)!r}, not {expected!r}")
    return Judged(count, wrong, unknown)


def _variants(name: str) -> Iterator[tuple[str, Callable[..., np.ndarray]]]:
    import ogive
    from ogive import formula as f
    from tests.cpu.test_guards import GUARDS

    formula = TEXTBOOKS[name].formula
    if len(TEXTBOOKS[name].domains) == 1:
        yield "plain", ogive.operator(lambda x: formula(f, x))
        for guard, guarded in GUARDS.items():
            yield guard, ogive.operator(lambda x: guarded(formula(f, x)))  # noqa: B023
    else:
        yield "plain", ogive.operator(lambda x, y: formula(f, x, y))
        for guard, guarded in GUARDS.items():
            yield guard, ogive.operator(lambda x, y: guarded(formula(f, x, y)))  # noqa: B023


def main() -> int:
    """Judge all formulas, and say how many results are wrong."""
    from ogive.common.dtypes import ELEMENT_TYPES

    parser = argparse.ArgumentParser(description="Judge formulas of textbooks by balls of Arb.")
    parser.add_argument("--count", type=int, default=400, help="results of each formula and type")
    parser.add_argument("--types", nargs="+", default=["float16", "bfloat16", "float32"])
    chosen = parser.parse_args()
    total = wrong = unknown = differing = 0
    for name in TEXTBOOKS:
        for dtype in chosen.types:
            arrays = operands(name, ELEMENT_TYPES[dtype].numpy, chosen.count)
            plain: np.ndarray | None = None
            for guard, compute in _variants(name):
                found = compute(*arrays)
                if plain is None:
                    plain, looked_at = found, judged(name, dtype, compute, arrays)
                    total, wrong, unknown = (
                        total + looked_at.right + len(looked_at.wrong),
                        wrong + len(looked_at.wrong),
                        unknown + looked_at.open,
                    )
                    for line in looked_at.wrong[:3]:
                        print(line)
                elif found.tobytes() != plain.tobytes():
                    differing += 1
                    print(f"{name} {dtype}: differs in the guard {guard}")
    print(
        f"{len(TEXTBOOKS)} formulas, {', '.join(chosen.types)}: {total:,} results judged, {wrong} wrong, {unknown} open"
    )
    print(f"{differing} results differ in a guard")
    return 1 if wrong or differing else 0


if __name__ == "__main__":
    sys.exit(main())
