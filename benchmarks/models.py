"""ONNX models that are timed, and the same computation written in torch. Nothing here knows how a peer is called.

A model is the text of its nodes; the tensors that it takes have one of three shapes. Constants are numbers that
float32 holds exactly, so that all compute the same function, in float64 too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

__all__ = ["MODELS", "MODEL_SIZES", "Model", "ModelCase", "model_cases"]

MODEL_SIZES = (16, 1000, 1 << 16, 1 << 20, 1 << 24)

#: The length of rows in arrays whose size is a multiple of it; others are one row.
COLUMNS = 1 << 10

OPSET = 22


@dataclass(frozen=True)
class Model:
    """A model of float32 tensors: `x` and what else it takes, and its results."""

    nodes: str
    """As ONNX's text format has them."""
    torch: str
    """The results as an expression of the inputs' names, `torch` and `F`, which is torch.nn.functional."""
    inputs: str = "x"
    """Their names; a capital letter is one row of columns, which is broadcast."""
    outputs: str = "y"
    """Their names; `rows(name)` has one element a row, `row(name)` the same without its axis, `columns(name)` one a column,
    `half(name)` every second column."""
    exact: str = ""
    """The results without cancellation, for float64, where `torch` would lose digits even there."""
    is_rows: bool = False
    """Whether arrays are matrices; else they have one axis, unless an input is broadcast."""
    is_columns: bool = False
    """Whether they are matrices of several rows, however small."""


#: Constants by name; one that nodes use is a node too.
_CONSTANTS = {
    "zero": 0.0,
    "half": 0.5,
    "one": 1.0,
    "three": 3.0,
    "six": 6.0,
    "low": -2.0,
    "high": 2.0,
    "eps": 2.0**-17,
    "root2": float(np.float32(math.sqrt(2))),
    "rsqrt2": float(np.float32(math.sqrt(0.5))),
    "cubic": float(np.float32(0.044715)),
    "root2pi": float(np.float32(math.sqrt(2 / math.pi))),
    "step": 2.0**-4,
    "least": -128.0,
    "most": 127.0,
    "noise": 1.25,
    "temperature": 0.125,
}

_LAYER_NORM = """
    mean = ReduceMean(x, last)  centred = Sub(x, mean)  square = Mul(centred, centred)
    variance = ReduceMean(square, last)  safe = Add(variance, eps)  deviation = Sqrt(safe)
    normal = Div(centred, deviation)
"""

_EXACT_GELU = "x * torch.erfc(-x / 2**0.5) * 0.5"

