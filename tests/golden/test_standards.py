"""``ogive vectors --standard``: golden data by the names, versions and types of the standards."""

import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import ogive
from ogive.cli import _status
from ogive.golden.specification import bits_of


def manifest(capsys, tmp_path, *arguments):
    assert _status(["vectors", *arguments, "--output", str(tmp_path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["sets"]
    return found


def test_onnx(capsys, tmp_path):
    found = manifest(capsys, tmp_path, "LeakyRelu", "--standard", "onnx", "--version", "10", "--dtype", "float16")
    assert (found["operator"], found["standard"], found["version"]) == ("LeakyRelu", "onnx", "6")
    assert found["tensors"] == {"X": "float16"}
    assert found["parameters_as_used"]["alpha"] == pytest.approx(0.01)


def test_the_newest_version_is_the_default(capsys, tmp_path):
    assert manifest(capsys, tmp_path, "relu", "--standard", "onnx")["version"] == "14"


def test_directml(capsys, tmp_path):
    arguments = ("DML_ACTIVATION_RELU_OPERATOR_DESC", "--standard", "directml", "--version", "5_1", "--dtype", "int8")
    found = manifest(capsys, tmp_path, *arguments)
    assert (found["operator"], found["standard"], found["version"]) == ("ACTIVATION_RELU", "directml", "5_1")
    assert found["result"] == "int8"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Gelu", "--standard", "onnx", "--version", "13"], "Gelu begins with opset 20; allowed: from 20 on"),
        (
            ["Gelu", "--standard", "onnx", "--version", "new"],
            "--version is 'new'; allowed: an opset of ONNX, such as 20",
        ),
        (["Conv", "--standard", "onnx"], "ONNX has no operator 'Conv' that Ogive has"),
        (["Gelu", "--standard", "onnx", "--dtype", "int8"], "Gelu-20 has no type int8"),
        (
            ["ACTIVATION_GELU", "--standard", "directml", "--version", "3_0"],
            "is not there at feature level 3_0; allowed: 5_1",
        ),
        (["GEMM", "--standard", "directml"], "DirectML has no operator 'GEMM' that Ogive has"),
        (["ACTIVATION_GELU", "--standard", "directml", "--dtype", "int8"], "has no type int8 at feature level 6_4"),
        (["gelu", "--version", "20"], "--version needs --standard: onnx or directml"),
        (["Celu", "--standard", "onnx", "--parameter", "alpha=2"], "--standard takes the defaults of the standard"),
    ],
)
def test_wrong_calls(capsys, tmp_path, arguments, message):
    assert _status(["vectors", *arguments, "--output", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("operator", "dtype", "form"),
    [
        ("ReduceL2", "int64", "onnx"),
        ("ReduceMean", "int32", "npz"),
        ("TopK", "float32", "onnx"),
        ("QuantizeLinear", "float32", "onnx"),
        ("BatchNormalization", "float32", "onnx"),
        ("Cast", "bfloat16", "npz"),
        ("Concat", "int8", "onnx"),
    ],
)
def test_operators_of_whole_arrays(capsys, tmp_path, operator, dtype, form):
    found = manifest(capsys, tmp_path, operator, "--standard", "onnx", "--dtype", dtype, "--format", form)
    assert (found["operator"], found["standard"]) == (operator, "onnx")
    assert found["cases"]
    if form == "onnx":
        folder = next(path for path in tmp_path.iterdir() if path.is_dir())
        model = ogive.onnx.load(folder / "model.onnx")
        names = [info.name for info in onnx.load(folder / "model.onnx").graph.input]
        for data in sorted(folder.glob("test_data_set_*")):
            given, right = (sorted(data.glob(f"{part}_*.pb")) for part in ("input", "output"))
            results = model(*(_array(path) for path in given))
            several = results if isinstance(results, tuple | list) else [results]
            several = list(several.values()) if isinstance(several, dict) else several
            assert len(given) == len(names)
            for result, path in zip(several, right, strict=True):
                assert np.array_equal(bits_of(result, canonical=True), bits_of(_array(path), canonical=True))


def _array(path):
    return numpy_helper.to_array(onnx.load_tensor(str(path)))


@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
def test_one_scale_is_an_array(capsys, tmp_path, operator):
    found = manifest(capsys, tmp_path, operator, "--standard", "onnx", "--type", "tensor(float8e5m2)")
    assert found["cases"][0]["name"] == "one scale"
    assert found["cases"][0]["shapes"][1:] == [[], []]


def test_tables_have_no_calls(capsys, tmp_path):
    assert _status(["vectors", "TopK", "--standard", "onnx", "--format", "csv", "--output", str(tmp_path)]) == 2
    assert (
        "TopK: csv has one table of elements, and its golden data are calls; allowed: npz, onnx"
        in capsys.readouterr().err
    )
