"""Random calls of every operator: a right one gives what plain NumPy has, a wrong one a sentence, and neither a warning.

The table of plain functions is in plain_numpy.py, the calls are made in random_calls.py. A long run:

    OGIVE_EXAMPLES=20000 python -m pytest tests/cpu/test_random_calls.py
"""

import copy
import gc
import os
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule, run_state_machine_as_test

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.errors import DTypeError
from tests.cpu import plain_numpy
from tests.cpu.random_calls import CONTAINERS, overflows, resolve, right_calls, wrong_calls

#: Examples of all operators together. Without the variable, the same few every time.
ASKED = os.environ.get("OGIVE_EXAMPLES")


#: Those whose results have the shape of their operands; test_reductions.py calls the others.
OF_ONE_SHAPE = [name for name, op in OPERATORS.items() if not op.reduces]


def examples(few: int, share: float, **keywords):
    """A few examples; in a long run a share of those asked for."""
    return settings(
        max_examples=max(int(int(ASKED) * share), 1) if ASKED else few,
        derandomize=not ASKED,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        **keywords,
    )


def test_every_operator_has_a_plain_function():
    assert len(OPERATORS) > 80
    assert all(map(plain_numpy.supports, OPERATORS))


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container.name)
def test_containers_are_drawn(container):
    pytest.importorskip(container.library, reason=f"its containers are not drawn: {container.library}")


def expected(call, kinds, result):
    """Plain NumPy's results, of rows along any axes."""
    with np.errstate(all="ignore"):
        arrays = [a.astype(kind.numpy) for a, kind in zip(call.arrays, kinds, strict=True)]
    parameters = {p.name: plain_value(p, call.parameters.get(p.name, p.default)) for p in call.op.parameters}
    compute = lambda *rows: plain_numpy.evaluate(call.op.name, rows, parameters, kinds, result)  # noqa: E731
    if not call.op.is_row_wise:
        exact = compute(*arrays)
        return arrays, parameters, np.broadcast_to(exact, call.shape)
    x = arrays[0]
    axes = tuple(range(x.ndim)) if call.axis is None else tuple(np.atleast_1d(call.axis) % x.ndim)
    axes = tuple(sorted(axes))
    last = range(-len(axes), 0)
    moved = [np.moveaxis(a, axes, last) for a in arrays]
    shape = moved[0].shape
    rows = [a.reshape(-1, int(np.prod([x.shape[a] for a in axes]))) if x.size else a for a in moved]
    empty = [np.empty((0, 1), a.dtype) for a in arrays]
    exact = rows_of(call, compute, rows, axes, last) if x.size else compute(*empty).reshape(x.shape)
    return arrays, parameters, np.moveaxis(exact.reshape(shape), last, axes)


def rows_of(call, compute, rows, axes, last):
    if call.container.name != "masked":
        return compute(*rows)
    masks = [np.ma.getmaskarray(np.ma.asanyarray(operand)) for operand in call.operands]
    there = ~np.moveaxis(np.logical_or.reduce(masks), axes, last).reshape(rows[0].shape)
    exact = None
    for i, taken in enumerate(there):
        if taken.any():
            found = compute(*(row[i][taken][None] for row in rows))[0]
            exact = np.zeros(rows[0].shape, found.dtype) if exact is None else exact
            exact[i, taken] = found
    return exact if exact is not None else compute(*rows)


def plain_value(parameter, value):
    return value if parameter.choices else float(value)


@pytest.mark.matrix("name", share=5)
@pytest.mark.parametrize("name", OF_ONE_SHAPE)
def test_right_calls(name):
    @examples(6, 0.6 / len(OPERATORS))
    @given(call=right_calls(OPERATORS[name]))
    def run(call):
        check_call(call)

    run()


def check_call(call):
    found = resolve(call)
    if found is None or overflows(call, found[0]):
        with pytest.raises(DTypeError, match=f"^{call.op.name}: "):
            call()
        return
    kinds, (result,) = found
    assume(result.name in call.container.types)  # Python's numbers may be of 64 bits, which JAX cuts in half
    arrays, parameters, exact = expected(call, kinds, result)
    out = call.keywords.get("out")
    out = out[0] if isinstance(out, tuple) else out
    before = (
        None if out is None else out.astype(out.dtype.newbyteorder("=")) if out.dtype.isbuiltin != 2 else out.copy()
    )
    value = call()
    if out is not None:
        assert value is out
        values = np.asarray(out)
    else:
        assert call.container.comes_out(value) or not any(call.is_contained)
        values = call.container.read(value)
    assert values.shape == call.shape
    assert values.dtype.newbyteorder("=") == result.numpy
    values = values.astype(result.numpy)
    counts = np.ones(call.shape, bool)
    if call.container.name == "masked":
        masks = [np.ma.getmaskarray(x) if isinstance(x, np.ma.MaskedArray) else False for x in call.operands]
        counts = ~np.broadcast_to(np.logical_or.reduce(np.broadcast_arrays(*masks)), call.shape)
        assert np.array_equal(np.ma.getmaskarray(value), ~counts)
    if "where" in call.keywords:
        counts = np.broadcast_to(call.keywords["where"], call.shape)
        assert values[~counts].tobytes() == before[~counts].tobytes()
    wide = [np.broadcast_to(a, call.shape)[counts] for a in arrays]
    problem = plain_numpy.difference(call.op.name, values[counts], exact[counts], wide, parameters, result)
    assert not problem, problem


