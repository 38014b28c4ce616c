"""Comparison, logic and selection."""

from __future__ import annotations

from typing import Any, Literal

from ogive import formula as f
from ogive.common.dtypes import BOOLEAN, NUMBERS
from ogive.operators.operator import operator


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


@operator(types=(BOOLEAN,), truth_inputs=("a", "b"), identity=True, onnx="And", directml="ELEMENT_WISE_LOGICAL_AND")
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


@operator(types=(BOOLEAN,), truth_inputs=("a", "b"), identity=False, onnx="Or", directml="ELEMENT_WISE_LOGICAL_OR")
def logical_or(a: Any, b: Any) -> Any:
    """Disjunction: ``a | b``.

    >>> logical_or([True, False], [False, False])
    array([ True, False])

    Source: DirectML DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC (1_0); ONNX Or-1, Or-7.
    """
    return a | b


@operator(types=(BOOLEAN,), truth_inputs=("a", "b"), identity=False, onnx="Xor", directml="ELEMENT_WISE_LOGICAL_XOR")
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
