"""ONNX models, run by compiled kernels.

>>> import ogive.onnx
>>> ogive.onnx.load("model.onnx")(x=array)  # doctest: +SKIP

``ogive.onnx.backend`` is the same behind ONNX's own interface ``onnx.backend.base.Backend``.
"""

from ogive.errors import needed

with needed("ogive.onnx", "'ogive[onnx]'", "onnx"):
    import onnx as _  # noqa: F401

from ogive.onnx.checked_graph import ValueInfo
from ogive.onnx.exporting import export
from ogive.onnx.model import Model, load
from ogive.onnx.node_support import Support, supported
from ogive.onnx.partition import Part, PartialModel, split

__all__ = ["Model", "Part", "PartialModel", "Support", "ValueInfo", "export", "load", "split", "supported"]
