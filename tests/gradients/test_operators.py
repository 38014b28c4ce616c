"""Derivatives as operators: names, arguments, types, errors, pickles, second derivatives, fusing."""

import pickle
from typing import Literal

import numpy as np
import pytest

import ogive
from ogive.errors import ArgumentError, DTypeError
from ogive.gradients.operators import NAMES


def test_a_derivative_is_an_operator():
    slope = ogive.grad(ogive.celu)
    assert isinstance(slope, ogive.Operator)
    assert repr(slope) == "<operator celu_grad_x(x, *, alpha=1.0)>"
    formula = "where(x > 0, 1, where(x / alpha == -inf, nothing(x), exp(x / alpha)))"
    assert f"Derivative of celu with respect to x: ``{formula}``." in slope.__doc__
    assert slope.types == ["e->e", "f->f", "d->d"]
    assert slope(np.float32([-1.0, 2.0]), alpha=1.5).dtype == np.float32
    assert slope.bind(alpha=2.0)(0.5) == 1


def test_the_same_question_has_the_same_answer():
    assert ogive.grad(ogive.celu) is ogive.grad(ogive.celu, "x") is ogive.grad(ogive.celu, wrt=-1)
    assert ogive.vjp(ogive.celu) is ogive.vjp(ogive.celu)
    assert ogive.grad(ogive.mul) is not ogive.grad(ogive.mul, 1)


def test_operators_that_nobody_holds_are_freed():
    import gc
    import weakref

    made = ogive.operator(lambda x: x * x * x)
    ogive.grad(ogive.grad(made))
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_all_floating_point_types(dtype):
    from ogive.common.dtypes import element_type

    x = np.array([-1.0, 0.0, 2.0], element_type(dtype).numpy)
    slope = ogive.grad(ogive.elu)(x, alpha=0.5)
    assert slope.dtype == x.dtype
    assert slope.astype(float).tolist() == pytest.approx([0.5 * np.exp(-1), 0.5, 1.0], rel=4e-3)


def test_choices_and_parameters():
    slope = ogive.grad(ogive.gelu)
    assert slope(1.0) == pytest.approx(1.0833154705876864, rel=1e-15)
    assert slope(1.0, approximate="tanh") == pytest.approx(1.0829640838457826, rel=1e-15)
    assert "The formula is that of approximate='none'." in slope.__doc__


@pytest.mark.matrix(share=16, pool="slow")
def test_second_derivatives():
    assert ogive.grad(ogive.grad(ogive.exp))(1.0) == ogive.exp(1.0)
    assert ogive.grad(ogive.grad(ogive.tanh))([0.0, 1.0]) == pytest.approx([0, -0.6397000084492246], rel=1e-14)
    assert ogive.grad(ogive.grad(ogive.mul, 0), 1)(3.0, 4.0) == 1
    assert ogive.grad(ogive.grad(ogive.celu), "alpha")(-1.0, alpha=2.0) == pytest.approx(np.exp(-0.5) / 4, rel=1e-15)


@pytest.mark.matrix(share=16, pool="slow")
def test_value_and_derivative():
    value, slope = ogive.value_and_grad(ogive.celu)(np.float32([-1.0, 2.0]), alpha=1.5)
    assert value.tolist() == ogive.celu(np.float32([-1.0, 2.0]), alpha=1.5).tolist()
    assert slope.tolist() == ogive.grad(ogive.celu)(np.float32([-1.0, 2.0]), alpha=1.5).tolist()


def test_gradients_of_all_operands():
    upstream, a, b = np.float32([1.0, 10.0]), np.float32([2.0, 3.0]), np.float32([4.0, 5.0])
    of_a, of_b = ogive.vjp(ogive.div)(upstream, a, b)
    assert of_a.tolist() == [0.25, 2.0]
    assert of_b.tolist() == np.float32([-0.125, -1.2]).tolist()
    assert ogive.vjp(ogive.relu)([np.inf, 3.0], [-1.0, 2.0]).tolist() == [0.0, 3.0]  # no infinity times 0


