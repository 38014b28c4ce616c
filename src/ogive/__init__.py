"""Correctly rounded activation functions, and formulas of your own: the operators of ONNX and DirectML, with the same bits on every machine.

>>> import numpy as np, ogive
>>> ogive.celu(np.float32([-1.0, 2.0]), alpha=1.5)
array([-0.7298743,  2.       ], dtype=float32)

``ogive.operator`` makes an operator of your own formula; ``ogive.directml`` and ``ogive.onnx`` are the two
standards' front ends, which are loaded when they are first wanted. Importing this package loads no compiler.
"""

from ogive import formula
from ogive.catalog import PLACES as _OPERATORS
from ogive.catalog import load as _load
from ogive.catalog.aliases import ALIASES, named
from ogive.errors import OgiveError
from ogive.operators.operator import ADVISERS, Operator, operator
from ogive.operators.row_operator import RowOperator, RowReduction, row_operator
from ogive.runtime.threads import get_num_threads, register_threadpoolctl, set_num_threads, threads

__all__ = [
    "OgiveError",
    "Operator",
    "RowOperator",
    "RowReduction",
    "formula",
    "get_num_threads",
    "grad",
    "logcumsumexp",
    "operator",
    "register_threadpoolctl",
    "row_operator",
    "set_num_threads",
    "threads",
    "value_and_grad",
    "vjp",
]
__all__ += _OPERATORS
__all__ += ALIASES

#: Parts that are loaded when they are first wanted: ``import ogive`` alone needs none of them.
_PARTS = (
    "check",
    "cuda",
    "directml",
    "dxdispatch",
    "fast",
    "golden",
    "jax",
    "judge",
    "onnx",
    "onnxruntime",
    "opencl",
    "torch",
    "webnn",
)

#: Functions that are loaded when they are first wanted, and where they are.
_FUNCTIONS = {
    **dict.fromkeys(("grad", "value_and_grad", "vjp"), "ogive.gradients"),
    **dict.fromkeys(("address", "export"), "ogive.exporting"),
    "logcumsumexp": "ogive.operators.running_functions",
    "device": "ogive.device_names",
    **dict.fromkeys(("exact", "ulp", "vectors"), "ogive.golden"),
}

#: The modules in which other libraries keep their functions, and their places here.
_PLACES = {
    "nn": "Use ogive.torch.nn for PyTorch's modules, and ogive.torch for its functions",
    "functional": "Use ogive.torch for PyTorch's functions",
}


def _parameter_here(operator: str, theirs: str) -> str:
    from ogive.catalog.other_names import parameter_here  # only calls that fail need it

    if theirs in ("accuracy", "fast"):
        operator = operator.removesuffix(".fast")
        place = "ogive." if operator in _OPERATORS else ""
        return f"Write {place}{operator}.fast(...) for the fast contract, and {place}{operator}(...) for the exact one"
    return parameter_here(operator, theirs)


ADVISERS.append(_parameter_here)


def __getattr__(name: str) -> object:
    if name in _PARTS:
        from importlib import import_module

        from ogive.errors import MissingNameError, MissingPackageError

        try:
            return import_module(f"ogive.{name}")
        except MissingPackageError as error:  # hasattr() asks too, and takes only an AttributeError for a no
            raise MissingNameError(str(error)) from error
    if name in _OPERATORS or name in ALIASES:
        globals()[name] = found = _load(name) if name in _OPERATORS else named(name)
        return found
    if name in _FUNCTIONS:
        from importlib import import_module

        return globals().setdefault(name, getattr(import_module(_FUNCTIONS[name]), name))
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("ogive")
        except PackageNotFoundError:  # run from its sources, which do not say
            return "unknown"
    text = f"module 'ogive' has no attribute {name!r}"
    if not name.startswith("_"):
        from ogive.catalog.other_names import advice
        from ogive.errors import suggestion

        hint = _PLACES.get(name) or advice(name) or suggestion(name, [*__all__, *_PARTS, *_FUNCTIONS])
        text = f"{text}. {hint}" if hint else text
    raise AttributeError(text)


def __dir__() -> list[str]:
    """The names for users; modules that only the package itself needs are left out."""
    names = (name for name in globals() if name.startswith("__"))
    return sorted([*__all__, *_PARTS, *_FUNCTIONS, "errors", "__version__", *names])
