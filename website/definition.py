"""The definition in an operator's docstring as LaTeX: ``x`` where x >= 0, ``alpha * x`` elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from website.latex import BREAK, symbol

__all__ = ["definition"]

#: Functions of elements, with ``{}`` for the operands.
FUNCTIONS = {
    "abs": r"\left|{}\right|",
    "ceil": r"\lceil {} \rceil",
    "floor": r"\lfloor {} \rfloor",
    "log": r"\ln\left({}\right)",
    "log2": r"\log_2\left({}\right)",
    "sqrt": r"\sqrt{{{}}}",
    **{name: rf"\{name}\left({{}}\right)" for name in ("cos", "cosh", "max", "min", "sin", "sinh", "tan", "tanh")},
}

#: Operations that make one number of a row.
ROW_FUNCTIONS = {
    "max": r"\max_{}\, {}",
    "min": r"\min_{}\, {}",
    "sum": r"\sum_{} {}",
    "mean": r"\operatorname{{mean}}_{}\, {}",
    "variance": r"\operatorname{{var}}_{}\, {}",
}

SIGNS = {ast.Add: "+", ast.Sub: "-", ast.LShift: r"\ll", ast.RShift: r"\gg"}
COMPARISONS = {ast.Eq: "=", ast.NotEq: r"\ne", ast.Lt: "<", ast.LtE: r"\le", ast.Gt: ">", ast.GtE: r"\ge"}

_PIECE = re.compile(r"(``.+?``|[\w.-]+)(?: where (.+?)| between (-?\d+) and (-?\d+)| elsewhere)$")


def definition(sentence: str, tensors: Sequence[str], *, is_row_wise: bool) -> str | None:
    """The LaTeX of a docstring's first paragraph, or None where its definition is in words."""
    _, _, text = sentence.partition(": ")
    writer = _Writer(tensors if is_row_wise else ())
    name = "z" if "y" in tensors else "y"
    try:
        cases = _cases(text, writer)
        if cases:
            return rf"{name} = \begin{{cases}} {BREAK.join(cases)} \end{{cases}}"
        whole = re.match(r"``(.+?)``(?=[.,;]|$)", text)
        if whole is None:
            return None
        left, equals, right = whole[1].partition(" = ")
        if equals:
            return f"{writer.read(left)} = {writer.read(right)}"
        index = "_i" if is_row_wise and not re.match(r"Logarithm of (a|the) (sum|mean)", sentence) else ""
        return f"{name}{index} = {writer.read(whole[1], as_result=True)}"
    except (SyntaxError, KeyError, NotImplementedError):
        return None


def _cases(text: str, writer: _Writer) -> list[str]:
    """The rows of a definition by cases; none where it has no cases."""
    first = re.split(r"\.(?: |$)|, also ", text)[0]
    rows = []
    for piece in re.split(r", (?![^`]*``(?:[^`]*``[^`]*``)*[^`]*$)", first):
        found = _PIECE.match(piece)
        if found is None:
            return []
        value = writer.read(found[1].strip("`"))
        if found[2]:
            rows.append(rf"{value} & \text{{if }} {writer.condition(found[2])}")
        elif found[3]:
            rows.append(rf"{value} & \text{{if }} {found[3]} < x < {found[4]}")
        else:
            rows.append(rf"{value} & \text{{otherwise}}")
    return rows if len(rows) > 1 else []


class _Writer:
    """Python's expressions as LaTeX. Tensors of rows have an index: i, and j, k inside of what looks at a whole row."""

    def __init__(self, rows: Sequence[str]) -> None:
        self.rows = rows
        self.depth = 0

    def read(self, text: str, *, as_result: bool = False) -> str:
        node = ast.parse(re.sub(r"(\d) (?=\w)", r"\1 * ", text), mode="eval").body
        written = self.write(node, 0)
        return rf"\left[\,{written}\,\right]" if as_result and isinstance(node, ast.Compare) else written

    def condition(self, text: str) -> str:
        parts = text.split(" or ")
        if not all(re.search(r"[<>]", part) for part in parts):
            return rf"\text{{{text}}}"
        return r" \text{ or } ".join(self.read(part) for part in parts)

    def write(self, node: ast.expr, least: int) -> str:
        """An expression, in brackets where it binds less tightly: 1 sums, 2 products, 3 powers."""
        text, binding = self._written(node)
        return text if binding >= least else rf"\left({text}\right)"

    def _written(self, node: ast.expr) -> tuple[str, int]:
        match node:
            case ast.Constant(value=value):
                return str(value), 4
            case ast.Name(id="inf"):
                return r"\infty", 4
            case ast.Name(id="pi"):
                return r"\pi", 4
            case ast.Name(id=name):
                return symbol(name) + (f"_{'ijk'[self.depth]}" if name in self.rows else ""), 4
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"-{self.write(operand, 2)}", 2
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return rf"\frac{{{self.write(left, 0)}}}{{{self.write(right, 0)}}}", 4
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                if ast.dump(left) == ast.dump(right):
                    return f"{self.write(left, 4)}^{{2}}", 3
                first, second = self.write(left, 2), self.write(right, 3)
                sign = r" \cdot " if second[:1].isdigit() else r"\, "
                return f"{first}{sign}{second}", 2
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return f"{self.write(left, 4)}^{{{self.write(right, 0)}}}", 3
            case ast.BinOp(left=left, op=op, right=right):
                return f"{self.write(left, 1)} {SIGNS[type(op)]} {self.write(right, 2)}", 1
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return f"{self.write(left, 1)} {COMPARISONS[type(op)]} {self.write(right, 1)}", 0
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, arguments)
        raise NotImplementedError

    def _call(self, name: str, arguments: list[ast.expr]) -> tuple[str, int]:
        if name in ROW_FUNCTIONS and self.rows and len(arguments) == 1:
            self.depth += 1
            inner = self.write(arguments[0], 2)
            letter = "ijk"[self.depth]
            self.depth -= 1
            return ROW_FUNCTIONS[name].format(letter, inner), 2
        if name == "exp":
            return rf"\mathrm{{e}}^{{{self.write(arguments[0], 0)}}}", 3
        pattern = FUNCTIONS.get(name, rf"\operatorname{{{{{name}}}}}\left({{}}\right)")
        return pattern.format(", ".join(self.write(argument, 0) for argument in arguments)), 4
