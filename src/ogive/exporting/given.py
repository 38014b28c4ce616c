"""What callers give to be exported: operators, bound ones, models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ogive.errors import ArgumentError, described, message
from ogive.exporting.sources import ExportSource, source_of_operator
from ogive.operator import Operator

__all__ = ["source_of"]


def source_of(
    what: Any, dtype: str | Sequence[str] | None, choices: Mapping[str, Any] | None, name: str | None
) -> ExportSource:
    """The function of an operator, a bound operator or a model."""
    if isinstance(what, Operator):
        return source_of_operator(what, dtype, dict(choices or {}), {}, name)
    binding = getattr(what, "__dict__", {}).get("ogive_binding") if isinstance(what, np.ufunc) else None
    if binding is not None:
        op, values = binding
        return source_of_operator(op, dtype, {}, dict(values), name)
    if type(what).__module__.startswith("ogive.onnx"):
        from ogive.exporting.one_kernel_models import source_of_model

        return source_of_model(what, name)
    raise ArgumentError(
        message(
            "ogive.export",
            f"what is {described(what)}",
            "an operator, a bound one (operator.bind()), or a model of ogive.onnx.load",
            "Put @ogive.operator before a formula of your own",
        )
    )
