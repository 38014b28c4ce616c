"""The names that ``import ogive`` offers, for editors and type checkers: the text of ``__init__.pyi``.

Each operator is one object of a class of its own there, so that its call, its parameters and its ``bind`` are checked,
and its help shows where it is used.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from types import ModuleType

import ogive
from ogive.operators.operator import Operator
from ogive.operators.row_operator import RowOperator, RowReduction

__all__ = ["text"]

_HEAD = '''"""Made by tools/stubs; do not edit."""

# ruff: noqa: A001, A002, RUF022  (operators and parameters have the standards' names; aliases follow them)

from collections.abc import Sequence
from typing import Any, Literal, Protocol, SupportsFloat, SupportsIndex, TypedDict, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
'''

_COMMON = """
__version__: str
_PARTS: tuple[str, ...]
_FUNCTIONS: dict[str, str]

class _UFunc(Protocol):
    def __array_ufunc__(self, *args: Any, **keywords: Any) -> Any: ...

class _DLPack(Protocol):
    def __dlpack__(self, *args: Any, **keywords: Any) -> Any: ...

_Tensor = ArrayLike | _UFunc | _DLPack
_Axis = SupportsIndex | Sequence[SupportsIndex] | None
_Out = TypeVar("_Out")

class _RowKeywords(TypedDict, total=False):
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"]
    order: Literal["K", "A", "C", "F"]
    subok: bool

class _RowTypes(_RowKeywords, total=False):
    dtype: DTypeLike
    signature: str | tuple[DTypeLike, ...]

class _Keywords(_RowKeywords, total=False):
    where: _Tensor

class _Types(_Keywords, total=False):
    dtype: DTypeLike
    signature: str | tuple[DTypeLike, ...]
"""

#: The element types that operands have together: the kinds of ElementType, NumPy's class, the name in type variables.
_KINDS = (
    ({"boolean"}, "np.bool", "Bool"),
    ({"float"}, "np.floating[Any]", "Floating"),
    ({"signed", "unsigned"}, "np.integer[Any]", "Integer"),
    ({"signed", "unsigned", "float"}, "np.number[Any]", "Number"),
    ({"signed", "unsigned", "float", "boolean"}, "np.number[Any] | np.bool", "Any"),
)


def text() -> str:
    """The stub file."""
    lines = [*_HEAD.splitlines(), "", *sorted(_imports(), key=str.split), "", "__all__ = ["]
    lines += [f'    "{name}",' for name in ogive.__all__]
    lines += ["]", *_COMMON.splitlines(), ""]
    for _, bound, name in _KINDS:
        arrays = " | ".join(f"NDArray[{each}] | {each}" for each in bound.split(" | "))
        lines.append(f'_{name} = TypeVar("_{name}", bound={bound})')
        lines.append(f'_{name}s = TypeVar("_{name}s", bound={arrays})')
    lines.append("")
    for name in _operators():
        op = getattr(ogive, name)
        lines += [*(_operator(op) if op.name == name else [f"{name}: {_class(op)}"]), ""]
    return "\n".join(lines)


def _operators() -> list[str]:
    return [name for name in ogive.__all__ if isinstance(getattr(ogive, name), Operator)]


def _imports() -> Iterator[str]:
    """The names that are no operators, and what is loaded when it is first wanted."""
    yield from (f"from ogive import {name} as {name}" for name in (*ogive._PARTS, "errors"))
    lazily = {name: module for name, module in ogive._FUNCTIONS.items() if name not in ogive.__all__}
    yield from (f"from {module} import {name} as {name}" for name, module in lazily.items())
    names: dict[str, list[str]] = {"ogive.graph.expression": ["Expression"]}
    for name in ogive.__all__:
        thing = getattr(ogive, name)
        if isinstance(thing, ModuleType):
            yield f"from ogive import {name}"
        elif not isinstance(thing, Operator):
            names.setdefault(thing.__module__, []).append(name)
    for module, listed in sorted(names.items()):
        yield f"from {module} import {', '.join(sorted(listed))}"


def _class(op: Operator) -> str:
    return f"_{op.name.title().replace('_', '')}"


def _operator(op: Operator) -> list[str]:
    kind = _class(op)
    base = next(cls for cls in (RowReduction, RowOperator, Operator) if isinstance(op, cls))
    lines = [f"class {kind}({base.__name__}):"]
    for arguments, result in _calls(op):
        lines += ["    @overload", *_function("__call__", arguments, result)]
    lines += _function("bind", _parameters(op, "SupportsFloat"), "np.ufunc", "")
    return [*lines, "", f"{op.name}: {kind}", *_documentation(op)]


def _documentation(op: Operator) -> list[str]:
    """The signature, the formula, the parameters: what an editor shows. All the rest is in help()."""
    formula, *_ = (inspect.getdoc(op.function) or "").split("\n\n")
    parameters = [line for line in (op.__doc__ or "").splitlines() if line.startswith("Parameter ")]
    lines = [f'"""``{op.name}{op.__signature__}``', "", *formula.splitlines(), "", *parameters]
    return [*lines, '"""'] if parameters else [*lines[:-1], '"""']


