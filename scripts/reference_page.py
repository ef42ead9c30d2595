"""A hook of mkdocs.yml: while mkdocs builds the site, it writes the page of every key from conf/."""

from typing import Any

from nmt.cli import keys
from nmt.cli.commands import COMMANDS
from nmt.cli.keys import Key


def on_files(files: Any, config: Any) -> Any:
    """Add reference.md to the pages of the site."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "reference.md", content=page()))
    return files


def page() -> str:
    """Return the page as Markdown: the keys of each command, then each group with its choices."""
    parts = [
        "# Every key\n",
        "A key is given as `KEY=VALUE`, a group as `GROUP=CHOICE`. On the command line, `nmt train --help` shows these "
        "on one screen, `nmt train --help model` or `nmt train --help model.dropout` a part of them, and "
        "`nmt train --cfg job` what would be used.\n",
        "## Commands\n",
    ]
    groups: dict[str, str] = {}
    for command in COMMANDS:
        found = keys.page(command)
        parts += [f"### nmt {command}\n", f"{_sentence(found.purpose.partition(': ')[2])}\n"]
        if found.groups:
            rows = [
                f"| [`{group.name}`](#{group.name.replace('/', '')}) | `{group.default or 'null'}` "
                f"| {_cell(group.comment)} |"
                for group in found.groups
            ]
            parts.append("\n".join(["| group | choice | |", "|---|---|---|", *rows]) + "\n")
            groups |= {group.name: group.prefix for group in found.groups}
        parts.append(_table(found.keys, ""))
    parts.append("## Groups\n")
    for group, prefix in groups.items():
        parts.append(f"### {group}\n")
        for choice in keys.choices(group):
            found = keys.page(choice, group)
            parts += [f"#### {group}={choice}\n", f"{_sentence(found.purpose)}\n"]
            if found.base:
                parts.append(f"The keys of `{group}={found.base}`, with these changed:\n")
            parts.append(_table(found.keys, prefix))
    return "\n".join(parts)


def _table(keys: list[Key], prefix: str) -> str:
    if not keys:
        return ""
    rows = [f"| `{prefix}{key.name}` | `{key.default}` | {_cell(key.comment)} |" for key in keys]
    return "\n".join(["| key | default | |", "|---|---|---|", *rows]) + "\n"


def _cell(text: str) -> str:
    """Return text escaped for a table in Markdown, where a bar would end the cell and a star begin emphasis."""
    for character in "\\|<>*_[]":
        text = text.replace(character, f"\\{character}" if character != "|" else "&#124;")
    return text


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
