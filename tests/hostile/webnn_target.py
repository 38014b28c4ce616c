"""WebNN graphs: lists of calls of a builder, as JSON. A text that begins with % is the result of that call."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ogive.webnn import MLContext, MLGraphBuilder
from ogive.webnn.operand import DATA_TYPES, MLOperand
from tests.hostile import json_changes
from tests.hostile.fuzz import Target

_MOST_ELEMENTS = 10_000

_X = ["input", "x", {"dataType": "float32", "shape": [2, 3]}]

SEEDS = [
    json.dumps(calls).encode()
    for calls in (
        [_X, ["elu", "%0", {"alpha": 0.5}], ["softmax", "%1", 1], ["matmul", "%2", "%3"], ["transpose", "%0"]],
        [
            _X,
            ["clamp", "%0", {"minValue": -1, "maxValue": 1}],
            ["reduceSum", "%1", {"axes": [0], "keepDimensions": True}],
        ],
        [_X, ["constant", "float32", 2.5], ["add", "%0", "%1"], ["concat", ["%0", "%2"], 0], ["cast", "%3", "int32"]],
        [
            _X,
            ["slice", "%0", [0, 1], [1, 2]],
            ["expand", "%1", [4, 2]],
            ["reshape", "%2", [8]],
            ["pad", "%3", [1], [2]],
        ],
        [_X, ["greater", "%0", "%0"], ["where", "%1", "%0", "%0"], ["split", "%2", 3, {"axis": 1}], ["gelu", "%0"]],
        [_X, ["layerNormalization", "%0", {"axes": [1], "epsilon": 1e-5}], ["argMax", "%1", 1], ["tile", "%1", [1, 2]]],
    )
]


def _meant(value: Any, made: list[Any]) -> Any:
    if isinstance(value, str) and value[:1] == "%" and value[1:].isdecimal():
        return made[int(value[1:]) % len(made)] if made else value
    if isinstance(value, list):
        return [_meant(item, made) for item in value]
    return {key: _meant(item, made) for key, item in value.items()} if isinstance(value, dict) else value


def survives(data: bytes) -> bool:
    try:
        calls = json.loads(data)
    except (ValueError, RecursionError):
        return False
    builder, made, named = MLGraphBuilder(MLContext()), list[Any](), {}
    for call in calls if isinstance(calls, list) else ():
        name, *arguments = call if isinstance(call, list) and call else [None]
        if (
            not isinstance(name, str)
            or name.startswith("_")
            or not callable(getattr(builder, name, None))
            or name == "build"
        ):
            continue
        result = getattr(builder, name)(*_meant(arguments, made))
        made.extend(one for one in (result if isinstance(result, list) else [result]) if isinstance(one, MLOperand))
        if name == "input" and made:
            named[arguments[0]] = made[-1]
    if not made:
        return False
    graph = builder.build({"y": made[-1]})
    if sum(math.prod(operand.shape) for operand in named.values()) > _MOST_ELEMENTS:
        return False
    graph({name: np.ones(o.shape, DATA_TYPES[o.dataType].numpy) for name, o in named.items() if name in graph._inputs})
    return True


TARGET = Target(
    SEEDS,
    survives,
    lambda data, rng: json_changes.changed(data, rng, SEEDS),
    # Calls with wrong numbers of arguments are Python's to refuse; nothing limits the memory of a graph but the machine.
    lambda error: isinstance(error, MemoryError) or (type(error) is TypeError and "argument" in str(error)),
)
