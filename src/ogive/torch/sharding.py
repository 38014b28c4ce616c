"""How DTensor cuts the operands of calls: it is told for every entry, and only where somebody has loaded it."""

from __future__ import annotations

import sys
from typing import Any

import torch

from ogive.torch.tensor_operator import TensorOperator

__all__ = ["tell_dtensor"]

_told: set[TensorOperator] = set()


def tell_dtensor(entries: dict[TensorOperator, Any]) -> None:
    """Register how the operands of these entries may be cut, if ``torch.distributed.tensor`` has been loaded."""
    if len(_told) == len(entries) or "torch.distributed.tensor" not in sys.modules:
        return
    from torch.distributed.tensor.experimental import register_sharding

    for operator, found in list(entries.items()):
        if operator not in _told:
            _told.add(operator)
            register_sharding(found)(_placements_of(operator))


def _placements_of(operator: TensorOperator) -> Any:
    """What gives the placements of results and operands that a call may have, by the operands' shapes.

    Elements do not depend on each other, so all tensors may be cut along the same axis, but for that of rows. Where an
    operand was broadcast, its gradient is a sum, of which each part has a part.
    """
    from torch.distributed.tensor import Partial, Replicate, Shard

    count = len(operator.tensors)

    def placements(*given: Any) -> list[tuple[list[Any], list[Any]]]:
        numbers = [None] * (len(given) - count)
        shapes = [tuple(spec.shape) for spec in given[:count]]
        whole = torch.broadcast_shapes(*shapes)
        found = [([Replicate()] * operator.result_count, [Replicate()] * count + numbers)]
        for axis in range(len(whole) - operator.is_row_wise):
            own = [axis - len(whole) + len(shape) for shape in shapes]
            operands = [
                Shard(at) if at >= 0 and shape[at] == whole[axis] else Replicate()
                for at, shape in zip(own, shapes, strict=True)
            ]
            results: list[Any] = [Shard(axis)] * operator.result_count
            if operator.of_operands is not None:
                results = [operands[i] if operands[i].is_shard() else Partial() for i in operator.of_operands]
            found.append((results, operands + numbers))
        return found

    return placements
