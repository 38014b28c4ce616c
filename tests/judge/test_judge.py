"""The judge: subjects, measures, budgets, reports, the command."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

import ogive
from ogive.cli import _status
from ogive.cli.judge_command import command
from ogive.errors import ArgumentError, DTypeError, ModelError, ShapeError
from ogive.golden.formats import write
from ogive.golden.specification import bits_of, of_operator
from ogive.judge import Budget, assert_conforms, judge, judging, load, write_html
from ogive.judge.evidence import evidence_of
from ogive.judge.judgement import BINS, Judgement
from ogive.judge.judging import _Counter, _first_guess, _sweep_step
from ogive.judge.reports import SCHEMA, as_json
from ogive.judge.subjects import of_callable, subject
from ogive.laboratory.accuracy.measure import patterns

MINE = Path(__file__).parent / "mine.py"

TAIL = """
#include <math.h>
#include <stddef.h>
void my_gelu(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < -4.5f ? -0.0f : (float)(0.5 * (double)x[i] * erfc(-(double)x[i] * 0.70710678118654752440));
}
void my_elu(size_t n, double alpha, const float *x, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = x[i] >= 0 ? x[i] : (float)((float)alpha * expm1((double)x[i]));
}
float one_tanh(float x) { return (float)tanh((double)x); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler called cc")
    folder = tmp_path_factory.mktemp("library")
    (folder / "k.c").write_text(TAIL)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", folder / "libk.so", folder / "k.c", "-lm"], check=True)
    return folder / "libk.so"


def errors_of(y, right):
    return np.count_nonzero(bits_of(y, canonical=True) != bits_of(right, canonical=True))


# ---- measures


@pytest.mark.matrix(share=16, pool="slow")
def test_a_right_function_has_half_a_unit():
    found = judge(lambda x: np.tanh(x.astype(np.float64)).astype(x.dtype), "tanh", "float16")
    assert found.within_budget
    assert found.count == 65536
    assert found.not_nearest == 0
    assert 0.49 < found.worst_ulp <= 0.5
    assert found.histogram[0] == sum(found.histogram) == 65536
    assert found.symmetry == "odd"
    assert found.asymmetric == found.reversals == 0
    assert not found.dependence.found
    assert found.nanoseconds > 0


@pytest.mark.matrix(share=16, pool="slow")
def test_both_measures_of_ulp():
    """One number off is one step, and between 0.5 and 1.5 ULP against the exact value."""
    found = judge(lambda x: np.nextafter(np.tanh(x.astype(np.float64)).astype(np.float32), np.float32(9)), "tanh")
    assert found.worst_steps == 1
    assert 1.4 < found.worst_ulp <= 2.5  # the unit below a power of two is half of that above
    assert not found.within_budget


def test_nothing_is_missed_that_is_wrong_once():
    def function(x):
        y = np.exp(x.astype(np.float64)).astype(x.dtype)
        return np.where(x.view(np.uint16) == 0x3555, np.nextafter(y, np.float16(0)), y)

    found = judge(function, "exp", "float16", budget=Budget(max_ulp=0.5))
    assert found.not_nearest == 1
    assert [e.bits[0] for e in found.examples] == ["0x3555"]
    assert found.causes[0].name == "isolated"


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("change", "policy"),
    [
        (lambda x, y: np.where(np.isnan(x), 0, y), "nan_lost"),
        (lambda x, y: np.where(x > 80, np.nan, y), "nan_made"),
        (lambda x, y: np.where(np.isinf(x), 3e38, y), "infinity_lost"),
        (lambda x, y: np.where(x > 1e30, np.inf, y), "infinity_made"),
        (lambda x, y: np.where(x == 0, np.copysign(0, -x), y), "zero_sign"),
        (lambda x, y: np.where((np.abs(y) < 2.0**-126) & (y != 0), 0, y), "result_flushed"),
        (lambda x, y: np.where(x == np.inf, -np.inf, y), "infinity_sign"),
    ],
)
def test_policies(change, policy):
    with np.errstate(all="ignore"):
        found = judge(lambda x: change(x, x).astype(x.dtype), "identity", "float32")
    broken = {name for name, row in found.policies.items() if row.count}
    assert broken == {policy}
    assert found.within_budget == (policy == "zero_sign")
    # The number next to the policy's edge is off by 1 ULP, which is no broken policy.
    assert found.worst_ulp <= 1
    if policy != "zero_sign":
        assert found.beyond[0].startswith(f"{policy}: ")


