"""Graphs of formulas: their nodes, the functions that nodes name, and the facts of each function."""
