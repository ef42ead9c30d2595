"""The settings of a search that a caller names, with values for some keys: conf/decoding/ has the defaults."""

from collections.abc import Mapping
from typing import Any

from nmt.config import (
    BeamSettings,
    DecodingSettings,
    GreedySettings,
    MBRSettings,
    SamplingSettings,
    SearchSettings,
)
from nmt.config.check import check
from nmt.config.defaults import read_defaults
from nmt.errors import SettingsError, nearest

SEARCHES: dict[str, type[SearchSettings]] = {
    "greedy": GreedySettings,
    "beam": BeamSettings,
    "sampling": SamplingSettings,
    "mbr": MBRSettings,
}


def choose_search(decoding: str, **search: Any) -> DecodingSettings:
    """Return the settings of the search `decoding`: those of conf/decoding/, with the values given here.

    Raises SettingsError for an unknown search or key, or an invalid value.
    """
    if decoding not in SEARCHES:
        raise SettingsError(
            f"decoding: one of {', '.join(SEARCHES)} is needed; got {decoding}{nearest(decoding, list(SEARCHES))}"
        )
    return _changed(read_defaults(f"decoding/{decoding}"), search)


def change_search(
    settings: DecodingSettings, /, decoding: str | None = None, **search: Any
) -> DecodingSettings:
    """Return these settings, or those of conf/decoding/ for another search, with the values given here.

    Raises SettingsError for an unknown search or key, or an invalid value.
    """
    if decoding not in (None, settings.kind):
        return choose_search(str(decoding), **search)
    return _changed(settings.model_dump(), search)


def _changed(values: Mapping[str, Any], search: Mapping[str, Any]) -> DecodingSettings:
    kind, known = values["kind"], [key for key in values if key != "kind"]
    for key in search:
        if key not in known:
            raise SettingsError(f"{key}: no such key of decoding={kind}{nearest(key, known)}")
    found: Any = check(SEARCHES[kind], {**values, **search})
    return found
