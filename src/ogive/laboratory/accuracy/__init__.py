"""How accurate an operator is: over every input, or where there are too many, on samples and around the worst.

`ulp` is the unit, `measure` goes through the inputs, `report` is what was found, as data that can be kept.
`misrounded` counts the results that are not correctly rounded; `running_bound` tells quickly which are.
"""

from ogive.laboratory.accuracy.measure import fingerprint, sample, sample_rows, sweep
from ogive.laboratory.accuracy.misrounded import Misrounded, count_misrounded
from ogive.laboratory.accuracy.report import BINS, ErrorReport
from ogive.laboratory.accuracy.ulp import error_in_ulp

__all__ = [
    "BINS",
    "ErrorReport",
    "Misrounded",
    "count_misrounded",
    "error_in_ulp",
    "fingerprint",
    "sample",
    "sample_rows",
    "sweep",
]
