"""The activation operators of DirectML and ONNX, compiled from formulas."""

from ogive import formula
from ogive.catalog.activations import celu, prelu, relu, scaled_tanh, shrink, tanh
from ogive.operator import Operator, operator
from ogive.runtime.threads import get_num_threads, set_num_threads

__all__ = [
    "Operator",
    "celu",
    "formula",
    "get_num_threads",
    "operator",
    "prelu",
    "relu",
    "scaled_tanh",
    "set_num_threads",
    "shrink",
    "tanh",
]
__version__ = "0.1.0"
