"""Computations over rows that are fused: the bits of one after the other, on every target, of every layout."""

import numpy as np
import pytest

import ogive
from ogive.backends.compiler import object_code
from ogive.backends.link import link
from ogive.backends.llvm import emit, entries
from ogive.backends.target import TARGETS
from ogive.common.dtypes import FLOATS, element_type
from ogive.engine.computation import Element, Fused, make_ufunc
from ogive.engine.row_formulas import reduction
from ogive.engine.rows import RowFormula, RowFused, fits_a_kernel
from ogive.operators.signature import Signature
from ogive.runtime import kernels
from tests.cpu.test_targets import RUNNABLE
from tests.inputs import assert_same_bits
from tests.verify import verify

SHAPES = [(1, 5), (4, 64), (33, 100), (2, 17), (3, 20_000), (1, 100_001)]


def element_wise(op, kind, count=1):
    return op.computation(Signature((kind,) * count, (kind,)))


def normalisation(kind):
    """x, scale, and one number a row that is added; gives the result, the means and the variances."""
    mean, epsilon = reduction("mean", kind, kind), float(np.array(1e-3).astype(kind.numpy))
    add, sub, mul, div = (element_wise(op, kind, 2) for op in (ogive.add, ogive.sub, ogive.mul, ogive.div))
    steps = (
        (mean, (0,)),  # 3
        (sub, (0, 3)),  # 4
        (mul, (4, 4)),  # 5
        (mean, (5,)),  # 6
        (Element(epsilon, kind), ()),  # 7
        (add, (6, 7)),  # 8
        (element_wise(ogive.sqrt, kind), (8,)),  # 9
        (div, (4, 9)),  # 10
        (mul, (10, 1)),  # 11
        (add, (11, 2)),  # 12
    )
    return RowFused((kind,) * 3, frozenset({2}), steps, (12, 3, 6), (False, True, True))


def one_after_the_other(kind, x, scale, shift):
    mean = make_ufunc("mean", reduction("mean", kind, kind))
    means = mean(x)
    centred = ogive.sub(x, means)
    variances = mean(ogive.mul(centred, centred))
    root = ogive.sqrt(ogive.add(variances, np.array(1e-3).astype(kind.numpy)))
    return ogive.add(ogive.mul(ogive.div(centred, root), scale), shift), means, variances


def operands(kind, shape):
    generator = np.random.default_rng(shape[-1])
    shapes = shape, shape[-1:], (*shape[:-1], 1)
    return [generator.standard_normal(shape).astype(kind.numpy) for shape in shapes]


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.name)
@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.name)
def test_fusing_changes_no_bit_on_any_target(kind, target):
    program = normalisation(kind).program
    verify(*program.roots, stage="primitive")
    assert len(program.stages) == 2
    compute = kernels.make_ufunc("normalisation", program, target)
    for shape in SHAPES:
        arrays = operands(kind, shape)
        for got, wanted in zip(compute(*arrays), one_after_the_other(kind, *arrays), strict=True):
            assert_same_bits(got, wanted)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.name)
def test_layouts_and_threads_change_no_bit(kind, threads):
    compute = make_ufunc("normalisation", normalisation(kind))
    for shape in SHAPES:
        x, scale, shift = operands(kind, shape)
        threads(1)
        expected = compute(x, scale, shift)
        for count in (1, 2, 5):
            threads(count)
            others = (
                (x, scale, shift),
                (np.asfortranarray(x), np.repeat(scale, 2)[::2], np.repeat(shift, 3, axis=1)[:, ::3]),
                (x, np.broadcast_to(scale, shape), shift),
            )
            for arrays in others:
                for got, wanted in zip(compute(*arrays), expected, strict=True):
                    assert_same_bits(got.copy(), wanted)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.name)
def test_every_target_compiles_and_links(kind, target):
    program = normalisation(kind).program
    image = link(object_code(emit(program, target), target), entries(program))
    assert not image.imports or target.name == "x86-64"  # which has no fused multiply-add


