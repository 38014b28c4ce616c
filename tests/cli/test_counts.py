"""``ogive accuracy --count``."""

import json

import pytest

from tests.cli.test_commands import ogive  # noqa: F401  (a fixture)
from tests.cli.test_own_operators import folder  # noqa: F401  (a fixture)


def test_a_table(ogive):  # noqa: F811
    status, out, err = ogive("accuracy", "tanh", "relu", "--count", "--dtype", "float16")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == [
        "operator",
        "not",
        "correctly",
        "rounded",
        "wrong",
        "sign",
        "of",
        "zero",
        "farthest",
        "at",
    ]
    assert [line.split() for line in lines[1:3]] == [["tanh", "0"], ["relu", "0"]]
    assert lines[3] == "float16, 65,536 inputs each"


def test_json_of_an_operator_of_ones_own(ogive, folder):  # noqa: F811
    (folder / "my_thirds.py").write_text(
        "import ogive\n\n\n@ogive.operator\ndef third(x, y):\n    return (x + y) / 3\n"
    )
    status, out, err = ogive("accuracy", "my_thirds:third", "--count", "--samples", "3000", "--json")
    assert (status, err) == (0, "")
    (count,) = json.loads(out)["counts"]
    assert (count["operator"], count["dtype"], count["inputs"], count["count"]) == ("third", "float32", "samples", 3000)
    assert count["misrounded"] == len(count["first"]) == 0


@pytest.mark.matrix(share=16, pool="slow")
def test_examples_are_printed(ogive):  # noqa: F811
    arguments = ("--accuracy", "fast", "--count", "--dtype", "float32", "--samples", "500")
    status, out, err = ogive("accuracy", "swiglu", *arguments)
    assert (status, err) == (0, "")
    assert "float32, 500 inputs each" in out
    assert ", right is " in out


def test_integers_are_counted_and_not_measured(ogive):  # noqa: F811
    status, out, _ = ogive("accuracy", "neg", "--count", "--dtype", "int8", "--json")
    assert status == 0
    (count,) = json.loads(out)["counts"]
    assert (count["count"], count["misrounded"]) == (256, 0)
    status, _, err = ogive("accuracy", "neg", "--dtype", "int8")
    assert status == 2
    assert "errors of int8 are not measured; allowed: float16, bfloat16, float32, float64, or --count" in err


@pytest.mark.parametrize("option", [["--save", "there"], ["--peer", "torch"], ["--digest"], ["--histogram"]])
def test_what_does_not_go_with_it(ogive, option):  # noqa: F811
    status, _, err = ogive("accuracy", "tanh", "--count", *option)
    assert status == 2
    assert f"--count counts Ogive's own results and keeps nothing; leave out {option[0]}" in err


def test_rows_and_counts_of_inputs(ogive):  # noqa: F811
    status, _, err = ogive("accuracy", "softmax", "--count", "--dtype", "float16")
    assert status != 0
    assert "softmax: it computes rows; allowed: element-wise operators" in err
    status, _, err = ogive("accuracy", "tanh", "--count", "--dtype", "float16", "--samples", "10")
    assert status == 2
    assert "--samples is for float64, operators of several tensors" in err
    status, _, err = ogive("accuracy", "mul", "--count", "--exhaustive")
    assert status == 2
    assert "--exhaustive is for float32 and shorter types, and one tensor" in err
