"""WebNN: graphs of the W3C Web Neural Network API, in its own names, computed by the operators of Ogive.

>>> import numpy as np
>>> from ogive.webnn import MLContext, MLGraphBuilder
>>> context = MLContext()
>>> builder = MLGraphBuilder(context)
>>> x = builder.input("x", {"dataType": "float32", "shape": [2, 2]})
>>> y = builder.gelu(builder.mul(x, builder.constant("float32", 0.5)))
>>> graph = builder.build({"y": y})
>>> context.compute(graph, {"x": np.float32([[-1, 0], [1, 2]])})["y"]
array([[-0.15426877,  0.        ],
       [ 0.34573123,  0.8413448 ]], dtype=float32)

docs/webnn.md is the guide.
"""

from ogive.webnn.builder import MLGraphBuilder
from ogive.webnn.compiled_graph import MLGraph
from ogive.webnn.context import MLContext, MLTensor, createContext
from ogive.webnn.exceptions import InvalidStateError, MLTypeError, NotSupportedError
from ogive.webnn.operand import MLOperand

__all__ = [
    "InvalidStateError",
    "MLContext",
    "MLGraph",
    "MLGraphBuilder",
    "MLOperand",
    "MLTensor",
    "MLTypeError",
    "NotSupportedError",
    "createContext",
]
