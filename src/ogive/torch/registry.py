"""Operators in torch's own registry, ``torch.ops.ogive``: what torch sees while it traces.

An entry has the schema, the kernel, what it gives for fake tensors, its derivative (another entry) and its rule for vmap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ogive.signature import Parameter
from ogive.torch.batching import batched
from ogive.torch.tensor_operator import TensorOperator

__all__ = ["entry", "is_taken"]

NAMESPACE = "ogive"

_library = torch.library.Library(NAMESPACE, "FRAGMENT")
_entries: dict[TensorOperator, Any] = {}
_names: set[str] = set()


def is_taken(name: str) -> bool:
    return name in _names


def entry(operator: TensorOperator) -> Any:
    """The entry of an operator, made when it is first wanted: a function of tensors and values, in the schema's order."""
    found = _entries.get(operator)
    if found is None:
        found = _entries[operator] = _define(operator)
    return found


def _define(operator: TensorOperator) -> Any:
    name = operator.name
    _names.add(name)
    qualified = f"{NAMESPACE}::{name}"
    count = len(operator.tensors)
    is_single = operator.result_count == 1
    _library.define(_schema(operator), tags=(torch.Tag.pt2_compliant_tag,))

    def results(found: Sequence[torch.Tensor]) -> Any:
        return found[0] if is_single else tuple(found)

    def kernel(*given: Any) -> Any:
        tensors = given[:count]
        return results(operator.compute(tensors, given[count:], operator.new_results(tensors)))

    def fake(*given: Any) -> Any:
        return results(operator.new_results(given[:count]))

    def vmap(info: Any, in_dims: tuple[int | None, ...], *given: Any) -> Any:
        found = batched(operator, info.batch_size, in_dims[:count], given[:count], given[count:], call)
        return results(found), (0 if is_single else (0,) * len(found))

    def call(
        operator: TensorOperator, tensors: Sequence[torch.Tensor], values: tuple[Any, ...]
    ) -> Sequence[torch.Tensor]:
        found = entry(operator)(*tensors, *values)
        return (found,) if isinstance(found, torch.Tensor) else found

    _library.impl(name, kernel, "CPU")
    torch.library.register_fake(qualified, fake, lib=_library)
    if operator.differentiable:

        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.save_for_backward(*inputs[:count])
            ctx.values = inputs[count:]

        def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
            wanted = tuple(i for i in operator.differentiable if ctx.needs_input_grad[i])
            found = iter(call(operator.gradient(wanted), (*gradients, *ctx.saved_tensors), ctx.values))
            return *(next(found) if i in wanted else None for i in range(count)), *(None for _ in ctx.values)

        torch.library.register_autograd(qualified, backward, setup_context=setup_context, lib=_library)
    torch.library.register_vmap(qualified, vmap, lib=_library)
    return getattr(getattr(torch.ops, NAMESPACE), name).default


def _schema(operator: TensorOperator) -> str:
    arguments = [*(f"Tensor {name}_" if name in ("self", "out") else f"Tensor {name}" for name in operator.tensors)]
    arguments += map(_parameter, operator.parameters)
    result = "Tensor" if operator.result_count == 1 else f"({', '.join(['Tensor'] * operator.result_count)})"
    return f"{operator.name}({', '.join(arguments)}) -> {result}"


def _parameter(parameter: Parameter) -> str:
    """Without a default: calls give all values."""
    kinds = {type(choice) for choice in parameter.choices}
    kind = {str: "str", int: "int", bool: "bool"}.get(kinds.pop(), "Scalar") if len(kinds) == 1 else "float"
    return f"{kind} {parameter.name}"
