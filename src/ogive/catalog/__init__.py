"""Every operator, written once: the one place to add one.

A module lists its operators in ``__all__``; nothing else names them. ``ogive/__init__.py`` exports what each module lists.
"""

from __future__ import annotations

from ogive.catalog import (
    activations,
    arithmetic,
    bits,
    clipping,
    functions,
    gated,
    logic,
    more_activations,
    normalisation,
    rounding,
    rowwise,
    trigonometry,
)
from ogive.operator import Operator

__all__ = ["OPERATORS"]

#: All operators by name.
OPERATORS: dict[str, Operator] = {
    name: getattr(module, name)
    for module in (
        *(
            activations,
            more_activations,
            gated,
            rowwise,
            normalisation,
            arithmetic,
            functions,
            trigonometry,
            rounding,
            clipping,
        ),
        *(logic, bits),
    )
    for name in module.__all__
}
