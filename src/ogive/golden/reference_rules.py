"""The calls of operators whose results ONNX's reference implementation gives: moved elements, places, comparisons, bits.

Most have their inputs in a table, and `Request.reference` computes the results. A second table has what it lacks or gets
wrong. It shares no code with Ogive's `engine/movement/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from ogive.golden.requests import Request, drawn, every_value
from ogive.golden.specification import Call

#: Operator -> its calls: a name, and the inputs, of which a version takes as many as it has. A tuple is the shape of
#: elements that are drawn; a list or number has the elements. A version with calls of its own stands by itself.
CALLS: dict[str, dict[str, tuple[Any, ...]]] = {
    "Compress": {"columns": ((2, 4), [True, False, False, True]), "a short condition": ((2, 4), [False, True])},
    "Concat": {"two": ((2, 3), (2, 1))},
    "Constant": {"value": ()},
    "ConstantOfShape": {f"shape {shape}": (list(shape),) for shape in ((2, 3), (0, 2), ())},
    "DepthToSpace": {"blocks of 2": ((1, 8, 2, 3),)},
    "Dropout": {"inference": ((2, 3, 4), 0.5, False)},
    "Expand": {
        f"{shape} to {wanted}": (shape, list(wanted))
        for shape, wanted in (((3, 1), (2, 1, 4)), ((1,), (0,)), ((2, 2), (1, 1)))
    },
    "EyeLike": {"above the diagonal": ((3, 4),)},
    "Flatten": {"three axes": ((2, 3, 4),)},
    "Gather": {"columns": ((3, 4), [[0, -1], [2, 2]])},
    "GatherElements": {"an axis": ((3, 3), [[1, -1, 0], [2, 0, 2]])},
    "Identity": {f"shape {shape}": (shape,) for shape in ((2, 3), (0,), ())},
    "OneHot": {"four": ([0, 2, 1, 3], 4, (2,))},
    "OneHot-9": {"four": ([0, 2, 1, 3], [4], (2,))},
    "Pad": {"a value": ((2, 3), [1, 0, 0, 2], (), [0, 1])},
    "Pad-1": {"attributes": ((2, 3),)},
    "Pad-2": {"attributes": ((2, 3),)},
    "Reshape": {f"to {wanted}": ((2, 3, 4), list(wanted)) for wanted in ((6, 4), (0, -1, 2), (24,), (2, 3, 4, 1))},
    "Reshape-1": {"to (4, 6)": ((2, 3, 4),)},
    "ReverseSequence": {"three lengths": ((4, 3, 2), [4, 1, 3])},
    "Scatter": {"distinct places": ((3, 3), [[1, 0, -1], [2, 1, 0]], (2, 3))},
    "ScatterElements": {"distinct places": ((3, 3), [[1, 0, -1], [2, 1, 0]], (2, 3))},
    "ScatterND": {"rows": ((4, 2), [[2], [0]], (2, 2))},
    "Shape": {"three axes": ((2, 3, 4),)},
    "Size": {f"shape {shape}": (shape,) for shape in ((2, 3, 4), (0, 3), ())},
    "Slice": {
        "steps": ((4, 5, 3), [-1, 1], [-9, 4], [0, 1], [-2, 2]),
        "steps above 0": ((4, 5, 3), [1, 0], [4, 3], [1, 2], [2, 1]),
        "reversed": ((4, 5, 3), [-1, -1], [-9, -9], [0, 2], [-1, -1]),
        "nothing": ((4, 5, 3), [2], [2], [1], [1]),
    },
    "Slice-1": {"attributes": ((4, 5, 3),)},
    "SpaceToDepth": {"blocks of 2": ((1, 2, 4, 6),)},
    "Split": {"attributes": ((2, 5),)},
    "Split-13": {"sizes": ((2, 5), [3, 2])},
    "Squeeze": {"one axis": ((1, 3, 1, 2), [2])},
    "Tile": {"both axes": ((2, 3), [2, 3])},
    "Tile-1": {"one axis": ((2, 3), 2, 1)},
    "TopK": {"three of seven": ((2, 7), [3])},
    "Transpose": {"three axes": ((2, 3, 4),)},
    "Trilu": {f"k = {k}": ((2, 3, 4), k) for k in (0, -1, 2)},
    "Unsqueeze": {"two axes": ((3, 2), [0, 2])},
    "Where": {"broadcasting": ([[True], [False]], (2, 3), (3,))},
}

#: Results that the reference of onnx 1.23 lacks or gets wrong: it has no such version, and its OneHot computes
#: ``y * (on - off) + off``, which rounds, and which text and truth values refuse.
_OWN: dict[str, Callable[..., Sequence[np.ndarray]]] = {
    "Dropout-1": lambda o, x: (x,),
    "Dropout-6": lambda o, x: (x,),
    "OneHot": lambda o, index, depth, values: (values[(index[:, None] == np.arange(depth.item())).astype(int)],),
    "Reshape-1": lambda o, x: (x.reshape(o.attributes["shape"]),),
    "Scatter": lambda o, x, index, updates: (_scattered(x, index, updates, o.attributes["axis"]),),
    "Split-1": lambda o, x: np.split(x, [o.attributes["split"][0]], o.attributes["axis"]),
    "Tile-1": lambda o, x, tiles, axis: (np.concatenate([x] * int(tiles), int(axis)),),
}


def _scattered(x: np.ndarray, index: np.ndarray, updates: np.ndarray, axis: int) -> np.ndarray:
    found = x.copy()
    np.put_along_axis(found, index, updates, axis)
    return found


def _of_table(o: Request) -> Iterator[Call]:
    """The calls of the table. Elements of one shape at one place are the same in all of them."""
    name = f"{o.operator}-{o.version}"
    own = _OWN.get(name, _OWN.get(o.operator))

    @cache
    def elements(position: int, shape: tuple[int, ...]) -> np.ndarray:
        return drawn(o.kind(position), shape, o.generator)

    for call, row in CALLS.get(name, CALLS.get(o.operator, {})).items():
        given = enumerate(row[: len(o.inputs)])
        inputs = tuple(elements(i, x) if isinstance(x, tuple) else np.array(x, o.kind(i).numpy) for i, x in given)
        yield call, inputs, o.reference(*inputs) if own is None else tuple(x.copy() for x in own(o, *inputs))


def _gather_nd(o: Request) -> Iterator[Call]:
    name, places = ("batches", [[2], [0]]) if o.attributes.get("batch_dims") else ("rows", [[1, -1], [0, 2]])
    x, index = o.data(2, 3, 4), np.array(places, np.int64)
    yield name, (x, index), o.reference(x, index)


def _non_zero(o: Request) -> Iterator[Call]:
    x = o.data(3, 4)
    x.flat[[1, 5]] = "" if x.dtype == object else 0
    yield "two axes", (x,), o.reference(x)


def _arg(o: Request) -> Iterator[Call]:
    x = o.data(3, 5)
    x[0, 1] = x[0, 3] = x[0, 2]
    yield "rows", (x,), o.reference(x)


def _equal(o: Request) -> Iterator[Call]:
    x, y = o.data(2, 3), o.data(3)
    x[0] = y
    yield "broadcasting", (x, y), o.reference(x, y)


def _is_a(o: Request) -> Iterator[Call]:
    x = every_value(o.first)
    yield "every value", (x,), o.reference(x)


def _bit_shift(o: Request) -> Iterator[Call]:
    x = o.data(4, 9)
    by = np.array([0, 1, 2, o.first.bits - 1, 3, 4, 5, 6, 7], o.first.numpy)
    yield "broadcasting", (x, by), o.reference(x, by)


def _bit_cast(o: Request) -> Iterator[Call]:
    """All bits of small types. Truth values are 0 and 1 here; the reference keeps the other bits in NumPy's bytes."""
    source, size = o.first, o.first.numpy.itemsize
    data = bytes(range(1 << source.bits)) if size == 1 else o.generator.bytes(64 * size)
    x = np.frombuffer(bytes([0, 1]) if source.name == "BOOL" else data, source.numpy).copy()
    yield "bits", (x,), (x.view(np.uint8) != 0,) if o.output.name == "BOOL" else o.reference(x)


