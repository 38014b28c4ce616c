"""Ogive's kernels inside ONNX Runtime: a library of custom operators, and models that use it.

`optimize` puts operators of Ogive into a model where they are faster than ONNX Runtime's, and reports what was gained.
`library` builds a shared library of operators that models name themselves, in the domain ``ai.ogive``. The results have the bits of Ogive's.

>>> import onnxruntime  # doctest: +SKIP
>>> options = onnxruntime.SessionOptions()  # doctest: +SKIP
>>> options.register_custom_ops_library(str(ogive.onnxruntime.library("activations.so")))  # doctest: +SKIP
"""

from ogive.onnxruntime.custom_operators import DOMAIN, library
from ogive.onnxruntime.optimizing import Optimized, optimize
from ogive.onnxruntime.session_races import GroupReport, OptimizationReport, Race

__all__ = ["DOMAIN", "GroupReport", "OptimizationReport", "Optimized", "Race", "library", "optimize"]
