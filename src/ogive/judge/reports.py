"""Reports of judgements: JSON, JUnit's XML, and a page of HTML."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ogive.judge.judgement import SCHEMA_VERSION, Judgement

__all__ = ["SCHEMA", "as_json", "write_json", "write_junit"]

#: The schema of the JSON.
SCHEMA = Path(__file__).parent / "data" / "judgement.schema.json"


def as_json(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Judgements as JSON has them: numbers that JSON does not have are texts."""
    import ogive

    data = {
        "schema_version": SCHEMA_VERSION,
        "made_by": f"ogive {ogive.__version__}",
        "within_budget": all(j.within_budget for j in judgements),
        "judgements": [j.as_dict() for j in judgements],
    }
    found: dict[str, Any] = _plain(data)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def write_json(judgements: Sequence[Judgement], path: Path) -> None:
    """Write one file."""
    path.write_text(json.dumps(as_json(judgements), indent=1, allow_nan=False) + "\n", encoding="utf-8")


def write_junit(judgements: Sequence[Judgement], path: Path) -> None:
    """Write one file in JUnit's XML: a test for each judgement, which fails beyond the budget."""
    suite = ElementTree.Element(
        "testsuite",
        name="ogive judge",
        tests=str(len(judgements)),
        failures=str(sum(not j.within_budget for j in judgements)),
        errors="0",
    )
    for judgement in judgements:
        case = ElementTree.SubElement(suite, "testcase", classname=judgement.subject, name=judgement.title)
        if not judgement.within_budget:
            failure = ElementTree.SubElement(case, "failure", message=_clean(judgement.beyond[0]), type="budget")
            lines = [*judgement.beyond, *(f"cause: {cause.text} ({cause.evidence})" for cause in judgement.causes)]
            failure.text = _clean("\n".join(lines))
    ElementTree.indent(suite)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _clean(text: str) -> str:
    """Without what XML does not allow."""
    return "".join(c for c in text if c in "\n\t" or ord(c) >= 32)
