"""Tables: their entries by a second oracle, their files, their self-test, and what has none."""

import csv
import io
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ogive
from ogive.cli import ogive as commands
from ogive.errors import ArgumentError, DTypeError, ParameterError, UnsupportedError

ROOT = Path(__file__).parents[2]
INT8 = {"x_scale": 0.05, "y_scale": 1 / 256, "y_zero_point": -128}


@pytest.mark.parametrize("kind", ["float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"])
def test_floats_by_the_second_oracle(kind):
    pytest.importorskip("gmpy2", reason="the second oracle is MPFR")
    from tests.golden.table_oracle import of_floats

    for operator, saturate in (("gelu", True), ("exp", False)):
        assert of_floats(operator, kind, saturate=saturate) == (256, 0)


def test_integers_by_the_second_oracle():
    pytest.importorskip("gmpy2", reason="the second oracle is MPFR")
    from tests.golden.table_oracle import QUANTISED, of_integers

    for kind, rows in QUANTISED.items():
        for operator, row in zip(("gelu", "tanhshrink", "log"), rows, strict=True):
            assert of_integers(operator, kind, row) == (256, 0)


def test_every_entry_was_compared():
    """The result of ``python -m tests.golden.table_oracle tests/golden/table_oracle.csv``."""
    pytest.importorskip("gmpy2", reason="the second oracle is MPFR")
    from tests.golden.table_oracle import cases

    rows = list(csv.DictReader((ROOT / "tests/golden/table_oracle.csv").read_text().splitlines()))
    assert [(row["operator"], row["dtype"], row["how"]) for row in rows] == list(cases())
    assert {(row["entries"], row["disagreements"]) for row in rows} == {("256", "0")}


def test_tables_of_16_bits_are_those_of_kernels():
    found = np.load(io.BytesIO(ogive.export(ogive.relu, "bfloat16", form="table").files["ogive_relu_bfloat16.npz"]))
    x = np.arange(1 << 16, dtype=np.uint16).view("bfloat16")
    right = ogive.relu(x)
    is_nan = np.isnan(right)
    assert np.array_equal(found["table"][~is_nan], right.view(np.uint16)[~is_nan])
    assert np.isnan(found["table"].view(right.dtype)[is_nan]).all()


