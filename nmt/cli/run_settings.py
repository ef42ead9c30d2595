"""What the settings of runs give to a command, and what a run that goes on may not change."""

import copy
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.types import Override

from nmt.cli import keys
from nmt.cli.commands import COMMANDS
from nmt.cli.hydra_config import DISTIL, TRAIN
from nmt.cli.overrides import typed_value
from nmt.cli.value_types import takes_names
from nmt.config.check import as_typed, changes
from nmt.errors import RunError, naming

if TYPE_CHECKING:
    from nmt.runs.directory import RunDirectory

# Keys that decide the model, its initial weights, the plan of its batches and the score by which its checkpoints are
# compared. A run that goes on cannot change them.
FIXED = (
    "seed", "data", "tokenizer", "model", "training.update_tokens", "training.subword_sampling", "training.from_run",
    "training.source_vectors", "training.target_vectors", "evaluation.lowercase", "evaluation.tokenize",
    "distillation", "align",
)  # fmt: skip
# Keys of FIXED that name runs, which may have moved and are known by their weights: they may change from one name to
# another, but not from or to none.
MAY_MOVE = ("distillation.reverse",)
# Keys of FIXED that a student may change until its pairs are chosen.
OF_PAIRS = tuple(
    f"distillation.{key}" for key in ("original", "choose", "min_agreement", "max_ratio", "reverse")
)
# Keys of FIXED that a student may change until its training begins.
OF_TRAINING = ("tokenizer", "model", "training", "evaluation")
# Keys that a run inherits from the one whose weights it starts from, unless others are typed.
INHERITED = ("data", "tokenizer", "model")
OF_TEACHER = ("data", "tokenizer")  # what a student inherits
# Keys that say what a new run learns.
OF_NEW_RUN = ("experiment", "data", "tokenizer", "model", "training.from_run")
# Keys that name other runs. A path replaces `last` there, since another run may be the last when this one goes on.
OTHER_RUNS = ("training.from_run", "training.teacher", "teacher", "distillation.reverse")


def read_run(name: str) -> dict[str, Any] | None:
    """Return the settings of a run, if there is one of that name."""
    is_run = name == "last" or (Path(name) / "config.json").is_file()
    if not is_run:
        return None
    run = existing_run(name)
    run.read_model_settings()  # raises for wrong settings before what was typed is laid over them
    return run.read_config()


def existing_run(name: str) -> "RunDirectory":
    """Return a run. Raises RunError where there is none of that name."""
    # Imports NumPy and SentencePiece, which a mistyped key need not wait for.
    from nmt.runs.directory import RunDirectory

    return RunDirectory.existing(name)


def inherited(typed: list[Override], command: str) -> dict[str, Any] | None:
    """Return the settings that a new run inherits from the run it starts from, or a student from its first teacher."""
    key, groups = ("teacher", OF_TEACHER) if command == DISTIL else ("training.from_run", INHERITED)
    name = typed_value(typed, key)
    if isinstance(name, list):
        name = next(iter(name), None)
    with naming(key):
        if command == DISTIL and name is not None and "://" not in str(name):
            existing_run(str(name))
        parent = None if name is None else read_run(str(name))
    found = {key: parent[key] for key in groups if key in parent} if parent else None
    if command == DISTIL and found and isinstance(data := found.get("data"), dict):
        # Teachers translate tidy text, whose word links and word probabilities the student learns: no augmentation.
        found["data"] = data | {"augment": dict.fromkeys(data.get("augment", {}), 0.0)}
    return found


def read_distillation(student: object) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """Return the settings that a student was begun with, if it was, and which keys of FIXED it may still change."""
    from nmt.distillation.folder import StudentFolder  # nmt distil alone needs it

    if student is None:
        return None, ()
    folder = StudentFolder(str(student))
    free: tuple[str, ...] = () if folder.is_in_training else OF_TRAINING
    if folder.outcome("text") is None:  # nothing is made yet, perhaps since a file was mistyped
        free = FIXED
    elif not folder.outcome("pairs"):
        free = (*free, *OF_PAIRS)
    return folder.read_settings(), free


def name_last(values: dict[str, Any]) -> None:
    """Replace `last` by the path of the last run, wherever a training names other runs."""
    for key in OTHER_RUNS:
        *groups, name = key.split(".")
        holder = functools.reduce(lambda inner, group: inner.get(group, {}), groups, values)
        given = holder.get(name)
        named = given if isinstance(given, list) else [given]
        if "last" in named:
            with naming(key):
                paths = [str(existing_run("last").path) if one == "last" else one for one in named]
            holder[name] = paths if isinstance(given, list) else paths[0]


def choices_of_run(own: Mapping[str, Any], typed: list[Override], command: str) -> list[str]:
    """Return overrides that repeat the run's choices of groups, so that the keys of these choices can be typed."""
    chosen = []
    for group in {group.name for group in keys.page(command).groups} - {one.key_or_group for one in typed}:
        kind = own[group].get("kind") if isinstance(own.get(group), dict) else None
        # Only the name of a file in conf/ passes: Hydra must not interpret anything else that a run says.
        if kind in keys.choices(group):
            chosen.append(f"{group}={kind}")
    return sorted(chosen)


def lay(
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


def require_trained(own: Mapping[str, Any]) -> None:
    """Raise RunError for a run that was imported, which has no training to go on with."""
    if "training" not in own:
        raise RunError(
            "run: a run that was trained here is needed to go on; training.from_run=RUN tunes any other"
        )


def require_run(name: str, typed: Iterable[str]) -> None:
    """Raise RunError where a run of this `name` should go on, there is none, and no key says what a new one learns."""
    if not any(_lies_in(key, OF_NEW_RUN) for key in typed):
        raise RunError(
            "run: the folder of a run is needed with resume=true, or data=, model= or experiment= of a new one; "
            f"got {name}: no such run"
        )


def refuse_changes(
    own: Mapping[str, Any], values: Mapping[str, Any], free: tuple[str, ...], text_may_move: bool
) -> None:
    """Raise RunError where `values` change what is FIXED in a run's own settings, except for the keys in `free`.

    Where its text may have moved, so may the names of files; what they say is compared when it has been read.
    """
    fixed = [
        one
        for one in changes(own, values)
        if _lies_in(one[0], FIXED)
        and not _lies_in(one[0], free)
        and not (one[0] in MAY_MOVE and None not in one[1:])
        and not (text_may_move and _names_text(one[0]))
    ]
    if not fixed:
        return
    # A group of another kind has other keys; its kind says it all.
    key, before, now = next((one for one in fixed if one[0].endswith(".kind")), fixed[0])
    group = key.removesuffix(".kind")
    choice = "" if group == key else f"{group}="
    raise RunError(
        f"{group}: {choice}{as_typed(before)}, the run's own value, is needed to go on; got {choice}{as_typed(now)}"
    )


def _names_text(key: str) -> bool:
    return (
        _lies_in(key, ["data"]) and not _lies_in(key, ["data.filter"]) and takes_names(COMMANDS[TRAIN], key)
    )


def _lies_in(key: str, groups: Iterable[str]) -> bool:
    return any(key == group or key.startswith(f"{group}.") for group in groups)
