"""An expression graph as LaTeX, for people to read: what is the same as a known function is written as that."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

from ogive.graph import operations as ops
from ogive.graph.expression import ROW_NUMBERS, Expression, walk
from ogive.graph.formats import Format

__all__ = ["aligned"]

#: How tightly a text holds together: sums, products, signs, powers, everything.
OR, AND, COMPARISON, SUM, PRODUCT, SIGN, POWER, TIGHTEST = range(8)

Text = tuple[str, int]

#: Between the lines of a block.
BREAK = r" \\ "

#: Names of parameters and tensors that are letters of the Greek alphabet.
GREEK = ("alpha", "beta", "epsilon", "gamma")

#: Functions of one operand: ``{}`` is the operand without brackets.
FUNCTIONS: dict[str, str] = {
    "absolute": r"\left|{}\right|",
    "square_root": r"\sqrt{{{}}}",
    "floor": r"\lfloor {} \rfloor",
    "ceiling": r"\lceil {} \rceil",
    "expm1": r"\left(\mathrm{{e}}^{{{}}} - 1\right)",
    "log1p": r"\ln\left(1 + {}\right)",
    "log": r"\ln\left({}\right)",
    "logistic": r"\sigma\left({}\right)",
    "normal_tail": r"Q\left({}\right)",
    "truncate": r"\operatorname{{trunc}}\left({}\right)",
    "round_even": r"\operatorname{{round}}\left({}\right)",
    "bit_count": r"\operatorname{{popcount}}\left({}\right)",
    "row_max": r"\max_{{j}}\, {}",
    "row_min": r"\min_{{j}}\, {}",
    "row_sum": r"\sum_{{j}} {}",
    "row_count": "{{N}}",
    "row_first": r"\operatorname{{first}}_{{j}}\left({}\right)",
    "row_threshold": r"\tau_{{j}}\left({}\right)",
}

#: The meaning of the letters of these functions.
LEGEND: dict[str, str] = {
    r"\sigma": r"$\sigma(u) = 1 / (1 + \mathrm{e}^{-u})$ is the logistic function.",
    "= \\left[": r"$[\ldots]$ is true where the condition inside holds.",
    "Q": r"$Q(u) = \tfrac{1}{2}\,(1 - \operatorname{erf}(u / \sqrt{2}))$ is the upper tail of the normal distribution.",
    r"\operatorname{round}": r"$\operatorname{round}$ rounds halves to the even integer.",
    r"\operatorname{first}": r"$\operatorname{first}_j$ is true for the first element of the row that has the property.",
    r"\tau_": r"$\tau_j(u)$ is the number $\tau$ for which $\sum_j \max(u_j - \tau, 0) = 1$.",
    "{N": "$N$ is the number of elements of the row.",
    r"\operatorname{rem}": r"$\operatorname{rem}$ is the remainder with the sign of its first operand.",
    r"\operatorname{copysign}": r"$\operatorname{copysign}(u, v)$ is $|u|$ with the sign of $v$.",
}

#: Functions that LaTeX has under their own names.
NAMED = ("exp", "tanh", "sin", "cos", "tan", "sinh", "cosh")


def aligned(roots: Sequence[Expression], tensors: Sequence[str]) -> str:
    """The graphs as one block of equations; what is long and used more than once has a line of its own."""
    is_row_wise = any(current.operation in ROW_NUMBERS for root in roots for current in walk(root))
    writer = _Writer(tensors, "_i" if is_row_wise else "")
    uses = Counter(operand for root in roots for current in walk(root) for operand in current.operands)
    lines: list[tuple[str, str]] = []
    letters = iter(letter for letter in "uvwrstpqmnkhg" if letter not in tensors)
    for root in roots:
        for current in walk(root):
            size = sum(1 for inner in walk(current) if inner.operands)
            if current is not root and uses[current] > 1 and size > 2 and current not in writer.shared:
                if _clamp(current, writer) is None and _is_part_of_clamp(current, root):
                    continue
                text = writer.text(current)[0]
                letter = next(letters)
                lines.append((letter + writer.index, text))
                writer.shared[current] = letter
    for number, root in enumerate(roots):
        result = "y" if "y" not in tensors else "z"
        name = (result if len(roots) == 1 else f"{result}_{number + 1}") + writer.index
        text, binding = writer.text(root)
        lines.append((name, rf"\left[\,{text}\,\right]" if binding == COMPARISON else text))
    if len(lines) == 1:
        return f"{lines[0][0]} = {lines[0][1]}"
    rows = BREAK.join(f"{name} &= {text}" for name, text in lines)
    return rf"\begin{{aligned}} {rows} \end{{aligned}}"


def legend(text: str) -> list[str]:
    """A sentence for every function in the text that has a name of its own."""
    return [
        sentence
        for sign, sentence in LEGEND.items()
        if any(f"{sign}{end}" in text for end in (r"\left(", "_", r"\,", "}"))
    ]


def symbol(name: str) -> str:
    """A tensor or parameter as a letter."""
    if name in GREEK:
        return f"\\{name}"
    escaped = name.replace("_", r"\_")
    return name if len(name) == 1 else rf"\mathit{{{escaped}}}"


class _Writer:
    def __init__(self, tensors: Sequence[str], index: str) -> None:
        self.tensors = tensors
        self.index = index
        """``_i`` for an element of a row, ``_j`` inside of what looks at all elements, else empty."""
        self.shared: dict[Expression, str] = {}

    def text(self, current: Expression) -> Text:
        if current in self.shared:
            return self.shared[current] + self.index, TIGHTEST
        operation = current.operation
        if operation == ops.INPUT:
            return symbol(self.tensors[current.attribute]) + self.index, TIGHTEST
        if operation == ops.PARAMETER:
            return symbol(str(current.attribute[1])), TIGHTEST
        if operation == ops.CONSTANT:
            return _constant(current)
        if operation == ops.SELECT:
            return self._choice(current)
        written: Callable[[Expression], Text] | None = getattr(self, f"_{operation}", None)
        if written is not None:
            return written(current)
        outer = self.index
        if operation in ROW_NUMBERS:
            self.index = "_j"
        inner = [self.text(operand)[0] for operand in current.operands]
        self.index = outer
        if str(operation) in FUNCTIONS:
            return FUNCTIONS[str(operation)].format(*inner), PRODUCT if "row" in operation else TIGHTEST
        name = f"\\{operation}" if operation in NAMED else rf"\operatorname{{{operation}}}"
        return rf"{name}\left({', '.join(inner)}\right)", TIGHTEST

    def _bracketed(self, current: Expression, least: int) -> str:
        text, binding = self.text(current)
        return text if binding >= least else rf"\left({text}\right)"

    # ---- choices

    def _choice(self, current: Expression) -> Text:
        clamp = _clamp(current, self)
        if clamp is not None:
            return clamp
        rows = []
        rest: Expression = current
        while (rest.operation == ops.SELECT and rest not in self.shared) or rest is current:
            if rest is not current and _clamp(rest, self) is not None:
                break
            condition, then, rest = rest.operands
            rows.append(rf"{self.text(then)[0]} & \text{{if }} {self.text(condition)[0]}")
        rows.append(rf"{self.text(rest)[0]} & \text{{otherwise}}")
        return rf"\begin{{cases}} {BREAK.join(rows)} \end{{cases}}", TIGHTEST

    # ---- arithmetic

    def _add(self, current: Expression) -> Text:
        left, right = current.operands
        if right.operation == ops.NEGATE and right not in self.shared:
            return f"{self._bracketed(left, SUM)} - {self._bracketed(right.operands[0], PRODUCT)}", SUM
        return f"{self._bracketed(left, SUM)} + {self._bracketed(right, PRODUCT)}", SUM

    def _subtract(self, current: Expression) -> Text:
        left, right = current.operands
        return f"{self._bracketed(left, SUM)} - {self._bracketed(right, PRODUCT)}", SUM

    def _multiply(self, current: Expression) -> Text:
        left, right = current.operands
        if left is right:
            return f"{self._bracketed(left, TIGHTEST)}^{{2}}", POWER
        if left.operation != ops.CONSTANT and right.operation == ops.CONSTANT:
            left, right = right, left
        first, second = self._bracketed(left, PRODUCT), self._bracketed(right, POWER)
        sign = r" \cdot " if second[:1].isdigit() else r"\, "
        return f"{first}{sign}{second}", PRODUCT

    def _divide(self, current: Expression) -> Text:
        above, below = (self.text(operand)[0] for operand in current.operands)
        return rf"\frac{{{above}}}{{{below}}}", TIGHTEST

    def _negate(self, current: Expression) -> Text:
        return f"-{self._bracketed(current.operands[0], PRODUCT)}", SUM

    def _exp(self, current: Expression) -> Text:
        return rf"\mathrm{{e}}^{{{self.text(current.operands[0])[0]}}}", POWER

    def _power(self, current: Expression) -> Text:
        base, exponent = current.operands
        return f"{self._bracketed(base, TIGHTEST)}^{{{self.text(exponent)[0]}}}", POWER

    def _larger(self, current: Expression) -> Text:
        return rf"\max\left({', '.join(self.text(x)[0] for x in current.operands)}\right)", TIGHTEST

    def _smaller(self, current: Expression) -> Text:
        return rf"\min\left({', '.join(self.text(x)[0] for x in current.operands)}\right)", TIGHTEST

    def _remainder(self, current: Expression) -> Text:
        return rf"\operatorname{{rem}}\left({', '.join(self.text(x)[0] for x in current.operands)}\right)", TIGHTEST

    def _copy_sign(self, current: Expression) -> Text:
        inner = ", ".join(self.text(x)[0] for x in current.operands)
        return rf"\operatorname{{copysign}}\left({inner}\right)", TIGHTEST

    # ---- comparisons, truth values and bits

    def _compared(self, current: Expression, sign: str, turned: str) -> Text:
        left, right = current.operands
        if left.operation in (ops.CONSTANT, ops.PARAMETER) and right.operation not in (ops.CONSTANT, ops.PARAMETER):
            left, right, sign = right, left, turned
        return f"{self._bracketed(left, SUM)} {sign} {self._bracketed(right, SUM)}", COMPARISON

    def _less(self, current: Expression) -> Text:
        return self._compared(current, "<", ">")

    def _less_equal(self, current: Expression) -> Text:
        return self._compared(current, r"\le", r"\ge")

    def _equal(self, current: Expression) -> Text:
        left, right = current.operands
        if left is right:
            return rf"{self._bracketed(left, SUM)} \text{{ is a number}}", COMPARISON
        return self._compared(current, "=", "=")

    def _joined(self, current: Expression, truth: str, bits: str, binding: int) -> Text:
        sign = truth if current.format is Format.TRUTH else bits
        left, right = (self._bracketed(operand, COMPARISON) for operand in current.operands)
        return rf"{left} \;{sign}\; {right}", binding

    def _and(self, current: Expression) -> Text:
        return self._joined(current, r"\land", r"\text{ and }", AND)

    def _or(self, current: Expression) -> Text:
        return self._joined(current, r"\lor", r"\text{ or }", OR)

    def _exclusive_or(self, current: Expression) -> Text:
        return self._joined(current, r"\oplus", r"\text{ xor }", OR)

    def _not(self, current: Expression) -> Text:
        (inner,) = current.operands
        if inner.operation == ops.EQUAL and inner.operands[0] is inner.operands[1]:
            return rf"{self._bracketed(inner.operands[0], SUM)} \text{{ is NaN}}", COMPARISON
        if inner.operation == ops.EQUAL:
            left, right = (self._bracketed(operand, SUM) for operand in inner.operands)
            return rf"{left} \ne {right}", COMPARISON
        return rf"\lnot {self._bracketed(inner, TIGHTEST)}", SIGN

    def _bit_and(self, current: Expression) -> Text:
        return self._joined(current, "", r"\text{ and }", AND)

    def _bit_shift_left(self, current: Expression) -> Text:
        return self._joined(current, "", r"\ll", SUM)

    def _bit_shift_right(self, current: Expression) -> Text:
        return self._joined(current, "", r"\gg", SUM)


def _parts_of_clamp(current: Expression) -> tuple[str, Expression, Expression] | None:
    """``where(u < k, k, u)`` is max(u, k), ``where(u > k, k, u)`` is min(u, k)."""
    if current.operation != ops.SELECT:
        return None
    condition, then, rest = current.operands
    if condition.operation not in (ops.LESS, ops.LESS_EQUAL):
        return None
    small, large = condition.operands
    if small is rest and large is then:
        return r"\max", rest, then
    if small is then and large is rest:
        return r"\min", rest, then
    return None


def _clamp(current: Expression, writer: _Writer) -> Text | None:
    parts = _parts_of_clamp(current)
    if parts is None:
        return None
    name, value, bound = parts
    return rf"{name}\left({writer.text(value)[0]}, {writer.text(bound)[0]}\right)", TIGHTEST


def _is_part_of_clamp(current: Expression, root: Expression) -> bool:
    """Whether all uses of a node are those of one clamp, which writes it once."""
    users = [inner for inner in walk(root) if _has(inner.operands, current)]
    clamps = [user for user in users if (parts := _parts_of_clamp(user)) is not None and _has(parts[1:], current)]
    conditions = [clamp.operands[0] for clamp in clamps]
    return len(clamps) == 1 and all(_has((*clamps, *conditions), user) for user in users)


def _has(nodes: Sequence[object], wanted: Expression) -> bool:
    """Nodes are asked by identity: ``==`` and ``in`` would make new ones."""
    return any(each is wanted for each in nodes)


def _constant(current: Expression) -> Text:
    value = current.attribute
    if current.format in (Format.TRUTH,):
        return (r"\text{true}" if value else r"\text{false}"), TIGHTEST
    number = float(value)
    if number != number:
        return r"\text{NaN}", TIGHTEST
    if number == math.pi:
        return r"\pi", TIGHTEST
    if number in (float("inf"), float("-inf")):
        return (r"\infty", TIGHTEST) if number > 0 else (r"-\infty", SUM)
    if isinstance(value, Fraction) and value.denominator < 1000 and value.denominator & (value.denominator - 1):
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}", SUM if sign else TIGHTEST
    power = _power_of_two(number)
    if power is not None and abs(power) > 16:
        return f"2^{{{power}}}", POWER
    text = f"{number:.17g}" if number == int(number) and abs(number) < 1e15 else repr(float(f"{number:.9g}"))
    return text, SUM if text.startswith("-") else TIGHTEST


def _power_of_two(number: float) -> int | None:
    if number <= 0:
        return None
    fraction, exponent = math.frexp(number)
    return exponent - 1 if fraction == 0.5 else None
