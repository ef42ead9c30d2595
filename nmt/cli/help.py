"""The help of each command, on one screen; behind it a page for each group and key. Needs neither Hydra nor torch."""

import shutil
import textwrap
from collections.abc import Iterable

from nmt.cli import keys
from nmt.cli.commands import Command
from nmt.cli.keys import Key
from nmt.errors import UserError, nearest


def command_page(command: Command, topic: str | None = None) -> str:
    """Return the help of a command, or of one of its groups, choices or keys, or all of it.

    Raises UserError, with the nearest topic, for an unknown one.
    """
    page = keys.page(command.name)
    groups = {group.name: group for group in page.groups}
    if topic is None:
        return _overview(command)
    if topic == "all":
        return everything(command.name)
    name, _, choice = topic.partition("=")
    if name in groups:
        if choice and choice not in keys.choices(name):
            there = keys.choices(name)
            raise UserError(
                f"--help: one of {', '.join(f'{name}={item}' for item in there)} is needed; got {topic}"
                f"{nearest(choice, there)}"
            )
        return _group_page(groups[name], [choice] if choice else keys.choices(name))
    described = _describe_key(command.name, name)
    if described is None:
        known = [*groups, *(key.name for _, key in keys.everywhere(command.name))]
        raise UserError(
            f"--help: a group or a key of nmt {command.name} is needed; got {topic}{nearest(name, known)}"
        )
    return described


def everything(command: str) -> str:
    """Return every key of a command with its comment, straight from the files in conf/."""
    blocks = [block for block in keys.read(command).split("\n\n") if not block.startswith("hydra:")]
    parts = ["\n\n".join(blocks)]
    for group in keys.page(command).groups:
        parts += [
            f"--- {group.name}={choice}\n{keys.read(choice, group.name)}"
            for choice in keys.choices(group.name)
        ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _overview(command: Command) -> str:
    page = keys.page(command.name)
    lines = [page.purpose, "", f"usage: nmt {command.name} [KEY=VALUE ...] [OPTION ...]", ""]
    lines += [*columns(command.examples), ""]
    if page.groups:
        rows = [(f"{group.name}={group.default or 'null'}", group.comment) for group in page.groups]
        lines += ["groups of keys, each with one choice:", *columns(rows, is_whole=False), ""]
    rows = [(f"{key.name}={key.default}", key.comment) for key in page.keys]
    lines += ["keys:", *columns(rows, is_whole=False), ""]
    lines += ["options:", *columns(command.options, is_whole=False)]
    return "\n".join(lines) + "\n"


def _group_page(group: keys.Group, choices: list[str]) -> str:
    parts = []
    for choice in choices:
        page = keys.page(choice, group.name)
        title = f"{group.name}={choice}" + ("  (unless another is chosen)" if choice == group.default else "")
        lines = [title, f"  {page.purpose}"]
        if page.base:
            lines.append(f"  the keys of {group.name}={page.base}, with these changed:")
        rows = [(f"{name}={choice}", "") for name, choice in page.chosen.items()]
        rows += [(f"{group.prefix}{key.name}={key.default}", key.comment) for key in page.keys]
        lines += columns(rows)
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _describe_key(command: str, name: str) -> str | None:
    """Return the meaning and default of a key, with each place that has it; None where no place does."""
    found: dict[Key, list[str]] = {}
    for place, key in keys.everywhere(command):
        if key.name == name:
            found.setdefault(key, []).append(place)
    lines = [
        f"{name}={key.default}\n  {key.comment}\n  in {', '.join(places)}\n" for key, places in found.items()
    ]
    return "".join(lines) or None


def columns(rows: Iterable[tuple[str, str]], is_whole: bool = True) -> list[str]:
    """Return lines of two columns; text that is too wide is wrapped or, unless `is_whole`, shortened to end in dots."""
    rows = list(rows)
    widest = max(80, shutil.get_terminal_size((100, 24)).columns)
    left = max((len(first) for first, _ in rows), default=0)
    lines = []
    for first, second in rows:
        parts = textwrap.wrap(second, widest - left - 4) or [""]
        if not is_whole and len(parts) > 1:
            parts = [textwrap.shorten(second, widest - left - 4, placeholder=" …")]
        firsts = [first, *[""] * (len(parts) - 1)]
        lines += [f"  {one.ljust(left)}  {two}".rstrip() for one, two in zip(firsts, parts, strict=True)]
    return lines
