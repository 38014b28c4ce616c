"""Trace a formula: call it with expressions, and say what is wrong with it, and in which line.

Whatever a formula does wrong becomes one FormulaError that names the operator, the line and the way out.
"""

from __future__ import annotations

import dis
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, TracebackType
from typing import Any

from ogive.errors import FormulaError, described, message
from ogive.graph.expression import ROW_NUMBERS, Expression, Term, lift, tracing, vocabulary, walk

_WANTED = "a function that is a formula: positional tensors and keyword-only parameters"

#: Packages whose frames are not the formula's own.
_NOT_THE_FORMULA = ("ogive", "numpy")


def _call_ufunc(ufunc: object, method: str, args: tuple[object, ...], keywords: Mapping[str, object]) -> object:
    from ogive.operators.numpy_in_formulas import call_ufunc  # loaded by the formulas that need it

    return call_ufunc(ufunc, method, args, keywords)


def _call_function(function: object, args: tuple[object, ...], keywords: Mapping[str, object]) -> object:
    from ogive.operators.numpy_in_formulas import call_function

    return call_function(function, args, keywords)


vocabulary |= {"call_ufunc": _call_ufunc, "call_function": _call_function}


def check_function(function: Any) -> inspect.Signature:
    """The signature of a function that may be a formula; FormulaError for what cannot be one."""
    decorator = "ogive.operator"
    if isinstance(function, type):
        way_out = "Decorate a function, or the method __call__ written as one"
        raise FormulaError(message(decorator, f"the class {function.__name__} was given", _WANTED, way_out))
    if hasattr(function, "check_formula"):
        raise FormulaError(
            message(decorator, f"{function!r} was given, which is an operator already", _WANTED, "Use it as it is")
        )
    if hasattr(function, "nin") and hasattr(function, "nout"):
        way_out = f"Call it in a function: lambda x: numpy.{getattr(function, '__name__', 'exp')}(x)"
        raise FormulaError(message(decorator, f"{function!r} was given", _WANTED, way_out))
    if not callable(function) or not hasattr(function, "__name__"):
        way_out = "Options are keywords: @ogive.operator(types=[...])"
        raise FormulaError(message(decorator, f"{function!r} was given", _WANTED, way_out))
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    for flag, kind in _KINDS.items():
        if flags & flag:
            what = f"the function is {kind}"
            way_out = "Give the result with `return`, in a plain `def`"
            raise FormulaError(message(function.__name__, what, "a plain function that returns the result", way_out))
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        what = "the arguments of the function cannot be found out"
        way_out = f"Wrap it: lambda x: {function.__name__}(x)"
        raise FormulaError(message(function.__name__, what, _WANTED, way_out)) from None
    first = next(iter(signature.parameters), None)
    if first in ("self", "cls"):
        what = f"its first argument is {first}, as that of a method"
        way_out = "Write the formula outside of the class, or put @staticmethod below the decorator and leave it out"
        raise FormulaError(message(function.__name__, what, _WANTED, way_out))
    return signature


_KINDS = {
    inspect.CO_COROUTINE: "a coroutine (async def)",
    inspect.CO_ASYNC_GENERATOR: "an asynchronous generator (async def with yield)",
    inspect.CO_GENERATOR: "a generator (it has yield)",
}


def trace(
    name: str,
    function: Callable[..., Any],
    arguments: list[Expression],
    keywords: Mapping[str, Any],
    outputs: int,
    *,
    of_rows: bool,
) -> tuple[Expression, ...]:
    """The roots of the graphs that a formula makes of these arguments."""
    with _located(name, function):
        _refuse_recursion(function)
        tracing.depth += 1
        try:
            value = function(*arguments, **keywords)
        finally:
            tracing.depth -= 1
        roots = results_of(value, outputs)
        if not of_rows:
            _refuse_rows(roots)
        return roots


def results_of(value: Any, outputs: int) -> tuple[Expression, ...]:
    """The results that a formula returned, as expressions."""
    if value is None:
        raise FormulaError("the formula returns None. Give the result with `return`")
    if inspect.isawaitable(value) or inspect.isgenerator(value):
        value.close() if hasattr(value, "close") else None
        raise FormulaError(f"the formula returns {described(value)}. Return an expression")
    if isinstance(value, list | dict | set):
        what = f"the formula returns {described(value)}"
        raise FormulaError(f"{what}; allowed: an expression, or a tuple with one for each output")
    if callable(value) and not isinstance(value, Term):
        raise FormulaError(f"the formula returns {value!r}, a function. Call it, and return its result")
    values = value if isinstance(value, tuple) else (value,)
    if len(values) != outputs:
        raise FormulaError(
            f"the formula returns {len(values)} values; allowed: {outputs}. "
            "signatures=[((types of inputs), (types of outputs))] makes an operator with several outputs"
        )
    return tuple(map(lift, values))


