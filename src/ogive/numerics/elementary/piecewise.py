"""Functions of a positive number in pairs of float32: a polynomial in each of 32 intervals (derived_numbers.json).

With u = w - X, which is exact:

    f(w) = c0 + u (c1 + u c2 + u**2 q)

The two outer sums are leading parts, and what these lose goes to low words. The coefficients stand in tables, of which the
interval's number takes each; so does the bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from ogive import operations as ops
from ogive.expression import Expression, Format, node
from ogive.numerics.elementary.derived_numbers import PIECEWISE
from ogive.numerics.paired import Around, Paired, PairedArithmetic

__all__ = ["NORMAL_TAIL", "Piecewise", "evaluated"]


@dataclass(frozen=True)
class Piecewise:
    """A function, by intervals that lie around the multiples of ``1 / scale``, up to ``most``."""

    scale: float
    most: float
    nodes: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    """Of all intervals, by powers of u."""
    bounds: tuple[float, ...]
    """Relative to the function."""


#: erfc(w / sqrt(2)) / 2.
NORMAL_TAIL = Piecewise(**PIECEWISE["NORMAL_TAIL"])


def evaluated(m: PairedArithmetic, table: Piecewise, w: Expression) -> Paired:
    """The function of a positive number, and its bound. Numbers beyond the last interval are moved into it."""
    w = m.smaller_(m.number(table.most), w)
    index = m.bits_(m.fma_(w, m.number(table.scale), m.number(m.magic)))

    def looked_up(numbers: tuple[float, ...]) -> Expression:
        return node(ops.TABLE, (index,), numbers, Format.F32)

    u = m.sub_(w, looked_up(table.nodes))
    c0, c1, c2, *tail = map(looked_up, table.coefficients)
    q = tail[-1]
    for c in reversed(tail[:-1]):
        q = m.fma_(q, u, c)
    inner = m.fma_(u, c2, c1)
    rest = m.fma_(u, c2, m.neg_(m.sub_(inner, c1)))
    rest = m.fma_(m.mul_(u, u), q, rest)
    high = m.fma_(u, inner, c0)
    lost = m.fma_(u, inner, m.neg_(m.sub_(high, c0)))
    return Paired(high, low=m.fma_(u, rest, lost), around=Around(high, looked_up(table.bounds), m.number(0.0)))
