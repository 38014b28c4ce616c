"""The level of moderate operands: its results have the bits of the level that takes all operands."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ogive
from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.graph.expression import Expression, Format, constant, lift, node, walk
from ogive.lowering.cost import cost
from ogive.lowering.fuse import fuse
from ogive.lowering.lower import lower
from ogive.lowering.moderate import LIMITS
from ogive.lowering.numerics.interval import Interval
from ogive.runtime.kernels import make_ufunc
from tests.inputs import CASES, assert_same_bits, random_values, special_values

SINGLE = ELEMENT_TYPES["float32"]
X = node("input", (), 0, Format.NUMBER)
ALPHA = node("parameter", (), (0, "alpha"), Format.NUMBER)

#: One operator for each thing that is left out.
CHOSEN = {"celu", "elu", "exp", "gelu", "mish", "scaled_tanh", "selu", "sigmoid", "softplus", "swish", "tanh"}

#: Values for every parameter that may have them.
VALUES = (1.0, -0.75, 1e-30, 30.0, -3e38)


def has_moderate_level(program):
    return program.last_tested is not program


def programs():
    for op, signature in CASES:
        if signature.inputs == (SINGLE,) and signature.outputs == (SINGLE,):
            program = op.program(signature, **{p.name: p.choices[0] for p in op.parameters if p.choices})
            if has_moderate_level(program):
                yield op, program


PROGRAMS = list(programs())


def inputs(count=1 << 16):
    """All magnitudes; long stretches of ordinary ones; and single unusual ones among those."""
    ordinary = np.random.default_rng(1).normal(0, 3, count).astype(np.float32)
    mixed = ordinary.copy()
    special = special_values(SINGLE)
    places = np.arange(0, count, 97)
    mixed[places] = np.resize(special, len(places))
    patterns = np.linspace(0, 2**32 - 1, count).astype(np.uint32).view(np.float32)
    edges = np.array([limit.largest * (1 + d * 2.0**-23) for limit in LIMITS for d in range(-70, 70)], np.float32)
    return np.concatenate([ordinary, mixed, patterns, edges, -edges, random_values(SINGLE, count), special])


def both(program, parameters=()):
    """The chain from the level of moderate operands on, and from the next one on."""
    return (
        make_ufunc("moderate", replace(program, first_levels=()), parameters=parameters),
        make_ufunc("careful", program.last_tested, parameters=parameters),
    )


def assert_no_difference(program, parameters, *arrays):
    shorter, careful = both(program, parameters)
    for array in arrays:
        with np.errstate(all="ignore"):
            assert_same_bits(shorter(array), careful(array), array)


def test_the_operators_that_gain_have_them():
    assert {op.name for op, _ in PROGRAMS} >= CHOSEN


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("op", [ogive.glu, ogive.vjp(ogive.swish), ogive.vjp(ogive.gelu)], ids=lambda op: op.name)
def test_it_makes_no_difference_to_several_operands(op):
    signature = next(s for s in op.signatures if s.inputs[0] is SINGLE)
    program = op.program(signature, **{p.name: p.choices[0] for p in op.parameters if p.choices})
    shorter, careful = both(program, [1.0] * program.parameter_count)
    a = inputs(1 << 14)
    for b in (a, np.roll(a, 1 << 13), np.random.default_rng(2).normal(size=len(a)).astype(np.float32)):
        with np.errstate(all="ignore"):
            assert_same_bits(shorter(a, b), careful(a, b), a)


def parameter_values():
    for op, program in PROGRAMS:
        for value in VALUES:
            values = [value if p.constraint.holds(value) else 1.0 for p in op.numeric_parameters]
            if value == VALUES[0] or value in values:
                yield pytest.param(program, values, value, id=f"{op.name}-{value}")


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize(("program", "parameters", "value"), list(parameter_values()))
def test_it_makes_no_difference(program, parameters, value):
    x = inputs()
    with np.errstate(all="ignore"):
        scaled = x / np.float32(value)  # around the limits of products
    assert_no_difference(program, parameters, x, scaled)


def test_short_formulas_and_several_operands_have_none():
    for op, signature in CASES:
        if op.name in ("relu", "abs", "add", "pow", "atan2") and signature.inputs[0].name != "float64":
            assert not has_moderate_level(op.program(signature)), op.name
    assert not any("float16" in (t.name for t in program.inputs) for _, program in PROGRAMS)


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("kind", [ELEMENT_TYPES["float16"], ELEMENT_TYPES["bfloat16"]], ids=str)
@pytest.mark.parametrize("name", ["exp", "gelu", "mish", "sigmoid", "softplus", "swish", "tanhshrink"])
def test_it_makes_no_difference_to_16_bits(name, kind):
    op = OPERATORS[name]
    program = op.program(
        next(s for s in op.signatures if s.inputs == (kind,)),
        **{p.name: p.choices[0] for p in op.parameters if p.choices},
    )
    if name != "gelu":
        assert len(program.first.later) == 3
    x = np.arange(1 << 16, dtype=np.uint16).view(kind.numpy)
    for first in (program.first, program.first.later[0].make()):
        chained = make_ufunc("chain", first, parameters=[1.0] * program.parameter_count)
        careful = make_ufunc("careful", replace(program, first_levels=()), parameters=[1.0] * program.parameter_count)
        for array in (x, np.random.default_rng(3).permutation(x), np.resize(x[:50], 5000)):
            with np.errstate(all="ignore"):
                assert_same_bits(chained(array), careful(array), array)


# ---- fused programs


def single_program(name):
    op = OPERATORS[name]
    signature = next(s for s in op.signatures if {*s.inputs, *s.outputs} == {SINGLE})
    return op.program(signature, **{p.name: p.choices[0] for p in op.parameters if p.choices})


def chain(*names):
    steps = [(single_program(name), [i]) for i, name in enumerate(names)]
    return fuse((SINGLE,), steps, [len(names)])


def halves():
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize(
    "names",
    [
        ("sigmoid", "tanh"),
        ("tanh", "sigmoid"),
        ("relu", "sigmoid"),
        ("sigmoid", "relu"),
        ("gelu", "tanh", "sigmoid"),
        ("tanh", "exp", "sigmoid"),
        ("exp", "exp", "tanh"),  # the second one overflows where the first is large
        ("softplus", "log", "tanh"),  # minus infinity, where softplus is zero
        ("tanh", "log", "sigmoid"),
        ("sin", "tanh"),
        ("mish", "selu", "swish"),
    ],
    ids="-".join,
)
def test_fused_programs_have_one(names):
    program = chain(*names)
    assert has_moderate_level(program)
    assert cost(program.results) < cost(program.last_tested.results)
    with np.errstate(all="ignore"):
        assert_no_difference(program, [1.0] * program.parameter_count, inputs(), halves())


@pytest.mark.parametrize("names", [("sigmoid", "tanh"), ("tanh", "sigmoid"), ("gelu", "celu", "exp")], ids="-".join)
def test_fused_programs_compute_what_their_steps_do(names):
    program, x = chain(*names), inputs(1 << 14)
    with np.errstate(all="ignore"):
        result = x
        for step in map(single_program, names):
            result = make_ufunc("step", step, parameters=[1.0] * step.parameter_count)(result)
        fused = make_ufunc("fused", program, parameters=[1.0] * program.parameter_count)
        assert_same_bits(fused(x), result, x)


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("alpha", [1.0, -0.75, 1e-30, 30.0, 1e30])
@pytest.mark.parametrize("names", [("celu", "tanh"), ("sigmoid", "celu"), ("tanh", "scaled_tanh"), ("relu", "swish")])
def test_parameters_of_later_steps_decide_too(names, alpha):
    """alpha scales what tanh returns: 1e30 times it is large whatever the operand."""
    program = chain(*names)
    assert has_moderate_level(program)
    with np.errstate(all="ignore"):
        x = inputs()
        assert_no_difference(program, [alpha] * program.parameter_count, x, x * np.float32(alpha), halves())


def test_values_used_twice_and_several_inputs():
    sigmoid, mul, add, tanh = map(single_program, ("sigmoid", "mul", "add", "tanh"))
    steps = [(sigmoid, [0]), (mul, [2, 0]), (add, [3, 1]), (tanh, [4]), (sigmoid, [3])]
    program = fuse((SINGLE, SINGLE), steps, [5, 3, 6])
    shorter, careful = both(program)
    x = inputs()
    for y in (np.random.default_rng(2).permutation(x), np.random.default_rng(3).normal(0, 9, x.shape).astype(x.dtype)):
        with np.errstate(all="ignore"):
            for a, b in zip(shorter(x, y), careful(x, y), strict=True):
                assert_same_bits(a, b, x, y)


STEPS = ["relu", "abs", "neg", "exp", "log", "sqrt", "tanh", "sigmoid", "celu", "elu", "hard_sigmoid", "sin", "atan"]


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=30, deadline=None)
@given(data=st.data(), alpha=st.sampled_from([1.0, -2.5, 1e-20, 1e30]))
def test_any_chain(data: st.DataObject, alpha: float) -> None:
    names = data.draw(st.lists(st.sampled_from(STEPS), min_size=2, max_size=4))
    program = chain(*names)
    if has_moderate_level(program):
        with np.errstate(all="ignore"):
            assert_no_difference(program, [alpha] * program.parameter_count, inputs(2048), inputs(512) * alpha)


def test_rows_have_none():
    signature = next(s for s in ogive.softmax.signatures if s.inputs == (SINGLE,))
    assert not has_moderate_level(ogive.softmax.program(signature))


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize(
    "root",
    [
        f.tanh(f.square_root(X)),  # NaN of negative numbers
        f.tanh(f.exp(5 * X) - f.exp(4 * X)),  # infinity - infinity
        f.logistic(f.tanh(X) / f.tanh(X)),  # 0 / 0
        f.logistic(X) * f.tanh(ALPHA / X),
        f.logistic(ALPHA * X) + f.tanh(X / ALPHA),
        f.where(f.exp(X) < 2.0**-60, f.expm1(X), f.tanh(X)),
        f.where(X < -300, 1, f.minimum(f.logistic(X), 2)),  # decided where usual
        f.where(f.log1p(X) < 100, f.tanh(X), f.logistic(X)),  # not decided: NaN of some
        f.log1p(f.logistic(X)) * f.where(f.tanh(X) < 3, f.tanh(X), constant(float("nan"))),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("alpha", [1.0, 0.0, -1e-38, 1e38])
def test_what_might_be_no_number(root, alpha):
    count = sum(n.operation == "parameter" for n in walk(root))
    program = lower([root], (SINGLE,), (SINGLE,), parameter_count=count)
    assert_no_difference(program, [alpha] * count, inputs(4096))


UNARY = [f.exp, f.expm1, f.tanh, f.logistic, f.erf, f.sinh, f.cosh, f.atan, f.log1p, f.square_root, f.absolute]
BINARY = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, f.minimum, f.maximum]
LEAVES = st.sampled_from([X, X, X, ALPHA, constant(2), constant(-40), constant(0.25), constant(100)])


def grown(inner):
    return st.one_of(
        st.builds(lambda function, a: function(a), st.sampled_from(UNARY), inner),
        st.builds(lambda function, a, b: lift(function(a, b)), st.sampled_from(BINARY), inner, inner),
        st.builds(lambda a, b, c: f.where(a < b, c, a), inner, inner, inner),
    )


FORMULAS = st.recursive(LEAVES, grown, max_leaves=6)


@pytest.mark.matrix(pool="slowest")
@settings(max_examples=60, deadline=None)
@given(root=FORMULAS, alpha=st.sampled_from([1.0, -2.5, 1e-20, 1e30]))
def test_any_formula(root: Expression, alpha: float) -> None:
    root = f.tanh(root) * f.logistic(X)
    program = lower([root], (SINGLE,), (SINGLE,), parameter_count=1)
    assert_no_difference(program, [alpha], inputs(1024))


@pytest.mark.parametrize("scale", [1.0, -1.0, 1e30, 2.0**-100])
def test_what_is_less_by_no_more_than_errors_is_not_less(scale):
    """Numbers are as good as 20 bits at least; a larger of two is chosen without looking where more lies between them."""
    one, a_little_more = sorted((scale, scale * (1 + 2.0**-21)))
    assert not Interval.point(one).is_below(Interval.point(a_little_more))
    one, more = sorted((scale, scale * (1 + 2.0**-19)))
    assert Interval.point(one).is_below(Interval.point(more))


def test_all_finite_numbers_lie_between_the_infinities():
    finite = Interval(-340.0, 340.0)
    assert Interval.point(-math.inf).is_below(finite)
    assert finite.is_below(Interval.point(math.inf))
    assert not Interval.point(math.inf).is_below(Interval.point(math.inf))
    assert not finite.is_below(Interval(0.0, math.inf))
