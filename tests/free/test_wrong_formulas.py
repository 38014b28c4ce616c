"""The things that formulas must not do: one FormulaError at the decorator, which names the operator, the line and the way out."""

import functools
import inspect
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.catalog import PLACES
from ogive.errors import ArgumentError, FormulaError, OgiveError, ParameterError

WEIGHTS = np.ones(3)
CACHED = functools.cache(lambda x: x + 1)


def returns_nothing(x):
    x + 1


def recursive(x):
    return recursive(x - 1)


def defined_later(x):
    return no_such_function(x)  # noqa: F821  # the name is wanted


def unbound(x):
    if x is None:
        y = 1
    return y + x  # the mistake is the point


def selects_without_annotation(x, *, mode):
    return x if mode == "a" else -x


#: Formulas that are wrong while they are traced, and what is said of them beside the operator and the line.
TRACED: list[tuple[Callable[..., Any], str]] = [
    (lambda x: 1 if x > 0 else 2, "asks whether an expression is true.*Write where\\(condition, a, b\\)"),
    (lambda x: (x > 0) and (x < 1), "asks whether an expression is true"),
    (lambda x: not x, "asks whether an expression is true"),
    (lambda x: 0 < x < 1, "Write where.*\\(a < x\\) & \\(x < b\\)"),
    (lambda x: max(x, 0), "instead of if, `and`, `or`, min\\(\\) and max\\(\\)"),
    (lambda x: 1 if x == 0 else 2, "asks whether an expression is true"),
    (lambda x: x in (0, 1), "\\(x == 0\\) \\| \\(x == 1\\) for `x in \\(0, 1\\)`"),
    (lambda x: x in {0, 1}, "looks an expression up in a set or a dictionary.*\\(x == 0\\) \\| \\(x == 1\\)"),
    (lambda x: {0: 1}.get(x, 2), "looks an expression up in a set or a dictionary"),
    (lambda x: CACHED(x), "caches a function of it"),
    (lambda x: 0 in x, "stands for one element and cannot be iterated"),
    (lambda x: [y for y in x], "cannot be iterated.*row_sum"),  # noqa: C416  # iterating is the point
    (lambda x: len(x), "takes an expression for a sequence"),
    (lambda x: x[0], "by index.*make each a tensor argument"),
    (lambda x: x @ x, "multiplies matrices with `@`"),
    (lambda x: x << 1, "shifts an expression with `<<`.*bit_shift_left"),
    (lambda x: 1 >> x, "shifts an expression with `>>`"),
    (lambda x: x(1), "calls an expression as a function.*Write `\\*`"),
    (lambda x: float(x), "asks for the value of an expression"),
    (lambda x: int(x), "asks for the value.*truncate\\(x\\) is the integer part"),
    (lambda x: complex(x), "asks for the value"),
    (lambda x: range(x), "asks for the value"),
    (lambda x: math.exp(x), "Use the functions of ogive.formula, or NumPy's, instead of those of the math module"),
    (lambda x: math.isnan(x), "instead of those of the math module"),
    (lambda x: x + WEIGHTS, "an array of shape \\(3,\\).*Pass arrays as tensor arguments"),
    (lambda x: WEIGHTS * x, "an array of shape \\(3,\\)"),
    (lambda x: x * [1, 2], "combines an expression with a list"),
    (lambda x: x * 10**600, r"has a constant of about 2\*\*1993; allowed: magnitudes below 2\*\*1024. Multiply by"),
    (lambda x: x < Fraction(-(10**400), 3), r"has a constant of about 2\*\*1327; allowed"),
    (lambda x: x + None, "combines an expression with None. Check that helper functions `return`"),
    (lambda x: x == None, "combines an expression with None"),  # noqa: E711  # the comparison is the point
    (lambda x: x + "1", "with the text '1'.*Literal"),
    (lambda x: x * 1j, "with 1j; allowed: .* Convert it to a float"),
    (lambda x: x * math.sin, "with the function sin; allowed: .* Call it first"),
    (lambda x: x & 1, "`&`: an operand is a number; allowed: truth values.*bit_and"),
    (lambda x: ~x, "`~`: an operand is a number"),
    (lambda x: (x > 0) - (x < 0), "`-` has no meaning between two truth values. Write a \\^ b"),
    (lambda x: -(x > 0), "`-` has no meaning for a truth value. Write ~a"),
    (lambda x: f.where(x, 1, 2), "where: the condition is a number; allowed: a truth value, such as x > 0"),
    (lambda x: f.bit_count(x > 0), "an operand is a truth value; allowed: numbers"),
    (lambda x: pow(x, 2, 3), "Write \\(a \\*\\* b\\) % c"),
    (lambda x: round(x, 2), "round: decimals is 2; allowed: 0. Write round\\(x \\* 100\\) / 100"),
    (lambda x: np.round(x, 1), "round: decimals is 1"),
    (lambda x: np.sum(x), "numpy.sum; .*ogive.formula.row_sum for a row"),
    (lambda x: np.add.reduce(x), "numpy.add.reduce; .*row_sum"),
    (lambda x: np.max(x), "numpy.max; .*row_max"),
    (lambda x: np.mean(x), "row_sum\\(x\\) / row_count\\(x\\)"),
    (lambda x: np.median(x), "numpy.median; .*help\\(ogive.formula\\)"),
    (lambda x: np.gcd(x, 2), "numpy.gcd; .*help\\(ogive.formula\\)"),
    (lambda x: np.ldexp(x, 2), "Write x \\* 2.0\\*\\*n"),
    (lambda x: np.exp(x, dtype=np.float32), "numpy.exp with dtype="),
    (lambda x: np.clip(x, 0, 1, out=None), "numpy.clip with arguments that it does not take"),
    (lambda x: np.asarray(x) + 1, "makes an array of an expression"),
    (lambda x: np.array([x, 1])[0], "makes an array of an expression"),
    (lambda x: np.nan_to_num(x), "posinf or neginf is missing.*Say both"),
    (lambda x: np.select([x > 0], [1, 2]), "1 conditions and 2 choices"),
    (lambda x: x.sum(), "asks for .sum of an expression.*help\\(ogive.formula\\)"),
    (lambda x: x.clip(0, 1), "asks for .clip of an expression.*Write ogive.formula.clip\\(x\\)"),
    (lambda x: x.shape[0], "stands for one element, not for an array"),
    (lambda x: f"{x:.2f}", "does something that expressions cannot: unsupported format"),
    (returns_nothing, "returns None. Give the result with `return`"),
    (lambda x: [x], "returns a list; allowed: an expression, or a tuple"),
    (lambda x: (x, x), "returns 2 values; allowed: 1. signatures="),
    (lambda x: (y for y in (x,)), "returns a generator"),
    (lambda x: f.exp, "returns .*, a function. Call it"),
    (lambda x: "text", "with the text 'text'"),
    (recursive, "calls itself, without an end.*Write a loop"),
    (lambda x: f.row_sum(x), "uses row_sum of a whole row.*Use @ogive.row_operator\\(\\)"),
    (lambda x: ogive.softmax(x), "uses row_max, row_sum.*Use @ogive.row_operator\\(\\)"),
    (selects_without_annotation, "Annotate a parameter that selects by a text with Literal\\[...\\]"),
]


