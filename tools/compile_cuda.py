"""Compile the CUDA text of every operator to machine code, without a GPU: ``python -m tools.compile_cuda``.

NVIDIA's compiler as a library does it (``pip install nvidia-cuda-nvrtc-cu12``). The kernels are compiled for sm_80 and sm_90, and
also to PTX, in which every sum, product, quotient and root must say that it is rounded to nearest by itself. PTX that is made
with fusing allowed must fuse no more: so the text gives these bits by any options but --use_fast_math.

    python -m tools.compile_cuda               # all; the last line has the counts
    python -m tools.compile_cuda gelu tanh     # these operators
    python -m tools.compile_cuda --share 8     # an eighth of all programs, another one for each commit
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import itertools
import os
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ogive.backends.device_text import kernel_text
from ogive.backends.dialects import CUDA
from ogive.catalog import OPERATORS
from ogive.lowering.program import Program
from ogive.operators.operator import Operator
from ogive.operators.signature import Signature

__all__ = ["ARCHITECTURES", "Compiler", "complaints", "library"]

#: A100 and H100.
ARCHITECTURES = ("sm_80", "sm_90")

#: Arithmetic of PTX that is not rounded to nearest, or not alone: where the compiler may fuse, it leaves .rn out.
LOOSE = re.compile(r"\b(?:add|sub|mul|div|sqrt|rcp|mad)(?:\.(?:full|approx|ftz|sat))*\.f(?:32|64)\b|\.ftz\b|\.approx\b")

FUSED = re.compile(r"\bfma\.rn\.f(?:32|64)\b")


def library() -> str | None:
    """Where NVRTC is, if it is installed."""
    for folder in map(Path, sys.path):
        for pattern in ("nvidia/cuda_nvrtc/lib/libnvrtc.so.*", "nvidia/cu*/lib/libnvrtc.so.*"):
            found = sorted(path for path in folder.glob(pattern) if ".alt." not in path.name)
            if found:
                return str(found[-1])
    return ctypes.util.find_library("nvrtc")


class Compiler:
    """NVRTC."""

    def __init__(self, path: str) -> None:
        self.functions = ctypes.CDLL(path)

    def compiled(self, text: str, architecture: str, fuse: bool = False) -> bytes:
        """Machine code for ``sm_80``, PTX for ``compute_80``; an error has the compiler's words."""
        call, program = self.functions, ctypes.c_void_p()
        is_machine_code = architecture.startswith("sm_")
        options = [f"--gpu-architecture={architecture}".encode(), f"--fmad={str(fuse).lower()}".encode()]
        call.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"ogive.cu", 0, None, None)
        try:
            failed = call.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
            if failed:
                raise RuntimeError(self._read(program, "ProgramLog").decode())
            return self._read(program, "CUBIN" if is_machine_code else "PTX")
        finally:
            call.nvrtcDestroyProgram(ctypes.byref(program))

    def _read(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(self.functions, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self.functions, f"nvrtcGet{what}")(program, buffer)
        return buffer.raw


def complaints(compiler: Compiler, program: Program) -> tuple[list[str], int]:
    """The faults of a program's kernels, and how many bytes of machine code they are for all architectures."""
    text, size = kernel_text(program, CUDA), 0
    try:
        for architecture in ARCHITECTURES:
            size += len(compiler.compiled(text, architecture))
        alone, fused = (compiler.compiled(text, "compute_80", fuse).decode() for fuse in (False, True))
    except RuntimeError as error:
        return [str(error)], size
    found = sorted(set(LOOSE.findall(alone)))
    # The loop of rows is written with operators, for --fmad=false.
    if not program.stages and len(FUSED.findall(alone)) != len(FUSED.findall(fused)):
        found.append("with --fmad=true the compiler fuses more")
    return found, size


def _seed() -> str:
    """The hash of the last commit's tree, or "none" where this is no checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD^{tree}"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def _cases(names: Sequence[str]) -> Iterator[tuple[Operator, Signature, dict[str, Any]]]:
    """The operators of these names, or all, for each combination of element types and each choice."""
    for op in OPERATORS.values():
        choices = [[(p.name, choice) for choice in p.choices] for p in op.parameters if p.choices]
        if not names or op.name in names:
            yield from ((op, s, dict(chosen)) for s in op.signatures for chosen in itertools.product(*choices))


def _name(op: Operator, signature: Signature, choices: dict[str, Any]) -> str:
    return f"{op.name} {[t.name for t in signature.inputs]} {choices}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile, and print what fails and the counts."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.compile_cuda", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("operators", nargs="*", help="their names; default: all")
    parser.add_argument(
        "--share", type=int, default=1, metavar="N", help="one program in N; the last commit says which"
    )
    chosen = parser.parse_args(arguments)
    path = library()
    if path is None:
        print("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12", file=sys.stderr)
        return 2
    compiler, seed, begun = Compiler(path), _seed(), time.perf_counter()
    right = wrong = size = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        cases = sorted(_cases(chosen.operators), key=lambda case: zlib.crc32(f"{seed} {_name(*case)}".encode()))
        cases = cases[: -(-len(cases) // chosen.share)]
        made = pool.map(lambda case: complaints(compiler, case[0].program(case[1], **case[2])), cases)
        for (op, signature, choices), (found, more) in zip(cases, made, strict=True):
            size += more
            right, wrong = right + (not found), wrong + bool(found)
            for text in found:
                print(f"{_name(op, signature, choices)}: {text}")
    kernels = (right + wrong) * len(ARCHITECTURES)
    print(
        f"{right} of {right + wrong} programs compile for {' and '.join(ARCHITECTURES)}, each operation rounded by itself: "
        f"{kernels} kernels, {size / max(kernels, 1) / 1024:.1f} KiB each, {time.perf_counter() - begun:.0f} s"
    )
    return 1 if wrong or not right else 0


if __name__ == "__main__":
    sys.exit(main())
