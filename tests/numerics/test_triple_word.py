"""Sums of three float64: the exact number lies within the bound, by fractions, and as much is left of it as three words hold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ogive.common.dtypes import ELEMENT_TYPES
from ogive.graph import operations as ops
from ogive.graph.expression import Format, node
from ogive.lowering.numerics.triple_word import SLACK, TripleArithmetic, TripleWord
from ogive.lowering.program import Program
from ogive.runtime.kernels import make_ufunc

FLOAT64 = ELEMENT_TYPES["float64"]
M = TripleArithmetic()
A, B, C, D = (TripleWord((node(ops.INPUT, (), i, Format.F64),)) for i in range(4))

#: Numbers that operations make of four operands, and the exact ones; ``root`` is of a fraction, to 400 bits.
MADE = {
    "sum": (M.add(M.multiply(A, B), M.multiply(C, D)), lambda a, b, c, d: a * b + c * d),
    "sum of sums": (M.total([A, B, C, D]), lambda a, b, c, d: a + b + c + d),
    "difference": (M.subtract(M.multiply(A, B), M.multiply(M.add(A, C), B)), lambda a, b, c, d: -c * b),
    "product": (M.multiply(M.multiply(A, B), M.multiply(M.add(A, C), D)), lambda a, b, c, d: a * b * (a + c) * d),
    "quotient": (M.divide(M.multiply(A, B), M.add(C, D)), lambda a, b, c, d: a * b / (c + d)),
    "quotient of a quotient": (M.divide(A, M.divide(B, M.add(C, D))), lambda a, b, c, d: a * (c + d) / b),
    "square root": (M.square_root(M.add(M.multiply(A, A), M.multiply(B, B))), lambda a, b, c, d: root(a * a + b * b)),
    "magnitude": (M.absolute(M.subtract(M.multiply(A, B), M.multiply(C, D))), lambda a, b, c, d: abs(a * b - c * d)),
    "third": (M.multiply(M.constant(Fraction(1, 3)), A), lambda a, b, c, d: a / 3),
    "little of much": (
        M.subtract(A, M.multiply(B, M.divide(M.multiply(A, C), M.multiply(B, C)))),
        lambda a, b, c, d: Fraction(0),
    ),
}


def root(value):
    shift = 2 * max(0, 400 - value.numerator.bit_length() // 2 + value.denominator.bit_length())
    return Fraction(math.isqrt((value.numerator << shift) // value.denominator), 1 << shift // 2)


def words_of(number, operands):
    zero = M.number(0.0)
    words = (*number.words, zero, zero)[:3]
    error = zero if number.error is None else number.error
    made = make_ufunc("words", Program((FLOAT64,) * 4, (FLOAT64,) * 4, (*words, error)))
    with np.errstate(all="ignore"):
        return made(*operands)


def operands(kind):
    r = np.random.default_rng(8)
    a, b, c, d = r.normal(size=(4, 300))
    if kind == "cancelling":
        c, d = a * (1 + r.integers(-3, 4, 300) * 2.0**-52), -b
    if kind == "of many sizes":
        a, b, c, d = (x * 2.0 ** r.integers(-90, 90, 300) for x in (a, b, c, d))
    return a, b, c, d


@pytest.mark.parametrize("kind", ["ordinary", "cancelling", "of many sizes"])
@pytest.mark.parametrize("name", MADE)
def test_the_exact_number_lies_within_the_bound(name, kind):
    number, exactly = MADE[name]
    given = operands(kind)
    most = 0.0
    for *words, error, a, b, c, d in zip(*words_of(number, given), *given, strict=True):
        if not math.isfinite(error):  # of a divisor that may be zero
            assert kind == "cancelling"
            continue
        if not all(map(math.isfinite, words)):
            assert words[0] != words[0]  # no result is decided of that
            continue
        exact = exactly(*map(Fraction, map(float, (a, b, c, d))))
        found = sum(map(Fraction, map(float, words)))
        assert abs(found - exact) <= Fraction(float(error)) * Fraction(SLACK) + Fraction(2) ** -700
        size = max(map(abs, map(float, (a, b, c, d))))
        most = max(most, float(error) / size)
    if kind == "ordinary":
        assert most < 2.0**-130


def test_constants_have_three_words():
    third = M.constant(Fraction(1, 3))
    assert len(third.words) == 3
    left = abs(sum(Fraction(word.attribute) for word in third.words) - Fraction(1, 3))
    assert 0 < left <= Fraction(third.error.attribute) < Fraction(2) ** -160
    three = M.constant(Fraction(3))
    assert len(three.words) == 1
    assert three.error is None


def test_a_number_is_rounded_where_both_ends_agree():
    high, error = M.number(1.0), M.number(2.0**-120)
    for low, decided in ((2.0**-60, True), (2.0**-53, False), (2.0**-53 * (1 + 2.0**-50), True)):
        value, is_decided = M.to_nearest(TripleWord((high, M.number(low)), error))
        kernel = make_ufunc(
            "rounded",
            Program(
                (FLOAT64,), (FLOAT64, ELEMENT_TYPES["bool"]), (value, node(ops.CONVERT, (is_decided,), None, Format.U8))
            ),
        )
        found, known = kernel(np.zeros(1))
        assert known[0] == decided
        if decided:
            assert found[0] == float(Fraction(1) + Fraction(low))
    _, is_decided = M.to_nearest(TripleWord((M.number(0.0),)))
    kernel = make_ufunc(
        "zero", Program((FLOAT64,), (ELEMENT_TYPES["bool"],), (node(ops.CONVERT, (is_decided,), None, Format.U8),))
    )
    assert not kernel(np.zeros(1))[0]
