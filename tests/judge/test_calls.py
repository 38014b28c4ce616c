"""Every call is judged: short, shifted, strided, long and repeated ones, against exact values and by the budget."""

import numpy as np
import pytest

from ogive.golden.specification import of_operator
from ogive.judge import Budget, assert_conforms, judge
from ogive.judge import judging as measuring
from ogive.judge.subjects import of_callable


def right(x):
    with np.errstate(all="ignore"):
        return np.exp(x.astype(np.float64)).astype(x.dtype)


def changed(change):
    """An exponential, and what is done to its results."""

    def function(x):
        y = right(x)
        change(x, y)
        return y

    return function


def tail(x, y):
    end = y[x.size - x.size % 8 :]
    end[~np.isnan(end)] = 42


def head(x, y):
    y[:3] = 42


def last(x, y):
    y[-1:] = 42


def first_where_unaligned(x, y):
    if x.ctypes.data % 32:
        y[0] = 42


def strided(x, y):
    if x.strides[0] != x.itemsize:
        y += 1


def single(x, y):
    if x.size == 1:
        y += 1


def long(x, y):
    y[4096:] += 1


def longer(x, y):
    y[200_000:] = 42


def seventh(x, y):
    y[::7] += 1


class Later:
    """Right in the first call alone."""

    calls = 0

    def __call__(self, x, y):
        self.calls += 1
        if self.calls > 1:
            y += 1


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(
    ("change", "where"),
    [
        (tail, "wrong in calls whose length is not a multiple of 8, in their last results: 42 at "),
        (head, "wrong in the first 3 results of a call: 42 at "),
        (last, "wrong in the last result of a call: 42 at "),
        (first_where_unaligned, "wrong in calls whose data do not begin at a multiple of 32 bytes, in the first result of a call"),
        (strided, "wrong in calls on views with strides: "),
        (single, "wrong in calls on 1 element: "),
        (long, "wrong in results after the first 4,096 of a call: "),
        (longer, "wrong in results after the first 200,000 of a call: 42 at "),
        (seventh, "wrong in every 7th result: "),
        (Later(), "wrong in every call after the first: "),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_wrong_in_some_calls_is_beyond_the_budget(change, where, dtype):
    if isinstance(change, Later):
        change.calls = 0
    found = judge(changed(change), "exp", dtype)
    assert not found.within_budget
    assert [text for text in found.beyond if text.startswith(where)], found.beyond
    assert found.causes[0].name == "position"
    assert found.causes[0].text.startswith(where)


@pytest.mark.matrix(share=16, pool="slow")
def test_the_tail_of_a_kernel_is_judged_by_assert_conforms():
    with pytest.raises(AssertionError, match="wrong in calls whose length is not a multiple of 8"):
        assert_conforms(changed(tail), "exp", dtype="float32")
    assert_conforms(right, "exp", dtype="float32")


@pytest.mark.matrix(share=16, pool="slow")
def test_integers_and_two_operands():
    found = judge(
        lambda x: np.where(np.arange(x.size) < x.size // 8 * 8, np.maximum(x, 0), 9).astype(x.dtype), "relu", "int8"
    )
    assert found.beyond[0].startswith("wrong in calls whose length is not a multiple of 8")

    def prelu(x, slope):
        with np.errstate(all="ignore"):
            y = np.where(x >= 0, x, x * slope).astype(x.dtype)
        y[x.size // 4 * 4 :] = 9
        return y

    found = judge(prelu, "prelu", "float32", budget=Budget(allow=frozenset({"nan_made", "zero_sign"})))
    assert any(text.startswith("wrong in calls whose length is not a multiple of 4") for text in found.beyond)


@pytest.mark.matrix(share=16, pool="slow")
def test_differences_within_the_budget_count_as_dependence():
    def other(x, y):
        end = y[x.size // 8 * 8 :]
        np.copyto(end, np.nextafter(end, np.float32(0)), where=np.isfinite(end))

    found = judge(changed(other), "exp", budget=Budget(max_ulp=2))
    assert found.within_budget
    assert any("depend on the length" in text for text in found.dependence.found)
    assert not judge(changed(other), "exp", budget=Budget(max_ulp=2, max_dependence=0)).within_budget
    assert not judge(changed(other), "exp", budget=Budget(max_ulp=1)).within_budget
    found = judge(changed(other), "exp", budget=Budget(max_ulp=2, max_not_nearest=5))
    assert found.not_nearest <= 5 < found.not_nearest + found.calls.not_nearest
    assert "of them only in some calls; allowed: 5" in found.beyond[0]


@pytest.mark.matrix(share=16, pool="slow")
def test_what_the_sweep_has_wrong_is_told_once():
    """An error at some inputs is none of some calls."""
    found = judge(changed(lambda x, y: np.copyto(y, 3, where=x > 5)), "exp")
    assert found.calls.beyond == 0
    assert not any(text.startswith("wrong in") for text in found.beyond)


@pytest.mark.matrix(share=16, pool="slow")
def test_a_sweep_of_everything_judges_the_other_calls_too(monkeypatch):
    monkeypatch.setattr(measuring, "patterns", lambda kind, stride, size=1 << 16: iter([[np.arange(0x3F000000, 0x3F000000 + 65536, dtype=np.uint32).view(np.float32)]]) if stride == 1 else every(kind, stride))  # fmt: skip
    spec = of_operator("exp", "float32")
    found = measuring.judge(of_callable(changed(longer), "f"), spec, exhaustive=True)
    assert found.count == 65536
    assert found.beyond[0].startswith("wrong in results after the first 200,000 of a call")


every = measuring.patterns


@pytest.mark.matrix(share=16, pool="slow")
def test_a_function_that_writes_into_its_input():
    def squared(x):
        np.multiply(x, 2, out=x)
        return x

    found = judge(squared, "linear", "float32", alpha=2)
    assert found.beyond[0].startswith("input_written: writes into its input in a call on 149,")
    assert found.worst_ulp == 0
    assert judge(lambda x: x * np.float32(2), "linear", "float32", alpha=2).within_budget, "the inputs are as they were"
    allowed = Budget(allow=frozenset({"zero_sign", "input_written"}))
    assert judge(squared, "linear", "float32", alpha=2, budget=allowed).within_budget


@pytest.mark.matrix(share=16, pool="slow")
def test_a_function_that_raises_in_some_calls():
    def raising(x):
        if x.size == 5:
            raise ValueError("five elements")
        return right(x)

    found = judge(raising, "exp")
    assert found.beyond == ["crashed: raises ValueError (five elements) in a call on 5 elements (and in 4 more)"]
    found = judge(lambda x: right(x)[0] if x.size == 1 else right(x), "exp")
    assert found.beyond[0].startswith("crashed: fails (<lambda>: its result has shape (); allowed: (1,)")
    with pytest.raises(ZeroDivisionError):
        judge(lambda x: 1 / 0, "exp")


# ---- policies


@pytest.mark.matrix(share=16, pool="slow")
def test_a_policy_is_broken_by_more_than_one_unit_alone():
    """Zero for the exact value 7.0e-46 is off by half of the smallest number."""

    def silu(x):
        with np.errstate(all="ignore"):
            v = x.astype(np.float64)
            return np.where(np.isinf(v), np.where(v > 0, v, -0.0), v / (1 + np.exp(-v))).astype(x.dtype)

    found = judge(silu, "silu", "float32")
    assert found.within_budget, found.beyond
    assert found.not_nearest > 0

    def flushing(x):
        y = silu(x)
        return np.where(np.abs(y) < 2.0**-126, np.float32(0), y).astype(x.dtype)

    found = judge(flushing, "silu", "float32")
    assert found.policies["result_flushed"].count > 100
    assert not found.within_budget


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_largest_number_is_next_to_infinity(dtype):
    """Infinity where the largest number is right, and the other way round, are off by one number at the very edge."""
    kind = of_operator("identity", dtype).kind.numpy
    limits = {"float16": 65504.0, "bfloat16": float.fromhex("0x1.fep127"), "float32": float.fromhex("0x1.fffffep127")}
    largest = limits[dtype]

    def early(x):
        return np.where(np.abs(x.astype(np.float64)) >= largest, np.copysign(np.inf, x.astype(np.float64)), x).astype(
            kind
        )

    found = judge(early, "identity", dtype)
    assert found.policies["infinity_made"].count == 0
    assert found.worst_ulp == 1
    assert not judge(early, "identity", dtype, budget=Budget(max_ulp=0.5)).within_budget

    def clamped(x):
        y = right(x)
        return np.where(np.isinf(y) & (x < np.inf), y.dtype.type(largest), y)

    found = judge(clamped, "exp", dtype)
    assert found.policies["infinity_lost"].count > 100


@pytest.mark.matrix(share=16, pool="slow")
def test_rows_that_have_one_result():
    def largest(x):
        return x.max(axis=-1)

    assert judge("ogive", "logsumexp").within_budget
    assert not judge(largest, "logsumexp").within_budget
