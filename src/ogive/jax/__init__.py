"""Every operator as a function on JAX's arrays: ``ogive.jax.gelu(v)``, under jit, grad, jvp and vmap (docs/jax.md).

Kernels are called by ``jax.ffi``, by a handler in the native extension (runtime/native/xla.c). ``handler.py`` writes a
call of one kernel, ``elements.py`` and ``array_functions.py`` add derivatives, ``operands.py`` reads what was given,
``array_functions.py`` makes the functions.
"""

from __future__ import annotations

from typing import Any

from ogive.catalog import OPERATORS
from ogive.catalog.other_names import found_here
from ogive.errors import needed

with needed("ogive.jax", "'ogive[jax]'", "jax", "jaxlib"):
    from ogive.jax.array_functions import function, logcumsumexp

__all__ = ["function", "logcumsumexp", *OPERATORS]


def __getattr__(name: str) -> Any:
    return found_here(__name__, name, function)


def __dir__() -> list[str]:
    return sorted(__all__)
