"""The activation operators of DirectML and ONNX: written once as formulas, compiled to SIMD code.

>>> import numpy as np, ogive
>>> ogive.celu(np.float32([-1.0, 2.0]), alpha=1.5)
array([-0.7298743,  2.       ], dtype=float32)

``ogive.operator`` makes an operator of your own formula; ``ogive.directml`` and ``ogive.onnx`` are the two
standards' front ends. Importing this package loads no compiler.
"""

from ogive import formula
from ogive.catalog.activations import (
    celu,
    clip,
    elu,
    gelu,
    hard_sigmoid,
    hard_swish,
    identity,
    leaky_relu,
    linear,
    mish,
    parametric_hard_swish,
    parametric_softplus,
    prelu,
    relu,
    relu_grad,
    scaled_tanh,
    selu,
    shrink,
    sigmoid,
    softplus,
    softsign,
    swiglu,
    swish,
    tanh,
    thresholded_relu,
)
from ogive.catalog.elementwise import abs, add, div, mul, neg, sub
from ogive.catalog.rowwise import hardmax, log_softmax, softmax
from ogive.operator import Operator, RowOperator, operator, row_operator
from ogive.runtime.threads import get_num_threads, set_num_threads

__all__ = [
    "Operator",
    "RowOperator",
    "abs",
    "add",
    "celu",
    "clip",
    "div",
    "elu",
    "formula",
    "gelu",
    "get_num_threads",
    "hard_sigmoid",
    "hard_swish",
    "hardmax",
    "identity",
    "leaky_relu",
    "linear",
    "log_softmax",
    "mish",
    "mul",
    "neg",
    "operator",
    "parametric_hard_swish",
    "parametric_softplus",
    "prelu",
    "relu",
    "relu_grad",
    "row_operator",
    "scaled_tanh",
    "selu",
    "set_num_threads",
    "shrink",
    "sigmoid",
    "softmax",
    "softplus",
    "softsign",
    "sub",
    "swiglu",
    "swish",
    "tanh",
    "thresholded_relu",
]

__version__ = "0.1.0"
