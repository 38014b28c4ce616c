"""``ogive run MODEL``: an ONNX model on arrays from files, or a model in the JSON format of DxDispatch."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from ogive.errors import ModelError, message

__all__ = ["command"]


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE.npy", help="ONNX: an input and its value.")
@click.option(
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="ONNX: write each output here. JSON: where writeFile writes to, else the current folder.",
)
@click.option("--feature-level", metavar="LEVEL", help="JSON: the DirectML device's, such as 3_0; else the highest.")
@click.option("--iterations", type=click.IntRange(1), help="JSON: how often every dispatch runs.")
def command(
    model: Path, inputs: tuple[str, ...], folder: Path | None, feature_level: str | None, iterations: int | None
) -> int:
    """Run a model.

    MODEL is an .onnx file: prints the name, shape, type and range of every output and the time it took, once
    its kernels are there; with --output, writes it to NAME.npy in that folder. Or MODEL is a .json file in the format
    of DxDispatch, which says itself what to run and what to print.
    """
    is_json = model.suffix.lower() == ".json"
    wrong = {"--input": inputs} if is_json else {"--feature-level": feature_level, "--iterations": iterations}
    for option, value in wrong.items():
        if value:
            raise click.UsageError(f"{option} is not for {'JSON' if is_json else 'ONNX'} models")
    if is_json:
        from ogive.dxdispatch import load

        load(model, feature_level=feature_level, output_folder=folder).run(
            lambda text: click.echo(text, nl=False), iterations=iterations or 1
        )
    else:
        _run_onnx(model, inputs, folder)
    return 0


def _run_onnx(model: Path, inputs: tuple[str, ...], folder: Path | None) -> None:
    from ogive.onnx import load

    given: dict[str, np.ndarray] = {}
    for name, value in map(_read_input, inputs):
        if name in given:
            raise click.UsageError(f"--input {name} is given twice")
        given[name] = value
    console = Console(highlight=False)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("output", "shape", "dtype", "smallest", "largest", "time"):
        table.add_column(title, justify="right" if title in ("smallest", "largest", "time") else "left")
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    errors = Console(stderr=True)
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task(f"loading {model.name}")
        loaded = load(model)
        results: dict[str, Any] = {}
        for name in loaded.output_names:
            progress.update(task, description=f"computing {name}")
            computed, seconds = _timed(partial(loaded.run, given, [name]))
            results |= computed
            table.add_row(name, *_described(results[name]), f"{seconds * 1e3:.3f} ms")
    console.print(table)
    if folder is not None:
        _write(results, folder, console)


#: What takes longer is not computed a second time.
LONG_SECONDS = 0.5


def _timed(compute: Callable[[], Any]) -> tuple[Any, float]:
    """A result, and how long computing it takes once everything is compiled that can be."""
    seconds = 0.0
    for _ in range(2):
        begin = time.perf_counter()
        result = compute()
        seconds = time.perf_counter() - begin
        if seconds > LONG_SECONDS:
            break
    return result, seconds


def _read_input(text: str) -> tuple[str, np.ndarray]:
    name, separator, file = text.partition("=")
    if not separator or not name or not file:
        raise click.UsageError(f"--input is {text!r}; allowed: NAME=FILE.npy")
    try:
        return name, np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ModelError(message(file, "it is not a .npy file with one array of numbers")) from error


def _described(value: np.ndarray) -> tuple[str, str, str, str]:
    """Shape, type and range of an array; NaN is not part of a range."""
    shape = " x ".join(map(str, value.shape)) or "scalar"
    if value.dtype == bool or value.size == 0:
        return shape, str(value.dtype), "-", "-"
    numbers: Any = value if value.dtype.kind in "iu" else value.astype(np.float64)
    numbers = numbers[~np.isnan(numbers)]
    if numbers.size == 0:
        return shape, str(value.dtype), "nan", "nan"
    return shape, str(value.dtype), f"{numbers.min():.6g}", f"{numbers.max():.6g}"


def _write(results: dict[str, np.ndarray], folder: Path, console: Console) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in results.items():
        # Names of tensors may hold what names of files must not.
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name).lstrip(".") or "output"
        file = folder / f"{safe}.npy"
        np.save(file, value)
        console.print(f"wrote {file}", markup=False, soft_wrap=True)
