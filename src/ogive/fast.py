"""The operators under the fast contract: ``ogive.fast.gelu`` is ``ogive.gelu.fast``.

>>> import numpy as np, ogive
>>> ogive.fast.sigmoid
<operator sigmoid.fast(x)>
>>> ogive.fast.relu(np.float32([-1.0, 2.0]))
array([0., 2.], dtype=float32)
"""

from __future__ import annotations

from ogive.catalog import OPERATORS
from ogive.catalog.aliases import ALIASES, named
from ogive.catalog.other_names import no_operator
from ogive.operators.operator import Operator

__all__ = [*sorted(OPERATORS)]


def __getattr__(name: str) -> Operator:
    if name in OPERATORS or name in ALIASES:
        found: Operator = OPERATORS[name].fast if name in OPERATORS else named(name).fast
        globals()[name] = found  # where later look-ups find it
        return found
    raise no_operator(__name__, name, "ogive list names them; an operator of your own has the attribute fast")


def __dir__() -> list[str]:
    return sorted([*OPERATORS, *(name for name in globals() if name.startswith("__"))])
