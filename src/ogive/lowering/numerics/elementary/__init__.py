"""The arithmetic of the elementary functions, for every floating-point format: a file for each family.

Each file puts its rules on the rows of its functions (ogive.graph.elementary_functions), and says how these magnify errors (function_row.py). A rule gets the arithmetic of a
format and its operands as double words (`DoubleWord`), and returns one whose relative error is a small fraction of a unit in
the last place. Rules handle infinities and overflow by clamping the operand where the result has already reached its
limit; NaN passes through. A new file is imported here.
"""

from ogive.lowering.numerics.elementary import (  # noqa: F401
    error_function,
    exponential,
    extremes,
    gates,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    trigonometric,
)
