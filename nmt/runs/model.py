"""The model of a run, with the weights of a checkpoint or the mean of several."""

from pathlib import Path

import torch
from torch import Tensor

from nmt.data.tokenizer import Tokenizer
from nmt.device import require_memory
from nmt.errors import RunError
from nmt.models.build import build_model, parameter_shapes
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import MODEL_WEIGHTS, RunDirectory
from nmt.runs.weights import Shapes, average, count_parameters, read_tensors, set_parameters


def load_model(run: RunDirectory, checkpoint: str) -> tuple[Seq2Seq, Tokenizer]:
    """Return the model with the weights of a checkpoint, and its tokenizer. Raises RunError if they don't fit."""
    settings = run.read_model_settings()
    tokenizer = run.read_tokenizer()
    weights, origin = _read_weights(run, checkpoint, parameter_shapes(settings.model, tokenizer))
    model = build_model(settings.model, tokenizer)
    set_parameters(model, weights, origin)
    model.learned_lengths, model.is_guided = run.read_facts()
    return model, tokenizer


def _read_weights(run: RunDirectory, checkpoint: str, shapes: Shapes) -> tuple[dict[str, Tensor], Path]:
    """Return the weights of a checkpoint, or the average of several, and the folder of the last one.

    A training that goes on meanwhile may remove a checkpoint that is being read; then the present ones are read.
    """
    while True:
        steps = run.steps()
        try:
            folders = run.find_checkpoints(checkpoint)
            # The weights of each checkpoint, and those of the model.
            require_memory(count_parameters(shapes), len(folders) + 1, torch.device("cpu"))
            weights = average([read_tensors(folder / MODEL_WEIGHTS, shapes) for folder in folders])
            return weights, folders[-1]
        except RunError:
            if run.steps() == steps:
                raise
