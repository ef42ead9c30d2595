"""A teacher of words: what other models expect at each position is learned beside the true word.

Word-level distillation (Hinton et al. 2015; Kim & Rush 2016): the teachers read the sentence and the true words before,
as the student does, and the student's distribution moves towards theirs.
"""

from collections.abc import Sequence

import torch

from nmt.config import Runs, TrainSettings, TransformerSettings
from nmt.data.batching import Batch
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.torch_engine import load_engine
from nmt.errors import RunError, naming
from nmt.models.build import parameter_shapes
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import RunDirectory
from nmt.runs.weights import count_parameters
from nmt.training.cross_entropy import ExpectedWords

KEY = "training.teacher"


class WordTeacher:
    """A model, or several as one, that learns nothing here. It computes as it does when it translates."""

    def __init__(self, model: Seq2Seq, share: float, hashes: Sequence[str] = ()) -> None:
        self.model, self.share = model, share  # of what it expects in the target
        self.hashes = hashes  # of the weights of each run

    def expect(self, batch: Batch) -> ExpectedWords:
        """Return what is expected after the true words before each target position, in the order of packed rows."""
        with torch.no_grad(), torch.autocast(batch.source.device.type, enabled=False):
            outputs, _ = self.model(batch).packed(batch)
        return ExpectedWords(self.share, lambda rows: self.model.project(outputs[rows]).softmax(-1))


def find_teachers(runs: Runs | None, max_length: int, key: str = KEY) -> list[RunDirectory]:
    """Return the runs that `key` names. Raises RunError for one that has no model, or cannot read such sentences."""
    names = [runs] if isinstance(runs, str) else runs or []
    found = [RunDirectory.existing(name, key) for name in names]
    for run in found:
        with naming(key):
            model = run.read_model_settings().model
            run.find_checkpoints("best")  # which a folder that was exported lacks
        if isinstance(model, TransformerSettings) and model.max_positions <= max_length:
            raise RunError(
                f"{key}: a run of more than data.max_length={max_length} positions is needed; "
                f"got {run.path}, with {model.max_positions}"
            )
    return found


def require_vocabulary(teachers: Sequence[RunDirectory], tokenizer: Tokenizer) -> int:
    """Return how many parameters teachers have. Raises RunError for one whose vocabulary is not the student's."""
    num_parameters = 0
    for run in teachers:
        with naming(KEY):
            settings = run.read_model_settings()
            own = run.read_tokenizer(settings.tokenizer.joint)
        if own.models != tokenizer.models:
            raise RunError(
                f"{KEY}: a run with the vocabulary of this training is needed; got {run.path}, with another; "
                "tokenizer.model=RUN/tokenizer.model takes over one that is for both sides, training.from_run=RUN any"
            )
        num_parameters += count_parameters(parameter_shapes(settings.model, tokenizer))
    return num_parameters


def load_teacher(teachers: Sequence[RunDirectory], settings: TrainSettings) -> WordTeacher | None:
    """Load the runs that teach as one, if there are any. Raises RunError for weights that do not fit."""
    if not teachers:
        return None
    first, *rest = teachers
    with naming(KEY):
        while True:  # until none of them got better meanwhile, whose hashes would be of other weights
            hashes = [str(run.weights_hash("best")) for run in teachers]
            others = [str(run.path) for run in rest]
            engine = load_engine(first, "best", others, settings.device, settings.precision)
            if hashes == [str(run.weights_hash("best")) for run in teachers]:
                return WordTeacher(engine.model, settings.training.teacher_weight, hashes)
