"""How accurate an operator is: over every input, or where there are too many, on samples and round the worst.

`ulp` is the unit, `measure` goes through the inputs, `report` is what was found, as data that can be kept.
"""

from ogive.accuracy.measure import fingerprint, sample, sample_rows, sweep
from ogive.accuracy.report import BINS, Report
from ogive.accuracy.ulp import error_in_ulp

__all__ = ["BINS", "Report", "error_in_ulp", "fingerprint", "sample", "sample_rows", "sweep"]
