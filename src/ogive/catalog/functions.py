"""Functions that neither standard has as an operator: exponentials, logarithms, roots, and the normal distribution.

They have the names of NumPy, SciPy and PyTorch, and are right where a formula of the standards' operators would
overflow or cancel on the way.
"""

from __future__ import annotations

import math
from typing import Any

from ogive import formula as f
from ogive.common.dtypes import BOOLEAN, NUMBERS
from ogive.operators.operator import operator


@operator
def cbrt(x: Any) -> Any:
    """Cube root: ``x ** (1 / 3)``, of negative numbers too.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; 8 -> 2; -27 -> -3; inf -> inf; -inf -> -inf.

    >>> cbrt([8.0, -27.0])
    array([ 2., -3.])

    Source: NumPy and SciPy cbrt, JAX cbrt.
    """
    return f.cbrt(x)


@operator
def copysign(x: Any, sign: Any) -> Any:
    """Magnitude of one with the sign of another: ``abs(x)`` or ``-abs(x)``, as the sign bit of ``sign`` says.

    Special cases (sign = -1): nan -> nan; 0 -> -0; -0 -> -0; 1 -> -1; -1 -> -1; inf -> -inf; -inf -> -inf.

    >>> copysign([1.0, -2.0], [-0.0, 3.0])
    array([-1.,  2.])

    Source: NumPy, PyTorch and JAX copysign.
    """
    return f.copy_sign(x, sign)


@operator
def erfc(x: Any) -> Any:
    """Complementary error function: ``1 - erf(x)``, accurate in both tails.

    Special cases: nan -> nan; 0 -> 1; -0 -> 1; inf -> 0; -inf -> 2.

    >>> erfc([-1.0, 0.0, 10.0])
    array([1.84270079e+00, 1.00000000e+00, 2.08848758e-45])

    Source: SciPy, PyTorch and JAX erfc.
    """
    return f.erfc(x)


@operator
def erfinv(x: Any) -> Any:
    """Inverse of the error function: ``erf(y) = x``; infinite at -1 and 1, NaN beyond.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; 1 -> inf; -1 -> -inf; 2 -> nan; inf -> nan; -inf -> nan.

    >>> erfinv([-0.5, 0.0, 0.999])
    array([-0.47693628,  0.        ,  2.32675377])

    Source: SciPy, PyTorch, JAX and Keras erfinv.
    """
    return f.erfinv(x)


@operator
def exp2(x: Any) -> Any:
    """Power of two: ``2 ** x``, exact where x is an integer.

    Special cases: nan -> nan; 0 -> 1; -0 -> 1; 3 -> 8; -1 -> 0.5; inf -> inf; -inf -> 0.

    >>> exp2([0.5, 10.0])
    array([   1.41421356, 1024.        ])

    Source: NumPy, SciPy, PyTorch and JAX exp2.
    """
    return f.exp2(x)


@operator
def expm1(x: Any) -> Any:
    """Exponential less one: ``exp(x) - 1``, without cancellation near zero.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -1.

    >>> expm1([1e-10, 1.0])
    array([1.00000000e-10, 1.71828183e+00])

    Source: NumPy, SciPy, PyTorch, JAX and Keras expm1.
    """
    return f.expm1(x)


@operator(types=NUMBERS, reorderable=True, integers=f.larger)
def fmax(a: Any, b: Any) -> Any:
    """Larger of two numbers: ``max(a, b)``, and the other one where one is NaN. The positive one of two zeros is larger.

    Special cases (b = 0): nan -> 0; 0 -> 0; -0 -> 0; inf -> inf; -inf -> 0.

    >>> fmax([1.0, float("nan")], 3.0)
    array([3., 3.])

    Source: NumPy, PyTorch and JAX fmax.
    """
    return f.fmax(a, b)


@operator(types=NUMBERS, reorderable=True, integers=f.smaller)
def fmin(a: Any, b: Any) -> Any:
    """Smaller of two numbers: ``min(a, b)``, and the other one where one is NaN. The negative one of two zeros is smaller.

    Special cases (b = 0): nan -> 0; 0 -> 0; -0 -> -0; inf -> 0; -inf -> -inf.

    >>> fmin([1.0, float("nan")], 3.0)
    array([1., 3.])

    Source: NumPy, PyTorch and JAX fmin.
    """
    return f.fmin(a, b)


