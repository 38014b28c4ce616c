"""Element-wise operators with their derivatives: functions whose tangents are sums of what each operand gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from ogive.gradients import grad
from ogive.jax.handler import call_kernel
from ogive.jax.operands import opened
from ogive.operator import Operator
from ogive.signature import Signature

__all__ = ["Function", "differentiable", "elementwise", "has_derivative"]


Function = Callable[..., tuple[jax.Array, ...]]
Parts = Callable[[int, Any, tuple[jax.Array, ...], tuple[jax.Array, ...]], Iterable[jax.Array]]
"""(number of an operand, its tangent, operands, results) -> what it gives to the tangent of each result; or nothing."""


def differentiable(compute: Function, parts: Parts) -> Function:
    """The function with its derivatives in forward mode."""
    function = jax.custom_jvp(compute)

    def rule(primals: tuple[jax.Array, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        results = function(*primals)
        totals: list[Any] = [None] * len(results)
        for i, tangent in enumerate(tangents):
            if isinstance(tangent, SymbolicZero):
                continue
            for k, part in enumerate(parts(i, tangent, primals, results)):
                totals[k] = part if totals[k] is None else totals[k] + part
        return results, tuple(
            jnp.zeros_like(result) if total is None else total for result, total in zip(results, totals, strict=True)
        )

    function.defjvp(rule, symbolic_zeros=True)
    return function


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
