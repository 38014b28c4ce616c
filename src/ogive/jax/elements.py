"""Element-wise operators with their derivatives: functions whose tangents are sums of what each operand gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ogive.common.keys import remembered
from ogive.gradients import grad, vjp
from ogive.jax.handler import NEEDS_DEVICES, call_kernel, varying_alike
from ogive.jax.operands import opened
from ogive.operators.operator import Operator
from ogive.operators.signature import Signature

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


@remembered(maxsize=4096)
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
        if not arrays and len({*signature.inputs, *signature.outputs}) == 1 == len(results):
            product = _product(operator, signature, choices, values, names[i])
            given = varying_alike((jnp.broadcast_to(tangent, results[0].shape), *primals))
            return [linear_call(*given, forward=product, backward=product)]
        slopes = _slopes(operator, arrays, signature, choices, values, names[i])(*primals)
        kinds = [result.dtype for result in results]
        return [slope.astype(kind) * tangent.astype(kind) for slope, kind in zip(slopes, kinds, strict=True)]

    return differentiable(plain, parts)


@remembered(maxsize=4096)
def _product(
    operator: Operator, signature: Signature, choices: Choices, values: tuple[float, ...], name: str
) -> Callable[..., jax.Array]:
    """The derivative by one tensor times a number of each element, rounded once."""
    made = vjp(operator, [name])
    own = next(s for s in made.signatures if s.inputs[1:] == signature.inputs)
    function = elementwise(made, (), own, choices, values)
    return lambda *operands: function(*operands)[0]


@remembered(maxsize=4096)
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


# ---- calls that are linear in their first operand

linear = Primitive("ogive_linear")


def linear_call(*operands: Any, forward: Any, backward: Any) -> Any:
    """The result of ``forward`` for the operands, of the first one's shape and type; ``backward`` is its transposition."""
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
    return [linear_call(gradient, *operands, forward=backward, backward=forward), *nothing]


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, forward: Any, backward: Any, cut: Any) -> tuple[Any, Any]:
    (first, *operands), (of_first, *of_operands) = primals, tangents
    result = linear_call(first, *operands, forward=forward, backward=backward)
    parts = []
    if type(of_first) is not ad.Zero:
        parts.append(linear_call(of_first, *operands, forward=forward, backward=backward))
    if any(type(one) is not ad.Zero for one in of_operands):
        changes = [ad.instantiate_zeros(one) for one in of_operands]
        parts.append(jax.jvp(lambda *moved: forward(first, *moved), tuple(operands), tuple(changes))[1])
    return result, sum(parts[1:], parts[0])


def _batched(operands: Sequence[Any], axes: Sequence[Any], *, forward: Any, backward: Any, cut: Any) -> tuple[Any, int]:
    size = next(operand.shape[axis] for operand, axis in zip(operands, axes, strict=True) if axis is not None)
    moved = [
        jnp.expand_dims(operand, 0) if axis is None else jnp.moveaxis(operand, axis, 0)
        for operand, axis in zip(operands, axes, strict=True)
    ]
    moved[0] = jnp.broadcast_to(
        moved[0], (size, *moved[0].shape[1:])
    )  # the result has its shape; kernels broadcast others
    return linear_call(*moved, forward=forward, backward=backward), 0


ad.primitive_transposes[linear] = _transposed
ad.primitive_jvps[linear] = _jvp
batching.primitive_batchers[linear] = _batched
mlir.register_lowering(
    linear, mlir.lower_fun(lambda *operands, forward, backward, cut: forward(*operands), multiple_results=False)
)
