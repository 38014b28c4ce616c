"""The activation operators: a formula each, with what both standards call it.

A formula is the standards' mathematics, by functions in which nothing cancels: ``x * ndtr(x)``. Lowering knows how to compute it.
What all have in common (types, parameters, errors) is added to their docstrings by `Operator`.

Where a formula has a limit at an infinity but evaluates to NaN there (``-inf * 0``, ``inf / inf``), the limit is
given: a large finite argument gives the same, and one overflow upstream must not poison a whole tensor.
This holds for parameters other than 0: 0 times infinity is NaN.
"""

from __future__ import annotations

from typing import Any, Literal

from ogive import formula as f
from ogive.catalog.glu_halves import of_halves
from ogive.common.dtypes import NUMBERS
from ogive.formula import where
from ogive.graph.limits import at_infinities
from ogive.operators.operator import operator
from ogive.operators.signature import NONZERO


def gated(x: Any, u: Any) -> Any:
    """``x / (1 + exp(-u))``. Where the gate is closed the result is a zero with the sign of x, also at infinity."""
    return at_infinities(x * f.logistic(u), u, below=f.copy_sign(0, x))


@operator(constraints={"alpha": NONZERO}, onnx="Celu", directml="ACTIVATION_CELU")
def celu(x: Any, *, alpha: Any = 1.0) -> Any:
    """Continuously differentiable exponential linear unit: ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``.

    For every ``alpha`` but 0 that is x where x >= 0, and ``alpha * expm1(x / alpha)`` elsewhere: accurate
    near zero, where exp(x) - 1 cancels, and without overflow where x is large. A negative alpha makes the
    left branch grow without bound.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -1; largest -> largest; -largest -> -1;
    smallest -> smallest; -smallest -> -smallest.

    Special cases (alpha = -1): nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; 1 -> 1; -1 ->
    -1.7182818284590453; largest -> largest; -largest -> -inf; smallest -> smallest; -smallest -> -smallest.

    >>> import numpy as np
    >>> celu(np.float32([-3.0, -0.5, 2.0]), alpha=1.5)
    array([-1.2969971 , -0.42520303,  2.        ], dtype=float32)

    Source: DirectML DML_ACTIVATION_CELU_OPERATOR_DESC (3_0); ONNX Celu-12, Celu-28.
    """
    return where(x >= 0, x, alpha * f.expm1(x / alpha))


@operator(onnx="Elu", directml="ACTIVATION_ELU")
def elu(x: Any, *, alpha: Any = 1.0) -> Any:
    """Exponential linear unit: x where x >= 0, ``alpha * (exp(x) - 1)`` elsewhere.

    Accurate near zero, where exp(x) - 1 cancels. The slope jumps at 0 unless alpha is 1; a negative alpha
    turns the left branch upwards.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -1; largest -> largest; -largest -> -1;
    smallest -> smallest; -smallest -> -smallest.

    Special cases (alpha = -1): nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> 1; 1 -> 1; -1 ->
    0.6321205588285577; largest -> largest; -largest -> 1; smallest -> smallest; -smallest -> smallest.

    >>> elu([-1.0, 2.0], alpha=0.5)
    array([-0.31606028,  2.        ])

    Source: DirectML DML_ACTIVATION_ELU_OPERATOR_DESC (1_0); ONNX Elu-1 to Elu-22.
    """
    return where(x >= 0, x, alpha * f.expm1(x))


@operator(onnx="Gelu", directml="ACTIVATION_GELU")
def gelu(x: Any, *, approximate: Literal["none", "tanh"] = "none") -> Any:
    """Gaussian error linear unit: ``0.5 * x * (1 + erf(x / sqrt(2)))``.

    With ``approximate="tanh"``: ``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``. Both keep
    their relative accuracy in the negative tail, where 1 + erf and 1 + tanh cancel: half of these are the distribution
    function of x, and the logistic function of twice the angle. The limit at -inf is -0.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -0; largest -> largest; -largest -> -0;
    smallest -> formula; -smallest -> formula.

    >>> gelu([-8.0, 1.0])
    array([-4.97676846e-15,  8.41344746e-01])
    >>> gelu([1.0], approximate="tanh")
    array([0.84119199])

    Source: DirectML DML_ACTIVATION_GELU_OPERATOR_DESC (5_1, the exact form); ONNX Gelu-20.
    """
    if approximate == "none":
        return at_infinities(x * f.ndtr(x), x, below=-0.0)
    u = f.square_root(2 / f.pi) * (x + 0.044715 * x**3)
    return at_infinities(x * f.logistic(2 * u), x, below=-0.0)


