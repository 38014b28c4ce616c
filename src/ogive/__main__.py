"""``python -m ogive``: the command line."""

from ogive.cli import main

if __name__ == "__main__":
    main()