def test_a_number_of_a_row_may_be_the_first_operand():
    kind = FLOATS[2]
    sub = element_wise(ogive.sub, kind, 2)
    steps = ((sub, (0, 1)), (reduction("sum", kind, kind), (2,)))
    compute = make_ufunc("sums", RowFused((kind, kind), frozenset({0}), steps, (3,), (True,)))
    for shape in ((4, 5), (20, 300), (1, 20_000)):
        x, _, shift = operands(kind, shape)
        wanted = make_ufunc("sum", reduction("sum", kind, kind))(ogive.sub(shift, x))
        assert_same_bits(compute(shift, x), wanted)
        assert_same_bits(compute(np.repeat(shift, 2, axis=1)[:, ::2], x), wanted)
        out = np.empty_like(wanted)
        assert compute(shift, x, out=out) is out
        assert_same_bits(out, wanted)
        with pytest.raises(ValueError, match="core dimension"):
            compute(x, x)


def test_what_takes_long_is_kept_and_not_computed_twice():
    kind = FLOATS[2]
    exp, div = element_wise(ogive.exp, kind), element_wise(ogive.div, kind, 2)
    steps = ((exp, (0,)), (reduction("sum", kind, kind), (1,)), (div, (1, 2)))
    program = RowFused((kind,), frozenset(), steps, (3,), (False,)).program
    assert len(program.scratch) == 1
    assert program.stages[0].kept
    x, *_ = operands(kind, (30, 100))
    e = ogive.exp(x)
    wanted = ogive.div(e, make_ufunc("sum", reduction("sum", kind, kind))(e))
    assert_same_bits(kernels.make_ufunc("share", program)(x), wanted)


def test_steps_that_do_not_fit_are_refused():
    kind = FLOATS[2]
    steps = ((reduction("sum", kind, kind), (0,)), (reduction("sum", kind, kind), (1,)))
    with pytest.raises(ValueError, match="the rows of a step over rows have one number"):
        _ = RowFused((kind,), frozenset(), steps, (2,), (True,)).program
    with pytest.raises(ValueError, match="another shape than was said"):
        _ = RowFused((kind,), frozenset(), ((reduction("sum", kind, kind), (0,)),), (1,), (False,)).program
    with pytest.raises(ValueError, match="a step for"):
        _ = RowFused((FLOATS[3],), frozenset(), ((reduction("sum", kind, kind), (0,)),), (1,), (True,)).program


def test_how_much_fits_a_kernel():
    kind = FLOATS[2]
    total = reduction("sum", kind, kind)
    assert fits_a_kernel([(total, (0,))] * 4, 10)
    assert not fits_a_kernel([(total, (0,))] * 5, 10)  # each takes up to four, with what bounds its error
    assert not fits_a_kernel([(total, (0,))], 33)
    softmax = ogive.softmax.computation(Signature((kind,), (kind,)))
    rows = RowFormula(softmax.roots, (kind,), (kind,))
    assert (rows.reductions, rows.stages) == (5, 2)


def test_a_plan_of_rows_without_elements():
    """Rows along another axis than the last, of which there are none."""
    from ogive.engine.executable import GraphDescription, plan_graph
    from ogive.engine.graph import ArrayValue, GraphNode

    kind = element_type("float32")
    for shape, of_rows in [((0, 2), (1, 2)), ((2, 0), (1, 0)), ((0, 0), (1, 0))]:
        x, y, z = (ArrayValue(name, kind, s) for name, s in (("x", shape), ("y", of_rows), ("z", shape)))
        add = ogive.add.computation(Signature((kind, kind), (kind,)))
        nodes = [GraphNode("sum", y, (x,), reduction("sum", kind, kind), axis=-2), GraphNode("add", z, (x, y), add)]
        plan, _ = plan_graph(GraphDescription(nodes), [x], [z])
        (result,) = plan.run([np.empty(shape, np.float32)])
        assert result.shape == shape


def test_computations_of_one_identity_have_one_program():
    """Whichever is called first, its kernel serves both: one has no retry that the other lacks."""
    kind = element_type("float16")
    softmax = RowFormula(ogive.softmax.computation(Signature((kind,), (kind,))).roots, (kind,), (kind,))
    for step in (softmax, reduction("mean", kind, kind)):
        fused = RowFused((kind,), frozenset(), ((step, (0,)),), (1,), (step.reduces,))
        assert (fused.identity, fused.program) == (step.identity, step.program)
    step = element_wise(ogive.gelu, kind)
    fused = Fused((kind,), ((step, (0,)),), (1,))
    assert (fused.identity, fused.program) == (step.identity, step.program)
