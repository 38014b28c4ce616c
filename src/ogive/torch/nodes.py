"""What calls are named in autograd's graph: ``GeluBackward``, as torch names its own."""

from __future__ import annotations

from typing import Any

from ogive.torch.tensor_operator import TensorOperator

__all__ = ["node"]


def node(kind: type[Any], operator: TensorOperator) -> type[Any]:
    """The subclass of a function of autograd for one operator: profiles, errors and ``grad_fn`` show its name."""
    found = operator.nodes.get(kind)
    if found is None:
        name = "".join(part.capitalize() for part in operator.entry_name.split("_"))
        found = operator.nodes[kind] = type(name, (kind,), {"__module__": kind.__module__})
    return found