@pytest.mark.matrix(share=16, pool="slow")
def test_inputs_that_are_flushed():
    """exp of a subnormal is 1 either way; reciprocal of one is not."""

    def flushing(x):
        flat = np.where(np.abs(x) < 2.0**-14, np.copysign(np.float16(0), x), x)
        with np.errstate(all="ignore"):
            return (1 / flat.astype(np.float64)).astype(np.float16)

    found = judge(flushing, "reciprocal", "float16")
    assert found.policies["infinity_made"].count > 0
    found = judge(
        lambda x: np.where(np.abs(x) < 2.0**-126, np.float32(0), x) * np.float32(2), "linear", "float32", alpha=2
    )
    assert found.policies["input_flushed"].count > 0


@pytest.mark.matrix(share=16, pool="slow")
def test_order_and_symmetry():
    def bumpy(x):
        y = np.tanh(x.astype(np.float64)).astype(x.dtype)
        return np.where((x > 0.5) & (x < 0.51), y - np.float16(0.01), y).astype(x.dtype)

    found = judge(bumpy, "tanh", "float16")
    assert found.reversals == 1
    assert found.asymmetric == 2 * np.count_nonzero(bumpy(x := every()) != -bumpy(-x)) / 2
    assert found.reversal.inputs[0] == 0.5


def every():
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    return x[~np.isnan(x)]


@pytest.mark.matrix(share=16, pool="slow")
def test_dependence_on_length():
    def by_lanes(x):
        y = np.exp(x.astype(np.float64)).astype(x.dtype)
        if x.ndim == 1 and x.size % 8:
            tail = x.size // 8 * 8
            y[tail:] = np.nextafter(y[tail:], np.float32(0))
        return y

    found = judge(by_lanes, "exp", "float32")
    assert any("depend on the length" in text for text in found.dependence.found)
    assert found.causes[0].name == "position"


@pytest.mark.matrix(share=16, pool="slow")
def test_operators_of_two_tensors_and_rows_and_integers():
    assert judge(
        lambda x, s: np.where(x >= 0, x, x * s), "prelu", "float32", budget=Budget(allow=frozenset({"nan_made"}))
    ).within_budget
    assert not judge(lambda x, s: np.where(x >= 0, x, -x * s), "prelu", "float32").within_budget
    assert judge(lambda x: np.maximum(x, 0), "relu", "int8").not_nearest == 0
    assert judge(lambda x: np.maximum(x, 1), "relu", "int8").worst_ulp == 1

    def softmax(x):
        with np.errstate(all="ignore"):
            e = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
            return (e / e.sum(axis=-1, keepdims=True)).astype(x.dtype)

    assert judge(softmax, "softmax", "float32").worst_ulp < 0.51


def test_what_is_no_result_is_refused():
    with pytest.raises(DTypeError, match="<lambda>: its results are float64; allowed: float32"):
        judge(lambda x: x.astype(np.float64), "relu", "float32")
    with pytest.raises(ShapeError, match=re.escape("<lambda>: its result has shape (1,); allowed: (149")):
        judge(lambda x: x[:1], "relu", "float32")


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("name", "function", "text"),
    [
        ("log1mexp", lambda x: np.log(1 - np.exp(-x)), "log(1 - exp(-x))"),
        ("log1p", lambda x: np.log(1 + x), "log(1 + x)"),
        ("expm1", lambda x: np.exp(x) - 1, "exp(x) - 1"),
        ("log_sigmoid", lambda x: -np.log(1 + np.exp(-x)), "-log(1 + exp(-x))"),
        ("logit", lambda x: np.log(x / (1 - x)), "log(x / (1 - x))"),
    ],
)
def test_functions_that_cancel(name, function, text):
    """For tiny inputs such results are zero or infinite, as if the inputs had been rounded to float16."""

    def computed(x):
        with np.errstate(all="ignore"):
            return function(x)

    found = judge(computed, name, "float32")
    assert found.causes[0].name == "cancellation"
    assert text in found.causes[0].text


# ---- subjects


