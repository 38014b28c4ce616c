"""Rows of float64 are correctly rounded: against Arb with 3,000 bits, and against fractions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.row_enclosure import right_rows
from ogive.engine.computation import make_ufunc
from ogive.engine.row_formulas import reduction
from ogive.runtime import statistics

flint = pytest.importorskip("flint", reason="needs python-flint for exact results")

BITS = 3000
FLOAT64 = ELEMENT_TYPES["float64"]
EPSILON = 1e-5

#: Below this exponent of two a number is zero in float64, above it infinite.
SMALLEST, LARGEST = -1080, 1100


@pytest.fixture(autouse=True)
def _with_bits():
    before, flint.ctx.prec = flint.ctx.prec, BITS
    yield
    flint.ctx.prec = before


# ---- exact values: fractions, Arb's numbers, or a float that is the result


def ball(value):
    value = Fraction(value)
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def as_float(value):
    """A fraction rounded to the nearest float64, of two the even one: Python's division does that."""
    size = abs(value)
    try:
        found = size.numerator / size.denominator
    except OverflowError:
        found = math.inf
    return -found if value < 0 else found


def fraction(number):
    mantissa, exponent = number.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def rounded(value):
    """The nearest float64; None where 3,000 bits do not tell."""
    if isinstance(value, float):
        return value
    if isinstance(value, Fraction):
        return as_float(value)
    if abs(value) < flint.arb(2) ** SMALLEST:
        return 0.0 if value > 0 else -0.0 if value < 0 else None
    if abs(value) > flint.arb(2) ** LARGEST:
        return math.inf if value > 0 else -math.inf
    middle, radius = fraction(value.mid()), fraction(value.rad())
    ends = {as_float(middle - radius), as_float(middle + radius)}
    return ends.pop() if len(ends) == 1 else None


def root(value):
    """A square root, as a fraction if it is one."""
    parts = math.isqrt(value.numerator), math.isqrt(value.denominator)
    found = Fraction(*parts) if parts[1] else Fraction(0)
    return found if found * found == value else ball(value).sqrt()


def over(a, b):
    """A quotient; a zero has its sign."""
    if a == 0:
        return Fraction(0)
    return a / b if isinstance(b, Fraction) else ball(a) / b


def exponentials(row):
    """The exponentials of distances from the largest element, and their sum."""
    largest = max(row)
    found = {}
    for x in set(row):
        distance = Fraction(x) - Fraction(largest) if x > -math.inf else None
        # An exponential of far less is next to nothing.
        found[x] = (
            flint.arb(0)
            if distance is None
            else ball(distance).exp()
            if distance > -50_000
            else flint.arb(2) ** -60_000
        )
    return found, sum((found[x] * n for x, n in Counter(row).items()), flint.arb(0))


def softmax(row):
    found, total = exponentials(row)
    return [0.0 if x == -math.inf else found[x] / total for x in row]


def log_softmax(row):
    _, total = exponentials(row)
    logarithm, largest = total.log(), max(row)
    if sum(x > -math.inf for x in row) == 1:
        return [0.0 if x == largest else -math.inf for x in row]
    return [-math.inf if x == -math.inf else ball(Fraction(x) - Fraction(largest)) - logarithm for x in row]


def logsumexp(row):
    if sum(x > -math.inf for x in row) == 1:
        return [max(row)]
    return [ball(max(row)) + exponentials(row)[1].log()]


def logmeanexp(row):
    if min(row) == max(row):
        return [row[0]]
    return [ball(max(row)) + (exponentials(row)[1] / len(row)).log()]


def away(row):
    numbers = list(map(Fraction, row))
    mean = sum(numbers) / len(row)
    distances = [x - mean for x in numbers]
    return distances, sum(a * a for a in distances) / len(row)


def standardize(row):
    distances, variance = away(row)
    deviation = root(variance + Fraction(EPSILON))
    return [over(a, deviation) for a in distances]


def mean_variance_normalization(row):
    distances, variance = away(row)
    return [over(a, root(variance)) if variance else Fraction(0) for a in distances]


def layer_normalization(row, scale, bias):
    distances, variance = away(row)
    deviation = root(variance + Fraction(EPSILON))
    found = []
    for a, g, b in zip(distances, scale, bias, strict=True):
        product = over(a * Fraction(g), deviation)
        found.append(
            b if not a * Fraction(g) else product + (Fraction(b) if isinstance(product, Fraction) else ball(b))
        )
    return found


