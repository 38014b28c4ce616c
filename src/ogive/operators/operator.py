"""``@operator``: a formula becomes a function on arrays.

Called with arrays, an operator computes with a compiled kernel; called with expressions, it becomes part of
a larger formula. The call itself is native code (runtime/native/call.c); this module answers what that code
asks when it meets something for the first time.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import update_wrapper
from itertools import count, islice, product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, Self, overload

import numpy as np

from ogive import _native
from ogive.common.contracts import DEFAULT
from ogive.common.conversion import rounded_once
from ogive.common.dtypes import BOOLEAN, FLOATS, ElementType
from ogive.common.forking import cached_property
from ogive.common.keys import signs_of
from ogive.engine.computation import Computation, Formula, Fused, cast, kernel_of
from ogive.engine.exact_reductions import exact_methods
from ogive.errors import (
    ArgumentError,
    DTypeError,
    FormulaError,
    ParameterError,
    by_position,
    described,
    message,
    suggestion,
)
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Term, as_number, lift, node, walk
from ogive.graph.limits import given
from ogive.operators.containers import NOT_ONE, call_exchanged, call_method
from ogive.operators.masked import call_where
from ogive.operators.signature import (
    NUMPY_KEYWORDS,
    Constraint,
    Parameter,
    Signature,
    TypeLike,
    element_type_given,
    element_types_given,
    in_order,
    read_signature,
    type_numbers,
    without_annotations,
)
from ogive.operators.trace import check_function, results_of, trace

if TYPE_CHECKING:
    from ogive.lowering.program import Program

#: The parameter to write in place of one of another library, given an operator and the name there; the catalogue's tables fill it in.
ADVISERS: list[Callable[[str, str], str]] = []


#: The attributes of an operator that are for its users: `dir` and completion show these.
FOR_USERS = frozenset(
    [
        "accumulate",
        "accuracy",
        "at",
        "bind",
        "directml",
        "exact",
        "fast",
        "formula",
        "function",
        "identity",
        "name",
        "nargs",
        "nin",
        "nout",
        "ntypes",
        "onnx",
        "outer",
        "parameters",
        "reduce",
        "reduceat",
        "resolve_dtypes",
        "signature",
        "signatures",
        "tensors",
        "types",
    ]
)


def advice_on(operator: str, parameter: str) -> str:
    """The parameter to write in place of another library's, as a sentence; empty if nobody knows it."""
    return next(filter(None, (adviser(operator, parameter) for adviser in ADVISERS)), "")


class RoundedStep(NamedTuple):
    """An operator of values before it, whose result is rounded to an element type."""

    operator: Operator | None
    """None converts a value to the type."""
    operands: tuple[int, ...]
    """The numbers of values: 0 and 1 are the tensors, and each step adds one."""
    parameters: Mapping[str, Any]
    kind: ElementType


