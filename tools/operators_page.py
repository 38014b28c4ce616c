"""The page docs/operators/index.md: every operator with its definition. The site has a page for each in its place."""

from __future__ import annotations

import inspect

from ogive.catalog import OPERATORS

__all__ = ["markdown"]

_ABOVE = """# Operators

<!-- Made by `make pages`; do not edit. -->

`ogive show celu` prints a formula and its curve, `help(ogive.celu)` everything about one operator. `make site` makes a page for
each of them. Names of other libraries stand [in a table of their own](../tables/names.md).

| operator | definition | ONNX | DirectML |
|---|---|---|---|
"""


def markdown() -> str:
    """A row for each operator, in the order of names."""
    rows = []
    for name, op in sorted(OPERATORS.items()):
        about = " ".join((inspect.getdoc(op.function) or "").split("\n\n")[0].split())
        cells = [f"`{name}`", about.replace("``", "`").replace("|", "\\|"), op.onnx or "", op.directml or ""]
        rows.append(f"| {' | '.join(cells)} |\n")
    return _ABOVE + "".join(rows)
