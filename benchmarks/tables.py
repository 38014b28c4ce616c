"""From figures to tables: the same for the terminal and for the document."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

__all__ = ["Row", "Table", "best_peer", "duration", "geometric_mean", "ratio", "size_name", "tables"]

Row = dict[str, Any]

#: These are no peers: one is what all are compared with, one its other contract, the other copies only.
NO_PEERS = ("ogive", "exact", "copyto")


@dataclass
class Table:
    """A title, columns (the first one is text), rows of text, and what sums it up."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    summary: str = ""


def duration(seconds: float) -> str:
    for unit, scale, limit in (("ns", 1e9, 1e-6), ("us", 1e6, 1e-3), ("ms", 1e3, 1.0)):
        if seconds < limit:
            value = seconds * scale
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{seconds:.2f} s"


def size_name(count: int) -> str:
    for unit, scale in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if count % scale == 0:
            return f"{count // scale} {unit}"
    return str(count)


def best_peer(row: Row) -> str | None:
    """The fastest peer of a case."""
    peers = {peer: seconds for peer, seconds in row["seconds"].items() if peer not in NO_PEERS}
    return min(peers, key=peers.__getitem__) if peers else None


def ratio(row: Row) -> float:
    """How many times faster than the fastest peer; NaN where there is none."""
    best = best_peer(row)
    return row["seconds"][best] / row["seconds"]["ogive"] if best and "ogive" in row["seconds"] else math.nan


def geometric_mean(values: Iterable[float]) -> float:
    known = [math.log(value) for value in values if value > 0]
    return math.exp(sum(known) / len(known)) if known else math.nan


def _summary(rows: list[Row]) -> str:
    ratios = [value for value in map(ratio, rows) if not math.isnan(value)]
    if not ratios:
        return ""
    below = sum(value < 1 for value in ratios)
    return (
        f"{len(ratios)} cells: geometric mean {geometric_mean(ratios):.2f}, smallest {min(ratios):.2f}, "
        f"{below} below 1.0."
    )


def _elementwise(title: str, rows: list[Row], first: str = "operator") -> list[Table]:
    """A line per operator or model, a column per size and way of writing: time, and the ratio to the fastest peer."""
    sizes = sorted({row["elements"] for row in rows})
    made = []
    for in_place in (False, True):
        mine = [row for row in rows if row["in_place"] == in_place]
        cells: dict[str, dict[int, Row]] = defaultdict(dict)
        for row in mine:
            cells[row["operator"]][row["elements"]] = row
        lines = [
            [name, *(_cell(by_size.get(size)) for size in sizes), _errors(by_size)] for name, by_size in cells.items()
        ]
        means = [geometric_mean(v for v in (ratio(c[s]) for c in cells.values() if s in c) if v == v) for s in sizes]
        lines.append(["*geometric mean*", *(f"{mean:.2f}x" if mean == mean else "-" for mean in means), ""])
        where = "in place" if in_place else "out of place"
        header = [first, *map(size_name, sizes), "error, ULP"]
        if mine:
            made.append(Table(f"{title}, {where}", header, lines, _summary(mine)))
    return made


def _cell(row: Row | None) -> str:
    if row is None or "ogive" not in row["seconds"]:
        return "-"
    value, best = ratio(row), best_peer(row)
    time = duration(row["seconds"]["ogive"])
    return time if best is None else f"{time} {value:.2f}x {SHORT[best]}"


#: Names for narrow columns.
SHORT = {
    "torch": "T",
    "torch.compile": "C",
    "onnxruntime": "R",
    "openvino": "V",
    "jax": "J",
    "numexpr": "N",
    "litert": "X",
}


def _errors(by_size: dict[int, Row]) -> str:
    """The largest errors seen: Ogive's, and of every peer that is the fastest anywhere in the line."""
    winners = sorted({best for best in map(best_peer, by_size.values()) if best}, key=list(SHORT).index)
    errors: dict[str, float] = {}
    for row in by_size.values():
        for peer, value in row.get("errors", {}).items():
            errors[peer] = max(errors.get(peer, 0.0), value)
    shown = [
        _error(errors[peer]) + (f" {SHORT[peer]}" if peer in SHORT else "")
        for peer in ("ogive", *winners)
        if peer in errors
    ]
    return " / ".join(shown)


