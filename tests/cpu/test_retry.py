"""The chain of kernels: what each computes of elements, rows and fused steps, wherever these lie.

Each kernel of these chains multiplies by another number, so that results tell which of them computed an element.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

import ogive
import ogive.runtime
from ogive import _native
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, node
from ogive.lowering.fuse import fuse
from ogive.lowering.program import MASK, DecideRow, Level, Program, Reduction, Stage
from ogive.runtime import kernels
from ogive.runtime.decide import Decider, Few
from ogive.runtime.kernels import make_ufunc
from tests.verify import verify_program

SINGLE = ELEMENT_TYPES["float32"]

#: The factors of kernel, retry, repair and enclosures; and the bits of elements from which on each passes an element on.
FACTORS = np.float32([2, 3, 5, 7])
LATER = 3.0, 7.0, 11.0


def constant(value: float) -> Expression:
    return node(ops.CONSTANT, (), value, Format.F32)


def is_passed_on(x: Expression, level: int) -> Expression:
    """Whether x, an integer, is above what a level decides."""
    return node(ops.LESS, (constant(LATER[level]), x), None, Format.BIT)


def decide(operands, _):
    return (operands[0] * float(FACTORS[3]),)


def chain(*, retried: bool = True) -> Program:
    x = node(ops.INPUT, (), 0, Format.F32)
    results = [(node(ops.MULTIPLY, (x, constant(float(factor))), None, Format.F32),) for factor in FACTORS[:3]]
    mask = node(ops.CONVERT, (is_passed_on(x, 2),), None, Format.U8)
    repair = Program((SINGLE,), (SINGLE, MASK), (*results[2], mask))
    last = {"later": (Level(lambda: repair, has_mask=True),), "decide": decide}
    retry = Program((SINGLE,), (SINGLE,), results[1], undecided=is_passed_on(x, 1), **last)
    first = {"results": results[0], "undecided": is_passed_on(x, 0)}
    return retry.level_before(**first) if retried else replace(retry, **first)


def expected(x: np.ndarray, *, retried: bool = True) -> np.ndarray:
    level = np.sum([x > later for later in LATER], axis=0)
    return x * FACTORS[level if retried else np.where(level == 1, 2, level)]


def judge(found: np.ndarray, x: np.ndarray) -> None:
    """Where many elements of a chunk are undecided, the retry computes the others too."""
    decided = (x <= LATER[0]) & (found == x * FACTORS[1])
    np.testing.assert_array_equal(found, np.where(decided, found, expected(x)))


def data(count: int, rare: float) -> np.ndarray:
    """Integers of which so many go to each of the later levels."""
    random = np.random.default_rng(count)
    share = np.array([1 - 3 * rare, rare, rare, rare])
    return (random.choice(4, count, p=share) * 4 + random.integers(0, 4, count)).astype(np.float32)


@pytest.fixture(autouse=True, scope="module")
def _retries_compute_few():
    """As they do from the second chunk's worth of elements on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "FEW_SKIP_RETRIES", False)
        yield


@pytest.fixture
def ufunc():
    verify_program(chain())
    return make_ufunc("chain", chain())


@pytest.mark.parametrize("rare", [0.0, 0.002, 0.1, 1 / 3])
@pytest.mark.parametrize("count", [1, 16, 33, 4096, 5000, 70_001])
def test_each_level_computes_what_the_one_before_leaves(ufunc, count, rare):
    x = data(count, rare)
    judge(ufunc(x), x)
    kept = x.copy()
    assert ufunc(kept, out=kept) is kept
    judge(kept, x)


def test_layouts(ufunc):
    x = data(60_000, 0.02)
    for array in (x[::3], x[::-1], x.reshape(200, 300).T, np.broadcast_to(x[:300], (200, 300))):
        np.testing.assert_array_equal(ufunc(array), expected(array))
    out = np.zeros((200, 600), np.float32)
    ufunc(x.reshape(200, 300), out=out[:, ::2])
    np.testing.assert_array_equal(out[:, ::2], expected(x.reshape(200, 300)))
    ufunc(x[::2], out=x[::2])
    np.testing.assert_array_equal(x[::2], expected(data(60_000, 0.02)[::2]))


