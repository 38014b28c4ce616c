"""The pages of the site, in which order. A page that is not there is left out; one that is not here comes last."""

from __future__ import annotations

from pathlib import Path

__all__ = ["SECTIONS", "write_navigation"]

#: Heading -> pages, as their files are called without ``.md``.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Start": ("start-numpy", "torch", "onnx", "directml", "installing", "cheat-sheet", "recipes", "gallery", "names"),
    "Operators": ("operators/index",),
    "Use": (
        "arrays",
        "own-operators",
        "gradients",
        "jax",
        "onnxruntime",
        "webnn",
        "export",
        "commands",
        "accuracy",
        "performance",
        "api",
    ),
    "Judge": ("judge", "golden"),
    "Tables": (
        "tables/names",
        "tables/accuracy",
        "tables/performance",
        "tables/derivatives",
        "tables/onnx",
        "tables/webnn",
        "tables/directml",
        "tables/detection",
    ),
    "Help": ("faq", "troubleshooting", "glossary"),
    "Contribute": ("contributing", "architecture", "lowering", "changelog", "security"),
}

#: Pages that are reached otherwise.
HIDDEN = ("index",)


def write_navigation(folder: Path) -> None:
    """Write a page for each section, of the pages that are in the folder, and list the sections on the front page."""
    there = {
        str(path.relative_to(folder).with_suffix("")) for path in [*folder.glob("*.md"), *folder.glob("tables/*.md")]
    }
    there |= {"operators/index"} if (folder / "operators" / "index.md").exists() else set()
    known = {page for pages in SECTIONS.values() for page in pages}
    sections = {**SECTIONS, "More": tuple(sorted(there - known - set(HIDDEN)))}
    names = []
    for heading, listed in sections.items():
        pages = [page for page in listed if page in there]
        if len(pages) == 1:
            names += pages
        elif pages:
            name = f"section-{heading.lower().replace(' ', '-')}"
            names.append(name)
            text = f"# {heading}\n\n{_toctree(pages, hidden=False)}"
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
    index = folder / "index.md"
    index.write_text(f"{index.read_text(encoding='utf-8')}\n{_toctree(names, hidden=True)}", encoding="utf-8")


def _toctree(pages: list[str], *, hidden: bool) -> str:
    options = ":hidden:" if hidden else ":maxdepth: 1"
    return "\n".join(["```{toctree}", options, "", *pages, "```", ""])
