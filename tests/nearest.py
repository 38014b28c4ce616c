"""A judge of roundings, in fractions: it asks the neighbours of a number, and no code of Ogive's."""

from fractions import Fraction

import ml_dtypes
import numpy as np


def is_nearest(got, exact, kind):
    """Whether no neighbour of a number is nearer, and of two at the same distance it is the even one."""
    info = ml_dtypes.finfo(kind)
    largest = Fraction(float(info.max))
    beyond = largest + Fraction(float(info.max) - float(np.nextafter(info.max, kind.type(0)))) / 2
    if abs(exact) >= beyond:
        return float(got) == np.copysign(np.inf, float(exact > 0) - 0.5)
    distance = abs(Fraction(float(got)) - exact)
    for end in (np.inf, -np.inf):
        with np.errstate(over="ignore"):
            beside = float(np.nextafter(got, kind.type(end)))
        if np.isfinite(beside):
            other = abs(Fraction(beside) - exact)
            is_odd = int(got.view(f"u{kind.itemsize}")) & 1
            if other < distance or (other == distance and is_odd):
                return False
    return True
