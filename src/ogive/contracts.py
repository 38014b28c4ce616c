"""The accuracy contracts: what an operator promises of its results.

``exact`` is the default. ``fast`` computes element-wise operators on float32, float16 and bfloat16 in float32 without
corrections: with a larger error, which docs/accuracy.md states for each operator, and the same bits on every machine of
one version. Float64, integers and rows are the same in both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ogive.errors import OgiveError, ParameterError, message

__all__ = ["CONTRACTS", "DEFAULT", "checked"]

CONTRACTS = ("exact", "fast")

_ALLOWED = "'exact', 'fast'"


def checked(subject: str, accuracy: object, default: str | None = None) -> str:
    """The name of a contract; None is the default of the process, or the one that is given.

    >>> checked("load", "fast")
    'fast'
    """
    if accuracy is None:
        return default or DEFAULT
    if not isinstance(accuracy, str) or accuracy not in CONTRACTS:
        raise ParameterError(message(subject, f"accuracy is {accuracy!r}", _ALLOWED))
    return accuracy


def _from_environment(environment: Mapping[str, str]) -> str:
    wanted = environment.get("OGIVE_ACCURACY", "").strip() or "exact"
    if wanted not in CONTRACTS:
        raise OgiveError(message("OGIVE_ACCURACY", f"it is {wanted!r}", _ALLOWED))
    return wanted


#: The contract of the process, where none is named: ``OGIVE_ACCURACY`` when Ogive is first imported.
DEFAULT = _from_environment(os.environ)
