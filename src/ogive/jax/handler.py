"""One kernel as an instruction of a program that XLA compiles: ``jax.ffi`` and the handler of the native extension."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

import jax
import jax.ffi
import jax.numpy as jnp
import numpy as np

from ogive import _native
from ogive.operator import Operator
from ogive.signature import Signature

__all__ = ["call_kernel", "varying_alike"]

#: What programs call the handler by.
TARGET = "ogive_kernel"

jax.ffi.register_ffi_target(TARGET, _native.xla_handler(), platform="cpu")


def call_kernel(
    operator: Operator,
    signature: Signature,
    choices: tuple[tuple[str, Any], ...],
    values: tuple[float, ...],
    operands: Sequence[jax.Array],
) -> tuple[jax.Array, ...]:
    """The results of the kernel for these element types. Operands have as many dimensions as each other, and broadcast.

    ``values`` are the numeric parameters in their order.
    """
    shape = jnp.broadcast_shapes(*(operand.shape for operand in operands))
    operands = varying_alike(operands)
    results = [_result(operands[0], shape, t.numpy) for t in signature.outputs]
    number = _number(operator, signature, choices)
    attributes: dict[str, Any] = {"values": np.array(values, np.float64)} if values else {}
    call = jax.ffi.ffi_call(TARGET, results, vmap_method="expand_dims")
    return tuple(call(*operands, kernel=np.int64(number), **attributes))


def _result(operand: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """What a result is like. Within ``shard_map`` it varies over the axes that this operand varies over."""
    if not _varying(operand):
        return jax.ShapeDtypeStruct(shape, dtype)
    return jax.typeof(operand).update(shape=shape, dtype=np.dtype(dtype), weak_type=False)


def _varying(operand: Any) -> frozenset[str]:
    """The axes of a mesh over which an operand varies, within ``shard_map``."""
    kind = jax.typeof(operand)
    found = kind.manual_axis_type if hasattr(kind, "manual_axis_type") else kind.vma  # older
    return frozenset(getattr(found, "varying", found))


def varying_alike(operands: Sequence[Any]) -> list[Any]:
    """The operands, which vary over the same axes of a mesh: within ``shard_map`` JAX wants that of every call."""
    axes = [_varying(operand) for operand in operands]
    varying = frozenset().union(*axes)
    missing = [tuple(sorted(varying - own)) for own in axes]
    return [
        jax.lax.pcast(operand, names, to="varying") if names else operand
        for operand, names in zip(operands, missing, strict=True)
    ]


@lru_cache(maxsize=4096)
def _number(operator: Operator, signature: Signature, choices: tuple[tuple[str, Any], ...]) -> int:
    """What programs call the kernel. It follows from what the kernel computes: another process has the same."""
    identity = operator.computation(signature, **dict(choices)).identity
    number = int.from_bytes(sha256(identity.encode()).digest()[:8], "little", signed=True)
    _native.add_xla_kernel(number, operator.kernel(signature, **dict(choices)))
    return number
