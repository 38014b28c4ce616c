"""Images for AArch64 run, under an emulator, and have the bits of this machine.

All kernels of the catalogue are compiled for AArch64 and linked; run_kernels.c, compiled for it too, runs them under
qemu-aarch64. So the linker, the code and the promise of the same bits are tested without a machine of that kind.
"""

import platform
import shutil
import struct
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ogive.backends import link as linker
from ogive.backends.compiler import object_code
from ogive.backends.link import Image, link
from ogive.backends.llvm import emit, entries
from ogive.backends.target import TARGETS
from ogive.runtime.kernels import make_ufunc
from tests.cpu import test_tables as tables
from tests.inputs import CASE_IDS, CASES, ROW_CASE_IDS, ROW_CASES, assert_same_bits, operands

AARCH64 = TARGETS["aarch64"]
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
MISSING = [tool for tool in (COMPILER, EMULATOR) if shutil.which(tool) is None]

pytestmark = [
    pytest.mark.skipif(
        platform.machine().lower() in ("aarch64", "arm64"),
        reason="this machine runs the code itself, in all other tests",
    ),
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"not installed: {', '.join(MISSING)} (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)",
    ),
]

#: Elements of a kernel's operands: a multiple of every block. Rows and elements of a row, which need not be.
ELEMENTS, ROWS, ROW = 1280, 7, 150


@dataclass(frozen=True)
class Job:
    """A kernel, its inputs, and the shape and types of its outputs."""

    image: Image
    inputs: list[np.ndarray]
    outputs: list[np.dtype]
    scratch: tuple[int, ...] = ()
    """Bytes of an element of each row that it keeps between stages."""
    is_row_wise: bool = False
    stream: bool = False

    def packed(self) -> bytes:
        shape = self.inputs[0].shape
        itemsizes = [*(x.itemsize for x in self.inputs), *(t.itemsize for t in self.outputs), *self.scratch]
        sizes = [size * self.inputs[0].size for size in itemsizes]
        numbers = [len(self.image.code), len(self.image.entries), len(sizes), len(self.inputs), len(self.outputs)]
        numbers += [shape[-1], shape[0] if self.is_row_wise else 0, self.stream, *self.image.entries, *sizes]
        numbers += [size * shape[-1] for size in itemsizes]
        return b"".join(
            [struct.pack(f"<{len(numbers)}q", *numbers), self.image.code, *(x.tobytes() for x in self.inputs)]
        )


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """The program that runs kernels, compiled for AArch64."""
    program = tmp_path_factory.mktemp("aarch64") / "run_kernels"
    source = Path(__file__).parent / "run_kernels.c"
    subprocess.run([COMPILER, "-std=c11", "-D_GNU_SOURCE", "-O1", "-static", "-o", program, source], check=True)
    return program