@pytest.mark.parametrize(("formula", "text"), TRACED, ids=lambda value: "" if callable(value) else value[:40])
def test_wrong_formulas(formula, text):
    with pytest.raises(FormulaError) as caught:
        ogive.operator(formula)
    said = str(caught.value)
    assert said.startswith(f"{formula.__name__}: ")
    assert re.search(text, said.partition(f" In {__file__}")[0])  # the line of the mistake has the pattern itself
    first = formula.__code__.co_firstlineno
    lines = range(first, first + len(inspect.getsource(formula).splitlines()))
    assert any(f"In {__file__}, line {n}: " in said for n in lines), said


def test_the_line_is_that_of_the_mistake():
    def two_lines(x):
        y = x + 1
        return y @ y

    with pytest.raises(FormulaError) as caught:
        ogive.operator(two_lines)
    line = two_lines.__code__.co_firstlineno + 2
    assert str(caught.value).endswith(f"In {__file__}, line {line}: return y @ y")


def test_the_line_of_a_helper():
    def helper(x):
        return x[0]

    with pytest.raises(FormulaError, match="return x\\[0\\]"):
        ogive.operator(lambda x: helper(x) + 1)


def make_class():
    class Holder:
        @ogive.operator
        def method(self, x):
            return x

    return Holder


def positional_default():
    @ogive.operator
    def op(x, slope=0.1):
        return x * slope


def generator():
    @ogive.operator
    def op(x):
        yield x


def coroutine():
    @ogive.operator
    async def op(x):
        return x


def asynchronous_generator():
    @ogive.operator
    async def op(x):
        yield x


