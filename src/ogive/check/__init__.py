"""Find what a DirectML device of a feature level would refuse of a model.

`check` makes the report; on the command line it is ``ogive check MODEL``.
"""

from __future__ import annotations

import os
from pathlib import Path

from ogive.check.findings import Finding, Report
from ogive.directml.data import FEATURE_LEVELS
from ogive.errors import ArgumentError, ParameterError, described, message

__all__ = ["Finding", "Report", "check"]

_HIGHEST = next(reversed(FEATURE_LEVELS))


def check(path: str | os.PathLike[str], feature_level: str = _HIGHEST) -> Report:
    """Check a model against a feature level ("3_0"): an ONNX file, or a .json file in the format of DxDispatch.

    The types and ranks of an ONNX node are held against the support tables of the DirectML operator that it maps
    to. A JSON desc is checked as by ``CreateOperator``. Raises ParameterError for an unknown
    level, ModelError for a file that is no model, and OSError if the file cannot be read.

    >>> import pathlib, tempfile
    >>> from onnx import parser
    >>> model = parser.parse_model('''<ir_version: 8, opset_import: ["" : 14]>
    ...     example (int32[2, 3] x) => (int32[2, 3] y) { y = Shrink(x) }''')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.onnx"
    ...     _ = path.write_bytes(model.SerializeToString())
    ...     report = check(path, "3_0")
    >>> report.lowest_level
    '5_1'
    >>> report.refused[0].reasons[0]
    'InputTensor is INT32; allowed: FLOAT32, FLOAT16 at 3_0. 5_1 takes it'
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(message("ogive.check", f"the path is {described(path)}", "a path of a model"))
    name = str(feature_level).removeprefix("DML_FEATURE_LEVEL_")
    if name not in FEATURE_LEVELS:
        what = f"feature_level is {feature_level!r}"
        raise ParameterError(message("ogive.check", what, ", ".join(FEATURE_LEVELS)))
    if Path(path).suffix.lower() == ".json":
        from ogive.check.json_models import check_json as check_model
    else:
        from ogive.check.onnx_models import check_onnx as check_model
    return Report(os.fspath(path), name, tuple(check_model(path, FEATURE_LEVELS[name])))
