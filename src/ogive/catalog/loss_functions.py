"""Losses of elements and of labelled rows, without a reduction over them: take `sum` or `average` of the result.

The cross entropy of softmax stands beside softmax (ogive.catalog.rowwise).
"""

from __future__ import annotations

from typing import Any

from ogive import formula as f
from ogive.formula import where
from ogive.graph.limits import is_infinite
from ogive.operators.operator import operator
from ogive.operators.row_operator import row_operator
from ogive.operators.signature import NOT_NEGATIVE


@operator
def binary_cross_entropy_with_logits(x: Any, target: Any) -> Any:
    """Cross entropy of the logistic function and a probability: ``max(0, x) - target * x + log(1 + exp(-abs(x)))``.

    It is ``target * log(1 + exp(-x)) + (1 - target) * log(1 + exp(x))``, where a part whose factor is 0 is 0.

    Special cases (target = 1): nan -> nan; 0 -> 0.6931471805599453; inf -> 0; -inf -> inf; largest -> 0; -largest ->
    largest; smallest -> 0.6931471805599453; -smallest -> 0.6931471805599453.

    >>> binary_cross_entropy_with_logits([0.0, 1000.0, 2.0], [1.0, 0.0, 0.5])
    array([6.93147181e-01, 1.00000000e+03, 1.12692801e+00])

    Source: PyTorch binary_cross_entropy_with_logits; Keras binary_crossentropy, of logits.
    """
    share = where(x > 0, 1 - target, -target)
    return where(f.equal(share, 0), 0, share * x) + f.softplus(-f.absolute(x))


@operator(constraints={"delta": NOT_NEGATIVE})
def huber_loss(x: Any, target: Any, *, delta: Any = 1.0) -> Any:
    """Square of a small difference d, and a line beyond: ``d**2 / 2`` where abs(d) <= delta, ``delta * (abs(d) - delta / 2)`` elsewhere.

    Special cases (target = 0): nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> inf; 1 -> 0.5; 3 -> 2.5; smallest -> 0;
    -smallest -> 0.

    >>> huber_loss([1.5, 4.0], [1.0, 1.0])
    array([0.125, 2.5  ])

    Source: PyTorch huber_loss; JAX's optax huber_loss; Keras Huber.
    """
    difference = x - target
    size = f.absolute(difference)
    return where(size <= delta, difference * difference / 2, delta * (size - delta / 2))


@operator
def kl_div(x: Any, target: Any) -> Any:
    """Part of the Kullback-Leibler divergence: ``target * (log(target) - x)``; 0 where target is 0.

    ``x`` is the logarithm of a probability, such as log_softmax gives. The divergence is the sum.

    Special cases (target = 1): nan -> nan; 0 -> 0; -0 -> 0; inf -> -inf; -inf -> inf; -1 -> 1; largest -> -largest;
    -largest -> largest.

    >>> kl_div([-1.0, -2.0], [0.5, 0.0])
    array([0.15342641, 0.        ])

    Source: PyTorch kl_div.
    """
    return where(f.equal(target, 0), 0, target * (f.log(target) - x))


@row_operator(reduces=True, labels=True)
def nll_loss(x: Any, target: Any) -> Any:
    """Negative logarithm of the likelihood of a row: ``-sum(target * x)``, where x has logarithms of probabilities.

    A target of integers with an axis less than ``x`` has labels, for NumPy's arrays and lists: a label stands for the
    distribution of a one and zeros. Where the target is 0, an infinite element adds nothing.

    Raises ParameterError for labels below 0 or beyond the row, ShapeError if rows and labels are not equally many.

    >>> nll_loss([[-1.0, -0.5], [-3.0, -0.125]], [0, 1])
    array([1.   , 0.125])

    Source: PyTorch nll_loss, with the classes in the last axis; ONNX NegativeLogLikelihoodLoss-12 to
    NegativeLogLikelihoodLoss-22.
    """
    counts_not = f.equal(target, 0) & is_infinite(x)
    return -f.row_sum(target * where(counts_not, 0, x))
