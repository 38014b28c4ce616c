"""The speed of an operator beside its peers', from the figures of ``python -m benchmarks`` of today's kernels."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from benchmarks import figures
from benchmarks.kernels import Row, current
from benchmarks.tables import duration, size_name

__all__ = ["speed"]

#: Sections with cases of single operators, and what they are about.
SECTIONS = {
    "float32": "float32",
    "fast": "float32, the fast contract",
    "float16": "float16",
    "int8": "int8",
    "softmax": "float32, rows",
    "layouts": "float32, broadcast and strided operands",
}

#: The benchmarks' name for a choice of a parameter -> the operator.
CHOICES = {"gelu_tanh": "gelu"}

#: As the tables call them; `exact` is Ogive's own contract, and copies are no peers.
NAMES = {
    "torch": "PyTorch",
    "torch.compile": "torch.compile",
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "jax": "JAX",
    "numexpr": "numexpr",
}


@cache
def measured() -> tuple[figures.Figures, ...]:
    """Everything that was measured, by processor."""
    return tuple(figures.read())


def speed(operator: str) -> list[str]:
    """A part of a page: a table for each processor and element type, or a sentence that says that nothing is measured."""
    parts = ["## Speed"]
    commands = []
    for one in measured():
        tables = []
        for section, about in SECTIONS.items():
            rows = current(row for row in one["sections"].get(section, []) if _belongs(row, operator))
            for name in dict.fromkeys(row["operator"] for row in rows):
                choice = "" if name == operator else f", `{name}`"
                tables += [f"**{about}{choice}**", _table([row for row in rows if row["operator"] == name])]
                commands.append(f"`python -m benchmarks --section {section} --operator {name}`")
        if tables:
            threads = f"{one['threads']} thread{'s' * (one['threads'] != 1)} each"
            parts += [f"Measured on {figures.title(one)}, {threads}, {one['machine']['date']}:", *tables]
    if not commands:
        return [*parts, f"No figure of today's kernels of `{operator}` has been measured."]
    parts.append(
        "The median time of a call that returns a new array or fills `out=`. In brackets: the peer's time divided by "
        "Ogive's, so above 1 Ogive is faster. [How it is measured](../performance.md#measure-it)."
    )
    return [*parts, f"To measure again: {', '.join(dict.fromkeys(commands))}."]


def _belongs(row: Row, operator: str) -> bool:
    name = row["operator"]
    return CHOICES.get(name, name) == operator and not row["in_place"] and "ogive" in row["seconds"]


def _table(rows: Iterable[Row]) -> str:
    rows = sorted(rows, key=lambda row: (row["layout"] != "contiguous", row["elements"]))
    peers = [peer for peer in NAMES if any(peer in row["seconds"] for row in rows)]
    lines = [["elements", "Ogive", *(NAMES[peer] for peer in peers)]]
    for row in rows:
        seconds = row["seconds"]
        ours = seconds["ogive"]
        cells = (_cell(seconds[p], ours) if p in seconds else "" for p in peers)
        lines.append([_size(row), f"**{_time(ours)}**", *cells])
    lines.insert(1, ["---", *["---:"] * (len(peers) + 1)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(seconds: float, ours: float) -> str:
    """A peer's time and its ratio to ours; below 1, where the peer is faster, in another colour."""
    ratio = _times(seconds / ours)
    shown = f'<span class="og-slower">{ratio}</span>' if seconds < ours else ratio
    return f"{_time(seconds)} ({shown})"


def _time(seconds: float) -> str:
    """A number and its unit, which stay on one line."""
    return duration(seconds).replace(" ", "\u00a0")


def _times(ratio: float) -> str:
    """With two digits or three: more are not measured."""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _size(row: Row) -> str:
    shapes = dict.fromkeys(map(tuple, row["shapes"]))
    layout = "" if row["layout"] == "contiguous" else f", {row['layout']}"
    if len(shapes) == 1 and len(next(iter(shapes))) == 1:
        return size_name(row["elements"]) + layout
    return " and ".join(" x ".join(map(str, shape)) for shape in shapes) + layout
