"""Floats of 8 bits in golden data, in the judge and in the commands."""

import numpy as np
import pytest
from click.testing import CliRunner

import ogive
from ogive.cli import ogive as commands
from ogive.common.dtypes import FLOAT_FORMATS, FLOATS_OF_8_BITS
from ogive.enclosures.enclosure import nearest
from ogive.golden.inputs import every
from ogive.judge import judge

KINDS = list(FLOATS_OF_8_BITS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_formats_are_those_of_ml_dtypes(kind):
    import ml_dtypes

    info, row = ml_dtypes.finfo(kind), FLOAT_FORMATS[kind]
    assert (info.nmant + 1, info.minexp, float(info.max)) == row
    numbers = every(FLOATS_OF_8_BITS[kind]).astype(np.float64)
    for x in numbers[np.isfinite(numbers) & (numbers != 0)]:
        assert nearest(*float(x).as_integer_ratio(), kind) == x


@pytest.mark.parametrize("kind", KINDS)
def test_every_input(kind):
    found = ogive.vectors("relu", kind)
    assert (found.inputs[0].size, found.expected.dtype.name, found.manifest["saturates"]) == (256, kind, True)
    x = found.inputs[0].astype(np.float32)
    right = np.clip(np.maximum(x, 0), 0, FLOAT_FORMATS[kind].largest)
    assert np.array_equal(found.expected.astype(np.float32), right, equal_nan=True)
    unsaturated = ogive.vectors("exp", kind, saturate=False)
    assert unsaturated.name == f"exp-{kind}-unsaturated"
    end = unsaturated.expected[np.argmax(np.where(np.isfinite(x), x, -1))].astype(np.float32)
    assert np.isinf(end) if kind in ("float8_e4m3", "float8_e5m2") else np.isnan(end)


@pytest.mark.matrix(share=16, pool="slow")
def test_rows_and_several_tensors():
    rows = ogive.vectors("softmax", "float8_e4m3fn")
    assert all(case.expected.dtype.name == "float8_e4m3fn" for case in rows.cases)
    products = ogive.vectors("mul", "float8_e4m3fnuz")
    a, b = (x.astype(np.float32) for x in products.inputs)
    with np.errstate(invalid="ignore"):
        exact = np.clip(a * b, -240, 240).astype(products.expected.dtype)  # a product of two has 8 bits
    assert np.array_equal(exact.astype(np.float32), products.expected.astype(np.float32), equal_nan=True)


def test_the_judge():
    def exp(x):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.exp(x.astype(np.float32)).astype(x.dtype)

    found = judge(exp, "exp", "float8_e5m2")
    assert found.count == 256
    assert "results beyond the largest number are infinities or NaN" in [cause.text for cause in found.causes]
    assert judge(exp, "exp", "float8_e5m2", saturate=False).worst_ulp <= 0.5
    assert ogive.ulp(np.array([0.875], "float8_e4m3fn"), "gelu", np.array([1.0], "float8_e4m3fn"))[0] < 0.6


def test_the_command(tmp_path):
    run = CliRunner().invoke
    done = run(commands, ["vectors", "relu", "--dtype", "float8_e5m2", "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output
    with np.load(tmp_path / "relu-float8_e5m2.npz") as archive:
        expected = archive["elements/expected"]
    assert expected.dtype == np.uint8
    results = tmp_path / "results"
    results.mkdir()
    expected.tofile(results / "relu-float8_e5m2.bin")
    done = run(commands, ["judge", "--results", str(results), "--vectors", str(tmp_path)])
    assert "not nearest: 0 of 256" in done.output
    wrong = run(commands, ["vectors", "relu", "--no-saturate"])
    assert "--no-saturate is given with float32; allowed: with float8_e4m3," in wrong.output
