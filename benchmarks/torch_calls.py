"""``ogive.torch`` beside torch: what a short call costs, and forward plus backward beside eager torch and torch.compile; and
gradients of ``ogive.jax`` beside those of ``jax.nn``.

All are timed in interleaved rounds of one process, on as many threads each, and medians are compared. On one thread forward plus
backward is the process's CPU time, which other processes lengthen less.
"""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from timeit import Timer
from types import SimpleNamespace
from typing import Any

from benchmarks.peers import limit_threads

__all__ = ["SECTIONS", "clock_of_threads", "medians"]

#: Ours, and torch's.
PAIRS = {
    "relu": ("ogive.torch.relu(x)", "F.relu(x)"),
    "celu": ("ogive.torch.celu(x, alpha=1.5)", "F.celu(x, 1.5)"),
    "gelu": ("ogive.torch.gelu(x)", "F.gelu(x)"),
    "silu": ("ogive.torch.swish(x)", "F.silu(x)"),
    "mish": ("ogive.torch.mish(x)", "F.mish(x)"),
    "tanh": ("ogive.torch.tanh(x)", "torch.tanh(x)"),
}
SHORT = 16
SIZES = (1 << 16, 1 << 20, 1 << 24)
#: More activations of training, at the sizes of layers; and functions of rows, of these shapes.
TRAINED = {
    **{name: pair for name, pair in PAIRS.items() if name != "celu"},
    "sigmoid": ("ogive.torch.sigmoid(x)", "torch.sigmoid(x)"),
    "softplus": ("ogive.torch.softplus(x)", "F.softplus(x)"),
}
ROWS = {
    "softmax": ("ogive.torch.softmax(x)", "torch.softmax(x, -1)"),
    "layer norm": ("ogive.torch.layer_normalization(x, w, b)", "F.layer_norm(x, w.shape, w, b)"),
    "RMS norm": ("ogive.torch.rms_normalization(x, w)", "F.rms_norm(x, w.shape, w, 1e-5)"),
    "cross entropy": ("losses.ogive(x, labels)", "losses.torch(x, labels)"),
}
SHAPES = ((1, 16), (8, 128), (128, 512), (1024, 1024))

#: How long one measurement takes about: of short calls less than a time slice of a busy machine.
SECONDS, SECONDS_OF_CALLS = 0.02, 0.001


def clock_of_threads() -> Callable[[], float]:
    """The process's CPU time on one thread, which other processes lengthen less; else the time of day's clock."""
    import ogive

    return time.process_time if ogive.get_num_threads() == 1 else time.perf_counter


def medians(timers: dict[str, Timer], rounds: int, seconds: float = SECONDS) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in timers}
    counts = {}
    for name, timer in timers.items():
        timer.timeit(1)  # compiles
        counts[name] = max(1, round(seconds / max(timer.timeit(1), 1e-7)))
    for _ in range(rounds):
        for name, timer in timers.items():
            taken[name].append(timer.timeit(counts[name]) / counts[name])
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def _names() -> dict[str, Any]:
    import torch

    import ogive.torch.fast
    import ogive.torch.nn.fast

    torch.set_num_threads(ogive.get_num_threads())
    torch.set_grad_enabled(True)
    return {"torch": torch, "ogive": ogive, "F": torch.nn.functional}


def calls(rounds: int, advance: Callable[[], None]) -> list[dict[str, object]]:
    """Calls of 16 elements, with and without a gradient to record."""
    if find_spec("torch") is None:
        return []
    names, rows = _names(), []
    for name, (ours, theirs) in PAIRS.items():
        for records in (False, True):
            given = names | {"x": names["torch"].randn(SHORT, requires_grad=records)}
            timers = {"ogive": Timer(ours, globals=given), "eager": Timer(theirs, globals=given)}
            kind = "a call, recorded" if records else "a call"
            seconds = medians(timers, 10 * rounds, SECONDS_OF_CALLS)
            rows.append({"name": name, "what": kind, "elements": SHORT, "seconds": seconds})
        advance()
    return rows


