"""The element-wise operators around the activations: arithmetic, comparison, logic, selection, rounding.

Integer arithmetic wraps around, as in NumPy and in the standards' other implementations.
"""

from __future__ import annotations

from typing import Any, Literal

from ogive import formula as f
from ogive.dtypes import BOOLEAN, ELEMENT_TYPES, FLOATS, INTEGERS, NUMBERS, SIGNED, UNSIGNED, ElementType
from ogive.operator import ANY, operator

__all__ = [
    "abs",
    "add",
    "bit_count",
    "bit_shift_left",
    "bit_shift_right",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "clamp",
    "clamp_grad",
    "clip_grad",
    "dequantize_linear",
    "difference_square",
    "div",
    "equal",
    "erf",
    "exp",
    "floor",
    "greater",
    "greater_or_equal",
    "isinf",
    "isnan",
    "less",
    "less_or_equal",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "max",
    "mean",
    "min",
    "mul",
    "neg",
    "quantize_linear",
    "reciprocal",
    "round",
    "sign",
    "sqrt",
    "sub",
    "sum",
    "threshold",
    "where",
]

# ---- arithmetic


@operator(types=NUMBERS, modular=True, onnx="Abs", directml="ELEMENT_WISE_ABS")
def abs(x: Any) -> Any:
    """Magnitude: ``abs(x)``. The smallest signed integer has no counterpart and stays what it is.

    Special cases: nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> inf.

    >>> import numpy as np
    >>> abs(np.int8([-128, -1]))
    array([-128,    1], dtype=int8)

    Source: DirectML DML_ELEMENT_WISE_ABS_OPERATOR_DESC (1_0); ONNX Abs-1 to Abs-13.
    """
    return f.absolute(x)


@operator(types=NUMBERS, modular=True, onnx="Add", directml="ELEMENT_WISE_ADD")
def add(a: Any, b: Any) -> Any:
    """Sum of two: ``a + b``.

    >>> import numpy as np
    >>> add(np.uint8([250, 1]), np.uint8([10, 1]))
    array([4, 2], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_ADD_OPERATOR_DESC (1_0); ONNX Add-1 to Add-14.
    """
    return a + b


@operator(types=NUMBERS, modular=True, integers=f.quotient, onnx="Div", directml="ELEMENT_WISE_DIVIDE")
def div(a: Any, b: Any) -> Any:
    """Quotient: ``a / b``; of integers rounded towards zero, and 0 where ``b`` is 0.

    >>> import numpy as np
    >>> div(np.int32([7, -7, 1]), np.int32([2, 2, 0]))
    array([ 3, -3,  0], dtype=int32)

    Source: DirectML DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC (1_0); ONNX Div-1 to Div-14.
    """
    return a / b


@operator(types=NUMBERS, modular=True, directml="ELEMENT_WISE_DIFFERENCE_SQUARE")
def difference_square(a: Any, b: Any) -> Any:
    """Square of the difference: ``(a - b) * (a - b)``, rounded once.

    >>> difference_square([1.0, 5.0], [3.0, 2.0])
    array([4., 9.])

    Source: DirectML DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC (3_1).
    """
    return (a - b) * (a - b)


@operator(types=NUMBERS, onnx="Mean", directml="ELEMENT_WISE_MEAN")
def mean(a: Any, b: Any) -> Any:
    """Mean of two: ``(a + b) / 2``, which does not overflow; of integers rounded towards zero.

    Special cases (b = 1): nan -> nan; 0 -> 0.5; -0 -> 0.5; inf -> inf; -inf -> -inf.

    >>> mean([1.0, 2.0], [2.0, 4.0])
    array([1.5, 3. ])

    Source: DirectML DML_ELEMENT_WISE_MEAN_OPERATOR_DESC (1_0); ONNX Mean-1 to Mean-13, for two tensors.
    """
    return a * 0.5 + b * 0.5


@operator(types=NUMBERS, modular=True, onnx="Mul", directml="ELEMENT_WISE_MULTIPLY")
def mul(a: Any, b: Any) -> Any:
    """Product: ``a * b``.

    >>> mul([2.0, 3.0], 0.5)
    array([1. , 1.5])

    Source: DirectML DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC (1_0); ONNX Mul-1 to Mul-14.
    """
    return a * b


