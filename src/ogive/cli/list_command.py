"""``ogive list``: the operators in a table."""

from __future__ import annotations

import math

import click

from ogive.catalog.fast_errors import UNMEASURED, errors
from ogive.cli.terminal import FEATURE_LEVEL, Column, print_table, say, singular
from ogive.common.dtypes import BOOLEAN, FLOATS, SIGNED, UNSIGNED
from ogive.errors import suggestion
from ogive.operators.operator import Operator

#: A word for all the types of a kind.
FAMILIES = {
    "floats": FLOATS,
    "int8-64": SIGNED,
    "uint8-64": UNSIGNED,
    "bool": (BOOLEAN,),
}


@click.command()
@click.argument("pattern", required=False, default="")
@click.option(
    "--feature-level",
    "level",
    type=FEATURE_LEVEL,
    help="List the operators that a DirectML device of this level has, with their types.",
)
def command(pattern: str, level: str | None) -> int:
    """List the operators: their names elsewhere, their element types, and the errors of the fast contract.

    The lines below the table explain its columns. `ogive accuracy OPERATOR` measures errors.

    PATTERN keeps those with this text in one of their names: swish for silu.
    """
    if level is not None:
        return _of_level(pattern, level)
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


def _of_level(pattern: str, level: str) -> int:
    """The operators that a DirectML device of a level has, with the types of each tensor."""
    from ogive.directml.data import FEATURE_LEVELS, OPERATOR_TYPES, facts

    if level not in FEATURE_LEVELS:
        raise click.UsageError(f"--feature-level is {level!r}; allowed: {', '.join(FEATURE_LEVELS)}")
    value = FEATURE_LEVELS[level]
    every = [facts(name) for name in sorted(OPERATOR_TYPES)]
    there = [op for op in every if FEATURE_LEVELS[op.introduced] <= value and op.row(value) is not None]
    rows = [op for op in there if pattern.upper() in op.name]
    if not rows:
        raise click.UsageError(
            f"no operator of feature level {level} has {pattern!r} in its name; allowed: a part of one"
        )
    titles = "operator", "since", "dimensions", "types of its tensors"
    cells = []
    for op in rows:
        row = op.row(value) or {}
        first = row[op.tensors[0].name]
        texts = [f"{member.name} {' '.join(row[member.name].types)}" for member in op.tensors]
        cells.append(
            (op.name, op.introduced, f"{first.minimum_dimensions} to {first.maximum_dimensions}", "; ".join(texts))
        )
    print_table([Column(title, is_list=title == titles[-1]) for title in titles], cells)
    click.echo()
    say(f"{singular(len(rows), 'operator')} of feature level {level}; a later one has {len(every) - len(there)} more")
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
