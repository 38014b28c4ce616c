"""Formulas drawn at random that compose the catalogue's operators and their derivatives, and a judge of them.

A formula is a tree. `formula_of` makes it of Ogive's operators. `right` evaluates it in balls of Arb, with more and more bits, and
rounds both ends by hand. The judge shares nothing with Ogive: each operator's definition stands here once more, as its docstring
states it, and derivatives follow from these definitions by dual numbers.

    python -m tests.compositions --seeds 0 100

judges formulas and gradients in float16, bfloat16, float32 and float64, by the code of each x86-64 level that this machine runs, and
prints how many results are wrong. `--record accuracy/compositions.csv` adds the counts to those of earlier runs
(`tests/composition_counts.py`), and `--totals` prints what these add up to.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive.backends import compiler

if TYPE_CHECKING:
    from tests import composition_counts

__all__ = ["Judged", "Skipped", "Tree", "formula_of", "grown", "judged", "operands", "right", "text"]

#: A node: the name of an operation, or "x0", "x1", "x2"; a constant is ("constant", value).
Tree = tuple[Any, ...]


class Undecided(Exception):
    """More bits are needed."""


class Skipped(Exception):
    """The judge does not say: a division by an exact zero, a kink, a number that no bits decide."""


# ---- numbers of the judge


class Ball:
    """A ball of Arb. What is not finite is undecided, or outside a domain."""

    __slots__ = ("ball",)

    def __init__(self, ball: Any) -> None:
        self.ball = ball

    def sign(self) -> int:
        """1, -1, or 0 of an exact zero."""
        if self.ball > 0:
            return 1
        if self.ball < 0:
            return -1
        if self.ball.is_exact():
            return 0
        raise Undecided

    def __neg__(self) -> Ball:
        return Ball(-self.ball)

    def __add__(self, other: Ball) -> Ball:
        return Ball(self.ball + other.ball)

    def __sub__(self, other: Ball) -> Ball:
        return Ball(self.ball - other.ball)

    def __mul__(self, other: Ball) -> Ball:
        return Ball(self.ball * other.ball)

    def __truediv__(self, other: Ball) -> Ball:
        if other.sign() == 0:
            raise Skipped("a division by zero")
        return Ball(self.ball / other.ball)


class Dual(NamedTuple):
    """A number and its derivative, which are balls or dual numbers themselves."""

    value: Any
    slope: Any

    def sign(self) -> int:
        found: int = self.value.sign()
        if found == 0:
            raise Skipped("a kink")
        return found

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __add__(self, other: Any) -> Dual:
        return Dual(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: Any) -> Dual:
        return Dual(self.value - other.value, self.slope - other.slope)

    def __mul__(self, other: Any) -> Dual:
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __truediv__(self, other: Any) -> Dual:
        quotient = self.value / other.value
        return Dual(quotient, (self.slope - quotient * other.slope) / other.value)


class Nan(Exception):
    """The value is NaN: an operand lies outside a domain."""


def _outside(u: Any) -> Exception:
    """Outside a function's domain; there its derivative, which may be a number, has no definition."""
    return Nan() if isinstance(u, Ball) else Skipped("outside a domain")


def _ball(value: Any) -> Any:
    import flint

    return flint.arb(flint.fmpq(*Fraction(value).as_integer_ratio()))


def as_like(number: Any, value: Any) -> Any:
    """A constant of the same kind of number."""
    if isinstance(number, Ball):
        return Ball(_ball(value) if not hasattr(value, "mid") else value)
    return Dual(as_like(number.value, value), as_like(number.slope, 0))


