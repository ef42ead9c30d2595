"""Parallel text as token ids: tokenised once, kept on disk, read through memory maps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nmt.data.arrays import Int64Array
from nmt.data.cache import cached_folder, entry_name
from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import SENTENCEPIECE, Tokenizer, Vocabulary
from nmt.errors import DataError

LINES_ENCODED_AT_ONCE = 10_000


@dataclass(frozen=True)
class Ids:
    """Sentences of one side: sentence i is tokens[offsets[i] : offsets[i + 1]], without BOS or EOS."""

    tokens: Tensor  # int32, on the device that gathers batches
    offsets: Int64Array  # on the host

    @property
    def lengths(self) -> Int64Array:
        """Number of tokens of each sentence."""
        return np.diff(self.offsets)

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> "Ids":
        """Lay sentences one after the other."""
        offsets = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum([len(sentence) for sentence in sentences], out=offsets[1:])
        tokens = np.concatenate([np.empty(0, np.int32), *(np.array(s, np.int32) for s in sentences)])
        return cls(torch.from_numpy(tokens), offsets)


@dataclass(frozen=True)
class Dataset:
    """Pairs of sentences as ids, in the order of the text."""

    source: Ids
    target: Ids

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def to(self, device: torch.device) -> "Dataset":
        """Return the pairs with their ids on `device`."""
        source, target = (Ids(ids.tokens.to(device), ids.offsets) for ids in (self.source, self.target))
        return Dataset(source, target)


@dataclass(frozen=True)
class LeftOut:
    """Indices of the pairs that cannot be learned from, by the reason."""

    empty: Int64Array
    too_long: Int64Array


def load_dataset(text: ParallelText, tokenizer: Tokenizer) -> Dataset:
    """Return the text as ids, from the cache if the same text met the same tokenizer before."""
    name = entry_name(
        "dataset", SENTENCEPIECE, tokenizer.source.model, tokenizer.target.model, text.source, text.target
    )

    def make(folder: Path) -> None:
        _save(folder / "source", text.source, tokenizer.source)
        _save(folder / "target", text.target, tokenizer.target)

    folder = cached_folder(name, make)
    return Dataset(_load(folder / "source"), _load(folder / "target"))


def select_pairs(dataset: Dataset, max_length: int) -> tuple[Int64Array, LeftOut]:
    """Return the indices of the pairs to train on: no empty side, none longer than `max_length` tokens.

    Raises DataError if there is none.
    """
    source, target = dataset.source.lengths, dataset.target.lengths
    empty = (source == 0) | (target == 0)
    too_long = ~empty & ((source > max_length) | (target > max_length))
    kept = np.flatnonzero(~empty & ~too_long)
    left_out = LeftOut(np.flatnonzero(empty), np.flatnonzero(too_long))
    if len(kept) == 0:
        raise DataError(
            f"data.train: a pair with text on both sides, up to data.max_length={max_length} tokens, is needed; "
            f"got {len(left_out.empty)} with an empty side and {len(left_out.too_long)} longer ones"
        )
    return kept, left_out


def _save(path: Path, lines: list[str], vocabulary: Vocabulary) -> None:
    chunks, rest = [Ids.of([])], iter(lines)
    while chunk := list(islice(rest, LINES_ENCODED_AT_ONCE)):
        # Some white space, such as U+3000, would become pieces.
        chunks.append(Ids.of(vocabulary.encode([line if line.strip() else "" for line in chunk])))
    lengths = np.concatenate([chunk.lengths for chunk in chunks])
    _write(f"{path}-tokens.npy", torch.cat([chunk.tokens for chunk in chunks]).numpy())
    _write(f"{path}-offsets.npy", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def _write(path: str, array: npt.NDArray[Any]) -> None:
    """Do what np.save does, which says nothing where the disk has no room for the last of a file."""
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.data)


def _load(path: Path) -> Ids:
    tokens, offsets = (  # read when they are asked for; writing would change a copy, and nobody writes
        np.load(f"{path}-{name}.npy", mmap_mode="c", allow_pickle=False) for name in ("tokens", "offsets")
    )
    return Ids(torch.from_numpy(tokens), offsets)
