"""Derive the piecewise polynomials of float32 pairs, and their bounds: run it and compare, or --write the tables.

    python accuracy/derive_piecewise.py [--write]

A function f of a positive operand w has a polynomial in u = w - X in each of 32 intervals. Its first coefficients are float32
numbers and have no low words: X is chosen so that f(X) and f'(X) lie next to such numbers, by a search among many. The others
are fitted one after the other, each rounded before the next.

The bound of an interval has two parts. What the polynomial leaves is enclosed by balls of Arb (Taylor's series of the difference
on pieces of the interval, with its remainder). What rounding adds follows the rule's operations (`rounding`), on the same
pieces. Both are relative to f. That u is exact is asserted: X is zero, or w lies between X / 2 and 2 X.

The powers 2**(j / 32), rounded to float32, and what these lack, relative to them, are tables too. In that of powers j has been taken
off the bits already, in the place where the rule adds ``n + 2048`` to them, whose lowest five bits are j.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import mpmath as mp
import numpy as np
from derived_tables import Sections, write_or_compare_tables
from flint import arb, arb_series
from scipy.special import ndtr

from ogive.numerics.elementary.paired_functions import ROUNDINGS
from ogive.numerics.paired import U, half_unit

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


INTERVALS, DEGREE = 32, 7
CANDIDATES = 2_000_000
PIECES, TERMS = 16, 16
BITS = 200

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Shape:
    """A function, and how it is cut: an interval lies around each ``j / scale``."""

    name: str
    what: str
    scale: float
    roughly: Function
    """It on arrays of float64."""
    slope: Function
    series: Function
    """It on a power series of Arb."""
    at_zero: tuple[float, float]
    """Its value and slope at zero."""

    @property
    def most(self) -> float:
        """The largest operand."""
        return single((INTERVALS - 0.55) / self.scale)

    def interval(self, j: int) -> tuple[float, float]:
        return max(j - 0.5, 0.0) / self.scale * (1 - 2.0**-20), min((j + 0.5) / self.scale * (1 + 2.0**-20), self.most)


def tail_series(w: Any) -> Any:
    return (w / arb(2).sqrt()).erfc() / 2


SHAPES = (
    Shape(
        "NORMAL_TAIL",
        "erfc(w / sqrt(2)) / 2",
        5.5,
        lambda w: ndtr(-w),
        lambda w: -np.exp(-w * w / 2) / math.sqrt(2 * math.pi),
        tail_series,
        (0.5, -1 / math.sqrt(2 * math.pi)),
    ),
)


def single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


@dataclass(frozen=True)
class Piece:
    """A polynomial around X, and its bound relative to the function."""

    node: float
    coefficients: tuple[float, ...]
    bound: float


def searched(shape: Shape, j: int) -> tuple[float, float, float]:
    """X, f(X) and f'(X) of an interval, the last two rounded and hardly wrong."""
    low, high = shape.interval(j)
    if j == 0:
        return 0.0, single(shape.at_zero[0]), single(shape.at_zero[1])
    middle, half = (low + high) / 2, (high - low) / 2
    first, last = max(middle - 0.3 * half, high / 2), min(middle + 0.3 * half, 2 * low)
    start, end = (int(np.float32(x).view(np.int32)) for x in (first, last))
    among = np.random.default_rng(j).integers(start, end, CANDIDATES)
    w = np.unique(among).astype(np.int32).view(np.float32)
    w = w[(w >= first) & (w <= last)].astype(np.float64)
    value, slope = shape.roughly(w), shape.slope(w)
    wrong = abs(value - value.astype(np.float32)) + abs(slope - slope.astype(np.float32)) * half * 0.7
    best = int(np.argmin(wrong / value))
    return float(w[best]), single(value[best]), single(slope[best])


def fitted(shape: Shape, j: int, node: float, fixed: Sequence[float]) -> tuple[float, ...]:
    """The polynomial with these first coefficients: of the others each is rounded, and the next ones are fitted again."""
    low, high = shape.interval(j)
    places = (low + high) / 2 + (high - low) / 2 * np.cos((np.arange(400) + 0.5) * np.pi / 400)
    u, value, reach = places - node, shape.roughly(places), max(abs(low - node), abs(high - node))
    found = list(fixed)
    while len(found) <= DEGREE:
        rest = value - sum(c * u**k for k, c in enumerate(found))
        powers = range(len(found), DEGREE + 1)
        matrix = np.stack([(u / reach) ** k / value for k in powers], 1)
        numbers, *_ = np.linalg.lstsq(matrix, rest / value, rcond=1e-18)
        found.append(single(numbers[0] / reach ** len(found)))
    return tuple(found)


