"""The larger and the smaller of two numbers, as IEEE 754 has maximum and minimum.

NaN in either gives NaN, and -0 is smaller than 0. What a comparison leaves open, equal numbers and NaN, is settled
in their bits: ``a | b`` is NaN where one of them is, the number that both are, and of two zeros -0 if one is.
"""

from __future__ import annotations

from dataclasses import replace

from ogive import elementary_functions as functions
from ogive import operations as ops
from ogive.expression import Expression, Format, node
from ogive.numerics.double_word import Arithmetic, DoubleWord
from ogive.numerics.interval import Interval
from ogive.numerics.machine import Machine

__all__ = ["larger", "smaller"]


def larger(m: Arithmetic, a: DoubleWord, b: DoubleWord) -> DoubleWord:
    """The larger one; of two zeros 0 if one of them is."""
    interval = Interval(max(a.interval.low, b.interval.low), max(a.interval.high, b.interval.high))
    return replace(_extreme(m, a, b, larger=True), interval=interval)


def smaller(m: Arithmetic, a: DoubleWord, b: DoubleWord) -> DoubleWord:
    """The smaller one; of two zeros -0 if one of them is."""
    interval = Interval(min(a.interval.low, b.interval.low), min(a.interval.high, b.interval.high))
    return replace(_extreme(m, a, b, larger=False), interval=interval)


def _extreme(m: Arithmetic, a: DoubleWord, b: DoubleWord, *, larger: bool) -> DoubleWord:
    if not (a.is_exact and b.is_exact):  # results of other operations, whose zeros may have either sign
        chosen = m.select(m.compare(ops.LESS, a, b) if larger else m.compare(ops.LESS, b, a), b, a)
        return m.select(m.equal_(b.high, b.high), chosen, b)
    x, y = m.single_of(a.high), m.single_of(b.high)
    if m.format is Format.F64 and x is not None and y is not None:  # on half as many registers
        return DoubleWord(m.converted(_extreme_of_exact(Machine(Format.F32), x, y, larger=larger), m.format))
    return DoubleWord(_extreme_of_exact(m, a.high, b.high, larger=larger))


def _extreme_of_exact(m: Machine, x: Expression, y: Expression, *, larger: bool) -> Expression:
    first = m.select_(m.less_(y, x) if larger else m.less_(x, y), x, y)
    differ = node(ops.OR, (m.less_(x, y), m.less_(y, x)), None, Format.BIT)
    bits = m.bits_(x), m.bits_(y)
    tied = node(ops.OR, bits, None, m.integer)
    if larger:  # the sign bit of both, not of one of them
        magnitude = node(ops.AND, (tied, m.whole((1 << (m.bits - 1)) - 1)), None, m.integer)
        tied = node(ops.OR, (magnitude, node(ops.AND, bits, None, m.integer)), None, m.integer)
    return m.select_(differ, first, m.from_bits_(tied))


functions.LARGER.lowering = larger
functions.SMALLER.lowering = smaller
