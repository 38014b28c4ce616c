"""The facts about an operator that torch has to know: one object for it, and one for each of its gradients.

An operator reaches torch in two ways that compute the same bits. Called on ordinary tensors it computes at once
(eager.py). While torch traces (`torch.compile`, `torch.export`, fake tensors) it is an operator of torch's own registry,
``torch.ops.ogive.celu`` (registry.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch

from ogive._native import TensorCall, set_own_pool_size
from ogive.catalog import OPERATORS
from ogive.common.forking import cached_property
from ogive.errors import DTypeError, ShapeError, message, shapes_apart
from ogive.gradients import vjp
from ogive.operators.operator import Operator
from ogive.operators.signature import Parameter, Signature
from ogive.torch.exchange import (
    array_of,
    call_arguments,
    limit_threads,
    new_like,
    new_result,
    tensor_of,
    torch_dtype,
)

#: Whether integers become floating-point numbers, of operators whose types do not say it. torch's div and erf have
#: no integers; its heaviside has, and the one here has none and refuses them.
INTEGERS_HERE = {"div": True, "erf": True, "heaviside": False}

Tensors = Sequence[torch.Tensor]
Values = tuple[Any, ...]


class TensorOperator:
    """An operator on tensors of equal types: what it computes, what its results look like, what its gradients are.

    Calls give all tensors and then the values of all parameters, in the order of the operator. Rows lie along the last
    axis. Results are a tuple.
    """

    def __init__(
        self,
        entry_name: str,
        base: Operator,
        make: Callable[[], Operator],
        *,
        gradient_count: int = 0,
        tensor_names: tuple[str, ...] = (),
        of_operands: tuple[int, ...] | None = None,
        name: str = "",
    ) -> None:
        self.entry_name = entry_name
        """Its name in torch's registry."""
        self.name = name or base.name
        """The user's name for it, in messages."""
        self.base = base
        """The operator whose parameters these are."""
        self._make = make
        self.gradient_count = gradient_count
        """How many of the tensors are gradients of results."""
        self.tensors = tensor_names or base.tensors
        self.of_operands = of_operands
        """For a gradient: the operands whose shapes and types the results have."""
        self._gradients: dict[tuple[int, ...], TensorOperator] = {}
        self.nodes: dict[type, type] = {}
        """The functions of autograd that record its calls (`node`)."""

    @cached_property
    def operator(self) -> Operator:
        return self._make()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.base.parameters

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.base.parameters)

    @property
    def signatures(self) -> tuple[Signature, ...]:
        return self.base.signatures

    @cached_property
    def is_row_wise(self) -> bool:
        return bool(self.base.is_row_wise)

    @cached_property
    def result_count(self) -> int:
        return len(self.of_operands) if self.of_operands is not None else self.base.nout

    @cached_property
    def differentiable(self) -> tuple[int, ...]:
        """The positions of the tensors that have gradients: none if the results are no floating-point numbers."""
        if self.of_operands is not None:
            first = self.gradient_count
            inner = self._of_base
            return (*range(first), *(first + i for i in inner))
        return self._of_base

    @cached_property
    def _of_base(self) -> tuple[int, ...]:
        operator = self.base
        smooth = [s for s in operator.signatures if all(t.is_float for t in s.outputs)]
        return tuple(
            i
            for i, name in enumerate(operator.tensors)
            if name not in operator.truth_inputs and any(s.inputs[i].is_float for s in smooth)
        )

    # ---- types and shapes

    def result_types(self, dtypes: tuple[torch.dtype, ...]) -> tuple[torch.dtype, ...]:
        """The types of the results, or a refusal."""
        if self.of_operands is not None:
            return tuple(dtypes[i] for i in self.of_operands)
        found = self.combinations.get(dtypes)
        return found if found is not None else self._refuse_types(dtypes)

    @cached_property
    def combinations(self) -> dict[tuple[torch.dtype, ...], tuple[torch.dtype, ...]]:
        """The types of operands that there is a kernel for, and those of its results."""
        return {tuple(map(torch_dtype, s.inputs)): tuple(map(torch_dtype, s.outputs)) for s in self.base.signatures}

    @cached_property
    def promotes_integers(self) -> bool:
        """Whether integers become floating-point numbers of the default type: torch's operator or this one has none."""
        own = self.base.base
        if OPERATORS.get(own.name) is own and own.name in INTEGERS_HERE:
            return INTEGERS_HERE[own.name]
        return all(t.is_float for s in self.base.signatures for t in s.inputs)

    @cached_property
    def uniform_types(self) -> tuple[torch.dtype, ...]:
        """The types that all operands may have, where a gradient has the same."""
        is_gradient = self.of_operands is not None
        return tuple(
            inputs[0]
            for inputs, outputs in self.combinations.items()
            if len({*inputs}) == 1 and not (is_gradient and {*outputs} != {*inputs})
        )

    def _refuse_types(self, dtypes: tuple[torch.dtype, ...]) -> tuple[torch.dtype, ...]:
        allowed = self.combinations
        for i, name in enumerate(self.tensors):
            taken = dict.fromkeys(str(types[i]) for types in allowed)
            if str(dtypes[i]) not in taken:
                way_out = f"Convert it first: {name}.to(...)"
                what = f"{name} has dtype {dtypes[i]}"
                raise DTypeError(message(self.name, what, ", ".join(taken), way_out))
        listed = ", ".join(f"{name} {dtype}" for name, dtype in zip(self.tensors, dtypes, strict=True))
        raise DTypeError(
            message(self.name, f"the dtypes are {listed}", "tensors of one dtype", "Convert them: x.to(...)")
        )

    def new_results(self, tensors: Tensors) -> tuple[torch.Tensor, ...]:
        """Memory for the results, with the layout that they have while torch traces."""
        types = self.result_types(tuple(tensor.dtype for tensor in tensors))
        if self.of_operands is not None:
            return tuple(new_like(tensors[i], dtype) for i, dtype in zip(self.of_operands, types, strict=True))
        if self.base.reduces:  # the row's axis has length 1 here, so that gradients broadcast
            shape = torch.broadcast_shapes(*(tensor.shape for tensor in tensors))
            return tuple(tensors[0].new_empty((*shape[:-1], 1), dtype=dtype) for dtype in types)
        return tuple(new_result(tensors, dtype) for dtype in types)

    # ---- computing

    def compute(
        self, tensors: Tensors, values: Values, outs: tuple[torch.Tensor, ...] | None = None
    ) -> tuple[torch.Tensor, ...]:
        """The results, written to ``outs`` if these are given; on a CUDA device where the tensors lie there."""
        if lies_on_cuda(tensors[0]):
            return self._compute_on_cuda(tensors, values, outs)
        operator = self.operator
        arrays = [array_of(self, name, tensor) for name, tensor in zip(self.tensors, tensors, strict=True)]
        keywords = self.keywords(values)
        if self.base.reduces:
            keywords["keepdims"] = True
        if self.is_row_wise and tensors[0].ndim == 0:
            what = f"{self.tensors[0]} is a single number"
            raise ShapeError(message(self.name, what, "tensors of one dimension or more"))
        before = limit_threads()
        try:
            if outs is None:
                found = operator(*arrays, **keywords)
                return tuple(map(tensor_of, found if type(found) is tuple else (found,)))
            one_shape = all(tensor.shape == outs[0].shape for tensor in tensors)
            if self.of_operands is None or (one_shape and all(out.shape == outs[0].shape for out in outs)):
                targets = tuple(array_of(self, "out", out) for out in outs)
                operator(*arrays, **keywords, out=targets if len(targets) > 1 else targets[0])
                return outs
            found = operator(*arrays, **keywords)
        except ShapeError:
            raise shapes_apart(self.name, self.tensors, (tensor.shape for tensor in tensors)) from None
        finally:
            set_own_pool_size(before)
        for out, result in zip(outs, found if type(found) is tuple else (found,), strict=True):
            out.copy_(tensor_of(result))
        return outs

    def _compute_on_cuda(
        self, tensors: Tensors, values: Values, outs: tuple[torch.Tensor, ...] | None
    ) -> tuple[torch.Tensor, ...]:
        from ogive.cuda import function

        found = function(self.operator)(*tensors, **self.keywords(values))
        results = found if type(found) is tuple else (found,)
        if self.base.reduces and self.of_operands is None:
            results = tuple(one.unsqueeze(-1) for one in results)
        if outs is None:
            return results
        for out, result in zip(outs, results, strict=True):
            out.copy_(result)
        return outs

    @cached_property
    def short(self) -> TensorCall:
        """A function of tensors, and parameters by name: results, or NotImplemented where a call is not the usual one."""
        return TensorCall(**call_arguments(self.operator, self.uniform_types))

    def keywords(self, values: Values) -> dict[str, Any]:
        return dict(zip(self.parameter_names, values, strict=True))

    # ---- derivatives

    def wanted(self, needed: tuple[bool, ...]) -> tuple[int, ...]:
        """The positions of the tensors that need a gradient, and have one."""
        if len(needed) == 1:
            return self.differentiable
        return tuple(i for i in self.differentiable if needed[i])

    def gradient(self, wanted: tuple[int, ...]) -> TensorOperator:
        """The function that gives the gradients of these tensors: (gradients of the results, tensors) to a tensor for each."""
        found = self._gradients.get(wanted)
        if found is None:
            taken = {*self.tensors, *self.parameter_names}
            prefix = "gradient"
            while any(name.startswith(prefix) for name in taken):
                prefix = f"upstream_{prefix}"
            upstream = tuple(f"{prefix}_{i}" for i in range(self.result_count))
            names = tuple(self.tensors[i] for i in wanted)
            is_all = wanted == self.differentiable
            found = TensorOperator(
                f"{self.entry_name}_vjp" + ("" if is_all else "_" + "_".join(names)),
                self.base,
                lambda: vjp(self.operator, tuple(self.operator.tensors[i] for i in wanted)),
                gradient_count=self.result_count + self.gradient_count,
                tensor_names=(*upstream, *self.tensors),
                of_operands=tuple(self.result_count + i for i in wanted),
                name=self.name,
            )
            self._gradients[wanted] = found
        return found

    def tangent(self) -> TensorOperator:
        """The function that gives the tangents of the results: (tangents of the differentiable tensors, anything of the shape of each
        result, tensors). It is the gradient of a gradient, which is linear in the gradient that it is given.
        """
        return self.gradient(self.differentiable).gradient(tuple(range(self.result_count)))


