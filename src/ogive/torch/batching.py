"""Calls that other calls are made of: on batches, for vmap, and for tangents, in forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ogive.torch.tensor_operator import TensorOperator

__all__ = ["batched", "tangents_of"]

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


def tangents_of(
    operator: TensorOperator,
    tensors: Sequence[torch.Tensor],
    tangents: Sequence[torch.Tensor | None],
    values: tuple[Any, ...],
    call: Call,
) -> Any:
    """The tangents of the results, one or a tuple. A tensor without a tangent has zeros."""
    given = []
    for i in operator.differentiable:
        tangent = tangents[i]
        given.append(torch.zeros_like(tensors[i]) if tangent is None else tangent)
    # What stands for the gradients decides nothing but shapes and types.
    nothing = map(torch.zeros_like, operator.new_results(tensors))
    found = call(operator.tangent(), (*given, *nothing, *tensors), values)
    return found[0] if len(found) == 1 else tuple(found)
