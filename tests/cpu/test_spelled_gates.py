"""Activations as people write them, out of erf and tanh: the rows of gelu compute them, and the bits are those of the formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.backends.target import runnable_targets
from ogive.lowering.identities import as_computed, spelled_gate, with_common_factors
from ogive.runtime.kernels import make_ufunc
from tests.inputs import assert_same_bits

ROOT = math.sqrt(2)
SCALE = math.sqrt(2 / math.pi)

SPELLED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "with a quotient": ("gelu", lambda x: 0.5 * x * (1 + f.erf(x / ROOT))),
    "x first": ("gelu", lambda x: x * 0.5 * (1.0 + f.erf(x / ROOT))),
    "half of a sum": ("gelu", lambda x: x * (0.5 * (1 + f.erf(x * math.sqrt(0.5))))),
    "two halves": ("gelu", lambda x: x * (0.5 + 0.5 * f.erf(x / f.square_root(2)))),
    "by erfc": ("gelu", lambda x: x / 2 * f.erfc(-x * math.sqrt(0.5))),
    "a cube": ("gelu by tanh", lambda x: 0.5 * x * (1 + f.tanh(SCALE * (x + 0.044715 * x**3)))),
    "a square": ("gelu by tanh", lambda x: 0.5 * x * (1 + f.tanh(x * SCALE * (1 + 0.044715 * x * x)))),
}

OTHERS: dict[str, Callable[[Any], Any]] = {
    "another half": lambda x: 0.4 * x * (1 + f.erf(x / ROOT)),
    "another root": lambda x: 0.5 * x * (1 + f.erf(x / 1.4142)),
    "the other tail": lambda x: 0.5 * x * (1 - f.erf(x / ROOT)),
    "two operands": lambda x: 0.5 * x * (1 + f.erf((x + 1) / ROOT)),
    "a short scale": lambda x: 0.5 * x * (1 + f.tanh(0.79788 * (x + 0.044715 * x**3))),
    "another cube": lambda x: 0.5 * x * (1 + f.tanh(SCALE * (x + 0.0447 * x**3))),
}


def found(formula: Callable[[Any], Any]) -> str | None:
    (root,) = with_common_factors(as_computed(ogive.operator(formula).formula()))
    gate = spelled_gate(root)
    return None if gate is None else gate.name


def test_gates_are_found() -> None:
    assert {name: found(formula) for name, (_, formula) in SPELLED.items()} == {
        name: gate for name, (gate, _) in SPELLED.items()
    }
    assert {name: found(formula) for name, formula in OTHERS.items()} == dict.fromkeys(OTHERS)


def test_rows_of_gelu_compute_them() -> None:
    """The tables of the first level are those of gelu, and of no other function."""
    wanted = {*_first(ogive.gelu).tables}
    assert len(wanted) > 2
    for gate, formula in SPELLED.values():
        if gate == "gelu":
            assert {*_first(ogive.operator(formula)).tables} == wanted


def _first(op: Any) -> Any:
    return op.program(next(s for s in op.signatures if s.inputs[0].name == "float32")).first_levels[0]


@pytest.mark.matrix(share=21)
@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("around", ["alone", "negated", "a magnitude", "a sum"])
@pytest.mark.parametrize("name", SPELLED)
def test_bits_are_those_of_the_formula(name: str, around: str, kind: str) -> None:
    """x86-64 has no tables, and computes the formula without the row."""
    gate = SPELLED[name][1]
    formula: Callable[[Any], Any] = {
        "alone": lambda x: gate(x),
        "negated": lambda x: -gate(x),
        "a magnitude": lambda x: abs(gate(x)),
        "a sum": lambda x: 3 * gate(x) + x,
    }[around]
    op = ogive.operator(formula)
    signature = next(s for s in op.signatures if s.inputs[0].name == kind)
    program = op.program(signature)
    special = [np.inf, -np.inf, 0.0, -0.0, np.nan, 1e-30, -1e-30, 1e4, -1e4, 6.3, -6.3]
    x = np.concatenate([np.random.default_rng(5).uniform(-9, 9, 20_000), special]).astype(signature.inputs[0].numpy)
    results = [
        make_ufunc("spelled", program, target)(x)
        for level, target in runnable_targets().items()
        if level.startswith("x86-64") or level == "aarch64"
    ]
    for result in results[1:]:
        assert_same_bits(result, results[0], x)
