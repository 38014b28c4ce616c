"""A bound that is NaN is no bound, as docs/onnx.md says; DirectML and WebNN refuse it."""

import numpy as np
import pytest

import ogive.directml as dml
import ogive.onnx
import ogive.webnn as webnn
from ogive.errors import OgiveError
from tests.onnx.models import node_model

X = np.float32([-3, 0.5, 3])
NAN, ONE = np.array(np.nan, np.float32), np.array(1, np.float32)


def test_a_bound_that_is_nan_is_no_bound():
    assert ogive.clip(X, NAN, ONE).tolist() == [-3, 0.5, 1]
    model = ogive.onnx.load(node_model("Clip", 13, [("x", X), ("low", NAN), ("high", ONE)]))
    assert model(x=X, low=NAN, high=ONE).tolist() == [-3, 0.5, 1]
    assert model(x=X, low=ONE, high=NAN).tolist() == [1, 1, 3]
    model = ogive.onnx.load(node_model("Clip", 6, [("x", X)], {"min": float("nan"), "max": 1.0}))
    assert model(x=X).tolist() == [-3, 0.5, 1]


def test_directml_and_webnn_refuse_it():
    tensor = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[1, 1, 1, 3])
    with pytest.raises(dml.DMLError, match="Min is NaN; allowed: any number but NaN"):
        dml.Device().CreateOperator(
            dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(InputTensor=tensor, OutputTensor=tensor, Min=np.nan, Max=1.0)
        )
    builder = webnn.MLGraphBuilder(webnn.MLContext())
    x = builder.input("x", {"dataType": "float32", "shape": [2]})
    with pytest.raises(OgiveError, match="minValue is nan"):
        builder.clamp(x, {"minValue": np.nan, "maxValue": 1.0})
