"""Row-wise operators: formulas that look at whole rows."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, overload

import numpy as np

from ogive import _native
from ogive.common.array_shapes import broadcast_shapes
from ogive.common.conversion import rounded_once
from ogive.common.dtypes import FLOATS
from ogive.common.forking import cached_property
from ogive.errors import ArgumentError, FormulaError, OgiveError, ParameterError, ShapeError, described, message
from ogive.graph.expression import REDUCTIONS, of_rows, walk
from ogive.operators.containers import NOT_ONE, call_exchanged, call_on_rows, call_with_labels, is_xarray
from ogive.operators.operator import Operator, check_at_once
from ogive.operators.signature import NUMPY_KEYWORDS, Constraint, Signature, TypeLike, element_types_given, in_order

LAST = -1

#: The value of an element that takes no part, before the call and, unless rows become numbers, after it.
LeftOut = tuple[float, float | None]


@_native.inherit_vectorcall
class RowOperator(Operator):
    """An operator whose formula looks at whole rows: their largest element, their sum.

    Rows lie along ``axis``, the last one unless told otherwise; several axes together are one row, and None means all axes. The ufunc
    is a generalised one, of signature (n)->(n).

    >>> import numpy as np, ogive
    >>> ogive.softmax(np.array([[0.0, 0.0], [0.0, 1000.0]]), axis=1)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """

    keywords: tuple[str, ...] = ("axis",)
    numpy_keywords = tuple(name for name in NUMPY_KEYWORDS if name != "where")  # generalised ufuncs have no `where`

    def __init__(self, *args: Any, left_out: LeftOut | None = None, **keywords: Any) -> None:
        self.is_row_wise = True
        self.left_out = left_out
        if left_out is not None:
            self.keywords = (*self.keywords, "where")
        super().__init__(*args, **keywords)
        defaults = {"axis": LAST, "keepdims": False, "where": None}
        own = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=defaults[n]) for n in self.keywords]
        given = list(self.__signature__.parameters.values())
        self.__signature__ = self.__signature__.replace(parameters=[*given, *own])

    def _refuse_keyword(self, name: str) -> NoReturn:
        if name == "where":
            is_masked = self.masks is not None
            what = "where is no parameter" if is_masked else "where is not taken, because a row is computed as a whole"
            way_out = "Give it to the call" if is_masked else f"Give rows of what must count: {self.name}(x[mask])"
            raise ArgumentError(message(self.name, what, "", way_out))
        if name == "dim":
            raise ArgumentError(message(self.name, "there is no parameter 'dim'", "axis, which is NumPy's name for it"))
        super()._refuse_keyword(name)

    # ---- what the native call path asks

    def _bind(self, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[np.ufunc, tuple[str, ...]]:
        """The last axis is what loops take without being told; any other is left for ``_over_axes``."""
        keywords = dict(zip(names, values, strict=True))
        axis = keywords.pop("axis", LAST)
        left: tuple[str, ...] = () if _is_last(axis) else ("axis",)
        if self.reduces and keywords.pop("keepdims", False) is not False:
            left += ("keepdims",)
        if self._names_dimensions(keywords):
            del keywords["dim"]
            left += ("dim",)
        if self.masks is not None and "where" in keywords:
            del keywords["where"]
            left += ("where",)
        ufunc, rest = super()._bind(tuple(keywords), tuple(keywords.values()))
        return ufunc, rest + left

    def _trace(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if keywords.get("where") is None and self.masks is not None:
            keywords.pop("where", None)
        axis = keywords.pop("axis", LAST)
        if not _is_last(axis):
            raise ParameterError(message(self.name, f"axis is {axis!r} inside a formula", f"{LAST}, the last axis"))
        if "keepdims" in self.keywords:
            keywords.pop("keepdims", None)  # there every element has the number of its row
        return super()._trace(args, keywords)

    def _over_axes(self, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The result over any axes, of anything that is an array."""
        self._refuse_text(keywords)
        if self.masks is not None and "where" in keywords:
            return self._masked(tensors, keywords)
        axis = keywords.get("axis", LAST)
        are_plain = all(type(tensor) is np.ndarray for tensor in tensors)
        is_checked = keywords.get("out") is not None
        is_last = type(axis) is int and axis >= 0 and not is_checked
        if are_plain and is_last and all(tensor.ndim - 1 == axis for tensor in tensors):
            del keywords["axis"]
            return Operator.__call__(self, *tensors, **keywords)  # the last axis by its number
        if not are_plain or "dim" in keywords or "out" in keywords:
            result = self._in_containers(tensors, keywords)
            if result is not NOT_ONE:
                return result
        keywords.pop("axis", None)
        taken = (*self.numpy_keywords, *(("keepdims",) if self.reduces else ()))
        rest = {name: keywords.pop(name) for name in taken if name in keywords}
        ufunc = self.bind(**keywords)
        if all(hasattr(tensor, "__array_ufunc__") and not isinstance(tensor, np.ndarray) for tensor in tensors):
            return ufunc(*tensors, axis=axis, **rest)
        arrays = [np.asanyarray(tensor) for tensor in tensors]
        axes = self.row_axes(axis, arrays[0].ndim)
        if is_checked:
            self._check_out(rest, axis, arrays)
        if len(axes) == 1:
            if not rest and are_plain and not self.reduces and self._keeps_type(arrays):
                rest["out"] = np.empty_like(arrays[0])  # rows that lie side by side in both are computed as they lie
            return rounded_once(ufunc, arrays, {"axis": self._own_axis(axis, axes[0], arrays), **rest})
        return self._over_several_axes(ufunc, arrays, axes, rest)

    @property
    def masks(self) -> tuple[tuple[float | None, ...], float | None] | None:
        """The values of elements of each tensor that a mask leaves out, None where a tensor has none, and those of results."""
        return None if self.left_out is None else ((self.left_out[0],), self.left_out[1])

    def _masked(self, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The result of the elements that ``where`` has, the others replaced before and after."""
        result = call_exchanged(self, tensors, keywords)
        if result is not NOT_ONE:
            return result
        result = call_with_labels(self, tensors, dict(keywords))
        if result is not NOT_ONE:
            return result
        given = keywords.pop("where")
        if given is None:
            return self(*tensors, **keywords)
        assert self.masks is not None
        where, (values, kept) = np.asarray(given), self.masks
        if where.dtype != bool:
            kind = f"an array of {where.dtype}" if isinstance(given, np.ndarray) else described(given)
            raise ArgumentError(message(self.name, f"where is {kind}", "an array of truth values: True takes part"))
        arrays = list(map(np.asarray, tensors))
        dtypes = self.resolve_dtypes((*(array.dtype for array in arrays), *(None,) * self.nout))
        for i, (name, tensor, value) in enumerate(zip(self.tensors, tensors, values, strict=True)):
            if hasattr(tensor, "__array_ufunc__") and type(tensor) is not np.ndarray:
                library = f"{type(tensor).__module__.partition('.')[0]}.{type(tensor).__name__}"
                what, way_out = f"where was given, and {name} is a {library}", f"Give its array: np.asarray({name})"
                allowed = "arrays of NumPy, pandas, xarray, torch and JAX"
                raise ArgumentError(message(self.name, what, allowed, way_out))
            if value is None:
                continue
            try:
                arrays[i] = np.where(where, arrays[i].astype(dtypes[i], copy=False), dtypes[i].type(value))
            except ValueError:
                shapes = f"where has the shape {where.shape}, and {name} {arrays[i].shape}"
                raise ShapeError(message(self.name, shapes, "shapes that broadcast")) from None
        result = self(*arrays, **keywords)
        if kept is not None:
            np.copyto(result, kept, where=~where, casting="unsafe")
        return result

    def _keeps_type(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether the result has the type and the shape of all operands."""
        first = arrays[0]
        if any(array.shape != first.shape or array.dtype != first.dtype for array in arrays):
            return False
        kept = [s for s in self.signatures if {t.numpy for t in (*s.inputs, *s.outputs)} == {first.dtype}]
        return any(len(s.outputs) == 1 for s in kept)

    def _in_containers(self, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The result for arrays of other libraries, or ``NOT_ONE``."""
        if self._names_dimensions(keywords) and not any(map(is_xarray, tensors)):
            what = f"dim was given, but {self.tensors[0]} is {described(tensors[0])}, which has no named dimensions"
            raise ArgumentError(message(self.name, what, "dim for xarray objects", "Use axis="))
        for call in (call_exchanged, call_on_rows):
            result = call(self, tensors, dict(keywords))
            if result is not NOT_ONE:
                return result
        return NOT_ONE

    def _names_dimensions(self, keywords: Mapping[str, Any]) -> bool:
        """Whether ``dim`` names dimensions of xarray, not a parameter of the formula."""
        return "dim" in keywords and all(parameter.name != "dim" for parameter in self.parameters)

    # ---- axes

    def row_axes(self, axis: int | Iterable[int] | None, dimensions: int) -> tuple[int, ...]:
        """The axes of a row, counted from the front; None means all, as in NumPy and SciPy."""
        if axis is None:
            return tuple(range(dimensions))
        given = tuple(axis) if isinstance(axis, Iterable) else (axis,)
        allowed = f"whole numbers from {-dimensions} to {dimensions - 1}, each once"
        axes = tuple(a + dimensions if isinstance(a, int | np.integer) and a < 0 else a for a in given)
        if not axes or any(not isinstance(a, int | np.integer) or not 0 <= a < dimensions for a in axes):
            what = f"axis is {axis!r} for an array of {dimensions} dimensions"
            if not dimensions:
                what, allowed = f"{self.tensors[0]} is a single number", "arrays of one dimension or more"
            raise ParameterError(message(self.name, what, allowed))
        if len(set(axes)) < len(axes):
            raise ParameterError(message(self.name, f"axis is {axis!r}, which names one twice", allowed))
        return tuple(int(a) for a in axes)

    @staticmethod
    def _own_axis(axis: Any, found: int, arrays: Sequence[np.ndarray]) -> int:
        """One axis as it was given: a negative one counts from the end of each operand, as in NumPy."""
        given = next(iter(axis)) if isinstance(axis, list | tuple) else axis
        return found - arrays[0].ndim if isinstance(given, int | np.integer) and given < 0 else found

    def _explain(self, error: BaseException, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        super()._explain(error, args, keywords)
        if not isinstance(error, ValueError) or isinstance(error, OgiveError):
            return
        axis, arrays = keywords.get("axis", LAST), [np.asanyarray(arg) for arg in args]
        try:
            self._check_rows(axis, self.row_axes(axis, arrays[0].ndim), arrays)
        except OgiveError as explained:
            raise explained from error

    def _check_rows(self, axis: Any, axes: tuple[int, ...], arrays: Sequence[np.ndarray]) -> None:
        """Refuse operands whose row is another one than the first's, where NumPy names an axis of its own."""
        first = arrays[0]
        places = (self._own_axis(axis, axes[0], arrays),) if len(axes) == 1 else axes
        for name, array in zip(self.tensors, arrays, strict=True):
            what = f"{name} has shape {array.shape}, and a row lies along axis {axis}"
            fits = array.ndim <= first.ndim and all(
                a in (1, b) for a, b in zip(array.shape[::-1], first.shape[::-1], strict=False)
            )
            way_out = f"Broadcast it first: numpy.broadcast_to({name}, {first.shape})" if fits else ""
            if not all(-array.ndim <= place < array.ndim for place in places):
                raise ShapeError(message(self.name, what, "operands that have the axes of the row", way_out))
            sizes, allowed = (tuple(one.shape[place] for place in places) for one in (array, first))
            if sizes != allowed:
                wanted = f"rows of shape {allowed}, as {self.tensors[0]} has"
                raise ShapeError(message(self.name, what, wanted, way_out))

    def _check_out(self, keywords: Mapping[str, Any], axis: Any, arrays: Sequence[np.ndarray]) -> None:
        """Refuse an ``out`` of another shape than the result's: into a larger one NumPy writes rows again and again."""
        out = keywords["out"]
        out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
        if not isinstance(out, np.ndarray):  # the ufunc refuses it, and says why
            return
        try:
            shape = broadcast_shapes(*(array.shape for array in arrays))
        except ValueError:  # the ufunc refuses them, and says which
            return
        expected = self.result_shape(shape, {**keywords, "axis": axis})
        if np.shape(out) != expected:
            raise ShapeError(message(self.name, f"out has shape {np.shape(out)}", f"{expected}"))

    def _over_several_axes(
        self, ufunc: np.ufunc, arrays: list[np.ndarray], axes: tuple[int, ...], keywords: dict[str, Any]
    ) -> np.ndarray:
        """Several axes as one: in the order of memory, an array's own axes come last without a copy."""
        out = keywords.pop("out", None)
        out = out[0] if isinstance(out, tuple) else out
        keepdims = keywords.pop("keepdims", False)
        last = range(-len(axes), 0)
        ordered = sorted(axes)
        rows = [np.moveaxis(array, ordered, last) for array in arrays]
        flat = [row.reshape(*row.shape[: -len(axes)], math.prod(row.shape[-len(axes) :])) for row in rows]
        result: np.ndarray = rounded_once(ufunc, flat, keywords)
        if not self.reduces:
            result = np.moveaxis(result.reshape(rows[0].shape), last, ordered)
        elif keepdims:
            result = np.expand_dims(result, tuple(ordered))
        if out is None:
            return result
        np.copyto(out, result, casting="same_kind")
        return np.asanyarray(out)

    def _documentation(self) -> str:
        lines = super()._documentation().splitlines()
        where = next(i for i, line in enumerate(lines) if line.startswith("Tensors: "))
        lines[where] = lines[where].replace("of any shapes that broadcast", "of one dimension or more")
        axes = "an axis, a tuple of axes, or None for all of them; default -1"
        lines.insert(where + 1, f"Keyword axis: {axes}. Objects of xarray take dim, the dimension's name, instead.")
        if "keepdims" in self.keywords:
            what = "whether what a row has one number of keeps the axes of the row, with length 1; default False"
            lines.insert(where + 2, f"Keyword keepdims: {what}.")
        if self.left_out is not None:
            what = "truth values that broadcast; elements where it is False take no part"
            kept = "" if self.left_out[1] is None else f", and become {self.left_out[1]:g}"
            lines.insert(where + 2, f"Keyword where: {what}{kept}.")
        return "\n".join(lines)


@_native.inherit_vectorcall
class RowReduction(RowOperator):
    """An operator whose formula makes one number of a row.

    The result has no axes of the row, unless ``keepdims`` says so. The ufunc is a generalised one, of signature (n)->().

    >>> import numpy as np, ogive
    >>> ogive.logsumexp(np.array([[0.0, 0.0], [0.0, 1000.0]]), axis=1)
    array([6.93147181e-01, 1.00000000e+03])
    """

    keywords: tuple[str, ...] = ("axis", "keepdims")
    reduces = True

    @cached_property
    def for_elements(self) -> RowOperator:
        """The same with the row's number for each of its elements: an operator of signature (n)->(n)."""
        constraints = {p.name: p.constraint for p in self.parameters if not p.choices}
        made = RowOperator(self.function, lambda _: self.signatures, constraints)
        return made if self is self.base else getattr(made, self.accuracy)

    def _over_axes(self, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        keepdims = keywords.get("keepdims", False)
        if not isinstance(keepdims, bool | np.bool):
            raise ParameterError(message(self.name, f"keepdims is {keepdims!r}", "True, False"))
        return super()._over_axes(tensors, keywords)

    def result_shape(self, shape: tuple[int, ...], keywords: Mapping[str, Any]) -> tuple[int, ...]:
        axes = self.row_axes(keywords.get("axis", LAST), len(shape))
        sizes = [1 if i in axes else size for i, size in enumerate(shape)]
        return tuple(size for i, size in enumerate(sizes) if keywords.get("keepdims") or i not in axes)

    def _check_formula(self, choices: Mapping[str, Any]) -> None:
        roots = self.formula(**choices)
        what = ""
        if not of_rows(*roots).issuperset(roots):
            what = "the formula has a result for each element of a row, and reduces=True was given"
        elif any(REDUCTIONS.isdisjoint(current.operation for current in walk(root)) for root in roots):
            what = "the formula reduces no row, and reduces=True was given"
        if what:
            raise FormulaError(message(self.name, what, "one number of a row", "Leave reduces=True out"))
        super()._check_formula(choices)


class LabelledReduction(RowReduction):
    """A reduction whose last tensor is a distribution over the row, for which whole numbers may stand: labels.

    They have the shape of the result. A label is the distribution of a one and zeros.
    """

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        return super().__call__(*self.without_labels(tensors, keywords), **keywords)

    def without_labels(self, tensors: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
        """The tensors, with a distribution in place of labels."""
        axis = keywords.get("axis", LAST)
        if len(tensors) < 2 or any(type(one) not in _MAY_HAVE_LABELS for one in tensors[-2:]) or type(axis) is not int:
            return tensors
        try:
            x, labels = map(np.asarray, tensors[-2:])
        except ValueError:  # lists of several lengths, which NumPy refuses
            return tensors
        if labels.dtype.kind not in "iu" or labels.ndim != x.ndim - 1 or not -x.ndim <= axis < x.ndim:
            return tensors
        name, count = self.tensors[-1], x.shape[axis]
        wanted = tuple(size for place, size in enumerate(x.shape) if place != axis % x.ndim)
        if labels.shape != wanted:
            what = f"{name} has labels of shape {labels.shape}, and {self.tensors[-2]} the shape {x.shape}"
            way_out = "A distribution is of floating-point numbers"
            raise ShapeError(message(self.name, what, f"a label for each row: {wanted}", way_out))
        if labels.size and not (labels.min() >= 0 and labels.max() < count):
            wrong = labels[(labels < 0) | (labels >= count)].flat[0]
            what = f"{name} has the label {wrong}, and rows have {count} element{'' if count == 1 else 's'}"
            raise ParameterError(message(self.name, what, "labels from 0 on, below the length of a row"))
        distribution = np.zeros(x.shape, x.dtype)
        np.put_along_axis(distribution, np.expand_dims(labels, axis), 1, axis)
        return *tensors[:-1], distribution


#: Types of tensors among which labels are looked for.
_MAY_HAVE_LABELS = frozenset({np.ndarray, list, tuple, int, np.int64, np.int32})


def _is_last(axis: Any) -> bool:
    return type(axis) is int and axis == LAST


@overload
def row_operator(function: Callable[..., Any], /) -> RowOperator: ...


@overload
def row_operator(
    *,
    types: Iterable[TypeLike] = ...,
    constraints: Mapping[str, Constraint] = ...,
    reduces: bool = ...,
    labels: bool = ...,
    doubles: Callable[..., Any] | None = ...,
    left_out: LeftOut | None = ...,
    onnx: str | None = ...,
    directml: str | None = ...,
) -> Callable[[Callable[..., Any]], RowOperator]: ...


def row_operator(
    function: Callable[..., Any] | None = None,
    /,
    *,
    types: Iterable[TypeLike] = FLOATS,
    constraints: Mapping[str, Constraint] | None = None,
    reduces: bool = False,
    labels: bool = False,
    doubles: Callable[..., Any] | None = None,
    left_out: LeftOut | None = None,
    onnx: str | None = None,
    directml: str | None = None,
) -> Any:
    """Make a row-wise operator of a formula that uses ``row_max``, ``row_sum`` and the like.

    With ``reduces`` the formula makes one number of a row, and results have no axis for it. With ``labels`` as well, calls on
    NumPy's arrays take whole numbers for the last tensor: each stands for a row of zeros with a one at its place. ``types`` and ``constraints``
    are those of :func:`ogive.operator`. ``doubles`` is the formula for float64, if that is another: the same real number,
    without what overflows and underflows on the way.

    Calls take ``where``, a mask of the elements that take part, if ``left_out`` says what the others become before and
    after: an element without effect, and what the result has in its place (None where rows become numbers).

    >>> import ogive
    >>> from ogive.formula import row_sum
    >>> @ogive.row_operator
    ... def share(x):
    ...     return x / row_sum(x)
    >>> share([[1.0, 3.0], [2.0, 2.0]])
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    >>> @ogive.row_operator(reduces=True)
    ... def length(x):
    ...     return row_sum(x * x) ** 0.5
    >>> length([[3.0, 4.0], [5.0, 12.0]])
    array([ 5., 13.])
    """
    listed = element_types_given("ogive.row_operator", types)

    def make(function: Callable[..., Any]) -> RowOperator:
        def signatures(tensors: tuple[str, ...]) -> Iterable[Signature]:
            return [Signature((t,) * len(tensors), (t,)) for t in in_order(listed)]

        kind = LabelledReduction if reduces and labels else RowReduction if reduces else RowOperator
        options: dict[str, Any] = {"doubles": doubles, "left_out": left_out, "onnx": onnx, "directml": directml}
        made = kind(function, signatures, constraints or {}, **options)
        check_at_once(made)
        return made

    return make if function is None else make(function)
