"""KEY=VALUE as it was typed, read by Hydra's own grammar; values that cannot be meant are refused."""

import os
import re
from collections.abc import Iterable
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from nmt.cli import keys
from nmt.cli.commands import COMMANDS, Command
from nmt.cli.value_types import as_string, takes_lists, takes_names
from nmt.errors import SettingsError

SWEEP = "sweep"  # how several runs are made: no part of a run
# A quoted text, or where a value begins, and perhaps a ~/ there.
AT_HOME = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[=\[,:({]\s*)(~(?=/))?""")
NAMES_ALONE = re.compile(r"(\[?)([^][{}()'\"]+)(\]?)")  # one name or a list of them, without quotes
KEYS_ALONE = re.compile(r"\{[^][{}()'\"]+\}")  # keys with such names
NAME_OF_KEY = re.compile(r"([{,]\s*(\w+)\s*:)([^,}]+)")
# What Hydra's parser raises: ValueError is Python's, for a number of more than 4,300 digits.
NO_VALUE = HydraException, ValueError
LAUNCH = ("run", "resume")  # where a sweep runs, and whether it goes on


def parse(overrides: list[str], command: str, is_sweep: bool = False) -> list[Override]:
    """Return the overrides that were typed for a command, each with an `input_line` that Hydra can read.

    Raises SettingsError for what is no KEY=VALUE, does nothing, or leaves settings incomplete.
    """
    parser, typed = OverridesParser.create(), list[Override]()
    for given in overrides:
        try:
            typed.append(parser.parse_override(_quoted(given, COMMANDS[command])))
        except NO_VALUE:
            key, _, value = given.partition("=")
            raise SettingsError(
                f"{key}: a value with pairs of quotes and brackets is needed, for a shell in single quotes, and "
                f'in a list a name with spaces, brackets or quotes in double ones, ["a (1).de",b.de]; got {value}'
                if value and re.fullmatch(r"[+~]*[\w@-]+([./][\w@-]+)*", key)
                else f"KEY=VALUE is needed; got {given}{_meant(given, command, overrides)}"
            ) from None
    for override in typed:
        if problem := _problem(override, COMMANDS[command], is_sweep):
            raise SettingsError(problem)
    return typed


def _meant(given: str, command: str, words: Iterable[str]) -> str:
    """Return what may have been meant by a word that is no KEY=VALUE, such as the input or the run."""
    if any(word.startswith("=") or word.endswith("=") for word in words):
        return "; there is no space around ="
    named = "input" if os.path.isfile(given) else "run" if os.path.isdir(given) else None
    is_key = any(key.name == named for key in keys.page(command).keys)
    return f"; did you mean {named}={given}?" if is_key else ""


def is_of(override: Override, *names: str) -> bool:
    """Say whether an override is of one of the keys `names`, or of a key inside of one."""
    return any(re.match(rf"{name}($|[./])", override.key_or_group) for name in names)


def _problem(override: Override, command: Command, is_sweep: bool) -> str | None:
    key, line = override.key_or_group, override.input_line
    group, _, name = key.rpartition(".")
    if not key:
        return f"KEY=VALUE is needed; got {line}"
    if is_of(override, "hydra"):
        return f"{key}: a key of nmt's is needed, such as sweep.at_once for several runs at once; got {line}"
    if override.is_delete():
        return f"{key}: a value is needed, since no key can be left out; got {line}"
    if not is_sweep and is_of(override, SWEEP):
        return f"{key}: the option -m is needed with it; got {line}"
    if name == "kind" and (choices := _choices(group)):
        return f"{group}: {group}=NAME is needed for another kind, one of {', '.join(choices)}; got {line}"
    if override.is_sweep_override():
        if not is_sweep:
            others = f", or a list as {key}=[A,B]" if takes_lists(command, key) else ""
            others += ", quotes around a name with commas" if takes_names(command, key) else ""
            others += ", or the option -m for several runs" if command.name == "train" else ""
            return f"{key}: one value is needed{others}; got {line}"
        if is_of(override, SWEEP, *LAUNCH):
            return f"{key}: one value is needed for all of the sweep; got {line}"
        return None
    value = override.value()
    if isinstance(value, dict) and "kind" in value and (choices := _choices(key)):
        return f"{key}: {key}=NAME is needed for another kind, one of {', '.join(choices)}; got {line}"
    if key == "resume" and not isinstance(value, bool):
        return f"{key}: true or false is needed; got {value}"
    if isinstance(value, str) and "." in key and (choices := _choices(of_group := key.replace(".", "/"))):
        return f"{key}: {of_group}=NAME is needed for another choice, one of {', '.join(choices)}; got {line}"
    if value == "" and not _choices(key):
        return f"{key}: a value is needed, or null where there may be none; got {line}"
    if not isinstance(value, str | list | dict) and (choices := _choices(key)):
        return f"{key}: one of {', '.join(choices)} is needed; got {'null' if value is None else value}"
    return None


def _choices(group: str) -> list[str]:
    """Return the choices of a group in conf/; none where there is no such group."""
    is_name = re.fullmatch("[a-z_]+(/[a-z_]+)?", group)
    try:
        return keys.choices(group) if is_name else []
    except OSError:
        return []


def typed_value(typed: Iterable[Override], *names: str) -> Any:
    """Return the value that was typed last for one of the keys `names`, None where there is none."""
    values = [override.value() for override in typed if override.key_or_group in names]
    return values[-1] if values else None


def _quoted(override: str, command: Command) -> str:
    """Put quotes around a value that Hydra's grammar cannot read, and join a list of several lines into one line.

    A name that the grammar would read as a number is quoted, too: run=1.10 is another run than run=1.1. A path that
    begins with ~/ begins at home: after a =, few shells put it there.
    """
    override = AT_HOME.sub(lambda found: found[1] + os.path.expanduser(found[2] or ""), override)
    override = override.replace("\n", " ") if re.match(r"[^=]*=\s*[\[{]", override) else override
    key, separator, value = override.partition("=")
    if separator and value[:1] not in ("'", '"', "[", "{") and _read(override) is None:
        return f"{key}={as_string(value)}"
    known = key.lstrip("+")
    if takes_names(command, known) and (found := NAMES_ALONE.fullmatch(value)):
        names = ",".join(map(_as_name, found[2].split(",")))
        return f"{key}={found[1]}{names}{found[3]}"
    if KEYS_ALONE.fullmatch(value):

        def as_named(one: re.Match[str]) -> str:
            return one[1] + (_as_name(one[3]) if takes_names(command, f"{known}.{one[2]}") else one[3])

        return f"{key}={NAME_OF_KEY.sub(as_named, value)}"
    return override


def _read(override: str) -> Override | None:
    try:
        return OverridesParser.create().parse_override(override)
    except NO_VALUE:
        return None


def _as_name(text: str) -> str:
    """Return a name in quotes if Hydra's grammar cannot read it, or would read it as a number."""
    found = _read(f"name={text}")
    is_name = found is not None and not isinstance(found.value(), int | float)
    return text if is_name else as_string(text.strip())
