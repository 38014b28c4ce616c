"""``ogive export OPERATOR``: a function for C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ogive.cli.accuracy_command import read_parameter
from ogive.cli.operator_argument import find_with_name, own
from ogive.common.contracts import CONTRACTS
from ogive.errors import ParameterError, message
from ogive.exporting.building import Sizes
from ogive.exporting.exported import FORMS, Exported, export
from ogive.exporting.sources import CalledOperator
from ogive.operators.operator import bound_of


@click.command()
@click.argument("what", nargs=-1, required=True)
@click.option("--dtype", default=None, help="The element type. Default: float32.")
@click.option(
    "--output", "folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="The folder."
)
@click.option("--form", "--format", type=click.Choice(FORMS), default=None, help="The form of the code. Default: c.")
@click.option(
    "--build",
    "triple",
    default=None,
    metavar="TRIPLE",
    help="Compile it, by a compiler that is there: for native, aarch64-linux-gnu, wasm32-wasi.",
)
@click.option("--processor", default=None, help="The processor of the compiled code, such as x86-64-v3.")
@click.option("--name", default=None, help="The name of the function, or of the library of several.")
@click.option(
    "--accuracy", type=click.Choice(CONTRACTS), default=None, help="The contract of operators. Default: exact."
)
@click.option(
    "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter that becomes a constant."
)
@click.option("--choose", multiple=True, metavar="NAME=VALUE", help="A parameter that selects a formula.")
@click.option("--x-scale", type=float, default=None, help="The scale of a table's inputs of int8 or uint8.")
@click.option("--x-zero-point", type=int, default=None, help="Their zero point. Default: 0.")
@click.option("--y-scale", type=float, default=None, help="The scale of a table's results of int8 or uint8.")
@click.option("--y-zero-point", type=int, default=None, help="Their zero point. Default: 0.")
@click.option(
    "--saturate/--no-saturate",
    default=True,
    help="Whether a table's results of 8-bit floats end at the largest number. Default: they do.",
)
@click.option("--self-test", is_flag=True, help="Write a C program that checks the function.")
@click.option("--lines", type=click.Choice(("cmake", "meson")), default=None, help="Print the lines of a build.")
def command(
    what: tuple[str, ...],
    folder: Path,
    form: str | None,
    triple: str | None,
    processor: str | None,
    parameters: tuple[str, ...],
    choose: tuple[str, ...],
    lines: str | None,
    **given: Any,  # which `export` takes as it is
) -> int:
    """Write an operator or a model as a C function: a header, and a file in C or what a compiler makes of it.

    WHAT is an operator's name; one of your own, as module:name or file.py:name; or an ONNX model that is one kernel.
    Several become one library.

    With --form table the files are an array with the result for each input of 8 or 16 bits, a function that looks it up, and
    the array in NumPy's format: ogive export gelu --form table --dtype float8_e4m3fn. int8 and uint8 need --x-scale and
    --y-scale.
    """
    if lines is not None and form == "table":
        raise click.UsageError(
            "--lines is given with --form table; allowed: with other forms. Add NAME.c to your sources"
        )
    choices = dict(_choice(text) for text in choose)
    numbers = dict(read_parameter(text) for text in parameters)
    found = [_bound(_found(word), numbers) for word in what]
    form = form or ("c" if triple is None and processor is None else "object")
    wanted = found if len(found) > 1 else found[0]
    exported = export(wanted, form=form, triple=triple, processor=processor, choices=choices or None, **given)
    paths = exported.write(folder)
    _print(exported, paths, exported.sizes(triple, processor))
    if lines is not None:
        click.echo("\n" + snippet(exported, lines))
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
    op, shown = find_with_name(word)
    return op if shown == op.name else CalledOperator(op, shown)


def _bound(what: Any, numbers: dict[str, Any]) -> Any:
    """An operator with these parameters as constants."""
    if not numbers:
        return what
    found = bound_of(what.operator if isinstance(what, CalledOperator) else what)
    if found is None:
        raise click.UsageError("--parameter is given with a model; allowed: with operators")
    op, values = found
    return op.bind(**{**values, **numbers})


def _print(exported: Exported, paths: list[Path], sizes: Sizes | None) -> None:
    for line in exported.header.splitlines():
        if line.endswith(");"):
            click.echo(line)
    if sizes is not None:
        click.echo(
            f"code {sizes.code:,} bytes, data {sizes.data:,} bytes, stack at most {sizes.stack:,} bytes (with -Os)"
        )
    for name, digest in exported.digests.items():
        click.echo(f"digest {digest:016x}  {name}")
    for path in paths:
        click.echo(f"wrote {path}  {path.stat().st_size:,} bytes")


_CMAKE = """\
# CMakeLists.txt, beside {files}
add_library({name} {kind} IMPORTED)
set_target_properties({name} PROPERTIES
    {location}
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_SOURCE_DIR}}")
target_link_libraries(program PRIVATE {name})
"""

_MESON = """\
# meson.build, beside {files}
{name} = declare_dependency(
    {objects},
    include_directories: include_directories('.'))
