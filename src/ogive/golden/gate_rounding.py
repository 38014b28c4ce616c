"""Where a gated linear unit rounds: once, or in steps as a runtime computes it, for any two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ogive.catalog import load
from ogive.catalog.rounded_steps import UNITS, roundings_of
from ogive.common.dtypes import element_type_of
from ogive.errors import ArgumentError, DTypeError, message

__all__ = ["gated", "roundings_of"]


def gated(operator: str, a: Any, b: Any, *, rounding: str = "once", **parameters: Any) -> np.ndarray:
    """A gated linear unit of two arrays that rounds where ``rounding`` says.

    ``"once"`` is Ogive's operator. ``"gate"`` rounds the gate to the element type, and then the product. ``"body"`` computes the
    function of ONNX's schema: SwiGLU-28 with each step rounded to the element type, GeGLU-29 with steps of float32 and a last
    rounding. Each step is correctly rounded. The operators themselves have the same keyword.

    Raises ArgumentError for other operators, ParameterError for other roundings, DTypeError if a and b are not of one floating-point type.

    >>> a, b = np.float16([1.5, 1.1]), np.float16([3.1, 0.7])
    >>> gated("swiglu", a, b), gated("swiglu", a, b, rounding="gate")
    (array([3.8   , 0.5776], dtype=float16), array([3.803 , 0.5776], dtype=float16))
    """
    subject = "ogive.golden.gated"
    if operator not in UNITS:
        raise ArgumentError(message(subject, f"operator is {operator!r}", ", ".join(UNITS)))
    first, second = np.asarray(a), np.asarray(b)
    kind = element_type_of(first.dtype)
    if kind is None or not kind.is_float or first.dtype != second.dtype:
        what = f"a is an array of {first.dtype}, and b of {second.dtype}"
        raise DTypeError(message(subject, what, "two arrays of one floating-point type"))
    return np.asarray(load(operator)(first, second, rounding=rounding, **parameters))
