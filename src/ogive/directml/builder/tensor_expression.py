"""Expressions: tensors in a graph, and Python's operators on them."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ogive.directml.builder.tensor_descs import Described, TensorDesc, TensorPolicy
from ogive.directml.data import FEATURE_LEVELS, facts, function_names
from ogive.directml.device import Device
from ogive.directml.enumerations import DML_ROUNDING_MODE
from ogive.directml.life_cycle import Operator
from ogive.directml.structure import short
from ogive.errors import ArgumentError, ParameterError, described, message


class ExpressionNode:
    """The source of a tensor in a graph: an operator with its operands, or an input if there is no operator."""

    __slots__ = ("number", "operands", "operator")

    def __init__(self, number: int, operator: Operator | None, operands: tuple[Expression | None, ...]) -> None:
        self.number = number
        self.operator = operator
        self.operands = operands


class Maker(ABC):
    """The requests of expressions and functions to the graph that they add to: the class of `Graph`."""

    device: Device
    tensor_policy: TensorPolicy | None

    @abstractmethod
    def _add(self, operator: Operator, operands: tuple[Expression | None, ...], output: TensorDesc) -> Expression:
        """The expression of an operator with these operands."""

    @abstractmethod
    def _literal(self, subject: str, value: float, like: Expression) -> Expression:
        """A number as a tensor of the type and shape of another one."""

    @abstractmethod
    def _call(self, name: str, *tensors: Any, **keywords: Any) -> Expression:
        """The result of the function of a name."""


def _refusing(subject: str, what: str, way_out: str) -> Callable[..., Any]:
    """A method for what an expression cannot mean."""

    def refuse(self: Any, *args: Any) -> NoReturn:
        raise ArgumentError(message(subject, what, way_out=way_out))

    return refuse


class Expression(Described):
    """A tensor in a graph: what an input, a constant or an operator of it gives.

    ``+ - * / % **``, ``& | ^ ~ << >>`` and comparisons, ``==`` and ``!=`` among them, make operators; dictionaries
    tell expressions apart by identity. A number on one side of ``+ - * /`` becomes the scale or the bias of an identity, as in DirectMLX; where that would not be exact (tensors
    of integers, ``number / x``, the other operators) it becomes a constant of the tensor's type.

    >>> import numpy as np, ogive.directml as dml
    >>> graph = dml.Graph(dml.Device())
    >>> x = graph.input([1, 3])
    >>> x
    <dml.Expression float32 [1, 3]>
    >>> graph.compile([1.0 - x * 0.5])({x: [1.0, 2.0, 4.0]})
    [array([[ 0.5,  0. , -1. ]], dtype=float32)]
    """

    __slots__ = ("__weakref__", "_graph", "_node", "desc")

    def __init__(self, graph: Maker, node: ExpressionNode, desc: TensorDesc) -> None:
        self._graph = graph
        self._node = node
        self.desc = desc

    def get_output_desc(self) -> TensorDesc:
        """The tensor's desc, by the name that Microsoft's binding gives it."""
        return self.desc

    def __add__(self, other: Any) -> Expression:
        return _binary("add", "+", self, other)

    def __radd__(self, other: Any) -> Expression:
        return _binary("add", "+", other, self)

    def __sub__(self, other: Any) -> Expression:
        return _binary("subtract", "-", self, other)

    def __rsub__(self, other: Any) -> Expression:
        return _binary("subtract", "-", other, self)

    def __mul__(self, other: Any) -> Expression:
        return _binary("multiply", "*", self, other)

    def __rmul__(self, other: Any) -> Expression:
        return _binary("multiply", "*", other, self)

    def __truediv__(self, other: Any) -> Expression:
        return _binary("divide", "/", self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return _binary("divide", "/", other, self)

    def __mod__(self, other: Any) -> Expression:
        return _binary("modulus_floor", "%", self, other)

    def __rmod__(self, other: Any) -> Expression:
        return _binary("modulus_floor", "%", other, self)

    def __pow__(self, other: Any) -> Expression:
        return self._graph._call("pow", self, other)

    def __rpow__(self, other: Any) -> Expression:
        return _binary("pow", "**", other, self)

    def __and__(self, other: Any) -> Expression:
        return _binary("bit_and", "&", self, other)

    def __or__(self, other: Any) -> Expression:
        return _binary("bit_or", "|", self, other)

    def __xor__(self, other: Any) -> Expression:
        return _binary("bit_xor", "^", self, other)

    def __lshift__(self, other: Any) -> Expression:
        return _binary("bit_shift_left", "<<", self, other)

    def __rshift__(self, other: Any) -> Expression:
        return _binary("bit_shift_right", ">>", self, other)

    def __rand__(self, other: Any) -> Expression:
        return _binary("bit_and", "&", other, self)

    def __ror__(self, other: Any) -> Expression:
        return _binary("bit_or", "|", other, self)

    def __rxor__(self, other: Any) -> Expression:
        return _binary("bit_xor", "^", other, self)

    def __rlshift__(self, other: Any) -> Expression:
        return _binary("bit_shift_left", "<<", other, self)

    def __rrshift__(self, other: Any) -> Expression:
        return _binary("bit_shift_right", ">>", other, self)

    def __lt__(self, other: Any) -> Expression:
        return _binary("less_than", "<", self, other)

    def __le__(self, other: Any) -> Expression:
        return _binary("less_than_or_equal", "<=", self, other)

    def __gt__(self, other: Any) -> Expression:
        return _binary("greater_than", ">", self, other)

    def __ge__(self, other: Any) -> Expression:
        return _binary("greater_than_or_equal", ">=", self, other)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return _binary("equals", "==", self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._graph._call("logical_not", _binary("equals", "!=", self, other))

    #: By identity: no two expressions have the same hash, so that dictionaries never ask for `==`.
    __hash__ = object.__hash__

    def __invert__(self) -> Expression:
        return self._graph._call("bit_not", self)

    def __abs__(self) -> Expression:
        return self._graph._call("abs", self)

    def __pos__(self) -> Expression:
        return self

    def __neg__(self) -> Expression:
        if self._graph.device.feature_level >= _FIRST_LEVEL_WITH_NEGATE:
            return self._graph._call("negate", self)
        return _scaled(self, -1.0, 0.0)

    def __round__(self, digits: Any = None) -> Expression:
        if digits not in (None, 0):
            raise ArgumentError(message("round", f"the number of digits is {short(digits)}", "none, or 0"))
        return self._graph._call("round", self)

    def __floor__(self) -> Expression:
        return self._graph._call("floor", self)

    def __ceil__(self) -> Expression:
        return self._graph._call("ceil", self)

    def __trunc__(self) -> Expression:
        return self._graph._call("round", self, rounding_mode=DML_ROUNDING_MODE.TOWARD_ZERO)

    __bool__ = _refusing(
        "if",
        "an expression was asked whether it is true",
        "Write dml.where(condition, a, b), and dml.logical_and(a < x, x < b) for a < x < b; `is` compares expressions",
    )
    __float__ = __int__ = __index__ = __complex__ = _refusing(
        "float", "an expression was asked for its value", "Use the functions of ogive.directml in place of math's"
    )
    __iter__ = __len__ = __contains__ = __getitem__ = _refusing(
        "[]", "an expression was asked for its elements", "Use dml.reinterpret for views of a tensor"
    )
    __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = _refusing(
        "//", "DirectML has no operator for it", "Write dml.floor(x / y); the quotient is rounded before"
    )
    __matmul__ = __rmatmul__ = _refusing("@", "products of matrices are out of scope", "`*` multiplies elements")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **keywords: Any) -> Expression:
        """Python's operators with a number of NumPy on the left; NumPy's functions are refused."""
        symbol = _SYMBOLS.get(ufunc.__name__)
        if symbol is None or method != "__call__" or keywords:
            known = _of_the_same_name(ufunc.__name__)
            way_out = f"Use dml.{known}" if known else "Use the functions of ogive.directml"
            raise ArgumentError(message(f"numpy.{ufunc.__name__}", "an operand is an expression", "arrays", way_out))
        left, right = (x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in args)
        if isinstance(left, Expression):
            return getattr(left, f"__{symbol}__")(right)  # type: ignore[no-any-return]
        return getattr(right, f"__{_REFLECTED.get(symbol, 'r' + symbol)}__")(left)  # type: ignore[no-any-return]


#: Python's operators by the names of NumPy's functions.
_SYMBOLS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "remainder": "mod",
    "power": "pow",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "left_shift": "lshift",
    "right_shift": "rshift",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
    "floor_divide": "floordiv",
    "matmul": "matmul",
}
_REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _of_the_same_name(name: str) -> str | None:
    others = {"absolute": "abs", "isnan": "is_nan", "isinf": "is_infinity", "rint": "round", "maximum": "max"}
    known = others.get(name, "min" if name == "minimum" else name)
    return known if known in function_names() else None


_FIRST_LEVEL_WITH_NEGATE = FEATURE_LEVELS[facts("ELEMENT_WISE_NEGATE").introduced]


def _scaled(x: Expression, scale: float, bias: float) -> Expression:
    return x._graph._call("identity", x, scale_bias=(scale, bias))


#: The scale and the bias of an identity that does the same as an operator with a number on its right or left.
_RIGHT: dict[str, Callable[[float], tuple[float, float]]] = {
    "+": lambda number: (1.0, number),
    "-": lambda number: (1.0, -number),
    "*": lambda number: (number, 0.0),
    "/": lambda number: (1.0 / number, 0.0),
}
_LEFT: dict[str, Callable[[float], tuple[float, float]]] = {
    "+": lambda number: (1.0, number),
    "-": lambda number: (-1.0, number),
    "*": lambda number: (number, 0.0),
}


def _binary(function: str, symbol: str, left: Any, right: Any) -> Expression:
    if isinstance(left, Expression) and isinstance(right, Expression):
        return left._graph._call(function, left, right)
    is_right = isinstance(left, Expression)
    x, number = (left, right) if is_right else (right, left)
    _check_number(symbol, x, number)
    value = number.item() if isinstance(number, np.generic) else number
    scale_bias = (_RIGHT if is_right else _LEFT).get(symbol)
    is_whole = float(value).is_integer()
    if scale_bias is not None and not (x.dtype.kind != "f" and is_whole):
        if symbol == "/" and not value:
            what = f"a tensor is divided by {value}"
            raise ParameterError(
                message(symbol, what, "any number but 0", "Divide by graph.constant(...) for infinities")
            )
        return _scaled(x, *scale_bias(float(value)))
    constant = x._graph._literal(symbol, int(value) if is_whole and x.dtype.kind != "f" else value, x)
    operands = (x, constant) if is_right else (constant, x)
    made: Expression = x._graph._call(function, *operands)
    return made


def _check_number(symbol: str, x: Expression, number: Any) -> None:
    if isinstance(number, np.ndarray | list | tuple):
        what = f"an operand is {described(number)}"
        raise ArgumentError(message(symbol, what, "expressions and numbers", "Use graph.constant(array)"))
    if isinstance(number, bool | np.bool) or not isinstance(number, numbers.Real | np.floating):
        raise ArgumentError(message(symbol, f"an operand is {short(number)}", "expressions and numbers"))
