"""The page docs/tables/directml.md: what DirectML's specification leaves open, and what holds here."""

from __future__ import annotations

from ogive.directml.data import DECISIONS, FEATURE_LEVELS, OPERATOR_TYPES, OperatorFacts, facts

__all__ = ["markdown"]

_BY_LEVEL = """
## Operators by feature level

The types are those of the first input, or of the output where there is none, from that level on. `ogive list --feature-level 3_0` prints
what one level has.

| operator | level: types |
|---|---|
"""


def types_by_level(operator: OperatorFacts) -> list[tuple[str, tuple[str, ...]]]:
    """The levels at which an operator appears or takes other types, and the types from there on."""
    first = next(iter(operator.inputs), operator.output).name
    found: list[tuple[str, tuple[str, ...]]] = []
    for value, level, row in operator.support:
        types = row[first].types
        name = operator.introduced if value < FEATURE_LEVELS[operator.introduced] else level
        if not found or found[-1][1] != types:
            found.append((name, types))
    return found


def _levels() -> str:
    rows = ""
    for name in sorted(OPERATOR_TYPES):
        cells = "; ".join(f"{level}: {', '.join(types)}" for level, types in types_by_level(facts(name)))
        rows += f"| {name} | {cells} |\n"
    return _BY_LEVEL + rows


_ABOVE = """# DirectML's open questions

<!-- Made by `make pages`; do not edit. -->

DirectML's specification leaves these questions open, or answers them twice. [DirectML](../directml.md) is the guide.

| question | here |
|---|---|
"""


def markdown() -> str:
    """A table of the questions about all operators, and one of those about single ones."""
    common = "".join(f"| {row.question} | {row.holds} |\n" for row in DECISIONS[""])
    single = "".join(
        f"| {name} | {row.question} | {row.holds} |\n"
        for name, rows in sorted(DECISIONS.items())
        if name
        for row in rows
    )
    return (
        f"{_ABOVE}{common}\n## Single operators\n\n| operator | question | here |\n|---|---|---|\n{single}{_levels()}"
    )
