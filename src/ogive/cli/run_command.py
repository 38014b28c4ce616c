"""``ogive run MODEL``: an ONNX model on arrays from files, or a model in the JSON format of DxDispatch."""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.progress import Progress

from ogive.cli.outputs import (
    Change,
    KeptOutputs,
    OutputFolder,
    Summary,
    change,
    has_numbers,
    histogram,
    summary,
)
from ogive.cli.terminal import (
    FEATURE_LEVEL,
    MEMORY,
    PICTURES,
    TERMINAL,
    WIDTH,
    Column,
    ModelCommand,
    console,
    picture,
    print_json,
    print_table,
    progress,
    say,
    singular,
)
from ogive.common.array_files import read_npy
from ogive.common.contracts import CONTRACTS

if TYPE_CHECKING:
    from ogive.onnx import Model, PartialModel


@click.command(cls=ModelCommand)
@click.argument("model", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--input", "inputs", multiple=True, metavar="NAME=FILE.npy", help="ONNX: an input and its value.")
@click.option(
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="ONNX: write each output to this folder. JSON: the folder of writeFile; default: the current folder.",
)
@click.option(
    "--plot",
    "pictures",
    type=PICTURES,
    help="ONNX: draw each output to NAME.png in this folder, as an image or a histogram.",
)
@click.option(
    "--feature-level",
    type=FEATURE_LEVEL,
    help="JSON: the feature level of the device, such as 3_0. Default: the highest.",
)
@click.option(
    "--iterations",
    type=click.IntRange(1),
    help="ONNX: number of runs of the model. JSON: runs of every dispatch. The time is the median without the first.",
)
@click.option(
    "--memory-limit", type=MEMORY, help="Memory for the arrays of a run, such as 4GiB. Default: the free memory."
)
@click.option(
    "--accuracy",
    type=click.Choice(CONTRACTS),
    help="The accuracy contract of element-wise operators. Default: OGIVE_ACCURACY, or exact.",
)
@click.option("--partial", is_flag=True, help="ONNX: let ONNX Runtime compute the nodes that Ogive does not have.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    model: Path,
    inputs: tuple[str, ...],
    folder: Path | None,
    pictures: Path | None,
    feature_level: str | None,
    iterations: int | None,
    memory_limit: int | None,
    accuracy: str | None,
    partial: bool,
    as_json: bool,
) -> int:
    """Run a model, and print what ran and its results.

    MODEL is an .onnx file. The command prints what ran, and for every input and output its range, the number of zeros,
    NaN and infinities, and a picture of its distribution. With --output it writes each output to NAME.npy in that folder.

    MODEL can also be a .json file in the format of DxDispatch, which says itself what to run and what to print. With -
    the command reads an ONNX model from a pipe.

    `ogive run MODEL --help` also prints the inputs and outputs of that model.
    """
    is_json = model.suffix.lower() == ".json"
    if pictures is not None:
        from ogive.cli.plot import check_matplotlib

        check_matplotlib()
    of_json = {"--feature-level": (feature_level, "Use `ogive check --feature-level`")}
    of_onnx = {
        "--input": (inputs, "Name the inputs in its resources"),
        "--plot": (pictures, "Write a resource by the command writeFile"),
        "--partial": (partial, "Ogive computes all that such a model may have"),
    }
    for option, (value, way_out) in (of_onnx if is_json else of_json).items():
        if value:
            raise click.UsageError(f"{option} was given, for a{' JSON' if is_json else 'n ONNX'} model. {way_out}")
    if memory_limit is None:
        from ogive.runtime.free_memory import available_memory

        memory_limit = available_memory()
    if is_json:
        _run_json(model, folder, feature_level, iterations or 1, memory_limit, accuracy, as_json)
    else:
        _run_onnx(model, inputs, folder, pictures, iterations, memory_limit, accuracy, partial, as_json)
    return 0


# ---- ONNX


@dataclass
class _InputArray:
    """An input or output as it is shown."""

    role: str
    name: str
    summary: Summary
    file: Path | None = None
    picture: Path | None = None
    counts: list[int] | None = None
    """The histogram over the range from low to high."""
    low: float = 0.0
    high: float = 0.0
    compared_with: str | None = None
    change: Change | None = None

    def as_json(self) -> dict[str, Any]:
        found = {"name": self.name, **asdict(self.summary), "file": None if self.file is None else str(self.file)}
        if self.role != "resource":
            drawn = {"low": self.low, "high": self.high, "counts": self.counts}
            found["histogram"] = None if self.counts is None else drawn
        if self.role == "output":
            found["picture"] = None if self.picture is None else str(self.picture)
            changed = None if self.change is None else {"input": self.compared_with, **asdict(self.change)}
            found["compared_with"] = changed
        return found


def _run_onnx(
    path: Path,
    inputs: tuple[str, ...],
    folder: Path | None,
    pictures: Path | None,
    iterations: int | None,
    memory_limit: int,
    accuracy: str | None,
    partial: bool,
    as_json: bool,
) -> None:
    from ogive.onnx import load

    files: dict[str, Path] = {}
    for text in inputs:
        name, file = _named_file(text)
        if name in files:
            raise click.UsageError(f"--input {name} is given twice; allowed: one file for each input")
        files[name] = file
    given = {name: read_npy(file) for name, file in files.items()}
    with progress() as display:
        task = display.add_task(f"loading {path.name}", total=None)
        source = sys.stdin.buffer.read() if str(path) == TERMINAL else path
        model = load(source, memory_limit=memory_limit, accuracy=accuracy, partial=partial)
        given = {name: _with_type(model, name, array) for name, array in given.items()}
        with KeptOutputs() if folder is None else OutputFolder(folder) as outputs:
            display.update(task, description="computing")
            results, seconds = _timed(model, given, outputs, iterations, display, task)
            display.remove_task(task)
            tensors = _described(given, files, results, outputs, pictures, display)
    if as_json:
        print_json(_json_report(path, model, seconds, tensors))
    else:
        _show(path, model, seconds, tensors)


def _named_file(text: str) -> tuple[str, Path]:
    name, separator, file = text.partition("=")
    if not separator or not name or not file:
        raise click.UsageError(f"--input is {text!r}; allowed: NAME=FILE.npy")
    return name, Path(file)


def _with_type(model: Model | PartialModel, name: str, array: np.ndarray) -> np.ndarray:
    """bfloat16 and other types that .npy files do not name are bytes in them: the model says what they are."""
    wanted = next((info.dtype for info in model.inputs if info.name == name), None)
    is_bytes = array.dtype.kind == "V" and array.dtype.names is None and array.dtype.subdtype is None
    if is_bytes and wanted is not None and wanted.isbuiltin == 2 and wanted.itemsize == array.itemsize:
        return array.view(wanted)
    return array


#: A model that takes longer is not run a second time.
LONG_SECONDS = 0.5

#: Results of so many bytes may be held twice.
SMALL_SIZE = 1 << 24


def _timed(
    model: Model | PartialModel,
    given: dict[str, np.ndarray],
    outputs: KeptOutputs,
    iterations: int | None,
    display: Progress,
    task: Any,
) -> tuple[dict[str, Any], list[float]]:
    """The results, and how long each run took. The first one includes compiling what is not in the cache."""
    from ogive.onnx import Model
    from ogive.onnx.delivery import Delivery

    # Outputs of other runtimes come in memory of their own.
    delivery = Delivery(outputs.array, lambda size: display.advance(task, size))
    where: dict[str, Any] = {"delivery": delivery} if isinstance(model, Model) else {}
    seconds: list[float] = []
    results: dict[str, Any] = {}
    while len(seconds) < (iterations or 2):
        results = {}  # what is not in given memory is gone before it is computed again
        begin = time.perf_counter()
        results = model.run(given, **where)
        seconds.append(time.perf_counter() - begin)
        size = sum(value.nbytes for value in results.values() if isinstance(value, np.ndarray))
        if size <= SMALL_SIZE and len(seconds) == 1:
            # A program calls a model without a delivery, which takes longer than a small model itself.
            for _ in range((iterations or 2) - 1):
                begin = time.perf_counter()
                model.run(given)
                seconds.append(time.perf_counter() - begin)
        if iterations is None and seconds[0] > LONG_SECONDS:
            break
    return results, seconds


def _median(seconds: list[float]) -> float:
    """The times of the runs but the first, which is a warm-up."""
    return statistics.median(seconds[1:] or seconds)


def _described(
    given: dict[str, np.ndarray],
    files: dict[str, Path],
    results: dict[str, Any],
    outputs: KeptOutputs,
    pictures: Path | None,
    display: Progress,
) -> list[_InputArray]:
    """Every input and output, described; an output's memory is given back as soon as it is written."""
    total = sum(array.nbytes for array in (*given.values(), *results.values()) if isinstance(array, np.ndarray))
    task = display.add_task("counting", total=total)

    def told(size: int) -> None:
        display.advance(task, size)

    described = {name: _InputArray("input", name, summary(array, told), files[name]) for name, array in given.items()}
    before = [(name, array) for name, array in given.items() if has_numbers(array) and array.dtype != bool]
    tensors = list(described.values())
    for name in list(results):
        for part, array in _arrays(name, results.pop(name)):
            tensor = _InputArray("output", part, summary(array, told))
            alike = [(n, a) for n, a in before if a.shape == array.shape and has_numbers(array) and array.dtype != bool]
            if alike:
                tensor.compared_with, other = alike[0]
                tensor.change = change(other, array)
                _draw([(described[tensor.compared_with], other), (tensor, array)])
            else:
                _draw([(tensor, array)])
            if pictures is not None and has_numbers(array):
                tensor.picture = _pictured(part, array, pictures)
            tensor.file = outputs.finish(part, array)
            tensors.append(tensor)
    return tensors


def _pictured(name: str, array: np.ndarray, folder: Path) -> Path:
    """Draw an output to a file of its name."""
    from ogive.cli.plot import plot_tensor

    folder.mkdir(parents=True, exist_ok=True)
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name).lstrip(".")[:200] or "output"
    path = folder / f"{safe}.png"
    plot_tensor(name, array, path)
    return path


