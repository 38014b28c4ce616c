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

__all__ = ["call_kernel"]

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
    results = [jax.ShapeDtypeStruct(shape, t.numpy) for t in signature.outputs]
    number = _number(operator, signature, choices)
    attributes: dict[str, Any] = {"values": np.array(values, np.float64)} if values else {}
    call = jax.ffi.ffi_call(TARGET, results, vmap_method="expand_dims")
    return tuple(call(*operands, kernel=np.int64(number), **attributes))


@lru_cache(maxsize=4096)
def _number(operator: Operator, signature: Signature, choices: tuple[tuple[str, Any], ...]) -> int:
    """What programs call the kernel. It follows from what the kernel computes: another process has the same."""
    identity = operator.computation(signature, **dict(choices)).identity
    number = int.from_bytes(sha256(identity.encode()).digest()[:8], "little", signed=True)
    _native.add_xla_kernel(number, operator.kernel(signature, **dict(choices)))
    return number
