"""The keys of every command with their defaults and comments, read from the files in conf/ without Hydra."""

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

CONFIG_MODULE = "nmt.conf"


@dataclass(frozen=True)
class Key:
    """One key: its dotted name, its default as YAML, and its meaning."""

    name: str
    default: str
    comment: str


@dataclass(frozen=True)
class Group:
    """A group of settings, of which one choice is taken; a group inside of another is `outer/inner`."""

    name: str
    default: str | None
    comment: str

    @property
    def prefix(self) -> str:
        """The beginning of the names of its keys."""
        return "" if self.name == "experiment" else f"{self.name.replace('/', '.')}."


@dataclass(frozen=True)
class SettingsFile:
    """One file in conf/."""

    purpose: str
    base: str | None  # the file beside it that it changes
    chosen: dict[str, str]  # by group, the choices that it takes in place of the defaults, as recipes do
    groups: list[Group]
    keys: list[Key]


def choices(group: str) -> list[str]:
    """Return the choices of a group. Raises OSError where there is no such group."""
    names = [file.name for file in resources.files(CONFIG_MODULE).joinpath(group).iterdir()]
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def page(name: str, group: str | None = None) -> SettingsFile:
    """Return the parsed file of a command, with the groups inside of its groups, or that of a choice of a group."""
    found = parse(read(name, group))
    if group is not None:
        return found
    inner = {
        f"{outer.name}/{item.name}": item
        for outer in found.groups
        for choice in choices(outer.name)
        for item in parse(read(choice, outer.name)).groups
    }
    return replace(found, groups=[*found.groups, *(replace(item, name=name) for name, item in inner.items())])


def read(name: str, group: str | None = None) -> str:
    """Return the text of the file of a command, or of a choice of a group."""
    return resources.files(CONFIG_MODULE).joinpath(group or "", f"{name}.yaml").read_text(encoding="utf-8")


def said_by(recipe: str, config_directory: str | None, within: Collection[str] = ()) -> set[str]:
    """Return the groups that a recipe chooses or sets keys of, and its single keys; none if it cannot be read.

    A recipe that is based on itself, by those that it is read `within`, adds nothing: Hydra says what is wrong.
    """
    import yaml  # completion does without

    if recipe in within:
        return set()
    own = [Path(config_directory, "experiment")] if config_directory else []
    paths = (
        folder.joinpath(f"{recipe}.yaml") for folder in (*own, resources.files(CONFIG_MODULE) / "experiment")
    )
    path = next((path for path in paths if path.is_file()), None)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) if path else None
    except (yaml.YAMLError, ValueError):  # Hydra says what is wrong
        content = None
    if not isinstance(content, dict):
        return set()
    found = {str(key) for key in content} - {"defaults"}
    entries = content.get("defaults")
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            found |= {str(key).removeprefix("override ").strip("/").split("/")[0] for key in entry}
        elif entry != "_self_":
            found |= said_by(str(entry), config_directory, [*within, recipe])
    return found


def chosen_by(recipe: str) -> dict[str, str]:
    """Return the choices that an experiment of conf/ takes, by group, with those of the one that it is based on."""
    found = page(recipe, "experiment")
    return (chosen_by(found.base) if found.base else {}) | found.chosen


def all_keys(group: str, choice: str) -> list[Key]:
    """Return the keys of a choice, with those of the choice that it is based on."""
    found = page(choice, group)
    inherited = all_keys(group, found.base) if found.base else []
    return list({key.name: key for key in [*inherited, *found.keys]}.values())


def everywhere(command: str) -> Iterator[tuple[str, Key]]:
    """Yield every key that can be typed, with its place (`nmt train`, `model=rnn`) and under its whole name."""
    found = page(command)
    for key in found.keys:
        yield f"nmt {command}", key
    for group in found.groups:
        for choice in _basic_first(group.name) if group.prefix else []:
            for key in all_keys(group.name, choice):
                yield f"{group.name}={choice}", replace(key, name=group.prefix + key.name)


def _basic_first(group: str) -> list[str]:
    """Return the choices of a group: first those that are based on no other."""
    pages = {choice: page(choice, group) for choice in choices(group)}
    return sorted(pages, key=lambda choice: pages[choice].base is not None)


def parse(text: str) -> SettingsFile:
    """Return the content of a settings file, parsed."""
    import yaml  # takes 10 ms, which `nmt --version` should not cost

    head = itertools.takewhile(lambda line: line.startswith("#"), text.split("\n"))
    purpose = " ".join(line[2:] for line in head if not line.startswith("# @"))
    base, chosen, groups, keys = None, dict[str, str](), [], list[Key]()
    # libyaml is ten times as fast, where PyYAML was built with it.
    for name, value in yaml.compose(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)).value:
        if name.value == "defaults":
            for item in value.value:
                if item.id == "scalar":
                    base = item.value if item.value != "_self_" else base
                    continue
                group, choice = item.value[0]
                if group.value.startswith("override "):
                    chosen[group.value.removeprefix("override ").strip("/")] = choice.value
                else:
                    default = None if choice.value == "null" else choice.value
                    groups.append(Group(group.value, default, _comment(text, choice)))
        elif name.value not in ("kind", "hydra"):
            keys += _keys(text, name.value, value)
    return SettingsFile(purpose, base, chosen, groups, keys)


def _keys(text: str, name: str, value: Any) -> Iterator[Key]:
    if value.id == "mapping":
        for inner, item in value.value:
            yield from _keys(text, f"{name}.{inner.value}", item)
    else:
        yield Key(name, text[value.start_mark.index : value.end_mark.index], _comment(text, value))


def _comment(text: str, node: Any) -> str:
    """Return the comment behind a value, which YAML itself leaves out."""
    return text[node.end_mark.index :].partition("\n")[0].strip().removeprefix("# ")
