"""Settings of a command, which Hydra composes from conf/, the run that is named, and the command line."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from nmt.cli import keys
from nmt.cli.commands import COMMANDS
from nmt.cli.hydra_config import (
    DISTIL,
    EVALUATE,
    EXPERIMENT,
    TRAIN,
    hydra_config_of,
    require_global,
    to_values,
)
from nmt.cli.overrides import SWEEP, is_of, parse, typed_value
from nmt.cli.run_settings import (
    choices_of_run,
    existing_run,
    inherited,
    lay,
    name_last,
    read_distillation,
    read_run,
    refuse_changes,
    require_run,
    require_trained,
)
from nmt.cli.value_types import as_string
from nmt.config import DistilSettings, RecipeSettings, Settings, TrainSettings
from nmt.config.check import as_typed, check, flatten
from nmt.errors import RunError, SettingsError


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
            raise SettingsError(*self._with_recipe(error.problems)) from None
        if not isinstance(settings, RecipeSettings):
            return settings
        _require_utf_8(settings)
        if self.own_values is not None and settings.resume:
            require_trained(self.own_values)
            # The text of a student is in its folder, however its sources change.
            may_move = self.command == TRAIN
            refuse_changes(self.own_values, settings.model_dump(mode="json"), self.free, may_move)
            if isinstance(settings, DistilSettings) and settings.is_remote and "teacher" not in self.typed:
                # The folder may be a stranger's.
                raise RunError(
                    "teacher: the address of the server is needed to go on, too, since text is sent there, and the key "
                    f"in {settings.distillation.api_key_variable}; got none, and {settings.teachers[0]} in the folder"
                )
        if not isinstance(settings, TrainSettings):
            return settings
        run = str(existing_run("last").path) if settings.run == "last" else settings.run
        return settings.model_copy(update={"run": run or self.default_run})

    def require_begun(self) -> None:
        """Raise RunError where a training should go on that was never begun, as with a mistyped name."""
        name = self.values.get("run")
        if self.command == TRAIN and self.values["resume"] is True and name and self.own_values is None:
            require_run(str(name), self.typed)

    def _with_recipe(self, problems: Sequence[str]) -> list[str]:
        """Return the problems, those of unknown keys that were not typed as one: the recipe is for another choice."""
        of_recipe, others = list[str](), list[str]()
        for problem in problems:
            key, _, what = problem.partition(": ")
            if self.recipe is not None and key not in self.typed and what.startswith("no such key"):
                of_recipe.append(key)
            else:
                others.append(problem)
        if of_recipe:
            others.append(
                f"{EXPERIMENT}={self.recipe}: choices that have {', '.join(of_recipe)} are needed beside the recipe, "
                "which sets them; got others"
            )
        return others

    def to_yaml(self) -> str:
        """Return the settings as YAML."""
        return yaml.safe_dump(self.values, allow_unicode=True, sort_keys=False)


def compose(command: str, overrides: list[str], config_directory: str | None) -> Composed:
    """Put the settings of one job together: conf/, then those of a run that is named, then what was typed.

    A run named by `run`, or a student, gives all of its settings; a run whose weights a training starts from gives
    those in INHERITED, the first teacher of a new student those in OF_TEACHER.

    Raises UserError for an unknown key or choice, with the nearest one.
    """
    typed = parse(overrides, command)
    name = typed_value(typed, "run")
    own, free = None if name is None else read_run(str(name)), tuple[str, ...]()
    if command == DISTIL:
        own, free = read_distillation(typed_value(typed, "student"))
        if own is None and typed_value(typed, "resume") is True and typed_value(typed, "teacher") is None:
            raise RunError(
                "student: the folder of a student is needed with resume=true, or teacher= of a new one; "
                f"got {typed_value(typed, 'student')}: no student"
            )
    base = own or inherited(typed, command) or {}
    if command == DISTIL and "data" not in base and not any(is_of(one, "data") for one in typed):
        raise SettingsError(
            "data: the text to translate is needed, such as data=files, since this teacher names none; got none"
        )
    recipe = typed_value(typed, EXPERIMENT)
    if recipe is not None and base:
        # A recipe replaces all settings of a run that is named; of inherited settings, only those that it sets itself.
        said = base if own else keys.said_by(str(recipe), config_directory)
        base = {key: value for key, value in base.items() if key not in said}
    with hydra_config_of(command, typed, config_directory, choices_of_run(base, typed, command)) as config:
        experiment = config.hydra.runtime.choices.get(EXPERIMENT) or "default"
        require_global(config, experiment)
        values = to_values(config)
    if command in (TRAIN, DISTIL):
        _require_groups(values, {group.name for group in keys.page(command).groups} & values.keys())
    values.pop(SWEEP, None)
    start = values["training"]["from_run"] if command == TRAIN and own is None else None
    if isinstance(start, str | int) and not any(is_of(one, "training.from_run") for one in typed):
        # Settings are inherited from the run that a recipe starts from, as if that run had been typed.
        return compose(command, [*overrides, f"training.from_run={as_string(str(start))}"], config_directory)
    if command == TRAIN and name is None and isinstance(values["run"], str | int):
        # The same holds for the run that a recipe names, which goes on with its own settings.
        return compose(command, [*overrides, f"run={as_string(str(values['run']))}"], config_directory)
    default_run = Path("outputs", experiment, new_name())
    laid = lay(base, values, typed, command) if base else values
    is_search_typed = any(is_of(one, "decoding") for one in typed)
    is_unused = command == EVALUATE and name is None  # since nothing is translated
    if not is_search_typed and (is_unused or typed_value(typed, "against") is not None):
        laid["decoding"] = None  # two runs are compared, each by its own search
    if command in (TRAIN, DISTIL):
        name_last(laid)
    keys_typed = frozenset(override.key_or_group for override in typed)
    return Composed(
        command, laid, str(default_run), own, free, None if recipe is None else str(recipe), keys_typed
    )


def new_name() -> str:
    """Return the name of a folder: the time, and six random digits, so that no two commands begun at once share it."""
    return f"{datetime.now():%Y-%m-%d_%H-%M-%S}_{secrets.token_hex(3)}"


def _require_groups(values: Mapping[str, Any], groups: Iterable[str]) -> None:
    """Raise SettingsError where a recipe gives a whole group one value, or none, as where all its keys are comments."""
    for group in groups:
        if not isinstance(values[group], Mapping):
            raise SettingsError(f"{group}: a group of keys is needed; got {as_typed(values[group])}")


def _require_utf_8(settings: RecipeSettings) -> None:
    """Raise SettingsError for a name, such as that of a file, that is not UTF-8: settings are saved as JSON."""
    for key, value in flatten(settings.model_dump(mode="python")):
        text = as_typed(value)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise SettingsError(f"{key}: text in UTF-8 is needed; got {text!a}") from None
