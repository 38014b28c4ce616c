"""The meaning of NumPy's functions inside a formula: the functions of :mod:`ogive.formula` by NumPy's names.

The others are refused, with what to write instead where there is something.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ogive import formula as f
from ogive.errors import FormulaError
from ogive.graph.expression import OPERATIONS, Format, Operation, Term, formula_node, lift


def _is_truth(*operands: object) -> bool:
    return all(lift(operand).format is Format.TRUTH for operand in operands)


def _nonfinite(x: object, sign: object) -> Term:
    return lift(x) == sign


def _select(conditions: Sequence[object], choices: Sequence[object], default: object = 0) -> Term:
    if len(conditions) != len(choices):
        what = f"{len(conditions)} conditions and {len(choices)} choices"
        raise FormulaError(f"the formula calls numpy.select with {what}; allowed: as many of the one as of the other")
    result = lift(default)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = f.where(condition, choice, result)
    return result


def _clip(
    a: object,
    a_min: object = None,
    a_max: object = None,
    *,
    min: object = None,  # noqa: A002  # NumPy's names
    max: object = None,  # noqa: A002
) -> Term:
    return f.clip(a, a_min if min is None else min, a_max if max is None else max)


def _nan_to_num(
    x: object, copy: object = True, nan: object = 0.0, posinf: object = None, neginf: object = None
) -> Term:
    return f.nan_to_num(x, nan, posinf, neginf)


def _of(operation: Operation) -> Callable[..., Term]:
    if operation.arity == 1:
        return f.of_one(operation)
    return lambda a, b: formula_node(operation, lift(a), lift(b))


#: NumPy's ufuncs whose function in ogive.formula is made of operations, and has the same name.
_SAME = (
    *("deg2rad", "degrees", "divmod", "floor_divide", "fmax", "fmin", "heaviside", "hypot", "isfinite"),
    *("isinf", "isnan", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or"),
    *("logical_xor", "modf", "rad2deg", "radians", "reciprocal", "sign", "signbit", "square"),
)

UFUNCS: dict[str, Callable[..., Any]] = {
    **{name: _of(operation) for operation in OPERATIONS.values() for name in operation.numpy},
    **{name: getattr(f, name) for name in _SAME},
    "bitwise_and": lambda a, b: lift(a) & lift(b) if _is_truth(a, b) else f.bit_and(a, b),
    "bitwise_or": lambda a, b: lift(a) | lift(b) if _is_truth(a, b) else f.bit_or(a, b),
    "bitwise_xor": lambda a, b: lift(a) ^ lift(b) if _is_truth(a, b) else f.bit_xor(a, b),
    "greater": lambda a, b: lift(a) > lift(b),
    "greater_equal": lambda a, b: lift(a) >= lift(b),
    "invert": lambda a: ~lift(a) if _is_truth(a) else f.bit_not(a),
    "not_equal": lambda a, b: lift(a) != lift(b),
    "positive": lift,
    "remainder": f.mod,
}

#: NumPy's other functions that work element by element.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "clip": _clip,
    "fix": f.truncate,
    "isneginf": lambda x: _nonfinite(x, float("-inf")),
    "isposinf": lambda x: _nonfinite(x, float("inf")),
    "nan_to_num": _nan_to_num,
    "round": f.round,
    "around": f.round,
    "select": _select,
    "sinc": f.sinc,
    "where": f.where,
}

_ROWS = "Use ogive.formula.{} for a row, in @ogive.row_operator()"

#: The advice for functions that have no meaning for one element.
WAYS_OUT = {
    "add.reduce": _ROWS.format("row_sum"),
    "multiply.reduce": _ROWS.format("row_product"),
    "prod": _ROWS.format("row_product"),
    "maximum.reduce": _ROWS.format("row_max"),
    "minimum.reduce": _ROWS.format("row_min"),
    "amax": _ROWS.format("row_max"),
    "amin": _ROWS.format("row_min"),
    "max": _ROWS.format("row_max"),
    "min": _ROWS.format("row_min"),
    "sum": _ROWS.format("row_sum"),
    "mean": "Use row_sum(x) / row_count(x) of ogive.formula for a row, in @ogive.row_operator()",
    "ldexp": "Write x * 2.0**n",
    "left_shift": "Use ogive.formula.bit_shift_left for the bits of integers",
    "right_shift": "Use ogive.formula.bit_shift_right for the bits of integers; it moves zeros in",
    "bitwise_count": "Use ogive.formula.bit_count, which counts the bits of an integer as it is stored",
    "norm": "Use sqrt(row_sum(x * x)) of ogive.formula for a row, in @ogive.row_operator()",
    "matmul": "Multiply matrices outside of the formula",
    "dot": "Multiply matrices outside of the formula",
}


def call_ufunc(ufunc: Any, method: str, args: tuple[object, ...], keywords: Mapping[str, object]) -> Any:
    """The result of a ufunc for expressions."""
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    return _call(UFUNCS, name, _module_of(ufunc), args, keywords, takes_keywords=False)


def call_function(function: Any, args: tuple[object, ...], keywords: Mapping[str, object]) -> Any:
    """The result of another function of NumPy for expressions."""
    return _call(FUNCTIONS, function.__name__, function.__module__, args, keywords, takes_keywords=True)


def _module_of(ufunc: Any) -> str:
    """The module that a ufunc belongs to; empty where it is of neither library: ufuncs do not say."""
    for module in ("numpy", "scipy.special"):
        if getattr(sys.modules.get(module), ufunc.__name__, None) is ufunc:
            return module
    return ""


def _instead(name: str) -> str:
    """The advice for a function that no table has."""
    import ogive

    if name in f.__all__:
        return f"Write ogive.formula.{name}"
    own = getattr(getattr(ogive, name, None), "name", "")
    if not hasattr(getattr(ogive, own or name, None), "check_formula"):
        return "See help(ogive.formula) for the functions that there are"
    return f"Write ogive.{own}"


def _call(
    table: Mapping[str, Callable[..., Any]],
    name: str,
    module: str,
    args: tuple[object, ...],
    keywords: Mapping[str, object],
    *,
    takes_keywords: bool,
) -> Any:
    called = f"{module}.{name}" if module else name
    function = table.get(name)
    if function is None:
        way_out = WAYS_OUT.get(name) or _instead(name)
        raise FormulaError(
            f"the formula calls {called}; allowed: functions of one element, as ogive.formula has them. {way_out}"
        )
    if keywords and not takes_keywords:
        raise FormulaError(
            f"the formula calls {called} with {', '.join(f'{key}=' for key in keywords)}; allowed: positional "
            "arguments only. Give out= and dtype= to the operator when it is called"
        )
    try:
        return function(*args, **keywords)
    except FormulaError:
        raise
    except TypeError as error:  # a keyword that is not taken, or a missing argument
        raise FormulaError(f"the formula calls {called} with arguments that it does not take: {error}") from None
