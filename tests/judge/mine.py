"""Implementations that the tests judge."""

import numpy as np


def relu(x):
    return np.where(x > 0, x, 0).astype(x.dtype)


def good_tanh(x):
    return np.tanh(x.astype(np.float64)).astype(x.dtype)


not_callable = 3