@operator
def heaviside(x: Any, at_zero: Any) -> Any:
    """Step function: 0 where x < 0, 1 where x > 0, ``at_zero`` where x is a zero.

    Special cases (at_zero = 0.5): nan -> nan; 0 -> 0.5; -0 -> 0.5; 3 -> 1; -3 -> 0; inf -> 1; -inf -> 0.

    >>> heaviside([-1.5, 0.0, 2.0], 0.5)
    array([0. , 0.5, 1. ])

    Source: NumPy, PyTorch and JAX heaviside.
    """
    return f.heaviside(x, at_zero)


@operator(identity=0)
def hypot(a: Any, b: Any) -> Any:
    """Length of a vector of two: ``sqrt(a * a + b * b)``, without overflow on the way.

    It is infinite where one of them is, also beside NaN.

    Special cases (b = 0): nan -> nan; 0 -> 0; -0 -> 0; 3 -> 3; inf -> inf; -inf -> inf.

    >>> hypot([3.0, 3e200], [4.0, 4e200])
    array([5.e+000, 5.e+200])

    Source: NumPy, PyTorch and JAX hypot.
    """
    return f.hypot(a, b)


@operator(result=BOOLEAN)
def isfinite(x: Any) -> Any:
    """Whether a number is neither infinite nor NaN: ``abs(x) < inf``.

    >>> isfinite([1.0, float("inf"), float("nan")])
    array([ True, False, False])

    Source: NumPy, PyTorch, JAX and Keras isfinite.
    """
    return f.isfinite(x)


@operator
def log_ndtr(x: Any) -> Any:
    """Logarithm of the standard normal distribution function: ``log((1 + erf(x / sqrt(2))) / 2)``.

    It is accurate in both tails: where the distribution function is nearly 1, and where it is 0 in every type.

    Special cases: nan -> nan; 0 -> -0.6931471805599453; -0 -> -0.6931471805599453; inf -> -0; -inf -> -inf.

    >>> log_ndtr([-100.0, 0.0, 10.0])
    array([-5.00552421e+03, -6.93147181e-01, -7.61985302e-24])

    Source: SciPy and PyTorch log_ndtr, JAX log_ndtr.
    """
    return f.log_ndtr(x)


@operator
def log10(x: Any) -> Any:
    """Logarithm to base 10: ``log(x) / log(10)``, exact at powers of ten; -inf at both zeros, NaN below.

    Special cases: nan -> nan; 0 -> -inf; -0 -> -inf; 1 -> 0; 100 -> 2; inf -> inf; -inf -> nan; -1 -> nan.

    >>> log10([0.1, 1000.0])
    array([-1.,  3.])

    Source: NumPy, PyTorch, JAX and Keras log10.
    """
    return f.log10(x)


@operator
def log1mexp(x: Any) -> Any:
    """Logarithm of one less an exponential: ``log(1 - exp(-x))``, without cancellation at both ends; NaN below zero.

    Special cases: nan -> nan; 0 -> -inf; -0 -> -inf; inf -> -0; -inf -> nan; -1 -> nan.

    >>> log1mexp([1e-10, 1.0, 50.0])
    array([-2.30258509e+01, -4.58675145e-01, -1.92874985e-22])

    Source: JAX log1mexp; M. Maechler, "Accurately Computing log(1 - exp(-|a|))" (2012).
    """
    return f.log1p(-f.exp(-x))


@operator
def log1p(x: Any) -> Any:
    """Logarithm of one more: ``log(1 + x)``, without cancellation near zero; -inf at -1, NaN below.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; -1 -> -inf; -2 -> nan; inf -> inf; -inf -> nan.

    >>> log1p([1e-10, 1.0])
    array([1.00000000e-10, 6.93147181e-01])

    Source: NumPy, SciPy, PyTorch, JAX and Keras log1p.
    """
    return f.log1p(x)


@operator
def log2(x: Any) -> Any:
    """Logarithm to base 2: ``log(x) / log(2)``, exact at powers of two; -inf at both zeros, NaN below.

    Special cases: nan -> nan; 0 -> -inf; -0 -> -inf; 1 -> 0; 8 -> 3; 0.5 -> -1; inf -> inf; -inf -> nan; -1 -> nan.

    >>> log2([0.25, 10.0])
    array([-2.        ,  3.32192809])

    Source: NumPy, PyTorch, JAX and Keras log2.
    """
    return f.log2(x)


