"""Exported functions in C programs: their environment, their libraries, threads, and long rows; the example page."""

import ctypes
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import ogive
from ogive.formula import row_count, row_product, row_sum

IS_LINUX = sys.platform == "linux"

FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O0"]


def need(*tools):
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: gcc, clang, qemu-user, gcc-*-linux-gnu)")


#: By architecture: a compiler, and what runs the program.
ON = {
    "x86_64": (["gcc", "-O2", "-march=native"], []),
    "aarch64": (["aarch64-linux-gnu-gcc", "-O2", "-static"], ["qemu-aarch64"]),
    "riscv64": (["riscv64-linux-gnu-gcc", "-O2", "-static"], ["qemu-riscv64"]),
}


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


@pytest.mark.matrix(share=8, pool="exports")
@pytest.mark.parametrize("target", ON)
def test_the_callers_environment_does_not_matter_and_comes_back(target, tmp_path):
    """Every rounding mode, with flush-to-zero where there is one, and a flag that was set before."""
    compiler, emulator = ON[target]
    need(compiler[0], *emulator[:1])
    exported = ogive.export([ogive.celu, ogive.tanh, ogive.softmax, ogive.div], name="some", self_test=True)
    exported.write(tmp_path)
    includes, flush, asked = FLUSH[target]
    text = includes + ENVIRONMENT.replace("FLUSH\n", flush + "\n").replace("STILL_FLUSHES", asked)
    (tmp_path / "environment.c").write_text(text)
    command = [*compiler, "-std=gnu11", "-o", "program", "environment.c", "some.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([*emulator, "./program"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.matrix(share=8, pool="exports")
@pytest.mark.parametrize(("form", "library"), [("static", "libsome.a"), ("shared", "libsome.so")])
def test_libraries(form, library, tmp_path):
    need("cc", "ar")
    if not IS_LINUX:
        pytest.skip("libraries have other names elsewhere")
    exported = ogive.export([ogive.celu, ogive.softmax], name="some", form=form, self_test=True)
    exported.write(tmp_path)
    assert sorted(exported.files) == [library, "some.h", "some_test.c"]
    command = ["cc", *FLAGS, "-o", "program", "some_test.c", library, "-Wl,-rpath,."]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


THREADS = """
#include "some.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ELEMENTS = 40009, ROWS = 45, COUNT = 331 };
static float x[ELEMENTS], y[ELEMENTS], expected[ELEMENTS], in_place[ELEMENTS], row[ROWS], expected_row[ROWS];

static void all(size_t part, size_t parts, float *elements, float *numbers) {
    const size_t begin = part * ELEMENTS / parts, end = (part + 1) * ELEMENTS / parts + MORE;
    const size_t first = part * ROWS / parts, last = (part + 1) * ROWS / parts;
    void *scratch = malloc(ogive_softmin_float32_scratch(COUNT) + ogive_logsumexp_float32_scratch(COUNT));
    ogive_celu_float32(x, elements, begin, end > ELEMENTS ? ELEMENTS : end, 1.5);
    ogive_logsumexp_float32(x, numbers, first, last, COUNT, scratch);
    ogive_softmin_float32(in_place, in_place, first, last, COUNT, scratch);
    free(scratch);
}

static pthread_barrier_t all_are_there;

static void *thread(void *number) {
    pthread_barrier_wait(&all_are_there); /* threads that run one after the other have no race that is seen */
    all((size_t)(uintptr_t)number, THREADS, y, row);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_are_there, NULL, THREADS);
    for (size_t i = 0; i < ELEMENTS; ++i) {
        x[i] = in_place[i] = (float)(i * 7919 % 10007) / 1000.0f - 5.0f;
    }
    for (size_t t = 0; t < THREADS; ++t) {
        pthread_create(&threads[t], NULL, thread, (void *)(uintptr_t)t);
    }
    for (size_t t = 0; t < THREADS; ++t) {
        pthread_join(threads[t], NULL);
    }
    static float kept[ELEMENTS];
    memcpy(kept, in_place, sizeof kept);
    memcpy(in_place, x, sizeof x);
    all(0, 1, expected, expected_row);
    return memcmp(y, expected, sizeof y) || memcmp(row, expected_row, sizeof row) || memcmp(kept, in_place, sizeof kept);
}
"""


@pytest.mark.matrix(share=8, pool="exports")
@pytest.mark.parametrize(("more", "said"), [("0", ""), ("50", "data race")])
def test_threads(more, said, tmp_path):
    """Threads that take a range each, of elements and of rows, in place too. Ranges that overlap are reported."""
    need("gcc")
    ogive.export([ogive.celu, ogive.softmin, ogive.logsumexp], name="some").write(tmp_path)
    (tmp_path / "threads.c").write_text(THREADS)
    # The sanitizer sees copies that are calls.
    flags = ["-fsanitize=thread", "-ffp-contract=off", "-fno-builtin-memcpy", "-O1", f"-DMORE={more}"]
    command = ["gcc", *flags, "-o", "program", "threads.c", "some.c", "-lpthread"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said in done.stderr
    assert bool(done.returncode) == bool(said), done.stderr


@ogive.row_operator()
def shares_of_product(x):
    """Each element times the product of its row."""
    return x * row_product(x)


@ogive.row_operator()
def less_the_mean(x):
    """Each element less the mean of its row."""
    return x - row_sum(x) / row_count(x)


@pytest.mark.matrix(share=5)
@pytest.mark.skipif(not IS_LINUX, reason="loads a library of Linux")
@pytest.mark.parametrize("op", [shares_of_product, ogive.sparsemax, less_the_mean], ids=lambda op: op.name)
def test_long_rows_have_the_bits_of_the_runtime(tmp_path, op):
    """Segments are combined, and stages repeated, as the runtime does: the bits of float64 are the same."""
    need("cc")
    ogive.export(op, "float64", name="some", form="shared").write(tmp_path)
    library = ctypes.CDLL(str(tmp_path / "libsome.so"))
    library.some_scratch.restype, library.some_scratch.argtypes = ctypes.c_size_t, [ctypes.c_size_t]
    for count in (1, 7, 16384, 16385, 40_000):
        x = np.exp(np.random.default_rng(count).standard_normal((3, count)) * 0.3)
        y, scratch = np.empty_like(x), ctypes.create_string_buffer(library.some_scratch(count))
        arrays = (ctypes.c_void_p(array.ctypes.data) for array in (x, y))
        library.some(*arrays, ctypes.c_size_t(0), ctypes.c_size_t(3), ctypes.c_size_t(count), scratch)
        assert np.array_equal(y, op(x))


# ---- the page, in Chromium without a screen

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OF_CHROMIUM = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=20000",
    "--dump-dom",
]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.mark.matrix(share=8, pool="exports")
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: chromium)")
def test_the_page_computes(tmp_path):
    pytest.importorskip("ziglang", reason="the package ziglang, which compiles for WebAssembly, is not installed")
    folder = tmp_path / "page"
    ogive.export([ogive.celu, ogive.softmax], triple="wasm32-wasi", form="shared", name="activations").write(folder)
    shutil.copy(ROOT / "examples" / "exported" / "page.html", folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/page.html"
        command = [CHROMIUM, *OF_CHROMIUM, f"--user-data-dir={tmp_path / 'profile'}", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert '<output id="celu">-0.7298743 0.000000 2.000000</output>' in done.stdout, done.stderr[-2000:]
    assert '<output id="softmax">0.04201007 0.1141952 0.8437948</output>' in done.stdout
