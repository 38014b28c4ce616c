"""Checks models in the JSON format of DxDispatch, dispatchable by dispatchable."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ogive.check.findings import Finding, level_named
from ogive.common.documents.document import read_document
from ogive.common.documents.place import DocumentPlace
from ogive.directml import DMLError
from ogive.directml.data import FEATURE_LEVELS
from ogive.directml.descs import OperatorDesc
from ogive.directml.support import validate
from ogive.dxdispatch.loaded_model import ROOT_MEMBERS, type_of
from ogive.dxdispatch.model_descs import operator_desc
from ogive.dxdispatch.onnx_dispatchable import onnx_file
from ogive.dxdispatch.operator_dispatchable import MEMBERS, is_graph
from ogive.errors import ModelError, UnsupportedError

_OPERATOR = "DML_OPERATOR_"

#: CompileGraph came with this level.
_GRAPH_LEVEL = FEATURE_LEVELS["2_1"]


def check_json(path: str | os.PathLike[str], level: int) -> list[Finding]:
    """A finding for every dispatchable of a model; for those that are ONNX models, one for every node.

    Raises ModelError for what is no model; what DirectML itself would refuse is a finding.
    """
    root = DocumentPlace.root(read_document(path)).members(("$schema", *ROOT_MEMBERS), ROOT_MEMBERS)
    folder = Path(path).absolute().parent
    places = root["dispatchables"].members().values()
    return [finding for place in places for finding in _findings(place, folder, level)]


def _findings(place: DocumentPlace, folder: Path, level: int) -> Iterator[Finding]:
    try:
        if type_of(place) == "onnx":
            from ogive.check.onnx_models import check_onnx

            for finding in check_onnx(onnx_file(place, folder), level):
                yield finding._replace(place=f"{place.path}: {finding.place}")
            return
        desc, members = operator_desc(place, beside=MEMBERS)
    except UnsupportedError as error:
        yield Finding(place.path, _name(place), None, "outside", None, (_without_place(error, place),))
    except ModelError as error:
        if not isinstance(error.__cause__, DMLError):
            raise
        name = _name(place)
        yield Finding(place.path, name, name.removeprefix(_OPERATOR), "refused", None, (_without_place(error, place),))
    else:
        yield _judged(place, desc, members, level, _GRAPH_LEVEL if is_graph(place) else 0)


def _without_place(error: Exception, place: DocumentPlace) -> str:
    """The text of an error about a place, with the line: the file is the report's, and the path the finding's."""
    head, _, reason = str(error).removeprefix(f"{place.document.name}, ").partition(": ")
    return f"{head.partition(', ')[0]}: {reason}"


def _name(place: DocumentPlace) -> str:
    return str(place.value.get("type") or place.value.get("Type"))


def _judged(place: DocumentPlace, desc: OperatorDesc, members: DocumentPlace, level: int, least: int) -> Finding:
    """Asks what `Device.CreateOperator` asks, of every feature level."""
    taken = [value for value in FEATURE_LEVELS.values() if value >= least and not _refusal(desc, members, value)]
    reasons = [_refusal(desc, members, level)] if level < least or level not in taken else []
    if level < least:
        reasons.append("CompileGraph was introduced in 2_1")
    return Finding(
        place.path,
        desc.FACTS.type_name,
        desc.FACTS.name,
        "refused" if level not in taken else "taken",
        level_named(taken[0]) if taken else None,
        tuple(reason for reason in reasons if reason),
    )


def _refusal(desc: OperatorDesc, members: DocumentPlace, level: int) -> str:
    """Why a level refuses a desc, with the line of the member; empty if it takes it."""
    try:
        validate(desc, level)
    except DMLError as error:
        place = members.follow(error.member)
        return f"line {place.document.line_of(place.steps)}: {error}"
    return ""
