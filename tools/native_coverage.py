"""The lines of the native extension that tests run: ``make coverage`` (Linux, GCC).

    python -m tools.native_coverage tests/cpu/test_rows.py    # of some tests
    python -m tools.native_coverage                           # of those that are about C

The extension is built with counters into a package folder of its own, which the tests import. Printed are the share of each file's
lines that ran, and the lines that never did.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "coverage"

#: The tests that are about C, in seconds rather than minutes.
TESTS = [
    *(
        f"tests/cpu/test_{name}.py"
        for name in ["native", "native_plan", "direct", "layout", "retry", "rows", "columns", "forking", "threads"]
    ),
    *(
        f"tests/cpu/test_{name}.py"
        for name in [
            "operator",
            "failing_memory",
            "third_level",
            "jax",
            "moderate",
            "wheel_kernels",
            "many_threads",
        ]
    ),
    "tests/cpu/test_containers.py",
    "tests/torch/test_short_calls.py",
    "tests/torch/test_autograd.py",
    "tests/onnx/test_memory_limit.py",
    "tests/onnx/test_many_axes.py",
    "tests/onnx/test_rows.py",
    "tests/engine/test_many_operands.py",
]

Counts = dict[int, int]


def built() -> Path:
    """A package folder whose extension counts."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    subprocess.run(
        [
            "meson",
            "setup",
            str(FOLDER),
            "-Db_coverage=true",
            "-Dbuildtype=debug",
            "-Dstubs=false",
            "-Dc_args=-fprofile-update=atomic",
        ],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run(["ninja", "-C", str(FOLDER)], check=True, stdout=subprocess.DEVNULL)
    package = FOLDER / "package"
    shutil.copytree(ROOT / "src" / "ogive", package / "ogive")
    for old in (package / "ogive").glob("_native*.so"):
        old.unlink()
    name = f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    shutil.copy(FOLDER / name, package / "ogive" / name)
    # In an editable install, its loader would find the sources before this folder.
    (package / "_ogive_editable_loader.py").write_text("def init() -> None: ...\n")
    return package


def counted(objects: Iterable[Path]) -> dict[str, Counts]:
    """How often each line of each file ran, by gcov."""
    found: dict[str, Counts] = {}
    for data in objects:
        subprocess.run(
            ["gcov", "--json-format", str(data)],
            cwd=FOLDER,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for report in FOLDER.glob("*.gcov.json.gz"):
            for file in json.loads(gzip.decompress(report.read_bytes()))["files"]:
                name = Path(file["file"]).name
                if "native" not in file["file"]:
                    continue
                lines = found.setdefault(name, {})
                for line in file["lines"]:
                    number = line["line_number"]
                    lines[number] = lines.get(number, 0) + line["count"]
            report.unlink()
    return found


def spans(numbers: Sequence[int]) -> str:
    """Numbers, those in a row as a range.

    >>> spans([1, 2, 3, 7, 9, 10])
    '1-3, 7, 9-10'
    """
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def table(counts: Mapping[str, Counts]) -> str:
    rows = []
    for name, lines in sorted(counts.items()):
        never = sorted(number for number, count in lines.items() if not count)
        share = 100 * (len(lines) - len(never)) / max(len(lines), 1)
        rows.append(f"{name:12} {share:5.1f} % of {len(lines):4} lines; never: {spans(never) or 'none'}")
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.native_coverage", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("tests", nargs="*", default=TESTS)
    chosen = parser.parse_args(arguments)
    package = built()
    environment = os.environ | {"PYTHONPATH": str(package)}
    code = "import ogive._native; print(ogive._native.__file__)"
    found = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert found.stdout.startswith(str(package)), f"the tests would import {found.stdout}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen.tests],
        cwd=ROOT,
        env=environment,
        check=False,
    )
    print(table(counted(FOLDER.rglob("*.gcda"))))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
