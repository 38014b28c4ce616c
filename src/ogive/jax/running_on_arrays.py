"""Running functions on JAX's arrays: callbacks into Python, under jit, grad and vmap."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ogive.common.dtypes import element_type_of
from ogive.errors import DTypeError, UnsupportedError, described, message
from ogive.operators import running_functions

__all__ = ["logcumsumexp"]

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
