"""``@operator``: a formula becomes a function on arrays.

Called with arrays, an operator computes with a compiled kernel; called with expressions, it becomes part of
a larger formula. The call itself is native code (runtime/native/call.c); this module answers what that code
asks when it meets something for the first time.
"""

from __future__ import annotations

import copyreg
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, overload

import numpy as np

from ogive import _native
from ogive.dtypes import BOOLEAN, FLOATS, ElementType, element_type_of
from ogive.errors import (
    ArgumentError,
    DTypeError,
    FormulaError,
    OgiveError,
    OutputError,
    ParameterError,
    ShapeError,
    message,
)
from ogive.expression import Expression, Format, lift, node, python
from ogive.signature import (
    NUMPY_KEYWORDS,
    Constraint,
    Parameter,
    Signature,
    in_order,
    read_signature,
    type_numbers,
    without_annotations,
)

if TYPE_CHECKING:
    from ogive.transform.program import Program

__all__ = ["Operator", "operator"]


@_native.inherit_vectorcall
class Operator(_native.OperatorCall):
    """A function on arrays, made from a formula by :func:`operator`.

    Tensor arguments are positional, parameters are keywords with the standard's default, and what NumPy's
    ufuncs take besides (``out``, ``where``, ``dtype``, ...) works here too.

    >>> import numpy as np, ogive
    >>> ogive.shrink(np.array([-2.0, 0.25, 2.0]), bias=0.5, lambd=1.0)
    array([-1.5,  0. ,  1.5])
    """

    function: Callable[..., Any]
    name: str
    tensors: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    signatures: tuple[Signature, ...]
    keywords: ClassVar[tuple[str, ...]] = ()
    """What calls take besides the parameters and NumPy's own."""
    numpy_keywords: ClassVar[tuple[str, ...]] = NUMPY_KEYWORDS
    """Keywords that go to NumPy."""

    def __init__(
        self,
        function: Callable[..., Any],
        signatures: Callable[[tuple[str, ...]], Iterable[Signature]],
        constraints: Mapping[str, Constraint],
        *,
        truth_inputs: tuple[str, ...] = (),
        integers: Callable[..., Any] | None = None,
        modular: bool = False,
        onnx: str | None = None,
        directml: str | None = None,
    ) -> None:
        if not (callable(function) and hasattr(function, "__name__")):
            raise FormulaError(message("ogive.operator", f"{function!r} was given", "a function that is a formula"))
        self.function = function
        self.integer_function = integers or function
        self.name = self.__name__ = function.__name__
        self.__qualname__, self.__module__ = function.__qualname__, function.__module__
        signature = inspect.signature(function)
        self.__signature__ = without_annotations(signature)
        self.__wrapped__ = function
        self.onnx, self.directml = onnx, directml
        self.modular = modular
        self.truth_inputs = truth_inputs
        self.tensors, self.parameters = read_signature(function, signature, constraints)
        self.inputs = len(self.tensors)
        self.signatures = tuple(signatures(self.tensors))
        self.__doc__ = self._documentation()
        self._bound: dict[tuple[Any, ...], np.ufunc] = {}
        self._kernels: dict[tuple[Any, ...], _native.Kernel] = {}
        self._formulas: dict[tuple[Any, ...], tuple[Expression, ...]] = {}

    def __repr__(self) -> str:
        return f"<operator {self.name}{self.__signature__}>"

    def __reduce__(self) -> str:
        return self.__qualname__

    def _documentation(self) -> str:
        """The formula's docstring and what follows from the declaration."""
        types = ", ".join(dict.fromkeys(t.name for signature in self.signatures for t in signature.inputs))
        lines = [inspect.getdoc(self.function) or self.name, ""]
        lines.append(f"Tensors: {', '.join(self.tensors)}, of any shapes that broadcast. Element types: {types}.")
        for p in self.parameters:
            default = "required" if p.is_required else f"default {p.default!r}"
            allowed = ", ".join(map(repr, p.choices)) if p.choices else p.constraint.allowed
            lines.append(f"Parameter {p.name}: {allowed}; {default}.")
        lines.append(f"Other keywords are those of a numpy.ufunc: {', '.join(self.numpy_keywords)}.")
        lines.append("No floating-point flag is set, so numpy.errstate has no effect.")
        lines.append(
            "Raises ArgumentError, DTypeError, ShapeError, ParameterError or OutputError, before anything is written."
        )
        return "\n".join(lines)

    # ---- parameters

    def bind(self, **parameters: Any) -> np.ufunc:
        """The ``numpy.ufunc`` with these parameters: the fastest way to call, and a callback for others.

        >>> import numpy as np, ogive
        >>> f = ogive.celu.bind(alpha=1.5)
        >>> f
        <ufunc 'celu(alpha=1.5)'>
        >>> f(np.float32([-1.0, 2.0]))
        array([-0.7298743,  2.       ], dtype=float32)
        """
        values = self.checked_parameters(parameters)
        key = tuple(values.values())
        # 0.0 == -0.0, but they are different parameters.
        key += tuple(math.copysign(1, value) for value in key if type(value) is float)
        ufunc = self._bound.get(key)
        if ufunc is None:
            ufunc = self._make_ufunc(values, is_default=not parameters)
            if len(self._bound) >= 256:
                self._bound.pop(next(iter(self._bound)))
            self._bound[key] = ufunc
        return ufunc

    def checked_parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every parameter with its value, in the order of the signature; ``given`` over the defaults."""
        known = {parameter.name for parameter in self.parameters}
        for name in given:
            if name not in known:
                self._refuse_keyword(name)
        values = {}
        for parameter in self.parameters:
            if parameter.name not in given and parameter.is_required:
                raise ArgumentError(message(self.name, f"{parameter.name} is missing; it has no default"))
            values[parameter.name] = parameter.checked(self.name, given.get(parameter.name, parameter.default))
        return values

    def _refuse_keyword(self, name: str) -> NoReturn:
        known = [*(parameter.name for parameter in self.parameters), *self.keywords]
        of_numpy = ", ".join(self.numpy_keywords)
        allowed = f"{', '.join(known)}, {of_numpy}" if known else f"no parameters; {of_numpy}"
        raise ArgumentError(message(self.name, f"there is no parameter {name!r}", allowed))

    def _structure(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values that select the formula."""
        return tuple(values[parameter.name] for parameter in self.parameters if parameter.choices)

    @property
    def numeric_parameters(self) -> tuple[Parameter, ...]:
        """The parameters that reach compiled code, in the order in which it gets them."""
        return tuple(parameter for parameter in self.parameters if not parameter.choices)

    # ---- formula, kernels, ufuncs

    def formula(self, *, for_integers: bool = False, **choices: Any) -> tuple[Expression, ...]:
        """The roots of the formula's graph, one per output, with parameters that are numbers left open.

        ``for_integers`` asks for the formula for integer operands, where an operator has one of their own.
        """
        numeric = {parameter.name: parameter for parameter in self.numeric_parameters}
        for name in choices:
            if name in numeric:
                raise ParameterError(message(self.name, f"{name} is a number and stays open in the formula"))
        defaults = {p.name: p.default for p in self.parameters if p.choices}
        function = self.integer_function if for_integers else self.function
        structure = (function, *(defaults | choices).values())
        if structure not in self._formulas:
            positions = count()
            arguments = [
                node("input", (), i, Format.TRUTH if name in self.truth_inputs else Format.NUMBER)
                for i, name in enumerate(self.tensors)
            ]
            keywords = defaults | choices
            for name in numeric:
                keywords[name] = node("parameter", (), (next(positions), name), Format.NUMBER)
            self._formulas[structure] = self._results(function(*arguments, **keywords))
        return self._formulas[structure]

    def _results(self, value: Any) -> tuple[Expression, ...]:
        results = tuple(map(lift, value)) if isinstance(value, tuple) else (lift(value),)
        if len(results) != len(self.signatures[0].outputs):
            raise FormulaError(
                message(self.name, f"the formula returns {len(results)} values", f"{len(self.signatures[0].outputs)}")
            )
        return results

    def kernel(self, signature: Signature, **choices: Any) -> _native.Kernel:
        """The kernel for one combination of element types; its numeric parameters stay open."""
        from ogive.runtime.kernels import make_kernel

        key = (signature, tuple(choices.items()))
        if key not in self._kernels:
            program = partial(self.program, signature, **choices)
            identity = partial(self._identity, signature, choices)
            self._kernels[key] = make_kernel(*signature, program, row_wise=self.is_row_wise, make_identity=identity)
        return self._kernels[key]

    def _identity(self, signature: Signature, choices: Mapping[str, Any]) -> str:
        """What the program of a kernel follows from, as text."""
        roots = self.formula(for_integers=signature.is_of_integers, **choices)
        types = [[t.name for t in side] for side in signature]
        return f"{types} {self.modular} {len(self.numeric_parameters)}\n{python(*roots)}"

    def program(self, signature: Signature, **parameters: Any) -> Program:
        """What is computed for one combination of element types.

        Numeric parameters that are given become constants; as in a kernel they are rounded to the format
        that it computes in. The others stay open.
        """
        from ogive.transform.fold import fold
        from ogive.transform.lower import computes_in, lower

        numeric = {parameter.name for parameter in self.numeric_parameters}
        numbers = {name: value for name, value in parameters.items() if name in numeric}
        if computes_in(signature.inputs, signature.outputs) == "float32":
            numbers = {name: float(np.float32(value)) for name, value in numbers.items()}
        choices = {name: value for name, value in parameters.items() if name not in numeric}
        formula = self.formula(for_integers=signature.is_of_integers, **choices)
        roots = [fold(root, numbers) for root in formula]
        open_roots = [fold(root) for root in formula] if numbers else None
        open_count = len(numeric) if len(numbers) < len(numeric) else 0
        return lower(roots, *signature, modular=self.modular, parameter_count=open_count, open_roots=open_roots)

    def _make_ufunc(self, values: Mapping[str, Any], is_default: bool) -> np.ufunc:
        choices = {p.name: values[p.name] for p in self.parameters if p.choices}
        numbers = {p.name: values[p.name] for p in self.numeric_parameters}
        loops = [
            (numbers_of_types, self.kernel(signature, **choices))
            for signature in self.signatures
            for numbers_of_types in type_numbers(signature)
        ]
        # The name tells apart what libraries such as Dask identify by name.
        shown = ", ".join(f"{name}={value!r}" for name, value in values.items())
        ufunc = _native.make_ufunc(
            name=self.name if is_default or not shown else f"{self.name}({shown})",
            doc=self.__doc__ or "",
            inputs=self.inputs,
            outputs=len(self.signatures[0].outputs),
            loops=loops,
            parameters=tuple(numbers.values()),
            row_wise=self.is_row_wise,
        )
        ufunc.__dict__["ogive_binding"] = (self, tuple(values.items()))
        return ufunc

    # ---- what the native call path asks

    def _call_with_numbers(self, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call with Python's numbers beside arrays of bfloat16: they take that type, as beside NumPy's own types."""
        dtype = next(t.dtype for t in tensors if isinstance(t, np.ndarray) and t.dtype.name == "bfloat16")
        return self(*(np.asarray(t, dtype) if type(t) in (float, int) else t for t in tensors), **keywords)

    def _call_otherwise(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call with too few or too many tensors, or with None for one: refused, unless a subclass gives it a meaning."""
        if len(args) != self.inputs:
            self._refuse_arguments(args)
        self._bind(tuple(keywords), tuple(keywords.values()))  # refuses an unknown keyword
        name = self.tensors[next(i for i, arg in enumerate(args) if arg is None)]
        raise ArgumentError(message(self.name, f"{name} is None", "an array or a number"))

    def _bind(self, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[np.ufunc, tuple[str, ...]]:
        """The ufunc for a set of keywords, and those keywords that are NumPy's."""
        rest = tuple(name for name in names if name in self.numpy_keywords)
        given = {name: value for name, value in zip(names, values, strict=True) if name not in self.numpy_keywords}
        return self.bind(**given), rest

    def _trace(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call inside a formula: the operator's own formula with these operands."""
        if len(args) != self.inputs:
            self._refuse_arguments(args)
        values: dict[str, Any] = {}
        known = {parameter.name: parameter for parameter in self.parameters}
        for name, value in keywords.items():
            if name not in known:
                self._refuse_keyword(name)
            is_open = isinstance(value, Expression)
            values[name] = value if is_open else known[name].checked(self.name, value)
        results = self._results(self.function(*map(lift, args), **values))
        return results[0] if len(results) == 1 else results

    def _refuse_arguments(self, args: tuple[Any, ...]) -> NoReturn:
        many = "tensor" if self.inputs == 1 else "tensors"
        names = [*(parameter.name for parameter in self.parameters), *self.keywords, "out"]
        raise ArgumentError(
            message(
                self.name,
                f"{len(args)} positional arguments were given",
                f"{self.inputs} {many} ({', '.join(self.tensors)})",
                f"Everything else is a keyword: {', '.join(f'{name}=' for name in names)}",
            )
        )

    def _explain(self, error: BaseException, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Raise an error that names the operator and the argument, in place of NumPy's, where one is due."""
        if len(args) != self.inputs:
            self._refuse_arguments(args)
        if isinstance(error, OgiveError) or not isinstance(error, TypeError | ValueError):
            return
        arrays = [np.asarray(arg) for arg in args]
        out = keywords.get("out")
        targets = out if isinstance(out, tuple) else (out,)
        for target in targets:
            if isinstance(target, np.ndarray) and not target.flags.writeable:
                raise OutputError(message(self.name, "out is a read-only array", "writable arrays")) from error
            if target is not None and not hasattr(target, "__array_ufunc__"):
                raise OutputError(message(self.name, f"out is a {type(target).__name__}", "an array")) from error
        if isinstance(error, TypeError):
            self._explain_types(error, arrays, targets)
        if isinstance(error, ValueError):
            self._explain_shapes(error, arrays, targets)

    def _explain_types(self, error: BaseException, arrays: list[np.ndarray], targets: tuple[Any, ...]) -> None:
        taken = list(dict.fromkeys(t for signature in self.signatures for t in signature.inputs))
        allowed = ", ".join(t.name for t in taken)
        for name, array in zip(self.tensors, arrays, strict=True):
            if element_type_of(array.dtype) not in taken:
                what = f"{name} has dtype {array.dtype}"
                raise DTypeError(message(self.name, what, allowed, f"Convert it first: {name}.astype(...)")) from error
        for target in targets:
            if isinstance(target, np.ndarray):
                given = " and ".join(str(array.dtype) for array in arrays)
                what = f"out has dtype {target.dtype}, which cannot take the result for {given}"
                raise DTypeError(message(self.name, what)) from error

    def _explain_shapes(self, error: BaseException, arrays: list[np.ndarray], targets: tuple[Any, ...]) -> None:
        try:
            shape = np.broadcast_shapes(*(array.shape for array in arrays))
        except ValueError:
            shapes = " and ".join(f"{name} {array.shape}" for name, array in zip(self.tensors, arrays, strict=True))
            raise ShapeError(
                message(
                    self.name,
                    f"the shapes do not broadcast together: {shapes}",
                    "equal sizes, or 1, from the last axis on",
                )
            ) from error
        for target in targets:
            if isinstance(target, np.ndarray) and target.shape != shape:
                raise ShapeError(message(self.name, f"out has shape {target.shape}", f"{shape}")) from error


@overload
def operator(function: Callable[..., Any], /) -> Operator: ...


@overload
def operator(
    *,
    types: Iterable[ElementType] = ...,
    result: ElementType | None = ...,
    signatures: Iterable[tuple[tuple[ElementType, ...], tuple[ElementType, ...]]] = ...,
    constraints: Mapping[str, Constraint] = ...,
    truth_inputs: tuple[str, ...] = ...,
    integers: Callable[..., Any] | None = ...,
    modular: bool = ...,
    onnx: str | None = ...,
    directml: str | None = ...,
) -> Callable[[Callable[..., Any]], Operator]: ...


def operator(
    function: Callable[..., Any] | None = None,
    /,
    *,
    types: Iterable[ElementType] = FLOATS,
    result: ElementType | None = None,
    signatures: Iterable[tuple[tuple[ElementType, ...], tuple[ElementType, ...]]] = (),
    constraints: Mapping[str, Constraint] | None = None,
    truth_inputs: tuple[str, ...] = (),
    integers: Callable[..., Any] | None = None,
    modular: bool = False,
    onnx: str | None = None,
    directml: str | None = None,
) -> Any:
    """Make an operator of a formula.

    The formula's positional arguments are the tensors, its keyword-only arguments the parameters; what it
    may write is in :mod:`ogive.formula`. ``types`` are the element types that it is there for (all operands
    have the same one; the result too, unless ``result`` says otherwise); ``signatures`` lists the types of
    inputs and outputs where that does not hold. ``constraints`` say which values of
    a parameter make sense. ``truth_inputs`` are the tensors that hold truth values. ``integers`` is the
    formula for integer operands where it is another one; ``modular`` lets their arithmetic wrap around
    instead of saturating. ``onnx`` and ``directml`` are the standards' names of the same operator.

    A formula is computed with 24 to 29 more bits than float32 has, and rounded once. Cancellation (``exp(x) - 1``) uses
    them up, and intermediate results can overflow or underflow: use ``expm1``, ``log1p``, ``logistic`` and the like, and
    measure with ``ogive accuracy module:operator``.

    >>> import ogive
    >>> @ogive.operator
    ... def leaky(x, *, slope=0.1):
    ...     return ogive.formula.where(x >= 0, x, slope * x)
    >>> leaky([-10.0, 10.0], slope=0.5)
    array([-5., 10.])
    """
    listed = tuple(types)
    mixed = [Signature(*pair) for pair in signatures]

    def make(function: Callable[..., Any]) -> Operator:
        def combinations(tensors: tuple[str, ...]) -> Iterable[Signature]:
            if mixed:
                return mixed
            return [
                Signature(tuple(BOOLEAN if name in truth_inputs else t for name in tensors), (result or t,))
                for t in in_order(listed)
            ]

        return Operator(
            function,
            combinations,
            constraints or {},
            truth_inputs=truth_inputs,
            integers=integers,
            modular=modular,
            onnx=onnx,
            directml=directml,
        )

    return make if function is None else make(function)


# Ufuncs are pickled by name; ours by operator and parameters.
_reduce_by_name = copyreg.dispatch_table[np.ufunc]


def _rebind(operator: Operator, parameters: tuple[tuple[str, Any], ...]) -> np.ufunc:
    return operator.bind(**dict(parameters))


def _reduce_ufunc(ufunc: np.ufunc) -> Any:
    binding = getattr(ufunc, "ogive_binding", None)
    return _reduce_by_name(ufunc) if binding is None else (_rebind, binding)


copyreg.pickle(np.ufunc, _reduce_ufunc)
_native.set_expression_type(Expression)
