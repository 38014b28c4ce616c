"""The native extension checks everything that reaches it."""

import gc

import numpy as np
import pytest

from ogive import _native


def code(image=b"\xc3" * 16, entries=(0,), imports=()):
    return _native.Code(image, entries, imports)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: code(entries=(16,)), ValueError),
        (lambda: code(entries=(0, -1)), ValueError),
        (lambda: code(entries=()), ValueError),
        (lambda: code(entries=(0,) * 9), ValueError),
        (lambda: code(entries=("0",)), TypeError),
        (lambda: code(image=b""), ValueError),
        (lambda: code(imports=((9, 0),)), ValueError),
        (lambda: code(imports=((-1, 0),)), ValueError),
        (lambda: code(imports=((0, 7),)), ValueError),
        (lambda: code(imports=((0,),)), TypeError),
        (lambda: code(imports=[(0, 0)]), TypeError),
        (lambda: code(image="text"), TypeError),
        (lambda: _native.Kernel((4,), (3,), None), ValueError),
        (lambda: _native.Kernel((), (4,), None), ValueError),
        (lambda: _native.Kernel((8,) * 64, (8,), None), ValueError),
        (lambda: _native.Kernel([4], (4,), None), TypeError),
        (lambda: _native.Kernel((4,), (4,), None, True, [1]), TypeError),
        (lambda: _native.Kernel((4,), (4,), None, True, ("a",)), TypeError),
        (lambda: _native.Kernel((4,), (4,), None, True, (2,)), ValueError),
        (lambda: _native.Kernel((4,), (4,), None, True, (-1,)), ValueError),
        (lambda: _native.Kernel((4,), (4,), None, True, (0,)), ValueError),  # no input has the elements of rows
        (lambda: _native.Kernel((4,), (4,), None, False, (1,)), ValueError),
        (
            lambda: _native.make_ufunc(
                "f",
                "",
                1,
                1,
                [((t, t), _native.Kernel((4,), (4,), None, True, of_row)) for t, of_row in ((11, ()), (5, (1,)))],
                (),
                True,
            ),
            ValueError,
        ),
        (lambda: _native.make_ufunc("f", "", 0, 1, [], ()), ValueError),
        (lambda: _native.make_ufunc("f", "", 64, 1, [], ()), ValueError),
        (lambda: _native.make_ufunc("f", "", 1, 1, [1], ()), TypeError),
        (lambda: _native.make_ufunc("f", "", 1, 1, [((11, 11), 5)], ()), TypeError),
        (lambda: _native.make_ufunc("f", "", 1, 1, [((11, 11, 11), _native.Kernel((4,), (4,), None))], ()), ValueError),
        (lambda: _native.make_ufunc("f", "", 1, 1, [((12, 11), _native.Kernel((4,), (4,), None))], ()), ValueError),
        (
            lambda: _native.make_ufunc("f", "", 1, 1, [((11, -5), _native.Kernel((4,), (4,), None))], ()),
            (ValueError, TypeError),
        ),
        (lambda: _native.make_ufunc("f", "", 1, 1, [((11, 11), _native.Kernel((4,), (4,), None))], ("a",)), TypeError),
        (
            lambda: _native.make_ufunc("f", "", 1, 1, [((11, 11), _native.Kernel((4,), (4,), None))], (), True),
            ValueError,
        ),
        (
            lambda: _native.make_ufunc(
                "f", "", 1, 1, [((11, 11), _native.Kernel((4,), (4,), None, True))], (1.0,) * 17, True
            ),
            ValueError,
        ),
        (lambda: _native.set_pool_size(0), ValueError),
        (lambda: _native.set_pool_size("2"), TypeError),
        (lambda: _native.inherit_vectorcall(int), TypeError),
        (lambda: _native.set_expression_type(5), TypeError),
    ],
)
def test_misuse_is_an_error(make, kind):
    with pytest.raises(kind):
        make()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (5, TypeError),
        ((5, 16, ((),), (), 100, 9), TypeError),
        ((code(), 16, ((),), 100, 9), TypeError),
        ((code(), 0, ((),), (), 100, 9), ValueError),
        ((code(), 10**6, ((),), (), 100, 9), ValueError),
        ((code(), 48, ((),), (), 100, 9), ValueError),
        ((code(), 128, ((),), (), 100, 9), ValueError),
        ((code(), 16, (), (), 100, 9), ValueError),
        ((code(), 16, ((), ()), (), 100, 9), ValueError),
        ((code(entries=(0, 4)), 16, ((), ()), (), 100, 9), ValueError),
        ((code(entries=(0, 4)), 16, (("row_max",), ()), (), 100, 9), ValueError),
        ((code(), 16, ((),), (4,), 100, 9), ValueError),
        ((code(entries=(0, 4)), 16, (("row_max",), ("row_sum",)), (), 100, 9), ValueError),
        ((code(entries=(0, 4)), 16, (("row_max",) * 9, ()), (), 100, 9), ValueError),
        ((code(entries=(0, 4)), 16, (("row_product",), ()), (), 100, 9), ValueError),
        ((code(entries=(0, 4)), 16, (("again",), ()), (), 100, 9), ValueError),
        ((code(entries=(0, 4)), 16, (("row_sum", "again"), ("again",)), (), 100, 9), ValueError),
        ((code(entries=(0, 4)), 16, ((5,), ()), (), 100, 9), TypeError),
        ((code(entries=(0, 4)), 16, (("row_max",), ()), (3,), 100, 9), ValueError),
        ((code(), 16, ((),), (), 100), TypeError),
        ((code(), 16, ((),), (), 100, -1), ValueError),
        ((code(), 16, ((),), (), 100, 5000), ValueError),
        ((code(), 16, ((),), (), 100, 9, None), TypeError),
        ((code(), 16, ((),), (), 100, 9, (5,)), ValueError),
    ],
)
def test_what_resolve_returns_is_checked(answer, kind):
    kernel = _native.Kernel((4,), (4,), lambda: answer)
    with pytest.raises(kind):
        kernel.prepare()
    assert not kernel.prepared