@operator(types=FLOATS + SIGNED, modular=True, onnx="Neg", directml="ELEMENT_WISE_NEGATE")
def neg(x: Any) -> Any:
    """Negative: ``-x``. The smallest integer has no counterpart and stays what it is.

    Special cases: nan -> nan; 0 -> -0; -0 -> 0; inf -> -inf; -inf -> inf.

    >>> neg([1.0, -2.0])
    array([-1.,  2.])

    Source: DirectML DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC (5_0); ONNX Neg-1 to Neg-13.
    """
    return -x


@operator(onnx="Reciprocal", directml="ELEMENT_WISE_RECIP")
def reciprocal(x: Any) -> Any:
    """Reciprocal: ``1 / x``.

    Special cases: nan -> nan; 0 -> inf; -0 -> -inf; inf -> 0; -inf -> -0.

    >>> reciprocal([2.0, -4.0])
    array([ 0.5 , -0.25])

    Source: DirectML DML_ELEMENT_WISE_RECIP_OPERATOR_DESC (1_0); ONNX Reciprocal-1 to Reciprocal-13.
    """
    return 1 / x


@operator(types=NUMBERS, onnx="Sign", directml="ELEMENT_WISE_SIGN")
def sign(x: Any, *, nan: Literal["nan", "zero"] = "nan") -> Any:
    """Sign: ``-1`` where x < 0, 1 where x > 0, 0 elsewhere.

    NaN stays NaN; with ``nan="zero"`` it gives 0, which is DirectML's formula to the letter.

    Special cases: nan -> nan; 0 -> 0; -0 -> 0; inf -> 1; -inf -> -1.

    >>> sign([-3.0, 0.0, 5.0])
    array([-1.,  0.,  1.])

    Source: DirectML DML_ELEMENT_WISE_SIGN_OPERATOR_DESC (1_0); ONNX Sign-9, Sign-13.
    """
    neither = f.where(f.equal(x, x), 0, x) if nan == "nan" else 0
    return f.where(x > 0, 1, f.where(x < 0, -1, neither))


@operator(onnx="Sqrt", directml="ELEMENT_WISE_SQRT")
def sqrt(x: Any) -> Any:
    """Square root: ``sqrt(x)``; NaN below zero.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> nan; -1 -> nan.

    >>> sqrt([2.25, 4.0])
    array([1.5, 2. ])

    Source: DirectML DML_ELEMENT_WISE_SQRT_OPERATOR_DESC (1_0); ONNX Sqrt-1 to Sqrt-13.
    """
    return f.square_root(x)


@operator(types=NUMBERS, modular=True, onnx="Sub", directml="ELEMENT_WISE_SUBTRACT")
def sub(a: Any, b: Any) -> Any:
    """Difference: ``a - b``.

    >>> sub([2.0, 3.0], 0.5)
    array([1.5, 2.5])

    Source: DirectML DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC (1_0); ONNX Sub-1 to Sub-14.
    """
    return a - b


@operator(onnx="Sum")
def sum(a: Any, b: Any) -> Any:
    """Sum of two tensors: ``a + b``. Of more than two, one after the other.

    >>> sum([1.0, 2.0], [3.0, 4.0])
    array([4., 6.])

    Source: ONNX Sum-1 to Sum-13, for two tensors.
    """
    return a + b


# ---- exponentials


@operator(onnx="Erf", directml="ELEMENT_WISE_ERF")
def erf(x: Any) -> Any:
    """Error function: ``2 / sqrt(pi)`` times the integral of exp(-t**2) from 0 to x.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1.

    >>> erf([-1.0, 0.5])
    array([-0.84270079,  0.52049988])

    Source: DirectML DML_ELEMENT_WISE_ERF_OPERATOR_DESC (2_0); ONNX Erf-9, Erf-13.
    """
    return f.erf(x)


@operator(onnx="Exp", directml="ELEMENT_WISE_EXP")
def exp(x: Any) -> Any:
    """Exponential function: ``exp(x)``.

    Special cases: nan -> nan; 0 -> 1; -0 -> 1; inf -> inf; -inf -> 0.

    >>> exp([0.0, 1.0])
    array([1.        , 2.71828183])

    Source: DirectML DML_ELEMENT_WISE_EXP_OPERATOR_DESC (1_0); ONNX Exp-1 to Exp-13.
    """
    return f.exp(x)


