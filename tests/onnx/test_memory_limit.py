"""The memory limit of a run holds before memory is taken, in every function of a node."""

import json
import subprocess
import sys

import numpy as np
import pytest

import ogive.onnx
from ogive import _native
from ogive.errors import ModelError
from tests.onnx.models import text_model

LIMIT = 1 << 27

#: Nodes whose result, or what lies beside it, would have a GiB. `a` sees 100 million bytes that take no memory themselves.
PROLOGUE = """
    n = Constant <value_ints = [100000000]> ()  v = Constant <value_ints = [10000, 10000]> ()
    o = Constant <value_ints = [1]> ()  z = Constant <value_int = 0> ()  g = Constant <value_int = 1000000000> ()
    a = Expand(x, n)  m = Expand(x, v)  q = Cast <to = 9> (a)  f = Constant <value_floats = [0.0, 1.0]> ()
    c = Constant <value_ints = [16000000]> ()  j = Expand(z, c)  l = Unsqueeze(j, o)  r = Not(q)
    w = Constant <value = double[1, 16] {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}> ()
"""
#: Arrays of a GiB and more that Expand makes of one element, so that they take no memory themselves.
_BYTES = "s = Constant <value_ints = [1, 4, 16384, 16384]> ()  e = Expand(x, s)  "
_FLOATS = "b = Constant <value_float = 0.5> ()  s = Constant <value_ints = [16384, 16384]> ()  e = Expand(b, s)  "
_MORE = "b = Constant <value_float = 0.5> ()  s = Constant <value_ints = [40000, 40000]> ()  e = Expand(b, s)  "
_CHANNELS = "b = Constant <value_float = 0.5> ()  s = Constant <value_ints = [1, 4, 8192, 8192]> ()  e = Expand(b, s)  "
_COLUMN = "b = Constant <value_float = 0.5> ()  s = Constant <value_ints = [300000000, 1]> ()  e = Expand(b, s)  "
_SCORES = _FLOATS + "k = Constant <value_ints = [16384]> ()  t = Expand(z, k)  "
NODES = {
    "OneHot": "d = Constant <value_int = 1073741824> ()  i = Cast <to = 3> (f)  y = OneHot(z, d, i)",
    "OneHot of float indices": "d = Constant <value_int = 268435456> ()  k = Constant <value_float = 1.0> ()  y = OneHot(k, d, f)",
    "Range of int64": "s = Constant <value_int = 1> ()  e = Constant <value_int = 134217728> ()  y = Range(z, e, s)",
    "Range of float": "b = Constant <value_float = 0.0> ()  s = Constant <value_float = 1.0> ()  "
    "e = Constant <value_float = 268435456.0> ()  y = Range(b, e, s)",
    "Expand": "s = Constant <value_ints = [1073741824]> ()  y = Expand(x, s)",
    "ConstantOfShape": "s = Constant <value_ints = [268435456]> ()  y = ConstantOfShape(s)",
    "Tile": "s = Constant <value_ints = [1073741824]> ()  y = Tile(x, s)",
    **{
        f"Pad {mode}": f's = Constant <value_ints = [0, 1073741824]> ()  y = Pad <mode = "{mode}"> (x, s)'
        for mode in ("constant", "edge", "wrap")
    },
    "CenterCropPad": "s = Constant <value_ints = [1073741824]> ()  y = CenterCropPad(x, s)",
    "Concat": "y = Concat <axis = 0> (" + ", ".join(["a"] * 11) + ")",
    "Gather": "y = Gather(w, j)",
    "GatherElements": "y = GatherElements(j, j)",
    "GatherND": "y = GatherND(w, l)",
    "ScatterElements": "y = ScatterElements(j, j, j)",
    "ScatterND": "y = ScatterND(j, l, j)",
    "Compress": "y = Compress(a, r)",
    "NonZero": "y = NonZero(r)",
    "TopK": "k = Constant <value_ints = [1]> ()  y, i = TopK(a, k)",
    "Trilu": "y = Trilu(m)",
    "EyeLike": "y = EyeLike <dtype = 1> (m)",
    "CumSum": "h = Cast <to = 7> (a)  y = CumSum(h, z)",
    "Cast": "y = Cast <to = 11> (a)",
    "Cast to text": "y = Cast <to = 8> (a)",
    "ReverseSequence": "s = Expand(n, n)  y = ReverseSequence(m, s)",
    "QuantizeLinear": "h = Cast <to = 1> (a)  s = Constant <value_float = 1.0> ()  y = QuantizeLinear(h, s)",
    "DequantizeLinear": "s = Constant <value_float = 1.0> ()  y = DequantizeLinear(a, s)",
    "ArgMax": "h = Cast <to = 1> (a)  y = ArgMax(h)",
    "ReduceSum": "h = Cast <to = 11> (a)  y = ReduceSum(h)",
    "DepthToSpace": _BYTES + "y = DepthToSpace <blocksize = 2> (e)",
    "SpaceToDepth": _BYTES + "y = SpaceToDepth <blocksize = 2> (e)",
    "SoftmaxCrossEntropyLoss": _SCORES + 'y = SoftmaxCrossEntropyLoss <reduction = "none"> (e, t)',
    "SoftmaxCrossEntropyLoss, probabilities": _SCORES + "v2, y = SoftmaxCrossEntropyLoss(e, t)",
    "NegativeLogLikelihoodLoss": 'k = Constant <value_ints = [1, 4, 16384, 8192]> ()  b = Constant <value_float = 0.5> ()  e = Expand(b, k)  k2 = Constant <value_ints = [1, 16384, 8192]> ()  t = Expand(z, k2)  y = NegativeLogLikelihoodLoss <reduction = "none"> (e, t)',
    "Softmax": _FLOATS + "y = Softmax(e)",
    "LogSoftmax": _FLOATS + "y = LogSoftmax <axis = 0> (e)",
    "Hardmax": _FLOATS + "y = Hardmax(e)",
    "LayerNormalization": _FLOATS
    + "k = Constant <value_ints = [16384]> ()  c2 = Expand(b, k)  y = LayerNormalization(e, c2)",
    "LpNormalization": _FLOATS + "y = LpNormalization(e)",
    "DynamicQuantizeLinear": _MORE + "y, p1, p2 = DynamicQuantizeLinear(e)",
    "CastLike": _FLOATS + "d = Constant <value = double[1] {0.0}> ()  y = CastLike(e, d)",
    "Split": _FLOATS + "y, y2 = Split <axis = 1, num_outputs = 2> (e)",
    "Dropout": _MORE + "y2, y = Dropout(e)",
    "Relu": _FLOATS + "y = Relu(e)",
    "Where": _FLOATS + "q2 = Constant <value = bool[1] {1}> ()  y = Where(q2, e, b)",
    "IsInf": _MORE + "y = IsInf(e)",
    "Mod": _FLOATS + "y = Mod <fmod = 1> (e, b)",
    "BitShift": 'u = Constant <value = uint32[1] {1}> ()  s = Constant <value_ints = [16384, 16384]> ()  e = Expand(u, s)  y = BitShift <direction = "LEFT"> (e, u)',
    "ArgMin": "b = Constant <value_float = 0.5> ()  s = Constant <value_ints = [150000000, 1]> ()  e = Expand(b, s)  y = ArgMin <axis = 1> (e)",
    "ReduceLogSumExp": _COLUMN + "o2 = Constant <value_ints = [1]> ()  y = ReduceLogSumExp(e, o2)",
    "ReduceMax": _COLUMN + "o2 = Constant <value_ints = [1]> ()  y = ReduceMax(e, o2)",
    "TopK of columns": _FLOATS + "k = Constant <value_ints = [16384]> ()  y, i = TopK <axis = 0> (e, k)",
    "Reshape of a transposed array": _BYTES
    + "t = Transpose <perm = [3, 2, 1, 0]> (e)  k = Constant <value_ints = [-1]> ()  y = Reshape(t, k)",
    "Flatten": _BYTES + "t = Transpose(e)  y = Flatten(t)",
    "Sum of many": _FLOATS + f"y = Sum({', '.join(['e'] * 70)})",
    "GroupNormalization": _CHANNELS
    + "k = Constant <value_floats = [1.0, 1.0, 1.0, 1.0]> ()  y = GroupNormalization <num_groups = 2> (e, k, k)",
    "InstanceNormalization": _CHANNELS
    + "k = Constant <value_floats = [1.0, 1.0, 1.0, 1.0]> ()  y = InstanceNormalization(e, k, k)",
    "BatchNormalization": _CHANNELS
    + "k = Constant <value_floats = [1.0, 1.0, 1.0, 1.0]> ()  y = BatchNormalization(e, k, k, k, k)",
    "MeanVarianceNormalization": _CHANNELS + "y = MeanVarianceNormalization(e)",
    "BlackmanWindow": "k = Constant <value_int = 536870912> ()  y = BlackmanWindow(k)",
    "HannWindow": "k = Constant <value_int = 536870912> ()  y = HannWindow <output_datatype = 11> (k)",
    "AffineGrid": "k = Constant <value_ints = [1, 1, 16384, 16384]> ()  g2 = Constant <value = float[1, 2, 3] {1.0, 0.0, 0.0, 0.0, 1.0, 0.0}> ()  y = AffineGrid(g2, k)",
    "Transpose": "t = Transpose(m)  u = Identity(t)  y = Concat <axis = 0> (" + ", ".join(["u"] * 11) + ")",
}

