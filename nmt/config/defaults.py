"""Defaults as the files of conf/ have them, for code that composes settings without Hydra."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import yaml


@cache
def read_defaults(name: str) -> Mapping[str, Any]:
    """Return the values of a file of conf/ by its path without the suffix, such as `decoding/beam`."""
    text = resources.files("nmt.conf").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    values: dict[str, Any] = yaml.safe_load(text)
    return values
