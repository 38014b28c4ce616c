"""Renew the pages of docs/tables and docs/operators that are made of the package's data: ``python -m tools.pages``."""

from __future__ import annotations

from pathlib import Path

from tools import directml_table, names_page, onnx_table, operators_page, webnn_table

__all__ = ["renew"]

TABLES = Path(__file__).parents[1] / "docs" / "tables"


def renew() -> None:
    """Write the pages anew."""
    for name, page in (("names.md", names_page), ("onnx.md", onnx_table), ("directml.md", directml_table)):
        (TABLES / name).write_text(page.markdown(), encoding="utf-8")
    (TABLES.parent / "operators" / "index.md").write_text(operators_page.markdown(), encoding="utf-8")
    webnn = TABLES / "webnn.md"
    webnn.write_text(webnn_table.renewed(webnn.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    renew()
