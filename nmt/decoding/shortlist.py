"""A shortlist: a batch is searched only among likely translations of its words, and frequent words.

Jean et al. 2015; L'Hostis et al. 2016.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nmt.data.arrays import Int64Array
from nmt.data.batching import send
from nmt.data.dataset import Ids
from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.decoding.engine import Hypothesis
from nmt.decoding.vocabulary_map import ANY, read_map, written_names
from nmt.errors import RunError
from nmt.models.interface import Decoded, DecoderState, Seq2Seq
from nmt.runs.directory import RunDirectory

# The best tokens of a vocabulary are found in blocks of this size (candidates.py).
MULTIPLE = 64
NUM_SPECIAL = 4  # PAD, UNK, BOS and EOS


@dataclass(frozen=True)
class Shortlist:
    """Target ids that any translation may have, and those that are likely translations of each source id."""

    vocabulary: Vocabulary  # of the target
    frequent: Sequence[int]
    likely: Ids  # one "sentence" of target ids for each source id

    def choose(self, sources: Iterable[Sequence[int]], others: Iterable[Sequence[int]] = ((),)) -> Int64Array:
        """Return the target ids (V'), ascending, for source sentences that are searched together.

        The special ids and those of `others`, prefixes and phrases of translations, are always there. The first ids of
        the vocabulary, which are frequent, make V' a multiple of 64.
        """
        vocabulary = self.vocabulary
        is_chosen = np.zeros(vocabulary.size, bool)
        is_chosen[
            [*vocabulary.special_ids, *self.frequent, *(token for tokens in others for token in tokens)]
        ] = True
        found = np.fromiter({token for tokens in sources for token in tokens}, np.int64)
        is_chosen[self.likely.take(found).tokens.numpy()] = True
        num_missing = -int(is_chosen.sum()) % MULTIPLE
        is_chosen[np.flatnonzero(~is_chosen)[:num_missing]] = True
        return np.flatnonzero(is_chosen)

    def to_bytes(self, source: Vocabulary) -> bytes:
        """Return the content of the file, without special tokens and those whose names it cannot hold."""
        names, source_names = written_names(self.vocabulary), written_names(source)
        offsets, tokens = self.likely.offsets.tolist(), self.likely.tokens.tolist()

        def line(key: str, ids: Sequence[int]) -> str:
            return f"{key}\t{' '.join(names[i] for i in ids if i in names)}\n"

        rows = (tokens[start:end] for start, end in pairwise(offsets))
        of_sources = (line(source_names[i], row) for i, row in enumerate(rows) if row and i in source_names)
        return "".join([line("", self.frequent), *of_sources]).encode()

    @classmethod
    def read(cls, path: Path, tokenizer: Tokenizer) -> "Shortlist":
        """Read a file. Raises RunError for one that is not there, or not of this tokenizer."""
        found = read_map(path, tokenizer)
        likely = Ids.of([found.get(i, []) for i in range(tokenizer.source.size)])
        return cls(tokenizer.target, found.get(ANY, []), likely)


def shortlist_of(run: RunDirectory | None, tokenizer: Tokenizer) -> Shortlist:
    """Read the shortlist of a run. Raises RunError if it has none, or if there is no run."""
    path = run.shortlist_path if run else None
    if path is None or not path.exists():
        raise RunError(
            "decoding.shortlist: false is needed for a run without a shortlist (`nmt shortlist run=DIR` makes one); "
            f"got true, and no {path or 'run'}"
        )
    return Shortlist.read(path, tokenizer)


class ShortDecoder:
    """A decoder of chosen tokens: to a search they are the whole vocabulary, and a token is its index among them."""

    def __init__(self, model: Seq2Seq, chosen: Int64Array, device: torch.device) -> None:
        """Take the token ids `chosen` (V', ascending) of a model on `device`."""
        self.model, self.chosen = model, chosen
        self.ids = send(torch.from_numpy(chosen), device)
        self.project = model.project_to(self.ids)

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode the position after `tokens` (N)."""
        return self.model.step(self.ids[tokens], state)

    def place(self, token_id: int) -> int:
        """Return the index among the chosen tokens of an id that is one of them."""
        return int(np.searchsorted(self.chosen, token_id))

    def in_full(self, hypothesis: Hypothesis) -> Hypothesis:
        """Turn a hypothesis of indices among the chosen tokens into one of token ids."""
        return hypothesis._replace(tokens=self.chosen[hypothesis.tokens].tolist())
