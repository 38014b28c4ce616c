"""Formulas drawn at random that compose the catalogue's operators and their derivatives: judged, and the same bits through every door.

`python -m tests.compositions` judges as many as one likes, `python -m tests.doors` compares as many.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ogive
from ogive.backends.target import runnable_targets
from ogive.formula import where
from ogive.runtime.kernels import make_ufunc
from tests import composition_counts, compositions
from tests.doors import FORMULA_DOORS, GRAPH_DOORS, FormulaDoor, formula_differs, graph_differs, lacks
from tests.inputs import assert_same_bits

#: Some of the cases that are judged are no cases: a kink, a zero, a tie that no bits decide.
LEAST_SHARE = 0.3

TARGETS = [name for name in runnable_targets() if name.startswith(("x86-64", "aarch64"))]


@pytest.mark.parametrize("outer", ["sin", "cos", "exp"])
@pytest.mark.parametrize("inner", ["sqrt", "rsqrt", "cbrt"])
def test_roots_of_exponentials_are_as_large_as_they_are(inner: str, outer: str) -> None:
    """The bound of a root with a power of two beside it once had the size of the mantissa: sin took it for a small angle."""
    x = np.random.default_rng(8).uniform(35, 60, 50) * (1 if outer != "exp" else 0.1)
    tree = (outer, (inner, ("exp", ("neg", ("x0",)) if inner == "rsqrt" else ("x0",))))
    found = ogive.operator(types=["float64"])(compositions.formula_of(tree, 1))(x)
    assert found.tolist() == [compositions.right(tree, [value], "float64")[0] for value in x]


@pytest.mark.matrix(share=100)
@pytest.mark.parametrize("kind", compositions.FORMATS)
@pytest.mark.parametrize("seed", range(100_000, 100_100))
def test_formulas(seed: int, kind: str) -> None:
    _is_right(seed, kind, is_gradient=False)


@pytest.mark.matrix(share=100)
@pytest.mark.parametrize("kind", compositions.FORMATS)
@pytest.mark.parametrize("seed", range(200_000, 200_050))
def test_gradients(seed: int, kind: str) -> None:
    _is_right(seed, kind, is_gradient=True)


def _is_right(seed: int, kind: str, *, is_gradient: bool) -> None:
    counts: Counter[str] = Counter()
    with np.errstate(all="ignore"):
        assert [
            *compositions.judged(*compositions.drawn(seed), seed, [kind], TARGETS, 12, counts, gradient=is_gradient)
        ] == []


f = ogive.formula

#: Formulas that were wrong, operands, and the results.
FOUND: list[tuple[str, Callable[..., Any], tuple[float, ...], float]] = [
    ("both terms of a sum underflow", lambda x: f.exp(-x) - x * f.exp(-x), (860.0,), -0.0),
    ("and in parts", lambda x: 2 * f.exp(-x) - 3 * f.exp(-x), (1500.0,), -0.0),
    ("a gate's slope", ogive.grad(ogive.operator(lambda x: x * ogive.sigmoid(-f.absolute(x)))), (-860.0,), -0.0),
    ("NaN times what underflows", lambda x, y: f.log(f.log(x) * f.exp(f.sinh(y))), (-3.0, -10.5), math.nan),
    ("the logarithm of a negative number far out", lambda x, y: f.log(x * f.exp(f.sinh(y))), (-3.0, -10.5), math.nan),
    ("and of a zero", lambda x, y: f.log(x * f.exp(f.sinh(y))), (0.0, -10.5), -math.inf),
    ("tanh of an infinite product", lambda x, y: f.tanh(x * f.exp(y)), (math.inf, -11.0), 1.0),
    ("erf of one", lambda x, y: f.erf(x * f.exp(y)), (-math.inf, -11.0), -1.0),
    ("asinh of one", lambda x, y: f.asinh(x * f.exp(y)), (-math.inf, -11.0), -math.inf),
    (
        "a choice that is decided",
        lambda x: ogive.gelu(x) + where(f.exp(x) < x, f.exp(x), 2 * x),
        (1.0,),
        2.8413447460685429,
    ),
    ("what constants alone compute", lambda x: f.cos(3e38) * x, (math.inf,), math.inf),
    ("a gate times infinity", lambda x, y: ogive.silu(x) * y, (-3000.0, math.inf), -math.inf),
    ("a constant", lambda x: f.log(f.absolute(ogive.grad(ogive.sign)(x))), (2.0,), -math.inf),
]


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", compositions.FORMATS)
@pytest.mark.parametrize(
    ("formula", "operands", "right"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND]
)
def test_found(formula: Callable[..., Any], operands: tuple[float, ...], right: float, kind: str, target: str) -> None:
    op = formula if isinstance(formula, ogive.Operator) else ogive.operator(formula)
    signature = next(s for s in op.signatures if all(t.name == kind for t in s.inputs))
    given = [np.full(5, x).astype(signature.inputs[0].numpy) for x in operands]
    with np.errstate(all="ignore"):
        results = make_ufunc("found", op.program(signature), runnable_targets()[target])(*given)
    assert_same_bits(results, np.full(5, right).astype(results.dtype))


@pytest.mark.parametrize(
    ("slope", "at", "right"),
    [
        (ogive.grad(ogive.gelu), -1e6, -499999999987.10345),
        (ogive.grad(ogive.gelu), -1e8, -4999999999999982.0),
        (ogive.log_ndtr, 1e8, -5000000000000019.0),
    ],
)
def test_logarithms_of_what_underflows(slope: Any, at: float, right: float) -> None:
    """Arb bounds erfc of a ball far out by zero on one side."""
    assert ogive.operator(lambda x: f.log(f.absolute(slope(x))))(np.float64([at]))[0] == right


@pytest.mark.parametrize("base", [None, 2, 10])
def test_logarithms_of_numbers_with_vast_exponents(base: int | None) -> None:
    """The whole part has 22 bits there, and its product with log(2) must stay exact."""
    import flint

    logarithm = {None: f.log, 2: f.log2, 10: f.log10}[base]
    x = np.exp(np.random.default_rng(7).uniform(3, 13.4, 60)) * [[-1.0], [1.0]]
    found = ogive.operator(lambda x: logarithm(3 * f.exp(x)))(x)
    before, flint.ctx.prec = flint.ctx.prec, 300
    try:
        per = flint.arb(base).log() if base else flint.arb(1)
        assert found.ravel().tolist() == [float((flint.arb(v) + flint.arb(3).log()) / per) for v in x.ravel().tolist()]
    finally:
        flint.ctx.prec = before


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("at", [-100.0, -2100.0, -3000.0, -50_000.0])
def test_gates_beside_what_they_make_small(at: float) -> None:
    """Forms of results clamp their operands, and hold for no vast factor."""
    formulas = [
        (lambda x: ogive.silu(x) * f.exp(-x), at),
        (lambda x: ogive.glu(f.exp(-x), x), 1.0),
        (lambda x: ogive.glu(x, x) * f.exp(-x), at),
        (lambda x: ogive.mish(x) * f.exp(-x), at),
    ]
    for formula, right in formulas:
        assert ogive.operator(formula)(np.float64([at]))[0] == right


def test_most_cases_are_judged() -> None:
    decided = total = 0
    for seed in range(100_000, 100_010):
        tree, leaves = compositions.drawn(seed)
        for values in zip(*compositions.operands(leaves, "float32", 4, seed), strict=True):
            total += 1
            try:
                compositions.right(tree, list(map(float, values)), "float32")
            except compositions.Skipped:
                continue
            decided += 1
    assert decided >= LEAST_SHARE * total


def test_the_judge_finds_what_is_wrong() -> None:
    """A formula with another sign, and one with another last bit, are wrong."""
    tree = ("neg", ("gelu", ("x0",)))
    value, _ = compositions.right(tree, [2.0], "float32")
    assert value == np.float32(-1.9544997361036416)
    assert ogive.gelu(np.float32([2.0]))[0] == -value != np.nextafter(np.float32(-value), np.float32(2))
    derivative, _ = compositions.right(tree, [0.5], "float64", 0)
    slope = math.erfc(-0.5 / math.sqrt(2)) / 2 + 0.5 * math.exp(-0.125) / math.sqrt(2 * math.pi)
    assert abs(derivative + slope) < 1e-15


def test_counts_of_runs_add_up(tmp_path: Path) -> None:
    """Seeds that follow make a row longer; another commit, and a gap, have rows of their own."""
    row = composition_counts.Row("abc", "float32", "x86-64", "5-6", 1, 14, 1, 16, 2, 0, 0)
    file = tmp_path / "counts.csv"
    for commit, seeds in (("abc", "5-6"), ("abc", "6-7"), ("abc", "9-10"), ("def", "7-8")):
        composition_counts.record(file, [row._replace(commit=commit, seeds=seeds)])
    rows = composition_counts.read(file)
    assert [(r.commit, r.seeds, r.formulas, r.results) for r in rows] == [
        ("abc", "5-7", 2, 28),
        ("abc", "9-10", 1, 14),
        ("def", "7-8", 1, 14),
    ]
    assert composition_counts.totals(rows).splitlines()[-1].split() == ["all", "4", "56", "4", "64", "8", "0", "0"]


def test_recorded_seeds_are_counted_once() -> None:
    seen: set[tuple[str, str, int]] = set()
    for row in composition_counts.read(composition_counts.FILE):
        if row.seeds.count("-") == 1 and row.seeds.replace("-", "").isdigit():
            cases = {(row.type, row.target, seed) for seed in range(*map(int, row.seeds.split("-")))}
            assert not cases & seen
            seen |= cases


# ---- other doors


@pytest.mark.matrix(share=300)
@pytest.mark.parametrize("door", FORMULA_DOORS)
@pytest.mark.parametrize("kind", compositions.FORMATS)
@pytest.mark.parametrize("seed", range(300_000, 300_030))
def test_the_same_bits_through_every_door(seed: int, kind: str, door: str) -> None:
    if why := lacks(door):
        pytest.skip(why)
    assert formula_differs(seed, door, kind) == ""


@pytest.mark.matrix(share=80)
@pytest.mark.parametrize(("door", "kind"), [(door, kind) for door, row in GRAPH_DOORS.items() for kind in row.types])
@pytest.mark.parametrize("seed", range(400_000, 400_040))
def test_graphs_have_the_bits_of_their_nodes(seed: int, door: str, kind: str) -> None:
    if why := lacks(door):
        pytest.skip(why)
    assert graph_differs(seed, door, kind) == ""


@pytest.mark.matrix(share=16, pool="slow")
def test_a_door_that_changes_a_bit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(op: Any, kind: str, operands: Any) -> np.ndarray:
        results = np.array(op(*operands))
        results[5] = -results[5]
        return results

    monkeypatch.setitem(FORMULA_DOORS, "wrong", FormulaDoor(wrong, ""))
    assert "1 of 64, at (5,)" in formula_differs(300_003, "wrong", "float32")
