"""Operations know every field of a number, or refuse the number.

A number of an arithmetic has fields: words, a bound, facts. An operation that forgets one of them computes another number. So
an arithmetic has a table of what each operation does to each field, and a field that no row lists is an error of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from typing import Any, ClassVar

from ogive.common.forking import cached_property


class UnlistedField(Exception):
    """A number has a field that an operation does not know, or forgets, or must not be given."""


@dataclass(frozen=True)
class Effects:
    """The effects of an operation on the fields of a class of numbers. Every field has one, by its name."""

    kept: str = ""
    """The result has the operand's."""
    made: str = ""
    """The operation makes the result's."""
    dropped: Mapping[str, str] = field(default_factory=dict)
    """The result has the default, for this reason."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """An operand has the default, or is refused for this reason."""

    @cached_property
    def listed(self) -> list[str]:
        """The fields that have an effect."""
        return [*self.kept.split(), *self.made.split(), *self.dropped, *self.refused]

    def confirm(self, name: str, operands: Iterable[Any], result: Any) -> None:
        """Nothing is forgotten; a result that is an operand has everything of it."""
        operands = list(operands)
        if any(result is operand for operand in operands):
            return
        for part in self.kept.split():
            if any(_differ(getattr(operand, part), getattr(result, part)) for operand in operands):
                raise UnlistedField(f"{name} changes the field {part!r} of {type(result).__name__}, which it keeps")
        for part in self.dropped:
            if _differ(getattr(result, part), _defaults(type(result))[part]):
                raise UnlistedField(f"{name} keeps the field {part!r} of {type(result).__name__}, which it drops")


#: The effects of each operation on each class of numbers.
Table = Mapping[str, Mapping[type, Effects]]


def _differ(a: Any, b: Any) -> bool:
    """Whether two values of a field are others; NaN is itself."""
    return a is not b and bool(a != b)


def _defaults(kind: type) -> dict[str, Any]:
    """The fields of a class, and what each is by default; None of those that have no default."""
    if is_dataclass(kind):
        return {part.name: None if part.default is MISSING else part.default for part in fields(kind)}
    return dict.fromkeys(getattr(kind, "__slots__", ()))


def complete(table: Table) -> None:
    """Every row lists each field of its class once, and no other."""
    for name, of_classes in table.items():
        for kind, effects in of_classes.items():
            wrong = sorted({*_defaults(kind)}.symmetric_difference(effects.listed))
            if wrong or len(effects.listed) != len({*effects.listed}):
                raise UnlistedField(
                    f"{name}: each field of {kind.__name__} has one effect; wrong are {wrong or 'two of one field'}"
                )


class Checked:
    """An arithmetic whose operations are held to a table, whichever class defines them."""

    effects: ClassVar[Table] = {}
    #: How the arithmetic says that it has no rule for a number.
    refusal: ClassVar[type[Exception]] = UnlistedField

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        complete(cls.effects)
        for name in cls.effects.keys() & cls.__dict__.keys():
            setattr(cls, name, _held(name, cls.__dict__[name], cls.effects[name]))

    def ready(self, number: Any) -> Any:
        """The number as an operation that refuses some fields wants it."""
        return number


def _held(name: str, method: Callable[..., Any], of_classes: Mapping[type, Effects]) -> Callable[..., Any]:
    kinds, refuses = tuple(of_classes), any(effects.refused for effects in of_classes.values())

    @wraps(method)
    def operation(self: Checked, *operands: Any, **more: Any) -> Any:
        if getattr(type(self), name) is not operation:  # of a class below, which looks at its own result
            return method(self, *operands, **more)
        if refuses:
            operands = tuple(self.ready(n) if isinstance(n, kinds) else n for n in operands)
        numbers = [part for n in operands for part in (n, getattr(n, "error", None)) if isinstance(part, kinds)]
        for number in numbers:
            _admit(self, name, of_classes.get(type(number)), number)
        result = method(self, *operands, **more)
        for part in (result, getattr(result, "error", None)):
            if (effects := of_classes.get(type(part))) is not None:
                effects.confirm(name, (n for n in numbers if type(n) is type(part)), part)
        return result

    return operation


def _admit(arithmetic: Checked, name: str, effects: Effects | None, number: Any) -> None:
    if effects is None:
        raise arithmetic.refusal(f"{name} of a {type(number).__name__}, whose fields it does not know")
    for part, reason in effects.refused.items():
        if getattr(number, part) != _defaults(type(number))[part]:
            raise arithmetic.refusal(f"{name}: {reason}")
