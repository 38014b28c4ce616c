"""``ogive`` and ``python -m ogive``: the command line, which needs packages that the library does not."""

import sys

from ogive.errors import MissingPackageError


def main() -> None:
    """Run the command line; one line and exit status 2 where its packages are not installed."""
    try:
        from ogive.cli import main as run

        run()
    except MissingPackageError as error:
        print(f"ogive: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:  # while packages are imported; later the command line itself says it
        print("ogive: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
