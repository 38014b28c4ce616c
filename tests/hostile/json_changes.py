"""Changes of what JSON says: values put elsewhere, left out, repeated, or replaced by odd ones."""

from __future__ import annotations

import copy
import json
import random
from collections import deque
from collections.abc import Sequence
from typing import Any

ODD = [
    0, 1, -1, 2, 3.5, 1e400, -0.0, 1 << 31, 1 << 32, 1 << 63, 1 << 64, 10**30, True, None, "", "x", "y", "FLOAT32", "float32",
    "/etc/passwd", "../x", ".", "NaN", "-inf", "\ud800", "a\0b", [], {}, [1, 2, 3], [[1]], [None], {"a": 1}, "a" * 3000,
]  # fmt: skip

_MOST_PLACES = 5000


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Each container with each of its keys, the outermost ones first: a few thousand, as a list may hold itself."""
    found: list[tuple[Any, Any]] = []
    inner = deque([value])
    while inner and len(found) < _MOST_PLACES:
        one = inner.popleft()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        found += [(one, key) for key in keys]
        inner += [one[key] for key in keys]
    return found


def changed(data: bytes, rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """The JSON with one to three changes; a seed, where it is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = json.loads(rng.choice(seeds))
    for _ in range(rng.choice([1, 1, 2, 3])):
        places = _places(value)
        if not places:
            break
        container, key = rng.choice(places)
        others = places if rng.random() < 0.5 else _places(json.loads(rng.choice(seeds)))
        other, at = rng.choice(others)
        way = rng.random()
        if way < 0.35:
            container[key] = rng.choice(ODD)
        elif way < 0.5:
            del container[key]
        elif way < 0.75:
            container[key] = copy.deepcopy(other[at])
        elif isinstance(container, dict):
            container[at if isinstance(at, str) else str(rng.choice(ODD))] = copy.deepcopy(container[key])
        else:
            container.extend([container[key]] * rng.choice([1, 2, 33, 100]))
    try:
        return json.dumps(value).encode("utf-8", "surrogatepass")
    except (RecursionError, ValueError):  # a list in itself; half of a character
        return data
