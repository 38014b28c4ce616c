"""Exported code itself under sanitizers: its LLVM IR is instrumented, and linked with C programs.

In test_programs.py sanitizers see the C around the code. Here Clang instruments every load and store of the code, that of
the kernels too: the package ziglang has one that reads the text of this LLVM. GCC links, and has the sanitizers' libraries.
"""

import subprocess
import sys
from importlib.util import find_spec

import pytest

import ogive
from tests.exporting.test_programs import IS_X86, LEVEL, LEVELS, need

OPERATORS = [ogive.celu, ogive.gelu, ogive.softmin, ogive.softmax, ogive.logsumexp]

THREADS = """
#include "some.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Clang calls it by this name, of which GCC's library knows nothing. */
void *__tsan_memset(void *to, int value, size_t bytes);
void *__tsan_memset(void *to, int value, size_t bytes) { return memset(to, value, bytes); }

enum { THREADS = 4, ELEMENTS = 40009, ROWS = 45, COUNT = 331 };
static float x[ELEMENTS], y[ELEMENTS], expected[ELEMENTS], in_place[ELEMENTS], row[ROWS], expected_row[ROWS];

static void all(size_t part, size_t parts, float *elements, float *numbers) {
    const size_t begin = part * ELEMENTS / parts, end = (part + 1) * ELEMENTS / parts + MORE;
    const size_t first = part * ROWS / parts, last = (part + 1) * ROWS / parts;
    void *scratch = malloc(ogive_softmin_float32_scratch(COUNT) + ogive_logsumexp_float32_scratch(COUNT));
    ogive_gelu_float32(x, elements, begin, end > ELEMENTS ? ELEMENTS : end);
    ogive_celu_float32(elements, elements, begin, part + 1 == parts ? ELEMENTS : end - MORE, 1.5);
    ogive_logsumexp_float32(x, numbers, first, last, COUNT, scratch);
    ogive_softmin_float32(in_place, in_place, first, last, COUNT, scratch);
    free(scratch);
}

static void *thread(void *number) {
    all((size_t)(uintptr_t)number, THREADS, y, row);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < ELEMENTS; ++i) {
        x[i] = in_place[i] = (float)(i * 7919 % 10007) / 1000.0f - 5.0f;
    }
    for (size_t t = 0; t < THREADS; ++t) { /* the first calls: all ask which level the processor has */
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

TOO_SHORT = """
#include "some.h"
#include <stdlib.h>

int main(void) {
    float *x = calloc(1000, sizeof *x), *y = calloc(1000, sizeof *y);
    void *scratch = malloc(ogive_softmin_float32_scratch(20) LESS);
    ogive_softmin_float32(x, y, 0, 50, 20, scratch);
    ogive_gelu_float32(x, y, 0, 1000 MORE);
    free(x), free(y), free(scratch);
    return 0;
}
"""


def instrumented(folder, kind, target):
    """some.o, of which every access to memory is reported."""
    if not IS_X86:
        pytest.skip("sanitizers are asked for x86-64")
    if find_spec("ziglang") is None:
        pytest.skip("the package ziglang, whose Clang reads LLVM's newest text, is not installed")
    need("gcc")
    ogive.export(OPERATORS, target=target, name="some", form="llvm", self_test=True).write(folder)
    path = folder / "some.ll"
    text = path.read_text().replace("nounwind", f"nounwind sanitize_{kind}")
    path.write_text(text)
    command = [sys.executable, "-m", "ziglang", "cc", f"-fsanitize={kind}", "-O1", "-c", "some.ll", "-o", "some.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run(folder, kind, source, *flags):
    command = ["gcc", f"-fsanitize={kind}", "-O1", *flags, "-o", "program", source, "some.o", "-lpthread"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("target", LEVELS)
def test_addresses(target, tmp_path):
    if LEVELS[target] > LEVEL:
        pytest.skip(f"{target} needs Linux on a processor of that level")
    instrumented(tmp_path, "address", target)
    done = run(tmp_path, "address", "some_test.c")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "short.c").write_text(TOO_SHORT)
    done = run(tmp_path, "address", "short.c", "-DMORE=", "-DLESS=")
    assert (done.returncode, done.stderr) == (0, "")
    # It does see the code: one element more, and memory that is too short, are reported.
    for flags in (("-DMORE=+1", "-DLESS="), ("-DMORE=", "-DLESS=/4")):
        assert "heap-buffer-overflow" in run(tmp_path, "address", "short.c", *flags).stderr


def test_threads(tmp_path):
    """Threads that take a range each, of elements and of rows, in place too, and all make the first call."""
    instrumented(tmp_path, "thread", "x86_64")
    (tmp_path / "threads.c").write_text(THREADS)
    done = run(tmp_path, "thread", "threads.c", "-DMORE=0")
    assert (done.returncode, done.stderr) == (0, "")
    # Ranges that overlap are reported.
    assert "data race" in run(tmp_path, "thread", "threads.c", "-DMORE=50").stderr
