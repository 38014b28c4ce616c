"""Kernel and repair against enclosures: each result that one of them decides is the correctly rounded one."""

import zlib

import numpy as np
import pytest

import ogive
from tests.levels import differing, functions

FUNCTIONS = functions()
TYPES = ("float32", "bfloat16", "float16")

#: Results beside ties, zeros of both signs, infinities and NaN on the way, with constant parameters and without.
HARD = (
    *("gelu", "vjp(gelu)", "grad(mish)", "xielu", "grad(swish)", "vjp(softplus)", "tanhshrink", "serf"),
    *("log-normal density", "radians of degrees", "tanh by exponentials", "sinc", "Langevin", "logit", "focal"),
)


def judge(name, dtype):
    op = FUNCTIONS[name]()
    if op is None or op.is_row_wise:
        return
    found = differing(op, dtype, 6, seed=len(name))
    assert not found, "\n".join(map(str, found[:5]))


def test_there_are_functions():
    assert len(FUNCTIONS) > 400


@pytest.mark.matrix("name", share=3)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", HARD)
def test_what_levels_decide_is_right(name, dtype):
    judge(name, dtype)


#: Each function in one type, which its name chooses; `python -m tests.levels` takes all of them.
OTHERS = [(name, TYPES[zlib.crc32(name.encode()) % len(TYPES)]) for name in FUNCTIONS if name not in HARD]


@pytest.mark.matrix
@pytest.mark.parametrize(("name", "dtype"), OTHERS)
def test_what_levels_decide_of_all_functions_is_right(name, dtype):
    judge(name, dtype)


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("function", [np.sin, np.tan, np.arcsin, np.arctanh, np.tanh])
def test_functions_of_a_computed_zero_keep_its_sign(function, dtype):
    zeros = np.array([-0.0, 0.0], dtype)
    for op in (ogive.operator(lambda x: function(x / 3)), ogive.operator(lambda x: function(x * np.pi))):
        found = op(zeros)
        assert not found.any()
        assert np.array_equal(np.signbit(found), [True, False])


def test_what_may_be_zero_by_zero_is_looked_at_closely():
    """exp(x) underflows in float64 at -2000, and is zero at -inf alone."""
    op = ogive.operator(lambda x, y: np.exp(x) / y)
    with np.errstate(all="ignore"):
        found = op(np.float32([-2000, -np.inf, -2000, 1]), np.float32([0, 0, -0.0, 0]))
    np.testing.assert_array_equal(found, [np.inf, np.nan, -np.inf, np.inf])


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("name", ["gelu", "swish", "mish", "serf"])
def test_slopes_of_gates_are_one_at_infinity_and_more_before(name):
    """A product with them that is a tie shows it, of either sign, and inside a magnitude or a choice."""
    slope, tie = ogive.grad(getattr(ogive, name)), 1 + 2.0**-24
    x = np.array([200, 1e30, np.inf], np.float32)
    above, one = np.float32(1 + 2.0**-23), np.float32(1)
    for formula, sign in (
        (lambda x: slope(x) * tie, 1),
        (lambda x: -tie * slope(x), -1),
        (lambda x: abs(slope(x) * -tie), 1),
        (lambda x: np.where(x > 0, tie * slope(x), x), 1),
    ):
        assert ogive.operator(types=["float32"])(formula)(x).tolist() == [sign * v for v in (above, above, one)]
