"""The accuracy contracts: what an operator promises of its results.

``exact`` is the default. ``fast`` computes element-wise operators on float32, float16 and bfloat16 in float32 without
corrections: with a larger error, which docs/accuracy.md states for each operator, and the same bits on every machine of
one version. Float64, integers and rows are the same in both.
"""

from __future__ import annotations

from ogive.errors import ParameterError, message, variable

CONTRACTS = ("exact", "fast")

#: The form of the fast contract that exported C has: float32 alone, without fused multiply-add (lowering/single_precision.py).
IN_FLOAT = "in float"


def checked(subject: str, accuracy: object, default: str | None = None) -> str:
    """The name of a contract; None is the default of the process, or the one that is given.

    >>> checked("load", "fast")
    'fast'
    """
    if accuracy is None:
        return default or DEFAULT
    if not isinstance(accuracy, str) or accuracy not in CONTRACTS:
        raise ParameterError(message(subject, f"accuracy is {accuracy!r}", "'exact', 'fast'"))
    return accuracy


#: The contract of the process, where none is named: ``OGIVE_ACCURACY`` when Ogive is first imported.
DEFAULT = variable("OGIVE_ACCURACY", CONTRACTS)
