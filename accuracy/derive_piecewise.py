"""Derive the piecewise polynomials of float32 pairs, and their bounds: run it and compare, or --write the tables.

    python accuracy/derive_piecewise.py [--write]

A function f of a positive operand w has a polynomial in u = w - X in each of 32 intervals. Its first coefficients are float32
numbers and have no low words: X is chosen so that f(X) and f'(X) lie next to such numbers, by a search among many. The others
are fitted one after the other, each rounded before the next. Next to zero, where f is zero, X is zero, and what the slope lacks
has a table of its own. Where f is nearly 1, f(X) is 1 and X lies beyond the interval.

The bound of an interval has two parts. The polynomial's rest is enclosed by balls of Arb (Taylor's series of the difference
on pieces of the interval, with its remainder). The rounding errors follow the rule's operations (`rounding`), on the same
pieces. Both are relative to f, or absolute where f crosses zero. u is exact where X is zero, where w lies between X / 2 and 2 X, and in the first interval, of
which X is a whole number of units, for w above X / 2; else it is rounded.

The powers 2**(j / 32), rounded to float32, and what these lack, relative to them, are tables too. In that of powers j has been taken
off the bits already, in the place where the rule adds ``n + 2048`` to them, whose lowest five bits are j.

Logarithms have tables of 32 factors c, near 1 / m, and of -log(c), for the numbers m between 0.6875 and 1.375, and a polynomial P
of r = c m - 1 (`logarithm`). The rule's error is a share of r**2 and a share of the result.

Sines have tables of 32 angles near j pi / 32: pairs of float32 that lie next to the unit circle, and how far their angle is from
j pi / 32 (`angles`).
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import flint
import mpmath as mp
import numpy as np
from derived_tables import Sections, write_or_compare_tables
from flint import arb, arb_series
from scipy.special import erf, expit, ndtr

from ogive.lowering.numerics.elementary.logarithm import LEAST_OF_LOG
from ogive.lowering.numerics.elementary.trigonometric import HALF_TURN, LARGEST_TURN
from ogive.lowering.numerics.float_float import U, half_unit

COUNT = 32

#: How far n is shifted to be added, and the offset that it has.
SHIFT, OFFSET = 18, 2048


def taken_off(power: float, j: int) -> float:
    (bits,) = struct.unpack("<I", struct.pack("<f", power))
    return float(struct.unpack("<f", struct.pack("<I", (bits - ((j + OFFSET) << SHIFT)) % (1 << 32)))[0])


def tables_of_powers() -> Sections:
    mp.mp.prec = 200
    exact = [mp.mpf(2) ** (mp.mpf(j) / COUNT) for j in range(COUNT)]
    powers = list(map(single, exact))
    lacks = [single(y / mp.mpf(x) - 1) for x, y in zip(powers, exact, strict=True)]
    taken = [taken_off(x, j) for j, x in enumerate(powers)]
    return {
        "pairs": {
            "POWERS": {"what": "2**(j / 32) with j taken off its bits", "F32": taken},
            "POWERS_LACK": {"what": "What these powers lack, relative to them", "F32": lacks},
        }
    }


INTERVALS = 32
CANDIDATES = 2_000_000
PIECES, TERMS = 16, 16
BITS = 200

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Shape:
    """A function, and how it is cut: an interval lies around each ``j / scale``, or some are a binade of the distance from a pole."""

    name: str
    what: str
    scale: float | None
    most: float
    """Larger operands are moved here."""
    degree: int
    roughly: Function
    """It on arrays of float64."""
    slope: Function
    series: Function
    """It on a power series of Arb."""
    leading: int = 2
    """How many sums are leading parts."""
    from_zero: bool = False
    """Whether it is zero at zero; then the first interval's bound is relative to w."""
    rises: bool = False
    """Whether it rises to 1; others fall to zero, those that are zero at zero from one place on."""
    is_signed: bool = False
    """Whether it crosses zero on the way: then bounds are absolute."""
    pole: float = -1.0
    nearest: float = 1.0
    """The smallest distance from the pole that an interval has."""
    parts: int = 8
    """How many intervals a binade of the distance has."""

    @property
    def count(self) -> int:
        """How many intervals there are up to the largest operand."""
        return 1 + max(j for j in range(INTERVALS) if self.interval(j)[0] < self.most)

    def interval(self, j: int) -> tuple[float, float]:
        if self.scale is None:
            low, high = sorted(abs(self.pole + side) for side in self.distances(j))
        else:
            low, high = max(j - 0.5, 0.0) / self.scale, (j + 0.5) / self.scale
        return low * (1 - 2.0**-20), min(high * (1 + 2.0**-20), self.most)

    def distances(self, j: int) -> tuple[float, float]:
        """The distances from the pole, negative below it."""
        k, sign = (j, 1) if self.most > self.pole else (INTERVALS - 1 - j, -1)
        low, high = (self.nearest * 2.0 ** (i // self.parts) * (1 + i % self.parts / self.parts) for i in (k, k + 1))
        return sign * low, sign * high

    def place(self, j: int) -> int:
        """Where an interval stands in the tables: those cut by distances where the first bits of these say."""
        if self.scale is not None:
            return j
        bits = int(np.float32(abs(self.distances(j)[0])).view(np.int32))
        return (bits >> (23 - int(math.log2(self.parts)))) % INTERVALS


def single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def last_place(value: float) -> float:
    return float(2 * U * 2.0 ** math.floor(math.log2(value)))


def uniform(scale: float) -> dict[str, Any]:
    return {"scale": scale, "most": single((INTERVALS - 0.55) / scale)}


#: Below 15: w + 1 stays in its binade.
MOST_OF_BINADES = 14.9921875


def below_one(leading: int = 3) -> dict[str, Any]:
    """Quarters of eight binades of the distance from 1."""
    nearest = 2.0**-8
    return {
        "scale": None,
        "pole": 1.0,
        "nearest": nearest,
        "parts": 4,
        "most": single(1 - nearest * (1 + 2.0**-10)),
        "leading": leading,
    }


SCALE_OF_GELU = 2 * math.sqrt(2 / math.pi)
CUBE_OF_GELU = 0.044715


def tanh_gate(w: Any, root: Any, expit_: Function) -> tuple[Any, Any]:
    """The share of w that the tanh form of gelu takes of ``-w``, and the slope of the logarithm of what it is made of."""
    u = w * root * (1 + CUBE_OF_GELU * w * w)
    return expit_(-u), root * (1 + 3 * CUBE_OF_GELU * w * w)


def of_balls(w: Any) -> tuple[Any, Any]:
    root = 2 * (arb(2) / arb.pi()).sqrt()
    cube = arb(CUBE_OF_GELU)
    u = w * root * (1 + cube * w * w)
    return 1 / (1 + u.exp()), root * (1 + 3 * cube * w * w)


def slope_of_gate(w: Any, gate: Any, slope: Any) -> Any:
    """The derivative at -w of x times a logistic gate, of which the argument has this slope."""
    return gate * (1 - w * slope * (1 - gate))


def by_differences(function: Function) -> Function:
    return lambda w: (function(w + 2.0**-18) - function(w - 2.0**-18)) * 2.0**17


def normal_slope(w: Any) -> Any:
    return ndtr(-w) - w * np.exp(-w * w / 2) / math.sqrt(2 * math.pi)


def tanh_gate_slope(w: Any) -> Any:
    return slope_of_gate(w, *tanh_gate(w, SCALE_OF_GELU, expit))


def logistic_gate_slope(w: Any) -> Any:
    return slope_of_gate(w, expit(-w), 1.0)


SHAPES = (
    Shape(
        name="ERF",
        what="erf(w)",
        **uniform(7.75),
        degree=6,
        roughly=erf,
        slope=lambda w: np.exp(-w * w) * 2 / math.sqrt(math.pi),
        series=lambda w: w.erf(),
        from_zero=True,
        rises=True,
    ),
    Shape(
        name="NORMAL_TAIL",
        what="erfc(w / sqrt(2)) / 2",
        **uniform(5.0),
        leading=3,
        degree=7,
        roughly=lambda w: ndtr(-w),
        slope=lambda w: -np.exp(-w * w / 2) / math.sqrt(2 * math.pi),
        series=lambda w: (w / arb(2).sqrt()).erfc() / 2,
    ),
    Shape(
        name="SOFTPLUS_TAIL",
        what="log(1 + exp(-w))",
        **uniform(1.75),
        degree=7,
        roughly=lambda w: np.log1p(np.exp(-w)),
        slope=lambda w: -expit(-w),
        series=lambda w: (1 + (-w).exp()).log(),
    ),
    Shape(
        name="TANH",
        what="tanh(w)",
        scale=None,
        most=10.0,
        degree=6,
        roughly=np.tanh,
        slope=lambda w: 1 / np.cosh(w) ** 2,
        series=lambda w: 1 - 2 / (1 + (2 * w).exp()),
        from_zero=True,
        rises=True,
    ),
    Shape(
        name="ATAN",
        what="atan(w)",
        scale=None,
        most=MOST_OF_BINADES,
        degree=6,
        roughly=np.arctan,
        slope=lambda w: 1 / (1 + w * w),
        series=lambda w: w.atan(),
        from_zero=True,
    ),
    Shape(
        name="ASINH",
        what="asinh(w)",
        scale=None,
        most=MOST_OF_BINADES,
        leading=3,
        degree=7,
        roughly=np.arcsinh,
        slope=lambda w: 1 / np.sqrt(1 + w * w),
        series=lambda w: (w + (1 + w * w).sqrt()).log(),
        from_zero=True,
    ),
    Shape(
        name="ASIN",
        what="asin(w)",
        **below_one(leading=2),
        degree=6,
        roughly=np.arcsin,
        slope=lambda w: 1 / np.sqrt((1 - w) * (1 + w)),
        series=lambda w: w.asin(),
        from_zero=True,
    ),
    Shape(
        name="ACOS",
        what="acos(w)",
        **below_one(),
        degree=7,
        roughly=np.arccos,
        slope=lambda w: -1 / np.sqrt((1 - w) * (1 + w)),
        series=lambda w: w.acos(),
    ),
    Shape(
        name="ACOSH",
        what="acosh(w)",
        scale=None,
        pole=1.0,
        nearest=2.0**-4,
        parts=4,
        most=single(1 + 14 * (1 + 2.0**-10)),
        degree=6,
        roughly=np.arccosh,
        slope=lambda w: 1 / np.sqrt((w - 1) * (w + 1)),
        series=lambda w: (w + ((w - 1) * (w + 1)).sqrt()).log(),
    ),
    Shape(
        name="ATANH",
        what="atanh(w)",
        **below_one(),
        degree=7,
        roughly=np.arctanh,
        slope=lambda w: 1 / ((1 - w) * (1 + w)),
        series=lambda w: ((1 + w) / (1 - w)).log() / 2,
        from_zero=True,
    ),
    # Both gates are largest at 0.75, which lies beside the end of an interval: see `loses_exactly`.
    Shape(
        name="NORMAL_GATE",
        what="w erfc(w / sqrt(2)) / 2",
        **uniform(4.8125),
        leading=3,
        degree=7,
        roughly=lambda w: w * ndtr(-w),
        slope=normal_slope,
        series=lambda w: w * (w / arb(2).sqrt()).erfc() / 2,
        from_zero=True,
    ),
    Shape(
        name="TANH_GATE",
        what="w times the share that the tanh form of gelu takes of -w",
        **uniform(5.625),
        leading=3,
        degree=7,
        roughly=lambda w: w * tanh_gate(w, SCALE_OF_GELU, expit)[0],
        slope=tanh_gate_slope,
        series=lambda w: w * of_balls(w)[0],
        from_zero=True,
    ),
    Shape(
        name="NORMAL_SLOPE",
        what="the derivative of gelu at -w",
        **uniform(5.0),
        degree=7,
        roughly=normal_slope,
        slope=lambda w: (w * w - 2) * np.exp(-w * w / 2) / math.sqrt(2 * math.pi),
        series=lambda w: (w / arb(2).sqrt()).erfc() / 2 - w * (-w * w / 2).exp() / (2 * arb.pi()).sqrt(),
        is_signed=True,
    ),
    Shape(
        name="TANH_GATE_SLOPE",
        what="the derivative of the tanh form of gelu at -w",
        **uniform(5.0),
        degree=7,
        roughly=tanh_gate_slope,
        slope=by_differences(tanh_gate_slope),
        series=lambda w: slope_of_gate(w, *of_balls(w)),
        is_signed=True,
    ),
    Shape(
        name="LOGISTIC_GATE_SLOPE",
        what="the derivative of x / (1 + exp(-x)) at -w",
        scale=None,
        most=MOST_OF_BINADES,
        degree=7,
        roughly=logistic_gate_slope,
        slope=by_differences(logistic_gate_slope),
        series=lambda w: slope_of_gate(w, 1 / (1 + w.exp()), 1),
        is_signed=True,
    ),
)


@dataclass(frozen=True)
class Piece:
    """A polynomial around X, what its slope lacks, and its bound relative to the function."""

    node: float
    coefficients: tuple[float, ...]
    lacks: float = 0.0
    bound: float = 0.0
    share: float = 0.0
    """How large the low word is at most, relative to the function."""
    slope_error: float = 0.0
    """How wrong the slope of the rule is, times the operand, relative to the function (`slope_error`)."""


def searched(shape: Shape, j: int) -> tuple[float, list[float], float]:
    """X, f(X) and f'(X) of an interval, the last two rounded and hardly wrong, and what the slope lacks."""
    low, high = shape.interval(j)
    if j == 0 and shape.from_zero:
        slope = shape.series(arb_series([0, 1], prec=2))[1]
        nearest = single(float(slope))
        return 0.0, [0.0, nearest], single(float(slope - nearest))
    middle, half = (low + high) / 2, (high - low) / 2
    if shape.rises and 1 - shape.roughly(low) < U:
        return single(high + half), [1.0], 0.0  # no other number of float32 is near
    if low == 0:
        w = np.arange(2.0**-8, 2.0**-7, last_place(high))
    else:
        reach = 0.9 if shape.rises and 1 - shape.roughly(high) < 8 * U else 0.12
        first, last = max(middle - reach * half, high / 2), min(middle + reach * half, 2 * low)
        start, end = (int(np.float32(x).view(np.int32)) for x in (first, last))
        among = np.random.default_rng(j).integers(start, end, CANDIDATES)
        w = np.unique(among).astype(np.int32).view(np.float32)
        w = w[(w >= first) & (w <= last)].astype(np.float64)
    value, slope = shape.roughly(w), shape.slope(w)
    wrong = abs(value - value.astype(np.float32)) + abs(slope - slope.astype(np.float32)) * half * 0.7
    best = int(np.argmin(wrong if shape.is_signed else wrong / value))
    return float(w[best]), [single(value[best]), single(slope[best])], 0.0


def fitted(shape: Shape, j: int, node: float, fixed: Sequence[float], lacks: float) -> tuple[float, ...]:
    """The polynomial with these first coefficients: of the others each is rounded, and the next ones are fitted again."""
    low, high = shape.interval(j)
    places = (low + high) / 2 + (high - low) / 2 * np.cos((np.arange(400) + 0.5) * np.pi / 400)
    u, reach = places - node, max(abs(low - node), abs(high - node))
    value = shape.roughly(places)
    size = np.ones_like(value) if shape.is_signed else value
    found = list(fixed)
    while len(found) <= shape.degree:
        rest = value - lacks * u - sum(c * u**k for k, c in enumerate(found))
        powers = range(len(found), shape.degree + 1)
        matrix = np.stack([(u / reach) ** k / size for k in powers], 1)
        numbers, *_ = np.linalg.lstsq(matrix, rest / size, rcond=1e-18)
        found.append(single(numbers[0] / reach ** len(found)))
    return tuple(found)


def upper(value: Any) -> float:
    return float(abs(value).upper())


def polynomial(piece: Piece, u: Any) -> Any:
    value = 0 * u
    for c in reversed(piece.coefficients):
        value = value * u + arb(c)
    return value + arb(piece.lacks) * u


def differences(shape: Shape, piece: Piece, around: Any, half: float) -> list[Any]:
    """Bounds of the coefficients of what the polynomial leaves around a point; the last one is the remainder's."""

    def difference(w: Any) -> list[Any]:
        found: list[Any] = (polynomial(piece, w - arb(piece.node)) - shape.series(w)).coeffs()
        return [abs(c) for c in found] + [arb(0)] * (TERMS + 1 - len(found))

    known = difference(arb_series([around, 1], prec=TERMS + 1))
    rest = difference(arb_series([arb(around.mid(), half), 1], prec=TERMS + 1))
    return [*known[:TERMS], rest[TERMS]]


def left(shape: Shape, piece: Piece, low: float, high: float) -> tuple[float, float]:
    """The rest that the polynomial leaves on a part of the interval, absolutely, and how wrong its slope is."""
    middle, half = (arb(low) + arb(high)) / 2, (arb(high) - arb(low)) / 2 * arb(1 + 2.0**-30)
    known = differences(shape, piece, middle, float(half))
    value = sum((c * half**k for k, c in enumerate(known)), arb(0))
    slope = sum((c * half ** (k - 1) * k for k, c in enumerate(known) if k), arb(0))
    return upper(value), upper(slope)


def left_beside_zero(shape: Shape, piece: Piece, high: float) -> tuple[float, float]:
    """The same up to a number, of the value relative to the operand: of a function that is zero at zero."""
    known = differences(shape, piece, arb(0), high)
    assert upper(known[0]) == 0
    value = sum((c * arb(high) ** (k - 1) for k, c in enumerate(known) if k), arb(0))
    slope = sum((c * arb(high) ** (k - 1) * k for k, c in enumerate(known) if k), arb(0))
    return upper(value), upper(slope)


def rounding(shape: Shape, piece: Piece, low: float, high: float, *, beside_zero: bool = False) -> tuple[float, float]:
    """The rounding errors there, absolutely, to ``c0 + u (c1 + u (c2 + u q))``, q by Horner's rule; and the largest low word.

    The first sums are leading parts, which lose what is added to low words: these are rounded themselves. Next to zero all
    of that is a larger share of u the larger u is.
    """

    def half_unit_of(value: float) -> float:
        return U * value if beside_zero or not value else half_unit(value)

    u, sizes = max(abs(low - piece.node), abs(high - piece.node)), tuple(map(abs, piece.coefficients))
    *tail, q = sizes[shape.leading + 1 :]
    error = 0.0
    for c in reversed(tail):
        error = error * u + half_unit_of(q * u + c)
        q = q * u + c
    # u**2 is rounded, too.
    inner, low_word, error = sizes[shape.leading], u * q, u * (error + U * q)
    for k in reversed(range(shape.leading)):
        product = u * (inner if k == shape.leading - 1 else inner + low_word)
        value = sizes[k] + product
        lost = half_unit_of(value)
        if k == 0 and shape.is_signed:
            lost += half_unit_of(u * inner)
        if k == 1 and piece.lacks:
            lost += abs(piece.lacks)
        low_word = u * low_word + lost
        error = u * error + half_unit_of(low_word) + (2 if k else 1) * U * lost
        if not (loses_exactly(piece, k, low, high) or (k == 0 and shape.is_signed)):
            error += half_unit_of(product)
        inner = value
    of_u = 0.0
    if piece.node:
        assert high <= 2 * piece.node or piece.node % last_place(high) == 0
        of_u = half_unit(piece.node) if 2 * low < piece.node else 0.0
    return error + of_u * sum(k * c * u ** (k - 1) for k, c in enumerate(sizes) if k), low_word


def loses_exactly(piece: Piece, k: int, low: float, high: float) -> bool:
    """Whether a leading part less c is exact, of a sum of c and a product of 48 bits: where it lies between c / 2 and 2 c."""
    c, *more = piece.coefficients[k:]
    if c == 0 or not any(more):
        return True
    u, sum_ = arb((low + high) / 2 - piece.node, (high - low) / 2 * (1 + 2.0**-30)), arb(0)
    for other in reversed(more):
        sum_ = sum_ * u + arb(other)
    return abs(sum_ * u / arb(c) + arb(-0.25)) < 0.75 * (1 - 2.0**-20)


def slope_error(piece: Piece, low: float, high: float) -> float:
    """How wrong ``c1 + 2 c2 u + 3 u**2 q`` is as the polynomial's slope, and by rounding."""
    u = max(abs(low - piece.node), abs(high - piece.node))
    sizes = [abs(c) * u ** (k - 1) for k, c in enumerate(piece.coefficients) if k]
    return sum(c * (k - 2) for k, c in enumerate(sizes) if k > 2) + 8 * U * 3 * sum(sizes)


def least_of(shape: Shape, w: float) -> float:
    """The number that bounds are relative to."""
    if shape.is_signed:
        return 1.0
    return float(shape.series(arb_series([arb(w), 1], prec=2))[0].abs_lower())


def slope_to(shape: Shape, w: float) -> float:
    """The number as a multiple of w, and at zero the slope: between both ends of a piece it is no smaller than at one."""
    return least_of(shape, w) / w if w else float(shape.series(arb_series([0, 1], prec=2))[1].abs_lower())


def bounded(shape: Shape, j: int, piece: Piece) -> Piece:
    low, high = shape.interval(j)
    is_last = j + 1 == shape.count
    if is_last and not shape.rises:  # larger operands are moved into it, and the function may be as small as zero
        most = 1.03125 * (abs(float(shape.roughly(low))) if shape.is_signed else 1.0)
        return Piece(piece.node, piece.coefficients, piece.lacks, single(most), slope_error=1.0)
    # Where it rises to 1, the last polynomial is 1, and the bound that of the interval's first number.
    worst, worst_slope, share = 0.0, 0.0, 0.0
    for k in range(PIECES):
        start, end = (low + (high - low) * i / PIECES for i in (k, k + 1))
        value, slope = left(shape, piece, start, end)
        error, size = rounding(shape, piece, start, end)
        least = min(least_of(shape, w) for w in (start, end))
        if j == 0 and shape.from_zero:
            # All are taken relative to w, of which the function is a smaller share the larger w is.
            if start == 0:
                value, slope = left_beside_zero(shape, piece, end)
            else:
                value /= start
            error, size = (x / end for x in rounding(shape, piece, 0.0, end, beside_zero=True))
            least = min(slope_to(shape, w) for w in (start, end)) * (1 - 2.0**-30)
        share = max(share, size / least)
        worst = max(worst, (value + error) / least)
        # Low words of operands are a share of them: so what slopes make of them is relative to w.
        reach = 1.0 if j == 0 and shape.from_zero else end
        worst_slope = max(worst_slope, (slope + slope_error(piece, start, end)) * reach / least)
    slack = 1.01 * (1 + 2.0**-20)
    return Piece(
        piece.node,
        piece.coefficients,
        piece.lacks,
        single(worst * slack),
        single(share * slack),
        single(worst_slope * slack),
    )


def derived(shape: Shape) -> list[Piece]:
    found = [Piece(0.0, (0.0,) * (shape.degree + 1), 0.0, 1.03125)] * INTERVALS
    for j in range(shape.count):
        if shape.rises and j + 1 == shape.count:
            piece = Piece(shape.interval(j)[0], (1.0, *(0.0,) * shape.degree))
        else:
            node, fixed, lacks = searched(shape, j)
            piece = Piece(node, fitted(shape, j, node, fixed, lacks), lacks)
        found[shape.place(j)] = bounded(shape, j, piece)
    return found


#: log(2) and -log(c) are whole numbers of this unit, and a low word.
GRID = 2.0**-17


def parts_of_numbers() -> list[tuple[float, float]]:
    """The intervals of m: those that the bits of m - LEAST_OF_LOG begin with, in the places of the tables."""
    begin = np.arange(INTERVALS + 1, dtype=np.int64) * (1 << 18) + int(np.float32(LEAST_OF_LOG).view(np.int32))
    ends = [float(x) for x in begin.astype(np.int32).view(np.float32)]
    return list(pairwise(ends))


def factor(low: float, high: float) -> float:
    """c, so that c m - 1 is small, and a whole number of units of which float32 holds as many."""
    if (low < 1 and high == 1) or low == 1:
        return 1.0
    among = [c / 128 for c in range(64, 256)]
    unit = 2.0**-24 if low < 1 else 2.0**-23

    def reach(c: float) -> float:
        return max(abs(c * low - 1), abs(c * high - 1))

    exact = [c for c in among if reach(c) < 2.0**24 * unit * math.gcd(int(c * 128), 128) / 128]
    return min(exact, key=reach)


def logarithm() -> Sections:
    """The tables, and what the rule is wrong by: relative to r**2 and to the result, and what its low word is of both.

    With the half of r**2 and the powers behind it as ``t w``, ``w = r P(r) - 1/2``; what c and log(2) lack is in one low word.
    """
    parts = parts_of_numbers()
    factors = [factor(*part) for part in parts]
    reach = max(max(abs(c * x - 1) for x in part) for c, part in zip(factors, parts, strict=True))
    places = reach * np.cos((np.arange(400) + 0.5) * np.pi / 400)
    wanted = (np.log1p(places) - places + places**2 / 2) / places**3
    matrix = np.stack([places**k * abs(places) ** 0.5 for k in range(4)], 1)
    polynomial_ = [single(x) for x in np.linalg.lstsq(matrix, wanted * abs(places) ** 0.5, rcond=1e-18)[0]]
    # The rest that the polynomial leaves, of r**3: by the series of log(1 + r) up to r**16, and what is behind it.
    pieces = 64
    left_of = 0.0
    for k in range(pieces):
        middle = arb((2 * k + 1 - pieces) * reach / pieces)
        coefficients = [arb((-1) ** n) / (n + 3) for n in range(16)]
        for n, c in enumerate(polynomial_):
            coefficients[n] -= arb(c)
        shifted = [
            sum((coefficients[n] * arb.bin_uiui(n, i) * middle ** (n - i) for n in range(i, 16)), arb(0))
            for i in range(16)
        ]
        size = sum((abs(c) * arb(reach / pieces) ** i for i, c in enumerate(shifted)), arb(0)) + arb(reach) ** 16
        left_of = max(left_of, upper(size))
    sizes = [abs(c) for c in polynomial_]
    of_p, p = 0.0, sizes[-1]
    for c in reversed(sizes[:-1]):
        of_p, p = of_p * reach + half_unit(p * reach + c), p * reach + c
    w = 0.5 + reach * p
    of_square = reach * (left_of + of_p) + half_unit(w) + U * w  # P, w, and t
    log_two = arb(2).log()
    high_of_two = round(float(log_two) / GRID) * GRID
    low_of_two = single(float(log_two - arb(high_of_two)))
    highs = [round(float(-arb(c).log()) / GRID) * GRID for c in factors]
    lows = [single(float(-arb(c).log() - arb(high))) for c, high in zip(factors, highs, strict=True)]
    share, relative = 0.0, 0.0
    for k in range(-126, 129):
        for c, high, low, part in zip(factors, highs, lows, parts, strict=True):
            value = k * high_of_two + high
            assert abs(value) < 2.0**24 * GRID
            if value == 0:
                assert c == 1
                continue
            r = max(abs(c * x - 1) for x in part)
            assert r <= abs(value)  # so that what their sum loses is exact
            least = min(abs(k * float(log_two) + math.log(x)) for x in part) * (1 - 2.0**-40)
            rest = abs(k) * abs(low_of_two) + abs(low)
            lost = U * (abs(value) + r)  # of the sum of the leading parts
            wrong = abs(k) * upper(log_two - arb(high_of_two) - arb(low_of_two)) + upper(
                -arb(c).log() - arb(high) - arb(low)
            )
            wrong += U * rest + U * (lost + rest) + U * (lost + rest)  # of the low word's three sums
            wrong += U * (lost + rest) + 8 * U * U  # of what is below the last bit of 1 + x
            share, relative = max(share, (lost + rest) / least), max(relative, wrong / least)
    return {
        "pairs": {
            "LOG_FACTORS": {"what": "c, near 1 / m", "F32": factors},
            "LOG_HIGHS": {"what": "-log(c), as a whole number of units of 2**-17", "F32": highs},
            "LOG_LOWS": {"what": "what these lack", "F32": lows},
            "LOG_OF_TWO": {"what": "log(2) likewise, in two parts", "F32": [high_of_two, low_of_two]},
            "LOG_POLYNOMIAL": {"what": "(log(1 + r) - r + r**2 / 2) / r**3", "F32": polynomial_},
            # The errors of the sum t w + rest, rounded at last, and of what is below the last bit of 1 + x: no more than U r.
            "LOG_ERRORS": {
                "what": "relative to r**2 and to the result: errors, and low words",
                "F32": [single(x * 1.01) for x in (of_square + U * w + 2 * U * reach, relative, w, share)],
            },
        }
    }


#: How many floats on both sides of a sine are looked at, and the step of the table's angles.
SINES = 1 << 14
STEP = math.pi / 32

#: How far an angle may lie from its node, which is no multiple of the step.
REACH = STEP / 2 * (1 + 2.0**-7)


def pair_of(j: int) -> tuple[float, float]:
    """The sine and the cosine of an angle near ``j pi / 32``, as float32 numbers: up to a quarter of pi."""
    if j == 0:
        return 0.0, 1.0
    bits = int(np.float32(math.sin(j * STEP)).view(np.int32)) + np.arange(-SINES, SINES)
    sines = bits.astype(np.int32).view(np.float32).astype(np.float64)
    among = []
    for beside in (-1, 0, 1):
        nearest = np.sqrt(1 - sines * sines).astype(np.float32)
        cosines = (nearest.view(np.int32) + beside).astype(np.int32).view(np.float32).astype(np.float64)
        off = abs(sines * sines + (cosines * cosines - 1)) / 2  # which is exact
        wrong = off + 3 * U * abs(np.arctan2(sines, cosines) - j * STEP)
        k = int(np.argmin(wrong))
        among.append((wrong[k], float(sines[k]), float(cosines[k])))
    _, sine, cosine = min(among)
    return sine, cosine


def left_by_series(first: int, numbers: Sequence[float]) -> float:
    """The most that a polynomial of z leaves of the sum of ``(-1)**(k + 1) z**k / (2 k + first)!``, up to the square of `REACH`."""
    terms = [(-1) ** (k + 1) / arb.fac_ui(2 * k + first) for k in range(12)]
    for k, c in enumerate(numbers):
        terms[k] -= arb(c)
    worst = arb(0)
    for k in range(256):
        z = (arb(k) + arb(0.5, 0.5)) / 256 * arb(REACH) ** 2
        worst = max(worst, arb(upper(sum((c * z**i for i, c in enumerate(terms)), arb(0)))))
    return upper(worst) + 2.0**-100


def angles() -> Sections:
    """The tables of sines, and what their rule is wrong by: relative to the square of the reduced angle, and beside that.

    With ``z = w**2``, the sine of ``X + w`` is ``S + C w + z (S P(z) + C w Q(z))``, of which the third term is a low word.
    A result is computed at its lower end: then the third term is smaller by a share of z, and the second part of the angle by
    as much as makes up for what is wrong beside that. Where C is zero nothing does. There the error is a share of w, and counts
    where the result is less than 1.
    """
    step = arb.pi() / 32
    first = single(float(step))
    second = single(float(step - arb(first)))
    left_of_step = upper(step - arb(first) - arb(second))
    h, most, least = REACH, LARGEST_TURN + HALF_TURN, 2.0**-12.5  # 1 - z / 2 is rounded to 1 below
    squares = [h * h * (k + 0.5) / 256 for k in range(256)]
    share_of_next = sum(z**3 for z in squares) / sum(z**2 for z in squares)
    p = [-0.5, single(1 / 24 - share_of_next / 720)]
    q = [single(-1 / 6), single(1 / 120 - share_of_next / 5040)]
    left_p, left_q = left_by_series(2, p), left_by_series(3, q)
    nodes, errors = [], []
    for j in range(-16, 16):
        sine, cosine = pair_of(min(abs(j), 16 - abs(j)))
        if abs(j) > 8:
            sine, cosine = cosine, sine
        angle = (arb(sine) / arb(cosine)).atan() if cosine else arb.pi() / 2
        off = upper((arb(sine) ** 2 + arb(cosine) ** 2).sqrt() - 1)
        offset = single(float(angle - abs(j) * step)) * (1 if j > 0 else -1)
        reduced = STEP / 2 * (1 + 2.0**-10) + most * abs(second)
        assert reduced + abs(offset) < h
        assert j == 0 or reduced * cosine < sine / 2  # so that what S + C w loses is exact
        # Relative to z: what rounding w and z, P and Q, their products and sums, and the low word adds.
        share = sine / 2 + cosine * h / 6
        of_square = U * (sine + cosine * h / 2) + 2 * U * share + half_unit(share)
        of_square += sine * (half_unit(0.5) + U * h * h / 8) + half_unit(0.5) + sine * left_p
        of_square += cosine * h * (half_unit(1 / 6) + U / 6 + U * h * h / 40 + left_q)
        # The rest: what the second part of the angle lacks, and what rounding it adds; the low word, and what C w + S loses.
        rest = most * abs(second) + abs(offset)
        lacks = most * (left_of_step + 2.0**-80) + half_unit(max(abs(offset), 2.0**-60)) + half_unit(rest)
        lost = half_unit(1.0) if sine and cosine else 0.0
        low = rest * cosine + lost
        beside = lacks * (cosine + sine * h) + half_unit(max(low, 2.0**-60)) + U * (low + lost) + off
        if cosine == 0:
            of_square, beside = of_square + lacks / least, 0.0
        made_less = beside / (cosine - sine * h) if cosine else 0.0
        above = 1.03 * made_less * (cosine + sine * h) + beside + 2 * U * low
        nodes.append((math.copysign(sine, j or -1), cosine, offset, offset + made_less * 1.01, above * 1.01))
        errors.append((of_square, beside, share, low))
    of_square, beside, share, low = (1.01 * max(column) for column in zip(*errors, strict=True))
    names = {
        "SINES": "S, of angles X near j pi / 32 from -pi/2 on; -0 is -0",
        "COSINES": "C",
        "OFFSETS": "X - j pi / 32",
        "LOWER_OFFSETS": "the same, and what may be wrong",
        "UPPER_ENDS": "how far the upper end is from the lower one, beside what is relative to z",
    }
    numbers = [list(map(single, column)) for column in zip(*nodes, strict=True)]
    tables = {name: {"what": what, "F32": column} for (name, what), column in zip(names.items(), numbers, strict=True)}
    ends = [of_square, 2.02 * of_square + 2.02 * U * share]
    return {
        "pairs": {
            **tables,
            "STEP_OF_ANGLES": {"what": "pi / 32, in two parts", "F32": [first, second]},
            "SINE_SERIES": {"what": "P and Q", "F32": [*p, *q]},
            "SINE_ERRORS": {
                "what": "relative to z and beside it: errors, and low words",
                "F32": list(map(single, (of_square, beside, share, low))),
            },
            "SINE_ENDS": {
                "what": "relative to z: how much less the lower end is; how far the upper end is from it",
                "F32": list(map(single, ends)),
            },
        }
    }


def sections() -> Sections:
    flint.ctx.prec = BITS
    found = {}
    for shape in SHAPES:
        pieces = derived(shape)
        powers = [round(math.log2(piece.bound), 1) for piece in pieces]
        print(shape.name, powers, file=sys.stderr)
        found[shape.name] = {
            "what": f"{shape.what}; bounds from 2**{min(powers)} to 2**{max(powers)}",
            "scale": shape.scale,
            "most": shape.most,
            "is_signed": shape.is_signed,
            "leading": shape.leading,
            "pole": shape.pole,
            "parts": shape.parts,
            "slope_errors": [p.slope_error for p in pieces],
            "nodes": [p.node for p in pieces],
            "coefficients": [[p.coefficients[k] for p in pieces] for k in range(shape.degree + 1)],
            "bounds": [p.bound for p in pieces],
            "shares": [p.share for p in pieces],
            "lacks": [p.lacks for p in pieces] if any(p.lacks for p in pieces) else [],
        }
    return {"piecewise": found, "pairs": {**tables_of_powers()["pairs"], **logarithm()["pairs"], **angles()["pairs"]}}


if __name__ == "__main__":
    sys.exit(write_or_compare_tables(__doc__, sections))
