"""The row-wise activations: formulas over an axis, with reductions in one fixed order.

Rows of 16-bit types are computed in float32 and their sums in float64; sums of float64 are kept as two. The
largest element is subtracted without a rounding error, which exp() would magnify (lowering/row_numbers.py).
"""

from __future__ import annotations

import math
from typing import Any

from ogive import formula as f
from ogive.catalog.ranges import in_range
from ogive.formula import where
from ogive.graph.limits import is_infinite
from ogive.operators.row_operator import row_operator

#: Elements of -inf take no part, and become 0.
NOTHING = (-math.inf, 0.0)


def _long_average(x: Any) -> Any:
    by = in_range(x)
    return f.row_sum(x * by) / f.row_count(x) / by


@row_operator(reduces=True, doubles=_long_average)
def average(x: Any) -> Any:
    """Mean of a row: ``sum(x) / n``, rounded once.

    NaN of an empty row. `mean` is that of two tensors.

    >>> average([[1.0, 2.0, 4.5], [0.0, 0.0, 0.0]])
    array([2.5, 0. ])

    Source: NumPy average and mean; ONNX ReduceMean-1 to ReduceMean-18.
    """
    return f.row_sum(x) / f.row_count(x)


@row_operator(reduces=True, labels=True)
def cross_entropy(x: Any, target: Any) -> Any:
    """Cross entropy of the softmax and a distribution: ``-sum(target * log_softmax(x))``.

    A target of integers with an axis less than ``x`` has labels, for NumPy's arrays and lists: a label stands for the
    distribution of a one and zeros. Where the target is 0, an element of -inf adds nothing; elsewhere it gives an infinity.
    Rows of ``x`` that hold NaN or inf, and rows of -inf alone, give NaN.

    Raises ParameterError for labels below 0 or beyond the row, ShapeError if rows and labels are not equally many.

    >>> cross_entropy([[1.0, 2.0, 3.0], [0.0, 0.0, 1000.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    array([4.07605964e-01, 1.00000000e+03])
    >>> cross_entropy([[1.0, 2.0, 3.0], [0.0, 0.0, 1000.0]], [2, 1])
    array([4.07605964e-01, 1.00000000e+03])

    Source: PyTorch cross_entropy, of class probabilities, without a reduction; Keras categorical_crossentropy, of logits.
    """
    logarithms = _log_softmax(x)
    counts_not = f.equal(target, 0) & is_infinite(logarithms)
    return -f.row_sum(target * where(counts_not, 0, logarithms))


@row_operator(left_out=NOTHING)
def entmax15(x: Any) -> Any:
    """Entmax of alpha 1.5: ``max(x/2 - t, 0)**2``, where t makes the sum of the row 1.

    It lies between softmax (alpha 1) and `sparsemax` (alpha 2): smooth, and 0 for elements far below the largest one.
    An element that lies 2 or more below it gives 0.

    Rows that hold NaN or inf, and rows of -inf alone, give NaN. In other rows -inf gives 0.

    >>> entmax15([1.0, 1.5, -2.0])
    array([0.32600736, 0.67399264, 0.        ])

    Source: Peters, Niculae and Martins, Sparse Sequence-to-Sequence Models (2019); the package entmax.
    """
    largest = f.row_max(x)
    below = f.larger((x - largest) / 2, -2)  # no threshold is less than -1
    t = f.row_square_threshold(below)
    no_number = largest - largest  # zero, but NaN where the largest is infinite
    return where(f.equal(no_number, 0), where(t < below, f.square(below - t), 0), no_number)


@row_operator(left_out=NOTHING, onnx="Hardmax", directml="ACTIVATION_HARDMAX1")
def hardmax(x: Any) -> Any:
    """One where the row has its largest element for the first time, 0 elsewhere: ``x == max(x)``, once a row.

    NaN counts as the largest element, as NumPy's argmax has it.

    >>> hardmax([[1.0, 3.0, 3.0], [0.0, -1.0, 0.0]])
    array([[0., 1., 0.],
           [1., 0., 0.]])

    Source: DirectML DML_ACTIVATION_HARDMAX_OPERATOR_DESC (1_0), HARDMAX1 (5_1); ONNX Hardmax-1 to Hardmax-13.
    """
    is_nan = ~f.equal(x, x)
    return where(f.row_first(f.equal(x, f.row_max(x)) | is_nan), 1, 0)


def beyond_largest(x: Any) -> Any:
    """The logarithm of the sum of a row's exponentials, less the largest element; from 0 on."""
    largest = f.row_max(x)
    is_smaller = x < largest
    others = f.row_sum(where(is_smaller, f.exp(x - largest), 0)) + (f.row_sum(where(is_smaller, 0, 1)) - 1)
    return f.log1p(others)


@row_operator(left_out=(-math.inf, -math.inf), onnx="LogSoftmax", directml="ACTIVATION_LOG_SOFTMAX1")
def log_softmax(x: Any) -> Any:
    """Logarithm of the softmax: ``x - max(x) - log(sum(exp(x - max(x))))``.

    The largest elements are counted, the others summed, and the logarithm taken by log1p: so a result near
    zero, of a row that one element dominates, keeps its relative accuracy.

    A row of -inf alone has no largest finite element: it gives NaN, as do rows that hold NaN or inf. In
    other rows -inf gives -inf.

    >>> log_softmax([0.0, -10000.0])
    array([    -0., -10000.])

    Source: DirectML DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC (1_0), LOG_SOFTMAX1 (5_1); ONNX LogSoftmax-1 to
    LogSoftmax-13.
    """
    return _log_softmax(x)


