"""The objects that tests pickle and send to other processes, one of every kind that computes."""

import types

import numpy as np
import pytest

import ogive.directml as dml

X = np.float32([-2.5, -1, -0.0, 0, 0.25, 1, 3, np.inf, -np.inf, np.nan])
V = np.float32([-2, 0.25, 2])

#: Definitions of a notebook's cells: operators of a module that no other process can import.
NOTEBOOK = '''
from typing import Literal
import ogive
from ogive.formula import exp, row_sum, where

@ogive.operator
def leaky(x, *, slope=0.1):
    """Leaky."""
    return where(x >= 0, x, slope * x)

@ogive.row_operator()
def share(x):
    return x / row_sum(x)

double = ogive.operator(lambda x: 2 * x)

def make():
    @ogive.operator
    def either(x, *, kind: Literal["line", "curve"] = "line", gain=2.0):
        return gain * x if kind == "line" else gain * exp(x)

    return either

either = make()
'''


def notebook(name="__main__"):
    space = {"__name__": name}
    exec(NOTEBOOK, space)
    return types.SimpleNamespace(**space)


def shrink(device, flags=0):
    x = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[3], Flags=flags)
    y = x.replace(Flags=0)
    desc = dml.DML_ACTIVATION_SHRINK_OPERATOR_DESC(InputTensor=x, OutputTensor=y, Bias=0.5, Threshold=1.0)
    return device.CreateOperator(desc)


def built():
    graph = dml.Graph(dml.Device())
    x = graph.input([1, 3], name="x")
    weight = graph.input([1, 3], name="weight", owned=True)
    constant = graph.constant(np.float32([[1, 2, 3]]))
    return graph.compile([dml.activation_celu(x * 2.0 + constant, alpha=1.5) * weight]), x


def onnx_model(folder=None, **options):
    pytest.importorskip("onnx", reason="the models are ONNX's")
    import onnx
    from onnx import numpy_helper, parser

    import ogive.onnx

    text = """<ir_version: 8, opset_import: ["" : 14]>
        example (float[N] x) => (float[N] y, float[N] z) { y = Celu <alpha = 1.5> (x)  z = Add(y, w) }"""
    proto = parser.parse_model(text)
    proto.graph.initializer.append(numpy_helper.from_array(np.float32([1, 2, 3]), "w"))
    if folder is None:
        return ogive.onnx.load(proto, **options)
    onnx.save(proto, folder / "m.onnx", save_as_external_data=True, location="data.bin", size_threshold=0)
    return ogive.onnx.load(folder / "m.onnx", **options)