@operator(onnx="Log", directml="ELEMENT_WISE_LOG")
def log(x: Any) -> Any:
    """Natural logarithm: ``log(x)``; -inf at both zeros, NaN below.

    Special cases: nan -> nan; 0 -> -inf; -0 -> -inf; inf -> inf; -inf -> nan; 1 -> 0; -1 -> nan.

    >>> log([1.0, 2.718281828459045])
    array([0., 1.])

    Source: DirectML DML_ELEMENT_WISE_LOG_OPERATOR_DESC (1_0); ONNX Log-1 to Log-13.
    """
    return f.log(x)


# ---- rounding


@operator(onnx="Ceil", directml="ELEMENT_WISE_CEIL")
def ceil(x: Any) -> Any:
    """Smallest integer that is not smaller: ``ceil(x)``.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; -0.5 -> -0.

    >>> ceil([-1.5, 1.2])
    array([-1.,  2.])

    Source: DirectML DML_ELEMENT_WISE_CEIL_OPERATOR_DESC (1_0); ONNX Ceil-1 to Ceil-13.
    """
    return f.ceiling(x)


@operator(onnx="Floor", directml="ELEMENT_WISE_FLOOR")
def floor(x: Any) -> Any:
    """Largest integer that is not larger: ``floor(x)``.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; 0.5 -> 0.

    >>> floor([-1.5, 1.8])
    array([-2.,  1.])

    Source: DirectML DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC (1_0); ONNX Floor-1 to Floor-13.
    """
    return f.floor(x)


@operator(onnx="Round", directml="ELEMENT_WISE_ROUND")
def round(x: Any, *, mode: Literal["nearest_even", "truncate", "nearest_away"] = "nearest_even") -> Any:
    """Rounding to an integer: ``round(x)``.

    The default takes the nearest integer, of two equally near ones the even one. ``"truncate"`` cuts the
    fraction off; ``"nearest_away"`` takes of two equally near integers the one farther from zero. DirectML
    names these modes HALVES_TO_NEAREST_EVEN, TOWARD_ZERO and TOWARD_INFINITY.

    Special cases: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; 0.5 -> 0; 1.5 -> 2; -0.5 -> -0.

    >>> round([0.5, 1.5, 2.6])
    array([0., 2., 3.])

    Source: DirectML DML_ELEMENT_WISE_ROUND_OPERATOR_DESC (2_1); ONNX Round-11, Round-22.
    """
    if mode == "nearest_even":
        return f.round_even(x)
    cut = f.truncate(x)
    if mode == "truncate":
        return cut
    # The fraction is exact, and so is its comparison with a half.
    return f.where(f.absolute(x - cut) >= 0.5, cut + f.copy_sign(1, x), cut)


# ---- comparison


@operator(types=(*NUMBERS, BOOLEAN), result=BOOLEAN, onnx="Equal", directml="ELEMENT_WISE_LOGICAL_EQUALS")
def equal(a: Any, b: Any) -> Any:
    """Equality: ``a == b``; false where an operand is NaN.

    >>> equal([1.0, 2.0], [1.0, 3.0])
    array([ True, False])

    Source: DirectML DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC (1_0); ONNX Equal-1 to Equal-19.
    """
    return f.equal(a, b)


@operator(types=NUMBERS, result=BOOLEAN, onnx="Greater", directml="ELEMENT_WISE_LOGICAL_GREATER_THAN")
def greater(a: Any, b: Any) -> Any:
    """Comparison: ``a > b``; false where an operand is NaN.

    >>> greater([1.0, 2.0], 1.0)
    array([False,  True])

    Source: DirectML DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC (1_0); ONNX Greater-1 to Greater-13.
    """
    return a > b


@operator(types=NUMBERS, result=BOOLEAN, onnx="GreaterOrEqual", directml="ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL")
def greater_or_equal(a: Any, b: Any) -> Any:
    """Comparison: ``a >= b``; false where an operand is NaN.

    >>> greater_or_equal([0.0, 1.0], 1.0)
    array([False,  True])

    Source: DirectML DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC (3_0); ONNX GreaterOrEqual-12,
    GreaterOrEqual-16.
    """
    return a >= b


@operator(result=BOOLEAN, onnx="IsInf", directml="ELEMENT_WISE_IS_INFINITY")
def isinf(x: Any, *, detect_negative: Literal[1, 0] = 1, detect_positive: Literal[1, 0] = 1) -> Any:
    """Whether a number is infinite: ``abs(x) == inf``, or one of the two infinities.

    >>> isinf([1.0, float("-inf")])
    array([False,  True])
    >>> isinf([float("inf"), float("-inf")], detect_negative=0)
    array([ True, False])

    Source: DirectML DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC (2_1); ONNX IsInf-10, IsInf-20.
    """
    # Nothing equals NaN.
    negative = float("-inf" if detect_negative else "nan")
    positive = float("inf" if detect_positive else "nan")
    return f.equal(x, negative) | f.equal(x, positive)


