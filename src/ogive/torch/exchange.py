"""Tensors as NumPy arrays and back, without a copy, and the types that both have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ogive.containers import take_unusual_torch
from ogive.dtypes import ELEMENT_TYPES, ElementType, element_type

__all__ = ["array_of", "new_like", "new_result", "tensor_of", "torch_dtype"]

#: torch's dtype -> the element type of the same name.
ELEMENT_TYPE_OF = {getattr(torch, name): row for name, row in ELEMENT_TYPES.items() if hasattr(torch, name)}
BFLOAT16 = element_type("bfloat16").numpy
DTYPE_OF = {element_type: dtype for dtype, element_type in ELEMENT_TYPE_OF.items()}


def torch_dtype(element_type: ElementType) -> torch.dtype:
    return DTYPE_OF[element_type]


def array_of(operator: Any, argument: str, tensor: torch.Tensor) -> np.ndarray:
    """The elements of a tensor as an array that shares its memory; an error that names the argument if it cannot."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    try:
        if tensor.dtype is torch.bfloat16 and not tensor.is_neg():  # torch's own conversion would raise, which is slow
            return tensor.view(torch.int16).numpy().view(BFLOAT16)
        return tensor.numpy()
    except Exception:  # what is wrong with it is looked for only now: ordinary tensors do not wait
        return take_unusual_torch(operator, argument, tensor)


def tensor_of(array: Any) -> torch.Tensor:
    """A tensor that shares an array's memory. A NumPy scalar becomes one of no dimensions."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if array.dtype.num > 255:  # not one of NumPy's own types: bfloat16
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def new_like(operand: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Memory for a result that has the shape of one operand, and lies as it does if that has no gaps."""
    return torch.empty_like(operand, dtype=dtype, requires_grad=False)


def new_result(tensors: Sequence[torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    """Memory for a result of operands that broadcast: it lies as the first that has the result's shape.

    Real and fake tensors get the same strides here, which torch.compile relies on.
    """
    if len(tensors) == 1:
        return new_like(tensors[0], dtype)
    shape = torch.broadcast_shapes(*(tensor.shape for tensor in tensors))
    for tensor in tensors:
        if tensor.shape == shape:
            return new_like(tensor, dtype)
    return torch.empty(shape, dtype=dtype, device=tensors[0].device)