CODE = """
import json, resource, sys
import numpy as np, ogive.onnx
from onnx import parser
from ogive.errors import OgiveError
ogive.set_num_threads(1)
from ogive.backends import compiler
compiler.version()
ogive.operator(lambda x: x + 17.5)(np.ones(3, np.float32))
most = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for text in json.loads(sys.argv[2]):
    try:
        limit = None if sys.argv[1] == "None" else int(sys.argv[1])
        model = ogive.onnx.load(parser.parse_model(text), memory_limit=limit)
        found = "it ran: " + str({k: v.nbytes for k, v in model.run({"x": np.int8([0])}).items()})
    except OgiveError as error:
        found = f"{type(error).__name__}: {error}"
    except MemoryError as error:
        found = f"!!! {error!r}"
    print(json.dumps(found))
"""


@pytest.mark.matrix(share=9, pool="slow")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of the address space are Linux's")
@pytest.mark.parametrize("limit", [LIMIT, None], ids=["stated", "of the machine"])
def test_a_gibibyte_is_refused_before_it_is_taken(limit):
    opsets = '<ir_version: 10, opset_import: ["" : 21]>'
    models = [f"{opsets} t (int8[1] x) => (y) {{ {PROLOGUE} {node} }}" for node in NODES.values()]
    command = [sys.executable, "-c", CODE, str(limit), json.dumps(models)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    found = dict(zip(NODES, map(json.loads, answer.stdout.splitlines()), strict=False))
    assert answer.returncode == 0, f"{list(NODES)[len(found)]}: {answer.stderr[-2000:]}"
    wrong = {name: text for name, text in found.items() if "the memory limit" not in text}
    assert wrong == {}, json.dumps(wrong, indent=1)
    assert len(found) == len(NODES)


def test_a_later_run_is_refused_too():
    """The plan of the first run serves the second, whose values ask for more."""
    model = ogive.onnx.load(
        text_model("t (int64[1] d, int64[3] i, int8[2] v) => (int8[?, ?] y) { y = OneHot(i, d, v) }"),
        memory_limit=1 << 22,
    )
    given = {"i": np.int64([0, 1, 5]), "v": np.int8([2, 7])}
    right = np.int8([[7, 2], [2, 7], [2, 2]])
    for _ in range(2):
        np.testing.assert_array_equal(model.run({"d": np.int64([2]), **given})["y"], right)
    with pytest.raises(
        ModelError, match="it needs an array of 300000000 bytes beside the .*; allowed: 4194304, the memory limit"
    ):
        model.run({"d": np.int64([100_000_000]), **given})
    np.testing.assert_array_equal(model.run({"d": np.int64([2]), **given})["y"], right)


class TooLarge(Exception):
    pass


def test_a_call_within_a_limit():
    inside = _native.call_within(1000, TooLarge, np.zeros, 100)
    assert inside.tolist() == [0.0] * 100
    for wanted in (lambda: np.empty(200), lambda: np.zeros((1 << 40, 1 << 15)), lambda: np.ones(100) + np.ones(100)):
        with pytest.raises(TooLarge, match=r"^\d+$"):
            _native.call_within(1000, TooLarge, wanted)
    # Memory that is given back may be taken again, and arrays of a limit that is over may change their size.
    assert _native.call_within(1000, TooLarge, lambda: [np.ones(100).sum() for _ in range(50)]) == [100.0] * 50
    inside.resize(1 << 12, refcheck=False)
    assert inside.sum() == 0
    with pytest.raises(ZeroDivisionError):
        _native.call_within(1000, TooLarge, lambda: 1 // 0)
    with pytest.raises(TypeError, match="call_within takes"):
        _native.call_within(1)


def test_limits_inside_of_limits():
    with pytest.raises(ValueError, match="1600"):  # the innermost call says it
        _native.call_within(1000, TooLarge, _native.call_within, 1 << 20, ValueError, np.empty, 200)
    with pytest.raises(ValueError, match="1600"):
        _native.call_within(1 << 20, TooLarge, _native.call_within, 1000, ValueError, np.empty, 200)
