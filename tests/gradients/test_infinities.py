"""Derivatives at the infinities and at the largest numbers are the limits, where these exist."""

import itertools

import mpmath
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


#: The derivatives of hypot and atan2, by how many times by each operand: numerators, and powers of the length below, as SymPy finds them.
OF_POINTS = {
    ogive.hypot: {
        (1, 0): (lambda a, b: a, 1),
        (0, 1): (lambda a, b: b, 1),
        (2, 0): (lambda a, b: b**2, 3),
        (1, 1): (lambda a, b: -a * b, 3),
        (0, 2): (lambda a, b: a**2, 3),
        (3, 0): (lambda a, b: -3 * a * b**2, 5),
        (2, 1): (lambda a, b: b * (2 * a**2 - b**2), 5),
        (1, 2): (lambda a, b: a * (-(a**2) + 2 * b**2), 5),
        (0, 3): (lambda a, b: -3 * a**2 * b, 5),
        (2, 2): (lambda a, b: 2 * a**4 - 11 * a**2 * b**2 + 2 * b**4, 7),
    },
    ogive.atan2: {
        (1, 0): (lambda a, b: b, 2),
        (0, 1): (lambda a, b: -a, 2),
        (2, 0): (lambda a, b: -2 * a * b, 4),
        (1, 1): (lambda a, b: a**2 - b**2, 4),
        (0, 2): (lambda a, b: 2 * a * b, 4),
        (3, 0): (lambda a, b: 2 * b * (3 * a**2 - b**2), 6),
        (2, 1): (lambda a, b: 2 * a * (-(a**2) + 3 * b**2), 6),
        (1, 2): (lambda a, b: 2 * b * (-3 * a**2 + b**2), 6),
        (0, 3): (lambda a, b: 2 * a * (a**2 - 3 * b**2), 6),
        (1, 3): (lambda a, b: 6 * (-(a**4) + 6 * a**2 * b**2 - b**4), 8),
    },
}


PLACES = [wrt for order in (1, 2, 3) for wrt in itertools.product((0, 1), repeat=order)] + [(0, 0, 1, 1), (1, 0, 1, 1)]


@pytest.mark.matrix(share=8)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("function", "wrt"), [(f, wrt) for f in OF_POINTS for wrt in PLACES if (wrt.count(0), wrt.count(1)) in OF_POINTS[f]]
)
def test_derivatives_at_points_of_zeros_and_infinities(function, wrt, kind):
    """Zeros have the signs that they have next to zero, and far out; equal coordinates are ordinary ones."""
    numerator, power = OF_POINTS[function][wrt.count(0), wrt.count(1)]
    slope = function
    for place in wrt:
        slope = ogive.grad(slope, place)
    numbers = (3.0, -3.0, -0.5) if len(wrt) > 3 else (0.0, -0.0, 3.0, -3.0, -0.5, INF, -INF)
    for point in itertools.product(numbers, repeat=2):
        if np.isinf(point).all():
            continue
        if point[0] == point[1] == 0:
            assert slope(*map(kind, point)).tobytes() == kind(0).tobytes(), point
            continue
        with mpmath.workprec(2000):
            a, b = (mpmath.mpf(float(np.copysign(np.clip(abs(x), 1e-100, 1e100), x))) for x in point)
            right = numerator(a, b) / mpmath.sqrt(a * a + b * b) ** power
            wanted = np.copysign(float(abs(right)) if abs(right) > 1e-30 else 0.0, int(mpmath.sign(right)))
        assert slope(*map(kind, point)).tobytes() == kind(wanted).tobytes(), point


@pytest.mark.matrix(share=16, pool="slow")
def test_slopes_of_nan_are_nan():
    for function, number in itertools.product((ogive.hypot, ogive.atan2), (INF, -INF, 3.0, 0.0)):
        for place, at in itertools.product((0, 1), ((np.nan, number), (number, np.nan))):
            assert np.isnan(ogive.grad(function, place)(*at)), (function, place, at)
