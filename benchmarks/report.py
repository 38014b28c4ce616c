"""``python -m benchmarks.report``: the tables and the picture of docs/tables/performance.md, from the figures of a run.

The document holds a pair of comments for every section; what stands between them is replaced. Figures of kernels that
have changed since they were measured are left out. Each processor has tables of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks import figures
from benchmarks.cases import ARRAY_SECTIONS, cases
from benchmarks.kernels import Row, current
from benchmarks.models import model_cases
from benchmarks.startup import SECTIONS as STARTUP
from benchmarks.tables import Table, geometric_mean, ratio, size_name, tables

HERE = Path(__file__).parent


@click.command(help=(__doc__ or "").split("\n\n", 1)[1])
@click.option("--json", "file", type=click.Path(exists=True, path_type=Path), default=figures.RESULTS)
@click.option(
    "--document", type=click.Path(exists=True, path_type=Path), default=HERE.parent / "docs/tables/performance.md"
)
def main(file: Path, document: Path) -> None:
    found = figures.read(file)
    document.write_text(filled(document.read_text(), found))
    picture = document.with_suffix(".png")
    print(f"{document}: filled; {_draw(_all_float32(found), picture)}")


def filled(text: str, found: Sequence[figures.Figures]) -> str:
    """The document with the figures that are of today's kernels."""
    by_processor = [{name: current(rows) for name, rows in one["sections"].items()} for one in found]
    titles = [figures.title(one) for one in found]
    parts = {}
    for name in _SECTIONS:
        made = []
        for title, sections in zip(titles, by_processor, strict=True):
            made += [_markdown(table, title) for table in tables(name, list(map(dict, sections.get(name, ()))))]
        parts[name] = "\n".join(made) or _NOTHING
    parts["machine"] = "\n".join(map(_machine, found))
    parts["summary"] = _summary(titles, by_processor)
    parts["picture"] = "![Ratios by size](performance.png)" if _all_float32(found) else ""
    for name, content in parts.items():
        pattern = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        text = pattern.sub(lambda found, content=content: f"{found[1]}{content and content + chr(10)}{found[2]}", text)  # type: ignore[misc]
    return text


_SECTIONS = (*ARRAY_SECTIONS, "models", "price", "cliffs", *STARTUP)


#: In the place of a section's tables.
_NOTHING = "No figure of today's kernels has been measured."


def _all_float32(found: Sequence[figures.Figures]) -> list[dict[str, Any]]:
    """The figures of the picture: those of all float32 cases of the first processor that has them, or none."""
    for one in found:
        rows = current(one["sections"].get("float32", []))
        if len(rows) == len(cases("float32", (), (), 2)):
            return list(map(dict, rows))
    return []


def _markdown(table: Table, processor: str) -> str:
    lines = [f"**{table.title}** ({processor})", "", "| " + " | ".join(table.columns) + " |"]
    lines.append("|" + "|".join(["---", *["---:"] * (len(table.columns) - 1)]) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    return "\n".join([*lines, "", *([table.summary, ""] if table.summary else [])])


def _machine(one: figures.Figures) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
    machine, count = one["machine"], one["threads"]
    load = f" Load average at the end: {machine['load']}." if "load" in machine else ""
    threads = f"{count} thread{'s' * (count != 1)} each"
    threads += f", the {'least' if one.get('least') else 'median'} of {one['rounds']} rounds"
    return (
        f"- {figures.title(one)}: {threads}, Python {machine['python']}, {machine['date']}.{load} Versions: {versions}."
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


def _summary(titles: Sequence[str], by_processor: Sequence[dict[str, list[Row]]]) -> str:
    every = [vars(case) | {"elements": case.elements} for name in ARRAY_SECTIONS for case in cases(name, (), (), 2)]
    every += [vars(case) for case in model_cases((), (), 2)]
    lines = ["| cells | processor | measured | of | geometric mean | smallest | below 1.0 |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    for name, belongs in _GOALS:
        for title, sections in zip(titles, by_processor, strict=True):
            rows = [row for section in (*ARRAY_SECTIONS, "models") for row in sections.get(section, ())]
            ratios = [value for value in (ratio(dict(row)) for row in rows if belongs(row)) if not math.isnan(value)]
            if ratios:
                below = sum(value < 1 for value in ratios)
                numbers = f"{len(ratios)} | {sum(map(belongs, every))}"
                mean = f"{geometric_mean(ratios):.2f} | {min(ratios):.2f} | {below}"
                lines.append(f"| {name} | {title} | {numbers} | {mean} |")
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
