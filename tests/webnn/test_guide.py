"""The guide's programs run, its message is the real one, and its table is the data."""

import re
from pathlib import Path

from ogive.webnn.operator_table import OPERATORS, OUT_OF_SCOPE
from tools.webnn_table import renewed

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "webnn.md").read_text(encoding="utf-8")


def programs(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_programs_run_in_order():
    scope = {}
    assert len(programs(TEXT)) == 3
    for program in programs(TEXT):
        exec(compile(program, "docs/webnn.md", "exec"), scope)
    assert scope["text"] == re.search(r"```text\n(.*?)\n```", TEXT, re.DOTALL)[1]


def test_the_table_has_every_operator():
    table = (DOCS / "tables" / "webnn.md").read_text(encoding="utf-8")
    assert renewed(table) == table, "run: make pages"
    assert all(f"| `{name}` |" in table for name in OPERATORS)
    assert all(f"`{name}`" in TEXT for name in OUT_OF_SCOPE)


def test_importing_the_guides_module_needs_no_other_front_end():
    import subprocess
    import sys

    code = "import sys, ogive.webnn; print([m for m in ('onnx', 'llvmlite', 'ogive.onnx', 'ogive.directml') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
