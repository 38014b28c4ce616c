"""A module of any operator, one of one's own too: ``ogive.torch.nn.wrap(operator, parameter=...)``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ogive.errors import ArgumentError, message
from ogive.operators.operator import Operator, check_is_operator
from ogive.torch.tensor_functions import wrap as function_of

__all__ = ["Wrapped", "wrap"]


class Wrapped(torch.nn.Module):
    """A module that calls an operator with the parameters that it holds. `wrap` makes it."""

    def __init__(self, operator: Operator, parameters: dict[str, Any]) -> None:
        super().__init__()
        self._operator, self._names = operator, tuple(parameters)
        for name, value in parameters.items():
            if isinstance(value, torch.nn.Parameter):
                self.register_parameter(name, value)
            elif isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *tensors: Tensor, **given: Any) -> Any:
        held = {name: getattr(self, name) for name in self._names}
        return function_of(self._operator)(*tensors, **{**held, **given})

    def extra_repr(self) -> str:
        shown = [
            f"{name}={tuple(value.shape)}" if isinstance(value := getattr(self, name), Tensor) else f"{name}={value!r}"
            for name in self._names
        ]
        return ", ".join([self._operator.name, *shown])


def wrap(operator: Any, **parameters: Any) -> Wrapped:
    """A ``torch.nn.Module`` of an operator, with parameters that it holds: numbers, tensors, or learned ones.

    A ``torch.nn.Parameter`` is learned, another tensor is a buffer; both are in ``state_dict()`` by the parameter's name. The module is
    called with the operator's tensors, and with other parameters by name. Element types, gradients and special cases are those of
    the function, `ogive.torch.wrap`. Operators over rows take ``dim`` too.

    Raises ArgumentError where there is no operator, no such parameter, or one that every module has by this name; ParameterError for
    a value that the operator refuses.

    >>> import torch, ogive, ogive.torch
    >>> @ogive.operator
    ... def bent(x, *, slope=0.1):
    ...     return slope * x + (1 - slope) * ogive.softplus(x)
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), ogive.torch.nn.wrap(bent, slope=torch.nn.Parameter(torch.tensor(0.5))))
    >>> model[1]
    Wrapped(bent, slope=())
    >>> model(torch.ones(2, 4)).sum().backward()
    >>> model[1].slope.grad is not None
    True

    Source: torch.nn.Module.
    """
    check_is_operator("ogive.torch.nn.wrap", operator)
    numbers = {
        name: value.detach().reshape(-1)[0].item() if isinstance(value, Tensor) and value.numel() else value
        for name, value in parameters.items()
        if name != "dim" or not operator.is_row_wise
    }
    operator.checked_parameters(numbers)
    blank = torch.nn.Module()
    for name in parameters:
        if hasattr(blank, name):
            what = f"the parameter {name!r} has the name of an attribute of torch.nn.Module"
            way_out = "Rename it in the formula, or call ogive.torch.wrap(operator) in a module of your own"
            raise ArgumentError(message(f"ogive.torch.nn.wrap: {operator.name}", what, way_out=way_out))
    return Wrapped(operator, parameters)
