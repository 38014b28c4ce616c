"""Calls of other lengths, at other places and in other layouts than the sweep: each of their results is judged too.

A result with the same bits as the sweep's at that input has the sweep's verdict. All others are compared with the exact
values, by the budget of the sweep.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ogive.errors import OgiveError
from ogive.golden.specification import Expected, Specification, bits_of, python_value
from ogive.judge.budget import Budget
from ogive.judge.evidence import Evidence, broken_policies, evidence_of, example_of, steps_between
from ogive.judge.judgement import Judgement
from ogive.judge.subjects import Died, Fault, Subject, aligned

#: Lengths and offsets of calls.
LENGTHS = (*range(1, 70), 127, 129, 1000, 1023)
OFFSETS = (0, 1, 2, 4, 8)
SAMPLE = 4099
TILES = 256

#: Lengths of calls before a page that must not be touched.
AT_THE_EDGE = (1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 63, 1000, 1023)

#: After so many calls that the function did not survive, no more are made.
DEATHS = 10

#: Elements of one call, and calls, that a sentence about the wrong ones is looked for in.
ELEMENTS = 4096


class _PlannedCall(NamedTuple):
    """One call, before it is made."""

    kind: str
    text: str
    places: np.ndarray
    """The positions among the inputs of the sweep."""
    arrays: Sequence[np.ndarray]
    mode: str = ""
    threads: int = 0


class _Made(NamedTuple):
    """The known facts about a call that was made, or of a part of its elements."""

    kind: str
    text: str
    number: int
    length: int
    start: int
    """The beginning of the first input, in bytes from a multiple of 64."""
    positions: np.ndarray
    places: np.ndarray
    bad: np.ndarray


class CallChecks:
    """The calls beside the sweep."""

    def __init__(
        self,
        subject: Subject,
        spec: Specification,
        evidence: Evidence,
        has_result: bool,
        budget: Budget,
        found: Judgement,
        is_counted: bool,
    ) -> None:
        self.subject, self.spec, self.evidence, self.found, self.budget = subject, spec, evidence, found, budget
        shape = evidence.result.shape
        self.arrays = [np.broadcast_to(x, shape).reshape(-1) for x in evidence.arrays]
        self.expected = Expected(*(x.reshape(-1) for x in evidence.expected))
        self.reference = bits_of(evidence.result.reshape(-1), canonical=True) if has_result else None
        self.bad_in_sweep = np.zeros(evidence.result.size, bool)
        self.made: list[_Made] = []
        self.deaths = 0
        self.number = 0
        self.is_counted = is_counted
        self.not_nearest = np.zeros(evidence.result.size, bool)
        """Inputs with a result that is not the nearest one in some call."""
        self.differences: dict[str, tuple[float, int, str]] = {}
        if has_result:
            flat = Evidence(tuple(self.arrays), evidence.result.reshape(-1), self.expected, evidence.errors.reshape(-1), evidence.wrong.reshape(-1))  # fmt: skip
            bad = self._beyond(flat)
            self.bad_in_sweep = bad & is_counted
            self.not_nearest = flat.wrong & is_counted
            everything = np.arange(bad.size)
            self._remember(_PlannedCall("sweep", described(bad.size), everything, self.arrays), everything, bad, flat)

    # ---- the calls

    def make(self) -> None:
        """Make all calls and write what they show into the judgement."""
        slow = self.subject.is_slow
        if not slow:
            self._all("repetition", "results depend on the calls before", self._again())
        self._all("length", "results depend on the length of a call", self._short())
        self._all("position", "results depend on the position in a call", self._moved())
        if not slow:
            if not self.subject.is_packed:
                self._all("layout", "results depend on the strides of the input", self._strided())
            self._all("threads", "results depend on the length of a call or its threads", self._long())
        # Findings about memory that are known already would show again in these.
        if "in place" in self.subject.modes and not self._has("unwritten", "input_written"):
            self._all("in_place", "results depend on whether they overwrite the input", self._in_place())
        if "edge" in self.subject.modes and not self._has("writes_past_end", "crashed", "endless"):
            self._all("edge", "results depend on what lies behind the input", self._at_the_edge())
        self.found.nanoseconds = self._timed()
        self._conclude()

    def _has(self, *policies: str) -> bool:
        return any(self.found.policies[name].count for name in policies)

    def _sample(self) -> tuple[np.ndarray, list[np.ndarray]]:
        places = np.random.default_rng(3).integers(0, self.evidence.result.size, SAMPLE)
        return places, [aligned(x[places]) for x in self.arrays]

    def _short(self) -> Iterator[_PlannedCall]:
        places, sample = self._sample()
        if "empty" in self.subject.modes:
            yield _PlannedCall("length", described(0), places[:0], [x[:0] for x in sample])
        lengths = (1, 3, 1000) if self.subject.is_slow else LENGTHS
        for length, offset in itertools.product(lengths, (1,) if self.subject.is_slow else OFFSETS):
            # The same inputs from every offset: so it shows which of the two a result depends on.
            where, start = slice(length % 5, length % 5 + length), offset * sample[0].itemsize
            text = described(length) + (f" whose data begin {start} bytes behind a multiple of 64" if start else "")
            yield _PlannedCall("length", text, places[where], [aligned(x[where], start) for x in sample])

    def _moved(self) -> Iterator[_PlannedCall]:
        places, sample = self._sample()
        for shift in (0, 1, 2, 5, 1000) if not self.subject.is_slow else (5,):
            order = np.roll(np.arange(SAMPLE), shift)
            moved = f" (moved by {shift})" if shift else ""
            yield _PlannedCall(
                "position", described(SAMPLE) + moved, places[order], [aligned(x[order]) for x in sample]
            )

    def _strided(self) -> Iterator[_PlannedCall]:
        places, sample = self._sample()
        for where in (slice(None, None, 2), slice(1, None, 3)):
            views = [x[where] for x in sample]
            yield _PlannedCall(
                "layout", f"a call on a view of {views[0].size:,} elements with strides", places[where], views
            )

    def _again(self) -> Iterator[_PlannedCall]:
        places, sample = self._sample()
        for number in ("second", "third", "fourth"):
            yield _PlannedCall("repetition", f"the {number} call, on {SAMPLE:,} elements", places, sample)

    def _long(self) -> Iterator[_PlannedCall]:
        places, sample = self._sample()
        repeated = [aligned(np.tile(x, TILES)) for x in sample]
        for count in (1, 2) if self.subject.set_threads else (0,):
            text = described(TILES * SAMPLE) + (f" with {count} threads" if count else "")
            yield _PlannedCall("threads", text, np.tile(places, TILES), repeated, threads=count)

    def _in_place(self) -> Iterator[_PlannedCall]:
        places, sample = self._sample()
        for length in (1, 7, 64, 1000, SAMPLE):
            yield _PlannedCall(
                "in_place", f"{described(length)} in place", places[:length], [x[:length] for x in sample], "in place"
            )

    def _at_the_edge(self) -> Iterator[_PlannedCall]:
        places, sample = self._sample()
        for length in AT_THE_EDGE:
            yield _PlannedCall("edge", described(length), places[:length], [x[:length] for x in sample], "edge")

    # ---- what comes of them

    def _all(self, kind: str, described: str, calls: Iterator[_PlannedCall]) -> None:
        self.found.dependence.checked.append(kind)
        for call in calls:
            if self.deaths >= DEATHS or (call.mode == "edge" and self._has("reads_past_end")):
                return
            self._one(call)
        if kind in self.differences:
            steps, count, example = self.differences[kind]
            dependence = self.found.dependence
            dependence.found.append(f"{described}: {example} ({steps:,.0f} numbers apart; {count:,} differences)")
            dependence.steps = max(dependence.steps, steps)

    def _one(self, call: _PlannedCall) -> float:
        """Make a call and judge it; the seconds that it took."""
        self.number += 1
        self.found.calls.count += 1
        set_threads = self.subject.set_threads if call.threads else None
        begin = time.perf_counter()
        try:
            if set_threads:
                set_threads(call.threads)
            outcome = self.subject.outcome(self.spec, call.arrays, call.mode)
        except Exception as error:  # a Python function may raise anything
            died = error if isinstance(error, Died) else Died(Fault("crashed", _named(error)))
            if call.mode == "edge" and died.fault.policy == "crashed":
                # The function survives such calls where memory goes on.
                self.found.note("reads_past_end", "reads past the end of its inputs", call.text)
                return 0.0
            self.deaths = DEATHS if died.fault.policy == "endless" else self.deaths + 1
            self.found.note(died.fault.policy, died.fault.text, call.text)
            return 0.0
        finally:
            if set_threads:
                set_threads(1)
        took = time.perf_counter() - begin
        for fault in outcome.faults:
            self.found.note(fault.policy, fault.text, call.text)
        self.found.calls.results += outcome.result.size
        result = outcome.result.reshape(-1)
        places = call.places
        differs = np.ones(result.shape, bool)
        if self.reference is not None:
            differs = bits_of(result, canonical=True) != self.reference[places]
        if outcome.written is not None:
            differs &= outcome.written
        bad = self.bad_in_sweep[places]
        where = np.flatnonzero(differs)
        if where.size:
            part = self._part(places[where], result[where])
            bad[where] = self._beyond(part)
            if self.reference is not None:
                self._differ(call, places[where], result[where])
            self.not_nearest[places[where]] |= part.wrong
            self._count(part)
        else:
            part = None
        self._remember(call, where, bad, part)
        return took

    def _part(self, places: np.ndarray, result: np.ndarray) -> Evidence:
        expected = Expected(self.expected.right[places], self.expected.exact[places])
        return evidence_of(self.spec, tuple(x[places] for x in self.arrays), result, expected)

    def _beyond(self, evidence: Evidence) -> np.ndarray:
        """The results that the budget does not allow, each by itself."""
        ordinary, bad = np.isfinite(evidence.errors), np.zeros(evidence.errors.shape, bool)
        for name, where in broken_policies(self.spec, evidence).items():
            ordinary &= ~where
            if name not in self.budget.allow:
                bad |= where
        bad |= ordinary & ~(evidence.errors <= self.budget.max_ulp)
        return bad

    def _count(self, part: Evidence) -> None:
        calls = self.found.calls
        calls.differing += part.result.size
        broken = np.zeros(part.errors.shape, bool)
        for where in broken_policies(self.spec, part).values():
            broken |= where
        measured = np.where(broken | ~np.isfinite(part.errors), 0, part.errors)
        calls.worst_ulp = max(calls.worst_ulp, float(measured.max()))

    def _differ(self, call: _PlannedCall, places: np.ndarray, result: np.ndarray) -> None:
        """Keep the largest difference of a kind of call."""
        wanted = self.evidence.result.reshape(-1)[places]
        steps = np.maximum(steps_between(result, wanted, self.spec.output), 1)
        place = int(np.argmax(steps))
        worst, count, example = self.differences.get(call.kind, (0.0, 0, ""))
        if steps[place] > worst:
            given = ", ".join(f"{python_value(x[places][place]):.9g}" for x in self.arrays)
            a, b = python_value(result[place]), python_value(wanted[place])
            worst = float(steps[place])
            example = f"at {given} {call.text} gives {a:.9g}, and among {self.evidence.result.size:,} elements {b:.9g}"
        self.differences[call.kind] = worst, count + result.size, example

    def _remember(self, call: _PlannedCall, where: np.ndarray, bad: np.ndarray, part: Evidence | None) -> None:
        calls = self.found.calls
        is_new = bad & ~self.bad_in_sweep[call.places]
        if is_new.any():
            calls.beyond += int(np.count_nonzero(is_new))
            calls.wrong += 1
            if calls.worst is None and part is not None:
                place = int(np.searchsorted(where, np.flatnonzero(is_new)[0]))
                calls.worst, calls.first = example_of(self.spec, part, place), call.text
        positions = np.arange(bad.size)
        if bad.size > ELEMENTS:
            # The first and the last ones, and some of the wrong and of the others between.
            taken = [positions[:512], positions[-512:]]
            for kind in (np.flatnonzero(bad), np.flatnonzero(~bad)):
                taken += [kind[:64], kind[:: max(1, kind.size // ELEMENTS)]]
            positions = np.unique(np.concatenate(taken))
        start = (-call.arrays[0].nbytes if call.mode == "edge" else call.arrays[0].ctypes.data) % 64
        self.made.append(
            _Made(call.kind, call.text, self.number, bad.size, start, positions, call.places[positions], bad[positions])
        )

    def _timed(self) -> float:
        """Nanoseconds of an element: the median of five calls on 2**16 elements of the middle of the range."""
        if self.deaths >= DEATHS:
            return 0.0
        size = 1 << 16
        places = np.resize(np.arange(self.evidence.result.size), size)
        if len(self.arrays) == 1 and self.spec.kind.is_float:
            # The inputs are in order.
            with np.errstate(invalid="ignore"):
                finite = np.flatnonzero(np.isfinite(self.arrays[0]))
            known = self.arrays[0][finite].astype(np.float64)
            places = finite[np.minimum(np.searchsorted(known, np.linspace(-4, 4, size)), known.size - 1)]
        arrays = [aligned(x[places]) for x in self.arrays]
        times = [
            self._one(_PlannedCall("time", described(size), places, arrays))
            for _ in range(2 if self.subject.is_slow else 5)
        ]
        return 0.0 if self.deaths >= DEATHS else float(f"{np.median(times) / size * 1e9:.3g}")

    def _conclude(self) -> None:
        calls = self.found.calls
        calls.not_nearest = int(np.count_nonzero(self.not_nearest & ~self._counted()))
        if calls.beyond:
            calls.where = _where(self.made)

    def _counted(self) -> np.ndarray:
        """The inputs that the sweep counts as not nearest."""
        if self.reference is None or not self.is_counted:
            return np.zeros(self.not_nearest.shape, bool)
        found: np.ndarray = self.evidence.wrong.reshape(-1)
        return found


def described(length: int) -> str:
    """A call, for people."""
    return f"a call on {length:,} element" + ("" if length == 1 else "s")


def _named(error: Exception) -> str:
    first = str(error).strip().splitlines()[:1]
    what = "fails" if isinstance(error, OgiveError) else f"raises {type(error).__name__}"
    return what + (f" ({first[0]})" if first else "")


# ---- which calls are wrong


class _Elements(NamedTuple):
    """Results of inputs that are right in one call and wrong in another: what decides must be in the call."""

    position: np.ndarray
    length: np.ndarray
    start: np.ndarray
    number: np.ndarray
    kind: np.ndarray
    bad: np.ndarray


def _where(made: Sequence[_Made]) -> str:
    """The properties that the wrong results have in common, and the right ones have not."""
    wrong = np.unique(np.concatenate([m.places[m.bad] for m in made]))
    right = np.unique(np.concatenate([m.places[~m.bad] for m in made]))
    telling = np.intersect1d(wrong, right)
    rows = [(m, np.flatnonzero(np.isin(m.places, telling))) for m in made]
    rows = [(m, kept) for m, kept in rows if kept.size]
    if not rows:
        return ""

    def spread(value: Callable[[_Made], Any]) -> np.ndarray:
        return np.concatenate([np.full(kept.size, value(m)) for m, kept in rows])

    elements = _Elements(
        np.concatenate([m.positions[kept] for m, kept in rows]),
        spread(lambda m: m.length),
        spread(lambda m: m.start),
        spread(lambda m: m.number),
        spread(lambda m: m.kind),
        np.concatenate([m.bad[kept] for m, kept in rows]),
    )
    of_elements = _best(_of_elements(elements), elements.bad, 0.99)
    if of_elements:
        return f"in {of_elements}"
    # The calls that are wrong, and then their wrong results.
    _, first, inverse = np.unique(elements.number, return_index=True, return_inverse=True)
    is_wrong = np.bincount(inverse, weights=elements.bad) > 0
    calls = _Elements(*(x[first] for x in elements))
    of_calls = _best(_of_calls(calls, is_wrong), is_wrong, 0.9)
    if not of_calls:
        return ""
    inside = _Elements(*(x[is_wrong[inverse]] for x in elements))
    of_inside = _best(_of_elements(inside), inside.bad, 0.9)
    return f"in {of_calls}" + (f", in {of_inside}" if of_inside else "")


def _best(descriptions: Iterator[tuple[str, np.ndarray]], bad: np.ndarray, least: float) -> str:
    """The description that holds for all that is wrong, and for the least else; the first one of equals."""
    best, text = least, ""
    for described_as, fits in descriptions:
        if not fits.any() or fits.all() or (bad & ~fits).any():
            continue
        share = float(np.mean(bad[fits]))
        if (share >= best) if not text else (share > best + 0.01):
            best, text = share, described_as
    return text


def _of_calls(e: _Elements, is_wrong: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The properties that calls may have in common, the plainest first."""
    yield "every call after the first", e.number > 0
    yield "calls on views with strides", e.kind == "layout"
    yield "calls in place", e.kind == "in_place"
    yield "calls on 1 element", e.length == 1
    if np.unique(e.length[is_wrong]).size > 2:
        for k in (2, 4, 8, 16, 32, 64):
            yield f"calls whose length is not a multiple of {k}", e.length % k != 0
    for k in (4, 8, 16, 32, 64):
        yield f"calls whose data do not begin at a multiple of {k} bytes", e.start % k != 0
    many, few = int(e.length[is_wrong].min()), int(e.length[is_wrong].max())
    yield f"calls on {many:,} elements or more", e.length >= many
    yield f"calls on {few:,} elements or fewer", e.length <= few


def _of_elements(e: _Elements) -> Iterator[tuple[str, np.ndarray]]:
    """The places of wrong results in a call, the plainest first."""
    position, length, bad = e.position, e.length, e.bad
    behind = length - 1 - position
    for k in (2, 4, 8, 16, 32, 64) if np.unique(length[bad]).size > 2 else ():
        yield f"calls whose length is not a multiple of {k}, in their last results", behind < length % k
    for k in range(2, 65):
        rest = int(position[bad][0]) % k
        if np.unique(position[bad] // k).size > 2:
            yield f"every {_ordinal(k)} result", position % k == rest
    if np.unique(length[bad]).size > 1:
        for end, places in (("first", position), ("last", behind)):
            most = int(places[bad].max()) + 1
            yield f"the {end} {'result' if most == 1 else f'{most:,} results'} of a call", places < most
    first, last = int(position[bad].min()), int(behind[bad].min())
    yield f"results after the first {first:,} of a call", position >= first
    yield f"results before the last {last:,} of a call", behind >= last


def _ordinal(number: int) -> str:
    names = {2: "second", 3: "third"}
    return names.get(number, f"{number}th")
