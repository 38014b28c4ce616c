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
