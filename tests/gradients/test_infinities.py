"""Derivatives at the infinities and at the largest numbers are the limits, where these exist."""

import itertools

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from tests.gradients.test_exact import PAIRS

INF = np.inf

#: Operator, arguments of the derivatives, operands, limit. Worked out by hand: each line is an elementary limit.
LIMITS = [
    ("squareplus", ("x",), (INF,), 1),
    ("squareplus", ("x",), (-INF,), 0),
    ("squareplus", ("x", "x"), (INF,), 0),
    ("squareplus", ("x", "x"), (-INF,), 0),
    ("squareplus", ("b",), (INF,), 0),
    ("squareplus", ("b", "x"), (INF,), 0),
    ("squareplus", ("b", "x"), (-INF,), 0),
    ("hypot", ("a",), (INF, 1), 1),
    ("hypot", ("a",), (-INF, 1), -1),
    ("hypot", ("b",), (INF, 1), 0),
    ("hypot", ("a",), (1, INF), 0),
    ("hypot", ("b",), (1, -INF), -1),
    ("hypot", ("a", "a"), (INF, 1), 0),
    ("hypot", ("a", "b"), (INF, 1), 0),
    ("hypot", ("b", "b"), (1, INF), 0),
    ("atan2", ("y",), (1, INF), 0),
    ("atan2", ("x",), (1, INF), 0),
    ("atan2", ("y",), (-INF, 1), 0),
    ("atan2", ("x",), (INF, 1), 0),
    ("atan2", ("x", "x"), (1, -INF), 0),
    ("atan2", ("y", "x"), (INF, 1), 0),
    ("atan2", ("y", "y"), (INF, 1), 0),
    ("pow", ("exponent",), (INF, -1), 0),
    ("pow", ("exponent",), (INF, 2), INF),
    ("pow", ("x",), (0.75, INF), 0),
    ("pow", ("x",), (2, -INF), 0),
    ("pow", ("x", "exponent"), (INF, 0.75), 0),
    ("pow", ("exponent", "exponent"), (INF, -1.5), 0),
    ("cbrt", ("x",), (INF,), 0),
    ("cbrt", ("x", "x"), (INF,), 0),
    ("cbrt", ("x", "x"), (-INF,), 0),
    ("log_ndtr", ("x",), (-INF,), INF),
    ("log_ndtr", ("x",), (INF,), 0),
    ("log_ndtr", ("x", "x"), (-INF,), -1),
    ("log_ndtr", ("x", "x"), (INF,), 0),
    ("acosh", ("x",), (INF,), 0),
    ("acosh", ("x", "x"), (INF,), 0),
    ("celu", ("x", "alpha"), (-INF,), 0),
    ("log1mexp", ("x",), (INF,), 0),
    ("log1mexp", ("x", "x"), (INF,), 0),
    ("log1mexp", ("x", "x"), (1000.0,), 0),
    ("scaled_tanh", ("beta",), (INF,), 0),
    ("scaled_tanh", ("beta", "x"), (INF,), 0),
    ("scaled_tanh", ("beta", "beta"), (-INF,), 0),
    ("glu", ("b", "b"), (INF, 0.75), -INF),
    ("modulus_floor", ("b",), (-1.5, INF), 1),
    ("modulus_floor", ("b",), (1.5, INF), 0),
    ("mod", ("b",), (1.5, -INF), 1),
    *(
        (name, (wrt,), (end,), limit)
        for name, wrt, ends in (
            ("gelu", "x", (0, 1)),
            ("swish", "x", (0, 1)),
            ("mish", "x", (0, 1)),
            ("softplus", "x", (0, 1)),
            ("sigmoid", "x", (0, 0)),
            ("tanh", "x", (0, 0)),
            ("softsign", "x", (0, 0)),
            ("atan", "x", (0, 0)),
            ("asinh", "x", (0, 0)),
            ("erf", "x", (0, 0)),
            ("ndtr", "x", (0, 0)),
            ("log_sigmoid", "x", (1, 0)),
        )
        for end, limit in zip((-INF, INF), ends, strict=True)
    ),
    *(
        (name, ("x", "x"), (end,), 0)
        for name in (
            "gelu",
            "swish",
            "mish",
            "softplus",
            "sigmoid",
            "tanh",
            "softsign",
            "atan",
            "asinh",
            "erf",
            "ndtr",
            "log_sigmoid",
        )
        for end in (-INF, INF)
    ),
]


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize(("name", "wrt", "operands", "limit"), LIMITS)
def test_limits(name, wrt, operands, limit):
    derivative = OPERATORS[name]
    for one in wrt:
        derivative = ogive.grad(derivative, one)
    for dtype in (np.float32, np.float64):
        assert derivative(*map(dtype, operands)) == limit, dtype


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_numbers(dtype):
    largest = np.finfo(dtype).max
    assert ogive.grad(ogive.hypot)(largest, largest) == dtype(np.sqrt(0.5))
    assert ogive.grad(ogive.hypot)(dtype(1), largest) == dtype(1 / np.float64(largest))
    assert ogive.grad(ogive.squareplus)(largest) == 1
    assert ogive.grad(ogive.squareplus)(-largest) == 0
    assert ogive.grad(ogive.grad(ogive.log_ndtr))(-largest) == -1
    assert 0 <= ogive.grad(ogive.snake)(largest) <= 2


