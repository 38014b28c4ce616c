"""The nodes that torch.onnx.export writes for Ogive's operators."""

import numpy as np
import pytest

import ogive
from ogive.catalog.standards import rows

torch = pytest.importorskip("torch", reason="torch is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")
pytest.importorskip("ogive.torch")

from ogive.torch import nn  # noqa: E402

# torch's own table of operators copies what is deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

ARGUMENTS = {"Threshold": (0.1, 20.0), "ClippedGELU": (-1.0, 2.0), "LayerNorm": (8,), "RMSNorm": (8,)}
ARGUMENTS |= dict.fromkeys(("Softmax", "LogSoftmax", "Softmin"), (-1,))
CLASSES = [name for name in nn.__all__ if name not in nn.LOSSES]

#: Log(Sigmoid(x)), which torch writes, is wrong below -18. Axes that are not the last are turned there and back.
MORE_NODES = {"LogSigmoid": 1, "Softmax2d": 2}


def exported(module, tensors, opset, table=None):
    program = torch.onnx.export(
        module.eval(), tensors, dynamo=True, opset_version=opset, custom_translation_table=table, verbose=False
    )
    onnx.checker.check_model(program.model_proto)
    return program.model_proto


def by_ogive(module, tensors, opset):
    return exported(module, tensors, opset, ogive.torch.onnx_translations())


def results(model, *tensors):
    given = dict(zip((entry.name for entry in model.graph.input), map(np.asarray, tensors), strict=True))
    found = ogive.onnx.load(model).run(given)
    return [found[entry.name] for entry in model.graph.output]


def nodes_of_results(model):
    """The kinds of nodes that each output of the model needs."""
    made = {name: node for node in model.graph.node for name in node.output}
    for output in model.graph.output:
        found, todo = [], [output.name]
        while todo:
            node = made.get(todo.pop())
            if node is not None and node not in found:
                found.append(node)
                todo += node.input
        yield sorted(node.op_type for node in found)


class Each(torch.nn.Module):
    """The result of each module, of an input of its own: equal nodes are merged."""

    def __init__(self, modules):
        super().__init__()
        self.modules_of_it = torch.nn.ModuleList(modules)

    def forward(self, *x):
        return tuple(module(given) for module, given in zip(self.modules_of_it, x, strict=True))


def modules(source, names, dtype=torch.float32):
    made = Each([getattr(source, name)(*ARGUMENTS.get(name, ())) for name in names]).to(dtype)
    return made, tuple(torch.randn(4, 3, 5, 8, dtype=dtype) for _ in names)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("opset", [18, 20, 24])
def test_a_module_takes_no_more_nodes_than_torchs(opset):
    names = [name for name in CLASSES if hasattr(torch.nn, name)]
    theirs = nodes_of_results(exported(*modules(torch.nn, names), opset))
    ours = nodes_of_results(by_ogive(*modules(nn, names), opset))
    for name, own, of_torch in zip(names, ours, theirs, strict=True):
        assert len(own) <= len(of_torch) + MORE_NODES.get(name, 0), (name, own, of_torch)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("opset", "dtype", "expected"),
    [
        (18, torch.float32, {"GELU": "Add Div Erf Mul Mul", "SiLU": "Mul Sigmoid", "QuickGELU": "Mul Mul Sigmoid"}),
        (24, torch.float32, {"GELU": "Gelu", "SiLU": "Swish", "QuickGELU": "Swish", "RMSNorm": "RMSNormalization"}),
        (20, torch.float16, {"CELU": "Cast Cast Celu", "ELU": "Elu", "Hardsigmoid": "HardSigmoid", "Mish": "Mish"}),
        (20, torch.float64, {"Softplus": "Greater Softplus Where", "LayerNorm": None, "SELU": "Selu"}),
    ],
)
def test_the_nodes_of_an_opset_and_a_type(opset, dtype, expected):
    found = nodes_of_results(by_ogive(*modules(nn, list(expected), dtype), opset))
    for (name, nodes), own in zip(expected.items(), found, strict=True):
        assert (len(own) > 5) if nodes is None else (own == nodes.split()), name


