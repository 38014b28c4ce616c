"""Calls on ordinary tensors: at once where nothing watches, else through functions that autograd knows.

torch's registry costs some microseconds a call, so eager calls leave it out. What torch can watch calls with is asked for
first; a tensor of a subclass, or one that a mode or a transformation of torch.func has wrapped, goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.compiler import is_compiling, is_dynamo_compiling

from ogive.torch.batching import batched, tangents_of
from ogive.torch.exchange import ORDINARY, dispatch_modes, is_batch, is_profiled, is_traced, is_transformed
from ogive.torch.registry import by_registry
from ogive.torch.tensor_operator import TensorOperator, node

__all__ = ["call", "recording"]

_records = torch.is_grad_enabled

Results = Sequence[torch.Tensor]


class RecordedCall:
    """What a recorded call computed: an operator and the values of its parameters; and how gradients are computed.

    ``given`` are those parameters that the call named: without the others, which are at their defaults, calls are short.
    """

    __slots__ = ("_ways", "apply", "given", "operator", "values")

    def __init__(self, operator: TensorOperator, values: tuple[Any, ...], given: dict[str, Any] | None = None) -> None:
        self.operator, self.values = operator, values
        self.given = operator.keywords(values) if given is None else given
        # Function.apply itself first asks torch.func, which costs 2 us.
        kind: Any = super(torch.autograd.Function, node(_Recorded, operator))
        self.apply: Callable[..., Any] = kind.apply
        self._ways: dict[tuple[bool, ...], tuple[TensorOperator, tuple[int, ...]]] = {}

    def gradients(self, needed: tuple[bool, ...], operands: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
        """The gradients of the tensors, None where none is needed. The operands are those of the results, and the tensors."""
        way = self._ways.get(needed)
        if way is None:
            wanted = self.operator.wanted(needed)
            way = self._ways[needed] = self.operator.gradient(wanted), wanted
        gradient, wanted = way
        found: Any = NotImplemented
        if not is_dynamo_compiling():
            found = gradient.short(*operands, **self.given)
        if found is NotImplemented:
            found = _one_or_all(call(gradient, operands, self.values))
        if len(needed) == 1:
            return None, found
        each = iter(_results(found))
        return None, *(next(each) if i in wanted else None for i in range(len(needed)))


def call(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Results:
    """The results of an operator, recorded by whatever watches."""
    if is_compiling():
        return _by_registry(operator, tensors, values)
    if is_transformed() is not None:
        return _results(node(_Transformed, operator).apply(operator, values, *tensors))
    if forward_ad._current_level >= 0 or _is_watched(tensors):
        return _by_registry(operator, tensors, values)
    if _records() and any(tensor.requires_grad for tensor in tensors) and operator.differentiable:
        return _results(node(_Recorded, operator).apply((RecordedCall(operator, values),), *tensors))
    return at_once(operator, tensors, values)


def recording(operator: TensorOperator, values: Callable[[dict[str, Any]], tuple[Any, ...]]) -> Callable[..., Any]:
    """What gives results of ordinary tensors that autograd is to record: (result, *tensors, **parameters) to the result."""
    usual: list[RecordedCall] = []

    def record(result: Any, *tensors: torch.Tensor, **given: Any) -> Any:
        if given or not usual:
            made = RecordedCall(operator, values(given), given)
            if not given:
                usual.append(made)
        else:
            made = usual[0]
        if is_transformed() is not None:
            return _one_or_all(call(operator, tensors, made.values))
        return made.apply((made, result), *tensors)

    return record


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


class _Recorded(torch.autograd.Function):
    """A call that autograd records, of tensors whose results may be there: they stand behind what made them."""

    @staticmethod
    def forward(ctx: Any, made: tuple[Any, ...], *tensors: torch.Tensor) -> Any:
        ctx.made = made[0]
        ctx.to_save = tensors  # as save_for_backward does, a call less
        if len(made) > 1:
            return made[1]
        return _one_or_all(at_once(made[0].operator, tensors, made[0].values))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return ctx.made.gradients(ctx.needs_input_grad[1:], (*gradients, *ctx.saved_tensors))


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
        operands = (*gradients, *ctx.saved_tensors)
        return None, *RecordedCall(ctx.operator, ctx.values).gradients(ctx.needs_input_grad[2:], operands)

    @staticmethod
    def jvp(ctx: Any, _operator: None, _values: None, *tangents: torch.Tensor | None) -> Any:
        return tangents_of(ctx.operator, ctx.saved_tensors, tangents, ctx.values, call)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], operator: TensorOperator, values: Any, *tensors: torch.Tensor) -> Any:
        found = batched(operator, info.batch_size, in_dims[2:], tensors, values, call)
        return _one_or_all(found), _one_or_all((0,) * len(found))
