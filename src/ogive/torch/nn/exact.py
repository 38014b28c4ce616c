"""The activations of ``torch.nn`` under the exact contract: ``ogive.torch.nn.exact.GELU`` is a subclass of ``ogive.torch.nn.GELU``.

>>> import torch, ogive.torch
>>> ogive.torch.nn.exact.GELU(approximate="tanh")
GELU(approximate='tanh')
>>> isinstance(_, torch.nn.GELU)
True

That is the default, unless ``OGIVE_ACCURACY`` is another.
"""

from __future__ import annotations

from ogive.torch.nn import __all__, under

globals().update(under("exact", __name__))


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