#: Attributes that are set where a version has them.
REFERENCE_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "ArgMax": {"axis": 1, "keepdims": 0, "select_last_index": 1},
    "ArgMin": {"axis": 1, "keepdims": 0, "select_last_index": 1},
    "BitShift": {"direction": "LEFT"},
    "Compress": {"axis": 1},
    "Concat": {"axis": 1},
    "DepthToSpace": {"blocksize": 2, "mode": "CRD"},
    "EyeLike": {"k": 1},
    "Flatten": {"axis": 2},
    "Gather": {"axis": 1},
    "GatherElements": {"axis": 0},
    "GatherND": {"batch_dims": 1},
    "OneHot": {"axis": -1},
    "Pad": {"paddings": (1, 0, 0, 2), "pads": (1, 0, 0, 2), "value": 1.5, "mode": "constant"},
    "Reshape": {"shape": (4, 6)},
    "ScatterElements": {"axis": 0},
    "Shape": {"start": 1, "end": 3},
    "Slice": {"starts": (1, 2), "ends": (3, 4), "axes": (0, 1)},
    "SpaceToDepth": {"blocksize": 2},
    "Split": {"axis": 1, "split": (3, 2), "num_outputs": 2},
    "Squeeze": {"axes": (0, 2)},
    "TopK": {"axis": 1, "k": 3, "largest": 1, "sorted": 1},
    "Transpose": {"perm": (2, 0, 1)},
    "Trilu": {"upper": 0},
    "Unsqueeze": {"axes": (0, 2)},
}

#: Operator -> its calls.
REFERENCE_RULES: dict[str, Callable[[Request], Iterator[Call]]] = {
    **{name.partition("-")[0]: _of_table for name in CALLS},
    "ArgMax": _arg,
    "ArgMin": _arg,
    "BitCast": _bit_cast,
    "BitShift": _bit_shift,
    "Equal": _equal,
    "GatherND": _gather_nd,
    "IsInf": _is_a,
    "IsNaN": _is_a,
    "NonZero": _non_zero,
}
