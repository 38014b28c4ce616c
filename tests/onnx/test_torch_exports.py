"""Modules exported by PyTorch load, and compute what PyTorch computes in float64.

The older exporter writes all of them; the newer one (``dynamo``) takes seconds for each, so that a few are exported here and
all of them with ``OGIVE_ALL_EXPORTS=1``.
"""

import io
import os
import warnings

import numpy as np
import onnx
import pytest

import ogive.onnx

torch = pytest.importorskip("torch", reason="torch is not installed")
nn, F = torch.nn, torch.nn.functional

ALL = os.environ.get("OGIVE_ALL_EXPORTS") == "1"


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function, **parameters):
        super().__init__()
        self.function = function
        for name, shape in parameters.items():
            self.register_parameter(name, nn.Parameter(torch.rand(shape)))

    def forward(self, x):
        return self.function(x, *self.parameters())


def gated(activation):
    def function(x):
        a, b = x.chunk(2, -1)
        return activation(a) * b

    return Of(function)


def rotary(x):
    half = x.shape[-1] // 2
    steps = torch.arange(x.shape[-2], dtype=x.dtype)
    rates = 1.0 / (10000 ** (torch.arange(0, half, dtype=x.dtype) / half))
    angles = steps[:, None] * rates[None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)


def masked_softmax(x):
    mask = torch.tril(torch.ones(x.shape[-2], x.shape[-1], dtype=torch.bool))
    return torch.softmax(x.masked_fill(~mask, float("-inf")), -1)


ACTIVATIONS = [
    "ReLU",
    "ReLU6",
    "LeakyReLU",
    "PReLU",
    "RReLU",
    "ELU",
    "CELU",
    "SELU",
    "GELU",
    "SiLU",
    "Mish",
    "Softplus",
    "Softsign",
    "Tanh",
    "Sigmoid",
    "LogSigmoid",
    "Hardtanh",
    "Hardsigmoid",
    "Hardswish",
    "Hardshrink",
    "Softshrink",
    "Tanhshrink",
    "Identity",
    "Dropout",
]

MODULES = {
    **{name: getattr(nn, name)() for name in ACTIVATIONS},
    "GELU by tanh": nn.GELU(approximate="tanh"),
    "Threshold": nn.Threshold(0.1, 2.0),
    **{name: getattr(nn, name)(-1) for name in ("Softmax", "LogSoftmax", "Softmin", "GLU")},
    "Softmax2d": nn.Softmax2d(),
    "SwiGLU": gated(F.silu),
    "GEGLU": gated(F.gelu),
    "ReGLU": gated(F.relu),
    "RMS by hand": Of(lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, weight=8),
    "RMSNorm": nn.RMSNorm(8),
    "LayerNorm": nn.LayerNorm(8),
    "LayerNorm, no parameters": nn.LayerNorm(8, elementwise_affine=False),
    "GroupNorm": nn.GroupNorm(2, 4),
    "InstanceNorm": nn.InstanceNorm2d(4, affine=True),
    "BatchNorm": nn.BatchNorm2d(4),
    "RoPE": Of(rotary),
    "masked softmax": Of(masked_softmax),
    "quick GELU": Of(lambda x: x * torch.sigmoid(1.702 * x)),
    "squareplus": Of(lambda x: (x + torch.sqrt(x * x + 4)) / 2),
    "soft cap": Of(lambda x: torch.tanh(x / 30) * 30),
    "clamp": Of(lambda x: torch.clamp(x, -0.5, 0.5)),
    "snake": Of(lambda x: x + torch.sin(x) ** 2),
    "hypot": Of(lambda x: torch.sqrt(x * x + 1)),
    "logsumexp": Of(lambda x: torch.logsumexp(x, -1)),
    "normalize": Of(lambda x: F.normalize(x, dim=-1)),
    "where": Of(lambda x: torch.where(x > 0, x, x * 0.1)),
    "cube": Of(lambda x: x**3),
    "cumsum": Of(lambda x: torch.cumsum(x, -1)),
    "topk": Of(lambda x: torch.topk(x, 3)[0]),
    "pad": Of(lambda x: F.pad(x, (1, 2))),
    "flip": Of(lambda x: x.flip(-1)),
    "roll": Of(lambda x: torch.roll(x, 1, -1)),
    "permute": Of(lambda x: x.permute(0, 2, 3, 1)),
    "stack": Of(lambda x: torch.stack([x, x * 2])),
    "split": Of(lambda x: torch.cat(torch.split(x, 2, -1)[::-1], -1)),
    "gather": Of(lambda x: x[:, [0, 2]]),
    "erf": Of(torch.erf),
    "log1p": Of(lambda x: torch.log1p(x.abs())),
    "expm1": Of(torch.expm1),
    "amax": Of(lambda x: x.amax(-1)),
    "argmax": Of(lambda x: x.argmax(-1)),
    "tril": Of(torch.tril),
    "repeat": Of(lambda x: x.repeat(1, 1, 1, 2)),
    "logaddexp": Of(lambda x: torch.logaddexp(x, x * 2)),
    "squared ReLU": Of(lambda x: F.relu(x) ** 2),
    "hard mish": Of(lambda x: x / 2 * torch.clamp(x + 2, 0, 2)),
    "sum": Of(lambda x: x.sum((2, 3))),
}


