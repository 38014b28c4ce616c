"""Judge every peer that is installed, every operator and type: ``python -m tools.scoreboard [TYPE...]`` prints a table."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence

from ogive.catalog import OPERATORS
from ogive.errors import MissingPackageError, OgiveError
from ogive.golden.specification import of_operator
from ogive.judge.judgement import Judgement
from ogive.judge.judging import judge
from ogive.judge.subjects import subject
from ogive.laboratory.peers.peer_functions import PEERS, version

__all__ = ["markdown", "rows"]

TYPES = ("float16", "bfloat16", "float32", "float64")


def rows(peers: Sequence[str], types: Sequence[str] = TYPES) -> Iterator[tuple[str, str, str, Judgement | None]]:
    """Operator, type, peer and what was found; None where the peer does not have it."""
    for operator in OPERATORS.values():
        if operator.inputs != 1 or operator.is_row_wise or any(p.is_required for p in operator.parameters):
            continue
        for kind in types:
            try:
                spec = of_operator(operator, kind)
            except OgiveError:
                continue
            for peer in peers:
                found = None
                try:
                    found = judge(subject(peer, spec), spec, with_dependence=False)
                except Exception:  # a library may raise anything for a type that it does not have
                    found = None
                yield operator.name, kind, peer, found


def markdown(peers: Sequence[str], types: Sequence[str] = TYPES) -> str:
    """The table, and how to read it."""
    lines = [
        "Every operator of one tensor, with its default parameters, as other libraries compute it: the largest error in",
        "ULP against exact values, then how many results are not the nearest ones, in per mille. Letters are policies that",
        "are broken: **n** NaN is lost, **N** NaN is made, **i** an infinity is lost, **I** one is made, **f** subnormals",
        "are flushed. An empty cell: the library does not",
        "have it. 16-bit types are judged over all inputs, others over chosen and evenly spread ones.",
        "",
        "`ogive judge LIBRARY --operator NAME` has the details of a row.",
        "",
        "Judged: " + ", ".join(version(peer) if peer != "ogive" else "ogive" for peer in peers) + ".",
        "",
        "| operator | type | " + " | ".join(peers) + " | cause |",
        "|---|---|" + "---|" * (len(peers) + 1),
    ]
    cells: dict[tuple[str, str], dict[str, Judgement | None]] = {}
    for operator, kind, peer, found in rows(peers, types):
        cells.setdefault((operator, kind), {})[peer] = found
    for (operator, kind), each in cells.items():
        worst = max(
            (j for j in each.values() if j is not None and j.causes and not j.within_budget),
            key=lambda j: j.worst_ulp,
            default=None,
        )
        cause = "" if worst is None else f"{worst.subject}: {worst.causes[0].name}"
        lines.append(f"| {operator} | {kind} | " + " | ".join(_cell(each[p]) for p in peers) + f" | {cause} |")
    return "\n".join(lines) + "\n"


_LETTERS = {
    "nan_lost": "n",
    "nan_made": "N",
    "infinity_lost": "i",
    "infinity_made": "I",
    "result_flushed": "f",
    "input_flushed": "f",
}


def _cell(found: Judgement | None) -> str:
    if found is None:
        return ""
    letters = "".join(dict.fromkeys(_LETTERS[n] for n, p in found.policies.items() if p.count and n in _LETTERS))
    share = 1000 * found.not_nearest / max(1, found.count)
    return f"{found.worst_ulp:.3g}, {share:.3g}‰" + (f" **{letters}**" if letters else "")


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    peers = ["ogive"]
    for peer in PEERS:
        try:
            version(peer)
        except MissingPackageError:
            continue
        peers.append(peer)
    print(markdown(peers, sys.argv[1:] or TYPES))


if __name__ == "__main__":
    main()
