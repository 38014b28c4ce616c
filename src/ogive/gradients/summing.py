"""Gradients of operands that were broadcast, and of parameters: sums over the elements that they took part in.

A sum is a reduction of rows (the engine's), so its order follows from its length alone, and it is longer than the
element type and rounded once. The product with the derivative is part of the same kernel: no array of products is made,
and none of them is rounded before it is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ogive import formula as f
from ogive.containers import dask_elements, is_dask
from ogive.engine.computation import make_ufunc
from ogive.engine.rows import RowFormula
from ogive.errors import ArgumentError, ShapeError, message
from ogive.expression import Term, lift
from ogive.operator import Operator
from ogive.row_operator import RowOperator
from ogive.signature import Signature

__all__ = ["Gradients", "ReductionGradients", "RowGradients"]


class _Summing(Operator):
    """What calls do whose operands have different shapes. The source says which tensor each result belongs to."""

    source: Operator
    wanted: tuple[str, ...]
    """The arguments whose gradients the results are."""
    remake: Callable[..., Operator]

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self.base is not self:
            return super().__reduce__()  # by its contract
        return self.remake, (self.source, self.wanted)

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        if len(tensors) != self.inputs or any(tensor is None or isinstance(tensor, Term) for tensor in tensors):
            return super().__call__(*tensors, **keywords)
        shapes = [np.shape(tensor) for tensor in tensors]
        is_one_shape = all(shape == shapes[0] for shape in shapes)
        if any(map(is_dask, tensors)) and not self.is_row_wise:
            return self._lazy(tensors, shapes, keywords)
        if is_one_shape and all(name in self.source.tensors for name in self.wanted):
            return super().__call__(*tensors, **keywords)
        return self._summed(tensors, keywords)

    def _summed(self, given: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        # A number of Python takes the type of the arrays beside it.
        weak = [type(one) if type(one) in (int, float) else np.asanyarray(one).dtype for one in given]
        dtypes = self.resolve_dtypes((*weak, *(None,) * self.nout))
        tensors = [np.asanyarray(one).astype(dtype, copy=False) for one, dtype in zip(given, dtypes, strict=False)]
        self._refuse_numpy_keywords(keywords, "operands of different shapes", "all shapes are equal")
        shape = self._together([tensor.shape for tensor in tensors])
        first = len(self.tensors) - len(self.source.tensors)
        of_tensor = {name: tensors[first + i].shape for i, name in enumerate(self.source.tensors)}
        shapes = [of_tensor.get(name, ()) for name in self.wanted]
        results: dict[int, Any] = {}
        whole = [i for i, wanted in enumerate(shapes) if wanted == shape and self.wanted[i] in of_tensor]
        if whole or self.is_row_wise:
            computed = super().__call__(*(np.broadcast_to(t, shape) for t in tensors), **keywords)
            computed = computed if isinstance(computed, tuple) else (computed,)
            results = {i: computed[i] for i in (range(self.nout) if self.is_row_wise else whole)}
        for i, wanted in enumerate(shapes):
            if i not in whole:
                results[i] = self._sum(i, wanted, shape, tensors, dtypes, results.get(i), keywords)
        ordered = tuple(results[i] for i in range(len(self.wanted)))
        return ordered if len(ordered) > 1 else ordered[0]

    def _lazy(self, tensors: tuple[Any, ...], shapes: list[tuple[int, ...]], keywords: dict[str, Any]) -> Any:
        """The results of Dask arrays: products chunk by chunk, and sums of them in float64, when they are computed.

        A product is rounded before it is added, and the order of a sum follows from the chunks.
        """
        self._refuse_numpy_keywords(keywords, "Dask arrays", "NumPy arrays")
        self.checked_parameters(keywords)
        weak = [type(one) if type(one) in (int, float) else one.dtype for one in map(_with_dtype, tensors)]
        dtypes = self.resolve_dtypes((*weak, *(None,) * self.nout))
        shape = self._together(shapes)
        compute = partial(_products, self, tuple(keywords.items()))
        arrays = [one if is_dask(one) else np.asarray(one) for one in tensors]
        products = dask_elements(compute, self.nout, arrays, dtypes[self.nin :])
        first = len(self.tensors) - len(self.source.tensors)
        of_tensor = {name: shapes[first + i] for i, name in enumerate(self.source.tensors)}
        results = []
        for name, product in zip(self.wanted, products, strict=True):
            wanted = of_tensor.get(name, ())
            summed = tuple(_summed_axes(wanted, shape))
            if wanted != shape:
                product = product.sum(axis=summed, dtype=np.float64).reshape(wanted).astype(product.dtype)
            results.append(product)
        return tuple(results) if len(results) > 1 else results[0]

    def _refuse_numpy_keywords(self, keywords: Mapping[str, Any], what: str, allowed: str) -> None:
        for name in keywords:
            if name in self.numpy_keywords:
                way_out = "Sums over the axes that were broadcast are new arrays of the operands' types"
                raise ArgumentError(
                    message(self.name, f"{name} was given, and {what}", f"{name} where {allowed}", way_out)
                )

    def _together(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            what = f"the shapes are {', '.join(map(str, shapes))}"
            raise ShapeError(message(self.name, what, "shapes that broadcast")) from None

    def _sum(
        self,
        index: int,
        wanted: tuple[int, ...],
        shape: tuple[int, ...],
        tensors: list[np.ndarray],
        dtypes: tuple[np.dtype, ...],
        computed: np.ndarray | None,
        keywords: dict[str, Any],
    ) -> np.ndarray:
        """One result, over the axes along which its operand was broadcast."""
        summed = _summed_axes(wanted, shape)
        if computed is not None:
            ufunc, arrays = _sum_of(self.signatures, computed.dtype), [computed]
        else:
            ufunc, arrays = self._sum_of_formula(index, dtypes, keywords), tensors
        rows = [_as_rows(np.broadcast_to(array, shape), summed) for array in arrays]
        result: np.ndarray = ufunc(*rows)
        return np.asarray(result).reshape(wanted)[()]

    def _sum_of_formula(self, index: int, dtypes: tuple[np.dtype, ...], keywords: dict[str, Any]) -> np.ufunc:
        """What sums up the products of gradients and derivatives over rows."""
        values = self.checked_parameters(keywords)
        signature = next(
            s
            for s in self.signatures
            if all(t.numpy == d for t, d in zip((*s.inputs, *s.outputs), dtypes, strict=True))
        )
        choices = {p.name: values[p.name] for p in self.parameters if p.choices}
        numbers = tuple(values[p.name] for p in self.numeric_parameters)
        root = lift(self.formula(**choices)[index])
        output = (signature.outputs[index],)
        formula = RowFormula((f.row_sum(root),), signature.inputs, output, reduces=True, parameter_count=len(numbers))
        return make_ufunc("sum", formula, numbers)


def _summed_axes(wanted: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
    """The axes along which an operand of a shape was broadcast."""
    padded = (1,) * (len(shape) - len(wanted)) + wanted
    return [axis for axis, (a, b) in enumerate(zip(padded, shape, strict=True)) if a == 1 and b != 1]


def _with_dtype(one: Any) -> Any:
    return one if type(one) in (int, float) or is_dask(one) else np.asanyarray(one)


def _products(operator: Operator, keywords: tuple[tuple[str, Any], ...], *blocks: np.ndarray) -> Any:
    """The gradients of elements that nothing is summed of."""
    return Operator.__call__(operator, *blocks, **dict(keywords))


def _sum_of(signatures: Sequence[Signature], dtype: np.dtype) -> np.ufunc:
    from ogive.engine.reductions import reduction

    kind = next(t for s in signatures for t in s.outputs if t.numpy == dtype)
    return make_ufunc("sum", reduction("sum", kind, kind))


def _as_rows(array: np.ndarray, summed: Sequence[int]) -> np.ndarray:
    """The axes to be summed as the last one; a view where that can be one."""
    kept = [axis for axis in range(array.ndim) if axis not in summed]
    moved = array.transpose(*kept, *summed)
    return moved.reshape(*(array.shape[axis] for axis in kept), math.prod(array.shape[axis] for axis in summed))


class Gradients(_Summing):
    """The gradients of an element-wise operator's arguments, given that of its result."""