def _arrays(name: str, value: Any) -> list[tuple[str, np.ndarray]]:
    """The arrays of an output: one; of a sequence several; none of an optional one that is not there."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [pair for i, item in enumerate(value) for pair in _arrays(f"{name}[{i}]", item)]
    return [(name, np.asarray(value))]


def _draw(pairs: list[tuple[_InputArray, np.ndarray]]) -> None:
    """Histograms of tensors over the range of all of them; those that have one already keep it."""
    ends = [end for t, _ in pairs for end in (t.summary.smallest, t.summary.largest) if end is not None]
    for tensor, array in pairs:
        if tensor.counts is None and tensor.summary.smallest is not None and tensor.summary.count > 1:
            tensor.low, tensor.high = float(min(ends)), float(max(ends))
            tensor.counts = histogram(array, tensor.low, tensor.high, WIDTH)


# ---- what is printed


def _show(path: Path, model: Model | PartialModel, seconds: list[float], tensors: list[_InputArray]) -> None:
    out, about = console(), model.about
    names = ", ".join(f"{name} x{count}" if count > 1 else name for name, count in sorted(about.operators.items()))
    opsets = ", ".join(f"{domain} {version}" for domain, version in about.opsets.items())
    nodes = singular(sum(about.operators.values()), "node") + (f" ({names})" if names else "")
    how = "the second run" if len(seconds) == 2 else f"the median of {len(seconds) - 1} runs after the first"
    lines = {
        "model": path.name + (f": {_one_line(about.text)}" if about.text.strip() else ""),
        "ran": f"{nodes} of opset {opsets}",
        "as": _how(model),
        "time": f"{_median(seconds) * 1e3:.3f} ms, " + (how if len(seconds) > 1 else "compiling included"),
    }
    for title, text in lines.items():
        say(f"{title:<6} {text}", indent=7)
    click.echo()
    _print_tensors(tensors)
    for tensor in tensors:
        _show_change(tensor)
    for tensor in tensors:
        if tensor.counts is not None:
            say(f"\n{tensor.name}, how many elements (logarithmic)")
            for line in picture(tensor.counts, tensor.low, tensor.high, out.encoding, columns=out.width):
                click.echo(line)
    results = [tensor for tensor in tensors if tensor.role == "output"]
    written = [path for tensor in results for path in (tensor.file, tensor.picture) if path is not None]
    if written:
        click.echo()
    for file in written:
        say(f"wrote {file}")


def _how(model: Model | PartialModel) -> str:
    """The parts that computed a model: kernels and calls; for a partial one, its parts."""
    from ogive.onnx import Model

    if not isinstance(model, Model):
        ours = sum(part.is_ogive for part in model.parts)
        return f"{singular(len(model.parts), 'part')}, {ours} by Ogive, {len(model.parts) - ours} by ONNX Runtime"
    ran = model.ran()
    assert ran is not None
    parts = [singular(ran.kernels, "kernel")]
    if ran.kernel_calls != ran.kernels:
        parts.append(f"called {singular(ran.kernel_calls, 'time')}")
    if ran.function_calls:
        parts.append(singular(ran.function_calls, "call") + " of rows, reductions or data movement")
    return ", ".join([*parts, *ran.types])


def _one_line(text: str) -> str:
    """A model's own words without what a terminal would obey."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= 300 else words[:300] + "..."


