"""Saving checkpoints of a training, and resuming from them."""

import logging
import os
import re
import shutil
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pydantic
import safetensors.torch
from torch import Tensor

from nmt.errors import DeviceError, RunError
from nmt.files.reading import read_json
from nmt.files.writing import MANIFEST, difference, flush, to_json, write_atomically, write_manifest
from nmt.memory import is_out_of_memory, too_little_memory
from nmt.runs.directory import BEST, LAST, MODEL_WEIGHTS, STATE, TRAINING_TENSORS, RunDirectory
from nmt.runs.weights import find_not_finite, read_tensors, require_shapes, shapes_of
from nmt.training.optimizer import MOMENTS_OF_ADAM, MOMENTS_OF_MUON, moments_of
from nmt.training.progress import PROGRESS, Progress
from nmt.training.step import TrainingStep

# By the key of what has changed since a run began: how it can go on all the same.
HINTS = {
    "training.guided_alignment": "; links of eflomal, which draws at random, were in the cache (NMT_CACHE); "
    "training.guided_alignment=null goes on without links"
}

logger = logging.getLogger(__name__)

# Of a write_atomically that was killed.
TEMPORARY_FILE = re.compile(r"\.[a-z.]+\.(html|json|jsonl|model|txt)\.\d+")


class Checkpoint(NamedTuple):
    """What a checkpoint holds, and what is wrong with each of the later ones."""

    folder: Path
    weights: dict[str, Tensor]
    state: dict[str, Tensor]
    progress: Progress
    damaged: dict[Path, str]