class RowGradients(_Summing, RowOperator):
    """The gradients of the tensors of an operator over rows."""


class ReductionGradients(RowGradients):
    """The gradients of the tensors of an operator that reduces rows.

    That of the result has the shape of the result: without the axes of a row, unless ``keepdims`` says so.
    """

    keywords = ("axis", "keepdims")

    @property
    def of_row(self) -> frozenset[str]:
        """The tensors that have one number a row."""
        count = len(self.tensors) - len(self.source.tensors)
        if not isinstance(self.source, ReductionGradients):
            return frozenset(self.tensors[:count])
        own = self.source.of_row
        upstream = zip(self.tensors[:count], self.source.wanted, strict=True)
        return own | {name for name, of in upstream if of in own}

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        if len(tensors) != self.inputs or any(tensor is None or isinstance(tensor, Term) for tensor in tensors):
            return super().__call__(*tensors, **keywords)
        if keywords.pop("keepdims", False):
            return super().__call__(*tensors, **keywords)
        dimensions = np.ndim(tensors[-1])
        axes = self.row_axes(keywords.get("axis", -1), dimensions)
        of_row = self.of_row
        given = [
            np.expand_dims(np.asanyarray(tensor), axes) if name in of_row else tensor
            for name, tensor in zip(self.tensors, tensors, strict=True)
        ]
        found = super().__call__(*given, **keywords)
        results = [
            np.squeeze(result, axes)[()] if name in of_row else result
            for name, result in zip(self.wanted, found if isinstance(found, tuple) else (found,), strict=True)
        ]
        return tuple(results) if len(results) > 1 else results[0]
