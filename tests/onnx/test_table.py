"""The table in the documentation is what loading says."""

from pathlib import Path

from tools.onnx_table import markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables" / "onnx.md"


def test_the_table_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run: make pages"


def test_rows():
    lines = markdown().splitlines()
    assert "| Relu | 1, 6 | float, double, float16 |  |" in lines
    assert "| Relu | 13 | floats |  |" in lines
    assert "| Relu | 14 | floats, signed |  |" in lines
