"""Operators as functions on JAX's arrays.

Operators over rows with their derivatives, which lie along the last axis here.

``vjp`` of the operator is J transposed, times the gradient of the result. It is linear in that gradient, so its own vjp
with respect to it is J, times a tangent: that is the derivative in forward mode. Each is the transposition of the
other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ogive.common.dtypes import element_type_of
from ogive.common.keys import remembered
from ogive.errors import DTypeError, ShapeError, UnsupportedError, described, message
from ogive.gradients import vjp
from ogive.jax.elements import Choices, Function, differentiable, elementwise, linear_call
from ogive.jax.handler import call_kernel, varying_alike
from ogive.jax.operands import broadcast_shape, check_names, is_array, opened, typed
from ogive.operators import running_functions
from ogive.operators.operator import Operator, check_is_operator, named_like
from ogive.operators.row_operator import RowOperator, RowReduction
from ogive.operators.signature import Signature


@remembered(maxsize=4096)
def rowwise(operator: Operator, signature: Signature, choices: Choices, values: tuple[float, ...]) -> Function:
    """The results of tensors of one shape."""

    def plain(*operands: jax.Array) -> tuple[jax.Array, ...]:
        shape = jnp.broadcast_shapes(*(operand.shape for operand in operands))
        same = [jnp.broadcast_to(operand, shape) for operand in operands]
        return call_kernel(operator, signature, choices, values, same)

    def parts(i: int, tangent: Any, primals: tuple[jax.Array, ...], results: tuple[jax.Array, ...]) -> list[jax.Array]:
        both = [_both(operator, signature, choices, values, operator.tensors[i], k) for k in range(len(results))]
        given = varying_alike((tangent, *primals))
        return [linear_call(*given, forward=forward, backward=backward) for forward, backward in both]

    return differentiable(plain, parts)


@remembered(maxsize=4096)
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


@lru_cache(maxsize=1024)
def function(operator: Operator) -> Callable[..., Any]:
    """An operator as a function on JAX's arrays, which can be compiled, differentiated and mapped.

    Its tensors are positional, its parameters keywords, as those of the operator. A parameter that is a number is part
    of the compiled program; one that is an array of JAX, or traced, is an operand: it broadcasts, may have any value,
    and has a gradient. Operators over rows take ``axis``; softmax and its kin also ``where``, a mask of the elements
    that take part.

    Element types are those of the operator. Other types become the one that JAX gives to all operands together; and if
    the operator does not have it, the floating-point type that JAX makes of that.

    Results have the bits of the operator on NumPy's arrays. Derivatives are computed by the kernels of `ogive.grad` and
    `ogive.vjp`; results that are truth values or integers have none, and their tangents are zero.

    Raises ArgumentError for what is no operator; calls raise ArgumentError, DTypeError, ShapeError or ParameterError.

    >>> import jax, ogive, ogive.jax
    >>> @ogive.operator
    ... def gated(x, gate, *, slope=1.0):
    ...     return x * ogive.sigmoid(slope * gate)
    >>> gated_jax = ogive.jax.function(gated)
    >>> print(jax.jit(jax.grad(lambda gate: gated_jax(2.0, gate)))(0.0))
    0.5
    """
    check_is_operator("ogive.jax.function", operator)

    def call(*tensors: Any, **keywords: Any) -> Any:
        masks = operator.masks if isinstance(operator, RowOperator) else None
        where = None if masks is None or len(tensors) != operator.inputs else keywords.pop("where", None)
        if masks is not None and where is not None:
            mask = jnp.asarray(where, bool)
            nothing: Any = masks[0][0]
            found = call(jnp.where(mask, jnp.asarray(tensors[0]), nothing), **keywords)
            return found if masks[1] is None else jnp.where(mask, found, jnp.asarray(masks[1], found.dtype))
        check_names(operator, tensors, keywords)
        return _call(operator, tensors, keywords)

    return named_like(operator, call, "ogive.jax", "JAX's arrays")


def _call(operator: Operator, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    axis = keywords.pop("axis", -1) if isinstance(operator, RowOperator) else -1
    keepdims = bool(keywords.pop("keepdims", False)) if isinstance(operator, RowReduction) else False
    arrays = {p.name: keywords[p.name] for p in operator.numeric_parameters if is_array(keywords.get(p.name))}
    numbers = {name: value for name, value in keywords.items() if name not in arrays}
    placeholders = dict.fromkeys(arrays, 1.0)
    checked = operator.checked_parameters(numbers | placeholders)
    names = tuple(arrays)
    choices = tuple((p.name, checked[p.name]) for p in operator.parameters if p.choices)
    values = tuple(checked[p.name] for p in operator.numeric_parameters if p.name not in arrays)
    signature, operands = typed(operator, tensors)
    computed = opened(operator, names)
    if names:
        if not all(t.is_float for t in (*signature.inputs, *signature.outputs)):  # arrays are floating-point numbers
            signature, operands = typed(operator, [jnp.asarray(o, jnp.result_type(o, float)) for o in operands])
        own, count = signature.inputs, operator.inputs
        signature = next(s for s in computed.signatures if s.inputs[:count] == own)
        given = zip(arrays.values(), signature.inputs[count:], strict=True)
        operands += [jnp.asarray(value).astype(t.numpy) for value, t in given]
    shape = broadcast_shape(operator, operands)
    if isinstance(operator, RowOperator):
        axes = operator.row_axes(axis, len(shape))
        if operator.reduces and not math.prod(shape[axis] for axis in axes):
            return _of_empty_rows(operator, names, signature, shape, {**checked, "axis": axes, "keepdims": keepdims})
        each = computed.for_elements if isinstance(computed, RowReduction) else computed
        results = _over_axes(each, axes, shape, signature, choices, values, operands)
        if each is not computed:  # derivatives are simpler where operands and results have one shape
            first = tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(len(shape)))
            results = tuple(result[first] if keepdims else jnp.squeeze(result[first], axes) for result in results)
    else:
        same = [operand.reshape((1,) * (len(shape) - operand.ndim) + operand.shape) for operand in operands]
        results = _compiled(elementwise(operator, names, signature, choices, values))(*same)
    return results[0] if len(results) == 1 else results


def _of_empty_rows(
    operator: Operator, arrays: tuple[str, ...], signature: Any, shape: tuple[int, ...], keywords: dict[str, Any]
) -> jax.Array:
    """The results of rows without elements: it depends on no tensor, and has no gradient."""
    if arrays:
        what = f"rows have no elements, and {arrays[0]} is an array"
        raise ShapeError(message(f"ogive.jax.{operator.name}", what, "a number there, or rows with elements"))
    return jnp.asarray(operator(*(np.zeros(shape, t.numpy) for t in signature.inputs), **keywords))


def _over_axes(
    operator: Operator,
    axes: tuple[int, ...],
    shape: tuple[int, ...],
    signature: Any,
    choices: Any,
    values: Any,
    operands: list[jax.Array],
) -> tuple[jax.Array, ...]:
    """Rows along some axes: moved to the end and made one, in the order of memory, and back."""
    ordered, last = sorted(axes), tuple(range(-len(axes), 0))
    moved = [jnp.moveaxis(jnp.broadcast_to(operand, shape), ordered, last) for operand in operands]
    there = moved[0].shape
    flat = [one.reshape(*there[: -len(axes)], math.prod(there[-len(axes) :])) for one in moved]
    results = _compiled(rowwise(operator, signature, choices, values))(*flat)
    return tuple(jnp.moveaxis(result.reshape(there), last, ordered) for result in results)


@lru_cache(maxsize=4096)
def _compiled(made: Callable[..., Any]) -> Callable[..., Any]:
    compiled: Callable[..., Any] = jax.jit(made, inline=True)
    return compiled


_FUNCTION = running_functions.logcumsumexp


def _called(function: Any, *arrays: jax.Array) -> jax.Array:
    """A function of rows along the last axis."""
    like = jax.ShapeDtypeStruct(arrays[-1].shape, arrays[-1].dtype)
    found: jax.Array = jax.pure_callback(
        lambda *given: function(*map(np.asarray, given), np.ndim(given[-1]) - 1),
        like,
        *arrays,
        vmap_method="broadcast_all",
    )
    return found


@jax.custom_vjp
def _rows(x: jax.Array) -> jax.Array:
    return _called(_FUNCTION.computed, x)


def _forward(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return _rows(x), x


@jax.custom_jvp
def _gradient(gradient: jax.Array, x: jax.Array) -> jax.Array:
    return _called(_FUNCTION.gradient, gradient, x)


@_gradient.defjvp
def _refused(primals: Any, tangents: Any) -> Any:
    what = "a derivative of its gradient is asked for"
    raise UnsupportedError(message("ogive.jax.logcumsumexp", what, "the first derivative", "Use jax.lax.cumlogsumexp"))


def _backward(x: jax.Array, gradient: jax.Array) -> tuple[jax.Array]:
    return (_gradient(gradient, x),)


_rows.defvjp(_forward, _backward)


def logcumsumexp(x: Any, axis: int = -1) -> jax.Array:
    """``jax.lax.cumlogsumexp``: the running logarithm of the sum of exponentials along an axis, each rounded once.

    It has a gradient (``jax.grad``, ``jax.vjp``), rounded once too, which has none itself; there is no forward mode. Under jit it is a call
    into Python. Arrays are of float16, bfloat16, float32 or float64; integers become JAX's floating-point type. Special cases are those
    of `ogive.logcumsumexp`.

    Raises DTypeError for other types, ParameterError for an axis that x does not have, UnsupportedError for a second derivative.

    >>> import jax, jax.numpy as jnp, ogive.jax
    >>> print(jax.grad(lambda x: ogive.jax.logcumsumexp(x)[1])(jnp.float32([1, 2])))
    [0.26894143 0.7310586 ]

    Source: JAX lax.cumlogsumexp; PyTorch logcumsumexp.
    """
    array = jnp.asarray(x)
    if array.dtype.kind in "iub":
        array = array.astype(jnp.result_type(float))
    kind = element_type_of(np.dtype(array.dtype))
    if kind is None or kind.name not in running_functions.TYPES:
        raise DTypeError(message("ogive.jax.logcumsumexp", f"x is {described(x)}", ", ".join(running_functions.TYPES)))
    place = _FUNCTION.checked_axis(axis, array.ndim)
    turned = jnp.moveaxis(array, place, -1) if array.ndim else array.reshape(1)
    found = _rows(turned)
    return jnp.moveaxis(found, -1, place) if array.ndim else found.reshape(())
