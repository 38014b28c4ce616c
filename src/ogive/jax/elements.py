"""Element-wise operators with their derivatives."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax

from ogive.gradients import grad
from ogive.jax.handler import call_kernel
from ogive.jax.operands import opened
from ogive.jax.tangents import Function, differentiable
from ogive.operator import Operator
from ogive.signature import Signature

__all__ = ["elementwise", "has_derivative"]

Choices = tuple[tuple[str, Any], ...]


def has_derivative(signature: Signature) -> bool:
    """Whether the results are floating-point numbers."""
    return all(t.is_float for t in signature.outputs)


@lru_cache(maxsize=4096)
def elementwise(
    operator: Operator, arrays: tuple[str, ...], signature: Signature, choices: Choices, values: tuple[float, ...]
) -> Function:
    """The results of tensors and of those parameters that are ``arrays``, of equally many dimensions each.

    ``signature`` has the types of all of them; ``values`` are the other numeric parameters.
    """
    computed = opened(operator, arrays)

    def plain(*operands: jax.Array) -> tuple[jax.Array, ...]:
        return call_kernel(computed, signature, choices, values, operands)

    if not has_derivative(signature):
        return lambda *operands: plain(*map(jax.lax.stop_gradient, operands))
    names = (*operator.tensors, *arrays)

    def parts(i: int, tangent: Any, primals: tuple[jax.Array, ...], results: tuple[jax.Array, ...]) -> list[jax.Array]:
        if not signature.inputs[i].is_float:
            return []
        slopes = _slopes(operator, arrays, signature, choices, values, names[i])(*primals)
        kinds = [result.dtype for result in results]
        return [slope.astype(kind) * tangent.astype(kind) for slope, kind in zip(slopes, kinds, strict=True)]

    return differentiable(plain, parts)


@lru_cache(maxsize=4096)
def _slopes(
    operator: Operator,
    arrays: tuple[str, ...],
    signature: Signature,
    choices: Choices,
    values: tuple[float, ...],
    name: str,
) -> Function:
    """The derivatives of all results with respect to one argument, by a kernel of their own."""
    derivative = grad(operator, name)
    computed = opened(derivative, arrays)
    own = next(s for s in computed.signatures if s.inputs == signature.inputs)
    return elementwise(derivative, arrays, own, choices, values)
