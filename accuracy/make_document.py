"""Write docs/tables/accuracy.md, and the picture of docs/accuracy.md, from the measurements in accuracy: results, misrounded.json and float32.json.

    python accuracy/make_document.py [--no-picture]

The picture needs matplotlib: pip install '.[plot]'.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ogive.catalog import OPERATORS
from ogive.catalog.fast_errors import errors, measured
from ogive.laboratory.accuracy import ErrorReport
from ogive.laboratory.accuracy.report import load
from ogive.laboratory.peers.peer_functions import PEERS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "accuracy" / "results"
COUNTS = ROOT / "accuracy" / "misrounded.json"
EVERY_FLOAT32 = ROOT / "accuracy" / "float32.json"
HUNTED = ROOT / "accuracy" / "float64.json"
TEXT = ROOT / "accuracy" / "tables.md.in"
DOCUMENT = ROOT / "docs" / "tables" / "accuracy.md"
PICTURE = ROOT / "docs" / "accuracy.svg"

DTYPES = ("float16", "bfloat16", "float32", "float64")

#: The largest error that is allowed, by element type: for all operators, and for some.
GOALS: dict[str, dict[str, float]] = {
    # Half a unit, and what the reference, which is no better than float64, may be wrong by.
    "bfloat16": {"": 0.5 + 1e-7, "softmax": 0.51, "log_softmax": 0.51},
    "float16": {"": 0.501, "softmax": 0.51, "log_softmax": 0.51},
    "float32": {
        "": 1.0,
        "exp": 0.75,
        "gelu": 1.25,
        "gelu approximate=tanh": 1.0,
        "hard_sigmoid": 0.75,
        "hard_swish": 0.75,
        "log_softmax": 3.0,
        "parametric_hard_swish": 0.75,
        "sigmoid": 0.75,
        "softmax": 3.0,
        "swiglu": 1.25,  # docs/accuracy.md has the reason
        "swish": 0.75,
    },
    "float64": {
        "": 0.5 + 2.0**-9,  # the reference, in long double, has an error too
        "log_softmax": 3.0,
        "logmeanexp": 100_000.0,  # the same
        "logsumexp": 30_000.0,  # next to a result of zero; docs/accuracy.md has the reason
        "lp_normalization": 1.0,
        "softmax": 3.0,
        "softmin": 3.0,
        "sparsemax": 200.0,  # next to a result of zero, of the reference; docs/accuracy.md says more
        "mean_variance_normalization": 200.0,  # the same as of standardize
        "standardize": 200.0,  # next to the mean of the row, of the reference; the same
    },
}

#: The exponents of the inputs in the picture: from the first, to below the second.
SMALLEST, LARGEST = -24, 10

#: The drawn rows: where peers and Ogive differ.
DRAWN = ("celu", "selu", "tanh", "sigmoid", "swish", "softplus", "mish", "gelu", "gelu approximate=tanh")


def key(report: ErrorReport) -> str:
    """The measured formula, without the element type."""
    return report.key.removesuffix(f" {report.dtype}")


def title(report: ErrorReport) -> str:
    """The same for people."""
    changed = ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in report.parameters.items()
    )
    return f"{report.operator} ({changed})" if changed else report.operator


def goal(report: ErrorReport) -> float:
    """The largest error that is allowed."""
    goals = GOALS[report.dtype]
    return goals.get(key(report), goals[""])


def command(report: ErrorReport) -> str:
    """The command that measures it again."""
    words = ["ogive accuracy", report.operator]
    words += [f"--parameter {name}={value}" for name, value in report.parameters.items()]
    words += [f"--dtype {report.dtype}"] if report.dtype != "float32" else []
    if report.inputs == "samples":
        words += [f"--samples {report.count}"] if report.count > 10_000_000 * 2 else []
    elif report.dtype == "float32" and report.inputs == "every input":
        words.append("--exhaustive")
    return " ".join(words)


def all_reports(file: Path) -> dict[tuple[str, str], ErrorReport]:
    """(what was measured, element type) -> report, in the catalogue's order."""
    names = list(OPERATORS)
    found = list(load(file).values())
    found.sort(key=lambda r: (names.index(r.operator), *r.parameters.values()))
    return {(key(report), report.dtype): report for report in found}


