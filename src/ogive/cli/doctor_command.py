"""``ogive doctor``: what there is to know of an installation, on one page that can be pasted into a report."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

import ogive
from ogive.backends.target import TARGETS, host_target, runnable_targets
from ogive.cli.devices_command import device_lines
from ogive.cli.terminal import say, singular
from ogive.common.contracts import DEFAULT
from ogive.errors import OgiveError
from ogive.runtime import cache, wheel_kernels
from ogive.runtime.threads import available_processors, get_num_threads

#: Everything that an answer to a report depends on, in the order in which it is asked for.
_PACKAGES = (
    ("needed", ("numpy", "ml_dtypes", "python-flint")),
    ("compiles", ("llvmlite",)),
    ("models", ("onnx", "onnxruntime")),
    ("exact", ("mpmath",)),
    ("tensors", ("torch", "jax", "pyopencl")),
)

_VARIABLES = ("NUM_THREADS", "CACHE", "ACCURACY", "TARGET", "PACKS", "STATISTICS", "DEBUG")


@click.command()
def command() -> int:
    """Describe this installation, for a report: versions, targets, devices, cache, threads, compiler.

    The command needs no compiler. It prints no paths but the cache's, in which ~ stands for your home. Exit status 1 if
    Ogive does not compute here.
    """
    computes = False
    for title, text in _lines():
        say(f"{title:<10} {text}", indent=11)
    try:
        begin = time.perf_counter()
        found = float(ogive.celu(-1.0))
        milliseconds = (time.perf_counter() - begin) * 1e3
        computes = abs(found + 0.6321205588285577) < 1e-15
        text = f"celu(-1.0) is {found!r}, {'as it should be' if computes else 'which is WRONG'}: {milliseconds:.1f} ms"
    except OgiveError as error:
        text = f"celu(-1.0) fails: {error}"
    say(f"{'first call':<10} {text}", indent=11)
    return 0 if computes else 1


def _lines() -> Iterator[tuple[str, str]]:
    is_free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    build = ", free-threaded" if is_free else ""
    yield "Ogive", ogive.__version__
    yield "Python", f"{platform.python_version()}, {platform.python_implementation()}{build}"
    yield "system", f"{platform.platform()}, {platform.machine()}"
    for title, names in _PACKAGES:
        yield title, ", ".join(f"{name} {_version(name)}" for name in names)
    yield "C compiler", _c_compiler()
    yield "processors", f"{os.cpu_count()}, of which this process may use {available_processors()}"
    yield "threads", str(get_num_threads())
    yield "contract", DEFAULT
    yield from _code()
    yield "cache", _cache()
    try:
        yield from (("device", line) for line in device_lines())
    except OgiveError as error:
        yield "device", str(error)
    given = [f"{name}={os.environ[name]}" for suffix in _VARIABLES if (name := f"OGIVE_{suffix}") in os.environ]
    yield "variables", ", ".join(_without_home(text) for text in given) or "none of OGIVE_* is set"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"


def _c_compiler() -> str:
    """The first one that installing from sources would find, by what it says of itself."""
    for name in (os.environ.get("CC", "").split(" ")[0], "cc", "gcc", "clang", "cl"):
        if name and (path := shutil.which(name)):
            done = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", check=False)
            lines = done.stdout.splitlines() or done.stderr.splitlines() or [""]
            return f"{Path(name).name}: {lines[0]}"
    return "none is found; only an installation from sources needs one"


def _code() -> Iterator[tuple[str, str]]:
    """The levels of instructions, and for which of them there are kernels."""
    try:
        yield "target", f"{host_target().name}, of {', '.join(runnable_targets())}"
    except OgiveError as error:
        yield "target", str(error)
    packed = [name for name in TARGETS if wheel_kernels.has_pack(name)]
    yield "kernels", f"of the wheel, for {', '.join(packed)}" if packed else "compiled at the first use"


def _cache() -> str:
    folder = cache.folder()
    if folder is None:
        return f"off: {cache.why_off()}"
    files = [path.stat().st_size for path in folder.iterdir() if path.is_file()]
    return f"{_without_home(str(folder))}: {singular(len(files), 'file')}, {sum(files) / 1e6:.1f} MB"


def _without_home(text: str) -> str:
    home = os.path.expanduser("~")  # noqa: PTH111  (it is "~" where there is no home)
    return text.replace(home, "~") if len(home) > 1 else text
