"""Decide the elements that a kernel and its repair leave undecided, with as many bits as it takes, in Python.

A repair of many steps takes a second to compile. The first few elements do not ask for that: they are decided here too.

That takes 0.1 ms an element, so each combination of operands is decided once, and remembered: arrays have constants and
padding in them. Native code asks once a batch about equal operands. Half of the tiny
operands may be almost exact ties; they are decided as an array. If an operand and the repair's result are NaN, the result stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.common.conversion import converted
from ogive.common.dtypes import ElementType
from ogive.common.forking import cached_property
from ogive.common.keys import bits_of
from ogive.errors import UnsupportedError

if TYPE_CHECKING:
    from ogive.lowering.program import DecideRow

#: How many results a kernel remembers: 65,536 are all inputs of 16 bits.
MOST_REMEMBERED = 1 << 17

#: How many rows, and of how many bytes.
MOST_ROWS_REMEMBERED, LONGEST_REMEMBERED = 256, 1 << 16

#: A series is looked for where operands are smaller than the first of these, or so many than the second.
TINY, SMALL, MANY = 2.0**-64, 2.0**-12, 16

#: From so many elements on signs and magnitudes are looked at, which takes as long as some enclosures.
SEVERAL = 4

#: Up to how many elements are looked up one by one; for more it takes longer than to look up all at once.
FEW = 256

Decide = Callable[[Sequence[Any], Sequence[float]], tuple[Any, ...]]

#: A last level takes the bytes of operands, of results and of the mask of open ones, and parameters. It gives the results.
LastLevel = Callable[[Sequence[bytes], Sequence[bytes], bytes, tuple[float, ...]], tuple[bytes, ...]]


class Decider:
    """The third level of one kernel. The kernel calls it with the bytes of operands and results."""

    def __init__(
        self, inputs: Sequence[ElementType], outputs: Sequence[ElementType], decide: Callable[[], Decide | None]
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.make_decide = decide
        self.known: dict[tuple[bytes, bytes], tuple[np.ndarray, ...] | None] = {}

    @cached_property
    def decide(self) -> Decide:
        found = self.make_decide()
        assert found is not None
        return found

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The operands that results depend on; all, where that is not known."""
        found = getattr(self.decide, "used", None)
        return tuple(sorted(found)) if found else tuple(range(len(self.inputs)))

    def __call__(
        self, inputs: Sequence[bytes], outputs: Sequence[bytes], mask: bytes, parameters: tuple[float, ...]
    ) -> tuple[bytes, ...]:
        if mask.count(1) <= FEW:
            remembered = self._remembered(inputs, outputs, mask, parameters)
            if remembered is not None:
                return remembered
        operands = [np.frombuffer(data, t.numpy) for data, t in zip(inputs, self.inputs, strict=True)]
        is_open = np.frombuffer(mask, np.uint8) != 0
        used = self.used
        with np.errstate(all="ignore"):
            is_nan = np.zeros(is_open.shape, bool)
            for i in used:
                if self.inputs[i].is_float:
                    is_nan |= np.isnan(operands[i])
            for data, kind in zip(outputs, self.outputs, strict=True):
                is_nan &= np.isnan(np.frombuffer(data, kind.numpy)) if kind.is_float else False
            is_kept = is_nan if not np.isnan(parameters).any() else is_open
            self._remember_as_they_are(operands, np.flatnonzero(is_open & is_kept)[:FEW], parameters)
            places = np.flatnonzero(is_open & ~is_kept)
            if not places.size:
                return tuple(outputs)
            results = [np.frombuffer(data, t.numpy).copy() for data, t in zip(outputs, self.outputs, strict=True)]
            self._decide(operands, results, places, parameters)
        return tuple(result.tobytes() for result in results)

    def without_repair(self, inputs: Sequence[bytes], parameters: tuple[float, ...]) -> tuple[bytes, ...] | None:
        """The results of elements that no repair has computed. None where one has to: beside NaN, whose bits are a kernel's."""
        operands = [np.frombuffer(data, t.numpy) for data, t in zip(inputs, self.inputs, strict=True)]
        results = [np.zeros(operands[0].size, t.numpy) for t in self.outputs]
        with np.errstate(all="ignore"):
            if _have_nan(operands, self.inputs) or np.isnan(parameters).any():
                return None
            are_decided = self._decide(operands, results, np.arange(operands[0].size), parameters)
            if not are_decided or _have_nan(results, self.outputs):
                return None
        return tuple(result.tobytes() for result in results)

    def _decide(
        self,
        operands: list[np.ndarray],
        results: list[np.ndarray],
        places: np.ndarray,
        parameters: tuple[float, ...],
    ) -> bool:
        """Put the right results into these places, as far as they are decided; whether all are."""
        places = self._next_to_zero(operands, results, places, parameters)
        if places.size >= SEVERAL:
            places = self._by_magnitude(operands, results, places, parameters)
        if not places.size:
            return True
        # Each combination once.
        keys = self._keys(operands, places)
        _, index, inverse = np.unique(keys, return_index=True, return_inverse=True)
        found = [
            self._decided(operands, place, keys[i].tobytes(), parameters)
            for i, place in zip(index, places[index], strict=True)
        ]
        for number, decided in enumerate(found):
            if decided is not None:
                where = places[inverse == number] if len(found) > 1 else places
                for result, value in zip(results, decided, strict=True):
                    result[where] = value
        return None not in found

    def _next_to_zero(
        self, operands: list[np.ndarray], results: list[np.ndarray], places: np.ndarray, parameters: tuple[float, ...]
    ) -> np.ndarray:
        """Decide all tiny operands at once, where the formula lies beside a term of theirs; the places that are left."""
        leading_of = getattr(self.decide, "leading", None)
        if leading_of is None or not all(self.inputs[i].is_float for i in self.used):
            return places
        given = {i: operands[i][places].astype(np.float64) for i in self.used}
        sizes = [np.abs(x) for x in given.values()]
        has_few = max(np.count_nonzero(size <= SMALL) for size in sizes) < MANY
        leading = None if has_few and min(size.min() for size in sizes) > TINY else leading_of(parameters)
        if leading is None:
            return places
        x = given[leading.operand]
        is_tiny = (np.abs(x) <= leading.limit) & (x != 0)
        for factor in leading.factors:
            is_tiny &= np.isfinite(given[factor]) & (given[factor] != 0)
        found, is_decided = leading.rounded(
            results[0].dtype, x[is_tiny], *(given[factor][is_tiny] for factor in leading.factors)
        )
        is_tiny[is_tiny] = is_decided
        results[0][places[is_tiny]] = found[is_decided]
        return np.asarray(places[~is_tiny])

    def _by_magnitude(
        self, operands: list[np.ndarray], results: list[np.ndarray], places: np.ndarray, parameters: tuple[float, ...]
    ) -> np.ndarray:
        """Decide all elements at once whose signs and magnitudes tell the result; the places that are left."""
        by_magnitude = getattr(self.decide, "by_magnitude", None)
        if by_magnitude is None or not all(self.inputs[i].is_float for i in self.used):
            return places
        found = by_magnitude({i: operands[i][places].astype(np.float64) for i in self.used}, parameters)
        if found is None:
            return places
        is_decided = np.logical_and.reduce([decided for _, decided in found])
        for result, (values, _) in zip(results, found, strict=True):
            result[places[is_decided]] = values[is_decided]
        return np.asarray(places[~is_decided])

    def _keys(self, operands: Sequence[np.ndarray], places: np.ndarray) -> np.ndarray:
        """The bytes of the operands at these places that results depend on, one behind the other."""
        rows = np.concatenate([_bytes_of(operands[i][places]) for i in self.used], axis=1)
        return np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel()

    def _remember_as_they_are(
        self, operands: Sequence[np.ndarray], places: np.ndarray, parameters: tuple[float, ...]
    ) -> None:
        """Remember that the repair's results stay."""
        if places.size:
            self._make_room(places.size)
            given = bits_of(parameters)
            self.known.update(dict.fromkeys((key.tobytes(), given) for key in self._keys(operands, places)))

    def _make_room(self, count: int) -> None:
        if len(self.known) + count > MOST_REMEMBERED:
            self.known.clear()

    def _remembered(
        self, inputs: Sequence[bytes], outputs: Sequence[bytes], mask: bytes, parameters: tuple[float, ...]
    ) -> tuple[bytes, ...] | None:
        """The results where all that is open is known: in a tenth of the time. None where something is not."""
        sizes = [t.itemsize for t in self.inputs]
        results = [bytearray(data) for data in outputs]
        given = bits_of(parameters)
        place = mask.find(1)
        while place >= 0:
            elements = b"".join(inputs[i][place * sizes[i] : (place + 1) * sizes[i]] for i in self.used)
            if (elements, given) not in self.known:
                return None
            for result, value in zip(results, self.known[elements, given] or (), strict=False):
                result[place * value.itemsize : (place + 1) * value.itemsize] = value.tobytes()
            place = mask.find(1, place + 1)
        return tuple(map(bytes, results))

    def _decided(
        self, operands: Sequence[np.ndarray], place: np.intp, elements: bytes, parameters: tuple[float, ...]
    ) -> tuple[np.ndarray, ...] | None:
        """The results at one place; None where all bits do not decide a step of the formula."""
        key = elements, bits_of(parameters)
        if key in self.known:
            return self.known[key]
        numbers = [
            float(x[place]) if kind.is_float else int(x[place]) for x, kind in zip(operands, self.inputs, strict=True)
        ]
        found: tuple[np.ndarray, ...] | None = None
        try:
            decided = self.decide(numbers, parameters)
        except UnsupportedError:
            pass
        else:
            found = tuple(converted(np.array(value), t.numpy) for value, t in zip(decided, self.outputs, strict=True))
        self._make_room(1)
        self.known[key] = found
        return found


