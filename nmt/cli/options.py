"""The options of a command line, and KEY=VALUE between them."""

from pathlib import Path

from nmt.cli import keys
from nmt.cli.commands import Command
from nmt.cli.value_types import as_string
from nmt.errors import UserError

SHORT = {"-m": "--multirun", "-c": "--cfg", "-cd": "--config-dir"}


class Options:
    """The words after a command: its options, and the overrides between them.

    Raises UserError for an option that the command does not have.
    """

    def __init__(self, command: Command, arguments: list[str]) -> None:
        self.overrides: list[str] = []
        self.given: dict[str, str] = {}
        known = {word for typed, _ in command.options for word in typed.replace(",", "").split()}
        rest, listed = iter(arguments), list[str]()
        for argument in rest:
            typed, _, value = argument.partition("=")
            name = SHORT.get(typed, typed)
            if name.startswith("-"):
                if name not in known:
                    raise UserError(
                        f"{argument}: no such option of nmt {command.name}{_meant(argument, command)}; "
                        f"see nmt {command.name} --help"
                    )
                has_value = name in ("--cfg", "--config-dir")
                if value and not has_value:
                    raise UserError(f"{typed}: an option without a value is needed; got {argument}")
                self.given[name] = value or (next(rest, "") if has_value else "")
            elif command.listed_key is not None and ("=" not in argument or Path(argument).is_dir()):
                listed.append(argument)
            else:
                self.overrides.append(argument)
        if listed:
            key = command.listed_key
            beside = [override for override in self.overrides if override.partition("=")[0] == key]
            if beside:
                raise UserError(
                    f"{key}: all of them as words, or all as {key}=[A,B], are needed; got {beside[0]} and {listed[0]}"
                )
            self.overrides.append(f"{key}=[{','.join(map(as_string, listed))}]")
        if (shown := self.given.get("--cfg", "job")) != "job":
            raise UserError(f"--cfg: job is needed; got {shown or 'nothing'}")
        folder = self.config_directory = self.given.get("--config-dir")
        if folder is not None and not (folder and Path(folder).is_dir()):
            raise UserError(f"--config-dir: a folder is needed; got {folder or 'nothing'}")

    def is_given(self, option: str) -> bool:
        """Say whether an option was typed."""
        return option in self.given


def _meant(argument: str, command: Command) -> str:
    """Return the key that may have been meant by an option that there is not: `--max-updates=5` of other programs."""
    name, has_value, value = argument.lstrip("-").partition("=")
    name = name.replace("-", "_")
    found = {key.name: key.default for _, key in keys.everywhere(command.name)}
    meant = [key for key in found if key.rpartition(".")[2] == name]
    if name in found or name in {group.name for group in keys.page(command.name).groups}:
        meant = [name]
    if len(meant) != 1:
        return ""
    example = "true" if found.get(meant[0]) == "false" else "VALUE"
    return f"; did you mean {meant[0]}={value if has_value else example}?"
