"""The fast contract: bounds, the same bits for every layout, target and number of threads, special values, doors."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.errors import MissingNameError, ParameterError
from ogive.graph.expression import walk
from ogive.lowering.cost import cost
from ogive.lowering.numerics.elementary.function_row import known_in_single
from ogive.operators.signature import Signature
from tests.inputs import CASES, OF_ROWS, named

#: Operators with rules of their own, with parameters, and their bounds in ULP.
BOUNDS = [
    ("cosh", {}, 2.5),
    ("exp", {}, 1.0),
    ("ndtr", {}, 5.0),
    ("sigmoid", {}, 2.5),
    ("swish", {}, 2.5),
    ("swish", {"alpha": 1.703125}, 2.5),
    ("tanh", {}, 2.5),
    ("scaled_tanh", {}, 2.5),
    ("gelu", {}, 5),
    ("gelu", {"approximate": "tanh"}, 2.5),
    ("softplus", {}, 2.5),
    ("mish", {}, 2.5),
    ("elu", {}, 2.5),
    ("selu", {}, 2.5),
    ("celu", {}, 2.5),
]
IDS = [f"{name}{list(parameters.values()) or ''}" for name, parameters, _ in BOUNDS]
OF_FLOATS = [case for case in CASES + OF_ROWS if all(t.is_float for t in (*case[1].inputs, *case[1].outputs))]
SINGLE = Signature((element_type("float32"),), (element_type("float32"),))


def samples():
    """All magnitudes; the ordinary ones densely; and both sides of every limit between rules and exact results."""
    bits = np.arange(0, 2**32, 20011, dtype=np.uint64).astype(np.uint32)
    generator = np.random.default_rng(19)
    limits = np.float32([87.0, 12.875, 10.0, 9.125, 2.0**60, 87.0 / 1.703125, 16.64, 0.3466, 1.0397])
    near = (limits.view(np.uint32)[:, None] + np.arange(-500, 500, dtype=np.int64)).astype(np.uint32).view(np.float32)
    ordinary = (generator.standard_normal(100_000) * np.exp2(generator.integers(-6, 6, 100_000))).astype(np.float32)
    return np.concatenate([np.float32([0.0, -0.0]), bits.view(np.float32), near.ravel(), -near.ravel(), ordinary])


def errors(got, wanted):
    """In units of float32, of finite results."""
    unit = np.exp2(np.maximum(np.floor(np.log2(np.abs(wanted) + 1e-300)), -126) - 23)
    return np.abs(got.astype(np.float64) - wanted) / unit


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(("name", "parameters", "bound"), BOUNDS, ids=IDS)
def test_errors_keep_to_the_bound(name, parameters, bound):
    """float64 of the exact contract is the reference: it is off by 2**-29 of these units at most."""
    op, x = OPERATORS[name], samples()
    x = x[np.isfinite(x)]
    got, wanted = op.fast(x, **parameters), op.exact(x.astype(np.float64), **parameters)
    is_usual = np.abs(wanted) < np.finfo(np.float32).max
    assert errors(got[is_usual], wanted[is_usual]).max() <= bound
    assert np.isinf(got[~is_usual]).all()
    assert (np.signbit(got) == np.signbit(wanted)).all()
    assert (got != op.exact(x, **parameters)).any()  # it is not the exact kernel


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize(("op", "parameters", "bound"), BOUNDS, ids=IDS)
def test_short_types_are_rounded_once_from_float32(op, parameters, bound, name):
    kind = element_type(name).numpy
    x = np.arange(2**16, dtype=np.uint16).view(kind)
    got = OPERATORS[op].fast(x, **parameters)
    with np.errstate(all="ignore"):
        wanted = OPERATORS[op].fast(x.astype(np.float32), **parameters).astype(kind)
    is_number = ~np.isnan(wanted)
    differing = (got.view(np.uint16) != wanted.view(np.uint16)) & is_number
    # Outside of the limits results are those of the exact contract, which are rounded once.
    assert (np.isnan(got) == np.isnan(wanted)).all()
    distance = np.abs(got.view(np.int16)[differing].astype(int) - wanted.view(np.int16)[differing])
    assert (distance <= 1).all()
    exact = OPERATORS[op].exact(x, **parameters)
    is_exact = (got.view(np.uint16) == exact.view(np.uint16))[is_number].all()  # most of bfloat16 are
    assert is_exact or differing.mean() < 0.001
    assert (np.abs(exact.view(np.int16)[is_number].astype(int) - got.view(np.int16)[is_number]) <= 1).all()


@pytest.mark.matrix("op.name", share=5)
@pytest.mark.parametrize(("op", "signature"), OF_FLOATS, ids=named(OF_FLOATS))
def test_special_values_are_those_of_the_exact_contract(op, signature):
    parameters = {p.name: 1.5 for p in op.parameters if p.is_required}
    values = [np.nan, 0.0, -0.0, np.inf, -np.inf, 3.4028235e38, -3.4028235e38, 1e-45, -1e-45, 1.17549435e-38, -1e30]
    grids = np.meshgrid(*[np.float64(values)] * op.inputs, indexing="ij")
    with np.errstate(all="ignore"):
        tensors = [g.ravel().astype(t.numpy) for g, t in zip(grids, signature.inputs, strict=True)]
    if op.is_row_wise and op.reduces:
        tensors = [x[:, None] for x in tensors]  # a row of each
    # The result of the smallest number may be half of it, a tie of it and zero.
    wide = [np.abs(x.astype(np.float64)) for x in tensors]
    is_smallest = np.any([((x > 0) & (x < 2.0**-140)).ravel() for x in wide], axis=0)
    fast, exact = (np.asarray(each(*tensors, **parameters)) for each in (op.fast, op.exact))
    bits = f"u{fast.dtype.itemsize}"
    is_special = np.isnan(exact) | np.isinf(exact) | ((exact == 0) & ~is_smallest)
    # A result that underflows at the smallest operands may be a zero of the other sign.
    has_sign = ~np.isnan(exact) & ~((exact == 0) & is_smallest)
    assert (np.signbit(fast) == np.signbit(exact))[has_sign].all()
    assert (fast.view(bits)[is_special] == exact.view(bits)[is_special]).all()
    assert np.isfinite(fast[~is_special].astype(np.float64)).all()


#: Without elementary functions: no digits cancel in them, and they cost less in float32.
OF_ARITHMETIC = {"hard_mish", "hard_swish", "sparse_plus"}


def has_rules(op):
    formula = op.formula()
    return op.name in OF_ARITHMETIC or any(n.operation in known_in_single() for n in walk(*formula))


@pytest.mark.parametrize("name", sorted(OF_ARITHMETIC))
def test_arithmetic_that_keeps_its_digits_is_that_of_float32(name):
    op, x = OPERATORS[name], np.linspace(-4, 4, 100_001, dtype=np.float32)
    fast, exact = op.fast(x), op.exact(x)
    assert (fast != exact).any()
    assert (np.abs(fast - exact) <= 2.5 * np.spacing(np.abs(exact))).all()
    signature = next(s for s in op.signatures if s.inputs[0].name == "float32")
    assert cost(op.fast.program(signature).roots) < cost(op.exact.program(signature).roots)
    cancels = ogive.operator(lambda x: x * 0.1 + 0.5)
    assert cancels.fast.program(signature) == cancels.exact.program(signature)


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_types_and_formulas_that_gain_nothing_are_exact(op):
    """The same computation is the same machine code."""
    for signature in op.signatures:
        names = {t.name for t in (*signature.inputs, *signature.outputs)}
        is_fast = has_rules(op) and names <= {"float32", "float16", "bfloat16"} and not op.is_row_wise
        if not is_fast and not op.is_row_wise:  # rows have no repair under the fast contract
            assert op.fast.program(signature) == op.exact.program(signature)


@pytest.mark.matrix(share=16, pool="slow")
def test_no_fast_program_costs_more_than_the_exact_one():
    """sparsemax had a program of its own that took twice the time, for the same bits."""
    differ = 0
    for name, op in OPERATORS.items():
        choices = {p.name: p.choices[0] for p in op.parameters if p.choices}
        for signature in op.signatures:
            exact, fast = op.program(signature, **choices), op.fast.program(signature, **choices)
            if fast.results != exact.results:
                differ += 1
                assert cost(fast.roots) < cost(exact.roots), (name, signature)
                assert not any(stage.repeats for stage in fast.stages), (name, signature)
    assert differ > 40
    assert OPERATORS["sparsemax"].fast.program(SINGLE).text == OPERATORS["sparsemax"].program(SINGLE).text


@pytest.mark.parametrize(("name", "parameters", "_"), BOUNDS, ids=IDS)
def test_bits_are_the_same_in_every_layout(name, parameters, _):
    f, x = OPERATORS[name].fast.bind(**parameters), samples()[: 3 * 4096].copy()
    wanted = f(x)
    singly = np.array([f(x[i : i + 1])[0] for i in range(0, x.size, 37)])
    assert (singly.view(np.uint32) == wanted[::37].view(np.uint32)).all()
    spread = np.zeros(2 * x.size, np.float32)
    spread[1::2] = x
    assert (f(spread[1::2]).view(np.uint32) == wanted.view(np.uint32)).all()
    assert (f(x.reshape(3, -1).T).T.ravel().view(np.uint32) == wanted.view(np.uint32)).all()
    assert (f(x, out=x).view(np.uint32) == wanted.view(np.uint32)).all()


def test_bits_do_not_depend_on_the_number_of_threads():
    x = np.resize(samples(), 1 << 20)
    for name, parameters, _ in BOUNDS:
        results = []
        for count in (1, 2):
            with ogive.threads(count):
                results.append(OPERATORS[name].fast(x, **parameters).tobytes())
        assert results[0] == results[1]


DIGEST = """
import hashlib, sys
sys.path.insert(0, {path!r})
from test_fast import BOUNDS, OPERATORS, samples
x = samples()
for name, parameters, _ in BOUNDS:
    print(name, hashlib.sha256(OPERATORS[name].fast(x, **parameters).tobytes()).hexdigest())
