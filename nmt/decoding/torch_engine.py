"""The engine of PyTorch: a model on a device, and batches for it."""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np
import torch

from nmt.config import DecodingSettings
from nmt.data.arrays import FloatArray, Int64Array
from nmt.data.batching import Batch, collate, cut_by_length, longest_first
from nmt.data.dataset import Dataset, Ids
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.batch_search import BatchSearch, plan_batches
from nmt.decoding.constraints import beam_width_for
from nmt.decoding.engine import Found, Search, Sentence
from nmt.decoding.shortlist import Shortlist, shortlist_of
from nmt.decoding.token_scores import token_log_probs
from nmt.device import choose_precision, prepare_device
from nmt.errors import DeviceError, RunError, first_line, naming
from nmt.memory import is_out_of_memory
from nmt.models.ensemble import Ensemble
from nmt.models.interface import Seq2Seq
from nmt.models.prepare import prepare_for_translating
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model

# Cells of the attention, target by source positions, that exist at the same time, for each head of each layer.
CELLS_ALIGNED = 1 << 18

# Logits of all rows at a position, 512 MB of them: they, and not the tokens, fill memory where lines are short.
LOGITS_AT_ONCE = 1 << 27

Sentences = Sequence[Sequence[int]]


class TorchEngine:
    """A model with its tokenizer on a device, products in `dtype`; see `nmt.decoding.engine.Engine`.

    Searches with a shortlist use that of `run`.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        device: torch.device,
        dtype: torch.dtype,
        run: RunDirectory | None = None,
    ) -> None:
        # A copy: its weights are converted once, and a model that is in training stays as it is.
        self.model = copy.deepcopy(model).to(device, dtype).eval()
        prepare_for_translating(self.model)
        self.tokenizer, self.device, self.run = tokenizer, device, run
        self.max_positions, self.learned_lengths = model.max_positions, model.learned_lengths

    @cached_property
    def shortlist(self) -> Shortlist:
        """The shortlist of the run, read when it is first asked for. Raises RunError if there is none."""
        return shortlist_of(self.run, self.tokenizer)

    def search(self, settings: DecodingSettings, num_hypotheses: int) -> Search:
        """Return a search for `num_hypotheses` of each sentence. Raises RunError if the run lacks a shortlist."""
        shortlist = self.shortlist if settings.shortlist else None
        search = BatchSearch(self.model, self.tokenizer, settings, self.device, num_hypotheses, shortlist)
        return partial(search_in_batches, search)

    def token_log_probs(self, source: Sentences, target: Sentences, max_tokens: int) -> list[list[float]]:
        """Return the log-probabilities of given translations, see `Engine`."""
        found: list[list[float]] = [[] for _ in source]
        for rows, batch in self._batches(source, target, lambda longest: max_tokens // longest):
            with torch.inference_mode():
                log_probs = token_log_probs(self.model, batch)
            parts = log_probs.cpu().split([len(target[row]) + 1 for row in rows])
            for row, part in zip(rows, parts, strict=True):
                found[row] = part.tolist()
        return found

    def attention(self, source: Sentences, target: Sentences) -> list[FloatArray] | None:
        """Return the attention of given translations, see `Engine`."""
        found: list[FloatArray] = [np.zeros((0, 0))] * len(source)
        for rows, batch in self._batches(source, target, lambda longest: CELLS_ALIGNED // longest**2):
            with torch.inference_mode():
                weights = self.model.alignment(batch)
            if weights is None:
                return None
            for row, one in zip(rows, weights.float().cpu().numpy(), strict=True):
                found[row] = one
        return found

    def _batches(
        self, source: Sentences, target: Sentences, size_of: Callable[[int], int]
    ) -> Iterator[tuple[Int64Array, Batch]]:
        """Yield the indices of pairs, in the order of their batch, and the batch, of `size_of(longest)` pairs."""
        pairs = Dataset(Ids.of(source), Ids.of(target))
        for rows in cut_by_length(np.maximum(pairs.source.lengths, pairs.target.lengths) + 1, size_of):
            ordered = longest_first(pairs.source, rows)  # as collate keeps them
            yield ordered, collate(pairs, ordered, self.tokenizer).to(self.device)


def load_engine(
    run: RunDirectory, checkpoint: str, ensemble: Sequence[str], device: str, precision: str
) -> TorchEngine:
    """Return an engine for the model of a run, or for an ensemble. Raises UserError if a model cannot be loaded."""
    where = prepare_device(device)
    dtype = choose_precision(precision, where)
    model, tokenizer = load_models(run, checkpoint, ensemble)
    return TorchEngine(model, tokenizer, where, dtype, run)


def load_models(run: RunDirectory, checkpoint: str, ensemble: Sequence[str]) -> tuple[Seq2Seq, Tokenizer]:
    """Return the model of a run, or an ensemble of it and others, and the tokenizer.

    Raises RunError for a run of `ensemble` that has another vocabulary.
    """
    model, tokenizer = load_model(run, checkpoint)
    members = [model]
    for name in ensemble:
        with naming("ensemble"):
            other, its_tokenizer = load_model(RunDirectory.existing(name), checkpoint)
        if its_tokenizer.models != tokenizer.models:
            raise RunError(
                f"ensemble: runs with the vocabulary of {run.path} are needed; got {name}, with another"
            )
        members.append(other)
    return (Ensemble(members) if ensemble else model), tokenizer


def search_in_batches(search: BatchSearch, sentences: Sequence[Sentence]) -> list[Found]:
    """Search all sentences, in batches of about equal length; return the results in the order of the sentences.

    Sentences with phrases are in batches of their own, since they take more rows.
    """
    lengths = np.array([len(sentence.source) + 1 for sentence in sentences])
    has_phrases = np.array([any(sentence.phrases) for sentence in sentences], bool)
    found = [Found([], 0.0)] * len(sentences)
    for members in (np.flatnonzero(~has_phrases), np.flatnonzero(has_phrases)):
        of_kind = [sentences[row] for row in members.tolist()]
        width = beam_width_for(search.width, [sentence.phrases for sentence in of_kind])
        max_sentences = LOGITS_AT_ONCE // (search.tokenizer.target.size * width)
        for batch in plan_batches(lengths[members], search.settings.max_tokens // width, max_sentences):
            began = time.monotonic()
            try:
                results = search([[of_kind[row] for row in rows] for rows in batch])
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                raise DeviceError(
                    "decoding.max_tokens: fewer tokens at once are needed for the memory of this machine; "
                    f"got {search.settings.max_tokens}, and {first_line(error)}"
                ) from None
            seconds = time.monotonic() - began
            for row, hypotheses in zip(members[np.concatenate(batch)], results, strict=True):
                found[row] = Found(hypotheses, seconds)
    return found