def upper(value: Any) -> float:
    return float(abs(value).upper())


def polynomial(coefficients: Sequence[float], u: Any) -> Any:
    value = 0 * u + arb(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = value * u + arb(c)
    return value


def left(shape: Shape, piece: Piece, low: float, high: float) -> float:
    """What the polynomial leaves on a part of the interval, absolutely."""

    def difference(w: Any) -> Any:
        return polynomial(piece.coefficients, w - arb(piece.node)) - shape.series(w)

    middle, half = (arb(low) + arb(high)) / 2, (arb(high) - arb(low)) / 2 * arb(1 + 2.0**-30)
    known = difference(arb_series([middle, 1], prec=TERMS + 1)).coeffs()
    rest = difference(arb_series([arb(middle.mid(), float(half)), 1], prec=TERMS + 1)).coeffs()
    total = sum((abs(c) * half**k for k, c in enumerate(known[:TERMS])), arb(0))
    if len(rest) > TERMS:
        total += abs(rest[TERMS]) * half**TERMS
    return float(total.upper())


def rounding(piece: Piece, low: float, high: float) -> float:
    """What rounding adds there, absolutely, to ``c0 + u (c1 + u c2 + u**2 q)``, q by Horner's rule.

    The first sums are leading parts, which lose what is added to low words: these are rounded themselves.
    """
    u = max(abs(low - piece.node), abs(high - piece.node))
    c0, c1, c2, *tail = map(abs, piece.coefficients)
    q, error = tail[-1], 0.0
    for c in reversed(tail[:-1]):
        value = q * u + c
        error = error * u + (half_unit(value) if value else 0.0)
        q = value
    inner = c1 + u * c2
    assert u * c2 <= c1  # so that what the leading parts lose is exact but for one rounding
    assert u * inner <= c0
    low_of_inner = u * u * q + half_unit(inner)
    # u**2 is rounded, then the sum with what the inner leading part lost, which is rounded twice.
    of_inner = u * u * (error + U * q) + half_unit(low_of_inner) + U * half_unit(inner)
    outer = c0 + u * (inner + low_of_inner)
    low_of_outer = u * low_of_inner + half_unit(outer)
    return u * of_inner + half_unit(low_of_outer) + U * half_unit(outer) + ROUNDINGS * U * low_of_outer


def bound(shape: Shape, j: int, piece: Piece) -> float:
    low, high = shape.interval(j)
    assert piece.node == 0 or (2 * low >= piece.node and high <= 2 * piece.node)
    worst = 0.0
    for k in range(PIECES):
        start, end = (low + (high - low) * i / PIECES for i in (k, k + 1))
        least = float(shape.series(arb_series([arb(end), 1], prec=2))[0].abs_lower())  # it falls
        worst = max(worst, (left(shape, piece, start, end) + rounding(piece, start, end)) / least)
    return single(worst * 1.01 * (1 + 2.0**-20))


def derived(shape: Shape) -> list[Piece]:
    found = []
    for j in range(INTERVALS):
        node, *fixed = searched(shape, j)
        piece = Piece(node, fitted(shape, j, node, fixed), 0.0)
        # Larger operands are moved into the last interval. There the function may be as small as zero.
        found.append(Piece(node, piece.coefficients, bound(shape, j, piece) if j + 1 < INTERVALS else 1.03125))
    return found


def sections() -> Sections:
    flint.ctx.prec = BITS
    found = {}
    for shape in SHAPES:
        pieces = derived(shape)
        powers = [math.log2(piece.bound) for piece in pieces]
        print(shape.name, [round(p, 1) for p in powers], file=sys.stderr)
        found[shape.name] = {
            "what": f"{shape.what}; bounds from 2**{min(powers):.1f} to 2**{max(powers):.1f}",
            "scale": shape.scale,
            "most": shape.most,
            "nodes": [p.node for p in pieces],
            "coefficients": [[p.coefficients[k] for p in pieces] for k in range(DEGREE + 1)],
            "bounds": [p.bound for p in pieces],
        }
    return {"piecewise": found, **tables_of_powers()}


if __name__ == "__main__":
    sys.exit(write_or_compare_tables(__doc__, sections))
