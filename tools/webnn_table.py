"""The table of operators in docs/tables/webnn.md: the data of `ogive.webnn.operator_table`, and the remarks that the page has."""

from __future__ import annotations

import re
from itertools import groupby

from ogive.webnn.operand import DATA_TYPES, FLOATS
from ogive.webnn.operator_table import OPERATORS, required

__all__ = ["renewed"]

_ROW = re.compile(r"^\| `(\w+)` \|.*\| (.*) ?\|$")


def renewed(text: str) -> str:
    """The page with a row for each operator. The last cell of a row, how it differs from ONNX's, is kept."""
    lines = text.split("\n")
    parts = [(is_row, list(part)) for is_row, part in groupby(lines, key=lambda line: _ROW.match(line) is not None)]
    ((place, old),) = ((i, part) for i, (is_row, part) in enumerate(parts) if is_row)
    remarks = {match[1]: match[2].strip() for line in old if (match := _ROW.match(line))}
    parts[place] = (True, [_row(name, remarks.get(name, "")) for name in OPERATORS])
    return "\n".join(line for _, part in parts for line in part)


def _row(name: str, remark: str) -> str:
    row = OPERATORS[name]
    options = ", ".join(key if value is None else f"{key} = {value}" for key, value in row.options.items())
    needed = _types(tuple(next(iter(required(name).values()))["dataTypes"]))
    return f"| `{name}` | {row.onnx} | {_types(row.operands[0].types)} | {needed} | {options} | {remark} |"


def _types(kinds: tuple[str, ...] | str) -> str:
    if set(kinds) == set(DATA_TYPES):
        return "all"
    words = ["floats"] if set(FLOATS) <= set(kinds) else []
    return ", ".join([*words, *(kind for kind in kinds if kind not in FLOATS)])
