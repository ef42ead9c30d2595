"""The command line."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from nmt import reference
from nmt.errors import ExportError, SettingsError, SweepError, UserError, VerificationError, one_line
from nmt.versions import require

if TYPE_CHECKING:
    from nmt.composition import Command, Composed

USAGE = """\
nmt: train machine-translation models, translate with them, and measure them

  nmt data [KEY=VALUE ...]        what a corpus is like, before anything is learned from it
  nmt train [KEY=VALUE ...]       from parallel text to a trained model in a run directory
  nmt translate [KEY=VALUE ...]   lines in, as many lines out, in order
  nmt evaluate [KEY=VALUE ...]    BLEU, chrF and TER of a run or of a finished translation
  nmt report [KEY=VALUE ...]      one page about a run, or two side by side, to look at in a browser
  nmt compare DIR ...             one table of any number of runs: settings that differ, scores, minutes
  nmt verify [KEY=VALUE ...]      is a run what it recorded of itself?
  nmt export [KEY=VALUE ...]      a run as a model of CTranslate2, after a check that it translates the same

  nmt train experiment=demo                    the built-in corpus, a few minutes on a laptop
  nmt train model=attention run=outputs/mine   another model, in a folder of your choice
  nmt train -m model=rnn,attention,transformer one after the other
  nmt translate run=outputs/mine < in.de > out.en
  nmt evaluate run=outputs/mine
  nmt data data=multi30k html=corpus.html
  nmt evaluate run=outputs/mine against=outputs/other   is it better, or was it chance?
  nmt export run=outputs/mine output=outputs/mine-ctranslate2 quantization=int8

options of each command
  --help [TOPIC]    groups, keys and examples; of a group, a choice or a key; all: every key
  --cfg job         print the settings that would be used, and stop
  --config-dir DIR  look for settings of your own in DIR, too
  -m, --multirun    (train) run every combination of comma-separated values
  --plan            (train) print the plan and the estimated time, and stop
options of nmt alone: --help, --version, --completion bash|zsh|fish
"""
"""Printed by `nmt --help`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code.

    0; 1 for an export that fails its check, a run that is not what it recorded, or a sweep of which runs failed; 2 for
    a mistake of the user's; 130, 143 or 129 when stopped by SIGINT, SIGTERM or SIGHUP, the end of a terminal.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` has it
            signal.signal(number, _terminate)
    try:
        return _dispatch(list(sys.argv[1:] if arguments is None else arguments))
    except (SettingsError, VerificationError) as error:
        for problem in error.problems:
            print(f"nmt: {one_line(problem)}", file=sys.stderr)
        return 1 if isinstance(error, VerificationError) else 2
    except UserError as error:
        print(f"nmt: {one_line(error)}", file=sys.stderr)
        return 1 if isinstance(error, ExportError | SweepError) else 2
    except BrokenPipeError:  # whoever read the output has gone; nobody is left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.filename is None:
            raise
        print(f"nmt: {one_line(f'{error.filename}: {error.strerror}')}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("nmt: interrupted", file=sys.stderr)
        return 130


def _terminate(signal_number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + signal_number)


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else "--help"
    if name in ("--help", "-h"):
        print(USAGE, end="")
    elif name == "--version":
        from nmt import __version__

        print(f"nmt {__version__}")
    elif name == "--completion":
        from nmt.completion import script

        print(script(" ".join(arguments[1:])), end="")
    elif name == "--complete":
        from nmt.completion import complete

        print("\n".join(complete(arguments[1:], reference.commands())))
    elif name in reference.commands() and (topic := _help_topic(arguments[1:])) is not None:
        from nmt.help import command_page

        print(command_page(name, topic or None), end="")
    else:
        require("hydra-core")
        # Takes a quarter of a second, which help and completion should not cost.
        from nmt.composition import Command, compose

        command = Command.named(name)
        options = Options(command, arguments[1:])
        if options.is_multirun and options.wants_config:
            raise UserError("--cfg: a single job is needed; got -m")
        if options.is_multirun and options.wants_plan:
            raise UserError("--plan: a single run is needed; got -m")
        if options.is_multirun:
            from nmt.sweeps.launching import run_sweep

            run_sweep(options.overrides, options.config_directory, _log_to_stderr)
        else:
            composed = compose(command, options.overrides, options.config_directory)
            if options.wants_config:
                print(composed.to_yaml(), end="")
            else:
                _job(command, options.wants_plan)(composed)
    return 0


def _help_topic(arguments: list[str]) -> str | None:
    """Return what help is asked for: "" for that of the command, None where none is."""
    for place, argument in enumerate(arguments):
        if argument in ("--help", "-h"):
            return arguments[place + 1] if place + 1 < len(arguments) else ""
        if argument.startswith("--help="):
            return argument.partition("=")[2]
    return None


class Options:
    """What stands before and between the overrides on the command line."""

    def __init__(self, command: "Command", arguments: list[str]) -> None:
        self.overrides: list[str] = []
        self.wants_config = self.wants_plan = self.is_multirun = False
        self.config_directory: str | None = None
        rest, runs = iter(arguments), list[str]()
        for argument in rest:
            name, _, value = argument.partition("=")
            if name in ("--multirun", "-m") and command.value == "train":
                self.is_multirun = True
            elif name == "--plan" and command.value == "train":
                self.wants_plan = True
            elif name in ("--cfg", "-c", "--config-dir", "-cd"):
                value = value or next(rest, "")
                if name in ("--cfg", "-c"):
                    if value != "job":
                        raise UserError(f"--cfg: job is needed; got {value or 'nothing'}")
                    self.wants_config = True
                elif not Path(value).is_dir() or not value:
                    raise UserError(f"--config-dir: a folder is needed; got {value or 'nothing'}")
                else:
                    self.config_directory = value
            elif argument.startswith("-"):
                raise UserError(
                    f"{argument}: no such option of nmt {command.value}; see nmt {command.value} --help"
                )
            elif command.value == "compare" and ("=" not in argument or Path(argument).is_dir()):
                runs.append(argument)
            else:
                self.overrides.append(argument)
        if runs:
            quoted = (run.replace("\\", "\\\\").replace("'", "\\'") for run in runs)
            self.overrides.append("runs=[" + ",".join(f"'{run}'" for run in quoted) + "]")


def _job(command: "Command", wants_plan: bool = False) -> "Callable[[Composed], None]":
    """Return what a command does with its composed settings."""

    from nmt.composition import Command

    def run(composed: "Composed") -> None:
        _log_to_stderr()
        settings: Any = composed.settings()
        # These import torch: seconds that a mistyped key should not cost, nor translating what it does not need.
        if command is Command.TRANSLATE:
            from nmt.translation import run_translate

            run_translate(settings)
            return
        from nmt import assessment, commands
        from nmt.run_directory import RunDirectory

        match command:
            case Command.TRAIN if wants_plan:
                commands.run_plan(settings, RunDirectory(composed.run_path))
            case Command.TRAIN:
                commands.run_train(settings, RunDirectory(composed.run_path))
            case Command.EVALUATE:
                assessment.run_evaluate(settings)
            case Command.DATA:
                commands.run_data(settings)
            case Command.EXPORT:
                commands.run_export(settings)
            case Command.VERIFY:
                from nmt.verification import run_verify

                run_verify(settings)
            case Command.REPORT:
                from nmt.report.report import run_report

                run_report(settings)
            case Command.COMPARE:
                from nmt.report.comparison import run_compare

                run_compare(settings)

    return run


def _log_to_stderr() -> None:
    logger = logging.getLogger("nmt")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
