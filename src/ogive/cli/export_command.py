"""``ogive export OPERATOR``: a function for C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ogive.cli.operator_argument import find, own
from ogive.exporting.exported import FORMS, Exported, export
from ogive.exporting.places import NAMES
from ogive.exporting.snippets import snippet

__all__ = ["command"]


@click.command()
@click.argument("what", nargs=-1, required=True)
@click.option("--dtype", default=None, help="The element type. Default: float32.")
@click.option(
    "--output", "folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="The folder."
)
@click.option(
    "--form", "--format", type=click.Choice(FORMS), default="object", help="What the code comes as. Default: object."
)
@click.option("--target", type=click.Choice(NAMES), default=None, help="The instruction set. Default: this machine's.")
@click.option("--triple", default=None, help="Another system, such as x86_64-pc-windows-msvc or arm64-apple-macos.")
@click.option("--name", default=None, help="The name of the function, or of the library of several.")
@click.option("--choose", multiple=True, metavar="NAME=VALUE", help="A parameter that selects a formula.")
@click.option("--self-test", is_flag=True, help="Write a C program that checks the function.")
@click.option("--build", type=click.Choice(("cmake", "meson")), default=None, help="Print how to build with it.")
def command(
    what: tuple[str, ...],
    dtype: str | None,
    folder: Path,
    form: str,
    target: str | None,
    triple: str | None,
    name: str | None,
    choose: tuple[str, ...],
    self_test: bool,
    build: str | None,
) -> int:
    """Write an operator or a model as a C function: header and object file, or a file in C, for any target.

    WHAT is an operator's name; one of your own, as module:name or file.py:name; or an ONNX model that is one kernel.
    Several become one library.
    """
    choices = dict(_choice(text) for text in choose)
    found = [_found(word) for word in what]
    exported = export(
        found if len(found) > 1 else found[0],
        dtype,
        form=form,
        target=target,
        triple=triple,
        name=name,
        choices=choices or None,
        self_test=self_test,
    )
    paths = exported.write(folder)
    _print(exported, paths)
    if build is not None:
        click.echo("\n" + snippet(exported, build))
    return 0


def _choice(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise click.UsageError(f"--choose is {text!r}; allowed: NAME=VALUE, such as approximate=tanh")
    return key, value


def _found(word: str) -> Any:
    if word.endswith(".onnx"):
        import ogive.onnx

        return ogive.onnx.load(word)
    if ":" in word:
        op, bound = own(word)
        return op.bind(**bound) if bound else op
    return find(word)


def _print(exported: Exported, paths: list[Path]) -> None:
    for line in exported.header.splitlines():
        if line.endswith(");"):
            click.echo(line)
    for name, digest in exported.digests.items():
        click.echo(f"digest {digest:016x}  {name}")
    for path in paths:
        click.echo(f"wrote {path}  {path.stat().st_size:,} bytes")
