"""Which values a key of a command takes, by the types of the settings that check it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args, get_origin

from nmt.cli.commands import Command


def named_values(command: Command, key: str) -> list[str]:
    """Return the values that the settings list for a key; none for a number, a file or other text."""
    return list(dict.fromkeys(value for kind in _types(command, key) for value in _listed(kind)))


def takes_lists(command: Command, key: str) -> bool:
    """Whether a list may be typed for a key."""
    return any(get_origin(kind) in (list, tuple) for kind in _types(command, key))


def takes_names(command: Command, key: str) -> bool:
    """Whether a key takes text, as the name of a file or a language, or a list of such text, and no number."""
    kinds = list(_types(command, key))
    return str in kinds and not {int, float}.intersection(kinds)


def _types(command: Command, key: str) -> Iterator[Any]:
    from nmt.config import SweepSettings  # imports pydantic, which completing a key need not wait for

    classes = [command.settings_class, *([SweepSettings] if command.name == "train" else [])]
    return (kind for settings_class in classes for kind in _leaves(settings_class, key.split(".")))


def _leaves(kind: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the types of the key at `path` within a type of settings or a dict; of a list also those of its items."""
    if fields := getattr(kind, "model_fields", None):
        for name, field in fields.items():
            if path[:1] == [field.alias or name]:
                yield from _leaves(field.annotation, path[1:])
        return
    if path and get_origin(kind) is dict:
        yield from _leaves(get_args(kind)[1], path[1:])
        return
    if not path:
        yield kind
    if get_origin(kind) is not Literal:
        for part in get_args(kind):
            yield from _leaves(part, path)


def _listed(kind: Any) -> list[str]:
    if kind is bool:
        return ["false", "true"]
    return list(map(str, get_args(kind))) if get_origin(kind) is Literal else []


def as_string(value: object) -> str:
    """Return a value in quotes, between which Hydra's grammar takes everything literally.

    It takes a backslash for an escape before a quote, and before the closing one, alone.
    """
    escaped = re.sub(r"(\\+)(?='|\Z)", r"\1\1", str(value)).replace("'", "\\'")
    return f"'{escaped}'"
