"""A parameter that is a tensor keeps the derivative of the operator: torch with tensors = torch with numbers = JAX = NumPy."""

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.errors import DTypeError

torch = pytest.importorskip("torch", reason="torch is not installed")
ogive_torch = pytest.importorskip("ogive.torch")

#: Values that are exact in every type. Where they are given, several operators have kinks at the values below.
VALUES = {
    "clamp": [{"min": -1.0, "max": 1.0}, {"min": 1.0, "max": 1.0}, {"min": 1.0, "max": -1.0}],
    "clamp_grad": [{"min": -1.0, "max": 1.0}],
    "parametric_softplus": [{"alpha": 1.5, "beta": 0.5}],
    "softcap": [{"cap": 2.0}],
    "threshold": [{"min": 0.5}],
}

#: Kinks of the catalogue, the infinities, large and small magnitudes, and NaN.
POINTS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.3, -7.0, 1e30, -1e30, 1e-30, np.inf, -np.inf, np.nan]


def cases():
    for name, operator in OPERATORS.items():
        if operator.is_row_wise or not operator.numeric_parameters:
            continue
        try:
            ogive.vjp(operator)
        except DTypeError:
            continue
        listed = VALUES.get(name) or [{p.name: float(p.default) for p in operator.numeric_parameters}]
        for values in listed:
            yield pytest.param(operator, values, id=f"{name} {list(values.values())}")


CASES = list(cases())


def test_there_are_cases():
    assert len(CASES) > 15


def operands(operator):
    """The points for the first tensor; the others take them in another order."""
    shifted = [np.roll(np.float32(POINTS), 5 * i) for i in range(operator.inputs)]
    return [x > 0 if t in operator.truth_inputs else x for t, x in zip(operator.tensors, shifted, strict=True)]


def same(a, b):
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize(("operator", "values"), CASES)
def test_tensors_have_the_derivatives_of_numbers(operator, values):
    """A tensor of one number for each element, so that gradients are no sums."""
    arrays = operands(operator)
    function = ogive_torch.wrap(operator)
    smooth = [i for i, t in enumerate(operator.tensors) if t not in operator.truth_inputs]

    def tensors():
        return [torch.tensor(x, requires_grad=i in smooth) for i, x in enumerate(arrays)]

    of_numbers, of_tensors = tensors(), tensors()
    function(*of_numbers, **values).sum().backward()
    full = {name: torch.full((len(POINTS),), value, requires_grad=True) for name, value in values.items()}
    function(*of_tensors, **full).sum().backward()
    for i in smooth:
        wanted = ogive.grad(operator, operator.tensors[i])(*arrays, **values)
        assert same(of_numbers[i].grad, wanted), operator.tensors[i]
        assert same(of_tensors[i].grad, wanted), operator.tensors[i]
    for name, tensor in full.items():
        assert same(tensor.grad, ogive.grad(operator, name)(*arrays, **values)), name


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize(("operator", "values"), CASES)
def test_jax_agrees(operator, values):
    jax = pytest.importorskip("jax", reason="jax is not installed")
    import ogive.jax

    arrays = operands(operator)
    function = ogive.jax.function(operator)
    names = [*operator.tensors, *values]
    numbers = [np.full(len(POINTS), value, np.float32) for value in values.values()]
    smooth = [i for i, name in enumerate(names) if name not in operator.truth_inputs]

    def total(*given):
        return function(*given[: operator.inputs], **dict(zip(values, given[operator.inputs :], strict=True))).sum()

    found = jax.grad(total, argnums=tuple(smooth))(*arrays, *map(jax.numpy.asarray, numbers))
    for i, gradient in zip(smooth, found, strict=True):
        wanted = ogive.grad(operator, names[i])(*arrays, **values)
        flushed = np.where(np.abs(wanted) < 2.0**-126, 0, wanted)  # XLA's product flushes subnormal numbers
        assert same(np.where(np.abs(gradient) < 2.0**-126, 0, gradient), flushed), names[i]


def test_parameters_of_every_selection():
    """One of two parameters as a tensor, the other as a number."""
    for chosen in ("min", "max"):
        values = {"min": -1.0, "max": 1.0}
        values[chosen] = torch.tensor(values[chosen], requires_grad=True)
        x = torch.tensor([-1.0, 1.0, 2.0, -2.0], requires_grad=True)
        ogive_torch.clamp(x, **values).sum().backward()
        assert x.grad.tolist() == [1, 1, 0, 0]
        assert values[chosen].grad.item() == 1


def test_functions_of_torch_alone_keep_their_derivatives_too():
    from ogive.torch import formulas

    x = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    low, high = torch.tensor(-1.0, requires_grad=True), torch.tensor(1.0)
    ogive_torch.wrap(formulas.hardtanh)(x, min=low, max=high).sum().backward()
    assert x.grad.tolist() == [0, 1, 0]
    x = torch.tensor([-0.5, 0.0, 0.5, 1.0], requires_grad=True)
    ogive_torch.wrap(formulas.softshrink)(x, lambd=torch.tensor(0.5)).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 1]