def _show_change(tensor: _InputArray) -> None:
    if tensor.change is None:
        return
    zero, count = tensor.change.became_zero, tensor.summary.count
    share = f" ({100 * zero / count:.1f} %)" if zero else ""
    what = f"{zero:,} of {count:,} elements became 0{share}, {tensor.change.changed_signs:,} changed sign"
    say(f"{tensor.name} beside {tensor.compared_with}: {what}")


#: How a table calls what a tensor is for.
_ROLES = {"input": "in", "output": "out"}


def _print_tensors(tensors: list[_InputArray]) -> None:
    """A row for each tensor. The range is that of finite numbers."""
    has_roles = len({tensor.role for tensor in tensors}) > 1
    texts, numbers = ("name", "shape", "dtype"), ("smallest", "largest", "zeros", "NaN", "inf", "-inf")
    columns = [Column(""), *map(Column, texts)][not has_roles :] + [Column(title, is_number=True) for title in numbers]
    rows = []
    for tensor in tensors:
        s = tensor.summary
        ends = ["-" if end is None else f"{end:.6g}" if isinstance(end, float) else str(end)
                for end in (s.smallest, s.largest)]  # fmt: skip
        counts = [
            "-" if n is None else f"{n:,}" for n in (s.zeros, s.nan, s.positive_infinities, s.negative_infinities)
        ]
        shape = " x ".join(map(str, s.shape)) or "scalar"
        rows.append([_ROLES.get(tensor.role, ""), tensor.name, shape, s.dtype, *ends, *counts][not has_roles :])
    print_table(columns, rows)


