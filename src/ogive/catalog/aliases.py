"""Operators under other names: ``ogive.silu`` is ``ogive.swish``, ``ogive.relu6`` is ``clamp`` from 0 to 6.

``ALIASES`` is the one table of them. Some have parameters that are fixed, or have another name or default: these are
operators of their own, made when they are first wanted. The names that each library has for them are in ogive.catalog.other_names.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from ogive.catalog import OPERATORS, load
from ogive.catalog.glu_halves import OfHalves
from ogive.operators.operator import Operator


class Own(NamedTuple):
    """In an alias: the value of the alias' own parameter of that name."""

    name: str


_NONE: Mapping[str, Any] = MappingProxyType({})


class Alias(NamedTuple):
    """Another name of an operator. One with ``values`` or ``parameters`` is an operator of its own."""

    operator: str
    values: Mapping[str, Any] = _NONE
    """The values of the operator's parameters: numbers, choices, or parameters of the alias."""
    parameters: Mapping[str, float] = _NONE
    """The alias' own parameters, with their defaults."""
    remark: str = ""


def _same(names: Mapping[str, str]) -> dict[str, Alias]:
    """Other names of an operator, which differ in nothing else."""
    return {name: Alias(operator) for operator, listed in names.items() for name in listed.split()}


_HARD_TANH = Alias("clamp", {"min": Own("min_val"), "max": Own("max_val")}, {"min_val": -1.0, "max_val": 1.0})
_HARD_SHRINK = Alias("shrink", {"bias": 0, "lambd": Own("lambd")}, {"lambd": 0.5}, "NaN gives 0, in PyTorch NaN")
_SOFT_SHRINK = Alias(
    "shrink", {"bias": Own("lambd"), "lambd": Own("lambd")}, {"lambd": 0.5}, "NaN gives 0, in PyTorch NaN"
)
_TANH_GELU = Alias("gelu", {"approximate": "tanh"})

#: The operators by their other names.
ALIASES: dict[str, Alias] = {
    **_same(
        {
            "abs": "absolute fabs",
            "acos": "arccos",
            "acosh": "arccosh",
            "asin": "arcsin",
            "asinh": "arcsinh",
            "atan": "arctan",
            "atan2": "arctan2",
            "atanh": "arctanh",
            "binary_cross_entropy_with_logits": "bce_with_logits",
            "bitwise_not": "invert bitwise_invert",
            "div": "divide true_divide",
            "equal": "eq",
            "exp": "exponential",
            "clamped_swiglu": "swiglu_oai",
            "clipped_gelu": "gelu_10",
            "geglu": "gelu_and_mul",
            "greater": "gt",
            "greater_or_equal": "ge greater_equal",
            "hard_swish": "hardswish hard_silu",
            "less": "lt",
            "less_or_equal": "le less_equal",
            "log_sigmoid": "logsigmoid log_expit",
            "max": "maximum",
            "min": "minimum",
            "modulus_floor": "remainder",
            "modulus_truncate": "fmod",
            "mul": "multiply",
            "neg": "negative",
            "not_equal": "ne",
            "pow": "power",
            "sigmoid": "expit logistic",
            "softsign": "soft_sign",
            "squared_relu": "relu2 relu_squared square_relu",
            "sub": "subtract",
            "swiglu": "silu_and_mul",
            "swish": "silu",
            "tanhshrink": "tanh_shrink",
            "trunc": "fix",
        }
    ),
    "fast_gelu": _TANH_GELU,
    "gelu_tanh": _TANH_GELU,
    "gelu_tanh_and_mul": Alias("geglu", {"approximate": "tanh"}),
    "hard_shrink": _HARD_SHRINK,
    "hard_tanh": _HARD_TANH,
    "hardshrink": _HARD_SHRINK,
    "hardsigmoid": Alias("hard_sigmoid", {"alpha": Fraction(1, 6), "beta": Fraction(1, 2)}),
    "hardtanh": _HARD_TANH,
    "quick_gelu": Alias("swish", {"alpha": Fraction(1702, 1000)}),
    "relu6": Alias("clamp", {"min": 0, "max": 6}),
    "rrelu": Alias("leaky_relu", {"alpha": Fraction(11, 48)}, remark="as PyTorch evaluates it, not as it trains"),
    "soft_shrink": _SOFT_SHRINK,
    "softshrink": _SOFT_SHRINK,
}


@cache
def named(name: str) -> Operator:
    """The operator that an alias names."""
    alias = ALIASES[name]
    base = load(alias.operator)
    return _bound(name, alias, base) if alias.values else base


def by_name(word: str) -> tuple[Operator, str] | None:
    """The operator that a word names, in Ogive or in a standard, and the name that files and reports of it have.

    An alias keeps its name there.

    >>> by_name("LeakyRelu"), by_name("silu")
    ((<operator leaky_relu(x, *, alpha=0.01)>, 'leaky_relu'), (<operator swish(x, *, alpha=1.0)>, 'silu'))
    """
    wanted = word.lower().removeprefix("dml_").removeprefix("operator_")
    for op in OPERATORS.values():
        if wanted in (op.name, (op.onnx or op.name).lower(), (op.directml or op.name).lower()):
            return op, op.name
    return (named(wanted), wanted) if wanted in ALIASES else None


def _bound(name: str, alias: Alias, base: Operator) -> Operator:
    """The operator with these values. They are numbers of its formula: 1/6 is exact in every type."""
    kinds = inspect.Parameter
    entries = [kinds(tensor, kinds.POSITIONAL_OR_KEYWORD) for tensor in base.tensors]
    entries += [kinds(own, kinds.KEYWORD_ONLY, default=default) for own, default in alias.parameters.items()]

    def written(formula: Any) -> Any:
        def function(*tensors: Any, **given: Any) -> Any:
            own = {**alias.parameters, **given}
            values = {key: own[value.name] if isinstance(value, Own) else value for key, value in alias.values.items()}
            return formula(*tensors, **values)

        function.__name__ = function.__qualname__ = name
        function.__module__ = "ogive"
        function.__doc__ = _documentation(name, alias, base)
        function.__signature__ = inspect.Signature(entries)  # type: ignore[attr-defined]
        return function

    constraints = {p.name: p.constraint for p in base.parameters}
    kind = OfHalves if isinstance(base, OfHalves) else Operator
    return kind(
        written(base.function),
        lambda _: base.signatures,
        {value.name: constraints[key] for key, value in alias.values.items() if isinstance(value, Own)},
        integers=None if base.integer_function is base.function else written(base.integer_function),
        modular=base.modular,
    )


def _documentation(name: str, alias: Alias, base: Operator) -> str:
    call = written_call(alias)
    remark = f" {alias.remark[0].upper()}{alias.remark[1:]}." if alias.remark else ""
    return f"Another name of `{base.name}` with numbers filled in: ``{call}``.{remark}"


def written_call(alias: Alias) -> str:
    """The call of the operator that an alias stands for."""
    values = [f"{key}={value.name if isinstance(value, Own) else _shown(value)}" for key, value in alias.values.items()]
    return f"{alias.operator}({', '.join([*load(alias.operator).tensors[:1], *values])})"


def _shown(value: Any) -> str:
    if isinstance(value, Fraction):
        is_short = 1000 % value.denominator == 0
        return f"{float(value):g}" if is_short else f"{value}"
    return repr(value)
