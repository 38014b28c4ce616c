"""Running logarithms of sums of exponentials along an axis, and their gradient, each rounded once.

Exponentials of the distances from a row's largest element are added up in order, in float64, with what the sums lose. So
a running logarithm has a bound, and so has a gradient: the exponential of its element, times the sum of all gradients from there
on, each divided by the sum up to it. What rounds differently within its bound is computed again: a logarithm by the kernel that
reduces rows, a gradient in balls. Results of float64 are of these alone.

NaN, infinities and rows that begin with -inf are as in the reduction and in its gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ogive.common.dtypes import ElementType, element_type, element_type_of
from ogive.engine.computation import formula_of, make_ufunc
from ogive.engine.prefixes import of_places, of_prefixes
from ogive.engine.running import rounded_to, two_sum
from ogive.graph import operations as ops
from ogive.graph.elementary_functions import EXP, LOG, LOG1P
from ogive.graph.expression import Format, node
from ogive.graph.operations import Operation

#: An exponential is wrong by its own rounding and by that of its distance, which counts as often as the distance says. A sum of
#: them and a quotient lose three roundings more, and of n terms n**2 times 2**-106.
ROUNDING, ROUNDINGS, SHARE_OF_TERMS = 2.0**-53, 8.0, 2.0**-104

#: From such a distance on exponentials are nothing beside any sum that is looked at.
FARTHEST = 750.0

#: So many elements are computed at a time, in whole rows: larger arrays would be new memory from the system each time.
AT_ONCE = 1 << 13

#: Sums of less are not looked at: exponentials that count beside them may have underflowed.
SMALLEST_SUM = 2.0**-865

#: The smallest exponential that a gradient is made of, and what less may be multiplied by.
SMALLEST_EXPONENTIAL, LARGEST_FACTOR = 2.0**-1000, 2.0**800


def running_log_sum_exp(data: np.ndarray, axis: int) -> np.ndarray:
    """The logarithm of the sum of the exponentials of the elements up to each place."""
    return _over_rows(_logarithms, axis, data)


def running_log_sum_exp_gradient(gradient: np.ndarray, data: np.ndarray, axis: int) -> np.ndarray:
    """The gradient of the elements, of that of the running logarithms."""
    return _over_rows(_gradients, axis, gradient, data)


def _over_rows(function: Any, axis: int, *arrays: np.ndarray) -> np.ndarray:
    """A function of rows along an axis, a few rows at a time: their float64 numbers stay in the caches."""
    kind = element_type_of(arrays[-1].dtype)
    assert kind is not None
    turned = [np.moveaxis(array, axis, -1) for array in arrays]
    result = np.empty(turned[-1].shape, arrays[-1].dtype)
    if result.size:
        length = result.shape[-1]
        flat = result.reshape(-1, length)
        rows = [np.ascontiguousarray(one).reshape(-1, length) for one in turned]
        step = max(AT_ONCE // length, 1)
        with np.errstate(all="ignore"):
            for start in range(0, len(flat), step):
                flat[start : start + step] = function(*(one[start : start + step] for one in rows), kind)
    return np.ascontiguousarray(np.moveaxis(result, -1, axis))


@lru_cache(maxsize=8)
def _function(operation: Operation) -> np.ufunc:
    """An elementary function of float64."""
    double = element_type("float64")
    function = formula_of(lambda x: node(operation, (x,), None, Format.NUMBER), (double,), double)
    return make_ufunc(operation.name, function)


def _summed(terms: np.ndarray) -> np.ndarray:
    """The running sums of float64 numbers, with the running sums of what these lose."""
    total = np.add.accumulate(terms, axis=-1)
    lost = np.zeros_like(total)
    lost[..., 1:] = two_sum(total[..., :-1], terms[..., 1:])[1]
    found: np.ndarray = total + np.add.accumulate(lost, axis=-1)
    return found


def _exponentials(data: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The largest finite element of each row, the elements' distances from it, and their exponentials."""
    wide = data.astype(np.float64)
    largest = np.where(np.isfinite(wide), wide, -np.inf).max(axis=-1, keepdims=True)
    largest[~np.isfinite(largest)] = 0.0
    distance = np.where(np.isfinite(wide), wide - largest, -np.inf)
    return largest, distance, _function(EXP)(distance)


def _share_of(distance: np.ndarray) -> np.ndarray:
    """The error of a row's sums of exponentials, as a share."""
    farthest = np.minimum(np.where(np.isfinite(distance), -distance, 0.0).max(axis=-1, keepdims=True), FARTHEST)
    share: np.ndarray = (farthest + ROUNDINGS) * ROUNDING + distance.shape[-1] ** 2 * SHARE_OF_TERMS
    return share


# ---- logarithms