executable('program', 'program.c', dependencies: {name})
"""

_CMAKE_OF_C = """\
# CMakeLists.txt, beside {files}
add_library({name} STATIC {name}.c)
target_compile_options({name} PRIVATE -O3 -ffp-contract=off -fno-math-errno)
target_include_directories({name} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}")
target_link_libraries(program PRIVATE {name})
"""

_MESON_OF_C = """\
# meson.build, beside {files}
{name} = declare_dependency(
    link_with: static_library('{name}', '{name}.c', c_args: ['-O3', '-ffp-contract=off', '-fno-math-errno']),
    include_directories: include_directories('.'))
executable('program', 'program.c', dependencies: {name})
"""


def snippet(exported: Exported, tool: str) -> str:
    """The lines for ``cmake`` or ``meson``.

    >>> import ogive
    >>> print(snippet(ogive.export(ogive.relu), "meson"))
    # meson.build, beside ogive_relu_float32.h, ogive_relu_float32.c
    ogive_relu_float32 = declare_dependency(
        link_with: static_library('ogive_relu_float32', 'ogive_relu_float32.c', c_args: ['-O3', '-ffp-contract=off', '-fno-math-errno']),
        include_directories: include_directories('.'))
    executable('program', 'program.c', dependencies: ogive_relu_float32)
    <BLANKLINE>
    """
    if tool not in ("cmake", "meson"):
        raise ParameterError(message("ogive.export", f"the build tool is {tool!r}", "cmake, meson"))
    code = next((name for name in exported.files if not name.endswith((".h", ".c"))), "")
    header = next(name for name in exported.files if name.endswith(".h"))
    if not code:
        of_c = header.removesuffix(".h")
        files = f"{header}, {of_c}.c"
        return (_CMAKE_OF_C if tool == "cmake" else _MESON_OF_C).format(name=of_c, files=files)
    names = {"files": ", ".join(n for n in exported.files if not n.endswith(".c")), "name": header.removesuffix(".h")}
    path = f'"${{CMAKE_CURRENT_SOURCE_DIR}}/{code}"'
    if tool == "cmake":
        is_object = code.endswith((".o", ".obj"))
        kind = "OBJECT" if is_object else "SHARED" if code.endswith((".so", ".dylib", ".dll")) else "STATIC"
        location = f"{'IMPORTED_OBJECTS' if is_object else 'IMPORTED_LOCATION'} {path}"
        return _CMAKE.format(kind=kind, location=location, **names)
    is_object = code.endswith((".o", ".obj"))
    objects = f"objects: files('{code}')" if is_object else f"link_args: [meson.current_source_dir() / '{code}']"
    return _MESON.format(objects=objects, **names)
