import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from ogive.catalog import OPERATORS
from ogive.catalog.fast_errors import UNMEASURED, errors
from ogive.cli import COMMANDS, main
from ogive.cli.deciding_levels import EVERYDAY, FAMILIES
from ogive.cli.list_command import rounded_up


@pytest.fixture
def ogive(capsys):
    """Run the command line in this process: (status, standard output, standard error)."""

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main(list(arguments))
        captured = capsys.readouterr()
        return exit_.value.code, captured.out, captured.err

    return run


def test_list_names_every_operator(ogive):
    status, out, err = ogive("list")
    assert (status, err) == (0, "")
    for name, op in OPERATORS.items():
        row = next(line for line in out.splitlines() if line.split()[:1] == [name])
        assert (op.onnx or "-") in row


@pytest.mark.matrix(share=16, pool="slow")
def test_list_and_show_say_the_errors_of_both_contracts(ogive):
    _, out, _ = ogive("list", "gelu")
    cells = {line.split()[0]: line.split() for line in out.splitlines() if line}
    fast = rounded_up(errors("gelu")[0].fast)
    assert float(cells["gelu"][3]) == fast
    assert cells["gelu_tanh"][3] == "-"
    assert cells["fast"][1:6] == ["the", "largest", "measured", "error", "of"]
    _, out, _ = ogive("list", "relu")
    assert "=" in next(line for line in out.splitlines() if line.startswith("relu ")).split()
    _, out, _ = ogive("show", "gelu")
    assert f"fast        {fast:.2f} ULP in float32\n" in out
    assert "exact       correctly rounded in float32\n" in out
    assert "fast        the same as exact" in ogive("show", "relu")[1]
    assert "fast        other results in float32" in ogive("show", "softcap")[1]
    assert "levels      the kernel decides all float32 elements of" in ogive("show", "relu", "--levels")[1]
    assert not any(line.startswith(("levels", "bound")) for line in ogive("show", "relu")[1].splitlines())


INPUT = "--input", "coefficients=examples/coefficients.npy"


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("command", "name", "value", "sentence"),
    [
        (["-m", "ogive", "list"], "OGIVE_NUM_THREADS", "many", "it is 'many'; allowed: a whole number from 1 to 1024"),
        (
            [Path(sysconfig.get_path("scripts"), "ogive")],
            "OGIVE_ACCURACY",
            "quick",
            "it is 'quick'; allowed: 'exact', 'fast'",
        ),
        (["-m", "ogive", "-h"], "OGIVE_STATISTICS", "yes", "it is 'yes'; allowed: '0', '1'"),
        (
            ["-m", "ogive", "run", "examples/threshold.onnx", *INPUT],
            "OGIVE_PACKS",
            "of",
            "it is 'of'; allowed: 'on', 'off'",
        ),
    ],
    ids=lambda value: value if str(value).startswith("OGIVE") else "",
)
def test_a_wrong_variable_of_the_environment_is_one_line(command, name, value, sentence):
    """The package is imported before the command line runs, and refuses most of them."""
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "OGIVE_CACHE": "off", name: value},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"ogive: {name}: {sentence}\n")


def test_list_with_a_pattern(ogive):
    status, out, _ = ogive("list", "TANH")
    assert status == 0
    found = [line.split()[0] for line in out.split("\n\n")[0].splitlines()[1:]]
    assert "\n\n4 operators, and 4 names of others with numbers filled in\n" in out
    assert found == [
        "atanh",
        "gelu_tanh",
        "gelu_tanh_and_mul",
        "hard_tanh",
        "hardtanh",
        "scaled_tanh",
        "tanh",
        "tanhshrink",
    ]
    assert "celu" not in out


def test_list_knows_the_names_of_other_libraries(ogive):
    status, out, _ = ogive("list", "silu")
    assert status == 0
    assert [line.split()[0] for line in out.split("\n\n")[0].splitlines()[1:]] == ["hard_swish", "swiglu", "swish"]
    assert ogive("show", "LeakyRelu")[1].startswith("leaky_relu")
    assert "did you mean silu or" in ogive("show", "sliu")[2]


def test_contracts_differ_where_no_error_says_so():
    """By the digests of programs: what both contracts compute in float32."""
    lines = (Path(__file__).parents[1] / "programs.txt").read_text(encoding="utf-8").splitlines()
    digests = dict(line.rsplit(" ", 1) for line in lines)
    of_float32 = {name.split("/")[1]: digest for name, digest in digests.items() if name.startswith("fast/")}
    for name, digest in of_float32.items():
        operator, types = name.split(" ")[:2]
        if set(re.split("->|,", types)) == {"float32"} and "=" not in name and "bound" not in name:
            differs = digest != digests[f"catalog/{name}"]
            assert differs == bool(errors(operator) or operator in UNMEASURED), operator


