"""NaN in formulas whose numbers are known to be bounded: a kernel that leaves out special cases must keep it.

``log(2 + sin(x))`` needs no case for negative numbers or infinities. The bits of NaN are still no exponent.
"""

import math

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import element_type
from ogive.enclosures.row_enclosure import right_rows
from ogive.graph.expression import OPERATIONS
from tests.inputs import assert_same_bits

KINDS = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}

#: Whatever has a kernel of its own, and the others of one operand.
FUNCTIONS = (
    *(name for name, o in OPERATIONS.items() if o.is_elementary and o.arity == 1 and hasattr(f, name)),
    *("square_root", "ndtr", "floor", "ceil", "round_even", "truncate", "absolute", "sinc"),
)

BOUNDED = {
    "2 + sin": lambda x: 2 + f.sin(x),
    "sin / 2": lambda x: f.sin(x) / 2,
    "1/2 + sigmoid": lambda x: ogive.sigmoid(x) + 0.5,
    "1 + x**2": lambda x: x * x + 1,
    "exp of -abs": lambda x: f.exp(-f.absolute(x)),
}

ROWS = {
    "beside the largest": lambda x: f.exp(x - f.row_max(x)) + 0.5,
    "sum of exponentials": lambda x: f.row_sum(f.exp(x - f.row_max(x))),
    "mean of sigmoid": lambda x: f.row_sum(ogive.sigmoid(x)) / f.row_count(x),
    "squares": lambda x: f.square_root(f.row_sum(x * x) + 1),
}


def calls(op, kind):
    """The operator of each contract."""
    return (op,) if kind == "float64" else (op, op.fast)


def assert_all_are_nan(op, kind, *rows):
    for call in calls(op, kind):
        assert np.isnan(call(*(np.array(row, KINDS[kind]) for row in rows)).astype(np.float64)).all()


@pytest.mark.matrix("function", share=4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inner", BOUNDED)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_bounded_numbers(function, inner, kind):
    op = ogive.operator(lambda x: getattr(f, function)(BOUNDED[inner](x)))
    x = np.array([math.nan, 0.5], KINDS[kind])
    for call in calls(op, kind):
        found = call(x).astype(np.float64)
        assert np.isnan(found).tolist() == [True, bool(np.isnan(op(x[1:]).astype(np.float64))[0])]


@pytest.mark.matrix("function", share=4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inner", ROWS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_bounded_numbers_of_rows(function, inner, kind):
    op = ogive.row_operator(lambda x: getattr(f, function)(ROWS[inner](x)))
    for row in ([math.nan, 0.5, 1], [0.5, math.nan, -math.inf], [math.nan] * 3):
        assert_all_are_nan(op, kind, row)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", [[-math.inf] * 3, [math.inf, 1, 2], [math.nan, 1, -math.inf]])
def test_the_logarithm_of_a_sum_that_is_nan(row, kind):
    """It was -709 or 710: the exponent of NaN."""

    @ogive.row_operator(reduces=True)
    def spelled(x):
        largest = f.row_max(x)
        return largest + f.log(f.row_sum(f.exp(x - largest)))

    with np.errstate(invalid="ignore"):
        assert np.isnan(spelled(np.array(row, KINDS[kind])).astype(np.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("extreme", [f.row_max, f.row_min])
def test_computed_elements_beside_an_extreme_that_is_nan(extreme, kind):
    """The one number of the row was taken for the extreme, and its exponential was 1."""
    op = ogive.row_operator(lambda x, y: f.exp(x * y + x - extreme(x * y + x)))
    assert_all_are_nan(op, kind, [math.nan, -0.1, -0.5, math.nan], [-2.5, math.nan, 3.5, math.nan])


@pytest.mark.parametrize("scale", [math.nan, math.inf, 1.0])
def test_other_elements_beside_a_scale_that_is_no_number(scale):
    """An element that bounds leave open was not computed again where a scale of another element was NaN."""
    x = np.array([100.0, -1e300, 1e-8, 0.5, 2.8870811170966584, -1e-30, 1e300, -0.09427019369295675])
    scales = np.array([3.341036462024217, scale, -100.0, -0.3, -6.746292758376503, -3.632146833424769, 0.0, 0.0])
    found = ogive.rms_normalization(x, scales, epsilon=0.5)
    assert found[2] == -2e-306
    assert np.isnan(found[1]) == np.isnan(scale)


def test_an_operand_that_a_sum_is_not_of():
    """A number of the row has no element of it."""
    x = np.arange(9.0).reshape(3, 3) - 4
    for slope in (0.1, math.nan):
        found = ogive.vjp(ogive.prelu)(np.ones_like(x), x, np.full((3, 1), slope))[1]
        np.testing.assert_array_equal(found, [[-9.0], [-1.0], [0.0]])


def _or_zero(x):
    return f.where(x == x, x, 0)


def _or_least(x):
    return f.where(x == x, x, -math.inf)


def _log_sum(x):
    return f.log(f.row_sum(f.where(x == x, f.exp(x), 0)))


#: Formulas of the numbers of a row that are none of NaN.
MASKED = {
    "log of a sum": lambda x: _log_sum(x) + 0 * _or_zero(x),
    "less a log of a sum": lambda x: _or_zero(x) - _log_sum(x),
    "log_softmax": lambda x: (
        _or_least(x) - f.row_max(_or_least(x)) - f.log(f.row_sum(f.exp(_or_least(x) - f.row_max(_or_least(x)))))
    ),
    "less the mean": lambda x: _or_zero(x) - f.row_sum(_or_zero(x)) / f.row_sum(f.where(x == x, 1, 0)),
    "share": lambda x: _or_zero(x) / f.row_sum(_or_zero(x)),
    "root of squares": lambda x: f.square_root(f.row_sum(_or_zero(x) * _or_zero(x))) - abs(_or_zero(x)),
}


@pytest.mark.matrix("name", share=2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MASKED)
def test_formulas_that_mask_nan(name, kind):
    """Elements that bounds left open were not computed again in rows with NaN: x less the logarithm of exp(x) was 2e-33."""
    op, random = ogive.row_operator(MASKED[name]), np.random.default_rng(len(name))
    (root,) = op.formula(for_doubles=kind == "float64")
    for scale in (1.0, 1e-7, 2e3, 1e-30, 1e-200):
        for row in random.normal(size=(4, 3)) * scale:
            row[: random.integers(1, 3)] = math.nan
            with np.errstate(all="ignore"):
                x = row.astype(KINDS[kind])
                found = op(x).astype(np.float64)
            right = right_rows(root, [[float(v) for v in x]], {}, element_type(kind))
            assert_same_bits(found, np.array([float(v) for v in right]), x)


@pytest.mark.parametrize("scale", [1e-320, 1e-165, 1e-150, 1e160, 1e300])
@pytest.mark.parametrize("root", [lambda x: x, f.square_root, lambda x: f.square_root(x) * 3])
def test_sums_whose_terms_leave_the_range_beside_a_masked_nan(root, scale):
    """Three words overflowed to NaN, for which the row's own NaN was taken to be the cause."""
    op = ogive.row_operator(lambda x: root(f.row_sum(_or_zero(x) * _or_zero(x))))
    masked, zero = (op(np.array([a, 3 * scale, a])) for a in (math.nan, 0.0))
    assert_same_bits(masked, zero)