def _log_softmax(x: Any) -> Any:
    largest = f.row_max(x)
    no_number = largest - largest  # zero, but NaN where the largest is infinite
    return x - largest - (beyond_largest(x) + no_number)


@row_operator(reduces=True)
def logmeanexp(x: Any) -> Any:
    """Logarithm of the mean of exponentials: ``max(x) + log(mean(exp(x - max(x))))``.

    The distances of the exponentials from 1 are added up, and the logarithm is taken by log1p. So small elements keep
    their relative accuracy, and the result of equal elements is the element.

    The result is inf where the row holds inf, -inf where it holds -inf alone, and NaN where it is empty. NaN gives NaN.

    >>> logmeanexp([[1000.0, 1000.0], [1e-10, 3e-10]])
    array([1.e+03, 2.e-10])

    Source: JAX logmeanexp.
    """
    largest, count = f.row_max(x), f.row_count(x)
    below = f.row_sum(f.expm1(x - largest))
    return where(is_infinite(largest), largest + 0 / count, largest + f.log1p(below / count))


@row_operator(reduces=True, left_out=(-math.inf, None))
def logsumexp(x: Any) -> Any:
    """Logarithm of the sum of exponentials: ``max(x) + log(sum(exp(x - max(x))))``.

    The largest elements are counted, the others summed, and the logarithm taken by log1p: so a small element beside
    a largest one of zero keeps its relative accuracy.

    The result is inf where the row holds inf, and -inf where it is empty or holds -inf alone. NaN gives NaN.

    >>> logsumexp([[1000.0, 1000.0], [0.0, -100.0]])
    array([1.00069315e+03, 3.72007598e-44])

    Source: SciPy special.logsumexp; PyTorch logsumexp; ONNX ReduceLogSumExp-1 to ReduceLogSumExp-18.
    """
    return f.row_log_sum_exp(x)


@row_operator(left_out=NOTHING, onnx="Softmax", directml="ACTIVATION_SOFTMAX1")
def softmax(x: Any) -> Any:
    """Exponentials that add up to 1: ``exp(x - max(x)) / sum(exp(x - max(x)))``.

    A row of -inf alone has no largest finite element: it gives NaN, as do rows that hold NaN or inf. In
    other rows -inf gives 0.

    >>> softmax([1.0, 2.0, 3.0])
    array([0.09003057, 0.24472847, 0.66524096])
    >>> softmax([1.0, 2.0, 3.0], where=[True, False, True])
    array([0.11920292, 0.        , 0.88079708])

    Source: DirectML DML_ACTIVATION_SOFTMAX_OPERATOR_DESC (1_0), SOFTMAX1 (5_1); ONNX Softmax-1 to Softmax-13.
    """
    e = f.exp(x - f.row_max(x))
    return e / f.row_sum(e)


@row_operator(left_out=(math.inf, 0.0))
def softmin(x: Any) -> Any:
    """Softmax of the negative: ``exp(min(x) - x) / sum(exp(min(x) - x))``.

    Rows that hold NaN or -inf, and rows of inf alone, give NaN. In other rows inf gives 0.

    >>> softmin([1.0, 2.0, 3.0])
    array([0.66524096, 0.24472847, 0.09003057])

    Source: PyTorch softmin.
    """
    opposite = -x
    e = f.exp(opposite - f.row_max(opposite))
    return e / f.row_sum(e)


@row_operator(left_out=NOTHING)
def sparsemax(x: Any) -> Any:
    """The nearest numbers that add up to 1 and are not negative: ``max(x - t, 0)``, where t makes the sum 1.

    Elements that lie 1 or more below the largest one give 0, and often others too. So its results are sparse, unlike
    those of softmax.

    Rows that hold NaN or inf, and rows of -inf alone, give NaN. In other rows -inf gives 0.

    >>> sparsemax([1.0, 1.5, 0.25])
    array([0.25, 0.75, 0.  ])

    Source: Martins and Astudillo, From Softmax to Sparsemax (2016); Keras sparsemax.
    """
    largest = f.row_max(x)
    below = f.larger(x - largest, -2)  # no threshold is less than -1
    t = f.row_threshold(below)
    no_number = largest - largest  # zero, but NaN where the largest is infinite
    return where(f.equal(no_number, 0), where(t < below, below - t, 0), no_number)


@row_operator(reduces=True, left_out=(0.0, None))
def sum(x: Any) -> Any:
    """Sum of a row: ``sum(x)``, rounded once. 0 of an empty row.

    A row is the last axis unless ``axis`` says another; ``axis=None`` is the whole array, as numpy.sum has it by default.

    >>> sum([[1.0, 2.0], [3.0, 4.0]])
    array([3., 7.])
    >>> sum([[1.0, 2.0], [3.0, 4.0]], axis=None)
    np.float64(10.0)

    Source: NumPy sum; ONNX ReduceSum-1 to ReduceSum-13.
    """
    return f.row_sum(x)
