"""Gated linear units: of two tensors, and of one that holds both halves along an axis."""

import numpy as np
import pytest

import ogive
from ogive.errors import ArgumentError, ParameterError, ShapeError
from tests.inputs import assert_same_bits

GATED = (ogive.glu, ogive.reglu, ogive.geglu, ogive.swiglu)
X = np.random.default_rng(3).standard_normal((4, 6, 2)).astype(np.float32) * 3


@pytest.mark.parametrize("op", GATED, ids=lambda op: op.name)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_halves_along_any_axis(op, axis):
    a, b = np.split(X, 2, axis=axis)
    assert_same_bits(op(X, axis=axis), op(a, b))
    out = np.empty_like(a)
    assert op(X, axis=axis, out=out) is out
    assert_same_bits(out, op(a, b))


@pytest.mark.parametrize("op", GATED, ids=lambda op: op.name)
def test_the_last_axis_is_the_default(op):
    assert_same_bits(op(X), op(X, axis=-1))
    assert_same_bits(op(X, None), op(X, axis=-1))
    assert_same_bits(op([1.0, 2.0]), op([1.0], [2.0]))


def test_parameters_go_with_halves():
    assert_same_bits(ogive.swiglu(X, alpha=2.0), ogive.swiglu(X[..., :1], X[..., 1:], alpha=2.0))
    assert_same_bits(ogive.geglu(X, approximate="tanh"), ogive.geglu(X[..., :1], X[..., 1:], approximate="tanh"))


def test_torch_tensors():
    torch = pytest.importorskip("torch", reason="takes tensors of PyTorch")
    x = torch.from_numpy(X)
    found = ogive.glu(x, axis=1)
    assert isinstance(found, torch.Tensor)
    torch.testing.assert_close(found, torch.nn.functional.glu(x, dim=1))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: ogive.glu(np.zeros(5)),
            ShapeError,
            "glu: axis -1 has 5 elements, which have no halves; allowed: an even number of elements, or two tensors",
        ),
        (
            lambda: ogive.glu(np.zeros(4), axis=1),
            ParameterError,
            "glu: axis is 1 for an array of 1 dimensions; allowed: whole numbers from -1 to 0",
        ),
        (
            lambda: ogive.glu(1.0),
            ParameterError,
            "glu: a is a single number; allowed: two tensors, or arrays of one dimension or more",
        ),
        (
            lambda: ogive.glu(np.zeros(4), np.zeros(4), axis=0),
            ArgumentError,
            "glu: axis was given with two tensors; allowed: axis with one tensor, which is cut in halves along it",
        ),
        (
            lambda: ogive.glu(np.zeros(4), np.zeros(4), dim=0),
            ArgumentError,
            "glu: there is no parameter 'dim'; allowed: axis, which is NumPy's name for it",
        ),
        (
            lambda: ogive.operator(lambda x: ogive.glu(x)),
            ArgumentError,
            "one tensor was given in a formula, which has single elements",
        ),
    ],
)
def test_wrong_calls(call, error, text):
    with pytest.raises(error) as info:
        call()
    assert text in str(info.value)


def test_an_alias_of_halves_takes_one_tensor():
    assert_same_bits(ogive.gelu_tanh_and_mul(X), ogive.geglu(X, approximate="tanh"))
    assert ogive.silu_and_mul is ogive.swiglu
