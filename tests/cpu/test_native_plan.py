"""The native plan checks what it is made of: mistakes raise, whatever they are, and nothing is read out of bounds."""

import gc
import weakref

import numpy as np
import pytest

import ogive
from ogive import _native
from ogive.common.dtypes import element_type
from ogive.engine.computation import Fused, make_ufunc
from ogive.operators.signature import Signature

X = np.linspace(-4, 4, 16, dtype=np.float32)
TANH, ADD = ogive.tanh.bind(), ogive.add.bind()
F32 = element_type("float32")
ONE = Signature((F32,), (F32,))
FUSED = Fused((F32,), ((ogive.tanh.computation(ONE), (0,)), (ogive.relu.computation(ONE), (1,))), (1, 2))


def made(**changes):
    """y = tanh(x) + x: a buffer, then a new array."""
    facts = {
        "steps": (
            (TANH, True, (0,), (1,), (("buffer", 0),), ()),
            (ADD, True, (1, 0), (2,), (("fresh", (16,), X.dtype),), (1,)),
        ),
        "start": (None, None, None),
        "inputs": (0,),
        "input_kinds": ((X.dtype, (16,)),),
        "results": (2,),
        "is_own": (True,),
        "separate": lambda value, is_own: value,
        "make_workspace": lambda shape: (np.empty(16 if shape is None else shape, np.float32),),
        "workspace_bytes": 64,
        "uniform": False,
        "most_elements": 0,
    }
    return _native.Plan(**(facts | changes))


def steps(*rows):
    return {"steps": rows}


EXPECTED = ogive.tanh(X) + X


def test_a_plan_runs_its_steps():
    plan = made()
    for _ in range(3):
        (y,) = plan.run([X])
        assert np.array_equal(y, EXPECTED)
    assert len(plan.idle) == 1
    assert plan.fits([X])
    assert not plan.fits([X[:8]])
    assert not plan.fits([X.astype(np.float64)])
    assert not plan.fits([X, X])
    assert not plan.fits(["x"])


def test_results_go_to_given_arrays():
    plan, out = made(), np.empty_like(X)
    (y,) = plan.attempt([X], [out])
    assert y is out
    assert np.array_equal(out, EXPECTED)
    for unfit in (X, X.copy()[::-1], np.empty(16), np.empty(8, np.float32), [0.0] * 16, np.broadcast_to(X[0], 16)):
        assert plan.attempt([X], [unfit]) is None
    assert plan.attempt([X], [out, out]) is None


def test_a_uniform_plan_takes_every_size():
    plan = made(uniform=True, most_elements=1000)
    for size in (16, 0, 1, 1000, 3, 1000):
        x = np.linspace(-1, 1, size, dtype=np.float32)
        assert np.array_equal(plan.run([x])[0], ogive.tanh(x) + x)
    with pytest.raises(ValueError, match="do not fit"):
        plan.run([np.zeros(1001, np.float32)])


def test_views_and_copies():
    """Every second element of the input, turned round; and a copy of that."""
    view = ("view", (8,), (-8,), 56, (16,), (4,))
    plan = made(
        **steps(
            (lambda arrays, out: arrays[0][14::-2], False, (0,), (1,), (view,), ()),
            (None, False, (1,), (2,), (("buffer", 1),), ()),
            (None, False, (), (3,), (("buffer", 0),), (2,)),
            (TANH, True, (1,), (4,), (("fresh", (8,), X.dtype),), ()),
        ),
        start=(None,) * 5,
        results=(1, 3, 4),
        is_own=(False, False, True),
        make_workspace=lambda shape: (np.zeros(3), np.empty((2, 4), X.dtype)),
    )
    strided = np.repeat(X, 2)[::2]  # seen by the function
    for x in (X, X, strided):
        seen, zeros, computed = plan.run([x])
        assert np.array_equal(seen, X[14::-2])
        assert not np.shares_memory(seen, x)
        assert zeros.tolist() == [0, 0, 0]
        assert np.array_equal(computed, ogive.tanh(X[14::-2]))
    outs = np.empty(8, X.dtype), np.empty(3), np.empty(8, X.dtype)
    assert plan.attempt([X], outs) == outs
    assert np.array_equal(outs[0], X[14::-2])
    assert np.array_equal(outs[2], ogive.tanh(X[14::-2]))
    assert plan.attempt([X], (outs[0], np.empty(4), outs[2])) is None  # of another shape than is found


