"""The command line: ``ogive COMMAND``, one module a command, imported when it is called.

A wrong call gives one line on standard error and exit status 2. A command that has looked and found
something to complain about (``ogive check``) gives 1. An error that nobody thought of gives one line and 70, and its
traceback with ``--debug``.
"""

from __future__ import annotations

import difflib
import importlib
import io
import os
import re
import signal
import sys
import threading
import traceback
from types import FrameType
from typing import Any, NoReturn

from ogive.errors import OgiveError, needed

with needed("the command line", "'ogive[cli]'", "click"):
    import click
with needed("the command line", "'ogive[cli]'", "rich"):
    import rich as _rich  # noqa: F401

__all__ = ["main"]

#: Command -> what `ogive --help` says about it; its module has a click command of the same name.
COMMANDS = {
    "accuracy": "Measure the error of operators over every input.",
    "check": "Check what a DirectML device of a feature level would refuse of a model.",
    "devices": "List what Ogive computes on: this processor, and OpenCL devices.",
    "doctor": "Describe this installation for a report: versions, targets, devices, cache, threads, compiler.",
    "export": "Write an operator or a model as a C function: header and object file, for any target.",
    "judge": "Judge anybody's implementation of an operator: its errors in ULP, and where they come from.",
    "list": "List the operators: what both standards call them, and their element types.",
    "run": "Run an ONNX model on arrays from files, or a model in the JSON format of DxDispatch.",
    "show": "Show one operator: its formula, its parameters, its types, its curve.",
    "split": "Cut an ONNX model into what Ogive computes and what it does not.",
    "vectors": "Write golden data of an operator: inputs and exact expected results.",
}


class _Commands(click.Group):
    """Commands that are imported when they are asked for: `ogive run` needs nothing of `ogive show`."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. The reader of a pipe who has seen enough is no error, for which click and rich would end with 1."""
        try:
            return super().invoke(ctx)
        except SystemExit as ended:
            if not isinstance(ended.__context__, BrokenPipeError):
                raise
        except BrokenPipeError:
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
            )  # what is left is written when the process ends
        return 0

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"ogive.cli.{name}_command")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = arguments[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = difflib.get_close_matches(name, COMMANDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"allowed: {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {name!r}; {hint}", context)
        return super().resolve_command(context, arguments)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="ogive")
@click.option("--debug", is_flag=True, help="Show where an error comes from; the same as OGIVE_DEBUG=1.")
def ogive(debug: bool) -> None:
    """Correctly rounded activation functions, and formulas of your own: the operators of ONNX and DirectML, with the same bits on every machine.

    A shell completes commands, options and operators after eval "$(_OGIVE_COMPLETE=bash_source ogive)", or zsh_source,
    or fish_source.
    """


class _Ended(BaseException):
    """A signal asks the process to end. It is raised like Ctrl-C's, so that files that are half written are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


#: Batch systems and closed terminals send these.
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    handled = []
    if threading.current_thread() is threading.main_thread():
        handled = [number for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL]  # nohup ignores SIGHUP

    def end(number: int, frame: FrameType | None) -> NoReturn:
        for each in handled:
            signal.signal(each, signal.SIG_IGN)  # cleaning up is not interrupted
        raise _Ended(number)

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")  # names that the encoding lacks lose no result
    try:
        for each in handled:
            signal.signal(each, end)
        status = _status(sys.argv[1:] if arguments is None else arguments)
    except _Ended as ended:
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)  # the exit status says which signal it was
        status = 128 + ended.number
    finally:
        for each in handled:
            signal.signal(each, signal.SIG_DFL)
    sys.exit(status)


#: The status that sysexits.h calls an error of the program itself.
INTERNAL_ERROR = 70


def _status(arguments: list[str]) -> int:
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    try:
        result: Any = ogive.main(arguments, prog_name="ogive", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as help_text:
        click.echo(help_text.format_message())
        return 2
    except click.UsageError as error:
        # The errors that click itself has found say little: the help says the rest.
        is_from_click = type(error) is not click.UsageError or error.format_message().startswith("Got unexpected")
        number = _about_a_number(error)
        _complain(number or error.format_message() + (_way_out(error, arguments) if is_from_click else ""))
    except click.ClickException as error:
        _complain(error.format_message())
    except click.Abort:
        _complain("interrupted")
        return 130
    except OgiveError as error:
        _complain(error.summary or str(error), _is_debugged(arguments))
    except OSError as error:
        way_out = _CHECK if isinstance(error, _OF_PATHS) else ""
        if isinstance(error, FileExistsError):  # a folder is made there
            way_out = ", and is no folder. Name another one"
        _complain(f"{error.filename or 'the output'}: {error.strerror}{way_out}" if error.strerror else str(error))
    except UnicodeEncodeError as error:
        _complain(f"the output's encoding, {error.encoding}, cannot write {error.object[error.start]!a}")
    except MemoryError as error:
        text = f"not enough memory: {error}" if str(error) else "not enough memory"
        _complain(text, _is_debugged(arguments))
    except Exception as error:
        is_debugged = _is_debugged(arguments)
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        way_out = "" if is_debugged else "; ogive --debug shows where. Please report it"
        _complain(f"an error that Ogive did not expect, {what}{way_out}", is_debugged)
        return INTERNAL_ERROR
    return 2


def _is_debugged(arguments: list[str]) -> bool:
    """Whether tracebacks are wanted. The option stands before the command."""
    before = arguments[: next((i for i, word in enumerate(arguments) if word in COMMANDS), len(arguments))]
    return "--debug" in before or os.environ.get("OGIVE_DEBUG", "0").strip() not in ("", "0")


#: The advice about a file that cannot be read or written.
_CHECK = ". Check the path and its permissions"
_OF_PATHS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


def _about_a_number(error: click.UsageError) -> str:
    """The sentence about an option that wants a number and got none; empty for other errors.

    >>> _about_a_number(click.BadParameter("'many' is not a valid integer range.", param=click.Option(["-n"], type=click.IntRange(1))))
    "-n is 'many'; allowed: a whole number from 1 on"
    """
    parameter = error.param if isinstance(error, click.BadParameter) else None
    kind = None if parameter is None else parameter.type
    if parameter is None or not isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return ""
    given = re.search(r"('[^']*') is not a valid", error.format_message())
    if given is None:
        return ""
    words = "a whole number" if isinstance(kind, click.types.IntParamType) else "a number"
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    above = "above" if getattr(kind, "min_open", False) else "from"
    if high is not None:
        words += f" {above} {low:g} to {high:g}" if low is not None else f" up to {high:g}"
    elif low is not None:
        words += f" above {low:g}" if above == "above" else f" from {low:g} on"
    return f"{parameter.opts[0]} is {given[1]}; allowed: {words}"


def _way_out(error: click.UsageError, arguments: list[str]) -> str:
    if error.ctx is None:  # an option without its value is found before there is a context
        path = " ".join(["ogive", *[word for word in arguments if word in COMMANDS][:1]])
    else:
        path = error.ctx.command_path
    return f"{'' if error.format_message().endswith(('.', '?')) else '.'} Try '{path} --help'"


def _complain(text: str, is_debugged: bool = False) -> None:
    if is_debugged:
        traceback.print_exc()
    first, *points = text.split("\n- ")  # a list becomes a part of the line
    from ogive.cli.terminal import as_option

    first_line = " ".join(f"{first} {'; '.join(points)}".split())
    click.echo(f"ogive: {as_option(first_line)}", err=True)