class Few:
    """Computes the first few elements that ask for a repair while it has no code. From then on, and where it cannot, it answers None."""

    def __init__(self, decider: Decider, count: int) -> None:
        self.decider, self.left = decider, count

    def __call__(self, inputs: Sequence[bytes], parameters: tuple[float, ...]) -> tuple[bytes, ...] | None:
        self.left -= len(inputs[0]) // self.decider.inputs[0].itemsize
        return self.decider.without_repair(inputs, parameters) if self.left >= 0 else None


def leave_open(
    inputs: Sequence[bytes], outputs: Sequence[bytes], mask: bytes, parameters: tuple[float, ...]
) -> tuple[bytes, ...]:
    """The repair's results, for kernels without a third level."""
    return tuple(outputs)


class RowDecider:
    """The same of a kernel over rows, which calls it with one row. It takes some microseconds an element.

    The part that the row has in common is computed of all elements, the rest of those alone that are open. Where rows have nothing in
    common, their elements are decided.

    Rows without elements keep the repair's results; rows with an infinity those that are not finite, unless what is finite overflows on
    the way (`DecideRow.reach`).
    """

    def __init__(
        self,
        inputs: Sequence[ElementType],
        outputs: Sequence[ElementType],
        decide: Callable[[], DecideRow | None],
        of_elements: LastLevel,
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.make_decide = decide
        self.of_elements = of_elements
        self.known: dict[tuple[tuple[bytes, ...], bytes], tuple[bytes, ...]] = {}

    def __call__(
        self, inputs: Sequence[bytes], outputs: Sequence[bytes], mask: bytes, parameters: tuple[float, ...]
    ) -> tuple[bytes, ...]:
        operands = [np.frombuffer(data, t.numpy) for data, t in zip(inputs, self.inputs, strict=True)]
        with np.errstate(all="ignore"):
            rows_of_floats = [row.astype(np.float64) for row in operands]
        if np.isnan(parameters).any() or not all(row.size for row in operands):
            return tuple(outputs)
        key = tuple(inputs), bits_of(parameters)
        if key in self.known:
            return self.known[key]
        decide = self.make_decide()
        if decide is None:
            return self.of_elements(inputs, outputs, mask, parameters)
        rows = [
            (real if t.is_float else row).tolist()
            for row, real, t in zip(operands, rows_of_floats, self.inputs, strict=True)
        ]
        is_wanted = np.frombuffer(mask, np.uint8) != 0
        has_infinities = any(np.isinf(row).any() for row in rows_of_floats)
        keeps_infinities = has_infinities and decide.keeps_infinities(rows_of_floats, parameters)
        for data, kind in zip(outputs, self.outputs, strict=True):
            if kind.is_float and keeps_infinities:  # those are IEEE arithmetic's
                is_wanted &= np.isfinite(np.frombuffer(data, kind.numpy).astype(np.float64))
        wanted = np.flatnonzero(is_wanted)
        if not wanted.size:
            return tuple(outputs)
        try:
            decided = decide(rows, parameters, wanted.tolist())
        except UnsupportedError:
            return tuple(outputs)
        results = [np.frombuffer(data, t.numpy).copy() for data, t in zip(outputs, self.outputs, strict=True)]
        with np.errstate(all="ignore"):
            for result, values, kind in zip(results, decided, self.outputs, strict=True):
                result[wanted if result.size > 1 else slice(1)] = converted(np.array(values), kind.numpy)
        found = tuple(result.tobytes() for result in results)
        if len(mask) + sum(map(len, inputs)) <= LONGEST_REMEMBERED:
            if len(self.known) >= MOST_ROWS_REMEMBERED:
                self.known.clear()
            self.known[key] = found
        return found


def _have_nan(arrays: Sequence[np.ndarray], types: Sequence[ElementType]) -> bool:
    return any(bool(np.isnan(x).any()) for x, kind in zip(arrays, types, strict=True) if kind.is_float)


def _bytes_of(operand: np.ndarray) -> np.ndarray:
    """A row of bytes for each element."""
    return np.ascontiguousarray(operand).view(np.uint8).reshape(operand.size, operand.itemsize)
