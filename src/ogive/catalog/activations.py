"""The activation operators: a formula each, with what both standards call it.

What all have in common (types, parameters, errors) is added to their docstrings by `Operator`.
"""

from __future__ import annotations

from typing import Any

from ogive import formula as f
from ogive.dtypes import NUMBERS
from ogive.formula import where
from ogive.operator import NONZERO, operator

__all__ = ["celu", "prelu", "relu", "scaled_tanh", "shrink", "tanh"]


@operator(constraints={"alpha": NONZERO}, onnx="Celu", directml="ACTIVATION_CELU")
def celu(x: Any, *, alpha: Any = 1.0) -> Any:
    """Continuously differentiable exponential linear unit: ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``.

    For every ``alpha`` but 0 that is x where x >= 0, and ``alpha * expm1(x / alpha)`` elsewhere: accurate
    near zero, where exp(x) - 1 cancels, and without overflow where x is large. A negative alpha makes the
    left branch grow without bound.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -1.

    >>> import numpy as np
    >>> celu(np.float32([-3.0, -0.5, 2.0]), alpha=1.5)
    array([-1.2969971 , -0.42520303,  2.        ], dtype=float32)

    Source: DirectML DML_ACTIVATION_CELU_OPERATOR_DESC (3_0); ONNX Celu-12, Celu-28.
    """
    return where(x >= 0, x, alpha * f.expm1(x / alpha))


@operator(types=NUMBERS, onnx="PRelu", directml="ACTIVATION_PARAMETERIZED_RELU")
def prelu(x: Any, slope: Any) -> Any:
    """Parametrised rectified linear unit: x where x >= 0, ``slope * x`` elsewhere.

    ``slope`` is a tensor that broadcasts with x, as NumPy broadcasts. At x = -0 the result is -0, whatever
    the slope.

    Special cases (slope = 0.25): nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf.

    >>> import numpy as np
    >>> prelu(np.array([[-4.0, 4.0], [-8.0, 8.0]]), np.array([[0.5], [0.25]]))
    array([[-2.,  4.],
           [-2.,  8.]])

    Source: DirectML DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC (1_0); ONNX PRelu-1 to PRelu-16.
    """
    return where(x >= 0, x, slope * x)


@operator(types=NUMBERS, onnx="Relu", directml="ACTIVATION_RELU")
def relu(x: Any) -> Any:
    """Rectified linear unit: ``max(0, x)``.

    Special cases: nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> 0.

    >>> relu([-2.0, 3.0])
    array([0., 3.])

    Source: DirectML DML_ACTIVATION_RELU_OPERATOR_DESC (1_0); ONNX Relu-1 to Relu-14.
    """
    return where(x <= 0, 0, x)


@operator(directml="ACTIVATION_SCALED_TANH")
def scaled_tanh(x: Any, *, alpha: Any = 1.0, beta: Any = 0.5) -> Any:
    """Hyperbolic tangent, stretched both ways: ``alpha * tanh(beta * x)``.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1.

    >>> scaled_tanh([-1.0, 1.0], alpha=1.7159, beta=2 / 3)
    array([-0.99999726,  0.99999726])

    Source: DirectML DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC (1_0). ONNX had it as the experimental ScaledTanh-1.
    """
    return alpha * f.tanh(beta * x)


@operator(types=NUMBERS, onnx="Shrink", directml="ACTIVATION_SHRINK")
def shrink(x: Any, *, bias: Any = 0.0, lambd: Any = 0.5) -> Any:
    """Shrink towards zero: ``x - bias`` where x > lambd, ``x + bias`` where x < -lambd, 0 elsewhere.

    With bias 0 that is hard shrinking, with bias = lambd soft thresholding. Both comparisons are strict. NaN
    is neither larger nor smaller, so it gives 0. Where ``lambd`` is negative both can hold: x > lambd is
    tested first, as DirectML lists it (ONNX lists the other first; ``ogive.onnx`` follows ONNX). Integers
    are computed as the real numbers that they are: on unsigned types x < -lambd is never true for
    lambd >= 0, and results that the type cannot hold saturate.

    Special cases: nan -> 0; 0 -> 0; -0 -> 0; inf -> inf; -inf -> -inf; 0.5 -> 0; -0.5 -> 0.

    >>> import numpy as np
    >>> shrink(np.int8([-128, -2, 1, 2, 127]), bias=1.0, lambd=1.0)
    array([-127,   -1,    0,    1,  126], dtype=int8)

    Source: DirectML DML_ACTIVATION_SHRINK_OPERATOR_DESC (2_0, Threshold is ``lambd``); ONNX Shrink-9.
    """
    return where(x > lambd, x - bias, where(x < -lambd, x + bias, 0))


@operator(onnx="Tanh", directml="ACTIVATION_TANH")
def tanh(x: Any) -> Any:
    """Hyperbolic tangent: ``(1 - exp(-2 x)) / (1 + exp(-2 x))``, without overflow and at most 1 in magnitude.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1.

    >>> tanh([-20.0, 1.0])
    array([-1.        ,  0.76159416])

    Source: DirectML DML_ACTIVATION_TANH_OPERATOR_DESC (1_0); ONNX Tanh-1 to Tanh-13.
    """
    return f.tanh(x)
