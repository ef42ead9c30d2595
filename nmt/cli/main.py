"""The command line."""

import io
import logging
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn, TextIO

from nmt.cli import keys
from nmt.cli.commands import COMMANDS, Command
from nmt.cli.options import Options
from nmt.errors import WRITE_ERRORS, UserError, nearest, one_line
from nmt.memory import is_out_of_memory, too_little_memory
from nmt.versions import require

USAGE = """\
nmt: train machine-translation models, translate with them, and measure them
usage: nmt COMMAND [KEY=VALUE ...] [OPTION ...]
{commands}

{examples}

options of nmt train, the first three of each command (of nmt alone: --help, --version, --completion bash|zsh)
{options}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code.

    0; 1 for an export that fails its check, a run that is not what it recorded, or a sweep of which runs failed; 2 for
    a mistake of the user's, or too little memory; 141 when the reader of the output has gone; 130 when stopped by
    SIGINT. SIGTERM and SIGHUP, the end of a terminal, raise SystemExit with 143 and 129.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` ignores SIGHUP
            signal.signal(number, terminate)
    if sys.stderr is None:  # closed; what is said is lost, and no file that is opened gets its number
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # tables have characters that not every terminal has
        sys.stdout.reconfigure(errors="replace")
    try:
        return _dispatch(list(sys.argv[1:] if arguments is None else arguments))
    except UserError as error:
        for problem in error.problems:
            print(f"nmt: {one_line(problem)}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # whoever read the output has gone; nobody is left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (OSError, MemoryError, RuntimeError) as error:
        print(f"nmt: {_explain(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("nmt: interrupted", file=sys.stderr)
        return 130


def _explain(error: Exception) -> str:
    """Return one line on a lack of memory, or a file that cannot be read or written; raise any other error again."""
    if is_out_of_memory(error):
        smaller = "smaller batches take less (training.max_tokens, decoding.max_tokens)"
        return f"{one_line(too_little_memory(error))}; {smaller}"
    if not isinstance(error, OSError) or (error.filename is None and error.errno not in WRITE_ERRORS):
        raise error
    # An error of standard output, or of a file that was open already, names no file.
    place = f"{error.filename}: " if error.filename else ""
    return one_line(f"{place}{error.strerror or error}")


def terminate(signal_number: int, frame: FrameType | None) -> NoReturn:
    """Exit with 128 plus the number of the signal, as a program does that it ended; `finally` blocks run first."""
    sys.exit(128 + signal_number)


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else "--help"
    if name in ("--help", "-h"):
        print(_usage(), end="")
    elif name == "--version":
        from nmt import __version__

        print(f"nmt {__version__}")
    elif name == "--completion":
        from nmt.cli.completion import script

        print(script(" ".join(arguments[1:])), end="")
    elif name == "--complete":
        from nmt.cli.completion import complete

        print("\n".join(complete(arguments[1:])))
    elif name not in COMMANDS:
        raise UserError(f"{name}: one of {', '.join(COMMANDS)} is needed{nearest(name, list(COMMANDS))}")
    elif (topic := _help_topic(arguments[1:])) is not None:
        from nmt.cli.help import command_page

        print(command_page(COMMANDS[name], topic or None), end="")
    else:
        _run(COMMANDS[name], arguments[1:])
    return 0


def _run(command: Command, arguments: list[str]) -> None:
    require("hydra-core")
    # Takes a quarter of a second, which help and completion should not cost.
    from nmt.cli.compose import compose

    options = Options(command, arguments)
    if options.is_given("--multirun"):
        for option in ("--cfg", "--plan"):
            if options.is_given(option):
                raise UserError(f"{option}: a single run is needed; got -m")
        command.function("--multirun")(options.overrides, options.config_directory)
        return
    composed = compose(command.name, options.overrides, options.config_directory)
    if options.is_given("--cfg"):
        print(composed.to_yaml(), end="")
        return
    composed.require_begun()
    log_to_stderr()
    settings = composed.settings()
    # Imports torch: seconds that a mistyped key should not cost.
    command.function("--plan" if options.is_given("--plan") else None)(settings)


def _usage() -> str:
    """Return what `nmt --help` prints; the purpose of each command comes from its file in conf/."""
    from nmt.cli.help import columns

    purposes = [(f"nmt {name}", keys.page(name).purpose.removeprefix(f"nmt {name}: ")) for name in COMMANDS]
    tables = {
        "commands": columns((name, text.rstrip(".")) for name, text in purposes),
        "examples": columns(command.examples[0] for command in COMMANDS.values()),
        "options": columns(COMMANDS["train"].options),
    }
    return USAGE.format(**{name: "\n".join(lines) for name, lines in tables.items()})


def _help_topic(arguments: list[str]) -> str | None:
    """Return the topic that help is asked for: "" for the command itself, None where no help is asked for."""
    for place, argument in enumerate(arguments):
        if argument in ("--help", "-h"):
            return arguments[place + 1] if place + 1 < len(arguments) else ""
        if argument.startswith("--help="):
            return argument.partition("=")[2]
    return None


class AboveBars(logging.StreamHandler[TextIO]):
    """Writes messages above the progress bars of a terminal, where bar and message would else share a line."""

    def emit(self, record: logging.LogRecord) -> None:
        """Clear the bars, write a message, and draw the bars again."""
        from tqdm import tqdm  # slow to import, and many commands log nothing

        with tqdm.external_write_mode(self.stream):
            super().emit(record)


def log_to_stderr() -> None:
    """Have what the package logs go to standard error, each message as it is."""
    logger = logging.getLogger("nmt")
    if not logger.handlers:
        handler = AboveBars()
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
