"""Exported functions in C programs, on every architecture that runs here: the digests of this machine's kernels."""

import ctypes
import platform
import shutil
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import ogive
from ogive import _native
from ogive.exporting.exported import export_sources
from ogive.exporting.places import place
from ogive.formula import row_count, row_product, row_sum
from tests.exporting.sample import sample

IS_X86 = platform.machine().lower() in ("x86_64", "amd64") and sys.platform == "linux"
LEVEL = _native.x86_level() if IS_X86 else 0

#: By target: a compiler that links, and what runs the program.
ON = {
    "x86-64": (["gcc"], []),
    "x86-64-v3": (["clang"], []),
    "x86-64-v4": (["gcc"], []),
    "x86_64": (["gcc"], []),
    "aarch64": (["aarch64-linux-gnu-gcc", "-static"], ["qemu-aarch64"]),
    "riscv64": (["riscv64-linux-gnu-gcc", "-static"], ["qemu-riscv64"]),
}
LEVELS = {"x86-64": 1, "x86-64-v3": 3, "x86-64-v4": 4, "x86_64": 1}
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O0"]


def need(*tools):
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: gcc, clang, qemu-user, gcc-*-linux-gnu)")


def runs(compiler, folder, name, flags=(), emulator=()):
    """The lines of the self-test of exported functions, compiled and linked so."""
    command = [*compiler, *FLAGS, *flags, "-o", "program", f"{name}_test.c", f"{name}.o"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([*emulator, "./program"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n".join([w for w in done.stdout.splitlines() if len(w.split()) > 2]) + done.stderr
    return done.stdout.splitlines()


@pytest.mark.matrix(share=4)
@pytest.mark.parametrize("target", ON)
def test_the_digests_of_this_machine(target, tmp_path):
    compiler, emulator = ON[target]
    if target in LEVELS and LEVELS[target] > LEVEL:
        pytest.skip(f"{target} needs Linux on a processor of that level")
    need(compiler[0], *emulator[:1])
    sources = sample()
    exported = export_sources(sources, place(target, None), "object", "everything", self_test=True)
    exported.write(tmp_path)
    lines = runs(compiler, tmp_path, "everything", emulator=emulator)
    # The digests were computed here with the operators themselves.
    assert lines == [f"{name} {digest:016x}" for name, digest in exported.digests.items()]
    assert len(lines) == len(sources)


@pytest.mark.matrix(share=2)
@pytest.mark.parametrize("target", ["x86_64", "aarch64"])
def test_gradients(target, tmp_path):
    """They are operators as well: derivatives, values with them, and those of rows."""
    compiler, emulator = ON[target]
    if target in LEVELS and not IS_X86:
        pytest.skip("x86-64 runs on x86-64 alone")
    need(compiler[0], *emulator[:1])
    made = [ogive.grad(ogive.celu), ogive.value_and_grad(ogive.gelu), ogive.vjp(ogive.prelu), ogive.vjp(ogive.softmax)]
    exported = ogive.export([*made, ogive.vjp(ogive.logsumexp)], target=target, name="some", self_test=True)
    exported.write(tmp_path)
    assert len(runs(compiler, tmp_path, "some", emulator=emulator)) == 5


ENVIRONMENT = """
#include <fenv.h>
#define main self_test
#include "some_test.c"
#undef main

int main(void) {
    const int modes[] = {FE_UPWARD, FE_TOWARDZERO, FE_DOWNWARD};
    for (int i = 0; i < 3; ++i) {
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(FE_DIVBYZERO);
        fesetround(modes[i]);
        FLUSH
        const int failed = self_test();
        if (failed || fegetround() != modes[i] || fetestexcept(FE_ALL_EXCEPT) != FE_DIVBYZERO || !STILL_FLUSHES) {
            printf("mode %d: %d %d %d\\n", i, failed, fegetround(), fetestexcept(FE_ALL_EXCEPT));
            return 1;
        }
    }
    return 0;
}
"""

#: Flush-to-zero, and denormals-are-zero, set and asked for.
FLUSH = {
    "x86_64": ("#include <immintrin.h>", "_mm_setcsr(_mm_getcsr() | 0x8040);", "((_mm_getcsr() & 0x8040) == 0x8040)"),
    "aarch64": (
        '#include <stdint.h>\nstatic uint64_t got(void) { uint64_t c; __asm__ volatile("mrs %0, fpcr" : "=r"(c)); return c; }',
        '__asm__ volatile("msr fpcr, %0" : : "r"(got() | 1 << 24));',
        "((got() >> 24 & 1) == 1)",
    ),
    "riscv64": ("", "", "1"),
}


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("target", ["x86_64", "aarch64", "riscv64"])
def test_the_callers_environment_does_not_matter_and_comes_back(target, tmp_path):
    """Every rounding mode, with flush-to-zero where there is one, and a flag that was set before."""
    compiler, emulator = ON[target]
    if target in LEVELS and not IS_X86:
        pytest.skip("x86-64 runs on x86-64 alone")
    need(compiler[0], *emulator[:1])
    exported = ogive.export(
        [ogive.celu, ogive.tanh, ogive.softmax, ogive.div], target=target, name="some", self_test=True
    )
    exported.write(tmp_path)
    includes, flush, asked = FLUSH[target]
    text = includes + ENVIRONMENT.replace("FLUSH\n", flush + "\n").replace("STILL_FLUSHES", asked)
    (tmp_path / "environment.c").write_text(text)
    command = [*compiler, "-std=gnu11", "-frounding-math", "-o", "program", "environment.c", "some.o", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([*emulator, "./program"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


COMPILERS = {
    "gcc": ["gcc"],
    "clang": ["clang"],
    "zig cc": [sys.executable, "-m", "ziglang", "cc"],
}


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("compiler", ["gcc", "clang", "zig cc"])
def test_compilers_link_static_and_shared_libraries(compiler, tmp_path):
    if not IS_X86:
        pytest.skip("compilers of this machine are asked for x86-64")
    if compiler == "zig cc":
        if find_spec("ziglang") is None:
            pytest.skip("the package ziglang is not installed")
    else:
        need(compiler)
    for form, library in (("static", "libsome.a"), ("shared", "libsome.so")):
        folder = tmp_path / form
        exported = ogive.export([ogive.gelu, ogive.softmax], target="x86_64", name="some", form=form, self_test=True)
        exported.write(folder)
        command = [*COMPILERS[compiler], *FLAGS, "-o", "program", "some_test.c", library, "-Wl,-rpath,."]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        done = subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_sanitizers_find_nothing(compiler, tmp_path):
    """Every access of the loops lies in the operands: what C hands over is exactly as long as it says."""
    if not IS_X86:
        pytest.skip("compilers of this machine are asked for x86-64")
    need(compiler)
    ogive.export([ogive.celu, ogive.mod, ogive.softmax], target="x86_64", name="some", self_test=True).write(tmp_path)
    assert runs([compiler], tmp_path, "some", flags=["-fsanitize=address,undefined", "-fno-sanitize-recover"])


GUARDED = """
#include "some.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* So many bytes that end where a page begins that cannot be read or written. */
static char *before_the_end(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page;
    char *found = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED || mprotect(found + size, page, PROT_NONE) != 0) { exit(2); }
    return found + size - bytes;
}

int main(void) {
    for (size_t n = 1; n < 300; ++n) {
        float *x = (float *)before_the_end(4 * n), *y = (float *)before_the_end(4 * n);
        memset(x, 0, 4 * n);
        ogive_celu_float32(x, y, 0, n, 1.5);
        ogive_softmax_float32(x, y, 0, 1, n, before_the_end(ogive_softmax_float32_scratch(n)));
        ogive_softmax_float32_strided(x, 0, 4, y, 0, 4, 0, 1, n, before_the_end(ogive_softmax_float32_scratch(n)));
        ogive_softmax_float32_strided(x, 4, 8, y, 4, 8, 0, 1, n / 2, before_the_end(ogive_softmax_float32_scratch(n / 2)));
    }
    return 0;
}
"""


def test_nothing_is_touched_behind_the_end(tmp_path):
    """Also by the machine code, which sanitizers do not see: a forbidden page follows each operand."""
    if not IS_X86:
        pytest.skip("compilers of this machine are asked for x86-64")
    need("gcc")
    for target in ("x86-64", "x86-64-v3", "x86-64-v4"):
        if LEVELS[target] <= LEVEL:
            folder = tmp_path / target
            ogive.export([ogive.celu, ogive.softmax], target=target, name="some").write(folder)
            (folder / "guarded.c").write_text(GUARDED)
            subprocess.run(["gcc", "-D_GNU_SOURCE", "-o", "program", "guarded.c", "some.o"], cwd=folder, check=True)
            assert subprocess.run(["./program"], cwd=folder, check=False).returncode == 0


@ogive.row_operator()
def shares_of_product(x):
    """Each element times the product of its row."""
    return x * row_product(x)


@ogive.row_operator()
def less_the_mean(x):
    """Each element less the mean of its row."""
    return x - row_sum(x) / row_count(x)


@pytest.mark.skipif(not IS_X86, reason="loads a library for x86-64")
@pytest.mark.parametrize("op", [shares_of_product, ogive.sparsemax, less_the_mean], ids=lambda op: op.name)
def test_long_rows_have_the_bits_of_the_runtime(tmp_path, op):
    """Segments are combined, and stages repeated, as the runtime does: the bits of float64 are the same."""
    ogive.export(op, "float64", target="x86_64", name="some", form="shared").write(tmp_path)
    library = ctypes.CDLL(str(tmp_path / "libsome.so"))
    library.some_scratch.restype, library.some_scratch.argtypes = ctypes.c_size_t, [ctypes.c_size_t]
    for count in (1, 7, 16384, 16385, 40_000):
        x = np.exp(np.random.default_rng(count).standard_normal((3, count)) * 0.3)
        y, scratch = np.empty_like(x), ctypes.create_string_buffer(library.some_scratch(count))
        arrays = (ctypes.c_void_p(array.ctypes.data) for array in (x, y))
        library.some(*arrays, ctypes.c_size_t(0), ctypes.c_size_t(3), ctypes.c_size_t(count), scratch)
        assert np.array_equal(y, op(x))