def _function(name: str, arguments: list[str], result: str, remark: str = "") -> list[str]:
    line = f"    def {name}({', '.join(['self', *arguments])}) -> {result}: ..."
    if len(line) + len(remark) <= 120:
        return [line + remark]
    listed = [f"        {argument}," for argument in ["self", *arguments]]
    return [f"    def {name}({remark}", *listed, f"    ) -> {result}: ..."]


def _parameters(op: Operator, number: str) -> list[str]:
    """The keyword-only arguments that are bound."""
    listed = [f"{p.name}: {_choices(p.choices) or number}{_default(p.default)}" for p in op.parameters]
    return ["*", *listed] if listed else []


def _choices(choices: tuple[object, ...]) -> str:
    return f"Literal[{', '.join(map(_quoted, choices))}]" if choices else ""


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _default(default: object) -> str:
    if default is inspect.Parameter.empty:
        return ""
    if isinstance(default, float) and not math.isfinite(default):
        return " = ..."
    return f" = {_quoted(default)}"


def _calls(op: Operator) -> Iterator[tuple[list[str], str]]:
    """The overloads: arguments and result. The first that fits is what a type checker takes."""
    results = {s.outputs[0] for s in op.signatures}
    required = [e.name for e in _positional(op) if e.name in op.tensors and e.default is e.empty]
    if len(results) == 1:
        (result,) = results
        scalar = "np.bool" if result.name == "boolean" else f"np.{result.name}"
        for name in required:
            types = dict.fromkeys(op.tensors, "_Tensor") | {name: "NDArray[Any]"}
            yield _arguments(op, types), f"NDArray[{scalar}]"
        yield _arguments(op, dict.fromkeys(op.tensors, "float")), scalar
    elif carriers := _carriers(op):
        kinds = {t.kind for s in op.signatures for t, n in zip(s.inputs, op.tensors, strict=True) if n in carriers}
        variable = next(f"_{name}" for having, _, name in _KINDS if kinds <= having)
        if len(op.tensors) == 1:
            yield _arguments(op, {op.tensors[0]: f"{variable}s"}), f"{variable}s"
        else:
            others = dict.fromkeys(op.tensors, "_Tensor") | dict.fromkeys(
                carriers, f"NDArray[{variable}] | {variable} | float"
            )
            for name in [name for name in required if name in carriers]:
                yield _arguments(op, others | {name: f"NDArray[{variable}]"}), f"NDArray[{variable}]"
        if kinds == {"float"}:
            yield _arguments(op, dict.fromkeys(op.tensors, "float")), "np.float64"
    for name in required:
        types = dict.fromkeys(op.tensors, "Expression | float") | {name: "Expression"}
        yield _arguments(op, types, "Expression | SupportsFloat"), "Expression"
    tensors = dict.fromkeys(op.tensors, "_Tensor")
    yield _arguments(op, tensors, out="_Out | tuple[_Out]", keywords="Types"), "_Out"
    yield _arguments(op, tensors, keywords="Types"), "Any"


def _positional(op: Operator) -> list[inspect.Parameter]:
    return [entry for entry in op.__signature__.parameters.values() if entry.kind is not entry.KEYWORD_ONLY]


def _carriers(op: Operator) -> list[str]:
    """The tensors whose element type is the result's."""
    return [name for i, name in enumerate(op.tensors) if all(s.inputs[i] == s.outputs[0] for s in op.signatures)]


def _arguments(
    op: Operator, tensors: dict[str, str], number: str = "SupportsFloat", out: str = "", keywords: str = "Keywords"
) -> list[str]:
    entries = op.__signature__.parameters.values()
    parameters = {p.name: _choices(p.choices) or number for p in op.parameters}
    own = {"axis": "_Axis", "keepdims": "bool", "where": "_Tensor", "rounding": _choices(getattr(op, "roundings", ()))}
    types = tensors | parameters | own
    parts = []
    for i, entry in enumerate(entries):
        is_required = entry.default is entry.empty
        if entry.kind is entry.KEYWORD_ONLY and "*" not in parts:
            parts += [] if "/" in parts else ["/"]
            parts.append("*")
        elif entry.kind is not entry.KEYWORD_ONLY and not is_required and "/" not in parts:
            parts.append("/")
        nullable = " | None" if entry.default is None and i > 0 else ""
        parts.append(f"{entry.name}: {types[entry.name]}{nullable}{_default(entry.default)}")
    if "*" not in parts:
        parts += ["*"] if "/" in parts else ["/", "*"]
    parts.append(f"out: {out}" if out else "out: None = None")
    parts.append(f"**numpy: Unpack[_{'Row' if op.is_row_wise else ''}{keywords}]")
    return parts
