"""From a plain dict to checked settings; the error message has one line for each wrong key."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pydantic

from nmt import config
from nmt.config import Settings
from nmt.errors import RunError, SettingsError, nearest
from nmt.files.reading import read_json

MAX_PROBLEMS = 50

SettingsT = TypeVar("SettingsT", bound=pydantic.BaseModel)


def check(settings_class: type[SettingsT], values: Mapping[str, Any], prefix: str = "") -> SettingsT:
    """Check a plain dict and return it as frozen settings.

    `prefix` names the file that the keys come from, and begins each message.
    Raises SettingsError with one line for each problem, up to MAX_PROBLEMS.
    """
    if unset := [key for key, value in flatten(values) if value == "???"]:
        raise SettingsError(
            *(
                f"{prefix}{key}: a value is needed; got none; give it as {key}=VALUE"
                for key in unset[:MAX_PROBLEMS]
            )
        )
    try:
        return settings_class.model_validate(values)
    except pydantic.ValidationError as error:
        found = error.errors(include_url=False)[:MAX_PROBLEMS]
        raise SettingsError(*(prefix + line for line in _lines(found, values))) from None


def check_file(settings_class: type[SettingsT], values: Mapping[str, Any], path: Path) -> SettingsT:
    """Return the content of a file of a run as frozen settings. Raises RunError, with the first problem."""
    try:
        return check(settings_class, values, prefix=f"run: {path}: ")
    except SettingsError as error:
        more = f"; and {len(error.problems) - 1} more" if len(error.problems) > 1 else ""
        raise RunError(error.problems[0] + more) from None


def read_checked(settings_class: type[SettingsT], path: Path) -> SettingsT | None:
    """Return a JSON file of a run, checked; None where there is no file. Raises RunError if it holds something else."""
    return check_file(settings_class, read_json(path), path) if path.exists() else None


def _lines(found: Sequence[Any], values: Mapping[str, Any]) -> list[str]:
    """Return the problems as lines; all problems of one value share a line."""
    lines: dict[tuple[str, str | None], list[str]] = {}
    for problem in found:
        path = _path_of_keys(problem["loc"], values, is_missing=problem["type"] == "missing")
        given = problem["input"]
        while path and path[-1].isdigit():  # an item of a list, which is no key of its own
            path.pop()
            given = _value_at(values, path)
        expected, got = _expected_and_got(problem, given)
        key = ".".join(path)
        if problem["type"] == "union_tag_invalid":
            key += ".kind"
        if problem["type"] == "missing" and isinstance(given, list | tuple):
            expected, got = "a longer list", as_typed(given)
        if problem["type"] == "value_error":
            key, expected, got = (f"{key}.{expected}" if key else expected), "", None
        wanted = lines.setdefault((key, got), [])
        if expected not in wanted:
            wanted.append(expected)
    return [
        ": ".join(filter(None, (key, *wanted)))
        if got is None
        else f"{key}: {' or '.join(wanted)} is needed; got {got}"
        for (key, got), wanted in lines.items()
    ]


# What is expected, by the kind of problem, where pydantic's own words are a sentence of another form.
EXPECTED = {
    **dict.fromkeys(("int_parsing", "int_parsing_size", "int_from_float", "int_type"), "an integer"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list, as [A,B],"),
    "dict_type": "a group, as {{KEY: VALUE}},",
    "string_type": "text",
    "model_attributes_type": "a group of keys",
    "string_pattern_mismatch": "text that matches {pattern}",
    "string_too_long": "text of at most {max_length} characters",
    "string_too_short": "text of at least {min_length} characters",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list of at least {min_length}",
}


def _expected_and_got(problem: Any, given: Any) -> tuple[str, str | None]:
    """Return what a value should be and what it is; a message that says both is returned with None."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "value_error":
        return str(context["error"]), None
    if kind == "model_type":
        # The class of a part of a run's record is not in nmt.config.
        fields = getattr(config, context["class_name"], Settings).model_fields
        return f"a value for each of {', '.join(fields)}" if fields else "an object", as_typed(given)
    if kind == "extra_forbidden":
        return "no such key", None
    if kind == "missing":
        return "a value", "none"
    if kind == "literal_error":
        listed = context["expected"].replace("'", "").replace("True", "true").replace("False", "false")
        choices = listed.replace(" or ", ", ").split(", ")
        expected = f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]
        return expected, as_typed(given) + nearest(given, choices)
    if kind == "union_tag_invalid":
        choices = context["expected_tags"].replace("'", "").split(", ")
        return f"one of {', '.join(choices)}", context["tag"] + nearest(context["tag"], choices)
    if kind in EXPECTED:
        return EXPECTED[kind].format(**context), as_typed(given)
    return problem["msg"].removeprefix("Input should be ").removeprefix("a valid "), as_typed(given)


def _value_at(values: Any, path: Sequence[str]) -> Any:
    for key in path:
        values = values[int(key)] if isinstance(values, list) else values[key]
    return values


def _path_of_keys(location: Sequence[str | int], values: Any, is_missing: bool) -> list[str]:
    """Return pydantic's location of a problem as keys of the settings, without tags and members of unions."""
    path, kind = [], None
    for index, part in enumerate(location):
        # The tag of a union comes right after its key; a key of the union can have the same name.
        is_tag, kind = kind is not None and part == kind, None
        is_missing_key = is_missing and index == len(location) - 1
        if is_tag:
            continue
        if isinstance(values, Mapping) and (part in values or is_missing_key):
            path.append(str(part))
            values = values.get(part)
            kind = values.get("kind") if isinstance(values, Mapping) else None
        elif isinstance(values, list) and isinstance(part, int):
            path.append(str(part))
            values = values[part] if part < len(values) else None
    return path


def as_typed(value: Any) -> str:
    """Return a value as it would be typed on the command line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {as_typed(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_typed, value))}]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value with its dotted key."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield each dotted key whose value has changed, with both values; None stands for a missing one."""
    flat_before, flat_now = dict(flatten(before)), dict(flatten(now))
    for key in sorted(flat_before.keys() | flat_now.keys()):
        if flat_before.get(key) != flat_now.get(key):
            yield key, flat_before.get(key), flat_now.get(key)
