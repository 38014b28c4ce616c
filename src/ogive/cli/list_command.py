"""``ogive list``: the operators in a table."""

from __future__ import annotations

import click
from rich.table import Table

from ogive.cli.terminal import console
from ogive.dtypes import BOOLEAN, FLOATS, SIGNED, UNSIGNED
from ogive.operator import Operator

__all__ = ["command", "short_types"]


#: A word for all the types of a kind.
FAMILIES = {
    "floats": FLOATS,
    "int8-64": SIGNED,
    "uint8-64": UNSIGNED,
    "bool": (BOOLEAN,),
}


@click.command()
@click.argument("pattern", required=False, default="")
def command(pattern: str) -> int:
    """List the operators: what both standards call them, and their element types.

    PATTERN keeps those with this text in one of their names.
    """
    from ogive.catalog import OPERATORS

    rows = [op for op in OPERATORS.values() if pattern.lower() in f"{op.name} {op.onnx} {op.directml}".lower()]
    if not rows:
        raise click.UsageError(
            f"no operator has {pattern!r} in its names; allowed: a part of a name that `ogive list` prints"
        )
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("operator", "ONNX", "DirectML", "element types"):
        table.add_column(title, no_wrap=title != "element types")
    for op in sorted(rows, key=lambda op: op.name):
        table.add_row(op.name, op.onnx or "-", op.directml or "-", short_types(op))
    table.caption = f"floats: {', '.join(t.name for t in FLOATS)}"
    table.caption_justify = "left"
    console().print(table)
    return 0


def short_types(op: Operator) -> str:
    """The element types that an operator takes, such as ``floats int8-64``."""
    taken = {t for signature in op.signatures for t in signature.inputs}
    words = []
    for word, family in FAMILIES.items():
        present = [t.name for t in family if t in taken]
        words.extend([word] if len(present) == len(family) else present)
    return " ".join(words)
