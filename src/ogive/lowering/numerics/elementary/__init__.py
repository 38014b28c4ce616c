"""The arithmetic of the elementary functions, for every floating-point format: a file for each family.

Each file has the forms of its functions for each level: in double words, which serve several formats, in float32, and in pairs of
float32. At its end rows name them (function_row.py), and say how the functions magnify errors. A rule in double words gets the
arithmetic of a format and its operands (`DoubleWord`), and returns a number whose relative error is a small fraction of a unit in
the last place. Rules handle infinities and overflow by clamping the operand where the result has already reached its
limit; NaN passes through. A new file is imported here.
"""

from ogive.lowering.numerics.elementary import (  # noqa: F401
    error_function,
    exponential,
    extremes,
    gates,
    hyperbolic,
    inverse_error_function,
    inverse_hyperbolic,
    inverse_trigonometric,
    log_normal_distribution,
    logarithm,
    power,
    trigonometric,
)
