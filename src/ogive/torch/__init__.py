"""Operators on torch tensors: with gradients of every order, ``torch.func``, ``torch.compile`` and ``torch.export``.

>>> import torch, ogive.torch
>>> x = torch.tensor([-1.0, 2.0], requires_grad=True)
>>> y = ogive.torch.celu(x, alpha=1.5)
>>> torch.autograd.grad(y.sum(), x)
(tensor([0.5134, 1.0000]),)

Every operator of the catalogue is a function here, under its other names too (``ogive.torch.silu``); :func:`wrap` makes one of an operator of one's own. ``ogive.torch.nn``
has modules with the names and arguments of ``torch.nn``, and :func:`replace` puts them into a model; :class:`functional_mode` finds calls of functions. ``ogive.torch.fast`` has
the operators under the fast contract, :func:`inductor_options` puts C text into what inductor writes, and
:func:`onnx_translations` is for ``torch.onnx.export``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ogive.catalog import OPERATORS
from ogive.catalog.aliases import ALIASES, named
from ogive.catalog.other_names import no_operator
from ogive.errors import needed

with needed("ogive.torch", "torch", "torch"):
    import torch as _  # noqa: F401

from ogive.torch import nn
from ogive.torch.functional_mode import functional_mode
from ogive.torch.inductor import inductor_options
from ogive.torch.models import replace
from ogive.torch.onnx_nodes import onnx_translations
from ogive.torch.running_on_tensors import logcumsumexp
from ogive.torch.tensor_functions import wrap

__all__ = [
    *sorted(OPERATORS),
    "fast",
    "functional_mode",
    "inductor_options",
    "logcumsumexp",
    "nn",
    "onnx_translations",
    "replace",
    "wrap",
]

# All at once: torch finds them by name when it loads a program that was exported in another process.
globals().update({name: wrap(operator) for name, operator in OPERATORS.items()})


def __getattr__(name: str) -> Any:
    if name == "fast":  # loaded when it is used: it takes as long as all of this
        return import_module("ogive.torch.fast")
    if name in ALIASES:
        operator = named(name)
        found = globals().get(operator.name) or wrap(operator)
        return globals().setdefault(name, found)
    way_out = "ogive list names them; ogive.torch.wrap(operator) makes a function of your own operator"
    raise no_operator(__name__, name, way_out)


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
