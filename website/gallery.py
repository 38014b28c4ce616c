"""The gallery: a page with every script of examples/, what it does and how it is run, and its code behind a click."""

from __future__ import annotations

import ast
import re
from pathlib import Path

__all__ = ["page"]

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

#: Pictures that scripts have made, by their names; they lie beside the page.
PICTURES = {"denoise_photograph.py": ("denoised.png", "A photograph, the same with noise, and denoised")}


def page() -> str:
    """The page as Markdown."""
    parts = ["# Gallery", "The scripts of the folder `examples`. Each one runs as it is from a clone."]
    for path in sorted(EXAMPLES.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        first, *rest = (ast.get_docstring(ast.parse(text)) or path.stem).split("\n\n")
        title, _, about = " ".join(first.split()).partition(": ")
        parts += [f"## {title.rstrip('.')}", f"`examples/{path.name}`. {about[:1].upper()}{about[1:]}"]
        for paragraph in rest:
            lines = paragraph.splitlines()
            is_code = all(re.match(r" {4}|$", line) for line in lines)
            parts.append("```text\n" + "\n".join(line[4:] for line in lines) + "\n```" if is_code else " ".join(lines))
        if path.name in PICTURES:
            picture, described = PICTURES[path.name]
            parts.append(f"![{described}]({picture})")
        parts += ["<details><summary>The script</summary>", f"```python\n{text.rstrip()}\n```", "</details>"]
    return "\n\n".join(parts) + "\n"
