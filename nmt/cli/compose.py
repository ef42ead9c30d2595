"""Settings of a command from conf/, the command line and the run that is named, by Hydra; nothing else imports it."""

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from nmt.cli import keys
from nmt.cli.commands import find
from nmt.cli.keys import CONFIG_MODULE
from nmt.cli.overrides import SWEEP, parse, quoted, typed_value
from nmt.config import Settings, TrainSettings
from nmt.config.check import check, flatten
from nmt.errors import RunError, SettingsError, UserError, naming, nearest

if TYPE_CHECKING:
    from nmt.runs.directory import RunDirectory

HYDRA_VERSION = "1.3"
EXPERIMENT = "experiment"
TRAIN = "train"
# What the model, its first weights and the plan of its batches are made of: a run that goes on cannot change it.
FIXED = (
    "seed", "data", "tokenizer", "model", "training.update_tokens", "training.subword_sampling", "training.from_run",
    "training.source_vectors", "training.target_vectors",
)  # fmt: skip
# What a run takes over from the one whose weights it starts from, unless something else is typed.
INHERITED = ("data", "tokenizer", "model")
FIXED_KEYS = re.compile(rf"({'|'.join(map(re.escape, FIXED))})($|\.)")


@dataclass(frozen=True)
class Composed:
    """Settings before the check, and where a training run without a name of its own goes."""

    command: str
    values: dict[str, Any]
    default_run: str
    own_values: Mapping[str, Any] | None  # the settings of the run that is named, if it exists

    def settings(self) -> Settings:
        """Check the settings; those of a training name its run.

        Raises SettingsError, or RunError where a run that goes on would change.
        """
        settings = check(find(self.command).settings_class, self.values)
        if not isinstance(settings, TrainSettings):
            return settings
        if self.own_values is not None and settings.resume:
            _refuse_changes(self.own_values, settings.model_dump(mode="json"))
        run = str(_existing_run("last").path) if settings.run == "last" else settings.run
        return settings.model_copy(update={"run": run or self.default_run})

    def to_yaml(self) -> str:
        """Return the settings as YAML."""
        return yaml.safe_dump(self.values, allow_unicode=True, sort_keys=False)


def compose(command: str, overrides: list[str], config_directory: str | None) -> Composed:
    """Put the settings of one job together: conf/, then those of a run that is named, then what was typed.

    Of the run itself they are all of its settings, of the one that it starts from those that are INHERITED.

    Raises UserError for an unknown key or choice, with the nearest one.
    """
    overrides = [quoted(override) for override in overrides]
    with initialize_config_module(config_module=CONFIG_MODULE, version_base=HYDRA_VERSION):
        path = search_path(config_directory)
        try:
            typed = parse(overrides)
            name = typed_value("run", typed)
            own = None if name is None else _read_run(str(name))
            base = own or _inherited(typed)
            of_run = _choices_of_run(base, typed, command)
            config = hydra_compose(command, [*path, *of_run, *overrides], return_hydra_config=True)
            experiment = config.hydra.runtime.choices.get(EXPERIMENT) or "default"
            values = to_values(config)
            values.pop(SWEEP, None)
        except (HydraException, OmegaConfBaseException) as error:
            raise _explain(command, overrides, path, error) from None
        except yaml.YAMLError as error:
            raise SettingsError(
                [f"--config-dir: YAML is needed; got {' '.join(str(error).split())}"]
            ) from None
    default_run = Path("outputs", experiment, datetime.now().strftime("%Y-%m-%d_%H-%M-%S"))
    return Composed(command, _lay(base, values, typed, command), str(default_run), own)


def compose_job(config: DictConfig, overrides: list[str], path: str) -> Composed:
    """Return the settings of one run of a sweep, whose folder is `path`, where it goes on if it has begun.

    `overrides` are those that were typed, of the ones that `config` was composed from.
    """
    typed = parse(overrides, is_sweep=True)
    own = _read_run(path)
    values = to_values(config)
    del values[SWEEP]
    laid = _lay(own or _inherited(typed), values, typed, TRAIN) | {"run": path, "resume": True}
    return Composed(TRAIN, laid, path, own)


def with_inherited(overrides: list[str]) -> list[str]:
    """Return the overrides of a run of a sweep after those that choose what it inherits."""
    typed = parse(overrides, is_sweep=True)
    if typed_value("training.from_run", typed) == "last":
        raise SettingsError(
            ["training.from_run: a folder is needed in a sweep, whose runs become the last; got last"]
        )
    return [*_choices_of_run(_inherited(typed), typed, TRAIN), *overrides]


def explain_sweep(overrides: list[str], search_path: list[str], error: Exception) -> UserError:
    """Turn an error of Hydra's about the overrides of a sweep into one line."""
    with initialize_config_module(config_module=CONFIG_MODULE, version_base=HYDRA_VERSION):
        return _explain(TRAIN, overrides, search_path, error, is_sweep=True)


def search_path(config_directory: str | None) -> list[str]:
    return [f"hydra.searchpath=['file://{Path(config_directory).absolute()}']"] if config_directory else []


