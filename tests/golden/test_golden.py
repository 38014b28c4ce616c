"""Golden data: the values, the inputs, the files, and that every operator of both standards has a set."""

import ctypes
import json
import subprocess
from decimal import Decimal

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import numpy_helper

import ogive
from ogive.cli.vectors_command import command
from ogive.common.array_files import read_npz
from ogive.common.dtypes import element_type
from ogive.errors import ArgumentError, DTypeError, ParameterError, ShapeError, UnsupportedError
from ogive.golden.formats import write
from ogive.golden.inputs import choose, special_values
from ogive.golden.specification import bits_of, of_operator

# ---- values


def test_exact_values():
    assert str(ogive.exact("gelu", 1.0, digits=30)) == "0.841344746068542948585232545632"
    assert ogive.exact("add", 0.1, 0.2, digits=20) == Decimal("0.30000000000000001665")
    assert str(ogive.exact("relu", -0.0)) == "0"
    assert str(ogive.exact("celu", -0.0)) == "-0"
    assert ogive.exact("exp", np.inf) == Decimal("Infinity")
    assert ogive.exact("sqrt", -1.0).is_nan()
    assert [str(v) for v in ogive.exact("tanh", np.float32([0, 1]), digits=5)] == ["0", "0.76159"]


def test_exact_values_far_out():
    """Where no floating-point type has a number, digits still have."""
    assert str(ogive.exact("exp", -2000.0, digits=5)) == "2.5765E-869"
    assert str(ogive.exact("gelu", -38.0, digits=5)) == "-1.0965E-314"


def test_parameters_are_rounded_as_in_a_call():
    in_single = ogive.exact("leaky_relu", np.float32(-1), alpha=0.1, digits=20)
    assert in_single == Decimal("-0.10000000149011611938")
    assert ogive.exact("leaky_relu", -1.0, alpha=0.1, digits=20) == Decimal("-0.10000000000000000555")


