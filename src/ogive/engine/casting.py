"""Casts between the element types of kernels, by the rules that the standards have in common.

Floats round to the nearest float, to even, and become infinite beyond its range. Integers lose their higher bits. A
number is true where it is not zero. ONNX leaves open what a float beyond the range of an integer becomes: here it
saturates, as in DirectML; NaN becomes zero, and a fraction is cut off.

>>> import numpy as np
>>> from ogive.dtypes import element_type
>>> from ogive.engine.computation import make_ufunc
>>> make_ufunc("cast", cast(element_type("float32"), element_type("int8")))(np.float32([-1.5, 1000, np.nan]))
array([ -1, 127,   0], dtype=int8)
"""

from __future__ import annotations

from ogive import operations as ops
from ogive.dtypes import BOOLEAN, ElementType
from ogive.engine.computation import Formula
from ogive.expression import Expression, Format, node
from ogive.formula import equal, where

__all__ = ["cast"]


def cast(source: ElementType, result: ElementType) -> Formula:
    """The conversion of elements of one type to another."""
    x = node(ops.INPUT, (), 0, Format.TRUTH if source is BOOLEAN else Format.NUMBER)
    root: Expression = x
    if source is BOOLEAN and result is not BOOLEAN:
        root = where(x, 1, 0)
    elif result is BOOLEAN and source is not BOOLEAN:
        root = ~equal(x, 0)
    # Integers lose higher bits; computed as real numbers they would saturate.
    return Formula((root,), (source,), (result,), modular=not (source.is_float or result.is_float))
