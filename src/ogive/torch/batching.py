"""A call on batches, for vmap: one call on tensors with one more axis, the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ogive.torch.tensor_operator import TensorOperator

__all__ = ["batched"]

Call = Callable[[TensorOperator, Sequence[torch.Tensor], tuple[Any, ...]], Sequence[torch.Tensor]]


def batched(
    operator: TensorOperator,
    size: int,
    in_dims: Sequence[int | None],
    tensors: Sequence[torch.Tensor],
    values: tuple[Any, ...],
    call: Call,
) -> Sequence[torch.Tensor]:
    """The results, with the batch as their first axis.

    Axes of length 1 behind the batch make all tensors alike in their number of axes, so that they broadcast as one
    element of the batch does. For a gradient, which has the shape of an operand, every operand gets the batch: it is not
    summed over it.
    """
    moved = [t if dim is None else t.movedim(dim, 0) for t, dim in zip(tensors, in_dims, strict=True)]
    shapes = [t.shape if dim is None else t.shape[1:] for t, dim in zip(moved, in_dims, strict=True)]
    if operator.is_row_wise and not shapes[0]:
        return call(operator, [t[..., 0] for t in moved], values)  # refused there: a single number is no row
    axes = max(map(len, shapes))
    given = []
    for tensor, dim, shape in zip(moved, in_dims, shapes, strict=True):
        if dim is None and operator.of_operands is None and not operator.is_row_wise:
            given.append(tensor)
            continue
        whole = tensor.expand(size, *shape) if dim is None else tensor
        given.append(whole.reshape(size, *(1,) * (axes - len(shape)), *shape))
    results = call(operator, given, values)
    if operator.of_operands is None:
        return results
    return [result.reshape(size, *shapes[i]) for i, result in zip(operator.of_operands, results, strict=True)]
