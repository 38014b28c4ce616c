"""Functions exported as ISO C: the digests of this machine's kernels, by several compilers and on other architectures."""

import ctypes
import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.backends.c_like import ROWS
from ogive.backends.instructions import ROWS as ROWS_OF_LLVM
from ogive.catalog import OPERATORS
from ogive.exporting.exported import export_sources
from ogive.exporting.sources import source_of_operator
from tests.exporting.sample import sample

#: More than the sample has: every operation of C, several results, unsigned and 64-bit integers, gradients.
MORE = [
    ("hypot", "float32"),
    ("asin", "float64"),
    ("atan2", "float64"),
    ("bit_shift_left", "uint8"),
    ("bit_shift_right", "uint64"),
    ("bitwise_xor", "int16"),
    ("bitwise_not", "int64"),
    ("bit_count", "uint64"),
    ("div", "int32"),
    ("mod", "int8"),
    ("mod", "uint64"),
    ("prelu", "uint32"),
    ("erf", "int16"),
    ("modulus_floor", "uint8"),
    ("round", "float64"),
    ("ceil", "float32"),
    ("trunc", "float16"),
    ("sqrt", "float64"),
    ("mish", "bfloat16"),
    ("isnan", "float16"),
]

COMPILERS = {
    "gcc": ["gcc", "-O3", "-march=native"],  # its own dialect, which fuses sums where nothing forbids it
    "gcc, without fused multiply-add": ["gcc", "-std=c11", "-O1"],
    "clang": ["clang", "-std=c11", "-O2", "-march=native"],
    "sanitizers": [
        "gcc",
        "-std=c11",
        "-O1",
        "-fsanitize=address,undefined,float-cast-overflow",
        "-fno-sanitize-recover=all",
    ],
    "aarch64": ["aarch64-linux-gnu-gcc", "-std=c11", "-O2", "-static"],
    "riscv64": ["riscv64-linux-gnu-gcc", "-std=c11", "-O2", "-static"],
}

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]


@cache
def functions():
    found = list(sample())
    for name, kind in MORE:
        op = OPERATORS[name]
        signature = next(s for s in op.signatures if kind in (s.inputs[0].name, s.inputs[-1].name))
        types = [t.name for t in (*signature.inputs, *signature.outputs)]
        found.append(source_of_operator(op, types, {}, {}, None))
    assert len(found) > 20
    return list({source.interface.name: source for source in found}.values())


