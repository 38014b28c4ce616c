"""The acceptable results: the largest error, and which policies may be broken. Files in YAML say it by operator and type."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ogive.catalog import OPERATORS
from ogive.catalog.aliases import ALIASES
from ogive.common.documents.document import read_text
from ogive.common.dtypes import ELEMENT_TYPES, FLOATS_OF_8_BITS
from ogive.errors import ModelError, message, needed, suggestion
from ogive.judge.judgement import ALLOWABLE, FATAL, POLICIES, Judgement


@dataclass(frozen=True)
class Budget:
    """The acceptable errors of one operator in one element type."""

    max_ulp: float = 1.0
    """The largest error against the exact value; of integers, the largest difference."""
    max_not_nearest: int | None = None
    """How many results may be other than the nearest ones; None: any number."""
    allow: frozenset[str] = field(default_factory=lambda: frozenset({"zero_sign"}))
    """Policies that may be broken."""
    max_dependence: float | None = None
    """How far, in numbers of the type, results may depend on length and position; None: any, within the budget."""

    def decide(self, judgement: Judgement) -> None:
        """Write into a judgement whether it is within the budget, and what is beyond."""
        beyond = []
        if not judgement.worst_ulp <= self.max_ulp and judgement.worst is not None:
            at = ", ".join(f"{value:.9g}" for value in judgement.worst.inputs)
            beyond.append(f"the largest error is {judgement.worst_ulp:.4g} ULP, at {at}; allowed: {self.max_ulp:g}")
        not_nearest = judgement.not_nearest + judgement.calls.not_nearest
        if self.max_not_nearest is not None and not_nearest > self.max_not_nearest:
            of_calls = (
                f", {judgement.calls.not_nearest:,} of them only in some calls" if judgement.calls.not_nearest else ""
            )
            what = f"{not_nearest:,} results are not the nearest ones{of_calls}"
            beyond.append(f"{what}; allowed: {self.max_not_nearest:,}")
        for name, policy in judgement.policies.items():
            if not policy.count or (name in self.allow and name not in FATAL):
                continue
            if policy.text:
                more = f" (and in {policy.count - 1:,} more)" if policy.count > 1 else ""
                beyond.append(f"{name}: {policy.text}{more}")
            else:
                at = "" if policy.example is None else " at " + ", ".join(f"{v:.9g}" for v in policy.example.inputs)
                beyond.append(f"{name}: {POLICIES[name]}, {policy.count:,} times, first{at}")
        if judgement.calls.beyond:
            beyond.append(judgement.calls.text)
        if self.max_dependence is not None and judgement.dependence.steps > self.max_dependence:
            beyond += judgement.dependence.found
        judgement.budget = {**asdict(self), "allow": sorted(self.allow)}
        judgement.beyond = beyond
        judgement.within_budget = not beyond


_MEMBERS = {
    "operator": str,
    "dtype": str,
    "max_ulp": (int, float),
    "max_not_nearest": int,
    "allow": list,
    "max_dependence": (int, float),
}

#: The names of which a pattern must fit one: a misspelt name would leave the budget as it is.
_KNOWN: dict[str, Callable[[], list[str]]] = {
    "operator": lambda: [*OPERATORS, *ALIASES],
    "dtype": lambda: [*ELEMENT_TYPES, *FLOATS_OF_8_BITS],
}


@dataclass(frozen=True)
class Budgets:
    """The rows of a file; the last one that fits an operator and type decides, member by member."""

    rows: tuple[Mapping[str, Any], ...]

    def of(self, operator: str, dtype: str) -> Budget:
        """The budget of an operator in an element type.

        >>> rows = {"operator": "*", "max_ulp": 2}, {"operator": "gelu", "dtype": "bfloat16", "max_ulp": 0.5}
        >>> Budgets(rows).of("gelu", "bfloat16").max_ulp, Budgets(rows).of("gelu", "float32").max_ulp
        (0.5, 2)
        """
        found: dict[str, Any] = {}
        for row in self.rows:
            fits = fnmatch.fnmatchcase(operator, row.get("operator", "*"))
            if fits and fnmatch.fnmatchcase(dtype, row.get("dtype", "*")):
                found |= {name: value for name, value in row.items() if name not in ("operator", "dtype")}
        if "allow" in found:
            found["allow"] = frozenset(found["allow"])
        return Budget(**found)


def load(path: Path) -> Budgets:
    """Read a file of budgets.

    Raises MissingPackageError without PyYAML, ModelError for what is no such file.
    """
    with needed("budgets", "'ogive[judge]'", "PyYAML", "yaml"):
        import yaml
    text = read_text(path)
    try:
        data = yaml.safe_load(text)
    except RecursionError:
        raise ModelError(message(str(path), "its lists and mappings are nested too deeply", "two levels")) from None
    except (yaml.YAMLError, ValueError) as error:  # the second of odd numbers
        raise ModelError(f"{path}: it is no YAML: {' '.join(str(error).split())}") from None
    rows = data.get("budgets") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        raise ModelError(message(str(path), "it has no list 'budgets'", "budgets: [{operator: ..., max_ulp: ...}]"))
    for number, row in enumerate(rows, 1):
        _check(str(path), number, row)
    return Budgets(tuple(rows))


def _check(path: str, number: int, row: Any) -> None:
    where = f"{path}, budget {number}"
    if not isinstance(row, dict):
        raise ModelError(message(where, f"it is {row!r}", "a mapping"))
    for name, value in row.items():
        if name not in _MEMBERS:
            raise ModelError(message(where, f"there is no member {name!r}", ", ".join(_MEMBERS)))
        if not isinstance(value, _MEMBERS[name]) or isinstance(value, bool):  # type: ignore[arg-type]
            raise ModelError(message(where, f"{name} is {value!r}", "a text" if _MEMBERS[name] is str else "a number"))
        if not isinstance(value, str | list) and not value >= 0:
            raise ModelError(message(where, f"{name} is {value!r}", "numbers from 0 on"))
        # Names of the standards have capital letters.
        if name in _KNOWN and value == value.lower() and not fnmatch.filter(_KNOWN[name](), value):
            what, allowed = f"no {name} is called {value!r}", "their names, and patterns such as '*' and '*float16'"
            raise ModelError(message(where, what, allowed, suggestion(value, _KNOWN[name]())))
        if name == "allow":
            unknown = [policy for policy in value if policy not in ALLOWABLE]
            if unknown:
                raise ModelError(message(where, f"allow has {unknown[0]!r}", ", ".join(ALLOWABLE)))
