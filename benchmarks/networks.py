"""Networks with random weights, written down node by node as exporters write them: no package, no download.

Every recipe has sizes for timing (`full`), and smaller ones for tests. Weights are normal numbers over the root of how many
products a sum has, so that values stay near 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

__all__ = ["RECIPES", "Recipe", "in_float64"]

OPSET = 20


class Net:
    """A graph that grows: values are their names, and weights come from one generator."""

    def __init__(self, dtype: str = "float32") -> None:
        self.nodes: list[Any] = []
        self.weights: dict[str, np.ndarray] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.dtype = np.dtype(dtype)
        self.generator = np.random.default_rng(0)

    def input(self, name: str, *shape: int | str, dtype: Any = None) -> str:
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype or self.dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: str, rank: int) -> None:
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        self.outputs.append(helper.make_tensor_value_info(value, kind, [None] * rank))

    def __call__(self, operator: str, *operands: Any, count: int = 1, **attributes: Any) -> Any:
        """A node; numbers and arrays among its operands become initialisers."""
        names = [o if isinstance(o, str) else self.constant(o) for o in operands]
        made = [f"{operator.lower()}_{len(self.nodes)}_{i}" for i in range(count)]
        domain = attributes.pop("domain", "")
        self.nodes.append(helper.make_node(operator, names, made, made[0], domain=domain, **attributes))
        return made[0] if count == 1 else tuple(made)

    def constant(self, value: Any) -> str:
        array = np.asarray(value)
        array = array.astype(self.dtype) if array.dtype.kind == "f" else array
        name = f"w{len(self.weights)}"
        self.weights[name] = array
        return name

    def weight(self, *shape: int, fan: int) -> str:
        return self.constant(self.generator.standard_normal(shape) / math.sqrt(fan))

    def linear(self, x: str, inner: int, outer: int) -> str:
        return str(self("Add", self("MatMul", x, self.weight(inner, outer, fan=inner)), self.weight(outer, fan=100)))

    def conv(self, x: str, inner: int, outer: int, kernel: int, stride: int = 1, groups: int = 1) -> str:
        fan = kernel * kernel * inner // groups
        weights = self.weight(outer, inner // groups, kernel, kernel, fan=fan), self.weight(outer, fan=100)
        pads = [kernel // 2] * 4
        made = self("Conv", x, *weights, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads, group=groups)
        return str(made)

    def model(self) -> ModelProto:
        tensors = [numpy_helper.from_array(array, name) for name, array in self.weights.items()]
        graph = helper.make_graph(self.nodes, "network", self.inputs, self.outputs, tensors)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        onnx.checker.check_model(made)
        return made


def _integers(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


# ---- activations, as exporters write them


def relu(net: Net, x: str) -> str:
    return str(net("Relu", x))


def hard_swish(net: Net, x: str) -> str:
    return str(net("HardSwish", x))


def hard_swish_in_pieces(net: Net, x: str) -> str:
    """Paddle's."""
    clipped = net("Clip", net("Add", x, np.float32(3)), np.float32(0), np.float32(6))
    return str(net("Div", net("Mul", x, clipped), np.float32(6)))


def silu(net: Net, x: str) -> str:
    return str(net("Mul", x, net("Sigmoid", x)))


def gelu(net: Net, x: str) -> str:
    inner = net("Add", net("Erf", net("Div", x, np.float32(math.sqrt(2)))), np.float32(1))
    return str(net("Mul", net("Mul", x, inner), np.float32(0.5)))


def gelu_by_tanh(net: Net, x: str) -> str:
    cube = net("Mul", net("Pow", x, np.float32(3)), np.float32(0.044715))
    inner = net("Tanh", net("Mul", net("Add", x, cube), np.float32(math.sqrt(2 / math.pi))))
    return str(net("Mul", net("Mul", x, np.float32(0.5)), net("Add", inner, np.float32(1))))


# ---- images


def _squeezed(net: Net, x: str, width: int, inner: int, activation: Any, gate: Any) -> str:
    pooled = net("GlobalAveragePool", x)
    narrow = activation(net, net.conv(pooled, width, inner, 1))
    return str(net("Mul", x, gate(net, net.conv(narrow, inner, width, 1))))


def _hard_sigmoid(net: Net, x: str) -> str:
    return str(net("HardSigmoid", x, alpha=1 / 6, beta=0.5))


def _sigmoid(net: Net, x: str) -> str:
    return str(net("Sigmoid", x))


