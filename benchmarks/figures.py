"""The file of figures: those of each processor stand by themselves, and a run replaces its own processor's alone.

A processor here is a name and a level of instructions: the figures of x86-64-v3 on a processor that has more are others.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.tables import Row, ratio

__all__ = ["RESULTS", "machine", "of_processor", "read", "stored", "title", "versions", "worse", "write"]

RESULTS = Path(__file__).with_name("results.json")

#: One processor's figures: {"machine": ..., "versions": ..., "threads": ..., "rounds": ..., "sections": ...}.
Figures = dict[str, Any]

#: A ratio to the fastest peer below so much of the table's is worse: ratios differ by 10 to 20 % between runs.
WORSE = 0.8


def read(file: Path = RESULTS) -> list[Figures]:
    """The figures of all processors; none where there is no file."""
    return list(json.loads(file.read_text(encoding="utf-8"))["processors"]) if file.exists() else []


def write(file: Path, found: list[Figures]) -> None:
    """A line a case, so that changes can be read."""
    text = json.dumps({"processors": found}, indent=None, separators=(",", ":"))
    file.write_text(text.replace('{"section"', '\n{"section"').replace('{"machine"', '\n{"machine"') + "\n")


def machine(level: str) -> dict[str, str]:
    """The processor that this runs on, the level whose instructions are used, and when."""
    facts = {"processor": processor(), "level": level, "python": platform.python_version()}
    facts["date"] = time.strftime("%Y-%m-%d")
    if hasattr(os, "getloadavg"):
        facts["load"] = f"{os.getloadavg()[2]:.1f}"
    return facts


def title(one: Figures) -> str:
    """The processor and the level."""
    return f"{one['machine']['processor']}, {one['machine']['level']}"


def versions(peers: Sequence[str]) -> dict[str, str]:
    """Those of the packages that took part."""
    found = {}
    for package in ("numpy", *dict.fromkeys(peer.split(".")[0] for peer in peers)):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def of_processor(found: Sequence[Figures], facts: dict[str, str]) -> Figures:
    """The figures of one processor at one level; empty ones where none have been measured."""
    same = (one for one in found if all(one["machine"][key] == facts[key] for key in ("processor", "level")))
    return next(same, {"machine": facts, "sections": {}})


def stored(before: Sequence[Figures], now: Figures) -> list[Figures]:
    """All figures after a run: its cases take the place of the same processor's, and nothing else changes."""
    old = of_processor(before, now["machine"])["sections"]
    sections = old | {name: _updated(name, old.get(name, []), rows) for name, rows in now["sections"].items()}
    key = title(now)
    updated = {title(one): one for one in before} | {key: now | {"sections": sections}}
    return list(updated.values())


def _updated(section: str, before: list[Row], now: list[Row]) -> list[Row]:
    if section == "cliffs":  # all cells of a type are measured together
        types = {row["dtype"] for row in now}
        before = [row for row in before if row["dtype"] not in types]
    return list(({_identity(row): row for row in before} | {_identity(row): row for row in now}).values())


def _identity(row: Row) -> str:
    return json.dumps([row.get(key) for key in ("name", "operator", "family", "shapes", "dtype", "layout", "in_place")])


def worse(now: Figures, before: Figures) -> tuple[int, list[tuple[Row, float, float]]]:
    """How many of a run's cases the table has, and those whose ratio has become worse: the row, the ratio in the table, today's.

    Only peers that took part both times count.
    """
    compared, found = 0, []
    for section, rows in now["sections"].items():
        old = {_identity(row): row for row in before["sections"].get(section, [])}
        for row in rows:
            same = old.get(_identity(row))
            if same is None or same.get("threads") != row.get("threads"):
                continue
            both = row["seconds"].keys() & same["seconds"].keys()
            then, today = (
                ratio(one | {"seconds": {peer: one["seconds"][peer] for peer in both}}) for one in (same, row)
            )
            if then == then and today == today:
                compared += 1
                if today < WORSE * then:
                    found.append((row, then, today))
    return compared, sorted(found, key=lambda each: each[2] / each[1])


def processor() -> str:
    """The name that the system gives. Virtual machines hide numbers: family and model stand in their place."""
    name = cpuinfo("model name") or platform.processor() or platform.machine()
    family, model = cpuinfo("cpu family"), cpuinfo("model\t")
    hidden = not any(character.isdigit() for character in name.partition("@")[0])
    return f"{name}, family {family}, model {model}" if hidden and family and model else name


def cpuinfo(key: str) -> str:
    """A line of /proc/cpuinfo; "" where there is none."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(key))
    except (OSError, StopIteration):
        return ""