@pytest.mark.matrix(share=16)
@pytest.mark.parametrize("name", OPERATORS)
def test_show_says_everything(ogive, name):
    status, out, err = ogive("show", name)
    assert (status, err) == (0, "")
    assert out.startswith(name)
    op = OPERATORS[name]
    assert (op.onnx or "-") in out
    assert all(parameter.name in out for parameter in op.parameters)
    if op.inputs == 1 and op.signatures[-1].outputs[0].is_float:
        assert "┌──" in out


@pytest.mark.parametrize("name", ["Shrink", "ACTIVATION_SHRINK", "DML_OPERATOR_ACTIVATION_SHRINK"])
def test_show_takes_the_names_of_both_standards(ogive, name):
    out = ogive("show", name)[1]
    assert out.startswith("shrink\n\n")
    assert "\ncomputed as where(x > lambd" in out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mul", "bound       exact: nothing is rounded before the result is"),
        ("tanh", "bound       static: the relative error is at most 2**-39."),
        ("gelu", "running: computed for each element, because numbers may cancel; the last rounding adds at most 2**-"),
    ],
)
def test_show_says_what_kind_of_bound_float32_results_have(ogive, name, text):
    assert text in ogive("show", name, "--levels")[1]


@pytest.mark.parametrize("name", ["softmax", "bit_and"])
def test_show_says_nothing_of_bounds_where_there_are_none(ogive, name):
    assert "bound  " not in ogive("show", name, "--levels")[1]


def test_show_says_first_what_a_user_asks(ogive):
    titles = [line.split()[0] for line in ogive("show", "gelu")[1].splitlines()[4:9] if line[0] != " "]
    assert titles[0] == "approximate"
    assert "\nspecial     nan -> nan; 0 -> 0; " in ogive("show", "gelu")[1]


def test_show_in_ascii(ogive, monkeypatch):
    monkeypatch.setattr("ogive.cli.show_command.can_write", lambda text, encoding: text.isascii())
    for more in ((), ("--plot", "-")):
        out = ogive("show", "silu", *more)[1]
        assert out.isascii()
        assert "+-----" in out
        assert "****" in out


def test_the_operators_of_a_feature_level(ogive):
    from ogive.directml.data import FEATURE_LEVELS, OPERATOR_TYPES, facts

    for level in ("1_0", "3_0", "6_4"):
        status, out, _ = ogive("list", "--feature-level", level)
        assert status == 0
        listed = {
            line.split()[0]
            for line in out.splitlines()[1:]
            if line.startswith(("ACTIVATION", "ELEMENT", "CAST", "FILL"))
        }
        assert listed == {
            name for name in OPERATOR_TYPES if FEATURE_LEVELS[facts(name).introduced] <= FEATURE_LEVELS[level]
        }
    assert (
        "InputTensor FLOAT32 FLOAT16; OutputTensor FLOAT32 FLOAT16"
        in ogive("list", "SHRINK", "--feature-level", "3_0")[1]
    )
    assert "INT8" in ogive("list", "SHRINK", "--feature-level", "5_1")[1]
    assert ogive("list", "GELU", "--feature-level", "3_0")[0] == 2


