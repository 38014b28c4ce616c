"""No two files and no two classes share a name, but where users know them by it."""

import re
from pathlib import Path

import ogive

MODULES = sorted(Path(ogive.__file__).parent.rglob("*.py"))

#: Files of one name: users import ogive.fast, ogive.torch.fast, ogive.torch.nn.exact and ogive.opencl as they are called.
FILES_ALIKE = {"exact", "fast", "functions", "kernels"}
#: Classes of one name: each pair is one of the package's own and one that a standard's API or another door calls so.
CLASSES_ALIKE = {"Call", "Device", "Expression", "Graph", "Model", "Operator"}


def test_no_two_files_share_a_name():
    names = [path.stem for path in MODULES if not path.stem.startswith("__")]
    assert {name for name in names if names.count(name) > 1} <= FILES_ALIKE


def test_no_two_classes_share_a_name():
    written = re.compile(r"^ *class _?(\w+)[(:]", re.MULTILINE)
    names = [name for path in MODULES for name in written.findall(path.read_text(encoding="utf-8"))]
    assert len(names) > 300
    assert {name for name in names if names.count(name) > 1} <= CLASSES_ALIKE