def _primitive(function: Callable[[Any], Any], slope: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function of balls, and its derivative in terms of the operand and the result."""

    def of(u: Any) -> Any:
        if isinstance(u, Ball):
            found = function(u.ball)
            if not found.is_finite():
                raise Undecided
            return Ball(found)
        value = of(u.value)
        return Dual(value, slope(u.value, value) * u.slope)

    return of


def c(u: Any, value: Any) -> Any:
    return as_like(u, value)


def _pi_like(u: Any) -> Any:
    import flint

    return as_like(u, flint.arb.pi())


exp = _primitive(lambda b: b.exp(), lambda u, v: v)
expm1 = _primitive(lambda b: b.expm1(), lambda u, v: v + c(v, 1))
sin = _primitive(lambda b: b.sin(), lambda u, v: cos(u))
cos = _primitive(lambda b: b.cos(), lambda u, v: -sin(u))
tan = _primitive(lambda b: b.tan(), lambda u, v: c(v, 1) + v * v)
atan = _primitive(lambda b: b.atan(), lambda u, v: c(u, 1) / (c(u, 1) + u * u))
sinh = _primitive(lambda b: b.sinh(), lambda u, v: cosh(u))
cosh = _primitive(lambda b: b.cosh(), lambda u, v: sinh(u))
tanh = _primitive(lambda b: b.tanh(), lambda u, v: c(u, 1) / (cosh(u) * cosh(u)))
asinh = _primitive(lambda b: b.asinh(), lambda u, v: c(u, 1) / sqrt(c(u, 1) + u * u))
_raw_log = _primitive(lambda b: b.log(), lambda u, v: c(u, 1) / u)
_raw_sqrt = _primitive(lambda b: b.sqrt(), lambda u, v: c(u, Fraction(1, 2)) / v)
_raw_asin = _primitive(lambda b: b.asin(), lambda u, v: c(u, 1) / sqrt(c(u, 1) - u * u))
_raw_log1p = _primitive(lambda b: b.log1p(), lambda u, v: c(u, 1) / (c(u, 1) + u))
_raw_root = _primitive(lambda b: b.root(3), lambda u, v: c(u, Fraction(1, 3)) / (v * v))


def _gauss(u: Any) -> Any:
    """2 / sqrt(pi) exp(-u**2)."""
    return c(u, 2) / _raw_sqrt(_pi_like(u)) * exp(-(u * u))


erf = _primitive(lambda b: b.erf(), lambda u, v: _gauss(u))
erfc = _primitive(lambda b: b.erfc(), lambda u, v: -_gauss(u))


def log(u: Any) -> Any:
    sign = u.sign()
    if sign == 0:
        raise Skipped("the logarithm of zero")
    if sign < 0:
        raise _outside(u)
    return _raw_log(u)


def log1p(u: Any) -> Any:
    sign = (u + c(u, 1)).sign()
    if sign == 0:
        raise Skipped("the logarithm of zero")
    if sign < 0:
        raise _outside(u)
    return _raw_log1p(u)


def sqrt(u: Any) -> Any:
    sign = u.sign()
    if sign < 0:
        raise _outside(u)
    return _raw_sqrt(u) if sign else u


def asin(u: Any) -> Any:
    side = (absolute(u) - c(u, 1)).sign()
    if side > 0:
        raise _outside(u)
    if side == 0:
        raise Skipped("the end of a domain")
    return _raw_asin(u)


def acos(u: Any) -> Any:
    return _pi_like(u) / c(u, 2) - asin(u)


def atanh(u: Any) -> Any:
    side = (absolute(u) - c(u, 1)).sign()
    if side > 0:
        raise _outside(u)
    return log((c(u, 1) + u) / (c(u, 1) - u)) / c(u, 2)


def acosh(u: Any) -> Any:
    side = (u - c(u, 1)).sign()
    if side < 0:
        raise _outside(u)
    return log(u + sqrt(u * u - c(u, 1))) if side else u - c(u, 1)


def absolute(u: Any) -> Any:
    return -u if _sign(u) < 0 else u


def _sign(u: Any) -> int:
    """0 of balls for an exact zero; there dual numbers have a kink."""
    found: int = u.sign()
    return found


def less(a: Any, b: Any) -> bool:
    """Skipped where numbers with derivatives are equal: branches meet there."""
    return bool((a - b).sign() < 0)


def where(condition: bool, a: Any, b: Any) -> Any:
    return a if condition else b


def larger(a: Any, b: Any) -> Any:
    return b if less(a, b) else a


def smaller(a: Any, b: Any) -> Any:
    return b if less(b, a) else a


def cbrt(u: Any) -> Any:
    sign = u.sign()
    if sign == 0:
        return u
    return -_raw_root(-u) if sign < 0 else _raw_root(u)


def _to_integer(kind: str) -> Callable[[Any], Any]:
    def of(u: Any) -> Any:
        if isinstance(u, Dual):
            return Dual(of(u.value), as_like(u.slope, 0))
        low, high = (_integer(kind, end) for end in (u.ball.lower(), u.ball.upper()))
        if low != high:
            raise Undecided
        return Ball(_ball(low))

    return of


def _fraction(end: Any) -> Fraction:
    m, e = end.man_exp()
    m, e = int(m), int(e)
    if m and m.bit_length() + e > 40_000:
        raise Skipped("too large a number")
    if m and m.bit_length() + e < -40_000:
        return Fraction(1 if m > 0 else -1, 1 << 40_000)
    return Fraction(m * 2**e) if e >= 0 else Fraction(m, 1 << -e)


def _integer(kind: str, end: Any) -> int:
    q = _fraction(end)
    return {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "rint": round}[kind](q)


floor, ceil, trunc, rint = map(_to_integer, ("floor", "ceil", "trunc", "rint"))


def fmod(a: Any, b: Any) -> Any:
    return a - trunc(a / b) * b


def mod(a: Any, b: Any) -> Any:
    return a - floor(a / b) * b


def power(a: Any, b: Any) -> Any:
    sign = _sign(a)
    if sign < 0:
        raise _outside(a)  # the exponents that are drawn are no integers
    if sign == 0:
        raise Skipped("a power of zero")
    return exp(b * log(a))


def atan2(y: Any, x: Any) -> Any:
    side = _sign(x)
    if side > 0:
        return atan(y / x)
    up = _sign(y)
    if up == 0:
        raise Skipped("the end of a domain")
    if side == 0:
        raise Skipped("the end of a domain")
    turn = _pi_like(x)
    return atan(y / x) + (turn if up > 0 else -turn)


# ---- the operators' definitions, as their docstrings state them


def n(value: float) -> Callable[[Any], Any]:
    return lambda u: c(u, value)


def _logistic(x: Any) -> Any:
    return c(x, 1) / (c(x, 1) + exp(-x))


def _softplus(x: Any) -> Any:
    return log(c(x, 1) + exp(x))


def _normal(x: Any) -> Any:
    return erfc(-x / _raw_sqrt(c(x, 2))) / c(x, 2)


def _clamped(x: Any, low: Any, high: Any) -> Any:
    return larger(c(x, low), smaller(x, c(x, high)))


def _single(value: float) -> float:
    return float(np.float32(value))


class Known(NamedTuple):
    """An operation: how a formula of Ogive calls it, and what it is."""

    ours: Callable[..., Any]
    right: Callable[..., Any]
    has_slope: bool = True


def _catalogue() -> dict[str, Known]:
    import ogive

    half = Fraction(1, 2)
    definitions: dict[str, Callable[[Any], Any]] = {
        "relu": lambda x: larger(c(x, 0), x),
        "elu": lambda x: where(_sign(x) < 0, expm1(x), x),
        "celu": lambda x: where(_sign(x) < 0, expm1(x), x),
        "selu": lambda x: c(x, 1.0507010221481323) * where(_sign(x) > 0, x, c(x, 1.6732631921768188) * expm1(x)),
        "gelu": lambda x: x * _normal(x),
        "sigmoid": _logistic,
        "swish": lambda x: x * _logistic(x),
        "mish": lambda x: x * tanh(_softplus(x)),
        "softplus": _softplus,
        "softsign": lambda x: x / (c(x, 1) + absolute(x)),
        "log_sigmoid": lambda x: -_softplus(-x),
        "tanhshrink": lambda x: x - tanh(x),
        "serf": lambda x: x * erf(_softplus(x)),
        "squareplus": lambda x: (x + sqrt(x * x + c(x, 4))) / c(x, 2),
        "snake": lambda x: x + sin(x) * sin(x),
        "hard_swish": lambda x: x * _clamped(x / c(x, 6) + c(x, half), 0, 1),
        "hard_mish": lambda x: x / c(x, 2) * _clamped(x + c(x, 2), 0, 2),
        "sparse_plus": lambda x: where(
            less(x, c(x, -1)), c(x, 0), where(less(c(x, 1), x), x, (x + c(x, 1)) * (x + c(x, 1)) / c(x, 4))
        ),
        "sparse_sigmoid": lambda x: _clamped((x + c(x, 1)) / c(x, 2), 0, 1),
        "tanh": tanh,
        "erf": erf,
        "erfc": erfc,
        "exp": exp,
        "expm1": expm1,
        "log": log,
        "log1p": log1p,
        "log1mexp": lambda x: log(-expm1(-x)),
        "ndtr": _normal,
        "log_ndtr": lambda x: log(_normal(x)),
        "logit": lambda x: log(x / (c(x, 1) - x)),
        "sqrt": sqrt,
        "rsqrt": lambda x: c(x, 1) / sqrt(x),
        "cbrt": cbrt,
        "square": lambda x: x * x,
        "reciprocal": lambda x: c(x, 1) / x,
        "sin": sin,
        "cos": cos,
        "tan": tan,
        "asin": asin,
        "acos": acos,
        "atan": atan,
        "sinh": sinh,
        "cosh": cosh,
        "asinh": asinh,
        "acosh": acosh,
        "atanh": atanh,
    }
    found = {name: Known(getattr(ogive, name), right) for name, right in definitions.items()}
    found["gelu by tanh"] = Known(
        lambda x: ogive.gelu(x, approximate="tanh"),
        lambda x: (
            x
            / c(x, 2)
            * (c(x, 1) + tanh(_raw_sqrt(c(x, 2) / _pi_like(x)) * (x + c(x, Fraction(0.044715)) * x * x * x)))
        ),
    )
    found["softcap"] = Known(lambda x: ogive.softcap(x, cap=2.5), lambda x: c(x, 2.5) * tanh(x / c(x, 2.5)))
    found["scaled softplus"] = Known(
        lambda x: ogive.softplus(x, steepness=2.0), lambda x: _softplus(c(x, 2) * x) / c(x, 2)
    )
    found["quick gelu"] = Known(lambda x: ogive.swish(x, alpha=1.75), lambda x: x * _logistic(c(x, 1.75) * x))
    return found


def _derivative_of(right: Callable[..., Any]) -> Callable[[Any], Any]:
    def of(x: Any) -> Any:
        found = right(Dual(x, as_like(x, 1)))
        return found.slope

    return of


def _of_one() -> dict[str, Known]:
    import ogive

    found = _catalogue()
    for name, known in list(found.items()):
        if name in ("relu", "hard_swish", "hard_mish", "sparse_sigmoid", "softcap") or " " in name:
            continue
        found[f"grad {name}"] = Known(ogive.grad(known.ours), _derivative_of(known.right))
    found["neg"] = Known(lambda a: -a, lambda a: -a)
    found["abs"] = Known(abs, absolute)
    for whole, function in {"floor": floor, "ceil": ceil, "trunc": trunc, "rint": rint}.items():
        found[whole] = Known(getattr(np, whole), function, has_slope=False)
    return found


def _of_two() -> dict[str, Known]:
    import ogive
    from ogive import formula as f

    return {
        "+": Known(lambda a, b: a + b, lambda a, b: a + b),
        "-": Known(lambda a, b: a - b, lambda a, b: a - b),
        "*": Known(lambda a, b: a * b, lambda a, b: a * b),
        "/": Known(lambda a, b: a / b, lambda a, b: a / b),
        "min": Known(f.minimum, smaller),
        "max": Known(f.maximum, larger),
        "copysign": Known(f.copy_sign, lambda a, b: absolute(a) if _certain_sign(b) > 0 else -absolute(a)),
        "%": Known(lambda a, b: a % b, mod, has_slope=False),
        "fmod": Known(np.fmod, fmod, has_slope=False),
        "hypot": Known(ogive.hypot, lambda a, b: sqrt(a * a + b * b)),
        "atan2": Known(f.atan2, atan2),
        "logaddexp": Known(ogive.logaddexp, lambda a, b: log(exp(a) + exp(b))),
        "swiglu": Known(ogive.swiglu, lambda a, b: a * _logistic(a) * b),
        "geglu": Known(ogive.geglu, lambda a, b: a * _normal(a) * b),
        "glu": Known(ogive.glu, lambda a, b: a * _logistic(b)),
        "vjp gelu": Known(ogive.vjp(ogive.gelu), lambda a, b: a * _derivative_of(lambda x: x * _normal(x))(b)),
        "vjp mish": Known(ogive.vjp(ogive.mish), lambda a, b: a * _derivative_of(lambda x: x * tanh(_softplus(x)))(b)),
        "vjp log_sigmoid": Known(
            ogive.vjp(ogive.log_sigmoid), lambda a, b: a * _derivative_of(lambda x: -_softplus(-x))(b)
        ),
        "guard": Known(lambda a, b: f.where(a < b, a, 2 * b), lambda a, b: where(less(a, b), a, c(b, 2) * b)),
        "guard of sign": Known(
            lambda a, b: f.where(b > 0, -a, a), lambda a, b: where(_certain_sign(b) > 0, -a, a), has_slope=False
        ),
    }


def _certain_sign(b: Any) -> int:
    found = _sign(b)
    if found == 0:
        raise Skipped("the sign of a zero")
    return found


ONE: dict[str, Known] = {}
TWO: dict[str, Known] = {}

#: Constants of both signs and all sizes.
CONSTANTS = (2.0, -1.0, 0.5, -0.5, 3.0, -40.0, 100.0, 1500.0, 0.1, -0.3, 1e-30, -1e-3, 1e30, 3e38, 1.0, 1e-40)


def _tables() -> None:
    if not ONE:
        ONE.update(_of_one())
        TWO.update(_of_two())


# ---- trees


def grown(generator: np.random.Generator, size: int, leaves: int) -> Tree:
    """A formula of about so many operations of so many operands."""
    _tables()
    if size <= 0:
        if generator.integers(6):
            return (f"x{generator.integers(leaves)}",)
        return ("constant", CONSTANTS[generator.integers(len(CONSTANTS))])
    if generator.integers(3):
        names = list(ONE)
        if generator.integers(4) == 0:  # what pairs and words forget, and what follows a known side
            names = ["neg", "abs", "floor", "ceil", "rint", "log", "log1p", "sqrt", "reciprocal"]
        return (names[generator.integers(len(names))], grown(generator, size - 1, leaves))
    left = int(generator.integers(size))
    name = list(TWO)[generator.integers(len(TWO))]
    first = grown(generator, left, leaves)
    if generator.integers(4):
        return (name, first, grown(generator, size - 1 - left, leaves))
    # A part is used twice: a square of a product had one of its factors once.
    parts = [*_parts(first)]
    both = [first, parts[generator.integers(len(parts))]]
    return (name, *(both if generator.integers(2) else both[::-1]))


def _parts(tree: Tree) -> Iterator[Tree]:
    yield tree
    if len(tree) > 1 and tree[0] != "constant":
        for part in tree[1:]:
            yield from _parts(part)


def drawn(seed: int) -> tuple[Tree, int]:
    """The formula of a seed, and of how many operands it is."""
    generator = np.random.default_rng(seed)
    leaves, size = int(generator.integers(1, 4)), int(generator.integers(1, 6))
    while True:
        tree = grown(generator, size, leaves)
        used = operands_of(tree)
        if used:
            return _renamed(tree, {name: f"x{i}" for i, name in enumerate(sorted(used))}), len(used)


def operands_of(tree: Tree) -> set[str]:
    if len(tree) == 1:
        return {tree[0]}
    return set() if tree[0] == "constant" else set().union(*map(operands_of, tree[1:]))


def _renamed(tree: Tree, names: dict[str, str]) -> Tree:
    if len(tree) == 1:
        return (names[tree[0]],)
    return tree if tree[0] == "constant" else (tree[0], *(_renamed(part, names) for part in tree[1:]))


def text(tree: Tree) -> str:
    if len(tree) == 1:
        return str(tree[0])
    return repr(tree[1]) if tree[0] == "constant" else f"{tree[0]}({', '.join(map(text, tree[1:]))})"


def has_slope(tree: Tree) -> bool:
    if len(tree) == 1 or tree[0] == "constant":
        return True
    return (ONE | TWO)[tree[0]].has_slope and all(map(has_slope, tree[1:]))


def formula_of(tree: Tree, leaves: int) -> Callable[..., Any]:
    """The formula as a function of so many terms of Ogive."""
    _tables()

    def build(part: Tree, terms: Sequence[Any]) -> Any:
        if len(part) == 1:
            return terms[int(part[0][1:])]
        if part[0] == "constant":
            return part[1]
        known = ONE.get(part[0]) or TWO[part[0]]
        return known.ours(*(_as_term(build(operand, terms)) for operand in part[1:]))

    functions: tuple[Callable[..., Any], ...] = (
        lambda x0: build(tree, (x0,)),
        lambda x0, x1: build(tree, (x0, x1)),
        lambda x0, x1, x2: build(tree, (x0, x1, x2)),
    )
    return functions[leaves - 1]


def _as_term(value: Any) -> Any:
    from ogive.graph.expression import lift

    return lift(value)


def evaluated(tree: Tree, numbers: Sequence[Any]) -> Any:
    if len(tree) == 1:
        return numbers[int(tree[0][1:])]
    if tree[0] == "constant":
        return as_like(numbers[0], tree[1])
    known = ONE.get(tree[0]) or TWO[tree[0]]
    try:
        return known.right(*(evaluated(operand, numbers) for operand in tree[1:]))
    except Nan:
        if tree[0] in ("guard", "guard of sign", "copysign", "min", "max"):
            raise Skipped("a choice by NaN") from None
        raise


# ---- the judge

#: Significant bits, the largest exponent.
FORMATS = {"float16": (11, 15), "bfloat16": (8, 127), "float32": (24, 127), "float64": (53, 1023)}
MOST_BITS = 4096

#: The powers of ten of the smallest numbers and of the largest.
POWERS = {"float16": (-7, 4.8), "bfloat16": (-40, 38.5), "float32": (-44, 38.5), "float64": (-320, 308)}


def right(tree: Tree, values: Sequence[float], kind: str, by: int | None = None) -> tuple[float, Any]:
    """The nearest number of a type to a formula's value, or to its derivative by an operand; and the ball. Raises Skipped."""
    import flint

    _tables()
    bits, before = 128, flint.ctx.prec
    try:
        while bits <= MOST_BITS:
            flint.ctx.prec = bits
            numbers: list[Any] = [Ball(_ball(value)) for value in values]
            if by is not None:
                numbers = [Dual(u, as_like(u, int(i == by))) for i, u in enumerate(numbers)]
            try:
                found = evaluated(tree, numbers)
                found = found.slope if by is not None else found
                if not found.ball.is_finite():
                    raise Undecided
                ends = [rounded(_fraction(end), kind) for end in (found.ball.lower(), found.ball.upper())]
                if ends[0] == ends[1] and (found.ball.is_exact() or found.ball > 0 or found.ball < 0):
                    return ends[0], found.ball
            except Nan:
                return math.nan, None
            except Undecided:
                pass
            bits *= 2
    finally:
        flint.ctx.prec = before
    raise Skipped("undecided")


def rounded(q: Fraction, kind: str) -> float:
    """To nearest, ties to even."""
    if not q:
        return 0.0
    precision, largest = FORMATS[kind]
    size = abs(q)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent if exponent >= 0 else size * 2**-exponent < 1:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, 1 - largest) - precision + 1)
    whole = round(size / unit)
    value = whole * unit
    found = math.inf if value >= Fraction(2) ** (largest + 1) else float(value)
    return -found if q < 0 else found