def test_help_is_a_command(ogive):
    assert ogive("help")[1] == ogive("--help")[1]
    assert ogive("help", "judge")[1] == ogive("judge", "--help")[1]


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is full")
def test_a_full_disk_is_named(tmp_path):
    script = "import sys; from ogive.cli import main; main(sys.argv[1:])"
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-c", script, "list", "relu"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, "ogive: the output: No space left on device\n")
    for command in (["export", "relu"], ["vectors", "relu", "--dtype", "float16"]):
        name = {"export": "ogive_relu_float32.h", "vectors": "relu-float16.npz"}[command[0]]
        (tmp_path / name).symlink_to("/dev/full")
        done = subprocess.run(
            [sys.executable, "-c", script, *command, "--output", str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (2, f"ogive: {tmp_path / name}: No space left on device\n")


@pytest.mark.matrix(share=16, pool="slow")
def test_an_alias_keeps_its_name(ogive, tmp_path):
    """In files, in C and in reports; the number that it does not have is no argument."""
    status, out, _ = ogive("export", "silu", "expit", "--name", "both", "--output", str(tmp_path))
    assert status == 0
    assert "void ogive_silu_float32(const float *x, float *y, size_t begin, size_t end);" in out
    assert "void ogive_expit_float32(const float *x" in out
    assert "silu-float16.npz" in ogive("vectors", "silu", "--dtype", "float16", "--output", str(tmp_path))[1]
    assert (tmp_path / "silu-float16.json").exists()
    status, out, _ = ogive("judge", "ogive", "--operator", "silu", "--dtype", "float16")
    assert status == 0
    assert out.startswith("ogive: silu, float16")


def test_show_assembly(ogive):
    status, out, _ = ogive("show", "celu", "--asm", "--dtype", "float16", "--target", "x86-64-v3")
    assert status == 0
    assert "vcvtph2ps" in out
    assert "vfmadd" in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("lst",), "ogive: there is no command 'lst'; did you mean list?"),
        (
            ("zzz",),
            "ogive: there is no command 'zzz'; allowed: accuracy, check, devices, doctor, export, judge, list, run, show, split, vectors",
        ),
        (("show",), "ogive: Missing argument 'OPERATOR'. Try 'ogive show --help'"),
        (("show", "shrnk"), "ogive: there is no operator 'shrnk'; did you mean shrink or tanhshrink or softshrink?"),
        (("show", "zzzzzz"), "ogive: there is no operator 'zzzzzz'; allowed: the names that `ogive list` prints, or"),
        (("show", ""), "ogive: there is no operator ''; allowed: the names that `ogive list` prints, or"),
        (
            ("show", "celu", "--asm", "--dtype", "int8"),
            "ogive: --dtype is 'int8'; allowed: float16, float32, float64, bfloat16, for celu",
        ),
        (("show", "celu", "--asm", "--target", "z80"), "ogive: --target is 'z80'; allowed: x86-64"),
        (("list", "zzz"), "ogive: no operator has 'zzz' in its names; allowed: a part of a name"),
        (("list", "--bogus"), "ogive: No such option '--bogus'. Try 'ogive list --help'"),
        (("accuracy", "celu", "--accuracy", "quick"), "ogive: Invalid value for '--accuracy': 'quick' is not one of"),
        (("show", "celu", "--dtype", "float16"), "ogive: --dtype says what --asm prints; allowed: --dtype together"),
        (("show", "celu", "--target", "aarch64"), "ogive: --target says what --asm prints; allowed: --target together"),
        (("run", "missing.onnx"), "ogive: Invalid value for 'MODEL': File 'missing.onnx' does not exist."),
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(ogive, arguments, text):
    status, out, err = ogive(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith(text)
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), *((name, "--help") for name in COMMANDS)])
def test_help(ogive, arguments):
    status, out, _ = ogive(*arguments)
    assert status == 0
    assert out.startswith("Usage: ogive")


def test_no_command_shows_help(ogive):
    status, out, _ = ogive()
    assert status == 2
    assert all(name in out for name in COMMANDS)


def test_version(ogive):
    status, out, _ = ogive("--version")
    assert status == 0
    assert re.search(r"\d+\.\d+\.\d+", out)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("command", ["list", "check examples/threshold.onnx --json"], ids=["by rich", "by click"])
def test_a_closed_pipe_is_no_error(command):
    completed = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m ogive {command} | true"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, "", "")


def test_accuracy_is_kept_and_not_measured_twice(ogive, tmp_path, monkeypatch):
    from ogive.cli import accuracy_command

    options = ["accuracy", "tanh", "--dtype", "bfloat16", "--save", str(tmp_path)]
    status, first, _ = ogive(*options)
    assert status == 0
    (path,) = tmp_path.iterdir()
    monkeypatch.setattr(accuracy_command, "sweep", None)  # it would fail
    assert ogive(*options)[:2] == (0, first)
    assert path.name == "ogive.csv"
    head, row = path.read_text().splitlines()
    path.write_text(f"{head}\n{row.rpartition(',')[0]},not \n")
    monkeypatch.undo()
    assert ogive(*options)[0] == 0  # another operator was measured: this one is measured now
    assert "not " not in path.read_text()


def test_accuracy_prints_how_errors_are_spread(ogive):
    """For one operator, and for several where that is asked for."""

    def counts(out):
        return [int(count.replace(",", "")) for count in re.findall(r"^ *[\d.e-]+ ULP +([\d,]+) *$", out, re.MULTILINE)]

    options = ["accuracy", "--dtype", "bfloat16"]
    status, out, _ = ogive(*options, "tanh")
    assert status == 0
    assert sum(counts(out)) == 1 << 16
    assert counts(ogive(*options, "tanh", "--no-histogram")[1]) == []
    assert counts(ogive(*options, "tanh", "exp")[1]) == []
    assert sum(counts(ogive(*options, "tanh", "exp", "--histogram")[1])) == 2 << 16


