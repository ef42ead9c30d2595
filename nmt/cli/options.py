"""What stands on the command line beside KEY=VALUE."""

from pathlib import Path

from nmt.cli.commands import Command
from nmt.errors import UserError


class Options:
    """What was typed after a command: its options, and the overrides between them.

    Raises UserError for an option that the command does not have.
    """

    def __init__(self, command: Command, arguments: list[str]) -> None:
        self.overrides: list[str] = []
        self.wants_config = self.wants_plan = self.is_multirun = False
        self.config_directory: str | None = None
        known = {word for typed, _ in command.options for word in typed.replace(",", "").split()}
        rest, listed = iter(arguments), list[str]()
        for argument in rest:
            name, _, value = argument.partition("=")
            if name in ("-m", "--multirun") and name in known:
                self.is_multirun = True
            elif name == "--plan" and name in known:
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
                    f"{argument}: no such option of nmt {command.name}; see nmt {command.name} --help"
                )
            elif command.listed_key is not None and ("=" not in argument or Path(argument).is_dir()):
                listed.append(argument)
            else:
                self.overrides.append(argument)
        if listed:
            quoted = (word.replace("\\", "\\\\").replace("'", "\\'") for word in listed)
            self.overrides.append(f"{command.listed_key}=[" + ",".join(f"'{word}'" for word in quoted) + "]")
