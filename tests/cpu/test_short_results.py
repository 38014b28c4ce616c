"""Results of 16 bits that float32 computes are those that float64 computes: of all inputs, and with other parameters."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.common.dtypes import ElementType, element_type
from ogive.graph import operations as ops
from ogive.graph.expression import Format, node, walk
from ogive.lowering import exact
from ogive.lowering.numerics.truths import both
from ogive.lowering.program import Program
from ogive.operators.operator import Operator
from ogive.runtime.kernels import make_ufunc
from tests.inputs import assert_same_bits

TYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}

#: Operators, types, and parameters that reach the ends of float32.
CASES: list[tuple[Operator, str, dict[str, Any]]] = [
    *((op, kind, {}) for op in (ogive.exp, ogive.expm1, ogive.sigmoid, ogive.gelu) for kind in TYPES),
    (ogive.tanh, "float16", {}),
    (ogive.mish, "bfloat16", {}),
    (ogive.log_sigmoid, "float16", {}),
    *((ogive.gelu, kind, {"approximate": "tanh"}) for kind in TYPES),
    *((op, kind, {}) for op in (ogive.erf, ogive.log, ogive.log1p) for kind in TYPES),
    *((ogive.swish, "bfloat16", {"alpha": alpha}) for alpha in (1.0, -0.7, 1e-42, 3e38)),
    *((ogive.celu, "bfloat16", {"alpha": alpha}) for alpha in (1.0, -2.5, 1e-42, 3e38)),
    *((ogive.celu, "float16", {"alpha": alpha}) for alpha in (0.3, -1e-30)),
    *((ogive.elu, "float16", {"alpha": alpha}) for alpha in (1.0, 3e38)),
    *((ogive.softplus, "bfloat16", {"steepness": steepness}) for steepness in (1.0, 1e30)),
    (ogive.softplus, "float16", {"steepness": -0.3}),
    (ogive.selu, "bfloat16", {}),
    (ogive.scaled_tanh, "bfloat16", {"alpha": 3e38, "beta": 1e-30}),
]
IDS = [f"{op.name} {kind} {values}" for op, kind, values in CASES]


def kind_of(dtype: Any) -> ElementType:
    return element_type(dtype.name)


def program(op: Operator, dtype: Any, values: dict[str, Any]) -> Program:
    """The program with its numeric parameters open."""
    signature = next(s for s in op.signatures if {*s.inputs, *s.outputs} == {kind_of(dtype)})
    return op.program(signature, **{key: value for key, value in values.items() if isinstance(value, str)})


def computed(op: Operator, made: Program, values: dict[str, Any], *operands: np.ndarray) -> np.ndarray:
    parameters = [float(values.get(p.name, p.default)) for p in op.numeric_parameters]
    result: np.ndarray = make_ufunc(op.name, made, parameters=parameters)(*operands)
    return result


def computes_in_float32(made: Program) -> bool:
    first = made.first
    return all(n.format.bits < 64 for n in walk(*first.roots) if n.operation != ops.PARAMETER)


def compute_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("single_results", "float_float_results"):
        monkeypatch.setattr(exact, name, lambda *_: None)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(("op", "kind", "values"), CASES, ids=IDS)
def test_all_inputs_have_the_bits_of_float64(
    op: Operator, kind: str, values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    dtype = TYPES[kind]
    x = np.arange(65536, dtype=np.uint16).view(dtype)
    short = program(op, dtype, values)
    assert computes_in_float32(short)
    found = computed(op, short, values, x)
    order = np.random.default_rng(0).permutation(x.size)  # beside large operands others go on to the next level, too
    assert_same_bits(computed(op, short, values, x[order]), found[order], x[order])
    compute_in_float64(monkeypatch)
    long = program(op, dtype, values)
    assert not computes_in_float32(long)
    assert_same_bits(found, computed(op, long, values, x), x)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("dtype", TYPES.values(), ids=str)
def test_two_operands(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(2).integers(0, 65536, (2, 200_000), dtype=np.uint16).view(dtype)
    short = program(ogive.swiglu, dtype, {})
    found = computed(ogive.swiglu, short, {}, x, y)
    compute_in_float64(monkeypatch)
    long = program(ogive.swiglu, dtype, {})
    assert computes_in_float32(short)
    assert not computes_in_float32(long)
    assert_same_bits(found, computed(ogive.swiglu, long, {}, x, y), x, y)


def test_products_are_rounded_once() -> None:
    """Float64 computes those whose error underflows in float32, and all that are subnormal."""
    x = np.arange(65536, dtype=np.uint16).view(TYPES["bfloat16"])
    made = program(ogive.leaky_relu, TYPES["bfloat16"], {})
    assert made.undecided is None
    assert made.first_levels
    for alpha in (0.01, 0.75, -3.0, 1e-30, 1.7e-38, 3e-45, 1.1e38):
        right = computed(ogive.leaky_relu, replace(made, first_levels=()), {"alpha": alpha}, x)
        assert_same_bits(computed(ogive.leaky_relu, made, {"alpha": alpha}, x), right, x)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("op", [ogive.softmax, ogive.log_softmax, ogive.logsumexp], ids=lambda op: op.name)
def test_rows_have_the_bits_of_float64(op: Operator) -> None:
    rng = np.random.default_rng(4)
    for dtype in TYPES.values():
        made = program(op, dtype, {})
        assert made.first_levels
        for length, scale in ((3, 20.0), (100, 200.0), (1000, 0.3), (1025, 4.0), (4000, 30.0)):
            x = rng.normal(0, scale, (20, length)).astype(dtype)
            x[:2] = rng.integers(0, 65536, (2, length), dtype=np.uint16).view(dtype)
            x[2:6][rng.random((4, length)) < 0.5] = -math.inf
            x[6:9], x[6:9, 0] = -30, (-3, 0, 8)  # of which one element is nearly all
            right = computed(op, replace(made, first_levels=()), {}, x)
            assert_same_bits(computed(op, made, {}, x), right, x if right.shape == x.shape else None)


def shares(op: Operator, dtype: Any, x: np.ndarray, *, behind: int | None = 0) -> float:
    """The share of results that the first level and so many retries leave undecided. The last retry computes in float64."""
    made = program(op, dtype, {})
    first = made.first
    programs = (first, *[level.make() for level in first.later if not level.has_mask][:behind])
    tests = [one.undecided for one in programs if one.undecided is not None]
    undecided = reduce(both, tests)
    flag = node(ops.CONVERT, (undecided,), None, Format.U8)
    outputs = (element_type("uint8"),)
    flags = Program(made.inputs, outputs, (flag,), parameter_count=made.parameter_count)
    return float(computed(op, flags, {}, x.astype(dtype)).mean())


@pytest.mark.matrix(share=16, pool="slow")
def test_few_usual_results_are_undecided() -> None:
    """Each is retried, which takes as long as ten others."""
    x = np.random.default_rng(2).normal(0, 2, 65536).clip(-12, 12)
    for op in (ogive.exp, ogive.sigmoid, ogive.tanh, ogive.swish, ogive.gelu, ogive.mish, ogive.elu, ogive.softplus):
        for dtype, most in zip(TYPES.values(), (0.006, 0.003), strict=True):
            share = shares(op, dtype, x)
            assert share < most, f"{op.name} {dtype}: {share}"


def test_where_exp_is_zero_or_infinite_is_decided() -> None:
    """Masks are -inf, and exp of exp is soon infinite: float64 takes three times as long."""
    x = np.float32([89.5, 300, 60000, math.inf, -94, -500, -60000, -math.inf])
    for dtype in TYPES.values():
        assert shares(ogive.exp, dtype, x, behind=-1) == 0, dtype
        found = np.asarray(ogive.exp(np.repeat(x, 16).astype(dtype))).reshape(-1, 16)
        np.testing.assert_array_equal(found[:, 0].astype(np.float32), [math.inf] * 4 + [0.0] * 4)


def test_zeros_are_decided() -> None:
    """Sparse data have many."""
    x = np.array([0.0, -0.0])
    for op in (ogive.exp, ogive.tanh, ogive.swish, ogive.gelu, ogive.mish, ogive.elu, ogive.celu, ogive.softplus):
        for dtype in TYPES.values():
            assert not shares(op, dtype, x)


@pytest.mark.matrix(share=16, pool="slow")
def test_large_operands_are_decided_as_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of masks: beyond the numbers that float32 has for a bfloat16 result, float64 computes."""
    x = np.array([-math.inf, math.inf, math.nan, -3e4, -200.0, 200.0, 3e4])
    chosen = (ogive.exp, ogive.expm1, ogive.sigmoid, ogive.tanh, ogive.swish, ogive.mish, ogive.elu, ogive.celu)
    cases = [(op, dtype) for op in chosen for dtype in TYPES.values()]
    found = [shares(op, dtype, x, behind=None) for op, dtype in cases]
    compute_in_float64(monkeypatch)
    for (op, dtype), share in zip(cases, found, strict=True):
        assert share <= shares(op, dtype, x, behind=None) <= 2 / len(x), f"{op.name} {dtype}"


@pytest.mark.matrix(share=16, pool="slow")
def test_an_infinity_times_what_may_be_zero_is_in_doubt() -> None:
    """The exact one is zero beside an infinity, and the product NaN."""
    formula = ogive.operator(lambda x: x * ogive.tanh(ogive.log1p(ogive.exp(x))))
    for dtype in TYPES.values():
        assert np.isnan(formula(np.array([-np.inf, 1.0], dtype))[0])
    written = ogive.operator(lambda x, y: x * ogive.exp(y))
    for dtype in TYPES.values():
        assert np.isnan(written(np.array([np.inf], dtype), np.array([-np.inf], dtype))[0])