@pytest.mark.matrix("name", share=5)
@pytest.mark.parametrize("name", OF_ONE_SHAPE)
def test_wrong_calls(name):
    @examples(8, 0.4 / len(OPERATORS))
    @given(wrong=wrong_calls(OPERATORS[name]))
    def run(wrong):
        call, errors = wrong
        out = call.keywords.get("out")
        before = out.tobytes() if isinstance(out, np.ndarray) else None
        with pytest.raises(errors, match=f"^{name}: "):
            call()
        assert before is None or out.tobytes() == before

    run()


# ---- sequences


def shifted(shift):
    """An operator that no module has: it is pickled by value."""

    @ogive.operator
    def plus(x, *, factor=1.0):
        return factor * x + shift

    return plus


PARAMETERS = st.sampled_from([-2.5, -0.5, 0.25, 1.0, 3.0])
USED = {
    "celu": ("alpha",),
    "shrink": ("bias", "lambd"),
    "linear": ("alpha", "beta"),
    "tanh": (),
    "add": (),
    "prelu": (),
    "softmax": (),
}


class Sequences(RuleBasedStateMachine):
    """Operators and bound ufuncs are made, copied, sent and dropped in any order; their results stay right."""

    functions = Bundle("functions")  # (function, plain function, how many tensors, keywords of a call)

    def __init__(self):
        super().__init__()
        self.threads = ogive.get_num_threads()

    def teardown(self):
        ogive.set_num_threads(self.threads)

    @rule(
        target=functions,
        name=st.sampled_from(sorted(USED)),
        values=st.tuples(PARAMETERS, PARAMETERS),
        bound=st.booleans(),
    )
    def take(self, name, values, bound):
        op = OPERATORS[name]
        given = dict(zip(USED[name], values, strict=False))
        full = op.checked_parameters(given)
        kind = element_type("float32")

        def plain(*arrays):
            return plain_numpy.evaluate(name, arrays, full, (kind,) * len(arrays), kind)

        return (op.bind(**given), plain, op.inputs, {}) if bound else (op, plain, op.inputs, given)

    @rule(target=functions, shift=PARAMETERS, factor=PARAMETERS, bound=st.booleans())
    def make(self, shift, factor, bound):
        op = shifted(shift)

        def plain(x):
            return factor * x.astype(np.float64) + shift

        return (op.bind(factor=factor), plain, 1, {}) if bound else (op, plain, 1, {"factor": factor})

    @rule(
        target=functions,
        function=functions,
        send=st.sampled_from(
            [copy.copy, copy.deepcopy, *(lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in range(2, 6))]
        ),
    )
    def send(self, function, send):
        return (send(function[0]), *function[1:])

    @rule(function=consumes(functions))
    def drop(self, function):
        del function

    @rule()
    def collect(self):
        gc.collect()

    @rule(count=st.integers(1, 3))
    def set_threads(self, count):
        ogive.set_num_threads(count)

    @rule(
        function=functions,
        seed=st.integers(0, 9),
        shape=st.sampled_from([(0,), (3,), (7, 5), (2, 3, 4), (1000,), (300, 500)]),
        dtype=st.sampled_from(["float32", "float16", "float64"]),
        count=st.none() | st.integers(1, 3),
        is_written=st.booleans(),
    )
    def call(self, function, seed, shape, dtype, count, is_written):
        compute, plain, inputs, keywords = function
        generator = np.random.default_rng(seed)
        operands = [generator.standard_normal(shape).astype(np.float16).astype(dtype) for _ in range(inputs)]
        out = {"out": operands[-1]} if is_written else {}
        exact = plain(*(x.copy() for x in operands)) if operands[0].size else operands[0].copy()
        if count is None:
            result = compute(*operands, **keywords, **out)
        else:
            before = ogive.get_num_threads()
            with ogive.threads(count):
                result = compute(*operands, **keywords, **out)
            assert ogive.get_num_threads() == before
        assert result.dtype == dtype
        assert not is_written or result is operands[-1]
        assert np.allclose(
            result, exact, rtol=2e-3 if dtype == "float16" else 1e-6, atol=1e-3 if dtype == "float16" else 1e-6
        )


@pytest.mark.matrix(share=16, pool="slow")
def test_sequences_of_calls_copies_and_threads():
    run_state_machine_as_test(Sequences, settings=examples(25, 0.01, stateful_step_count=25))