def compiled_and_run(command, folder, name):
    """The names and digests that the self-test prints."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"not installed: {command[0]} (Debian: gcc, clang, gcc-aarch64-linux-gnu, gcc-riscv64-linux-gnu)")
    emulator = [f"qemu-{command[0].partition('-')[0]}"] if "-linux-gnu-" in command[0] else []
    if emulator and shutil.which(emulator[0]) is None:
        pytest.skip(f"not installed: {emulator[0]} (Debian: qemu-user)")
    done = subprocess.run(
        [*command, *WARNINGS, "-o", "program", f"{name}.c", f"{name}_test.c"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:2000]
    done = subprocess.run([*emulator, "./program"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr[:2000]
    return [line.removesuffix(" WRONG").split() for line in done.stdout.splitlines()]


#: Functions of one file.
AT_ONCE = 16


@pytest.mark.matrix(share=24)
@pytest.mark.parametrize("first", range(0, len(functions()), AT_ONCE))
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_digests_of_this_machine(compiler, first, tmp_path):
    some = functions()[first : first + AT_ONCE]
    exported = export_sources(some, "everything", self_test=True)
    common = [name for name in exported.files if name.startswith("ogive_")]
    assert set(exported.files) == {"everything.h", "everything.c", "everything_test.c", *common}
    assert set(common) <= {"ogive_ieee.h", "ogive_rows.h"}
    exported.write(tmp_path)
    found = compiled_and_run(COMPILERS[compiler], tmp_path, "everything")
    expected = [[name, f"{digest:016x}"] for name, digest in exported.digests.items()]
    assert found == expected


@pytest.mark.matrix(share=8, pool="exports")
def test_own_formulas_gradients_and_bound_operators(tmp_path):
    @ogive.operator
    def gated(x, y):
        """Times the sigmoid."""
        return x / (1 + ogive.formula.exp(-y))

    some = [gated, ogive.value_and_grad(ogive.gelu), ogive.celu.bind(alpha=1.5), ogive.vjp(ogive.softmax)]
    exported = ogive.export(some, form="c", name="some", self_test=True)
    exported.write(tmp_path)
    found = compiled_and_run(COMPILERS["gcc"], tmp_path, "some")
    assert found == [[name, f"{digest:016x}"] for name, digest in exported.digests.items()]
    assert len(found) == 4


@pytest.mark.matrix("compiler", share=8, pool="exports")
@pytest.mark.parametrize("compiler", ["gcc", "clang", "aarch64"])
def test_a_chosen_zero_keeps_its_sign(compiler, tmp_path):
    """LLVM 14 and 15 make x <= 0 ? -0 : x of x < 0 ? -0 : x, which is -0 of 0, and so of the other three."""

    def below(x):
        return f.where(x < 0, -0.0, x)

    def above(x):
        return f.where(x > 0, -0.0, x)

    def from_zero(x):
        return f.where(x >= 0, x, -0.0)

    def to_zero(x):
        return f.where(x <= 0, x, -0.0)

    def beside_a_comparison(x):
        return f.where(x < 0, -0.0, x) + f.where(x <= 0, -abs(x), x)

    formulas = (below, above, from_zero, to_zero, beside_a_comparison)
    some = [source_of_operator(op, ["float32", "float32"], {}, {}, None) for op in map(ogive.operator, formulas)]
    exported = export_sources(some, "zeros", self_test=False)
    exported.write(tmp_path)
    names = [source.interface.name for source in some]
    calls = "".join(f'    {name}(x, y, 0, 64);\n    show("{name}", y);\n' for name in names)
    (tmp_path / "zeros_test.c").write_text(SHOW_ZEROS + calls + "    return 0;\n}\n")
    found = compiled_and_run(COMPILERS[compiler], tmp_path, "zeros")
    assert found == [[name, "0,-0"] for name in names]


#: The program that prints the results of 0 and -0, of which there are many, so that compilers vectorise.
SHOW_ZEROS = """\
#include <math.h>
#include <stdio.h>
#include "zeros.h"
static void show(const char *name, const float *y) {
    printf("%s %s0,%s0\\n", name, signbit(y[0]) ? "-" : "", signbit(y[1]) ? "-" : "");
}
int main(void) {
    float x[64], y[64];
    for (int i = 0; i < 64; i++) {
        x[i] = i % 2 ? -0.0f : 0.0f;
    }
"""


@pytest.mark.matrix(share=8, pool="exports")
def test_no_library_is_called(tmp_path):
    """But for memcpy, which compilers have of their own."""
    export_sources(functions()[::3], "everything", self_test=False).write(tmp_path)
    if shutil.which("gcc") is None or shutil.which("nm") is None:
        pytest.skip("not installed: gcc, nm (Debian: gcc, binutils)")
    subprocess.run(["gcc", "-std=c11", "-O2", "-c", "everything.c"], cwd=tmp_path, check=True)
    names = subprocess.run(["nm", "-u", "everything.o"], cwd=tmp_path, capture_output=True, text=True, check=True)
    allowed = {"memcpy", "memset", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}
    assert set(names.stdout.split()) - {"U"} <= allowed


SCALE = """\
#include "ogive_ieee.h"
void both(const double *x, const double *n, double *y, const float *xf, const float *nf, float *yf, size_t count) {
    for (size_t i = 0; i < count; i++) {
        y[i] = ogive_scale_d(x[i], n[i]);
        yf[i] = ogive_scale_f(xf[i], nf[i]);
    }
}
"""


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="not installed: gcc (Debian: gcc)")
def test_powers_of_two_scale_as_ldexp_does(tmp_path):
    ogive.export(ogive.relu).write(tmp_path)
    (tmp_path / "scale.c").write_text(SCALE)
    subprocess.run(
        ["gcc", "-std=c11", "-O1", "-shared", "-fPIC", "-o", "scale.so", "scale.c"], cwd=tmp_path, check=True
    )
    rng = np.random.default_rng(0)
    arrays, expected = [], []
    for kind, bits, most in ((np.float64, np.uint64, 2300), (np.float32, np.uint32, 310)):
        x = rng.integers(0, 2 ** (8 * np.dtype(kind).itemsize), 30000, dtype=bits).view(kind)
        x[:6] = 0.0, -0.0, np.inf, -np.inf, np.nan, 1.0
        n = rng.integers(-most, most + 1, x.size).astype(np.int32)
        n[:10000] %= 64
        with np.errstate(all="ignore"):  # a signalling NaN is invalid for the frexp of some processors
            n[:10000] += np.finfo(kind).minexp - np.frexp(x[:10000])[1] - 60  # results that are subnormal
            expected.append(np.ldexp(x, n))
        arrays += [x, n.astype(kind), np.empty_like(x)]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    ctypes.CDLL(str(tmp_path / "scale.so")).both(*pointers, ctypes.c_size_t(30000))
    for found, wanted in zip(arrays[2::3], expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_every_operation_of_the_kernels_has_its_row():
    rows = {name for name in ROWS_OF_LLVM if not name.startswith("row_")} - {"input", "parameter"}
    assert rows == set(ROWS)


def test_the_text_is_for_people():
    text = ogive.export(ogive.gelu, form="c").files["ogive_gelu_float32.c"].decode()
    lines = text.splitlines()
    assert len(lines) <= 200
    assert max(map(len, lines)) <= 120
    assert re.search(r"const double d1 = \(double\)x\[i\]", text)
    assert "for (int k = 0; k < 36; k++) {" in text  # the polynomial of erfc, in sums of two numbers
