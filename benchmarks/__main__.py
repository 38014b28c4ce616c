"""``python -m benchmarks``: the tables of docs/performance.md.

python -m benchmarks [--quick] [--json FILE] [--operator NAME ...] [--size N ...]
"""

from __future__ import annotations

import json
import math
import platform
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.measure import Contestants
from benchmarks.peers import Case, installed

#: Operator -> the parameters that it is timed with.
OPERATORS: dict[str, dict[str, float]] = {
    "celu": {"alpha": 1.5},
    "prelu": {},
    "relu": {},
    "scaled_tanh": {"alpha": 1.5, "beta": 0.75},
    "shrink": {"bias": 0.5, "lambd": 0.5},
    "tanh": {},
}
SIZES = (16, 1 << 10, 1 << 16, 1 << 20, 1 << 24)


@click.command(help=__doc__)
@click.option("--quick", is_flag=True, help="Fewer rounds: a first look.")
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here.")
@click.option("--operator", "operators", multiple=True, type=click.Choice(list(OPERATORS)), help="Only these.")
@click.option("--size", "sizes", multiple=True, type=int, help="Only these numbers of elements.")
@click.option("--threads", default=2, show_default=True, help="Threads for everybody.")
def main(quick: bool, file: Path | None, operators: tuple[str, ...], sizes: tuple[int, ...], threads: int) -> None:
    console = Console()
    present, missing = installed()
    if missing:
        console.print(f"not installed, left out: {', '.join(missing)}")
    rounds = 7 if quick else 25
    cases = [
        Case(
            name,
            tuple(OPERATORS[name].items()),
            ((size,),) * (2 if name == "prelu" else 1),
            "float32",
            in_place,
            threads,
        )
        for name in operators or OPERATORS
        for size in sizes or SIZES
        for in_place in (False, True)
    ]
    rows = []
    with Contestants(present) as contestants, Progress(console=Console(stderr=True), transient=True) as progress:
        for case in progress.track(cases, description="timing"):
            seconds, refused = contestants.medians(case, rounds)
            rows.append({"case": case.__dict__, "seconds": seconds, "refused": refused})
    console.print(_table(rows, present))
    if file is not None:
        machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
        file.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


def _table(rows: list[dict], peers: list[str]) -> Table:  # type: ignore[type-arg]
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("operator")
    table.add_column("elements", justify="right")
    table.add_column("ogive", justify="right")
    for peer in peers[1:]:
        table.add_column(peer, justify="right")
    table.add_column("best peer", justify="right")
    ratios = []
    for row in rows:
        seconds, case = row["seconds"], row["case"]
        others = {peer: seconds[peer] for peer in peers[1:] if peer in seconds}
        best = min(others.values()) / seconds["ogive"] if others else math.nan
        ratios.append(best)
        name = case["operator"] + (" in place" if case["in_place"] else "")
        cells = [f"{others[peer] / seconds['ogive']:.2f} x" if peer in others else "-" for peer in peers[1:]]
        table.add_row(name, str(math.prod(case["shapes"][0])), _duration(seconds["ogive"]), *cells, f"{best:.2f} x")
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    if known:
        mean = math.exp(sum(map(math.log, known)) / len(known))
        table.caption = f"Times of Ogive; the others as multiples of it. Best peer: geometric mean {mean:.2f}, smallest {min(known):.2f}."
    return table


def _duration(seconds: float) -> str:
    return (
        f"{seconds * 1e9:.0f} ns"
        if seconds < 1e-5
        else f"{seconds * 1e6:.1f} us"
        if seconds < 1e-2
        else f"{seconds * 1e3:.2f} ms"
    )


if __name__ == "__main__":
    main()
