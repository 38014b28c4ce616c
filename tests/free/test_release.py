"""The command that releases (tools/release.py): on this repository's files, and what it refuses."""

import pytest

from tools.release import Refused, _files, changes, notes


def test_one_command_releases_what_is_here():
    files = _files()
    address = "https://github.com/example/ogive"
    new = changes("1.0.0", "2030-01-02", files, address)
    assert f'Repository = "{address}"\n' in new["pyproject.toml"]
    assert not any("repository.invalid" in text for text in new.values())
    assert "  version: '1.0.0'," in new["meson.build"]
    assert "\n## 1.0.0, 2030-01-02\n" in new["CHANGELOG.md"]
    assert "5 - Production/Stable" in new["pyproject.toml"]
    assert 200 < len(notes(files["CHANGELOG.md"]).split()) < 600  # it is read in two minutes


def test_an_address_that_is_none():
    with pytest.raises(Refused, match=r"^the repository is 'ogive'; allowed: its address, such as https://"):
        changes("1.0.0", "2030-01-02", _files(), "ogive")


def test_the_first_releases_are_beta():
    new = changes("0.1.0", "2030-01-02", _files(), "https://github.com/example/ogive")
    assert "4 - Beta" in new["pyproject.toml"]


@pytest.mark.parametrize(
    ("version", "altered", "text"),
    [
        ("1.0", {}, "the version is '1.0'; allowed: three numbers, such as 1.0.0"),
        ("0.0.9", {}, "the version is 0.0.9, and meson.build is at 0.1.0"),
        (
            "1.0.0",
            {"CHANGELOG.md": "## 0.1.0, 2030-01-02\n"},
            "CHANGELOG.md has no section `## VERSION, not released` with",
        ),
        (
            "1.0.0",
            {"pyproject.toml": 'Repository = "https://repository.invalid/ogive"'},
            "pyproject.toml has https://repository.invalid/ogive; allowed: the real address. Give it by --repository",
        ),
        (
            "1.0.0",
            {"README.md": "It is not released."},
            "README.md says 'It is not released.'; allowed: what is true after",
        ),
    ],
)
def test_what_is_refused(version, altered, text):
    files = {
        "meson.build": "  version: '0.1.0',",
        "CHANGELOG.md": "## 0.1.0, not released\n\nNew.\n",
        "pyproject.toml": "",
    }
    with pytest.raises(Refused, match=text.replace("(", r"\(")):
        changes(version, "2030-01-02", files | altered)