MODELS = {
    # One operator.
    "relu": Model("y = Relu(x)", "torch.relu(x)"),
    "celu": Model("y = Celu<alpha=1.5>(x)", "F.celu(x, 1.5)"),
    "sigmoid": Model("y = Sigmoid(x)", "torch.sigmoid(x)"),
    "tanh": Model("y = Tanh(x)", "torch.tanh(x)"),
    "gelu": Model("y = Gelu(x)", "F.gelu(x)", exact=_EXACT_GELU),
    "softmax": Model("y = Softmax(x)", "torch.softmax(x, -1)", is_rows=True),
    "add a row": Model("y = Add(x, B)", "x + B", "x B"),
    # Ten operators.
    "ten cheap operators": Model(
        """a = Mul(x, half)  b = Add(a, one)  c = Relu(b)  d = Sub(c, three)  e = Abs(d)  f = Neg(e)  g = Max(f, x)
           h = Mul(g, x)  i = Add(h, x)  y = Clip(i, low, high)""",
        "torch.clamp(torch.maximum(-torch.abs(torch.relu(x * 0.5 + 1) - 3), x) * x + x, -2, 2)",
    ),
    "ten activations": Model(
        """a = Celu<alpha=1.5>(x)  b = Tanh(a)  c = Softplus(b)  d = Mish(c)  e = Elu(d)  f = HardSwish(e)
           g = Gelu(f)  h = Softsign(g)  i = Sigmoid(h)  y = Tanh(i)""",
        "torch.tanh(torch.sigmoid(F.softsign(F.gelu(F.hardswish(F.elu(F.mish(F.softplus(torch.tanh("
        "F.celu(x, 1.5))))))))))",
    ),
    # Activations of several operators.
    "gelu by erf": Model(
        "a = Div(x, root2)  b = Erf(a)  c = Add(b, one)  d = Mul(x, c)  y = Mul(d, half)",
        "x * (1 + torch.erf(x / root2)) * 0.5",
        exact=_EXACT_GELU,
    ),
    "gelu by tanh": Model(
        """a = Mul(x, x)  b = Mul(a, x)  c = Mul(b, cubic)  d = Add(x, c)  e = Mul(d, root2pi)  f = Tanh(e)
           g = Add(f, one)  h = Mul(x, g)  y = Mul(h, half)""",
        "x * (1 + torch.tanh((x + x * x * x * cubic) * root2pi)) * 0.5",
        exact="x * torch.sigmoid(2 * (x + x * x * x * cubic) * root2pi)",
    ),
    "silu": Model("s = Sigmoid(x)  y = Mul(x, s)", "x * torch.sigmoid(x)"),
    "mish by parts": Model("s = Softplus(x)  t = Tanh(s)  y = Mul(x, t)", "x * torch.tanh(F.softplus(x))"),
    "hard swish by parts": Model(
        "a = Div(x, six)  b = Add(a, half)  c = Clip(b, zero, one)  y = Mul(x, c)",
        "x * torch.clamp(x / 6 + 0.5, 0, 1)",
    ),
    "swiglu block": Model(
        "a = Add(x, P)  s = Sigmoid(a)  silu = Mul(a, s)  b = Add(g, Q)  y = Mul(silu, b)",
        "F.silu(x + P) * (g + Q)",
        "x g P Q",
    ),
    "gate": Model("a = Tanh(x)  b = Sigmoid(g)  y = Mul(a, b)", "torch.tanh(x) * torch.sigmoid(g)", "x g"),
    "residual": Model("a = Add(x, B)  b = Relu(a)  y = Add(b, r)", "torch.relu(x + B) + r", "x r B"),
    "scale, shift, leaky relu": Model(
        "a = Mul(x, S)  b = Add(a, B)  y = LeakyRelu<alpha=0.125>(b)", "F.leaky_relu(x * S + B, 0.125)", "x S B"
    ),
    # Rows.
    "layer norm": Model(
        _LAYER_NORM + "scaled = Mul(normal, S)  y = Add(scaled, B)",
        "F.layer_norm(x, (x.shape[-1],), S, B, eps)",
        "x S B",
    ),
    "rms norm": Model(
        """square = Mul(x, x)  mean = ReduceMean(square, last)  safe = Add(mean, eps)  root = Sqrt(safe)
           normal = Div(x, root)  y = Mul(normal, S)""",
        "x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * S",
        "x S",
    ),
    "softmax with scale and mask": Model(
        "a = Mul(x, temperature)  b = Add(a, mask)  y = Softmax(b)",
        "torch.softmax(x * 0.125 + mask, -1)",
        "x mask",
        is_rows=True,
    ),
    "softmax by parts": Model(
        """m = ReduceMax(x, last)  a = Sub(x, m)  e = Exp(a)  s = ReduceSum(e, last)  y = Div(e, s)""",
        "(lambda e: e / e.sum(-1, keepdim=True))(torch.exp(x - x.amax(-1, keepdim=True)))",
        is_rows=True,
    ),
    "mean and variance": Model(
        """m = ReduceMean(x, last)  c = Sub(x, m)  s = Mul(c, c)  v = ReduceMean(s, last)""",
        "(x.mean(-1, keepdim=True), x.var(-1, correction=0, keepdim=True))",
        outputs="rows(m) rows(v)",
        is_rows=True,
    ),
    "standardise by the range": Model(
        """l = ReduceMin(x, last)  h = ReduceMax(x, last)  r = Sub(h, l)  d = Sub(x, l)  y = Div(d, r)""",
        "(x - x.amin(-1, keepdim=True)) / (x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True))",
        is_rows=True,
    ),
    "unit length": Model(
        "s = Mul(x, x)  t = ReduceSum(s, last)  r = Sqrt(t)  y = Div(x, r)",
        "x / torch.sqrt((x * x).sum(-1, keepdim=True))",
        is_rows=True,
    ),
    # Other axes.
    "sums of columns": Model(
        "y = ReduceSum<keepdims=0>(x, first)", "x.sum(0)", outputs="columns(y)", is_rows=True, is_columns=True
    ),
    "means without their axis": Model(
        "y = ReduceMean<keepdims=0>(x, last)", "x.mean(-1)", outputs="row(y)", is_rows=True, is_columns=True
    ),
    "softmax of columns": Model("y = Softmax<axis=0>(x)", "torch.softmax(x, 0)", is_rows=True, is_columns=True),
    # Signals and numbers of few bits.
    "wavelet shrinkage": Model(
        "a = Div(x, noise)  b = Shrink<lambd=3.0, bias=3.0>(a)  y = Mul(b, noise)", "F.softshrink(x / 1.25, 3.0) * 1.25"
    ),
    "haar shrinkage": Model(
        """l = Slice(x, from0, to, last, by2)  r = Slice(x, from1, to, last, by2)
           s = Add(l, r)  d = Sub(l, r)  a = Mul(s, rsqrt2)  b = Mul(d, rsqrt2)
           k = Shrink<lambd=1.5, bias=1.5>(b)
           p = Add(a, k)  q = Sub(a, k)  even = Mul(p, rsqrt2)  odd = Mul(q, rsqrt2)""",
        "(lambda a, k: ((a + k) * rsqrt2, (a - k) * rsqrt2))("
        "(x[..., ::2] + x[..., 1::2]) * rsqrt2, F.softshrink((x[..., ::2] - x[..., 1::2]) * rsqrt2, 1.5))",
        outputs="half(even) half(odd)",
        is_rows=True,
    ),
    "quantise, activate, dequantise": Model(
        """a = Div(x, step)  b = Round(a)  c = Clip(b, least, most)  q = Cast<to=3>(c)
           f = Cast<to=1>(q)  g = Mul(f, step)  h = HardSwish(g)  i = Div(h, step)  j = Round(i)
           k = Clip(j, least, most)  y = Mul(k, step)""",
        "torch.clamp(torch.round(F.hardswish(torch.clamp(torch.round(x / step), -128, 127).to(torch.int8)"
        ".to(x.dtype) * step) / step), -128, 127) * step",
    ),
}