def test_a_view_of_another_layout_without_a_function():
    plan = made(**steps((None, False, (0,), (2,), (("view", (8,), (8,), 0, (16,), (4,)),), ())), is_own=(False,))
    assert np.array_equal(plan.run([X])[0], X[::2])
    with pytest.raises(ValueError, match="another layout"):
        plan.run([X[::-1]])


def test_results_in_another_order_and_several_of_them():
    both = make_ufunc("both", FUSED)
    places = ("fresh", (4, 3), X.dtype, (4, 16)), ("fresh", (4, 3), X.dtype)
    plan = made(
        **steps((both, True, (0,), (1, 2), places, ())),
        input_kinds=((X.dtype, (4, 3)),),
        results=(1, 2),
        is_own=(True, True),
    )
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    for given in (x, np.asfortranarray(x), x[::-1].copy()[::-1]):
        first, second = plan.run([given])
        assert np.array_equal(first, ogive.tanh(x))
        assert np.array_equal(second, ogive.relu(ogive.tanh(x)))


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": (5,)},
        {"steps": ((TANH, True),)},
        {"results": (3,)},
        {"results": (-1,)},
        {"results": ("y",)},
        {"inputs": (7,)},
        {"input_kinds": ()},
        {"input_kinds": ((X.dtype,),)},
        {"input_kinds": (("f4", (16,)),)},
        {"input_kinds": ((X.dtype, (-1,)),)},
        {"input_kinds": ((X.dtype, (1,) * 65),)},
        {"input_kinds": ((X.dtype, [16]),)},
        {"is_own": ()},
        {"inputs": (), "input_kinds": (), "uniform": True},
        steps((TANH, True, (0, 0), (1,), (("buffer", 0),), ())),
        steps((TANH, True, (0,), (1, 2), (("buffer", 0), ("buffer", 0)), ())),
        steps((TANH, True, (0,), (1,), (), ())),
        steps((TANH, True, (9,), (1,), (("buffer", 0),), ())),
        steps((TANH, True, (0,), (9,), (("buffer", 0),), ())),
        steps((TANH, True, (0,), (1,), (("buffer", 0),), (9,))),
        steps((TANH, True, (0,), (1,), (("own",),), ())),
        steps((TANH, True, (0,), (1,), (("buffer",),), ())),
        steps((TANH, True, (0,), (1,), (("buffer", -1),), ())),
        steps((TANH, True, (0,), (1,), (("over", 0),), ())),
        steps((TANH, True, (0,), (1,), (("fresh", (16,), "f4"),), ())),
        steps((TANH, True, (0,), (1,), (("elsewhere",),), ())),
        steps((TANH, True, (0,), (1,), ("own",), ())),
        steps((len, True, (0,), (1,), (("buffer", 0),), ())),
        steps(("text", False, (0,), (1,), (("own",),), ())),
        steps((TANH, True, (0,) * 80, (1,), (("buffer", 0),), ())),
        steps((TANH, True, (0,), (1,), (("view", (16,), (4,), 0, (16,), (4,)),), ())),
        steps((None, False, (), (1,), (("view", (16,), (4,), 0, (16,), (4,)),), ())),
        steps((None, False, (0,), (1,), (("own",),), ())),
        steps((None, False, (0, 0), (1,), (("buffer", 0),), ())),
        steps((None, False, (), (1,), (("fresh", (16,), X.dtype),), ())),
        steps((None, False, (0,), (1,), (("view", (16,), (4,), 4, (16,), (4,)),), ())),
        steps((None, False, (0,), (1,), (("view", (16,), (4,), -4, (16,), (4,)),), ())),
        steps((None, False, (0,), (1,), (("view", (0,), (4,), 4, (16,), (4,)),), ())),
        steps((None, False, (0,), (1,), (("view", (1,), (4,), 0, (0,), (4,)),), ())),
        steps((None, False, (0,), (1,), (("view", (2,), (2**62,), 0, (16,), (4,)),), ())),
        steps((None, False, (0,), (1,), (("view", (16,), (4, 4), 0, (16,), (4,)),), ())),
        steps((None, False, (0,), (1,), (("view", (16,), "4", 0, (16,), (4,)),), ())),
        steps((TANH, True, (0,), (1,), (("fresh", (4, 4), X.dtype, (4, 20)),), ())),
        steps((TANH, True, (0,), (1,), (("fresh", (4, 4), X.dtype, (-4, 16)),), ())),
        steps((TANH, True, (0,), (1,), (("fresh", (4, 4), X.dtype, (4,)),), ())),
    ],
)
def test_wrong_plans_are_refused(changes):
    with pytest.raises((TypeError, ValueError)):
        made(**changes)


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"make_workspace": lambda shape: ()}, IndexError, "workspace"),
        ({"make_workspace": lambda shape: [X]}, TypeError, "tuple"),
        ({"make_workspace": lambda shape: 1 / 0}, ZeroDivisionError, "division"),
        ({"make_workspace": lambda shape: ("text",)}, TypeError, "array"),
        ({"results": (1,)}, ValueError, "in no slot"),
        (steps((TANH, True, (2,), (1,), (("buffer", 0),), ())), ValueError, "empty slot"),
        (steps((lambda arrays, out: 1 / 0, False, (0,), (2,), (("own",),), ())), ZeroDivisionError, "division"),
    ],
)
def test_mistakes_that_show_when_it_runs(changes, error, text):
    plan = made(**changes)
    for _ in range(3):
        with pytest.raises(error, match=text):
            plan.run([X])
    with pytest.raises(ValueError, match="inputs"):
        plan.run([X, X])
    with pytest.raises(TypeError):
        plan.run(5)


