"""Passes from graph to graph: fold, then lower. fuse combines several programs into one.

`lower` has the strategies (exact, exact_rows, fast_contract, reals, integers), policy, which says which arithmetic computes a
formula, and cost, which chooses between programs with the same bits. They know no target.
"""
