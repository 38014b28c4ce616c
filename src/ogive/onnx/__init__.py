"""ONNX models, run by compiled kernels.

>>> import ogive.onnx
>>> ogive.onnx.load("model.onnx")(x=array)  # doctest: +SKIP

``ogive.onnx.backend`` is the same behind ONNX's own interface ``onnx.backend.base.Backend``.
"""

from ogive.errors import MissingPackageError, message

try:
    import onnx as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    raise MissingPackageError(
        message("ogive.onnx", "the package onnx is not installed", way_out="Install it: pip install 'ogive[onnx]'")
    ) from error

from ogive.onnx.exporting import export
from ogive.onnx.graph import ValueInfo
from ogive.onnx.model import Model, load
from ogive.onnx.parts import Part, PartialModel, split
from ogive.onnx.support import Support, supported

__all__ = ["Model", "Part", "PartialModel", "Support", "ValueInfo", "export", "load", "split", "supported"]
