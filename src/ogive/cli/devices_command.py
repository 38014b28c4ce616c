"""``ogive devices``: what Ogive computes on."""

from __future__ import annotations

import click
from rich.table import Table

from ogive.backends.target import host_target
from ogive.cli.terminal import console
from ogive.errors import MissingPackageError
from ogive.runtime.threads import get_num_threads

__all__ = ["command"]


@click.command()
def command() -> int:
    """List the devices of this machine, and say why Ogive does not compute on one.

    The processor computes everything. OpenCL devices compute element-wise operators (ogive.opencl), if they round float32
    and float64 as IEEE 754 says. Each is tried with a small kernel.
    """
    rows = [("cpu", host_target().name, f"{get_num_threads()} threads", "yes")]
    reason = ""
    try:
        from ogive.opencl import devices
    except MissingPackageError as error:
        reason = str(error)
    else:
        for device in devices():
            computes = f"no: it {device.why_not}" if device.why_not else "element-wise operators"
            about = f"{device.memory / 2**30:.1f} GiB, {device.platform}"
            rows.append((f"opencl:{device.number}", device.name, about, computes))
        if len(rows) == 1:
            reason = "ogive.opencl: no driver is installed. Install your device's, or one of the processor (Debian: pocl-opencl-icd)"
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("device", "name", "about", "computes"):
        table.add_column(title)
    for row in rows:
        table.add_row(*row)
    console().print(table)
    if reason:
        click.echo(reason)
    return 0
