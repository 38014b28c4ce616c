"""The arguments of an operator: tensors, parameters and the element types that it is there for."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from ogive.common.dtypes import ELEMENT_TYPES, ElementType, element_type_of
from ogive.common.records import record
from ogive.errors import FormulaError, ParameterError, described, message

#: The keywords that NumPy's ufuncs take besides the parameters of an operator.
NUMPY_KEYWORDS = ("out", "where", "casting", "order", "dtype", "subok", "signature")

#: The values that stand for an element type where an operator is made: the type itself, its name, or a NumPy dtype.
TypeLike = Any

#: Parameters are FLOAT in the standards, and in all operators: zero or what is a number in float32.
ZERO_PARAMETER = 2.0**-150
LARGEST_PARAMETER = (2 - 2.0**-23) * 2.0**127


@record()
class Constraint:
    """The values that a numeric parameter may have."""

    allowed: str
    holds: Callable[[float], bool]

    def __reduce__(self) -> str | tuple[Any, ...]:
        known = next((name for name in ("FINITE", "NONZERO", "NOT_NEGATIVE", "ANY") if globals()[name] is self), None)
        return known or (Constraint, (self.allowed, self.holds))


# Comparisons alone: under torch.compile a value may be a symbol, which math.isfinite does not take.
FINITE = Constraint("any finite number", lambda value: abs(value) < math.inf)
NONZERO = Constraint("any finite number but 0", lambda value: 0 < abs(value) < math.inf)
NOT_NEGATIVE = Constraint("any finite number from 0 on", lambda value: 0 <= value < math.inf)
ANY = Constraint("any number but NaN", lambda value: abs(value) <= math.inf)


@record()
class Parameter:
    """A keyword of an operator.

    A numeric one is a FLOAT of the standards; its value reaches compiled code at run time, so another
    value needs no other code. One with ``choices`` selects between formulas.
    """

    name: str
    default: Any
    constraint: Constraint
    choices: tuple[Any, ...] = ()

    @property
    def is_required(self) -> bool:
        """Whether a call must give it."""
        return self.default is inspect.Parameter.empty

    def is_default(self, value: Any) -> bool:
        """Whether a checked value is the default."""
        is_number = not self.choices and isinstance(self.default, int | float)
        return repr(value) == repr(float(self.default) if is_number else self.default)

    def checked(self, operator_name: str, value: Any) -> Any:
        """The value as the kernel wants it, or an error that names it."""
        if self.choices:
            if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in self.choices):
                allowed = ", ".join(map(repr, self.choices))
                raise ParameterError(message(operator_name, f"{self.name} is {described(value)}", allowed))
            return value
        # A plain number is asked nothing, because the symbol that torch.compile makes of it answers little.
        number = value if type(value) is float else self._number(operator_name, value)
        if not self.constraint.holds(number):
            raise ParameterError(message(operator_name, f"{self.name} is {number}", self.constraint.allowed))
        if number and abs(number) < math.inf and not ZERO_PARAMETER < abs(number) <= LARGEST_PARAMETER:
            allowed = (
                "0 and magnitudes from 2**-149 to 3.4e38: parameters are float32 numbers, whatever the element type"
            )
            way_out = "For any number of the element type, write an operator of your own with a tensor in its place"
            raise ParameterError(message(operator_name, f"{self.name} is {number}", allowed, way_out))
        return number

    def _number(self, operator_name: str, value: Any) -> float:
        """The number that a value stands for, or an error."""
        if getattr(value, "ndim", 0):
            raise ParameterError(
                message(
                    operator_name,
                    f"{self.name} is an array of shape {tuple(getattr(value, 'shape', ()))}",
                    f"{self.constraint.allowed}, one for all elements",
                    f"Pass a single one, such as {self.name}=float(...). For a number per element, "
                    "write an operator of your own with a tensor in its place",
                )
            )
        reason = ""
        try:
            number = None if _is_no_number(value) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = None
        except Exception as error:  # of the value's own library: a meta tensor has no number
            number, reason = None, f", which gives no number ({error})"
        if number is None:
            what, way_out = f"{self.name} is {described(value)}{reason}", _way_to_a_number(self.name, value)
            raise ParameterError(message(operator_name, what, self.constraint.allowed, way_out))
        return number


def _is_no_number(value: Any) -> bool:
    """Whether it is one of those that ``float`` takes though they are no numbers: text, truth values, complex ones."""
    dtype = str(getattr(value, "dtype", ""))  # of NumPy's scalars, and of arrays and tensors of one element
    return (
        isinstance(value, str | bytes | bytearray | bool)
        or "bool" in dtype
        or "complex" in dtype
        or dtype[1:2] in ("U", "S")
    )


def _way_to_a_number(name: str, value: Any) -> str:
    if not isinstance(value, str | bytes | bool):
        return ""
    try:
        return f"Write the number itself: {name}={float(value)!r}"
    except ValueError:
        return ""


class Signature(NamedTuple):
    """One combination of element types that an operator is there for."""

    inputs: tuple[ElementType, ...]
    outputs: tuple[ElementType, ...]

    @property
    def is_of_integers(self) -> bool:
        """Whether no operand is a floating-point number: then the formula for integers is meant."""
        return not any(t.is_float for t in self.inputs)

    @property
    def has_doubles(self) -> bool:
        """Whether an operand or a result is of float64."""
        return any(t.name == "float64" for t in (*self.inputs, *self.outputs))


def element_type_given(subject: str, name: str, value: TypeLike) -> ElementType:
    """The element type that a value stands for.

    >>> element_type_given("ogive.operator", "types", "float32").bits
    32
    """
    if isinstance(value, ElementType):
        return value
    found = ELEMENT_TYPES.get(value) if isinstance(value, str) else None
    if found is None and value is not None:
        import numpy as np

        try:
            found = element_type_of(np.dtype(value))
        except (TypeError, ValueError, SyntaxError):
            found = None
    if found is None:
        allowed = f"{', '.join(ELEMENT_TYPES)}, by name, as a NumPy dtype or as a member of ogive.common.dtypes"
        raise FormulaError(message(subject, f"{name} has {value!r}", allowed))
    return found


def element_types_given(subject: str, values: Iterable[TypeLike], name: str = "types") -> tuple[ElementType, ...]:
    """The element types that values stand for."""
    if isinstance(values, str | type) or not isinstance(values, Iterable):
        what = f"{name} is {values!r}"
        raise FormulaError(message(subject, what, "a list of element types", f"Write {name}=[{_quoted(values)}]"))
    found = tuple(element_type_given(subject, name, value) for value in values)
    if not found:
        raise FormulaError(message(subject, f"{name} is empty", "one element type or more"))
    return found


def _quoted(value: object) -> str:
    return repr(value.__name__ if isinstance(value, type) else value if isinstance(value, str) else "float32")


def in_order(types: Iterable[ElementType]) -> list[ElementType]:
    """As NumPy looks for a loop: the first that all operands can be cast to safely. bfloat16 comes last."""
    rank = {"boolean": 0, "unsigned": 1, "signed": 1, "float": 2}
    return sorted(types, key=lambda t: (t.name == "bfloat16", rank[t.kind], t.bits, t.kind))


def type_numbers(signature: Signature) -> list[tuple[int, ...]]:
    """NumPy's type numbers of a signature: one tuple for every C type that the integers may be."""
    operands = (*signature.inputs, *signature.outputs)
    variants = max(len(t.type_numbers) for t in operands)
    return [tuple(t.type_numbers[i % len(t.type_numbers)] for t in operands) for i in range(variants)]


