"""Models that torch.fx traces, and that torch.onnx.export writes."""

import copy
import pickle

import numpy as np
import pytest

import ogive

torch = pytest.importorskip("torch", reason="torch is not installed")
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


# torch's own table of operators copies what is deprecated.
@pytest.mark.matrix(share=2)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("accuracy", ["exact", "fast"])
def test_the_onnx_exporter(given, accuracy):
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    network, x, slope = given
    network = ogive.torch.replace(network, accuracy=accuracy).eval()
    network.layer = torch.nn.Identity()  # Ogive has no matrix products
    table = ogive.torch.onnx_translations()
    slope = slope.detach()
    program = torch.onnx.export(network, (x, slope), dynamo=True, custom_translation_table=table, verbose=False)
    model = program.model_proto
    assert {node.domain for node in model.graph.node} == {""}
    ran = ogive.onnx.load(model)(x.numpy(), slope.numpy())
    np.testing.assert_allclose(ran, network(x, slope).detach().numpy(), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_onnx_exporter_takes_operators_of_ones_own():
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")

    @ogive.operator
    def bent_for_export(x, *, slope=0.1):
        return ogive.formula.where(x >= 0, x, slope * x)

    bent = ogive.torch.wrap(bent_for_export)

    class Bent(torch.nn.Module):
        def forward(self, x):
            return bent(x, slope=0.5)

    x = torch.tensor([-10.0, 10.0])
    table = ogive.torch.onnx_translations()
    program = torch.onnx.export(Bent().eval(), (x,), dynamo=True, custom_translation_table=table, verbose=False)
    assert ogive.onnx.load(program.model_proto)(x.numpy()).tolist() == [-5.0, 10.0]


def test_the_table_has_every_operator_and_no_gradient():
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    names = {entry.name() for entry in ogive.torch.onnx_translations()}
    assert {f"ogive::{name}" for name in ogive.catalog.OPERATORS} <= names
    assert not any("_vjp" in name for name in names)


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
