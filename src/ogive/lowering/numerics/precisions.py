"""The precisions of arithmetic with bounds: one row for each, with the constants of its bounds.

A precision computes in one number of a format, or in two **words** (an unevaluated sum). The rules of functions have an error for
each of three ways (`elementary/own_errors.py`): *promoted* (one float64, for results of float32), *in words* (two float64, short
polynomials) and *corrected* (two float64, long polynomials).

    row                         way         results               where
    SINGLE_FOR_FLOAT16          float32     float16               first level of elements
    SINGLE_FOR_BFLOAT16         float32     bfloat16              first level of elements
    PROMOTED                    promoted    float32 and shorter   level of elements and rows
    PROMOTED_USUAL              promoted    float32 and shorter   rows whose results are finite
    IN_WORDS                    in words    float64               first level of elements and rows
    CORRECTED                   corrected   any                   parts of rows; elements of 64-bit integers
    CORRECTED_ELEMENTS          corrected   float32 and shorter   level before enclosures
    CORRECTED_ROWS              corrected   float32 and shorter   level before enclosures
    CORRECTED_DOUBLES           corrected   float64               level before enclosures
    CORRECTED_ROWS_OF_DOUBLES   corrected   float64               level before enclosures
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ogive.graph.expression import Format

#: The loss by underflow, and more: for results of float64, and for others. A subnormal addend of an FMA takes some processors 150
#: cycles.
LOST, LOST_OF_SHORTER = 2.0**-1070, 2.0**-1000

#: Below this an absolute bound is next to nothing: beside numbers 2**64 times as large it is a relative 2**-64.
NEXT_TO_NOTHING = 2.0**-200


@dataclass(frozen=True)
class Precision:
    """The numbers that an arithmetic computes in, and what their bounds take and follow."""

    form: Format
    goal: Format
    """The format of the results, at most."""
    unit: float
    """The relative error of an operation."""
    rounding: float
    """The error of the nearest number of the format, relative to a constant."""
    useful: float
    """Beyond this a bound computed from an interval is worse than one that runs beside the value."""
    safe: float
    """Beyond this double-word numbers may lose their lower parts. Those of `IN_WORDS` have to reach float64's ends."""
    small: float
    """Below this operations may underflow."""
    share_of_static: float
    """The share that a bound with a static part becomes where one has to be relative."""
    lost: float
    """The loss by underflow, and more."""
    next_to_nothing: float = NEXT_TO_NOTHING
    """Static bounds up to this need not run beside the value."""
    least_bound: float = 0.0
    """No constant bound is smaller, nor is a product of it subnormal: such an operand takes some processors 150 cycles."""
    is_long: bool = False
    """Whether numbers have two words, and functions the long polynomials: *corrected*."""
    of_doubles: bool = False
    """Whether results are of float64."""
    follows_zeros: bool = False
    """Whether bounds say where products and functions are exactly zero, and on which side of it. Sums of rows need to know."""
    follows_exactness: bool = False
    """Whether bounds say where numbers are exact as elements happen to be, and which numbers are NaN for certain."""
    follows_vast: bool = False
    """Whether bounds say which numbers are vast (beyond_range.py). Else these are in doubt."""
    follows_far: bool = False
    """Whether bounds say which numbers beside a power of two are far (beyond_range.py). Else these are in doubt."""
    follows_rests: bool = False
    """Whether bounds say where a sum, product or quotient of exact numbers leaves no rest: results of few operations are ties often."""
    is_usual: bool = False
    """Whether results that are infinite or NaN are undecided, so that no bound says where NaN may be another number."""


#: Next to the smallest number of float16 a product of 2**-60 is nothing; bfloat16 reaches as far as float32 does.
SINGLE_FOR_FLOAT16 = Precision(
    form=Format.F32,
    goal=Format.F16,
    unit=2.0**-24,
    rounding=2.0**-24,
    useful=2.0**-14,  # 16-bit results need no better operands
    safe=2.0**127,
    small=2.0**-126,
    share_of_static=2.0**-64,
    lost=2.0**-149,
    next_to_nothing=2.0**-60,
    least_bound=2.0**-60,
)
SINGLE_FOR_BFLOAT16 = replace(SINGLE_FOR_FLOAT16, goal=Format.BF16, next_to_nothing=2.0**-140, least_bound=2.0**-100)

PROMOTED = Precision(
    form=Format.F64,
    goal=Format.F32,
    unit=2.0**-53,
    rounding=2.0**-53,
    useful=2.0**-41,
    safe=2.0**1020,
    small=2.0**-1022,
    share_of_static=2.0**-64,
    lost=LOST_OF_SHORTER,
)
PROMOTED_USUAL = replace(PROMOTED, is_usual=True)

CORRECTED = Precision(
    form=Format.F64,
    goal=Format.F64,
    unit=2.0**-95,
    rounding=2.0**-105,
    useful=2.0**-60,
    safe=2.0**900,
    small=2.0**-960,
    share_of_static=2.0**-64,
    lost=LOST_OF_SHORTER,
    is_long=True,
)
CORRECTED_ELEMENTS = replace(CORRECTED, follows_exactness=True, follows_vast=True)
CORRECTED_ROWS = replace(CORRECTED, follows_zeros=True, share_of_static=2.0**-96)
CORRECTED_DOUBLES = replace(
    CORRECTED,
    safe=2.0**1020,
    of_doubles=True,
    follows_exactness=True,
    follows_far=True,
    share_of_static=2.0**-110,
    lost=LOST,
)
# Rows are scaled by one of several powers of two: a static bound would be that of the largest. And sums lose no lower parts.
CORRECTED_ROWS_OF_DOUBLES = replace(CORRECTED_DOUBLES, follows_zeros=True, follows_far=False, next_to_nothing=2.0**-900)

IN_WORDS = replace(CORRECTED, is_long=False, of_doubles=True, safe=math.inf, share_of_static=2.0**-80, lost=LOST)
