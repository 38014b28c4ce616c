"""Terminals of any width: no command breaks a word, so no number, and a pipe gets a row on a line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ogive.catalog import OPERATORS
from ogive.cli import COMMANDS
from ogive.cli.accuracy_command import Measurement, _announce
from ogive.common.dtypes import element_type
from tests.cli.test_commands import ogive  # noqa: F401  (a fixture)

#: The output of `ogive export` is code and paths.
WITHOUT_TABLES = {"export"}

#: A command, and a word of its table.
CALLS = {
    "accuracy": (("accuracy", "tanh", "celu", "--dtype", "float16", "--digest"), "misrounded"),
    "accuracy of one": (("accuracy", "celu", "--dtype", "float16"), "65,536"),
    "accuracy beside peers": (("accuracy", "tanh", "--dtype", "float16", "--peer", "onnxruntime"), "onnxruntime"),
    "accuracy, counted": (("accuracy", "elu", "celu", "--dtype", "float16", "--count"), "farthest"),
    "check": (("check", "MODEL", "--feature-level", "1_0"), "ELEMENT_WISE_IDENTITY"),
    "devices": (("devices",), "threads"),
    "doctor": (("doctor",), "-0.6321205588285577"),
    "judge": (("judge", "ogive", "--operator", "exp", "--operator", "tanh", "--dtype", "float16"), "65,536"),
    "judge of one": (("judge", "ogive", "--operator", "exp", "--dtype", "float16", "--workers", "1"), "65,536"),
    "list": (("list", "hard"), "ACTIVATION_HARD_SIGMOID"),
    "run": (("run", "MODEL", "--input", "first_of_the_inputs=ARRAY"), "-1005.18"),
    "show": (("show", "gelu"), "ACTIVATION_GELU"),
    "split": (("split", "MODEL"), "Celu"),
    "vectors": (("vectors", "celu", "--dtype", "float16", "--output", "FOLDER"), "celu"),
}


def test_every_command_is_here():
    assert {call[0] for call, _ in CALLS.values()} == set(COMMANDS) - WITHOUT_TABLES


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow")
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Celu", ["first_of_the_inputs"], ["y"]), helper.make_node("Identity", ["y"], ["z"])]
    inputs = [value("first_of_the_inputs", TensorProto.FLOAT, [2, 63470])]
    graph = helper.make_graph(nodes, "g", inputs, [value("z", TensorProto.FLOAT, [2, 63470])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "m.onnx")
    np.save(folder / "x.npy", np.linspace(-1005.18, 2e-30, 126940, dtype=np.float32).reshape(2, -1))
    return {"MODEL": str(folder / "m.onnx"), "ARRAY": str(folder / "x.npy"), "FOLDER": str(folder)}


#: Numbers that another run measures anew.
VARIABLE = re.compile(r"\S+ (ms|ns)\b|\S+ %|\S+ files?, \S+ MB")
STYLES = re.compile(r"\x1b\[[\d;]*m")


def words(text):
    """The words with a digit. Those of a curve are left out, whose axis has fewer numbers in a narrow terminal."""
    plain = re.sub(r"┌.*", "", STYLES.sub("", text), flags=re.DOTALL)
    return {word for word in VARIABLE.sub("", " ".join(plain.split())).split() if re.search(r"\d", word)}


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("name", CALLS)
def test_no_width_breaks_a_number(ogive, monkeypatch, places, name):  # noqa: F811
    arguments = [word.replace(key, value) for word in CALLS[name][0] for key, value in _named(places, word)]
    status, piped, _ = ogive(*arguments)
    assert CALLS[name][1] in piped
    assert "\x1b" not in piped
    assert all(line == line.rstrip() for line in piped.splitlines())
    for width in (40, 60, 80):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))
        again, shown, _ = ogive(*arguments)
        assert again == status
        assert words(shown) == words(piped)
        lines = STYLES.sub("", shown).splitlines()
        assert all(line == line.rstrip() for line in lines)
        # A line is longer only for a word that is longer by itself, and the title before it.
        longest = max((len(line) for line in lines if len(line.split()) > 3), default=0)
        assert longest <= width, next(line for line in lines if len(line) == longest)


def _named(places, word):
    return [next(((key, value) for key, value in places.items() if key in word), ("", ""))]


def test_a_model_is_read_from_a_pipe(ogive, monkeypatch, places):  # noqa: F811
    with Path(places["MODEL"]).open("rb") as file:
        monkeypatch.setattr(sys, "stdin", type("Stream", (), {"buffer": file}))
        status, out, _ = ogive("run", "-", "--input", f"first_of_the_inputs={places['ARRAY']}")
    assert status == 0
    assert "-1005.18" in out


@pytest.mark.matrix(share=16, pool="slow")
def test_what_all_operators_take_is_said_first(capsys):
    measured = [Measurement(OPERATORS[name], element_type("float16"), {}, "ogive") for name in ("celu", "tanh", "add")]
    _announce(measured, 1, 100_000, 1)
    assert capsys.readouterr().err.startswith(
        "ogive: measuring 3 operators in float16, on 65,536 to 100,000 inputs each: about a minute or less. Name operators"
    )


@pytest.mark.matrix(share=16, pool="slow")
def test_an_installation_without_a_compiler_is_described():
    """Nothing is asked of packages that are not there, and the status says that nothing is computed."""
    script = "import sys; sys.modules['llvmlite'] = None; from ogive.cli import main; main(['doctor'])"
    environment = os.environ | {"OGIVE_CACHE": "off", "OGIVE_PACKS": "off"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "\ncache      off: " in done.stdout
    assert (
        "\nfirst call celu(-1.0) fails: llvmlite: this install has no compiled kernels, as it was built from sources"
        in done.stdout
    )
    assert "/" not in re.sub(r"(?m)^(C compiler|device|system|cache) .*$", "", done.stdout)
