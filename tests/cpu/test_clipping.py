"""`clip` and `clamp` take every usual call, with the same bits, and each names the other where it cannot help."""

import inspect
import math
import pickle

import numpy as np
import pytest

import ogive
import ogive.directml as dml
import ogive.onnx
import ogive.webnn as webnn
from ogive.errors import ArgumentError, OgiveError, ParameterError
from tests.inputs import assert_same_bits
from tests.onnx.models import node_model

X = np.array([-np.inf, -7, -0.0, 0, 0.5, 6, 9, np.inf, np.nan])
TYPES = ["float16", "float32", "float64", "int8", "int32", "uint16"]

BOTH = [
    ("f(x, 0, 6)", 0, 6),
    ("f(x, 0, max=6)", 0, 6),
    ("f(x, min=0, max=6)", 0, 6),
    ("f(x, max=6, min=0)", 0, 6),
    ("f(x, 0)", 0, None),
    ("f(x, 0, None)", 0, None),
    ("f(x, min=0)", 0, None),
    ("f(x, min=0, max=None)", 0, None),
    ("f(x, None, 6)", None, 6),
    ("f(x, max=6)", None, 6),
    ("f(x, None, max=6)", None, 6),
    ("f(x, min=None, max=6)", None, 6),
    ("f(x, None, None)", None, None),
    ("f(x)", None, None),
]


def data(dtype):
    return X.astype(dtype) if dtype.startswith("float") else np.array([0, 3, 6, 7, 100], dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["clip", "clamp"])
@pytest.mark.parametrize(("call", "low", "high"), BOTH, ids=[call for call, _, _ in BOTH])
def test_every_usual_call(name, call, low, high, dtype):
    f, x = getattr(ogive, name), data(dtype)
    limits = (-np.inf, np.inf) if dtype.startswith("float") else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    # One way of calling each is the formula's own, which the other tests hold against its definition.
    low, high = limits[0] if low is None else low, limits[1] if high is None else high
    wanted = ogive.clip(x, np.array(low, dtype), np.array(high, dtype))
    result = eval(call, {"f": f, "x": x})
    assert result.dtype == x.dtype
    assert_same_bits(result, wanted)
    out = np.empty_like(x)
    assert eval(call[:-1] + ", out=out)", {"f": f, "x": x, "out": out}) is out
    assert_same_bits(out, wanted)


def test_arrays_as_bounds_broadcast_and_promote():
    x = np.arange(-3, 4, dtype=np.int8)
    low = np.array([[-1], [0]], np.int16)
    assert_same_bits(ogive.clip(x, min=low), np.maximum(x, low))
    assert_same_bits(ogive.clip(x, None, low), np.minimum(x, low))
    assert ogive.clip([-2.0, 2.0], max=[1.0, 3.0]).tolist() == [-2, 2]
    assert ogive.clip(5, None, 3) == 3


def test_which_bound_wins():
    assert ogive.clip(1.0, min=3, max=2) == 2
    assert ogive.clip(1.0, min=3, max=2, wins="min") == 3
    assert ogive.clip(1.0, min=3, wins="max") == 3
    assert ogive.clip(1.0, max=0, wins="min") == 0


def test_in_a_formula():
    @ogive.operator
    def both(x):
        return ogive.clip(x, None, 6) + 10 * ogive.clamp(x, 0) + 100 * ogive.clip(x, min=-1, max=1)

    assert both([-7.0, 0.5, 9.0]).tolist() == [-107, 55.5, 196]


def test_bound_and_pickled():
    above = ogive.clamp.bind(min=0)
    assert above([-1.0, math.inf]).tolist() == [0, math.inf]
    assert pickle.loads(pickle.dumps(above)) is above
    assert ogive.clamp.bind(min=0, max=None) is above
    assert pickle.loads(pickle.dumps(ogive.clip)) is ogive.clip


def test_signatures_are_those_of_numpy():
    assert str(inspect.signature(ogive.clip)) == "(x, min=None, max=None, *, wins='max')"
    assert str(inspect.signature(ogive.clamp)) == "(x, min=None, max=None)"


USUAL = r"x, min and max, by position or by name: {0}\(x, 0, 6\), {0}\(x, min=0, max=6\), {0}\(x, None, 6\)"
WRONG = [
    ("clip()", ArgumentError, "clip: no arguments were given by position; allowed: " + USUAL.format("clip")),
    ("clamp()", ArgumentError, "clamp: no arguments were given by position; allowed: " + USUAL.format("clamp")),
    ("clip(x, 0, 6, 7)", ArgumentError, "clip: 4 arguments were given by position"),
    ("clamp(x, 0, 6, 7)", ArgumentError, "clamp: 4 arguments were given by position"),
    ("clip(None, 0, 6)", ArgumentError, "clip: x is None"),
    ("clamp(None, 0)", ArgumentError, "clamp: x is None"),
    ("clip(x, 0, min=1)", ArgumentError, "clip: min is given twice; allowed: once, by position or by name"),
    ("clamp(x, 0, 6, max=1)", ArgumentError, "clamp: max is given twice"),
    ("clip(x, 0, 6, min=1)", ArgumentError, "min is an array here: .*ogive.clamp.bind"),
    ("clip.bind(min=0)", ArgumentError, r"cannot be bound. ogive.clamp.bind\(min=0, max=6\) binds numbers"),
    ("clip(x, mim=0)", ArgumentError, "clip: there is no parameter 'mim'; allowed: wins, min, max, out"),
    ("clamp(x, mim=0)", ArgumentError, "clamp: there is no parameter 'mim'; allowed: min, max, out"),
    ("clamp(x, mim=None)", ArgumentError, "clamp: there is no parameter 'mim'; allowed: min, max, out"),
    ("clip(x, 0, wins='both')", ParameterError, "clip: wins is 'both'; allowed: 'max', 'min'"),
    ("clamp(x, min=x)", ParameterError, r"min is an array of shape \(9,\).* For arrays use ogive.clip\(x, min, max\)"),
    ("clamp(x, x, 1)", ParameterError, r"For arrays use ogive.clip\(x, min, max\)"),
    ("clamp(x, math.nan)", ParameterError, "clamp: min is nan; allowed: any number but NaN"),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG, ids=[call for call, _, _ in WRONG])
def test_wrong_calls(call, error, text):
    with pytest.raises(error, match=text):
        eval(f"ogive.{call}", {"ogive": ogive, "x": X, "math": math})


# ---- a bound that is NaN is no bound, as docs/onnx.md says; DirectML and WebNN refuse it


CLIPPED = np.float32([-3, 0.5, 3])
NAN, ONE = np.array(np.nan, np.float32), np.array(1, np.float32)


def test_a_bound_that_is_nan_is_no_bound():
    assert ogive.clip(CLIPPED, NAN, ONE).tolist() == [-3, 0.5, 1]
    model = ogive.onnx.load(node_model("Clip", 13, [("x", CLIPPED), ("low", NAN), ("high", ONE)]))
    assert model(x=CLIPPED, low=NAN, high=ONE).tolist() == [-3, 0.5, 1]
    assert model(x=CLIPPED, low=ONE, high=NAN).tolist() == [1, 1, 3]
    model = ogive.onnx.load(node_model("Clip", 6, [("x", CLIPPED)], {"min": float("nan"), "max": 1.0}))
    assert model(x=CLIPPED).tolist() == [-3, 0.5, 1]


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
