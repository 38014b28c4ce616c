"""The memory limit of a run holds before memory is taken, in every function of a node."""

import json
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable

import numpy as np
import pytest

import ogive.onnx
from ogive import _native
from ogive.errors import ModelError
from ogive.onnx import schemas
from ogive.onnx.casting import from_text, to_text
from ogive.onnx.data_types import DATA_TYPES
from tests.onnx.models import text_model

LIMIT = 1 << 27

#: The inputs: an element type, a value and a shape. Each repeats its one value, or the numbers of its first row where there is none,
#: and takes no memory.
INPUTS = {
    "x": ("int8", 0, (1,)),
    "BYTES": ("int8", 0, (100_000_000,)),
    "MATRIX": ("int8", 0, (10_000, 10_000)),
    "IMAGE": ("int8", 0, (1, 4, 16_384, 16_384)),
    "ZEROS": ("int64", 0, (16_000_000,)),
    "PLACES": ("int64", 0, (16_000_000, 1)),
    "LENGTHS": ("int64", 1, (16_384,)),
    "LABELS": ("int64", 0, (16_384,)),
    "FLOATS": ("float", 0.5, (16_384, 16_384)),
    "CUBE": ("float", 0.5, (2, 16_384, 16_384)),
    "WIDE": ("float", 0.5, (40_000, 40_000)),
    "LINE": ("float", 0.5, (300_000_000,)),
    "COLUMN": ("float", 0.5, (300_000_000, 1)),
    "CHANNELS": ("float", 0.5, (1, 4, 8_192, 8_192)),
    "POINTS": ("float", 0.5, (1, 300_000_000, 1)),
    "SCORES": ("float", 0.5, (1, 4, 16_384, 16_384)),
    "PIXELS": ("int64", 0, (1, 16_384, 16_384)),
    "ROWS": ("float", None, (16_384, 16_384)),
    "WHOLE": ("uint32", 1, (40_000, 40_000)),
    "TRUTHS": ("bool", True, (40_000, 40_000)),
    "TRUE": ("bool", True, (1 << 27,)),
}

#: Small values that nodes need.
PROLOGUE = """
    o = Constant <value_ints = [1]> ()  z = Constant <value_int = 0> ()  h = Constant <value_float = 0.5> ()
    f = Constant <value_floats = [0.0, 1.0]> ()  g = Constant <value_ints = [1073741824]> ()
    k = Constant <value_ints = [16384]> ()  c = Expand(h, k)  four = Constant <value_floats = [1.0, 1.0, 1.0, 1.0]> ()
    w = Constant <value = double[1, 16] {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}> ()
"""

