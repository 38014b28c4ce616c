"""A step for continuous integration: fail if a model does not run on DirectML devices of a feature level.

    python examples/check_feature_level.py 5_0 model.onnx [model.onnx ...]

It needs neither Windows nor a GPU. The exit status is 1 if a device of that level would refuse a node. `ogive check` does the
same for one model.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ogive.check import check
from ogive.errors import OgiveError


def problems(path: Path, level: str) -> list[str]:
    """The nodes of a model that a device of this level would refuse, a line for each node."""
    report = check(path, level)
    return [f"{path.name}: {found.place}: {'; '.join(found.reasons)}" for found in report.refused]


def main(level: str = "", *models: str) -> int:
    """Print all problems: the exit status, which is 2 for a wrong call."""
    if not models:
        print(
            "python examples/check_feature_level.py LEVEL MODEL [MODEL ...]: give a level such as 5_0 and one model or more"
        )
        return 2
    found = [line for model in models for line in problems(Path(model), level)]
    for line in found:
        print(line)
    if not found:
        print(f"{len(models)} {'model runs' if len(models) == 1 else 'models run'} at feature level {level}")
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (OgiveError, OSError) as error:  # no such level, or no such file
        sys.exit(str(error))