@operator(identity=-math.inf)
def logaddexp(a: Any, b: Any) -> Any:
    """Logarithm of a sum of exponentials: ``log(exp(a) + exp(b))``, without overflow on the way.

    Where the result is near zero, the two parts of it cancel, and relative accuracy is lost with them.

    Special cases (b = 0): nan -> nan; 0 -> 0.6931471805599453; -0 -> 0.6931471805599453; inf -> inf; -inf -> 0.

    >>> logaddexp([0.0, 1000.0], [0.0, 1000.0])
    array([6.93147181e-01, 1.00069315e+03])

    Source: NumPy, PyTorch, JAX and Keras logaddexp.
    """
    return f.logaddexp(a, b)


@operator(identity=-math.inf)
def logaddexp2(a: Any, b: Any) -> Any:
    """Logarithm of a sum of powers of two: ``log2(2 ** a + 2 ** b)``, without overflow on the way.

    Where the result is near zero, the two parts of it cancel, and relative accuracy is lost with them.

    Special cases (b = 0): nan -> nan; 0 -> 1; -0 -> 1; inf -> inf; -inf -> 0.

    >>> logaddexp2([0.0, 2000.0], [0.0, 2001.0])
    array([1.00000000e+00, 2.00158496e+03])

    Source: NumPy, PyTorch and JAX logaddexp2.
    """
    return f.logaddexp2(a, b)


@operator
def logit(x: Any) -> Any:
    """Inverse of the logistic function: ``log(x / (1 - x))``, without cancellation near 1/2; NaN outside [0, 1].

    Special cases: nan -> nan; 0 -> -inf; -0 -> -inf; 0.5 -> 0; 1 -> inf; 2 -> nan; -1 -> nan; inf -> nan; -inf -> nan.

    >>> logit([0.25, 0.5, 0.75])
    array([-1.09861229,  0.        ,  1.09861229])

    Source: SciPy, PyTorch and JAX logit.
    """
    return f.log(x / (1 - x))


@operator
def ndtr(x: Any) -> Any:
    """Standard normal distribution function: ``(1 + erf(x / sqrt(2))) / 2``, accurate in both tails.

    Special cases: nan -> nan; 0 -> 0.5; -0 -> 0.5; inf -> 1; -inf -> 0.

    >>> ndtr([-10.0, 0.0, 1.0])
    array([7.61985302e-24, 5.00000000e-01, 8.41344746e-01])

    Source: SciPy, PyTorch and JAX ndtr.
    """
    return f.ndtr(x)


@operator(types=(*NUMBERS, BOOLEAN), result=BOOLEAN)
def not_equal(a: Any, b: Any) -> Any:
    """Inequality: ``a != b``; true where an operand is NaN.

    >>> not_equal([1.0, 2.0], [1.0, 3.0])
    array([False,  True])

    Source: NumPy, JAX and Keras not_equal, PyTorch ne, WebNN notEqual.
    """
    return ~f.equal(a, b)


@operator
def rsqrt(x: Any) -> Any:
    """Reciprocal of the square root: ``1 / sqrt(x)``, rounded once; NaN below zero.

    Special cases: nan -> nan; 0 -> inf; -0 -> -inf; 4 -> 0.5; inf -> 0; -inf -> nan; -1 -> nan.

    >>> rsqrt([0.25, 4.0])
    array([2. , 0.5])

    Source: PyTorch, JAX and Keras rsqrt.
    """
    return 1 / f.square_root(x)


@operator(types=NUMBERS, modular=True)
def square(x: Any) -> Any:
    """Square: ``x * x``.

    Special cases: nan -> nan; 0 -> 0; -0 -> 0; -3 -> 9; inf -> inf; -inf -> inf.

    >>> square([-3.0, 0.5])
    array([9.  , 0.25])

    Source: NumPy, PyTorch, JAX and Keras square.
    """
    return x * x


@operator
def trunc(x: Any) -> Any:
    """Integer part: ``floor(x)`` where x > 0, ``ceil(x)`` elsewhere.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; 1.5 -> 1; -1.5 -> -1; -0.5 -> -0; inf -> inf; -inf -> -inf.

    >>> trunc([-1.5, 1.8])
    array([-1.,  1.])

    Source: NumPy, PyTorch, JAX and Keras trunc.
    """
    return f.truncate(x)
