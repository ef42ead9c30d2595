"""Saving the state of training, and taking it up again."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import safetensors.torch
from torch import Tensor

from nmt.errors import RunError
from nmt.run_directory import (
    MANIFEST,
    MODEL_WEIGHTS,
    STATE,
    TRAINING_TENSORS,
    RunDirectory,
    file_facts,
    read_json,
    read_tensors,
    set_parameters,
    to_json,
    write_atomically,
)
from nmt.training.step import TrainingStep


@dataclass
class Progress:
    """Where training is, in numbers; with weights and moments, all that it takes to go on."""

    update: int = 0  # updates done
    epoch: int = 0  # the epoch that the next update belongs to
    position: int = 0  # updates of that epoch done
    seconds: float = 0.0  # spent in training, validation included
    num_tokens: int = 0  # target tokens seen
    best_bleu: float | None = None
    best_step: int | None = None
    validations_without_gain: int = 0
    max_tokens: int | None = None  # what training.max_tokens=auto found
    loss_scale: dict[str, float] = field(default_factory=dict)  # of float16


def save_checkpoint(
    run: RunDirectory,
    weights: Mapping[str, Tensor],
    state: Mapping[str, Tensor],
    progress: Progress,
    keep: int,
) -> Path:
    """Write the checkpoint of `progress.update`, point `last.json` and `best.json`, and drop what is no longer kept.

    The folder gets its name when all of it, the manifest last, is on the disk. Kept are the newest `keep` and
    the best.
    """
    final = run.step_path(progress.update)
    temporary = final.with_name(f".{final.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    contents = {
        MODEL_WEIGHTS: _serialise(weights),
        TRAINING_TENSORS: _serialise(state),
        STATE: to_json(asdict(progress)),
    }
    for name, content in contents.items():
        write_atomically(temporary / name, content)
    write_atomically(temporary / MANIFEST, to_json({name: file_facts(temporary / name) for name in contents}))
    shutil.rmtree(final, ignore_errors=True)
    os.replace(temporary, final)
    write_atomically(run.path / "last.json", to_json({"step": progress.update}))
    write_atomically(run.path / "best.json", to_json({"step": progress.best_step or progress.update}))
    for step in run.steps()[:-keep]:
        if step != progress.best_step:
            shutil.rmtree(run.step_path(step))
    return final


def load_checkpoint(run: RunDirectory, step: TrainingStep) -> Progress:
    """Take up training from the last checkpoint of a run. Raises RunError if it is damaged or does not fit."""
    folder = run.step_path(run.steps()[-1])
    weights, state = (read_tensors(folder / name) for name in (MODEL_WEIGHTS, TRAINING_TENSORS))
    set_parameters(step.model, weights, folder)
    step.load(weights, state)
    try:
        return Progress(**read_json(folder / STATE))
    except TypeError as error:
        raise RunError(
            f"run: a state that this version knows is needed; got {folder / STATE}: {error}"
        ) from None


def _serialise(tensors: Mapping[str, Tensor]) -> bytes:
    return safetensors.torch.save(
        {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    )
