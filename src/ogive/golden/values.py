"""Exact values of operators for people's own tests: `exact` in decimal digits, `ulp` of results, `gated` units that round in steps."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from ogive.catalog import load
from ogive.catalog.rounded_steps import UNITS, roundings_of
from ogive.common.array_shapes import broadcast_arrays
from ogive.common.conversion import converted
from ogive.common.dtypes import ELEMENT_TYPES, ElementType, element_type_of, stored_type_of
from ogive.errors import ArgumentError, DTypeError, ShapeError, message
from ogive.golden.specification import find_operator, of_operator, python_value
from ogive.laboratory.accuracy.ulp import error_in_ulp
from ogive.operators.operator import Operator

__all__ = ["exact", "gated", "roundings_of", "ulp"]

#: The most digits that `exact` gives.
MOST_DIGITS = 1000


def exact(operator: Operator | str, *inputs: Any, digits: int = 50, **parameters: Any) -> Any:
    """The exact value of an operator, correctly rounded to so many significant decimal digits.

    Inputs are Python's numbers, NumPy's scalars or arrays, which broadcast. They are taken as they are: 0.1 is the
    float64 number. Parameters are rounded to float32 where the inputs' element type computes in float32. The result is
    a `decimal.Decimal`, or an array of them. Row-wise operators take arrays, whose rows lie along the last axis.

    Special cases: NaN, infinities and signed zeros are those of `decimal.Decimal`. Values below 1e-330, which is zero in
    every element type, are those of the catalogue's formula, which may stop following a tail there.

    Raises ArgumentError for an unknown operator or a wrong number of digits or inputs, DTypeError for inputs of other
    types, ParameterError for parameters.

    >>> import ogive
    >>> ogive.exact("gelu", -3.0, digits=30)
    Decimal('-0.00404969409489028357995544430278')
    """
    op = find_operator(operator)
    if not isinstance(digits, int) or not 1 <= digits <= MOST_DIGITS:
        raise ArgumentError(message("ogive.exact", f"digits is {digits!r}", f"1 to {MOST_DIGITS}"))
    arrays = _arrays("ogive.exact", op, inputs)
    spec = of_operator(op, _kind_of(op, arrays), parameters)
    arrays = [x if x.dtype == t.numpy else converted(x, t.numpy) for x, t in zip(arrays, spec.inputs, strict=True)]
    if spec.is_row_wise:
        x = arrays[0]
        if x.ndim == 0:
            raise ShapeError(message("ogive.exact", f"{op.name} takes rows, and the input has no axes", "arrays"))
        rows = [spec.decimals([python_value(v) for v in row], digits) for row in x.reshape(-1, x.shape[-1])]
        if spec.reduces:
            return np.array([row[0] for row in rows], object).reshape(x.shape[:-1])[()]
        return np.array(rows, object).reshape(x.shape)
    together = broadcast_arrays(*arrays)
    values = [
        spec.decimal([python_value(v) for v in each], digits) for each in zip(*map(np.ravel, together), strict=True)
    ]
    if together[0].ndim == 0:
        found: Decimal = values[0]
        return found
    return np.array(values, object).reshape(together[0].shape)


def ulp(result: Any, operator: Operator | str, *inputs: Any, **parameters: Any) -> np.ndarray:
    """The error of results in units in the last place (ULP), against the exact values.

    The unit is the distance of neighbouring numbers of the result's element type at the exact value. A result that is
    the nearest number has at most 0.5. The result's element type is the one that is measured; inputs are cast to it if
    they are Python's numbers. Integer results are compared with the number cut off towards zero.

    Special cases: where the exact value is NaN or beyond the format, the right NaN or infinity has 0, anything else inf.

    Raises DTypeError where the operator has no such type, ShapeError where result and inputs differ in shape,
    ParameterError.

    >>> import numpy as np, ogive
    >>> ogive.ulp(np.float32(0.8413447), "gelu", np.float32(1.0)).round(3)
    np.float64(0.535)
    """
    op = find_operator(operator)
    found = np.asarray(result)
    out = stored_type_of(found.dtype)
    if out is None:
        raise DTypeError(message("ogive.ulp", f"the result is {found.dtype}", ", ".join(ELEMENT_TYPES)))
    plain = all(isinstance(x, int | float) for x in inputs)
    arrays = _arrays("ogive.ulp", op, [np.asarray(x, found.dtype) for x in inputs] if plain else inputs)
    spec = of_operator(op, _kind_of(op, arrays), parameters)
    if spec.output is not out:
        raise DTypeError(message("ogive.ulp", f"the result is {out.name}", f"{spec.output.name}, for these inputs"))
    expected = spec.expected(arrays)
    if expected.right.shape != found.shape:
        raise ShapeError(
            message("ogive.ulp", f"the result has shape {found.shape}", f"{expected.right.shape}, for these inputs")
        )
    if not out.is_float:
        steps: np.ndarray = np.abs(found.astype(object) - expected.right.astype(object)).astype(np.float64)
        return steps
    errors: np.ndarray = error_in_ulp(found.reshape(-1), expected.exact.reshape(-1), out).reshape(found.shape)[()]
    return errors


def _arrays(subject: str, op: Operator, inputs: Sequence[Any]) -> list[np.ndarray]:
    if len(inputs) != op.inputs:
        needed = ", ".join(op.tensors)
        raise ArgumentError(message(subject, f"{op.name} got {len(inputs)} inputs", f"{op.inputs}: {needed}"))
    arrays = [np.asarray(x) for x in inputs]
    for name, x in zip(op.tensors, arrays, strict=True):
        if stored_type_of(x.dtype) is None:
            raise DTypeError(message(subject, f"{name} is {x.dtype}", ", ".join(ELEMENT_TYPES)))
    return arrays


def _kind_of(op: Operator, arrays: Sequence[np.ndarray]) -> ElementType:
    """The element type that the operator is there for: that of the first number; of integers float64, if need be."""
    numbers = [x for name, x in zip(op.tensors, arrays, strict=True) if name not in op.truth_inputs] or list(arrays)
    kind = stored_type_of(numbers[0].dtype)
    assert kind is not None
    takes = {s.inputs[0] for s in op.signatures} | {s.inputs[-1] for s in op.signatures}
    return kind if kind in takes or not kind.is_integer else ELEMENT_TYPES["float64"]


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
