"""Each extra in an environment of its own: it brings the packages that docs/installing.md names, and its page's first program runs.

The tests install packages, so they are a sweep of their own: `.ci/extras` and `--matrices=whole` run them. The large extras (PyTorch,
JAX) run where OGIVE_EXTRAS is `all`.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.meta.test_blocks import GIVEN, blocks

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]

#: The rows of the page: extra, packages, purpose, page.
ROWS = {
    extra: (brings, page)
    for extra, brings, page in re.findall(
        r"^\| `(?:pip install )?'?\.(?:\[(\w+)\]')?` \| ([^|]*) \|[^|]*\| (?:\[[^|]*\]\(([\w#.-]+)\))? ?\|$",
        (ROOT / "docs" / "installing.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}

#: Hundreds of megabytes, or a device that is not there.
LARGE = {"torch", "jax"}
NEED_A_DEVICE = {"opencl", "cuda"}

#: The programs of extras whose pages need more than one extra.
PROGRAMS = {
    "cli": [("sh", "ogive list tanh\nogive doctor || true\n")],
    "plot": [("python", "import matplotlib.figure\n")],
    "": [
        (
            "pycon",
            """>>> import ogive
>>> ogive.gelu(1.0)
Traceback (most recent call last):
    ...
ogive.errors.MissingPackageError: llvmlite: this install has no compiled kernels, as it was built from sources. Install the compiler of kernels: pip install 'ogive[compile]'
""",
        )
    ],
}

#: Names on the page, and those of packages.
PACKAGES = {"PyTorch": "torch", "JAX": "jax", "NVRTC": "nvidia-cuda-nvrtc-cu12"}


def packages(extra):
    """The packages that an extra names, by itself and by others."""
    for text in EXTRAS[extra]:
        own = re.match(r"ogive\[([\w,]+)\]", text)
        if own:
            for other in own[1].split(","):
                yield from packages(other)
        else:
            yield re.split(r"[<>=\[; ]", text)[0].lower()


@pytest.mark.matrix(share=16, pool="slow")
def test_the_page_has_every_extra_and_what_it_brings():
    assert set(ROWS) == {"", *EXTRAS} - {"test"}
    for extra in EXTRAS.keys() - {"all", "judge", "test"}:
        named = {PACKAGES.get(name, name).lower() for name in re.findall(r"[\w-]+", ROWS[extra][0])}
        assert named == set(packages(extra)), extra
    assert set(packages("judge")) == {*packages("cli"), *packages("exact"), "pyyaml"}
    assert set(packages("all")) == {
        p for extra in ("compile", "cli", "onnx", "exact", "judge", "plot") for p in packages(extra)
    }


def test_no_plugin_of_pytest_is_registered():
    """It would be imported by the tests of every project in the environment."""
    assert "entry-points" not in PROJECT["project"]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT])
    (made,) = folder.glob("*.whl")
    return made


def run(command, **more):
    done = subprocess.run([*map(str, command)], text=True, capture_output=True, check=False, **more)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def first_program(page, *, has_commands):
    """The first block of a page that is no installation, and no command where the extra has no command line."""
    text = (ROOT / "docs" / page.partition("#")[0]).read_text(encoding="utf-8")
    languages = ("python", "pycon", *(["sh"] if has_commands else []))
    found = [(language, content) for language, content in blocks(text) if language in languages]
    return next((language, content) for language, content in found if not content.startswith("pip install"))


@pytest.mark.matrix
@pytest.mark.parametrize("extra", ROWS)
def test_an_extra_alone_is_enough(extra, wheel, tmp_path):
    if extra in NEED_A_DEVICE:
        pytest.skip(f"{extra} needs a device and its driver")
    if extra in LARGE and os.environ.get("OGIVE_EXTRAS") != "all":
        pytest.skip(f"{extra} takes minutes and gigabytes: OGIVE_EXTRAS=all installs it")
    run([sys.executable, "-m", "venv", tmp_path / "env"])
    python = tmp_path / "env" / "bin" / "python"
    run([python, "-m", "pip", "install", "-q", f"{wheel}[{extra}]" if extra else wheel])
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OGIVE"))}
    environment |= {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "OGIVE_CACHE": "off"}
    page = ROWS[extra][1]
    programs = PROGRAMS.get(extra) or [first_program(page, has_commands="click" in packages(extra))]
    for language, text in programs:
        if language == "sh":
            lines = [line for line in text.splitlines() if line and not line.startswith("#")]
            # The judge finds what it looks for, and says so by its status.
            script = "\n".join(f"{line} || [ $? = 1 ]" if line.startswith("ogive judge") else line for line in lines)
            run(["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=environment)
        elif language == "pycon":
            (tmp_path / "page.txt").write_text(text, encoding="utf-8")
            run([python, "-m", "doctest", "page.txt"], cwd=tmp_path, env=environment)
        else:
            (tmp_path / "page.py").write_text(GIVEN.get(page, "") + text, encoding="utf-8")
            run([python, "page.py"], cwd=tmp_path, env=environment)
    if extra == "compile":  # the tests of other projects pay nothing for Ogive
        run([python, "-m", "pip", "install", "-q", "pytest"])
        (tmp_path / "test_nothing.py").write_text(
            "import sys\n\ndef test_nothing():\n    assert not [m for m in sys.modules if m.split('.')[0] in ('ogive', 'numpy')]\n"
        )
        run([python, "-m", "pytest", "-q", "test_nothing.py"], cwd=tmp_path, env=environment)
