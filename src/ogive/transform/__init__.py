"""From the graph of a formula to the instructions of a program.

``fold`` binds parameters; ``lower`` chooses how a graph is computed and calls ``reals`` or ``integers``, which make the
instructions with ``wide``, ``machine``, ``rounding`` and ``rowwise``, and ask ``interval`` what can be left out. ``islands``
and ``fuse`` join several graphs into one program.
"""
