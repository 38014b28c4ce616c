"""Results stay within the function's range, overflow where the function does and not before, and are not flushed."""

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import FLOATS, element_type
from ogive.laboratory.accuracy import error_in_ulp
from ogive.laboratory.reference import evaluate_exactly, to_long_double
from tests.inputs import assert_same_bits, random_values, special_values

INF = np.inf

#: Operator -> the smallest and the largest result that there may be.
RANGES = {
    "acos": (0, np.pi),
    "asin": (-np.pi / 2, np.pi / 2),
    "atan": (-np.pi / 2, np.pi / 2),
    "celu": (-1, INF),
    "cos": (-1, 1),
    "cosh": (1, INF),
    "elu": (-1, INF),
    "erf": (-1, 1),
    "exp": (0, INF),
    "hard_sigmoid": (0, 1),
    "relu": (0, INF),
    "scaled_tanh": (-1, 1),
    "sigmoid": (0, 1),
    "sin": (-1, 1),
    "softplus": (0, INF),
    "softsign": (-1, 1),
    "tanh": (-1, 1),
}


def many(kind):
    """Every number of 16 bits, or many."""
    if kind.bits == 16:
        return np.arange(1 << 16, dtype=np.uint16).view(kind.numpy)
    if kind.bits == 32:
        return np.arange(0, 1 << 32, 1021, dtype=np.uint64).astype(np.uint32).view(np.float32)
    return np.concatenate([special_values(kind), random_values(kind, 1_000_000)])


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", RANGES)
def test_results_stay_within_the_range(name, kind):
    low, high = (np.float64(bound).astype(kind.numpy).astype(np.float64) for bound in RANGES[name])
    result = OPERATORS[name](many(kind)).astype(np.float64)
    result = result[~np.isnan(result)]
    assert result.size > 1000
    assert low <= result.min()
    assert result.max() <= high


#: Rising functions, whose results must not fall. That they never do in 16 bits follows from correct rounding.
RISING = (
    "asinh",
    "atan",
    "celu",
    "elu",
    "erf",
    "exp",
    "log",
    "selu",
    "sigmoid",
    "sinh",
    "softplus",
    "softsign",
    "tanh",
)


@pytest.mark.parametrize("name", RISING)
def test_neighbours_are_in_order(name):
    """Runs of neighbouring numbers from every binade of float32, where the errors of results show most."""
    starts = np.arange(0, 0x7F800000, 1 << 21, dtype=np.uint32)
    bits = (starts[:, None] + np.arange(1 << 10, dtype=np.uint32)).astype(np.uint32)
    for sign in (0, 1 << 31):
        x = (bits | np.uint32(sign)).view(np.float32)
        with np.errstate(over="ignore"):
            result = OPERATORS[name](x)
        before, after = (result[:, 1:], result[:, :-1]) if sign else (result[:, :-1], result[:, 1:])
        assert before.size > 1_000_000
        assert not (after < before).any(), x[:, :-1][after < before][:3]


