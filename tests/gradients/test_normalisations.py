"""Gradients of normalisations: beside torch in float64, and beside enclosures in the types that are rounded once."""

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.dtypes import element_type_of
from ogive.row_enclosure import right_rows

torch = pytest.importorskip("torch")
functional = torch.nn.functional

#: By name: the operator, tensors beside the data, parameters, and what torch computes.
CASES = {
    "layer": ("layer_normalization", 2, {}, lambda x, s, b: functional.layer_norm(x, x.shape[-1:], s, b)),
    "rms": ("rms_normalization", 1, {}, lambda x, s: functional.rms_norm(x, x.shape[-1:], s, 1e-5)),
    "l2": ("lp_normalization", 0, {}, lambda x: functional.normalize(x, dim=-1)),
    "l1": ("lp_normalization", 0, {"p": 1}, lambda x: functional.normalize(x, p=1.0, dim=-1)),
    "mvn": ("mean_variance_normalization", 0, {}, lambda x: functional.layer_norm(x, x.shape[-1:], eps=0.0)),
    "standardize": ("standardize", 0, {}, lambda x: functional.layer_norm(x, x.shape[-1:])),
}
PLACES = [(0.0, 1.0), (100.0, 1.0), (1000.0, 0.1)]


def data(beside, mean, deviation, rows=3, length=5):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((rows, length)) * deviation + mean
    return rng.standard_normal(x.shape), [x, *(rng.standard_normal(length) for _ in range(beside))]


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize(("mean", "deviation"), PLACES)
@pytest.mark.parametrize("name", CASES)
def test_gradients_beside_torch(name, mean, deviation):
    op, beside, parameters, of_torch = CASES[name]
    gradient, arrays = data(beside, mean, deviation)
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    result = of_torch(*tensors)
    result.backward(torch.tensor(gradient))
    np.testing.assert_allclose(getattr(ogive, op)(*arrays, **parameters), result.detach().numpy(), rtol=1e-9, atol=1e-9)
    found = ogive.vjp(getattr(ogive, op))(gradient, *arrays, **parameters)
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(tensors)
    for own, tensor in zip(found, tensors, strict=True):
        right = tensor.grad.numpy()
        np.testing.assert_allclose(own, right, rtol=1e-8, atol=1e-8 * max(1, np.abs(right).max()))


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_data_are_rounded_once(name, dtype):
    """Of the data, whose gradient has a number for each element."""
    op, beside, parameters, _ = CASES[name]
    vjp = ogive.vjp(getattr(ogive, op), wrt=["x"])
    kind = element_type_of(np.dtype(dtype))
    computation = vjp.computation(next(s for s in vjp.signatures if set(s.inputs) == {kind}), **parameters)
    numbers = {} if "epsilon" not in {p.name for p in vjp.numeric_parameters} else {"epsilon": float(np.float32(1e-5))}
    for mean, deviation in PLACES:
        gradient, arrays = data(beside, mean, deviation, rows=2, length=4)
        gradient, *arrays = ((array + 0).astype(dtype) for array in (gradient, *arrays))
        found = vjp(gradient, *arrays, **parameters)
        rows = [np.broadcast_to(array, gradient.shape) for array in (gradient, *arrays)]
        for i, row in enumerate(found):
            operands = [[float(v) for v in array[i]] for array in rows]
            right = right_rows(computation.roots[0], operands, numbers, kind)
            np.testing.assert_array_equal(row.astype(float), np.array(right, float))