@operator(onnx="HardSigmoid", directml="ACTIVATION_HARD_SIGMOID")
def hard_sigmoid(x: Any, *, alpha: Any = 0.2, beta: Any = 0.5) -> Any:
    """Piecewise linear sigmoid: ``max(0, min(alpha * x + beta, 1))``.

    Special cases: nan -> nan; 0 -> 0.5; -0 -> 0.5; inf -> 1; -inf -> 0; -2.5 -> 0; 2.5 -> 1; largest -> 1;
    -largest -> 0; smallest -> 0.5; -smallest -> 0.5; 2.5- -> 1-; 2.5+ -> 1; -2.5- -> 0; -2.5+ -> formula.

    >>> hard_sigmoid([-5.0, 1.0, 5.0])
    array([0. , 0.7, 1. ])

    Source: DirectML DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC (1_0); ONNX HardSigmoid-1 to HardSigmoid-22.
    """
    return f.maximum(f.minimum(alpha * x + beta, 1), 0)


@operator(onnx="HardSwish")
def hard_swish(x: Any) -> Any:
    """Piecewise swish: ``x * max(0, min(x / 6 + 1 / 2, 1))``.

    Where the gate is closed the result is a zero with the sign of x, also at infinity.
    `parametric_hard_swish` is the form with other numbers than 1/6 and 1/2.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -0; -3 -> -0; 3 -> 3; largest -> largest;
    -largest -> -0; smallest -> formula; -smallest -> formula; 3- -> formula; 3+ -> 3+; -3- -> -0; -3+ ->
    formula.

    >>> hard_swish([-4.0, 1.5, 4.0])
    array([-0.   ,  1.125,  4.   ])

    Source: ONNX HardSwish-14, HardSwish-22.
    """
    inner = f.minimum(f.maximum(x, -3), 3)
    return where(x >= 3, x, inner * ((inner + 3) / 6))


@operator(types=NUMBERS, directml="ACTIVATION_IDENTITY")
def identity(x: Any) -> Any:
    """Identity: ``x``. Every NaN becomes the one canonical quiet NaN.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; largest -> largest; -largest ->
    -largest; smallest -> smallest; -smallest -> -smallest.

    >>> identity([1.0, 2.0])
    array([1., 2.])

    Source: DirectML DML_ACTIVATION_IDENTITY_OPERATOR_DESC (1_0). ONNX Identity moves data and keeps their bits.
    """
    return +x


@operator(onnx="LeakyRelu", directml="ACTIVATION_LEAKY_RELU")
def leaky_relu(x: Any, *, alpha: Any = 0.01) -> Any:
    """Leaky rectified linear unit: x where x >= 0, ``alpha * x`` elsewhere.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; largest -> largest; -largest ->
    formula; smallest -> smallest; -smallest -> -0.

    >>> leaky_relu([-2.0, 3.0], alpha=0.25)
    array([-0.5,  3. ])

    Source: DirectML DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC (1_0); ONNX LeakyRelu-1 to LeakyRelu-16.
    """
    return where(x >= 0, x, alpha * x)


@operator(directml="ACTIVATION_LINEAR")
def linear(x: Any, *, alpha: Any = 1.0, beta: Any = 0.0) -> Any:
    """Affine function: ``alpha * x + beta``, rounded once.

    DirectML has no defaults for alpha and beta; those here are WebNN's.

    Special cases: nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> -inf; largest -> largest; -largest -> -largest;
    smallest -> smallest; -smallest -> -smallest.

    Special cases (alpha = 2, beta = 1): nan -> nan; 0 -> 1; -0 -> 1; inf -> inf; -inf -> -inf; largest -> inf;
    -largest -> -inf; smallest -> 1; -smallest -> 1.

    >>> linear([1.0, 2.0], alpha=2, beta=1)
    array([3., 5.])

    Source: DirectML DML_ACTIVATION_LINEAR_OPERATOR_DESC (1_0). ONNX had it as the experimental Affine-1.
    """
    return alpha * x + beta


