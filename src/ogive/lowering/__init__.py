"""Passes from graph to graph: fold, then lower. fuse combines several programs into one.

`lower` chooses among exact, exact_rows, fast_contract, fast_rows, integers, and untested_elements and untested_rows; `cost` chooses
between programs with the same bits. They know no target.
"""