def run_all(jobs: list[Job], program: Path, folder: Path) -> list[list[np.ndarray]]:
    """The outputs that the jobs leave."""
    (folder / "jobs").write_bytes(b"".join(job.packed() for job in jobs))
    completed = subprocess.run(
        [EMULATOR, program, folder / "jobs", folder / "results"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    data, at, found = (folder / "results").read_bytes(), 0, []
    for job in jobs:
        found.append([])
        for kind in job.outputs:
            size = job.inputs[0].size * kind.itemsize
            found[-1].append(np.frombuffer(data[at : at + size], kind).reshape(job.inputs[0].shape))
            at += size
        if not job.is_row_wise:  # a bit of every element: what is undecided
            size = job.inputs[0].size // 8
            bits = np.frombuffer(data[at : at + size], np.uint8)
            found[-1].append(np.unpackbits(bits, bitorder="little").astype(bool))
            at += size
    assert at == len(data)
    return found


# ---- the catalogue


def required(op):
    return {p.name: 1.5 for p in op.parameters if p.is_required}


def inputs_of(op, signature):
    arrays = [x[:ELEMENTS] for x in operands(signature, ELEMENTS)]
    return [x[: ROWS * ROW].reshape(ROWS, ROW) for x in arrays] if op.is_row_wise else arrays


def program_of(op, signature):
    """Rows without the test and the repair of rows: their records are laid out by the runtime, which is not here."""
    program = op.program(signature, **op.checked_parameters(required(op)))
    return replace(program, undecided=None, later=(), first_levels=()) if op.is_row_wise else program


def job_of(op, signature, program, stream=False):
    image = link(object_code(emit(program, AARCH64), AARCH64), entries(program))
    scratch = tuple(f.bits // 8 for f in program.scratch)
    outputs = [t.numpy for t in program.outputs]
    return Job(image, inputs_of(op, signature), outputs, scratch, op.is_row_wise, stream)


ALL = dict(zip([*CASE_IDS, *ROW_CASE_IDS], CASES + ROW_CASES, strict=True))


def results(op, signature, runner, folder, *, stream):
    """The kernel's outputs, and which elements are left to enclosures."""
    program = program_of(op, signature)
    (found,) = run_all([job_of(op, signature, program, stream)], runner, folder)
    if op.is_row_wise:
        return found, np.zeros(found[0].shape, bool)
    *outputs, is_open = found
    if program.undecided is not None:
        ((*again, _),) = run_all([job_of(op, signature, program.later[-1].make())], runner, folder)
        mask = (
            again.pop() if program.has_mask_at_end else np.zeros(is_open.shape, np.uint8)
        )  # the last level may decide all
        outputs = [np.where(is_open, b, a) for a, b in zip(outputs, again, strict=True)]
        is_open &= mask != 0
    return outputs, is_open


@pytest.mark.matrix("op.name", share=5)
@pytest.mark.parametrize(("op", "signature"), ALL.values(), ids=ALL)
def test_the_bits_of_this_machine(op, signature, runner, tmp_path, request):
    stream = [*ALL].index(request.node.callspec.id) % 2 == 1
    found, is_open = results(op, signature, runner, tmp_path, stream=stream)
    arrays = inputs_of(op, signature)
    expected = op(*arrays, **required(op))
    if op.is_row_wise:
        expected = make_ufunc(op.name, program_of(op, signature))(*arrays)
    for result, array in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert_same_bits(np.where(is_open, array, result), array, *arrays)


def test_there_is_something_to_compare():
    assert len(ALL) == len(CASES) + len(ROW_CASES) > 0


@pytest.mark.matrix(share=16, pool="slow")
def test_tables_and_estimates(runner, tmp_path):
    made, arrays = tables.program(), tables.operands(1328)
    image = link(object_code(emit(made, AARCH64), AARCH64), entries(made))
    (found,) = run_all([Job(image, arrays, [np.dtype(np.float32)] * len(made.results))], runner, tmp_path)
    tables.judge(found[:-1], *arrays, place=1328)  # the one parameter is the number of elements


# ---- every reference that the linker understands

#: A constant of every size, behind so many others that they lie at any place of any page.
EVERY_REFERENCE = """target triple = "aarch64-unknown-linux-gnu"
@before = internal constant [COUNT x i32] zeroinitializer
@byte = internal constant i8 7
@half = internal constant i16 1234
@word = internal constant i32 -87654321
@long = internal constant i64 1234567890123456789
@pair = internal constant <2 x i64> <i64 -3, i64 98765432109876>
@table = internal constant [4 x i64] [i64 11, i64 22, i64 33, i64 44]
@behind = internal constant <2 x i64> <i64 5, i64 6>
define void @kernel(ptr %operands, i64 %count, ptr %values, i1 %stream) {
  %in = load ptr, ptr %operands
  %place = getelementptr ptr, ptr %operands, i64 1
  %out = load ptr, ptr %place
  %index = load i64, ptr %in
  %b = load volatile i8, ptr @byte
  %b64 = sext i8 %b to i64
  store i64 %b64, ptr %out
  %h = load volatile i16, ptr @half
  %h64 = sext i16 %h to i64
  %out1 = getelementptr i64, ptr %out, i64 1
  store i64 %h64, ptr %out1
  %w = load volatile i32, ptr @word
  %w64 = sext i32 %w to i64
  %out2 = getelementptr i64, ptr %out, i64 2
  store i64 %w64, ptr %out2
  %l = load volatile i64, ptr @long
  %out3 = getelementptr i64, ptr %out, i64 3
  store i64 %l, ptr %out3
  %p = load volatile <2 x i64>, ptr @pair
  %out4 = getelementptr i64, ptr %out, i64 4
  store <2 x i64> %p, ptr %out4
  %entry = getelementptr i64, ptr @table, i64 %index
  %t = load volatile i64, ptr %entry
  %out6 = getelementptr i64, ptr %out, i64 6
  store i64 %t, ptr %out6
  %far = getelementptr [COUNT x i32], ptr @before, i64 0, i64 %index
  %f = load volatile i32, ptr %far
  %f64 = sext i32 %f to i64
  %out7 = getelementptr i64, ptr %out, i64 7
  store i64 %f64, ptr %out7
  %e = load volatile <2 x i64>, ptr @behind
  %out8 = getelementptr i64, ptr %out, i64 8
  store <2 x i64> %e, ptr %out8
  ret void
}
"""


def kinds_of(elf):
    sections = linker._read_sections(elf)
    return {
        struct.unpack_from("<Q", elf, at + 8)[0] & 0xFFFFFFFF
        for section in sections
        if section.kind == 4 and sections[section.info].name == ".text"
        for at in range(section.offset, section.offset + section.size, 24)
    }


@pytest.mark.matrix(share=16, pool="slow")
def test_every_reference(runner, tmp_path):
    elves = [object_code(EVERY_REFERENCE.replace("COUNT", str(count)), AARCH64) for count in range(3, 9000, 60)]
    assert {frozenset(kinds_of(elf)) for elf in elves} == {frozenset({275, 277, 278, 284, 285, 286, 299})}
    indices = np.full(10, 2, np.int64)
    jobs = [Job(link(elf, ["kernel"]), [indices], [np.dtype(np.int64)]) for elf in elves]
    for result, _ in run_all(jobs, runner, tmp_path):
        assert result.tolist() == [7, 1234, -87654321, 1234567890123456789, -3, 98765432109876, 33, 0, 5, 6]
