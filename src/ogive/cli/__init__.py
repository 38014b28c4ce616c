"""The command line: ``ogive COMMAND``, one module a command, imported when it is called.

A wrong call gives one line on standard error and exit status 2. A command that has looked and found
something to complain about (``ogive check``) gives 1.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from ogive.errors import OgiveError

__all__ = ["main"]

#: Command -> what `ogive --help` says about it; its module has a click command of the same name.
COMMANDS = {
    "accuracy": "Measure the error of operators over every input.",
    "check": "Check what a DirectML device of a feature level would refuse of a model.",
    "list": "List the operators: what both standards call them, and their element types.",
    "run": "Run an ONNX model on arrays from files, or a model in the JSON format of DxDispatch.",
    "show": "Show one operator: its formula, its parameters, its types, its curve.",
}


class _Commands(click.Group):
    """Commands that are imported when they are asked for: `ogive run` needs nothing of `ogive show`."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"ogive.cli.{name}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="ogive")
def ogive() -> None:
    """The activation operators of DirectML and ONNX, computed exactly and fast on any machine."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(_status(arguments))


def _status(arguments: list[str] | None) -> int:
    try:
        result: Any = ogive.main(arguments, prog_name="ogive", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as help_text:
        click.echo(help_text.format_message())
        return 2
    except click.ClickException as error:
        _complain(error.format_message())
    except click.Abort:
        _complain("interrupted")
        return 130
    except OgiveError as error:
        _complain(str(error))
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        return 0
    except OSError as error:
        _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except UnicodeEncodeError as error:
        _complain(f"the output's encoding, {error.encoding}, cannot write {error.object[error.start]!a}")
    except MemoryError as error:
        _complain(f"not enough memory: {error}")
    return 2


def _complain(text: str) -> None:
    first_line = " ".join(text.split())
    click.echo(f"ogive: {first_line}", err=True)
