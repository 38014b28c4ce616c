"""Devices by the names that `ogive devices` shows."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ogive.errors import ArgumentError, described, message

__all__ = ["device", "device_of"]

_KINDS = {"cuda": "CUDA", "opencl": "OpenCL"}


def device(name: str) -> Any:
    """A device by its name: "opencl:0" is an `ogive.opencl.Device`, "cuda:0" an `ogive.cuda.Device`.

    It holds arrays (``device.array(x)``), and runs operators (``device.function(ogive.gelu)``), ONNX models
    (``ogive.onnx.load(path, device=device)``) and DirectML's devices (``dml.Device(adapter="opencl:0")``), with the
    processor's bits.

    Raises ArgumentError for a device that is not there; MissingPackageError without its driver's package.

    >>> import ogive
    >>> ogive.device("gpu")
    Traceback (most recent call last):
        ...
    ogive.errors.ArgumentError: ogive.device: the device is 'gpu'; allowed: names as ogive devices shows them: opencl:0, cuda:0
    """
    return device_of("ogive.device", name)


def device_of(subject: str, name: Any) -> Any:
    """A device by its name, or the device itself; ``subject`` begins the sentence of a refusal."""
    if hasattr(name, "driver"):
        return name
    kind, _, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    what, allowed = f"the device is {name!r}", "names as ogive devices shows them: opencl:0, cuda:0"
    if not isinstance(name, str):
        what = f"the device is {described(name)}"
    elif kind in _KINDS:
        known = import_module(f"ogive.{kind}").devices()
        if number.isdigit() and int(number) < len(known):
            return known[int(number)]
        allowed = ", ".join(found.name for found in known)
        if not known:
            what += f", and no {_KINDS[kind]} device is there"
            raise ArgumentError(message(subject, what, "", "ogive devices lists what is there"))
    raise ArgumentError(message(subject, what, allowed))
