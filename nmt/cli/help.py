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

    Raises UserError for a topic that is none, with the nearest.
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
        known = [*groups, *(key.name for key in page.keys), *_all_names(command.name)]
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
        lines += columns([(f"{group.prefix}{key.name}={key.default}", key.comment) for key in page.keys])
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _describe_key(command: str, name: str) -> str | None:
    """Return the meaning of a key wherever there is one of that name, and what its default is there."""
    page = keys.page(command)
    found: dict[tuple[str, str], list[str]] = {}
    for key in page.keys:
        if key.name == name:
            found.setdefault((key.default, key.comment), []).append(f"nmt {command}")
    for group in page.groups:
        if group.prefix and name.startswith(group.prefix):
            for choice in keys.choices(group.name):
                for key in keys.all_keys(group.name, choice):
                    if group.prefix + key.name == name:
                        found.setdefault((key.default, key.comment), []).append(f"{group.name}={choice}")
    if not found:
        return None
    lines = []
    for (default, comment), places in found.items():
        lines += [f"{name}={default}", f"  {comment}", f"  in {', '.join(places)}"]
    return "\n".join(lines) + "\n"


def _all_names(command: str) -> list[str]:
    return [
        f"{group.prefix}{key.name}"
        for group in keys.page(command).groups
        if group.name != "experiment"
        for choice in keys.choices(group.name)
        for key in _own_keys(group.name, choice)
    ]


def _own_keys(group: str, choice: str) -> list[Key]:
    return keys.page(choice, group).keys


def columns(rows: Iterable[tuple[str, str]], is_whole: bool = True) -> list[str]:
    """Return rows of two columns; what is too wide goes on below or, unless it is to be whole, ends in dots."""
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
