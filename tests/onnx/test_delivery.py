"""Results in memory that the caller gives, and the pieces that are told."""

import numpy as np
import pytest

import ogive.onnx
from ogive.errors import ModelError
from ogive.onnx import delivery
from ogive.onnx.delivery import Delivery
from tests.inputs import assert_same_bits
from tests.onnx.models import text_model

TEXT = """t (float[A, B, C] x, float[C] w) => (float[A, B, C] y, float[A, B, C] z, float[A, B, C] s, float[A, B, C] i)
{ m = Mul(x, w) y = Tanh(m) z = Exp(m) s = Softmax(y) i = Identity(y) }"""


@pytest.mark.parametrize("shape", [(7, 3, 5), (1, 9, 4), (1, 1, 1), (0, 2, 3), (1, 1, 50)])
@pytest.mark.parametrize("piece", [1 << 26, 24, 1])
def test_results_are_the_same_in_given_memory_and_in_pieces(monkeypatch, shape, piece):
    monkeypatch.setattr(delivery, "PIECE", piece)
    model = ogive.onnx.load(text_model(TEXT))
    x = np.linspace(-3, 3, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    w = np.linspace(1, 2, shape[-1], dtype=np.float32)
    expected = ogive.onnx.load(text_model(TEXT)).run({"x": x, "w": w})
    for _ in range(2):  # step by step, and by the plan
        given, told = {}, []

        def memory(name, shape, dtype, given=given):
            assert name not in given
            given[name] = np.empty(shape, dtype)
            return given[name]

        results = model.run({"x": x, "w": w}, delivery=Delivery(memory, told.append))
        assert list(results) == ["y", "z", "s", "i"]
        for name, result in results.items():
            assert_same_bits(result, expected[name])
        assert all(results[name] is given[name] for name in "yz")
        assert results["i"] is results["y"]
        assert sum(told) >= results["y"].nbytes + results["z"].nbytes
        assert piece > 1 or x.size == shape[-1] or len(told) > 1  # a row is computed as a whole


def test_the_memory_limit_counts_all_outputs_of_a_kernel():
    text = text_model("t (float[N] x) => (float[N] y, float[N] z) { y = Tanh(x) z = Exp(x) }")
    x = np.zeros(100, np.float32)
    with pytest.raises(ModelError, match=r"would have 800 bytes; allowed: 799, the memory limit"):
        ogive.onnx.load(text, memory_limit=799)(x)
    assert len(ogive.onnx.load(text, memory_limit=800)(x)) == 2


def test_what_ran():
    """Everything waits until the end. What needs a repair is not fused with the rows of Softmax, which have none."""
    model = ogive.onnx.load(text_model(TEXT))
    assert model.ran() is None
    model.run({"x": np.zeros((2, 2, 2), np.float32), "w": np.zeros(2, np.float32)})
    ran = model.ran()
    assert (ran.kernels, ran.kernel_calls, ran.function_calls, ran.types) == (4, 4, 0, ("float32",))
    assert model.ran(["z"]) is None
    assert model.about.operators == {"Mul": 1, "Tanh": 1, "Exp": 1, "Softmax": 1, "Identity": 1}
    assert list(model.about.opsets) == ["ai.onnx"]
