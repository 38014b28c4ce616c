"""One error for all nodes of a model that Ogive does not take: a line for each operator and reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from onnx import NodeProto

from ogive.errors import UnsupportedError
from ogive.onnx import schemas
from ogive.onnx.node import short


class NoOperatorError(UnsupportedError):
    """Ogive does not have the operator of a node. Then the node's place says no more than a count of such nodes does."""


def grouped(reasons: Iterable[str]) -> list[str]:
    """Reasons that differ by names alone as one, with the number of the others."""
    groups: dict[str, list[str]] = {}
    for reason in reasons:
        shown = reason.replace(f". {schemas.LEFT_TO_OTHERS}", "")
        groups.setdefault(re.sub(r"'[^']*'", "''", shown), []).append(shown)
    lines = []
    for first, *more in groups.values():
        like_it = f" ({len(more)} more {'nodes' if more[1:] else 'node'} like it)" if more else ""
        lines.append(first + like_it)
    return lines


def all_of_them(refusals: Mapping[int, UnsupportedError], nodes: Sequence[NodeProto], subject: str) -> UnsupportedError:
    """One error for all nodes that are refused: a line for each operator and reason."""
    if len(refusals) == 1:
        text = str(next(iter(refusals.values())))
        return UnsupportedError(text if schemas.LEFT_TO_OTHERS in text else f"{text}. {schemas.LEFT_TO_OTHERS}")
    counts = Counter(nodes[place].op_type for place in refusals)
    shown = ", ".join(f"{short(name)} x {n}" if n > 1 else short(name) for name, n in counts.most_common())
    what = f"{subject}: {len(refusals)} of {len(nodes)} nodes are refused: {shown}. {schemas.LEFT_TO_OTHERS}"
    made = UnsupportedError(what + _listed(refusals.values()))
    made.summary = what + _listed(error for error in refusals.values() if not isinstance(error, NoOperatorError))
    return made


def _listed(refusals: Iterable[UnsupportedError]) -> str:
    lines = grouped(map(str, refusals))
    return "".join((":", *(f"\n- {line}" for line in lines))) if lines else ""
