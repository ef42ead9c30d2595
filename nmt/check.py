"""A plain dict in, checked settings out; what is wrong is said in one line for each key."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pydantic

from nmt.config import Settings
from nmt.errors import SettingsError
from nmt.words import nearest

MAX_PROBLEMS = 50

SettingsT = TypeVar("SettingsT", bound=Settings)


def check(settings_class: type[SettingsT], values: Mapping[str, Any], prefix: str = "") -> SettingsT:
    """Check a plain dict and return it as frozen settings.

    `prefix` stands before the keys in messages: the file that they come from.
    Raises SettingsError with one line for each thing that is wrong, up to MAX_PROBLEMS.
    """
    if unset := [key for key, value in flatten(values) if value == "???"]:
        raise SettingsError(
            [
                f"{prefix}{key}: a value is needed; got none; give it as {key}=VALUE"
                for key in unset[:MAX_PROBLEMS]
            ]
        )
    try:
        return settings_class.model_validate(values)
    except pydantic.ValidationError as error:
        found = error.errors(include_url=False)[:MAX_PROBLEMS]
        problems = [_one_line(problem, values) for problem in found]
        raise SettingsError([prefix + problem for problem in dict.fromkeys(problems)]) from None


def _one_line(problem: Any, values: Mapping[str, Any]) -> str:
    kind, given = problem["type"], problem["input"]
    key = ".".join(_path_of_keys(problem["loc"], values, is_missing=kind == "missing"))
    if kind == "value_error":
        message = str(problem["ctx"]["error"])
        return f"{key}.{message}" if key else message
    if kind == "missing":
        return f"{key}: a value is needed; got none"
    if kind == "extra_forbidden":
        return f"{key}: no such key"
    if kind == "literal_error":
        choices = problem["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        return f"{key}: one of {', '.join(choices)} is needed; got {as_typed(given)}{nearest(given, choices)}"
    if kind == "union_tag_invalid":
        choices = problem["ctx"]["expected_tags"].replace("'", "").split(", ")
        tag = problem["ctx"]["tag"]
        return f"{key}.kind: one of {', '.join(choices)} is needed; got {tag}" + nearest(tag, choices)
    expected = problem["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    return f"{key}: {expected} is needed; got {as_typed(given)}"


def _path_of_keys(location: Sequence[str | int], values: Any, is_missing: bool) -> list[str]:
    """Leave out of pydantic's location what is no key of the settings: tags and members of unions."""
    path = []
    for index, part in enumerate(location):
        is_missing_key = is_missing and index == len(location) - 1
        if isinstance(values, Mapping) and (part in values or is_missing_key):
            path.append(str(part))
            values = values.get(part)
        elif isinstance(values, list) and isinstance(part, int):
            path.append(str(part))
            values = values[part] if part < len(values) else None
    return path


def as_typed(value: Any) -> str:
    """Return a value as it stands on the command line."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value with its dotted key."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
