"""Parallel text as token ids: tokenised once, kept on disk, read through memory maps."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from nmt.data.arrays import Int32Array, Int64Array, map_file, on_disk
from nmt.data.cache import cache_folder, cached_folder, entry_name, to_be_written
from nmt.data.context import Context, Surroundings
from nmt.data.corpus import ParallelText
from nmt.data.expected_words import ExpectedWords
from nmt.data.tokenizer import SENTENCEPIECE, Tokenizer, Vocabulary
from nmt.errors import DataError

LINES_ENCODED_AT_ONCE = 10_000
SHORT = "short"
PAIRS_LOOKED_AT = 1_000_000  # together


@dataclass(frozen=True)
class Ids:
    """Sentences of one side: sentence i is tokens[offsets[i] : offsets[i + 1]], without BOS or EOS."""

    tokens: Tensor  # int32, on the device that gathers batches
    offsets: Int64Array  # on the host

    @property
    def lengths(self) -> Int64Array:
        """Number of tokens of each sentence."""
        return np.diff(self.offsets)

    def lengths_of(self, rows: Int64Array) -> Int64Array:
        """Number of tokens of some sentences."""
        return self.offsets[rows + 1] - self.offsets[rows]

    def take(self, rows: Int64Array) -> "Ids":
        """Return some sentences, in memory."""
        lengths = self.lengths_of(rows)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ids(self.tokens[torch.from_numpy(places)], offsets)

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> "Ids":
        """Return sentences of token ids, laid one after the other."""
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        return cls.laid(np.fromiter(chain.from_iterable(sentences), np.int32, int(lengths.sum())), lengths)

    @classmethod
    def laid(cls, tokens: Int32Array, lengths: Int64Array) -> "Ids":
        """Return sentences of these lengths, whose `tokens` lie one after the other."""
        return cls(torch.from_numpy(tokens), np.concatenate([[0], np.cumsum(lengths)]))


@dataclass(frozen=True)
class Links:
    """Word links between the sides of pairs of sentences, on the host. Words are counted from 1; 0 is no word."""

    source: Ids  # of each piece, the word that it belongs to
    target: Ids
    words: Ids  # of each pair, a source word and a target word for each link


@dataclass(frozen=True)
class Dataset:
    """Pairs of sentences as ids, in the order of the text; `num_short` sources lack some of their context.

    `expected` lies on the host in the order of the target ids, with one more position for the EOS of each sentence.
    """

    source: Ids
    target: Ids
    links: Links | None = None  # where they are learned
    num_short: int = 0
    name: str | None = None  # in the cache
    expected: ExpectedWords | None = None  # where it is learned

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def take(self, rows: Int64Array) -> "Dataset":
        """Return some pairs, in memory."""
        return Dataset(self.source.take(rows), self.target.take(rows))

    def to(self, device: torch.device) -> "Dataset":
        """Return the pairs with their ids on `device`."""
        source, target = (Ids(ids.tokens.to(device), ids.offsets) for ids in (self.source, self.target))
        return replace(self, source=source, target=target)


@dataclass(frozen=True)
class LeftOut:
    """Indices of the pairs that cannot be learned from, by the reason."""

    empty: Int64Array
    too_long: Int64Array


def load_dataset(
    text: ParallelText, tokenizer: Tokenizer, surroundings: Surroundings | None = None
) -> Dataset:
    """Return the text as ids, from the cache if the same tokenizer has encoded it before.

    `surroundings` are the lines that source lines are read with; without them, each source line is read alone.
    """
    models = tokenizer.source.model, tokenizer.target.model
    read_with = () if surroundings is None else surroundings.key
    name = entry_name("dataset", SENTENCEPIECE, *models, text.source, text.target, *read_with)

    def make(folder: Path) -> None:
        short: list[int] = []
        source = surroundings or Surroundings(Context(), 0, text.source)
        target = Surroundings(Context(), 0, text.target)
        save_ids(folder / "source", _encoded(source, tokenizer.source, "tokenising source", short))
        save_ids(folder / "target", _encoded(target, tokenizer.target, "tokenising target", []))
        if surroundings is not None:
            np.array([sum(short)], np.int64).tofile(folder / SHORT)

    folder = cached_folder(name, make)
    num_short = 0 if surroundings is None else int(map_file(folder / SHORT, np.int64)[0])
    return Dataset(load_ids(folder / "source"), load_ids(folder / "target"), num_short=num_short, name=name)


def select_pairs(dataset: Dataset, max_length: int) -> tuple[Int64Array, LeftOut]:
    """Return the indices of the pairs to train on: no empty side, none longer than `max_length` tokens.

    Raises DataError if there is none.
    """
    size, num_kept, empty, too_long = len(dataset), 0, [], []
    folder = cache_folder()
    with to_be_written(folder):
        kept = np.empty(size, np.int64) if size <= PAIRS_LOOKED_AT else on_disk(size, folder)
    for start in range(0, size, PAIRS_LOOKED_AT):
        rows = np.arange(start, min(start + PAIRS_LOOKED_AT, size))
        source, target = dataset.source.lengths_of(rows), dataset.target.lengths_of(rows)
        is_empty = (source == 0) | (target == 0)
        is_too_long = ~is_empty & ((source > max_length) | (target > max_length))
        found = rows[~is_empty & ~is_too_long]
        kept[num_kept : num_kept + len(found)] = found
        num_kept += len(found)
        empty.append(rows[is_empty])
        too_long.append(rows[is_too_long])
    kept, left_out = kept[:num_kept], LeftOut(np.concatenate(empty), np.concatenate(too_long))
    if len(kept) == 0:
        raise DataError(
            f"data.train: a pair with text on both sides, up to data.max_length={max_length} tokens, is needed; "
            f"got {len(left_out.empty)} with an empty side and {len(left_out.too_long)} longer ones"
        )
    return kept, left_out


def _encoded(
    lines: Surroundings, vocabulary: Vocabulary, label: str, short: list[int]
) -> Iterator[list[list[int]]]:
    """Yield the token ids of lines in chunks; append to `short` how many lines of each lack some of their context."""
    chunks = lines.encode(vocabulary, LINES_ENCODED_AT_ONCE)
    num_chunks = -(-len(lines.lines) // LINES_ENCODED_AT_ONCE)
    for sentences, found in tqdm(chunks, label, num_chunks, unit=" x 10k lines", disable=None, leave=False):
        short.append(found)
        yield sentences


def save_ids(path: Path, chunks: Iterable[Sequence[Sequence[int]]]) -> None:
    """Write sentences of token ids, which come in chunks."""
    end = 0
    with open(f"{path}.tokens", "wb") as tokens, open(f"{path}.offsets", "wb") as offsets:
        offsets.write(np.zeros(1, np.int64).data)
        for chunk in chunks:
            ids = Ids.of(chunk)
            tokens.write(ids.tokens.numpy().data)
            offsets.write((ids.offsets[1:] + end).data)
            end += len(ids.tokens)


def load_ids(path: Path) -> Ids:
    """Return the sentences that `save_ids` wrote, memory-mapped."""
    tokens = map_file(Path(f"{path}.tokens"), np.int32)
    return Ids(torch.from_numpy(tokens), map_file(Path(f"{path}.offsets"), np.int64))
