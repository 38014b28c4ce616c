"""The elementary functions as arithmetic: one rule each, for every floating-point format.

A rule gets the arithmetic of a format and its argument as a wide number, and returns a wide number whose
relative error is a small fraction of a unit in the last place. Rules handle infinities and overflow by
clamping the argument where the result has already reached its limit; NaN passes through.
"""

from __future__ import annotations

from collections.abc import Callable

from ogive.elementary.error_function import erf, erfc, final_erf, normal_tail
from ogive.elementary.exponential import exp, expm1, final_exp, logistic, rough_exp
from ogive.elementary.extremes import larger, smaller
from ogive.elementary.hyperbolic import cosh, sinh, tanh
from ogive.elementary.inverse_hyperbolic import acosh, asinh, atanh
from ogive.elementary.inverse_trigonometric import acos, asin, atan, atan2
from ogive.elementary.logarithm import log, log1p
from ogive.elementary.power import power
from ogive.elementary.remainder import remainder
from ogive.elementary.trigonometric import cos, sin, tan
from ogive.transform.wide import Wide

__all__ = ["FINAL", "LINEAR_AT_ZERO", "LOSES_SUBNORMALS", "ROUGH", "RULES"]

RULES: dict[str, Callable[..., Wide]] = {
    "acos": acos,
    "acosh": acosh,
    "asin": asin,
    "asinh": asinh,
    "atan": atan,
    "atan2": atan2,
    "atanh": atanh,
    "cos": cos,
    "cosh": cosh,
    "erf": erf,
    "erfc": erfc,
    "exp": exp,
    "expm1": expm1,
    "larger": larger,
    "log": log,
    "log1p": log1p,
    "logistic": logistic,
    "normal_tail": normal_tail,
    "power": power,
    "remainder": remainder,
    "sin": sin,
    "sinh": sinh,
    "smaller": smaller,
    "tan": tan,
    "tanh": tanh,
}

#: The functions that are their argument near zero: f(u) = u (1 + O(u)).
LINEAR_AT_ZERO = frozenset({"asin", "asinh", "atan", "atanh", "expm1", "log1p", "sin", "sinh", "tan", "tanh"})

#: Those of them whose rule does not return a subnormal argument as it is: expm1 computes at half the size.
LOSES_SUBNORMALS = frozenset({"expm1"})

#: Cheaper rules, with one unit in the last place or so, for what goes into sums.
ROUGH: dict[str, Callable[..., Wide]] = {"exp": rough_exp}

#: Shorter rules for results in float32 themselves, of exact numbers: with an error which nothing that follows can
#: magnify.
FINAL: dict[str, Callable[..., Wide]] = {"erf": final_erf, "exp": final_exp}
