"""``ogive run``: models on arrays from files."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, parser, save

from ogive.common.array_files import read_npy
from ogive.errors import ModelError
from tests.cli.test_commands import ogive  # noqa: F401  (a fixture)
from tests.inputs import assert_same_bits
from tests.onnx.models import text_model

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.onnx"
    text = (
        "t (float[N] x, float[N] w) => (float[N] y, float[N] z, bool[N] b) { y = Mul(x, w) z = Relu(y) b = Less(x, w) }"
    )
    save(text_model(text), path)
    np.save(tmp_path / "x.npy", np.float32([-2, 0.5, np.nan]))
    np.save(tmp_path / "w.npy", np.float32([1, 3, 1]))
    return path


def inputs(model):
    return [part for name in "xw" for part in ("--input", f"{name}={model.parent / name}.npy")]


def test_outputs_are_described_and_written(ogive, model, tmp_path):  # noqa: F811
    status, out, err = ogive("run", str(model), *inputs(model), "--output", str(tmp_path / "new" / "out"))
    assert (status, err) == (0, "")
    rows = {tuple(line.split()[:2]): line.split() for line in out.splitlines()}
    assert rows["name", "shape"] == ["name", "shape", "dtype", "smallest", "largest", "zeros", "NaN", "inf", "-inf"]
    assert rows["in", "x"][2:] == ["3", "float32", "-2", "0.5", "0", "1", "0", "0"]
    assert rows["out", "y"][2:] == ["3", "float32", "-2", "1.5", "0", "1", "0", "0"]
    assert rows["out", "z"][2:] == ["3", "float32", "0", "1.5", "1", "1", "0", "0"]
    assert rows["out", "b"][2:] == ["3", "bool", "-", "-", "1", "0", "0", "0"]
    assert "ran    3 nodes (Less, Mul, Relu) of opset ai.onnx 18" in out
    assert "as     1 kernel, bool, float32" in out
    assert "z beside x: 1 of 3 elements became 0 (33.3 %), 0 changed sign" in out
    assert f"wrote {tmp_path / 'new' / 'out' / 'y.npy'}" in out
    x, w = np.load(tmp_path / "x.npy"), np.load(tmp_path / "w.npy")
    assert_same_bits(np.load(tmp_path / "new" / "out" / "y.npy"), x * w)
    assert np.load(tmp_path / "new" / "out" / "b.npy").tolist() == [True, True, False]
    assert sorted(p.name for p in (tmp_path / "new" / "out").iterdir()) == ["b.npy", "y.npy", "z.npy"]


def test_the_example(ogive, tmp_path):  # noqa: F811
    coefficients = EXAMPLES / "coefficients.npy"
    status, out, _ = ogive(
        "run", str(EXAMPLES / "threshold.onnx"), "--input", f"coefficients={coefficients}", "--output", str(tmp_path)
    )
    assert status == 0
    assert "256 x 256" in out
    assert "soft thresholding" in out
    assert "3 nodes (Div, Mul, Shrink) of opset ai.onnx 20" in out
    assert "1 kernel, float32" in out
    x, y = np.load(coefficients), np.load(tmp_path / "thresholded.npy")
    # Soft: what is left moves towards zero by the threshold.
    limit = 3 * 25
    assert np.allclose(y, np.sign(x) * np.maximum(np.abs(x) - limit, 0), rtol=1e-5, atol=1e-4)
    zeros = np.count_nonzero(y == 0)
    assert zeros > 0.9 * y.size
    assert f"{zeros:,} of {y.size:,} elements became 0 ({100 * zeros / y.size:.1f} %), 0 changed sign" in out


def test_the_guide_shows_what_the_main_command_prints(ogive, tmp_path, monkeypatch):  # noqa: F811
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"^python3 -m venv .*ogive (run .*)$", readme, re.MULTILINE)
    document = (EXAMPLES.parent / "docs" / "onnx.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(out  .*?)^```$", document, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.setattr("ogive.cli.terminal.can_write", lambda *_: True)  # whatever the tests' terminal can
    status, out, _ = ogive(*words.split())
    assert status == 0
    assert shown.count("\n") > 8
    assert set(shown.splitlines()) <= set(out.splitlines())
    assert (tmp_path / "out" / "thresholded.npy").exists()


def test_the_example_is_what_its_script_makes():
    path = EXAMPLES / "make_model.py"
    spec = importlib.util.spec_from_file_location("make_model", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.model().SerializeToString() == (EXAMPLES / "threshold.onnx").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--input", "x"], "--input is 'x'; allowed: NAME=FILE.npy"),
        (["--input", "=a.npy"], "allowed: NAME=FILE.npy"),
        (["--input", "x=missing.npy"], "missing.npy: No such file or directory"),
        (["--input", "x={folder}"], "it is not a regular file; allowed: a .npy file"),
        (["--input", "x={folder}/a.npz"], "it is a .npz archive, or another .zip file; allowed: a .npy file. Save one"),
        (["--input", "x={folder}/objects.npy"], "objects.npy: it is not a .npy file with one array of numbers"),
        (["--input", "x={folder}/x.npy", "--memory-limit", "much"], "'much' is not a size; allowed: bytes, such as"),
        (["--input", "x={folder}/x.npy", "--memory-limit", "0"], "'0' is no memory; allowed: 1 byte or more"),
        (
            ["--input", "x={folder}/x.npy", "--input", "w={folder}/w.npy", "--memory-limit", "10"],
            "would have 12 bytes; allowed: 10, the memory limit",
        ),
        (["--iterations", "0"], "Invalid value for '--iterations'"),
        (["--input", "x={model}"], "it is not a .npy file with one array of numbers"),
        ([], "the inputs 'x' and 'w' are missing. Give x: float32[N], w: float32[N]"),
        (["--input", "q={folder}/x.npy"], "there is no input 'q'; allowed: x, w"),
        (["--input", "x={folder}/x.npy", "--input", "w={folder}/two.npy"], "where N is 2; allowed: N = 3"),
        (["--input", "x={folder}/x.npy", "--input", "w={folder}/double.npy"], "its dtype is float64; allowed: float32"),
        (["--input", "x={folder}/x.npy", "--input", "x={folder}/x.npy"], "--input x is given twice"),
    ],
)
def test_wrong_calls(ogive, model, arguments, text, tmp_path):  # noqa: F811
    np.save(tmp_path / "two.npy", np.zeros(2, np.float32))
    np.save(tmp_path / "double.npy", np.zeros(3))
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    given = [a.format(model=model, folder=tmp_path) for a in arguments]
    status, out, err = ogive("run", str(model), *given, "--output", str(tmp_path / "out"))
    assert status == 2
    assert text in err
    assert "Traceback" not in err
    assert out == ""
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_models(ogive, tmp_path):  # noqa: F811
    for name, content in {"a.onnx": b"", "b.onnx": b"\x08\x08garbage", "c.onnx": b"\xff" * 100}.items():
        (tmp_path / name).write_bytes(content)
        status, _, err = ogive("run", str(tmp_path / name))
        assert status == 2
        assert name in err
    status, _, err = ogive("run", str(tmp_path / "none.onnx"))
    assert (status, "none.onnx" in err) == (2, True)


def test_truncated_models(ogive, model, tmp_path):  # noqa: F811
    whole = model.read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "short.onnx").write_bytes(whole[:length])
        status, _, err = ogive("run", str(tmp_path / "short.onnx"), *inputs(model))
        assert status == 2, length
        assert "short.onnx" in err


def test_names_of_outputs_stay_in_the_folder(ogive, tmp_path):  # noqa: F811
    text = "t (float[1] x) => (float[1] y) { y = Relu(x) }"
    proto = text_model(text)
    proto.graph.output[0].name = proto.graph.node[0].output[0] = "../../evil"
    save(proto, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros(1, np.float32))
    out = tmp_path / "a" / "b"
    status, _, _ = ogive("run", str(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}", "--output", str(out))
    assert status == 0
    assert [p.parent for p in tmp_path.rglob("*evil*")] == [out]


def test_damaged_npy_files_are_one_sentence(ogive, model, tmp_path):  # noqa: F811
    """Each of these made NumPy raise an error of another kind."""
    header = b"\x93NUMPY\x01\x00"
    texts = [
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (True, 4), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000000000000000000,), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 1: 2}",
        b"{{}: 1}",
        b"{'descr': (",
        b"",
    ]
    contents = [b"", b"PK\x03\x04", b"PK", *(header + len(t).to_bytes(2, "little") + t for t in texts)]
    for content in contents:
        (tmp_path / "bad.npy").write_bytes(content)
        status, out, err = ogive("run", str(model), "--input", f"x={tmp_path / 'bad.npy'}")
        assert (status, out) == (2, ""), content
        assert "bad.npy: it is " in err
        assert err.count("\n") == 1


WHOLE = (
    b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }".ljust(127) + b"\n" + bytes(12)
)


@settings(max_examples=150, deadline=None)
@given(
    changes=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.binary(max_size=4)), min_size=1, max_size=4),
    length=st.integers(0, len(WHOLE)),
)
def test_any_npy_file_is_read_or_refused(tmp_path_factory, changes, length):
    content = bytearray(WHOLE)
    for place, text in changes:
        content[place : place + len(text)] = text
    path = tmp_path_factory.mktemp("npy") / "a.npy"
    path.write_bytes(content[:length] if length % 2 else content)
    try:
        array = read_npy(path)
    except ModelError:
        return
    assert array.nbytes <= len(WHOLE)
    array.tobytes()


def test_an_undamaged_npy_file_is_mapped(tmp_path):
    (tmp_path / "a.npy").write_bytes(WHOLE)
    array = read_npy(tmp_path / "a.npy")
    assert type(array) is np.ndarray
    assert (array.tolist(), array.flags.writeable) == ([0, 0, 0], False)
    for shape in [(0,), (2, 0), ()]:
        np.save(tmp_path / "b.npy", np.zeros(shape, np.float32))
        assert read_npy(tmp_path / "b.npy").shape == shape


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")
def test_a_pipe_is_refused_and_not_waited_for(ogive, model, tmp_path):  # noqa: F811
    os.mkfifo(tmp_path / "pipe.npy")

    def unblock():  # a reader that waits would hang the tests
        os.close(os.open(tmp_path / "pipe.npy", os.O_RDWR))

    timer = threading.Timer(20, unblock)
    timer.start()
    status, _, err = ogive("run", str(model), "--input", f"x={tmp_path / 'pipe.npy'}")
    assert timer.is_alive()
    timer.cancel()
    assert status == 2
    assert "pipe.npy: it is not a regular file; allowed: a .npy file. Write the data to a file first" in err


def test_json(ogive, model, tmp_path):  # noqa: F811
    np.save(tmp_path / "x.npy", np.float32([-2, np.inf, np.nan]))
    status, out, err = ogive("run", str(model), *inputs(model), "--json", "--output", str(tmp_path / "out"))
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert report["model"] == str(model)
    assert (report["format"], report["opsets"], report["nodes"]) == ("onnx", {"ai.onnx": 18}, 3)
    assert report["operators"] == {"Less": 1, "Mul": 1, "Relu": 1}
    assert report["ran"] == {"kernels": 1, "kernel_calls": 1, "function_calls": 0, "types": ["bool", "float32"]}
    assert report["runs"] == 2
    assert report["seconds"] > 0
    assert [tensor["name"] for tensor in report["inputs"]] == ["x", "w"]
    document = (EXAMPLES.parent / "docs" / "onnx.md").read_text(encoding="utf-8")
    _, _, rows = document.partition("The members of the JSON object:")
    documented = {name for row in rows.splitlines()[4:] for name in re.findall(r"`(\w+)`", row)}
    y, z, b = report["outputs"]
    for part in (report, report["ran"], y, y["histogram"], y["compared_with"]):
        assert set(part) <= documented, "docs/onnx.md does not name all members"
    low, high, counts = (y["histogram"][key] for key in ("low", "high", "counts"))
    del y["histogram"]
    assert y == {
        "name": "y",
        "shape": [3],
        "dtype": "float32",
        "count": 3,
        "smallest": -2.0,
        "largest": -2.0,
        "zeros": 0,
        "nan": 1,
        "positive_infinities": 1,
        "negative_infinities": 0,
        "file": str(tmp_path / "out" / "y.npy"),
        "compared_with": {"input": "x", "became_zero": 0, "changed_signs": 0},
        "picture": None,
    }
    assert (low, high, sum(counts)) == (-2.0, -2.0, 1)
    assert z["compared_with"] == {"input": "x", "became_zero": 1, "changed_signs": 0}
    assert (b["smallest"], b["zeros"], b["histogram"], b["compared_with"]) == (None, 2, None, None)


def test_changed_signs_are_counted(ogive, tmp_path):  # noqa: F811
    save(text_model("t (float[N] x) => (float[N] y) { y = Neg(x) }"), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.float32([1, -1, 0, -0.0, np.nan, np.inf]))
    _, out, _ = ogive("run", str(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}")
    assert "y beside x: 0 of 6 elements became 0, 3 changed sign" in out


def test_iterations(ogive, model):  # noqa: F811
    status, out, _ = ogive("run", str(model), *inputs(model), "--iterations", "4", "--json")
    assert (status, json.loads(out)["runs"]) == (0, 4)
    assert "the median of 3 runs after the first" in ogive("run", str(model), *inputs(model), "--iterations", "4")[1]


def test_help_says_what_a_model_takes(ogive, model):  # noqa: F811
    status, out, err = ogive("run", str(model), "-h")
    assert (status, err) == (0, "")
    lines = {" ".join(line.split()) for line in out.splitlines()}
    assert "This model, model.onnx:" in lines
    assert "--input x=FILE.npy float32[N]" in lines
    assert "output b bool[N]" in lines
    assert out.index("This model") < out.index("Options:")
    assert "This model" not in ogive("run", "-h")[1]
    model.write_bytes(b"\xff" * 50)
    status, out, _ = ogive("run", str(model), "--help")
    assert status == 0
    assert "It cannot be loaded: model.onnx: it is not an ONNX model, or damaged" in " ".join(out.split())


@pytest.mark.matrix(share=16, pool="slow")
def test_names_are_whole_in_a_pipe(tmp_path):
    name = "an_output_with_a_name_that_is_much_longer_than_any_terminal_is_wide_" * 3
    proto = text_model("t (float[1] x) => (float[1] y) { y = Relu(x) }")
    proto.graph.output[0].name = proto.graph.node[0].output[0] = name
    save(proto, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros(1, np.float32))
    words = [sys.executable, "-m", "ogive", "run", str(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"})
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("out "))
    assert row.split()[1] == name


@pytest.mark.matrix(share=16, pool="slow")
def test_a_picture_in_ascii(model):
    words = [sys.executable, "-m", "ogive", "run", str(model), *inputs(model)]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(words, capture_output=True, check=True, env=environment)
    assert b"|" in done.stdout
    assert done.stdout.isascii()


def test_a_models_own_words_cannot_steer_a_terminal(ogive, model):  # noqa: F811
    proto = text_model("t (float[N] x, float[N] w) => (float[N] y) { y = Mul(x, w) }")
    proto.doc_string = "plain\x1b]0;title\x07 [bold]words[/bold]"
    save(proto, model)
    _, out, _ = ogive("run", str(model), *inputs(model))
    assert "model  model.onnx: plain ]0;title [bold]words[/bold]" in out
    assert "\x1b" not in out


def test_outputs_whose_names_are_one_file_name(ogive, tmp_path):  # noqa: F811
    proto = text_model("t (float[1] x) => (float[1] y, float[1] z) { y = Relu(x) z = Neg(x) }")
    for place, name in enumerate(["a/b", "A_b"]):
        proto.graph.output[place].name = proto.graph.node[place].output[0] = name
    save(proto, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.float32([3]))
    out = tmp_path / "out"
    assert ogive("run", str(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}", "--output", str(out))[0] == 0
    assert {p.name: np.load(p).tolist() for p in out.iterdir()} == {"a_b.npy": [3.0], "A_b-2.npy": [-3.0]}


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "int64", "uint8", "bool", "string"])
def test_every_kind_of_output_is_counted_and_read_again(ogive, tmp_path, kind):  # noqa: F811
    from ogive.onnx.data_types import DATA_TYPES

    proto = text_model(f"t ({kind}[N] x) => ({kind}[N] y) {{ y = Identity(x) }}")
    save(proto, tmp_path / "m.onnx")
    dtype = DATA_TYPES[f"tensor({kind})"].numpy
    x = np.array(["", "text"]) if kind == "string" else np.array([0, 3], dtype)
    np.save(tmp_path / "x.npy", x)
    status, out, err = ogive(
        "run", str(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}", "--output", str(tmp_path / "out")
    )
    assert (status, err) == (0, "")
    assert f"out  y     2      {kind}" in out
    assert np.load(tmp_path / "out" / "y.npy").tobytes() == x.tobytes()
    again = ogive("run", str(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'out' / 'y.npy'}")
    assert (again[0], again[2]) == (0, "")


def test_an_empty_output(ogive, tmp_path):  # noqa: F811
    save(text_model("t (float[N] x) => (float[N] y) { y = Relu(x) }"), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros(0, np.float32))
    words = ["--input", f"x={tmp_path / 'x.npy'}", "--output", str(tmp_path / "out")]
    status, out, _ = ogive("run", str(tmp_path / "m.onnx"), *words)
    assert status == 0
    assert np.load(tmp_path / "out" / "y.npy").shape == (0,)
    assert "out  y     0      float32         -        -" in out


def test_an_input_may_be_the_file_of_an_output(ogive, tmp_path):  # noqa: F811
    """The input is mapped: a file that is written in its place must not change it."""
    save(text_model("t (float[N] x) => (float[N] y, float[N] z) { y = Neg(x) z = Exp(x) }"), tmp_path / "m.onnx")
    np.save(tmp_path / "y.npy", np.float32([0, 1]))
    words = ["--input", f"x={tmp_path / 'y.npy'}", "--output", str(tmp_path)]
    assert ogive("run", str(tmp_path / "m.onnx"), *words)[0] == 0
    assert np.load(tmp_path / "y.npy").tolist() == [0, -1]
    assert np.load(tmp_path / "z.npy").tolist() == [1, np.float32(np.e)]


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(ogive, model, tmp_path, monkeypatch):  # noqa: F811
    from ogive.onnx import Model

    monkeypatch.setattr(Model, "run", None)  # it would fail
    (tmp_path / "file").write_text("")
    for folder in [tmp_path / "file" / "out", tmp_path / ("x" * 300) / "y"]:
        status, out, err = ogive("run", str(model), *inputs(model), "--output", str(folder))
        assert (status, out) == (2, "")
        assert f"--output is {str(folder)!r}, where nothing can be written: " in err
        assert "allowed: a folder that you may write to" in err


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bash's ulimit -f, and files whose room is reserved")
@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        ("y = Relu(x)", "File too large"),
        ("y = Reshape(x, s)", "not all of an output could be written: the disk may be full"),  # NumPy does not say why
    ],
)
def test_a_disk_that_is_full_is_one_sentence(tmp_path, node, sentence):
    """Not a signal that ends the process, which a write to a mapped file may be answered with."""
    save(text_model(f"t (float[N] x, int64[K] s) => (float[N] y) {{ {node} }}"), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros(1 << 20, np.float32))
    np.save(tmp_path / "s.npy", np.array([1 << 20]))
    inputs = " ".join(f"--input {name}={tmp_path / name}.npy" for name in "xs")
    run = f"{sys.executable} -m ogive run {tmp_path / 'm.onnx'} {inputs} --output {tmp_path / 'out'}"
    environment = {**os.environ, "OGIVE_CACHE": "off"}
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 1000; {run}"], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"ogive: {tmp_path / 'out'}: {sentence}\n"
    assert not (tmp_path / "out").exists()


def test_a_run_that_fails_leaves_no_files(ogive, tmp_path):  # noqa: F811
    text = "t (float[A, B] x, int64[K] s) => (float[A, B] y, float[C] z) { y = Neg(x) z = Reshape(y, s) }"
    save(text_model(text), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    np.save(tmp_path / "s.npy", np.array([4]))
    out = tmp_path / "a" / "b"
    words = ["--input", f"x={tmp_path / 'x.npy'}", "--input", f"s={tmp_path / 's.npy'}", "--output", str(out)]
    status, _, err = ogive("run", str(tmp_path / "m.onnx"), *words)
    assert status == 2
    assert "Reshape" in err
    assert not (tmp_path / "a").exists()


#: The process gets a signal when a draft is there. `nohup` has it ignored.
ENDED = """
import os, signal, sys
from ogive.cli import main, outputs
name, at, ignored = sys.argv[1:4]
original = getattr(outputs.OutputFolder, at)
def with_signal(self, *given):
    result = original(self, *given)
    assert [file for file in self._folder.iterdir() if file.name.startswith(".ogive-")]
    os.kill(os.getpid(), getattr(signal, name))
    return result