def operands(leaves: int, kind: str, count: int, seed: int) -> list[np.ndarray]:
    """Ordinary numbers, large and tiny ones up to the ends of the type, of both signs."""
    import ml_dtypes

    generator = np.random.default_rng(seed)
    dtype = ml_dtypes.bfloat16 if kind == "bfloat16" else np.dtype(kind)
    special = np.array([1e-30, 0.5, 40, 100, 1500, 1, 2, 88, 16.5, 1e-6])
    found = []
    for _ in range(leaves):
        share, signs = generator.random(count), generator.choice([-1.0, 1.0], count)
        values = np.where(share < 0.5, generator.normal(0, 2, count), generator.normal(0, 40, count))
        values = np.where(share > 0.7, signs * 10.0 ** generator.uniform(-8, 6, count), values)
        values = np.where(share > 0.85, signs * generator.choice(special, count), values)
        values = np.where(share > 0.95, signs * 10.0 ** generator.uniform(*POWERS[kind], count), values)
        with np.errstate(all="ignore"):
            given = values.astype(dtype)
        wide = given.astype(np.float64)
        found.append(np.where(np.isfinite(wide) & (wide != 0), given, np.array(0.375, dtype)).astype(dtype))
    return found


class Judged(NamedTuple):
    """A case whose result is wrong: of a formula, a type and a target."""

    formula: str
    kind: str
    target: str
    by: int | None
    operands: tuple[float, ...]
    result: float
    right: float


