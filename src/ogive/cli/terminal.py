"""The parts that the commands share: consoles, a display of progress, kinds of arguments, JSON, small pictures."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

import click
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from ogive.errors import MissingPackageError, OgiveError, UnsupportedError

#: The endings of files that matplotlib is asked for.
IMAGES = (".svg", ".png", ".pdf")

#: The name that stands for the terminal in place of a file.
TERMINAL = "-"

#: Work that is over before shows no progress.
DELAY = 1.0

#: Wide enough for any table: whoever reads a pipe wants one line a row, and whole names.
PIPE_WIDTH = 10_000


def console() -> Console:
    """Standard output; in a pipe as wide as the text is."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def say(text: str, *, style: str = "", indent: int = 0) -> None:
    """Print text. In a terminal lines are broken between words, the next ones indented; a word is never broken."""
    out = console()
    for line in text.split("\n"):
        for part in _lines(line, out.width, indent):
            out.print(Text(part, style), soft_wrap=True)


def _lines(text: str, width: int, indent: int = 0) -> list[str]:
    """The lines of a text that is broken at blanks. A word that is longer than a line has one of its own.

    >>> _lines("silu swish hard_swish", 12, 2)
    ['silu swish', '  hard_swish']
    """
    if cell_len(text) <= width:
        return [text]
    words = text.lstrip().split(" ")
    lines = [" " * (len(text) - len(text.lstrip())) + words[0]]
    for word in words[1:]:
        if cell_len(lines[-1]) + 1 + cell_len(word) > width and lines[-1].strip():
            lines.append(" " * indent + word)
        else:
            lines[-1] += f" {word}"
    return [line.rstrip() for line in lines]


class Column(NamedTuple):
    """A column of a table."""

    title: str
    is_number: bool = False
    """Whether its cells end below each other."""
    is_list: bool = False
    """Whether a cell is words of which some may stand on a line of their own."""


