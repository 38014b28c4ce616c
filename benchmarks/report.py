"""``python -m benchmarks.report``: the tables and the picture of docs/tables/performance.md, from the figures of a run.

The document holds a pair of comments for every section; what stands between them is replaced. Figures of kernels that
have changed since they were measured are left out.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import click

from benchmarks.cases import ARRAY_SECTIONS, cases
from benchmarks.kernels import Row, current
from benchmarks.models import model_cases
from benchmarks.startup import SECTIONS as STARTUP
from benchmarks.tables import Table, geometric_mean, ratio, size_name, tables

HERE = Path(__file__).parent


@click.command(help=(__doc__ or "").split("\n\n", 1)[1])
@click.option("--json", "file", type=click.Path(exists=True, path_type=Path), default=HERE / "results.json")
@click.option(
    "--document", type=click.Path(exists=True, path_type=Path), default=HERE.parent / "docs/tables/performance.md"
)
def main(file: Path, document: Path) -> None:
    data = json.loads(file.read_text())
    document.write_text(filled(document.read_text(), data))
    picture = document.with_suffix(".png")
    print(f"{document}: filled; {_draw(_all_float32(data), picture)}")


def filled(text: str, data: dict[str, Any]) -> str:
    """The document with the figures that are of today's kernels."""
    found = {name: current(rows) for name, rows in data["sections"].items()}
    parts = {n: "\n".join(map(_markdown, tables(n, found.get(n, [])))) or _NOTHING for n in _SECTIONS}
    parts["machine"] = _machine(data)
    parts["summary"] = _summary(found)
    parts["picture"] = "![Ratios by size](performance.png)" if _all_float32(data) else ""
    for name, content in parts.items():
        pattern = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        text = pattern.sub(lambda found, content=content: f"{found[1]}{content and content + chr(10)}{found[2]}", text)  # type: ignore[misc]
    return text


_SECTIONS = (*ARRAY_SECTIONS, "models", "price", "cliffs", *STARTUP)


#: In the place of a section's tables.
_NOTHING = "No figure of today's kernels has been measured."


def _all_float32(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The figures of the picture: those of all float32 cases, or none."""
    rows = current(data["sections"].get("float32", []))
    return list(map(dict, rows)) if len(rows) == len(cases("float32", (), (), 2)) else []


def _markdown(table: Table) -> str:
    lines = [f"**{table.title}**", "", "| " + " | ".join(table.columns) + " |"]
    lines.append("|" + "|".join(["---", *["---:"] * (len(table.columns) - 1)]) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    return "\n".join([*lines, "", *([table.summary, ""] if table.summary else [])])


def _machine(data: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    machine = data["machine"]
    load = f" Load average at the end: {machine['load']}." if "load" in machine else ""
    return (
        f"{machine['processor']}, {data['threads']} threads each, Python {machine['python']}, {machine['date']}."
        f"{load}\nVersions: {versions}."
    )


#: The summed rows: (name, the cells that it is about).
_GOALS = (
    ("every float32 cell", lambda row: row["section"] == "float32"),
    ("16 elements", lambda row: row["section"] == "float32" and row["elements"] == 16),
    ("1 Ki", lambda row: row["section"] == "float32" and row["elements"] == 1 << 10),
    ("64 Ki", lambda row: row["section"] == "float32" and row["elements"] == 1 << 16),
    ("1 Mi", lambda row: row["section"] == "float32" and row["elements"] == 1 << 20),
    ("16 Mi", lambda row: row["section"] == "float32" and row["elements"] == 1 << 24),
    ("fast contract", lambda row: row["section"] == "fast"),
    ("float16", lambda row: row["section"] == "float16"),
    ("bfloat16", lambda row: row["section"] == "bfloat16"),
    ("int8", lambda row: row["section"] == "int8"),
    ("fused", lambda row: row["section"] == "fused"),
    ("rows", lambda row: row["section"] == "softmax"),
    ("broadcast and strided", lambda row: row["section"] == "layouts"),
    ("models", lambda row: row["section"] == "models"),
    ("models of 16 elements", lambda row: row["section"] == "models" and row["elements"] == 16),
)


def _summary(sections: dict[str, list[Row]]) -> str:
    rows = [row for name in (*ARRAY_SECTIONS, "models") for row in sections.get(name, ())]
    every = [vars(case) | {"elements": case.elements} for name in ARRAY_SECTIONS for case in cases(name, (), (), 2)]
    every += [vars(case) for case in model_cases((), (), 2)]
    lines = ["| cells | measured | of | geometric mean | smallest | below 1.0 |", "|---|---:|---:|---:|---:|---:|"]
    for name, belongs in _GOALS:
        ratios = [value for value in (ratio(row) for row in rows if belongs(row)) if not math.isnan(value)]
        if ratios:
            below = sum(value < 1 for value in ratios)
            numbers = f"{len(ratios)} | {sum(map(belongs, every))}"
            lines.append(f"| {name} | {numbers} | {geometric_mean(ratios):.2f} | {min(ratios):.2f} | {below} |")
    return "\n".join(lines)


def _draw(rows: list[dict[str, Any]], picture: Path) -> str:
    """The ratios of all operators by size."""
    if not rows:
        return "no picture: no figures"
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return "no picture: matplotlib is not installed"
    sizes = sorted({row["elements"] for row in rows})
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for shift, in_place, colour in ((-0.15, False, "tab:blue"), (0.15, True, "tab:orange")):
        means = []
        for i, size in enumerate(sizes):
            values = [ratio(row) for row in rows if row["elements"] == size and row["in_place"] == in_place]
            values = sorted(value for value in values if not math.isnan(value))
            spread = [i + shift + 0.1 * (k % 5 - 2) / 2 for k in range(len(values))]
            label = ("in place" if in_place else "out of place") if i == 0 else None
            axes.scatter(spread, values, s=14, alpha=0.55, color=colour, linewidths=0, label=label)
            means.append(geometric_mean(values))
        axes.plot([i + shift for i in range(len(sizes))], means, "_", markersize=22, color="black")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xticks(range(len(sizes)), [size_name(size) for size in sizes])
    axes.set_xlabel("elements")
    axes.set_ylabel("times faster than the fastest peer")
    axes.set_title("Every float32 operator; a bar is a geometric mean")
    axes.legend(loc="upper right")
    figure.savefig(picture, dpi=110)
    return str(picture)


if __name__ == "__main__":
    main()