@operator(result=BOOLEAN, onnx="IsNaN", directml="ELEMENT_WISE_IS_NAN")
def isnan(x: Any) -> Any:
    """Whether a number is NaN: ``x != x``.

    >>> isnan([1.0, float("nan")])
    array([False,  True])

    Source: DirectML DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC (2_0); ONNX IsNaN-9 to IsNaN-20.
    """
    return ~f.equal(x, x)


@operator(types=NUMBERS, result=BOOLEAN, onnx="Less", directml="ELEMENT_WISE_LOGICAL_LESS_THAN")
def less(a: Any, b: Any) -> Any:
    """Comparison: ``a < b``; false where an operand is NaN.

    >>> less([0.0, 1.0], 1.0)
    array([ True, False])

    Source: DirectML DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC (1_0); ONNX Less-1 to Less-13.
    """
    return a < b


@operator(types=NUMBERS, result=BOOLEAN, onnx="LessOrEqual", directml="ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL")
def less_or_equal(a: Any, b: Any) -> Any:
    """Comparison: ``a <= b``; false where an operand is NaN.

    >>> less_or_equal([1.0, 2.0], 1.0)
    array([ True, False])

    Source: DirectML DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC (3_0); ONNX LessOrEqual-12,
    LessOrEqual-16.
    """
    return a <= b


def _larger(a: Any, b: Any) -> Any:
    return f.where(a > b, a, b)


def _smaller(a: Any, b: Any) -> Any:
    return f.where(a < b, a, b)


@operator(types=NUMBERS, integers=_larger, onnx="Max", directml="ELEMENT_WISE_MAX")
def max(a: Any, b: Any) -> Any:
    """Larger of two: ``max(a, b)``. NaN in either gives NaN; of two zeros the positive one is larger.

    Special cases (b = 0): nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> 0.

    >>> max([1.0, 5.0], 3.0)
    array([3., 5.])

    Source: DirectML DML_ELEMENT_WISE_MAX_OPERATOR_DESC (1_0); ONNX Max-1 to Max-13, for two tensors.
    """
    # The sum of two zeros is the larger one, and that with NaN is NaN.
    tied = f.where(f.equal(a, b) & ~f.equal(a, 0), a, a + b)
    return f.where(a > b, a, f.where(b > a, b, tied))


@operator(types=NUMBERS, integers=_smaller, onnx="Min", directml="ELEMENT_WISE_MIN")
def min(a: Any, b: Any) -> Any:
    """Smaller of two: ``min(a, b)``. NaN in either gives NaN; of two zeros the negative one is smaller.

    Special cases (b = 0): nan -> nan; 0 -> 0; -0 -> -0; inf -> 0; -inf -> -inf.

    >>> min([1.0, 5.0], 3.0)
    array([1., 3.])

    Source: DirectML DML_ELEMENT_WISE_MIN_OPERATOR_DESC (1_0); ONNX Min-1 to Min-13, for two tensors.
    """
    tied = f.where(f.equal(a, b) & ~f.equal(a, 0), a, -(-a - b))
    return f.where(a < b, a, f.where(b < a, b, tied))


# ---- limits


@operator(types=NUMBERS, constraints={"min": ANY, "max": ANY}, directml="ELEMENT_WISE_CLIP")
def clamp(x: Any, *, min: Any, max: Any) -> Any:
    """Clip to an interval between two numbers: ``min(max, max(min, x))``.

    The bounds are FLOAT parameters; `clip` takes tensors. Where they are in the wrong order the result is
    ``max``. Bounds of integers may be fractions: what is clipped to one is rounded towards zero.

    Special cases (min = -1, max = 1): nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1.

    >>> clamp([-5.0, 0.5, 5.0], min=-1, max=float("inf"))
    array([-1. ,  0.5,  5. ])

    Source: DirectML DML_ELEMENT_WISE_CLIP_OPERATOR_DESC (1_0).
    """
    return f.minimum(f.maximum(x, min), max)