def rms_normalization(row, scale):
    size = root(sum(Fraction(x) ** 2 for x in row) / len(row) + Fraction(EPSILON))
    return [
        x * g if x * g == 0 == x else over(Fraction(x) * Fraction(g), size) for x, g in zip(row, scale, strict=True)
    ]


def norm(row, p):
    return root(sum(Fraction(x) ** 2 for x in row)) if p == 2 else sum(abs(Fraction(x)) for x in row)


def lp_normalization(row, p=2):
    size = norm(row, p) if any(row) else None  # once: a row of 100,000 sums as many fractions
    return [x if x == 0 else over(Fraction(x), size) for x in row]


def cross_entropy(row, target):
    _, total = exponentials(row)
    logarithm, largest = total.log(), ball(max(row))
    return [-sum((ball(t) * (ball(x) - largest - logarithm) for x, t in zip(row, target, strict=True)), flint.arb(0))]


def sparsemax(row):
    """As many of the largest elements that the next one is not above the threshold that they make."""
    total, threshold = Fraction(-1), Fraction(-1)
    ordered = sorted((Fraction(x) for x in row if x > -math.inf), reverse=True)
    for count, x in enumerate(ordered, start=1):
        if count > 1 and x <= threshold:
            break
        total += x
        threshold = total / count
    return [max(Fraction(x) - threshold, Fraction(0)) if x > -math.inf else Fraction(0) for x in row]


def reduced(name):
    made = make_ufunc(name, reduction(name, FLOAT64, FLOAT64))
    return lambda rows: made(rows)[:, :1]


def of_rows(operator, **parameters):
    return lambda *rows: np.asarray(operator(*rows, **parameters))[..., np.newaxis]


#: By name: what computes, the exact values, and how many operands there are.
OPERATORS = {
    "softmax": (ogive.softmax, softmax, 1),
    "softmin": (ogive.softmin, lambda row: softmax([-x for x in row]), 1),
    "log_softmax": (ogive.log_softmax, log_softmax, 1),
    "logsumexp": (of_rows(ogive.logsumexp), logsumexp, 1),
    "logmeanexp": (of_rows(ogive.logmeanexp), logmeanexp, 1),
    "standardize": (lambda x: ogive.standardize(x, epsilon=EPSILON), standardize, 1),
    "mean_variance_normalization": (ogive.mean_variance_normalization, mean_variance_normalization, 1),
    "layer_normalization": (ogive.layer_normalization, layer_normalization, 3),
    "rms_normalization": (ogive.rms_normalization, rms_normalization, 2),
    "lp_normalization": (ogive.lp_normalization, lp_normalization, 1),
    "lp_normalization of 1": (
        lambda x: ogive.lp_normalization(x, p=1),
        lambda row: lp_normalization(row, p=1),
        1,
    ),
    "cross_entropy": (of_rows(ogive.cross_entropy), cross_entropy, 2),
    "sparsemax": (ogive.sparsemax, sparsemax, 1),
    "sum": (reduced("sum"), lambda row: [sum(map(Fraction, row))], 1),
    "mean": (reduced("mean"), lambda row: [sum(map(Fraction, row)) / len(row)], 1),
    "l1": (reduced("l1"), lambda row: [norm(row, 1)], 1),
    "l2": (reduced("l2"), lambda row: [norm(row, 2)], 1),
    "sum_square": (reduced("sum_square"), lambda row: [sum(Fraction(x) ** 2 for x in row)], 1),
    "product": (reduced("product"), lambda row: [math.prod(map(Fraction, row))], 1),
}

#: Operators for rows in which -inf stands for what is left out.
OF_MASKED_ROWS = ("softmax", "log_softmax", "logsumexp", "sparsemax")