def _logarithms(data: np.ndarray, kind: ElementType) -> np.ndarray:
    """The logarithms of rows. Behind the largest element the sum of the others is as good as they are, however small."""
    if kind.name == "float64":
        return of_prefixes("log_sum_exp", data, kind)
    largest, distance, terms = _exponentials(data)
    first = np.argmax(distance, axis=-1)[:, None]
    is_behind = np.arange(data.shape[-1]) >= first
    others = terms.copy()
    np.put_along_axis(others, first, 0.0, axis=-1)
    rest, total = _summed(others), _summed(terms)
    logarithm = np.where(is_behind, _function(LOG1P)(rest), _function(LOG)(total))
    share = _share_of(distance)
    bound = np.where(is_behind, np.minimum(rest, 1.0), 1.0) * share + np.abs(logarithm) * 2.0**-51
    high, low = two_sum(largest, logarithm)
    ends = [_end(kind, high, low, sign * bound) for sign in (-1.0, 1.0)]
    found = ends[0]
    running = np.maximum.accumulate(data.astype(np.float64), axis=-1)
    is_number = np.isfinite(running)
    is_open = is_number & ((ends[0] != ends[1]) | (total < SMALLEST_SUM))
    found = np.where(is_number, found, rounded_to(kind, running))
    for row in np.flatnonzero(is_open.any(axis=-1)):
        places = np.flatnonzero(is_open[row])
        found[row, places] = of_places("log_sum_exp", data[row], places, kind)
    return found


def _end(kind: ElementType, high: np.ndarray, low: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """An end of the interval of a number, rounded to a shorter type. Where there is no reach the number is exact."""
    end = high + (low + reach)
    return rounded_to(kind, np.where(reach == 0, high + low, np.nextafter(end, np.copysign(np.inf, reach))))


# ---- gradients


def _gradients(gradient: np.ndarray, data: np.ndarray, kind: ElementType) -> np.ndarray:
    """The gradients of rows: the sum of those from each place on, each divided by the sum up to its own, times the exponential."""
    _, distance, terms = _exponentials(data)
    total, given = _summed(terms), gradient.astype(np.float64)
    weights = given / total
    behind, sizes = (_summed(one[..., ::-1])[..., ::-1] for one in (weights, np.abs(weights)))
    found, reach = terms * behind, terms * sizes * (2 * _share_of(distance))
    ends = [_end(kind, found, np.zeros_like(found), sign * reach) for sign in (-1.0, 1.0)]
    is_small = (terms < SMALLEST_EXPONENTIAL) & (sizes > LARGEST_FACTOR)
    is_open = (ends[0] != ends[1]) | is_small | (total < SMALLEST_SUM)
    if kind.name == "float64":
        is_open = np.ones_like(is_open)
    result = ends[0]
    is_usual = np.isfinite(given).all(axis=-1) & (data < np.inf).all(axis=-1)
    for row in np.flatnonzero(is_usual & is_open.any(axis=-1)):
        is_there = data[row] > -np.inf
        begin = int(np.argmax(is_there)) if is_there.any() else is_there.size
        result[row, :begin] = np.nan  # where a row begins with -inf
        places = np.flatnonzero(is_open[row, begin:])
        if places.size:
            result[row, begin + places] = _decided(gradient[row, begin:], data[row, begin:], places, kind)
    unusual = ~is_usual
    if unusual.any():
        result[unusual] = rounded_to(kind, np.where(np.isfinite(data[unusual]), found[unusual], np.nan))
        result[~(data < np.inf).all(axis=-1)] = np.nan
    return result


def _decided(
    gradient: np.ndarray, data: np.ndarray, places: Sequence[int] | np.ndarray, kind: ElementType
) -> list[float | int]:
    """The gradients at some places of a row whose first element is finite, in as many bits as they take."""
    from ogive.enclosures.enclosure import (  # only open results need it
        Negligible,
        Undecided,
        decided,
        of_number,
        rounded,
    )

    results: dict[int, float | int] = {}
    wanted = [int(place) for place in places]
    largest = float(np.max(data))

    def compute(rules: Any) -> dict[int, Any]:
        add, multiply, divide = (rules.rule(rule) for rule in (ops.ADD, ops.MULTIPLY, ops.DIVIDE))
        exponential, opposite = rules.rule(EXP), of_number(-largest)
        terms = [exponential(add(of_number(float(x)), opposite)) for x in data]
        sums, total = [], of_number(0)
        for term in terms:
            total = rules.settled(add(total, term))
            sums.append(total)
        behind, values = of_number(0), {}
        for place in range(len(terms) - 1, min(wanted) - 1, -1):
            behind = rules.settled(add(behind, divide(of_number(float(gradient[place])), sums[place])))
            values[place] = multiply(terms[place], behind)
        return values

    def accept(values: dict[int, Any], is_last: bool) -> list[float | int]:
        undecided: Undecided | None = None
        for place in wanted:
            if place not in results:
                try:
                    results[place] = rounded(values[place], kind, False, is_last)
                except Undecided as found:
                    undecided = found if undecided is None or isinstance(undecided, Negligible) else undecided
        if undecided is not None:
            raise undecided
        return [results[place] for place in wanted]

    found: list[float | int] = decided(compute, accept)
    return found