def judged(
    tree: Tree,
    leaves: int,
    seed: int,
    kinds: Sequence[str],
    targets: Sequence[str],
    count: int,
    counts: Counter[str],
    *,
    gradient: bool = False,
    level: int = compiler.LEVEL,
) -> Iterator[Judged]:
    """The wrong results of a formula, or of its gradient by the first operand, in code of this level of optimisation.

    It is one of so many operands, as `drawn` gives it; the seed chooses these.
    """
    import ogive
    from ogive.backends.target import runnable_targets
    from ogive.runtime.kernels import make_kernel, make_ufunc

    if gradient and not has_slope(tree):
        return
    op = ogive.operator(formula_of(tree, leaves))
    by = 0 if gradient else None
    op = ogive.grad(op) if gradient and leaves == 1 else ogive.grad(op, "x0") if gradient else op
    counts["gradients" if gradient else "formulas"] += 1
    for kind in kinds:
        given = operands(leaves, kind, count, seed)
        wanted = []
        for values in zip(*(x.astype(np.float64).tolist() for x in given), strict=True):
            try:
                wanted.append(right(tree, values, kind, by))
            except Skipped:
                wanted.append(None)
        known = [i for i, found in enumerate(wanted) if found is not None]
        counts["skipped"] += len(wanted) - len(known)
        if not known:
            continue
        signature = next(s for s in op.signatures if all(t.name == kind for t in s.inputs))
        program = op.program(signature)
        for target in targets:
            to_code = runnable_targets()[target]
            kernel = make_kernel(program.inputs, program.outputs, partial(op.program, signature), to_code, level=level)
            results = make_ufunc("composition", program, kernel=kernel)(*given)
            results = np.asarray(results).astype(np.float64)
            counts["combinations"] += 1
            for i in known:
                value, ball = wanted[i]
                counts["results"] += 1
                result = float(results[i])
                if result == value and (value != 0 or _same_sign(result, value, ball)):
                    continue
                if math.isnan(result) and math.isnan(value):
                    continue
                numbers = tuple(float(x[i]) for x in given)
                yield Judged(text(tree), kind, target, by, numbers, result, value)


