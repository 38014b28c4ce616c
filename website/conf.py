"""How Sphinx builds the site; ``python -m website`` calls it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

project = "Ogive"
copyright = "The Ogive developers"  # noqa: A001 - Sphinx's name
version = release = re.findall(r"^  version: '(.+)',$", (ROOT / "meson.build").read_text(), re.MULTILINE)[0]

extensions = ["myst_parser", "sphinx_copybutton", "website.mathml"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = f"Ogive {version}"
html_static_path = ["static"]
html_css_files = ["ogive.css"]
html_js_files = ["ogive.js", "try.js"]
html_use_index = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"**": ["sidebar-nav-bs"], "operators/index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
