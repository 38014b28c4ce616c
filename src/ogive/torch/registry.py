"""Operators in torch's own registry, ``torch.ops.ogive``: what torch sees while it traces.

An entry has the schema, the kernel, what it gives for fake tensors, its derivative (another entry), its rule for vmap, and how
it may be sharded.

Calls that other calls are made of: on batches, for vmap, and for tangents, in forward mode.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.compiler import is_compiling

from ogive.operators.signature import Parameter
from ogive.torch.exchange import is_transformed
from ogive.torch.tensor_operator import TensorOperator, node

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
    # The stand-in for the gradients decides nothing but shapes and types.
    nothing = map(torch.zeros_like, operator.new_results(tensors))
    found = call(operator.tangent(), (*given, *nothing, *tensors), values)
    return found[0] if len(found) == 1 else tuple(found)


NAMESPACE = "ogive"
_torch: Any = torch._C

_library = torch.library.Library(NAMESPACE, "FRAGMENT")
_entries: dict[TensorOperator, Any] = {}
_names: dict[str, TensorOperator] = {}


def is_taken(name: str) -> bool:
    return name in _names


def named(name: str) -> TensorOperator:
    """The operator of an entry's name."""
    return _names[name]


def entries() -> dict[TensorOperator, Any]:
    """All entries that there are so far."""
    return dict(_entries)


