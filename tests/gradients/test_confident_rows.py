"""Gradients of rows cost the same whatever the rows are, a confident classifier's too: next to nothing is left to enclosures.

An enclosure of an element takes some microseconds for each element of its row, so a few of them make a call slow. The data
are those of benchmarks/cliffs.py, which measures the times.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import ogive
from benchmarks.cliffs import OF_ROWS, ROW_FUNCTIONS, drawn_rows
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.enclosures.enclosure import nearest
from ogive.gradients.registered import ROW_RULES
from ogive.runtime.decide import RowDecider

SHAPE = 8, 512
#: The most elements of a thousand that enclosures may be asked for.
MOST = 1

DTYPES = ["float32", "float16", "bfloat16"]


@pytest.fixture
def asked(monkeypatch):
    """The elements that enclosures were asked for."""
    counts = []

    def call(self, inputs, outputs, mask, parameters):
        counts.append(mask.count(1))
        return tuple(outputs)

    monkeypatch.setattr(RowDecider, "__call__", call)
    return counts


def test_all_rules_have_families():
    assert set(ROW_FUNCTIONS.values()) == set(ROW_RULES)


@pytest.mark.matrix("function", share=5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ROW_FUNCTIONS)
def test_next_to_nothing_is_left_to_enclosures(function, dtype, asked):
    gradient, left = ogive.vjp(OPERATORS[ROW_FUNCTIONS[function]]), {}
    for family in OF_ROWS:
        for seed in (0, 1):
            with np.errstate(all="ignore"):
                arrays = drawn_rows(function, family, element_type(dtype).numpy, SHAPE, seed)
                asked.clear()
                gradient(*arrays)
            if sum(asked) > MOST * SHAPE[0] * SHAPE[1] // 1000:
                left[family, seed] = sum(asked)
    assert not left


# ---- the gradients by their definitions, in so many bits that what cancels does not matter

PRECISION = 4000


def shares(x):
    largest = max(x)
    e = [mpmath.exp(v - largest) for v in x]
    total = mpmath.fsum(e)
    return [v / total for v in e]


def mean(values):
    return mpmath.fsum(values) / len(values)


def of_softmax(g, x):
    p = shares(x)
    dot = mpmath.fsum(a * b for a, b in zip(g, p, strict=True))
    return [[b * (a - dot) for a, b in zip(g, p, strict=True)]]


def of_softmin(g, x):
    return [[-v for v in of_softmax(g, [-v for v in x])[0]]]


def of_log_softmax(g, x):
    return [[a - b * mpmath.fsum(g) for a, b in zip(g, shares(x), strict=True)]]


def of_cross_entropy(g, x, target):
    largest, p = max(x), shares(x)
    rest = mpmath.log(mpmath.fsum(mpmath.exp(v - largest) for v in x))
    total = mpmath.fsum(target)
    return [[g[0] * (b * total - t) for b, t in zip(p, target, strict=True)], [-g[0] * (v - largest - rest) for v in x]]


def of_logsumexp(g, x):
    return [[g[0] * b for b in shares(x)]]


def beside(g, x, epsilon, centre):
    """``(g - mean(g) - y mean(g y)) / root`` for y = (x - mean(x)) / root, and y."""
    away = [v - (mean(x) if centre else 0) for v in x]
    root = mpmath.sqrt(mean([v * v for v in away]) + epsilon)
    y = [v / root for v in away]
    of_y = mean([a * b for a, b in zip(g, y, strict=True)])
    middle = mean(g) if centre else 0
    return [(a - middle - b * of_y) / root for a, b in zip(g, y, strict=True)], y


def of_standardize(g, x, epsilon=1e-5):
    return [beside(g, x, mpmath.mpf(float(np.float32(epsilon))), True)[0]]


def of_layer_normalization(g, x, scale, bias):
    found, y = beside([a * b for a, b in zip(g, scale, strict=True)], x, mpmath.mpf(float(np.float32(1e-5))), True)
    return [found, [a * b for a, b in zip(g, y, strict=True)], g]


def of_rms_normalization(g, x, scale):
    found, y = beside([a * b for a, b in zip(g, scale, strict=True)], x, mpmath.mpf(float(np.float32(1e-5))), False)
    return [found, [a * b for a, b in zip(g, y, strict=True)]]


def of_lp_normalization(g, x):
    norm = mpmath.sqrt(mpmath.fsum(v * v for v in x))
    dot = mpmath.fsum(a * b for a, b in zip(g, x, strict=True)) / norm**2
    return [[(a - b * dot) / norm for a, b in zip(g, x, strict=True)]]


def of_sparsemax(g, x):
    ordered = sorted(x, reverse=True)
    count = max(k for k in range(1, len(x) + 1) if 1 + k * ordered[k - 1] > mpmath.fsum(ordered[:k]))
    threshold = (mpmath.fsum(ordered[:count]) - 1) / count
    among = [a for a, b in zip(g, x, strict=True) if b > threshold]
    return [[a - mean(among) if b > threshold else mpmath.mpf(0) for a, b in zip(g, x, strict=True)]]


def of_entmax15(g, x):
    halves = [a / 2 for a in x]
    ordered = sorted(halves, reverse=True)
    count = max(k for k in range(1, len(x) + 1) if mpmath.fsum((b - ordered[k - 1]) ** 2 for b in ordered[:k]) < 1)
    center = mean(ordered[:count])
    threshold = center - mpmath.sqrt((1 - mpmath.fsum((b - center) ** 2 for b in ordered[:count])) / count)
    above = [max(a - threshold, mpmath.mpf(0)) for a in halves]
    middle = mpmath.fdot(above, g) / mpmath.fsum(above)
    return [[a * (b - middle) for a, b in zip(above, g, strict=True)]]


DEFINITIONS = {
    "vjp(softmax)": of_softmax,
    "vjp(softmin)": of_softmin,
    "vjp(log_softmax)": of_log_softmax,
    "vjp(cross_entropy)": of_cross_entropy,
    "vjp(logsumexp)": of_logsumexp,
    "vjp(logmeanexp)": of_logsumexp,
    "vjp(standardize)": of_standardize,
    "vjp(mean_variance_normalization)": lambda g, x: of_standardize(g, x, 0),
    "vjp(layer_normalization)": of_layer_normalization,
    "vjp(rms_normalization)": of_rms_normalization,
    "vjp(lp_normalization)": of_lp_normalization,
    "vjp(sparsemax)": of_sparsemax,
    "vjp(entmax15)": of_entmax15,
}


def rounded(value, dtype):
    sign, mantissa, exponent, _ = value._mpf_
    exact = (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent
    return nearest(exact.numerator, exact.denominator, dtype) if exact else 0.0


def test_all_rules_have_definitions():
    assert set(DEFINITIONS) == set(ROW_FUNCTIONS)


@pytest.mark.matrix("function", share=5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ROW_FUNCTIONS)
def test_gradients_are_the_nearest_numbers(function, dtype):
    kind = element_type(dtype).numpy
    gradient = ogive.vjp(OPERATORS[ROW_FUNCTIONS[function]])
    with mpmath.workprec(PRECISION):
        for seed, family in enumerate(OF_ROWS):
            arrays = drawn_rows(function, family, kind, (1, 24), seed)
            found = gradient(*arrays)
            exact = DEFINITIONS[function](*([mpmath.mpf(float(v)) for v in np.ravel(a)] for a in arrays))
            for got, values in zip(found if isinstance(found, tuple) else (found,), exact, strict=True):
                right = np.array([rounded(v, dtype) for v in values]).astype(kind)
                np.testing.assert_array_equal(np.ravel(got).astype(float), right.astype(float), err_msg=family)
