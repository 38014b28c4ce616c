"""``ogive devices``: what Ogive computes on."""

from __future__ import annotations

import contextlib
from typing import Any

import click

from ogive.backends.target import host_target
from ogive.cli.terminal import Column, print_table, say
from ogive.errors import MissingPackageError
from ogive.runtime.threads import get_num_threads


@click.command()
def command() -> int:
    """List the devices of this machine, and say why Ogive does not compute on one.

    The processor computes everything. OpenCL and CUDA devices compute what has kernels (ogive.device), and leave the
    rest to the processor. An OpenCL device has to round float32 and float64 as IEEE 754 says, and is tried with a
    small kernel.
    """
    rows, reason = _rows()
    print_table([Column(title, is_list=True) for title in ("device", "name", "about", "computes")], rows)
    if reason:
        say(reason)
    return 0


def device_lines() -> list[str]:
    """A line for each device, and for what keeps Ogive from finding others."""
    rows, reason = _rows()
    lines = [f"{device}: {name}, {about}; computes: {computes}" for device, name, about, computes in rows]
    return [*lines, reason] if reason else lines


def _rows() -> tuple[list[tuple[str, str, str, str]], str]:
    """The devices, and why there are no others."""
    rows, reason = [("cpu", host_target().name, f"{get_num_threads()} threads", "yes")], ""
    found: list[Any] = []
    with contextlib.suppress(MissingPackageError):  # who has such a device has the package
        from ogive import cuda

        found += cuda.devices()
    try:
        from ogive import opencl

        known = opencl.devices()
        found += known
        if not known:
            reason = "ogive.opencl: no driver is installed. Install your device's, or one of the processor (Debian: pocl-opencl-icd)"
    except MissingPackageError as error:
        reason = str(error)
    except Exception as error:  # importing pyopencl, or asking a driver, may fail in any way
        reason = f"ogive.opencl: {type(error).__name__}: {error}"
    for device in found:
        try:
            computes = f"no: it {device.why_not}" if device.why_not else "operators, ONNX models, DirectML"
        except Exception as error:  # to find that out, a kernel is compiled and run
            computes = f"no: {type(error).__name__}: {error}"
        rows.append((device.name, device.model, f"{device.memory / 2**30:.1f} GiB, {device.platform}", computes))
    return rows, reason
