"""The activations of a model, replaced by Ogive's."""

from __future__ import annotations

from typing import Any

import torch

from ogive.contracts import checked
from ogive.errors import ArgumentError, described, message
from ogive.torch import nn

__all__ = ["replace"]


def replace(model: Any, *, accuracy: str | None = None) -> Any:
    """The model, with Ogive's modules in place of the activations of ``torch.nn`` in its tree.

    The model itself is changed and returned; if it is an activation itself, another module is returned. Parameters,
    buffers, hooks and names stay the same, so optimizers and state dicts go on. Modules of subclasses of torch's classes
    stay as they are, and so do calls of functions in ``forward``: ``torch.nn.functional.gelu(x)`` is not found.

    >>> import torch, ogive.torch
    >>> ogive.torch.replace(torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.CELU(1.5)))[1]
    CELU(alpha=1.5)
    >>> type(_).__module__
    'ogive.torch.nn'

    ``accuracy`` names a contract, "exact" or "fast": then modules of Ogive are replaced by those of this contract, too.

    >>> type(ogive.torch.replace(torch.nn.CELU(), accuracy="fast")).__module__
    'ogive.torch.nn.fast'

    Raises ArgumentError if the model is no module, ParameterError for another contract.
    """
    classes = _classes(accuracy)
    if not isinstance(model, torch.nn.Module):
        what = f"model is {described(model)}"
        raise ArgumentError(message("ogive.torch.replace", what, "a torch.nn.Module"))
    known: dict[torch.nn.Module, torch.nn.Module] = {}  # a module that stands in two places does so afterwards

    def replaced(module: torch.nn.Module) -> torch.nn.Module:
        if module in known:
            return known[module]
        ours = classes.get(type(module))
        if ours is not None:
            made: torch.nn.Module = ours.__new__(ours)
            made.__dict__.update(module.__dict__)
            known[module] = made
            return made
        known[module] = module
        for name, child in module._modules.items():
            if child is not None:
                module._modules[name] = replaced(child)
        return module

    return replaced(model)


def _classes(accuracy: str | None) -> dict[type, Any]:
    """Classes of torch, and with a contract those here of all contracts, to the classes that take their places."""
    if accuracy is None:
        return {getattr(torch.nn, name): getattr(nn, name) for name in nn.__all__}
    checked("ogive.torch.replace", accuracy)
    ours = getattr(nn, accuracy)
    sources = (torch.nn, nn, nn.exact, nn.fast)
    return {getattr(source, name): getattr(ours, name) for source in sources for name in nn.__all__}
