"""Operators that users call: their signatures, the tracing of their formulas, the arrays that they take."""