@pytest.mark.matrix(share=16, pool="slow")
def test_modules_of_an_exported_network_compute_the_same():
    """But for -inf: the forms of opset 18 multiply it by zero, as torch's do."""
    special = [0.0, -0.0, 1e-3, -1e-3, 19.5, -19.5, 21.0, -104.0, 1e30, -1e30, np.inf]
    network, given = modules(nn, [name for name in CLASSES if "Soft" not in name and "Norm" not in name])
    given = tuple(
        torch.cat([x.flatten()[: 48 - len(special)], torch.tensor(special)]).reshape(1, 2, 3, 8) for x in given
    )
    for opset in (18, 24):
        found = results(by_ogive(network, given, opset), *given)
        for name, own, wanted in zip(network.modules_of_it, found, network(*given), strict=True):
            np.testing.assert_allclose(own, wanted.detach().numpy(), rtol=3e-6, atol=1e-6, err_msg=str(name))


def call(name):
    """A module of a catalogue's operator, and operands for it."""
    operator = ogive.catalog.OPERATORS[name]

    class Call(torch.nn.Module):
        def forward(self, *tensors):
            return getattr(ogive.torch, name)(*tensors)

    generator = np.random.default_rng(len(name))
    by_types = {signature.inputs[-1].name: signature.inputs for signature in operator.signatures}
    kinds = by_types.get("float32") or operator.signatures[-1].inputs
    arrays = [generator.integers(-3, 4, (2, 4)).astype(bool if kind.name == "bool" else kind.numpy) for kind in kinds]
    return Call(), tuple(torch.from_numpy(array) for array in arrays)


@pytest.mark.matrix(share=16, pool="slow")
def test_operators_of_the_standard_become_its_nodes():
    """Each one, and its results are those of the operator itself: Ogive runs the file node by node."""
    names = [
        name
        for name, operator in ogive.catalog.OPERATORS.items()
        if operator.onnx and rows("onnx", operator.onnx) and name not in ("clip", "geglu", "swiglu", "mean")
    ]
    calls = [call(name) for name in names]
    counts = [len(tensors) for _, tensors in calls]

    class All(torch.nn.Module):
        def forward(self, *tensors):
            given = iter(tensors)
            return tuple(module(*(next(given) for _ in range(n))) for (module, _), n in zip(calls, counts, strict=True))

    tensors = tuple(tensor for _, given in calls for tensor in given)
    model = by_ogive(All(), tensors, 24)
    nodes = list(nodes_of_results(model))
    expected = [[ogive.catalog.OPERATORS[name].onnx] for name in names]
    assert dict(zip(names, nodes, strict=True)) == dict(zip(names, expected, strict=True))
    found = results(model, *tensors)
    for name, own, wanted in zip(names, found, All()(*tensors), strict=True):
        np.testing.assert_array_equal(own, wanted.numpy(), err_msg=name)


@pytest.mark.matrix(share=16, pool="slow")
def test_parameters_that_the_standard_has_not():
    """The formula's nodes, and the same numbers."""

    class Network(torch.nn.Module):
        def forward(self, x, low):
            return (
                ogive.torch.softplus(x, steepness=2.0),
                ogive.torch.clip(x, low, low + 1, wins="min"),
                ogive.torch.prelu(x[:1], low),
                ogive.torch.round(x, mode="truncate"),
                ogive.torch.geglu(x, low, approximate="tanh"),
                ogive.torch.softmax(x, dim=0),
                nn.Softplus(beta=2.0, threshold=3.0)(x),
                nn.Softplus(threshold=3.0)(x),
            )

    x, low = torch.linspace(-5, 5, 12).reshape(3, 4), torch.linspace(-1, 1, 12).reshape(3, 4)
    model = by_ogive(Network(), (x, low), 20)
    assert not {"Clip", "PRelu", "Round"} & {node.op_type for node in model.graph.node}
    for own, wanted in zip(results(model, x, low), Network()(x, low), strict=True):
        np.testing.assert_allclose(own, wanted.numpy(), rtol=2e-6, atol=1e-6)


