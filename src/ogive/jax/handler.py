"""One kernel as an instruction of a program that XLA compiles: ``jax.ffi`` and the handler of the native extension.

Where arrays are cut over several devices, each device computes its part: elements do not depend on each other, nor do rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

import jax
import jax.ffi
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

from ogive import _native
from ogive.common.keys import remembered
from ogive.operators.operator import Operator
from ogive.operators.signature import Signature

#: The name by which programs call the handler.
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
    number = _number(operator, signature, choices)
    types = tuple(t.numpy for t in signature.outputs)
    whole = 1 if operator.is_row_wise else 0
    return tuple(_batchable(number, values, types, whole)(*varying_alike(operands)))


Types = tuple[np.dtype[Any], ...]


def _foreign(number: int, values: tuple[float, ...], types: Types, *operands: jax.Array) -> list[jax.Array]:
    shape = jnp.broadcast_shapes(*(operand.shape for operand in operands))
    results = [jax.typeof(operands[0]).update(shape=shape, dtype=dtype, weak_type=False) for dtype in types]
    attributes: dict[str, Any] = {"values": np.array(values, np.float64)} if values else {}
    return list(jax.ffi.ffi_call(TARGET, results)(*operands, kernel=np.int64(number), **attributes))


@remembered(maxsize=1024)
def _partitioned(
    number: int, values: tuple[float, ...], types: Types, whole: int, ones: tuple[tuple[bool, ...], ...]
) -> Any:
    """The call, with the rule of how it is cut. ``ones`` are the axes along which an operand broadcasts."""
    count = len(ones[0])

    def names(own: Sequence[bool], operand: int) -> str:
        """An axis of length 1 beside longer ones is another one than theirs."""
        return " ".join(f"o{operand}x{axis}" if one else f"x{axis}" for axis, one in enumerate(own))

    def compute(*operands: jax.Array) -> list[jax.Array]:
        return _foreign(number, values, types, *operands)

    def partition(mesh: Any, operands: Any, results: Any) -> Any:
        axes: list[Any] = [None] * count
        for own, operand in zip(ones, operands, strict=True):
            spec = (*operand.sharding.spec, *(None,) * count)
            for axis in range(count - whole):
                axes[axis] = axes[axis] if own[axis] or axes[axis] is not None else spec[axis]
        seen: set[str] = set()
        for axis, one in enumerate(axes):  # an axis of the mesh cuts once
            parts = {one} if isinstance(one, str) else set(one or ())
            axes[axis] = None if parts & seen else one
            seen |= parts
        given = [PartitionSpec(*(None if one else a for one, a in zip(own, axes, strict=True))) for own in ones]
        made = NamedSharding(operands[0].sharding.mesh, PartitionSpec(*axes))
        return mesh, compute, [made] * len(types), tuple(NamedSharding(made.mesh, spec) for spec in given)

    called = custom_partitioning(compute)
    together = tuple(all(each) for each in zip(*ones, strict=True))
    operands = ", ".join(
        names([one and not both for one, both in zip(own, together, strict=True)], i) for i, own in enumerate(ones)
    )
    result = ", ".join([names([False] * count, 0)] * len(types))
    last = tuple(f"x{axis}" for axis in range(count - whole, count))
    called.def_partition(partition, sharding_rule=f"{operands} -> {result}", need_replication_factors=last)
    return called


@remembered(maxsize=1024)
def _batchable(number: int, values: tuple[float, ...], types: Types, whole: int) -> Callable[..., list[jax.Array]]:
    """The call of a kernel, whose last ``whole`` axes are never cut. Within a batch it has an axis more."""

    @custom_vmap
    def call(*operands: jax.Array) -> list[jax.Array]:
        if not operands[0].ndim:
            return _foreign(number, values, types, *operands)
        ones = tuple(tuple(length == 1 for length in operand.shape) for operand in operands)
        return list(_partitioned(number, values, types, whole, ones)(*operands))

    @call.def_vmap
    def _(size: int, are_batched: Sequence[bool], *operands: jax.Array) -> tuple[list[jax.Array], list[bool]]:
        both = zip(operands, are_batched, strict=True)
        moved = [operand if is_batched else jnp.expand_dims(operand, 0) for operand, is_batched in both]
        return call(*moved), [True] * len(types)

    return call


def _shared(x: Any) -> Any:
    return x


def _needs_devices() -> Any:
    """A program with a call that is cut. A primitive that has it among its parameters is told its devices when it is lowered."""
    called = custom_partitioning(_shared)
    called.def_partition(lambda *given: given, sharding_rule="->")
    return jax.make_jaxpr(called)(np.float32(0))


NEEDS_DEVICES = _needs_devices()


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
    """The name by which programs call the kernel. It follows from what the kernel computes: another process has the same."""
    identity = operator.computation(signature, **dict(choices)).identity
    number = int.from_bytes(sha256(identity.encode()).digest()[:8], "little", signed=True)
    _native.add_xla_kernel(number, operator.kernel(signature, **dict(choices)))
    return number