def to_values(config: DictConfig) -> dict[str, Any]:
    config = copy.copy(config)
    OmegaConf.set_readonly(config, False)
    OmegaConf.set_struct(config, False)
    config.pop("hydra", None)
    values = OmegaConf.to_container(config, resolve=True)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items() if key != EXPERIMENT}


def _inherited(typed: list[Override]) -> dict[str, Any] | None:
    """Return what a new run takes over from the one that it starts from, if there is one."""
    name = typed_value("training.from_run", typed)
    with naming("training.from_run"):
        parent = None if name is None else _read_run(str(name))
    return parent and {key: parent[key] for key in INHERITED if key in parent}


def _read_run(name: str) -> dict[str, Any] | None:
    """Return the settings of a run, if there is one of that name."""
    is_run = name == "last" or (Path(name) / "config.json").is_file()
    if not is_run:
        return None
    run = _existing_run(name)
    run.read_model_settings()  # says what is wrong there before any of it is laid under what was typed
    return run.read_config()


def _existing_run(name: str) -> "RunDirectory":
    from nmt.runs.directory import RunDirectory  # imports torch: seconds that a mistyped key should not cost

    return RunDirectory.existing(name)


def _choices_of_run(own: Mapping[str, Any] | None, typed: list[Override], command: str) -> list[str]:
    """Return overrides that choose what the run chose, so that keys of its own kinds can be typed."""
    names = {override.key_or_group for override in typed}
    if own is None or EXPERIMENT in names:
        return []
    groups = [group.name for group in keys.page(command).groups]
    chosen = []
    for group in groups:
        kind = own[group].get("kind") if isinstance(own.get(group), dict) else None
        # A name of a file in conf/, and nothing else: what a run says is never Hydra's to interpret.
        if group not in names and kind in keys.choices(group):
            chosen.append(f"{group}={kind}")
    return chosen


def _lay(
    own: Mapping[str, Any] | None, values: dict[str, Any], typed: list[Override], command: str
) -> dict[str, Any]:
    """Lay what was typed over the settings of a run, and these over the defaults."""
    if own is None or EXPERIMENT in {override.key_or_group for override in typed}:
        return values
    # Where it was trained says nothing of where it translates.
    of_place = () if command is TRAIN else ("device", "precision")
    laid = values | {key: copy.deepcopy(own[key]) for key in values if key in own and key not in of_place}
    for override in typed:
        path = override.key_or_group.replace("/", ".").split(".")
        if path[0] not in values:  # Hydra's own
            continue
        source, target = values, laid
        for key in path[:-1]:
            source, target = source[key], target.setdefault(key, {})
            if not isinstance(target, dict):
                raise RunError(f"run: {key}: settings are needed in the run's own; got {target}")
        if path[-1] in source:
            target[path[-1]] = source[path[-1]]
    return laid


def _refuse_changes(own: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    flat_own, flat = dict(flatten(own)), dict(flatten(values))
    for key in sorted(flat_own.keys() | flat.keys()):
        if FIXED_KEYS.match(key) and flat_own.get(key) != flat.get(key):
            raise RunError(
                f"{key}: {flat_own.get(key)}, the run's own value, is needed to go on; got {flat.get(key)}"
            )


def _explain(
    command: str, overrides: list[str], search_path: list[str], error: Exception, is_sweep: bool = False
) -> UserError:
    """Turn an error of Hydra's into one line that names the key and the nearest valid one."""
    loader = GlobalHydra.instance().config_loader()
    try:
        typed = OverridesParser.create().parse_overrides(overrides)
    except HydraException as parse_error:
        return SettingsError([f"KEY=VALUE is needed; got {_first_line(parse_error)}"])
    groups = [group for group in loader.list_groups("") if group != "hydra"]
    groups += [f"{group}/{part}" for group in groups for part in loader.list_groups(group)]
    chosen = []
    for override in typed:
        key = override.key_or_group
        if override.is_sweep_override() and not is_sweep:
            return SettingsError([f"{key}: one value is needed, or the option -m; got {override.input_line}"])
        if key in groups:
            options, values = loader.get_group_options(key), _values_of(override)
            for value in values:
                if value is not None and value not in options:
                    choices = ", ".join(options)
                    return SettingsError(
                        [f"{key}: one of {choices} is needed; got {value}{nearest(value, options)}"]
                    )
            chosen.append(f"{key}={'null' if values[0] is None else values[0]}")
    try:
        defaults = to_values(hydra_compose(command, [*search_path, *chosen], return_hydra_config=True))
    except (HydraException, OmegaConfBaseException):
        return SettingsError([_first_line(error)])
    known = [key for key, _ in flatten(defaults)] + list(defaults) + groups
    for override in typed:
        if override.key_or_group not in known:
            return SettingsError(
                [f"{override.key_or_group}: no such key{nearest(override.key_or_group, known)}"]
            )
    return SettingsError([_first_line(error)])


def _values_of(override: Override) -> list[Any]:
    value = override.value()
    return [getattr(item, "text", item) for item in value.list] if isinstance(value, ChoiceSweep) else [value]


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
