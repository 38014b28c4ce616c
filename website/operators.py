"""The operator reference: a page for each operator of the catalogue, and an index with a picture of each."""

from __future__ import annotations

import html
import inspect
import math
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ogive.catalog import OPERATORS, PLACES
from ogive.catalog.aliases import ALIASES
from ogive.catalog.other_names import OTHER_NAMES
from ogive.cli.curves import drawing
from ogive.directml.data import OPERATOR_TYPES, facts
from ogive.laboratory.accuracy.report import ErrorReport, key, load
from ogive.laboratory.peers.peer_functions import PEERS
from ogive.operators.operator import Operator
from website.boxes import box
from website.definition import definition
from website.drawing import figure, thumbnail
from website.latex import aligned, legend
from website.speed import speed

__all__ = ["all_names", "index", "page", "sections"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "accuracy" / "results"
DTYPES = ("float16", "bfloat16", "float32", "float64")

#: The modules of the catalogue, with the heading of each.
HEADINGS = {
    "activations": "Activations",
    "more_activations": "More activations",
    "gated": "Gated units",
    "rowwise": "Over rows",
    "arithmetic": "Arithmetic",
    "functions": "Functions",
    "trigonometry": "Trigonometry",
    "rounding": "Rounding and quantisation",
    "clipping": "Clipping",
    "logic": "Comparisons and logic",
    "bits": "Bits",
}


def sections() -> dict[str, list[Operator]]:
    """The operators by the heading of their module."""
    found: dict[str, list[Operator]] = {heading: [] for heading in HEADINGS.values()}
    for name, module in PLACES.items():
        found.setdefault(HEADINGS.get(module, module.replace("_", " ").capitalize()), []).append(OPERATORS[name])
    return found


# ---- the index


def index(names: Collection[str]) -> str:
    """These operators with their curves in one list, and what keeps some of them: a field for text, a button for each group."""
    groups = {op.name: heading for heading, ops in sections().items() for op in ops}
    chosen = sorted(names)
    headings = [heading for heading in sections() if heading in {groups[name] for name in chosen}]
    buttons = "".join(f'<button class="og-group" aria-pressed="false">{heading}</button>' for heading in headings)
    cards = "\n".join(_card(OPERATORS[name], groups[name]) for name in chosen)
    listed = "\n".join(chosen)
    return "\n".join(
        [
            *("# Operators", "", _FIELD, ""),
            *(f'<div class="og-groups" role="group" aria-label="Groups of operators">{buttons}</div>', ""),
            *(
                f'<div class="og-cards">\n{cards}\n</div>',
                "",
                '<p class="og-none" hidden>No operator has this name.</p>',
                "",
            ),
            *("```{toctree}\n:hidden:\n", listed, "```", ""),
        ]
    )


_FIELD = (
    f"{len(OPERATORS)} operators. Each page has the definition, the curve and its derivative, parameters, types by standard "
    "and version, special cases, and the measured error and speed of other libraries too.\n\n"
    '<input id="og-filter" type="search" placeholder="name in Ogive, ONNX, DirectML, PyTorch ..." '
    'aria-label="Keep the operators with this text in a name">'
)


def _card(op: Operator, group: str) -> str:
    return (
        f'<a class="og-card" href="{op.name}.html" data-names="{html.escape(" ".join(all_names(op)))}" data-group="{group}">'
        f"{thumbnail(drawing(op, with_derivative=False))}<span>{op.name.replace('_', '_<wbr>')}</span></a>"
    )


# ---- one page


def page(op: Operator) -> str:
    """The page of one operator, as MyST Markdown."""
    paragraphs = _paragraphs(op)
    parts = [
        f"# {op.name}",
        f"```{{index}} {', '.join(f'! {name}' for name in all_names(op))}\n```",
        _text(paragraphs[0]),
        *_definition(op),
        *box(op, _sentence(op)),
        figure(drawing(op)),
        *map(_text, _beside_definition(op, paragraphs)),
        *_example(op.name, paragraphs),
        *_parameters(op),
        *_special_cases(paragraphs),
        "## Types",
        *_types(op),
        *_standards(op),
        *_accuracy(op),
        *speed(op.name),
        *_names(op),
        *_source(op, paragraphs),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _paragraphs(op: Operator) -> list[str]:
    return (inspect.getdoc(op.function) or "").split("\n\n")


def _is_text(paragraph: str) -> bool:
    return not paragraph.startswith((">>>", "Special cases", "Source:"))


def _remarks(paragraphs: Sequence[str]) -> list[str]:
    return [paragraph for paragraph in paragraphs[1:] if _is_text(paragraph)]


def _beside_definition(op: Operator, paragraphs: Sequence[str]) -> list[str]:
    """The remarks without the formulas of choices, which the definition shows."""
    texts = _remarks(paragraphs)
    if any(line.startswith("With ") for line in _definition(op)):
        texts = [re.sub(r"^With ``[^`]+``:\s``[^`]+``\.\s*", "", text) for text in texts]
    return [text for text in texts if text]


def _text(paragraph: str) -> str:
    """A docstring's paragraph as Markdown: names of operators become links."""
    flat = " ".join(paragraph.split())
    linked = re.sub(r"(?<!`)`(\w+)`(?!`)", lambda found: _link(found[1]), flat)
    return re.sub(r":\w+:`([^`]+)`", r"`\1`", linked).replace("<", "\\<") if "`<" in linked else linked


def _link(name: str) -> str:
    return f"[`{name}`]({name}.md)" if name in OPERATORS else f"`{name}`"


def _sentence(op: Operator) -> str:
    """The first paragraph of the docstring."""
    return " ".join(_paragraphs(op)[0].split())


def _definition(op: Operator) -> list[str]:
    """The docstring's definition, large, and the form that is computed behind it; or that form alone."""
    text = definition(_sentence(op), op.tensors, is_row_wise=op.is_row_wise)
    computed = _formulas(op)
    if text is None or computed[0] == f"```{{math}}\n{text}\n```":
        return ['<div class="og-definition">', *computed, "</div>"]
    shown = [f"```{{math}}\n{text}\n```"]
    for paragraph in _remarks(_paragraphs(op)):
        other = re.match(r"With (``.+?``): ``", " ".join(paragraph.split()))
        if other and (text := definition(" ".join(paragraph.split()), op.tensors, is_row_wise=op.is_row_wise)):
            shown += [f"With {other[1]}:", f"```{{math}}\n{text}\n```"]
    return [
        *('<div class="og-definition">', *shown, "</div>"),
        *('<details class="og-computed"><summary>The form that is computed</summary>', *computed, "</details>"),
    ]


def _formulas(op: Operator) -> list[str]:
    """The formula of every choice of the parameters that select one."""
    selecting = [p for p in op.parameters if p.choices]
    rows: list[dict[str, Any]] = [{}]
    for p in selecting:
        rows = [{**row, p.name: choice} for row in rows for choice in p.choices]
    texts: dict[str, list[str]] = {}
    for row in rows:
        text = aligned(op.formula(**row), op.tensors)
        texts.setdefault(text, []).append(", ".join(f"`{name} = {value!r}`" for name, value in row.items()))
    parts = []
    for text, names in texts.items():
        if len(texts) > 1:
            parts.append(f"With {' or '.join(names)}:")
        parts.append(f"```{{math}}\n{text}\n```")
    sentences = dict.fromkeys(sentence for text in texts for sentence in legend(text))
    if sentences:
        parts.append(" ".join(sentences))
    return parts


def _example(name: str, paragraphs: Sequence[str]) -> list[str]:
    """The docstring's example, after the import that it takes as given."""
    examples = [paragraph for paragraph in paragraphs if paragraph.startswith(">>>")]
    if not examples:
        return []
    return ["## Example", "\n".join(["```pycon", f">>> from ogive import {name}", *examples, "```"])]


def _parameters(op: Operator) -> list[str]:
    tensors = ", ".join(f"`{name}`" for name in op.tensors)
    about = f"Tensors: {tensors}. They are broadcast." if len(op.tensors) > 1 else f"Tensor: {tensors}."
    parts = ["## Arguments", f"`ogive.{op.name}{inspect.signature(op)}`", about]
    if op.parameters:
        rows = []
        for p in op.parameters:
            allowed = ", ".join(f"`{choice!r}`" for choice in p.choices) if p.choices else p.constraint.allowed
            rows.append([f"`{p.name}`", "required" if p.is_required else f"`{p.default!r}`", allowed])
        parts.append(_table(["parameter", "default", "allowed"], rows))
    return parts


def _special_cases(paragraphs: Sequence[str]) -> list[str]:
    """A row for each operand, a column for each set of parameters."""
    columns: dict[str, dict[str, str]] = {}
    for paragraph in paragraphs:
        found = re.match(r"Special cases(?: \((.*?)\))?: (.*)\.$", " ".join(paragraph.split()))
        if found:
            pairs = (case.split(" -> ") for case in found[2].split("; "))
            columns[found[1] or "default"] = dict(pairs)
    if not columns:
        return []
    operands = list(dict.fromkeys(operand for cases in columns.values() for operand in cases))
    rows = [[f"`{operand}`", *(_case(cases.get(operand)) for cases in columns.values())] for operand in operands]
    words = {
        "largest": "`largest` and `smallest` are the largest finite and the smallest positive number of the type. ",
        "1-": "`1-` and `1+` are the numbers next to 1. ",
    }
    texts = {*operands, *(case for cases in columns.values() for case in cases.values())}
    about = "".join(text for word, text in words.items() if word in texts) + "A test runs this table in every type."
    return ["## Special cases", _table(["operand", *columns], rows), about]


def _case(result: str | None) -> str:
    if result is None:
        return ""
    return "the formula's value" if result == "formula" else f"`{result}`"


def _types(op: Operator) -> list[str]:
    rows: dict[tuple[str, ...], list[str]] = {}
    for signature in op.signatures:
        result = tuple(t.name for t in signature.outputs)
        rows.setdefault(result, []).append(", ".join(dict.fromkeys(t.name for t in signature.inputs)))
    if all(taken == list(result) for result, taken in rows.items()):
        return ["The result has the type of the tensors: " + ", ".join(f"`{r[0]}`" for r in rows) + "."]
    if len(op.signatures) > 24:
        taken = sorted({t.name for s in op.signatures for t in s.inputs})
        made = sorted({t.name for s in op.signatures for t in s.outputs})
        return [f"{len(op.signatures)} combinations: `{'`, `'.join(taken)}` make `{'`, `'.join(made)}`."]
    cells = [["; ".join(dict.fromkeys(taken)), ", ".join(result)] for result, taken in rows.items()]
    return [_table(["tensors", "result"], cells)]


def _standards(op: Operator) -> list[str]:
    return [*_onnx(op), *_directml(op)]


@cache
def _onnx_versions() -> dict[str, list[tuple[int, str]]]:
    try:
        from ogive.onnx import supported
    except ImportError:  # pragma: no cover - the site's extra has it
        return {}
    found: dict[str, list[tuple[int, str]]] = {}
    for row in supported():
        types = "; ".join(
            f"{name}: {', '.join(_short(t) for t in kinds)}" for name, kinds in row.types.items() if kinds
        )
        found.setdefault(row.operator, []).append((row.version, types))
    return found


def _short(kind: str) -> str:
    """``tensor(float)`` as ``float``."""
    return kind.removeprefix("tensor(").removesuffix(")") if kind.startswith("tensor(") else kind


def _onnx(op: Operator) -> list[str]:
    versions = _onnx_versions().get(op.onnx or "", [])
    if not versions:
        return []
    rows = [[str(version), types] for version, types in versions]
    return ["### ONNX", f"`{op.onnx}`", _table(["opset", "types"], rows)]


def _directml(op: Operator) -> list[str]:
    if (op.directml or "") not in OPERATOR_TYPES:
        return []
    about = facts(str(op.directml))
    rows = []
    for _, level, tensors in about.support:
        for name, support in tensors.items():
            optional = ", may be absent" if support.optional else ""
            dimensions = f"{support.minimum_dimensions} to {support.maximum_dimensions}"
            rows.append([level.replace("_", "."), f"`{name}`{optional}", ", ".join(support.types), dimensions])
    return [
        "### DirectML",
        f"`{about.struct}`",
        _table(["feature level", "tensor", "types", "dimensions"], rows),
        *(["The output may be the input's memory."] if about.in_place else []),
    ]


# ---- figures


def _accuracy(op: Operator) -> list[str]:
    """The largest measured errors with the default parameters, Ogive's and the peers'."""
    rows = []
    reports: list[ErrorReport] = []
    for by in ("ogive", *PEERS):
        found = {dtype: _report(by, op.name, dtype) for dtype in DTYPES}
        reports += filter(None, found.values())
        if any(found.values()):
            name = next(report.by for report in found.values() if report)
            bold = "**Ogive**" if by == "ogive" else name
            rows.append([bold, *(_error(report) for report in found.values())])
    if not rows:
        return []
    command = f"ogive accuracy {op.name}" + (" --exhaustive" if op.inputs == 1 and not op.is_row_wise else "")
    about = (
        "The largest error in units in the last place (ULP), with the default parameters. 0.5 is the nearest number. Where "
        "there are two figures, the second one is of inputs with a magnitude from a millionth to 8. "
        f"{_of_infinite(reports)}"
        f"[How it is measured](../accuracy.md#measure-it). To measure it again: `{command}`."
    )
    return ["## Accuracy", _table(["", *DTYPES], rows), about]


def _of_infinite(reports: list[ErrorReport]) -> str:
    """The meaning of an infinite error, and the place of the first one."""
    first = next((report for report in reports if math.isinf(report.worst)), None)
    if first is None:
        return ""
    where = ", ".join(f"{x:.9g}" for x in first.worst_input)
    return f"An error of ∞ is NaN or an infinity in the place of a number, or the reverse: {first.by.split()[0]}'s {first.worst_result:.9g} at {where}. "


@cache
def _measured(by: str) -> dict[str, ErrorReport]:
    return load(RESULTS / f"{by}.csv")


def _report(by: str, name: str, dtype: str) -> ErrorReport | None:
    return _measured(by).get(key(name, {}, dtype))


def _error(report: ErrorReport | None) -> str:
    if report is None:
        return ""
    kinds = {"float16", "float32"}
    errors = [report.worst] + ([report.ordinary] if report.dtype in kinds and report.worst > 1 else [])
    return " / ".join(map(_units, errors))


def _units(error: float) -> str:
    if math.isinf(error):
        return "∞"
    return f"{error:.1e}" if error >= 1000 else f"{math.ceil(error * 1000 - 1e-4) / 1000:.3f}"


# ---- names and source


def other_names(op: Operator) -> dict[str, str]:
    """Library -> what it calls the operator."""
    found: dict[str, list[str]] = {}
    for library, names in OTHER_NAMES.items():
        for name, ours in names.items():
            own = ours if isinstance(ours, str) else ours[0]
            if op.name in (own, _aliased(own)):
                found.setdefault(library, []).append(name)
    return {library: ", ".join(names) for library, names in found.items()}


def all_names(op: Operator) -> list[str]:
    """Every name of the operator, in lower case: its own, those of the standards, of other libraries, and special cases of it."""
    aliases = {name for name, alias in ALIASES.items() if alias.operator == op.name}
    names = {op.name, *(name for name in (op.onnx, op.directml) if name), *aliases}
    for table in OTHER_NAMES.values():
        names |= {
            name for name, ours in table.items() if (ours if isinstance(ours, str) else ours[0]) in {op.name, *aliases}
        }
    return sorted({name.lower() for name in names})


def _aliased(name: str) -> str:
    """The operator that an alias without values of its own is another name of."""
    alias = ALIASES.get(name)
    return name if alias is None or alias.values or alias.parameters else alias.operator


def _names(op: Operator) -> list[str]:
    rows = [[library, f"`{names}`"] for library, names in other_names(op).items()]
    about = "[Names of other libraries](../tables/names.md) says where a parameter differs."
    return ["## Names elsewhere", _table(["library", "name"], rows), about] if rows else []


def _source(op: Operator, paragraphs: Sequence[str]) -> list[str]:
    stated = [_text(p.removeprefix("Source: ")) for p in paragraphs if p.startswith("Source:")]
    lines, first = inspect.getsourcelines(op.function)
    path = Path(inspect.getsourcefile(op.function) or "").name
    text = _without_docstring("".join(lines))
    about = f"`src/ogive/catalog/{path}`, line {first}:"
    return ["## Source", *stated, about, f"```python\n{text.rstrip()}\n```"]


def _without_docstring(source: str) -> str:
    return re.sub(r'^ +""".*?"""\n', "", source, count=1, flags=re.DOTALL | re.MULTILINE)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(titles)} |", "|" + " --- |" * len(titles)]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def write(folder: Path, names: Sequence[str] | None = None) -> list[Path]:
    """Write the index and a page for each of these operators, or for all."""
    if not OPERATORS:
        raise ValueError("the catalogue has no operators")
    chosen = list(names or OPERATORS)
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"index": index(chosen), **{name: page(OPERATORS[name]) for name in chosen}}
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return [folder / f"{name}.md" for name in pages]