def test_short_calls_after_one_for_the_retry():
    """They go to the retry at once, sixteen in all with the first; then the kernel is asked again."""
    ufunc = make_ufunc("short calls", chain())
    x = np.linspace(4, 7, 512, dtype=np.float32)
    np.testing.assert_array_equal(ufunc(x), expected(x))
    x[:] = 2
    found = [ufunc(x)[0] for _ in range(16)]
    assert found == [x[0] * FACTORS[1]] * 15 + [x[0] * FACTORS[0]]


def test_a_retry_before_a_retry(threads):
    """Where many elements pass two levels, each takes the chunks after that at once."""
    threads(1)
    operand = node(ops.INPUT, (), 0, Format.F32)
    is_passed_on = node(ops.LESS, (constant(1.0), operand), None, Format.BIT)
    results = (node(ops.MULTIPLY, (operand, constant(11.0)), None, Format.F32),)
    ufunc = make_ufunc("two retries", chain().level_before(results=results, undecided=is_passed_on))
    x = data(40 * 4096 + 100, 0.01)
    x[2 * 4096 : 30 * 4096 + 50] = data(28 * 4096 + 50, 0.2)
    kept = x.copy()
    for found in (ufunc(x), ufunc(kept, out=kept)):
        own = np.where(x <= 1, np.float32(11), FACTORS[np.sum([x > later for later in LATER], axis=0)])
        is_later = (x <= LATER[0]) & ((found == x * FACTORS[1]) | (found == x * FACTORS[0]))
        np.testing.assert_array_equal(found, np.where(is_later, found, x * own))
        assert np.mean(found[29 * 4096 : 30 * 4096][x[29 * 4096 : 30 * 4096] == 1] == 3) > 0.9


def test_chunks_that_go_on_as_a_whole(ufunc, threads):
    """Where many elements are undecided, the retry takes the chunk and the fifteen after it that the thread takes; others are gathered."""
    threads(1)
    x = data(20 * 4096, 0.01)
    x[4096:8192] = data(4096, 0.2)
    x[3 * 4096 : 4 * 4096 + 100] = 5
    memory = np.empty(x.size + 16, np.float32)
    begin = -memory.ctypes.data % 64 // 4  # chunks begin where results are aligned
    found = ufunc(x, out=memory[begin : begin + x.size])
    judge(found, x)
    is_retried = (found == x * FACTORS[1])[(x > 0) & (x <= LATER[0])].reshape(-1)
    chunk = (np.arange(x.size) // 4096)[(x > 0) & (x <= LATER[0])]
    is_whole = (chunk >= 1) & (chunk <= 16)
    assert set(chunk[is_whole]) == {*range(1, 17)} - {3}
    np.testing.assert_array_equal(is_retried, is_whole)


@pytest.mark.matrix(share=16, pool="slow")
def test_threads_and_streams(ufunc, threads):
    """A thread gathers from all pieces that it takes, of its own share and of others'."""
    ogive.set_num_threads(3)
    for count in (200_000, 300_003, 500_017, 3_000_001):
        x = data(count, 0.01)
        right = expected(x)
        for _ in range(3):
            np.testing.assert_array_equal(ufunc(x), right)
            again = x.copy()
            np.testing.assert_array_equal(ufunc(again, out=again), right)


@pytest.mark.parametrize("retried", [True, False])
def test_equal_elements_in_place_are_gathered_before_any_has_a_result(retried, threads):
    """However full the buffers are that gather them: from 0 to 1,100 elements are there before."""
    ufunc = make_ufunc("chain", chain(retried=retried))
    ufunc(data(4096, 0.1))
    threads(1)  # so that one thread gathers all
    for before in range(1100):
        x = np.zeros(16 * 4096, np.float32)
        x[(np.arange(before) % 12 * 4096) + np.arange(before) // 12] = 4 + np.arange(before) % 3
        x[-3 * 4096 : -2048] = 6
        found, right = x.copy(), expected(x, retried=retried)
        ufunc(found, out=found)
        np.testing.assert_array_equal(found, right)


def test_without_a_retry_the_repair_comes_next():
    x = data(10_000, 0.1)
    np.testing.assert_array_equal(make_ufunc("chain", chain(retried=False))(x), expected(x, retried=False))


def test_a_retry_that_decides_all():
    made = chain()
    whole = replace(made.later[0].make(), undecided=None, later=())
    x = data(20_000, 0.01)
    found = make_ufunc("chain", replace(made, later=(Level(lambda: whole),)))(x)
    np.testing.assert_array_equal(found, x * np.where(x > LATER[0], FACTORS[1], FACTORS[0]))


def test_levels_are_counted():
    ufunc = make_ufunc("counted chain", chain())
    x = data(50_000, 0.005)  # of more in a chunk those that are alike are counted once
    ufunc(x)
    (row,) = (row for row in ogive.runtime.statistics() if row.operator == "counted chain")
    assert row[2:6] == (x.size, *(int((x > later).sum()) for later in LATER))


@pytest.mark.matrix(share=16, pool="slow")
def test_results_that_come_again_are_those_of_their_operands_and_parameters():
    """Infinities, NaN, zeros and constants are looked up from the second batch on, for each parameter by itself."""
    special = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.25])
    for name in ("squareplus", "xielu", "logit", "tanhshrink", "swiglu"):
        op = ogive.catalog.OPERATORS[name]
        defaults = {p.name: p.default for p in op.numeric_parameters}
        for choice in (defaults, {key: 0.5 * value for key, value in defaults.items()}, defaults):
            with np.errstate(all="ignore"):
                one_by_one = np.concatenate(
                    [op(*[special[i : i + 1]] * op.inputs, **choice) for i in range(special.size)]
                )
                for order in (np.repeat(np.arange(7), 700), np.arange(4900) % 7):
                    found = op(*[special[order]] * op.inputs, **choice)
                    assert np.array_equal(found.view(np.uint32), one_by_one[order].view(np.uint32)), (name, choice)


