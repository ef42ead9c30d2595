"""The keys of every command with their defaults and comments, read from the files in conf/ without Hydra."""

import re
from dataclasses import dataclass, field, replace
from importlib import resources
from importlib.resources.abc import Traversable

CONFIG_MODULE = "nmt.conf"
LINE = re.compile(r"(?P<indent> *)(?P<name>[a-z_0-9]+):(?: +(?P<value>[^#]*?))?(?:\s+# (?P<comment>.*))?")
GROUP = re.compile(r"  - (?P<name>[a-z_]+): (?P<choice>[a-z_0-9]+)(?:\s+# (?P<comment>.*))?")
BASE = re.compile(r"  - (?P<name>[a-z_0-9]+)")


@dataclass(frozen=True)
class Key:
    """One key: its dotted name, its default as YAML, and its meaning."""

    name: str
    default: str
    comment: str

    @property
    def choices(self) -> list[str]:
        """What the key can be, where its comment lists that: `auto | cpu | cuda`."""
        if self.default in ("true", "false"):
            return ["false", "true"]
        words = re.match(r"(?:[a-z_0-9]+(?: \([^)]*\)|: [^|;]*)?(?: \| |$|(?=;| :)))+", self.comment)
        found = words[0].split(" | ") if words and " | " in words[0] else []
        return [re.split(r"[ :;(]", choice)[0] for choice in found]


@dataclass(frozen=True)
class Group:
    """A group of settings, of which one choice is taken; a group inside of another is `outer/inner`."""

    name: str
    default: str | None
    comment: str

    @property
    def prefix(self) -> str:
        """What its keys begin with."""
        return "" if self.name == "experiment" else f"{self.name.replace('/', '.')}."


@dataclass
class Page:
    """One file in conf/."""

    purpose: str = ""
    base: str | None = None  # the file beside it that it changes
    groups: list[Group] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)


def choices(group: str) -> list[str]:
    """Return the choices of a group."""
    return sorted(_names(resources.files(CONFIG_MODULE).joinpath(group)))


def page(name: str, group: str | None = None) -> Page:
    """Return what is in the file of a command, with the groups inside of its groups, or of a choice of a group."""
    found = parse(read(name, group))
    if group is None:
        for outer in list(found.groups):
            inner = {
                item.name: item
                for choice in choices(outer.name)
                for item in parse(read(choice, outer.name)).groups
            }
            found.groups += [replace(item, name=f"{outer.name}/{item.name}") for item in inner.values()]
    return found


def read(name: str, group: str | None = None) -> str:
    """Return the text of the file of a command, or of a choice of a group."""
    root = resources.files(CONFIG_MODULE)
    folder = root.joinpath(group) if group else root
    return folder.joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def all_keys(group: str, choice: str) -> list[Key]:
    """Return the keys of a choice, with those of the one that it changes."""
    found = page(choice, group)
    inherited = all_keys(group, found.base) if found.base else []
    return list({key.name: key for key in [*inherited, *found.keys]}.values())


def parse(text: str) -> Page:
    """Return what a file of settings says."""
    found, path, head = Page(), [""], []
    in_defaults = False
    for line in text.split("\n"):
        if line.startswith("hydra:"):
            break
        if line.startswith("#") and not found.keys and not line.startswith("# @"):
            head.append(line[2:])
        elif line.startswith("defaults:"):
            in_defaults = True
        elif in_defaults and line.startswith("  - "):
            if match := GROUP.fullmatch(line):
                choice = match["choice"]
                found.groups.append(
                    Group(match["name"], None if choice == "null" else choice, match["comment"] or "")
                )
            elif (match := BASE.fullmatch(line)) and match["name"] != "_self_":
                found.base = match["name"]
        elif match := LINE.fullmatch(line):
            in_defaults = False
            path = [*path[: len(match["indent"]) // 2], match["name"]]
            if match["value"] and match["name"] != "kind":
                found.keys.append(Key(".".join(path), match["value"].strip(), match["comment"] or ""))
    found.purpose = " ".join(head)
    return found


def _names(folder: Traversable) -> list[str]:
    return [file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")]
