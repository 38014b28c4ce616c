"""Whole models: their activations replaced by Ogive's, and what ``torch.onnx.export`` writes for Ogive's operators.

That is the bodies of the ONNX functions that `ogive.onnx.export` makes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ogive.contracts import checked
from ogive.errors import ArgumentError, MissingPackageError, described, message
from ogive.torch import nn
from ogive.torch.registry import entries
from ogive.torch.tensor_operator import TensorOperator

__all__ = ["onnx_translations", "replace"]


def replace(model: Any, *, accuracy: str | None = None) -> Any:
    """The model, with Ogive's modules in place of the activations of ``torch.nn`` in its tree.

    The model itself is changed and returned; if it is an activation itself, another module is returned. Parameters,
    buffers, hooks and names stay the same, so optimizers and state dicts go on. Modules of subclasses of torch's classes
    stay as they are, and so do calls of functions in ``forward``: ``torch.nn.functional.gelu(x)`` is not found.

    >>> import torch, ogive.torch
    >>> ogive.torch.replace(torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.CELU(1.5)))[1]
    CELU(alpha=1.5)
    >>> type(_).__module__
    'ogive.torch.nn'

    ``accuracy`` names a contract, "exact" or "fast": then modules of Ogive are replaced by those of this contract, too.

    >>> type(ogive.torch.replace(torch.nn.CELU(), accuracy="fast")).__module__
    'ogive.torch.nn.fast'

    Raises ArgumentError if the model is no module, ParameterError for another contract.
    """
    classes = _classes(accuracy)
    if not isinstance(model, torch.nn.Module):
        what = f"model is {described(model)}"
        raise ArgumentError(message("ogive.torch.replace", what, "a torch.nn.Module"))
    known: dict[torch.nn.Module, torch.nn.Module] = {}  # a module that stands in two places does so afterwards

    def replaced(module: torch.nn.Module) -> torch.nn.Module:
        if module in known:
            return known[module]
        ours = classes.get(type(module))
        if ours is not None:
            made: torch.nn.Module = ours.__new__(ours)
            made.__dict__.update(module.__dict__)
            known[module] = made
            return made
        known[module] = module
        for name, child in module._modules.items():
            if child is not None:
                module._modules[name] = replaced(child)
        return module

    return replaced(model)


def _classes(accuracy: str | None) -> dict[type, Any]:
    """Classes of torch, and with a contract those here of all contracts, to the classes that take their places."""
    if accuracy is None:
        return {getattr(torch.nn, name): getattr(nn, name) for name in nn.__all__}
    checked("ogive.torch.replace", accuracy)
    ours = getattr(nn, accuracy)
    sources = (torch.nn, nn, nn.exact, nn.fast)
    return {getattr(source, name): getattr(ours, name) for source in sources for name in nn.__all__}


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
