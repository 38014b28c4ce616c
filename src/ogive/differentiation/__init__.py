"""Derivatives of formulas: graphs to graphs, which know nothing of operators.

``partials.py`` has the rule of every kind of node, ``tangents.py`` applies it forwards, and ``algebra.py`` simplifies.
"""