@pytest.mark.matrix(share=16, pool="slow")
def test_the_files(tmp_path):
    one = ogive.export(ogive.sigmoid, "int8", form="table", self_test=True, **INT8)
    name = "ogive_sigmoid_quantized_int8"
    assert [*one.files] == [f"{name}.h", f"{name}.c", f"{name}.npz", f"{name}_test.c"]
    assert one.files == ogive.export(ogive.sigmoid, "int8", form="table", self_test=True, **INT8).files
    archive = np.load(io.BytesIO(one.files[f"{name}.npz"]))
    assert archive["table"].dtype == np.int8
    assert (float(archive["y_scale"]), int(archive["y_zero_point"])) == (1 / 256, -128)
    assert str(archive["digest"]) == f"{one.digests[name]:016x}"
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    both = ogive.export([ogive.relu, ogive.tanh], "float8_e5m2", form="table", name="both", self_test=True)
    for exported, file in ((one, name), (both, "both")):
        exported.write(tmp_path)
        options = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-o", file, f"{file}_test.c", f"{file}.c"]
        subprocess.run(["cc", *options], cwd=tmp_path, check=True)
        assert subprocess.run([f"./{file}"], cwd=tmp_path, capture_output=True, check=False).returncode == 0
    wrong = (tmp_path / f"{name}.c").read_text().replace(" 127,", " 126,", 1)
    (tmp_path / f"{name}.c").write_text(wrong)
    subprocess.run(["cc", "-o", "wrong", f"{name}_test.c", f"{name}.c"], cwd=tmp_path, check=True)
    done = subprocess.run(["./wrong"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "WRONG" in done.stdout) == (1, True)
    sizes = both.sizes()
    assert sizes is None or sizes.data == 512


def test_saturation():
    def last(kind, **more):
        archive = ogive.export(ogive.exp, kind, form="table", **more).files
        return int(np.load(io.BytesIO(next(v for k, v in archive.items() if k.endswith("npz"))))["table"][0x7B])

    assert [last("float8_e5m2"), last("float8_e5m2", saturate=False)] == [0x7B, 0x7C]
    assert [last("float8_e4m3fn"), last("float8_e4m3fn", saturate=False)] == [0x7E, 0x7F]
    assert [last("float8_e4m3fnuz"), last("float8_e4m3fnuz", saturate=False)] == [0x7F, 0x80]


@pytest.mark.parametrize(
    ("what", "dtype", "more", "kind", "text"),
    [
        (ogive.softmax, "bfloat16", {}, UnsupportedError, "softmax takes rows, and a table has one entry for each number"),
        (ogive.prelu, "bfloat16", {}, ArgumentError, r"prelu has 2 tensors \(x, slope\), and a table one"),
        (ogive.gelu, None, {}, DTypeError, "form is 'table', and there is no dtype; allowed: int8, uint8, float8_e4m3,"),
        (ogive.gelu, "float32", {}, DTypeError, "dtype is 'float32' with form table; .* too many numbers for a table"),
        (ogive.gelu, "int8", {}, ParameterError, "int8 needs x_scale; allowed: a positive number: .*--x-scale 0.1 to ogive export"),
        (ogive.gelu, "int8", {"x_scale": 1.0}, ParameterError, "int8 needs y_scale; allowed: a positive number"),
        (ogive.gelu, "int8", INT8 | {"x_scale": 0}, ParameterError, "x_scale is 0; allowed: a positive number that"),
        (ogive.gelu, "int8", INT8 | {"x_scale": np.nan}, ParameterError, "x_scale is nan; allowed: a positive number"),
        (ogive.gelu, "int8", INT8 | {"y_scale": 1e-60}, ParameterError, "y_scale is 1e-60; allowed: a positive number"),
        (ogive.gelu, "uint8", INT8, ParameterError, "y_zero_point is -128; allowed: an integer from 0 to 255, for uint8"),
        (ogive.gelu, "int8", INT8 | {"x_zero_point": 0.5}, ParameterError, "x_zero_point is 0.5; allowed: an integer"),
        (ogive.gelu, "bfloat16", INT8, ParameterError, "x_scale is given, and dtype is 'bfloat16'; allowed: scales and"),
        (ogive.gelu, "float16", {"saturate": False}, ParameterError, "saturate is False, and dtype is 'float16'"),
        (ogive.gelu, "int8", INT8 | {"accuracy": "fast"}, ParameterError, "accuracy is 'fast'; allowed: 'exact' with form"),
        (ogive.isnan, "int8", INT8, UnsupportedError, "isnan has results of bool; allowed: operators whose results are"),
        (ogive.bitwise_not, "int8", INT8, UnsupportedError, "bitwise_not is about int8, .* operators of real numbers"),
        (ogive.threshold, "float8_e5m2", {}, ParameterError, "threshold needs min, a number in each entry. Bind it"),
        (len, "int8", {}, ArgumentError, "form is 'table', and what is .*; allowed: an operator of one tensor, or a bound"),
        ([ogive.gelu] * 2, "float8_e5m2", {}, ParameterError, "two functions are called ogive_gelu_float8_e5m2"),
    ],
)  # fmt: skip
def test_refusals(what, dtype, more, kind, text):
    with pytest.raises(kind, match=text):
        ogive.export(what, dtype, form="table", **more)


def test_scales_without_a_table():
    with pytest.raises(ParameterError, match="x_scale is given with form c; allowed: with form table"):
        ogive.export(ogive.gelu, "float32", x_scale=1.0)


def test_the_command(tmp_path):
    words = ["export", "silu", "--form", "table", "--dtype", "float8_e4m3fn", "--output", str(tmp_path / "new")]
    done = CliRunner().invoke(commands, words)
    assert done.exit_code == 0, done.output
    assert "void ogive_silu_float8_e4m3fn(const uint8_t *x, uint8_t *y, size_t begin, size_t end);" in done.output
    assert sorted(path.suffix for path in (tmp_path / "new").iterdir()) == [".c", ".h", ".npz"]
    done = CliRunner().invoke(commands, [*words, "--parameter", "beta=1"])
    assert "there is no parameter 'beta'; allowed: alpha" in str(done.exception)
    assert "--lines is given with --form table" in CliRunner().invoke(commands, [*words, "--lines", "cmake"]).output