_LISTS = {"last": [-1], "first": [0], "from0": [0], "from1": [1], "by2": [2], "to": [2**31 - 1]}


@dataclass(frozen=True)
class ModelCase:
    """One model on arrays of one size: as `Case`, to what measures and prints."""

    operator: str
    """The model's name."""
    elements: int
    """The number of elements of the first input."""
    threads: int = 2
    section: str = "models"
    dtype: str = "float32"
    in_place: bool = False
    layout: str = "contiguous"

    @property
    def model(self) -> Model:
        return MODELS[self.operator]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.model.inputs.split())

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """The results' names and shapes."""
        shape, made = self._shape, {}
        for text in self.model.outputs.split():
            kind, _, name = text.rstrip(")").rpartition("(")
            made[name] = {
                "": shape,
                "rows": (*shape[:-1], 1),
                "row": shape[:-1],
                "columns": shape[1:],
                "half": (*shape[:-1], shape[-1] // 2),
            }[kind]
        return made

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(self._shape[-1:] if name.isupper() else self._shape for name in self.names)

    @property
    def _shape(self) -> tuple[int, ...]:
        if not self.model.is_rows and not any(name.isupper() for name in self.names):
            return (self.elements,)
        columns = COLUMNS if self.elements % COLUMNS == 0 else self.elements
        if self.model.is_columns and columns == self.elements:
            columns //= next((rows for rows in (10, 4, 2) if columns % rows == 0), 1)
        return (self.elements // columns, columns)

    def arrays(self) -> list[np.ndarray]:
        """Ordinary activations, as those of the other sections."""
        generator = np.random.default_rng(0)
        pattern = generator.standard_normal(min(1 << 20, self.elements), dtype=np.float32) * 3
        return [np.resize(np.roll(pattern, 7 * i), shape) for i, shape in enumerate(self.shapes)]

    def onnx(self) -> bytes:
        """The model, for these shapes."""
        from onnx import parser

        def typed(name: str, shape: tuple[int, ...]) -> str:
            return f"float[{','.join(map(str, shape))}] {name}"

        inputs = ", ".join(map(typed, self.names, self.shapes))
        outputs = ", ".join(typed(name, shape) for name, shape in self.outputs.items())
        used = set(self.model.nodes.replace("(", " ").replace(")", " ").replace(",", " ").split())
        constants = [f"{n} = Constant<value_float={v!r}>()" for n, v in _CONSTANTS.items() if n in used]
        constants += [f"{n} = Constant<value_ints={v!r}>()" for n, v in _LISTS.items() if n in used]
        nodes = " ".join([*constants, self.model.nodes])
        header = f'<ir_version: 10, opset_import: ["" : {OPSET}]>'
        data: bytes = parser.parse_model(f"{header} model ({inputs}) => ({outputs}) {{ {nodes} }}").SerializeToString()
        return data

    def torch_function(self, *, exact: bool = False) -> tuple[str, dict[str, float]]:
        """The text of a function of the inputs, and the constants that it uses."""
        return f"lambda {', '.join(self.names)}: {(exact and self.model.exact) or self.model.torch}", dict(_CONSTANTS)


def model_cases(models: tuple[str, ...], sizes: tuple[int, ...], threads: int) -> list[ModelCase]:
    """The cases of the section; of all models and sizes where none is named."""

    def made() -> Iterator[ModelCase]:
        for name in models or MODELS:
            for size in sizes or MODEL_SIZES:
                yield ModelCase(name, size, threads)

    return list(made())
