"""Formulas over rows of computed elements are correctly rounded: judged by formulas written again in Arb."""

import math
from fractions import Fraction

import flint
import ml_dtypes  # noqa: F401  (registers bfloat16)
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import element_type
from ogive.enclosures import row_enclosure
from ogive.enclosures.row_enclosure import right_rows
from ogive.errors import FormulaError
from tests.nearest import is_nearest

arb = flint.arb

#: More bits than float64 has room for between numbers of these rows and what differs from them.
BITS = 2000


def total(row):
    return sum(row, arb(0))


def largest(row):
    return max(row, key=lambda x: x.mid())


def log_sum_exp(row):
    most = largest(row)
    return most + total([(x - most).exp() for x in row]).log()


def softmax(row):
    most = largest(row)
    powers = [(x - most).exp() for x in row]
    return [power / total(powers) for power in powers]


def mean(row):
    return total(row) / len(row)


#: The functions that elements are computed by: in formulas, and in Arb.
ELEMENTS = {
    "exp(x)": (lambda x: f.exp(x), lambda x: x.exp()),
    "x * x": (lambda x: x * x, lambda x: x * x),
    "x + 1/3": (lambda x: x + Fraction(1, 3), lambda x: x + arb(1) / 3),
    "tanh(x) * 100": (lambda x: f.tanh(x) * 100, lambda x: x.tanh() * 100),
    "x / 3": (lambda x: x / 3, lambda x: x / 3),
    "x * 1.75 + 0.3125": (lambda x: x * 1.75 + 0.3125, lambda x: x * 1.75 + 0.3125),
}

#: The functions that are computed of the row: one number for all elements, or one for each.
OF_ROWS = {
    "row_max": (f.row_max, largest),
    "row_min": (f.row_min, lambda row: -largest([-x for x in row])),
    "row_sum": (f.row_sum, total),
    "row_product": (lambda x: f.row_product(x) * 1.5, lambda row: math.prod(row, start=arb(1.5))),
    "row_mean": (lambda x: f.row_sum(x) / f.row_count(x), mean),
    "row_log_sum_exp": (f.row_log_sum_exp, log_sum_exp),
    "log(row_log_sum_exp)": (lambda x: f.log(f.row_log_sum_exp(x) + 200), lambda row: (log_sum_exp(row) + 200).log()),
    "softmax": (lambda x: ogive.softmax(x), softmax),
    "centred squares": (
        lambda x: (x - f.row_sum(x) / f.row_count(x)) ** 2,
        lambda row: [(x - mean(row)) ** 2 for x in row],
    ),
    "beside the largest": (lambda x: x - f.row_max(x), lambda row: [x - largest(row) for x in row]),
}