@operator(types=NUMBERS, constraints={"min": ANY, "max": ANY}, directml="ELEMENT_WISE_CLIP_GRAD")
def clamp_grad(x: Any, gradient: Any, *, min: Any, max: Any) -> Any:
    """Gradient of `clamp`: ``0`` where x <= min or x >= max, ``gradient`` elsewhere, also where x is NaN.

    >>> clamp_grad([-1.0, 0.5, 1.0], [7.0, 7.0, 7.0], min=-1, max=1)
    array([0., 7., 0.])

    Source: DirectML DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC (3_1).
    """
    return f.where((x <= min) | (x >= max), 0, gradient)


@operator(types=NUMBERS, directml="ELEMENT_WISE_CLIP_GRAD1")
def clip_grad(x: Any, gradient: Any, min: Any, max: Any) -> Any:
    """Gradient of clipping between tensors: ``0`` where x <= min or x >= max, ``gradient`` elsewhere.

    >>> clip_grad([-1.0, 0.5, 1.0], [7.0, 7.0, 7.0], -1.0, 1.0)
    array([0., 7., 0.])

    Source: DirectML DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC (5_0).
    """
    return f.where((x <= min) | (x >= max), 0, gradient)


@operator(types=NUMBERS, constraints={"min": ANY}, directml="ELEMENT_WISE_THRESHOLD")
def threshold(x: Any, *, min: Any) -> Any:
    """Clip from below: ``max(x, min)``. A bound of integers may be a fraction.

    Special cases (min = -1): nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -1.

    >>> threshold([-5.0, 5.0], min=0.5)
    array([0.5, 5. ])

    Source: DirectML DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC (1_0).
    """
    return f.maximum(x, min)


# ---- logic and selection


@operator(types=(BOOLEAN,), truth_inputs=("a", "b"), onnx="And", directml="ELEMENT_WISE_LOGICAL_AND")
def logical_and(a: Any, b: Any) -> Any:
    """Conjunction: ``a & b``.

    >>> logical_and([True, True], [True, False])
    array([ True, False])

    Source: DirectML DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC (1_0); ONNX And-1, And-7.
    """
    return a & b


@operator(types=(BOOLEAN,), truth_inputs=("x",), onnx="Not", directml="ELEMENT_WISE_LOGICAL_NOT")
def logical_not(x: Any) -> Any:
    """Negation: ``~x``.

    >>> logical_not([True, False])
    array([False,  True])

    Source: DirectML DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC (1_0); ONNX Not-1.
    """
    return ~x


@operator(types=(BOOLEAN,), truth_inputs=("a", "b"), onnx="Or", directml="ELEMENT_WISE_LOGICAL_OR")
def logical_or(a: Any, b: Any) -> Any:
    """Disjunction: ``a | b``.

    >>> logical_or([True, False], [False, False])
    array([ True, False])

    Source: DirectML DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC (1_0); ONNX Or-1, Or-7.
    """
    return a | b


@operator(types=(BOOLEAN,), truth_inputs=("a", "b"), onnx="Xor", directml="ELEMENT_WISE_LOGICAL_XOR")
def logical_xor(a: Any, b: Any) -> Any:
    """Exclusive disjunction: ``a ^ b``.

    >>> logical_xor([True, True], [True, False])
    array([False,  True])

    Source: DirectML DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC (1_0); ONNX Xor-1, Xor-7.
    """
    return a ^ b


@operator(types=(*NUMBERS, BOOLEAN), truth_inputs=("condition",), onnx="Where", directml="ELEMENT_WISE_IF")
def where(condition: Any, a: Any, b: Any) -> Any:
    """Selection: ``a`` where the condition holds, ``b`` elsewhere.

    >>> where([True, False], [1.0, 2.0], [3.0, 4.0])
    array([1., 4.])

    Source: DirectML DML_ELEMENT_WISE_IF_OPERATOR_DESC (2_0); ONNX Where-9, Where-16.
    """
    return f.where(condition, a, b)


# ---- bits


@operator(types=INTEGERS, result=ELEMENT_TYPES["uint8"], modular=True, directml="ELEMENT_WISE_BIT_COUNT")
def bit_count(x: Any) -> Any:
    """Number of bits that are set: ``popcount(x)``, of the two's complement where x is negative.

    >>> import numpy as np
    >>> bit_count(np.uint32([0, 123, 456, 789]))
    array([0, 6, 4, 5], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC (3_0).
    """
    return f.bit_count(x)


