"""Exponentials: a file for each function, and one for the tables of powers of two that pairs of float32 take."""

from ogive.lowering.numerics.elementary.exponential import exp, exp2, expm1, logistic  # noqa: F401
