"""Where a gated linear unit rounds: once, or in steps as a runtime computes it.

Ogive's operators round once. Others round the gate to the element type first, or compute the function that ONNX's schema has. In
16 bits these are different numbers, and none is a mistake if the model was trained with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ogive.catalog import load
from ogive.dtypes import element_type_of
from ogive.errors import ArgumentError, DTypeError, message

__all__ = ["gated", "roundings_of"]

Steps = Callable[..., Any]


def _swiglu_gate(a: Any, b: Any, *, alpha: float = 1.0) -> Any:
    return load("mul")(load("swish")(a, alpha=alpha), b)


def _swiglu_body(a: Any, b: Any, *, alpha: float = 1.0) -> Any:
    """SwiGLU-28 and Swish-24 inside of it: Mul, Sigmoid, Mul, Mul; a factor of 1 rounds nothing."""
    mul = load("mul")
    inner = mul(np.asarray(alpha, a.dtype), a)
    return mul(mul(a, load("sigmoid")(inner)), b)


def _geglu_gate(a: Any, b: Any, *, approximate: str = "none") -> Any:
    return load("mul")(load("gelu")(a, approximate=approximate), b)


def _geglu_body(a: Any, b: Any, *, approximate: str = "none") -> Any:
    """GeGLU-29: Gelu and Mul, in float32 where the type is shorter, and then a Cast."""
    if a.dtype.itemsize >= 4:
        return _geglu_gate(a, b, approximate=approximate)
    wide = _geglu_gate(a.astype(np.float32), b.astype(np.float32), approximate=approximate)
    with np.errstate(over="ignore"):
        return wide.astype(a.dtype)


#: By operator: what is computed in steps.
_STEPS: dict[str, dict[str, Steps]] = {
    "geglu": {"gate": _geglu_gate, "body": _geglu_body},
    "glu": {"gate": lambda a, b: load("mul")(a, load("sigmoid")(b))},
    "reglu": {"gate": lambda a, b: load("mul")(load("relu")(a), b)},
    "swiglu": {"gate": _swiglu_gate, "body": _swiglu_body},
}


def roundings_of(operator: str) -> tuple[str, ...]:
    """The places where an operator can round: "once" alone, unless it is a gated unit.

    >>> roundings_of("swiglu"), roundings_of("tanh")
    (('once', 'gate', 'body'), ('once',))
    """
    return ("once", *_STEPS.get(operator, {}))


def gated(operator: str, a: Any, b: Any, *, rounding: str = "once", **parameters: Any) -> np.ndarray:
    """A gated linear unit of two arrays that rounds where ``rounding`` says.

    ``"once"`` is Ogive's operator. ``"gate"`` rounds the gate to the element type, and then the product. ``"body"`` computes the
    function of ONNX's schema: SwiGLU-28 with each step rounded to the element type, GeGLU-29 with steps of float32 and a last
    rounding. Each step is correctly rounded.

    Raises ArgumentError for other operators and roundings, DTypeError if a and b are not of one floating-point type.

    >>> a, b = np.float16([1.5, 1.1]), np.float16([3.1, 0.7])
    >>> gated("swiglu", a, b), gated("swiglu", a, b, rounding="gate")
    (array([3.8   , 0.5776], dtype=float16), array([3.803 , 0.5776], dtype=float16))
    """
    subject = "ogive.golden.gated"
    if operator not in _STEPS:
        raise ArgumentError(message(subject, f"operator is {operator!r}", ", ".join(_STEPS)))
    if rounding not in roundings_of(operator):
        allowed = ", ".join(map(repr, roundings_of(operator)))
        raise ArgumentError(message(subject, f"rounding is {rounding!r} for {operator}", allowed))
    first, second = np.asarray(a), np.asarray(b)
    kind = element_type_of(first.dtype)
    if kind is None or not kind.is_float or first.dtype != second.dtype:
        what = f"a is an array of {first.dtype}, and b of {second.dtype}"
        raise DTypeError(message(subject, what, "two arrays of one floating-point type"))
    compute = load(operator) if rounding == "once" else _STEPS[operator][rounding]
    return np.asarray(compute(first, second, **parameters))