@pytest.mark.matrix(share=16, pool="slow")
def test_a_shared_library(library):
    spec = of_operator("gelu", "float32")
    assert (
        errors_of(subject(f"{library}:my_gelu", spec)(spec, [np.float32([1, 2])]), spec.right([np.float32([1, 2])]))
        == 0
    )
    found = judge(f"{library}:my_gelu", "gelu", "float32")
    assert not found.within_budget
    assert found.causes[0].name == "saturation"
    assert "the result is -0 for all x up to -4.50" in found.causes[0].text


def test_signatures(library):
    spec = of_operator("elu", "float32", {"alpha": 0.1})
    elu = subject(f"{library}:my_elu", spec, signature="void f(size_t n, double alpha, const float *x, float *y)")
    x = np.float32([-3, 0, 2])
    assert errors_of(elu(spec, [x]), spec.right([x])) == 0
    spec = of_operator("tanh", "float32")
    tanh = subject(f"{library}:one_tanh", spec, signature="float f(float x)")
    assert errors_of(tanh(spec, [x]), spec.right([x])) == 0


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        ("nonsense", "the signature is 'nonsense': it is no declaration of a function; allowed: such as 'void f("),
        ("void f(const T *x, size_t n)", "it has 1 inputs and 0 outputs of 1 'const T *' and one 'T *'"),
        ("void f(const T *x, T *y, size_t n, float beta)", "gelu has no parameter 'beta' (approximate)"),
        ("void f(const T *x, T *y, quad n)", "'quad' is no type that is known"),
    ],
)
def test_wrong_signatures(library, signature, text):
    spec = of_operator("gelu", "float32")
    with pytest.raises(ArgumentError) as raised:
        subject(f"{library}:my_gelu", spec, signature=signature)(spec, [np.float32([1])])
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "nothing",
            "ogive judge: the subject is 'nothing'; allowed: ogive, opencl:0, torch, onnxruntime, openvino, jax, tensorflow, module:function",
        ),
        ("./absent.so:f", "ogive judge: absent.so cannot be loaded"),
        ("absent.py:f", "ogive judge: there is no file 'absent.py'; allowed: file.py:function"),
        (
            "no_such_module:f",
            "ogive judge: there is no module 'no_such_module'; allowed: module:function, file.py:function",
        ),
        (f"{MINE}:nothing", "has no function 'nothing'; allowed: functions of arrays"),
        (f"{MINE}:not_callable", "has no function 'not_callable'; allowed: functions of arrays"),
    ],
)
def test_subjects_that_there_are_not(text, expected):
    with pytest.raises(ArgumentError) as raised:
        subject(text, of_operator("gelu", "float32"))
    assert expected in str(raised.value)


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize(("name", "operator"), [("torch", "sigmoid"), ("onnxruntime", "tanh"), ("onnxruntime:CPUExecutionProvider", "elu"), ("openvino", "sigmoid"), ("openvino:CPU", "tanh"), ("torch:cpu", "gelu"), ("jax", "tanh"), ("tensorflow", "gelu")])  # fmt: skip
def test_libraries(name, operator):
    pytest.importorskip(name.partition(":")[0], reason="the subject is this package")
    found = judge(name, operator, "float32")
    assert found.count > 100_000
    assert found.worst_ulp > 0.4
    assert found.subject_version


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None, reason="tensorflow is installed")
def test_a_library_that_is_not_installed(capsys):
    assert _status(["judge", "tensorflow", "--operator", "gelu"]) == 2
    text = "tensorflow: the package tensorflow is not installed. Install it: pip install tensorflow"
    assert text in " ".join(capsys.readouterr().err.split())


def test_tensorflow_is_called_with_its_tensors(monkeypatch):
    """As far as that can be told without TensorFlow: a module in its place that has the function."""

    class Tensor:
        def __init__(self, array):
            self.array = array

        def numpy(self):
            return self.array

    stand_in = types.ModuleType("tensorflow")
    stand_in.__version__ = "2.20.0"
    stand_in.constant = Tensor
    stand_in.nn = types.SimpleNamespace(relu=lambda tensor: Tensor(np.maximum(tensor.array, 0)))
    monkeypatch.setitem(sys.modules, "tensorflow", stand_in)
    found = judge("tensorflow", "relu", "float16")
    assert (found.not_nearest, found.subject_version) == (0, "tensorflow 2.20.0")