@pytest.mark.parametrize("known", [0, 2, 3, 4, 9])
def test_few_known_elements_among_many_others_are_asked_about_once(monkeypatch, known):
    """Where fewer than a fourth of the first sixteen are known, the others are looked up only when the repair leaves them open."""
    asked, call = [], Decider.__call__

    def note_and_call(self, inputs, outputs, mask, parameters):
        asked.append(mask.count(1))
        return call(self, inputs, outputs, mask, parameters)

    monkeypatch.setattr(Decider, "__call__", note_and_call)
    f = make_ufunc("f", chain(retried=False))
    hard, easy = np.float32([12, 13, 14, 15, 16, 17, 18, 19, 20]), np.linspace(4, 10, 200, dtype=np.float32)
    f(np.concatenate((easy, hard)))
    assert sum(asked) == hard.size
    for order in (easy, easy[::-1]):
        x = np.concatenate((hard[:known], order, hard))
        assert (f(x) == expected(x, retried=False)).all()
    assert sum(asked) == hard.size


def test_an_exception_leaves_nothing_to_be_looked_up():
    failing = [True]

    def decide(operands, _):
        if failing[0]:
            raise ZeroDivisionError
        return (operands[0] * float(FACTORS[3]),)

    f = make_ufunc("f", replace(chain(retried=False), decide=decide))
    x = np.full(3000, 12, np.float32)
    with pytest.raises(ZeroDivisionError):
        f(x)
    failing[0] = False
    for _ in range(3):
        assert (f(x) == 12 * FACTORS[3]).all()


@pytest.mark.parametrize("both", [False, True])
def test_fused_steps_are_retried_together(both):
    """As often as one of them has a retry; of a step without one the kernel computes again."""
    made = fuse((SINGLE,), [(chain(retried=both), [0]), (chain(), [1])], [2])
    verify_program(made)
    x = data(20_000, 0.01)
    right, is_open = np.zeros_like(x), np.ones(x.size, bool)
    firsts = (FACTORS[0], FACTORS[1] if both else FACTORS[0], FACTORS[2], FACTORS[3])
    for level, (first, second) in enumerate(zip(firsts, FACTORS, strict=True)):
        right[is_open] = (x * first * second)[is_open]
        if level < 3:
            later = LATER[0] if level == 1 and not both else LATER[level]
            is_open &= (x > later) | (x * first > LATER[level])
    found = make_ufunc("fused", made)(x)
    decided = found == x * firsts[1] * FACTORS[1]  # of chunks that the retry took as a whole
    np.testing.assert_array_equal(found[~decided], right[~decided])
    _, retry, repair = made.chain
    assert [level.has_mask for level in retry.later] == [True]
    assert retry.later[0].make().text == repair.text


