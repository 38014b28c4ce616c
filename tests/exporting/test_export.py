"""`ogive.export` and `ogive.address`: what they make, what they refuse; the command; the example."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ogive
from ogive.cli import ogive as commands
from ogive.cli.export_command import snippet
from ogive.errors import ArgumentError, CompileError, DTypeError, ParameterError, UnsupportedError
from ogive.exporting.sources import elements, fnv
from tests.exporting.sample import ALL
from tests.inputs import assert_same_bits

ROOT = Path(__file__).parents[2]


def test_the_same_bytes_twice():
    made = [ogive.export([ogive.celu, ogive.softmax], self_test=True) for _ in range(2)]
    assert made[0].files == made[1].files
    name = "ogive_celu_float32"
    assert [*made[0].files] == [f"{name}.h", f"{name}.c", "ogive_ieee.h", "ogive_rows.h", f"{name}_test.c"]


@pytest.mark.matrix(share=8, pool="exports")
def test_this_machines_compiler(tmp_path):
    if shutil.which("cc") is None or shutil.which("nm") is None:
        pytest.skip("not installed: cc, nm")
    exported = ogive.export([ogive.celu, ogive.softmax], form="object", name="some")
    assert list(exported.files) == ["some.h", "some.o"]
    (tmp_path / "some.o").write_bytes(exported.files["some.o"])
    names = subprocess.run(
        ["nm", "-u", "some.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.split()
    allowed = {"U", "memcpy", "memset", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}
    assert set(names) <= allowed
    assembly = ogive.export(ogive.celu, form="assembly").files["ogive_celu_float32.s"]
    assert b"ogive_celu_float32_strided:" in assembly


def test_other_systems():
    if shutil.which("aarch64-linux-gnu-gcc") is None:
        pytest.skip("not installed: aarch64-linux-gnu-gcc (Debian: gcc-aarch64-linux-gnu)")
    code = ogive.export(ogive.relu, form="object", triple="aarch64-linux-gnu").files["ogive_relu_float32.o"]
    assert code[:4] == b"\x7fELF"
    assert code[18:20] == b"\xb7\0"  # the number of AArch64


@pytest.mark.parametrize(
    ("triple", "file", "magic"),
    [
        ("x86_64-windows-gnu", "libsome.a", b"!<arch>"),
        ("aarch64-macos", "some.o", b"\xcf\xfa\xed\xfe"),
        ("wasm32-wasi", "some.wasm", b"\0asm"),
    ],
)
def test_by_zig(triple, file, magic):
    if not ALL:
        pytest.skip("it takes minutes a system; `make export` runs it")
    pytest.importorskip("ziglang", reason="the package ziglang, which compiles for other systems, is not installed")
    form = {"a": "static", "o": "object"}.get(file[-1], "shared")
    form = "shared" if file.endswith("wasm") else form
    exported = ogive.export([ogive.celu, ogive.softmax], triple=triple, form=form, name="some")
    assert exported.files[file].startswith(magic)
    if file.endswith("wasm"):
        wasmtime = pytest.importorskip("wasmtime", reason="the package wasmtime is not installed")
        module = wasmtime.Module(wasmtime.Engine(), exported.files[file])
        assert not list(module.imports)
        assert {"memory", "__heap_base", "ogive_softmax_float32"} <= {each.name for each in module.exports}


def test_no_compiler(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("ogive.exporting.building.find_spec", lambda name: None)
    with pytest.raises(
        CompileError, match="no C compiler for riscv64-linux-gnu was found. Install riscv64-linux-gnu-gcc or the"
    ):
        ogive.export(ogive.celu, form="object", triple="riscv64-linux-gnu")
    with pytest.raises(ParameterError, match="triple is 'z80'; allowed: native, or a triple: aarch64-linux-gnu"):
        ogive.export(ogive.celu, form="object", triple="z80")


def test_names_and_types():
    def names(*given, **more):
        return list(ogive.export(*given, **more).digests)

    assert names(ogive.gelu, "float16", choices={"approximate": "tanh"}) == ["ogive_gelu_tanh_float16"]
    assert names(ogive.where, "int8") == ["ogive_where_int8"]
    assert names([ogive.relu, ogive.exp], "float64") == ["ogive_relu_float64", "ogive_exp_float64"]
    assert names(ogive.relu, name="my relu") == ["my_relu"]
    assert "#ifndef MY_RELU_H" in ogive.export(ogive.relu, name="my relu").header
    bound = ogive.export(ogive.celu.bind(alpha=1.5))
    assert "Here alpha = 1.5." in bound.header
    assert "size_t begin, size_t end);" in bound.header


def test_operators_of_ones_own():
    @ogive.operator
    def gated(x, gate, *, double=1.0):
        return x * ogive.sigmoid(double * gate)

    header = ogive.export(gated).header
    assert (
        "ogive_gated_float32(const float *x, const float *gate, float *y, size_t begin, size_t end, double double_)"
        in header
    )


@pytest.mark.parametrize(
    ("given", "more", "kind", "text"),
    [
        (len, {}, ArgumentError, "what is .*; allowed: an operator, a bound one .*, or a model of ogive.onnx.load"),
        ([], {}, ParameterError, "what is an empty list; allowed: an operator, or a list of them"),
        (
            ogive.celu,
            {"form": "exe"},
            ParameterError,
            "form is 'exe'; allowed: c, object, assembly, static, shared",
        ),
        (
            ogive.celu,
            {"triple": "aarch64-linux-gnu"},
            ParameterError,
            "form is 'c' and triple is 'aarch64-linux-gnu'; allowed: neither triple nor processor with form c. Say it to",
        ),
        (
            ogive.celu,
            {"dtype": "int8"},
            DTypeError,
            "dtype is 'int8'; allowed: float16, float32, float64, bfloat16, for celu",
        ),
        (
            ogive.celu,
            {"choices": {"alpha": 2}},
            ArgumentError,
            "choices has 'alpha'; allowed: nothing: celu has no parameter",
        ),
        ([ogive.celu, ogive.celu], {}, ParameterError, "two functions are called ogive_celu_float32"),
    ],
)
def test_refusals(given, more, kind, text):
    with pytest.raises(kind, match=text):
        ogive.export(given, **more)


def test_the_fixed_set_never_changes():
    """Digests in headers that exist depend on it."""
    from ogive.common.dtypes import element_type

    kinds = ("bool", "int8", "uint32", "float16", "bfloat16", "float32", "float64")
    assert [f"{fnv([elements(element_type(k), 1, 100)]):016x}" for k in kinds] == FIXED


FIXED = [
    "64cb69217a86f88d",
    "b6d0a5907679aaa1",
    "47be2808588a9dc7",
    "d377429b4a23ca78",
    "e42bf34f8dc8f8f9",
    "f7019b37cd8f7b48",
    "d47433d359cf590f",
]


# ---- models


def model(text):
    onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
    import ogive.onnx

    header = '<ir_version: 8, opset_import: ["" : 20]> m (float[N,16] x, float[N,16] z) => (float[N,16] y) {'
    return ogive.onnx.load(onnx.parser.parse_model(header + text + "}"))


@pytest.mark.matrix(share=8, pool="exports")
def test_models_of_one_kernel(tmp_path):
    fused = model("h = LeakyRelu<alpha=0.5>(x) g = Mul(h, z)  y = Softmax(g)")
    exported = ogive.export(fused, name="fused", self_test=True)
    assert (
        "void fused(const float *x, const float *z, float *y, size_t begin, size_t end, size_t count, void *scratch);"
        in exported.header
    )
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    exported.write(tmp_path)
    subprocess.run(["cc", "-o", "program", "fused_test.c", "fused.c"], cwd=tmp_path, check=True)
    assert subprocess.run(["./program"], cwd=tmp_path, capture_output=True, check=False).returncode == 0


def test_other_models_are_refused():
    with pytest.raises(
        UnsupportedError, match="the model is computed in .* steps; allowed: models that are one kernel"
    ):
        ogive.export(
            model(
                "h = Transpose<perm=[0,1]>(x) g = Relu(h)  k = Transpose<perm=[1,0]>(g) l = Transpose<perm=[1,0]>(k) y = Add(l, z)"
            )
        )


# ---- in this process


def test_address():
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    declared = ctypes.CFUNCTYPE(None, pointer, pointer, size, size, ctypes.c_double)
    place = ogive.address(ogive.celu, "float32")
    assert place == ogive.address(ogive.celu)
    x = np.random.default_rng(0).standard_normal(1003).astype(np.float32)
    y = np.zeros_like(x)
    declared(place)(x.ctypes.data, y.ctypes.data, 1, 1000, 1.5)
    expected = ogive.celu(x, alpha=1.5)
    assert_same_bits(y[1:1000], expected[1:1000])
    assert not y[0]
    assert not y[1000:].any()
    strided = ctypes.CFUNCTYPE(None, pointer, ctypes.c_ssize_t, pointer, ctypes.c_ssize_t, size, size, ctypes.c_double)
    strided(ogive.address(ogive.celu, strided=True))(x[::-1].ctypes.data, -4, y.ctypes.data, 4, 0, 1003, 1.5)
    assert_same_bits(y, expected[::-1].copy())


# ---- the command


@pytest.mark.matrix(share=8, pool="exports")
def test_command(tmp_path):
    arguments = [
        "export",
        "celu",
        "softmax",
        "--name",
        "some",
        "--output",
        str(tmp_path),
        "--lines",
        "cmake",
    ]
    done = CliRunner().invoke(commands, arguments)
    assert done.exit_code == 0, done.output
    assert "void ogive_celu_float32(const float *x, float *y, size_t begin, size_t end, double alpha);" in done.output
    assert "add_library(some STATIC some.c)" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ogive_ieee.h", "ogive_rows.h", "some.c", "some.h"]
    done = CliRunner().invoke(commands, ["export", "gelu", "--choose", "approximate"])
    assert "--choose is 'approximate'; allowed: NAME=VALUE" in done.output


@pytest.mark.matrix(share=16, pool="slow")
def test_snippets():
    if shutil.which("cc") is None or shutil.which("ar") is None or sys.platform != "linux":
        pytest.skip("cc or ar is not installed, or this is not Linux")
    exported = ogive.export(ogive.relu, form="static")
    assert 'IMPORTED_LOCATION "${CMAKE_CURRENT_SOURCE_DIR}/libogive_relu_float32.a"' in snippet(exported, "cmake")
    assert "link_args: [meson.current_source_dir() / 'libogive_relu_float32.a']" in snippet(exported, "meson")
    with pytest.raises(ParameterError, match="the build tool is 'bazel'; allowed: cmake, meson"):
        snippet(exported, "bazel")


@pytest.mark.matrix(share=8, pool="exports")
def test_the_example_in_c(tmp_path):
    if shutil.which("cc") is None or sys.platform != "linux":
        pytest.skip("cc is not installed, or this is not Linux")
    ogive.export([ogive.celu, ogive.softmax], name="activations").write(tmp_path)
    source = ROOT / "examples" / "exported" / "program.c"
    subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", ".", "-o", "program", source, "activations.c"],
        cwd=tmp_path,
        check=True,
    )
    done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "celu     -0.729874 0.000000 2.000000\nsoftmax  0.042010 0.114195 0.843795\n"


@pytest.mark.parametrize(
    ("method", "options", "is_taken"),
    [(0, [], True), (16, [], True), (1, [], False), (2, [], False), (-1, [], False), (16, ["-ffast-math"], False)],
)
def test_how_a_compiler_evaluates_floats(method, options, is_taken, tmp_path):
    """FLT_EVAL_METHOD is 16 for processors with AVX512-FP16: float and double are what they are at 0."""
    if shutil.which("cc") is None:
        pytest.skip("not installed: cc")
    for name, text in ogive.export(ogive.relu, name="some").files.items():
        (tmp_path / name).write_bytes(text)
    macros = ["FLT_RADIX 2", "DBL_MANT_DIG 53", "FLT_MANT_DIG 24", f"FLT_EVAL_METHOD ({method})"]
    (tmp_path / "float.h").write_text("".join(f"#define {macro}\n" for macro in macros))
    command = ["cc", "-fsyntax-only", "-I", ".", *options, "some.c"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.returncode == 0) is is_taken, run.stderr
    assert is_taken or "compile without -ffast-math, for a target that computes float in float" in run.stderr


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_enclosures_alone_decide(dtype, tmp_path):
    """C has no enclosures: its digests are those of its own results, and the header counts what it cannot decide."""
    if shutil.which("cc") is None:
        pytest.skip("not installed: cc")
    op = ogive.operator(lambda x: np.rint(np.trunc(1 / (1 + ogive.erfc(x) ** 2))))
    exported = ogive.export(op, dtype, name="cancels", self_test=True)
    assert 0 < exported.undecided["cancels"] < 4099
    assert f"that no level in C decides: {exported.undecided['cancels']}. They are not" in exported.header
    for name, text in exported.files.items():
        (tmp_path / name).write_bytes(text)
    subprocess.run(["cc", "-O0", "-o", "test", "cancels.c", "cancels_test.c"], cwd=tmp_path, check=True)
    subprocess.run(["./test"], cwd=tmp_path, check=True)


def test_what_the_levels_decide():
    exported = ogive.export([ogive.gelu, ogive.softmax])
    assert set(exported.undecided.values()) == {0}
    assert "no level in C" not in exported.header


@pytest.mark.matrix(share=16, pool="slow")
def test_loops_of_one_constant():
    """Turns of a remainder differ in nothing but in what they carry."""
    op = ogive.operator(lambda x: np.fmod(ogive.celu(x), ogive.grad(ogive.asinh)(x)))
    assert "for (int k = 0; k <" in ogive.export(op, name="remainder").files["remainder.c"].decode()