#: (operator, parameters, dtype, input, result): what a careless formula overflows, flushes or turns into NaN.
#: None stands for the formula's value, which is neither zero nor infinite.
EDGES = [
    ("exp", {}, "float32", 88.72283, None),
    ("exp", {}, "float32", 88.7229, INF),
    ("exp", {}, "float32", -103.97, None),
    ("exp", {}, "float32", -103.98, 0.0),
    ("exp", {}, "float64", 709.782712893384, None),
    ("exp", {}, "float64", -745.1, None),
    ("cosh", {}, "float32", 89.4, None),
    ("cosh", {}, "float32", 90.0, INF),
    ("sinh", {}, "float32", -89.4, None),
    ("sigmoid", {}, "float32", -103.0, None),
    ("sigmoid", {}, "float32", -100.0, None),
    ("sigmoid", {}, "float64", -745.0, None),
    ("sigmoid", {}, "float64", -800.0, 0.0),
    ("swish", {}, "float32", -100.0, None),
    ("swish", {}, "float32", 3e38, 3e38),
    ("swish", {}, "float64", -745.0, None),
    ("mish", {}, "float32", -1000.0, -0.0),
    ("mish", {}, "float32", -100.0, None),
    ("mish", {}, "float32", 3e38, 3e38),
    ("gelu", {}, "float32", -40.0, -0.0),
    ("gelu", {}, "float32", -13.0, None),
    ("gelu", {}, "float32", -14.1, None),
    ("gelu", {}, "float32", 3e38, 3e38),
    ("gelu", {}, "float64", -40.0, -0.0),
    ("gelu", {}, "float64", -38.0, None),
    ("gelu", {"approximate": "tanh"}, "float32", -10.0, None),
    ("gelu", {"approximate": "tanh"}, "float32", 3e38, 3e38),
    ("gelu", {"approximate": "tanh"}, "float32", -40.0, -0.0),
    ("gelu", {"approximate": "tanh"}, "float32", -INF, -0.0),
    ("gelu", {"approximate": "tanh"}, "float32", INF, INF),
    ("hard_swish", {}, "float32", 3e38, 3e38),
    ("softplus", {}, "float32", 1000.0, 1000.0),
    ("softplus", {}, "float32", 3e38, 3e38),
    ("softplus", {}, "float32", -100.0, None),
    ("softplus", {"steepness": 1e30}, "float32", 1e30, 1e30),
    ("softplus", {}, "float64", 1000.0, 1000.0),
    ("softplus", {}, "float64", 20.0003, None),
    ("softsign", {}, "float32", 3e38, 1.0),
    ("tanh", {}, "float32", 1e-45, 1e-45),
    ("elu", {}, "float32", -1e-45, -1e-45),
    ("celu", {"alpha": 1000.0}, "float32", -1e-45, -1e-45),
    ("celu", {"alpha": 1e-3}, "float32", -1e30, -1e-3),
    ("erf", {}, "float32", 1e-40, None),
    ("log", {}, "float32", 1e-45, None),
    ("log", {}, "float64", 5e-324, None),
]


@pytest.mark.parametrize(("name", "parameters", "dtype", "x", "expected"), EDGES)
def test_edges(name, parameters, dtype, x, expected):
    op, kind = OPERATORS[name], element_type(dtype)
    given = np.array([x], dtype)
    with np.errstate(over="ignore", under="ignore"):
        result = op(given, **parameters)
    if expected is not None:
        assert_same_bits(result, np.array([expected], dtype))
        return
    values = op.checked_parameters(parameters)
    choices = {p.name: values.pop(p.name) for p in op.parameters if p.choices}
    truth = to_long_double(evaluate_exactly(op.formula(**choices)[0], [float(given[0])], values))
    assert result[0] != 0
    assert np.isfinite(result[0])
    assert error_in_ulp(result, np.array([truth]), kind)[0] <= 1.13


@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", ["gelu", "hard_swish", "mish", "parametric_hard_swish", "swish"])
def test_gates_close_to_minus_zero(name, kind):
    info = np.float64([-INF, -60000.0])
    result = OPERATORS[name](info.astype(kind.numpy))
    assert_same_bits(result, np.array([-0.0, -0.0]).astype(kind.numpy))


@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: kind.name)
def test_row_wise_results_stay_within_the_range(kind):
    x = np.array([[0.0, -10_000.0, 10_000.0], [-1e-3, 0.0, 1e-3]]).astype(kind.numpy)
    with np.errstate(all="raise"):
        soft, log = ogive.softmax(x).astype(np.float64), ogive.log_softmax(x).astype(np.float64)
    assert soft[0].tolist() == [0, 0, 1]
    assert log[0].tolist() == [float(x[0, 0]) - float(x[0, 2]), float(kind.numpy.type(-20_000.0)), 0]
    assert ((soft >= 0) & (soft <= 1)).all()
    assert (log <= 0).all()


def test_log_softmax_keeps_what_is_near_zero():
    """In a row that one element dominates the largest result is -exp(-100), not 0."""
    assert ogive.log_softmax(np.float64([100.0, 0.0]))[0] == pytest.approx(-np.exp(-100.0), rel=1e-15)
    assert ogive.log_softmax(np.float32([80.0, 0.0]))[0] == pytest.approx(-np.exp(-80.0), rel=1e-6)


def test_there_is_something_to_test():
    assert element_type("float32") in FLOATS
    assert RANGES
    assert EDGES
