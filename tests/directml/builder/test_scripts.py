"""A script for the maintained Python binding runs after its import line is changed."""

import pytest

import ogive.directml as dml
from ogive.errors import OgiveError, UnsupportedError

SCRIPT = '''
import numpy as np
import directml as dml


class Block:
    """An operator that normalises, activates and rounds, with a weight that is given later."""

    def __init__(self, device, sizes, dtype=dml.TensorDataType.FLOAT32):
        self.graph = dml.Graph(device, tensor_policy=dml.TensorPolicy.default)
        self.x = self.graph.input(sizes, dtype, name="latent")
        self.weight = self.graph.input([1, sizes[1], 1, 1], dtype, owned=True, name="weight")
        shift = self.graph.constant(np.full(sizes, 0.25), dtype, name="shift")
        y = self.x * dml.broadcast(self.weight, self.x.shape) + shift
        y = dml.activation_leaky_relu(y, alpha=0.1)
        y = dml.add(y, y, fused_activation=dml.FusedActivation(dml.OperatorType.ACTIVATION_TANH))
        y = dml.clip(y, min=-0.5, max=0.75)
        mask = dml.greater_than(y, y - 1.0, output_dtype=np.uint8)
        y = dml.where(mask, y, -y)
        self.op = self.graph.compile(
            [y, dml.round(y * 8.0, rounding_mode=dml.RoundingMode.TOWARD_ZERO)], flags=dml.ExecutionFlags.NONE
        )

    def __call__(self, array):
        return self.op({"latent": array})


device = dml.Device(use_gpu=True, use_debug_layer=False)
block = Block(device, [1, 2, 2, 2])
assert not block.op.initialized
block.op.initialize({block.weight: np.array([1.0, 2.0])})
data = np.linspace(-1, 1, 8).reshape(1, 2, 2, 2)
y, rounded = block(data)
exact = data * np.array([1.0, 2.0]).reshape(1, 2, 1, 1) + 0.25
exact = np.where(exact > 0, exact, 0.1 * exact)
exact = np.clip(np.tanh(2 * exact), -0.5, 0.75)
assert y.dtype == np.float32 and np.allclose(y, exact, atol=1e-6)
assert np.array_equal(rounded, np.trunc(y * 8))

desc = dml.TensorDesc(np.float32, [1, 1, 2, 2], flags=dml.TensorFlags.NONE, strides=[4, 4, 1, 2])
graph = dml.Graph(device)
turned = graph.input(desc=desc)
op = graph.compile([2.0 / dml.identity(turned), turned % turned])
quotient, rest = op({turned: dml.Buffer(device, np.float32([1, 2, 4, 8]).reshape(1, 1, 2, 2))}, readback=False)
assert quotient.numpy().ravel().tolist() == [2.0, 0.5, 1.0, 0.25] and not rest.numpy().any()

try:
    op({turned: np.zeros(4, np.int32)})
except ValueError as error:
    assert "astype" in str(error)
else:
    raise AssertionError
'''

OUT_OF_SCOPE = """
import directml as dml

graph = dml.Graph(dml.Device())
x, w = graph.input([1, 1, 8, 8]), graph.input([1, 1, 3, 3])
y = dml.convolution(x, w, mode=dml.ConvolutionMode.CROSS_CORRELATION, direction=dml.ConvolutionDirection.FORWARD)
"""


def run(script):
    assert "import directml as dml" in script
    exec(compile(script.replace("import directml as dml", "import ogive.directml as dml"), "script", "exec"), {})


def test_a_script_runs():
    run(SCRIPT)


def test_what_is_out_of_scope_is_refused_when_it_is_called():
    with pytest.raises(UnsupportedError, match="^convolution: it is out of scope"):
        run(OUT_OF_SCOPE)
    assert dml.ReduceFunction.SUM_SQUARE == 11


