"""A script for the maintained Python binding runs after its import line is changed."""

import pytest

import ogive.directml as dml
from ogive.errors import UnsupportedError

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
