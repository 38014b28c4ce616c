"""Calls on ordinary tensors: at once where nothing watches, else through functions that autograd knows.

torch's registry costs some microseconds a call, so eager calls leave it out. Everything that torch can watch calls with is asked for
first; a tensor of a subclass, or one that a mode or a transformation of torch.func has wrapped, goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.compiler import is_compiling, is_dynamo_compiling

from ogive._native import recorded_backward, recorded_forward
from ogive.torch.exchange import ORDINARY, dispatch_modes, is_batch, is_profiled, is_traced, is_transformed
from ogive.torch.registry import batched, by_registry, tangents_of
from ogive.torch.tensor_operator import TensorOperator, node

_records = torch.is_grad_enabled

Results = Sequence[torch.Tensor]


class RecordedCall:
    """The computation of a recorded call: an operator and the values of its parameters; and how gradients are computed.

    ``given`` are those parameters that the call named: without the others, which are at their defaults, calls are short.
    """

    __slots__ = ("_ways", "apply", "given", "operator", "usual", "values")

    def __init__(self, operator: TensorOperator, values: tuple[Any, ...], given: dict[str, Any] | None = None) -> None:
        self.operator, self.values = operator, values
        self.given = operator.keywords(values) if given is None else given
        kind = node(_Recorded, operator)
        # torch's own `apply`, a function of Python, would look for `backward` first.
        kind._backward_cls.apply = recorded_backward
        # Function.apply itself first asks torch.func, which costs 2 us.
        parent: Any = super(torch.autograd.Function, kind)
        self.apply: Callable[..., Any] = parent.apply
        self._ways: dict[tuple[bool, ...], tuple[TensorOperator, tuple[int, ...]]] = {}
        self.usual: tuple[Any, ...] | None = None
        """The function that the backward in C calls where the same inputs need gradients as in the latest call (dlpack.c)."""

    def gradients(self, needed: tuple[bool, ...], operands: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
        """The gradients of this object and of the tensors, None where none is needed.

        The operands are gradients of the results, and the tensors.
        """
        way = self._ways.get(needed)
        if way is None:
            wanted = self.operator.wanted(needed[1:])
            way = self._ways[needed] = self.operator.gradient(wanted), wanted
        gradient, wanted = way
        found: Any = NotImplemented
        if not is_dynamo_compiling():
            found = gradient.short(*operands, **self.given)
        if found is NotImplemented:
            found = _one_or_all(call(gradient, operands, self.values))
        else:
            places = tuple(1 + i for i in wanted)
            self.usual = needed, gradient.short, tuple(self.given) or None, tuple(self.given.values()), places
        each = iter(_results(found))
        return None, *(next(each) if i in wanted else None for i in range(len(needed) - 1))


def call(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Results:
    """The results of an operator, recorded by whatever watches."""
    if is_compiling():
        return _by_registry(operator, tensors, values)
    if is_transformed() is not None:
        return _results(node(_Transformed, operator).apply(operator, values, *tensors))
    if forward_ad._current_level >= 0 or _is_watched(tensors):
        return _by_registry(operator, tensors, values)
    if _records() and any(tensor.requires_grad for tensor in tensors) and operator.differentiable:
        made = RecordedCall(operator, values), _one_or_all(at_once(operator, tensors, values))
        return _results(node(_Recorded, operator).apply(made, *tensors))
    return at_once(operator, tensors, values)


def recording(
    operator: TensorOperator, values: Callable[[dict[str, Any]], tuple[Any, ...]]
) -> Callable[..., RecordedCall | None]:
    """The function from (**parameters) to how autograd records calls of ordinary tensors; None under a transformation."""
    usual: list[RecordedCall] = []

    def record(**given: Any) -> RecordedCall | None:
        if is_transformed() is not None:
            return None
        if given or not usual:
            made = RecordedCall(operator, values(given), given)
            if given:
                return made
            usual.append(made)
        return usual[0]

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
    """A call that autograd records, whose results are there: (how it was computed, the results) stand before the tensors."""

    forward = staticmethod(recorded_forward)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return ctx.made.gradients(ctx.needs_input_grad, (*gradients, *ctx.saved_tensors))


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
        return None, *RecordedCall(ctx.operator, ctx.values).gradients(ctx.needs_input_grad[1:], operands)

    @staticmethod
    def jvp(ctx: Any, _operator: None, _values: None, *tangents: torch.Tensor | None) -> Any:
        return tangents_of(ctx.operator, ctx.saved_tensors, tangents, ctx.values, call)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], operator: TensorOperator, values: Any, *tensors: torch.Tensor) -> Any:
        found = batched(operator, info.batch_size, in_dims[2:], tensors, values, call)
        return _one_or_all(found), _one_or_all((0,) * len(found))
