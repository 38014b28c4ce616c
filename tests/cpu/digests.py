"""Print a digest of every kernel of the catalogue: of its results on the fixed set of exported functions.

`python -m tests.cpu.digests`. Two machines print the same (.ci/aarch64).
"""

from ogive.catalog import OPERATORS
from ogive.exporting.sources import source_of_operator


def main() -> None:
    for op in OPERATORS.values():
        for signature in op.signatures:
            types = [t.name for t in (*signature.inputs, *signature.outputs)]
            source = source_of_operator(op, types, {}, {}, None)
            print(f"{source.digest:016x} {source.interface.name}", flush=True)


if __name__ == "__main__":
    main()
