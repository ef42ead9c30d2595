"""Teachers of words: a student learns the words that other models expect at each position, beside the true word.

Word-level distillation (Hinton et al. 2015; Kim & Rush 2016): the teachers read the source sentence and the true target
words before a position, as the student does, and the student's distribution moves towards theirs. The teachers read
each pair once, before training; their likeliest words are kept in the cache (Tan et al. 2019 keep the eight likeliest).
"""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from nmt.config import Runs, TrainSettings, TransformerSettings, as_list
from nmt.data.arrays import Int64Array, map_file
from nmt.data.batching import Batch, collate, longest_first, places_with_end, plan_by_length
from nmt.data.cache import cached_folder, content_key, entry_name
from nmt.data.dataset import Dataset
from nmt.data.expected_words import ExpectedWords
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.token_scores import logits_of_tokens
from nmt.decoding.torch_engine import TorchEngine, load_engine
from nmt.device import choose_precision, prepare_device, require_memory
from nmt.errors import RunError, naming
from nmt.models.build import parameter_shapes
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import RunDirectory
from nmt.runs.weights import count_parameters

logger = logging.getLogger(__name__)

KEY = "training.teacher"
WORDS, PROBABILITIES = "words", "probabilities"  # files of an entry of the cache
NUM_KEPT = 8  # words of each position
# Pairs whose words are in memory together, 48 bytes for each target token, and are kept together after an interruption.
PAIRS_READ_AT_ONCE = 20_000
MAX_TOKENS = 1 << 14  # padded, on the longer side of a batch


class WordTeacher(NamedTuple):
    """A run, and the hash of its weights when it was first looked at."""

    run: RunDirectory
    hash: str


def find_teachers(runs: Runs, max_length: int, key: str = KEY) -> list[RunDirectory]:
    """Return the runs that `key` names. Raises RunError for one without a model, or without enough positions."""
    found = [RunDirectory.existing(name, key) for name in as_list(runs)]
    for run in found:
        with naming(key):
            model = run.read_model_settings().model
            run.find_checkpoints("best")  # raises it for an exported folder
        if isinstance(model, TransformerSettings) and model.max_positions <= max_length:
            raise RunError(
                f"{key}: a run of more than data.max_length={max_length} positions is needed; "
                f"got {run.path}, with {model.max_positions}"
            )
    return found


def hashed(runs: Sequence[RunDirectory]) -> list[WordTeacher]:
    """Return teachers with their hashes, sorted by these, so that the order of their names does not matter."""
    with naming(KEY):
        return sorted(
            (WordTeacher(run, str(run.weights_hash("best"))) for run in runs), key=lambda one: one.hash
        )


def origin_of(teachers: Sequence[WordTeacher]) -> dict[str, str]:
    """Return one hash of all teachers under their key; nothing if there are no teachers."""
    return {KEY: content_key(*(teacher.hash for teacher in teachers))} if teachers else {}


def require_vocabulary(teachers: Sequence[WordTeacher], tokenizer: Tokenizer, device: torch.device) -> None:
    """Raise RunError for a teacher whose vocabulary is not the student's, DeviceError for more than fit into memory."""
    num_parameters = 0
    for run, _ in teachers:
        with naming(KEY):
            settings = run.read_model_settings()
            own = run.read_tokenizer()
        if own.models != tokenizer.models:
            raise RunError(
                f"{KEY}: a run with the vocabulary of this training is needed; got {run.path}, with another; "
                "tokenizer.model=RUN/tokenizer.model takes over one that is for both sides, training.from_run=RUN any"
            )
        num_parameters += count_parameters(parameter_shapes(settings.model, tokenizer))
    require_memory(num_parameters, 1, device, KEY)