class Network(torch.nn.Module):
    """Functions with operands and parameters, modules, a module in place, rows."""

    def __init__(self):
        super().__init__()
        self.gelu = nn.GELU(approximate="tanh")
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x, slope):
        hidden = ogive.torch.celu(self.relu(self.gelu(x)), alpha=1.5)
        return ogive.torch.softmax(hidden + ogive.torch.prelu(x[:, :1], slope), dim=-1)


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("accuracy", ["exact", "fast"])
def test_both_contracts_write_the_same_nodes(accuracy):
    x, slope = torch.linspace(-2, 2, 12).reshape(3, 4), torch.tensor(0.25)
    network = ogive.torch.replace(Network(), accuracy=accuracy).eval()
    model = by_ogive(network, (x, slope), 20)
    assert {node.domain for node in model.graph.node} == {""}
    kinds = [node.op_type for node in model.graph.node]
    assert [kinds.count(name) for name in ("Gelu", "Relu", "Celu", "Softmax")] == [1, 1, 1, 1]
    ran = ogive.onnx.load(model)(x.numpy(), slope.numpy())
    np.testing.assert_allclose(ran, network(x, slope).detach().numpy(), rtol=1e-6)


@pytest.mark.matrix(share=16, pool="slow")
def test_operators_of_ones_own():
    @ogive.operator
    def bent_for_export(x, *, slope=0.1):
        return ogive.formula.where(x >= 0, x, slope * x)

    @ogive.operator
    def celu(x, *, alpha=1.0):  # no formula of the standard's, in spite of its name
        return x * alpha

    bent, named_so = ogive.torch.wrap(bent_for_export), ogive.torch.wrap(celu)

    class Bent(torch.nn.Module):
        def forward(self, x):
            return bent(x, slope=0.5), named_so(x, alpha=3.0)

    x = torch.tensor([-10.0, 10.0])
    found = results(by_ogive(Bent(), (x,), 20), x)
    assert [result.tolist() for result in found] == [[-5.0, 10.0], [-30.0, 30.0]]


def test_the_table_has_every_operator_and_no_gradient():
    names = {entry.name() for entry in ogive.torch.onnx_translations()}
    assert {f"ogive::{name}" for name in ogive.catalog.OPERATORS} <= names
    assert not any("_vjp" in name for name in names)


@pytest.mark.matrix(share=16, pool="slow")
def test_operators_of_papers_take_few_nodes():
    """Nodes, and the numbers of the operators."""

    class Network(torch.nn.Module):
        def forward(self, x, weight):
            return (
                ogive.torch.squared_relu(x),
                ogive.torch.dyt(x, weight, weight + 1),
                ogive.torch.derf(x, weight, weight + 2, shift=0.25),
                ogive.torch.clamped_swiglu(x, weight, limit=2.0),
                ogive.torch.gelu_10(x),
            )

    x, weight = torch.linspace(-12, 12, 16).reshape(2, 8), torch.linspace(-3, 3, 8)
    model = by_ogive(Network(), (x, weight), 20)
    kinds = [" ".join(own) for own in nodes_of_results(model)]
    assert kinds == [
        "Mul Relu",
        "Add Add Mul Mul Tanh",
        "Add Add Add Erf Mul Mul",
        "Add Clip Min Mul Mul Mul Sigmoid",
        "Clip Gelu",
    ]
    for own, wanted in zip(results(model, x, weight), Network()(x, weight), strict=True):
        np.testing.assert_allclose(own, wanted.numpy(), rtol=3e-6, atol=1e-6)
