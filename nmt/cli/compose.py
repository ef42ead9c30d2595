"""Settings of a command, which Hydra composes from conf/, the run that is named, and the command line."""

import copy
import functools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from nmt.cli import keys
from nmt.cli.commands import COMMANDS
from nmt.cli.keys import CONFIG_MODULE
from nmt.cli.overrides import LAUNCH, SWEEP, as_string, is_of, parse, typed_value
from nmt.config import RecipeSettings, Settings, TrainSettings
from nmt.config.check import changes, check, flatten
from nmt.errors import RunError, SettingsError, UserError, first_line, naming, nearest

if TYPE_CHECKING:
    from nmt.runs.directory import RunDirectory

HYDRA_VERSION = "1.3"
EXPERIMENT = "experiment"
TRAIN, DISTIL = "train", "distil"
# Keys that decide the model, its initial weights, the plan of its batches and the score by which its checkpoints are
# compared. A run that goes on cannot change them.
FIXED = (
    "seed", "data", "tokenizer", "model", "training.update_tokens", "training.subword_sampling", "training.from_run",
    "training.source_vectors", "training.target_vectors", "evaluation.lowercase", "evaluation.tokenize", "teacher",
    "distillation", "align",
)  # fmt: skip
# Keys of FIXED that a student may change: OF_PAIRS until its pairs are chosen, OF_TRAINING until its training begins.
OF_PAIRS = tuple(f"distillation.{key}" for key in ("original", "choose", "min_agreement", "max_ratio"))
OF_TRAINING = ("tokenizer", "model", "training", "evaluation")
# Keys that a run inherits from the one whose weights it starts from, unless others are typed.
INHERITED = ("data", "tokenizer", "model")
OF_TEACHER = ("data", "tokenizer")  # what a student inherits
# Keys that name other runs. A path replaces `last` there, since another run may be the last when this one goes on.
OTHER_RUNS = ("training.from_run", "training.teacher", "teacher", "distillation.reverse")


@dataclass(frozen=True)
class Composed:
    """Settings that have not been checked yet, and the folder of a training run whose name was not typed."""

    command: str
    values: dict[str, Any]
    default_run: str
    own_values: Mapping[str, Any] | None  # the settings of the run that is named, if it exists
    free: tuple[str, ...] = ()  # keys of FIXED that it may still change
    recipe: str | None = None  # that was typed
    typed: frozenset[str] = frozenset()  # keys that were typed

    def settings(self) -> Settings:
        """Return the checked settings; those of a training name the folder of its run.

        Raises SettingsError, or RunError where a run that goes on would change.
        """
        try:
            settings = check(COMMANDS[self.command].settings_class, self.values)
        except SettingsError as error:
            raise SettingsError(*map(self._with_recipe, error.problems)) from None
        if not isinstance(settings, RecipeSettings):
            return settings
        if self.own_values is not None and settings.resume:
            _require_trained(self.own_values)
            _refuse_changes(self.own_values, settings.model_dump(mode="json"), self.free)
        if not isinstance(settings, TrainSettings):
            return settings
        run = str(_existing_run("last").path) if settings.run == "last" else settings.run
        return settings.model_copy(update={"run": run or self.default_run})

    def _with_recipe(self, problem: str) -> str:
        """Name the recipe in the problem of an unknown key that was not typed: the recipe is for another choice."""
        key, _, what = problem.partition(": ")
        is_of_recipe = self.recipe is not None and key not in self.typed and what.startswith("no such key")
        return (
            f"{EXPERIMENT}={self.recipe}: {problem} of what was chosen beside it" if is_of_recipe else problem
        )

    def to_yaml(self) -> str:
        """Return the settings as YAML."""
        return yaml.safe_dump(self.values, allow_unicode=True, sort_keys=False)


