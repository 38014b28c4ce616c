"""Check the links of a built site: ``python -m website.links [FOLDER]``, which is build/site/html unless told otherwise.

It reports what a page links to or shows that is not in the site: pages, headings, pictures, scripts. Links to other sites
are counted and not followed: that needs a network.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Checked", "check"]

#: Elements that name a file, with the attribute that does.
NAMING = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src"}


@dataclass
class Checked:
    """The findings of a check of a site."""

    pages: int = 0
    internal: int = 0
    """Links that were followed."""
    external: int = 0
    """Links to other sites, which were not."""
    faults: list[str] = field(default_factory=list)
    """A sentence for each link that leads nowhere, and for each name that a page has twice."""


class _Page(HTMLParser):
    """The links of a page, and the names that others may link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.names: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        if "id" in given:
            self.names[given["id"]] += 1
        target = given.get(NAMING.get(tag, ""))
        if target:
            self.targets.append(target)


def check(folder: Path) -> Checked:
    """Follow every link of every page of a folder."""
    root = folder.resolve()
    files = [path for path in sorted(root.rglob("*.html")) if "_static" not in path.relative_to(root).parts]
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in files}
    found = Checked(pages=len(pages))
    if not pages:
        found.faults.append(f"{folder} has no pages")
    for path, page in pages.items():
        name = path.relative_to(root)
        found.faults += [f"{name}: the name #{each} is there twice" for each, count in page.names.items() if count > 1]
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                found.external += 1
                continue
            found.internal += 1
            other = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not other.is_file() or not other.is_relative_to(root):
                found.faults.append(f"{name}: {target} is not in the site")
            elif parts.fragment and other in pages and unquote(parts.fragment) not in pages[other].names:
                found.faults.append(f"{name}: {target}: the page has no heading of this name")
    return found


def main() -> int:
    """The command: 0 if every link leads somewhere."""
    parser = argparse.ArgumentParser(description="Check the links of the built site.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/site/html"), help="where its pages are")
    found = check(parser.parse_args().folder)
    for fault in found.faults:
        print(fault, file=sys.stderr)
    print(
        f"{found.pages} pages, {found.internal} links followed, {len(found.faults)} faults; "
        f"{found.external} links to other sites not followed"
    )
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
