"""The names of the Python API, from the data: which names there are is known without loading what they are."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ogive.directml.data import OPERATOR_TYPES

__all__ = ["alias_names", "function_name", "function_names", "out_of_scope", "table"]


@cache
def table() -> dict[str, Any]:
    """What the Python API has other names or defaults for than DirectML.h."""
    return json.loads((Path(__file__).parent / "data" / "python.json").read_bytes())  # type: ignore[no-any-return]


def function_name(operator_name: str) -> str:
    """The function that makes an operator."""
    found: str | None = table()["names"].get(operator_name)
    return found or operator_name.removeprefix("ELEMENT_WISE_").lower()


@cache
def function_names() -> tuple[str, ...]:
    """The names of all functions that make an operator."""
    return tuple(dict.fromkeys(map(function_name, OPERATOR_TYPES)))


@cache
def alias_names() -> tuple[str, ...]:
    """The names of enumerations in Python; those of operators that are not here, too."""
    return *table()["aliases"], *table()["out_of_scope_enumerations"]


@cache
def out_of_scope() -> tuple[str, ...]:
    """The functions of operators that are neither activations nor element-wise."""
    return tuple(table()["out_of_scope"])
