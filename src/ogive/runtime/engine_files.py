"""The files of the package that machine code follows from, besides the formula."""

from __future__ import annotations

import os

#: The parts of the package that no machine code follows from. Their requests are in the formula's text.
NO_ENGINE = frozenset(
    {"catalog", "check", "cli", "directml", "dxdispatch", "exporting", "golden", "judge", "onnx",
     "laboratory", "onnxruntime", "webnn"}
)  # fmt: skip

#: The code, and the numbers that it reads.
ENDINGS = (".py", ".json")


def is_of_engine(name: str) -> bool:
    """Whether a file of the package, named relative to it with `/`, is one of them.

    >>> is_of_engine("backends/llvm.py"), is_of_engine("onnx/model.py"), is_of_engine("py.typed")
    (True, False, False)
    """
    return name.endswith(ENDINGS) and NO_ENGINE.isdisjoint(name.split("/")[:-1])


def engine_files() -> dict[str, str]:
    """Their paths, by names relative to the package. Empty where the package does not lie in files."""
    found: dict[str, str] = {}
    folders = [("", os.path.dirname(os.path.dirname(__file__)))]  # noqa: PTH120  (pathlib would take 1 ms)
    for within, folder in folders:  # which grows
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            name = entry.name
            if name.endswith(ENDINGS):
                found[within + name] = entry.path
            elif "." not in name and name not in NO_ENGINE and name != "__pycache__" and entry.is_dir():
                folders.append((f"{within}{name}/", entry.path))
    return dict(sorted(found.items()))
