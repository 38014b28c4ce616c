"""Golden data: exact values of every operator, their correctly rounded results, and inputs that find faults.

>>> import ogive.golden
>>> ogive.golden.exact("tanh", 0.5, digits=20)
Decimal('0.46211715726000975850')

`exact`, `ulp` and `vectors` are also names of `ogive`.
"""

from ogive.golden.specification import Expected, Specification, of_operator
from ogive.golden.values import exact, gated, roundings_of, ulp
from ogive.golden.vectors import Case, Vectors, make, regimes, vectors

__all__ = [
    "Case",
    "Expected",
    "Specification",
    "Vectors",
    "exact",
    "gated",
    "make",
    "of_operator",
    "regimes",
    "roundings_of",
    "ulp",
    "vectors",
]