def _error(value: float) -> str:
    if value < 10:
        return f"{value:.2f}"
    return "wrong" if math.isinf(value) else f"{value:.0f}" if value < 1e4 else f"{value:.0e}"


def _by_peer(title: str, rows: list[Row]) -> list[Table]:
    """A line per case, a column per peer."""
    peers = [peer for peer in SHORT if any(peer in row["seconds"] for row in rows)]
    has_copy = any("copyto" in row["seconds"] for row in rows)
    has_errors = any("errors" in row for row in rows)
    lines = []
    for row in rows:
        seconds = row["seconds"]
        cells = [f"{seconds[p] / seconds['ogive']:.2f}x" if p in seconds and "ogive" in seconds else "-" for p in peers]
        if has_copy:
            cells.append(f"{seconds['copyto'] / seconds['ogive']:.2f}x" if "copyto" in seconds else "-")
        if has_errors:
            shown = {peer: row["errors"][peer] for peer in ("ogive", best_peer(row)) if peer in row.get("errors", {})}
            cells.append(" / ".join(_error(v) + (f" {SHORT[p]}" if p in SHORT else "") for p, v in shown.items()))
        moved = row["bytes"] / seconds["ogive"] / 1e9 if "ogive" in seconds else math.nan
        shapes = " ".join("x".join(map(str, shape)) for shape in dict.fromkeys(map(tuple, row["shapes"])))
        layout = "" if row["layout"] == "contiguous" else f", {row['layout']}"
        if row["in_place"]:
            layout += ", in place"
        lines.append(
            [f"{row['operator']} {shapes}{layout}", duration(seconds.get("ogive", math.nan)), f"{moved:.1f}", *cells]
        )
    header = [
        "case",
        "ogive",
        "GB/s",
        *peers,
        *(["copyto"] if has_copy else []),
        *(["error, ULP"] if has_errors else []),
    ]
    return [Table(title, header, lines, _summary(rows))]


def _fast(title: str, rows: list[Row]) -> list[Table]:
    """The times as ratios to the peers', and to the exact contract's."""
    sizes = sorted({row["elements"] for row in rows})
    cells: dict[tuple[str, bool], dict[int, Row]] = defaultdict(dict)
    for row in rows:
        if {"ogive", "exact"} <= row["seconds"].keys():
            cells[row["operator"], row["in_place"]][row["elements"]] = row
    lines = []
    for (name, in_place), by_size in cells.items():
        gains = [row["seconds"]["exact"] / row["seconds"]["ogive"] for size, row in sorted(by_size.items())]
        known = dict(zip(sorted(by_size), gains, strict=True))
        shown = [f"{known[size]:.2f}x" if size in known else "-" for size in sizes]
        lines.append([f"{name}{', in place' if in_place else ''}", *shown])
    return [
        *_elementwise(title, rows),
        Table("The fast contract beside the exact one", ["operator", *map(size_name, sizes)], lines),
    ]


def _models(title: str, rows: list[Row]) -> list[Table]:
    """All cells; the means by peer and size; and the cells that a peer wins."""
    made = _elementwise(title, rows, first="model")
    sizes = sorted({row["elements"] for row in rows})
    lines = []
    for peer in (peer for peer in SHORT if any(peer in row["seconds"] for row in rows)):
        mine = [row for row in rows if peer in row["seconds"] and "ogive" in row["seconds"]]
        ratios = [(row["elements"], row["seconds"][peer] / row["seconds"]["ogive"]) for row in mine]
        means = [geometric_mean(value for size, value in ratios if size == wanted) for wanted in sizes]
        smallest = min((value for _, value in ratios), default=math.nan)
        lines.append([f"{peer} ({SHORT[peer]})", *(f"{mean:.2f}x" for mean in means), f"{smallest:.2f}x"])
    made.append(Table("Geometric means by peer", ["peer", *map(size_name, sizes), "smallest"], lines))
    lost = sorted((row for row in rows if ratio(row) < 1), key=ratio)
    cells = [[row["operator"], size_name(row["elements"]), _cell(row), _errors({0: row})] for row in lost]
    if cells:
        made.append(Table("Cells below 1.0", ["model", "elements", "cell", "error, ULP"], cells))
    return made


