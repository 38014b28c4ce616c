"""Operators on the bits of integers."""

from __future__ import annotations

from typing import Any

from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES, INTEGERS, UNSIGNED
from ogive.operators.operator import operator


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


@operator(types=INTEGERS, modular=True, identity=-1, onnx="BitwiseAnd", directml="ELEMENT_WISE_BIT_AND")
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


@operator(types=INTEGERS, modular=True, identity=0, onnx="BitwiseOr", directml="ELEMENT_WISE_BIT_OR")
def bitwise_or(a: Any, b: Any) -> Any:
    """Disjunction of bits: ``a | b``.

    >>> import numpy as np
    >>> bitwise_or(np.uint8([12]), np.uint8([10]))
    array([14], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC (3_0); ONNX BitwiseOr-18.
    """
    return f.bit_or(a, b)


@operator(types=INTEGERS, modular=True, identity=0, onnx="BitwiseXor", directml="ELEMENT_WISE_BIT_XOR")
def bitwise_xor(a: Any, b: Any) -> Any:
    """Exclusive disjunction of bits: ``a ^ b``.

    >>> import numpy as np
    >>> bitwise_xor(np.uint8([12]), np.uint8([10]))
    array([6], dtype=uint8)

    Source: DirectML DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC (3_0); ONNX BitwiseXor-18.
    """
    return f.bit_xor(a, b)
