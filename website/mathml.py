"""Mathematics as MathML, which browsers draw themselves: no scripts, no fonts from elsewhere, no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

__all__ = ["setup"]


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="og-math">{_mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def _mathml(text: str, *, as_block: bool) -> str:
    try:
        return str(tex2mathml(text, as_block=as_block))
    except MathError as error:
        raise ExtensionError(f"the formula {text!r} cannot be typeset: {error}") from error


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx of the renderer."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
