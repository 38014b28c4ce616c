"""`ogive.export` and `ogive.address`: what they make, what they refuse; the command; the example."""

import ctypes
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ogive
from ogive.cli import ogive as commands
from ogive.cli.export_command import snippet
from ogive.errors import ArgumentError, CompileError, DTypeError, ParameterError, UnsupportedError
from ogive.exporting.digest import elements, fnv
from tests.exporting.sample import ALL
from tests.inputs import assert_same_bits

ROOT = Path(__file__).parents[2]


def test_the_same_bytes_twice():
    made = [ogive.export([ogive.celu, ogive.softmax], target="x86_64", self_test=True) for _ in range(2)]
    assert made[0].files == made[1].files
    assert sorted(made[0].files) == ["ogive_celu_float32.h", "ogive_celu_float32.o", "ogive_celu_float32_test.c"]


@pytest.mark.matrix(share=4)
@pytest.mark.parametrize(
    ("triple", "file", "magic"),
    [
        ("x86_64-unknown-linux-gnu", "some.o", b"\x7fELF"),
        ("riscv64-unknown-linux-gnu", "some.o", b"\x7fELF"),
        ("x86_64-pc-windows-msvc", "some.obj", b"\x64\x86"),
        ("aarch64-pc-windows-msvc", "some.obj", b"\x64\xaa"),
        ("x86_64-apple-macos13", "some.o", b"\xcf\xfa\xed\xfe"),
        ("arm64-apple-macos14", "some.o", b"\xcf\xfa\xed\xfe"),
        ("wasm32-unknown-unknown", "some.o", b"\0asm"),
    ],
)
def test_systems(triple, file, magic):
    exported = ogive.export([ogive.celu, ogive.softmax], triple=triple, name="some")
    assert exported.files[file].startswith(magic)


@pytest.mark.parametrize("triple", ["x86_64-linux-gnu", "x86_64-windows-gnu", "x86_64-macos", "aarch64-macos"])
def test_other_systems_link(triple, tmp_path):
    """A program of another system, made of the object file and the self-test; it is not run."""
    if not ALL:
        pytest.skip("it takes a minute a system; `make export` runs it")
    if find_spec("ziglang") is None:
        pytest.skip("the package ziglang, which links for other systems, is not installed")
    named = {"linux": "unknown-linux-gnu", "windows": "pc-windows-gnu", "macos": "apple-macos13"}
    architecture, system = triple.split("-")[:2]
    exported = ogive.export(
        [ogive.celu, ogive.softmax],
        triple=f"{architecture}-{named[system]}",
        name="some",
        form="static",
        self_test=True,
    )
    exported.write(tmp_path)
    command = [sys.executable, "-m", "ziglang", "cc", "-target", triple, "-o", "program", "some_test.c", "libsome.a"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_object_files_need_nothing():
    """No name is undefined but what the linker knows itself."""
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    for target in ("x86-64", "x86_64", "aarch64", "riscv64"):
        code = ogive.export([ogive.pow, ogive.softmax], target=target, name="some").files["some.o"]
        done = subprocess.run(["nm", "-u", "/dev/stdin"], input=code, capture_output=True, check=False)
        if done.returncode == 0:
            assert done.stdout == b"", target


def test_text_forms():
    assembly = ogive.export(ogive.celu, target="aarch64", form="assembly").files["ogive_celu_float32.s"]
    assert b"ogive_celu_float32_strided:" in assembly
    text = ogive.export(ogive.celu, target="aarch64", form="llvm").files["ogive_celu_float32.ll"]
    assert text.startswith(b'target triple = "aarch64-unknown-linux-gnu"')


def test_names_and_types():
    def names(*given, **more):
        return list(ogive.export(*given, target="aarch64", **more).digests)

    assert names(ogive.gelu, "float16", choices={"approximate": "tanh"}) == ["ogive_gelu_tanh_float16"]
    assert names(ogive.where, "int8") == ["ogive_where_int8"]
    assert names([ogive.relu, ogive.exp], "float64") == ["ogive_relu_float64", "ogive_exp_float64"]
    assert names(ogive.relu, name="my relu") == ["my_relu"]
    bound = ogive.export(ogive.celu.bind(alpha=1.5), target="aarch64")
    assert "size_t begin, size_t end);" in bound.header


def test_operators_of_ones_own():
    @ogive.operator
    def gated(x, gate, *, double=1.0):
        return x * ogive.sigmoid(double * gate)

    header = ogive.export(gated, target="aarch64").header
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
            "form is 'exe'; allowed: object, assembly, llvm, c, static, shared",
        ),
        (ogive.celu, {"target": "z80"}, ParameterError, "target is 'z80'; allowed: native, x86_64, x86-64, "),
        (ogive.celu, {"triple": "z80-none"}, CompileError, "triple is 'z80-none'; allowed: triples of x86_64, aarch64"),
        (
            ogive.celu,
            {"target": "aarch64", "triple": "x86_64-pc-windows-msvc"},
            ParameterError,
            "allowed: triples of aarch64",
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
    from ogive.dtypes import element_type

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
    subprocess.run(["cc", "-o", "program", "fused_test.c", "fused.o"], cwd=tmp_path, check=True)
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


def test_command(tmp_path):
    arguments = [
        "export",
        "celu",
        "softmax",
        "--target",
        "aarch64",
        "--name",
        "some",
        "--output",
        str(tmp_path),
        "--build",
        "cmake",
    ]
    done = CliRunner().invoke(commands, arguments)
    assert done.exit_code == 0, done.output
    assert "void ogive_celu_float32(const float *x, float *y, size_t begin, size_t end, double alpha);" in done.output
    assert "add_library(some OBJECT IMPORTED)" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["some.h", "some.o"]
    done = CliRunner().invoke(commands, ["export", "gelu", "--choose", "approximate"])
    assert "--choose is 'approximate'; allowed: NAME=VALUE" in done.output


def test_snippets():
    exported = ogive.export(ogive.relu, target="aarch64", form="static")
    assert 'IMPORTED_LOCATION "${CMAKE_CURRENT_SOURCE_DIR}/libogive_relu_float32.a"' in snippet(exported, "cmake")
    assert "link_args: [meson.current_source_dir() / 'libogive_relu_float32.a']" in snippet(exported, "meson")
    with pytest.raises(ParameterError, match="the build tool is 'bazel'; allowed: cmake, meson"):
        snippet(exported, "bazel")


def test_the_example_in_c(tmp_path):
    if shutil.which("cc") is None or sys.platform != "linux":
        pytest.skip("cc is not installed, or this is not Linux")
    ogive.export([ogive.celu, ogive.softmax], name="activations").write(tmp_path)
    source = ROOT / "examples" / "exported" / "program.c"
    subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", ".", "-o", "program", source, "activations.o"],
        cwd=tmp_path,
        check=True,
    )
    done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "celu     -0.729874 0.000000 2.000000\nsoftmax  0.042010 0.114195 0.843795\n"
