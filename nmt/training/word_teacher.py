"""A teacher of words: what other models expect at each position is learned beside the true word.

Word-level distillation (Hinton et al. 2015; Kim & Rush 2016): the teachers read the sentence and the true words before,
as the student does, and the student's distribution moves towards theirs.
"""

from collections.abc import Sequence

import torch

from nmt.config import TrainSettings
from nmt.data.batching import Batch
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.torch_engine import load_engine
from nmt.errors import RunError, naming
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import RunDirectory
from nmt.training.cross_entropy import ExpectedWords

KEY = "training.teacher"


class WordTeacher:
    """A model, or several as one, that learns nothing here. It computes as it does when it translates."""

    def __init__(self, model: Seq2Seq, weight: float, hashes: Sequence[str] = ()) -> None:
        self.model, self.weight = model, weight
        self.hashes = hashes  # of the weights of each run

    def expect(self, batch: Batch) -> ExpectedWords:
        """Return what is expected after the true words before each target position, in the order of packed rows."""
        with torch.no_grad(), torch.autocast(batch.source.device.type, enabled=False):
            outputs, _ = self.model(batch).packed(batch)
        return ExpectedWords(self.weight, lambda rows: self.model.project(outputs[rows]).softmax(-1))


def load_teacher(settings: TrainSettings, tokenizer: Tokenizer) -> WordTeacher | None:
    """Load the runs that teach as one, if there are any.

    Raises RunError for one that is not there, has another vocabulary, or cannot read such long sentences.
    """
    runs, longest = settings.training.teacher, settings.data.max_length
    if runs is None:
        return None
    first, *rest = [runs] if isinstance(runs, str) else runs
    with naming(KEY):
        directories = [RunDirectory.existing(run) for run in (first, *rest)]
        engine = load_engine(directories[0], "best", rest, settings.device, settings.precision)
        hashes = [str(directory.weights_hash("best")) for directory in directories]
    if engine.tokenizer.models != tokenizer.models:
        raise RunError(
            f"{KEY}: a run with the vocabulary of this training is needed, which tokenizer.model=RUN/tokenizer.model "
            f"takes over; got {first}, with another"
        )
    if engine.max_positions is not None and engine.max_positions <= longest:
        raise RunError(
            f"{KEY}: a run of more than data.max_length={longest} positions is needed; "
            f"got {first}, with {engine.max_positions}"
        )
    return WordTeacher(engine.model, settings.training.teacher_weight, hashes)