def units(error: float) -> str:
    """An error, readable: never rounded to less than it is."""
    if math.isinf(error):
        return "∞"
    if error >= 1000:
        return f"{error:.1e}".replace("e+0", "e").replace("e+", "e")
    digits = 1 if error >= 10 else 3
    return f"{math.ceil(error * 10**digits - 1e-6) / 10**digits:.{digits}f}"


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: int) -> str:
    """Markdown; the last `right` columns are numbers."""
    marks = ["---"] * (len(titles) - right) + ["---:"] * right
    return "\n".join(f"| {' | '.join(row)} |" for row in [titles, marks, *rows])


def is_every_input(report: ErrorReport) -> bool:
    """Whether the figure is of all inputs: measured, or half a unit by the count of misrounded results."""
    counted = (report.dtype, report.worst <= 0.5) == ("float32", True) and any(
        (row["operator"], row["parameters"], row["misrounded"]) == (report.operator, report.parameters, 0)
        for row in json.loads(EVERY_FLOAT32.read_text(encoding="utf-8"))
    )
    return report.inputs == "every input" or counted


def coverage(report: ErrorReport) -> str:
    """How much was measured, where that is not every input."""
    if is_every_input(report):
        return ""
    if report.inputs == "samples":
        return f" ({report.count / 1e6:.0f} M)" if report.count >= 1e6 else f" ({report.count:,})"
    return f" ({report.inputs.removesuffix(' input')})"


def worst_float64(reports: dict[tuple[str, str], ErrorReport]) -> str:
    """The operators of float64 whose results are not all the nearest numbers, with their largest errors."""
    found = [
        report for (_, dtype), report in reports.items() if dtype == "float64" and report.worst > GOALS["float64"][""]
    ]
    found.sort(key=lambda report: report.worst)
    if not found:
        return "In float64 no result beyond half a unit was found, of elements and of rows."
    return (
        "In float64 beyond half a unit are "
        + ", ".join(f"{title(report)} ({units(report.worst)})" for report in found)
        + "."
    )


def hunted() -> str:
    """The findings of accuracy/hunt_float64.py: how much it judged, and the rows with misrounded results."""
    rows = json.loads(HUNTED.read_text(encoding="utf-8"))
    beyond = [row for row in rows if row["misrounded"]]
    operators = [row for row in rows if ":" not in row["row"]]
    judged, by_arb, left = (sum(row[key] for row in rows) for key in ("judged", "by Arb", "left"))
    text = (
        f"The hunt has {len(rows)} rows: {len(operators)} operators and derivatives of them, the formulas of textbooks "
        f"and the published cases. It judged {judged:,} results, {by_arb:,} of them by Arb, and left {left:,} that the "
        f"sieve could not judge. {sum(row['misrounded'] for row in rows):,} are misrounded."
    )
    if not beyond:
        return text
    cells = [
        [
            f"`{row['row']}`",
            f"{row['judged']:,}",
            f"{row['misrounded']:,}",
            f"{row['misrounded below 2**-1000']:,}",
            _size(row),
        ]
        for row in beyond
    ]
    titles = ["row", "judged", "misrounded", "of these, below 2**-1000", "largest error"]
    return text + "\n\n" + table(titles, cells, right=4)


def _size(row: dict[str, float]) -> str:
    return f"{row['worst']:.3f}" if row["worst"] < 1e4 else f"{row['worst']:.1e}"


def summary(reports: dict[tuple[str, str], ErrorReport]) -> str:
    rows = []
    for name in dict.fromkeys(name for name, _ in reports):
        row = [next(f"`{title(r)}`" for (n, _), r in reports.items() if n == name)]
        for dtype in DTYPES:
            report = reports.get((name, dtype))
            row.append(f"{units(report.worst)}{coverage(report)}" if report else "")
        rows.append(row)
    return table(["operator", *DTYPES], rows, right=len(DTYPES))


def figures(report: ErrorReport) -> str:
    return f"{units(report.worst)} / {units(report.ordinary)}"