def save_checkpoint(
    run: RunDirectory,
    weights: Mapping[str, Tensor],
    state: Mapping[str, Tensor],
    progress: Progress,
    keep: int,
    is_interim: bool = False,
    has_tensors: bool = False,
) -> Path:
    """Write the checkpoint of `progress.update`, set `last.json` and `best.json`, and remove old checkpoints.

    Raises RunError, and writes nothing, if a weight or moment is not finite: training could not go on from it.
    The folder gets its final name when all of it, the manifest last, is on the disk; an error before that leaves
    nothing. The manifest describes the tokenizer, too, without which the weights mean nothing. The newest `keep`
    checkpoints and the best one are kept. A checkpoint for the case of an interruption (`is_interim`) is kept beside
    them until the next one, so that an interrupted run ends with the same checkpoints as an uninterrupted one. With
    `has_tensors`, this update has a checkpoint with the same weights and moments already; the new one links to its
    tensors and takes its place.
    """
    weights, state = _on_host(weights), _on_host(state)
    if name := find_not_finite(weights | state):
        raise RunError(
            f"training: finite weights and moments are needed; got {name} after update {progress.update}, "
            f"which is not; with a lower optimizer.learning_rate, resume=true goes on; {last_checkpoint(run)}"
        )
    superseded, progress.interim = progress.interim, progress.update if is_interim else None
    final = run.step_path(progress.update)
    temporary = final.with_name(f".{final.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        for name, tensors in ((MODEL_WEIGHTS, weights), (TRAINING_TENSORS, state)):
            if not (has_tensors and _link(final / name, temporary / name)):
                write_atomically(temporary / name, safetensors.torch.save(tensors))
        write_atomically(temporary / STATE, to_json(asdict(progress)))
        names = MODEL_WEIGHTS, TRAINING_TENSORS, STATE
        write_manifest(temporary, [*(temporary / name for name in names), *run.path.glob("tokenizer*.model")])
        before = _old(final)
        shutil.rmtree(before, ignore_errors=True)
        if final.exists():
            os.replace(final, before)  # a process that is killed now leaves it to `clear_unfinished`
        os.replace(temporary, final)
        flush(final.parent)
        shutil.rmtree(before, ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _point(run, progress)
    steps = run.steps()
    passing = {superseded, progress.interim}  # neither is one of the newest that are kept
    if not is_interim:
        passing.discard(progress.update)  # it was interim, and no longer is
    regular = [step for step in steps if step not in passing]
    for step in set(steps) - {*regular[-keep:], progress.best_step, progress.interim}:
        _discard(run.step_path(step))
    return final


def load_checkpoint(run: RunDirectory, step: TrainingStep, origins: Mapping[str, str]) -> Progress:
    """Load the newest undamaged checkpoint into `step` and return its progress; a fresh one if none was saved yet.

    A checkpoint that is damaged or not finite is logged and renamed to `damaged-…`, the best one, too. Raises RunError
    if no undamaged one is left, if the saved tensors do not fit model and optimizer, or if the run began with other
    text, tokenizer, links or teachers than those whose hashes are `origins`.
    """
    found = _newest_whole(run)
    if found is None:
        return Progress(origins=dict(origins))
    folder, weights, state, progress, damaged = found
    number, newest = progress.update, _last_saved(run)
    whole = {update for update in run.steps() if run.step_path(update) not in damaged}
    if progress.best_step in whole - {number}:
        best = run.step_path(progress.best_step)
        try:
            _read_finite(best / MODEL_WEIGHTS)
        except RunError as error:
            damaged[best] = str(error).removeprefix("run: ")
            whole.remove(progress.best_step)
    # The best checkpoint is damaged; or a better one took its place, and that one is damaged.
    if progress.best_step not in whole:
        progress.best_step = progress.best_bleu = progress.best_loss = None
    refuse_other_origins(progress.origins, origins)
    require_shapes(shapes_of(dict(step.model.named_parameters())), shapes_of(weights), folder)
    state.pop("objective/baseline", None)  # of an estimator that older versions had
    shapes = shapes_of(state)
    _require_own_moments(state, step)
    require_shapes(step.shapes_of_state(shapes), shapes, folder / TRAINING_TENSORS)
    step.load(weights, state)
    if newest is not None and newest > number and run.step_path(newest) not in damaged:
        logger.warning("step-%06d, the last checkpoint, is not there", newest)
    for other, damage in damaged.items():
        aside = other.with_name(f"damaged-{other.name}")
        shutil.rmtree(aside, ignore_errors=True)
        os.replace(other, aside)
        logger.warning("%s; set aside as %s", damage, aside.name)
    for earlier in whole - {number}:
        # The checkpoint of an interruption is still there if the process was killed before the next save removed it.
        if _is_interim(run.step_path(earlier)):
            _discard(run.step_path(earlier))
    _point(run, progress)
    progress.origins |= origins
    return progress


def resumable_progress(run: RunDirectory) -> Progress:
    """Return the progress that `load_checkpoint` would go on from. Raises RunError if no checkpoint is whole."""
    found = _newest_whole(run)
    return Progress() if found is None else found.progress


def _newest_whole(run: RunDirectory) -> Checkpoint | None:
    """Read the newest undamaged checkpoint; None if none was saved. Raises RunError if none of them is whole."""
    newest, steps = _last_saved(run), run.steps()
    if newest is None and not steps:
        return None
    damaged: dict[Path, str] = {}
    for number in reversed(steps):
        folder = run.step_path(number)
        try:
            weights, state = (_read_finite(folder / name) for name in (MODEL_WEIGHTS, TRAINING_TENSORS))
            values = _read_state(folder)
        except RunError as error:
            damaged[folder] = str(error).removeprefix("run: ")
        else:
            return Checkpoint(folder, weights, state, _check_state(values, folder), damaged)
    what = next(iter(damaged.values()), f"step-{newest} is the last one that was saved, and not there")
    raise RunError(
        f"run: a checkpoint that is whole is needed to go on; got none in {run.checkpoints_path}: {what}"
    )


def _require_own_moments(saved: Container[str], step: TrainingStep) -> None:
    """Raise RunError where the saved moments of a parameter are those of another optimizer than it has now."""
    for name, parameter in step.model.named_parameters():
        is_of_muon = moments_of(step.optimizer, parameter) == MOMENTS_OF_MUON
        others, had = (MOMENTS_OF_ADAM, "adam or adamw") if is_of_muon else (MOMENTS_OF_MUON, "muon")
        if any(f"{name}/{key}" in saved for key in others):
            raise RunError(
                f"optimizer: {had}, as the run had, is needed to go on, since muon keeps other moments; "
                f"got {step.settings.optimizer.kind}"
            )


def saved_progress(run: RunDirectory) -> Progress:
    """Return the progress of a run's last checkpoint; a fresh one if none was saved. Raises RunError if damaged."""
    steps = run.steps()
    if not steps:
        return Progress()
    folder = run.step_path(steps[-1])
    return _check_state(_read_state(folder), folder)


def refuse_other_origins(saved: Mapping[str, str], present: Mapping[str, str]) -> None:
    """Raise RunError if a hash differs from the one that a run began with; a key that either side lacks is skipped."""
    for key, value in saved.items():
        if present.get(key, value) != value:
            raise RunError(
                f"{key}: what the run began with, of hash {value}, is needed to go on; got {present[key]}"
                + HINTS.get(key, "")
            )


def clear_unfinished(run: RunDirectory) -> None:
    """Remove the unfinished files and folders of killed processes; no process may be writing to the run.

    If the last checkpoint was being superseded, it gets its name back.
    """
    last = run.step_path(_last_saved(run) or 0)
    for folder in run.checkpoints_path.glob(".step-*"):
        if folder == _old(last) and not last.exists():
            os.replace(folder, last)
        else:
            shutil.rmtree(folder)
    for path in run.path.iterdir():
        if TEMPORARY_FILE.fullmatch(path.name):
            path.unlink()


@contextmanager
def naming_last_checkpoint(run: RunDirectory) -> Iterator[None]:
    """Within the block, turn an OSError or a lack of memory into one line, with the last good checkpoint."""
    try:
        yield
    except BrokenPipeError:  # from the reader of standard error, not from the run
        raise
    except (RuntimeError, MemoryError, OSError) as error:
        if is_out_of_memory(error):
            smaller = "training.max_tokens=NUMBER makes smaller micro-batches"
            raise DeviceError(f"{too_little_memory(error)}; {smaller}; {last_checkpoint(run)}") from None
        if not isinstance(error, OSError):
            raise
        raise RunError(
            f"run: a folder that can be written is needed; got {error.filename or run.path}: "
            f"{error.strerror or error}; {last_checkpoint(run)}"
        ) from None


def last_checkpoint(run: RunDirectory) -> str:
    """Say which checkpoint is the last one."""
    steps = run.steps()
    return f"the last good checkpoint is step-{steps[-1]}" if steps else "no checkpoint was saved yet"


def _read_finite(path: Path) -> dict[str, Tensor]:
    tensors = read_tensors(path)
    if name := find_not_finite(tensors):
        raise RunError(f"run: finite weights and moments are needed; got {path}, whose {name} is not")
    return tensors


def _last_saved(run: RunDirectory) -> int | None:
    pointer = run.path / LAST
    step = read_json(pointer).get("step") if pointer.exists() else None
    return step if isinstance(step, int) else None


def _read_state(folder: Path) -> dict[str, Any]:
    path = folder / STATE
    values = read_json(path)
    if difference(path, read_json(folder / MANIFEST).get(STATE)):
        raise RunError(f"run: an undamaged state is needed; got {path}, which its manifest does not describe")
    return values


def _is_interim(folder: Path) -> bool:
    """Tell whether a checkpoint is one that another was to supersede; a damaged one is not known to be."""
    with suppress(RunError):
        values = _read_state(folder)
        return bool(values.get("interim") == values.get("update"))
    return False


def _check_state(values: Mapping[str, Any], folder: Path) -> Progress:
    try:
        return PROGRESS.validate_python(values)
    except pydantic.ValidationError as error:
        (problem, *_) = error.errors(include_url=False)
        key = ".".join(map(str, problem["loc"]))
        raise RunError(
            f"run: a state that this version knows is needed; got {folder / STATE}: {key}: {problem['msg']}"
        ) from None


def _point(run: RunDirectory, progress: Progress) -> None:
    write_atomically(run.path / LAST, to_json({"step": progress.update}))
    write_atomically(run.path / BEST, to_json({"step": progress.best_step or progress.update}))


def _discard(folder: Path) -> None:
    """Remove a checkpoint; it is renamed first, so that no half-removed folder bears its name."""
    if folder.exists():
        os.replace(folder, _old(folder))
        shutil.rmtree(_old(folder))


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _link(file: Path, link: Path) -> bool:
    """Give a file another name; return whether the file system can do so."""
    with suppress(OSError):
        os.link(file, link)
        return True
    return False


def _on_host(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
