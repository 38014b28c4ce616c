"""The estimate by which one of two programs is chosen."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.graph.expression import Expression, Format, constant, lift, node, walk
from ogive.lowering import cost as costs
from ogive.lowering import moderate
from ogive.lowering.cost import WIDTH_OF_FLOAT64, cost
from ogive.lowering.fold import fold
from ogive.lowering.lower import lower
from ogive.lowering.program import Program
from ogive.runtime.kernels import make_ufunc
from tests.inputs import CASES, assert_same_bits

X, Y = (node("input", (), i, Format.NUMBER) for i in range(2))
ALPHA = node("parameter", (), (0, "alpha"), Format.NUMBER)
SINGLE = ELEMENT_TYPES["float32"]
FLOATS = [(op, s) for op, s in CASES if all(t.is_float for t in (*s.inputs, *s.outputs))]


def choices_of(op):
    return {p.name: p.choices[0] for p in op.parameters if p.choices}


def x(form: Format = Format.F32, position: int = 0) -> Expression:
    return node("input", (), position, form)


def number(value: float, form: Format = Format.F32) -> Expression:
    return node("constant", (), value, form)


def test_registers_of_float64_count_more():
    assert WIDTH_OF_FLOAT64 > 1
    for form, expected in ((Format.F32, 1.0), (Format.F64, WIDTH_OF_FLOAT64)):
        assert cost([node("multiply", (x(form), number(3.0, form)), None, form)]) == expected


def test_what_is_the_same_for_all_elements_is_free():
    parameter = node("parameter", (), (0, "alpha"), Format.F64)
    once = node("divide", (number(1.0, Format.F64), parameter), None, Format.F64)
    assert cost([once]) == 0
    assert cost([node("multiply", (x(Format.F64), once), None, Format.F64)]) == WIDTH_OF_FLOAT64


def test_what_only_rare_values_need_is_free():
    rare = node("divide", (x(), number(3.0)), None, Format.F32)
    condition = node("less", (x(), number(0.0)), None, Format.BIT)
    chosen = node("select_rare", (condition, rare, x()), None, Format.F32)
    assert cost([chosen]) < cost([chosen, rare])


def test_the_larger_of_two_is_one_instruction():
    condition = node("less", (x(), number(3.0)), None, Format.BIT)
    larger = node("select", (condition, number(3.0), x()), None, Format.F32)
    other = node("select", (condition, number(4.0), x()), None, Format.F32)
    assert cost([larger]) == 1
    assert cost([other]) > 1


def formats(name: str, dtype: str, **parameters: float) -> set[Format]:
    op = OPERATORS[name]
    signature = next(s for s in op.signatures if all(t.name == dtype for t in (*s.inputs, *s.outputs)))
    return {current.format for current in walk(*op.program(signature, **parameters).results) if current.operands}


def program(name: str, dtype: str, **parameters: float) -> Program:
    op = OPERATORS[name]
    signature = next(s for s in op.signatures if all(t.name == dtype for t in (*s.inputs, *s.outputs)))
    return op.program(signature, **parameters)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["exp", "mish", "swiglu", "swish", "tanh"])
def test_formulas_of_several_roundings_are_computed_wide_and_tested(name, dtype):
    """Results of 32 bits in float64, shorter ones in float32, with large operands left to float64."""
    assert dtype != "float32" or Format.F64 in formats(name, dtype)
    assert program(name, dtype).undecided is not None


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ["abs", "add", "clip", "floor", "leaky_relu", "mul", "relu", "sub"])
def test_what_one_operation_rounds_has_no_test(name, dtype):
    assert Format.F64 not in formats(name, dtype)
    assert program(name, dtype).undecided is None


@pytest.mark.parametrize("alpha", [1.0, 1.5, 0.3])
def test_bound_parameters_choose_as_open_ones(alpha):
    """Folding makes a formula shorter."""
    for name in ("celu", "leaky_relu", "swish"):
        assert (Format.F64 in formats(name, "float32", alpha=alpha)) == (name != "leaky_relu")


def test_a_bound_is_applied_after_rounding():
    """hard_sigmoid is one fused multiply-add, two comparisons and a NaN that becomes the canonical one."""
    assert formats("hard_sigmoid", "float32") == {Format.F32, Format.BIT}


# ---- constants that were measured decide no bit


def free(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(costs, "WIDTH_OF_FLOAT64", 0.01)


def dear(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(costs, "WIDTH_OF_FLOAT64", 100.0)
    patched.setattr(moderate, "WORTHWHILE", 1000.0)


def alike(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(costs, "COSTS", dict.fromkeys(costs.COSTS, 1.0))
    patched.setattr(moderate, "WORTHWHILE", -1000.0)


def drawn(patched: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    patched.setattr(costs, "COSTS", {name: draw.uniform(0, 20) for name in costs.COSTS})
    patched.setattr(costs, "WIDTH_OF_FLOAT64", draw.uniform(1, 4))


TUNINGS = [free, dear, alike, drawn]


def every(kind: ElementType) -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16).view(kind.numpy)


def tuned(tuning: Callable[[pytest.MonkeyPatch], None], make: Callable[[], Program]) -> tuple[Program, Program]:
    """A program as it is, and as it is with other constants."""
    with pytest.MonkeyPatch.context() as patched:
        tuning(patched)
        other = make()
    return make(), other


@pytest.mark.matrix(share=20)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("tuning", TUNINGS)
def test_no_cost_decides_a_bit_of_the_catalogue(tuning, part):
    """float32 and float64 have the same instructions; those of 16 bits may look for ties or not, with the same bits.

    Before these a shorter program may go: test_doubles.py and test_moderate.py show that it decides no bit.
    """
    changed, cases = 0, FLOATS[part::3]
    assert len(cases) > 40
    for op, signature in cases:
        usual_one, other = tuned(tuning, lambda op=op, signature=signature: op.program(signature, **choices_of(op)))
        if signature.outputs[0].bits != 16:
            usual_one, other = usual_one.last_tested, other.last_tested
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
    # A share of the programs of 16 bits: short results are taken where they cost less.
    assert 0 < changed < len(cases) / 4


UNARY = [f.exp, f.tanh, f.logistic, f.log1p, f.square_root, f.absolute]
BINARY = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, f.minimum]


def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(lambda function, a: function(a), st.sampled_from(UNARY), inner),
        st.builds(lambda function, a, b: lift(function(a, b)), st.sampled_from(BINARY), inner, inner),
        st.builds(lambda a, b, c: f.where(a < b, c, a), inner, inner, inner),
    )


FORMULAS = st.recursive(st.sampled_from([X, X, Y, ALPHA, constant(2), constant(0.3)]), grown, max_leaves=6)


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=100, deadline=None)
@given(root=FORMULAS, tuning=st.sampled_from(TUNINGS))
def test_no_cost_decides_the_arithmetic_of_a_formula(
    root: Expression, tuning: Callable[[pytest.MonkeyPatch], None]
) -> None:
    root = fold(root)
    kinds = (SINGLE, SINGLE)
    one, other = tuned(tuning, lambda: lower([root], kinds, (SINGLE,), parameter_count=1).last_tested)
    assert one.results[0] is other.results[0]