def all_inputs(report: ErrorReport) -> str:
    """A mark for a peer's figures over all inputs, where those of others are not."""
    return "\\*" if report.dtype == "float32" and report.inputs == "every input" else ""


def beside_peers(
    reports: dict[tuple[str, str], ErrorReport], peers: dict[str, dict[tuple[str, str], ErrorReport]], dtype: str
) -> str:
    rows = []
    for (name, kind), report in reports.items():
        others = [of_peer.get((name, dtype)) for of_peer in peers.values()]
        # Where nothing is computed that could be inexact there is nothing to compare.
        if kind != dtype or not any(others) or max(r.worst for r in [report, *others] if r) <= 0.5:
            continue
        cells = [figures(report), *(figures(r) + all_inputs(r) if r else "" for r in others)]
        rows.append([f"`{title(report)}`", *cells])
    versions = [next(iter(of_peer.values())).by for of_peer in peers.values()]
    return table(["operator", "Ogive", *versions], rows, right=1 + len(versions))


def details(reports: dict[tuple[str, str], ErrorReport], dtype: str) -> str:
    rows = []
    for (_, kind), report in reports.items():
        if kind == dtype and report.worst > 0:
            digits = 17 if dtype == "float64" else 9
            place = (
                ""
                if report.operator in ("softmax", "log_softmax", "logsumexp")
                else ", ".join(f"{x:.{digits}g}" for x in report.worst_input)
            )
            rows.append(
                [
                    f"`{command(report)}`",
                    units(report.worst),
                    place,
                    f"{report.misrounded / report.count:.3%}",
                    f"`{report.digest[:12]}`" if report.digest else "",
                ]
            )
    return table(["command", "largest error", "at", "misrounded", "digest"], rows, right=4)


def misrounded() -> str:
    """How many results are not correctly rounded, where there are any."""
    rows = []
    for counted in json.loads(COUNTS.read_text(encoding="utf-8")):
        if counted["misrounded"]:
            words = ["ogive accuracy", counted["operator"], "--count", "--dtype", counted["dtype"]]
            words += [f"--parameter {name}={value}" for name, value in counted["parameters"].items()]
            first = ", ".join(f"{float(value):.9g}" for value in counted["first"])
            rows.append([f"`{' '.join(words)}`", f"{counted['misrounded']:,}", f"{counted['count']:,}", first])
    if not rows:
        return "The same counts for integers and extreme parameters found none either."
    return "The counts that found some:\n\n" + table(
        ["command", "not correctly rounded", "of", "first at"], rows, right=3
    )


def all_right() -> str:
    """How many of the counts, of how many operators, are 0."""
    counts = [c for c in json.loads(COUNTS.read_text(encoding="utf-8")) if c["dtype"] in ("float16", "bfloat16")]
    right = sum(not counted["misrounded"] for counted in counts)
    return f"{right} of {len(counts)}"


def every_float32() -> str:
    """The counts over all float32 inputs, a line for each operator and set of parameters."""
    rows = []
    for counted in json.loads(EVERY_FLOAT32.read_text(encoding="utf-8")):
        values = ", ".join(f"{name} = {value}" for name, value in counted["parameters"].items())
        numbers = (f"{counted[name]:,}" for name in ("misrounded", "exactly"))
        rows.append([f"`{counted['operator']}`", values, *numbers, f"`{counted['digest'][:12]}`"])
    return table(["operator", "parameters", "not correctly rounded", "by enclosures", "SHA-256"], rows, right=3)


