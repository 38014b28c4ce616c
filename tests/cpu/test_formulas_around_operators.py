"""Formulas around every operator, and their derivatives, are right by a second oracle: in every type, on every target.

An operator may be right alone and wrong inside a formula: a kernel may keep a sign apart, a definition may hold numerics, a derivative
may be one of an approximation. So each is opposed, multiplied, chosen, rounded, differentiated and more, at ordinary numbers, tiny
and large ones, and both infinities. MPFR's definitions judge (tests/golden/composed.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gmpy2", reason="the second oracle is MPFR")
from ogive.backends.target import runnable_targets
from ogive.common.dtypes import element_type
from ogive.enclosures.enclosure import right_result
from ogive.runtime.kernels import make_ufunc
from tests.golden.composed import FORMS, exact, is_right, operators, points, written

KINDS = "float16", "bfloat16", "float32", "float64"

#: Forms that are wrong somewhere, and why. All matrices find an entry that has become right.
KNOWN: dict[tuple[str, str], str] = {}

#: The same in float64 alone.
KNOWN_OF_DOUBLES: dict[tuple[str, str], str] = {}

#: Forms of which kernels decide a result otherwise than enclosures do.
KNOWN_OF_KERNELS: set[tuple[str, str]] = set()


def known(name: str, form: str, kind: str) -> str | None:
    return KNOWN.get((name, form)) or (KNOWN_OF_DOUBLES.get((name, form)) if kind == "float64" else None)


def results_of_formula(name: str, form: str, kind: str) -> list[Any]:
    """The results that enclosures find: they decide what no kernel does."""
    (root,) = written(name, form, kind).formula(for_doubles=kind == "float64")
    return [right_result(root, [float(x)], {}, element_type(kind))[0] for x in points(kind)]


def wrong(name: str, form: str, kind: str, results: Any) -> Iterator[str]:
    """Descriptions of the results that are not right."""
    for x, found in zip(map(float, points(kind)), map(float, results), strict=True):
        right = exact(name, form, x)
        if right is not None and is_right(found, right, kind) is False:
            yield f"{form} of {name}({x}) is {found}, and not {float(right.value)}"


@pytest.mark.matrix("name", share=12)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", list(operators()))
def test_the_formula_is_right(name: str, kind: str) -> None:
    for form in FORMS:
        found = list(wrong(name, form, kind, results_of_formula(name, form, kind)))
        assert not found or known(name, form, kind), found


@pytest.mark.matrix
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "form"), [*KNOWN, *KNOWN_OF_DOUBLES])
def test_what_is_known_to_be_wrong_is(name: str, form: str, kind: str) -> None:
    if known(name, form, kind):
        found = list(wrong(name, form, kind, results_of_formula(name, form, kind)))
        assert found, f"{form} of {name} in {kind} has become right: take its entry out of KNOWN"


@pytest.mark.matrix("name", share=5)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", list(operators()))
def test_kernels_are_right_on_every_target(name: str, kind: str, form: str) -> None:
    op, x = written(name, form, kind), points(kind)
    (signature,) = op.signatures
    program = op.program(signature)
    for target in runnable_targets().values():
        with np.errstate(all="ignore"):
            results = make_ufunc("formula", program, target)(x)
        found = list(wrong(name, form, kind, results))
        assert not found or known(name, form, kind) or (name, form) in KNOWN_OF_KERNELS, (target.name, found)