@pytest.mark.parametrize(
    "columns",
    [
        5,
        _native.Kernel((4,), (4,), None),
        _native.Kernel((4, 4), (4,), None, True),
        _native.Kernel((4,), (8,), None, True),
        _native.Kernel((4,), (4,), None, True, (1,)),
    ],
)
def test_what_computes_columns_has_the_same_operands(columns):
    answer = (code(entries=(0, 4)), 16, (("row_max",), ()), (), 100, 9, (), columns)
    kernel = _native.Kernel((4,), (4,), lambda: answer, True)
    with pytest.raises(ValueError, match="what computes columns is a row-wise kernel of the same operands"):
        kernel.prepare()


def test_numbers_of_rows_need_code_that_reduces():
    kernel = _native.Kernel((4,), (4,), lambda: (code(), 16, ((),), (), 100, False), True, (1,))
    with pytest.raises(ValueError, match="its code reduces nothing"):
        kernel.prepare()
    assert not kernel.prepared


def test_a_failing_resolve_can_be_tried_again():
    answers = iter([ValueError("not yet"), (code(), 16, ((),), (), 100, 9)])

    def resolve():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    kernel = _native.Kernel((4,), (4,), resolve)
    with pytest.raises(ValueError, match="not yet"):
        kernel.prepare()
    kernel.prepare()
    assert kernel.prepared
    kernel.prepare()


def test_a_ufunc_owns_what_it_borrows_to_numpy():
    """Name, types, parameters and kernels live as long as the ufunc, and go with it."""
    from ogive import celu

    for i in range(300):
        ufunc = celu._make_ufunc({"alpha": 2.0 + i})
        assert ufunc.__name__ == f"celu(alpha={2.0 + i})"
        assert ufunc(np.float32(-1e9)) == -(2.0 + i)
        del ufunc
    gc.collect()


def test_classes_are_closed():
    with pytest.raises(TypeError):
        _native.Code.entry = 5
    with pytest.raises(TypeError):

        class Derived(_native.Kernel):
            pass
