"""The page docs/tables/directml.md: what DirectML's specification leaves open, and what holds here."""

from __future__ import annotations

from ogive.directml.data import DECISIONS

__all__ = ["markdown"]

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
    return f"{_ABOVE}{common}\n## Single operators\n\n| operator | question | here |\n|---|---|---|\n{single}"