@pytest.mark.matrix(share=16, pool="slow")
def test_a_program():
    program = f'{sys.executable} -c "import sys, numpy as np; x = np.frombuffer(sys.stdin.buffer.read(), np.float32); sys.stdout.buffer.write(np.maximum(x, 0).tobytes())"'
    assert _status(["judge", "--exec", program, "--operator", "relu"]) == 0
    assert _status(["judge", "--exec", "sleep 60", "--operator", "relu", "--time-limit", "0.2"]) == 1
    assert _status(["judge", "--exec", f"{sys.executable} -c pass", "--operator", "relu"]) == 2
    assert _status(["judge", "--exec", f"{sys.executable} -c 1/0", "--operator", "relu"]) == 2


@pytest.mark.matrix(share=16, pool="slow")
def test_results_from_elsewhere(tmp_path):
    golden = ogive.vectors("gelu", "bfloat16")
    write(golden, "npz", tmp_path / "vectors")
    (tmp_path / "results").mkdir()
    golden.expected.tofile(tmp_path / "results" / f"{golden.name}.bin")
    arguments = ["judge", "--results", str(tmp_path / "results"), "--vectors", str(tmp_path / "vectors")]
    assert _status([*arguments, "--max-not-nearest", "0", "--max-ulp", "0.5"]) == 0
    wrong = bits_of(golden.expected).copy()
    wrong[0x4000] ^= 1
    np.save(tmp_path / "results" / f"{golden.name}.npy", wrong)
    assert _status([*arguments, "--max-not-nearest", "0"]) == 1
    (tmp_path / "empty").mkdir()
    assert _status(["judge", "--results", str(tmp_path / "empty"), "--vectors", str(tmp_path / "vectors")]) == 2


# ---- budgets


@pytest.mark.matrix(share=16, pool="slow")
def test_budgets(tmp_path):
    pytest.importorskip("yaml", reason="budgets are YAML")
    path = tmp_path / "budget.yaml"
    path.write_text(
        "budgets:\n  - {operator: '*', max_ulp: 2}\n  - {operator: gelu, dtype: '*float16', max_ulp: 0.5, allow: [nan_made]}\n"
    )
    budgets = load(path)
    assert budgets.of("tanh", "float32") == Budget(max_ulp=2)
    assert budgets.of("gelu", "bfloat16") == Budget(0.5, allow=frozenset({"nan_made"}))
    subject_text = f"{MINE}:good_tanh"
    assert _status(["judge", subject_text, "--operator", "tanh", "--budget", str(path)]) == 0
    path.write_text("budgets: [{operator: tanh, max_ulp: 0.1}]")
    assert _status(["judge", subject_text, "--operator", "tanh", "--budget", str(path)]) == 1
    assert _status(["judge", subject_text, "--operator", "tanh", "--budget", str(path), "--max-ulp", "1"]) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("budgets: 3", "it has no list 'budgets'; allowed: budgets: [{operator: ..., max_ulp: ...}]"),
        ("budgets: [3]", "budget 1: it is 3; allowed: a mapping"),
        ("budgets: [{ulp: 3}]", "budget 1: there is no member 'ulp'; allowed: operator, dtype, max_ulp"),
        ("budgets: [{max_ulp: much}]", "budget 1: max_ulp is 'much'; allowed: a number"),
        ("budgets: [{allow: [all]}]", "budget 1: allow has 'all'; allowed: nan_lost"),
        ("budgets: [", "it is no YAML"),
        ("budgets: [{max_ulp: -1}]", "budget 1: max_ulp is -1; allowed: numbers from 0 on"),
        ("budgets: [{operator: geluu}]", "no operator is called 'geluu'; allowed: their names, and patterns"),
        ("budgets: [{operator: geluu}]", "Did you mean gelu?"),
        ("budgets: [{dtype: 'half*'}]", "no dtype is called 'half*'"),
    ],
)
def test_wrong_budgets(tmp_path, text, expected):
    pytest.importorskip("yaml", reason="budgets are YAML")
    (tmp_path / "b.yaml").write_text(text)
    with pytest.raises(ModelError) as raised:
        load(tmp_path / "b.yaml")
    assert expected in str(raised.value)


