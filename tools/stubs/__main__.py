"""Write stubs: into the sources of this checkout, or one of them into a file for the build (tools/stubs/meson.build).

    python -m tools.stubs
    python tools/stubs/__main__.py build NATIVE operators|directml FILE

The build has no installed package: there the sources are imported, with the extension that it has just made.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load_extension(path: str) -> None:
    """Import the extension of a build for the sources of this checkout."""
    # The loader of an editable install would run the build, which is running.
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "_ogive_editable_loader"]
    spec = spec_from_file_location("ogive._native", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["ogive._native"] = module
    spec.loader.exec_module(module)


def main(arguments: list[str]) -> None:
    """The command."""
    if arguments:
        _, native, name, target = arguments
        sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
        load_extension(native)
        text = importlib.import_module(f"tools.stubs.{name}").text()
        Path(target).write_text(text, encoding="utf-8")
    else:
        from tools.stubs import write

        write()


if __name__ == "__main__":
    main(sys.argv[1:])
