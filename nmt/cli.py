"""The command line."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from nmt.composition import Command, Composed, compose, help_text, multirun
from nmt.errors import ExportError, SettingsError, UserError, VerificationError, one_line
from nmt.versions import require

USAGE = """\
nmt: train machine-translation models, translate with them, and measure them

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
  nmt evaluate run=outputs/mine against=outputs/other   is it better, or was it chance?
  nmt export run=outputs/mine output=outputs/mine-ctranslate2 quantization=int8

options of each command
  --help            every key with its meaning and its default
  --cfg job         print the settings that would be used, and stop
  --config-dir DIR  look for settings of your own in DIR, too
  -m, --multirun    (train) run every combination of comma-separated values
options of nmt alone: --help, --version
"""
"""Printed by `nmt --help`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code.

    0; 1 for an export that fails its check, or a run that is not what it recorded; 2 for a mistake of the user's;
    130 or 143 when stopped.
    """
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return _dispatch(list(sys.argv[1:] if arguments is None else arguments))
    except (SettingsError, VerificationError) as error:
        for problem in error.problems:
            print(f"nmt: {one_line(problem)}", file=sys.stderr)
        return 1 if isinstance(error, VerificationError) else 2
    except UserError as error:
        print(f"nmt: {one_line(error)}", file=sys.stderr)
        return 1 if isinstance(error, ExportError) else 2
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
    sys.exit(143)


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else "--help"
    if name in ("--help", "-h"):
        print(USAGE, end="")
    elif name == "--version":
        from nmt import __version__

        print(f"nmt {__version__}")
    else:
        require("hydra-core")
        command = Command.named(name)
        options = Options(command, arguments[1:])
        if options.wants_help:
            print(help_text(command), end="")
        elif options.is_multirun and options.wants_config:
            raise UserError("--cfg: a single job is needed; got -m")
        elif options.is_multirun:
            multirun(command, options.overrides, options.config_directory, _job(command))
        else:
            composed = compose(command, options.overrides, options.config_directory)
            if options.wants_config:
                print(composed.to_yaml(), end="")
            else:
                _job(command)(composed)
    return 0


class Options:
    """What stands before and between the overrides on the command line."""

    def __init__(self, command: Command, arguments: list[str]) -> None:
        self.overrides: list[str] = []
        self.wants_help = self.wants_config = self.is_multirun = False
        self.config_directory: str | None = None
        rest, runs = iter(arguments), list[str]()
        for argument in rest:
            name, _, value = argument.partition("=")
            if name in ("--help", "-h"):
                self.wants_help = True
            elif name in ("--multirun", "-m") and command is Command.TRAIN:
                self.is_multirun = True
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
            elif command is Command.COMPARE and ("=" not in argument or Path(argument).is_dir()):
                runs.append(argument)
            else:
                self.overrides.append(argument)
        if runs:
            quoted = (run.replace("\\", "\\\\").replace("'", "\\'") for run in runs)
            self.overrides.append("runs=[" + ",".join(f"'{run}'" for run in quoted) + "]")


def _job(command: Command) -> Callable[[Composed], None]:
    """Return what a command does with its composed settings."""

    def run(composed: Composed) -> None:
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
            case Command.TRAIN:
                commands.run_train(settings, RunDirectory(composed.run_path))
            case Command.EVALUATE:
                assessment.run_evaluate(settings)
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