def by_registry(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Any:
    """The results of an entry, as torch's registry gives them: one or a tuple."""
    if not is_compiling():
        tell_dtensor(_entries)
    if len(tensors) > 2 and not operator.is_row_wise and any(tensor.is_nested for tensor in tensors):
        return _of_jagged(operator, tensors, values)
    return entry(operator)(*tensors, *values)


def _of_jagged(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Any:
    """The results of jagged tensors of one shape, by their elements: torch itself takes two of them at most."""
    first: Any = next(tensor for tensor in tensors if tensor.is_nested)
    is_jagged = [tensor.is_nested and tensor.layout is torch.jagged for tensor in tensors]
    if not all(t.shape == first.shape if jagged else t.ndim < 2 for t, jagged in zip(tensors, is_jagged, strict=True)):
        return entry(operator)(*tensors, *values)  # torch's own refusal
    given = [t.values() if jagged else t for t, jagged in zip(tensors, is_jagged, strict=True)]
    found = by_registry(operator, given, values)
    results = (found,) if isinstance(found, torch.Tensor) else found
    like = operator.of_operands if operator.of_operands is not None else (is_jagged.index(True),) * len(results)
    jagged = [
        torch.nested.nested_tensor_from_jagged(result, first.offsets()) if is_jagged[i] else result
        for i, result in zip(like, results, strict=True)
    ]
    return jagged[0] if isinstance(found, torch.Tensor) else tuple(jagged)


def entry(operator: TensorOperator) -> Any:
    """The entry of an operator, made when it is first wanted: a function of tensors and values, in the schema's order."""
    found = _entries.get(operator)
    if found is None:
        found = _entries[operator] = _define(operator)
    return found


def _define(operator: TensorOperator) -> Any:
    name = operator.entry_name
    _names[name] = operator
    qualified = f"{NAMESPACE}::{name}"
    count = len(operator.tensors)
    is_single = operator.result_count == 1
    # Nested tensors (jagged ones) take what is element-wise.
    tags = (torch.Tag.pt2_compliant_tag, *(() if operator.is_row_wise else (torch.Tag.pointwise,)))
    _library.define(_schema(operator), tags=tags)

    def results(found: Sequence[torch.Tensor]) -> Any:
        return found[0] if is_single else tuple(found)

    def kernel(*given: Any) -> Any:
        tensors = given[:count]
        if all(tensor.is_contiguous() for tensor in tensors):  # else results may lie otherwise than `fake` says
            found = operator.short(*tensors, **operator.keywords(given[count:]))
            if found is not NotImplemented:
                return found
        return results(operator.compute(tensors, given[count:], operator.new_results(tensors)))

    def fake(*given: Any) -> Any:
        return results(operator.new_results(given[:count]))

    def vmap(info: Any, in_dims: tuple[int | None, ...], *given: Any) -> Any:
        found = batched(operator, info.batch_size, in_dims[:count], given[:count], given[count:], _call)
        return results(found), (0 if is_single else (0,) * len(found))

    _library.impl(name, kernel, "CPU")
    _library.impl(name, kernel, "CUDA")
    torch.library.register_fake(qualified, fake, lib=_library)
    if operator.differentiable:

        def record(keys: Any, *given: Any) -> Any:
            tell_dtensor(_entries)
            return _recorded(found_entry, keys, operator, given[:count], given[count:])

        _library.impl(name, record, "Autograd", with_keyset=True)
    torch.library.register_vmap(qualified, vmap, lib=_library)
    found_entry = getattr(getattr(torch.ops, NAMESPACE), name).default
    return found_entry


def _call(operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]) -> Sequence[torch.Tensor]:
    found = by_registry(operator, tensors, values)
    return (found,) if isinstance(found, torch.Tensor) else found


# ---- derivatives


def _recorded(made_by: Any, keys: Any, operator: TensorOperator, tensors: Sequence[torch.Tensor], values: Any) -> Any:
    """The results of an entry, and its derivative if somebody wants one.

    ``torch.library.register_autograd`` knows backward mode alone, and none under ``torch.func``. There a call comes here
    for one transformation after the other, so that a function for a single one is enough; torch has to be told.
    """
    records = torch.is_grad_enabled()
    # Graphs that torch.compile has made enter forward mode without a word to forward_ad.
    may_have_tangents = forward_ad._current_level >= 0 or is_transformed() is not None
    if not may_have_tangents and not (records and any(tensor.requires_grad for tensor in tensors)):
        return _computed(made_by, keys, tensors, values)
    with enable_single_level_autograd_function():
        # Function.apply itself refuses functions for a single transformation.
        apply = super(torch.autograd.Function, node(_Traced, operator)).apply
        return apply(made_by, keys, records, operator, values, *tensors)


def _computed(made_by: Any, keys: Any, tensors: Sequence[torch.Tensor], values: Any) -> Any:
    with _torch._AutoDispatchBelowAutograd():
        return made_by.redispatch(keys & _torch._after_autograd_keyset, *tensors, *values)


class _Traced(torch.autograd.Function):
    """A call by torch's registry that autograd records, backward or forward."""

    @staticmethod
    def forward(
        ctx: Any, made_by: Any, keys: Any, records: bool, operator: TensorOperator, values: Any, *tensors: Any
    ) -> Any:
        ctx.operator, ctx.values = operator, values
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        # torch switches both modes off here, but transformations beneath this one record for themselves.
        with torch.set_grad_enabled(records), forward_ad._set_fwd_grad_enabled(True):
            return _computed(made_by, keys, tensors, values)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        operator, given = ctx.operator, len(ctx.needs_input_grad) - len(ctx.operator.tensors)
        wanted = tuple(i for i in operator.differentiable if ctx.needs_input_grad[given + i])
        found = iter(_call(operator.gradient(wanted), (*gradients, *ctx.saved_tensors), ctx.values))
        return *(None,) * given, *(next(found) if i in wanted else None for i in range(len(operator.tensors)))

    @staticmethod
    def jvp(
        ctx: Any, _made_by: None, _keys: None, _records: None, _operator: None, _values: None, *tangents: Any
    ) -> Any:
        return tangents_of(ctx.operator, ctx.saved_tensors, tangents, ctx.values, _call)


def _schema(operator: TensorOperator) -> str:
    arguments = [*(f"Tensor {name}_" if name in ("self", "out") else f"Tensor {name}" for name in operator.tensors)]
    arguments += map(_parameter, operator.parameters)
    result = "Tensor" if operator.result_count == 1 else f"({', '.join(['Tensor'] * operator.result_count)})"
    return f"{operator.entry_name}({', '.join(arguments)}) -> {result}"


def _parameter(parameter: Parameter) -> str:
    """Without a default: calls give all values. A ``float`` would be no symbol while torch traces: a ``Scalar`` may."""
    kinds = {type(choice) for choice in parameter.choices}
    kind = {str: "str", int: "int", bool: "bool"}.get(kinds.pop(), "Scalar") if len(kinds) == 1 else "Scalar"
    return f"{kind} {parameter.name}"


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
    """The function that gives the placements of results and operands that a call may have, by the operands' shapes.

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