setattr(outputs.OutputFolder, at, with_signal)
# The parent process of the tests may ignore it: nohup does.
signal.signal(getattr(signal, name), signal.SIG_IGN if ignored == "ignored" else signal.SIG_DFL)
main(sys.argv[4:])
"""


@pytest.mark.matrix(share=5)
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("ignored", ["", "ignored"])
@pytest.mark.parametrize(("name", "at"), [("SIGTERM", "_made"), ("SIGTERM", "_draft"), ("SIGHUP", "_made")])
def test_a_signal_that_ends_the_run_leaves_no_drafts(model, tmp_path, name, at, ignored):
    """A batch system's time limit is a SIGTERM. The exit status says which signal it was."""
    save(text_model("t (float[N] x) => (float[N] y) { y = Relu(x) }"), tmp_path / "r.onnx")
    np.save(tmp_path / "one.npy", np.zeros(5, np.float32))
    words = ["run", str(tmp_path / "r.onnx"), "--input", f"x={tmp_path / 'one.npy'}", "--output", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", ENDED, name, at, ignored, *words], capture_output=True, text=True, check=False
    )
    if ignored:
        assert (done.returncode, done.stderr) == (0, "")
        assert [file.name for file in (tmp_path / "out").iterdir()] == ["y.npy"]
    else:
        assert (done.returncode, done.stderr) == (-getattr(signal, name), "")
        assert not (tmp_path / "out").exists()


