"""The operands of a call: tensors, element types, parameters that are numbers, and those that are arrays."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from ogive.common.dtypes import ELEMENT_TYPES
from ogive.errors import ArgumentError, DTypeError, described, message, shapes_apart
from ogive.operators.operator import Operator, advice_on
from ogive.operators.signature import NUMPY_KEYWORDS, Signature


def is_array(value: Any) -> bool:
    """Whether a parameter is an operand: an array of JAX, traced or not, or one of NumPy with dimensions."""
    return isinstance(value, jax.Array) or (isinstance(value, np.ndarray) and value.ndim > 0)


def check_names(operator: Operator, tensors: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Refuse another number of tensors, and what NumPy's functions take besides."""
    subject = f"ogive.jax.{operator.name}"
    if len(tensors) != operator.inputs or any(tensor is None for tensor in tensors):
        many = "one tensor" if operator.inputs == 1 else f"{operator.inputs} tensors"
        given = f"{len(tensors)} tensor{'' if len(tensors) == 1 else 's'}"
        if len(tensors) == operator.inputs:
            given = "None for a tensor"
        allowed = f"{many} ({', '.join(operator.tensors)})"
        raise ArgumentError(message(subject, f"it was given {given}", allowed, advice_on(operator.base.name, "")))
    known = {parameter.name for parameter in operator.parameters}
    for name in keywords:
        if name in NUMPY_KEYWORDS and name not in known:
            way_out = f"JAX's arrays are never written to, and have one type: use ogive.{operator.name} for {name}"
            raise ArgumentError(message(subject, f"{name} was given", ", ".join(sorted(known)) or "tensors", way_out))


def typed(operator: Operator, tensors: Sequence[Any]) -> tuple[Signature, list[jax.Array]]:
    """The combination of element types for a call, and the tensors as arrays of them.

    The tensors' own types if there is such a combination; else the type that JAX gives to all together; else the
    floating-point type that it gives to these.
    """
    for name, tensor in zip(operator.tensors, tensors, strict=True):
        if not hasattr(tensor, "dtype") and not isinstance(tensor, bool | int | float | list | tuple):
            what = f"{name} is {described(tensor)}"
            raise DTypeError(message(f"ogive.jax.{operator.name}", what, "arrays of JAX or NumPy, and numbers"))
    arrays = [jnp.asarray(tensor) for tensor in tensors]
    is_truth = [name in operator.truth_inputs for name in operator.tensors]
    # Numbers of Python count less than arrays, as everywhere in JAX.
    numbers = [
        array if isinstance(tensor, list | tuple) else tensor
        for tensor, array, truth in zip(tensors, arrays, is_truth, strict=True)
        if not truth
    ]
    common = jnp.result_type(*numbers) if numbers else np.dtype(bool)
    wider = jnp.result_type(common, float)
    for attempt in (None, common, wider):
        types = [
            array.dtype if attempt is None else np.dtype(bool) if truth else attempt
            for array, truth in zip(arrays, is_truth, strict=True)
        ]
        for signature in operator.signatures:
            if all(t.numpy == dtype for t, dtype in zip(signature.inputs, types, strict=True)):
                return signature, [array.astype(dtype) for array, dtype in zip(arrays, types, strict=True)]
    given = ", ".join(f"{name} has {a.dtype}" for name, a in zip(operator.tensors, arrays, strict=True))
    allowed = ", ".join(dict.fromkeys(t.name for s in operator.signatures for t in s.inputs))
    raise DTypeError(message(f"ogive.jax.{operator.name}", given, allowed))


def broadcast_shape(operator: Operator, operands: Sequence[jax.Array]) -> tuple[int, ...]:
    """The shape of all operands together."""
    try:
        return jnp.broadcast_shapes(*(operand.shape for operand in operands))
    except ValueError:
        shapes = (operand.shape for operand in operands)
        raise shapes_apart(f"ogive.jax.{operator.name}", operator.tensors, shapes) from None


@lru_cache(maxsize=1024)
def opened(operator: Operator, names: tuple[str, ...]) -> Operator:
    """The operator with some parameters as tensors, behind its own. They are float32, or float64 beside it."""
    if not names:
        return operator
    source = operator.base
    tensors = (*source.tensors, *names)
    rest = [parameter for parameter in source.parameters if parameter.name not in names]
    positional = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in tensors]
    keywords = [
        inspect.Parameter(
            p.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=p.default,
            annotation=Literal[p.choices] if p.choices else inspect.Parameter.empty,
        )
        for p in rest
    ]

    def function(*given: Any, **parameters: Any) -> Any:
        values = dict(zip(names, given[source.inputs :], strict=True))
        return source.function(*given[: source.inputs], **values, **parameters)

    function.__name__ = function.__qualname__ = f"{source.name}_of_{'_'.join(names)}"
    function.__module__ = __name__
    function.__signature__ = inspect.Signature([*positional, *keywords])  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in keywords if p.annotation is not inspect.Parameter.empty}
    function.__doc__ = f"{source.name} with an array for {' and for '.join(names)}."
    signatures = []
    for signature in source.signatures:
        if all(t.is_float for t in (*signature.inputs, *signature.outputs)):
            has_doubles = any(t.name == "float64" for t in signature.inputs)
            own = ELEMENT_TYPES["float64" if has_doubles else "float32"]
            if source.is_row_wise:  # their kernels have one element type
                own = signature.inputs[0]
            signatures.append(Signature((*signature.inputs, *(own for _ in names)), signature.outputs))
    if not signatures:
        what = f"{names[0]} is an array"
        raise DTypeError(
            message(f"ogive.jax.{source.name}", what, "a number: no element type of this operator is floating-point")
        )
    constraints = {parameter.name: parameter.constraint for parameter in rest if not parameter.choices}
    kind = type(source) if source.is_row_wise else Operator
    made = kind(function, lambda _: signatures, constraints, truth_inputs=source.truth_inputs)
    made.opened_of = source
    return made.under_contract_of(operator)
