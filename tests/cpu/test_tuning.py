"""What was measured to be fast decides no bit: kernels for other thresholds compute the same."""

from dataclasses import replace

import numpy as np
import pytest

from ogive.backends.blocks import blocks_at_a_time
from ogive.backends.target import TARGETS, TUNINGS, host_target
from ogive.catalog import OPERATORS
from ogive.runtime.kernels import make_ufunc
from tests.inputs import assert_same_bits, random_values

OTHERS = {
    "little at a time": {"registers_at_a_time": 1, "elements_at_a_time": 0},
    "much at a time": {"registers_at_a_time": 16, "elements_at_a_time": 256},
    "as if long": {"long_program": 0},
    "prefetch always": {"bytes_from_afar": 0, "bytes_fetched_ahead": 64},
    "stream always": {"streamed_eighths": 0},
    "threads early": {"parallel_cost": 1, "smallest_cost": 100},
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


@pytest.mark.matrix(share=6)
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
