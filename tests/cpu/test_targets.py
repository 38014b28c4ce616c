"""Every operator has the same bits from the code of every instruction set that this machine runs."""

import os
import platform
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ogive import _native
from ogive.backends.blocks import blocks_at_a_time
from ogive.backends.compiler import assembly, object_code
from ogive.backends.link import link
from ogive.backends.llvm import emit, entries
from ogive.backends.target import TARGETS, TUNINGS, host_target, runnable_targets
from ogive.catalog import OPERATORS
from ogive.errors import CompileError
from ogive.runtime.kernels import make_ufunc
from tests.inputs import (
    CASE_IDS,
    CASES,
    OF_ROWS,
    assert_same_bits,
    named,
    operands,
    random_values,
)

IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
RUNNABLE = list(runnable_targets().values())


def program(op, signature):
    required = {p.name: 1.5 for p in op.parameters if p.is_required}
    return op.program(signature, **op.checked_parameters(required)), required


@pytest.mark.matrix(share=60)
@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize(("op", "signature"), CASES, ids=CASE_IDS)
def test_same_bits_on_every_instruction_set(op, signature, target):
    compiled, required = program(op, signature)
    arrays = operands(signature, 3000)
    result = make_ufunc(op.name, compiled, target)(*arrays)
    # The operator itself has its parameters at run time: these bits agree too.
    assert_same_bits(result, op(*arrays, **required), *arrays)


def test_there_is_something_to_compare():
    assert host_target() in RUNNABLE
    assert CASES


@pytest.mark.matrix("op.name", share=5)
@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
@pytest.mark.parametrize(("op", "signature"), CASES + OF_ROWS, ids=named(CASES + OF_ROWS))
def test_every_target_compiles_and_links(op, signature, target):
    """Also those that this machine cannot run; and nothing but exactly rounded functions is called."""
    compiled, _ = program(op, signature)
    image = link(object_code(emit(compiled, target), target), entries(compiled))
    assert all(0 <= entry < len(image.code) for entry in image.entries)
    assert not image.imports or target.name == "x86-64"  # which has no fused multiply-add


def test_full_width_is_used():
    """Speed is promised: the loop must work on whole registers."""
    from ogive import celu

    signature = next(s for s in celu.signatures if s.inputs[0].name == "float32")
    for name, registers in (("x86-64-v4", ["%zmm"]), ("x86-64-v3", ["%ymm"]), ("aarch64", [".4s", ".2d"])):
        text = assembly(emit(celu.program(signature), TARGETS[name]), TARGETS[name])
        fused = [line for line in text.splitlines() if "fm" in line and any(r in line for r in registers)]
        assert len(fused) > 10, name


def test_link_refuses_what_a_kernel_must_not_need():
    source = """target triple = "x86_64-unknown-linux-gnu"
declare double @exp(double)
define double @kernel(double %x) {
  %y = call double @exp(double %x)
  ret double %y
}
"""
    code = object_code(source, TARGETS["x86-64-v3"])
    with pytest.raises(CompileError, match="refers to 'exp', which a kernel must not need"):
        link(code, ["kernel"])
    with pytest.raises(CompileError, match="not 64-bit little-endian ELF"):
        link(b"MZ" + code, ["kernel"])


def test_target_from_the_environment(monkeypatch):
    host_target.cache_clear()
    monkeypatch.setenv("OGIVE_TARGET", "x86-64")
    assert host_target() is TARGETS["x86-64"]
    host_target.cache_clear()
    monkeypatch.setenv("OGIVE_TARGET", "pentium")
    with pytest.raises(CompileError, match="OGIVE_TARGET: it is 'pentium'; allowed: native, x86-64, "):
        host_target()
    host_target.cache_clear()
    monkeypatch.setenv("OGIVE_TARGET", " x86-64 ")
    assert host_target() is TARGETS["x86-64"]
    host_target.cache_clear()
    monkeypatch.setattr(platform, "machine", lambda: "sparc64")
    monkeypatch.delenv("OGIVE_TARGET")
    with pytest.raises(CompileError, match="the processor is sparc64; allowed: x86-64 and 64-bit Arm"):
        host_target()
    host_target.cache_clear()


@pytest.mark.parametrize(
    ("machine", "level", "wanted", "allowed"),
    [
        ("x86_64", 4, "aarch64", "native, x86-64, x86-64-v3, x86-64-v4"),
        ("AMD64", 3, "x86-64-v4", "native, x86-64, x86-64-v3"),
        ("x86_64", 1, "x86-64-v3", "native, x86-64"),
        ("arm64", 0, "x86-64", "native, aarch64"),
        ("aarch64", 0, "x86-64-v4", "native, aarch64"),
    ],
)
def test_a_target_that_this_machine_does_not_run_is_refused(monkeypatch, machine, level, wanted, allowed):
    """Its code would end the process with a signal."""
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(_native, "x86_level", lambda: level)
    monkeypatch.setenv("OGIVE_TARGET", wanted)
    host_target.cache_clear()
    with pytest.raises(CompileError) as caught:
        host_target()
    assert str(caught.value) == (
        f"OGIVE_TARGET: it is {wanted!r}, whose code this machine does not run; allowed: {allowed}"
    )
    monkeypatch.delenv("OGIVE_TARGET")
    assert host_target().name == allowed.split(", ")[-1]
    host_target.cache_clear()


