"""Release a version: ``python -m tools.release 1.0.0``. One commit and one tag; pushing the tag publishes.

    python -m tools.release 1.0.0 --dry-run    # check everything, and print what would change
    python -m tools.release 1.0.0 --repository https://github.com/OWNER/ogive    # the first time

The command writes the version into meson.build, the date into CHANGELOG.md, and takes back what documents say of a package
that is not released. Then it commits, and tags with the notes of the changelog. `.github/workflows/wheels.yml` builds the
wheels of a tag, tests them, and publishes them by trusted publishing: there is no password to keep. The package index must
know the repository, the file wheels.yml and the environment `pypi`.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["Refused", "changes", "notes"]

ROOT = Path(__file__).parents[1]
DEVELOPMENT = "not released"

#: The text of documents until there is a release, as a pattern, and what they say from then on.
_UNTIL_THEN = (
    (
        r"Ogive is not released yet\. Install it from a clone, or from a wheel\s+file: `pip install ogive-\*\.whl`\.",
        "`pip install ogive` installs the latest release.",
    ),
    (
        r"Ogive is not released yet\. In a clone of the repository:\n\n```sh\npip install '\.\[all\]'",
        "```sh\npip install 'ogive[all]'",
    ),
    (
        r"Ogive is not released yet\. A clone needs",
        "`pip install 'ogive[all]'` installs the latest release. A clone needs",
    ),
)
_ALPHA, _BETA, _STABLE = (
    f"Development Status :: {status}" for status in ("3 - Alpha", "4 - Beta", "5 - Production/Stable")
)

#: The repository's address in files, until a release has written the real one.
REPOSITORY = "https://repository.invalid/ogive"


class Refused(Exception):
    """Why there can be no release now."""


def notes(changelog: str) -> str:
    r"""The text of the changelog about the version in development.

    >>> notes("# Changelog\n\n## 0.1.0, not released\n\nNew: all.\n\n## 0.0.1, 2020-01-01\n\nOld.\n")
    'New: all.'
    """
    found = re.search(rf"^## \S+, {DEVELOPMENT}\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise Refused(f"CHANGELOG.md has no section `## VERSION, {DEVELOPMENT}` with text in it")
    return found[1].strip()


def changes(version: str, date: str, files: Mapping[str, str], repository: str = "") -> dict[str, str]:
    """The files that a release alters, by their new texts.

    ``repository`` is the address of the repository, which the first release writes where it is missing.

    Raises Refused for a version that is none or is not newer, for documents that still speak of no release, and for an
    address that is missing or is none.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Refused(f"the version is {version!r}; allowed: three numbers, such as 1.0.0")
    current = re.search(r"^  version: '([\d.]+)',$", files["meson.build"], re.MULTILINE)
    if current is None:
        raise Refused("meson.build does not say the version")
    if _numbers(version) < _numbers(current[1]):
        raise Refused(f"the version is {version}, and meson.build is at {current[1]}")
    notes(files["CHANGELOG.md"])
    new = {name: text.replace(REPOSITORY, repository or REPOSITORY) for name, text in files.items()}
    if repository and not re.fullmatch(r"https://[\w.-]+\.[a-z]+(/[\w.-]+)+", repository):
        raise Refused(f"the repository is {repository!r}; allowed: its address, such as https://github.com/OWNER/ogive")
    if left := [name for name, text in new.items() if REPOSITORY in text]:
        raise Refused(f"{left[0]} has {REPOSITORY}; allowed: the real address. Give it by --repository")
    new["meson.build"] = new["meson.build"].replace(current[0], f"  version: '{version}',")
    new["CHANGELOG.md"] = re.sub(
        rf"^## \S+, {DEVELOPMENT}$", f"## {version}, {date}", new["CHANGELOG.md"], flags=re.MULTILINE
    )
    status = _BETA if version.startswith("0.") else _STABLE
    for older in (_ALPHA, _BETA):
        new["pyproject.toml"] = new["pyproject.toml"].replace(older, status)
    for name in (name for name in files if name.endswith(".md") and name != "CHANGELOG.md"):
        for pattern, text in _UNTIL_THEN:
            new[name] = re.sub(pattern, text, new[name])
        if left := [line for line in new[name].splitlines() if DEVELOPMENT in line]:
            raise Refused(f"{name} says {left[0].strip()!r}; allowed: what is true after the release")
    return {name: text for name, text in new.items() if text != files[name]}


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _files() -> dict[str, str]:
    paths = [
        ROOT / name
        for name in ("meson.build", "pyproject.toml", "CITATION.cff", *sorted(p.name for p in ROOT.glob("*.md")))
    ]
    paths += sorted(ROOT.glob("docs/**/*.md"))
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("version", help="three numbers, such as 1.0.0")
    parser.add_argument(
        "--repository", default="", metavar="URL", help="the repository's address, at the first release"
    )
    parser.add_argument("--dry-run", action="store_true", help="check everything, and change nothing")
    given = parser.parse_args(arguments)
    tag = f"v{given.version}"
    try:
        if _git("tag", "--list", tag):
            raise Refused(f"the tag {tag} exists")
        if not given.dry_run and _git("status", "--porcelain", "--untracked-files=no"):
            raise Refused("there are changes that are not committed")
        files = _files()
        new = changes(given.version, datetime.datetime.now(datetime.UTC).date().isoformat(), files, given.repository)
    except Refused as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    for name, text in new.items():
        print(f"{name}: {len(set(text.splitlines()) - set(files[name].splitlines()))} lines change")
    if given.dry_run:
        print(f"would commit and tag {tag}; its notes have {len(notes(files['CHANGELOG.md']).split()):,} words")
        return 0
    for name, text in new.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    _git("commit", "--all", "--message", f"Release {given.version}")
    # The notes' headings begin with #, which is no comment here.
    _git(
        "tag",
        "--annotate",
        "--cleanup=verbatim",
        tag,
        "--message",
        f"Ogive {given.version}\n\n{notes(files['CHANGELOG.md'])}\n",
    )
    print(f"committed and tagged {tag}. To publish: git push origin HEAD {tag}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