def training(rounds: int, advance: Callable[[], None]) -> list[dict[str, object]]:
    """Forward plus backward of each size, under both contracts."""
    if find_spec("torch") is None:
        return []
    names = _names()
    torch = names["torch"]
    rows: list[dict[str, object]] = []
    for name, (ours, theirs) in PAIRS.items():
        for size in SIZES:
            torch._dynamo.reset()
            x, upstream = torch.randn(size, requires_grad=True), torch.randn(size)
            given = names | {"x": x, "upstream": upstream}
            given["compiled"] = torch.compile(eval(f"lambda x: {theirs}", names))
            backward = "torch.autograd.grad({}, x, upstream)"
            fast = ours.replace("ogive.torch.", "ogive.torch.fast.")
            statements = {"ogive": ours, "fast": fast, "eager": theirs, "compile": "compiled(x)"}
            clock = clock_of_threads()
            timers = {peer: Timer(backward.format(text), "", clock, given) for peer, text in statements.items()}
            what = "forward and backward"
            rows.append({"name": name, "what": what, "elements": size, "seconds": medians(timers, rounds)})
            advance()
    return rows


def layers(rounds: int, advance: Callable[[], None]) -> list[dict[str, object]]:
    """Forward plus backward of activations, rows and a loss, under both contracts: all sizes that layers have."""
    if find_spec("torch") is None:
        return []
    names = _names()
    torch, ogive = names["torch"], names["ogive"]

    rows: list[dict[str, object]] = []
    clock = clock_of_threads()
    nn = ogive.torch.nn
    made = {"ogive": nn.CrossEntropyLoss(), "fast": nn.fast.CrossEntropyLoss(), "torch": torch.nn.CrossEntropyLoss()}
    losses = SimpleNamespace(**made)
    for name, (ours, theirs) in (TRAINED | ROWS).items():
        for shape in SHAPES:
            x = torch.randn(shape if name in ROWS else math.prod(shape), requires_grad=True)
            w, b = (torch.randn(shape[1], requires_grad=True) for _ in range(2))
            given = names | {"x": x, "w": w, "b": b, "labels": torch.zeros(shape[0], dtype=torch.int64)}
            given["losses"] = losses
            is_loss = name == "cross entropy"
            given["upstream"] = None if is_loss else torch.randn(x.shape)
            wanted = [one for one in ("x", "w", "b") if re.search(rf"\b{one}\b", theirs)]
            backward = f"torch.autograd.grad({{}}, ({', '.join(wanted)},), upstream)"
            fast = ours.replace("losses.ogive", "losses.fast").replace("ogive.torch.", "ogive.torch.fast.")
            statements = {"ogive": ours, "fast": fast, "eager": theirs}
            timers = {peer: Timer(backward.format(text), "", clock, given) for peer, text in statements.items()}
            seconds = medians(timers, rounds)
            rows.append({"name": name, "what": "forward and backward", "elements": x.numel(), "seconds": seconds})
        advance()
    return rows


def jax_gradients(rounds: int, advance: Callable[[], None]) -> list[dict[str, object]]:
    """The gradient of rows, given that of the result: both compiled by ``jax.jit``, under both contracts."""
    if find_spec("jax") is None:
        return []
    import ogive

    limit_threads(ogive.get_num_threads())
    import jax

    import ogive.jax

    rows: list[dict[str, object]] = []
    clock = clock_of_threads()
    for name in ("softmax", "log_softmax"):
        exact = getattr(ogive, name)
        functions = {"ogive": exact, "fast": exact.fast}
        of_x = {peer: ogive.jax.function(operator) for peer, operator in functions.items()} | {
            "jax": getattr(jax.nn, name)
        }
        for shape in SHAPES:
            keys = jax.random.split(jax.random.key(0))
            given = {letter: jax.random.normal(key, shape) for letter, key in zip("xg", keys, strict=True)}
            timers = {}
            for peer, function in of_x.items():
                gradient = jax.jit(lambda x, g, function=function: jax.vjp(function, x)[1](g)[0])
                timers[peer] = Timer("gradient(x, g).block_until_ready()", "", clock, given | {"gradient": gradient})
            seconds = medians(timers, rounds)
            rows.append({"name": name, "what": "gradient", "elements": math.prod(shape), "seconds": seconds})
        advance()
    return rows


#: As in startup.py.
SECTIONS: dict[str, tuple[Callable[[int, Callable[[], None]], list[dict[str, object]]], Callable[[int], int]]] = {
    "torch-calls": (calls, lambda rounds: len(PAIRS)),
    "torch": (training, lambda rounds: len(PAIRS) * len(SIZES)),
    "torch-layers": (layers, lambda rounds: len(TRAINED) + len(ROWS)),
    "jax-gradients": (jax_gradients, lambda rounds: 2),
}
