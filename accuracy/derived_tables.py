"""The common part of the scripts that derive numbers of src/ogive/lowering/numerics/elementary: write them, or compare them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Sections", "write_or_compare", "write_or_compare_tables"]

FOLDER = Path(__file__).resolve().parent.parent / "src/ogive/lowering/numerics/elementary"

#: Sections of derived_numbers.json: by names, by what they hold.
Sections = Mapping[str, Mapping[str, Mapping[str, Any]]]


def write_or_compare(description: str | None, name: str, derive: Callable[[], str]) -> int:
    """The command of such a script: with --write replace a file, else say whether it is what the script derives."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--write", action="store_true", help="replace the table in src/ogive/lowering/numerics/elementary"
    )
    arguments = parser.parse_args()
    target, derived = FOLDER / name, derive()
    if arguments.write:
        target.write_text(derived)
        print(f"{name} written")
        return 0
    same = target.read_text() == derived
    print(f"{name} {'is' if same else 'IS NOT'} what this script derives")
    return 0 if same else 1


def write_or_compare_tables(description: str | None, derive: Callable[[], Sections]) -> int:
    """The same of sections of derived_numbers.json: the others stay."""

    def text() -> str:
        return text_of({**json.loads((FOLDER / "derived_numbers.json").read_text()), **derive()})

    return write_or_compare(description, "derived_numbers.json", text)


def text_of(sections: Sections) -> str:
    """One list of numbers a line, with the digits that give each number back."""
    parts = []
    for section, tables in sections.items():
        members = []
        for name, table in tables.items():
            lines = ",\n   ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items())
            members.append(f'  "{name}": {{\n   {lines}\n  }}')
        parts.append(f' "{section}": {{\n' + ",\n".join(members) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"
