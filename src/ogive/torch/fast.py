"""The operators on tensors under the fast contract: ``ogive.torch.fast.gelu`` is ``ogive.torch.wrap(ogive.gelu.fast)``.

>>> import torch, ogive.torch.fast
>>> x = torch.tensor([-1.0, 2.0], requires_grad=True)
>>> y = ogive.torch.fast.relu(x)
>>> torch.autograd.grad(y.sum(), x)
(tensor([0., 1.]),)

docs/accuracy.md states the errors; those of gradients are not measured. A program that was exported with these operators
needs this module where it is loaded.
"""

from __future__ import annotations

from typing import Any

from ogive.catalog import OPERATORS
from ogive.catalog.aliases import ALIASES, named
from ogive.catalog.other_names import no_operator
from ogive.torch.tensor_functions import wrap

__all__ = [*sorted(OPERATORS)]

globals().update({name: wrap(operator.fast) for name, operator in OPERATORS.items()})


def __getattr__(name: str) -> Any:
    if name in ALIASES:
        return globals().setdefault(name, wrap(named(name).fast))
    way_out = "ogive list names them; ogive.torch.wrap(operator.fast) makes a function of your own operator"
    raise no_operator(__name__, name, way_out)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