#: Nodes whose results, or what lies beside them, would have a GiB.
NODES = {
    "OneHot": "d = Constant <value_int = 1073741824> ()  i = Cast <to = 3> (f)  y = OneHot(z, d, i)",
    "OneHot of float indices": "d = Constant <value_int = 268435456> ()  y = OneHot(h, d, f)",
    "Range of int64": "s = Constant <value_int = 1> ()  e = Constant <value_int = 134217728> ()  y = Range(z, e, s)",
    "Range of float": "b = Constant <value_float = 0.0> ()  s = Constant <value_float = 1.0> ()  "
    "e = Constant <value_float = 268435456.0> ()  y = Range(b, e, s)",
    "Expand": "y = Expand(x, g)",
    "ConstantOfShape": "y = ConstantOfShape(g)",
    "Tile": "y = Tile(x, g)",
    **{
        f"Pad {mode}": f's = Constant <value_ints = [0, 1073741824]> ()  y = Pad <mode = "{mode}"> (x, s)'
        for mode in ("constant", "edge", "wrap")
    },
    "CenterCropPad": "y = CenterCropPad(x, g)",
    "Concat": "y = Concat <axis = 0> (" + ", ".join(["BYTES"] * 11) + ")",
    "Concat of transposed arrays": "t = Transpose(MATRIX)  y = Concat <axis = 0> (" + ", ".join(["t"] * 11) + ")",
    "Gather": "y = Gather(w, ZEROS)",
    "GatherElements": "y = GatherElements(ZEROS, ZEROS)",
    "GatherND": "y = GatherND(w, PLACES)",
    "ScatterElements": "y = ScatterElements(ZEROS, ZEROS, ZEROS)",
    "ScatterND": "y = ScatterND(ZEROS, PLACES, ZEROS)",
    "Compress": "y = Compress <axis = 0> (LINE, TRUE)",
    "NonZero": "y = NonZero(TRUE)",
    "TopK": "y, i = TopK(WIDE, k)",
    "TopK of columns": "y, i = TopK <axis = 0> (FLOATS, k)",
    "Trilu": "y = Trilu(FLOATS)",
    "EyeLike": "y = EyeLike <dtype = 1> (FLOATS)",
    "CumSum": "y = CumSum(LINE, z)",
    "CumProd": "y = CumProd(FLOATS, z)",
    "Cast": "y = Cast <to = 11> (BYTES)",
    "Cast to text": "y = Cast <to = 8> (BYTES)",
    "CastLike": "d = Constant <value = double[1] {0.0}> ()  y = CastLike(FLOATS, d)",
    "BitCast": "y = BitCast <to = 6> (ROWS)",
    "ReverseSequence": "y = ReverseSequence(FLOATS, LENGTHS)",
    "QuantizeLinear": "y = QuantizeLinear(WIDE, h)",
    "DequantizeLinear": "y = DequantizeLinear(IMAGE, h)",
    "DynamicQuantizeLinear": "y, p1, p2 = DynamicQuantizeLinear(WIDE)",
    "ArgMax": "y = ArgMax <axis = 1> (COLUMN)",
    "ArgMin": "y = ArgMin <axis = 1> (COLUMN)",
    "DepthToSpace": "y = DepthToSpace <blocksize = 2> (IMAGE)",
    "SpaceToDepth": "y = SpaceToDepth <blocksize = 2> (IMAGE)",
    "Reshape": "j = Constant <value_ints = [-1]> ()  y = Reshape(ROWS, j)",
    "Flatten": "y = Flatten <axis = 0> (ROWS)",
    "Squeeze": "y = Squeeze(IMAGE)",
    "Unsqueeze": "y = Unsqueeze(FLOATS, z)",
    "Slice": "e = Constant <value_ints = [40000]> ()  s = Constant <value_ints = [1]> ()  y = Slice(WIDE, o, e, s)",
    "Transpose": "y = Transpose(FLOATS)",
    "SoftmaxCrossEntropyLoss": 'y = SoftmaxCrossEntropyLoss <reduction = "none"> (SCORES, PIXELS)',
    "SoftmaxCrossEntropyLoss, probabilities": "v, y = SoftmaxCrossEntropyLoss(FLOATS, LABELS)",
    "NegativeLogLikelihoodLoss": 'y = NegativeLogLikelihoodLoss <reduction = "none"> (SCORES, PIXELS)',
    "Softmax": "y = Softmax(FLOATS)",
    "LogSoftmax": "y = LogSoftmax <axis = 0> (FLOATS)",
    "Hardmax": "y = Hardmax(FLOATS)",
    "LayerNormalization": "y = LayerNormalization(FLOATS, c)",
    "RMSNormalization": "y = RMSNormalization(FLOATS, c)",
    "LpNormalization": "y = LpNormalization(FLOATS)",
    "GroupNormalization": "y = GroupNormalization <num_groups = 2> (CHANNELS, four, four)",
    "InstanceNormalization": "y = InstanceNormalization(CHANNELS, four, four)",
    "BatchNormalization": "y = BatchNormalization(CHANNELS, four, four, four, four)",
    "MeanVarianceNormalization": "y = MeanVarianceNormalization(CHANNELS)",
    "Split": "y, y2 = Split <axis = 1, num_outputs = 2> (CUBE)",
    "Dropout": "y2, y = Dropout(WIDE)",
    "Where": "q = Constant <value = bool[1] {1}> ()  y = Where(q, FLOATS, h)",
    "IsInf": "y = IsInf(WIDE)",
    "Mod": "y = Mod <fmod = 1> (FLOATS, h)",
    "BitShift": 'u = Constant <value = uint32[1] {1}> ()  y = BitShift <direction = "LEFT"> (WHOLE, u)',
    "Sum of many": f"y = Sum({', '.join(['FLOATS'] * 70)})",
    "BlackmanWindow": "j = Constant <value_int = 536870912> ()  y = BlackmanWindow(j)",
    "HammingWindow": "j = Constant <value_int = 536870912> ()  y = HammingWindow(j)",
    "HannWindow": "j = Constant <value_int = 536870912> ()  y = HannWindow <output_datatype = 11> (j)",
    "AffineGrid": "j = Constant <value_ints = [1, 1, 16384, 16384]> ()  "
    "t = Constant <value = float[1, 2, 3] {1.0, 0.0, 0.0, 0.0, 1.0, 0.0}> ()  y = AffineGrid(t, j)",
    **{name: f"y = {name}(POINTS)" for name in ("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool")},
    **{
        f"Reduce{what}": f"y = Reduce{what}(COLUMN, o)"
        for what in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
    },
}