def lies_on_cuda(tensor: torch.Tensor) -> bool:
    """Whether ogive.cuda computes it."""
    return tensor.is_cuda


def with_operands(operator: Operator, names: tuple[str, ...]) -> Operator:
    """The same operator, whose parameters of these names are tensors that broadcast: the last ones."""
    known: dict[tuple[str, ...], Operator] = operator.base.__dict__.setdefault("_with_operands", {})
    if names in known:
        return known[names].under_contract_of(operator)
    count = operator.inputs
    keyword, position = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    left = [parameter for parameter in operator.parameters if parameter.name not in names]
    annotations = {p.name: Literal[p.choices] for p in left if p.choices}

    def function(*given: Any, **parameters: Any) -> Any:
        return operator.function(*given[:count], **dict(zip(names, given[count:], strict=True)), **parameters)

    function.__name__ = function.__qualname__ = f"{operator.name}_of_{'_'.join(names)}"
    function.__module__ = __name__
    function.__doc__ = operator.function.__doc__
    function.__annotations__ = annotations
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *(inspect.Parameter(name, position) for name in (*operator.tensors, *names)),
            *(
                inspect.Parameter(p.name, keyword, default=p.default, annotation=annotations.get(p.name, Any))
                for p in left
            ),
        ]
    )
    signatures = [
        Signature((*s.inputs, *(s.outputs[0],) * len(names)), s.outputs)
        for s in operator.signatures
        if all(t.is_float for t in s.outputs)
    ]
    constraints = {p.name: p.constraint for p in left if not p.choices}
    made = Operator(function, lambda _: signatures, constraints, truth_inputs=operator.truth_inputs)
    made.opened_of = operator.base
    known[names] = made
    return made.under_contract_of(operator)


def node(kind: type[Any], operator: TensorOperator) -> type[Any]:
    """The subclass of a function of autograd for one operator: profiles, errors and ``grad_fn`` show its name."""
    found = operator.nodes.get(kind)
    if found is None:
        name = "".join(part.capitalize() for part in operator.entry_name.split("_"))
        found = operator.nodes[kind] = type(name, (kind,), {"__module__": kind.__module__})
    return found
