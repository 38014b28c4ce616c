"""``ogive show OPERATOR``: everything about one operator."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np

from ogive.catalog.fast_errors import UNMEASURED, errors
from ogive.cli.curves import Curve, Drawing, drawing
from ogive.cli.deciding_levels import identities, shares
from ogive.cli.list_command import rounded_up, short_types
from ogive.cli.operator_argument import OperatorName, find
from ogive.cli.plot import PLOT_OR_TERMINAL, plot_operator
from ogive.cli.terminal import TERMINAL, can_write, console, say
from ogive.common.dtypes import ElementType
from ogive.graph.expression import REDUCTIONS, Expression, Format, walk
from ogive.lowering.identities import as_computed
from ogive.lowering.numerics.bound import UNKNOWN, Bound
from ogive.lowering.numerics.bounded import Bounded
from ogive.lowering.numerics.precisions import PROMOTED
from ogive.lowering.real_lowering import RealLowering
from ogive.operators.operator import Operator


@click.command()
@click.argument("operator", type=OperatorName())
@click.option("--asm", is_flag=True, help="Print the machine code of the kernel.")
@click.option("--dtype", default=None, help="The element type for --asm. Default: float32.")
@click.option("--target", default=None, help="The instruction set for --asm: x86-64, x86-64-v3, x86-64-v4, aarch64.")
@click.option(
    "--plot",
    "picture",
    type=PLOT_OR_TERMINAL,
    is_flag=False,
    flag_value=TERMINAL,
    help="Draw the curve and its derivative: FILE.svg, .png or .pdf; in the terminal without FILE, or with -.",
)
@click.option(
    "--levels",
    is_flag=True,
    help="Also print the bound of the error before rounding, and which kernel decides how many elements of common data.",
)
def command(
    operator: str, asm: bool, dtype: str | None, target: str | None, picture: Path | str | None, levels: bool
) -> int:
    """Show one operator: its formula, its parameters, its types, its curve.

    OPERATOR is a name of ours or of a standard, or one of your own: module:name, file.py:name.
    """
    for option, value in {"--dtype": dtype, "--target": target}.items():
        if value is not None and not asm:
            raise click.UsageError(f"{option} says what --asm prints; allowed: {option} together with --asm")
    if picture is not None and asm:
        raise click.UsageError("--plot draws a curve and --asm prints code; allowed: one of them")
    op = find(operator)
    if picture == TERMINAL:
        click.echo(_in_the_terminal(op))
        return 0
    if isinstance(picture, Path):
        plot_operator(op, picture)
        click.echo(f"wrote {picture}")
        return 0
    if asm:
        click.echo(_assembly(op, dtype or "float32", target))
        return 0
    say(op.name, style="bold")
    if summary := (op.function.__doc__ or "").strip().split("\n\n")[0]:
        say("\n" + " ".join(summary.replace("``", "").split()))
    click.echo()
    for title, text in (*_facts(op), *(_how_decided(op) if levels else ())):
        say(f"{title:<11} {text}", indent=12)
    if op.inputs == 1 and any(signature.outputs[0].is_float for signature in op.signatures):
        drawn = drawing(op, with_derivative=False)
        click.echo("\n" + _curve(drawn, drawn.curves[0]))
    return 0


def _facts(op: Operator) -> Iterator[tuple[str, str]]:
    """The known facts about an operator, a line for each."""
    from ogive.catalog.other_names import names_of
    from ogive.graph.show import formula

    for p in op.parameters:
        allowed = ", ".join(map(repr, p.choices)) if p.choices else p.constraint.allowed
        yield p.name, f"{'required' if p.is_required else f'default {p.default!r}'}; {allowed}"
    for paragraph in (inspect.getdoc(op.function) or "").split("\n\n"):
        if paragraph.startswith("Special cases"):
            title, _, cases = " ".join(paragraph.split()).partition(": ")
            yield title.removeprefix("Special cases").strip(" ()") or "special", cases.removesuffix(".")
    yield "types", short_types(op)
    yield "ONNX", op.onnx or "-"
    yield "DirectML", op.directml or "-"
    if others := names_of(op.name):
        yield "elsewhere", ", ".join(others)
    lines = [line for root in op.formula() for line in formula(root, op.tensors).splitlines()]
    yield from zip(("computed as", *[""] * len(lines)), lines, strict=False)
    yield from _contracts(op)


def _how_decided(op: Operator) -> Iterator[tuple[str, str]]:
    """The bounds of a result before it is rounded, and the share of elements that each level decides."""
    for line in _bounds(op):
        yield "bound", line
    found = shares(op)
    for line in _levels(found):
        yield "levels", line
    if named := identities(op, found):
        yield "identity", f"no number of bits decides results, which are taken as exact: {'; '.join(named)}"


def _bounds(op: Operator) -> list[str]:
    """The bounds of float32 results before they are rounded, a line for each."""
    single = next((s for s in op.signatures if all(t.name == "float32" for t in (*s.inputs, *s.outputs))), None)
    if single is None:
        return []
    return [text for bound in _bounds_of(op.formula(), single.inputs) if (text := _bound_text(bound))]


def _bounds_of(roots: Sequence[Expression], inputs: Sequence[ElementType]) -> tuple[Bound, ...]:
    """The bound of each formula, of elements and in float64 without compensation, as float32 results are computed.

    Formulas of rows have none yet, nor have truth values.
    """
    if any(current.operation in REDUCTIONS for current in walk(*roots)):
        return (UNKNOWN,) * len(roots)
    reals = RealLowering(Bounded(PROMOTED), tuple(inputs))
    return tuple(UNKNOWN if root.format is Format.TRUTH else reals.number(root).error for root in as_computed(roots))


def _bound_text(bound: Bound) -> str:
    size = f"2**{math.log2(bound.relative):.1f}" if bound.is_known and bound.relative else "0"
    and_lost = (
        f", the absolute one 2**{math.log2(bound.static):.0f}" if bound.is_known and bound.static > 2.0**-200 else ""
    )
    return {
        "exact": "exact: nothing is rounded before the result is",
        "static": f"static: the relative error is at most {size}{and_lost} before it is rounded to float32",
        "running": f"running: computed for each element, because numbers may cancel; the last rounding adds at most {size}{and_lost}",
        "unknown": "",
    }[bound.kind]


def _levels(found: dict[str, tuple[float, ...]]) -> list[str]:
    """The share of float32 elements that each level decides, by the data: a line for families that are alike."""
    by_text: dict[str, list[str]] = {}
    for family, levels in found.items():
        parts = zip(levels, ("the kernel", "the retry", "the repair", "enclosures"), strict=True)
        text = ", ".join(f"{level} {_percent(share)}" for share, level in parts if share)
        by_text.setdefault(text, []).append(family)
    if list(by_text) == ["the kernel 100 %"]:
        return ["the kernel decides all float32 elements of the families of data"]
    return [
        f"{text}: {'; '.join(families)}" for text, families in sorted(by_text.items(), key=lambda each: -len(each[1]))
    ]


def _percent(share: float) -> str:
    """A share that is not all is not shown as all, and one that is not nothing not as nothing."""
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    return f"{min(max(share, 0.0001), 0.9999):.2%}".replace("%", " %")


def _contracts(op: Operator) -> Iterator[tuple[str, str]]:
    """The errors of both contracts in float32; of own formulas, that the fast one has no bound."""
    from ogive.catalog import OPERATORS

    found = errors(op.name)
    if OPERATORS.get(op.name) is not op:
        yield "fast", "no bound of its error is stated: measure it with `ogive accuracy --accuracy fast`"
    elif not found and op.name not in UNMEASURED:
        yield "fast", "the same as exact"
    else:
        yield "exact", "correctly rounded in float32"
    if op.name in UNMEASURED:
        yield "fast", "other results in float32, of which no error was measured"
    for each in found:
        values = ", ".join(f"{name} = {value}" for name, value in each.parameters.items())
        yield "fast", f"{rounded_up(each.fast):.2f} ULP in float32{f', {values}' if values else ''}"


def _assembly(op: Operator, dtype: str, target: str | None) -> str:
    from ogive.backends.compiler import assembly
    from ogive.backends.llvm import emit
    from ogive.backends.target import TARGETS, host_target

    if target is not None and target not in TARGETS:
        raise click.UsageError(f"--target is {target!r}; allowed: {', '.join(TARGETS)}")
    for signature in op.signatures:
        if signature.inputs[-1].name == dtype:
            chosen = TARGETS[target] if target else host_target()
            return assembly(emit(op.program(signature), chosen), chosen)
    raise click.UsageError(
        f"--dtype is {dtype!r}; allowed: {', '.join(dict.fromkeys(s.inputs[-1].name for s in op.signatures))}, for {op.name}"
    )


#: Columns of a curve without its frame, and of what stands beside it.
CURVE_WIDTH, _BESIDE = 64, 14


def _in_the_terminal(op: Operator) -> str:
    """The curve and its derivative below each other; of several sets of parameters the first."""
    drawn = drawing(op)
    label = drawn.curves[0].label
    parts = [f"{op.name}{f', {label}' if label else ''}", _curve(drawn, drawn.curves[0])]
    if drawn.derivatives:
        parts += [f"its derivative with respect to {op.tensors[0]}", _curve(drawn, drawn.derivatives[0])]
    return "\n".join(parts)


def _curve(drawn: Drawing, curve: Curve) -> str:
    """A graph that is drawn with characters."""
    import uniplot

    low, high = drawn.heights([curve])
    width = max(16, min(CURVE_WIDTH, console().width - _BESIDE))
    text = uniplot.plot_to_string(
        xs=curve.x,
        ys=np.where((curve.y >= low) & (curve.y <= high), curve.y, np.nan),
        lines=not drawn.is_integer,
        width=width,
        height=15,
        x_min=drawn.low,
        x_max=drawn.high,
        y_min=low,
        y_max=high,
        x_labels=False,
        x_gridlines=[0],
        y_gridlines=[0],
    )
    lines = text.splitlines() if isinstance(text, str) else list(text)
    whole = "\n".join(line.rstrip() for line in [*lines, _axis(drawn.low, drawn.high, width)])
    return whole if can_write(whole, console().encoding) else _in_ascii(whole)


def _in_ascii(picture: str) -> str:
    """A picture for a terminal without these characters: a star for each cell with a part of the curve."""
    frame = dict(zip("┌┐└┘─│┼", "++++-|+", strict=True))
    return "".join(c if c.isascii() else frame.get(c, "*") for c in picture)


def _axis(low: float, high: float, width: int) -> str:
    """Five numbers below a curve, or three, each in the middle below its place."""
    line = [" "] * (width + 4)
    for i in range(0, 5, 1 if width > 40 else 2):
        number = low + i * (high - low) / 4
        text = f"{number:g}"
        # The frame takes one column at the left.
        middle = 1 + round(i / 4 * (width - 1))
        begin = max(0, middle - (len(text) - 1) // 2 - len(text) // 2 * (number < 0))
        line[begin : begin + len(text)] = text
    return "".join(line)
