"""``ogive show OPERATOR``: everything about one operator."""

from __future__ import annotations

import click
import numpy as np
from rich.console import Console

from ogive.cli.list_command import short_types
from ogive.cli.operators import OperatorName, find
from ogive.operator import Operator

__all__ = ["command"]


@click.command()
@click.argument("operator", type=OperatorName())
@click.option("--asm", is_flag=True, help="Print the machine code of the kernel.")
@click.option("--dtype", default=None, help="The element type for --asm. Default: float32.")
@click.option("--target", default=None, help="The instruction set for --asm: x86-64, x86-64-v3, x86-64-v4, aarch64.")
def command(operator: str, asm: bool, dtype: str | None, target: str | None) -> int:
    """Show one operator: its formula, its parameters, its types, its curve.

    OPERATOR is a name of ours or of a standard, or one of your own: module:name, file.py:name.
    """
    for option, value in {"--dtype": dtype, "--target": target}.items():
        if value is not None and not asm:
            raise click.UsageError(f"{option} says what --asm prints; allowed: {option} together with --asm")
    op = find(operator)
    console = Console(highlight=False, soft_wrap=True)
    if asm:
        click.echo(_assembly(op, dtype or "float32", target))
        return 0
    from ogive.show import formula

    results = "\n".join(formula(root, op.tensors) for root in op.formula())
    console.print(f"[bold]{op.name}[/bold]\n")
    console.print(f"  {results}\n".replace("\n", "\n  "), markup=False)
    summary = (op.function.__doc__ or "").strip().split("\n\n")
    console.print(summary[0] + "\n", markup=False)
    console.print(f"ONNX      {op.onnx or '-'}", markup=False)
    console.print(f"DirectML  {op.directml or '-'}", markup=False)
    console.print(f"types     {short_types(op)}", markup=False)
    for p in op.parameters:
        allowed = ", ".join(map(repr, p.choices)) if p.choices else p.constraint.allowed
        default = "required" if p.is_required else f"default {p.default!r}"
        console.print(f"{p.name:<9} {default}; {allowed}", markup=False)
    if op.inputs == 1 and any(signature.outputs[0].is_float for signature in op.signatures):
        click.echo("\n" + _curve(op))
    return 0


def _assembly(op: Operator, dtype: str, target: str | None) -> str:
    from ogive.codegen.compiler import assembly
    from ogive.codegen.llvm import emit
    from ogive.codegen.target import TARGETS, host_target

    if target is not None and target not in TARGETS:
        raise click.UsageError(f"--target is {target!r}; allowed: {', '.join(TARGETS)}")
    for signature in op.signatures:
        if signature.inputs[-1].name == dtype:
            chosen = TARGETS[target] if target else host_target()
            return assembly(emit(op.program(signature), chosen), chosen)
    raise click.UsageError(
        f"--dtype is {dtype!r}; allowed: {', '.join(dict.fromkeys(s.inputs[-1].name for s in op.signatures))}, for {op.name}"
    )


#: Columns of a curve without its frame.
CURVE_WIDTH = 64


def _curve(op: Operator) -> str:
    """The graph of a function of one number, drawn with characters."""
    import uniplot

    x = np.linspace(-4, 4, 401)
    required = {p.name: 1.0 for p in op.parameters if p.is_required}
    y = op(x, **required)
    y = np.where(np.isfinite(y), y, np.nan)  # poles are not drawn
    drawn = uniplot.plot_to_string(
        xs=x,
        ys=y,
        lines=True,
        width=CURVE_WIDTH,
        height=15,
        x_min=-4,
        x_max=4,
        x_labels=False,
        x_gridlines=[0],
        y_gridlines=[0],
    )
    lines = drawn.splitlines() if isinstance(drawn, str) else list(drawn)
    return "\n".join(line.rstrip() for line in [*lines, _axis()])


def _axis() -> str:
    """The numbers below a curve from -4 to 4, each in the middle below its place."""
    line = [" "] * (CURVE_WIDTH + 3)
    for number in range(-4, 5, 2):
        text = str(number)
        # The frame takes one column at the left.
        middle = 1 + round((number + 4) / 8 * (CURVE_WIDTH - 1))
        begin = max(0, middle - (len(text) - 1) // 2 - len(text) // 2 * (number < 0))
        line[begin : begin + len(text)] = text
    return "".join(line)
