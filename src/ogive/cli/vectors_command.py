"""``ogive vectors``: write golden data of an operator."""

from __future__ import annotations

from pathlib import Path

import click

from ogive.catalog.rounded_steps import ONCE
from ogive.cli.accuracy_command import read_parameter
from ogive.cli.operator_argument import ROUNDING, ROUNDINGS, OperatorName, find_with_name
from ogive.cli.terminal import print_json, say, singular
from ogive.common.dtypes import ELEMENT_TYPES, FLOATS_OF_8_BITS
from ogive.errors import needed
from ogive.golden import make, of_operator, regimes
from ogive.golden.formats import FORMATS, write
from ogive.golden.specification import Specification


def _of_catalogue(
    operator: str, dtype: str, parameters: tuple[str, ...], *, every_regime: bool, saturate: bool, rounding: str
) -> list[Specification]:
    op, shown = find_with_name(OperatorName().convert(operator, None, None))
    given = dict(read_parameter(text) for text in parameters)
    known = {p.name for p in op.parameters}
    for name in given:
        if name not in known:
            allowed = ", ".join(sorted(known)) or "it has none"
            raise click.UsageError(f"{op.name} has no parameter {name!r}; allowed: {allowed}")
    sets = [{**row, **given} for row in regimes(op)] if every_regime else [given]
    return [of_operator(op, dtype, row, saturate=saturate, rounding=rounding, name=shown) for row in sets]


def _of_onnx(operator: str, version: str | None, dtype: str, kind: str | None) -> list[Specification]:
    with needed("--standard onnx", "'ogive[onnx]'", "onnx"):
        from ogive.golden.onnx_operators import all_of_onnx, of_onnx
    from ogive.onnx.data_types import DATA_TYPES

    rows = [row for row in all_of_onnx() if row.operator.lower() == operator.lower()]
    if not rows:
        raise click.UsageError(f"ONNX has no operator {operator!r} that Ogive has; `ogive list` prints ONNX's names")
    versions = sorted({row.version for row in rows})
    newest = versions[-1] if version is None else _opset(version)
    wanted = [v for v in versions if v <= newest]
    if not wanted:
        raise click.UsageError(f"{rows[0].operator} begins with opset {versions[0]}; allowed: from {versions[0]} on")
    kinds = [k for k, row in DATA_TYPES.items() if row.element is not None and row.element.name == dtype]
    if kind is not None:
        kinds = [kind.replace(" ", "")]
    there = [row for row in rows if row.version == wanted[-1]]
    chosen = [row for row in there if set(row.types.values()) & set(kinds)]
    same = [row for row in chosen if set(row.types.values()) <= set(kinds)] or chosen[:1]
    if not same:
        known = ", ".join(dict.fromkeys(k for row in there for k in row.types.values()))
        raise click.UsageError(f"{rows[0].operator}-{wanted[-1]} has no type {kind or dtype}; allowed: {known}")
    return [of_onnx(*same[0])]


def _opset(version: str) -> int:
    try:
        return int(version)
    except ValueError:
        raise click.UsageError(f"--version is {version!r}; allowed: an opset of ONNX, such as 20") from None


def _of_directml(operator: str, version: str | None, dtype: str, kind: str | None) -> list[Specification]:
    with needed("--standard directml", "'ogive[onnx]'", "onnx"):
        from ogive.golden.directml_operators import all_of_directml, of_directml

    if kind is not None:
        raise click.UsageError("--type is a type of ONNX; allowed: with --standard onnx, and --dtype with directml")

    name = operator.upper().removeprefix("DML_OPERATOR_").removeprefix("DML_").removesuffix("_OPERATOR_DESC")
    rows = [row for row in all_of_directml() if row.operator == name]
    if not rows:
        raise click.UsageError(f"DirectML has no operator {operator!r} that Ogive has; `ogive list` prints its names")
    levels = list(dict.fromkeys(row.level for row in rows))
    level = version or levels[-1]
    if level not in levels:
        raise click.UsageError(f"{name} is not there at feature level {level}; allowed: {', '.join(levels)}")
    wanted = dtype.upper()
    chosen = [row for row in rows if row.level == level and row.types[-1][1] == wanted]
    if not chosen:
        kinds = dict.fromkeys(row.types[-1][1].lower() for row in rows if row.level == level)
        raise click.UsageError(f"{name} has no type {dtype} at feature level {level}; allowed: {', '.join(kinds)}")
    return [of_directml(name, level, dict(chosen[0].types))]


