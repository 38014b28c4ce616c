"""From docs/ and the catalogue to HTML."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from ogive.catalog import OPERATORS
from website import api, boxes, gallery, operators
from website.contents import write_navigation

__all__ = ["build", "gather"]

ROOT = Path(__file__).resolve().parent.parent

#: Files of the root that are pages.
FROM_ROOT = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}

#: The beginning of a page that the search leaves out: every name stands in the list of changes.
NOT_FOUND = "---\nnosearch: true\n---\n\n"


def build(folder: Path, only: Sequence[str] | None = None) -> int:
    """Write the site to a folder: Sphinx's exit status."""
    from sphinx.cmd.build import main

    source = folder / "source"
    gather(source, only)
    status = main(
        [
            *("-c", str(ROOT / "website")),
            *("-b", "html", "-W", "--keep-going", "-q"),
            *("-d", str(folder / "doctrees")),
            str(source),
            str(folder / "html"),
        ]
    )
    boxes.write_modules(folder / "html" / "_static" / "boxes", list(only or OPERATORS))
    return status


def gather(source: Path, only: Sequence[str] | None = None) -> None:
    """Bring all pages together: those of docs/, some of the root, and those that are generated."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    for name, page in FROM_ROOT.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        (source / page).write_text(NOT_FOUND + text if page == "changelog.md" else text, encoding="utf-8")
    operators.write(source / "operators", only)
    (source / "api.md").write_text(api.page(), encoding="utf-8")
    (source / "gallery.md").write_text(gallery.page(), encoding="utf-8")
    for path in [*source.glob("*.md"), *source.glob("tables/*.md")]:
        text = path.read_text(encoding="utf-8")
        text = _with_messages(text) if path.name == "troubleshooting.md" else text
        path.write_text(_linked(text, path, source), encoding="utf-8")
    write_navigation(source)


def _with_messages(text: str) -> str:
    """The page of messages, with index entries of their parts, by which the search finds it first."""
    messages = re.findall(r"^`([^`]+)`.*\n: ", text, re.MULTILINE)
    parts = {
        part.strip(" .") for each in messages for part in re.split(r"\.\.\.|[;,:()]|'.*?'|\b(?:is|has)\b|\d", each)
    }
    entries = ", ".join(f"! {part}" for part in sorted(parts) if " " in part)
    title, rest = text.split("\n", 1)
    return f"{title}\n\n```{{index}} {entries}\n```\n{rest}"


def _linked(text: str, page: Path, source: Path) -> str:
    """Links as they are in the repository become links of the site; those to files outside of it become their names."""
    place = ROOT / ("" if page.name in FROM_ROOT.values() else "docs") / page.relative_to(source).parent

    def replaced(found: re.Match[str]) -> str:
        title, target, part = found[1], found[2], found[3] or ""
        if re.match(r"[a-z]+:", target):
            return found[0]
        file = (place / target).resolve().relative_to(ROOT).as_posix()
        named = "index.md" if file == "README.md" else FROM_ROOT.get(file, file.removeprefix("docs/"))
        if not (source / named).exists():
            return f"{title} (`{file}`)"
        return f"[{title}]({os.path.relpath(source / named, page.parent)}{part})"

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)", replaced, text)
