"""The activation operators of DirectML and ONNX: written once as formulas, compiled to SIMD code.

>>> import numpy as np, ogive
>>> ogive.celu(np.float32([-1.0, 2.0]), alpha=1.5)
array([-0.7298743,  2.       ], dtype=float32)

``ogive.operator`` makes an operator of your own formula; ``ogive.directml`` and ``ogive.onnx`` are the two
standards' front ends. Importing this package loads no compiler.
"""

from ogive import formula
from ogive.catalog.activations import celu, prelu, relu, scaled_tanh, shrink, tanh
from ogive.catalog.elementwise import abs, add, div, mul, neg, sub
from ogive.operator import Operator, operator
from ogive.runtime.threads import get_num_threads, set_num_threads

__all__ = [
    "Operator",
    "abs",
    "add",
    "celu",
    "div",
    "formula",
    "get_num_threads",
    "mul",
    "neg",
    "operator",
    "prelu",
    "relu",
    "scaled_tanh",
    "set_num_threads",
    "shrink",
    "sub",
    "tanh",
]

__version__ = "0.1.0"
