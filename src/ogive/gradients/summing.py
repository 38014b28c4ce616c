"""Gradients of operands that were broadcast, and of parameters: sums over the elements that they took part in.

A sum is a reduction of rows (the engine's), so its order follows from its length alone, and it is longer than the
element type and rounded once. The product with the derivative is part of the same kernel: no array of products is made,
and none of them is rounded before it is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ogive import formula as f
from ogive.common.array_shapes import broadcast_shapes
from ogive.common.conversion import converted
from ogive.common.forking import cached_property
from ogive.engine.computation import make_ufunc
from ogive.engine.plan import Call, Output, Plan, ViewLayout, make_plan
from ogive.engine.rows import RowFormula
from ogive.errors import ArgumentError, message, shapes_apart
from ogive.graph import operations as ops
from ogive.graph.expression import Term, lift
from ogive.operators.containers import NOT_ONE, call_with_sums, dask_elements, is_dask, reduced_rows
from ogive.operators.operator import Operator
from ogive.operators.row_operator import LabelledReduction, RowOperator
from ogive.operators.signature import Signature

#: Types that are no container of another library.
PLAIN = frozenset({np.ndarray, int, float, bool, np.float64, np.float32, np.float16})


#: So many combinations of shapes and types are remembered.
MOST_PLANS = 32


class _Summing(Operator):
    """The form of calls whose operands have different shapes. The source says which tensor each result belongs to."""

    source: Operator
    wanted: tuple[str, ...]
    """The arguments whose gradients the results are."""
    remake: Callable[..., Operator]

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self.base is not self:
            return super().__reduce__()  # by its contract
        return self.remake, (self.source, self.wanted)

    @cached_property
    def operands(self) -> tuple[int | None, ...]:
        """For each result the place of the tensor whose gradient it is, or None: of a parameter."""
        first = len(self.tensors) - len(self.source.tensors)
        places = {name: first + i for i, name in enumerate(self.source.tensors)}
        return tuple(places.get(name) for name in self.wanted)

    def sums(self, tensors: Sequence[Any]) -> bool:
        """Whether a gradient is a sum: that of a parameter, or of operands of different shapes."""
        return None in self.operands or len({np.shape(tensor) for tensor in tensors}) > 1

    def by_elements(self, tensors: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """The gradients of elements that nothing is summed of."""
        return super().__call__(*tensors, **keywords)

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        if self.is_row_wise and (result := self._by_plan(tensors, keywords)) is not None:
            return result
        if len(tensors) != self.inputs or any(tensor is None or isinstance(tensor, Term) for tensor in tensors):
            return super().__call__(*tensors, **keywords)
        if any(type(tensor) not in PLAIN for tensor in tensors):
            result = call_with_sums(self, tensors, keywords)
            if result is not NOT_ONE:
                return result
        if not self.sums(tensors):
            return super().__call__(*tensors, **keywords)
        if self.is_row_wise and self._add_plan(tensors, keywords):
            return self._by_plan(tensors, keywords)
        return self._summed(tensors, keywords)

    @cached_property
    def _plans(self) -> dict[Any, list[tuple[Plan, tuple[tuple[int, ...], ...]]]]:
        """The steps of `_summed` for rows of some shapes and types, and the shapes of the results."""
        return {}

    def _key(self, keywords: Mapping[str, Any]) -> tuple[str, str] | None:
        """The key of the plans of a call; None where there are none."""
        if any(type(value) not in (int, float) for value in keywords.values()) or "axis" in keywords:
            return None
        # -0 is not 0. An operator under another contract may have the same dictionary.
        return self.accuracy, repr(keywords) if keywords else ""

    def _by_plan(self, tensors: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """The results by a plan that was made for such a call; None if there is none."""
        plans = self._plans.get(self._key(keywords), ()) if self._plans else ()
        for plan, shapes in plans:
            found = plan.attempt(tensors, None)
            if found is not None:
                results = [
                    one if one.shape == shape else one.reshape(shape) for one, shape in zip(found, shapes, strict=True)
                ]
                return tuple(results) if len(results) > 1 else results[0]
        return None

    def _add_plan(self, tensors: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
        """Make a plan for a call; whether there is one for such a call."""
        if any(type(tensor) is not np.ndarray for tensor in tensors):
            return False
        key = self._key(keywords)
        if key is None:
            return False
        given = tuple(tensor.dtype for tensor in tensors)
        dtypes = self.resolve_dtypes((*given, *(None,) * self.nout))
        shape = self._together([tensor.shape for tensor in tensors])
        has_rows = all(tensor.ndim and tensor.shape[-1] == shape[-1] for tensor in tensors)
        if dtypes[: self.nin] != given or not has_rows or not math.prod(shape):
            return False
        values = self.checked_parameters(keywords)
        inputs = dict(enumerate((tensor.dtype, tensor.shape) for tensor in tensors))
        choices = {p.name: values[p.name] for p in self.parameters if p.choices}
        computed, sums, results = list[Output](), list[Call](), list[Hashable]()
        for name, place, root in zip(self.wanted, self.operands, self.formula(**choices), strict=True):
            assert place is not None, "rows have gradients of tensors alone"
            dtype, wanted = inputs[place]
            is_given = root.operation == ops.INPUT and inputs[root.attribute] == (dtype, shape)
            source: Hashable = root.attribute if is_given and wanted != shape else name
            if source == name:
                computed.append(Output(name, shape, dtype))
            results.append(name)
            if wanted != shape:
                results[-1] = "total", name
                sums += _sum_calls(source, results[-1], shape, _summed_axes(wanted, shape), dtype, self.signatures)
        calls = sums
        if computed:  # what is an operand needs no kernel
            names = tuple(str(output.name) for output in computed)
            part = self if names == self.wanted else self.remake(self.source, names).under_contract_of(self)
            calls = [Call("rows", part.bind(**keywords), tuple(inputs), tuple(computed)), *sums]
        plans = self._plans.setdefault(key, [])
        if len(plans) >= MOST_PLANS:
            plans.clear()
        shapes = tuple(inputs[place][1] for place in self.operands if place is not None)
        plans.append((make_plan(calls, {}, inputs, results), shapes))
        return True

    def _summed(self, given: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        # A number of Python takes the type of the arrays beside it.
        weak = [type(one) if type(one) in (int, float) else np.asanyarray(one).dtype for one in given]
        dtypes = self.resolve_dtypes((*weak, *(None,) * self.nout))
        tensors = [converted(np.asanyarray(one), dtype) for one, dtype in zip(given, dtypes, strict=False)]
        self.refuse_numpy_keywords(keywords, "operands of different shapes", "all shapes are equal")
        shape = self._together([tensor.shape for tensor in tensors])
        shapes = [() if place is None else tensors[place].shape for place in self.operands]
        mask = self._mask(tensors, shape)
        results: dict[int, Any] = {}
        whole = [i for i, place in enumerate(self.operands) if place is not None and shapes[i] == shape]
        if whole or self.is_row_wise:
            computed = super().__call__(*(_broadcast(t, shape, mask) for t in tensors), **keywords)
            computed = computed if isinstance(computed, tuple) else (computed,)
            results = {i: computed[i] for i in (range(self.nout) if self.is_row_wise else whole)}
        for i, wanted in enumerate(shapes):
            if i not in whole:
                results[i] = self._sum(i, wanted, shape, tensors, dtypes, results.get(i), keywords, mask)
        ordered = tuple(results[i] for i in range(len(self.wanted)))
        return ordered if len(ordered) > 1 else ordered[0]

    def _mask(self, tensors: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray | None:
        """The elements that are masked in some operand, if operands are masked arrays."""
        if not any(isinstance(tensor, np.ma.MaskedArray) for tensor in tensors):
            return None
        if self.is_row_wise and self.nout > 1:
            what = "masked arrays were given, and there are several gradients"
            way_out = f"Ask for one at a time: ogive.vjp({self.source.name}, [{self.wanted[0]!r}])"
            raise ArgumentError(message(self.name, what, "one gradient of rows of masked arrays", way_out))
        mask = np.zeros(shape, bool)
        for tensor in tensors:
            mask |= np.broadcast_to(np.ma.getmaskarray(tensor), shape)
        return mask

    def over_dask(self, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The results of Dask arrays: products chunk by chunk, and sums of them in float64, when they are computed.

        A product is rounded before it is added, and the order of a sum follows from the chunks.
        """
        if self.is_row_wise:
            if self.sums(tensors) or self.nout > 1:
                what = "Dask arrays were given, and gradients of rows that were broadcast, or several of them"
                way_out = "Give operands of one shape, ask for one gradient, or compute the arrays first: x.compute()"
                raise ArgumentError(message(self.name, what, "one gradient, of operands of one shape", way_out))
            return super().__call__(*tensors, **keywords)
        shapes = [np.shape(tensor) for tensor in tensors]
        self.refuse_numpy_keywords(keywords, "Dask arrays", "NumPy arrays")
        self.checked_parameters(keywords)
        weak = [type(one) if type(one) in (int, float) else one.dtype for one in map(_with_dtype, tensors)]
        dtypes = self.resolve_dtypes((*weak, *(None,) * self.nout))
        shape = self._together(shapes)
        compute = partial(_products, self, tuple(keywords.items()))
        arrays = [one if is_dask(one) else np.asarray(one) for one in tensors]
        products = dask_elements(compute, self.nout, arrays, dtypes[self.nin :])
        results = []
        for place, product in zip(self.operands, products, strict=True):
            wanted = () if place is None else shapes[place]
            summed = tuple(_summed_axes(wanted, shape))
            if wanted != shape:
                total = product.sum(axis=summed, dtype=np.float64).reshape(wanted)
                product = total.map_blocks(converted, product.dtype, dtype=product.dtype)
            results.append(product)
        return tuple(results) if len(results) > 1 else results[0]

    def refuse_numpy_keywords(self, keywords: Mapping[str, Any], what: str, allowed: str) -> None:
        """Refuse ``out`` and the like where results are new arrays."""
        for name in keywords:
            if name in self.numpy_keywords:
                way_out = "Sums over the axes that were broadcast are new arrays of the operands' types"
                raise ArgumentError(
                    message(self.name, f"{name} was given, and {what}", f"{name} where {allowed}", way_out)
                )

    def _together(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        try:
            return broadcast_shapes(*shapes)
        except ValueError:
            raise shapes_apart(self.name, self.tensors, shapes) from None

    def _sum(
        self,
        index: int,
        wanted: tuple[int, ...],
        shape: tuple[int, ...],
        tensors: list[np.ndarray],
        dtypes: tuple[np.dtype, ...],
        computed: np.ndarray | None,
        keywords: dict[str, Any],
        mask: np.ndarray | None,
    ) -> np.ndarray:
        """One result, over the axes along which its operand was broadcast. Masked elements are left out.

        It is masked where all the elements are that it is the sum of.
        """
        summed = _summed_axes(wanted, shape)
        if computed is not None:
            ufunc, arrays = _sum_of(self.signatures, computed.dtype), [computed]
        else:
            ufunc, arrays = self._sum_of_formula(index, dtypes, keywords), tensors
        rows = [_as_rows(np.broadcast_to(array, shape), summed) for array in arrays]
        if mask is not None:
            there = ~_as_rows(mask, summed)
            lengths = there.sum(axis=-1)
            parts = [row[there] for row in rows]
            found = reduced_rows(lambda *rows: ufunc(*rows).reshape(-1), parts, lengths.reshape(-1)).reshape(wanted)
            return np.ma.MaskedArray(found, mask=(lengths == 0).reshape(wanted))[()]
        result: np.ndarray = ufunc(*rows)
        return np.asarray(result).reshape(wanted)[()]

    def _sum_of_formula(self, index: int, dtypes: tuple[np.dtype, ...], keywords: dict[str, Any]) -> np.ufunc:
        """The operator that sums up the products of gradients and derivatives over rows."""
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


def _broadcast(tensor: np.ndarray, shape: tuple[int, ...], mask: np.ndarray | None) -> np.ndarray:
    whole = np.broadcast_to(np.asarray(tensor), shape)
    return whole if mask is None else np.ma.MaskedArray(whole, mask=mask)


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
    from ogive.engine.row_formulas import reduction

    kind = next(t for s in signatures for t in s.outputs if t.numpy == dtype)
    return make_ufunc("sum", reduction("sum", kind, kind))


def _sum_calls(
    source: Hashable, total: Hashable, shape: tuple[int, ...], summed: Sequence[int], dtype: np.dtype, signatures: Any
) -> list[Call]:
    """The steps that add up an array along axes: a view of it as rows, and their sums."""
    whole = np.empty(shape, dtype)
    rows = _as_rows(whole, summed)
    layout = ViewLayout(0, rows.strides, shape, whole.strides) if np.shares_memory(whole, rows) else None
    seen = Output((source, total), rows.shape, dtype, None if layout is None else rows.strides)
    view = Call("view", partial(_as_rows, summed=summed), (source,), (seen,), layout)
    return [
        view,
        Call("rows", _sum_of(signatures, dtype), (seen.name,), (Output(total, (*rows.shape[:-1], 1), dtype),)),
    ]


def _as_rows(array: np.ndarray, summed: Sequence[int]) -> np.ndarray:
    """The axes to be summed as the last one; a view where that can be one."""
    kept = [axis for axis in range(array.ndim) if axis not in summed]
    moved = array.transpose(*kept, *summed)
    return moved.reshape(*(array.shape[axis] for axis in kept), math.prod(array.shape[axis] for axis in summed))


class Gradients(_Summing):
    """The gradients of an element-wise operator's arguments, given that of its result."""


class RowGradients(_Summing, RowOperator):
    """The gradients of the tensors of an operator over rows."""

    source: RowOperator
    of_row: frozenset[str] = frozenset()
    """The tensors that have one number a row."""

    @property
    def masks(self) -> tuple[tuple[float | None, ...], float | None] | None:
        of_source = self.source.masks
        if of_source is None:
            return None
        upstream = self.tensors[: len(self.tensors) - len(self.source.tensors)]
        return (*(None if name in self.of_row else 0.0 for name in upstream), *of_source[0]), 0.0

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        if "where" in keywords and self.masks is not None and len(tensors) == self.inputs:
            return self._masked(tensors, keywords)
        return super().__call__(*tensors, **keywords)


class ReductionGradients(RowGradients):
    """The gradients of the tensors of an operator that reduces rows.

    That of the result has the shape of the result: without the axes of a row, unless ``keepdims`` says so.
    """

    keywords: tuple[str, ...] = ("axis", "keepdims")

    @cached_property
    def of_row(self) -> frozenset[str]:
        count = len(self.tensors) - len(self.source.tensors)
        if not isinstance(self.source, ReductionGradients):
            return frozenset(self.tensors[:count])
        own = self.source.of_row
        upstream = zip(self.tensors[:count], self.source.wanted, strict=True)
        return own | {name for name, of in upstream if of in own}

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        if len(tensors) != self.inputs or any(tensor is None or isinstance(tensor, Term) for tensor in tensors):
            return super().__call__(*tensors, **keywords)
        if "where" in keywords and self.masks is not None:
            return self._masked(tensors, keywords)
        if isinstance(self.source, LabelledReduction):
            tensors = self.source.without_labels(tensors, keywords)
        if any(type(tensor) not in PLAIN for tensor in tensors):
            result = call_with_sums(self, tensors, keywords)
            if result is not NOT_ONE:
                return result
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
