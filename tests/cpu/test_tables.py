"""Tables of constants and estimates of reciprocals: the same numbers on every target, and the error that is stated."""

import ctypes
import math
import re
import shutil
import subprocess

import numpy as np
import pytest

from ogive.backends.c_like import Text
from ogive.backends.compiler import assembly, object_code
from ogive.backends.dialects import ISO_C
from ogive.backends.link import link
from ogive.backends.llvm import emit, entries
from ogive.backends.target import TARGETS, runnable_targets
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.graph import operations as ops
from ogive.graph.expression import Format, node
from ogive.lowering.program import Program
from ogive.runtime.kernels import make_ufunc

#: Tables of each length, with zeros of both signs.
TABLES = {size: (*(math.ldexp(k - 5.0, k) for k in range(size - 2)), 0.0, -0.0) for size in (8, 16, 32)}
PLACE = 11.0

#: Targets that hold the tables in registers, and estimate.
INSTRUCTIONS = {
    "x86-64-v4": ["vperm[it]2ps", "vrcp14ps"],
    "x86-64-v3": ["vperm(ps|d)", "vblendvps"],
    "aarch64": ["tbx", "frecps"],
}


def program(*, wide: bool = False) -> Program:
    """Results for an index and a number: entries of each table, one by bits of the number, one by a parameter, and the estimate.

    ``wide`` ones are float64, so that the code takes half as many elements at a time.
    """
    whole, single = node(ops.INPUT, (), 0, Format.I32), node(ops.INPUT, (), 1, Format.F32)
    results = [node(ops.TABLE, (whole,), table, Format.F32) for table in TABLES.values()]
    bits = node(ops.SHIFT_RIGHT, (node(ops.BITCAST, (single,), None, Format.U32),), 19, Format.U32)
    place = node(ops.CONVERT, (node(ops.PARAMETER, (), (0, "place"), Format.F64),), None, Format.I32)
    results += [node(ops.TABLE, (index,), TABLES[32], Format.F32) for index in (bits, place)]
    results += [node(ops.RECIPROCAL_ESTIMATE, (single,), None, Format.F32)]
    if wide:
        results = [node(ops.CONVERT, (result,), None, Format.F64) for result in results]
    outputs = (ELEMENT_TYPES["float64" if wide else "float32"],) * len(results)
    return Program((ELEMENT_TYPES["int32"], ELEMENT_TYPES["float32"]), outputs, tuple(results), parameter_count=1)


def operands(count: int) -> list[np.ndarray]:
    random = np.random.default_rng(count)
    whole = random.integers(-(2**31), 2**31, count).astype(np.int32)
    # Each exponent for which the error is stated, its ends among them.
    single = np.ldexp(random.uniform(1, 2, count), random.integers(-126, 126, count)).astype(np.float32)
    single[:4] = 2.0**-126, 2.0**126, -1.0, np.nextafter(np.float32(2), np.float32(1))
    return [whole, np.where(whole % 3 == 0, -single, single)]


def judge(results, whole, single, place=PLACE) -> None:
    expected = [np.float32(table)[whole & (size - 1)] for size, table in TABLES.items()]
    expected += [
        np.float32(TABLES[32])[single.view(np.uint32) >> 19 & 31],
        np.full(single.size, TABLES[32][int(place) % 32]),
    ]
    *entries_found, estimate = (np.asarray(result, np.float32) for result in results)
    for found, right in zip(entries_found, expected, strict=True):
        np.testing.assert_array_equal(found.view(np.uint32), np.float32(right).view(np.uint32))
    error = estimate.astype(np.float64) * single.astype(np.float64) - 1
    assert np.abs(error).max() < 2.0**-14


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("target", runnable_targets().values(), ids=lambda t: t.name)
def test_on_every_target_of_this_machine(target, wide):
    arrays = operands(5003)
    judge(make_ufunc("tables", program(wide=wide), target, parameters=(PLACE,))(*arrays), *arrays)


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
def test_every_target_compiles(target):
    made = program()
    source = emit(made, target)
    assert not link(object_code(source, target), entries(made)).imports
    for instruction in INSTRUCTIONS.get(target.name, []):
        assert re.search(instruction, assembly(source, target)), instruction


def test_in_c(tmp_path):
    """Four tables: that of 32 entries is there once."""
    if shutil.which("gcc") is None:
        pytest.skip("not installed: gcc (Debian: gcc)")
    made = program()
    text = Text(ISO_C, lambda n: ["whole[i]", "single[i]"][n.attribute] if n.operation == ops.INPUT else "place")
    lines, values = text.statements(made.results)
    assert "".join(text.support.values()).count("ogive_table") == 3
    body = "\n".join([*lines, *(f"results[{k} * n + i] = {value};" for k, value in enumerate(values))])
    head = "void run(int n, double place, const int32_t *whole, const float *single, float *results)"
    loop = f"{head} {{ for (int i = 0; i < n; ++i) {{ {body} }} }}"
    (tmp_path / "tables.c").write_text("\n".join([ISO_C.before, *text.support.values(), loop]))
    command = ["gcc", "-std=c11", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", "tables.so", "tables.c"]
    subprocess.run([*command, "-Wno-unknown-pragmas"], cwd=tmp_path, check=True)
    arrays, results = operands(1000), np.empty((len(made.results), 1000), np.float32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, results)]
    ctypes.CDLL(str(tmp_path / "tables.so")).run(1000, ctypes.c_double(PLACE), *pointers)
    judge(results, *arrays)