def _json_report(
    path: Path, model: Model | PartialModel, seconds: list[float], tensors: list[_InputArray]
) -> dict[str, Any]:
    from ogive.onnx import Model

    ran = model.ran() if isinstance(model, Model) else None
    parts = [] if isinstance(model, Model) else [part.is_ogive for part in model.parts]
    return {
        "model": str(path),
        "format": "onnx",
        "opsets": dict(model.about.opsets),
        "nodes": sum(model.about.operators.values()),
        "operators": dict(sorted(model.about.operators.items())),
        # Nothing runs on a device here, so no node is left to the host.
        "ran": None if ran is None else {name: value for name, value in asdict(ran).items() if name != "on_host"},
        "parts": {"ogive": sum(parts), "other": len(parts) - sum(parts)} if parts else None,
        "seconds": _median(seconds),
        "runs": len(seconds),
        "inputs": [tensor.as_json() for tensor in tensors if tensor.role == "input"],
        "outputs": [tensor.as_json() for tensor in tensors if tensor.role == "output"],
    }


# ---- DxDispatch


def _run_json(
    path: Path,
    folder: Path | None,
    feature_level: str | None,
    iterations: int,
    memory_limit: int,
    accuracy: str | None,
    as_json: bool,
) -> None:
    from ogive.dxdispatch import load

    model = load(path, feature_level=feature_level, accuracy=accuracy, output_folder=folder, memory_limit=memory_limit)
    printed: list[str] = []
    writes = folder is not None or model.writes_files
    with OutputFolder(folder or Path()) if writes else KeptOutputs():
        model.run(printed.append if as_json else lambda text: click.echo(text, nl=False), iterations=iterations)
    tensors = [
        _InputArray("resource", name, summary(values))
        for name, resource in model.resources.items()
        if (values := _values(resource)) is not None
    ]
    if as_json:
        report = {"model": str(path), "format": "dxdispatch", "feature_level": str(model.feature_level)}
        print_json({
            **report,
            "printed": "".join(printed).splitlines(),
            "resources": [tensor.as_json() for tensor in tensors],
        })  # fmt: skip
    elif tensors:
        click.echo()
        _print_tensors(tensors)


def _values(resource: Any) -> np.ndarray | None:
    """The contents of a resource, without a copy; None for one that nothing has made, or whose type is not known."""
    from ogive.dxdispatch.resources import NUMPY

    if resource.buffer is None:
        return None
    if resource.is_deferred:
        return np.asarray(resource.buffer)
    dtype = NUMPY.get(resource.kind)
    if dtype is None:
        return None
    begin = resource.values_offset
    size = resource.values_size // dtype.itemsize * dtype.itemsize
    return np.asarray(resource.buffer[begin : begin + size].view(dtype))