def _inverted(
    net: Net, x: str, inner: int, wide: int, outer: int, kernel: int, stride: int, activation: Any, squeeze: Any
) -> str:
    made = activation(net, net.conv(x, inner, wide, 1)) if wide != inner else x
    made = activation(net, net.conv(made, wide, wide, kernel, stride, groups=wide))
    made = net.conv(squeeze(made, wide) if squeeze else made, wide, outer, 1)
    return str(net("Add", x, made)) if stride == 1 and inner == outer else str(made)


_MOBILE = [
    *((3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1)),
    *((5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1)),
    *((3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1)),
    (5, 960, 160, 1, 1, 1),
]  # fmt: skip


def _mobile(swish: Any, size: int, blocks: int) -> ModelProto:
    """As MobileNetV3: Howard and others, 2019."""
    net = Net()
    x, width = swish(net, net.conv(net.input("x", 1, 3, size, size), 3, 16, 3, 2)), 16
    for kernel, wide, outer, has_gate, is_swish, stride in _MOBILE[:blocks]:

        def squeeze(value: str, wide: int) -> str:
            return _squeezed(net, value, wide, max(8, wide // 4), relu, _hard_sigmoid)

        activation = swish if is_swish else relu
        x = _inverted(net, x, width, wide, outer, kernel, stride, activation, squeeze if has_gate else None)
        width = outer
    x = swish(net, net.conv(x, width, 6 * width, 1))
    x = net("Flatten", net("GlobalAveragePool", x))
    net.output(net.linear(swish(net, net.linear(x, 6 * width, 1280)), 1280, 1000), 2)
    return net.model()


#: Expansion, width, count, stride and kernel of each stage.
_EFFICIENT = [
    *((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5)),
    (6, 320, 1, 1, 3),
]


def _efficient(size: int, stages: int) -> ModelProto:
    """As EfficientNet-B0: Tan and Le, 2019."""
    net = Net()
    x, width = silu(net, net.conv(net.input("x", 1, 3, size, size), 3, 32, 3, 2)), 32
    for factor, outer, count, stride, kernel in _EFFICIENT[:stages]:
        for place in range(count):
            narrow = width // 4

            def squeeze(value: str, wide: int, narrow: int = narrow) -> str:
                return _squeezed(net, value, wide, narrow, silu, _sigmoid)

            step = stride if place == 0 else 1
            x, width = _inverted(net, x, width, factor * width, outer, kernel, step, silu, squeeze), outer
    x = net("Flatten", net("GlobalAveragePool", silu(net, net.conv(x, width, 4 * width, 1))))
    net.output(net.linear(x, 4 * width, 1000), 2)
    return net.model()


def _residual(size: int, width: int) -> ModelProto:
    """As ResNet-18: nothing in it for Ogive."""
    net = Net()
    x = relu(net, net.conv(net.input("x", 1, 3, size, size), 3, width, 7, 2))
    x = net("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage in range(4):
        for place in range(2):
            inner, outer = width * 2 ** (stage - (place == 0 and stage > 0)), width * 2**stage
            stride = 2 if inner != outer else 1
            made = net.conv(relu(net, net.conv(x, inner, outer, 3, stride)), outer, outer, 3)
            x = relu(net, net("Add", made, net.conv(x, inner, outer, 1, stride) if stride == 2 else x))
    net.output(net("Flatten", net("GlobalAveragePool", x)), 2)
    return net.model()


def _detector(size: int, width: int, depth: int) -> ModelProto:
    """As YOLOv8: convolutions with SiLU, cut and joined, and one step up."""
    net = Net()

    def block(x: str, inner: int, outer: int, kernel: int = 3, stride: int = 1) -> str:
        return silu(net, net.conv(x, inner, outer, kernel, stride))

    def cross(x: str, inner: int, outer: int) -> str:
        half = outer // 2
        left, right = net("Split", block(x, inner, outer, 1), count=2, axis=1, num_outputs=2)
        parts = [left, right]
        for _ in range(depth):
            right = net("Add", right, block(block(right, half, half), half, half))
            parts.append(right)
        return block(net("Concat", *parts, axis=1), half * len(parts), outer, 1)

    x = block(net.input("x", 1, 3, size, size), 3, width, 3, 2)
    found = []
    for stage in range(3):
        x = block(x, width * 2**stage, width * 2 ** (stage + 1), 3, 2)
        x = cross(x, width * 2 ** (stage + 1), width * 2 ** (stage + 1))
        found.append(x)
    pooled = [x]
    for _ in range(3):
        pooled.append(net("MaxPool", pooled[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2, 2, 2, 2]))
    x = block(net("Concat", *pooled, axis=1), 8 * width * 4, 8 * width, 1)
    up = net(
        "Resize", x, "", np.array([1, 1, 2, 2], np.float32), mode="nearest", coordinate_transformation_mode="asymmetric"
    )
    x = cross(net("Concat", up, found[1], axis=1), 12 * width, 4 * width)
    x = net("Sigmoid", net.conv(block(x, 4 * width, 4 * width), 4 * width, 84, 1))
    net.output(x, 4)
    return net.model()


# ---- transformers


def _layer_norm(net: Net, x: str, width: int) -> str:
    scale, shift = (net.constant(start + 0.1 * net.generator.standard_normal(width)) for start in (1, 0))
    return str(net("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-5))


def _rms_norm(net: Net, x: str, width: int) -> str:
    mean = net("ReduceMean", net("Pow", x, np.float32(2)), _integers([-1]), keepdims=1)
    root = net("Reciprocal", net("Sqrt", net("Add", mean, np.float32(1e-5))))
    return str(net("Mul", 1 + 0.1 * net.generator.standard_normal(width), net("Mul", x, root)))


def _dense(net: Net, x: str, length: int, inner: int, outer: int) -> str:
    """torch's new exporter: the product of two axes between two reshapes."""
    flat = net("Reshape", x, _integers([length, inner]))
    made = net("Gemm", flat, net.weight(outer, inner, fan=inner), net.weight(outer, fan=100), transB=1)
    return str(net("Reshape", made, _integers([1, length, outer])))


def _matmul(net: Net, x: str, _: int, inner: int, outer: int) -> str:
    return str(net("MatMul", x, net.weight(inner, outer, fan=inner)))


def _heads(net: Net, x: str, length: int, heads: int, width: int) -> str:
    return str(net("Transpose", net("Reshape", x, _integers([1, length, heads, width // heads])), perm=[0, 2, 1, 3]))


def _attention(
    net: Net, x: str, length: int, heads: int, width: int, mask: str, dense: Any, turn: Any = lambda value: value
) -> str:
    """As torch's new exporter writes scaled_dot_product_attention: masked rows become zeros."""
    q, k, v = (_heads(net, dense(net, x, length, width, width), length, heads, width) for _ in range(3))
    root = np.float32((width / heads) ** -0.25)
    turned = net("Transpose", turn(k), perm=[0, 1, 3, 2])
    scores = net("MatMul", net("Mul", turn(q), root), net("Mul", turned, root))
    soft = net("Softmax", net("Add", scores, mask), axis=-1)
    soft = net("Where", net("IsNaN", soft), np.float32(0), soft)
    joined = net("Reshape", net("Transpose", net("MatMul", soft, v), perm=[0, 2, 1, 3]), _integers([1, length, width]))
    return str(dense(net, joined, length, width, width))


def _mask(net: Net, length: int, *, is_causal: bool) -> str:
    """From an input of zeros and ones, as models have it."""
    given = net("Cast", net.input("mask", 1, length, dtype=np.int64), to=TensorProto.BOOL)
    seen = net("Reshape", given, _integers([1, 1, 1, length]))
    if is_causal:
        seen = net("And", seen, np.tril(np.ones((1, 1, length, length), bool)))
    least = np.float32(-np.inf) if net.dtype != np.float16 else np.float32(-65504)
    return str(net("Where", seen, np.float32(0), least))


def _embedded(net: Net, length: int, width: int) -> str:
    words = net.constant(net.generator.standard_normal((500, width)))
    return str(net("Gather", words, net.input("ids", 1, length, dtype=np.int64)))


def _encoder(layers: int, width: int, heads: int, length: int, dtype: str = "float32") -> ModelProto:
    """As BERT, by torch's new exporter; 6, 384 and 12 are MiniLM's."""
    net = Net(dtype)
    x = _layer_norm(net, net("Add", _embedded(net, length, width), net.weight(1, length, width, fan=4)), width)
    mask = _mask(net, length, is_causal=False)
    for _ in range(layers):
        x = _layer_norm(net, net("Add", _attention(net, x, length, heads, width, mask, _dense), x), width)
        wide = gelu(net, _dense(net, x, length, width, 4 * width))
        x = _layer_norm(net, net("Add", _dense(net, wide, length, 4 * width, width), x), width)
    net.output(x, 3)
    return net.model()


def _decoder(layers: int, width: int, heads: int, length: int) -> ModelProto:
    """As GPT-2."""
    net = Net()
    x = net("Add", _embedded(net, length, width), net.weight(1, length, width, fan=4))
    mask = _mask(net, length, is_causal=True)
    for _ in range(layers):
        x = net("Add", x, _attention(net, _layer_norm(net, x, width), length, heads, width, mask, _dense))
        wide = gelu_by_tanh(net, _dense(net, _layer_norm(net, x, width), length, width, 4 * width))
        x = net("Add", x, _dense(net, wide, length, 4 * width, width))
    net.output(_layer_norm(net, x, width), 3)
    return net.model()


def _llama(layers: int, width: int, heads: int, length: int) -> ModelProto:
    """As LLaMA: RMSNorm of primitives, rotary embedding, SwiGLU."""
    net = Net()
    x = _embedded(net, length, width)
    mask = _mask(net, length, is_causal=True)
    head = width // heads
    angles = np.arange(length)[:, None] / 10000.0 ** (np.arange(head // 2) * 2 / head)
    angles = np.concatenate([angles, angles], 1)
    cos, sin = net.constant(np.cos(angles)), net.constant(np.sin(angles))

    def turn(value: str) -> str:
        left, right = net("Split", value, _integers([head // 2] * 2), count=2, axis=-1)
        other = net("Concat", net("Neg", right), left, axis=-1)
        return str(net("Add", net("Mul", value, cos), net("Mul", other, sin)))

    for _ in range(layers):
        x = net("Add", x, _attention(net, _rms_norm(net, x, width), length, heads, width, mask, _matmul, turn))
        y = _rms_norm(net, x, width)
        gate = silu(net, _matmul(net, y, length, width, 8 * width // 3))
        gated = net("Mul", gate, _matmul(net, y, length, width, 8 * width // 3))
        x = net("Add", x, _matmul(net, gated, length, 8 * width // 3, width))
    net.output(_rms_norm(net, x, width), 3)
    return net.model()


def _vision(layers: int, width: int, heads: int, size: int) -> ModelProto:
    """As ViT: patches of 16, an encoder, with a class token of its own."""
    net = Net()
    length = (size // 16) ** 2 + 1
    made = net("Conv", net.input("x", 1, 3, size, size), net.weight(width, 3, 16, 16, fan=768), kernel_shape=[16, 16], strides=[16, 16])  # fmt: skip
    x = net("Transpose", net("Reshape", made, _integers([1, width, length - 1])), perm=[0, 2, 1])
    x = net("Add", net("Concat", net.weight(1, 1, width, fan=1), x, axis=1), net.weight(1, length, width, fan=4))
    mask = net.constant(np.zeros((1, 1, length, length)))
    for _ in range(layers):
        x = net("Add", x, _attention(net, _layer_norm(net, x, width), length, heads, width, mask, _dense))
        wide = gelu(net, _dense(net, _layer_norm(net, x, width), length, width, 4 * width))
        x = net("Add", x, _dense(net, wide, length, 4 * width, width))
    net.output(_layer_norm(net, x, width), 3)
    return net.model()


def _quantised(model: ModelProto) -> ModelProto:
    """The model as ONNX Runtime's tool quantises it, by nodes QuantizeLinear and DequantizeLinear."""
    import tempfile
    from pathlib import Path

    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = [feeds_of(model, seed) for seed in (1, 2)]

        def get_next(self) -> Any:
            return self.left.pop() if self.left else None

    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "quantised.onnx"
        quantize_static(model, to, Reader(), quant_format=QuantFormat.QDQ, per_channel=True)
        return onnx.load(to)


def _mobile_of_int8(size: int, blocks: int) -> ModelProto:
    return _quantised(_mobile(hard_swish, size, blocks))


# ---- the list


@dataclass(frozen=True)
class Recipe:
    """A network: how it is made, at full size or small."""

    make: Callable[..., ModelProto]
    full: tuple[Any, ...]
    small: tuple[Any, ...]
    has_float64: bool = True
    """Whether `in_float64` can compute it."""

    def model(self, *, small: bool = False) -> ModelProto:
        return self.make(*(self.small if small else self.full))


RECIPES: Mapping[str, Recipe] = {
    "mobilenet": Recipe(_mobile, (hard_swish, 224, 15), (hard_swish, 32, 8)),
    "mobilenet, swish in pieces": Recipe(_mobile, (hard_swish_in_pieces, 224, 15), (hard_swish_in_pieces, 32, 8)),
    "efficientnet": Recipe(_efficient, (224, 7), (32, 3)),
    "resnet": Recipe(_residual, (224, 64), (32, 8)),
    "detector": Recipe(_detector, (320, 16, 2), (64, 8, 1)),
    "mobilenet, int8": Recipe(_mobile_of_int8, (224, 15), (32, 4), has_float64=False),
    "bert": Recipe(_encoder, (6, 384, 12, 128), (1, 32, 2, 16)),
    "bert, float16": Recipe(_encoder, (6, 384, 12, 128, "float16"), (1, 32, 2, 16, "float16")),
    "gpt": Recipe(_decoder, (6, 384, 6, 128), (1, 32, 2, 16)),
    "llama": Recipe(_llama, (6, 384, 6, 128), (1, 48, 2, 16)),
    "vit": Recipe(_vision, (12, 192, 3, 224), (1, 32, 2, 32)),
}


def feeds_of(model: ModelProto, seed: int = 0, sizes: Mapping[str, tuple[int, ...]] | None = None) -> dict[str, Any]:
    """Inputs for a model: normal numbers, small integers; axes without a size have one element, unless ``sizes`` has them."""
    generator = np.random.default_rng(seed)
    given = {tensor.name for tensor in model.graph.initializer}
    made = {}
    for info in model.graph.input:
        if info.name in given:
            continue
        kind = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        shape = (sizes or {}).get(info.name) or [max(d.dim_value, 1) for d in info.type.tensor_type.shape.dim]
        if info.name == "mask":
            made[info.name] = np.ones(shape, kind)
        elif kind.kind in "iu":
            made[info.name] = generator.integers(0, 200, shape).astype(kind)
        else:
            made[info.name] = generator.standard_normal(shape).astype(kind)
    return made


# ---- the same in float64


def in_float64(model: ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a network of this file, computed by torch in float64."""
    import torch

    def tensor(array: np.ndarray) -> Any:
        made = torch.from_numpy(np.array(array))
        return made.double() if made.is_floating_point() else made

    values = {t.name: tensor(numpy_helper.to_array(t)) for t in model.graph.initializer}
    values |= {name: tensor(array) for name, array in feeds.items()}
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        made = _TORCH[node.op_type](torch, attributes, *(values.get(name) for name in node.input))
        values.update(zip(node.output, made if isinstance(made, tuple) else (made,), strict=True))
    return [values[info.name].numpy() for info in model.graph.output]


def _pairs(pads: Any) -> tuple[int, int]:
    return int(pads[0]), int(pads[1])


def _named(name: str) -> Callable[..., Any]:
    return lambda torch, _, *x: getattr(torch, name)(*x)


_NAMES = ("relu", "sigmoid", "erf", "tanh", "add", "mul", "div", "pow", "where", "sqrt", "reciprocal", "neg")

_TORCH: Mapping[str, Callable[..., Any]] = {
    **{name.title(): _named(name) for name in _NAMES},
    "And": _named("logical_and"),
    "IsNaN": _named("isnan"),
    "MatMul": _named("matmul"),
    "Clip": lambda torch, _, x, low, high: x.clamp(low, high),
    "HardSwish": lambda torch, _, x: torch.nn.functional.hardswish(x),
    "HardSigmoid": lambda torch, a, x: (x * a["alpha"] + a["beta"]).clamp(0, 1),
    "Softmax": lambda torch, a, x: x.softmax(a["axis"]),
    "Conv": lambda torch, a, x, w, b=None: torch.nn.functional.conv2d(
        x, w, b, a.get("strides", 1), _pairs(a.get("pads", (0, 0))), 1, a.get("group", 1)
    ),
    "MaxPool": lambda torch, a, x: torch.nn.functional.max_pool2d(x, a["kernel_shape"], a["strides"], _pairs(a["pads"])),
    "GlobalAveragePool": lambda torch, _, x: x.mean((2, 3), keepdim=True),
    "Resize": lambda torch, _, x, *__: x.repeat_interleave(2, 2).repeat_interleave(2, 3),
    "Flatten": lambda torch, _, x: x.flatten(1),
    "Gemm": lambda torch, a, x, w, b: x @ w.T + b,
    "Reshape": lambda torch, _, x, shape: x.reshape(tuple(shape)),
    "Transpose": lambda torch, a, x: x.permute(tuple(a["perm"])),
    "Concat": lambda torch, a, *x: torch.cat(x, a["axis"]),
    "Split": lambda torch, a, x, *_: x.chunk(2, a["axis"]),
    "Gather": lambda torch, _, x, at: x[at],
    "Cast": lambda torch, _, x: x.bool(),
    "ReduceMean": lambda torch, _, x, axes: x.mean(tuple(axes), keepdim=True),
    "LayerNormalization": lambda torch, a, x, scale, shift: torch.nn.functional.layer_norm(
        x, x.shape[-1:], scale, shift, a["epsilon"]
    ),
}  # fmt: skip
