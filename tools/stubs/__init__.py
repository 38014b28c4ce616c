"""The stubs that editors and type checkers read. The build makes them, and `python -m tools.stubs` in a checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PACKAGE", "write"]

PACKAGE = Path(__file__).parents[2] / "src" / "ogive"


def write(package: Path = PACKAGE) -> None:
    """Write the stubs of `ogive` and of `ogive.directml` into a package's folder."""
    from tools.stubs import directml, operators

    for folder, text in ((package, operators.text()), (package / "directml", directml.text())):
        target, new = folder / "__init__.pyi", folder / "__init__.pyi.new"
        new.write_text(text, encoding="utf-8")
        new.replace(target)
