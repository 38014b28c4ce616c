"""Passes from graph to graph: fold, then lower. islands and fuse combine several programs into one.

`lower` has the strategies (reals, integers, rowwise, plain, usual, trial), the arithmetic they are written in (machine,
wide, interval, rounding) and the table of costs that chooses between them.
"""