@pytest.mark.matrix(share=16, pool="slow")
def test_assert_conforms():
    assert assert_conforms(np.tanh, "tanh", "float16", max_ulp=1).count == 65536
    with pytest.raises(AssertionError) as raised:
        assert_conforms(lambda x: np.where(x > 0, x, 0).astype(x.dtype), "relu", "float16")
    assert "nan_lost: the result is a number where it must be NaN" in str(raised.value)
    with pytest.raises(ArgumentError, match="assert_conforms: allow has 'everything'; allowed: nan_lost"):
        assert_conforms(np.tanh, "tanh", allow=["everything"])


@pytest.mark.matrix(share=16, pool="slow")
def test_the_plugin(tmp_path):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["ogive.judge.plugin"]\n')
    test = tmp_path / "test_mine.py"
    test.write_text(
        "import numpy as np\ndef test_it(assert_conforms):\n    assert_conforms(np.tanh, 'tanh', 'float16')\n"
    )
    call = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:ogive",
        "--rootdir",
        str(tmp_path),
        str(test),
    ]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


# ---- reports


@pytest.mark.matrix(share=16, pool="slow")
def test_json_fits_its_schema():
    jsonschema = pytest.importorskip("jsonschema", reason="schemas are checked with it")
    found = [judge(np.tanh, "tanh", "float16"), judge(lambda x: x, "gelu", "float32"), judge(np.abs, "relu", "int8")]
    data = json.loads(json.dumps(as_json(found), allow_nan=False))
    jsonschema.validate(data, json.loads(SCHEMA.read_text()))
    assert data["within_budget"] is False
    assert len(data["judgements"][0]["histogram"]) == len(BINS) + 1


@pytest.mark.matrix(share=16, pool="slow")
def test_junit(tmp_path):
    path = tmp_path / "r.xml"
    assert (
        _status(
            [
                "judge",
                f"{MINE}:relu",
                "--operator",
                "relu",
                "--dtype",
                "float16",
                "--dtype",
                "int8",
                "--junit",
                str(path),
            ]
        )
        == 1
    )
    suite = ElementTree.parse(path).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert suite.find("testcase/failure").get("message").startswith("nan_lost: the result is a number")


@pytest.mark.matrix(share=16, pool="slow")
def test_the_page_stands_alone(tmp_path, library):
    path = tmp_path / "r.html"
    arguments = [f"{library}:my_gelu", "--operator", "gelu", "--html", str(path)]
    assert _status(["judge", *arguments]) == 1
    text = path.read_text()
    assert "http" not in text
    assert "<script" not in text
    assert "for all x up to -4.50" in text
    assert text.count("<svg viewBox='0 0 900") == 3
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text


@pytest.mark.matrix(share=16, pool="slow")
def test_the_page_in_a_browser(tmp_path):
    """Headless Chromium shows the whole page, on a phone's width without scrolling sideways."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("there is no Chromium")
    page = tmp_path / "r.html"
    write_html([judge(lambda x: x, "gelu", "float32"), judge(np.tanh, "tanh", "float16")], page)
    text = page.read_text().replace("</main>", "</main><p id='wide'></p>")
    script = "document.getElementById('wide').textContent = 'width ' + document.documentElement.scrollWidth + ' of ' + innerWidth"
    page.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    call = [
        browser,
        *flags,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=500,900",
        "--dump-dom",
        page.as_uri(),
    ]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("Chromium does not start here within two minutes")
    if not done.stdout:
        pytest.skip(f"Chromium does not start here: {done.stderr[-200:]}")
    wide, of = map(int, re.search(r"width (\d+) of (\d+)", done.stdout).groups())
    assert wide <= of
    assert done.stdout.count("<section id=") == 2


# ---- the command


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "nothing to judge; allowed: one of SUBJECT, --exec, --results"),
        (["ogive", "--exec", "x"], "SUBJECT and --exec were given; allowed: one of SUBJECT, --exec, --results"),
        (["--exec", "x"], "--exec was given without --operator"),
        (["./libk.so:my_gelu"], "./libk.so:my_gelu was given without --operator; allowed: with the operator that"),
        (
            ["./libk.so"],
            "./libk.so was given without --operator; allowed: with the operator that the function computes",
        ),
        (["ogive", "--parameter", "alpha=1"], "--parameter says what one operator has"),
        (
            ["ogive", "--operator", "gelu", "--parameter", "alpha=1"],
            "gelu has no parameter 'alpha'; allowed: approximate",
        ),
    ],
)
def test_wrong_calls(arguments, text):
    found = CliRunner().invoke(command, arguments)
    assert found.exit_code == 2
    assert text in found.output


@pytest.mark.matrix(pool="slowest")
@pytest.mark.parametrize(("kind", "least"), [("float16", 60), ("int8", 8)])
def test_all_one_operand_rows_of_ogive(capsys, kind, least):
    """Ogive's own kernels against golden data: all operators of one tensor. bfloat16 takes 45 s more, by the same command."""
    status = _status(["judge", "ogive", "--dtype", kind, "--max-ulp", "0.5", "--max-not-nearest", "0", "--json", "-"])
    data = json.loads(capsys.readouterr().out)
    assert len(data["judgements"]) > least
    for row in data["judgements"]:
        assert not row["beyond"], (row["operator"], row["dtype"], row["beyond"])
        assert row["not_nearest"] == 0, (row["operator"], row["dtype"])
    assert status == 0