def test_a_foreign_target_from_the_environment_is_an_error_of_the_first_call():
    code = "import numpy as np, ogive\nogive.exp(np.float32([1]))"
    environment = os.environ | {"OGIVE_TARGET": "aarch64" if IS_X86 else "x86-64"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "CompileError: OGIVE_TARGET: it is '" in run.stderr


#: Operators of the catalogue, each with a process for every target.
PARTS = 16


@pytest.mark.matrix(share=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_forced_from_the_environment_the_bits_are_the_same(part):
    """In processes of their own, with the whole call path: every operator of floating-point numbers, in parts."""
    code = f"""
import hashlib, ogive.common.dtypes
from ogive.laboratory.accuracy import fingerprint
from ogive.catalog import OPERATORS
digest = hashlib.sha256()
for op in [*OPERATORS.values()][{part}::{PARTS}]:
    required = {{p.name: 1.5 for p in op.parameters if p.is_required}}
    for kind in map(ogive.common.dtypes.element_type, ("float16", "float32")):
        if not op.is_row_wise and any(set(s.inputs) == {{kind}} for s in op.signatures):
            digest.update(fingerprint(op, kind, required).encode())
from ogive.backends.target import host_target
print(host_target().name, digest.hexdigest())
"""
    found = {}
    for target in RUNNABLE:
        environment = os.environ | {"OGIVE_TARGET": target.name}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        name, found[target.name] = run.stdout.split()
        assert name == target.name
    assert len(set(found.values())) == 1, found


def test_half_conversions_are_exact():
    """Both directions, all values, on the target that has no instruction for them."""
    from ogive.common.dtypes import element_type
    from ogive.graph.expression import Format, node
    from ogive.lowering.program import Program

    half, single = element_type("float16"), element_type("float32")
    up = Program((half,), (single,), (node("convert", (node("input", (), 0, Format.F16),), None, Format.F32),))
    down = Program((single,), (half,), (node("convert", (node("input", (), 0, Format.F32),), None, Format.F16),))
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    halves = halves[~np.isnan(halves)]
    exact = halves.astype(np.float32)
    # Every half, every midpoint between two, and the neighbours of the midpoints.
    middles = (exact[:-1].astype(np.float64) + exact[1:].astype(np.float64)).astype(np.float32) / 2
    singles = np.concatenate([exact, middles, np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf)])
    singles = singles[np.isfinite(singles)]
    for target in RUNNABLE:
        assert_same_bits(make_ufunc("up", up, target)(halves), exact, halves)
        with np.errstate(over="ignore", under="ignore"):
            assert_same_bits(make_ufunc("down", down, target)(singles), singles.astype(np.float16), singles)


# ---- what was measured to be fast decides no bit: kernels for other thresholds compute the same


OTHERS = {
    "little at a time": {"registers_at_a_time": 1, "elements_at_a_time": 0},
    "much at a time": {"registers_at_a_time": 16, "elements_at_a_time": 256},
    "as if long": {"long_program": 0},
    "prefetch always": {"bytes_from_afar": 0, "bytes_fetched_ahead": 64},
    "stream always": {"streamed_eighths": 0},
    "threads early": {"parallel_cost": 1, "smallest_cost": 100},
    "nothing ahead": {"blocks_begun_ahead": 0},
}

#: One of each kind: short, long, of 16 bits, and sums, which are added in pairs or not.
CASES = [
    ("relu", "float32"),
    ("tanh", "float32"),
    ("gelu", "float16"),
    ("softmax", "float32"),
    ("log_softmax", "float32"),
    ("log_softmax", "float16"),
    ("softmax", "float64"),
]


def test_every_target_has_a_row():
    assert TUNINGS.keys() == TARGETS.keys()


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_no_threshold_decides_a_bit(monkeypatch, name, dtype, other):
    op, target = OPERATORS[name], host_target()
    signature = next(s for s in op.signatures if all(t.name == dtype for t in (*s.inputs, *s.outputs)))
    program = op.program(signature, **{p.name: p.choices[0] for p in op.parameters if p.choices})
    ordinary = np.random.default_rng(0).normal(0, 4, (3, 5003)).astype(dtype)
    short = ordinary.ravel()[:15000].reshape(-1, 75)  # what remains behind whole groups decides about the last bit
    arrays = [ordinary, short, random_values(signature.inputs[0], 70000)]
    with np.errstate(all="ignore"):
        expected = [make_ufunc(name, program, target)(x) for x in arrays]
        monkeypatch.setitem(TUNINGS, target.name, replace(target.tuning, **OTHERS[other]))
        ufunc = make_ufunc(name, program, target)
        for x, bits in zip(arrays, expected, strict=True):
            assert_same_bits(ufunc(x), bits, x)


def test_tuning_is_heeded(monkeypatch):
    program = OPERATORS["tanh"].program(next(s for s in OPERATORS["tanh"].signatures if s.inputs[0].name == "float32"))
    target = TARGETS["x86-64-v4"]
    before = blocks_at_a_time(program, target)
    monkeypatch.setitem(TUNINGS, target.name, replace(target.tuning, registers_at_a_time=16))
    assert blocks_at_a_time(program, target) == 16 != before


def test_without_the_instruction_one_function_has_all_lanes_of_fma():
    """C's function computes a lane, and is called for each: written out at each place, these calls were half of the code."""
    made, _ = program(OPERATORS["gelu"], OPERATORS["gelu"].signatures[-1])
    text = emit(made, TARGETS["x86-64"])
    assert text.count("= call <8 x double> @fma.8.64(") > 20
    assert text.count("= call <8 x double> @llvm.fma.v8f64(") == 1
    assert "@fma.8.64(" not in emit(made, TARGETS["x86-64-v3"])