#: Operators whose results are small, and one that is no node once the model is loaded. Scatter has ended, with opset 10: it is ScatterElements.
SMALL = {"Constant", "Identity", "Scatter", "Shape", "Size"}


def operators(texts: Iterable[str]) -> list[str]:
    return [name for text in texts for name in re.findall(r"= (\w+) ?[(<]", text)]


def all_nodes() -> dict[str, str]:
    """These nodes, and one of each further operator: they are element-wise."""
    rows = {row.operator: row for row in ogive.onnx.supported()}
    found = dict(NODES)
    for name in sorted(rows.keys() - {*operators([PROLOGUE, *NODES.values()])} - SMALL):
        schema = next(s for s in schemas.followed() if (s.name, s.since_version) == (name, rows[name].version))
        types = rows[name].types[schema.inputs[0].type_str]
        big = next(big for big in ("WIDE", "TRUTHS", "WHOLE") if f"tensor({INPUTS[big][0]})" in types)
        count = 2 if schema.max_input > 9 else schema.min_input  # Max and others take one, and then do nothing
        found[name] = f"y = {name}({', '.join([big] * count)})"
    return found


def model_of(node: str) -> str:
    """A model with the node, of the newest opset that one of its operators needs."""
    versions = {row.operator: row.version for row in ogive.onnx.supported()}
    opset = max([21, *(versions.get(name, 1) for name in operators([node]))])
    inputs = (f"{kind}[{', '.join(map(str, shape))}] {name}" for name, (kind, _, shape) in given(node))
    return f'<ir_version: 10, opset_import: ["" : {opset}]> t ({", ".join(inputs)}) => (y) {{ {PROLOGUE} {node} }}'


def given(node: str) -> list[tuple[str, tuple[str, float | None, tuple[int, ...]]]]:
    return [(name, INPUTS[name]) for name in INPUTS if re.search(rf"\b{name}\b", node)]


