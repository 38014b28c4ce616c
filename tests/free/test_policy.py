"""Which arithmetic a formula gets: a rule of its own, which no measure of speed can change."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive import formula as f
from ogive.dtypes import ELEMENT_TYPES, ElementType
from ogive.expression import Expression, Format, constant, lift, node, walk
from ogive.passes import cost, fast_path
from ogive.passes.fold import fold
from ogive.passes.lower import lower
from ogive.passes.policy import VERSION, arithmetic_of, points
from ogive.program import Program
from ogive.runtime.kernels import make_ufunc
from tests.inputs import CASES, assert_same_bits

X, Y = (node("input", (), i, Format.NUMBER) for i in range(2))
ALPHA, BETA = (node("parameter", (), (i, name), Format.NUMBER) for i, name in enumerate(("alpha", "beta")))
HALF, BFLOAT, SINGLE, DOUBLE = (ELEMENT_TYPES[name] for name in ("float16", "bfloat16", "float32", "float64"))

LONG = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "celu", "cos", "cosh", "elu", "gelu", "mish"),
    *(
        "parametric_hard_swish",
        "parametric_softplus",
        "pow",
        "scaled_tanh",
        "selu",
        "sigmoid",
        "sin",
        "sinh",
        "softplus",
        "swiglu",
        "swish",
        "tan",
        "tanh",
    ),
)

#: What was added later and needs as many corrections.
LATER = (
    *(
        "batch_normalization",
        "cbrt",
        "erfc",
        "erfinv",
        "exp2",
        "geglu",
        "glu",
        "hypot",
        "log10",
        "log2",
        "log_ndtr",
        "log_sigmoid",
    ),
    *(
        "log1mexp",
        "logaddexp",
        "logaddexp2",
        "logit",
        "ndtr",
        "serf",
        "snake",
        "softcap",
        "squareplus",
        "star_relu",
        "tanhshrink",
        "xielu",
    ),
)

#: What version 2 computes in float64. A change changes bits of results: then `VERSION` is counted up.
PROMOTED = {
    "float32": [*LONG, *LATER],
    "float16": [
        *(*LONG, "erf", "exp", "hard_sigmoid", "hard_swish", "linear", "shrink"),
        *(*LATER, "expm1", "hard_mish", "log1p", "mean", "sparse_plus"),
    ],
    "bfloat16": [],
}

FLOATS = [(op, s) for op, s in CASES if all(t.is_float for t in (*s.inputs, *s.outputs))]


def choices_of(op):
    return {p.name: p.choices[0] for p in op.parameters if p.choices}


@pytest.mark.parametrize("kind", PROMOTED)
def test_version_1_of_the_catalogue(kind):
    assert VERSION == 2
    found = set()
    for op, signature in FLOATS:
        if {t.name for t in (*signature.inputs, *signature.outputs)} == {kind}:
            roots = [fold(root) for root in op.formula(**choices_of(op))]
            if not arithmetic_of(roots, *signature).extended:
                found.add(op.name)
    assert found == set(PROMOTED[kind])


def test_float64_and_what_jumps_keep_the_corrections():
    long = lift(f.tanh(X) * f.logistic(X))
    assert not arithmetic_of([long], [SINGLE], [SINGLE]).extended
    for root, given_type, result in [
        (long, DOUBLE, DOUBLE),
        (long, BFLOAT, BFLOAT),
        (long, SINGLE, ELEMENT_TYPES["int8"]),
        (lift(f.floor(long)), SINGLE, SINGLE),
        (node("row_max", (long,), None, Format.NUMBER), SINGLE, SINGLE),
    ]:
        assert arithmetic_of([root], [given_type], [result]).extended


@pytest.mark.parametrize(
    ("root", "single", "half"),
    [
        (X + Y, 0, 0),
        (X + ALPHA, 0, 7),
        (ALPHA * X + BETA, 2, 9),
        (f.where(X < 3, -(ALPHA * X + BETA), X), 2, 9),
        (f.where(ALPHA * X < 3, ALPHA * X, 3), 0, 0),
        (f.where(ALPHA * X < Y, ALPHA * X, Y), 2, 2),  # compared with a number that is not constant
        (X + Y + X, 6, 6),
        (X * Y * X, 4, 4),
        (X * constant(0.5) + Y, 0, 0),
        (1 / (X + ALPHA), 9, 9),
        (f.exp(X), 0, 9),
        (f.log(X), 0, 0),
        (f.exp(ALPHA * X), 11, 11),
        (f.tanh(X), 9, 9),
        (f.tanh(X) + f.tanh(X), 12, 12),  # a function is counted once
    ],
    ids=range(15),
)
def test_points(root, single, half):
    root = fold(lift(root))
    assert (points([root], "float32"), points([root], "float16")) == (single, half)


def test_bound_parameters_count_as_open_ones():
    for alpha in (1.0, 0.0, 0.3):
        bound = fold(lift((X + ALPHA) * X), {"alpha": alpha})
        program = lower([bound], [HALF], [HALF], open_roots=[lift((X + ALPHA) * X)])
        assert Format.F64 in {n.format for n in walk(*program.results)}


# ---- constants that were measured decide no bit


def free(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(cost, "WIDTH_OF_FLOAT64", 0.01)


def dear(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(cost, "WIDTH_OF_FLOAT64", 100.0)
    patched.setattr(fast_path, "WORTHWHILE", 1000.0)


def alike(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(cost, "COSTS", dict.fromkeys(cost.COSTS, 1.0))
    patched.setattr(fast_path, "WORTHWHILE", -1000.0)


def drawn(patched: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    patched.setattr(cost, "COSTS", {name: draw.uniform(0, 20) for name in cost.COSTS})
    patched.setattr(cost, "WIDTH_OF_FLOAT64", draw.uniform(1, 4))


TUNINGS = [free, dear, alike, drawn]


def every(kind: ElementType) -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16).view(kind.numpy)


def tuned(tuning: Callable[[pytest.MonkeyPatch], None], make: Callable[[], Program]) -> tuple[Program, Program]:
    """A program as it is, and as it is with other constants."""
    with pytest.MonkeyPatch.context() as patched:
        tuning(patched)
        other = make()
    return make(), other


@pytest.mark.parametrize("tuning", TUNINGS)
def test_no_cost_decides_a_bit_of_the_catalogue(tuning):
    """float32 and float64 have the same instructions; those of 16 bits may look for ties or not, with the same bits."""
    changed = 0
    assert len(FLOATS) > 200
    for op, signature in FLOATS:
        usual_one, other = tuned(tuning, lambda op=op, signature=signature: op.program(signature, **choices_of(op)))
        is_same = all(a is b for a, b in zip(usual_one.results, other.results, strict=True))
        if is_same:
            continue
        assert {t.bits for t in signature.outputs} == {16}, op.name
        changed += 1
        parameters = [1.5] * usual_one.parameter_count
        x = every(signature.inputs[0])
        arrays = [np.random.default_rng(i).permutation(x) for i in range(len(signature.inputs))]
        with np.errstate(all="ignore"):
            results = [make_ufunc(op.name, p, parameters=parameters)(*arrays) for p in (usual_one, other)]
        assert_same_bits(*results, *arrays)
    assert changed < 20


UNARY = [f.exp, f.tanh, f.logistic, f.log1p, f.square_root, f.absolute]
BINARY = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, f.minimum]


def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(lambda function, a: function(a), st.sampled_from(UNARY), inner),
        st.builds(lambda function, a, b: lift(function(a, b)), st.sampled_from(BINARY), inner, inner),
        st.builds(lambda a, b, c: f.where(a < b, c, a), inner, inner, inner),
    )


FORMULAS = st.recursive(st.sampled_from([X, X, Y, ALPHA, constant(2), constant(0.3)]), grown, max_leaves=6)


@settings(max_examples=100, deadline=None)
@given(root=FORMULAS, tuning=st.sampled_from(TUNINGS))
def test_no_cost_decides_the_arithmetic_of_a_formula(
    root: Expression, tuning: Callable[[pytest.MonkeyPatch], None]
) -> None:
    root = fold(root)
    kinds = (SINGLE, SINGLE)
    one, other = tuned(tuning, lambda: lower([root], kinds, (SINGLE,), parameter_count=1))
    assert one.results[0] is other.results[0]
