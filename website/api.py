"""The page of everything public that is not an operator, from the docstrings."""

from __future__ import annotations

import importlib
import inspect

from ogive.operators.operator import Operator

__all__ = ["page"]

#: Modules, with what they are for.
MODULES = {
    "ogive": "Functions and classes of the package itself. The operators have [pages of their own](operators/index.md).",
    "ogive.formula": "The vocabulary of formulas. Python's operators and NumPy's functions mean the same.",
    "ogive.onnx": "ONNX models.",
    "ogive.torch": "PyTorch.",
    "ogive.jax": "JAX.",
    "ogive.webnn": "WebNN.",
    "ogive.judge": "Measuring other people's results.",
    "ogive.dxdispatch": "Models in DxDispatch's JSON.",
    "ogive.check": "What a DirectML device would refuse of a model.",
    "ogive.errors": "Every error that Ogive raises is an `OgiveError`.",
}


def page() -> str:
    """A section for each module, an entry for each name that it exports."""
    parts = ["# Functions and classes"]
    for name, about in MODULES.items():
        try:
            module = importlib.import_module(name)
        except ImportError:  # an optional package is missing, or this part is not there
            continue
        parts += [f"## {name}", about]
        for each in sorted(getattr(module, "__all__", ())):
            thing = getattr(module, each, None)
            if thing is None or isinstance(thing, Operator) or inspect.ismodule(thing):
                continue
            parts.append(_entry(f"{name}.{each}", thing))
    return "\n\n".join(parts) + "\n"


def _entry(path: str, thing: object) -> str:
    try:
        signature = str(inspect.signature(thing)) if callable(thing) else ""
    except (TypeError, ValueError):
        signature = ""
    heading = f"### {path.rpartition('.')[2]}"
    body = [heading, f"```python\n{path}{_short(signature)}\n```"]
    doc = inspect.getdoc(thing) or ""
    if not isinstance(thing, str | int | float | tuple | dict | frozenset):
        body += _markdown(doc)
    if inspect.isclass(thing):
        for name, member in sorted(vars(thing).items()):
            if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                summary = (inspect.getdoc(member) or "").split("\n\n")[0]
                body.append(f"- `{name}`: {' '.join(summary.split())}")
    return "\n\n".join(body)


def _short(signature: str) -> str:
    return signature.replace("typing.", "").replace("collections.abc.", "").replace("numpy.", "np.").replace("'", "")


def _markdown(doc: str) -> list[str]:
    """A docstring's paragraphs: examples as code, text as it is."""
    parts = []
    for paragraph in doc.split("\n\n"):
        if paragraph.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{inspect.cleandoc(paragraph)}\n```")
        elif all(line.startswith("    ") for line in paragraph.splitlines()):
            parts.append(f"```text\n{inspect.cleandoc(paragraph)}\n```")
        elif paragraph:
            text = " ".join(
                line.strip() if not line.startswith("* ") else f"\n{line}" for line in paragraph.splitlines()
            )
            for role in (":func:", ":class:", ":mod:", ":meth:", ":data:"):
                text = text.replace(role, "")
            parts.append(
                text.replace("*args", r"\*args").replace("**", r"\*\*").rstrip(":") if ">>>" not in text else text
            )
    return parts
