"""What Hydra makes of conf/ and of a command line; its errors become errors of one line."""

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException

from nmt.cli import keys
from nmt.cli.keys import CONFIG_MODULE
from nmt.cli.overrides import LAUNCH, SWEEP, is_of
from nmt.cli.value_types import as_string
from nmt.config.check import flatten
from nmt.errors import SettingsError, UserError, first_line, nearest

HYDRA_VERSION = "1.3"
EXPERIMENT = "experiment"
TRAIN, DISTIL, EVALUATE = "train", "distil", "evaluate"


@contextmanager
def hydra_config_of(
    command: str, typed: list[Override], config_directory: str | None, more: list[str]
) -> Iterator[DictConfig]:
    """Have Hydra compose `more` and what was typed; its errors within the context become UserErrors of one line."""
    path = _search_path(config_directory)
    lines = [str(override.input_line) for override in typed]
    with initialize_config_module(config_module=CONFIG_MODULE, version_base=HYDRA_VERSION, job_name="nmt"):
        try:
            yield hydra_compose(command, [*path, *more, *lines], return_hydra_config=True)
        except (HydraException, OmegaConfBaseException) as error:
            raise _explain(command, typed, path, more, error) from None
        except yaml.YAMLError as error:
            raise SettingsError(f"--config-dir: YAML is needed; got {' '.join(str(error).split())}") from None
        # Of a file in another encoding, with defaults that are no list of names, or that is based on itself.
        except (ValueError, RecursionError, AttributeError, AssertionError) as error:
            raise SettingsError(
                f"--config-dir: files for Hydra are needed; got {first_line(error)}"
            ) from None


def to_values(config: DictConfig) -> dict[str, Any]:
    """Return the settings of a command, without Hydra's own, as plain dictionaries and lists."""
    kept = [str(key) for key in config if key not in ("hydra", EXPERIMENT)]
    values = OmegaConf.to_container(OmegaConf.masked_copy(config, kept), resolve=True)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


def require_global(config: DictConfig, experiment: str) -> None:
    """Raise SettingsError for a recipe whose keys would lie under `experiment`, not at the top of the settings."""
    if config.get(EXPERIMENT):
        own = ", ".join(str(key) for key in config[EXPERIMENT])
        raise SettingsError(
            f"{EXPERIMENT}={experiment}: a first line `# @package _global_` is needed in its file, or its keys do "
            f"nothing; got {own}"
        )


def compose_sweep(typed: list[Override], config_directory: str | None) -> tuple[Any, list[Override]]:
    """Return the values of `sweep`, and the overrides of the runs themselves. Raises UserError as `compose` does.

    A recipe may set `sweep`, too, unless several recipes are swept.
    """
    of_sweep = [one for one in typed if is_of(one, SWEEP, EXPERIMENT) and not one.is_sweep_override()]
    with hydra_config_of(TRAIN, of_sweep, config_directory, []) as config:
        # This parser knows the choices of each group, among which glob(...) selects.
        choices = functools.partial(
            GlobalHydra.instance().config_loader().get_group_options,
            config_name=TRAIN,
            overrides=_search_path(config_directory),
        )
        loader: Any = SimpleNamespace(get_group_options=choices)
        parser = OverridesParser.create(loader)
        of_runs = [str(one.input_line) for one in typed if not is_of(one, SWEEP, *LAUNCH)]
        return to_values(config)[SWEEP], parser.parse_overrides(of_runs)


def _search_path(config_directory: str | None) -> list[str]:
    """Return the override that makes Hydra search `config_directory` besides conf/; none where there is none."""
    if config_directory is None:
        return []
    return [f"hydra.searchpath=[{as_string(f'file://{Path(config_directory).absolute()}')}]"]


def _explain(
    command: str, typed: list[Override], path: list[str], more: list[str], error: Exception
) -> UserError:
    """Turn an error of Hydra's into one line that names the key and the nearest valid one."""
    loader = GlobalHydra.instance().config_loader()
    groups = [group for group in loader.list_groups("") if group != "hydra"]
    groups += [f"{group}/{part}" for group in groups for part in loader.list_groups(group)]
    chosen = list(more)
    for override in typed:
        key = override.key_or_group
        if key in groups:
            options = loader.get_group_options(key, config_name=command, overrides=path)
            value = override.value()
            if value is not None and value not in options:
                there = ", ".join(options)
                return SettingsError(f"{key}: one of {there} is needed; got {value}{nearest(value, options)}")
            chosen.append(f"{key}={'null' if value is None else value}")
    for override in typed:
        line = str(override.input_line)
        if isinstance(error, InterpolationResolutionError) and "${" in line:
            key, _, value = line.partition("=")
            return SettingsError(
                f"{key}: a known name is needed in ${{…}}, or \\${{ for these characters themselves; got {value}"
            )
    try:
        values = to_values(hydra_compose(command, [*path, *chosen], return_hydra_config=True))
    except (HydraException, OmegaConfBaseException):
        return _blamed(typed, error)
    # A kind is no key to type: it is chosen with its group.
    known = [key for key, _ in flatten(values) if not key.endswith(".kind")] + list(values) + groups
    for override in typed:
        key = override.key_or_group
        if key not in known:
            places = [place for place, found in keys.everywhere(command) if found.name == key]
            if places:
                return SettingsError(
                    f"{key}: no such key with these settings; {' or '.join(places[:3])} has it"
                )
            return SettingsError(f"{key}: no such key{nearest(key, known)}")
    return _blamed(typed, error)


def _blamed(typed: list[Override], error: Exception) -> SettingsError:
    """Return an error in Hydra's words, which begins with the key that they name, if one was typed."""
    said = first_line(error)
    for override in typed:
        key = override.key_or_group
        if re.search(rf"\b{re.escape(key)}\b", said):
            return SettingsError(f"{key}: a value that fits is needed; got {override.input_line}: {said}")
    return SettingsError(said)