def _same_sign(result: float, value: float, ball: Any) -> bool:
    """The sign counts of a value that is not zero."""
    return bool(ball.is_exact() and not ball.man_exp()[0]) or math.copysign(1, result) == math.copysign(1, value)


def main() -> None:
    from ogive.backends.target import runnable_targets
    from tests import composition_counts

    here = [t for t in runnable_targets() if t.startswith("x86-64")]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 100), metavar=("FIRST", "END"))
    parser.add_argument("--count", type=int, default=16, help="operands of each formula")
    parser.add_argument("--gradients", type=int, default=5, metavar="N", help="of each Nth formula; 0: of none")
    parser.add_argument("--kinds", nargs="+", default=list(FORMATS))
    parser.add_argument("--targets", nargs="+", default=here)
    parser.add_argument("--level", type=int, default=compiler.LEVEL, help="of LLVM's optimisation; 0 compiles faster")
    parser.add_argument("--record", type=Path, help="add the counts of each seed to this file")
    parser.add_argument("--totals", action="store_true", help="print what is recorded, and judge nothing")
    chosen = parser.parse_args()
    if chosen.totals:
        print(composition_counts.totals(composition_counts.read(chosen.record or composition_counts.FILE)))
        return
    all_rows: list[composition_counts.Row] = []
    for seed in range(*chosen.seeds):
        rows = []
        for kind in chosen.kinds:
            rows += _counted(seed, kind, chosen)
        all_rows = composition_counts.added(all_rows, rows)
        if chosen.record:
            composition_counts.record(chosen.record, rows)
        elif seed % 20 == 19:
            print(f"... {seed}\n{composition_counts.totals(all_rows)}", flush=True)
    print(composition_counts.totals(all_rows))


