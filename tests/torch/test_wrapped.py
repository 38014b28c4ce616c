"""ogive.torch.nn.wrap: a module of any operator, with parameters that it holds."""

import copy
import pickle

import pytest

import ogive
from ogive.errors import ArgumentError, ParameterError, UnsupportedError

torch = pytest.importorskip("torch", reason="torch is not installed")
ogive_torch = pytest.importorskip("ogive.torch")
nn = ogive_torch.nn


@ogive.operator
def gate(x, *, slope=1.0, scale=1.0):
    return scale * x * ogive.sigmoid(slope * x)


@pytest.mark.matrix(share=16, pool="slow")
def test_results_gradients_and_state():
    module = nn.wrap(gate, slope=torch.nn.Parameter(torch.tensor(1.5)), scale=torch.tensor([1.0, 2.0, 3.0]))
    assert repr(module) == "Wrapped(gate, slope=(), scale=(3,))"
    assert [name for name, _ in module.named_parameters()] == ["slope"]
    assert set(module.state_dict()) == {"slope", "scale"}
    x = torch.randn(4, 3)
    found = torch.nn.Sequential(torch.nn.Identity(), module)(x)
    wanted = ogive_torch.wrap(gate)(x, slope=module.slope, scale=module.scale)
    assert torch.equal(found, wanted)
    found.sum().backward()
    assert torch.equal(module.slope.grad, torch.autograd.grad(wanted.sum(), module.slope)[0])
    assert torch.equal(module(x, slope=2.0), ogive_torch.wrap(gate)(x, slope=2.0, scale=module.scale))
    assert torch.equal(copy.deepcopy(module)(x), found)


def test_operators_of_the_catalogue_rows_and_contracts():
    x = torch.randn(3, 5)
    assert torch.equal(nn.wrap(ogive.gelu, approximate="tanh")(x), ogive_torch.gelu(x, approximate="tanh"))
    assert torch.equal(nn.wrap(ogive.softmax, dim=0)(x), ogive_torch.softmax(x, dim=0))
    assert torch.equal(nn.wrap(ogive.celu.fast)(x), ogive_torch.fast.celu(x))
    assert torch.equal(nn.wrap(ogive.swiglu)(x, -x), ogive_torch.swiglu(x, -x))
    loaded = pickle.loads(pickle.dumps(nn.wrap(ogive.celu, alpha=2.0)))
    assert torch.equal(loaded(x), ogive_torch.celu(x, alpha=2.0))
    exported = torch.export.export(nn.wrap(ogive.mish), (x,)).module()
    assert torch.equal(exported(x), ogive_torch.mish(x))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: nn.wrap(3), ArgumentError, "ogive.torch.nn.wrap: operator is 3; allowed: an operator"),
        (lambda: nn.wrap(gate, slop=2), ArgumentError, "gate: there is no parameter 'slop'; .* Did you mean slope?"),
        (
            lambda: nn.wrap(ogive.celu, alpha=0.0),
            ParameterError,
            "celu: alpha is 0.0; allowed: any finite number but 0",
        ),
        (
            lambda: nn.wrap(ogive.celu, alpha=torch.nn.Parameter(torch.zeros(1))),
            ParameterError,
            "celu: alpha is 0.0; allowed: any finite number but 0",
        ),
        (
            lambda: nn.wrap(ogive.operator(lambda x, *, training=1.0: x * training), training=2.0),
            ArgumentError,
            "the parameter 'training' has the name of an attribute of torch.nn.Module. Rename it in the formula",
        ),
        (lambda: nn.wrap(ogive.softmax, dim=7)(torch.zeros(2)), ParameterError, "softmax: dim is 7 for a tensor of 1"),
        (
            lambda: torch.jit.script(torch.nn.Sequential(nn.wrap(gate))),
            UnsupportedError,
            "Wrapped was given, which is no code of TorchScript; allowed: modules of torch.nn",
        ),
    ],
)
def test_wrong_calls(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