def usual_rows(rng, length):
    """Rows of all widths, on a grid, and such that one element or a tie decides."""
    for width in (1e-8, 1e-3, 1.0, 30.0, 1e4):
        yield rng.standard_normal(length) * width
    yield np.round(rng.standard_normal(length) * 8) / 8
    yield np.full(length, rng.standard_normal())
    hot = np.zeros(length)
    hot[length // 2] = rng.choice([1.0, 100.0, 1e4])
    yield hot
    confident = rng.standard_normal(length)
    confident[0] += rng.choice([20.0, 40.0, 700.0, 742.0, 800.0])
    yield confident
    half = rng.standard_normal((length + 1) // 2)
    yield np.concatenate([half, -half])[:length]
    yield 1e6 + rng.standard_normal(length) * 1e-3


def rows_at_the_ends(rng, length):
    for size in (1e-320, 1e-300, 1e-160, 1e150, 1e290, 1e307):
        yield rng.standard_normal(length) * size
    yield rng.standard_normal(length) * 10.0 ** rng.integers(-300, 300, length)


def masked_rows(rng, length):
    for row in usual_rows(rng, length):
        left_out = rng.random(length) < 0.4
        left_out[0] = False
        yield np.where(left_out, -np.inf, row)


def wrong_results(name, rows, rng):
    """The results of rows that are not the nearest numbers: (row, operands, result, nearest)."""
    compute, exact, count = OPERATORS[name]
    found = []
    for row in rows:
        operands = [row[np.newaxis], *(abs(1 + 0.1 * rng.standard_normal((1, row.size))) for _ in range(count - 1))]
        with np.errstate(all="ignore"):
            results = compute(*operands)[0].tolist()
        nearest = map(rounded, exact(*(operand[0].tolist() for operand in operands)))
        for got, right in zip(results, nearest, strict=True):
            # A zero that nothing is added up to has the sign of IEEE arithmetic.
            if right is not None and not (got == right or (got != got and right != right)):
                found.append((row, operands, got, right))
    return found


@pytest.mark.matrix(share=16)
@pytest.mark.parametrize("length", [1, 2, 7, 70])
@pytest.mark.parametrize("name", OPERATORS)
def test_usual_rows(name, length):
    rng = np.random.default_rng(length)
    assert not wrong_results(name, usual_rows(rng, length), rng)


@pytest.mark.matrix(share=24)
@pytest.mark.parametrize("length", [1, 3, 40])
@pytest.mark.parametrize("name", OPERATORS)
def test_rows_at_the_ends_of_the_range(name, length):
    rng = np.random.default_rng(length)
    assert not wrong_results(name, rows_at_the_ends(rng, length), rng)


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("length", [1, 5, 70])
@pytest.mark.parametrize("name", OF_MASKED_ROWS)
def test_rows_in_which_something_is_left_out(name, length):
    rng = np.random.default_rng(length)
    assert not wrong_results(name, masked_rows(rng, length), rng)


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize("length", [1_000, 100_000])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "lp_normalization", "sum", "mean"])
def test_long_rows(name, length):
    rng = np.random.default_rng(length)
    row = rng.standard_normal(length) * 3
    flint.ctx.prec = 200  # numbers that are drawn lie beside no tie
    assert not wrong_results(name, [row], rng)


def test_sums_on_ties_take_no_enclosure():
    """Both words of a sum are exact there, and its third one is zero."""
    rows = np.stack([np.array([2.0**53, 1.0, x]) for x in (0.0, 2.0, 4.0, -(2.0**-60), 2.0**-60)])
    exact = [as_float(sum(map(Fraction, row))) for row in rows.tolist()]
    assert reduced("sum")(rows)[:, 0].tolist() == exact
    assert reduced("mean")(rows)[:, 0].tolist() == [as_float(sum(map(Fraction, row)) / 3) for row in rows.tolist()]


def test_what_is_too_small_decides_ties():
    """The sum of the other exponentials is next to nothing, and the difference of two elements lies on a tie."""
    rng = np.random.default_rng(3)
    rows = rng.normal(0, 1e4, (2, 200))
    rows[:, 0] = 2.0**17 + rng.integers(0, 1000, 2)
    before = enclosed()
    results = ogive.log_softmax(rows)
    assert enclosed() - before <= 2  # zeros less what is next to nothing: one a row
    ties = 0
    for row, found in zip(rows.tolist(), results.tolist(), strict=True):
        for x, got in zip(row[1:], found[1:], strict=True):
            exact = Fraction(x) - Fraction(row[0])
            ties += 2 * abs(exact - Fraction(as_float(exact))) == Fraction(math.ulp(as_float(exact)))
            assert got == as_float(exact * (1 + Fraction(1, 2**400)))
    assert ties


def enclosed():
    return sum(row.enclosed for row in statistics())


