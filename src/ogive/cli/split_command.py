"""``ogive split MODEL``: cut a model into what Ogive computes and what it does not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ogive.cli.terminal import Column, as_option, print_json, print_table, say
from ogive.errors import naming

if TYPE_CHECKING:
    from ogive.onnx import Part


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Write every part into this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the parts as JSON.")
def command(model: Path, output: Path | None, as_json: bool) -> int:
    """Cut a model into what Ogive computes and what it does not.

    MODEL is an .onnx file. Prints the parts in the order in which they run, with what goes in and out, and why Ogive
    refuses nodes. With --output, each part becomes a model of its own: 0-ogive.onnx, 1-rest.onnx and so on. Exit
    status 1 if Ogive does not compute the whole model.
    """
    from ogive.onnx import split
    from ogive.onnx.refusals import grouped

    parts = split(model)
    files = [f"{i}-{'ogive' if part.is_ogive else 'rest'}.onnx" for i, part in enumerate(parts)]
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for name, part in zip(files, parts, strict=True):
            with naming(output / name) as path:
                path.write_bytes(part.model.SerializeToString())
    if as_json:
        rows = [_row(part, name if output else None) for part, name in zip(parts, files, strict=True)]
        print_json({"parts": rows})
    else:
        titles = "part", "computed by", "operators", "inputs", "outputs", *(("file",) if output else ())
        columns = [Column(title, is_list=title in ("operators", "inputs", "outputs")) for title in titles]
        print_table(columns, (_cells(i, part, files if output else None) for i, part in enumerate(parts)))
        for reason in grouped(reason for part in parts for reason in part.reasons):
            say(f"refused: {as_option(reason)}")
    return 0 if all(part.is_ogive for part in parts) else 1


def _operators(part: Part) -> str:
    counts = Counter(node.op_type for node in part.model.graph.node)
    return ", ".join(name if count == 1 else f"{name} ({count})" for name, count in counts.items())


def _row(part: Part, file: str | None) -> dict[str, Any]:
    return {
        "computed_by": "ogive" if part.is_ogive else "another runtime",
        "operators": dict(Counter(node.op_type for node in part.model.graph.node)),
        "inputs": list(part.inputs),
        "outputs": list(part.outputs),
        "refused": [as_option(reason) for reason in part.reasons],
        "file": file,
    }


def _cells(i: int, part: Part, files: list[str] | None) -> tuple[str, ...]:
    names = ", ".join(part.inputs), ", ".join(part.outputs)
    by = "Ogive" if part.is_ogive else "another runtime"
    return (str(i), by, _operators(part), *names, *([files[i]] if files else ()))
