"""Operators on quantised numbers: int8 and uint8 with scales and zero points, of which results are rounded once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from ogive.catalog.rounding import quantised
from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.differentiation.algebra import substituted
from ogive.errors import ArgumentError, DTypeError, ParameterError, UnsupportedError, message
from ogive.golden.specification import FormulaStep, Specification, of_operator
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Term, walk
from ogive.operators.operator import Operator

#: The element types that numbers are quantised to.
QUANTISED = ("int8", "uint8")


@dataclass(frozen=True)
class Quantisation:
    """The numbers that integers stand for: ``(q - zero_point) * scale``, as ONNX's QuantizeLinear has them."""

    scale: float
    zero_point: int


def checked(subject: str, kind: ElementType, tensor: str, scale: Any, zero_point: Any) -> Quantisation:
    """The quantisation of a tensor: a positive scale, which is rounded to float32, and a zero point of the type."""
    name = f"{tensor}_scale"
    if scale is None:
        allowed = "a positive number: numbers are (q - zero_point) * scale"
        way_out = f"Give {name}=0.1, or --{tensor}-scale 0.1 to ogive export, and so the other tensor's"
        raise ParameterError(message(subject, f"{kind.name} needs {name}", allowed, way_out))
    try:
        single = float(np.float32(scale)) if isinstance(scale, int | float | np.number) else math.nan
    except OverflowError:
        single = math.inf
    if isinstance(scale, bool) or not 0 < single < math.inf:
        allowed = "a positive number that float32 has room for"
        raise ParameterError(message(subject, f"{name} is {scale!r}", allowed))
    is_whole = isinstance(zero_point, int | np.integer) and not isinstance(zero_point, bool)
    if not is_whole or not kind.minimum <= zero_point <= kind.maximum:
        allowed = f"an integer from {kind.minimum} to {kind.maximum}, for {kind.name}"
        raise ParameterError(message(subject, f"{tensor}_zero_point is {zero_point!r}", allowed))
    return Quantisation(single, int(zero_point))


def of_quantised(
    operator: Operator | str,
    dtype: str,
    x: Quantisation,
    y: Quantisation,
    parameters: Mapping[str, Any] | None = None,
    *,
    name: str = "",
) -> Specification:
    """The specification of an operator of one tensor on quantised numbers.

    The formula's exact value at ``(q - zero point) * scale`` is divided by the result's scale, rounded to an integer once,
    halves to even, and the zero point is added. Results saturate, and NaN is 0: as in `quantize_linear`.

    Raises DTypeError for other types than int8 and uint8, ArgumentError for operators of several tensors,
    UnsupportedError for rows and for truth values.

    >>> spec = of_quantised("sigmoid", "int8", Quantisation(0.05, 0), Quantisation(1 / 256, -128))
    >>> spec.right([np.int8([-128, 0, 127])])
    array([-128,    0,  127], dtype=int8)
    """
    subject = "ogive.golden"
    if dtype not in QUANTISED:
        raise DTypeError(message(subject, f"the element type is {dtype!r}", ", ".join(QUANTISED)))
    spec = of_operator(operator, "float32", parameters, name=name)
    if spec.is_row_wise:
        raise UnsupportedError(message(subject, f"{spec.operator} takes rows", "operators of elements"))
    if len(spec.inputs) != 1:
        what = f"{spec.operator} has {len(spec.inputs)} tensors"
        raise ArgumentError(message(subject, what, "operators of one tensor"))
    if not spec.output.is_float:
        what = f"{spec.operator} has results of {spec.output.name}"
        raise UnsupportedError(message(subject, what, "operators whose results are numbers"))
    kind = ELEMENT_TYPES[dtype]
    leaves: dict[Expression, Expression] = {
        n: (cast(Term, n) - x.zero_point) * Fraction(x.scale) for n in walk(spec.root) if n.operation == ops.INPUT
    }
    (value,) = substituted([spec.root], leaves)
    root = quantised(cast(Term, value) / Fraction(y.scale), y.zero_point)
    step = FormulaStep(root, (0,), spec.steps[-1].numbers, kind)
    quantisation = {"x_scale": x.scale, "x_zero_point": x.zero_point, "y_scale": y.scale, "y_zero_point": y.zero_point}
    return replace(
        spec,
        inputs=(kind,),
        output=kind,
        steps=(step,),
        parameters={**spec.parameters, **quantisation},
        catalogue="",
        bind=None,
    )
