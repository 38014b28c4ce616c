"""Renew what is generated in docs/: ``python -m tools.pages``. It writes names.md, and the tables in onnx.md and webnn.md."""

from __future__ import annotations

from pathlib import Path

from tools import names_page, onnx_table, webnn_table

__all__ = ["renew"]

DOCS = Path(__file__).parents[1] / "docs"


def renew() -> None:
    """Write the pages anew."""
    (DOCS / "names.md").write_text(names_page.markdown(), encoding="utf-8")
    for name, table in (("onnx.md", onnx_table), ("webnn.md", webnn_table)):
        page = DOCS / name
        page.write_text(table.renewed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    renew()
