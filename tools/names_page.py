"""The page docs/tables/names.md: what other libraries call our operators."""

from __future__ import annotations

from ogive.catalog.aliases import ALIASES, written_call
from ogive.catalog.other_names import OTHER_NAMES, WITHOUT, Theirs, our_name

__all__ = ["markdown"]


def markdown() -> str:
    """The tables of translation, a section for each library."""
    lines = [
        "# Names of other libraries",
        "",
        "<!-- Made by `make pages`; do not edit. -->",
        "",
        "Each function of another library, and its name here: `import ogive; ogive.silu`. `ogive list` and `ogive show` know",
        "all these names. [The end](#not-operators) lists functions that are no operators.",
        "[From other libraries](../names.md) says where a parameter differs.",
        "",
    ]
    for library, names in OTHER_NAMES.items():
        same = [name for name, theirs in names.items() if _is_same(name, theirs)]
        lines += [f"## {library}", ""]
        if same:
            listed = ", ".join(f"`{name}`" for name in same)
            lines += ["| under the same name |", "|---|", f"| {listed} |", ""]
        lines += [f"| {library} | Ogive | what it is here |", "|---|---|---|"]
        others = ((name, theirs) for name, theirs in names.items() if name not in same)
        lines += [f"| `{name}` | `{our_name(theirs)}` | {_what(theirs)} |" for name, theirs in others]
        lines.append("")
    lines += ["## Not operators", "", "| names | what to do |", "|---|---|"]
    for sentence, listed in WITHOUT.items():
        lines.append(f"| {', '.join(f'`{name}`' for name in listed.split())} | {sentence} |")
    return "\n".join(lines) + "\n"


def _is_same(name: str, theirs: Theirs) -> bool:
    """Whether a name is ours too, for the same function."""
    alias = ALIASES.get(name)
    return theirs == name and (alias is None or not (alias.values or alias.remark))


def _what(theirs: Theirs) -> str:
    alias = ALIASES.get(our_name(theirs))
    parts = []
    if alias is not None:
        parts.append(f"`{written_call(alias)}`" if alias.values else f"`{alias.operator}`")
    remark = "" if isinstance(theirs, str) else theirs[1]
    parts += [text for text in dict.fromkeys([remark, alias.remark if alias else ""]) if text]
    return "; ".join(parts)