def row_chain(*, keeps: bool = False) -> Program:
    """The same of rows: elements times the factor of the kernel that computed them, which may keep them between stages."""
    x = node(ops.INPUT, (), 0, Format.F32)
    wide = node(ops.CONVERT, (x,), None, Format.F64)
    stage = Stage((Reduction("row_max", wide),))
    largest = node(ops.ROW_VALUE, (), (0, 0), Format.F64)
    single = node(ops.CONVERT, (largest,), None, Format.F32)

    def made(level: int, operand: int = 0) -> tuple[Expression, Expression]:
        factor = constant(float(FACTORS[level]))
        product = node(ops.MULTIPLY, (node(ops.INPUT, (), operand, Format.F32), factor), None, Format.F32)
        return product, is_passed_on(single, level)

    result, undecided = made(0, 2 * keeps)
    again, still = made(1)
    last, open_ = made(2)
    mask = node(ops.CONVERT, (open_,), None, Format.U8)
    repair = Program((SINGLE,), (SINGLE, MASK), (last, mask), (stage,))

    def decide(rows, parameters, wanted=None):
        return ([x * float(FACTORS[3]) for x in rows[0]],)

    ends = {
        "later": (Level(lambda: repair, has_mask=True),),
        "decide_row": DecideRow(decide, 1),
        "is_tested": True,
    }
    retry = Program((SINGLE,), (SINGLE,), (again,), (stage,), undecided=still, **ends)
    first = replace(stage, kept=((2, x),)) if keeps else stage
    return retry.level_before(results=(result,), stages=(first,), undecided=undecided)


@pytest.mark.parametrize(("length", "keeps"), [(7, True), (300, False), (9000, False), (9000, True)])
def test_rows_are_retried_as_a_whole(length, keeps):
    name = f"rows of {length}{' kept ones' * keeps}"
    ufunc = make_ufunc(name, row_chain(keeps=keeps))
    x = data(20 * length, 0.1 / length).reshape(20, length)
    x[:4, 0] = 2, 6, 10, 14
    level = np.sum([x.max(axis=1, keepdims=True) > later for later in LATER], axis=0)
    level = np.maximum(level, keeps and length > 8192)  # of long rows one element or another is undecided
    right = x * FACTORS[level]
    np.testing.assert_array_equal(ufunc(x), right)
    (row,) = (row for row in ogive.runtime.statistics() if row.operator == name)
    assert row[2:6] == (x.size, *(length * int((level > k).sum()) for k in range(3)))
    np.testing.assert_array_equal(ufunc(x.T.copy().T), right)
    np.testing.assert_array_equal(ufunc(x, out=x), right)


def test_rows_behind_undecided_ones_are_retried_at_once(threads):
    threads(1)
    ufunc = make_ufunc("rows beside others", row_chain())
    x = np.ones((300, 1000), np.float32)
    x[:16, 0] = 4  # all that are taken together
    found = ufunc(x)
    np.testing.assert_array_equal(found[:18], x[:18] * FACTORS[1])
    np.testing.assert_array_equal(found[-8:], x[-8:] * FACTORS[0])


def test_a_chain_has_an_end():
    """Kernels that lead back to one another, or are many, are refused."""
    code = _native.Code(b"\xc3" * 16, (0,), ())

    def kernel(later=(), outputs=(4,)):
        return _native.Kernel((4,), outputs, lambda: (code, 16, ((),), (), 100, 9, tuple(later)))

    own = []
    own.append(kernel(own))
    with pytest.raises(ValueError, match="a retry is another kernel, without code yet"):
        own[0].prepare()
    compiled = kernel()
    compiled.prepare()
    with pytest.raises(ValueError, match="a retry is another kernel, without code yet"):
        kernel([compiled]).prepare()
    last = kernel()
    middle = kernel([last, kernel(), kernel()])
    first = kernel([middle, last])
    first.prepare()
    with pytest.raises(ValueError, match="a chain of 5 kernels; 4 are possible"):
        middle.prepare()
    with pytest.raises(ValueError, match="nothing follows a repair"):
        kernel([kernel(outputs=(4, 1)), kernel()]).prepare()