#: The shape of the samples in Microsoft's repository (mnist.py): helpers, names, positions. Products are left out.
SAMPLE = """
import pydirectml as dml
import numpy as np

input_bindings = []
data = {}


def append_input_tensor(builder: dml.GraphBuilder, input_bindings: list, input_tensor: dml.TensorDesc, file_name: str):
    tensor = dml.input_tensor(builder, len(input_bindings), input_tensor)
    if file_name == "":
        input_bindings.append(dml.Binding(tensor, np.zeros(tensor.get_output_desc().sizes)))
    else:
        input_bindings.append(dml.Binding(tensor, data[file_name]))
    return tensor


device = dml.Device(True, True)
builder = dml.GraphBuilder(device)

data_type = dml.TensorDataType.FLOAT32
input = dml.input_tensor(builder, 0, dml.TensorDesc(data_type, [1, 2, 2, 2]))
flags = dml.TensorFlags.OWNED_BY_DML
input_bindings.append(dml.Binding(input, np.linspace(-1, 1, 8).reshape(1, 2, 2, 2)))

data["Parameter6.npy"] = np.array([0.5, -0.5]).reshape(2, 1, 1)
data["Parameter87.npy"] = np.full([1, 2, 2, 2], 0.25)
plus30_param6 = append_input_tensor(builder, input_bindings, dml.TensorDesc(data_type, [1, 2, 2, 2], [2, 1, 0, 0]), "Parameter6.npy")
plus30 = dml.add(input, plus30_param6)
relu32 = dml.activation_relu(plus30)
bias = append_input_tensor(builder, input_bindings, dml.TensorDesc(data_type, flags, [1, 2, 2, 2]), "Parameter87.npy")
nothing = append_input_tensor(builder, input_bindings, dml.TensorDesc(data_type, flags, [1, 2, 2, 2]), "")
plus112 = dml.add(dml.add(relu32, bias), nothing)
reshaped = dml.reinterpret(plus112, dml.TensorDataType.FLOAT32, [1, 1, 1, 8], [8, 8, 8, 1])
identity = dml.activation_identity(reshaped)
softmax = dml.activation_soft_max(identity)
op = builder.build(dml.ExecutionFlags.NONE, [softmax])

output_data = device.compute(op, input_bindings, [softmax])
output_tensor = np.array(output_data[0], np.float32)
number = np.argmax(output_tensor)
"""


def test_a_sample_of_microsofts_own_binding():
    import numpy as np

    names = {}
    exec(compile(SAMPLE.replace("import pydirectml as dml", "import ogive.directml as dml"), "sample", "exec"), names)
    x = np.linspace(-1, 1, 8).astype(np.float32).reshape(2, 4) + np.float32([[0.5], [-0.5]])
    logits = (np.maximum(x, 0) + np.float32(0.25)).reshape(-1).astype(np.float64)
    expected = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(names["output_tensor"].reshape(-1), expected, rtol=1e-6)
    assert names["number"] == expected.argmax()
    # A second computation gives owned tensors anew, and outputs come in the order that is asked for.
    device, op, bindings = (names[name] for name in ("device", "op", "input_bindings"))
    again = device.compute(op, bindings, [names["softmax"], names["softmax"]])
    assert all((array == names["output_tensor"]).all() for array in again)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda d, b, x, y, op: dml.input_tensor(b, 5, x.desc),
            "input_tensor: input_index is 5; allowed: 1, the number of the next input",
        ),
        (
            lambda d, b, x, y, op: dml.input_tensor(d, 0, x.desc),
            "input_tensor: scope is <IDMLDevice .*>; allowed: a GraphBuilder",
        ),
        (
            lambda d, b, x, y, op: dml.input_tensor(b, 1, [1, 2]),
            "input_tensor: tensor_desc is .*; allowed: a TensorDesc",
        ),
        (
            lambda d, b, x, y, op: b.build([y], dml.ExecutionFlags.NONE),
            "build: flags is .*; allowed: ExecutionFlags. The flags come first",
        ),
        (lambda d, b, x, y, op: dml.Binding([1.0], x), "Binding: expr is .*; allowed: an expression of input_tensor"),
        (lambda d, b, x, y, op: dml.Binding(x, "text"), "Binding: data is 'text'; allowed: an array of numbers"),
        (
            lambda d, b, x, y, op: d.compute(y, [], [y]),
            "compute: op is no model; allowed: what GraphBuilder.build has returned",
        ),
        (lambda d, b, x, y, op: d.compute(op, [x], [y]), r"compute: inputs\[0\] is .*; allowed: a dml.Binding"),
        (
            lambda d, b, x, y, op: d.compute(op, [dml.Binding(x, [1.0, 2.0])], [x]),
            r"compute: outputs\[0\] is .*; allowed: the expressions",
        ),
    ],
)
def test_wrong_calls_of_the_shape_of_microsofts_binding(call, text):
    device = dml.Device(True, False)
    builder = dml.GraphBuilder(device)
    x = dml.input_tensor(builder, 0, dml.TensorDesc(dml.TensorDataType.FLOAT32, [1, 2]))
    y = dml.activation_relu(x)
    op = builder.build(dml.ExecutionFlags.NONE, [y])
    with pytest.raises(OgiveError, match=text):
        call(device, builder, x, y, op)
