"""Frozen dataclasses that are quick to make.

``dataclasses`` compiles methods for each class: 0.5 ms, and its own import takes another 2. The classes that the first
call of an operator needs are made here, of plain functions. To whoever asks, ``dataclasses.replace`` for one, they are
dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

Made = TypeVar("Made")


class _Fields:
    """``__dataclass_fields__``, made when somebody asks for it."""

    def __get__(self, instance: Any, owner: type) -> dict[str, Any]:
        from dataclasses import field, make_dataclass

        names, kinds = owner._record_names, owner.__annotations__  # type: ignore[attr-defined]
        rows = [
            (name, kinds[name], field(default=getattr(owner, name)) if hasattr(owner, name) else field())
            for name in names
        ]
        made: Any = make_dataclass(owner.__name__, rows)
        fields: dict[str, Any] = made.__dataclass_fields__
        type.__setattr__(owner, "__dataclass_fields__", fields)
        return fields


@dataclass_transform(frozen_default=True)
def record(*, eq: bool = True) -> Callable[[type[Made]], type[Made]]:
    """The methods that ``dataclass(frozen=True, eq=eq)`` gives a class whose defaults are plain values.

    >>> @record()
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.0) == Point(1.0, 0.0), Point(1.0)
    (True, Point(x=1.0, y=0.0))
    """

    def make(cls: type[Made]) -> type[Made]:
        names = tuple(name for name, kind in cls.__annotations__.items() if not str(kind).startswith("ClassVar"))
        defaults = {name: getattr(cls, name) for name in names if hasattr(cls, name)}
        title, parts = cls.__name__, attrgetter(*names)

        def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
            given = dict(zip(names, values, strict=False), **named)
            if len(values) > len(names) or given.keys() - set(names):
                raise TypeError(f"{title}: {', '.join(names)} are its parts; given: {len(values)}, {', '.join(named)}")
            if missing := [name for name in names if name not in given and name not in defaults]:
                raise TypeError(f"{title}: {', '.join(missing)}: not given")
            self.__dict__.update({**defaults, **given})

        def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(self: Any, name: str) -> None:  # noqa: N807
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot delete field {name!r}")

        def __repr__(self: Any) -> str:  # noqa: N807
            return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

        def __eq__(self: Any, other: object) -> Any:  # noqa: N807
            return parts(self) == parts(other) if type(other) is type(self) else NotImplemented

        def __hash__(self: Any) -> int:  # noqa: N807
            return hash(parts(self))

        methods: list[Any] = [__init__, __setattr__, __delattr__, __repr__]
        methods += [__eq__, __hash__] if eq else []
        for method in methods:
            if method.__name__ not in vars(cls):
                setattr(cls, method.__name__, method)
        for name, value in {"_record_names": names, "__match_args__": names, "__dataclass_fields__": _Fields()}.items():
            setattr(cls, name, value)
        return cls

    return make


def replaced(instance: Made, **changes: Any) -> Made:
    """A record with other values of some parts: ``dataclasses.replace`` without its import."""
    kept = {name: getattr(instance, name) for name in instance._record_names}  # type: ignore[attr-defined]
    return type(instance)(**{**kept, **changes})
