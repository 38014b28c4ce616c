"""Integers whose formula has nothing but whole numbers on the way are computed as integers, and saturate."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.graph.expression import Expression, Format, constant, node, walk
from ogive.laboratory.reference import correctly_rounded, evaluate_exactly
from ogive.lowering.fold import fold
from ogive.lowering.integers import format_of_whole_numbers
from ogive.lowering.lower import lower
from ogive.runtime.kernels import make_ufunc
from tests.inputs import special_values

INTEGERS = [kind for kind in ELEMENT_TYPES.values() if kind.is_integer]
X, Y = (node("input", (), i, Format.NUMBER) for i in range(2))


def formats(program) -> set[Format]:
    return {n.format for n in walk(*program.results)}


@pytest.mark.parametrize(
    ("name", "form"), [("int8", Format.I16), ("uint8", Format.I32), ("int16", Format.I32), ("int32", Format.I64)]
)
def test_what_a_format_holds(name, form):
    kind = ELEMENT_TYPES[name]
    assert format_of_whole_numbers([X * Y], (kind, kind)) is form
    assert formats(lower([f.where(X >= 0, X, X * Y)], (kind, kind), (kind,))) <= {form, Format.BIT, *formats_of(kind)}


def formats_of(kind):
    return formats(lower([X], (kind,), (kind,)))


@pytest.mark.parametrize(
    "root",
    [
        X / Y,
        X + constant(0.5),
        X * constant(float("inf")),
        X * constant(2**70),
        f.square_root(X),
        X * node("parameter", (), (0, "alpha"), Format.NUMBER),
        X * Y * X * Y * X * Y * X * Y * X * Y,
    ],
    ids=str,
)
def test_what_none_holds(root):
    kind = ELEMENT_TYPES["int8"]
    assert format_of_whole_numbers([root], (kind, kind)) is None


@pytest.mark.parametrize(("name", "form"), [("int64", Format.I64), ("uint64", Format.U64)])
def test_64_bits_are_held_where_they_are_only_compared(name, form):
    kind = ELEMENT_TYPES[name]
    assert format_of_whole_numbers([X < Y], (kind, kind)) is form
    assert format_of_whole_numbers([X - Y], (kind, kind)) is None


def test_prelu_of_all_pairs():
    x, slope = (a.ravel() for a in np.meshgrid(*2 * [np.arange(-128, 128, dtype=np.int8)]))
    wide = x.astype(int)
    expected = np.clip(np.where(wide >= 0, wide, wide * slope), -128, 127)
    assert np.array_equal(ogive.prelu(x, slope), expected)


@st.composite
def formulas(draw) -> Expression:
    """Whole numbers, not too large."""
    found = [X, Y, *map(constant, draw(st.lists(st.integers(-300, 70_000), min_size=1, max_size=2)))]
    for _ in range(draw(st.integers(1, 6))):
        a, b, c, d = (draw(st.sampled_from(found)) for _ in range(4))
        made = [a + b, a - b, a * b, -a, abs(a), f.floor(a), f.where(a < b, c, d), f.where(a == b, c, d)]
        found.append(draw(st.sampled_from(made)))
    return found[-1]


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=60, deadline=None)
@given(root=formulas(), kind=st.sampled_from(INTEGERS))
def test_any_formula(root, kind):
    root = fold(root)
    assume(format_of_whole_numbers([root], (kind, kind)))
    program = lower([root], (kind, kind), (kind,))
    values = special_values(kind)
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    results = make_ufunc("some", program)(x, y)
    for a, b, result in zip(x.tolist(), y.tolist(), results.tolist(), strict=True):
        assert result == correctly_rounded(evaluate_exactly(root, [a, b], {}, bits=kind.bits), kind)