def variadic():
    @ogive.operator
    def op(*x):
        return x[0]


def variadic_keywords():
    @ogive.operator
    def op(x, **rest):
        return x


def no_tensor():
    @ogive.operator
    def op(*, slope=1.0):
        return slope


def keyword_of_numpy():
    @ogive.operator
    def op(x, *, out=1.0):
        return x * out


def default_text():
    @ogive.operator
    def op(x, *, mode="a"):
        return x if mode == "a" else -x


def default_truth():
    @ogive.operator
    def op(x, *, negate=False):
        return -x if negate else x


def default_none():
    @ogive.operator
    def op(x, *, scale=None):
        return x


def default_not_among_choices():
    @ogive.operator
    def op(x, *, mode: Literal["a", "b"] = "c"):
        return x


def one_choice_is_wrong():
    @ogive.operator
    def op(x, *, mode: Literal["a", "b"]):
        return x if mode == "a" else x @ x


def recursive_operator():
    @ogive.operator
    def op(x):
        return op(x - 1)


def recursive_row_operator():
    @ogive.row_operator
    def op(x):
        return op(x) / f.row_sum(x)


def constraint_of_nothing():
    from ogive.operators.signature import NONZERO

    @ogive.operator(constraints={"alpha": NONZERO})
    def op(x, *, beta=1.0):
        return x * beta


#: The mistakes before a formula is traced.
DECLARED: list[tuple[Callable[[], Any], str]] = [
    (positional_default, "op: its tensor slope has a default, 0.1; .*def op\\(..., \\*, slope=0.1\\)"),
    (generator, "op: the function is a generator.*Give the result with `return`"),
    (coroutine, "op: the function is a coroutine"),
    (asynchronous_generator, "op: the function is an asynchronous generator"),
    (variadic, "op: its argument x is any number of arguments.*Write each argument by its name"),
    (variadic_keywords, "op: its argument rest is any number of arguments"),
    (no_tensor, "op: it has no tensor argument; allowed: one or more, before `\\*`. Write def op\\(x, ...\\)"),
    (keyword_of_numpy, "op: its argument out is a keyword of NumPy"),
    (default_text, "op: its parameter mode has the default 'a'; allowed: numbers.*mode: Literal\\['a', ...\\] = 'a'"),
    (default_truth, "op: its parameter negate has the default False.*Literal\\[True, False\\] = False"),
    (default_none, "op: its parameter scale has the default None"),
    (default_not_among_choices, "op: its parameter mode has the default 'c'; allowed: 'a', 'b'"),
    (one_choice_is_wrong, "op: the formula multiplies matrices"),
    (recursive_operator, "op: the formula calls itself, without an end"),
    (recursive_row_operator, "op: the formula calls itself, without an end"),
    (constraint_of_nothing, "op: constraints name alpha; allowed: its parameters"),
    (make_class, "method: its first argument is self.*put @staticmethod below the decorator"),
    (lambda: ogive.operator(5), "ogive.operator: 5 was given; allowed: a function"),
    (lambda: ogive.operator("celu"), "ogive.operator: 'celu' was given"),
    (lambda: ogive.operator(np.float32), "ogive.operator: the class float32 was given"),
    (lambda: ogive.operator(np.exp), "<ufunc 'exp'> was given.*lambda x: numpy.exp\\(x\\)"),
    (lambda: ogive.operator(ogive.celu), "which is an operator already"),
    (lambda: ogive.operator(functools.partial(f.power, 2)), "was given; allowed: a function"),
    (lambda: ogive.operator(classmethod(lambda x: x)), "was given; allowed: a function"),
    (lambda: ogive.operator(types="float32"), "types is 'float32'; allowed: a list.*Write types=\\['float32'\\]"),
    (lambda: ogive.operator(types=np.float32), "a list of element types. Write types=\\['float32'\\]"),
    (lambda: ogive.operator(types=None), "types is None"),
    (lambda: ogive.operator(types=[]), "types is empty"),
    (lambda: ogive.operator(types=["float128x"]), "types has 'float128x'; allowed: float16, bfloat16"),
    (lambda: ogive.operator(types=[np.complex64]), "types has <class 'numpy.complex64'>; allowed: float16"),
    (lambda: ogive.operator(types=[None]), "types has None"),
    (lambda: ogive.operator(types=[32]), "types has 32"),
    (lambda: ogive.operator(types=[">f4"]), "types has '>f4'"),
    (lambda: ogive.operator(result="text"), "result has 'text'"),
    (lambda: ogive.row_operator(types="float32"), "ogive.row_operator: types is 'float32'"),
]


