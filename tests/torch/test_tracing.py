"""Models that torch.fx traces."""

import copy
import pickle

import pytest

import ogive

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch.fx.experimental.proxy_tensor")
pytest.importorskip("ogive.torch")


class Network(torch.nn.Module):
    """Functions with operands and parameters, modules, a module in place, rows."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 5)
        self.gelu = ogive.torch.nn.GELU(approximate="tanh")
        self.relu = ogive.torch.nn.ReLU(inplace=True)

    def forward(self, x, slope):
        hidden = ogive.torch.celu(self.relu(self.gelu(self.layer(x))), alpha=1.5)
        return ogive.torch.softmax(hidden + ogive.torch.prelu(x[:, :1], slope), dim=-1)


@pytest.fixture
def given():
    torch.manual_seed(0)
    return Network(), torch.randn(3, 4), torch.tensor(0.25, requires_grad=True)


def test_symbolic_tracing(given):
    network, x, slope = given
    traced = torch.fx.symbolic_trace(network)
    targets = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    assert {ogive.torch.gelu, ogive.torch.celu, ogive.torch.softmax} <= {*targets}
    expected = network(x, slope)
    for module in (traced, pickle.loads(pickle.dumps(traced)), copy.deepcopy(traced)):
        assert torch.equal(module(x, slope), expected)
    (wanted,) = torch.autograd.grad(expected.square().sum(), slope)
    (found,) = torch.autograd.grad(traced(x, slope).square().sum(), slope)
    assert torch.equal(found, wanted)


def test_a_parameter_that_is_traced():
    def function(x, alpha):
        return ogive.torch.celu(x, alpha=alpha)

    x, alpha = torch.tensor([-1.0, 2.0]), torch.tensor(1.5)
    assert torch.equal(torch.fx.symbolic_trace(function)(x, alpha), function(x, alpha))


def test_a_formula_without_a_name():
    """torch writes the entry's name into the program's Python, where `torch.ops.ogive.lambda` is no expression."""
    function = ogive.torch.wrap(ogive.operator(lambda x: -ogive.softsign(x)))
    x = torch.tensor([-3.0, -0.0, 2.0])
    program = torch.fx.experimental.proxy_tensor.make_fx(function)(x)
    assert torch.equal(program(x), function(x))


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: ogive.torch.softmax(ogive.torch.gelu(x, approximate="tanh")),
        lambda x: ogive.torch.celu(x, alpha=1.5),
        ogive.torch.nn.LeakyReLU(0.25),
    ],
)
def test_compiled_programs_check_little_of_python(function):
    """torch checks at every call what it has seen of Python: of a call that is taken apart, hundreds of attributes."""
    found = torch._dynamo.explain(function)(torch.zeros(3))
    assert found.graph_count == 1
    assert 0 < len(found.out_guards) < 60
    x = torch.randn(5)
    assert torch.equal(torch.compile(function, fullgraph=True, backend="eager")(x), function(x))
