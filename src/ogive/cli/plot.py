"""Pictures in files, drawn with matplotlib: of operators, of measured errors, of a run's results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from ogive.cli.curves import Drawing, drawing
from ogive.cli.terminal import IMAGES, TERMINAL
from ogive.errors import naming, needed
from ogive.laboratory.accuracy.report import BINS, ErrorReport
from ogive.operators.operator import Operator

#: An image has at least so many rows and columns; a smaller array is drawn as a histogram.
IMAGE_SIDE = 16

#: Bars of a histogram.
BARS = 80

#: A histogram of a larger array takes elements at even distances.
COUNTED = 1 << 22


class _PlotFile(click.Path):
    """A file that a picture can be written to."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.suffix.lower() not in IMAGES:
            self.fail(f"{str(path)!r} does not end in {', '.join(IMAGES[:-1])} or {IMAGES[-1]}", param, ctx)
        if not path.absolute().parent.is_dir():
            self.fail(f"the folder of {str(path)!r} does not exist; make it first", param, ctx)
        return path


class _PlotFileOrTerminal(_PlotFile):
    """A file, or ``-`` for the terminal."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return TERMINAL if value == TERMINAL else super().convert(value, param, ctx)


#: The types of the option ``--plot``.
PLOT = _PlotFile(dir_okay=False, writable=True, path_type=Path)
PLOT_OR_TERMINAL = _PlotFileOrTerminal(dir_okay=False, writable=True, path_type=Path)


def check_matplotlib() -> None:
    """Raise MissingPackageError without matplotlib: before anything is computed."""
    _figure_class()


def _figure_class() -> Any:
    with needed("--plot", "'ogive[plot]'", "matplotlib"):
        from matplotlib.figure import Figure
    return Figure


def plot_operator(op: Operator, path: Path) -> None:
    """The curves of an operator and of its derivative, for several parameters, and its types."""
    drawn = drawing(op)
    panels = 2 if drawn.derivatives else 1
    figure = _figure_class()(figsize=(4.8 * panels, 3.8), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    _panel(axes[0], drawn, drawn.curves, op.name)
    if drawn.derivatives:
        _panel(axes[1], drawn, drawn.derivatives, f"derivative of {op.name}")
    from ogive.cli.list_command import short_types

    figure.supxlabel(f"types: {short_types(op)}", fontsize=8)
    _save(figure, path)


def _panel(axes: Any, drawn: Drawing, curves: Sequence[Any], title: str) -> None:
    for curve in curves:
        style = "o" if drawn.is_integer else "-"
        axes.plot(curve.x, curve.y, style, label=curve.label or None, markersize=3)
    axes.set_title(title)
    axes.set_ylim(drawn.heights(list(curves)))
    axes.axhline(0, color="gray", linewidth=0.6)
    axes.axvline(0, color="gray", linewidth=0.6)
    axes.grid(alpha=0.25)
    if any(curve.label for curve in curves):
        axes.legend(fontsize=8)


def plot_errors(reports: Sequence[ErrorReport], path: Path) -> None:
    """How many results have which error, a line for each measurement."""
    figure = _figure_class()(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    last = max(i for report in reports for i, count in enumerate(report.histogram) if count) + 1
    for number, report in enumerate(reports):
        shares = np.array(report.histogram[:last]) / max(report.count, 1)
        label = f"{report.operator}, {report.dtype}, {report.by}: at most {report.worst:.3g} ULP"
        width = 0.8 / len(reports)
        places = np.arange(last) + (number - (len(reports) - 1) / 2) * width
        axes.bar(places, shares, width, label=label)
    axes.set_xticks(range(last), [f"{bound:g}" for bound in BINS[:last]])
    axes.set(yscale="log", ylim=(1e-10, 2), xlabel="error up to (ULP)", ylabel="share of the results")
    axes.grid(alpha=0.25)
    figure.legend(fontsize=8, loc="outside upper center")
    _save(figure, path)


def is_image(array: np.ndarray) -> bool:
    """Whether an array looks like a picture: two dimensions of some size, beside dimensions of 1 or a last one of 3."""
    shape = [size for size in array.shape if size > 1]
    is_colour = len(shape) == 3 and shape[-1] in (3, 4)
    return (len(shape) == 2 or is_colour) and min(shape[:2]) >= IMAGE_SIDE


def plot_tensor(name: str, array: np.ndarray, path: Path) -> str:
    """An image of an array that looks like one, else a histogram. Returns which."""
    values = array.astype(np.float32) if array.dtype.kind == "V" or array.dtype.itemsize < 4 else array
    figure = _figure_class()(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.subplots()
    what = "image" if is_image(array) else "histogram"
    if what == "image":
        pixels = values.reshape([size for size in array.shape if size > 1]).astype(np.float64)
        pixels = np.where(np.isfinite(pixels), pixels, np.nan)
        if pixels.ndim == 3:
            pixels = np.nan_to_num(pixels)
            pixels = (pixels - pixels.min()) / (np.ptp(pixels) or 1)
        finite = pixels[np.isfinite(pixels)]
        low, high = np.percentile(finite, (0.5, 99.5)) if finite.size else (0.0, 0.0)
        ends = {"vmin": low, "vmax": high} if low < high else {}  # a few outliers must not make the rest one grey
        drawn = axes.imshow(pixels, cmap="gray", **ends)
        if pixels.ndim == 2:
            figure.colorbar(drawn, shrink=0.8)
    else:
        taken = values.reshape(-1)[:: max(1, values.size // COUNTED)].astype(np.float64)
        taken = taken[np.isfinite(taken)]
        axes.hist(taken, bins=BARS, log=bool(taken.size))
        axes.set(xlabel="value", ylabel="number of elements")
    axes.set_title(f"{name}, {' x '.join(map(str, array.shape)) or 'scalar'} {array.dtype.name}")
    _save(figure, path)
    return what


def _save(figure: Any, path: Path) -> None:
    # The same picture has the same bytes: no date, no random identifiers.
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "ogive", "svg.fonttype": "none"}):
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
        with naming(path):
            figure.savefig(path, metadata=metadata, dpi=120)
