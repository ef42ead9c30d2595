"""Saving the state of training, and taking it up again."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pydantic
import safetensors.torch
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt
from torch import Tensor

from nmt.errors import RunError
from nmt.files import read_json
from nmt.run_directory import (
    MODEL_WEIGHTS,
    STATE,
    TRAINING_TENSORS,
    RunDirectory,
    to_json,
    write_atomically,
)
from nmt.training.step import TrainingStep
from nmt.weights import MANIFEST, file_facts, read_tensors, require_shapes, set_parameters


@dataclass
class Progress:
    """Where training is, in numbers; with weights and moments, all that it takes to go on."""

    __pydantic_config__ = pydantic.ConfigDict(extra="forbid")

    update: NonNegativeInt = 0  # updates done
    epoch: NonNegativeInt = 0  # the epoch that the next update belongs to
    position: NonNegativeInt = 0  # updates of that epoch done
    seconds: NonNegativeFloat = 0.0  # spent in training, validation included
    num_tokens: NonNegativeInt = 0  # target tokens seen
    best_bleu: float | None = None
    best_step: NonNegativeInt | None = None
    validations_without_gain: NonNegativeInt = 0
    max_tokens: PositiveInt | None = None  # what training.max_tokens=auto found
    loss_scale: dict[str, int | float] = field(default_factory=dict)  # of float16


PROGRESS = pydantic.TypeAdapter(Progress)


def save_checkpoint(
    run: RunDirectory,
    weights: Mapping[str, Tensor],
    state: Mapping[str, Tensor],
    progress: Progress,
    keep: int,
) -> Path:
    """Write the checkpoint of `progress.update`, point `last.json` and `best.json`, and drop what is no longer kept.

    The folder gets its name when all of it, the manifest last, is on the disk; the manifest describes the tokenizer,
    too, without which the weights mean nothing. Kept are the newest `keep` and
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
    described = [*(temporary / name for name in contents), *run.path.glob("tokenizer*.model")]
    write_atomically(temporary / MANIFEST, to_json({path.name: file_facts(path) for path in described}))
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
    found = {name: tensor.shape for name, tensor in state.items()}
    require_shapes(step.shapes_of_state(found), found, folder / TRAINING_TENSORS)
    step.load(weights, state)
    try:
        return PROGRESS.validate_python(read_json(folder / STATE))
    except pydantic.ValidationError as error:
        (problem, *_) = error.errors(include_url=False)
        key = ".".join(map(str, problem["loc"]))
        raise RunError(
            f"run: a state that this version knows is needed; got {folder / STATE}: {key}: {problem['msg']}"
        ) from None


def _serialise(tensors: Mapping[str, Tensor]) -> bytes:
    return safetensors.torch.save(
        {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    )
