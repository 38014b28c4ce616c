"""The definition in an operator's docstring as JavaScript, each step rounded to float32: the formula as anybody writes it first."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["naive"]

_PIECE = re.compile(r"(``.+?``|[\w.-]+)(?: where (.+?)| elsewhere)$")
_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "===", ast.NotEq: "!=="}

#: Functions of JavaScript's Math by the names in docstrings.
_FUNCTIONS = {
    **{
        name: name
        for name in [
            "abs",
            "ceil",
            "floor",
            "exp",
            "log",
            "log2",
            "log10",
            "log1p",
            "expm1",
            "sqrt",
            "cbrt",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "max",
            "min",
        ]
    },
    **{name: name for name in ["asin", "acos", "atan", "asinh", "acosh", "atanh", "sign", "trunc"]},
}


def naive(sentence: str, tensors: Sequence[str], numbers: Mapping[str, Any]) -> str | None:
    """An expression of JavaScript in ``x``, or None where the definition has words or functions that JavaScript lacks.

    ``numbers`` are the parameters' defaults. ``f`` rounds to float32, and ``erf`` is a function of float32.

    >>> naive("Sigmoid linear unit: ``x / (1 + exp(-alpha * x))``.", ["x"], {"alpha": 1.0})
    'f(x / f(f(1) + f(Math.exp(f(-f(1.0) * x)))))'
    """
    if list(tensors) != ["x"]:
        return None
    _, _, text = sentence.partition(": ")
    try:
        return _cases(text, numbers) or _whole(text, numbers)
    except (SyntaxError, KeyError, NotImplementedError):
        return None


def _whole(text: str, numbers: Mapping[str, Any]) -> str | None:
    found = re.match(r"``(.+?)``(?=[.,;]|$)", text)
    return None if found is None or " = " in found[1] else _read(found[1], numbers)


def _cases(text: str, numbers: Mapping[str, Any]) -> str | None:
    """``a where x > 0, b elsewhere`` as nested choices."""
    first = re.split(r"\.(?: |$)|, also ", text)[0]
    pieces = [_PIECE.match(piece) for piece in re.split(r", (?![^`]*``(?:[^`]*``[^`]*``)*[^`]*$)", first)]
    if len(pieces) < 2 or not all(pieces):
        return None
    written = ""
    for found in pieces:
        assert found is not None
        value = _read(found[1].strip("`"), numbers)
        written += f"{_read(found[2], numbers)} ? {value} : " if found[2] else value
    return f"({written})" if not written.endswith(": ") else None


def _read(text: str, numbers: Mapping[str, Any]) -> str:
    return _written(ast.parse(text, mode="eval").body, numbers)


def _written(node: ast.expr, numbers: Mapping[str, Any]) -> str:
    match node:
        case ast.Constant(value=int() | float() as value):
            return f"f({value})"
        case ast.Name(id="x"):
            return "x"
        case ast.Name(id="pi"):
            return "f(Math.PI)"
        case ast.Name(id=name):
            return f"f({float(numbers[name])!r})".replace("inf", "Infinity")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{_written(operand, numbers)}"
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return f"f(Math.pow({_written(left, numbers)}, {_written(right, numbers)}))"
        case ast.BinOp(left=left, op=op, right=right):
            return f"f({_written(left, numbers)} {_SIGNS[type(op)]} {_written(right, numbers)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return f"({_written(left, numbers)} {_COMPARISONS[type(op)]} {_written(right, numbers)})"
        case ast.Call(func=ast.Name(id="erf"), args=[argument]):
            return f"erf({_written(argument, numbers)})"
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return f"f(Math.{_FUNCTIONS[name]}({', '.join(_written(argument, numbers) for argument in arguments)}))"
    raise NotImplementedError
