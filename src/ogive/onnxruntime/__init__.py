"""Ogive's kernels inside ONNX Runtime: a library of custom operators, and models that use it.

`library` builds a shared library that ONNX Runtime loads; its operators are in the domain ``ai.ogive``. `replace` puts
operators of such a library in the place of a model's element-wise nodes. `add_provider` leaves the model as it is: a session
gives Ogive the nodes that it computes. The results have the bits of Ogive's.

>>> import onnxruntime  # doctest: +SKIP
>>> options = onnxruntime.SessionOptions()  # doctest: +SKIP
>>> options.register_custom_ops_library(str(ogive.onnxruntime.library("activations.so")))  # doctest: +SKIP
"""

from ogive.onnxruntime.custom_operators import DOMAIN, library
from ogive.onnxruntime.provider import PROVIDER, add_provider
from ogive.onnxruntime.replacing import Replaced, replace

__all__ = ["DOMAIN", "PROVIDER", "Replaced", "add_provider", "library", "replace"]
