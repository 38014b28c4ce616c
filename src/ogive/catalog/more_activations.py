"""Activations that neither standard has: those of PyTorch, JAX and Keras, and of papers that models follow.

They keep the rules of the standards' activations (ogive.catalog.activations): a formula is the definition, and a limit at an
infinity is given.
"""

from __future__ import annotations

from typing import Any

from ogive import formula as f
from ogive.catalog import activations
from ogive.formula import where
from ogive.graph.limits import at_infinities
from ogive.operators.operator import operator
from ogive.operators.signature import NONZERO, NOT_NEGATIVE


@operator
def clipped_gelu(x: Any, *, min: Any = -10.0, max: Any = 10.0) -> Any:
    """GELU between two numbers: ``min(max, max(min, gelu(x)))``.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> 10; -inf -> -0; largest -> 10; -largest -> -0; smallest ->
    formula; -smallest -> formula.

    >>> clipped_gelu([-8.0, 1.0, 20.0])
    array([-4.97676846e-15,  8.41344746e-01,  1.00000000e+01])

    Source: gelu_10 of Hugging Face's Transformers; H. Wu and others, "Integer Quantization" (2020), arXiv 2004.09602.
    """
    return f.minimum(f.maximum(activations.gelu.function(x), min), max)


@operator
def derf(x: Any, weight: Any, bias: Any, *, alpha: Any = 0.5, shift: Any = 0.0) -> Any:
    """Dynamic error function in the place of a normalisation: ``weight * erf(alpha * x + shift) + bias``.

    Special cases (weight = 2, bias = 0.5): nan -> nan; 0 -> 0.5; -0 -> 0.5; inf -> 2.5; -inf -> -1.5; largest -> 2.5;
    -largest -> -1.5; smallest -> 0.5; -smallest -> 0.5.

    >>> derf([-1.0, 0.0, 4.0], [1.0, 1.0, 2.0], [0.0, 0.5, 0.0])
    array([-0.52049988,  0.5       ,  1.99064453])

    Source: M. Chen and others, "Stronger Normalization-Free Transformers" (2025), arXiv 2512.10938.
    """
    return weight * f.erf(alpha * x + shift) + bias


@operator
def dyt(x: Any, weight: Any, bias: Any, *, alpha: Any = 0.5) -> Any:
    """Dynamic tanh in the place of a normalisation: ``weight * tanh(alpha * x) + bias``.

    Special cases (weight = 2, bias = 0.5): nan -> nan; 0 -> 0.5; -0 -> 0.5; inf -> 2.5; -inf -> -1.5; largest -> 2.5;
    -largest -> -1.5; smallest -> 0.5; -smallest -> 0.5.

    >>> dyt([-1.0, 0.0, 4.0], [1.0, 1.0, 2.0], [0.0, 0.5, 0.0])
    array([-0.46211716,  0.5       ,  1.92805516])

    Source: J. Zhu and others, "Transformers without Normalization" (2025), arXiv 2503.10622.
    """
    return weight * f.tanh(alpha * x) + bias


@operator
def hard_mish(x: Any) -> Any:
    """Piecewise mish: ``x / 2 * max(0, min(x + 2, 2))``.

    Where the gate is closed the result is a zero with the sign of x, also at infinity.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -0; -2 -> -0; largest -> largest; -largest -> -0;
    smallest -> smallest; -smallest -> -smallest; -1 -> -0.5; 2 -> 2.

    >>> hard_mish([-3.0, -1.0, 2.0])
    array([-0. , -0.5,  2. ])

    Source: "H-Mish" of D. Misra (2020), as in the model zoo timm.
    """
    inner = f.maximum(x, -2)
    return where(x >= 0, x, inner * ((inner + 2) / 2))


@operator
def log_sigmoid(x: Any) -> Any:
    """Logarithm of the logistic function: ``log(1 / (1 + exp(-x)))``, without overflow and accurate at both ends.

    Special cases: nan -> nan; 0 -> -0.6931471805599453; -0 -> -0.6931471805599453; inf -> -0; -inf -> -inf; largest
    -> -0; -largest -> -largest; smallest -> -0.6931471805599453; -smallest -> -0.6931471805599453.

    >>> log_sigmoid([-1000.0, 0.0, 50.0])
    array([-1.00000000e+03, -6.93147181e-01, -1.92874985e-22])

    Source: PyTorch logsigmoid, JAX and Keras log_sigmoid, SciPy log_expit.
    """
    return -f.softplus(-x)


@operator
def serf(x: Any) -> Any:
    """Smooth activation by the error function: ``x * erf(log(1 + exp(x)))``. The limit at -inf is -0.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -0; largest -> largest; -largest -> -0; smallest
    -> smallest; -smallest -> -smallest.

    >>> serf([-1.0, 1.0])
    array([-0.34224796,  0.93672192])

    Source: S. Nag and M. Bhattacharyya, "SERF" (2021), arXiv 2108.09598.
    """
    return at_infinities(x * f.erf(f.softplus(x)), x, below=-0.0)


@operator(constraints={"alpha": NONZERO})
def snake(x: Any, *, alpha: Any = 1.0) -> Any:
    """Periodic activation: ``x + sin(alpha * x)**2 / alpha``. At the infinities it is x.

    Special cases: nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> -inf; largest -> largest; -largest -> -largest;
    smallest -> smallest; -smallest -> -smallest.

    >>> snake([-1.0, 0.0, 1.0])
    array([-0.29192658,  0.        ,  1.70807342])

    Source: L. Ziyin, T. Hartwig and M. Ueda, "Neural Networks Fail to Learn Periodic Functions" (2020), arXiv 2006.08195.
    """
    wave = f.sin(alpha * x)
    return at_infinities(x + wave * wave / alpha, x, below=x, above=x)


