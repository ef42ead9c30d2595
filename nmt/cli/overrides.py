"""What was typed as KEY=VALUE, read by Hydra's own grammar, without what cannot be meant."""

import re
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from nmt.cli import keys
from nmt.errors import SettingsError

SWEEP = "sweep"  # how several runs are made: no part of a run


def parse(overrides: list[str], is_sweep: bool = False) -> list[Override]:
    """Return what was typed. Raises SettingsError for what does nothing, or leaves settings incomplete.

    Raises HydraException for what is no KEY=VALUE.
    """
    typed = OverridesParser.create().parse_overrides(overrides)
    for override in typed:
        if problem := _problem(override, is_sweep):
            raise SettingsError([problem])
    return typed


def _problem(override: Override, is_sweep: bool) -> str | None:
    key, line = override.key_or_group, override.input_line
    group, _, name = key.rpartition(".")
    if not key or key == "hydra":
        return f"KEY=VALUE is needed; got {line}"
    if override.is_delete():
        return f"{key}: a value is needed, since no key can be left out; got {line}"
    if not is_sweep and re.match(rf"(hydra|{SWEEP})($|[./])", key):
        return f"{key}: the option -m is needed with it; got {line}"
    if name == "kind" and (choices := _choices(group)):
        return f"{group}: {group}=NAME is needed for another kind, one of {', '.join(choices)}; got {line}"
    if override.is_sweep_override():
        return None
    value = override.value()
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


def typed_value(key: str, typed: list[Override]) -> Any:
    """Return the value that was typed last for a key; None where there is none, or several to sweep over."""
    values = [
        override.value()
        for override in typed
        if override.key_or_group == key and not override.is_sweep_override()
    ]
    return values[-1] if values else None


def quoted(override: str) -> str:
    """Put quotes around a value that Hydra's grammar has no place for, and lists of several lines in one."""
    override = override.replace("\n", " ") if re.match(r"[^=]*=\s*[\[{]", override) else override
    try:
        OverridesParser.create().parse_override(override)
    except HydraException:
        key, separator, value = override.partition("=")
        if separator and value[:1] not in ("'", '"', "[", "{"):
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"{key}='{escaped}'"
    return override
