"""Operators over rows with their derivatives, which lie along the last axis here.

``vjp`` of the operator is J transposed, times the gradient of the result. It is linear in that gradient, so its own vjp
with respect to it is J, times a tangent: that is the derivative in forward mode. Each is the transposition of the
other, and the primitive here says so to JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ogive.gradients import vjp
from ogive.jax.elements import Choices, Function, differentiable
from ogive.jax.handler import NEEDS_DEVICES, call_kernel, varying_alike
from ogive.operator import Operator
from ogive.signature import Signature

__all__ = ["rowwise"]


@lru_cache(maxsize=4096)
def rowwise(operator: Operator, signature: Signature, choices: Choices, values: tuple[float, ...]) -> Function:
    """The results of tensors of one shape."""

    def plain(*operands: jax.Array) -> tuple[jax.Array, ...]:
        shape = jnp.broadcast_shapes(*(operand.shape for operand in operands))
        same = [jnp.broadcast_to(operand, shape) for operand in operands]
        return call_kernel(operator, signature, choices, values, same)

    def parts(i: int, tangent: Any, primals: tuple[jax.Array, ...], results: tuple[jax.Array, ...]) -> list[jax.Array]:
        both = [_both(operator, signature, choices, values, operator.tensors[i], k) for k in range(len(results))]
        given = varying_alike((tangent, *primals))
        return [_bound(*given, forward=forward, backward=backward) for forward, backward in both]

    return differentiable(plain, parts)


@lru_cache(maxsize=4096)
def _both(
    operator: Operator, signature: Signature, choices: Choices, values: tuple[float, ...], name: str, result: int
) -> tuple[Callable[..., jax.Array], Callable[..., jax.Array]]:
    """(tangent of one tensor, tensors) -> that of one result, and (gradient of the result, tensors) -> of the tensor."""
    backwards = vjp(operator, [name])
    count = len(signature.outputs)
    forwards = vjp(backwards, [backwards.tensors[result]])

    def function_of(made: Operator) -> Function:
        own = next(s for s in made.signatures if s.inputs[-len(signature.inputs) :] == signature.inputs)
        return rowwise(made, own, choices, values)

    def forward(tangent: jax.Array, *tensors: jax.Array) -> jax.Array:
        zeros = [jnp.zeros_like(tangent)] * count
        return function_of(forwards)(tangent, *zeros, *tensors)[0]

    def backward(gradient: jax.Array, *tensors: jax.Array) -> jax.Array:
        upstream = [gradient if k == result else jnp.zeros_like(gradient) for k in range(count)]
        return function_of(backwards)(*upstream, *tensors)[0]

    return forward, backward


# ---- the primitive: linear in its first operand

linear = Primitive("ogive_linear")


def _bound(*operands: Any, forward: Any, backward: Any) -> Any:
    return linear.bind(*operands, forward=forward, backward=backward, cut=NEEDS_DEVICES)


@linear.def_impl
def _(*operands: Any, forward: Any, backward: Any, cut: Any) -> Any:
    return forward(*operands)


@linear.def_abstract_eval
def _(tangent: Any, *operands: Any, forward: Any, backward: Any, cut: Any) -> Any:
    return tangent


def _transposed(gradient: Any, tangent: Any, *operands: Any, forward: Any, backward: Any, cut: Any) -> list[Any]:
    nothing = [None] * len(operands)
    if type(gradient) is ad.Zero:
        return [ad.Zero(tangent.aval), *nothing]
    return [_bound(gradient, *operands, forward=backward, backward=forward), *nothing]


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, forward: Any, backward: Any, cut: Any) -> tuple[Any, Any]:
    (first, *operands), (of_first, *of_operands) = primals, tangents
    result = _bound(first, *operands, forward=forward, backward=backward)
    parts = []
    if type(of_first) is not ad.Zero:
        parts.append(_bound(of_first, *operands, forward=forward, backward=backward))
    if any(type(one) is not ad.Zero for one in of_operands):
        changes = [ad.instantiate_zeros(one) for one in of_operands]
        parts.append(jax.jvp(lambda *moved: forward(first, *moved), tuple(operands), tuple(changes))[1])
    return result, sum(parts[1:], parts[0])


def _batched(operands: Sequence[Any], axes: Sequence[Any], *, forward: Any, backward: Any, cut: Any) -> tuple[Any, int]:
    size = next(operand.shape[axis] for operand, axis in zip(operands, axes, strict=True) if axis is not None)
    moved = [
        jnp.broadcast_to(operand, (size, *operand.shape)) if axis is None else jnp.moveaxis(operand, axis, 0)
        for operand, axis in zip(operands, axes, strict=True)
    ]
    return _bound(*moved, forward=forward, backward=backward), 0


ad.primitive_transposes[linear] = _transposed
ad.primitive_jvps[linear] = _jvp
batching.primitive_batchers[linear] = _batched
mlir.register_lowering(
    linear, mlir.lower_fun(lambda *operands, forward, backward, cut: forward(*operands), multiple_results=False)
)
