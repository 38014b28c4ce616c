"""Tensors as NumPy arrays and back, without a copy, and the types that both have.

Tensors that are nothing special are exchanged in C (runtime/native/dlpack.c), by torch's table of C functions. torch before
2.10 has none: there, and for all other tensors, torch's own methods do it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad, profiler

from ogive._native import MAX_TENSORS, TensorExchange, own_pool_size, pool_size, set_own_pool_size
from ogive.common.dtypes import ELEMENT_TYPES, ElementType, element_type
from ogive.operators.containers import take_unusual_torch

#: torch's dtype -> the element type of the same name.
ELEMENT_TYPE_OF = {getattr(torch, name): row for name, row in ELEMENT_TYPES.items() if hasattr(torch, name)}
BFLOAT16 = element_type("bfloat16").numpy
DTYPE_OF = {element_type: dtype for dtype, element_type in ELEMENT_TYPE_OF.items()}

_torch: Any = torch._C
is_transformed = _torch._functorch.peek_interpreter_stack
"""The transformation of torch.func that is at work, or None."""
dispatch_modes = _torch._len_torch_dispatch_stack
"""How many modes see what is done to tensors."""
function_modes = _torch._is_torch_function_mode_enabled
"""Whether a mode sees calls of torch's functions."""
is_traced = _torch._is_tracing
is_batch = _torch._functorch.is_legacy_batchedtensor
"""Whether a tensor is a batch of the older kind of vmap."""


def is_profiled() -> bool:
    """Whether torch's profiler is at work."""
    return bool(getattr(profiler, "_is_profiler_enabled", False))


ORDINARY = (torch.Tensor, torch.nn.Parameter)
#: DLPack's codes of the kinds of element types.
CODES = {"signed": 0, "unsigned": 1, "float": 2, "boolean": 6}
CODE_OF_BFLOAT16 = 4


def _exchange() -> TensorExchange | None:
    capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if capsule is None:
        return None
    rows = ELEMENT_TYPE_OF.values()
    return TensorExchange(
        capsule,
        types=ORDINARY,
        dtypes=tuple(
            (CODE_OF_BFLOAT16 if row.name == "bfloat16" else CODES[row.kind], 8 * row.itemsize, row.numpy)
            for row in rows
        ),
        is_negated=torch.Tensor.is_neg,
        records=torch.is_grad_enabled,
        # A tensor that torch.func and torch.compile wrap is no ordinary tensor.
        conditions=((forward_ad.__dict__, "_current_level", -1), (profiler.__dict__, "_is_profiler_enabled", False)),
        watchers=(dispatch_modes, function_modes, is_traced),
        threads=torch.get_num_threads,
        written=_torch._increment_version,
        is_uncounted=torch.Tensor.is_inference,
        is_writable=torch.is_inference_mode_enabled,
    )


EXCHANGE = _exchange()


def limit_threads() -> int:
    """Limit calls of this thread to torch's threads; the number to restore by ``set_own_pool_size``."""
    before = own_pool_size()
    most = torch.get_num_threads()
    if most < pool_size():
        set_own_pool_size(most)
    return before


def call_arguments(
    operator: Any,
    dtypes: Sequence[torch.dtype],
    record: Callable[..., Any] | None = None,
) -> dict[str, Any]:
    """The parts of a TensorCall of an operator: it takes tensors, and parameters by name.

    Usual calls stay in C: of tensors of one of these types, whose memory can be read as it is, that nothing watches. Results
    that autograd records go to ``apply`` of what ``record`` makes of the parameters; None is for the general way.
    """
    reduces = "keepdims" in operator.keywords  # or is the gradient of what does: there shapes differ
    is_usual = operator.inputs <= MAX_TENSORS and not hasattr(operator, "rewritten") and not reduces
    return {
        "exchange": EXCHANGE if is_usual else None,
        "operator": operator,
        "inputs": operator.inputs if is_usual else 1,
        "dtypes": tuple(ELEMENT_TYPE_OF[dtype].numpy for dtype in dtypes),
        "names": frozenset(parameter.name for parameter in operator.parameters),
        "row_wise": bool(operator.is_row_wise),
        "record": record,
    }


def torch_dtype(element_type: ElementType) -> torch.dtype:
    return DTYPE_OF[element_type]


def array_of(operator: Any, argument: str, tensor: torch.Tensor) -> np.ndarray:
    """The elements of a tensor as an array that shares its memory; an error that names the argument if it cannot."""
    if EXCHANGE is not None:
        array = EXCHANGE.array(tensor)
        if array is not None:
            return array
    if tensor.requires_grad:
        tensor = tensor.detach()
    try:
        if tensor.dtype is torch.bfloat16 and not tensor.is_neg():  # torch's own conversion would raise, which is slow
            return tensor.view(torch.int16).numpy().view(BFLOAT16)
        return tensor.numpy()
    except Exception:  # what is wrong with it is looked for only now: ordinary tensors do not wait
        return take_unusual_torch(operator, argument, tensor, "dense tensors on the CPU")


def tensor_of(array: Any) -> torch.Tensor:
    """A tensor that shares an array's memory. A NumPy scalar becomes one of no dimensions."""
    if EXCHANGE is not None:
        return EXCHANGE.tensor(array)
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