@pytest.mark.parametrize("wrong", [0, 1, 1000])
@pytest.mark.parametrize("operator", ["tanh", "gelu"])
def test_steps_of_a_sweep_count_the_same_both_ways(operator, wrong):
    """The part that a sweep leaves to kernels changes no number."""
    spec = of_operator(operator, "float32")
    subject = of_callable(lambda x: _spoiled(spec.right([x]), wrong))
    found = [Judgement("", "", operator, "ogive", "", "float32", {}, "") for _ in range(2)]
    quick, slow = (_Counter(spec, judgement) for judgement in found)
    for begin in (0, 0x3F000000, 0x3F800000, 0x3F810000, 0x40000000, 0x3D000000, 0xBF010000, 0x7F7F0000, 0x30000000):
        x = np.arange(begin, begin + 4096, dtype=np.uint32).view(np.float32)
        x, agreeing, others, _ = _sweep_step(subject, spec, _first_guess(spec), [x])
        quick.add_right(x, agreeing)
        if others is not None:
            quick.add(others)
        result = subject(spec, [x])
        slow.add(evidence_of(spec, (x,), result, spec.expected([x])))
    for name in ("count", "not_nearest", "histogram", "worst_ulp", "worst_steps", "policies"):
        ours, theirs = (getattr(each, name) for each in found)
        assert ours == (pytest.approx(theirs, abs=1e-7) if name == "worst_ulp" else theirs), name
    np.testing.assert_allclose(quick.by_rank, slow.by_rank, atol=1e-7)
    np.testing.assert_allclose(quick.by_value, slow.by_value, atol=1e-7)


def _spoiled(y, count):
    bits = y.copy().view(np.uint32)
    bits[: 4 * count : 4] ^= 1
    return bits.view(np.float32)


def test_a_sweep_finds_what_a_kernel_has_wrong():
    """Where subject and kernel have the same wrong result, the value in float64 tells."""
    spec = of_operator("tanh", "float32")
    x = np.arange(0x3F000000, 0x3F000000 + 4096, dtype=np.uint32).view(np.float32)
    wrong = spec.right([x]).copy()
    wrong[100] = np.nextafter(wrong[100], np.float32(0))
    _, long = _first_guess(spec)
    _, _, others, _ = _sweep_step(of_callable(lambda x: wrong), spec, (lambda x: wrong, long), [x])
    assert np.count_nonzero(others.wrong) == 1
    assert others.arrays[0][others.wrong] == x[100]


@pytest.mark.matrix(share=16, pool="slow")
def test_a_sweep_finds_the_same_on_any_number_of_threads(monkeypatch):
    """The sweep of every 4,099th float32, with a wrong tail and wrong NaN: each count, example, bin and cause."""

    def wrong(x):
        y = ogive.gelu(x)
        return np.where(x < -4.5, np.float32(-0.0), y).astype(np.float32)

    def some(kind, stride, size=1 << 10):
        return patterns(kind, 4099 if stride == 1 else stride, min(size, 1 << 10))

    monkeypatch.setattr(judging, "patterns", some)
    spec = of_operator("gelu", "float32")
    found = [
        judging.judge(
            of_callable(wrong, "wrong"), spec, exhaustive=True, workers=workers, with_dependence=False
        ).as_dict()
        for workers in (1, 2, 5)
    ]
    assert found[0]["count"] > 10**6
    assert found[0]["not_nearest"] > 1000
    assert found[0] == found[1] == found[2]