def test_exact_rows():
    row = ogive.exact("softmax", [1.0, 2.0, 3.0], digits=40)
    assert abs(sum(row) - 1) < Decimal(10) ** -39
    assert list(ogive.exact("hardmax", [1.0, 3.0, 3.0])) == [0, 1, 0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ogive.exact("gelo", 1.0), ArgumentError, "ogive.golden: there is no operator 'gelo'; allowed: the names of `ogive list`"),
        (lambda: ogive.exact("", 1.0), ArgumentError, "ogive.golden: there is no operator ''; allowed: the names of `ogive list`"),
        (lambda: ogive.exact("gelu", 1.0, digits=0), ArgumentError, "ogive.exact: digits is 0; allowed: 1 to 1000"),
        (lambda: ogive.exact("gelu", 1.0, 2.0), ArgumentError, "ogive.exact: gelu got 2 inputs; allowed: 1: x"),
        (lambda: ogive.exact("softmax", 1.0), ShapeError, "ogive.exact: softmax takes rows, and the input has no axes; allowed: arrays"),
        (lambda: ogive.exact("celu", 1.0, alpha=0), ParameterError, "celu: alpha is 0.0; allowed: any finite number but 0"),
        (lambda: ogive.ulp(np.complex64(1), "gelu", 1.0), DTypeError, "ogive.ulp: the result is complex64; allowed: float16"),
        (lambda: ogive.ulp(np.float32([1]), "gelu", np.float32([1, 2])), ShapeError, "ogive.ulp: the result has shape (1,); allowed: (2,), for these inputs"),
        (lambda: ogive.ulp(np.float16(1), "gelu", np.float32(1)), DTypeError, "ogive.ulp: the result is float16; allowed: float32, for these inputs"),
        (lambda: ogive.vectors("gelu", "int8"), DTypeError, "gelu: the element type is 'int8'; allowed: float16, float32, float64, bfloat16"),
        (lambda: ogive.vectors("gelu", "float99"), DTypeError, "gelu: the element type is 'float99'; allowed: "),
    ],
)  # fmt: skip
def test_messages(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(text)


def test_ulp():
    assert ogive.ulp(np.float32(1), "relu", np.float32(1)) == 0
    assert ogive.ulp(np.nextafter(np.float32(1), np.float32(2)), "relu", np.float32(1)) == 1
    assert ogive.ulp(np.int8([5, 7]), "relu", np.int8([5, 5])).tolist() == [0, 2]
    assert ogive.ulp(np.float32([0, np.nan]), "sqrt", np.float32([-1, -1])).tolist() == [np.inf, 0]
    assert ogive.ulp(np.float64(0.1), "relu", 0.1) == 0


def test_the_usual_golden_of_bfloat16_gelu_is_wrong_334_times():
    """tenstorrent/tt-metal#56616: computed in float32 by torch and rounded, its results are off by up to 13,215 ULP."""
    torch = pytest.importorskip("torch", reason="the golden in question is torch's")
    golden = ogive.vectors("gelu", "bfloat16")
    x = torch.from_numpy(golden.inputs[0].view(np.int16)).view(torch.bfloat16)
    usual = torch.nn.functional.gelu(x.float()).bfloat16().view(torch.int16).numpy().view(golden.expected.dtype)
    wrong = (bits_of(usual) != bits_of(golden.expected)) & ~(np.isnan(usual) & np.isnan(golden.expected))
    is_zero = np.isin(bits_of(usual), (0, 0x8000)) & np.isin(bits_of(golden.expected), (0, 0x8000))
    # The sign of torch's zeros depends on the machine's instructions.
    assert 300 < np.count_nonzero(wrong & ~is_zero) < 800


# ---- inputs


@pytest.mark.parametrize(
    ("operator", "parameters", "wanted"),
    [
        ("hard_sigmoid", {}, [2.5, -2.5]),
        ("shrink", {"lambd": 1.25}, [1.25, -1.25]),
        ("hard_swish", {}, [3.0, -3.0]),
        ("thresholded_relu", {"alpha": 0.7}, [0.7]),
    ],
)
def test_kinks_are_found(operator, parameters, wanted):
    chosen = choose(of_operator(operator, "float32", parameters))
    label = chosen.labels.index("kinks and their neighbours")
    kinks = chosen.arrays[0][chosen.reasons == label]
    for value in wanted:
        for neighbour in (np.float32(value), np.nextafter(np.float32(value), -9), np.nextafter(np.float32(value), 9)):
            assert neighbour in kinks, (value, neighbour)


def test_edges_are_found():
    chosen = choose(of_operator("exp", "float32"))
    edges = chosen.arrays[0][chosen.reasons == chosen.labels.index("edges of the range of results")]
    overflow = np.float32(np.log(np.finfo(np.float32).max))
    assert overflow in edges
    assert np.nextafter(overflow, np.float32(100)) in edges


def test_special_values():
    for name in ("float16", "bfloat16", "float32", "float64"):
        values = special_values(element_type(name))
        assert len(set(bits_of(values).tolist())) == values.size
        with np.errstate(invalid="ignore"):  # signalling NaN
            assert np.isinf(values).sum() == 2
            assert np.isnan(values).sum() == 8
            assert np.count_nonzero(values == 0) == 2
    assert {-128, -1, 0, 1, 127} <= set(special_values(element_type("int8")).tolist())


def test_the_same_seed_gives_the_same_digest():
    first, second = (ogive.vectors("tanh", "float32", seed=7) for _ in range(2))
    assert first.digest == second.digest != ogive.vectors("tanh", "float32", seed=8).digest


# ---- files


def test_npz(tmp_path):
    golden = ogive.vectors("celu", "bfloat16", alpha=0.5)
    path, manifest = write(golden, "npz", tmp_path)
    arrays = read_npz(path)
    assert arrays["elements/x"].dtype == np.uint16
    assert np.array_equal(arrays["elements/expected"], bits_of(golden.expected))
    facts = json.loads(manifest.read_text())
    assert facts["parameters"] == {"alpha": 0.5}
    assert facts["digest"] == f"sha256:{golden.digest}"
    assert "rounded to float32" in facts["parameter_rule"]
    assert "never by a kernel" in facts["ruler"]


@pytest.mark.matrix(share=16, pool="slow")
def test_csv(tmp_path):
    path, _ = write(ogive.vectors("gelu", "float16"), "csv", tmp_path)
    lines = path.read_text().splitlines()
    assert lines[0] == "x,x_bits,expected,expected_bits,chosen_as"
    assert len(lines) == 65537
    assert lines[0x3C00 + 1] == "1.0,0x3c00,0.84130859375,0x3abb,every input"


def test_a_c_header_compiles_and_says_the_same(tmp_path):
    golden = ogive.vectors("shrink", "float32", bias=0.5)
    path, _ = write(golden, "c", tmp_path)
    name = golden.name.replace("-", "_")
    source = tmp_path / "use.c"
    source.write_text(
        f'#include "{path.name}"\nuint32_t at(int i) {{ return {name}_x[0] * 0 + {name}_expected[i]; }}\n'
    )
    try:
        subprocess.run(["cc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", tmp_path / "use.so", source], check=True)
    except FileNotFoundError:
        pytest.skip("there is no C compiler called cc")
    at = ctypes.CDLL(str(tmp_path / "use.so")).at
    at.restype = ctypes.c_uint32
    assert [at(i) for i in range(100)] == bits_of(golden.expected)[:100].tolist()


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("operator", "dtype", "parameters"),
    [
        ("gelu", "float32", {"approximate": "tanh"}),
        ("prelu", "float32", {}),
        ("softmax", "float32", {}),
        ("relu", "int8", {}),
    ],
)
def test_onnx_folders_run_in_onnxruntime(tmp_path, operator, dtype, parameters):
    ort = pytest.importorskip("onnxruntime", reason="the runner in question is ONNX Runtime")
    golden = ogive.vectors(operator, dtype, parameters)
    write(golden, "onnx", tmp_path)
    folder = tmp_path / golden.name
    onnx.checker.check_model(str(folder / "model.onnx"))
    session = ort.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    sets = sorted(folder.glob("test_data_set_*"))
    assert len(sets) == len(golden.cases)
    names = [info.name for info in session.get_inputs()]
    for data in sets:
        arrays = [_tensor(data / f"input_{i}.pb") for i in range(len(names))]
        expected = _tensor(data / "output_0.pb")
        (result,) = session.run(None, dict(zip(names, arrays, strict=True)))
        usual = np.isfinite(expected) & (np.abs(expected.astype(np.float64)) < 1e30)
        usual &= np.isfinite(np.broadcast_arrays(arrays[0], expected)[0])
        np.testing.assert_allclose(result[usual], expected[usual], rtol=2e-3, atol=2e-5)