"""


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_bits_are_the_same_on_every_target(target):
    from ogive.backends.target import TARGETS, host_target

    names = list(TARGETS)
    if host_target().name not in names[names.index(target) :] or host_target().name == "aarch64":
        pytest.skip(f"this processor is {host_target().name}")
    script = DIGEST.format(path=os.path.dirname(__file__))  # noqa: PTH120
    printed = [
        subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for environment in (os.environ, {**os.environ, "OGIVE_TARGET": target})
    ]
    assert printed[0] == printed[1]
    assert printed[0].count("\n") == len(BOUNDS)


# ---- doors


def test_an_operator_under_another_contract():
    fast = ogive.gelu.fast
    assert fast is ogive.fast.gelu
    assert fast.fast is fast
    assert fast.base is ogive.gelu
    assert repr(fast) == "<operator gelu.fast(x, *, approximate='none')>"
    assert repr(ogive.celu.fast.bind(alpha=1.5)) == "<ufunc 'celu.fast(alpha=1.5)'>"
    x = np.float32([-1.0, 0.5, 3.0])
    out = np.empty_like(x)
    assert fast(x, out=out) is out
    assert (fast.bind()(x) == out).all()
    assert (fast(x, where=[True, False, True], out=np.zeros_like(x))[1]) == 0
    assert (fast.at(x, [0]), x[0]) == (None, out[0])


def test_copies_keep_the_contract():
    fast = ogive.gelu.fast
    assert pickle.loads(pickle.dumps(fast)) is fast
    bound = ogive.celu.fast.bind(alpha=1.5)
    assert pickle.loads(pickle.dumps(bound)) is bound
    assert fast.__dask_tokenize__() != ogive.gelu.__dask_tokenize__()


def test_a_formula_of_ones_own():
    @ogive.operator
    def gated(x, *, slope=1.0):
        return x * ogive.formula.logistic(slope * x)

    x = samples()
    x = x[np.isfinite(x)]
    assert (gated.fast(x) != gated(x)).any()
    # Next to ties of subnormal numbers they differ by one unit of these, the smallest number.
    assert np.allclose(gated.fast(x), gated(x), rtol=4e-7, atol=1.5e-45)
    again = pickle.loads(pickle.dumps(gated.fast))
    assert again.accuracy == "fast"
    assert (again(x).view(np.uint32) == gated.fast(x).view(np.uint32)).all()


def test_the_name_of_a_module():
    assert set(OPERATORS) <= set(dir(ogive.fast))
    with pytest.raises(MissingNameError, match=r"ogive\.fast: there is no operator 'gelo'; allowed: the operators of"):
        _ = ogive.fast.gelo


def contract_of_a_process(value, code="import ogive; print(ogive.gelu.accuracy, ogive.gelu.exact.accuracy)"):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "OGIVE_ACCURACY": value}, capture_output=True, text=True
    )


@pytest.mark.matrix(share=16, pool="slow")
def test_the_default_of_a_process():
    assert contract_of_a_process("fast").stdout == "fast exact\n"
    assert contract_of_a_process("exact").stdout == "exact exact\n"
    assert contract_of_a_process("").stdout == "exact exact\n"
    wrong = contract_of_a_process("quick")
    assert "OGIVE_ACCURACY: it is 'quick'; allowed: 'exact', 'fast'" in wrong.stderr


def onnx_model(operator):
    onnx = pytest.importorskip("onnx")
    infos = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N"]) for name in "xy"]
    nodes = [onnx.helper.make_node(operator, ["x"], ["h"]), onnx.helper.make_node("Tanh", ["h"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "example", infos[:1], infos[1:])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=8)


@pytest.mark.matrix(share=16, pool="slow")
def test_onnx_models():
    model, x = onnx_model("Gelu"), samples()
    for fuse in (True, False):
        fast = ogive.onnx.load(model, accuracy="fast", fuse=fuse)
        wanted = ogive.tanh.fast(ogive.gelu.fast(x))
        assert (fast(x).view(np.uint32) == wanted.view(np.uint32)).all()
        assert (pickle.loads(pickle.dumps(fast))(x).view(np.uint32) == wanted.view(np.uint32)).all()
    assert (ogive.onnx.load(model)(x).view(np.uint32) != wanted.view(np.uint32)).any()
    with pytest.raises(ParameterError, match=r"ogive\.onnx\.load: accuracy is 'quick'; allowed: 'exact', 'fast'"):
        ogive.onnx.load(model, accuracy="quick")


def test_directml_devices():
    import ogive.directml as dml

    x = samples()
    results = []
    for accuracy in ("exact", "fast"):
        device = dml.Device(accuracy=accuracy)
        assert device.accuracy == accuracy
        graph = dml.Graph(device)
        given = graph.input([x.size], name="x")
        (result,) = graph.compile([dml.activation_sigmoid(given)])({"x": x})
        results.append(np.asarray(result))
    assert (results[0].view(np.uint32) == ogive.sigmoid.exact(x).view(np.uint32)).all()
    assert (results[1].view(np.uint32) == ogive.sigmoid.fast(x).view(np.uint32)).all()
    with pytest.raises(dml.DMLError, match=r"Device: accuracy is 'quick'; allowed: \"exact\", \"fast\""):
        dml.Device(accuracy="quick")


@pytest.mark.matrix(share=16, pool="slow")
def test_ogive_run(tmp_path):
    onnx, x = pytest.importorskip("onnx"), samples()
    onnx.save(onnx_model("Sigmoid"), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", x)
    command = ["run", "model.onnx", "--input", "x=x.npy", "--output", "out", "--accuracy", "fast"]
    subprocess.run([sys.executable, "-m", "ogive", *command], cwd=tmp_path, check=True, capture_output=True)
    wanted = ogive.tanh.fast(ogive.sigmoid.fast(x))
    assert (np.load(tmp_path / "out" / "y.npy").view(np.uint32) == wanted.view(np.uint32)).all()


def test_dxdispatch_models(tmp_path):
    import ogive.dxdispatch

    (tmp_path / "model.json").write_text("""{
        "resources": { "x": { "initialValuesDataType": "FLOAT32", "initialValues": [-16.647310, -2.5, 3.75] } },
        "dispatchables": { "sigmoid": { "type": "ACTIVATION_SIGMOID",
            "InputTensor": { "DataType": "FLOAT32", "Sizes": [3] },
            "OutputTensor": { "DataType": "FLOAT32", "Sizes": [3] } } },
        "commands": [
            { "type": "dispatch", "dispatchable": "sigmoid", "bindings": { "InputTensor": "x", "OutputTensor": "x" } }
        ]
    }""")
    x = np.float32([-16.647310, -2.5, 3.75])
    for accuracy in ("exact", "fast"):
        model = ogive.dxdispatch.load(tmp_path / "model.json", accuracy=accuracy)
        model.run(lambda text: None)
        found = np.frombuffer(memoryview(model.resources["x"].buffer), np.float32)[:3]
        assert found.tolist() == getattr(ogive.sigmoid, accuracy)(x).tolist()
    assert (ogive.sigmoid.fast(x) != ogive.sigmoid.exact(x)).any()


def test_names_are_looked_up_once():
    """Later look-ups find the module's own attribute, and the operator's: neither is computed again."""
    import ogive.fast

    assert ogive.fast.gelu is ogive.gelu.fast
    assert vars(ogive.fast)["gelu"] is ogive.gelu.fast
    assert ogive.fast.silu is ogive.silu.fast
    assert vars(ogive.fast)["silu"] is ogive.swish.fast
    assert vars(ogive.gelu)["fast"] is ogive.gelu.fast
    assert ogive.gelu.fast.exact is ogive.gelu.exact is not ogive.gelu
    assert "gelu" in dir(ogive.fast)
    assert not [
        name for name in dir(ogive.fast) if name.islower() and not name.startswith("__") and name not in OPERATORS
    ]