def read_signature(
    function: Callable[..., Any], signature: inspect.Signature, constraints: Mapping[str, Constraint]
) -> tuple[tuple[str, ...], tuple[Parameter, ...]]:
    """The tensors and the parameters of a formula, from its Python signature."""
    tensors, parameters = [], []
    choices = _choices(function, signature)
    for name, entry in signature.parameters.items():
        if entry.kind is entry.POSITIONAL_OR_KEYWORD or entry.kind is entry.POSITIONAL_ONLY:
            if entry.default is not entry.empty:
                what = f"its tensor {name} has a default, {entry.default!r}"
                way_out = f"Make it a parameter: def {_nameable(function)}(..., *, {name}={entry.default!r})"
                raise FormulaError(
                    message(function.__name__, what, "defaults of parameters, which are keyword-only", way_out)
                )
            tensors.append(name)
        elif entry.kind is entry.KEYWORD_ONLY and name not in NUMPY_KEYWORDS:
            _check_default(function.__name__, name, entry.default, choices.get(name, ()))
            parameters.append(Parameter(name, entry.default, constraints.get(name, FINITE), choices.get(name, ())))
        else:
            is_taken = name in NUMPY_KEYWORDS
            what = (
                f"its argument {name} is {'a keyword of NumPy' if is_taken else 'any number of arguments (`*`, `**`)'}"
            )
            way_out = "Give it another name" if is_taken else "Write each argument by its name"
            allowed = "positional tensors and keyword-only parameters"
            raise FormulaError(message(function.__name__, what, allowed, way_out))
    if not tensors:
        way_out = f"Write def {_nameable(function)}(x, ...)"
        raise FormulaError(message(function.__name__, "it has no tensor argument", "one or more, before `*`", way_out))
    unknown = set(constraints) - {parameter.name for parameter in parameters}
    if unknown:
        raise FormulaError(
            message(
                function.__name__,
                f"constraints name {', '.join(sorted(unknown))}",
                f"its parameters: {', '.join(p.name for p in parameters) or 'none'}",
            )
        )
    return tuple(tensors), tuple(parameters)