@pytest.mark.matrix(share=16, pool="slow")
def test_operators_of_several_results():
    @ogive.operator(signatures=[(("float64", "float64"), ("float64", "float64"))])
    def polar(r, angle):
        return r * np.cos(angle), r * np.sin(angle)

    of_x, of_y = ogive.grad(polar, "angle")(2.0, 0.0)
    assert (of_x, of_y) == (0.0, 2.0)
    both = ogive.vjp(polar)
    assert both.tensors == ("gradient_0", "gradient_1", "r", "angle")
    assert both(1.0, 10.0, 2.0, 0.0) == (1.0, 20.0)
    assert ogive.value_and_grad(polar)(2.0, 0.0) == (2.0, 0.0, 1.0, 0.0)


def test_a_branch_that_is_not_taken_has_no_effect():
    own = ogive.operator(lambda x: ogive.formula.where(x > 0, np.sqrt(x), x))
    assert ogive.grad(own)([-1.0, 4.0]).tolist() == [1.0, 0.25]
    root = ogive.operator(lambda x: np.sqrt(ogive.formula.maximum(x, 0)))
    assert ogive.grad(root)([-1.0, 4.0]).tolist() == [0.0, 0.25]


def test_pickles():
    def own(x, *, scale=2.0, kind: Literal["a", "b"] = "a"):
        return x * scale if kind == "a" else x * x

    slope = ogive.grad(ogive.operator(own))
    for one in (slope, ogive.grad(slope), ogive.vjp(ogive.operator(own)), ogive.grad(ogive.gelu)):
        again = pickle.loads(pickle.dumps(one))
        arguments = [[1.0, 2.0]] * one.nin
        assert again(*arguments).tolist() == one(*arguments).tolist()
        assert again.name == one.name


def test_inside_of_a_formula():
    @ogive.operator
    def newton(x):
        return x - ogive.tanh(x) / ogive.grad(ogive.tanh)(x)

    assert newton(0.5) == pytest.approx(0.5 - np.tanh(0.5) * np.cosh(0.5) ** 2, rel=1e-15)


def test_inside_of_a_formula_that_asks_for_it_first():
    own = ogive.operator(lambda x: ogive.tanh(x))
    assert ogive.operator(lambda x: ogive.grad(own)(x) * 2)(0.0) == 2


