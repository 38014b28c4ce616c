"""Computations answer what a front end asks without lowering; equal computations share a kernel."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import ogive
from ogive import formula
from ogive.common.dtypes import element_type
from ogive.engine.computation import Element, Formula, Fused, kernel_of, make_ufunc
from ogive.engine.rows import RowFormula, RowFused
from ogive.graph.expression import Format, lift, node
from ogive.lowering import lower as lowering
from ogive.operators.signature import Signature
from ogive.runtime import cache
from tests.kernels import forget_kernels

pytestmark = pytest.mark.usefixtures("own_kernels")

F32, I8 = element_type("float32"), element_type("int8")


def of(operator, kind=F32):
    return operator.computation(Signature((kind,) * len(operator.tensors), (kind,)))


def chain(*operators):
    steps = tuple((of(operator), (number,)) for number, operator in enumerate(operators))
    return Fused((F32,), steps, (len(operators),))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OGIVE_CACHE", str(tmp_path / "kernels"))
    cache._folder.cache_clear()
    forget_kernels()
    yield tmp_path / "kernels"
    cache._folder.cache_clear()
    forget_kernels()


def test_a_fused_kernel_computes_step_by_step():
    x = np.linspace(-4, 4, 1000, dtype=np.float32)
    assert np.array_equal(make_ufunc("chain", chain(ogive.tanh, ogive.exp))(x), ogive.exp(ogive.tanh(x)))


@pytest.mark.matrix(share=16, pool="slow")
def test_parameters_follow_each_other():
    x = np.linspace(-4, 4, 1000, dtype=np.float32)
    made = make_ufunc("chain", chain(ogive.celu, ogive.elu), (1.5, 0.25))
    assert np.array_equal(made(x), ogive.elu(ogive.celu(x, alpha=1.5), alpha=0.25))


def test_an_element_is_the_same_for_all():
    x = np.float32([1, 2])
    made = Fused((F32,), ((Element(0.5, F32), ()), (of(ogive.add), (0, 1))), (2,))
    assert np.array_equal(make_ufunc("add", made)(x), x + np.float32(0.5))


def test_a_fusion_of_one_step_is_that_step():
    assert chain(ogive.tanh).identity == of(ogive.tanh).identity
    assert kernel_of(chain(ogive.tanh)) is kernel_of(of(ogive.tanh))


def test_functions_and_models_share_kernels():
    signature = Signature((F32,), (F32,))
    twins = [ogive.operator(lambda x, *, a=1.0: formula.tanh(x) * a + 0.625) for _ in range(2)]
    kernel = twins[0].kernel(signature)
    assert twins[1].kernel(signature) is kernel
    assert kernel_of(chain(twins[0])) is kernel
    assert kernel_of(twins[0].computation(signature, a=2.0)) is not kernel
    assert ogive.operator(lambda x, *, b=1.0: formula.tanh(x) * b + 0.625).kernel(signature) is not kernel


def formula_of(roots, **keywords):
    return Formula(roots, (F32,), (F32,), **keywords)


def test_keys_tell_apart_what_identities_do():
    roots = ogive.celu.formula()
    made = [
        formula_of(roots, parameter_count=1),
        *(formula_of(roots, bound=(("alpha", value),)) for value in (0.0, -0.0, 1.0)),
        formula_of(roots, parameter_count=1, is_row_wise=True),
        formula_of(roots, parameter_count=1, modular=True),
        chain(ogive.tanh, ogive.exp),
        chain(ogive.exp, ogive.tanh),
        *(Element(value, kind) for kind in (F32, I8) for value in (0, 1)),
        Element(-0.0, F32),
    ]
    for one, other in itertools.combinations(made, 2):
        assert one.identity != other.identity
        assert one.key != other.key
    for one, again in zip(made[-5:], [Element(m.value, m.kind) for m in made[-5:]], strict=True):
        assert one.key == again.key


def test_kernels_that_nobody_holds_are_freed():
    kernel = weakref.ref(ogive.operator(lambda x: formula.tanh(x) + 0.3125).kernel(Signature((F32,), (F32,))))
    gc.collect()
    assert kernel() is None


def test_bound_parameters_are_rounded_as_open_ones():
    """To float32, where the kernel computes in it."""
    x = np.linspace(-4, 4, 1000, dtype=np.float32)
    signature = Signature((F32,), (F32,))
    made = make_ufunc("celu", ogive.celu.computation(signature, alpha=0.1))
    assert np.array_equal(made(x), ogive.celu(x, alpha=0.1))
    assert ogive.celu.program(signature, alpha=0.1).parameter_count == 0


def test_a_formula_of_other_operands():
    x = node("input", (), 0, Format.NUMBER)
    scale = node("parameter", (), (0, "scale"), Format.NUMBER)
    made = of(ogive.celu).applied_to([lift(x) * lift(scale)], (F32,), 1, 2)
    a = np.linspace(-4, 4, 1000, dtype=np.float32)
    assert np.array_equal(make_ufunc("scaled", made, (2.0, 1.5))(a), ogive.celu(a * 2, alpha=1.5))


@pytest.mark.parametrize(
    "other",
    [
        chain(ogive.exp, ogive.tanh),
        Fused((F32,), ((of(ogive.tanh), (0,)), (of(ogive.exp), (1,))), (1, 2)),
        Fused((F32,), ((of(ogive.tanh), (0,)), (of(ogive.exp), (0,))), (2,)),
    ],
)
def test_other_steps_wiring_and_results_have_other_identities(other):
    assert chain(ogive.tanh, ogive.exp).identity != other.identity


def test_types_and_wrapping_are_part_of_the_identity():
    roots = ogive.add.formula()
    identities = {
        Formula(roots, (kind, kind), (kind,), modular=modular).identity for kind in (F32, I8) for modular in (0, 1)
    }
    assert len(identities) == 4
    assert Element(0.0, F32).identity != Element(-0.0, F32).identity


def test_what_the_cache_knows_is_not_lowered_again(folder, monkeypatch):
    x = np.linspace(-4, 4, 1000, dtype=np.float32)
    first = make_ufunc("chain", chain(ogive.tanh, ogive.exp))(x)

    def lower(*args, **keywords):
        raise AssertionError("lowered again")

    forget_kernels()
    monkeypatch.setattr(lowering, "lower", lower)
    assert np.array_equal(make_ufunc("chain", chain(ogive.tanh, ogive.exp))(x), first)


@pytest.mark.matrix(share=16, pool="slow")
def test_sizes_are_near_the_programs():
    """Sizes bound how much is fused; within a factor of three, but for a few short formulas."""
    operators = [op for op in ogive.catalog.OPERATORS.values() if not op.is_row_wise]
    made = [op.computation(s) for op in operators for s in op.signatures if s.inputs[0] is F32]
    assert len(made) > 60
    near = [m for m in made if m.program.size / 3 <= m.size <= 3 * m.program.size]
    assert len(near) >= 0.9 * len(made)


def test_equal_steps_are_lowered_once(monkeypatch):
    x = lift(node("input", (), 0, Format.NUMBER))
    lowered = []
    original = lowering.lower
    monkeypatch.setattr(
        lowering, "lower", lambda *args, **keywords: lowered.append(args) or original(*args, **keywords)
    )
    steps = tuple((Formula((formula.tanh(x),), (F32,), (F32,)), (i,)) for i in range(4))
    assert len(Fused((F32,), steps, (4,)).program.outputs) == 1
    assert len(lowered) == 1
    lowered.clear()
    rows = tuple((RowFormula((formula.row_sum(x) + x,), (F32,), (F32,)), (i,)) for i in range(3))
    assert RowFused((F32,), frozenset(), rows, (3,), (False,)).program.stages
    assert len(lowered) == 1