@pytest.mark.parametrize(("make", "text"), DECLARED, ids=lambda value: "" if callable(value) else value[:40])
def test_wrong_declarations(make, text):
    with pytest.raises(FormulaError, match=text):
        make()


@pytest.mark.parametrize(
    ("formula", "options", "text"),
    [
        (lambda x: f.bit_and(x, 1), {}, "uses bit_and, which works on integers.*modular=True"),
        (lambda x: f.bit_not(x), {"types": ["float32"]}, "uses bit_not, which works on integers"),
        (lambda x: f.bit_count(x), {"types": ["int32"]}, 'uses bit_count.*types=\\["int32", ...\\], modular=True'),
        (lambda x: f.quotient(x, 3), {}, "uses quotient, which works on integers"),
        (lambda x: f.integer_power(x, 3), {"types": ["int64"]}, "uses integer_power"),
        (
            lambda x: x * 0.5,
            {"types": ["int32"], "modular": True},
            "uses 0.5, which is no whole number.*int32 is among",
        ),
        (lambda x: f.exp(x), {"types": ["int32"], "modular": True}, "uses exp, which has no meaning in arithmetic"),
        (lambda x: x % 3, {"types": ["int8"], "modular": True}, "uses copy_sign, .*Leave modular=True out"),
        (lambda x: x % 3, {"types": ["int32", "int64"]}, "takes a remainder.*Leave 64-bit integers out of types="),
        (lambda x: x // 3, {"types": ["uint64"]}, "takes a remainder.*beyond 2\\*\\*53, and uint64 is among"),
    ],
)
def test_what_has_no_meaning_for_an_element_type(formula, options, text):
    with pytest.raises(FormulaError, match=f"<lambda>: the formula {text}"):
        ogive.operator(**options)(formula)


def test_there_are_many():
    assert len(TRACED) + len(DECLARED) >= 80


def test_the_range_of_parameters():
    def op(x, *, slope=1e300):
        return x * slope

    with pytest.raises(
        ParameterError, match="op: slope is 1e\\+300; allowed: .* float32 numbers.* with a tensor in its place"
    ):
        ogive.operator(op)


@pytest.mark.parametrize(
    "types", [["float32"], [np.float32], [np.dtype("f4")], ["f4"], (ogive.common.dtypes.FLOATS[2],)]
)
def test_element_types_by_name(types):
    op = ogive.operator(types=types)(lambda x: x + 1)
    assert [t.name for signature in op.signatures for t in signature.inputs] == ["float32"]
    row = ogive.row_operator(types=types)(lambda x: x / f.row_sum(x))
    assert [t.name for signature in row.signatures for t in signature.inputs] == ["float32"]


def test_row_operator_without_parentheses():
    @ogive.row_operator
    def share(x):
        return x / f.row_sum(x)

    assert share.is_row_wise
    assert share.name == "share"


def test_a_static_method():
    class Holder:
        @ogive.operator
        @staticmethod
        def twice(x):
            return 2 * x

    assert Holder.twice.formula() == Holder().twice.formula()


def test_what_is_defined_later_shows_at_the_first_call():
    op = ogive.operator(defined_later)
    with pytest.raises(
        FormulaError, match="defined_later: the formula uses no_such_function, which is not defined"
    ) as caught:
        op.formula()
    assert __file__ in str(caught.value)


def test_a_formulas_own_errors_keep_their_kind_and_name_the_line():
    with pytest.raises(UnboundLocalError) as unbound_error:
        ogive.operator(unbound)
    with pytest.raises(ZeroDivisionError) as division:
        ogive.operator(lambda x: x * (1 / 0))
    with pytest.raises(ArgumentError, match="celu: there is no parameter 'alfa'") as argument:
        ogive.operator(lambda x: ogive.celu(x, alfa=2))
    for caught in (unbound_error, division, argument):
        assert any("This is from the formula of" in note and __file__ in note for note in caught.value.__notes__)


def test_all_errors_are_ogives():
    assert issubclass(FormulaError, OgiveError)
    assert issubclass(FormulaError, TypeError)


def test_the_catalogue_is_not_traced_when_it_is_imported():
    import subprocess
    import sys

    script = "from ogive.catalog import OPERATORS; print(*(bool(op._formulas) for op in OPERATORS.values()))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * len(PLACES)