#: Blanks between two columns. A list is as wide as this, or as its longest word.
_GAP, _LIST_WIDTH = 2, 16


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Print a row on a line. Where the terminal is too narrow for that, a row is a block with a line for each column.

    No word is broken, so no number is. A list is shortened first: the rest of its words stand below.
    """
    out = console()
    cells = [list(row) for row in rows]
    widths = [
        max(cell_len(cell) for cell in (column.title, *(row[i] for row in cells))) for i, column in enumerate(columns)
    ]
    least = [
        max(map(cell_len, (_LIST_WIDTH * " ", *(word for row in cells for word in row[i].split(" ")))))
        if column.is_list
        else widths[i]
        for i, column in enumerate(columns)
    ]
    for i in sorted(range(len(columns)), key=lambda i: least[i] - widths[i]):
        excess = sum(widths) + _GAP * (len(columns) - 1) - out.width
        if excess > 0:
            widths[i] = max(min(widths[i], least[i]), widths[i] - excess)
    if sum(widths) + _GAP * (len(columns) - 1) > out.width:
        _print_blocks(out, columns, cells)
        return
    for number, row in enumerate([[column.title for column in columns], *cells]):
        parts = [_lines(cell, width) for cell, width in zip(row, widths, strict=True)]
        for j in range(max(map(len, parts))):
            line = (
                _padded(part[j] if j < len(part) else "", width, at_end=column.is_number)
                for part, width, column in zip(parts, widths, columns, strict=True)
            )
            out.print(Text((_GAP * " ").join(line).rstrip(), "" if number else "bold"), soft_wrap=True)


def _print_blocks(out: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """A block for each row, without the cells that are empty."""
    margin = max(cell_len(column.title) for column in columns) + _GAP
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            for j, part in enumerate(_lines(cell, max(out.width - margin, 1)) if cell not in ("", "-") else ()):
                line = Text(_padded("" if j else column.title, margin), "bold")
                out.print(line + Text(part, "not bold"), soft_wrap=True)
        out.print()


def _padded(text: str, width: int, *, at_end: bool = False) -> str:
    """A text with blanks, as wide as a column."""
    blanks = " " * (width - cell_len(text))
    return blanks + text if at_end else text + blanks


@contextmanager
def progress(*columns: ProgressColumn) -> Iterator[Progress]:
    """A display on standard error, from the second second on, if that is a terminal. It counts bytes by default."""
    errors = Console(stderr=True)
    columns = columns or (DownloadColumn(),)
    shown = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *columns,
        TimeElapsedColumn(),
        console=errors,
        transient=True,
    )
    timer = Timer(DELAY, shown.start)
    timer.daemon = True
    if errors.is_terminal:
        timer.start()
    try:
        yield shown
    finally:
        timer.cancel()
        if timer.is_alive():
            timer.join()
        if shown.live.is_started:
            shown.stop()


def print_json(data: dict[str, Any]) -> None:
    """One JSON object on standard output. Infinity and NaN, which JSON does not have, are texts."""
    text = json.dumps(_plain(data), indent=2, allow_nan=False, ensure_ascii=True)
    # A list of numbers is one line. Texts have no line ends of their own in JSON.
    click.echo(_NUMBERS.sub(lambda found: re.sub(r"\s*\n\s*", " ", found[0]), text))


_NUMBERS = re.compile(r"\[\n(?:\s*(?:[-+\d.e]+|\"-?inf\"|\"nan\"),?\n)+\s*\]")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def singular(count: int, word: str) -> str:
    """A number and its noun.

    >>> singular(1, "kernel"), singular(2000, "kernel")
    ('1 kernel', '2,000 kernels')
    """
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def as_option(text: str) -> str:
    """A sentence of the Python interface in the words of the command line.

    >>> as_option('the device has DML_FEATURE_LEVEL_1_0. Make a device with Device("3_0")')
    'the device has DML_FEATURE_LEVEL_1_0. Give --feature-level 3_0'
    """
    for python, here in _IN_PYTHON:
        text = re.sub(python, here, text)
    return text


#: Remedies in Python's words, as patterns, and in those of the command line.
_IN_PYTHON = (
    (r'Make a device with Device\("(\w+)"\)', r"Give --feature-level \1"),
    (r"Use ogive\.onnx\.load\(model, partial=True\), ", "Use "),
    (r"\. See ogive\.onnx\.supported\(\) for those it has", ""),
    (r"Give ogive\.onnx\.load the path of the model", "Give the model's path in place of -"),
    (r"Install it \((pip install \w+)\), or say what computes them: partial=function", r"Install it: \1"),
    (r"take form='(\w+)'", r"give --form \1"),
    (r"Take accuracy='(\w+)'", r"Give --accuracy \1"),
    (r"the input '([^']+)' is missing\. Give \1: ", r"the input '\1' is missing. Give --input \1=FILE.npy, of "),
)


class _FeatureLevel(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """A feature level of DirectML: 3_0, 3.0 and DML_FEATURE_LEVEL_3_0 are the same. The device knows which there are."""

    name = "level"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value).strip().upper().removeprefix("DML_FEATURE_LEVEL_").replace(".", "_")


class _MemorySize(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes: 1000000, 500MB, 4GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)(I?)B?", str(value).strip().upper())
        if found is None or (found[3] and not found[2]):
            self.fail(f"{value!r} is not a size; allowed: bytes, such as 1000000, 500MB or 4GiB", param, ctx)
        power = ("", "K", "M", "G", "T").index(found[2])
        size = int(float(found[1]) * (1024 if found[3] else 1000) ** power)
        if size < 1:
            self.fail(f"{value!r} is no memory; allowed: 1 byte or more", param, ctx)
        return size


class _Pictures(click.Path):
    """A folder of pictures; people write a file's name, too, or ``-`` for the terminal."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.suffix.lower() in IMAGES and not path.is_dir():
            way_out = f"Write --plot {path.parent}"
            self.fail(
                f"{str(path)!r} is a file; allowed: a folder, for a NAME.png of each output. {way_out}", param, ctx
            )
        if str(path) == TERMINAL:
            self.fail("'-' is no folder; in a terminal the command draws a histogram without --plot", param, ctx)
        return path