def compose(command: str, overrides: list[str], config_directory: str | None) -> Composed:
    """Put the settings of one job together: conf/, then those of a run that is named, then what was typed.

    A run named by `run`, or a student, gives all of its settings; a run whose weights a training starts from gives
    those in INHERITED, the first teacher of a new student those in OF_TEACHER.

    Raises UserError for an unknown key or choice, with the nearest one.
    """
    typed = parse(overrides)
    name = typed_value(typed, "run")
    own, free = None if name is None else _read_run(str(name)), tuple[str, ...]()
    if command == DISTIL:
        own, free = _read_distillation(typed_value(typed, "student"))
    base = own or _inherited(typed, command) or {}
    if command == DISTIL and "data" not in base and not any(is_of(one, "data") for one in typed):
        raise SettingsError(
            "data: text to translate is needed, such as data=files, of a teacher without; got none"
        )
    recipe = typed_value(typed, EXPERIMENT)
    if recipe is not None and base:
        # A recipe replaces all settings of a run that is named; of inherited settings, only those that it sets itself.
        said = base if own else keys.said_by(str(recipe), config_directory)
        base = {key: value for key, value in base.items() if key not in said}
    with _composed(command, typed, config_directory, _choices_of_run(base, typed, command)) as config:
        experiment = config.hydra.runtime.choices.get(EXPERIMENT) or "default"
        _require_global(config, experiment)
        values = _to_values(config)
    values.pop(SWEEP, None)
    start = values["training"]["from_run"] if command == TRAIN and own is None else None
    if start is not None and not any(is_of(one, "training.from_run") for one in typed):
        # Settings are inherited from the run that a recipe starts from, as if that run had been typed.
        return compose(command, [*overrides, f"training.from_run={as_string(str(start))}"], config_directory)
    if command == TRAIN and name is None and values["run"] is not None:
        # The same holds for the run that a recipe names, which goes on with its own settings.
        return compose(command, [*overrides, f"run={as_string(str(values['run']))}"], config_directory)
    default_run = Path("outputs", experiment, datetime.now().strftime("%Y-%m-%d_%H-%M-%S"))
    laid = _lay(base, values, typed, command) if base else values
    if typed_value(typed, "against") is not None and not any(is_of(one, "decoding") for one in typed):
        laid["decoding"] = None  # two runs are compared, each by its own search
    if own is None and command in (TRAIN, DISTIL):
        _name_last(laid)
    keys_typed = frozenset(override.key_or_group for override in typed)
    return Composed(
        command, laid, str(default_run), own, free, None if recipe is None else str(recipe), keys_typed
    )


def _require_global(config: DictConfig, experiment: str) -> None:
    """Raise SettingsError for a recipe whose keys would lie under `experiment`, not at the top of the settings."""
    if config.get(EXPERIMENT):
        own = ", ".join(str(key) for key in config[EXPERIMENT])
        raise SettingsError(
            f"{EXPERIMENT}={experiment}: a first line `# @package _global_` is needed in its file, or its keys do "
            f"nothing; got {own}"
        )


def compose_sweep(typed: list[Override], config_directory: str | None) -> tuple[Any, list[Override]]:
    """Return the values of `sweep`, and the overrides of the runs themselves. Raises UserError as `compose` does."""
    of_sweep = [override for override in typed if is_of(override, SWEEP)]
    with _composed(TRAIN, of_sweep, config_directory, []) as config:
        # This parser knows the choices of each group, among which glob(...) selects.
        choices = functools.partial(
            GlobalHydra.instance().config_loader().get_group_options,
            config_name=TRAIN,
            overrides=_search_path(config_directory),
        )
        loader: Any = SimpleNamespace(get_group_options=choices)
        parser = OverridesParser.create(loader)
        of_runs = [str(one.input_line) for one in typed if not is_of(one, SWEEP, *LAUNCH)]
        return _to_values(config)[SWEEP], parser.parse_overrides(of_runs)


def _search_path(config_directory: str | None) -> list[str]:
    """Return the override that makes Hydra search `config_directory` besides conf/; none where there is none."""
    if config_directory is None:
        return []
    return [f"hydra.searchpath=[{as_string(f'file://{Path(config_directory).absolute()}')}]"]


@contextmanager
def _composed(
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
        # Of a file in another encoding, with defaults that are no list, or that is based on itself.
        except (ValueError, RecursionError) as error:
            raise SettingsError(
                f"--config-dir: files for Hydra are needed; got {first_line(error)}"
            ) from None


def _to_values(config: DictConfig) -> dict[str, Any]:
    kept = [str(key) for key in config if key not in ("hydra", EXPERIMENT)]
    values = OmegaConf.to_container(OmegaConf.masked_copy(config, kept), resolve=True)
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}


def _inherited(typed: list[Override], command: str) -> dict[str, Any] | None:
    """Return the settings that a new run inherits from the run it starts from, or a student from its first teacher."""
    key, inherited = ("teacher", OF_TEACHER) if command == DISTIL else ("training.from_run", INHERITED)
    name = typed_value(typed, key)
    if isinstance(name, list):
        name = next(iter(name), None)
    with naming(key):
        if command == DISTIL and name is not None and "://" not in str(name):
            _existing_run(str(name))
        parent = None if name is None else _read_run(str(name))
    found = {key: parent[key] for key in inherited if key in parent} if parent else None
    if command == DISTIL and found and isinstance(data := found.get("data"), dict):
        # Teachers translate tidy text, whose word links and word probabilities the student learns: no augmentation.
        found["data"] = data | {"augment": dict.fromkeys(data.get("augment", {}), 0.0)}
    return found


