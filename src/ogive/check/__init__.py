"""What a DirectML device of a feature level would refuse of a model.

>>> import ogive.check
>>> ogive.check.check("model.onnx", "3_0").refused  # doctest: +SKIP
"""

from __future__ import annotations

import os
from pathlib import Path

from ogive.check.report import Finding, Report
from ogive.directml.data import FEATURE_LEVELS
from ogive.errors import ParameterError, message

__all__ = ["Finding", "Report", "check"]

_HIGHEST = next(reversed(FEATURE_LEVELS))


def check(path: str | os.PathLike[str], feature_level: str = _HIGHEST) -> Report:
    """Check a model against a feature level ("3_0"): an ONNX file, or a .json file in the format of DxDispatch.

    Of an ONNX node, the types and ranks are held against the support tables of the DirectML operator that it maps
    to; of a JSON desc, everything that ``CreateOperator`` looks at. Raises ParameterError for a level that there is
    not, ModelError for what is no model, and OSError where the file cannot be read.
    """
    name = feature_level.removeprefix("DML_FEATURE_LEVEL_")
    if name not in FEATURE_LEVELS:
        what = f"feature_level is {feature_level!r}"
        raise ParameterError(message("ogive.check", what, ", ".join(FEATURE_LEVELS)))
    if Path(path).suffix.lower() == ".json":
        from ogive.check.json_models import check_json as check_model
    else:
        from ogive.check.onnx_models import check_onnx as check_model
    return Report(os.fspath(path), name, tuple(check_model(path, FEATURE_LEVELS[name])))
