"""The archive of golden data: what is in it, the same bytes twice, and the page's five lines in each language."""

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the package pyarrow, which writes tables for scipy/xsref, is not installed")

import ogive
from tools.golden_release import archive

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "golden.md").read_text(encoding="utf-8")

#: relu with a wrong last bit at 1.
KERNELS = {
    "c": ("kernel.h", "static uint16_t kernel(uint16_t x) { return x >> 15 ? 0 : x == 0x3f80 ? 0x3f81 : x; }\n"),
    "python": ("kernel.py", "import numpy as np\n\ndef kernel(x):\n    y = np.where(x > 0, x, np.float16(0))\n    return np.where(x == 1, np.nextafter(y, np.float16(2)), y)\n"),
    "js": ("kernel.js", "exports.kernel = (x) => (x === 1 ? 1 + 2 ** -23 : x > 0 || x !== x ? x : 0);\n"),
}  # fmt: skip
COMMANDS = {
    "c": [["cc", "-Wall", "-Wextra", "-Werror", "-o", "check", "check.c"], ["./check"]],
    "python": [[sys.executable, "check.py"]],
    "js": [["node", "check.js"]],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    data = archive(["relu", "sigmoid"])
    folder = tmp_path_factory.mktemp("golden")
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        file.extractall(folder)
    return data, folder


@pytest.mark.matrix(share=16, pool="slow")
def test_the_same_bytes_twice(made):
    assert archive(["relu", "sigmoid"]) == made[0]


@pytest.mark.matrix(share=16, pool="slow")
def test_the_files(made):
    _, folder = made
    index = json.loads((folder / "index.json").read_text())["files"]
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert there == {*index, "index.json", "LICENSE", "README.md", "SHA256SUMS"}
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, _, path = line.partition("  ")
        assert hashlib.sha256((folder / path).read_bytes()).hexdigest() == digest
    assert "CC0 1.0 Universal" in (folder / "LICENSE").read_text()
    assert len((folder / "whole/float8_e5m2fnuz/sigmoid.bin").read_bytes()) == 256
    right = np.fromfile(folder / "whole/bfloat16/sigmoid.bin", "<u2")
    x = np.arange(1 << 16, dtype=np.uint16).view("bfloat16")
    kernel = ogive.sigmoid(x)
    is_nan = np.isnan(kernel)
    assert np.array_equal(right[~is_nan], kernel.view(np.uint16)[~is_nan])
    rows = np.fromfile(folder / "hard/float32/sigmoid.bin", "<f4").reshape(
        -1, index["hard/float32/sigmoid.bin"]["columns"]
    )
    assert rows.shape[0] == index["hard/float32/sigmoid.bin"]["entries"] > 1000
    assert np.array_equal(ogive.sigmoid(np.ascontiguousarray(rows[:, 0])), rows[:, 1], equal_nan=True)
    tests = json.loads((folder / "webnn/sigmoid-float32.json").read_text())
    assert tests[0]["graph"]["operators"][0]["name"] == "sigmoid"


def test_xsref(made):
    import pyarrow.parquet as parquet

    _, folder = made
    for letter, dtype in (("f", np.float32), ("d", np.float64)):
        given, results = (folder / f"xsref/expit/{side}_{letter}-{letter}.parquet" for side in ("In", "Out"))
        x, y = parquet.read_table(given), parquet.read_table(results)
        assert (x.column_names, y.column_names) == (["in0"], ["out0", "fallback"])
        facts = {key.decode(): value.decode() for key, value in y.schema.metadata.items()}
        assert (facts["in"], facts["out"], facts["function"]) == (letter, letter, "expit")
        assert facts["input_checksum"] == hashlib.sha256(given.read_bytes()).hexdigest()
        assert not any(y["fallback"].to_pylist())
        values = x["in0"].to_numpy()
        assert values.dtype == dtype
        if letter == "f":
            assert np.array_equal(ogive.sigmoid(values), y["out0"].to_numpy(), equal_nan=True)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("language", KERNELS)
def test_five_lines(made, tmp_path, language):
    if shutil.which(COMMANDS[language][0][0]) is None:
        pytest.skip(f"not installed: {COMMANDS[language][0][0]}")
    (program,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    shutil.copytree(made[1], tmp_path / "here")
    ending = {"python": "py"}.get(language, language)
    for name, text in (KERNELS[language], (f"check.{ending}", program)):
        (tmp_path / "here" / name).write_text(text, encoding="utf-8")
    for command in COMMANDS[language]:
        done = subprocess.run(command, cwd=tmp_path / "here", check=True, capture_output=True, text=True)
    assert done.stdout == "1 wrong\n"