#: The number that an operation does not change the other one by.
NEUTRAL = {ops.MULTIPLY: 1.0, ops.DIVIDE: 1.0, ops.ADD: 0.0, ops.SUBTRACT: 0.0}


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
    identity: float | None
    """The result of a reduction of nothing: 0 for a sum; None where there is no such number."""
    keywords: tuple[str, ...] = ()
    """The arguments that calls take besides the parameters and NumPy's own."""
    numpy_keywords: ClassVar[tuple[str, ...]] = NUMPY_KEYWORDS
    """Keywords that go to NumPy."""
    reduces: ClassVar[bool] = False
    """Whether a row has one result."""
    opened_of: Operator | None = None
    """The operator that this one is with some parameters as tensors behind its own; it has the same derivatives."""

    def __init__(
        self,
        function: Callable[..., Any],
        signatures: Callable[[tuple[str, ...]], Iterable[Signature]],
        constraints: Mapping[str, Constraint],
        *,
        truth_inputs: tuple[str, ...] = (),
        integers: Callable[..., Any] | None = None,
        doubles: Callable[..., Any] | None = None,
        modular: bool = False,
        identity: float | None = None,
        reorderable: bool = False,
        onnx: str | None = None,
        directml: str | None = None,
    ) -> None:
        signature = check_function(function)
        self.function = function
        self.integer_function = integers or function
        self.double_function = doubles or function
        self.name = self.__name__ = function.__name__
        self.__qualname__, self.__module__ = function.__qualname__, function.__module__
        self.__signature__ = without_annotations(signature)
        self.__wrapped__ = function
        self.onnx, self.directml = onnx, directml
        self.modular = modular
        self.truth_inputs = truth_inputs
        self.tensors, self.parameters = read_signature(function, signature, constraints)
        self.inputs = len(self.tensors)
        self.signatures = tuple(signatures(self.tensors))
        self._set_reduction(identity, reorderable)
        self.__doc__ = self._documentation()
        self._bound: dict[tuple[Any, ...], np.ufunc] = {}
        self._kernels: dict[tuple[Any, ...], _native.Kernel] = {}
        self.accuracy = DEFAULT
        self._default: Self | None = None
        self._contracts: dict[str, Self] = {}
        self._formulas: dict[tuple[Any, ...], tuple[Expression, ...]] = {}

    def _set_reduction(self, identity: Any, reorderable: bool) -> None:
        what = "" if identity is None or isinstance(identity, bool | int | float) else f"its identity is {identity!r}"
        if what:
            raise FormulaError(message(self.name, what, "a number, a truth value or None"))
        self.identity = identity
        self.reorderable = reorderable or identity is not None
        if self.reorderable and (self.inputs != 2 or len(self.signatures[0].outputs) != 1 or self.is_row_wise):
            what = "identity or reorderable was given"
            raise FormulaError(
                message(self.name, what, "both for element-wise operators of two tensors and one result only")
            )

    def __dir__(self) -> list[str]:
        """The attributes that a user asks for; those of the engine are not completed."""
        return sorted({name for name in super().__dir__() if name.startswith("__")} | FOR_USERS)

    def __repr__(self) -> str:
        return f"<operator {self.name}{self.__signature__}>"

    # ---- copies

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self._default is not None:
            return getattr, (self._default, self.accuracy)
        from ogive.operators.pickling import reduced_operator  # only copies in other processes need it

        return reduced_operator(self)

    def __copy__(self) -> Self:
        return self  # nothing can change it, as with functions

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        from ogive.operators.pickling import token

        return token(self) if self._default is None else (self.accuracy, *token(self._default))

    # ---- contracts

    @cached_property
    def fast(self) -> Self:
        """The same operator under the fast contract: float32 without corrections, with the error that docs/accuracy.md
        states, and the same bits on every machine of one version.

        Float64, integers, rows and formulas that gain nothing are computed as in the exact contract. For a formula of
        your own the error has no bound. Inside another formula it is the formula that counts, and the contract is the
        outer operator's.

        >>> import numpy as np, ogive
        >>> ogive.gelu.fast
        <operator gelu.fast(x, *, approximate='none')>
        >>> ogive.gelu.fast(np.float32([0.0, 20.0]))
        array([ 0., 20.], dtype=float32)
        """
        return self.under("fast")

    @cached_property
    def exact(self) -> Self:
        """The same operator under the exact contract, whatever ``OGIVE_ACCURACY`` says; that is the default.

        >>> import ogive
        >>> ogive.gelu.fast.exact
        <operator gelu.exact(x, *, approximate='none')>
        """
        return self.under("exact")

    @property
    def base(self) -> Self:
        """The operator of which this is another contract: the one that the module names."""
        return self if self._default is None else self._default

    def under_contract_of(self, model: Operator) -> Self:
        """The same operator under the contract that another one was asked for by name; as it is, where none was."""
        return self if model.base is model else self.under(model.accuracy)

    def under(self, accuracy: str) -> Self:
        """The same operator under the contract of that name (common/contracts.py)."""
        default = self.base
        found = default._contracts.get(accuracy)
        if found is None:
            made = type(self).__new__(type(self))
            made.__dict__.update(default.__dict__)
            made.inputs, made.is_row_wise = default.inputs, default.is_row_wise
            made.accuracy, made._default, made._contracts = accuracy, default, {}
            made.name = made.__name__ = f"{default.name}.{accuracy}"
            made.__qualname__ = f"{default.__qualname__}.{accuracy}"
            made._bound, made._kernels = {}, {}
            for cached in ("_any_ufunc", "for_elements", "_on_tensors"):
                made.__dict__.pop(cached, None)
            found = default._contracts.setdefault(accuracy, made)
        return found

    # ---- documentation

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

    def bind(self, /, *arguments: Any, **parameters: Any) -> np.ufunc:
        """The ``numpy.ufunc`` with these parameters: the fastest way to call, and a callback for others.

        Libraries that ask whether a function is a ``numpy.ufunc`` want this one: pandas hands it whole columns in
        ``series.apply(ogive.celu.bind())``, and the operator itself one element after the other.

        >>> import numpy as np, ogive
        >>> f = ogive.celu.bind(alpha=1.5)
        >>> f
        <ufunc 'celu(alpha=1.5)'>
        >>> f(np.float32([-1.0, 2.0]))
        array([-0.7298743,  2.       ], dtype=float32)
        """
        if arguments:
            what, allowed = f"bind was given {described(arguments[0])} by position", "parameters, by name"
            raise ArgumentError(message(self.name, what, allowed, f"Give arrays to the result: {self.name}.bind()(x)"))
        return self._bound_to(parameters, is_complete=True)

    def _bound_to(self, parameters: Mapping[str, Any], *, is_complete: bool) -> np.ufunc:
        """The ufunc with these parameters. One that need not be complete has no loops for bfloat16 before ml_dtypes is imported."""
        values = self.checked_parameters(parameters)
        has_all = is_complete or "ml_dtypes" in sys.modules
        key = (*_key(values), has_all)
        ufunc = self._bound.get(key)
        if ufunc is None:
            ufunc = self._make_ufunc(values, is_complete=has_all)
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
                raise ArgumentError(
                    message(
                        self.name,
                        f"{parameter.name} is missing, and has no default",
                        "",
                        f"Give {parameter.name} a value",
                    )
                )
            values[parameter.name] = parameter.checked(self.name, given.get(parameter.name, parameter.default))
        return values

    def _refuse_keyword(self, name: str) -> NoReturn:
        if name in (*self.numpy_keywords, *self.keywords):  # in a call it is taken before
            parameters = ", ".join(parameter.name for parameter in self.parameters) or "none"
            way_out = f"Give {name} when you call the result"
            raise ArgumentError(message(self.name, f"{name} is no parameter", parameters, way_out))
        known = [*(parameter.name for parameter in self.parameters), *self.keywords]
        of_numpy = ", ".join(self.numpy_keywords)
        allowed = f"{', '.join(known)}, {of_numpy}" if known else f"no parameters; {of_numpy}"
        way_out = advice_on(self.name, name) or suggestion(name, [*known, *self.numpy_keywords])
        raise ArgumentError(message(self.name, f"there is no parameter {name!r}", allowed, way_out))

    @property
    def numeric_parameters(self) -> tuple[Parameter, ...]:
        """The parameters that reach compiled code, in the order in which it gets them."""
        return tuple(parameter for parameter in self.parameters if not parameter.choices)

    # ---- what a numpy.ufunc has

    @property
    def nin(self) -> int:
        """How many tensors it takes, as of a numpy.ufunc."""
        return self.inputs

    @property
    def nout(self) -> int:
        """How many results it has, as of a numpy.ufunc."""
        return len(self.signatures[0].outputs)

    @property
    def nargs(self) -> int:
        """How many tensors and results it has together, as of a numpy.ufunc."""
        return self.nin + self.nout

    @property
    def types(self) -> list[str]:
        """Its combinations of NumPy's own element types, as of a numpy.ufunc: ``"f->f"``.

        >>> import ogive
        >>> ogive.celu.types
        ['e->e', 'f->f', 'd->d']
        """
        return [*self._any_ufunc.types]

    @property
    def ntypes(self) -> int:
        """How many ``types`` it has, as of a numpy.ufunc."""
        return self._any_ufunc.ntypes

    @property
    def signature(self) -> str | None:
        """How it looks at rows, as of a numpy.ufunc: None where every element is for itself."""
        return self._any_ufunc.signature

    @cached_property
    def _any_ufunc(self) -> np.ufunc:
        """One with some values of the parameters, which say nothing about the above."""
        some = {p.name: p.choices[0] if p.choices else 1.0 for p in self.parameters}
        return self._make_ufunc(some)

    def reduce(self, array: Any, *args: Any, **keywords: Any) -> Any:
        """``numpy.ufunc.reduce``; parameters are keywords as in a call.

        The floats of ``add``, ``mul``, ``logaddexp`` and ``hypot`` are reduced exactly, and the result is rounded once to
        their type, or to ``dtype``. Of other operators elements are combined one after the other, and every step is
        rounded. Short integers are widened for ``add`` and ``mul``, as NumPy does for its own: ``dtype="int8"`` asks for
        sums and products that wrap around.

        >>> import numpy as np, ogive
        >>> float(ogive.add.reduce(np.full(100_000, 0.01, np.float16)))
        1000.0
        >>> ogive.add.reduce(np.ones((2, 3)), axis=None)
        np.float64(6.0)
        """
        return self._method("reduce", array, *args, **keywords)

    def accumulate(self, array: Any, *args: Any, **keywords: Any) -> Any:
        """``numpy.ufunc.accumulate``; parameters are keywords as in a call.

        Running sums and products of floats, and those of logaddexp and hypot, are exact, and each is rounded once. So
        ``logaddexp.accumulate`` is logcumsumexp. Other operators round every step.

        >>> import ogive
        >>> ogive.max.accumulate([1.0, 3.0, 2.0])
        array([1., 3., 3.])
        """
        return self._method("accumulate", array, *args, **keywords)

    def reduceat(self, array: Any, indices: Any, *args: Any, **keywords: Any) -> Any:
        """``numpy.ufunc.reduceat``; parameters are keywords as in a call. It rounds as ``reduce`` does.

        >>> import ogive
        >>> ogive.add.reduceat([1.0, 2.0, 3.0], [0, 2])
        array([3., 3.])
        """
        return self._method("reduceat", array, indices, *args, **keywords)

    def outer(self, a: Any, b: Any, /, **keywords: Any) -> Any:
        """``numpy.ufunc.outer``; parameters are keywords as in a call.

        >>> import ogive
        >>> ogive.mul.outer([1.0, 2.0], [3.0, 4.0])
        array([[3., 4.],
               [6., 8.]])
        """
        return self._method("outer", a, b, **keywords)

    def at(self, a: Any, indices: Any, *b: Any, **parameters: Any) -> None:
        """``numpy.ufunc.at``; parameters are keywords as in a call.

        >>> import numpy as np, ogive
        >>> x = np.zeros(3)
        >>> ogive.add.at(x, [0, 0, 2], 1.0)
        >>> x
        array([2., 0., 1.])
        """
        self._method("at", a, indices, *b, **parameters)

    def resolve_dtypes(self, dtypes: Any, **keywords: Any) -> tuple[np.dtype, ...]:
        """``numpy.ufunc.resolve_dtypes``: the element types of the tensors and the results of a call.

        >>> import numpy as np, ogive
        >>> ogive.celu.resolve_dtypes((np.dtype("int16"), None))
        (dtype('float32'), dtype('float32'))
        """
        return self._any_ufunc.resolve_dtypes(dtypes, **keywords)

    def _method(self, name: str, *args: Any, **keywords: Any) -> Any:
        is_at = name == "at"
        if self.is_row_wise or self.nout != 1 or self.nin > 2 or (self.nin == 1 and not is_at):
            how_many = (
                f"{self.nin} tensor{'s' if self.nin > 1 else ''} and {self.nout} result{'s' if self.nout > 1 else ''}"
            )
            what = (
                f"{name} was called, but it looks at whole rows"
                if self.is_row_wise
                else f"{name} was called, but it has {how_many}"
            )
            allowed = f"element-wise operators of {'one or two' if is_at else 'two'} tensors and one result"
            raise ArgumentError(message(self.name, what, allowed))
        known = {parameter.name for parameter in self.parameters}
        values = {key: keywords.pop(key) for key in list(keywords) if key in known or is_at}
        self._refuse_where_of_none(keywords)
        self._refuse_text(keywords)
        try:
            return call_method(self, self.bind(**values), name, args, keywords)
        except (TypeError, NotImplementedError) as error:  # a container that takes calls, but not this method
            given = next((one for one in args if hasattr(one, "__array_ufunc__")), None)
            if given is None or isinstance(given, np.ndarray | np.generic):
                raise
            library = f"{type(given).__module__.partition('.')[0]}.{type(given).__name__}"
            what = f"{name} was called with a {library}, whose library does not take this method"
            way_out = "Use its own reductions, such as x.sum(), or give a NumPy array"
            raise ArgumentError(message(self.name, what, "NumPy arrays, and what exchanges memory", way_out)) from error

    def _refuse_where_of_none(self, keywords: Mapping[str, Any]) -> None:
        """NumPy reads None as False, and leaves the whole result as it was in memory."""
        if "where" in keywords and keywords["where"] is None:
            way_out = "Leave it out to compute all elements"
            raise ArgumentError(message(self.name, "where is None", "an array of truth values", way_out))

    def _refuse_text(self, keywords: Mapping[str, Any]) -> None:
        """NumPy writes numbers to text, cut off at its length, and their bits to records."""
        out = keywords.get("out")
        for target in out if isinstance(out, tuple) else (out,):
            if isinstance(target, np.ndarray) and target.dtype.kind in "SUTV" and not target.dtype.isbuiltin == 2:
                raise DTypeError(message(self.name, f"out has dtype {target.dtype}", "arrays of numbers"))

    # ---- formula, kernels, ufuncs

    def formula(
        self, *, for_integers: bool = False, for_doubles: bool = False, **choices: Any
    ) -> tuple[Expression, ...]:
        """The roots of the formula's graph, one per output, with parameters that are numbers left open.

        ``for_integers`` asks for the formula for integer operands, where an operator has one of their own, and
        ``for_doubles`` for that of float64.
        """
        numeric = {parameter.name: parameter for parameter in self.numeric_parameters}
        for name in choices:
            if name in numeric:
                raise ParameterError(
                    message(
                        self.name, f"{name} was given, a number that stays open in the formula", "", f"Leave {name} out"
                    )
                )
        defaults = {p.name: p.default for p in self.parameters if p.choices}
        function = self.integer_function if for_integers else self.double_function if for_doubles else self.function
        structure = (function, _key(defaults | choices))
        if structure not in self._formulas:
            positions = count()
            arguments = [
                node(ops.INPUT, (), i, Format.TRUTH if name in self.truth_inputs else Format.NUMBER)
                for i, name in enumerate(self.tensors)
            ]
            keywords = defaults | choices
            for name in numeric:
                keywords[name] = node(ops.PARAMETER, (), (next(positions), name), Format.NUMBER)
            self._formulas[structure] = trace(
                self.name, function, arguments, keywords, len(self.signatures[0].outputs), of_rows=self.is_row_wise
            )
        return self._formulas[structure]

    def check_formula(self) -> None:
        """Trace the formula, with every choice if there are few, and check the defaults: mistakes show at once."""
        for parameter in self.numeric_parameters:
            if not parameter.is_required:
                parameter.checked(self.name, parameter.default)
        selecting = [parameter for parameter in self.parameters if parameter.choices]
        choices = [sorted(p.choices, key=lambda choice: choice != p.default) for p in selecting]
        for chosen in islice(product(*choices), 32):
            named = {p.name: choice for p, choice in zip(selecting, chosen, strict=True)}
            try:
                self._check_formula(named)
            except FormulaError as error:
                if isinstance(error.__cause__, NameError):  # something that is defined later, or the first call says so
                    return
                raise

    def _check_formula(self, choices: Mapping[str, Any]) -> None:
        from ogive.lowering.integers import why_not

        for signature in self.signatures:
            roots = self.formula(for_integers=signature.is_of_integers, **choices)
            reason = why_not(roots, *signature, modular=self.modular)
            if reason is not None:
                raise FormulaError(f"{self.name}: {reason}")

    def kernel(self, signature: Signature, **parameters: Any) -> _native.Kernel:
        """The kernel for one combination of element types, with parameters as in ``computation``."""
        key = (signature, _key(parameters))
        if key not in self._kernels:
            self._kernels[key] = kernel_of(self.computation(signature, **parameters))
        return self._kernels[key]

    def constants(self, signature: Signature, values: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that the kernel of a call has as constants.

        These are choices, and in float32 all numbers where they have their defaults, one of which changes nothing, such as a
        factor of 1. Without it the formula is shorter: a call takes up to a third less time, and has the same bits.
        """
        chosen = {p.name: values[p.name] for p in self.parameters if p.choices}
        if self.accuracy != "exact" or any(t.name != "float32" for side in signature for t in side):
            return chosen
        if not all(p.is_default(values[p.name]) for p in self.numeric_parameters):
            return chosen
        for current in walk(*self.formula(**chosen)):
            neutral = NEUTRAL.get(current.operation)
            for operand in current.operands if neutral is not None else ():
                if operand.operation is ops.PARAMETER and values[operand.attribute[1]] == neutral:
                    return dict(values)
        return chosen

    def computation(self, signature: Signature, **parameters: Any) -> Formula:
        """The formula for one combination of element types, not lowered yet.

        Numeric parameters that are given become constants; as in a kernel they are rounded to the format
        that it computes in. The others stay open.
        """
        numeric = {parameter.name for parameter in self.numeric_parameters}
        bound = tuple((name, value) for name, value in parameters.items() if name in numeric)
        choices = {name: value for name, value in parameters.items() if name not in numeric}
        return Formula(
            self.formula(for_integers=signature.is_of_integers, for_doubles=signature.has_doubles, **choices),
            *signature,
            modular=self.modular,
            parameter_count=len(numeric) if len(bound) < len(numeric) else 0,
            is_row_wise=self.is_row_wise,
            reduces=self.reduces,
            bound=bound,
            accuracy=self.accuracy,
        )

    def program(self, signature: Signature, **parameters: Any) -> Program:
        """The computation for one combination of element types, with parameters as in ``computation``."""
        return self.computation(signature, **parameters).program

    def _make_ufunc(self, values: Mapping[str, Any], *, is_complete: bool = True) -> np.ufunc:
        numbers = {p.name: values[p.name] for p in self.numeric_parameters}
        loops = [
            (numbers_of_types, self.kernel(signature, **self.constants(signature, values)))
            for signature in self.signatures
            if is_complete or all(t.name != "bfloat16" for side in signature for t in side)
            for numbers_of_types in type_numbers(signature)
        ]
        # The name tells apart what libraries such as Dask identify by name. pandas would compute ufuncs that are called
        # "mod" and "pow" by its own operators % and **, which have other results.
        is_default = all(p.is_default(values[p.name]) for p in self.parameters) and self.name not in ("mod", "pow")
        shown = ", ".join(f"{name}={value!r}" for name, value in values.items())
        ufunc = _native.make_ufunc(
            name=self.name if is_default else f"{self.name}({shown})",
            doc=self.__doc__ or "",
            inputs=self.inputs,
            outputs=len(self.signatures[0].outputs),
            loops=loops,
            parameters=tuple(numbers.values()),
            row_wise=self.is_row_wise,
            identity=self.identity,
            reorderable=self.reorderable,
            reduces=self.reduces,
        )
        ufunc.__dict__["ogive_binding"] = (self, tuple(values.items()))
        ufunc.__dict__.update(exact_methods(self, ufunc))
        return ufunc

    def ufunc_in_steps(self, name: str, steps: Callable[[ElementType], Iterable[RoundedStep]]) -> np.ufunc:
        """A ufunc for the operator's types which computes others in turn: each result is rounded to an element type.

        ``steps`` has them for an element type.
        """
        loops = []
        for signature in self.signatures:
            kinds = list(signature.inputs)
            computed: list[tuple[Computation, tuple[int, ...]]] = []
            for applied, operands, parameters, kind in steps(kinds[0]):
                given = tuple(kinds[place] for place in operands)
                made: Computation = cast(given[0], kind)
                if applied is not None:
                    made = applied.computation(Signature(given, (kind,)), **parameters)
                computed.append((made, operands))
                kinds.append(kind)
            fused = Fused(signature.inputs, tuple(computed), (len(kinds) - 1,))
            loops += [(numbers, kernel_of(fused)) for numbers in type_numbers(signature)]
        made_of_all: np.ufunc = _native.make_ufunc(
            name=name,
            doc=self.__doc__ or "",
            inputs=self.inputs,
            outputs=1,
            loops=loops,
            parameters=(),
            row_wise=False,
        )
        return made_of_all

    def result_shape(self, shape: tuple[int, ...], keywords: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape of the results of tensors that broadcast to a shape."""
        return shape

    # ---- what the native call path asks

    def _call_with_containers(self, tensors: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call with arrays of other libraries, which NumPy's ufuncs would turn into NumPy arrays, or with a mask."""
        self._refuse_where_of_none(keywords)
        self._refuse_text(keywords)
        result = call_exchanged(self, tensors, keywords)
        if result is not NOT_ONE:
            return result
        ufunc, rest = self._bind(tuple(keywords), tuple(keywords.values()))
        of_numpy = {name: keywords[name] for name in rest}
        result = call_where(ufunc, tensors, of_numpy)
        return rounded_once(ufunc, tensors, of_numpy) if result is None else result

    def _call_otherwise(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call with too few or too many tensors, or with None for one: refused, unless a subclass gives it a meaning."""
        if len(args) != self.inputs:
            self._refuse_arguments(args, keywords)
        self._bind(tuple(keywords), tuple(keywords.values()))  # refuses an unknown keyword
        name = self.tensors[next(i for i, arg in enumerate(args) if arg is None)]
        raise ArgumentError(message(self.name, f"{name} is None", "an array or a number"))

    def _bind(self, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[np.ufunc, tuple[str, ...]]:
        """The ufunc for a set of keywords, and those keywords that are NumPy's.

        Calls ask again when there are arrays of bfloat16: a call with others does not import ml_dtypes.
        """
        rest = tuple(name for name in names if name in self.numpy_keywords)
        given = {name: value for name, value in zip(names, values, strict=True) if name not in self.numpy_keywords}
        is_own = type(self).bind is Operator.bind
        return self._bound_to(given, is_complete=False) if is_own else self.bind(**given), rest

    def _trace(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call inside a formula: the operator's own formula with these operands."""
        if len(args) != self.inputs:
            self._refuse_arguments(args, keywords)
        values: dict[str, Any] = {}
        known = {parameter.name: parameter for parameter in self.parameters}
        for name, value in keywords.items():
            if name not in known:
                self._refuse_keyword(name)
            is_open = isinstance(value, Expression)
            values[name] = as_number(value) if is_open else known[name].checked(self.name, value)
        for parameter in self.numeric_parameters:
            if parameter.name in values or not parameter.is_required:
                values[parameter.name] = given(values.get(parameter.name, parameter.default))
        operands = [self._operand(i, lift(argument)) for i, argument in enumerate(args)]
        results = results_of(self.function(*operands, **values), len(self.signatures[0].outputs))
        return results[0] if len(results) == 1 else results

    def _operand(self, place: int, value: Term) -> Term:
        """An operand of a call inside a formula: a truth value is 1 or 0 where no arrays of truth values are taken."""
        takes_truths = any(signature.inputs[place].kind == "boolean" for signature in self.signatures)
        return value if takes_truths else as_number(value)

    def _refuse_arguments(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> NoReturn:
        named = [name for name in self.tensors if name in keywords]
        if named:
            what = f"{' and '.join(named)} {'was' if len(named) == 1 else 'were'} given by name"
            way_out = f"Write {self.name}({', '.join(self.tensors)})"
            raise ArgumentError(message(self.name, what, "tensors by position", way_out))
        many = "tensor" if self.inputs == 1 else "tensors"
        names = [*(parameter.name for parameter in self.parameters), *self.keywords, "out"]
        way_out = advice_on(self.base.name, "")
        way_out = way_out or f"Give all else by name: {', '.join(f'{name}=' for name in names)}"
        if len(args) == 1 and self.reorderable:
            way_out = f"Write {self.name}.reduce({self.tensors[0]}, axis=0) for one array"
        raise ArgumentError(
            message(self.name, by_position(len(args)), f"{self.inputs} {many} ({', '.join(self.tensors)})", way_out)
        )

    def _explain(self, error: BaseException, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Raise an error that names the operator and the argument, in place of NumPy's, where one is due."""
        if len(args) != self.inputs:
            self._refuse_arguments(args, keywords)
        from ogive.operators.explain import explain  # only calls that fail need it

        explain(self, error, args, keywords)


@overload
def operator(function: Callable[..., Any], /) -> Operator: ...


@overload
def operator(
    *,
    types: Iterable[TypeLike] = ...,
    result: TypeLike | None = ...,
    signatures: Iterable[tuple[tuple[TypeLike, ...], tuple[TypeLike, ...]]] = ...,
    constraints: Mapping[str, Constraint] = ...,
    truth_inputs: tuple[str, ...] = ...,
    integers: Callable[..., Any] | None = ...,
    modular: bool = ...,
    identity: float | None = ...,
    reorderable: bool = ...,
    onnx: str | None = ...,
    directml: str | None = ...,
) -> Callable[[Callable[..., Any]], Operator]: ...


def operator(
    function: Callable[..., Any] | None = None,
    /,
    *,
    types: Iterable[TypeLike] = FLOATS,
    result: TypeLike | None = None,
    signatures: Iterable[tuple[tuple[TypeLike, ...], tuple[TypeLike, ...]]] = (),
    constraints: Mapping[str, Constraint] | None = None,
    truth_inputs: tuple[str, ...] = (),
    integers: Callable[..., Any] | None = None,
    modular: bool = False,
    identity: float | None = None,
    reorderable: bool = False,
    onnx: str | None = None,
    directml: str | None = None,
) -> Any:
    """Make an operator of a formula.

    The formula's positional arguments are the tensors, its keyword-only arguments the parameters; what it
    may write is in :mod:`ogive.formula`, and NumPy's element-wise functions. ``types`` are the element types that it
    is there for, by name or as NumPy dtypes (all operands have the same one; the result too, unless ``result`` says
    otherwise); ``signatures`` lists the types of inputs and outputs where that does not hold. ``constraints`` say which values of
    a parameter make sense. ``truth_inputs`` are the tensors that hold truth values. ``integers`` is the
    formula for integer operands where it is another one; ``modular`` lets their arithmetic wrap around
    instead of saturating. ``identity`` is the number that changes no other one, such as 0 for a sum: reductions
    of several axes and of empty arrays need it. ``reorderable`` says that there is none, but that operands may
    be combined in any order, as the largest of many. ``onnx`` and ``directml`` are the standards' names of the same operator.

    The formula is traced at once, so that its mistakes raise FormulaError here, with the line and the way out.

    A formula of float32 is evaluated in float64 or in pairs of float32 numbers, with about 29 or 24 guard bits, and
    rounded once. Cancellation, overflow and underflow on the way can lose them: write expm1, log1p, logistic and
    erfc in place of exp(x) - 1, log(1 + x), 1 / (1 + exp(-x)) and 1 - erf(x), and normal_tail for half of
    erfc(x / sqrt(2)). ``ogive accuracy module:operator`` measures the error.

    >>> import ogive
    >>> @ogive.operator
    ... def leaky(x, *, slope=0.1):
    ...     return ogive.formula.where(x >= 0, x, slope * x)
    >>> leaky([-10.0, 10.0], slope=0.5)
    array([-5., 10.])
    """
    listed = element_types_given("ogive.operator", types)
    of_result = None if result is None else element_type_given("ogive.operator", "result", result)
    mixed = [
        Signature(*(element_types_given("ogive.operator", side, "signatures") for side in pair)) for pair in signatures
    ]

    def make(function: Callable[..., Any]) -> Operator:
        def combinations(tensors: tuple[str, ...]) -> Iterable[Signature]:
            if mixed:
                return mixed
            return [
                Signature(tuple(BOOLEAN if name in truth_inputs else t for name in tensors), (of_result or t,))
                for t in in_order(listed)
            ]

        made = Operator(
            function,
            combinations,
            constraints or {},
            truth_inputs=truth_inputs,
            integers=integers,
            modular=modular,
            identity=identity,
            reorderable=reorderable,
            onnx=onnx,
            directml=directml,
        )
        check_at_once(made)
        return made

    return make if function is None else make(function)


def _key(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Parameters as a key: ``1``, ``1.0`` and ``True`` are equal, as are ``0.0`` and ``-0.0``, but not the same."""
    return tuple((name, value, type(value), signs_of(value)) for name, value in values.items())


def bound_of(what: Any) -> tuple[Operator, dict[str, Any]] | None:
    """An operator without values, or the one that a ufunc is bound from with its values; None for other objects."""
    if isinstance(what, Operator):
        return what, {}
    binding = getattr(what, "__dict__", {}).get("ogive_binding") if isinstance(what, np.ufunc) else None
    return None if binding is None else (binding[0], dict(binding[1]))


def check_is_operator(subject: str, operator: Any) -> None:
    """Refuse what is no operator: ``subject`` says who asks."""
    if isinstance(operator, Operator):
        return
    found = bound_of(operator)
    if found is None:
        way_out = "Make an operator of a formula with @ogive.operator"
    else:
        bound, values = found
        given = ", ".join(f"{name}={value!r}" for name, value in values.items() if name != "rounding")
        call = f", and say {given} in the call of the result" if given else ""
        way_out = f"Take {bound.name} itself{call}{'; formulas and gradients round once' * ('rounding' in values)}"
    raise ArgumentError(message(subject, f"operator is {described(operator)}", "an operator", way_out))


def named_like(operator: Operator, call: Callable[..., Any], module: str, arrays: str) -> Callable[..., Any]:
    """The call with the operator's name, signature and documentation: the same on other arrays, by a module's ``function``."""
    update_wrapper(call, operator.function)
    call.__name__ = call.__qualname__ = operator.name
    call.__module__ = module
    call.__signature__ = operator.__signature__  # type: ignore[attr-defined]
    about = (inspect.getdoc(operator.function) or "").partition(">>>")[0]  # without its examples, of NumPy's arrays
    call.__doc__ = f"{operator.name} on {arrays} (see {module}.function).\n\n{about}".rstrip()
    return call


def check_at_once(made: Operator) -> None:
    """Trace a new operator's formula, unless it is one of the catalogue: those wait for their first use and for tests."""
    if (made.__module__ or "").partition(".")[0] != "ogive":
        made.check_formula()


_native.set_expression_type(Term)
