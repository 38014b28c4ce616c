"""Derivatives of operators, which are operators: graph to graph, compiled like every formula.

:func:`grad` gives the derivative with respect to one argument, :func:`value_and_grad` the value beside it, :func:`vjp`
what back-propagation wants: the gradients of all operands, given that of the result.

``ogive.differentiation`` has the rules of all kinds of nodes and applies them forwards, ``derivatives.py`` backwards.
``registered.py`` has the derivatives that are written by hand, and ``operators.py`` makes operators of graphs.
"""

from __future__ import annotations

from ogive.gradients.operators import grad, value_and_grad, vjp

__all__ = ["grad", "value_and_grad", "vjp"]
