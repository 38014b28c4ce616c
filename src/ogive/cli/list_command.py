"""``ogive list``: the operators in a table."""

from __future__ import annotations

import math

import click

from ogive.catalog.fast_errors import UNMEASURED, errors
from ogive.cli.terminal import Column, print_table, say, singular
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
    """List the operators: their names elsewhere, their element types, and the errors of the fast contract.

    The lines below the table explain its columns. `ogive accuracy OPERATOR` measures errors.

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
    titles = "operator", "ONNX", "DirectML", "fast", "element types", "other names"
    print_table(
        [Column(title, title == "fast", title in titles[-2:]) for title in titles],
        (
            (op.name, op.onnx or "-", op.directml or "-", _fast(op), short_types(op), " ".join(others[op.name]))
            for op in sorted(rows, key=lambda op: op.name)
        ),
    )
    click.echo()
    own = sum(op.name in OPERATORS for op in rows)
    filled_in = f", and {singular(len(rows) - own, 'name')} of others with numbers filled in" if own < len(rows) else ""
    say(singular(own, "operator") + filled_in)
    for title, text in _COLUMNS.items():
        say(f"{title:<13}  {text}", indent=15)
    return 0


#: The meaning of the columns.
_COLUMNS = {
    "fast": "the largest measured error of the fast contract in float32, in ULP; =: the same results as the exact "
    "contract, which is correctly rounded (0.5 ULP at most); -: not measured",
    "floats": ", ".join(t.name for t in FLOATS),
    "int8-64": ", ".join(t.name for t in SIGNED),
    "uint8-64": ", ".join(t.name for t in UNSIGNED),
}


def _names(op: Operator, others: tuple[str, ...]) -> list[str]:
    """All names of an operator."""
    return [op.name, op.onnx or "", op.directml or "", *others]


def _fast(op: Operator) -> str:
    """The largest error of the fast contract."""
    found = errors(op.name)
    return f"{rounded_up(found[0].fast):.2f}" if found else "-" if op.name in UNMEASURED else "="


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