def ask_teachers(
    teachers: Sequence[WordTeacher],
    settings: TrainSettings,
    dataset: Dataset,
    selected: Int64Array,
    tokenizer: Tokenizer,
) -> ExpectedWords:
    """Return the words that an ensemble expects in the `selected` pairs of a cached data set; they are cached, too.

    Each PAIRS_READ_AT_ONCE have an entry of their own in the cache until all are there, so that an interruption costs
    the last of them alone. Raises RunError for weights that do not fit, or that change meanwhile.
    """
    assert dataset.name is not None
    device = prepare_device(settings.device)
    dtype = choose_precision(settings.precision, device)
    num_kept = _num_kept(tokenizer)

    def make(folder: Path) -> None:
        logger.info("teacher      reads each training pair once")
        engine, limit = _load(teachers, settings), settings.training.max_tokens
        parts: list[Path] = []
        with tqdm(
            desc="words of teachers", total=len(dataset), unit=" pairs", disable=None, leave=False
        ) as bar:
            for start in range(0, len(dataset), PAIRS_READ_AT_ONCE):
                end = min(start + PAIRS_READ_AT_ONCE, len(dataset))
                read = partial(_write_part, engine, dataset, selected, (start, end), num_kept, limit)
                parts.append(cached_folder(f"{name}-{start}-{end}", read))
                bar.update(end - start)
        for file in (WORDS, PROBABILITIES):
            with open(folder / file, "wb") as whole:
                for part in parts:
                    with open(part / file, "rb") as some:
                        shutil.copyfileobj(some, whole)

    hashes = [teacher.hash for teacher in teachers]
    models = [run.read_model_settings().model.model_dump_json() for run, _ in teachers]
    how = str(settings.data.max_length), device.type, str(dtype), str(num_kept)
    name = entry_name("words", dataset.name, *how, *hashes, *models)
    folder = cached_folder(name, make)
    for part in folder.parent.glob(f"{name}-*"):  # also those of a process that was killed
        shutil.rmtree(part, ignore_errors=True)
    if device.type == "cuda":
        torch.cuda.empty_cache()  # of the teachers, which are gone
    words, probabilities = map_file(folder / WORDS, np.int32), map_file(folder / PROBABILITIES, np.float16)
    return ExpectedWords(*(torch.from_numpy(part).view(-1, num_kept) for part in (words, probabilities)))


def unread(
    teachers: Sequence[WordTeacher], settings: TrainSettings, dataset: Dataset, tokenizer: Tokenizer
) -> ExpectedWords:
    """Return placeholders for pairs that teachers have not read: as much to compute with, but one row of memory.

    Raises RunError for weights that do not fit, or that change meanwhile.
    """
    _load(teachers, settings)
    num_positions, num_kept = int(dataset.target.offsets[-1]) + len(dataset), _num_kept(tokenizer)
    nothing = ExpectedWords(torch.zeros(1, num_kept, dtype=torch.int32), torch.zeros(1, num_kept).half())
    return nothing.map(lambda part: part.expand(num_positions, -1))


def _num_kept(tokenizer: Tokenizer) -> int:
    return min(NUM_KEPT, tokenizer.target.size)


def _load(teachers: Sequence[WordTeacher], settings: TrainSettings) -> TorchEngine:
    first, *rest = (run for run, _ in teachers)
    with naming(KEY):
        engine = load_engine(
            first, "best", [str(run.path) for run in rest], settings.device, settings.precision
        )
        for run, before in teachers:
            if str(run.weights_hash("best")) != before:
                raise RunError(
                    f"run: a run that is not in training is needed; got {run.path}, whose best weights have changed"
                )
    return engine


def _write_part(
    engine: TorchEngine,
    dataset: Dataset,
    selected: Int64Array,
    pairs: tuple[int, int],
    num_kept: int,
    limit: int | Literal["auto"],
    folder: Path,
) -> None:
    """Write the expected words at all positions of a range of pairs; zeros where a pair is not selected."""
    max_tokens = MAX_TOKENS if limit == "auto" else min(limit, MAX_TOKENS)
    alone = replace(dataset, links=None)
    rows = selected[slice(*np.searchsorted(selected, pairs))]
    longer = np.maximum(alone.source.lengths_of(rows), alone.target.lengths_of(rows)) + 1
    first, last = (int(alone.target.offsets[row]) + row for row in pairs)
    shape = last - first, num_kept
    words, probabilities = torch.zeros(shape, dtype=torch.int32), torch.zeros(shape, dtype=torch.float16)
    for batch in plan_by_length(longer, max_tokens):
        of_batch = longest_first(alone.source, rows[batch])
        places, are_there = places_with_end(alone.target, of_batch)
        likely = likeliest(
            engine.model, collate(alone, of_batch, engine.tokenizer).to(engine.device), num_kept
        )
        words[places[are_there] - first] = likely.words.int().cpu()
        probabilities[places[are_there] - first] = likely.probabilities.half().cpu()
    (folder / WORDS).write_bytes(words.numpy().data)
    (folder / PROBABILITIES).write_bytes(probabilities.numpy().data)


@torch.no_grad()
def likeliest(model: Seq2Seq, batch: Batch, num_kept: int) -> ExpectedWords:
    """Return the words that are likeliest at each target position of a batch, pair by pair, (positions, k)."""
    found = [logits.softmax(-1).topk(num_kept) for logits, _ in logits_of_tokens(model, batch)]
    probabilities, words = (torch.cat(parts) for parts in zip(*found, strict=True))
    return ExpectedWords(words, probabilities)
