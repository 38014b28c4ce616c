"""Normalisations: what the elements of a row are beside the mean, the deviation or the norm of the row.

Scale and bias are part of the formula, so that an element is rounded once. The deviation is that of the distances from the
mean, as the standards' texts have it: mean(x**2) - mean(x)**2 would cancel. The doors (ONNX, WebNN, torch) bring arrays
into rows; the formulas are these.
"""

from __future__ import annotations

import operator as python
from collections.abc import Sequence
from functools import reduce
from typing import Any, Literal

from ogive import formula as f
from ogive.catalog.ranges import in_range
from ogive.formula import where
from ogive.operators.operator import operator
from ogive.operators.row_operator import row_operator
from ogive.operators.signature import NOT_NEGATIVE


def mean_of_row(x: Any) -> Any:
    """The mean of a row."""
    return f.row_sum(x) / f.row_count(x)


def distance(x: Any) -> Any:
    """How far an element lies from the mean of its row."""
    return x - mean_of_row(x)


def root_mean_square(x: Any, epsilon: Any = 0) -> Any:
    """The root of the mean square of a row and a small number."""
    return f.square_root(f.row_sum(x * x) / f.row_count(x) + epsilon)


# In float64 squares may overflow and underflow, and so may sums. There rows are scaled by a power of two first.


def _squares_in_range(x: Any, epsilon: Any) -> Any:
    """The factor of a row for which its squares are in range as far as they count beside a small number."""
    largest = f.row_max(f.absolute(x))
    is_small = (largest < 2.0**-400) & f.equal(epsilon, 0)
    return where(largest > 2.0**400, 2.0**-600, where(is_small, 2.0**600, 1))


def deviation(x: Any, epsilon: Any, *, is_long: bool = False) -> tuple[Any, Any, Any]:
    """Distances from the mean, the root of their mean square and a small number, and by what both are multiplied."""
    if not is_long:
        away = distance(x)
        return away, root_mean_square(away, epsilon), 1
    near = in_range(x)
    away = distance(x * near)
    by = _squares_in_range(away, epsilon)
    factor, away = near * by, away * by
    return away, root_mean_square(away, epsilon * factor * factor), factor


def variance_of_row(x: Any, *, is_long: bool = False) -> Any:
    """The mean square of the distances from the mean of a row: of its own number of elements, not of one less."""
    away, _, factor = deviation(x, 0, is_long=is_long)
    return f.row_sum(away * away) / f.row_count(x) / factor / factor


def inverse_deviation(x: Any, epsilon: Any, *, is_long: bool = False) -> Any:
    """The factor of the distances from the mean."""
    _, root, factor = deviation(x, epsilon, is_long=is_long)
    return factor / root


def running_mean(x: Any, old: Any, momentum: Any) -> Any:
    """The mean of the batches so far, and of one more."""
    return _running(old, mean_of_row(x), momentum)


def running_variance(x: Any, old: Any, momentum: Any, *, is_long: bool = False) -> Any:
    """The variance of the batches so far, and of one more."""
    return _running(old, variance_of_row(x, is_long=is_long), momentum)


def _running(old: Any, new: Any, momentum: Any) -> Any:
    """``old`` is the same number all along a row."""
    return f.row_max(old) * momentum + new * (1 - momentum)


def over_root_mean_square(x: Any, epsilon: Any, *, is_long: bool = False) -> Any:
    """Elements divided by the root of their mean square and a small number."""
    if not is_long:
        return x / root_mean_square(x, epsilon)
    by = _squares_in_range(x, epsilon)
    return x * by / root_mean_square(x * by, epsilon * by * by)


def scaled(x: Any, scale: Any = None, bias: Any = None) -> Any:
    """Times a scale, plus a bias, as far as these are there."""
    product = x if scale is None else x * scale
    return product if bias is None else product + bias


def normalised(x: Any, epsilon: Any, scale: Any = None, bias: Any = None, *, is_long: bool = False) -> Any:
    """Layer normalisation, with or without scale and bias; ``is_long`` in float64."""
    away, root, _ = deviation(x, epsilon, is_long=is_long)
    return scaled(away / root, scale, bias)


def beside_given(x: Any, mean: Any, variance: Any, epsilon: Any, scale: Any = None, bias: Any = None) -> Any:
    """Batch normalisation, with or without scale and bias."""
    return scaled((x - mean) / f.square_root(variance + epsilon), scale, bias)


def beside_neighbours(x: Any, window: Sequence[Any], alpha: float, beta: float, bias: float) -> Any:
    """Local response normalisation: an element beside the squares of the elements of a window, itself among them."""
    squares = reduce(python.add, (each * each for each in window))
    return x / f.power(bias + alpha * squares / len(window), beta)


@operator(constraints={"epsilon": NOT_NEGATIVE})
def batch_normalization(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *, epsilon: Any = 1e-5) -> Any:
    """Elements beside a mean and a variance that are given: ``(x - mean) / sqrt(variance + epsilon) * scale + bias``.

    Special cases (scale = 2, bias = 0.5, mean = 1, variance = 4): nan -> nan; inf -> inf; -inf -> -inf; 1 -> 0.5.

    >>> batch_normalization([1.0, 3.0], 2.0, 0.5, 1.0, 4.0, epsilon=0)
    array([0.5, 2.5])

    Source: ONNX BatchNormalization-1 to BatchNormalization-15; WebNN batchNormalization; PyTorch batch_norm.
    """
    return beside_given(x, mean, variance, epsilon, scale, bias)