def test_the_name_of_the_gradient_is_free():
    assert ogive.vjp(ogive.relu_grad).tensors == ("upstream_gradient", "x", "gradient")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: ogive.grad(np.exp),
            ArgumentError,
            (
                "ogive.grad: operator is the function exp; allowed: an operator. "
                "Make an operator of a formula with @ogive.operator"
            ),
        ),
        (
            lambda: ogive.vjp(ogive.celu.bind(alpha=1.5)),
            ArgumentError,
            (
                "ogive.vjp: operator is the function celu(alpha=1.5); allowed: an operator. "
                "Take celu itself, and say alpha=1.5 in the call of the result"
            ),
        ),
        (
            lambda: ogive.grad(ogive.swiglu.bind(rounding="gate")),
            ArgumentError,
            (
                "ogive.grad: operator is the function swiglu(alpha=1.0, rounding='gate'); allowed: an operator. "
                "Take swiglu itself, and say alpha=1.0 in the call of the result; formulas and gradients round once"
            ),
        ),
        (
            lambda: ogive.grad(ogive.celu, "beta"),
            ArgumentError,
            "ogive.grad: wrt is 'beta', for celu; allowed: 'x', 'alpha', or the position of a tensor",
        ),
        (
            lambda: ogive.grad(ogive.celu, 1),
            ArgumentError,
            "ogive.grad: wrt is 1, for celu; allowed: 'x', 'alpha', or the position of a tensor",
        ),
        (
            lambda: ogive.grad(ogive.gelu, "approximate"),
            ArgumentError,
            "ogive.grad: wrt is 'approximate', for gelu; allowed: 'x', or the position of a tensor",
        ),
        (
            lambda: ogive.value_and_grad(ogive.less),
            DTypeError,
            (
                "ogive.value_and_grad: less has no derivative with respect to a: it makes truth values of integers, "
                "floating-point numbers; allowed: floating-point numbers of floating-point numbers"
            ),
        ),
        (
            lambda: ogive.grad(ogive.logical_not),
            DTypeError,
            "ogive.grad: logical_not has no derivative: all its operands are truth values",
        ),
        (
            lambda: ogive.vjp(ogive.bit_count),
            DTypeError,
            (
                "ogive.vjp: bit_count has no derivative: it makes integers of integers; "
                "allowed: floating-point numbers of floating-point numbers"
            ),
        ),
        (
            lambda: ogive.grad(ogive.softmax),
            ArgumentError,
            (
                "ogive.grad: softmax looks at whole rows, so each result depends on all elements of its row; "
                "allowed: element-wise operators. Use ogive.vjp(ogive.softmax)"
            ),
        ),
    ],
    ids=[
        "no operator",
        "bound",
        "bound, with a rounding",
        "no argument",
        "no position",
        "a choice",
        "truth values",
        "of truths",
        "integers",
        "rows",
    ],
)
def test_refusals(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.matrix(share=16, pool="slow")
def test_derivatives_of_long_formulas_are_not_much_longer():
    from ogive.graph.expression import walk

    def deep(x):
        for i in range(40):
            x = ogive.formula.where(x > i * 0.1, x * x + 1, ogive.formula.where(x < -1, -x, x * 2))
        return x

    own = ogive.operator(deep)
    assert len([*walk(*ogive.grad(own).formula())]) < 10 * len([*walk(*own.formula())])


# ---- operators inside of formulas of one's own have their registered derivatives there


POINTS = np.array([-np.inf, -1e30, -3.0, -2.0, -0.5, 0.0, 0.5, 2.0, 3.0, 1e30, np.inf], np.float32)
PARAMETERS = {
    "parametric_softplus": {"alpha": 2.0, "beta": 0.5},
    "parametric_hard_swish": {"alpha": 0.25},
    "hard_sigmoid": {"alpha": 0.25},
    "softcap": {"cap": 2.0},
}


@pytest.mark.parametrize("name", NAMES)
def test_an_operator_inside_of_a_formula(name):
    op = getattr(ogive, name)
    parameters = PARAMETERS.get(name, {})
    others = [2.0] * (op.nin - 1)
    own = ogive.operator(lambda x: 0.5 * op(2 * x, *others, **parameters))
    np.testing.assert_array_equal(ogive.grad(own)(POINTS / 2), ogive.grad(op)(POINTS, *others, **parameters))


def test_choices_inside_of_a_formula():
    own = ogive.operator(lambda x: ogive.gelu(x, approximate="tanh"))
    assert np.array_equal(ogive.grad(own)(POINTS), ogive.grad(ogive.gelu)(POINTS, approximate="tanh"))


@pytest.mark.matrix(share=16, pool="slow")
def test_parameters_inside_of_a_formula():
    own = ogive.operator(lambda x, alpha: ogive.celu(x, alpha=alpha))
    x = np.float32([-1e-5, -1.0, -30.0])
    assert np.array_equal(ogive.grad(own, "alpha")(x, np.float32(1.5)), ogive.grad(ogive.celu, "alpha")(x, alpha=1.5))


def test_something_like_an_operator_is_none():
    f = ogive.formula
    own = ogive.operator(lambda x, y: f.where(f.absolute(x) > 2**60, f.copy_sign(1, x), x / (1 + f.absolute(y))))
    assert ogive.grad(own)(1.0, 3.0) == 0.25