def _nameable(function: Callable[..., Any]) -> str:
    """A name for a `def`: a lambda has none."""
    return function.__name__ if function.__name__.isidentifier() else "name"


def without_annotations(signature: inspect.Signature) -> inspect.Signature:
    """The signature that editors and help() show: the formula's annotations are about expressions, not about arrays."""
    empty = inspect.Signature.empty
    parameters = [parameter.replace(annotation=empty) for parameter in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=empty)


def _check_default(subject: str, name: str, default: Any, choices: tuple[Any, ...]) -> None:
    """A parameter is a number, or one of the choices that its annotation lists."""
    if default is inspect.Parameter.empty or (choices and default in choices):
        return
    what = f"its parameter {name} has the default {default!r}"
    if choices:
        raise FormulaError(message(subject, what, ", ".join(map(repr, choices)) + ", as its annotation says"))
    if isinstance(default, bool | str | bytes | tuple | list | dict) or default is None:
        listed = "True, False" if isinstance(default, bool) else f"{default!r}, ..."
        way_out = f"If it selects a branch, list its values: {name}: Literal[{listed}] = {default!r}"
        raise FormulaError(message(subject, what, "numbers", way_out))


def _choices(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, tuple[Any, ...]]:
    """The values of the parameters that are annotated ``Literal[...]``."""
    # Evaluating all annotations of all operators would take 2 ms of the import.
    plain = (inspect.Parameter.empty, Any, "Any", float, "float")
    if not any(p.kind is p.KEYWORD_ONLY and p.annotation not in plain for p in signature.parameters.values()):
        return {}
    try:
        hints = get_type_hints(function)
    except (NameError, AttributeError, TypeError) as error:
        way_out = "Import Literal, and what else they name, where the function is defined"
        raise FormulaError(
            message(function.__name__, f"its annotations cannot be read: {error}", way_out=way_out)
        ) from None
    return {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}