def _tensor(path):
    return numpy_helper.to_array(onnx.load_tensor(str(path)))


def test_onnx_folders_run_in_ogive(tmp_path):
    golden = ogive.vectors("shrink", "int8", bias=2.5, lambd=3, first="negative")
    write(golden, "onnx", tmp_path)
    model = ogive.onnx.load(tmp_path / golden.name / "model.onnx")
    for data in sorted((tmp_path / golden.name).glob("test_data_set_*")):
        assert np.array_equal(model(_tensor(data / "input_0.pb")), _tensor(data / "output_0.pb"))


def test_onnx_refuses_what_it_does_not_mean(tmp_path):
    with pytest.raises(UnsupportedError, match="shrink: first is 'positive'; allowed: 'negative', which ONNX means"):
        write(ogive.vectors("shrink", "float16"), "onnx", tmp_path / "new")
    with pytest.raises(UnsupportedError, match="linear: ONNX does not have it; allowed: operators with a name in ONNX"):
        write(ogive.vectors("linear", "float16"), "onnx", tmp_path / "new")
    with pytest.raises(ArgumentError, match="ogive.golden: the format is 'xml'; allowed: npz, csv, c, onnx"):
        write(ogive.vectors("linear", "float16"), "xml", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("operator", "dtype"), [("gelu", "float16"), ("softmax", "float16"), ("shrink", "int8"), ("isnan", "float16")]
)
def test_dxdispatch_models_run(tmp_path, operator, dtype):
    golden = ogive.vectors(operator, dtype)
    write(golden, "dxdispatch", tmp_path)
    folder = tmp_path / golden.name
    ogive.dxdispatch.load(folder / "model.json", output_folder=tmp_path).run(lambda text: None)
    expected = sorted(folder.glob("expected_*.npy"))
    assert expected
    for path in expected:
        result = np.load(tmp_path / path.name.replace("expected", "result"))
        wanted = np.load(path)
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result.astype(np.float64), wanted.astype(np.float64), rtol=2e-3, atol=1e-7)


