"""Functions whose tangents are sums: of what each operand gives to each result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

__all__ = ["Function", "differentiable"]

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