def _long_layer_normalization(x: Any, scale: Any, bias: Any, *, epsilon: Any = 1e-5) -> Any:
    return normalised(x, epsilon, scale, bias, is_long=True)


@row_operator(constraints={"epsilon": NOT_NEGATIVE}, doubles=_long_layer_normalization)
def layer_normalization(x: Any, scale: Any, bias: Any, *, epsilon: Any = 1e-5) -> Any:
    """Rows of mean 0 and variance 1, scaled and shifted: ``(x - mean(x)) / sqrt(variance(x) + epsilon) * scale + bias``.

    ``variance(x)`` is ``mean((x - mean(x))**2)``. Rows that hold NaN or an infinity give NaN.

    >>> layer_normalization([1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [0.0, 0.5, 0.0], epsilon=0)
    array([-2.44948974,  0.5       ,  2.44948974])

    Source: ONNX LayerNormalization-17, InstanceNormalization-1 to InstanceNormalization-22, GroupNormalization-21; WebNN
    layerNormalization; PyTorch layer_norm.
    """
    return normalised(x, epsilon, scale, bias)


def _long_lp_normalization(x: Any, *, p: Literal[2, 1] = 2) -> Any:
    largest = f.row_max(f.absolute(x))
    if p == 2:
        by = _squares_in_range(x, 0)
        quotient = x * by / f.square_root(f.row_sum(x * by * (x * by)))
    else:
        by = in_range(x)
        quotient = x * by / f.row_sum(f.absolute(x * by))
    return where(f.equal(largest, 0), x, quotient)


@row_operator(doubles=_long_lp_normalization)
def lp_normalization(x: Any, *, p: Literal[2, 1] = 2) -> Any:
    """Rows of norm 1: ``x / sum(abs(x)**p)**(1/p)``; a row of zeros stays as it is.

    Rows that hold NaN give NaN. Where a row holds an infinity, that gives NaN, and finite elements 0.

    >>> lp_normalization([3.0, -4.0])
    array([ 0.6, -0.8])

    Source: ONNX LpNormalization-1 to LpNormalization-22; PyTorch normalize.
    """
    norm = f.square_root(f.row_sum(x * x)) if p == 2 else f.row_sum(f.absolute(x))
    return where(f.equal(f.row_max(f.absolute(x)), 0), x, x / norm)


def _where_elements_differ(x: Any, otherwise: Any) -> Any:
    largest = f.row_max(x)
    return where(f.equal(largest, f.row_min(x)), largest - largest, otherwise)


def _long_mean_variance_normalization(x: Any) -> Any:
    return _where_elements_differ(x, normalised(x, 0, is_long=True))


@row_operator(doubles=_long_mean_variance_normalization)
def mean_variance_normalization(x: Any) -> Any:
    """Rows of mean 0 and variance 1: ``(x - mean(x)) / sqrt(mean((x - mean(x))**2))``; 0 where all elements are equal.

    Rows that hold NaN or an infinity give NaN.

    >>> mean_variance_normalization([[1.0, 2.0, 3.0], [7.0, 7.0, 7.0]])
    array([[-1.22474487,  0.        ,  1.22474487],
           [ 0.        ,  0.        ,  0.        ]])

    Source: ONNX MeanVarianceNormalization-9, MeanVarianceNormalization-13.
    """
    return _where_elements_differ(x, normalised(x, 0))


def _long_rms_normalization(x: Any, scale: Any, *, epsilon: Any = 1e-5) -> Any:
    return over_root_mean_square(x, epsilon, is_long=True) * scale


@row_operator(constraints={"epsilon": NOT_NEGATIVE}, doubles=_long_rms_normalization)
def rms_normalization(x: Any, scale: Any, *, epsilon: Any = 1e-5) -> Any:
    """Rows of mean square 1, scaled: ``x / sqrt(mean(x**2) + epsilon) * scale``.

    Rows that hold NaN give NaN. Where a row holds an infinity, that gives NaN, and finite elements 0.

    >>> rms_normalization([3.0, -4.0], [1.0, 2.0], epsilon=0)
    array([ 0.84852814, -2.2627417 ])

    Source: ONNX RMSNormalization-23; PyTorch rms_norm.
    """
    return over_root_mean_square(x, epsilon) * scale


def _long_standardize(x: Any, *, epsilon: Any = 1e-5) -> Any:
    return normalised(x, epsilon, is_long=True)


@row_operator(constraints={"epsilon": NOT_NEGATIVE}, doubles=_long_standardize)
def standardize(x: Any, *, epsilon: Any = 1e-5) -> Any:
    """Numbers of mean 0 and variance 1: ``(x - mean(x)) / sqrt(mean((x - mean(x))**2) + epsilon)``.

    It is layer normalisation without scale and bias. Rows that hold NaN or an infinity give NaN.

    >>> standardize([1.0, 2.0, 3.0], epsilon=0)
    array([-1.22474487,  0.        ,  1.22474487])

    Source: JAX standardize; ONNX LayerNormalization-17.
    """
    return normalised(x, epsilon)