@pytest.mark.parametrize("ahead", [0.0, 60.0])
def test_long_rows_that_cancel(ahead):
    """Targets that are the prediction: every element needs enclosures, whose calls once were as deep as rows are long."""
    generator = np.random.default_rng(8)
    x = generator.normal(0, 1, (1, 1100))
    x[0, 5] += ahead
    target = ogive.softmax(x)
    found, _ = ogive.vjp(ogive.cross_entropy)(np.array([0.7]), x, target)
    with mpmath.workprec(300):
        powers = [mpmath.exp(mpmath.mpf(value)) for value in x[0].tolist()]
        weights = [mpmath.mpf(value) for value in target[0].tolist()]
        share = mpmath.fsum(weights) / mpmath.fsum(powers)
        for i in (0, 5, 6, 700, 1099):
            assert float(found[0, i]) == float(mpmath.mpf(0.7) * (powers[i] * share - weights[i]))


#: Elements beside which all others are left out, or far below: the logarithm of 1 is 0, that of what is next to it is not.
LEFT_ALONE = [[0.0, -math.inf], [5.0], [3.0, -math.inf, -1e5], [1e300, -1e300], [-math.inf, -2.0], [0.0, -1310.0]]

#: Formulas over rows that had another sign of zero, or an infinity for zero, and rows in which they had.
BESIDE_ZERO = {
    "gelu(row_sum(x))": (lambda x: ogive.gelu(f.row_sum(x)), [[0.0], [0.0, -0.0], [1.0, -1.0]]),
    "gelu(x) + entmax15(2 x)": (lambda x: (ogive.gelu(x) + ogive.entmax15(2 * x)) / 3, [[-0.0, 1.0], [1.0, -0.0]]),
    "softsign(x) - lp_normalization": (lambda x: ogive.softsign(x) - ogive.lp_normalization(f.tanh(x)), [[1.0, 0.0]]),
    "silu(x)**2 row_max(x)": (lambda x: ogive.silu(x) ** 2 * f.row_max(x), [[1.0, -1.2e221], [1.0, -1e150]]),
    "min(gelu(x), softmax)**2": (
        lambda x: f.minimum(ogive.gelu(x), ogive.softmax(f.tanh(x))) ** 2,
        [[1.0, -1.2e221, -1e150]],
    ),
    "log_softmax": (lambda x: ogive.log_softmax(x), LEFT_ALONE),
    "1 / log_softmax": (lambda x: 1 / ogive.log_softmax(x), LEFT_ALONE),
    "softsign(-log_softmax)": (lambda x: ogive.softsign(-ogive.log_softmax(x)), LEFT_ALONE),
    "row_sum(exp(row_min(x) - x)) - 1": (
        lambda x: f.row_sum(f.where(f.row_min(x) < x, f.exp(f.row_min(x) - x), 0)) * -1,
        [[0.0, math.inf], [0.0, 1500.0, math.inf]],
    ),
}


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", BESIDE_ZERO)
def test_zeros_have_their_sign_and_vast_operands_underflow(name):
    formula, rows = BESIDE_ZERO[name]
    op = ogive.row_operator(formula)
    (root,) = op.formula(for_doubles=True)
    for row in rows:
        found = op(np.array([row]))[0]
        right = np.array(right_rows(root, [row], {}, FLOAT64), float)
        np.testing.assert_array_equal(found, right)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(right))


@pytest.mark.parametrize(
    "name", ["softmax", "softmin", "log_softmax", "entmax15", "rms_normalization", "layer_normalization"]
)
def test_gradients_of_tiny_numbers_are_decided_in_the_kernel(name):
    """A row of so many elements loses that many bits below float64's range, and not 2**62 of them."""
    op, rng = ogive.vjp(ogive.catalog.OPERATORS[name]), np.random.default_rng(7)
    arrays = [rng.normal(size=(8, 64)) for _ in op.signatures[0].inputs]
    before = sum(row.enclosed for row in statistics())
    found = op(arrays[0] * 2.0**-980, *arrays[1:])
    assert sum(row.enclosed for row in statistics()) <= before + 64  # one row in eight
    large = op(arrays[0], *arrays[1:])
    for part, whole in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, large)), strict=True):
        is_normal = np.abs(whole) > 2.0**-40
        np.testing.assert_array_equal(part[is_normal], whole[is_normal] * 2.0**-980)
