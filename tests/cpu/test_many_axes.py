"""Arrays of 33 to 64 axes, of which NumPy's own broadcast_shapes says RuntimeError."""

import itertools

import numpy as np
import pytest

import ogive
from ogive.common.array_shapes import broadcast_arrays, broadcast_shapes
from ogive.errors import ShapeError
from ogive.webnn import MLContext, MLGraphBuilder

FEW = (2, 1, 3)
MANY = (2, *(1,) * 38, 3)

x = np.linspace(-2, 2, 6, dtype=np.float32)
two, three, four = (np.full(size, 0.5, np.float32) for size in (2, 3, 4))


def test_shapes_are_numpys():
    shapes = [shape for rank in range(4) for shape in itertools.product((0, 1, 2), repeat=rank)]
    for pair in itertools.product(shapes, repeat=2):
        try:
            expected = np.broadcast_shapes(*pair)
        except ValueError:
            with pytest.raises(ValueError, match="an axis has the sizes"):
                broadcast_shapes(*pair)
        else:
            assert broadcast_shapes(*pair) == expected
    assert broadcast_shapes() == ()
    assert broadcast_shapes(MANY, (4, 1)) == (*MANY[:-2], 4, 3)
    assert [array.shape for array in broadcast_arrays(x.reshape(MANY), three)] == [MANY, MANY]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda a: ogive.prelu(a, four),
            r"^prelu: the shapes do not broadcast together: x \(2, .*, 3\) and slope \(4,\)",
        ),
        (
            lambda a: ogive.prelu(a, three, out=np.empty(4, np.float32)),
            r"^prelu: out has shape \(4,\); allowed: \(2, .*, 3\)",
        ),
        (
            lambda a: ogive.celu(a, where=np.ones(4, bool), out=None),
            r"^celu: where has shape \(4,\); allowed: .* with \(2, .*, 3\)",
        ),
        (lambda a: ogive.vjp(ogive.prelu)(a, a, four), r"the shapes do not broadcast together: .*\(2, .*, 3\).*\(4,\)"),
        (
            lambda a: ogive.softmax(a, out=np.empty(4, np.float32)),
            r"^softmax: out has shape \(4,\); allowed: \(2, .*, 3\)",
        ),
        (lambda a: ogive.cross_entropy(a, four), r"cross_entropy: .*\(4,\)"),
    ],
)
@pytest.mark.parametrize("shape", [FEW, MANY])
def test_refusals_say_the_shapes(call, sentence, shape):
    with pytest.raises(ShapeError, match=sentence):
        call(x.reshape(shape))


def _webnn(kind, *shapes):
    builder = MLGraphBuilder(MLContext())
    operands = [builder.input(f"x{i}", {"dataType": "float32", "shape": list(shape)}) for i, shape in enumerate(shapes)]
    return getattr(builder, kind)(*operands)


def test_webnn_has_as_many_axes():
    assert _webnn("prelu", MANY, (3,)).shape == MANY
    assert _webnn("add", MANY, (4, 1)).shape == (*MANY[:-2], 4, 3)
    with pytest.raises(TypeError, match="equal sizes, or 1, from the last axis on"):
        _webnn("add", MANY, (4,))
    with pytest.raises(TypeError, match="has 65 axes; allowed: up to 64"):
        _webnn("add", (1,) * 65, (4,))


def test_results_are_those_of_few_axes():
    few, many = x.reshape(FEW), x.reshape(MANY)
    for call in (
        lambda a: ogive.prelu(a, three),
        lambda a: ogive.softmax(a),
        lambda a: ogive.vjp(ogive.prelu)(a, a, three)[0],
        lambda a: ogive.add(a, three, where=a > 0, out=np.zeros_like(a)),
    ):
        assert call(many).tobytes() == call(few).tobytes()