def fraction(number):
    mantissa, exponent = number.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def exactly(number):
    """The number in a ball: a short one if there is one, such as a tie of which thirds cancel."""
    middle = fraction(number.mid())
    short = Fraction(round(middle * 2 ** (BITS // 2)), 2 ** (BITS // 2))
    return short if abs(middle - short) <= fraction(number.rad()) else middle


def inputs(kind):
    generator = np.random.default_rng(3)
    made = (generator.standard_normal((8, 5)) * 3).astype(kind)
    made[0] = made[0, 0]  # all elements are the largest
    made[1, 1:] = made[1, 0] - np.arange(4).astype(kind) * kind.type(2.0**-7)
    made[2, 1:] = [0, 0, -1, 1]
    return made


def wrong(formula, exact, rows):
    """How many results are not the nearest ones."""
    results, count, before = formula(rows), 0, flint.ctx.prec
    flint.ctx.prec = BITS
    try:
        for row, got in zip(rows, results, strict=True):
            found = exact([arb(float(x)) for x in row])
            found = found if isinstance(found, list) else [found] * len(row)
            count += sum(not is_nearest(g, exactly(e), rows.dtype) for g, e in zip(got, found, strict=True))
    finally:
        flint.ctx.prec = before
    return count


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize(
    ("of_row", "element", "kind"),
    [
        *((of_row, element, "float32") for of_row in OF_ROWS for element in ELEMENTS),
        *((of_row, "tanh(x) * 100", kind) for of_row in OF_ROWS for kind in ("float16", "bfloat16")),
    ],
)
def test_rows_of_computed_elements_are_correctly_rounded(of_row, element, kind):
    (outer, outer_exact), (inner, inner_exact) = OF_ROWS[of_row], ELEMENTS[element]
    formula = ogive.row_operator(lambda x: outer(inner(x)))
    rows = inputs(element_type(kind).numpy)
    assert wrong(formula, lambda row: outer_exact([inner_exact(x) for x in row]), rows) == 0


@pytest.mark.matrix(share=16, pool="slow")
def test_a_logarithm_of_a_sum_beside_huge_elements_is_finite():
    formula = ogive.row_operator(lambda x: f.log(f.row_log_sum_exp(f.exp(x))))
    x = np.array([[88.0, 89.0, 3.0]])
    assert wrong(formula, lambda row: log_sum_exp([e.exp() for e in row]).log(), x.astype(np.float32)) == 0
    got = formula(x)  # float64 is promised no correct rounding
    assert np.all(np.isfinite(got))
    assert np.all(np.abs(got - 89) <= 2 * np.spacing(89.0))
    assert np.all(np.isfinite(ogive.row_operator(lambda x: f.row_log_sum_exp(f.exp(x)))(x)))


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("row", [[89.0, 88.0, 3.0], [3.0, 700.0, -1.0]])
def test_the_largest_of_vast_elements_is_the_largest_in_float64(row):
    """exp(89) is rounded as a number of the row, and by far more than 1: beside that it must not lie below itself."""
    shares = ogive.row_operator(lambda x: ogive.softmax(f.exp(x)))
    below = ogive.row_operator(lambda x: f.exp(x) - f.row_max(f.exp(x)))
    is_largest = np.array(row) == max(row)
    with np.errstate(all="ignore"):
        assert np.array_equal(shares(np.array([row]))[0], is_largest)
        found = below(np.array([row]))[0]
    assert np.array_equal(found == 0, is_largest)
    assert np.all(found[~is_largest] < -1e37)


def of_many_sums(count):
    """A formula that reduces rows to so many sums, of terms with a rounding error each."""

    def total(x):
        found = x
        for i in range(1, count + 1):
            found = found + f.row_sum(x * Fraction(i, 7))
        return found

    def exact(row):
        weight = arb(count * (count + 1)) / 14
        return [x + sum(row, arb(0)) * weight for x in row]

    return ogive.row_operator(total), exact


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("count", [2, 5, 14, 30])
def test_rows_that_are_reduced_to_many_numbers(count):
    """5 sums and their bounds are more than one pass takes, and 30 more than a kernel: enclosures compute those."""
    formula, exact = of_many_sums(count)
    assert wrong(formula, exact, inputs(element_type("float32").numpy)) == 0


def test_rows_that_are_reduced_to_too_many_numbers():
    formula, _ = of_many_sums(70)
    with pytest.raises(FormulaError, match="reduces rows to 70 numbers in 5 passes, one after the other; allowed: 64"):
        formula(np.ones((1, 3), np.float32))


def test_the_logarithm_of_a_product_beyond_all_numbers():
    """A product that is a result may be too large. One that is used further has to be right."""
    formula = ogive.row_operator(lambda x: f.log(f.row_product(x)))
    rows = np.full((1, 100), 1e10, np.float32)
    assert wrong(formula, lambda row: math.prod(row, start=arb(1)).log(), rows) == 0


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_products_of_infinities(kind):
    """An infinite factor has no second word: the product is infinite, and NaN beside zero alone."""
    product = ogive.row_operator(lambda x: f.row_product(f.exp(x)))
    thirds = ogive.row_operator(lambda x: f.row_product(x / 3))
    rows = np.array([[0.0, np.inf, -0.5], [1.0, -np.inf, 2.0], [-np.inf, np.inf, 1.0]], dtype=kind)
    powers = [[np.inf], [0.0], [np.nan]]
    np.testing.assert_array_equal(product(rows).astype(float), np.broadcast_to(powers, (3, 3)))
    products = [[np.nan], [-np.inf], [-np.inf]]
    np.testing.assert_array_equal(thirds(rows).astype(float), np.broadcast_to(products, (3, 3)))


#: Rows of an element that no exponential leaves finite, or of an infinity, and what formulas over them are.
BESIDE_INFINITIES = {
    "softmax(exp(x))": (lambda x: ogive.softmax(f.exp(x)), [1.0, 1e25, -math.inf], [0, 1, 0]),
    "log_softmax(exp(x))": (
        lambda x: ogive.log_softmax(f.exp(x)),
        [1.0, 1e25, -math.inf],
        [-math.inf, -0.0, -math.inf],
    ),
    "hardmax(exp(x))": (lambda x: ogive.hardmax(f.exp(x)), [0.0, math.inf], [0, 1]),
    "hardmax(exp(x)) of vast elements": (lambda x: ogive.hardmax(f.exp(x)), [1.0, 1e25, -math.inf], [0, 1, 0]),
    "lp_normalization(exp(x))": (lambda x: ogive.lp_normalization(f.exp(x)), [1.0, 1e25, -math.inf], [0, 1, 0]),
    "x + logsumexp(exp(x))": (
        lambda x: x + ogive.logsumexp(f.exp(x)),
        [1.0, 1e25, -math.inf],
        [math.inf, math.inf, -math.inf],
    ),
    "log(softmax(x))": (
        lambda x: f.log(ogive.softmax(x)),
        [0.0, 49920.0, -math.inf],
        [-49920.0, -0.0, -math.inf],
    ),
    "softmax(x) log(softmax(x))": (
        lambda x: ogive.softmax(x) * f.log(ogive.softmax(x)),
        [0.0, 49920.0, -math.inf],
        [-0.0, -0.0, math.nan],
    ),
    "sparsemax(sinh(x))": (lambda x: ogive.sparsemax(f.sinh(x)), [1.0, 1e25, -math.inf], [0, 1, 0]),
    "softmax(relu(x)) / 3": (
        lambda x: ogive.softmax(ogive.relu(x)) / 3,
        [1.0, math.inf, -math.inf],
        [math.nan, math.nan, math.nan],
    ),
    "row_product(1 / x)": (lambda x: f.row_product(1 / x), [-2.5, math.inf, 3.0], [-0.0, -0.0, -0.0]),
    "1 / row_product(1 / x)": (lambda x: 1 / f.row_product(1 / x), [-2.5, math.inf, 3.0], [-math.inf] * 3),
    "row_product(tanh(x) - 1)": (lambda x: f.row_product(f.tanh(x) - 1), [-2.0, math.inf], [-0.0, -0.0]),
}


def test_quotients_that_float64_does_not_hold_beside_an_infinity():
    row = np.array([[-math.inf, -1e-160, 3e-316]])
    with np.errstate(all="ignore"):
        found = ogive.row_operator(lambda x: ogive.sparsemax(1 / x))(row)
    np.testing.assert_array_equal(found, [[0.0, 0.0, 1.0]])


@pytest.mark.parametrize("kind", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", BESIDE_INFINITIES)
def test_vast_elements_beside_infinities(name, kind):
    """Enclosures decide what overflows on the way in a row with an infinity, too."""
    formula, row, right = BESIDE_INFINITIES[name]
    with np.errstate(all="ignore"):
        found = ogive.row_operator(formula)(np.array([row]).astype(kind))[0].astype(np.float64)
    np.testing.assert_array_equal(found, right)
    is_number = ~np.isnan(found)
    np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(right)[is_number])


def test_masked_rows_are_not_asked_of_enclosures(monkeypatch):
    """Rows of catalogue operators with infinities stay in the kernel."""
    asked = []
    monkeypatch.setattr(row_enclosure, "right_rows", lambda *given: asked.append(given) or right_rows(*given))
    x = np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32)
    for mask in (np.tri(32) > 0, x > 0, x > 9):
        for op in (ogive.softmax, ogive.log_softmax, ogive.softmin, ogive.standardize, ogive.logsumexp):
            with np.errstate(all="ignore"):
                op(np.where(mask, x, np.float32(-np.inf)))
    assert not asked


def test_squares_of_computed_elements_that_float64_does_not_hold():
    """Their sum was infinite, and what is divided by that is zero."""
    rows = np.array([[1e160, 3.0, 2.0], [3e211, 2e301, -5.0]])
    found = ogive.row_operator(lambda x: ogive.standardize(ogive.softplus(x)))(rows)
    root, half = 2**0.5, 0.5**0.5
    np.testing.assert_allclose(found, [[root, -half, -half], [-half, root, -half]], rtol=1e-15)