@operator(types=UNSIGNED, modular=True, directml="ELEMENT_WISE_BIT_SHIFT_LEFT")
def bit_shift_left(a: Any, b: Any) -> Any:
    """Shift to the left: ``a << b``; 0 where the shift is as long as the number.

    >>> import numpy as np
    >>> bit_shift_left(np.uint8([1, 255, 1]), np.uint8([3, 1, 8]))
    array([  8, 254,   0], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC (2_1); ONNX BitShift-11, direction LEFT.
    """
    return f.bit_shift_left(a, b)


@operator(types=UNSIGNED, modular=True, directml="ELEMENT_WISE_BIT_SHIFT_RIGHT")
def bit_shift_right(a: Any, b: Any) -> Any:
    """Shift to the right: ``a >> b``; 0 where the shift is as long as the number.

    >>> import numpy as np
    >>> bit_shift_right(np.uint8([8, 255, 255]), np.uint8([3, 1, 8]))
    array([  1, 127,   0], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC (2_1); ONNX BitShift-11, direction RIGHT.
    """
    return f.bit_shift_right(a, b)


@operator(types=INTEGERS, modular=True, onnx="BitwiseAnd", directml="ELEMENT_WISE_BIT_AND")
def bitwise_and(a: Any, b: Any) -> Any:
    """Conjunction of bits: ``a & b``.

    >>> import numpy as np
    >>> bitwise_and(np.uint8([12]), np.uint8([10]))
    array([8], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC (3_0); ONNX BitwiseAnd-18.
    """
    return f.bit_and(a, b)


@operator(types=INTEGERS, modular=True, onnx="BitwiseNot", directml="ELEMENT_WISE_BIT_NOT")
def bitwise_not(x: Any) -> Any:
    """Complement of bits: ``~x``.

    >>> import numpy as np
    >>> bitwise_not(np.uint8([12]))
    array([243], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC (3_0); ONNX BitwiseNot-18.
    """
    return f.bit_not(x)


@operator(types=INTEGERS, modular=True, onnx="BitwiseOr", directml="ELEMENT_WISE_BIT_OR")
def bitwise_or(a: Any, b: Any) -> Any:
    """Disjunction of bits: ``a | b``.

    >>> import numpy as np
    >>> bitwise_or(np.uint8([12]), np.uint8([10]))
    array([14], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC (3_0); ONNX BitwiseOr-18.
    """
    return f.bit_or(a, b)


@operator(types=INTEGERS, modular=True, onnx="BitwiseXor", directml="ELEMENT_WISE_BIT_XOR")
def bitwise_xor(a: Any, b: Any) -> Any:
    """Exclusive disjunction of bits: ``a ^ b``.

    >>> import numpy as np
    >>> bitwise_xor(np.uint8([12]), np.uint8([10]))
    array([6], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC (3_0); ONNX BitwiseXor-18.
    """
    return f.bit_xor(a, b)


# ---- quantisation


def _named(*names: str) -> tuple[ElementType, ...]:
    return tuple(ELEMENT_TYPES[name] for name in names)


@operator(
    signatures=[
        ((number, scale, zero), (scale,))
        for scale in _named("float32", "float16")
        for number in _named("int32", "int16", "int8", "uint32", "uint16", "uint8")
        for zero in (number,)
    ],
    directml="ELEMENT_WISE_DEQUANTIZE_LINEAR",
)
def dequantize_linear(x: Any, scale: Any, zero_point: Any) -> Any:
    """Integers as the numbers they stand for: ``(x - zero_point) * scale``, rounded once.

    >>> import numpy as np
    >>> dequantize_linear(np.uint8([0, 128, 255]), np.float32(0.5), np.uint8(128))
    array([-64. ,   0. ,  63.5], dtype=float32)

    Source: DirectML DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC (2_0).
    """
    return (x - zero_point) * scale


@operator(
    signatures=[
        ((number, scale, zero), (zero,))
        for number in _named("float32", "float16", "int32")
        for scale in _named("float32", "float16")
        for zero in _named("int8", "uint8")
    ],
    directml="ELEMENT_WISE_QUANTIZE_LINEAR",
)
def quantize_linear(x: Any, scale: Any, zero_point: Any) -> Any:
    """Numbers as integers: ``round(x / scale) + zero_point``, saturating; halves round to even, NaN to 0.

    >>> import numpy as np
    >>> quantize_linear(np.float32([-1e9, 0.25, 0.75]), np.float32(0.5), np.uint8(128))
    array([  0, 128, 130], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC (2_0).
    """
    return f.round_even(x / scale) + zero_point