#: The search for an operator by the name that a standard gives it.
STANDARDS = {"onnx": _of_onnx, "directml": _of_directml}


@click.command()
@click.argument("operator")
@click.option(
    "--standard", type=click.Choice(list(STANDARDS)), help="Take OPERATOR as the name that this standard gives it."
)
@click.option("--version", help="The operator's version: an opset of ONNX, or a feature level of DirectML.")
@click.option("--dtype", default="float32", show_default=True, type=click.Choice([*ELEMENT_TYPES, *FLOATS_OF_8_BITS]))
@click.option(
    "--saturate/--no-saturate",
    default=True,
    help="Whether results of 8-bit floats end at the largest number. Default: they do.",
)
@click.option("--rounding", default=ONCE, show_default=True, type=click.Choice(ROUNDINGS), help=ROUNDING)
@click.option(
    "--type", "kind", metavar="TEXT", help="In place of --dtype, a type as ONNX writes it: seq(tensor(float))."
)
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter and its value.")
@click.option("--every-regime", is_flag=True, help="Also write a set for each regime of each parameter.")
@click.option("--format", "form", default="npz", show_default=True, type=click.Choice(list(FORMATS)))
@click.option("--output", default=".", show_default=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--seed", default=0, show_default=True, help="The seed of the random inputs.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifests as one JSON object.")
def command(
    operator: str,
    standard: str | None,
    version: str | None,
    dtype: str,
    saturate: bool,
    rounding: str,
    kind: str | None,
    parameters: tuple[str, ...],
    every_regime: bool,
    form: str,
    output: Path,
    seed: int,
    as_json: bool,
) -> int:
    """Write golden data of an operator: inputs that find faults, and correctly rounded results.

    OPERATOR is a name that `ogive list` prints, or an operator of your own: file.py:name, or module:name. With
    --standard onnx it is ONNX's name (Gelu), with --standard directml DirectML's (ACTIVATION_GELU); --version is then the
    opset (the newest) or the feature level (6_4), and parameters are the standard's defaults. --type takes types that
    --dtype has not: sequences, optional values, text, floats of 8 bits.

    One tensor of 8 or 16 bits is covered completely. Longer types have special values, kinks and their neighbours,
    edges of overflow and underflow, results near a tie, tails, and random numbers. Other layouts follow: broadcasting,
    strides, no elements, odd lengths. A manifest beside the data says what it is and how it was made. No result comes
    from a kernel.
    """
    if standard is None:
        if version is not None:
            raise click.UsageError("--version needs --standard: onnx or directml")
        if kind is not None:
            raise click.UsageError("--type is a type of ONNX; allowed: with --standard onnx")
        if not saturate and dtype not in FLOATS_OF_8_BITS:
            raise click.UsageError(f"--no-saturate is given with {dtype}; allowed: with {', '.join(FLOATS_OF_8_BITS)}")
        found = _of_catalogue(
            operator, dtype, parameters, every_regime=every_regime, saturate=saturate, rounding=rounding
        )
    elif parameters or every_regime or not saturate or rounding != ONCE:
        options = "--parameter, --every-regime, --no-saturate and --rounding"
        raise click.UsageError(f"--standard takes the defaults of the standard: leave out {options}")
    else:
        found = STANDARDS[standard](operator, version, dtype, kind)
    made = [make(specification, seed=seed) for specification in found]
    written = [(vectors, write(vectors, form, output)) for vectors in made]
    if as_json:
        print_json({"sets": [vectors.manifest for vectors, _ in written]})
        return 0
    for vectors, paths in written:
        sizes = sum(case.elements for case in vectors.cases)
        line = f"{vectors.name}: {singular(sizes, 'result')} in {singular(len(vectors.cases), 'case')}"
        say(f"{line}, {singular(len(paths), 'file')}, {paths[0]}")
    return 0