def test_accuracy_of_parameters_and_rows(ogive):
    status, out, _ = ogive("accuracy", "gelu", "--dtype", "float16", "--parameter", "approximate=tanh")
    assert status == 0
    assert "gelu" in out
    status, out, _ = ogive("accuracy", "softmax", "--samples", "100000")
    assert status == 0
    assert "softmax" in out
    for words, text in (
        (
            ["parametric_softplus"],
            "parametric_softplus cannot be measured in float32: give --parameter alpha=VALUE, --parameter beta=VALUE",
        ),
        (["celu", "--parameter", "alpha"], "--parameter is 'alpha'; allowed: NAME=VALUE"),
        (["celu", "--parameter", "beta=1"], "celu has no parameter 'beta'; allowed: alpha"),
        (["celu", "--parameter", "alfa=1"], "celu has no parameter 'alfa'; did you mean alpha?"),
        (["tanh", "--parameter", "alfa=1"], "tanh has no parameter 'alfa'; allowed: none, it has no parameters"),
        (["--parameter", "alpha=1"], "--parameter says what one operator has; allowed: with the name of an operator"),
        (["celu", "--workers", "0"], "Invalid value for '--workers': 0 is not in the range"),
        (["celu", "--samples", "0"], "Invalid value for '--samples': 0 is not in the range"),
        (["celu", "--dtype", "float64", "--samples", "-1"], "Invalid value for '--samples': -1 is not in the range"),
        (["celu", "--samples", "10"], "celu in float32: every input, or every 128th, is measured"),
        (["prelu", "--exhaustive"], "prelu in float32: there are too many inputs. Say with --samples how many"),
        (["gelu", "--parameter", "approximate=erf"], "gelu: approximate is 'erf'"),
        (["bit_count"], "bit_count cannot be measured in float32: it has no such type"),
    ):
        status, _, error = ogive("accuracy", *words)
        assert status == 2
        assert text in error


def test_a_peer_that_is_missing_is_named(ogive, monkeypatch):
    import importlib

    def not_installed(name):
        raise ModuleNotFoundError(name, name=name)

    from ogive.laboratory.peers import peer_functions

    monkeypatch.setattr(peer_functions, "importlib", type("none", (), {"import_module": staticmethod(not_installed)}))
    status, _, error = ogive("accuracy", "tanh", "--peer", "torch")
    assert status == 2
    assert "torch: the package torch is not installed. Install it: pip install torch" in error
    assert ogive("accuracy", "tanh", "--peer", "abacus")[0] == 2
    assert importlib.import_module("math")


def test_peers_stand_side_by_side(ogive, monkeypatch):
    """With a peer of NumPy's functions in the place of one that may not be installed."""
    import numpy as np

    from ogive.cli import accuracy_command

    def function(peer, operator, names, parameters, changed):
        if operator == "celu":
            raise KeyError(operator)
        return getattr(np, operator)

    monkeypatch.setattr(accuracy_command, "function", function)
    monkeypatch.setattr(accuracy_command, "version", lambda peer: f"{peer} 1.0")
    status, out, _ = ogive("accuracy", "tanh", "celu", "--dtype", "float16", "--peer", "torch")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[:3]] == ["operator", "tanh", "celu"]
    assert out.splitlines()[2].split()[-1] == "-"
    assert 0.4 < float(out.splitlines()[1].split()[-1]) < 1


@pytest.mark.matrix(share=16, pool="slow")
def test_show_says_which_level_decides(ogive, tmp_path):
    """A sum that is zero goes to enclosures wherever it is computed; where it is not, the repair decides one of each chunk."""
    file = tmp_path / "levels.py"
    file.write_text(
        "import numpy as np, ogive\n\n\n@ogive.operator\ndef vanishing(x):\n"
        '    """Zero."""\n    return np.where(x == 0, x, np.sin(x) ** 2 + np.cos(x) ** 2 - 1)\n'
    )
    status, out, err = ogive("show", f"{file}:vanishing", "--levels")
    assert status == 0, err
    lines = [line for line in out.splitlines() if line.startswith("levels")]
    shares = {family: line for line in lines for family in line.rsplit(": ", 1)[1].split("; ")}
    assert set(shares) == {*FAMILIES, *EVERYDAY}
    # The level of moderate operands leaves out zeros. The repair computes one of each chunk, for all.
    assert shares["zero"].startswith("levels      the kernel 99.90 %, the repair 0.10 %:")
    assert shares["normal, width 1"].startswith("levels      enclosures 100 %:")
    (named,) = [line for line in out.splitlines() if line.startswith("identity")]
    assert named.startswith(
        "identity    no number of bits decides results, which are taken as exact: normal, width 1; "
    )
    assert not [line for line in ogive("show", "gelu", "--levels")[1].splitlines() if line.startswith("identity")]
    assert not [line for line in ogive("show", "bit_count", "--levels")[1].splitlines() if line.startswith("levels")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_folder_that_is_a_pipe(ogive, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    status, _, err = ogive("export", "relu", "--output", str(tmp_path / "pipe"))
    assert (status, err) == (2, f"ogive: {tmp_path / 'pipe'}: File exists, and is no folder. Name another one\n")
