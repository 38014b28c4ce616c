"""The judge: how many ULP anybody's implementation of an operator is off, and where that comes from.

>>> import numpy as np, ogive.judge
>>> def mine(x):
...     return np.float32(0.5) * x * (1 + np.tanh(np.float32(0.8) * x))
>>> found = ogive.judge.judge(mine, "gelu", "float32")
>>> found.within_budget, found.worst_ulp > 1000
(False, True)

`assert_conforms` is for tests; ``ogive judge`` is the command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ogive.catalog.rounded_steps import ONCE
from ogive.errors import ArgumentError, message
from ogive.golden.specification import of_operator
from ogive.judge import judging
from ogive.judge.budget import Budget, Budgets, load
from ogive.judge.judgement import ALLOWABLE, POLICIES, Cause, Example, Judgement
from ogive.judge.page import write_html
from ogive.judge.reports import write_json, write_junit
from ogive.judge.subjects import Subject, of_callable, subject

__all__ = [
    "ALLOWABLE",
    "POLICIES",
    "Budget",
    "Budgets",
    "Cause",
    "Example",
    "Judgement",
    "Subject",
    "assert_conforms",
    "judge",
    "load",
    "write_html",
    "write_json",
    "write_junit",
]


def judge(
    implementation: Callable[..., Any] | str,
    operator: str,
    dtype: Any = "float32",
    parameters: Mapping[str, Any] | None = None,
    *,
    budget: Budget | None = None,
    exhaustive: bool = False,
    signature: str | None = None,
    time_limit: float | None = None,
    saturate: bool = True,
    rounding: str = ONCE,
    **named: Any,
) -> Judgement:
    """Judge an implementation: a function of arrays, or the text of a subject such as ``"onnxruntime"``.

    Parameters of the operator are given by name, or as a mapping. Inputs are every one of 16 bits and less, chosen ones
    of longer types; ``exhaustive`` takes all 2**32 of float32. ``signature`` is the declaration of a C function,
    ``time_limit`` how many seconds a call of it may take; by default 10, and 20 microseconds an element.
    Results of floats of 8 bits have to end at the largest number; with ``saturate=False`` to be infinities or NaN there.
    ``rounding`` says where a gated unit has to round: "once", "gate" or "body", as its operator has it.

    Raises ArgumentError for unknown texts and operators, DTypeError and ShapeError where the results have
    another type or shape than they must, MissingPackageError without a library.

    >>> import numpy as np
    >>> found = judge(np.tanh, "tanh", "float16")
    >>> found.count, found.within_budget
    (65536, True)
    """
    given = {**(parameters or {}), **named}
    spec = of_operator(operator, dtype, given, saturate=saturate, rounding=rounding)
    if isinstance(implementation, str):
        chosen = subject(implementation, spec, signature=signature, time_limit=time_limit)
    elif signature is not None or time_limit is not None:
        option = "signature" if signature is not None else "time_limit"
        raise ArgumentError(message("judge", f"{option} was given for a Python function", "shared libraries"))
    else:
        chosen = of_callable(implementation)
    return judging.judge(chosen, spec, budget=budget, exhaustive=exhaustive)


def assert_conforms(
    implementation: Callable[..., Any] | str,
    operator: str,
    dtype: Any = "float32",
    *,
    max_ulp: float = 1.0,
    max_not_nearest: int | None = None,
    allow: Collection[str] = ("zero_sign",),
    max_dependence: float | None = None,
    signature: str | None = None,
    time_limit: float | None = None,
    **parameters: Any,
) -> Judgement:
    """Raise AssertionError unless an implementation is within a budget; what was found otherwise.

    ``max_ulp`` is the largest error against exact values, ``max_not_nearest`` how many results may be other than the
    nearest ones. ``allow`` has the policies that may be broken, of `POLICIES`. ``max_dependence`` is how far results
    may depend on the length and the place of a call, in numbers of the type. ``signature`` and ``time_limit`` are as for
    `judge`.

    Raises ArgumentError for unknown policies, and what `judge` raises.

    >>> import numpy as np
    >>> assert_conforms(np.tanh, "tanh", "float16", max_ulp=1).worst_ulp <= 1
    True
    """
    unknown = [name for name in allow if name not in ALLOWABLE]
    if unknown:
        raise ArgumentError(message("assert_conforms", f"allow has {unknown[0]!r}", ", ".join(ALLOWABLE)))
    budget = Budget(max_ulp, max_not_nearest, frozenset(allow), max_dependence)
    found = judge(
        implementation, operator, dtype, parameters, budget=budget, signature=signature, time_limit=time_limit
    )
    if not found.within_budget:
        lines = [f"{found.subject} does not conform to {found.title}:", *(f"- {text}" for text in found.beyond)]
        lines += [f"cause: {cause.text}" for cause in found.causes]
        raise AssertionError("\n".join(lines))
    return found