@operator(onnx="Mish")
def mish(x: Any) -> Any:
    """Self-regularised activation: ``x * tanh(log(1 + exp(x)))``. The limit at -inf is -0.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -0; largest -> largest; -largest -> -0;
    smallest -> smallest; -smallest -> -smallest.

    >>> mish([-1000.0, -1.0, 1.0])
    array([-0.        , -0.30340146,  0.86509839])

    Source: ONNX Mish-18, Mish-22.
    """
    return at_infinities(x * f.tanh(f.softplus(x)), x, below=-0.0)


@operator(directml="ACTIVATION_HARD_SWISH")
def parametric_hard_swish(x: Any, *, alpha: Any = 1 / 6, beta: Any = 0.5) -> Any:
    """Piecewise swish with a gate of one's own: ``x * max(0, min(alpha * x + beta, 1))``.

    Where the gate is closed the result is a zero with the sign of x, also at infinity. Like every parameter
    alpha is a float32, so the default is not quite 1/6, which `hard_swish` has.

    Special cases (alpha = 0.25, beta = 0.5): nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -0; -2 -> -0; 2
    -> 2; largest -> largest; -largest -> -0; smallest -> formula; -smallest -> -0; 2- -> 2-; 2+ -> 2+; -2- ->
    -0; -2+ -> formula.

    >>> parametric_hard_swish([-4.0, 1.0, 4.0], alpha=0.25)
    array([-0.  ,  0.75,  4.  ])

    Source: DirectML DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC (6_2).
    """
    gate = f.maximum(f.minimum(alpha * x + beta, 1), 0)
    return where(f.equal(gate, 0), f.copy_sign(0, x), x * gate)


@operator(directml="ACTIVATION_PARAMETRIC_SOFTPLUS")
def parametric_softplus(x: Any, *, alpha: Any, beta: Any) -> Any:
    """Softplus, stretched both ways: ``alpha * log(1 + exp(beta * x))``. Neither parameter has a default.

    Special cases (alpha = 2, beta = 3): nan -> nan; inf -> inf; -inf -> 0; 0 -> 1.3862943611198906; -0 ->
    1.3862943611198906; largest -> inf; -largest -> 0; smallest -> 1.3862943611198906; -smallest ->
    1.3862943611198906.

    >>> parametric_softplus([0.0, 1000.0], alpha=2, beta=3)
    array([1.38629436e+00, 6.00000000e+03])

    Source: DirectML DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC (1_0).
    """
    return alpha * f.softplus(beta * x)


@operator(types=NUMBERS, onnx="PRelu", directml="ACTIVATION_PARAMETERIZED_RELU")
def prelu(x: Any, slope: Any) -> Any:
    """Parametrised rectified linear unit: x where x >= 0, ``slope * x`` elsewhere.

    ``slope`` is a tensor that broadcasts with x, as NumPy broadcasts. At x = -0 the result is -0, whatever
    the slope.

    Special cases (slope = 0.25): nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; largest -> largest;
    -largest -> formula; smallest -> smallest; -smallest -> -0.

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

    Special cases: nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> 0; largest -> largest; -largest -> 0;
    smallest -> smallest; -smallest -> 0.

    >>> relu([-2.0, 3.0])
    array([0., 3.])

    Source: DirectML DML_ACTIVATION_RELU_OPERATOR_DESC (1_0); ONNX Relu-1 to Relu-14.
    """
    return where(x <= 0, 0, x)


@operator(types=NUMBERS, directml="ACTIVATION_RELU_GRAD")
def relu_grad(x: Any, gradient: Any) -> Any:
    """Gradient of the rectified linear unit: ``gradient`` where x > 0, 0 elsewhere.

    At the kink, x = 0, and at NaN it is 0: the comparison is strict.

    Special cases (gradient = 3): nan -> 0; 0 -> 0; -0 -> 0; inf -> 3; -inf -> 0; largest -> 3; -largest -> 0;
    smallest -> 3; -smallest -> 0.

    >>> relu_grad([-1.0, 0.0, 1.0], [5.0, 6.0, 7.0])
    array([0., 0., 7.])

    Source: DirectML DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC (3_0).
    """
    return where(x > 0, gradient, 0)


@operator(directml="ACTIVATION_SCALED_TANH")
def scaled_tanh(x: Any, *, alpha: Any = 1.0, beta: Any = 0.5) -> Any:
    """Hyperbolic tangent, stretched both ways: ``alpha * tanh(beta * x)``.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1; largest -> 1; -largest -> -1; smallest ->
    0; -smallest -> -0.

    >>> scaled_tanh([-1.0, 1.0], alpha=1.7159, beta=2 / 3)
    array([-0.99999726,  0.99999726])

    Source: DirectML DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC (1_0). ONNX had it as the experimental ScaledTanh-1.
    """
    return alpha * f.tanh(beta * x)