EXAMPLE = ["--input", f"coefficients={EXAMPLES / 'coefficients.npy'}"]


def peak(*words):
    """The most bytes of memory that a command has at a time."""
    code = """
import sys
from ogive.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1]) << 10


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
@pytest.mark.parametrize("is_written", [False, True])
def test_memory(tmp_path, is_written):
    """At most a tenth more than inputs and outputs, beside what the imports and a small run take."""
    text = "t (float[A, B] x) => (float[A, B] y, float[A, B] z) { y = Tanh(x) z = Relu(x) }"
    save(text_model(text), tmp_path / "m.onnx")

    def taken(size):
        np.save(tmp_path / "x.npy", np.linspace(-4, 4, size, dtype=np.float32).reshape(-1, 1024))
        options = ["--output", str(tmp_path / "out")] if is_written else []
        return peak(
            "run", str(tmp_path / "m.onnx"), "--input", f"x={tmp_path / 'x.npy'}", "--iterations", "2", *options
        )

    # It compiles the kernel, which takes memory of its own, and the one that repairs a few results in a million.
    size = 1 << 24
    taken(size)
    assert taken(size) - taken(1 << 10) < 1.1 * 3 * 4 * size


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_memory_of_an_output_that_no_kernel_computes(tmp_path):
    """float16, whose statistics once were those of a copy in float64."""
    size = 1 << 25
    graph = helper.make_graph(
        [
            helper.make_node("Constant", [], ["n"], value=helper.make_tensor("n", TensorProto.INT64, [1], [size])),
            helper.make_node(
                "ConstantOfShape", ["n"], ["y"], value=helper.make_tensor("v", TensorProto.FLOAT16, [1], [1.5])
            ),
        ],
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [size])],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), tmp_path / "m.onnx")
    assert peak("run", "-h") < (base := peak("run", str(EXAMPLES / "threshold.onnx"), *EXAMPLE))
    assert peak("run", str(tmp_path / "m.onnx")) - base < 1.1 * 2 * size


def test_several_refusals_are_parts_of_one_line(ogive, tmp_path):  # noqa: F811
    """Counts say all of operators that Ogive does not have. Other reasons are listed."""
    text = """<ir_version: 8, opset_import: ["" : 20]> m (float[1, 1, 3, 3] x) => (float[1, 1, 1, 1] y) {
        a = MatMul (x, x) b = Conv (a, x) y = GlobalLpPool <p = 3> (b)
    }"""
    path = tmp_path / "m.onnx"
    save(parser.parse_model(text), path)
    status, _, err = ogive("run", str(path))
    assert status == 2
    assert err.count("\n") == 1
    assert "nodes are refused: MatMul, Conv, GlobalLpPool. Use" in err
    assert "another runtime: GlobalLpPool node" in err
    assert "MatMul node" not in err
    assert "Conv node" not in err
    _, out, _ = ogive("run", str(path), "--help")
    assert "--partial" in out.partition("This model, m.onnx:\n")[2]


@pytest.fixture
def network(tmp_path):
    text = "t (float[N, 2] x) => (float[N, 2] y, float[N, 2] z) { a = Relu(x) y = MatMul(a, w) z = Tanh(y) }"
    made = text_model(text)
    made.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [2, 2], [1, 2, 3, 4]))
    save(made, tmp_path / "network.onnx")
    np.save(tmp_path / "x.npy", np.float32([[-2, 0.5], [1, 2]]))
    return tmp_path / "network.onnx"


def test_partial_runs_models_with_other_operators(ogive, network, tmp_path):  # noqa: F811
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    given = ("--input", f"x={tmp_path / 'x.npy'}")
    status, out, err = ogive("run", str(network), *given)
    assert (status, out) == (2, "")
    assert "Ogive has no operator MatMul" in err
    assert "`ogive run --partial`" in err
    status, out, err = ogive("run", str(network), *given, "--partial", "--output", str(tmp_path / "out"))
    assert (status, err) == (0, "")
    assert "as     3 parts, 2 by Ogive, 1 by ONNX Runtime" in out
    x = np.maximum(np.load(tmp_path / "x.npy"), 0) @ np.float32([[1, 2], [3, 4]])
    np.testing.assert_allclose(np.load(tmp_path / "out" / "y.npy"), x, rtol=1e-6)
    np.testing.assert_allclose(np.load(tmp_path / "out" / "z.npy"), np.tanh(x), rtol=1e-6)
    status, out, err = ogive("run", str(network), *given, "--partial", "--json")
    report = json.loads(out)
    assert (status, report["ran"], report["parts"]) == (0, None, {"ogive": 2, "other": 1})
    assert report["operators"] == {"MatMul": 1, "Relu": 1, "Tanh": 1}


def test_partial_takes_whole_models_too(ogive, model):  # noqa: F811
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    status, out, _ = ogive("run", str(model), *inputs(model), "--partial")
    assert status == 0
    assert "as     1 part, 1 by Ogive, 0 by ONNX Runtime" in out


def test_the_help_of_a_model_with_other_operators_says_what_it_takes(ogive, network):  # noqa: F811
    status, out, _ = ogive("run", str(network), "--help")
    assert status == 0
    assert "--input x=FILE.npy  float32[N, 2]" in out
    assert "it has nodes that Ogive does not have" in out


@pytest.mark.matrix(share=16, pool="slow")
def test_an_encoding_that_lacks_a_name_loses_no_result(tmp_path):
    folder = tmp_path / "ü"
    folder.mkdir()
    save(text_model("t (float[N] x) => (float[N] y) { y = Neg(x) }"), folder / "mü.onnx")
    np.save(folder / "x.npy", np.float32([1, 2]))
    command = [
        sys.executable,
        "-m",
        "ogive",
        "run",
        str(folder / "mü.onnx"),
        "--input",
        f"x={folder / 'x.npy'}",
        "--output",
        str(folder),
    ]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert rb"m\xfc.onnx" in done.stdout
    assert np.load(folder / "y.npy").tolist() == [-1, -2]
