"""Gated linear units that round in steps, as runtimes compute them: the gate first, or the body of ONNX's schema.

The operators round once. Others round the gate to the element type first, or compute the function that ONNX's schema has. In
16 bits these are different numbers, and none is a mistake if the model was trained with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ogive.catalog import load
from ogive.common.dtypes import ElementType, element_type
from ogive.operators.operator import Operator, RoundedStep

#: The rounding of all operators unless told otherwise.
ONCE = "once"

Values = Mapping[str, Any]


class _UnitStep(NamedTuple):
    operator: str
    """An operator of the catalogue, or a part of one beside it: ``module.name``."""
    operands: tuple[int, ...]
    parameters: Callable[[Values, ElementType], Values] = lambda values, kind: {}


def _only(*names: str) -> Callable[[Values, ElementType], Values]:
    return lambda values, kind: {name: values[name] for name in names}


def _stored_alpha(values: Values, kind: ElementType) -> Values:
    """A factor that the body converts to the element type."""
    with np.errstate(over="ignore"):
        return {"alpha": float(np.asarray(values["alpha"], kind.numpy))}


_PRODUCT = _UnitStep("mul", (2, 1))
_GEGLU = (_UnitStep("gelu", (0,), _only("approximate")), _PRODUCT)

#: By operator and by rounding other than once: the steps.
UNITS: dict[str, dict[str, tuple[_UnitStep, ...]]] = {
    "clamped_swiglu": {
        "gate": (
            _UnitStep("gated.limited_gate", (0,), _only("alpha", "limit")),
            _UnitStep("gated.times_limited", (2, 1), _only("limit", "bias")),
        )
    },
    "geglu": {"gate": _GEGLU, "body": _GEGLU},
    "glu": {"gate": (_UnitStep("sigmoid", (1,)), _UnitStep("mul", (0, 2)))},
    "reglu": {"gate": (_UnitStep("relu", (0,)), _PRODUCT)},
    "swiglu": {
        "gate": (_UnitStep("swish", (0,), _only("alpha")), _PRODUCT),
        # Mul, and Swish-24 inside of it: Mul, Sigmoid, Mul; a factor of 1 rounds nothing.
        "body": (
            _UnitStep("linear", (0,), _stored_alpha),
            _UnitStep("sigmoid", (2,)),
            _UnitStep("mul", (0, 3)),
            _UnitStep("mul", (4, 1)),
        ),
    },
}

#: The body of GeGLU-29 converts shorter types to float32, and its result back.
WIDE = {("geglu", "body")}


def roundings_of(operator: str) -> tuple[str, ...]:
    """The places where an operator can round: "once" alone, unless it is a gated unit.

    >>> roundings_of("swiglu"), roundings_of("tanh")
    (('once', 'gate', 'body'), ('once',))
    """
    return (ONCE, *UNITS.get(operator, {}))


def steps_of(
    unit: str, rounding: str, kind: ElementType, values: Values, accuracy: str = "exact"
) -> tuple[RoundedStep, ...]:
    """The steps of a unit that does not round once, for tensors of one element type."""
    is_wide = (unit, rounding) in WIDE and kind.bits < 32
    used, moved = (element_type("float32"), 2) if is_wide else (kind, 0)
    found = [RoundedStep(None, (place,), {}, used) for place in range(moved)]
    for step in UNITS[unit][rounding]:
        chosen = _operator(step.operator).under(accuracy)
        operands = tuple(place + moved for place in step.operands)
        found.append(RoundedStep(chosen, operands, step.parameters(values, used), used))
    if is_wide:
        found.append(RoundedStep(None, (len(found) + 1,), {}, kind))
    return tuple(found)


def _operator(name: str) -> Operator:
    module, _, own = name.rpartition(".")
    found: Operator = getattr(import_module(f"ogive.catalog.{module}"), own) if module else load(name)
    return found
