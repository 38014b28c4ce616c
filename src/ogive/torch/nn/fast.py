"""The activations of ``torch.nn`` under the fast contract: ``ogive.torch.nn.fast.GELU`` is a subclass of ``ogive.torch.nn.GELU``.

>>> import torch, ogive.torch
>>> ogive.torch.nn.fast.GELU(approximate="tanh")
GELU(approximate='tanh')
>>> isinstance(_, torch.nn.GELU)
True

Gradients are computed under the contract, too. docs/accuracy.md and docs/gradients.md state the errors.
"""

from __future__ import annotations

from ogive.torch.nn import __all__, under

globals().update(under("fast", __name__))


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
