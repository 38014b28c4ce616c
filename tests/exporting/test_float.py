"""Functions in float alone: what their files have, their bits by other compilers, their errors, and what has none."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner

import ogive
from ogive.cli import ogive as commands
from ogive.common.contracts import IN_FLOAT
from ogive.common.dtypes import element_type
from ogive.errors import ParameterError, UnsupportedError
from ogive.golden.inputs import special_values
from ogive.graph.expression import Format, walk
from ogive.graph.operations import DIVIDE, FMA
from ogive.laboratory.accuracy.ulp import error_in_ulp

#: The largest errors in ULP of results from 2**-120 on; measured are those of docs/export.md.
BOUNDS = {
    "gelu": 6.5, "silu": 3.5, "mish": 4.0, "tanh": 3.0, "sigmoid": 3.0, "softplus": 3.0, "elu": 1.5, "exp": 1.5, "selu": 2.5,
    "expm1": 2.0, "ndtr": 6.0, "softsign": 2.0, "tanhshrink": 7.0, "log_sigmoid": 3.0, "hard_swish": 3.0, "relu": 0.0, "leaky_relu": 1.5,
}  # fmt: skip


def numbers():
    generator = np.random.default_rng(1)
    some = (generator.standard_normal(20_000) * 3).astype(np.float32)
    any_bits = generator.integers(0, 1 << 32, 20_000, dtype=np.uint32).view(np.float32)
    return np.concatenate(
        [special_values(element_type("float32")), some, any_bits, np.linspace(-110, 110, 20_001, dtype="f4")]
    )


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize(("operator", "bound"), BOUNDS.items())
def test_errors(operator, bound):
    x, op = numbers(), getattr(ogive, operator)
    found, right = op.under(IN_FLOAT)(x), op(x)
    with np.errstate(invalid="ignore"):
        exact = op(x.astype(np.float64))
    is_nan = np.isnan(right)
    assert np.array_equal(np.isnan(found), is_nan)
    assert np.array_equal(np.signbit(found)[~is_nan], np.signbit(right)[~is_nan])
    off = error_in_ulp(found, exact, "float32")
    is_small = np.abs(exact) < 2.0**-120
    assert off[~is_small].max() <= bound
    assert off[is_small].max(initial=0) <= 64


def test_gelu_tanh_and_parameters():
    x = numbers()
    found = ogive.gelu.under(IN_FLOAT)(x, approximate="tanh")
    with np.errstate(invalid="ignore"):
        exact = ogive.gelu(x.astype(np.float64), approximate="tanh")
    assert error_in_ulp(found, exact, "float32")[~(np.abs(exact) < 2.0**-120)].max() <= 3.5
    ordinary = x[np.abs(x) < 50]
    for alpha in (0.5, -3.0, 1.7):
        found, right = (op(ordinary, alpha=alpha) for op in (ogive.swish.under(IN_FLOAT), ogive.swish))
        is_large = np.abs(right) > 2.0**-100
        assert np.allclose(found[is_large], right[is_large], rtol=4e-7, atol=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_types_of_16_bits(dtype):
    x = np.arange(1 << 16, dtype=np.uint16).view(element_type(dtype).numpy)
    found, right = ogive.silu.under(IN_FLOAT)(x), ogive.silu(x)
    is_nan = np.isnan(right)
    assert np.array_equal(np.isnan(found), is_nan)
    steps = np.abs(found.view(np.int16)[~is_nan].astype(int) - right.view(np.int16)[~is_nan])
    assert steps.max() <= 1
    assert np.count_nonzero(steps) < 200


def test_programs_are_of_float32():
    for operator in ("gelu", "softplus", "elu"):
        op = getattr(ogive, operator).under(IN_FLOAT)
        program = op.program(next(s for s in op.signatures if s.inputs[0].name == "float32"))
        nodes = list(walk(*program.results))
        assert {n.format for n in nodes if n.operands} <= {Format.F32, Format.I32, Format.BIT}
        assert FMA not in {n.operation for n in nodes}
        assert sum(n.operation == DIVIDE and bool(n.operands[1].operands) for n in nodes) <= 2


@pytest.mark.matrix(share=16, pool="slow")
def test_the_files(tmp_path):
    made = ogive.export([ogive.gelu.fast, ogive.elu.fast], name="fast", self_test=True)
    assert [*made.files] == ["fast.h", "fast.c", "fast_test.c"]
    text = made.files["fast.c"].decode()
    assert not re.search(r"\bdouble\b|\bfma|fmaf", text)
    assert re.search(r"if \(is\d+\) \{\n +return", text)  # elu computes its exponential behind a branch
    assert "ogive_elu_fast_float32(const float *x, float *y, size_t begin, size_t end, float alpha);" in made.header
    assert made.files == ogive.export([ogive.gelu, ogive.elu], name="fast", accuracy="fast", self_test=True).files
    mixed = ogive.export([ogive.relu.fast, ogive.celu], name="mixed", self_test=True)
    assert "ogive_ieee.h" in mixed.files
    made.write(tmp_path)
    mixed.write(tmp_path)
    compilers = [name for name in ("gcc", "clang", "cc") if shutil.which(name)]
    if not compilers:
        pytest.skip("not installed: gcc, clang or cc")
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Werror"]
    for compiler in compilers[:2]:
        subprocess.run(
            [compiler, "-std=c11", "-O2", *warnings, "-o", "test", "fast_test.c", "fast.c"], cwd=tmp_path, check=True
        )
        assert subprocess.run(["./test"], cwd=tmp_path, capture_output=True, check=False).returncode == 0
    subprocess.run([compilers[0], "-o", "test", "mixed_test.c", "mixed.c"], cwd=tmp_path, check=True)
    assert subprocess.run(["./test"], cwd=tmp_path, capture_output=True, check=False).returncode == 0


@pytest.mark.matrix(share=16, pool="slow")
def test_a_core_without_double():
    if shutil.which("arm-linux-gnueabihf-gcc") is None or shutil.which("qemu-arm") is None:
        pytest.skip("not installed: arm-linux-gnueabihf-gcc, qemu-arm (Debian: gcc-arm-linux-gnueabihf, qemu-user)")
    from tools.exported_c import instructions

    assert 50 < instructions("gelu") <= 200


@pytest.mark.parametrize(
    ("what", "dtype", "kind", "text"),
    [
        (ogive.log.fast, None, UnsupportedError, "there is no rule in float alone for log; allowed: exp, .* accuracy='exact'"),
        (ogive.softmax.fast, None, UnsupportedError, "softmax takes rows; allowed: operators of elements with one result"),
        (ogive.relu.fast, "int8", UnsupportedError, "there is no code in float alone for int8; allowed: bfloat16, float16"),
        (ogive.gelu.fast, "float64", UnsupportedError, "there is no code in float alone for float64"),
        (ogive.grad(ogive.silu).fast, None, UnsupportedError, "no rule in float alone for gate_slope"),
    ],
)  # fmt: skip
def test_refusals(what, dtype, kind, text):
    with pytest.raises(kind, match=text):
        ogive.export(what, dtype)


def test_wrong_contracts():
    with pytest.raises(ParameterError, match="accuracy is 'quick'; allowed: 'exact', 'fast'"):
        ogive.export(ogive.gelu, accuracy="quick")
    with pytest.raises(ParameterError, match="accuracy is 'fast', and what is .*; allowed: operators with accuracy"):
        ogive.export(len, accuracy="fast")


def test_the_command(tmp_path):
    done = CliRunner().invoke(commands, ["export", "silu", "--accuracy", "fast", "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "void ogive_silu_fast_float32(const float *x, float *y, size_t begin, size_t end);" in done.output
    if shutil.which("gcc") and shutil.which("size"):
        assert re.search(r"code [\d,]+ bytes, data [\d,]+ bytes, stack at most \d+ bytes", done.output)