def _cycles(title: str, rows: list[Row]) -> list[Table]:
    """Both times, and both in cycles for 16 elements of one thread, by the clock that the system states."""
    peers = ("ogive", "litert")
    rows = [row for row in rows if row["seconds"].keys() >= {*peers}]
    lines = []
    for row in rows:
        cycles = [row["seconds"][p] * row["clock"] * row["threads"] * 16 / row["elements"] for p in peers]
        errors = " / ".join(_error(row["errors"][peer]) for peer in peers if peer in row["errors"])
        shown = [duration(row["seconds"]["ogive"]), f"{ratio(row):.2f}x", *(f"{count:.1f}" for count in cycles), errors]
        lines.append([row["operator"], size_name(row["elements"]), *shown])
    header = ["operator", "elements", "ogive", "XNNPACK / ogive", "cycles", "XNNPACK's", "errors, ULP"]
    return [Table(title, header, lines, _summary(rows))]


def _starts(title: str, rows: list[Row]) -> list[Table]:
    base = rows[0]["seconds"]
    lines = [[row["name"], duration(row["seconds"]), f"{row['seconds'] / base:.2f}x"] for row in rows]
    return [Table(title, ["a process that does", "median", "beside the first line"], lines)]


def _calls(title: str, rows: list[Row]) -> list[Table]:
    lines = [[f"{row['name']}", duration(row["seconds"])] for row in rows]
    return [Table(title, ["a call on 16 elements", "median"], lines)]


def _kernels(title: str, rows: list[Row]) -> list[Table]:
    lines = [[row["name"], duration(row["compile"]), duration(row["load"])] for row in rows]
    return [Table(title, ["what", "compiled", "from the cache"], lines)]


def _prices(title: str, rows: list[Row]) -> list[Table]:
    """The cost of today's results beside those of another commit."""
    lines, ratios = [], []
    for row in rows:
        before, after = (row["seconds"][name] / row["elements"] * 1e9 for name in ("old", "ogive"))
        ratios.append(after / before)
        lines.append([row["operator"], f"{before:.3f}", f"{after:.3f}", f"{after / before:.2f}"])
    summary = f"Geometric mean of {len(rows)}: {geometric_mean(ratios):.2f}."
    return [Table(title, ["operator", rows[0]["old"], "now", "ratio"], lines, summary)]


def _torch(title: str, rows: list[Row]) -> list[Table]:
    """How many times as long the others take."""
    lines = []
    for row in rows:
        seconds = row["seconds"]
        shown = [_times(seconds, peer, ours) for ours in ("ogive", "fast") for peer in ("eager", "compile")]
        lines.append([row["name"], row["what"], size_name(row["elements"]), duration(seconds["ogive"]), *shown])
    peers = ["eager", "compile", "eager by fast", "compile by fast"]
    return [Table(title, ["operator", "what", "elements", "ogive.torch", *peers], lines)]


def _layers(title: str, rows: list[Row], peer: str = "eager", shown_as: str = "eager torch") -> list[Table]:
    """The cost of each in multiples of a peer's."""
    lines: list[list[str]] = []
    ratios: dict[str, list[float]] = {"ogive": [], "fast": []}
    for row in rows:
        seconds = row["seconds"]
        for ours, found in ratios.items():
            found.append(seconds[ours] / seconds[peer])
        shown = [f"{found[-1]:.2f}" for found in ratios.values()]
        lines.append([row["name"], size_name(row["elements"]), duration(seconds[peer]), *shown])
    means = " and ".join(f"{geometric_mean(found):.2f} (largest {max(found):.2f})" for found in ratios.values())
    summary = f"Geometric means of {len(rows)}, exact and fast: {means}."
    return [Table(title, ["operator", "elements", shown_as, "exact", "fast"], lines, summary)]


