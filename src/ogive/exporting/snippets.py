"""How to build with exported functions: text for CMake and Meson."""

from __future__ import annotations

from ogive.errors import ParameterError, message
from ogive.exporting.exported import Exported

__all__ = ["snippet"]

_CMAKE = """\
# CMakeLists.txt, beside {files}
add_library({name} {kind} IMPORTED)
set_target_properties({name} PROPERTIES
    {location}
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_SOURCE_DIR}}")
target_link_libraries(program PRIVATE {name})
"""

_MESON = """\
# meson.build, beside {files}
{name} = declare_dependency(
    {objects},
    include_directories: include_directories('.'))
executable('program', 'program.c', dependencies: {name})
"""

_CMAKE_OF_C = """\
# CMakeLists.txt, beside {files}
add_library({name} STATIC {name}.c)
target_compile_options({name} PRIVATE -O3 -ffp-contract=off -fno-math-errno)
target_include_directories({name} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}")
target_link_libraries(program PRIVATE {name})
"""

_MESON_OF_C = """\
# meson.build, beside {files}
{name} = declare_dependency(
    link_with: static_library('{name}', '{name}.c', c_args: ['-O3', '-ffp-contract=off', '-fno-math-errno']),
    include_directories: include_directories('.'))
executable('program', 'program.c', dependencies: {name})
"""


def snippet(exported: Exported, tool: str) -> str:
    """The lines for ``cmake`` or ``meson``.

    >>> import ogive
    >>> print(snippet(ogive.export(ogive.relu, target="aarch64"), "meson"))
    # meson.build, beside ogive_relu_float32.h, ogive_relu_float32.o
    ogive_relu_float32 = declare_dependency(
        objects: files('ogive_relu_float32.o'),
        include_directories: include_directories('.'))
    executable('program', 'program.c', dependencies: ogive_relu_float32)
    <BLANKLINE>
    """
    if tool not in ("cmake", "meson"):
        raise ParameterError(message("ogive.export", f"the build tool is {tool!r}", "cmake, meson"))
    code = next((name for name in exported.files if not name.endswith((".h", ".c"))), "")
    header = next(name for name in exported.files if name.endswith(".h"))
    if not code:
        of_c = header.removesuffix(".h")
        files = f"{header}, {of_c}.c"
        return (_CMAKE_OF_C if tool == "cmake" else _MESON_OF_C).format(name=of_c, files=files)
    names = {"files": ", ".join(n for n in exported.files if not n.endswith(".c")), "name": header.removesuffix(".h")}
    path = f'"${{CMAKE_CURRENT_SOURCE_DIR}}/{code}"'
    if tool == "cmake":
        is_object = code.endswith((".o", ".obj"))
        kind = "OBJECT" if is_object else "SHARED" if code.endswith((".so", ".dylib", ".dll")) else "STATIC"
        location = f"{'IMPORTED_OBJECTS' if is_object else 'IMPORTED_LOCATION'} {path}"
        return _CMAKE.format(kind=kind, location=location, **names)
    is_object = code.endswith((".o", ".obj"))
    objects = f"objects: files('{code}')" if is_object else f"link_args: [meson.current_source_dir() / '{code}']"
    return _MESON.format(objects=objects, **names)
