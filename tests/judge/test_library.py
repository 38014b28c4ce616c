"""Functions of shared libraries: whatever they do to memory and to their process is a verdict."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from ogive.cli import _status
from ogive.errors import ArgumentError
from ogive.golden.specification import of_operator
from ogive.judge import assert_conforms, judge
from ogive.judge.library import functions_of
from ogive.judge.reports import SCHEMA
from ogive.judge.subjects import subject

KERNELS = Path(__file__).with_name("kernels.c")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler called cc")
    made = tmp_path_factory.mktemp("kernels") / "libk.so"
    subprocess.run([compiler, "-O1", "-w", "-shared", "-fPIC", "-o", made, KERNELS, "-lm"], check=True)
    return made


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", ["right", "prints"])
def test_a_right_kernel_is_within_the_budget(library, name, capfd):
    found = judge(f"{library}:{name}", "exp")
    assert found.within_budget, found.beyond
    assert found.calls.count > 300
    assert found.nanoseconds > 0
    assert {"in_place", "edge"} <= {*found.dependence.checked}
    assert capfd.readouterr().out == ""


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize(
    ("name", "beyond"),
    [
        ("tail", "wrong in calls whose length is not a multiple of 8, in their last results: 42 at "),
        ("head", "wrong in the first result of a call: 42 at "),
        ("unaligned", "wrong in calls whose data do not begin at a multiple of 32 bytes, in the last result of a call"),
        ("single", "wrong in calls on 1 element: 42 at "),
        ("beyond", "wrong in results after the first 4,096 of a call: 42 at "),
        ("second", "wrong in 1 of "),
        ("overlaps", "wrong in calls in place: 1 at "),
        ("past", "writes_past_end: writes 3 elements past the end in a call on 149,485 elements (and in "),
        ("before", "writes_before_start: writes 1 element before the start in a call on 149,485 elements (and in "),
        ("unwritten", "unwritten: does not write the last 5 results in a call on 149,485 elements (and in "),
        ("nothing", "unwritten: does not write its results in a call on 149,485 elements (and in "),
        ("into_input", "input_written: writes into its input in a call on 149,485 elements (and in "),
        ("reads_past", "reads_past_end: reads past the end of its inputs in a call on 1 element"),
        ("empty", "writes_past_end: writes 1 element past the end in a call on 0 elements"),
        ("crash", "crashed: crashed (signal 11) in a call on 7 elements (and in "),
        ("crash_always", "crashed: crashed (signal 11) in a call on 149,485 elements (and in "),
        ("far", "crashed: crashed (signal 11) in a call on 149,485 elements (and in "),
        ("exits", "crashed: ended the process (exit status 3) in a call on 7 elements (and in "),
        ("aborts", "crashed: crashed (signal 6) in a call on 7 elements (and in "),
        ("stops", "endless: does not end within 1 s in a call on 7 elements"),
        ("endless", "endless: does not end within 1 s in a call on 7 elements"),
    ],
)
def test_what_a_kernel_does_is_a_verdict(library, name, beyond):
    found = judge(f"{library}:{name}", "exp", time_limit=1)
    assert not found.within_budget
    assert any(text.startswith(beyond) for text in found.beyond), found.beyond


@pytest.mark.matrix(share=16, pool="slow")
def test_the_verdict_is_the_same_each_time(library):
    found = [judge(f"{library}:{name}", "exp").as_dict() for name in ("crash", "crash", "unaligned", "unaligned")]
    for each in found:
        each["nanoseconds"] = 0
    assert found[0] == found[1]
    assert found[2] == found[3]


@pytest.mark.matrix(share=16, pool="slow")
def test_every_report_has_the_verdict(library, tmp_path, capsys):
    jsonschema = pytest.importorskip("jsonschema", reason="schemas are checked with it")
    files = {kind: tmp_path / f"r.{kind}" for kind in ("json", "xml", "html")}
    options = ["--json", str(files["json"]), "--junit", str(files["xml"]), "--html", str(files["html"])]
    assert _status(["judge", f"{library}:crash_always", "--operator", "exp", *options]) == 1
    text = "crashed (signal 11) in a call on 149,485 elements"
    assert text in capsys.readouterr().out
    data = json.loads(files["json"].read_text())
    jsonschema.validate(data, json.loads(SCHEMA.read_text()))
    assert data["judgements"][0]["policies"]["crashed"]["text"] == text
    assert text in ElementTree.parse(files["xml"]).getroot().find("testcase/failure").get("message")
    assert text in files["html"].read_text()


@pytest.mark.matrix(share=16, pool="slow")
def test_assert_conforms_says_it(library):
    with pytest.raises(AssertionError, match="writes 3 elements past the end"):
        assert_conforms(f"{library}:past", "exp")
    found = assert_conforms(
        f"{library}:doubles", "exp", "float64", signature="void f(const double *x, double *y, size_t n)"
    )
    assert found.count > 16_000
    assert_conforms(f"{library}:past", "exp", allow=["zero_sign", "writes_past_end"])
    with pytest.raises(ArgumentError, match="assert_conforms: allow has 'crashed'; allowed: nan_lost"):
        assert_conforms(f"{library}:crash", "exp", allow=["crashed"])
    with pytest.raises(ArgumentError, match="judge: signature was given for a Python function; allowed: shared"):
        assert_conforms(np.exp, "exp", signature="float f(float x)")


@pytest.mark.matrix(share=16, pool="slow")
def test_a_sweep_of_everything_stops_at_a_crash(library, monkeypatch):
    from ogive.judge import judging

    def some(kind, stride, size=1 << 16):
        if stride != 1:
            return every(kind, stride)
        return (
            [np.arange(b, b + size, dtype=np.uint32).view(np.float32)]
            for b in (0x3F000000, 0x3F800000, 0x40000000, 0x40010000)
        )

    every = judging.patterns
    monkeypatch.setattr(judging, "patterns", some)
    spec = of_operator("exp", "float32")
    for name, count in (("right", 4 << 16), ("past", 4 << 16), ("tail", 4 << 16)):
        found = judging.judge(subject(f"{library}:{name}", spec), spec, exhaustive=True)
        assert found.count == count
        assert found.within_budget == (name == "right"), found.beyond
    found = judging.judge(subject(f"{library}:crash_long", spec), spec, exhaustive=True)
    assert (found.count, found.inputs) == (0, "every input up to the call that it did not survive")
    assert found.beyond[0].startswith("crashed: crashed (signal 11) in a call on 65,536 elements")


# ---- functions of numbers, rows, other types


@pytest.mark.matrix(share=16, pool="slow")
def test_functions_of_one_number(library):
    assert judge(f"{library}:one", "exp", signature="float f(float v)").within_budget
    found = judge(f"{library}:one_crashes", "exp", signature="float f(float x)")
    assert found.beyond[0].startswith("crashed: crashed (signal 6) at 2 in a call on 149,485 elements")
    assert judge(f"{library}:one_double", "exp", "float64", signature="double f(double x)").worst_ulp < 0.6


@pytest.mark.matrix(share=16, pool="slow")
def test_a_function_of_rows_is_called_once_a_row(library):
    found = judge(f"{library}:softmax", "softmax")
    assert found.worst_ulp < 0.6
    assert not any(found.policies[name].count for name in ("writes_past_end", "unwritten", "crashed"))


@pytest.mark.matrix(share=16, pool="slow")
def test_what_is_copied_past_the_end_is_seen(library):
    found = judge(f"{library}:copies_past", "identity")
    assert found.beyond[0].startswith("writes_past_end: writes 1 element past the end in a call on 149,431 elements")
    found = judge(f"{library}:doubles", "exp")
    text = "crashed: crashed (signal 11) after it wrote past the end of its results in a call on 149,485 elements"
    assert any(each.startswith(text) for each in found.beyond), found.beyond


@pytest.mark.matrix(share=16, pool="slow")
def test_truth_values(library):
    assert judge(f"{library}:is_nan", "isnan", signature="void f(const float *x, bool *y, size_t n)").not_nearest == 0
    assert not judge(lambda x: np.isinf(x), "isnan").within_budget


@pytest.mark.matrix(share=16, pool="slow")
def test_bits_of_short_floats(library):
    declared = "void f(const uint16_t *x, uint16_t *y, size_t n)"
    assert judge(f"{library}:relu_bits", "relu", "bfloat16", signature=declared).within_budget


@pytest.mark.matrix(share=16, pool="slow")
def test_a_kernel_of_a_longer_type_writes_past_the_end(library):
    found = judge(f"{library}:right", "exp", "float16")
    assert not found.within_budget
    assert "past the end, as a function of a type longer than float16 does" in found.beyond[0]


@pytest.mark.parametrize(
    ("signature", "dtype", "text"),
    [
        ("void f(const float *x, float *y, size_t n)", "float16", "x is declared as float, and the element type is float16; allowed: _Float16, __fp16, float16_t, uint16_t, unsigned short or T for float16. For float give --dtype float32."),
        ("void f(const double *x, double *y, size_t n)", "float32", "x is declared as double, and the element type is float32; allowed: float, float32_t or T for float32. For double give --dtype float64."),
        ("void f(const float *x, double *y, size_t n)", "float32", "y is declared as double, and the element type is float32"),
        ("double f(double x)", "float32", "the result is declared as double, and the element type is float32"),
        ("float f(double x)", "float32", "x is declared as double, and the element type is float32"),
        ("int f(const T *x, T *y, size_t n)", "float32", "it returns 'int', and must return void"),
        ("float f(floa x)", "float32", "'floa' is no type that is known; allowed: such as 'void f(const T *x, T *y, size_t n)'"),
        ("float f(floa x)", "float32", "Known types: T, void, float, double"),
        ("void f(const T **x, T *y, size_t n)", "float32", "'const T **x' is not understood"),
        ("void f(const T *x, T *y, size_t n, float w)", "float32", "exp has no parameter 'w' (it has none)"),
        ("void f(const T *x, T *y, char n)", "float32", "'char' of 'char n' is no number that is known"),
    ],
)  # fmt: skip
def test_wrong_declarations(library, signature, dtype, text):
    with pytest.raises(ArgumentError) as raised:
        judge(f"{library}:right", "exp", dtype, signature=signature)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    "signature",
    [
        "void f(const float * restrict x, float *__restrict y, unsigned long n);",
        'extern "C" void f(const float x[], float y[], long long n)',
        "void f(float const *x, float *y, const size_t n)",
        "void f(const float *, float *, size_t)",
    ],
)
def test_declarations_as_people_write_them(library, signature):
    spec = of_operator("exp", "float32")
    right = subject(f"{library}:right", spec, signature=signature)
    assert right(spec, [np.float32([0, 1])]).tolist() == spec.right([np.float32([0, 1])]).tolist()
    assert ("in place" in right.modes) == ("restrict" not in signature)


def test_a_text_is_no_number(library):
    with pytest.raises(ArgumentError, match="parameter 'approximate' is 'none', and no number"):
        judge(f"{library}:right", "gelu", signature="void f(const T *x, T *y, size_t n, float approximate)")


# ---- which function


def test_what_is_no_function_of_a_library(library, tmp_path):
    spec = of_operator("exp", "float32")
    known = functions_of(library)
    assert {"right", "tail", "softmax"} <= {*known}
    for text, expected in (
        ("silu.c:f", "'silu.c' is no shared library; allowed: library.so:function. Compile it, and judge the library: cc -O2 -shared -fPIC -o libsilu.so silu.c -lm; ./libsilu.so:f"),
        (f"{library}", f"without a function; allowed: {known[0]}, {known[1]}"),
        (f"{library}:rihgt", f"has no function 'rihgt'; allowed: {known[0]}, {known[1]}"),
        (f"{library}:rihgt", "Did you mean right?"),
        (f"{tmp_path}/absent.so", "absent.so'; allowed: a shared library and a function"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError) as raised:
            subject(text, spec)
        assert expected in str(raised.value)
    with pytest.raises(ArgumentError, match="--time-limit was given for 'torch'|--time-limit was given"):
        subject("math:exp", spec, time_limit=1)
    assert functions_of(Path(sys.executable).with_name("absent")) == []