@operator(onnx="Selu", directml="ACTIVATION_SCALED_ELU")
def selu(x: Any, *, alpha: Any = 1.67326319217681884765625, gamma: Any = 1.05070102214813232421875) -> Any:
    """Scaled exponential linear unit: ``gamma * x`` where x > 0, ``gamma * (alpha * exp(x) - alpha)`` elsewhere.

    Accurate near zero, where alpha * exp(x) - alpha cancels. The defaults are ONNX's, which are rounded to float32: in
    float64 PyTorch, JAX and Keras, which have all digits, differ by 3e-8.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -1.7580993463430303; largest -> inf;
    -largest -> -1.7580993463430303; smallest -> smallest; -smallest -> formula.

    >>> selu([-1.0, 1.0])
    array([-1.11133074,  1.05070102])

    Source: DirectML DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC (1_0); ONNX Selu-1 to Selu-22.
    """
    return where(x > 0, gamma * x, gamma * alpha * f.expm1(x))


@operator(types=NUMBERS, onnx="Shrink", directml="ACTIVATION_SHRINK")
def shrink(x: Any, *, bias: Any = 0.0, lambd: Any = 0.5, first: Literal["positive", "negative"] = "positive") -> Any:
    """Shrink towards zero: ``x - bias`` where x > lambd, ``x + bias`` where x < -lambd, 0 elsewhere.

    With bias 0 that is hard shrinking, with bias = lambd soft thresholding. Both comparisons are strict. NaN
    is neither larger nor smaller, so it gives 0. Where ``lambd`` is negative both can hold: x > lambd is
    tested first, as DirectML lists it; ONNX lists the other first, which is ``first="negative"``. Integers
    are computed as real numbers and cut off: on unsigned types x < -lambd is never true for
    lambd >= 0, and results that the type cannot hold saturate. A bias with a small fraction, such as 5e-4,
    can be lost beside a large integer.

    Special cases: nan -> 0; 0 -> 0; -0 -> 0; inf -> inf; -inf -> -inf; 0.5 -> 0; -0.5 -> 0; largest -> largest;
    -largest -> -largest; smallest -> 0; -smallest -> 0; 0.5- -> 0; 0.5+ -> 0.5+; -0.5- -> -0.5-; -0.5+ -> 0.

    Special cases (lambd = -1, bias = 0.5): nan -> 0; 0 -> -0.5; -0 -> -0.5; inf -> inf; -inf -> -inf; 1 -> 0.5;
    -1 -> -0.5; 2 -> 1.5; -2 -> -1.5; 0.5 -> 0; -0.5 -> -1.

    Special cases (lambd = -1, bias = 0.5, first = negative): nan -> 0; 0 -> 0.5; -0 -> 0.5; inf -> inf; -inf ->
    -inf; 1 -> 0.5; -1 -> -0.5; 2 -> 1.5; -2 -> -1.5; 0.5 -> 1; -0.5 -> 0.

    >>> import numpy as np
    >>> shrink(np.int8([-128, -2, 1, 2, 127]), bias=1.0, lambd=1.0)
    array([-127,   -1,    0,    1,  126], dtype=int8)

    Source: DirectML DML_ACTIVATION_SHRINK_OPERATOR_DESC (2_0, Threshold is ``lambd``); ONNX Shrink-9.
    """
    if first == "positive":
        return where(x > lambd, x - bias, where(x < -lambd, x + bias, 0))
    return where(x < -lambd, x + bias, where(x > lambd, x - bias, 0))


@operator(onnx="Sigmoid", directml="ACTIVATION_SIGMOID")
def sigmoid(x: Any) -> Any:
    """Logistic function: ``1 / (1 + exp(-x))``, without overflow and with subnormal results.

    Special cases: nan -> nan; 0 -> 0.5; -0 -> 0.5; inf -> 1; -inf -> 0; largest -> 1; -largest -> 0; smallest
    -> 0.5; -smallest -> 0.5.

    >>> sigmoid([-745.0, 0.0, 4.0])
    array([4.9406565e-324, 5.0000000e-001, 9.8201379e-001])

    Source: DirectML DML_ACTIVATION_SIGMOID_OPERATOR_DESC (1_0); ONNX Sigmoid-1 to Sigmoid-13.
    """
    return f.logistic(x)


