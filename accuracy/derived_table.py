"""What the scripts that derive a table of src/ogive/numerics/elementary have in common: write it, or compare it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

__all__ = ["write_or_compare"]


def write_or_compare(description: str | None, target: Path, derive: Callable[[], str]) -> int:
    """The command of such a script: with --write replace the file, else say whether it is what the script derives."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the table in src/ogive/numerics/elementary")
    arguments = parser.parse_args()
    derived = derive()
    if arguments.write:
        target.write_text(derived)
        print(f"{target.name} written")
        return 0
    same = target.read_text() == derived
    print(f"{target.name} {'is' if same else 'IS NOT'} what this script derives")
    return 0 if same else 1