def _read_distillation(student: object) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """Return the settings that a student was begun with, if it was, and which keys of FIXED it may still change."""
    from nmt.distillation.folder import StudentFolder  # nmt distil alone needs it

    if student is None:
        return None, ()
    folder = StudentFolder(str(student))
    free = () if folder.is_in_training else OF_TRAINING
    return folder.read_settings(), free if folder.outcome("pairs") else (*free, *OF_PAIRS)


def _name_last(values: dict[str, Any]) -> None:
    """Replace `last` by the path of the last run, wherever a training names other runs."""
    for key in OTHER_RUNS:
        *groups, name = key.split(".")
        holder = functools.reduce(lambda inner, group: inner.get(group, {}), groups, values)
        given = holder.get(name)
        named = given if isinstance(given, list) else [given]
        if "last" in named:
            with naming(key):
                paths = [str(_existing_run("last").path) if one == "last" else one for one in named]
            holder[name] = paths if isinstance(given, list) else paths[0]


def _read_run(name: str) -> dict[str, Any] | None:
    """Return the settings of a run, if there is one of that name."""
    is_run = name == "last" or (Path(name) / "config.json").is_file()
    if not is_run:
        return None
    run = _existing_run(name)
    run.read_model_settings()  # raises for wrong settings before what was typed is laid over them
    return run.read_config()


def _existing_run(name: str) -> "RunDirectory":
    # Imports NumPy and SentencePiece, which a mistyped key need not wait for.
    from nmt.runs.directory import RunDirectory

    return RunDirectory.existing(name)


def _choices_of_run(own: Mapping[str, Any], typed: list[Override], command: str) -> list[str]:
    """Return overrides that repeat the run's choices of groups, so that the keys of these choices can be typed."""
    chosen = []
    for group in {group.name for group in keys.page(command).groups} - {one.key_or_group for one in typed}:
        kind = own[group].get("kind") if isinstance(own.get(group), dict) else None
        # Only the name of a file in conf/ passes: Hydra must not interpret anything else that a run says.
        if kind in keys.choices(group):
            chosen.append(f"{group}={kind}")
    return sorted(chosen)


def _lay(
    own: Mapping[str, Any], values: dict[str, Any], typed: list[Override], command: str
) -> dict[str, Any]:
    """Lay what was typed over the settings of a run, and these over the defaults."""
    # The machine that trained a run need not be the one that translates with it.
    of_place = () if command in (TRAIN, DISTIL) else ("device", "precision")
    laid = values | {key: copy.deepcopy(own[key]) for key in values if key in own and key not in of_place}
    for override in typed:
        path = override.key_or_group.replace("/", ".").split(".")
        if path[0] not in values:  # Hydra's own
            continue
        source, target = values, laid
        for key in path[:-1]:
            source, holder = source[key], target
            target = holder.setdefault(key, {})
            if not isinstance(target, dict):
                if path[0] != "data":
                    raise RunError(f"run: {key}: settings are needed in the run's own; got {target}")
                target = holder[key] = copy.deepcopy(source)  # files in the place of the name of a test set
        if path[-1] in source:
            target[path[-1]] = source[path[-1]]
    return laid


def _require_trained(own: Mapping[str, Any]) -> None:
    """Raise RunError for a run that was imported, which has no training to go on with."""
    if "training" not in own:
        raise RunError(
            "run: a run that was trained here is needed to go on; training.from_run=RUN tunes any other"
        )


def _refuse_changes(own: Mapping[str, Any], values: Mapping[str, Any], free: tuple[str, ...]) -> None:
    for key, before, now in changes(own, values):
        if _lies_in(key, FIXED) and not _lies_in(key, free):
            raise RunError(f"{key}: {before}, the run's own value, is needed to go on; got {now}")


def _lies_in(key: str, groups: Iterable[str]) -> bool:
    return any(key == group or key.startswith(f"{group}.") for group in groups)


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
    try:
        values = _to_values(hydra_compose(command, [*path, *chosen], return_hydra_config=True))
    except (HydraException, OmegaConfBaseException):
        return SettingsError(first_line(error))
    known = [key for key, _ in flatten(values)] + list(values) + groups
    for override in typed:
        key = override.key_or_group
        if key not in known:
            places = [place for place, found in keys.everywhere(command) if found.name == key]
            if places:
                return SettingsError(
                    f"{key}: no such key with these settings; {' or '.join(places[:3])} has it"
                )
            return SettingsError(f"{key}: no such key{nearest(key, known)}")
    return SettingsError(first_line(error))
