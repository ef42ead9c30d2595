"""Teachers of words: what other models expect at each position is learned beside the true word.

Word-level distillation (Hinton et al. 2015; Kim & Rush 2016): the teachers read the sentence and the true words before,
as the student does, and the student's distribution moves towards theirs. They read each pair once, before training; the
words that are likeliest to them stay in the cache (as Tan et al. 2019 keep the eight likeliest).
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from nmt.config import Runs, TrainSettings, TransformerSettings
from nmt.data.arrays import Int64Array, map_file
from nmt.data.batching import Batch, collate, longest_first, places_with_end, plan_by_length
from nmt.data.cache import cached_folder, entry_name
from nmt.data.dataset import Dataset
from nmt.data.expected_words import ExpectedWords
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.token_scores import logits_of_tokens
from nmt.decoding.torch_engine import load_engine
from nmt.device import choose_precision, prepare_device, require_memory
from nmt.errors import RunError, naming
from nmt.models.build import parameter_shapes
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import RunDirectory
from nmt.runs.weights import count_parameters

logger = logging.getLogger(__name__)

KEY = "training.teacher"
NUM_KEPT = 8  # words of each position
MAX_TOKENS = 1 << 14  # padded, of a side of a batch


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


def require_vocabulary(teachers: Sequence[RunDirectory], tokenizer: Tokenizer, device: torch.device) -> None:
    """Raise RunError for a teacher whose vocabulary is not the student's, DeviceError for more than fit into memory."""
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
    require_memory(num_parameters, 1, device)


def hashes_of(teachers: Sequence[RunDirectory]) -> list[str]:
    """Return the hashes of the weights of runs."""
    with naming(KEY):
        return [str(run.weights_hash("best")) for run in teachers]


@torch.no_grad()
def likeliest(model: Seq2Seq, batch: Batch, num_kept: int) -> ExpectedWords:
    """Return the words that are likeliest at each target position of a batch, pair by pair, (positions, k)."""
    found = [logits.softmax(-1).topk(num_kept) for logits, _ in logits_of_tokens(model, batch)]
    probabilities, words = (torch.cat(parts) for parts in zip(*found, strict=True))
    return ExpectedWords(words, probabilities)


def ask_teachers(
    teachers: Sequence[RunDirectory],
    settings: TrainSettings,
    name: str,
    dataset: Dataset,
    selected: Int64Array,
    tokenizer: Tokenizer,
) -> ExpectedWords:
    """Return what runs as one expect in the `selected` pairs of the data set `name`, from the cache if it is there.

    Raises RunError for weights that do not fit, or that change meanwhile.
    """
    dtype = choose_precision(settings.precision, prepare_device(settings.device))
    hashes = hashes_of(teachers)
    num_kept = min(NUM_KEPT, tokenizer.target.size)
    shape = len(dataset.target.tokens) + len(dataset), num_kept

    def make(folder: Path) -> None:
        first, *rest = teachers
        with naming(KEY):
            engine = load_engine(
                first, "best", [str(run.path) for run in rest], settings.device, settings.precision
            )
        if hashes_of(teachers) != hashes:
            raise RunError(
                f"{KEY}: runs that are not in training are needed; got one that got better meanwhile"
            )
        logger.info("teacher      reads each training pair once")
        words = np.memmap(folder / "words", np.int32, "w+", shape=shape)
        probabilities = np.memmap(folder / "probabilities", np.float16, "w+", shape=shape)
        longer = np.maximum(dataset.source.lengths, dataset.target.lengths) + 1
        batches = plan_by_length(longer, MAX_TOKENS, selected)
        for rows in tqdm(batches, "words of teachers", unit=" batches", disable=None, leave=False):
            places, are_there = places_with_end(dataset.target, longest_first(dataset.source, rows))
            found = likeliest(engine.model, collate(dataset, rows, tokenizer).to(engine.device), num_kept)
            words[places[are_there]], probabilities[places[are_there]] = (part.cpu() for part in found)
        for array in (words, probabilities):
            array.flush()

    folder = cached_folder(
        entry_name("words", name, str(settings.data.max_length), str(dtype), *hashes), make
    )
    return ExpectedWords(
        torch.from_numpy(map_file(folder / "words", np.int32).reshape(shape)),
        torch.from_numpy(map_file(folder / "probabilities", np.float16).reshape(shape)),
    )