@pytest.mark.parametrize("sizes", [((4,), (4, 2)), ((8,), (4,)), ((4,), (4,) * 3), ((4, 4), (4,))])
def test_what_computes_again_has_the_same_operands(sizes):
    again = _native.Kernel(*sizes, None)
    answer = _native.Code(b"\xc3" * 16, (0,), ()), 16, ((),), (), 100, 9, (again,)
    with pytest.raises(ValueError, match="a repair is a kernel of the same operands and one result more"):
        _native.Kernel((4,), (4,), lambda: answer).prepare()


@pytest.mark.parametrize("step", [1, 3])
def test_the_first_few_skip_the_retry(monkeypatch, step):
    """A repair decides them, so that no retry is compiled; as many as a chunk has, then the retry does."""
    monkeypatch.setattr(kernels, "FEW_SKIP_RETRIES", True)
    compiled = []
    kept_or_made = kernels.kept_or_made
    monkeypatch.setattr(kernels, "kept_or_made", lambda *a, **k: (compiled.append(1), kept_or_made(*a, **k))[1])
    ufunc = make_ufunc("chain", chain())
    x = data(1000, 0.02)
    few = x * FACTORS[np.array([0, 2, 2, 3])[np.sum([x > later for later in LATER], axis=0)]]
    many = np.linspace(4, 7, 1000, dtype=np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(ufunc(x[::step]), few[::step])
    assert len(compiled) == 2
    for _ in range(3 + 4096 * step // 1000):  # of which a chunk's worth goes to the repair
        found = ufunc(many[::step])
    np.testing.assert_array_equal(found, many[::step] * FACTORS[1])
    assert len(compiled) == 3
    judge(ufunc(x[::step]), x[::step])


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_of_the_last_level_reaches_the_caller(threads):
    """Whichever thread it comes in; of several the first one. The next call is right."""
    raising = [True]

    def decide(operands, _):
        if raising[0]:
            raise ZeroDivisionError(f"no result for {operands[0]}")
        return (operands[0] * float(FACTORS[3]),)

    f = make_ufunc("f", replace(chain(retried=False), decide=decide))
    x = 12 + np.arange(1 << 20, dtype=np.float32) // 65536
    with ogive.threads(threads):
        with pytest.raises(ZeroDivisionError, match="no result for"):
            f(x)
        raising[0] = False
        np.testing.assert_array_equal(f(x), x * FACTORS[3])


@pytest.mark.parametrize("retried", [False, True])
def test_enclosures_compute_a_few_elements_while_a_long_repair_has_no_code(monkeypatch, retried):
    for name, value in {"FEW_SKIP_RETRIES": True, "FEW_ELEMENTS": 3, "COSTLY": -1.0}.items():
        monkeypatch.setattr(kernels, name, value)
    ufunc = make_ufunc("few", chain(retried=retried))
    for x, factors in (([1, 5, 9, 2], [2, 7, 7, 2]), ([9, 5], [7, 7]), ([6, 10, 13, 9], [5, 5, 7, 7])):
        np.testing.assert_array_equal(ufunc(np.float32(x)), np.float32(x) * np.float32(factors))


def test_what_enclosures_cannot_compute_alone_goes_to_the_repair():
    few = Few(Decider([SINGLE], [SINGLE], lambda: lambda x, _: (math.nan if x[0] == 2 else x[0] * 7,)), 5)
    assert few([np.float32([1, 3]).tobytes()], ()) == (np.float32([7, 21]).tobytes(),)
    assert few([np.float32([math.nan]).tobytes()], ()) is None
    assert few([np.float32([2]).tobytes()], ()) is None
    assert few([np.float32([1, 3]).tobytes()], ()) is None  # the fifth and the sixth