def fast() -> str:
    """The errors of the fast contract, a line for each operator and set of parameters."""
    lines = [
        "| operator | float32 | float32, subnormal | float16 | bfloat16 |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in dict.fromkeys(row["operator"] for row in measured()):
        kinds = (errors(name, dtype) for dtype in ("float32", "float16", "bfloat16"))
        for single, half, brain in zip(*kinds, strict=True):
            values = ", ".join(f"{key} = {value}" for key, value in single.parameters.items())
            cells = (single.fast, single.fast_subnormal, half.fast, brain.fast)
            shown = " | ".join(f"{math.ceil(cell * 100) / 100:.2f}" for cell in cells)
            lines.append(f"| {name}{f' ({values})' if values else ''} | {shown} |")
    return "\n".join(lines)


def document(folder: Path = RESULTS) -> str:
    """The whole text."""
    reports = all_reports(folder / "ogive.csv")
    peers = {peer: found for peer in PEERS if (found := all_reports(folder / f"{peer}.csv"))}
    exhaustive = sum(r.dtype == "float32" and is_every_input(r) for r in reports.values())
    parts = {
        "SUMMARY": summary(reports),
        "MISROUNDED": misrounded(),
        "ALL_RIGHT": all_right(),
        "EVERY_FLOAT32": every_float32(),
        "EXHAUSTIVE": str(exhaustive),
        "WORST_FLOAT64": worst_float64(reports),
        "HUNTED": hunted(),
        "FAST": fast(),
        "FAST_STRIDE": str(next(row["stride"] for row in measured() if row["dtype"] == "float32")),
        "PEERS_FLOAT32": beside_peers(reports, peers, "float32"),
        "PEERS_FLOAT16": beside_peers(reports, peers, "float16"),
        "DETAILS_FLOAT32": details(reports, "float32"),
        "DETAILS_FLOAT64": details(reports, "float64"),
    }
    text = TEXT.read_text(encoding="utf-8")
    for name, part in parts.items():
        assert f"@{name}@" in text, name
        text = text.replace(f"@{name}@", part)
    return text


def drawn_reports(folder: Path = RESULTS) -> dict[str, list[ErrorReport]]:
    """The rows of the picture: for each operator Ogive's report and the peers'."""
    measured = [load(folder / f"{by}.csv") for by in ("ogive", *PEERS)]
    return {name: [of[f"{name} float32"] for of in measured if f"{name} float32" in of] for name in DRAWN}


def picture_digest(folder: Path = RESULTS) -> str:
    """Tells of a picture whether it shows these measurements."""
    data = {name: [(r.by, r.worst_by_binade) for r in reports] for name, reports in drawn_reports(folder).items()}
    return hashlib.sha256(repr(data).encode()).hexdigest()


def draw(path: Path) -> None:
    """The largest error for each exponent of the input."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "ogive"  # the same file for the same data
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["font.size"] = 8
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(3, 3, figsize=(11, 7.5), sharex=True, sharey=True, layout="constrained")
    ceiling, floor = 3e7, 0.3
    for axis, (_, reports) in zip(axes.ravel(), drawn_reports().items(), strict=True):
        # Ogive last, on top.
        for report in [*reports[1:], reports[0]]:
            by_binade = np.array(report.worst_by_binade).reshape(2, -1)[:, 127 + SMALLEST : 127 + LARGEST]
            errors = np.concatenate([by_binade[1, ::-1], by_binade[0]])
            name = report.by.split()[0]
            axis.step(
                np.arange(errors.size),
                np.clip(errors, floor, ceiling),
                where="mid",
                label=name,
                color="black" if name == "ogive" else f"C{list(PEERS).index(name)}",
                linewidth=1.6 if name == "ogive" else 0.9,
            )
        axis.axhline(1, color="0.7", linewidth=0.6, zorder=0)
        axis.set_title(title(reports[0]), fontsize=9)
        axis.set_yscale("log")
        axis.set_ylim(floor, ceiling * 2)
        binades = LARGEST - SMALLEST
        exponents = (-20, -10, 0, 7)
        places = [e - SMALLEST for e in exponents]
        axis.set_xticks(
            [*(binades - 1 - place for place in places), *(binades + place for place in places)],
            [*(f"-2^{e}" for e in exponents), *(f"2^{e}" for e in exponents)],
        )
    for axis in axes[:, 0]:
        axis.set_ylabel("largest error, ULP")
    for axis in axes[-1]:
        axis.set_xlabel("input")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper center", ncols=len(labels), frameon=False)
    figure.savefig(path, metadata={"Date": None, "Description": picture_digest()})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--no-picture", action="store_true", help="Write the text only.")
    arguments = parser.parse_args()
    DOCUMENT.write_text(document(), encoding="utf-8")
    print(f"wrote {DOCUMENT}")
    if not arguments.no_picture:
        draw(PICTURE)
        print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()
