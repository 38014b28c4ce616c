"""Operators of a user, which `ogive accuracy` and `ogive show` import."""

import numpy as np

import ogive


@ogive.operator
def shrinkage(x):
    """The part that tanh takes away: ``x - tanh(x)``."""
    return x - np.tanh(x)


@ogive.operator
def gated(x, gate, *, slope=1.0):
    """x times the logistic function of the gate: ``x * sigmoid(slope * gate)``."""
    return x * ogive.sigmoid(slope * gate)


@ogive.row_operator()
def without_sum(x):
    """A row with its sum taken away: ``x - row_sum(x)``."""
    return x - ogive.formula.row_sum(x)


steep = gated.bind(slope=3.0)


def plain(x):
    return x


class Inside:
    operator = shrinkage
