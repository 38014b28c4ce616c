"""``ogive list``: the operators in a table."""

from __future__ import annotations

import math

import click
from rich.table import Table

from ogive.catalog.fast_errors import errors
from ogive.cli.terminal import console
from ogive.dtypes import BOOLEAN, FLOATS, SIGNED, UNSIGNED
from ogive.errors import suggestion
from ogive.operator import Operator

__all__ = ["command", "rounded_up", "short_types"]


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
    """List the operators: their names elsewhere, their element types, and the errors of both contracts.

    The errors are the largest measured ones of float32, in ULP, with the default parameters; "=" where the fast contract
    is the exact one. `ogive accuracy OPERATOR` measures them.

    PATTERN keeps those with this text in one of their names: swish for silu.
    """
    from ogive.catalog import OPERATORS
    from ogive.catalog.aliases import ALIASES, named
    from ogive.catalog.other_names import advice, names_of

    operators = [*OPERATORS.values(), *(named(name) for name, alias in ALIASES.items() if alias.values)]
    others = {op.name: names_of(op.name) for op in operators}
    rows = [op for op in operators if pattern.lower() in " ".join(_names(op, others[op.name])).lower()]
    if not rows:
        known = [name for op in operators for name in _names(op, others[op.name])]
        allowed = "allowed: a part of a name that `ogive list` prints"
        hint = advice(pattern) or suggestion(pattern, known)
        what = f"no operator has {pattern!r} in its names"
        raise click.UsageError(f"{what}. {hint}" if hint else f"{what}; {allowed}")
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("operator", "ONNX", "DirectML", "exact", "fast", "element types", "other names"):
        table.add_column(title, no_wrap=title not in ("element types", "other names"))
    for op in sorted(rows, key=lambda op: op.name):
        table.add_row(
            op.name, op.onnx or "-", op.directml or "-", *_errors(op), short_types(op), " ".join(others[op.name])
        )
    table.caption = f"floats: {', '.join(t.name for t in FLOATS)}; exact, fast: the largest errors in float32, ULP"
    table.caption_justify = "left"
    console().print(table)
    return 0


def _names(op: Operator, others: tuple[str, ...]) -> list[str]:
    """All names of an operator."""
    return [op.name, op.onnx or "", op.directml or "", *others]


def _errors(op: Operator) -> tuple[str, str]:
    """The largest errors of both contracts; what is correctly rounded is off by half a unit at most."""
    found = errors(op.name)
    if not found:
        return "", "="
    return "0.50", f"{rounded_up(found[0].fast):.2f}"


def rounded_up(value: float) -> float:
    """The number with two decimals that is not below."""
    return math.ceil(value * 100) / 100


def short_types(op: Operator) -> str:
    """The element types that an operator takes, such as ``floats int8-64``."""
    taken = {t for signature in op.signatures for t in signature.inputs}
    words = []
    for word, family in FAMILIES.items():
        present = [t.name for t in family if t in taken]
        words.extend([word] if len(present) == len(family) else present)
    return " ".join(words)
