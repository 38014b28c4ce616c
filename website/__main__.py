"""Build the site: ``python -m website [FOLDER]``, which is build/site unless told otherwise.

It copies docs/ to a folder of its own, writes the operator reference beside it, and runs Sphinx. Warnings are errors,
links within the site that lead nowhere among them. It needs no network: pip install '.[onnx]' --group site.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from website.boxes import can_compile
from website.build import build

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/site"), help="where to write it")
    parser.add_argument("--only", nargs="*", metavar="OPERATOR", help="operator pages to write; all without this")
    arguments = parser.parse_args()
    if not can_compile():
        print(
            "The pages get no input boxes: clang or its linker lld is not installed (Debian: clang, lld)",
            file=sys.stderr,
        )
    sys.exit(build(arguments.folder, arguments.only))