def _networks(title: str, rows: list[Row]) -> list[Table]:
    """The cost of each in multiples of torch's own, and root mean square errors."""
    lines: list[list[str]] = []
    for row in rows:
        seconds, errors = row["seconds"], [f"{row['errors'][peer]:.2e}" for peer in ("eager", "ogive", "fast")]
        shown = [f"{seconds[ours] / seconds['eager']:.2f}" for ours in ("ogive", "fast")]
        lines.append([row["name"], row["what"], duration(seconds["eager"]), *shown, " / ".join(errors)])
    return [Table(title, ["network", "run", "torch", "exact", "fast", "errors of torch, exact, fast"], lines)]


def _times(seconds: dict[str, float], peer: str, ours: str) -> str:
    return f"{seconds[peer] / seconds[ours]:.2f}x" if peer in seconds and ours in seconds else "-"


def _cliffs(title: str, rows: list[Row]) -> list[Table]:
    """By family, and the cells beyond the limit, worst first."""
    made = []
    for dtype in dict.fromkeys(row["dtype"] for row in rows):
        mine = [row for row in rows if row["dtype"] == dtype]
        families, cells = ([row for row in mine if ("cells" in row) is whole] for whole in (True, False))
        lines = [
            [row["family"], str(row["cells"]), str(row["beyond"]), duration(row["nanoseconds"] / 1e9), row["slowest"]]
            for row in families
        ]
        count, beyond = (sum(row[key] for row in families) for key in ("cells", "beyond"))
        worst = max((row["nanoseconds"] for row in families), default=0.0)
        summary = f"{count} cells, {beyond} beyond the limit; the slowest takes {duration(worst / 1e9)} an element."
        columns = ["data", "cells", "beyond", "slowest, an element", "of"]
        made.append(Table(f"{title}, {dtype}", columns, lines, summary))
        if cells:
            lines = [
                [
                    row["name"],
                    row["family"],
                    *(duration(row[key] / 1e9) for key in ("nanoseconds", "ordinary", "limit")),
                    f"{row['enclosed'] / row['elements']:.1%}" if "enclosed" in row else "-",
                ]
                for row in cells
            ]
            columns = ["function", "data", "an element", "ordinary", "limit", "enclosed"]
            made.append(Table(f"Cells beyond the limit, {dtype}", columns, lines))
    return made


_MAKERS: dict[str, tuple[str, Callable[[str, list[Row]], list[Table]]]] = {
    "float32": ("float32", _elementwise),
    "fast": ("The fast contract, float32", _fast),
    "float16": ("float16", _elementwise),
    "bfloat16": ("bfloat16", _elementwise),
    "int8": ("int8", _elementwise),
    "fused": ("One kernel for celu(x * w + b, alpha=1.5) * sigmoid(g)", _by_peer),
    "softmax": ("Rows", _by_peer),
    "layouts": ("Broadcast and strided", _by_peer),
    "copy": ("Next to a copy", _by_peer),
    "xnnpack": ("The times of XNNPACK, and cycles for 16 elements", _cycles),
    "models": ("Models", _models),
    "price": ("Nanoseconds an element", _prices),
    "start": ("Starting", _starts),
    "compile": ("Compiling", _kernels),
    "calls": ("Calls", _calls),
    "cliffs": ("The price of an element by the data", _cliffs),
    "torch-calls": ("Short calls beside torch: how many times as long torch takes", _torch),
    "torch-layers": ("Forward plus backward in multiples of eager torch", _layers),
    "torch-networks": ("Networks of torch with Ogive's activations, in multiples of torch", _networks),
    "jax-gradients": ("Gradients in multiples of jax.nn's", partial(_layers, peer="jax", shown_as="jax.nn")),
    "torch": ("ogive.torch beside torch: how many times as long torch takes", _torch),
}


def tables(section: str, rows: list[Row]) -> list[Table]:
    """The tables of a section."""
    title, maker = _MAKERS[section]
    return maker(title, rows) if rows else []