def _refuse_rows(roots: tuple[Expression, ...]) -> None:
    found = sorted({current.operation for current in walk(*roots)} & ROW_NUMBERS)
    if found:
        raise FormulaError(
            f"the formula uses {', '.join(found)} of a whole row, and @ogive.operator sees one element. "
            "Use @ogive.row_operator() in its place"
        )


def _refuse_recursion(function: Callable[..., Any]) -> None:
    """A formula that calls the operator of its own name would call an older one, or nothing, while it is decorated."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or not hasattr(function, "__globals__"):
        return
    own = function.__name__
    if own in code.co_varnames or own not in (*code.co_names, *code.co_freevars):
        return
    loads = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
    if any(step.opname in loads and step.argval == own for step in dis.get_instructions(code)):
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
        try:
            meant = cells[own].cell_contents if own in cells else function.__globals__.get(own)
        except ValueError:  # a cell that is empty until the decorator returns
            meant = None
        if meant is None or hasattr(meant, "check_formula"):
            raise FormulaError(_RECURSION)


_RECURSION = (
    "the formula calls itself, without an end: what an expression is worth is known only when it runs. "
    "Write a loop with a fixed number of steps"
)


@contextmanager
def _located(name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Errors of a formula name the operator and the line."""
    try:
        yield
    except FormulaError as error:
        raise _error(name, function, str(error), error) from None
    except RecursionError as error:
        raise _error(name, function, _RECURSION, error) from None
    except AttributeError as error:
        if not isinstance(error.obj, Expression):
            _note(name, function, error)
            raise
        what = f"the formula asks for .{error.name} of an expression, which stands for one element, not for an array. "
        way_out = f"Write ogive.formula.{error.name}(x)" if _is_in_vocabulary(str(error.name)) else _VOCABULARY
        raise _error(name, function, what + way_out, error) from None
    except TypeError as error:
        if "Term" in str(error) and (called := _ARRAY_FUNCTION.search(str(error))):
            library, taken = ("torch", "tensors") if called["torch"] else ("jax.numpy", "arrays")
            wanted = called["torch"] or called["jax"]
            what = f"the formula calls {library}.{wanted}, which takes {taken}, with an expression. "
            raise _error(name, function, what + _instead_of(wanted), error) from None
        if "Term" not in str(error):
            _note(name, function, error)
            raise
        what = f"the formula does something that expressions cannot: {str(error).replace('Term', 'expression')}. "
        raise _error(name, function, what + _VOCABULARY, error) from None
    except UnboundLocalError as error:
        _note(name, function, error)
        raise
    except NameError as error:
        what = f"the formula uses {error.name}, which is not defined. Import or define it before the first call"
        raise _error(name, function, what, error) from error
    except Exception as error:  # the formula's own
        _note(name, function, error)
        raise


def _note(name: str, function: Callable[..., Any], error: BaseException) -> None:
    error.add_note(f"This is from the formula of {name}. {_place(function, error.__traceback__)}")


_VOCABULARY = "See help(ogive.formula) for the functions that there are"


#: The messages of torch's and JAX's functions for an argument that is no array.
_ARRAY_FUNCTION = re.compile(r"^(?P<torch>\w+)\(\).*Tensor|^Error interpreting argument to <function (?P<jax>\w+)")


def _instead_of(name: str) -> str:
    """The message of a formula where it called another library's function of this name."""
    import numpy as np

    import ogive

    places = [
        *(["np"] if _is_in_vocabulary(name) and hasattr(np, name) else []),
        *(["ogive"] if hasattr(ogive, name) else ["ogive.formula"] if _is_in_vocabulary(name) else []),
    ]
    return f"Write {' or '.join(f'{place}.{name}' for place in places)}" if places else _VOCABULARY


def _is_in_vocabulary(name: str) -> bool:
    from ogive import formula

    return name in formula.__all__


def _error(name: str, function: Callable[..., Any], text: str, error: BaseException) -> FormulaError:
    return FormulaError(f"{name}: {text}. {_place(function, error.__traceback__)}").with_traceback(error.__traceback__)


def _place(function: Callable[..., Any], traceback: TracebackType | None) -> str:
    """The place at which the formula went wrong: the file, the line and its text."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return "It is no function of Python"
    file, line = code.co_filename, 0
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if module not in _NOT_THE_FORMULA and module not in sys.stdlib_module_names:
            file, line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    line = line or _first_line(code)
    source = linecache.getline(file, line).strip()
    return f"In {file}, line {line}" + (f": {source}" if source else "")


def _first_line(code: CodeType) -> int:
    """The line of `def` or `lambda`: a function's first line is that of its first decorator."""
    lines = range(code.co_firstlineno, code.co_firstlineno + 20)
    is_start = ("def ", "lambda")
    return next(
        (n for n in lines if any(word in linecache.getline(code.co_filename, n) for word in is_start)), lines[0]
    )