#: Far from zero, and infinitely far.
FAR = np.array([1e150, 1e200, 1e250, 1e300, INF])

#: Operators of numbers: not of rows, and not where another type stands beside them.
OF_NUMBERS = [
    (name, wrt)
    for name, wrt in PAIRS
    if not OPERATORS[name].is_row_wise
    and any({t.name for t in s.inputs} == {"float64"} for s in OPERATORS[name].signatures)
]


def test_there_are_operators_of_numbers():
    assert len(OF_NUMBERS) > 100


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize(("name", "wrt"), OF_NUMBERS)
def test_what_a_derivative_is_far_away_it_is_at_the_infinities(name, wrt):
    """Where it is the same number from 1e150 to 1e300, each operand in turn, the others at ordinary numbers."""
    op = OPERATORS[name]
    derivative = ogive.grad(op, wrt)
    parameters = {p.name: 1.5 for p in op.parameters if p.is_required}
    for place, far, sign in itertools.product(range(op.inputs), (FAR, -FAR), (1, -1)):
        operands = [np.full(FAR.size, sign * (0.75 + i / 8)) for i in range(op.inputs)]
        operands[place] = far
        found = derivative(*operands, **parameters)
        if np.isfinite(found[0]) and (found[:-1] == found[0]).all():
            assert found[-1] == found[0], (place, far[-1], sign)


#: The signs of the first four derivatives far above zero, and far below: of what falls to nothing each other one is negative there.
SIGNS = {
    "tanh": ("+-+-", "++++"),
    "sigmoid": ("+-+-", "++++"),
    "tanhshrink": (" +-+", " ---"),
    "erf": ("+-+-", "++++"),
    "ndtr": ("+-+-", "++++"),
    "arctan": ("+-+-", "++++"),
    "arcsinh": ("+-+-", "++++"),
    "arccosh": ("+-+-", None),
    "cbrt": ("+-+-", "++++"),
    "gelu": (" -+-", "----"),
    "swish": (" -+-", "----"),
    "mish": (" -+-", "----"),
    "serf": (" -+-", "----"),
    "softplus": (" +-+", "++++"),
    "log_sigmoid": ("+-+-", " ---"),
    "squareplus": (" +-+", "++++"),
    "log_ndtr": ("+-+-", "  ++"),
    "log1mexp": ("+-+-", None),
}


@pytest.mark.matrix("name", share=12)
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("name", SIGNS)
def test_zeros_of_higher_derivatives_have_the_signs_that_they_have_far_out(name, dtype):
    function = getattr(ogive, name, None) or getattr(np, name)
    slope = ogive.operator(types=[dtype])(lambda x: function(x))
    for order in range(4):
        slope = ogive.grad(slope)
        for x, signs in zip((INF, -INF), SIGNS[name], strict=True):
            if signs is not None and signs[order] != " ":
                found = slope(np.dtype(dtype).type(x))
                assert found == 0, (order + 1, x)
                assert np.signbit(found) == (signs[order] == "-"), (order + 1, x)


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("wrt", [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("function", [ogive.hypot, ogive.atan2])
def test_zeros_where_one_of_two_is_infinite_have_the_signs_that_they_have_far_out(function, wrt):
    slope = function
    for place in wrt:
        slope = ogive.grad(slope, place)
    for finite, end in itertools.product((3.0, -3.0), (INF, -INF)):
        for at in ((finite, end), (end, finite)):
            found, far_out = slope(*at), slope(*np.clip(at, -1e30, 1e30))
            assert found == round(far_out), at
            assert np.signbit(found) == np.signbit(far_out), at


def test_slopes_of_nan_are_nan():
    for function, number in itertools.product((ogive.hypot, ogive.atan2), (INF, -INF, 3.0, 0.0)):
        for place, at in itertools.product((0, 1), ((np.nan, number), (number, np.nan))):
            assert np.isnan(ogive.grad(function, place)(*at)), (function, place, at)
