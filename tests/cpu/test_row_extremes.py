"""The signs of zeros that are the largest or smallest element of a row, wherever a result shows them: +0 is larger than -0."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import element_type
from ogive.enclosures.row_enclosure import right_rows
from ogive.lowering.row_extremes import with_signs_of_extremes
from tests.inputs import assert_same_bits

KINDS = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}

SEEN = {
    "max": f.row_max,
    "min": f.row_min,
    "1 / max": lambda x: 1 / f.row_max(x),
    "-2 min": lambda x: -2 * f.row_min(x),
    "x - max": lambda x: x - f.row_max(x),
    "min - x": lambda x: f.row_min(x) - x,
    "max of silu": lambda x: f.row_max(ogive.silu(x)),
    "min of sin": lambda x: f.row_min(f.sin(-x)),
    "x max": lambda x: x * f.row_max(x),
    "sign of max": lambda x: f.copy_sign(1, f.row_max(x)),
    "max + max": lambda x: f.row_max(x) + f.row_max(x),
    "max - 0": lambda x: f.row_max(x) + -0.0,
    "root of max": lambda x: f.square_root(f.row_max(x)),
    "angle": lambda x: f.atan2(f.row_min(x), -1),
    "max of differences": lambda x: f.row_max(x - f.row_max(x)),
    "larger of both": lambda x: f.maximum(f.row_min(x), -f.row_max(x)),
    "chosen": lambda x: f.where(x < 0, f.row_max(x), -f.row_min(x)),
    "1 / (max - min)": lambda x: 1 / (f.row_max(x) - f.row_min(x)),
    "beside a logarithm": lambda x: x - f.row_max(x) - f.log(f.row_sum(f.exp(x - f.row_max(x)))),
    "beside a masked logarithm": lambda x: (
        x - f.row_max(x) - f.log1p(f.row_sum(f.where(x < f.row_max(x), f.exp(x - f.row_max(x)), 0)))
    ),
    "beside another logarithm": lambda x: x - f.row_max(x) - f.log(f.row_sum(f.exp(x - f.row_max(x))) / f.row_count(x)),
}

UNSEEN = {
    "softmax": lambda x: f.exp(x - f.row_max(x)) / f.row_sum(f.exp(x - f.row_max(x))),
    "log_softmax": lambda x: x - f.row_max(x) - f.log(f.row_sum(f.exp(x - f.row_max(x)))),
    "log_sum_exp": f.row_log_sum_exp,
    "largest magnitude": lambda x: x / f.row_max(f.absolute(x)),
    "comparison": lambda x: f.where(f.equal(x, f.row_max(x)), 1, 0),
    "max + 1": lambda x: f.row_max(x) + 1,
}

#: Zeros of both signs between other numbers, in every order, in short rows and in vectors.
TUPLES = list(itertools.product((0.0, -0.0, -1.0, 1.0, -math.inf), repeat=3))


@pytest.mark.matrix("formula", share=2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("formula", SEEN)
def test_signs_are_those_of_the_formula(formula, kind):
    op = ogive.row_operator(SEEN[formula])
    (root,) = op.formula(for_doubles=kind == "float64")
    for elements in TUPLES:
        right = np.array([float(x) for x in right_rows(root, [list(elements)], {}, element_type(kind))])
        for times in (1, 7):
            if "logarithm" in formula and times > 1:
                continue
            with np.errstate(all="ignore"):
                found = op(np.array(elements * times, KINDS[kind])).astype(np.float64)
            assert_same_bits(found, np.resize(right, found.shape), np.array(elements * times))


@pytest.mark.parametrize("name", ["row_max", "row_min"])
@pytest.mark.parametrize("contract", ["exact", "fast"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_position_and_contract(kind, contract, name):
    op = ogive.row_operator(lambda x: getattr(f, name)(x), reduces=True)
    op = op.fast if contract == "fast" and kind != "float64" else op
    for length, place in ((n, p) for n in (2, 17, 64) for p in (0, n // 2, n - 1)):
        for other in (0.0, -0.0):
            row = np.full(length, other, KINDS[kind])
            row[place] = -other
            found = float(op(row))
            assert found == 0
            assert math.copysign(1, found) == (1 if name == "row_max" else -1)


def test_nothing_is_added_where_no_result_shows_the_sign():
    for formula in UNSEEN.values():
        (root,) = ogive.row_operator(formula).formula()
        assert with_signs_of_extremes([root])[0] is root
    for name in SEEN.keys() - {"beside a logarithm"}:
        (root,) = ogive.row_operator(SEEN[name]).formula()
        assert with_signs_of_extremes([root])[0] is not root


def test_exponentials_of_other_elements_than_the_smaller_ones():
    """A match of row sums compared nodes by ==, and took the comparison for a truth value: a refusal."""

    @ogive.row_operator(reduces=True)
    def op(x):
        below = x < 2 * f.row_max(x)
        others = f.row_sum(f.where(below, f.exp(x - f.row_max(x)), 0)) + (f.row_sum(f.where(below, 0, 1)) - 1)
        return f.log1p(others)

    (root,) = op.formula()
    assert op(np.float32([1, 2, 3])) == right_rows(root, [[1, 2, 3]], {}, element_type("float32"))[0]
