"""Golden data: exact values of every operator, their correctly rounded results, and inputs that find faults.

>>> import ogive.golden
>>> ogive.golden.exact("tanh", 0.5, digits=20)
Decimal('0.46211715726000975850')

`exact`, `ulp` and `vectors` are also names of `ogive`.
"""

from typing import TYPE_CHECKING

from ogive.golden.specification import Expected, Specification, of_operator
from ogive.golden.values import exact, ulp
from ogive.golden.vectors import Case, Vectors, make, regimes, vectors

if TYPE_CHECKING:
    from ogive.golden.intervals import Bounds, Departure, admissible, attribute

__all__ = [
    "Bounds",
    "Case",
    "Departure",
    "Expected",
    "Specification",
    "Vectors",
    "admissible",
    "attribute",
    "exact",
    "make",
    "of_operator",
    "regimes",
    "ulp",
    "vectors",
]

#: The names that need the package onnx, and is loaded when it is first wanted.
_OF_MODELS = ("Bounds", "Departure", "admissible", "attribute")


def __getattr__(name: str) -> object:
    if name not in _OF_MODELS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ogive.golden import intervals

    return getattr(intervals, name)
