"""Rows that are the columns of a matrix: a kernel of their own computes them, and no bit differs."""

import math

import ml_dtypes  # noqa: F401  (registers bfloat16)
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.backends.columns import takes_columns
from ogive.backends.target import host_target
from ogive.common.dtypes import element_type
from ogive.engine.computation import make_ufunc
from ogive.engine.row_formulas import reduction
from ogive.lowering.fuse import fuse_rows
from ogive.lowering.lower import lower
from ogive.operators.row_operator import row_operator
from ogive.runtime import kernels, wheel_kernels
from ogive.runtime.kernels import make_ufunc as ufunc_of
from tests.cpu.test_targets import RUNNABLE
from tests.inputs import ROW_CASE_IDS, ROW_CASES, assert_same_bits, of_one_array
from tools.build_wheel_kernels import make_pack

#: (elements of a column, columns): parts of a turn, of a group and of a strip, and more than are added up together.
MATRICES = ((1, 16), (3, 17), (9, 31), (64, 1040), (1000, 40), (1025, 16), (3000, 50))

FLOAT32 = element_type("float32")


def matrix(shape, kind, seed=0):
    """Usual numbers; columns of zeros of both signs, of NaN, of infinities, and with a zero as the largest element."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(shape) * 3
    x[:, 3] = np.copysign(0.0, x[:, 3])
    x[:, 5] = np.where(x[:, 5] > 0, np.copysign(0.0, x[:, 6]), x[:, 5])
    x[shape[0] // 2, 7] = np.nan
    x[0, 9] = np.inf
    x[:, 10] = -np.inf
    x[:, 11] = np.round(x[:, 11] * 2) / 2  # sums on ties
    x[:, 12] = -x[::-1, 12]
    return x.astype(kind.numpy)


def columns_and_rows(compute, x):
    """Results of columns as they lie, beside those of the same rows one after the other."""
    out = np.empty_like(x)
    found = compute(x.T, out=out.T)
    assert np.shares_memory(found, out)
    return found, compute(np.ascontiguousarray(x.T))


@pytest.mark.matrix("op.name")
@pytest.mark.parametrize("shape", MATRICES, ids=str)
@pytest.mark.parametrize(("op", "signature"), ROW_CASES, ids=ROW_CASE_IDS)
def test_columns_of_elements_have_the_bits_of_rows(op, signature, shape):
    x = matrix(shape, signature.inputs[0])
    for threads in (1, 2):
        with ogive.threads(threads):
            assert_same_bits(*columns_and_rows(of_one_array(op), x))


@row_operator
def centred(x):
    return x - f.row_sum(x)


@row_operator
def below_the_largest(x):
    return x - f.row_max(x)


@row_operator
def between_the_ends(x):
    return (x - f.row_min(x)) / (f.row_max(x) - f.row_min(x))


@row_operator
def beside_the_first_largest(x):
    return f.where(f.row_first(f.equal(x, f.row_max(x))), x, f.row_product(x))


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    "op", [centred, below_the_largest, between_the_ends, beside_the_first_largest], ids=lambda op: op.name
)
def test_own_formulas(op, kind):
    for shape in MATRICES[:6]:
        assert_same_bits(*columns_and_rows(op, matrix(shape, element_type(kind), 1)))


@row_operator
def twice_the_largest(x):
    return f.row_max(x) * x


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_zeros_of_both_signs_at_the_top(kind):
    """The position of the largest element follows from the order in a row, which is not that of a column."""
    generator = np.random.default_rng(3)
    x = np.copysign(0.0, generator.standard_normal((100, 64)))
    x[:50] = -1.0
    assert_same_bits(*columns_and_rows(below_the_largest, x.astype(kind)))
    assert_same_bits(*columns_and_rows(twice_the_largest, x.astype(kind)))


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["sum", "product", "max", "l2", "log_sum_exp", "arg_max", "softmax"])
def test_no_instruction_set_changes_a_bit(name, kind, target):
    form = element_type(kind)
    if name == "softmax":
        signature = next(s for s in ogive.softmax.signatures if s.inputs == (form,))
        program = ogive.softmax.computation(signature).program
    else:
        program = reduction(name, form, element_type("int64") if name == "arg_max" else form).program
    compute, rows = ufunc_of(name, program, target), ufunc_of(name, program)
    for shape in ((9, 31), (70, 40)):
        x = matrix(shape, form, 4)
        expected = rows(np.ascontiguousarray(x.T))
        assert_same_bits(columns_and_rows(compute, x)[0] if name == "softmax" else compute(x.T), expected)


def test_long_columns_that_cancel():
    """More elements than accumulators go on over, and sums that only all digits tell."""
    generator = np.random.default_rng(2)
    x = (generator.standard_normal((5000, 17)) * np.exp(generator.uniform(-30, 30, (5000, 17)))).astype(np.float32)
    x[2500:] = -generator.permuted(x[:2500], axis=0)
    x[7] += np.float32(1e-3)
    found = make_ufunc("sum", reduction("sum", FLOAT32, FLOAT32))(x.T)[:, 0]
    assert found.tolist() == [np.float32(math.fsum(column)) for column in x.T.astype(np.float64)]


def test_results_along_another_axis_lie_like_the_operand():
    x = matrix((64, 40), FLOAT32)
    found = ogive.softmax(x, axis=0)
    assert found.flags.c_contiguous
    assert ogive.softmax(x.T, axis=0).flags.f_contiguous
    assert_same_bits(found.T.copy(), ogive.softmax(np.ascontiguousarray(x.T)))
    big_endian = ogive.softmax(x.astype(">f4"), axis=0)
    assert big_endian.dtype.isnative
    assert_same_bits(np.ascontiguousarray(big_endian), found)


def test_results_over_operands():
    x = matrix((64, 40), FLOAT32)
    expected = ogive.softmax(np.ascontiguousarray(x.T))
    ogive.softmax(x.T, out=x.T)
    assert_same_bits(np.ascontiguousarray(x.T), expected)


def test_the_kernel_of_columns_is_used(monkeypatch):
    made = []

    def compiled(program, target, *, of_columns=False, original=kernels.compiled, **others):
        made.append(of_columns)
        return original(program, target, of_columns=of_columns, **others)

    monkeypatch.setattr(kernels, "compiled", compiled)
    program = reduction("sum", FLOAT32, FLOAT32).program
    ufunc = ufunc_of("sum", program)
    x = np.ones((5, 40), np.float32)
    ufunc(np.ascontiguousarray(x.T))
    assert made == [False]
    assert (ufunc(x.T) == 5).all()
    assert made == [False, True]


def test_what_depends_on_an_order_takes_no_columns():
    float64 = element_type("float64")
    exact = reduction("sum", FLOAT32, FLOAT32).program
    ordered = lower(ogive.softmax.formula(), (FLOAT32,), (FLOAT32,), accuracy="fast")
    assert takes_columns(exact)
    assert takes_columns(reduction("sum", float64, float64).program)
    assert not takes_columns(ordered)
    assert takes_columns(reduction("max", float64, float64).program)
    assert takes_columns(fuse_rows((FLOAT32,), (), [(exact, (0,)), (exact, (0,))], (1, 2)))
    assert not takes_columns(fuse_rows((FLOAT32, FLOAT32), (), [(exact, (0,)), (ordered, (1,))], (2, 3)))


def test_the_kernel_of_columns_comes_in_a_pack(tmp_path, monkeypatch):
    softmax = ogive.softmax.computation(next(s for s in ogive.softmax.signatures if s.inputs == (FLOAT32,)))
    monkeypatch.delenv("OGIVE_PACKS", raising=False)
    (tmp_path / wheel_kernels.FOLDER).mkdir()
    (tmp_path / wheel_kernels.FOLDER / f"{host_target().name}.pack").write_bytes(make_pack(host_target(), [softmax]))
    monkeypatch.setattr(wheel_kernels, "__file__", str(tmp_path / "runtime" / "wheel_kernels.py"))
    wheel_kernels._opened.cache_clear()
    note, image = wheel_kernels.load(softmax.identity, host_target())
    columns, other = wheel_kernels.load(kernels.identity_of_columns(softmax.identity), host_target())
    wheel_kernels._opened.cache_clear()
    assert (note["columns"], columns["columns"]) == (True, False)
    assert image.code != other.code
