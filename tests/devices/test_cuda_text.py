"""The kernels' text in CUDA C++: NVIDIA's compiler takes it, and fuses nothing. It needs no GPU."""

import re
from dataclasses import replace

import pytest

from ogive.backends.device_text import kernel_text
from ogive.backends.dialects import CUDA, KernelWords
from ogive.catalog import OPERATORS
from tests.cpu import test_tables as tables
from tools.compile_cuda import FUSED, LOOSE, Compiler, complaints, library, main

CASES = [(op, signature) for op in OPERATORS.values() if not op.is_row_wise for signature in op.signatures]
ROW_CASES = [(op, signature) for op in OPERATORS.values() if op.is_row_wise for signature in op.signatures]
IDS = [f"{op.name}-{'-'.join(t.name for t in (*s.inputs, *s.outputs))}" for op, s in CASES]


@pytest.fixture(scope="module")
def compiler():
    path = library()
    if path is None:
        pytest.skip("NVRTC is not installed (pip install nvidia-cuda-nvrtc-cu12)")
    return Compiler(path)


def program_of(op, signature):
    return op.program(signature, **{p.name: p.choices[0] for p in op.parameters if p.choices})


def test_there_are_cases():
    assert len(CASES) > 700


@pytest.mark.matrix(share=100)
@pytest.mark.parametrize(("op", "signature"), CASES, ids=IDS)
def test_the_compiler_takes_it(op, signature, compiler):
    """A share: `python -m tools.compile_cuda` takes all."""
    found, size = complaints(compiler, program_of(op, signature))
    assert found == []
    assert size > 1000


@pytest.mark.matrix(share=len(ROW_CASES))
@pytest.mark.parametrize(("op", "signature"), ROW_CASES, ids=lambda one: getattr(one, "name", ""))
def test_the_compiler_takes_rows(op, signature, compiler):
    """It takes half a minute for some."""
    assert complaints(compiler, program_of(op, signature))[0] == []


@pytest.mark.matrix(share=16, pool="slow")
def test_tables_and_estimates(compiler):
    found, _ = complaints(compiler, tables.program())
    assert found == []


def test_a_text_that_is_wrong_is_found(compiler):
    with pytest.raises(RuntimeError, match=r"ogive\.cu\(1\): error: "):
        compiler.compiled("broken", "sm_80")
    sum_of_a_product = "__global__ void k(float *x) { *x = *x * x[1] + x[2]; }"
    alone, fused = (compiler.compiled(sum_of_a_product, "compute_80", fuse).decode() for fuse in (False, True))
    assert (len(FUSED.findall(alone)), len(FUSED.findall(fused))) == (0, 1)


@pytest.mark.parametrize(
    ("line", "is_loose"),
    [
        ("mul.f32 %f3, %f1, %f2;", True),
        ("add.ftz.f32 %f3, %f1, %f2;", True),
        ("div.approx.f32 %f3, %f1, %f2;", True),
        ("mul.rn.f32 %f3, %f1, %f2;", False),
        ("div.rn.f64 %f3, %f1, %f2;", False),
        ("fma.rn.f32 %f3, %f1, %f2, %f4;", False),
        ("neg.f32 %f3, %f1;", False),
    ],
)
def test_what_is_loose(line, is_loose):
    assert bool(LOOSE.search(line)) == is_loose


def test_arithmetic_is_written_with_intrinsic_functions():
    op = OPERATORS["pow"]
    text = kernel_text(op.program(next(s for s in op.signatures if s.inputs[0].name == "float32")), CUDA)
    assert 'extern "C" __global__ void ogive_elements(' in text
    assert "__fma_rn(" in text
    assert "atomicAdd(count, 1u)" in text


@pytest.mark.parametrize("name", ["gelu", "softmax"])
def test_a_language_is_one_dialect(name):
    """No file but dialects.py knows one: another's words take the place of all of CUDA's."""
    words = KernelWords("KERNEL", "MEMORY ", "HERE", "ADD({0})")
    other = replace(CUDA, name="a sketch", static="APART ", function="APART", table="TABLE", restrict="", kernel=words)
    op = OPERATORS[name]
    text = kernel_text(program_of(op, op.signatures[0]), other)
    assert "KERNEL ogive_" in text
    assert (
        "const long long item = (long long)(HERE)" in text
        or "const signed long long item = (signed long long)(HERE)" in text
    )
    assert not re.search(r"__device__|__global__|__restrict__|blockIdx|atomicAdd|\bstatic\b", text)


def test_without_the_compiler(monkeypatch, capsys):
    monkeypatch.setattr("tools.compile_cuda.library", lambda: None)
    assert main([]) == 2
    assert capsys.readouterr().err == "NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12\n"