@operator(constraints={"steepness": NONZERO}, onnx="Softplus", directml="ACTIVATION_SOFTPLUS")
def softplus(x: Any, *, steepness: Any = 1.0) -> Any:
    """Smooth rectifier: ``log(1 + exp(steepness * x)) / steepness``, without overflow and without a threshold.

    ONNX has no steepness. DirectML allows values below 1 from feature level 6_4 on.

    Special cases: nan -> nan; 0 -> 0.6931471805599453; -0 -> 0.6931471805599453; inf -> inf; -inf -> 0; largest
    -> largest; -largest -> 0; smallest -> 0.6931471805599453; -smallest -> 0.6931471805599453.

    >>> softplus([-50.0, 0.0, 1000.0])
    array([1.92874985e-22, 6.93147181e-01, 1.00000000e+03])

    Source: DirectML DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC (1_0); ONNX Softplus-1, Softplus-22.
    """
    return f.softplus(steepness * x) / steepness


@operator(onnx="Softsign", directml="ACTIVATION_SOFTSIGN")
def softsign(x: Any) -> Any:
    """Algebraic sigmoid: ``x / (1 + abs(x))``. The limits at the infinities are 1 and -1.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1; largest -> 1; -largest -> -1; smallest ->
    smallest; -smallest -> -smallest.

    >>> softsign([-1.0, 3.0])
    array([-0.5 ,  0.75])

    Source: DirectML DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC (1_0); ONNX Softsign-1, Softsign-22.
    """
    return at_infinities(x / (1 + abs(x)), x, below=-1, above=1)


@of_halves(onnx="SwiGLU")
def swiglu(a: Any, b: Any, *, alpha: Any = 1.0) -> Any:
    """Gated linear unit with a swish gate: ``a / (1 + exp(-alpha * a)) * b``, rounded once.

    The gate is the first tensor, or the first half.

    Special cases (b = 2): nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -0; largest -> inf; -largest -> -0;
    smallest -> smallest; -smallest -> -smallest.

    >>> swiglu([1.0, -1.0], [2.0, 3.0])
    array([ 1.46211716, -0.80682426])

    Source: ONNX SwiGLU-28.
    """
    return gated(a, alpha * a) * b


@operator(onnx="Swish", directml="ACTIVATION_SWISH")
def swish(x: Any, *, alpha: Any = 1.0) -> Any:
    """Sigmoid linear unit: ``x / (1 + exp(-alpha * x))``. The limit at -inf is -0.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -0; largest -> largest; -largest -> -0;
    smallest -> formula; -smallest -> -0.

    >>> swish([-1.0, 1.0])
    array([-0.26894142,  0.73105858])

    Source: DirectML DML_ACTIVATION_SWISH_OPERATOR_DESC (6_2, SigmoidInputScale is ``alpha``); ONNX Swish-24.
    """
    return gated(x, alpha * x)


@operator(onnx="Tanh", directml="ACTIVATION_TANH")
def tanh(x: Any) -> Any:
    """Hyperbolic tangent: ``(1 - exp(-2 x)) / (1 + exp(-2 x))``, without overflow and at most 1 in magnitude.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1; largest -> 1; -largest -> -1; smallest ->
    smallest; -smallest -> -smallest.

    >>> tanh([-20.0, 1.0])
    array([-1.        ,  0.76159416])

    Source: DirectML DML_ACTIVATION_TANH_OPERATOR_DESC (1_0); ONNX Tanh-1 to Tanh-13.
    """
    return f.tanh(x)


@operator(onnx="ThresholdedRelu", directml="ACTIVATION_THRESHOLDED_RELU")
def thresholded_relu(x: Any, *, alpha: Any = 1.0) -> Any:
    """Rectified linear unit with a threshold: ``x`` where x > alpha, 0 elsewhere.

    The comparison is strict, and NaN is not larger than alpha.

    Special cases: nan -> 0; 0 -> 0; -0 -> 0; inf -> inf; -inf -> 0; 1 -> 0; largest -> largest; -largest -> 0;
    smallest -> 0; -smallest -> 0; 1- -> 0; 1+ -> 1+.

    >>> thresholded_relu([0.5, 1.0, 1.5])
    array([0. , 0. , 1.5])

    Source: DirectML DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC (1_0); ONNX ThresholdedRelu-10, ThresholdedRelu-22.
    """
    return where(x > alpha, x, 0)