def test_dxdispatch_has_no_bfloat16(tmp_path):
    with pytest.raises(UnsupportedError, match="gelu: DirectML has no bfloat16; allowed: types of DirectML"):
        write(ogive.vectors("gelu", "bfloat16"), "dxdispatch", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.matrix(share=16, pool="slow")
def test_webnn(tmp_path):
    path, _ = write(ogive.vectors("hard_sigmoid", "float16", alpha=0.25), "webnn", tmp_path)
    tests = json.loads(path.read_text())
    graph = tests[0]["graph"]
    assert graph["operators"] == [
        {
            "name": "hardSigmoid",
            "arguments": [{"x": "x"}, {"options": {"alpha": 0.25, "beta": 0.5}}],
            "outputs": "output",
        }
    ]
    assert graph["inputs"]["x"]["descriptor"] == {"shape": [65536], "dataType": "float16"}
    assert {"NaN", "Infinity", "-Infinity"} <= set(map(str, graph["inputs"]["x"]["data"]))
    with pytest.raises(UnsupportedError, match="celu: WebNN does not have it"):
        write(ogive.vectors("celu", "float16"), "webnn", tmp_path / "new")
    with pytest.raises(UnsupportedError, match="gelu: approximate is 'tanh'; allowed: 'none', which WebNN means"):
        write(ogive.vectors("gelu", "float16", approximate="tanh"), "webnn", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.matrix(share=16, pool="slow")
def test_webnn_reductions_drop_the_axis_of_the_row(tmp_path):
    path, _ = write(ogive.vectors("logsumexp", "float16"), "webnn", tmp_path)
    graph = json.loads(path.read_text())[0]["graph"]
    (operator,) = graph["operators"]
    assert operator["name"] == "reduceLogSumExp"
    assert operator["arguments"] == [{"x": "x"}, {"options": {"axes": [1], "keepDimensions": False}}]
    assert graph["inputs"]["x"]["descriptor"]["shape"] == [3, 1]
    assert graph["expectedOutputs"]["output"]["descriptor"]["shape"] == [3]


# ---- the command


@pytest.mark.matrix(share=16, pool="slow")
def test_command(tmp_path):
    runner = CliRunner()
    arguments = ["leaky_relu", "--dtype", "float16", "--every-regime", "--format", "csv", "--output", str(tmp_path)]
    found = runner.invoke(command, arguments)
    assert found.exit_code == 0, found.output
    assert len(list(tmp_path.glob("*.csv"))) == 8
    found = runner.invoke(command, ["gelu", "--dtype", "float16", "--json", "--output", str(tmp_path)])
    assert json.loads(found.output)["sets"][0]["operator"] == "gelu"
    found = runner.invoke(command, ["gelu", "--parameter", "alpha=2"])
    assert "gelu has no parameter 'alpha'; allowed: approximate" in found.output