def attention(x):
    """Causal, with rotary positions and capped scores."""
    turned = rotary(x)
    scores = torch.tanh(turned @ turned.transpose(-1, -2) / 8**0.5 / 5) * 5
    return masked_softmax(scores) @ x


class FeedForward(nn.Module):
    """As in LLaMA: a normalisation, a gated linear unit, and what came in added."""

    def __init__(self):
        super().__init__()
        self.norm, self.wide, self.back = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(12, 8)

    def forward(self, x):
        a, b = self.wide(self.norm(x)).chunk(2, -1)
        return x + self.back(F.silu(a) * b)


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        rows = x.flatten(0, 1)
        return self.heads(rows, rows, rows, need_weights=False)[0]


#: Modules that have matrix products or convolutions, which ONNX Runtime computes.
PARTIAL = {
    "linear": nn.Linear(8, 8),
    "bilinear gate": Of(lambda x, w: (x @ w) * x, weight=(8, 8)),
    "MLP": nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)),
    "feed-forward with SwiGLU": FeedForward(),
    "attention with RoPE": Of(attention),
    "MultiheadAttention": SelfAttention(),
    "convolution": nn.Sequential(nn.Conv2d(4, 4, 3), nn.SiLU()),
    "convolutions and norms": nn.Sequential(
        nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.Hardswish(), nn.Conv2d(8, 8, 1), nn.GroupNorm(2, 8), nn.PReLU()
    ),
}

#: Those that the newer exporter writes in every run of the tests.
NEWER_PARTIAL = PARTIAL if ALL else ["feed-forward with SwiGLU"]

#: Modules that the exporters themselves do not take.
NOT_EXPORTED = {
    False: {"Threshold", "RMSNorm", "expm1", "logaddexp"},
    True: {"RReLU"},
}

NEWER = MODULES if ALL else ["SwiGLU", "LayerNorm", "RoPE"]

X = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 4, 6, 8)).astype(np.float32))


def exported(module, *, dynamo):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own
        if dynamo:
            return torch.onnx.export(module, (X,), dynamo=True, verbose=False).model_proto
        file = io.BytesIO()
        torch.onnx.export(module, (X,), file, dynamo=False, opset_version=17)
        return onnx.load_from_string(file.getvalue())


def right(module):
    with torch.no_grad():
        result = module.double()(X.double()).numpy()
    module.float()
    return result


def check(name, *, dynamo):
    module = MODULES[name].eval()
    result = ogive.onnx.load(exported(module, dynamo=dynamo))(X.numpy())
    np.testing.assert_allclose(result, right(module), rtol=2e-5, atol=2e-6)


def test_there_are_enough():
    assert len(MODULES.keys() - NOT_EXPORTED[False]) >= 60


@pytest.mark.matrix(share=5)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in MODULES if name not in NOT_EXPORTED[False]])
def test_older_exporter(name):
    check(name, dynamo=False)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in NEWER if name not in NOT_EXPORTED[True]])
def test_newer_exporter(name):
    pytest.importorskip("onnxscript", reason="onnxscript, which the newer exporter needs, is not installed")
    check(name, dynamo=True)


def test_activations_are_those_of_torch():
    """All that are modules of one tensor; attention is below."""
    known = {type(module).__name__ for module in MODULES.values()}
    assert set(nn.modules.activation.__all__) - known == {"MultiheadAttention"}


@pytest.mark.matrix(share=5)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "dynamo"), [*((name, False) for name in PARTIAL), *((name, True) for name in NEWER_PARTIAL)]
)
def test_with_products_of_matrices(name, dynamo):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    if dynamo:
        pytest.importorskip("onnxscript", reason="onnxscript, which the newer exporter needs, is not installed")
    module = PARTIAL[name].eval()
    run = ogive.onnx.load(exported(module, dynamo=dynamo), partial=True)
    assert not all(part.is_ogive for part in run.parts)
    assert any(part.is_ogive for part in run.parts) or name == "linear"
    result = run(X.numpy())
    np.testing.assert_allclose(result, right(module), rtol=2e-5, atol=2e-6)