FEATURE_LEVEL, MEMORY = _FeatureLevel(), _MemorySize()
#: The type of an option that names a folder of pictures.
PICTURES = _Pictures(file_okay=False, path_type=Path)


class ModelCommand(click.Command):
    """A command on a model. Its help, asked for with a model, says what the model takes and returns."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["arguments"] = list(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The model first: its inputs are what was asked for."""
        self._format_model(ctx, formatter)
        super().format_options(ctx, formatter)

    @staticmethod
    def _format_model(ctx: click.Context, formatter: click.HelpFormatter) -> None:
        suffixes = ".onnx", ".json"
        paths = [Path(word) for word in ctx.meta.get("arguments", ()) if word.lower().endswith(suffixes)]
        for path in [path for path in paths if path.is_file()][:1]:
            with formatter.section(f"This model, {path.name}"):
                try:
                    rows = _json_rows(path) if path.suffix.lower() == ".json" else _onnx_rows(path)
                except (OgiveError, MissingPackageError, OSError) as error:
                    for line in f"It cannot be loaded: {as_option(str(error))}".splitlines():
                        formatter.write_text(line)
                else:
                    formatter.write_dl(rows or [("nothing", "it takes and returns nothing")])


def _onnx_rows(path: Path) -> list[tuple[str, str]]:
    from ogive.onnx import load
    from ogive.onnx.declarations import interface
    from ogive.onnx.reading import read_model

    needs_partial = False
    try:
        model = load(path)
        given, made = model.inputs, model.outputs
    except UnsupportedError:  # its inputs and outputs are known all the same
        given, made = interface(read_model(path)[0], path.name)
        needs_partial = True
    rows = [
        (f"--input {info.name}=FILE.npy", str(info).partition(": ")[2] + ("" if info.required else " (optional)"))
        for info in given
    ]
    rows += [(f"output {info.name}", str(info).partition(": ")[2]) for info in made]
    return [*rows, ("--partial", "it has nodes that Ogive does not have")] if needs_partial else rows


def _json_rows(path: Path) -> list[tuple[str, str]]:
    from ogive.dxdispatch import load

    return [
        (f"resource {resource.name}", "deferred" if resource.is_deferred else f"{resource.kind}, {resource.size} bytes")
        for resource in load(path).resources.values()
    ]


#: Rows of a picture, and columns: one a bin.
HEIGHT, WIDTH = 3, 60

#: From empty to full, for one character.
_BLOCKS, _ASCII = " ▁▂▃▄▅▆▇█", " .:|"


def picture(counts: Sequence[int], low: float, high: float, encoding: str | None, *, columns: int = WIDTH) -> list[str]:
    r"""The lines of a histogram, with the ends of its range below. Heights are logarithms of the counts.

    Neighbours are added where there are more counts than columns.

    >>> print("\n".join(picture([1, 10, 1000, 0, 1], -1, 1, "utf-8")))
      █
      █
    ▂██ ▂
    -1  1
    """
    blocks = _BLOCKS if can_write(_BLOCKS, encoding) else _ASCII
    if len(counts) > columns:
        counts = [sum(counts[i * len(counts) // columns : (i + 1) * len(counts) // columns]) for i in range(columns)]
    full, largest = len(blocks) - 1, max(counts, default=0)
    # One element is still seen: its height is that of the smallest step, or more.
    scale = HEIGHT * full / math.log1p(largest) if largest else 0
    heights = [max(1, round(math.log1p(count) * scale)) if count else 0 for count in counts]
    lines = [
        "".join(blocks[min(max(height - row * full, 0), full)] for height in heights).rstrip()
        for row in reversed(range(HEIGHT))
    ]
    left, right = f"{low:.6g}", f"{high:.6g}"
    return [*lines, left + right.rjust(max(len(counts) - len(left), len(right) + 2))]


def can_write(text: str, encoding: str | None) -> bool:
    """Whether an encoding has all characters of a text."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
