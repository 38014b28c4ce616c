"""What ``torch.onnx.export`` writes for Ogive's operators: the bodies of the ONNX functions that `ogive.onnx.export` makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ogive.errors import MissingPackageError, message
from ogive.torch.registry import entries
from ogive.torch.tensor_operator import TensorOperator

__all__ = ["onnx_translations"]


def onnx_translations() -> dict[Any, Callable[..., Any]]:
    """A table for ``torch.onnx.export``, which writes Ogive's operators as standard operators of opset 18.

    ONNX has no other place for them: the file runs everywhere, with the accuracy of what runs it. `ogive.onnx.load` runs
    it node by node. Operators of one's own are in the table once `wrap` has made functions of them.

    Raises MissingPackageError without the packages onnx and onnxscript, which the exporter needs too; the export itself
    UnsupportedError for formulas that look at bits.

    Pass it on: ``torch.onnx.export(model, args, custom_translation_table=table)``.

    >>> import torch, ogive.torch
    >>> table = ogive.torch.onnx_translations()
    >>> torch.ops.ogive.celu.default in table
    True
    """
    try:
        import onnxscript
    except ModuleNotFoundError as error:
        what = f"the package {error.name} is not installed"
        way_out = "Install what torch's exporter needs: pip install onnx onnxscript"
        raise MissingPackageError(message("ogive.torch.onnx_translations", what, way_out=way_out)) from error
    return {
        found: _translation(operator, onnxscript.opset18)
        for operator, found in entries().items()
        if not operator.gradient_count
    }


def _translation(operator: TensorOperator, opset: Any) -> Callable[..., Any]:
    """A function of values of the exporter: the operator's tensors, and then numbers and choices."""

    def translate(*given: Any) -> Any:
        import onnx

        from ogive.onnx import export

        count = len(operator.tensors)
        values = dict(zip(operator.parameter_names, given[count:], strict=True))
        function = export(operator.operator, **{p.name: values[p.name] for p in operator.parameters if p.choices})
        known = dict(zip(function.input, given[:count], strict=True))
        for node in function.node:
            attributes = {
                a.name: values[a.ref_attr_name] if a.ref_attr_name else onnx.helper.get_attribute_value(a)
                for a in node.attribute
            }
            results = getattr(opset, node.op_type)(*(known.get(name) for name in node.input), **attributes)
            known.update(zip(node.output, results if isinstance(results, tuple | list) else (results,), strict=True))
        results = tuple(known[name] for name in function.output)
        return results[0] if len(results) == 1 else results

    return translate
