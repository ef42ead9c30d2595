"""The interface of models: all that training and search know of them.

Letters of shapes in models, training and search: B sentences; K hypotheses of each; N rows, which are all hypotheses
(B·K, those of a sentence adjacent) where one position is decoded, and all tokens laid end to end where whole sentences
are (nmt/models/kernels/packing.py); S source length, T target length, L the length of either; D width of what the
output layer reads; H heads, d the width of one; V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from nmt.data.batching import Batch, send
from nmt.data.learned_lengths import LearnedLengths
from nmt.models.kernels import Packing, rooms_of


@dataclass(frozen=True)
class Decoded:
    """The decoder's results for some target positions."""

    outputs: Tensor  # (B, T, D), or (N, D) for one position
    # Where a model has them: weights of the source positions, (B, T, S), or (N, S) for one position.
    attention: Tensor | None = None
    # Where a model has them: the outputs as rows (N, D), and their layout.
    rows: tuple[Tensor, Packing] | None = None

    def packed(self, batch: Batch) -> tuple[Tensor, Packing]:
        """Return the outputs of all target positions of a batch as rows (N, D), and their layout."""
        if self.rows is not None:
            return self.rows
        packing = Packing(batch.device_lengths[1], rooms_of(batch)[1])
        return packing.pack(self.outputs), packing


@dataclass(frozen=True)
class AttentionMap:
    """Attention weights of one layer, for every sentence of a batch."""

    kind: str  # encoder: source to source; decoder: target to target; cross: target to source
    layer: int  # from 1
    # (B, H, T, S), or with S or T twice; H is 1 where the model gives only the mean over heads.
    weights: Tensor
    is_seen: Tensor | None = None  # (B, H, T, S): True in the window, where attention is local


@dataclass
class DecoderState:
    """All that a decoder keeps between two positions; `step` advances it.

    The hypotheses of a sentence share its tensors: `expand` does not copy them and `reorder` does not move them.
    Sentences of similar length form a group, so that the tensors of a group hold little padding; hypotheses are in the
    order of the groups.
    """

    groups: list[dict[str, Tensor]]  # tensors of the sentences of each group, each (B of the group, …)
    hypotheses: dict[str, Tensor]  # each (N, …)
    beam_size: int = 1
    length: int = 0  # positions decoded so far

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return next(iter(self.hypotheses.values())).device

    @property
    def num_sentences(self) -> int:
        """The number of sentences, B."""
        return len(next(iter(self.hypotheses.values()))) // self.beam_size

    def join(self, other: "DecoderState") -> None:
        """Add the groups of sentences of `other`. Neither state has decoded anything yet."""
        self.groups += other.groups
        self.hypotheses = {
            name: concatenate_rows([rows, other.hypotheses[name]]) for name, rows in self.hypotheses.items()
        }

    def expand(self, beam_size: int) -> None:
        """Give each sentence `beam_size` hypotheses, all equal to the one that it had."""
        self.hypotheses = {
            name: rows.repeat_interleave(beam_size, 0) for name, rows in self.hypotheses.items()
        }
        self.beam_size = beam_size

    def reorder(self, rows: Tensor) -> None:
        """Keep the hypotheses `rows` (N), in that order; each stays with its sentence."""
        self.hypotheses = {name: kept.index_select(0, rows) for name, kept in self.hypotheses.items()}

    def keep(self, sentences: Tensor) -> Tensor:
        """Keep the sentences with indices `sentences` (B', ascending); return these indices in their new order.

        Both are on the host, so that nothing waits for a device. As little as possible is moved: the sentences that
        stay fill the last places of the first group, and the first places of each other group, and only those that are
        elsewhere move there. So the hypotheses of the first two groups stay side by side. The tensors change in place,
        without gradients.
        """
        sizes = [len(next(iter(group.values()))) for group in self.groups] or [self.num_sentences]
        orders, groups, first = [], [], 0
        for i, size in enumerate(sizes):
            inside = sentences[(sentences >= first) & (sentences < first + size)] - first
            start = 0 if i else size - len(inside)
            order = _fill(inside, start)
            if self.groups and len(order):
                groups.append(_rearrange(self.groups[i], order, start))
            orders.append(first + order)
            first += size
        self.groups = groups
        kept = torch.cat(orders)
        start = sizes[0] - len(orders[0])
        offsets = torch.arange(self.beam_size)
        rows = (kept.unsqueeze(1) * self.beam_size + offsets).flatten()
        self.hypotheses = _rearrange(self.hypotheses, rows, start * self.beam_size)
        return kept