@operator(constraints={"cap": NONZERO})
def softcap(x: Any, *, cap: Any) -> Any:
    """Hyperbolic tangent that is x near zero: ``cap * tanh(x / cap)``. The cap has no default.

    Special cases (cap = 30): nan -> nan; 0 -> 0; -0 -> -0; inf -> 30; -inf -> -30; largest -> 30; -largest -> -30;
    smallest -> smallest; -smallest -> -smallest.

    >>> softcap([1.0, 1000.0], cap=30)
    array([ 0.99962979, 30.        ])

    Source: Gemma 2 (2024), arXiv 2408.00118; the logits_soft_cap of JAX's and the softcap of com.microsoft's attention.
    """
    return cap * f.tanh(x / cap)


@operator
def sparse_plus(x: Any) -> Any:
    """Piecewise softplus: 0 where x <= -1, ``(x + 1)**2 / 4`` between -1 and 1, x where x >= 1.

    Special cases: nan -> nan; 0 -> 0.25; -0 -> 0.25; inf -> inf; -inf -> 0; -1 -> 0; 1 -> 1; largest -> largest;
    -largest -> 0; smallest -> 0.25; -smallest -> 0.25.

    >>> sparse_plus([-2.0, 0.0, 3.0])
    array([0.  , 0.25, 3.  ])

    Source: JAX sparse_plus, Keras sparse_plus.
    """
    shifted = x + 1
    return where(x >= 1, x, where(x <= -1, 0, shifted * shifted / 4))


@operator
def sparse_sigmoid(x: Any) -> Any:
    """Piecewise linear sigmoid from -1 to 1: ``max(0, min((x + 1) / 2, 1))``.

    Special cases: nan -> nan; 0 -> 0.5; -0 -> 0.5; inf -> 1; -inf -> 0; -1 -> 0; 1 -> 1; largest -> 1; -largest -> 0;
    smallest -> 0.5; -smallest -> 0.5.

    >>> sparse_sigmoid([-2.0, 0.5, 3.0])
    array([0.  , 0.75, 1.  ])

    Source: JAX sparse_sigmoid, Keras sparse_sigmoid.
    """
    return f.maximum(f.minimum(0.5 * x + 0.5, 1), 0)  # which one operation rounds


@operator
def squared_relu(x: Any) -> Any:
    """Squared rectifier: ``max(0, x)**2``.

    Special cases: nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> 0; largest -> inf; -largest -> 0; smallest -> 0;
    -smallest -> 0.

    >>> squared_relu([-1.0, 3.0])
    array([0., 9.])

    Source: D. So and others, "Primer" (2021), arXiv 2109.08668.
    """
    positive = where(x <= 0, 0, x)
    return positive * positive


@operator(constraints={"b": NOT_NEGATIVE})
def squareplus(x: Any, *, b: Any = 4.0) -> Any:
    """Algebraic softplus: ``(x + sqrt(x * x + b)) / 2``, without cancellation where x is negative. The limit at -inf is 0.

    Special cases: nan -> nan; 0 -> 1; -0 -> 1; inf -> inf; -inf -> 0; largest -> largest; smallest -> 1; -smallest ->
    1.

    >>> squareplus([-3.0, 0.0, 1.5])
    array([0.30277564, 1.        , 2.        ])

    Source: JAX squareplus, Keras squareplus; J. T. Barron (2021), arXiv 2112.11687.
    """
    return at_infinities((x + f.square_root(x * x + b)) / 2, x, below=0)


@operator
def star_relu(x: Any, *, scale: Any = 0.8944, bias: Any = -0.4472) -> Any:
    """Squared rectifier, scaled and moved: ``scale * max(0, x)**2 + bias``.

    Special cases (scale = 2, bias = 1): nan -> nan; 0 -> 1; -0 -> 1; inf -> inf; -inf -> 1; largest -> inf; -largest
    -> 1; smallest -> 1; -smallest -> 1.

    >>> star_relu([-1.0, 2.0], scale=2, bias=1)
    array([1., 9.])

    Source: W. Yu and others, "MetaFormer Baselines for Vision" (2022), arXiv 2210.13452.
    """
    positive = where(x <= 0, 0, x)
    return scale * positive * positive + bias


@operator
def tanhshrink(x: Any) -> Any:
    """Difference from the hyperbolic tangent: ``x - tanh(x)``, without cancellation near zero. A zero keeps its sign.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; largest -> largest; -largest -> -largest;
    smallest -> 0; -smallest -> -0.

    >>> tanhshrink([-1.0, 1e-4, 2.0])
    array([-2.38405844e-01,  3.33333332e-13,  1.03597242e+00])

    Source: PyTorch tanhshrink, Keras tanh_shrink.
    """
    return f.copy_sign(x - f.tanh(x), x)


@operator
def xielu(x: Any, *, alpha_p: Any = 0.8, alpha_n: Any = 0.8, beta: Any = 0.5) -> Any:
    """Integral of an ELU: ``alpha_p * x**2 + beta * x`` where x > 0, ``alpha_n * (exp(x) - 1 - x) + beta * x`` elsewhere.

    The parameters are the numbers of the formula; models keep others, of which these are the softplus.

    Special cases (alpha_p = 1, alpha_n = 2, beta = 1): nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> inf; largest
    -> inf; 2 -> 6.

    >>> xielu([-1.0, 1.0])
    array([-0.20569645,  1.3       ])

    Source: A. H. Huang and I. Schlag, "Deriving Activation Functions Using Integration" (2024), arXiv 2411.13010.
    """
    below = at_infinities(alpha_n * (f.expm1(x) - x) + beta * x, x, below=(beta - alpha_n) * x)
    return where(x > 0, alpha_p * x * x + beta * x, below)