CODE = """
import json, resource, sys
import numpy as np, ogive.onnx
from onnx import parser
from ogive.errors import OgiveError
ogive.set_num_threads(1)
from ogive.backends import compiler
compiler.version()
ogive.operator(lambda x: x + 17.5)(np.ones(3, np.float32))
KINDS = {"float": np.float32}
most = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for text, inputs in json.loads(sys.argv[2]):
    try:
        limit = None if sys.argv[1] == "None" else int(sys.argv[1])
        model = ogive.onnx.load(parser.parse_model(text), memory_limit=limit)
        arrays = {
            name: np.broadcast_to(np.array(range(shape[-1]) if value is None else value, KINDS.get(kind, kind)), shape)
            for name, (kind, value, shape) in inputs
        }
        found = "it ran: " + str({k: v.nbytes for k, v in model.run(arrays).items()})
    except OgiveError as error:
        found = f"{type(error).__name__}: {error}"
    except MemoryError as error:
        found = f"!!! {error!r}"
    print(json.dumps(found))
"""


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of the address space are Linux's")
@pytest.mark.parametrize("limit", [LIMIT, None], ids=["stated", "of the machine"])
def test_a_gibibyte_is_refused_before_it_is_taken(limit):
    nodes = all_nodes()
    models = [(model_of(node), given(node)) for node in nodes.values()]
    command = [sys.executable, "-c", CODE, str(limit), json.dumps(models)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    found = dict(zip(nodes, map(json.loads, answer.stdout.splitlines()), strict=False))
    assert answer.returncode == 0, f"{list(nodes)[len(found)]}: {answer.stderr[-2000:]}"
    wrong = {name: text for name, text in found.items() if not is_refusal(nodes[name], text)}
    assert wrong == {}, json.dumps(wrong, indent=1)
    assert len(found) == len(nodes)


def is_refusal(node: str, text: str) -> bool:
    """Whether it is the node itself that the memory limit refuses, the last one."""
    return text.startswith(f"ModelError: {operators([node])[-1]} node ") and text.endswith("the memory limit")


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


def test_results_that_are_copies_count():
    outputs = ", ".join(f"y{n}" for n in range(3))
    model = ogive.onnx.load(
        text_model(
            f"t (int8[N] x, int64[1] n) => ({outputs}) {{ y0 = Expand(x, n)  y1 = Identity(y0)  y2 = Identity(x) }}"
        ),
        memory_limit=1 << 20,
    )
    x = np.ones(1, np.int8)
    for _ in range(2):
        assert {y.size for y in model.run({"x": x, "n": np.int64([500_000])}).values()} == {1, 500_000}
    for _ in range(2):
        with pytest.raises(ModelError, match="result '.*': it needs an array of 600000 .*1048576, the memory limit"):
            model.run({"x": x, "n": np.int64([600_000])})
    same = ogive.onnx.load(text_model("t (int8[N] x) => (int8[N] y) { y = Identity(x) }"), memory_limit=1 << 20)
    with pytest.raises(ModelError, match="result 'x': it needs an array of 2000000 bytes beside the 0 "):
        same.run({"x": np.ones(2_000_000, np.int8)})


@pytest.mark.parametrize("node", ["Unsqueeze(x, one)", "Identity(x)", "Relu(x)"])
def test_results_of_longer_batches_count(node):
    """The plan of one batch serves longer ones, as far as the limit goes."""
    model = ogive.onnx.load(
        text_model(f"t (float[N, 250] x) => (y) {{ one = Constant <value_ints = [1]> ()  y = {node} }}"),
        memory_limit=1 << 20,
    )
    for _ in range(2):
        for length in (10, 1000):
            assert model.run({"x": np.ones((length, 250), np.float32)})["y"].size == 250 * length
        with pytest.raises(ModelError, match="the memory limit"):
            model.run({"x": np.ones((1050, 250), np.float32)})


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", ["tensor(float)", "tensor(int64)"])
def test_casts_of_texts_keep_few_objects(kind):
    """Objects of Python are no arrays, so that the limit does not see them."""
    wanted = DATA_TYPES[kind]
    numbers = np.arange(6_000, dtype=wanted.numpy)
    tracemalloc.start()
    try:
        texts = to_text(numbers, wanted)
        kept, most = tracemalloc.get_traced_memory()
        assert most < 1.5 * kept, "numbers become text"
        tracemalloc.reset_peak()
        found = from_text(texts, wanted, saturate=True, round_mode="up")
        assert tracemalloc.get_traced_memory()[1] - kept < 20 * numbers.size, "text becomes numbers"
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, numbers)


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
