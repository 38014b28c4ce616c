"""Calls on ordinary tensors: at once where nothing watches, else through functions that autograd knows.

torch's registry costs some microseconds a call, so eager calls leave it out. What torch can watch calls with is asked for
first; a tensor of a subclass, or one that a mode or a transformation of torch.func has wrapped, goes the general way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.compiler import is_compiling, is_dynamo_compiling

from ogive.torch.batching import batched, tangents_of
from ogive.torch.exchange import ORDINARY, dispatch_modes, is_batch, is_profiled, is_traced, is_transformed
from ogive.torch.registry import by_registry
from ogive.torch.tensor_operator import TensorOperator, node

__all__ = ["call", "recorded"]

_records = torch.is_grad_enabled

Results = Sequence[torch.Tensor]
Call = tuple[TensorOperator, tuple[Any, ...]]
"""An operator, and the values of its parameters."""


def call(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Results:
    """The results of an operator, recorded by whatever watches."""
    if is_compiling():
        return _by_registry(operator, tensors, values)
    if is_transformed() is not None:
        return _results(node(_Transformed, operator).apply(operator, values, *tensors))
    if forward_ad._current_level >= 0 or _is_watched(tensors):
        return _by_registry(operator, tensors, values)
    if _records() and any(tensor.requires_grad for tensor in tensors) and operator.differentiable:
        return _results(node(_Recorded, operator).apply((operator, values), None, *tensors))
    return at_once(operator, tensors, values)


def recorded(made_by: Call, result: Any, tensors: Sequence[torch.Tensor]) -> Any:
    """The result of ordinary tensors, which autograd is to record."""
    if is_transformed() is not None:
        return _one_or_all(call(made_by[0], tensors, made_by[1]))
    # Function.apply itself first asks torch.func, which costs 2 us.
    return super(torch.autograd.Function, node(_Recorded, made_by[0])).apply(made_by, (result,), *tensors)


def at_once(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Results:
    """The results of ordinary tensors, which nothing records."""
    operator.result_types(tuple(tensor.dtype for tensor in tensors))  # refuses others
    for tensor in tensors:
        if tensor.is_meta:
            return operator.new_results(tensors)
    return operator.compute(tensors, values)


def _is_watched(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether a mode, a subclass of tensors or the profiler wants to see the call, or the tensors are batches of others.

    Those of ``jacobian(vectorize=True)`` and ``is_grads_batched=True`` are of a kind that torch.func does not know.
    """
    if dispatch_modes() or is_traced() or is_profiled():
        return True
    return any(type(tensor) not in ORDINARY or is_batch(tensor) for tensor in tensors)


def _by_registry(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Results:
    return _results(by_registry(operator, tensors, values))


def _results(found: Any) -> Results:
    return (found,) if isinstance(found, torch.Tensor) else found


def _one_or_all(found: Results) -> Any:
    return found[0] if len(found) == 1 else tuple(found)


def _gradients(made_by: Call, ctx: Any, gradients: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
    operator, values = made_by
    wanted = operator.wanted(ctx.needs_input_grad[2:])
    gradient, operands = operator.gradient(wanted), (*gradients, *ctx.saved_tensors)
    found: Any = NotImplemented
    if not is_dynamo_compiling():
        found = gradient.short(*operands, **gradient.keywords(values))
    if found is NotImplemented:
        found = _one_or_all(call(gradient, operands, values))
    if len(operator.tensors) == 1:
        return None, None, found
    each = iter(_results(found))
    return None, None, *(next(each) if i in wanted else None for i in range(len(operator.tensors)))


class _Recorded(torch.autograd.Function):
    """A call that autograd records: of tensors whose results are there, in a tuple, or None."""

    @staticmethod
    def forward(ctx: Any, made_by: Call, computed: tuple[Any] | None, *tensors: torch.Tensor) -> Any:
        ctx.made_by = made_by
        ctx.to_save = tensors  # as save_for_backward does, a call less
        if computed is not None:
            return computed[0]
        operator, values = made_by
        return _one_or_all(at_once(operator, tensors, values))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return _gradients(ctx.made_by, ctx, gradients)


class _Transformed(torch.autograd.Function):
    """A call under a transformation of torch.func."""

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
        return _gradients((ctx.operator, ctx.values), ctx, gradients)

    @staticmethod
    def jvp(ctx: Any, _operator: None, _values: None, *tangents: torch.Tensor | None) -> Any:
        return tangents_of(ctx.operator, ctx.saved_tensors, tangents, ctx.values, call)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], operator: TensorOperator, values: Any, *tensors: torch.Tensor) -> Any:
        found = batched(operator, info.batch_size, in_dims[2:], tensors, values, call)
        return _one_or_all(found), _one_or_all((0,) * len(found))