def test_plans_and_what_they_hold_are_freed():
    class Workspace:
        def __call__(self, shape):
            return (np.empty(16, np.float32),)

    workspace = Workspace()
    plan = made(make_workspace=workspace)
    plan.run([X])
    workspace.plan = plan  # a circle
    gone = weakref.ref(workspace)
    del workspace, plan
    gc.collect()
    assert gone() is None


class Model(_native.ModelCall):
    def _call(self, args, keywords):
        return "asked", args, keywords


_native.inherit_vectorcall(Model)


def test_calls_that_no_plan_fits_are_passed_on():
    model = Model()
    model._set_names(("x",))
    assert model(X)[0] == "asked"
    model._publish(made())
    assert np.array_equal(model(X), EXPECTED)
    assert np.array_equal(model(x=X), EXPECTED)
    out = np.empty_like(X)
    assert model(x=X, out=out) is out
    assert model(X[:3])[0] == "asked"
    assert model(X, x=X)[0] == "asked"
    assert model(y=X)[0] == "asked"
    assert model()[0] == "asked"
    assert model(X, out=np.empty(3))[0] == "asked"
    for size in range(1, 9):  # more plans than are remembered
        model._publish(made(input_kinds=((X.dtype, (size,)),)))
    assert model(X)[0] == "asked"
    for wrong in (5, None, "plan"):
        with pytest.raises(TypeError):
            model._publish(wrong)
    for wrong in (5, [1], (1,)):
        with pytest.raises(TypeError):
            model._set_names(wrong)


def test_a_view_may_have_another_type_of_the_same_size():
    """For another size it is made by the function, which says what is wrong."""

    def plan(dtype):
        place = ("view", (16,), (4,), 0, (16,), (4,), dtype)
        back = ("fresh", (16,), X.dtype)
        called = lambda arrays, out: arrays[0].view(np.int32)  # noqa: E731
        rows = ((called, False, (0,), (1,), (place,), ()), (None, False, (1,), (2,), (back,), ()))
        return made(**steps(*rows), results=(1,), is_own=(False,))

    (y,) = plan(np.dtype(np.uint32)).run([X])
    assert y.dtype == np.uint32
    assert np.array_equal(y, X.view(np.uint32))
    (y,) = plan(np.dtype(np.float64)).run([X])
    assert np.array_equal(y, X.view(np.int32))
    with pytest.raises(TypeError):
        plan("float32")
