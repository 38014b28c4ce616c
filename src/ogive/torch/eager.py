"""Calls on ordinary tensors: at once where nothing watches, else through functions that autograd knows.

torch's registry costs some microseconds a call, so eager calls leave it out. What torch can watch calls with is asked for
first; a tensor of a subclass, or one that a mode or a transformation of torch.func has wrapped, goes the general way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.compiler import is_compiling

from ogive.torch.batching import batched
from ogive.torch.registry import entry
from ogive.torch.tensor_operator import TensorOperator

__all__ = ["call", "is_unwatched"]

_torch: Any = torch._C
_is_transformed = _torch._functorch.peek_interpreter_stack
_dispatch_modes = _torch._len_torch_dispatch_stack
_trace = _torch._get_tracing_state
_records = torch.is_grad_enabled
ORDINARY = frozenset((torch.Tensor, torch.nn.Parameter))

Results = Sequence[torch.Tensor]


def call(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Results:
    """The results of an operator, recorded by whatever watches."""
    if is_compiling():
        return _by_registry(operator, tensors, values)
    if _is_transformed() is not None or forward_ad._current_level >= 0:
        return _results(_Transformed.apply(operator, values, *tensors))
    if _is_watched(tensors):
        return _by_registry(operator, tensors, values)
    if _records() and any(tensor.requires_grad for tensor in tensors) and operator.differentiable:
        return _results(_Recorded.apply(operator, values, *tensors))
    return at_once(operator, tensors, values)


def at_once(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Results:
    """The results of ordinary tensors, which nothing records."""
    operator.result_types(tuple(tensor.dtype for tensor in tensors))  # refuses others
    for tensor in tensors:
        if tensor.is_meta:
            return operator.new_results(tensors)
    return operator.compute(tensors, values)


def is_unwatched(tensor: Any, dtypes: frozenset[torch.dtype]) -> bool:
    """Whether a tensor of these types needs no gradient, and nothing sees what is done to it: the short way of calls."""
    return (
        not is_compiling()
        and type(tensor) is torch.Tensor
        and tensor.dtype in dtypes
        and not tensor.requires_grad
        and _is_transformed() is None
        and forward_ad._current_level < 0
        and not _dispatch_modes()
        and _trace() is None
    )


def _is_watched(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether a mode or a subclass of tensors wants to see the call."""
    return bool(_dispatch_modes()) or _trace() is not None or not all(type(tensor) in ORDINARY for tensor in tensors)


def _by_registry(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Results:
    return _results(entry(operator)(*tensors, *values))


def _results(found: Any) -> Results:
    return (found,) if isinstance(found, torch.Tensor) else found


def _one_or_all(found: Results) -> Any:
    return found[0] if len(found) == 1 else tuple(found)


def _gradients(operator: TensorOperator, ctx: Any, gradients: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
    needed = ctx.needs_input_grad[2:]
    wanted = tuple(i for i in operator.differentiable if needed[i])
    found = iter(call(operator.gradient(wanted), (*gradients, *ctx.saved_tensors), ctx.values))
    return None, None, *(next(found) if i in wanted else None for i in range(len(needed)))


class _Recorded(torch.autograd.Function):
    """A call that autograd records."""

    @staticmethod
    def forward(ctx: Any, operator: TensorOperator, values: tuple[Any, ...], *tensors: torch.Tensor) -> Any:
        ctx.operator, ctx.values = operator, values
        ctx.save_for_backward(*tensors)
        return _one_or_all(at_once(operator, tensors, values))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return _gradients(ctx.operator, ctx, gradients)


class _Transformed(torch.autograd.Function):
    """A call under a transformation of torch.func, or in forward mode."""

    @staticmethod
    def forward(operator: TensorOperator, values: tuple[Any, ...], *tensors: torch.Tensor) -> Any:
        compute = _by_registry if _is_watched(tensors) else at_once
        return _one_or_all(compute(operator, [tensor.detach() for tensor in tensors], values))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.operator, ctx.values, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        if not ctx.operator.differentiable:
            ctx.mark_non_differentiable(*_results(output))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return _gradients(ctx.operator, ctx, gradients)

    @staticmethod
    def jvp(ctx: Any, _operator: None, _values: None, *tangents: torch.Tensor | None) -> Any:
        operator: TensorOperator = ctx.operator
        tensors = ctx.saved_tensors
        given = [
            tangents[i] if tangents[i] is not None else torch.zeros_like(tensors[i]) for i in operator.differentiable
        ]
        # What stands for the gradients decides nothing but shapes and types.
        results = operator.new_results(tensors)
        return _one_or_all(call(operator.tangent(), (*given, *map(torch.zeros_like, results), *tensors), ctx.values))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], operator: TensorOperator, values: Any, *tensors: torch.Tensor) -> Any:
        found = batched(operator, info.batch_size, in_dims[2:], tensors, values, call)
        return _one_or_all(found), _one_or_all((0,) * len(found))
