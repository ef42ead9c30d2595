"""Which sentences go through the model together, and in which order; then their token ids as tensors."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nmt.data.arrays import Int64Array
from nmt.data.dataset import Dataset, Ids, Links
from nmt.data.expected_words import ExpectedWords
from nmt.data.tokenizer import Tokenizer

# Largest load of a rank as a multiple of the mean of all: the others wait for the busiest one.
LARGEST_LOAD = 1.1


@dataclass(frozen=True)
class Batch:
    """Sentences padded to rectangles; lengths and counts live on the host, too, so nothing waits for the device.

    B sentences, S source length (EOS included), T target length (BOS or EOS included).
    """

    source: Tensor  # (B, S)
    source_lengths: Tensor  # (B), on the host
    target_in: Tensor  # (B, T): BOS + y
    target_out: Tensor  # (B, T): y + EOS
    target_lengths: Tensor  # (B), on the host
    device_lengths: tuple[Tensor, Tensor]  # of source and target (B each) again, on the device of the ids
    # (B, T, S), where word links are learned: the share of each source piece in the links of a target piece.
    alignment: Tensor | None = None
    expected: ExpectedWords | None = None  # (B, T, k): words of teachers, where these are learned

    @property
    def num_tokens(self) -> int:
        """Number of target tokens without padding, EOS included."""
        return int(self.target_lengths.sum())

    def to(self, device: torch.device) -> "Batch":
        """Return the batch with its ids on `device`."""
        return replace(
            self,
            source=send(self.source, device),
            target_in=send(self.target_in, device),
            target_out=send(self.target_out, device),
            device_lengths=(send(self.device_lengths[0], device), send(self.device_lengths[1], device)),
            alignment=None if self.alignment is None else send(self.alignment, device),
            expected=None if self.expected is None else self.expected.map(lambda part: send(part, device)),
        )


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """Return the tensor on `device`, without waiting for the copy if the device can fetch it by itself.

    That is a GPU, from memory that stays as it is until it was read. MPS would read memory that is in use again.
    """
    comes_from_host = tensor.device.type == "cpu" and device.type == "cuda"
    return (tensor.pin_memory() if comes_from_host else tensor).to(device, non_blocking=comes_from_host)


Update = list[Int64Array]  # micro-batches, each the indices of its pairs


@dataclass(frozen=True)
class EpochPlan:
    """The updates of an epoch, before they are cut into micro-batches that fit in memory."""

    updates: list[Int64Array]  # the indices of the pairs of each
    longer: Int64Array  # of each pair, the length of its longer side

    def within(self, max_tokens: int) -> "Updates":
        """Return the updates in micro-batches of at most `max_tokens` padded tokens on the longer side."""
        return Updates(self, max_tokens)


@dataclass(frozen=True)
class Updates:
    """The updates of a plan, each cut into micro-batches when it is asked for."""

    plan: EpochPlan
    max_tokens: int  # padded tokens of a micro-batch, on the longer side

    def __len__(self) -> int:
        return len(self.plan.updates)

    def __getitem__(self, index: int) -> Update:
        return plan_by_length(self.plan.longer, self.max_tokens, self.plan.updates[index])

    def __iter__(self) -> Iterator[Update]:
        return (self[index] for index in range(len(self)))


def plan_epoch(
    seed: int, number: int, source_lengths: Int64Array, target_lengths: Int64Array, update_tokens: int
) -> EpochPlan:
    """Lay out the updates of an epoch, or of a part of one; `number` counts the epochs or parts.

    Each update has sentences of about the same length on both sides: at most `update_tokens` target tokens in all, or
    one longer sentence. Lengths count EOS. The result depends on the arguments alone.
    """
    generator = np.random.Generator(np.random.PCG64([seed, number]))
    order = generator.permutation(len(target_lengths))
    longer = np.maximum(source_lengths, target_lengths)
    # Parts are cut between sentences, so they come out larger or smaller by about half a sentence.
    room = max(1.0, update_tokens - float(target_lengths.mean()))
    num_parts = -(-int(target_lengths.sum()) // int(room))
    # NumPy sorts integers of one or two bytes in linear time.
    narrow = np.min_scalar_type(int(longer.max()))
    lengths = np.stack([source_lengths[order], target_lengths[order]]).astype(narrow)
    groups = _split(order, lengths, num_parts, update_tokens)
    return EpochPlan([groups[i] for i in generator.permutation(len(groups))], longer)


def _split(pairs: Int64Array, lengths: npt.NDArray[Any], num_parts: int, max_tokens: int) -> list[Int64Array]:
    """Halve pairs into `num_parts` parts with about equal numbers of target tokens, as a k-d tree would.

    `lengths` (2, number of pairs) are those of source and target. Each cut is across the side, source or target, that
    leaves less padding. A part that still has more than `max_tokens` target tokens is halved once more.
    """
    num_tokens = int(lengths[1].sum())
    if num_parts == 1 and num_tokens > max_tokens:
        num_parts = 2
    if num_parts == 1 or len(pairs) == 1:
        return [pairs]
    num_left = num_parts // 2
    cuts = []
    for side in lengths:
        order = np.argsort(side, kind="stable")
        ordered = lengths.take(order, axis=1)
        ends = np.cumsum(ordered[1], dtype=np.int64)
        middle = int(np.searchsorted(ends, num_tokens * num_left / num_parts))
        middle = min(max(middle, 1), len(order) - 1)
        halves = ordered[:, :middle], ordered[:, middle:]
        cells = sum(half.shape[1] * int(half.max(axis=1).sum()) for half in halves)
        cuts.append((cells, order, middle, halves))
    _, order, middle, (left, right) = min(cuts, key=lambda cut: cut[0])
    pairs = pairs[order]
    return [
        *_split(pairs[:middle], left, num_left, max_tokens),
        *_split(pairs[middle:], right, num_parts - num_left, max_tokens),
    ]


def plan_by_length(lengths: Int64Array, max_tokens: int, rows: Int64Array | None = None) -> list[Int64Array]:
    """Cut sentences, as `cut_by_length` does, into batches of at most `max_tokens` padded tokens."""
    return cut_by_length(lengths, lambda longest: max_tokens // max(1, longest), rows)


def cut_by_length(
    lengths: Int64Array, size_of: Callable[[int], int], rows: Int64Array | None = None
) -> list[Int64Array]:
    """Cut sentences, longest first, into batches.

    `size_of` tells how many sentences a batch may have whose longest has a given length; it has at least one. `rows`
    are the indices of the sentences to lay out; None stands for all.
    """
    if rows is None:
        rows = np.arange(len(lengths))
    order = rows[np.argsort(-lengths[rows], kind="stable")]
    pieces, first = [], 0
    while first < len(order):
        size = max(1, size_of(int(lengths[order[first]])))
        pieces.append(order[first : first + size])
        first += size
    return pieces


def deal(update: Update, lengths: Int64Array, rank: int, num_ranks: int) -> Update:
    """Return the micro-batches that a rank computes of an `update`, which lists all of them, longest first.

    Whole micro-batches are dealt out if each rank can get as many as the others, of about the same size. Else each rank
    gets every `num_ranks`-th pair, in micro-batches no larger than those of the update, so that all ranks have about as
    much to do, however few micro-batches there are.
    `lengths` are those of the longer side.
    """
    sizes = [len(rows) * int(lengths[rows].max()) for rows in update]
    loads = [sum(sizes[other::num_ranks]) for other in range(num_ranks)]
    if len(update) % num_ranks == 0 and max(loads) * num_ranks <= LARGEST_LOAD * sum(loads):
        return update[rank::num_ranks]
    largest = max(sizes)
    return plan_by_length(lengths, largest, np.concatenate(update)[rank::num_ranks])


def padding_share(updates: Iterable[Update], source_lengths: Int64Array, target_lengths: Int64Array) -> float:
    """Return the share of PAD among all positions of both sides."""
    tokens = cells = 0
    for update in updates:
        for rows in update:
            for lengths in (source_lengths[rows], target_lengths[rows]):
                tokens += int(lengths.sum())
                cells += int(lengths.max()) * len(rows)
    return 1 - tokens / cells


def collate(dataset: Dataset, rows: Int64Array, tokenizer: Tokenizer) -> Batch:
    """Gather the pairs `rows` of a dataset into a batch on the device of its ids, the longest source first.

    Recurrent layers read sentences in that order; the host sorts them, so nothing waits for the device.
    """
    rows = longest_first(dataset.source, rows)
    source = pad_with_end(dataset.source, rows, tokenizer.source.pad_id, tokenizer.source.eos_id)
    target = pad_with_end(dataset.target, rows, tokenizer.target.pad_id, tokenizer.target.eos_id)
    bos = target.ids.new_full((len(rows), 1), tokenizer.target.bos_id)
    # Position t of target_in is position t - 1 of target_out. The EOS of a shorter sentence, which the decoder does not
    # read, becomes PAD.
    shifted = target.ids[:, :-1]
    shifted = shifted.masked_fill(shifted == tokenizer.target.eos_id, tokenizer.target.pad_id)
    return Batch(
        source.ids,
        source.lengths,
        torch.cat([bos, shifted], 1),
        target.ids,
        target.lengths,
        (source.device_lengths, target.device_lengths),
        None if dataset.links is None else shares_of(dataset.links, rows),
        None if dataset.expected is None else expected_by(dataset.expected, dataset.target, rows),
    )


def longest_first(ids: Ids, rows: Int64Array) -> Int64Array:
    """Return the indices `rows` with the longest sentence first; sentences of equal length keep their order."""
    return rows[np.argsort(-ids.lengths_of(rows), kind="stable")]


def expected_by(expected: ExpectedWords, target: Ids, rows: Int64Array) -> ExpectedWords:
    """Return what teachers expect at each position of the targets `rows`, (B, T, k)."""
    places, _ = places_with_end(target, rows)
    return expected.map(lambda part: part[places])


def places_with_end(ids: Ids, rows: Int64Array) -> tuple[Tensor, Tensor]:
    """Return the places of the tokens of the sentences `rows`, and which of these are no padding, (B, T) each.

    Places count all sentences of `ids` one after the other, each with EOS.
    """
    starts = torch.from_numpy(ids.offsets[rows] + rows).unsqueeze(1)
    ends = starts + torch.from_numpy(ids.lengths_of(rows)).unsqueeze(1)
    places = starts + torch.arange(int((ends - starts).max()) + 1)
    return torch.minimum(places, ends), places <= ends


def shares_of(links: Links, rows: Int64Array) -> Tensor:
    """Return the source pieces that each target piece of the pairs `rows` is linked to, as even shares, (B, T, S)."""
    source, target = (pad_with_end(ids, rows, 0, 0).ids for ids in (links.source, links.target))
    found = links.words.take(rows)
    sentences = torch.from_numpy(np.repeat(np.arange(len(rows)), found.lengths // 2))
    source_words, target_words = found.tokens.long().view(-1, 2).unbind(1)
    # A piece of several words belongs to the first of them, so the last word may have no piece, and links may name it
    # all the same.
    heights = [
        int(torch.cat(of).max()) + 1
        for of in ((target.flatten(), target_words), (source.flatten(), source_words))
    ]
    are_linked = torch.zeros(len(rows), *heights)
    are_linked[sentences, target_words, source_words] = 1
    # (B, T, S): the words of each target piece and each source piece are looked up in (B, target words, source words).
    of_pieces = are_linked[torch.arange(len(rows))[:, None, None], target.unsqueeze(2), source.unsqueeze(1)]
    return of_pieces / of_pieces.sum(-1, keepdim=True).clamp_min(1)


class Padded(NamedTuple):
    """Sentences of one side, each with EOS."""

    ids: Tensor  # (B, S)
    lengths: Tensor  # (B), on the host
    device_lengths: Tensor  # (B), on the device of the ids


def pad_with_end(ids: Ids, rows: Int64Array, pad_id: int, eos_id: int) -> Padded:
    """Return the sentences `rows` padded to a rectangle, on the device of their ids."""
    device = ids.tokens.device
    starts, ends = (torch.from_numpy(ids.offsets[which]) for which in (rows, rows + 1))
    lengths = ends - starts
    device_starts, device_lengths = send(torch.stack([starts, lengths]), device).unsqueeze(2)  # (B, 1) each
    columns = torch.arange(int(lengths.max()) + 1, device=device)
    inside = columns < device_lengths  # (B, S)
    positions = torch.where(inside, device_starts + columns, 0)
    tokens = ids.tokens[positions].long() if len(ids.tokens) else positions
    padded = torch.where(inside, tokens, pad_id).masked_fill_(columns == device_lengths, eos_id)
    return Padded(padded, lengths + 1, device_lengths.squeeze(1) + 1)