def _counted(seed: int, kind: str, chosen: argparse.Namespace) -> list[composition_counts.Row]:
    """A row for each target: what was judged of a seed in a type. What is wrong and what fails is printed."""
    from tests import composition_counts

    counts: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    wrong: Counter[str] = Counter()
    failed = 0
    for gradient in (False, True) if chosen.gradients and seed % chosen.gradients == 0 else (False,):
        try:
            with np.errstate(all="ignore"):
                case = judged(
                    *drawn(seed),
                    seed,
                    [kind],
                    chosen.targets,
                    chosen.count,
                    counts[gradient],
                    gradient=gradient,
                    level=chosen.level,
                )
                for found in case:
                    wrong[found.target] += 1
                    if wrong[found.target] <= 3:
                        print(f"seed {seed}: {found}", flush=True)
        except Exception as failure:  # a failure is a finding: the sweep goes on
            print(f"seed {seed}, {kind}: {type(failure).__name__}: {failure}", flush=True)
            failed += 1
    return [
        composition_counts.Row(
            commit=composition_counts.commit(),
            type=kind,
            target=target,
            seeds=f"{seed}-{seed + 1}",
            formulas=counts[False]["formulas"],
            results=counts[False]["results"] // len(chosen.targets),
            gradients=counts[True]["gradients"],
            results_of_gradients=counts[True]["results"] // len(chosen.targets),
            undecided=sum(c["skipped"] for c in counts.values()),
            wrong=wrong[target],
            failed=failed,
        )
        for target in chosen.targets
    ]


if __name__ == "__main__":
    main()