def _fill(kept: Tensor, start: int) -> Tensor:
    """Return indices `kept` (N, ascending) in an order in which most lie at their own index, counted from `start`."""
    end = start + len(kept)
    is_inside = (kept >= start) & (kept < end)
    order = kept.new_full((len(kept),), -1)
    order[kept[is_inside] - start] = kept[is_inside]
    order[order < 0] = kept[~is_inside]
    return order


def _rearrange(tensors: dict[str, Tensor], order: Tensor, start: int) -> dict[str, Tensor]:
    """Return the rows `order` (N', on the host) of each of the tensors (N, …), moved in place to `start` and after."""
    places = (order != torch.arange(start, start + len(order))).nonzero().squeeze(1)
    device = next(iter(tensors.values())).device
    places, moving = send(torch.stack([places, order[places]]), device)
    rearranged = {}
    for name, rows in tensors.items():
        rearranged[name] = rows.narrow(0, start, len(order))
        rearranged[name].index_copy_(0, places, rows.index_select(0, moving))
    return rearranged


class Seq2Seq(nn.Module):
    """A model that reads a sentence and predicts its translation, position by position.

    `output` is the layer from outputs (…, D) to logits (…, V). `max_positions` is the longest sequence that the
    model can read or write, None where it has no limit; `learned_lengths` are the lengths of the lines that it learned
    from, None where they are not known. `is_guided` says that attention to the source learns, or has learned, from
    word-alignment links: `forward` then returns its weights, in a Transformer those of the one head that learns them.
    """

    output: nn.Linear
    max_positions: int | None = None
    learned_lengths: LearnedLengths | None = None
    is_guided: bool = False

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Decoded:
        """Decode all target positions of a batch at once.

        Where `sample_mask` (B, T) is True, the model's own prediction replaces the true token at the decoder's
        input (Bengio et al. 2015).
        """
        raise NotImplementedError

    def start(self, source: Tensor, source_lengths: Tensor) -> DecoderState:
        """Encode `source` (B, S) of `source_lengths` (B, on the host), as one group of sentences."""
        raise NotImplementedError

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode the position after `tokens` (N) and advance the state."""
        raise NotImplementedError

    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        """Return the weights of all attention while `batch` is decoded, layer by layer; [] without attention.

        This takes a forward pass of its own, so that training and search need not keep the weights.
        """
        return []

    def alignment(self, batch: Batch) -> Tensor | None:
        """Return the share of each source position in each target position, (B, T, S); None without attention.

        The shares are the weights that have learned from word-alignment links, if `is_guided`, else the mean over all
        heads and layers of attention to the source. Rows sum to one.
        """
        if self.is_guided:
            with torch.no_grad():
                return self(batch).attention
        maps = [one.weights.mean(1) for one in self.attention_maps(batch) if one.kind == "cross"]
        if not maps:
            return None
        weights = torch.stack(maps).mean(0)
        # Local attention around a predicted position has rows that sum to less than one.
        return weights / weights.sum(-1, keepdim=True)

    def project(self, outputs: Tensor) -> Tensor:
        """Turn outputs (…, D) into logits (…, V).

        Training, which never holds the logits of all positions, computes the same from `output` itself; so a model
        that is trained changes what comes before, and not this.
        """
        logits: Tensor = self.output(outputs)
        return logits

    def project_to(self, tokens: Tensor) -> Callable[[Tensor], Tensor]:
        """Return a function from outputs (…, D) to logits (…, V') of `tokens` (V') alone."""
        output: Any = self.output
        if not isinstance(output, nn.Linear):  # laid out for translating
            chosen: Callable[[Tensor], Tensor] = output.choose(tokens)
            return chosen
        weight, bias = output.weight[tokens], output.bias[tokens]
        return lambda outputs: functional.linear(outputs, weight, bias)


def concatenate_rows(tensors: list[Tensor]) -> Tensor:
    """Return the rows (N, …, S) of all groups in one tensor, padded with zeros to the longest source."""
    longest = max(tensor.shape[-1] for tensor in tensors)
    return torch.cat([functional.pad(tensor, [0, longest - tensor.shape[-1]]) for tensor in tensors])
