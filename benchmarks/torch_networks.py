"""Networks of torch as they are and with Ogive's activations by ``ogive.torch.replace``: eager, and compiled by torch.

They are written as torchvision and transformers write them, with random weights, and infer. Rounds take turns; medians are
compared. The first output of each is compared with that in float64, so errors stand beside the times.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from timeit import Timer
from typing import Any

from benchmarks.torch_calls import clock_of_threads, medians

__all__ = ["SECTIONS"]

#: These are compiled as well: one of each kind, since torch takes up to a minute for one.
COMPILED = ("mlp", "vit", "llama")


def made() -> dict[str, tuple[Any, Any]]:
    """Modules and their inputs, by name."""
    import torch
    from torch import nn

    torch.manual_seed(0)

    def conv(inner: int, outer: int, kernel: int, stride: int, groups: int, activation: Any) -> Any:
        parts = [nn.Conv2d(inner, outer, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outer)]
        return nn.Sequential(*parts, *([activation(inplace=True)] if activation else []))

    class Squeeze(nn.Module):
        def __init__(self, width: int, activation: Any, gate: Any) -> None:
            super().__init__()
            self.narrow, self.wide = nn.Conv2d(width, width // 4, 1), nn.Conv2d(width // 4, width, 1)
            self.activation, self.gate = activation(inplace=True), gate()

        def forward(self, x: Any) -> Any:
            return x * self.gate(self.wide(self.activation(self.narrow(x.mean((2, 3), keepdim=True)))))

    class Inverted(nn.Module):
        def __init__(self, inner: int, wide: int, outer: int, stride: int, activation: Any, squeeze: Any) -> None:
            super().__init__()
            self.adds = stride == 1 and inner == outer
            parts = [conv(inner, wide, 1, 1, 1, activation), conv(wide, wide, 3, stride, wide, activation)]
            self.parts = nn.Sequential(*parts, squeeze(wide), conv(wide, outer, 1, 1, 1, None))

        def forward(self, x: Any) -> Any:
            inner = self.parts(x)
            return x + inner if self.adds else inner

    def images(activation: Any, squeeze: Any) -> Any:
        widths = (16, 24, 24, 40, 40, 80, 80, 112, 160, 160)
        layers = [conv(3, 16, 3, 2, 1, activation)]
        for inner, outer in pairwise(widths):
            layers.append(Inverted(inner, 4 * inner, outer, 1 if inner == outer else 2, activation, squeeze))
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(160, 1000))

    class Attention(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads, self.of, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            q, k, v = self.of(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            return self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    class Gated(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.gate, self.up, self.down = (nn.Linear(*o, bias=False) for o in (*2 * ((width, 1024),), (1024, width)))
            self.activation = nn.SiLU()

        def forward(self, x: Any) -> Any:
            return self.down(self.activation(self.gate(x)) * self.up(x))

    class Block(nn.Module):
        def __init__(self, width: int, heads: int, norm: Any, inner: Any) -> None:
            super().__init__()
            self.attention, self.inner = Attention(width, heads), inner(width)
            self.before, self.between = norm(width), norm(width)

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.before(x))
            return x + self.inner(self.between(x))

    def dense(activation: Any) -> Callable[[int], Any]:
        return lambda width: nn.Sequential(nn.Linear(width, 4 * width), activation(), nn.Linear(4 * width, width))

    def blocks(count: int, width: int, heads: int, norm: Any, inner: Any) -> Any:
        return nn.Sequential(*(Block(width, heads, norm, inner) for _ in range(count)), norm(width))

    def by_tanh() -> Any:
        return nn.GELU(approximate="tanh")

    image, text = torch.randn(1, 3, 224, 224), torch.randn(1, 128, 384)
    hard, silu = nn.Hardswish, nn.SiLU
    layers = [layer for _ in range(4) for layer in (nn.Linear(1024, 1024), nn.GELU())]
    return {
        "mlp": (nn.Sequential(*layers), torch.randn(64, 1024)),
        "mobilenet": (images(hard, lambda width: Squeeze(width, nn.ReLU, nn.Hardsigmoid)), image),
        "efficientnet": (images(silu, lambda width: Squeeze(width, silu, nn.Sigmoid)), image),
        "detector": (
            nn.Sequential(*(conv(c, 2 * c if c > 3 else 16, 3, 2, 1, silu) for c in (3, 16, 32, 64, 128))),
            image,
        ),
        "bert": (blocks(6, 384, 12, nn.LayerNorm, dense(nn.GELU)), text),
        "gpt": (blocks(6, 384, 6, nn.LayerNorm, dense(by_tanh)), text),
        "llama": (blocks(6, 384, 6, nn.RMSNorm, Gated), text),
        "vit": (blocks(12, 192, 3, nn.LayerNorm, dense(nn.GELU)), torch.randn(1, 197, 192)),
    }


def networks(rounds: int, advance: Callable[[], None]) -> list[dict[str, object]]:
    """Inference of eight networks, eager, and of some compiled."""
    if find_spec("torch") is None:
        return []
    import torch

    import ogive.torch

    torch.set_num_threads(ogive.get_num_threads())
    clock = clock_of_threads()
    rows: list[dict[str, object]] = []
    for name, (model, x) in made().items():
        model.eval()
        exact = copy.deepcopy(model).double()(x.double()).detach()
        given = {"eager": model}
        for peer, contract in (("ogive", "exact"), ("fast", "fast")):
            given[peer] = ogive.torch.replace(copy.deepcopy(model), accuracy=contract)
        ways = ("eager", *(("compiled",) if name in COMPILED else ()))
        for way in ways:
            torch._dynamo.reset()
            run = {p: torch.compile(m) if way == "compiled" else m for p, m in given.items()}
            with torch.no_grad():
                errors = {p: float((m(x).double() - exact).square().mean().sqrt()) for p, m in run.items()}
                timers = {peer: Timer("network(x)", "", clock, {"network": m, "x": x}) for peer, m in run.items()}
                seconds = medians(timers, 2 * rounds)
            rows.append({"name": name, "what": way, "elements": x.numel(), "seconds": seconds, "errors": errors})
        advance()
    return rows


#: As in startup.py.
SECTIONS: dict[str, tuple[Callable[[int, Callable[[], None]], list[dict[str, object]]], Callable[[int], int]]] = {
    "torch-networks": (networks, lambda rounds: 8),
}
