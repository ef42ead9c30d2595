"""Greedy and beam search, for anything that can `start`, `step` and `project`."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from nmt.decoding.rules import Rule
from nmt.models.interface import Decoded, DecoderState

# Finished sentences leave the batch when they are at least this share of it: leaving costs a copy of the rest.
LEAVING_SHARE = 0.25


class Decoder(Protocol):
    """What a search needs: a model, or several that act as one."""

    def start(self, source: Tensor, source_lengths: Tensor, max_length: int) -> DecoderState:
        """Encode the source."""

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode one position."""

    def project(self, outputs: Tensor) -> Tensor:
        """Turn outputs into logits."""


LengthPenalty = Callable[[int], float]


def power_penalty(power: float) -> LengthPenalty:
    """Return length^power; 0 leaves the sum of log-probabilities as it is."""
    return lambda length: float(length**power)


def wu_penalty(power: float) -> LengthPenalty:
    """Return ((5 + length) / 6)^power (Wu et al. 2016)."""
    return lambda length: float(((5 + length) / 6) ** power)


def greedy_search(
    decoder: Decoder,
    source: Tensor,
    source_lengths: Tensor,
    max_length: int,
    bos_id: int,
    eos_id: int,
    rules: Sequence[Rule] = (),
) -> list[list[int]]:
    """Take the most probable token at every step.

    `source` (B, S) of `source_lengths` (B, on the host); the rules end every sentence within `max_length` tokens.
    Returns the tokens of each sentence, without EOS.
    """
    device = source.device
    state = decoder.start(source, source_lengths, max_length + 1)
    history = torch.full((len(source), max_length + 1), eos_id, device=device)  # (B, T)
    remaining = torch.arange(len(source), device=device)  # which sentence each row is
    ended = torch.zeros(len(source), dtype=torch.bool, device=device)
    tokens = torch.full((len(source),), bos_id, device=device)
    for position in range(max_length + 1):
        logits = decoder.project(decoder.step(tokens, state).outputs).float()
        for rule in rules:
            rule.apply(logits, position)
        tokens = logits.argmax(-1).masked_fill(ended, eos_id)
        history[remaining, position] = tokens
        ended = tokens == eos_id
        num_ended = int(ended.sum())
        if num_ended == len(remaining):
            break
        if num_ended >= LEAVING_SHARE * len(remaining):
            alive = (~ended).nonzero().squeeze(1)
            state.keep(alive)
            for rule in rules:
                rule.keep(alive)
            remaining, tokens, ended = remaining[alive], tokens[alive], ended[alive]
    return [_until_end(row, eos_id) for row in history.tolist()]


def beam_search(
    decoder: Decoder,
    source: Tensor,
    source_lengths: Tensor,
    max_length: int,
    bos_id: int,
    eos_id: int,
    beam_size: int,
    length_penalty: LengthPenalty,
    rules: Sequence[Rule] = (),
) -> list[list[int]]:
    """Keep the `beam_size` best hypotheses of each sentence at every step.

    A hypothesis that ends among the best `beam_size` candidates of a step is finished; its score is the sum of
    its log-probabilities, EOS included, over the length penalty. A sentence is done when `beam_size`
    hypotheses have finished and none that goes on is ahead of the best of them, or at its limit. Shapes and
    result as in `greedy_search`.
    """
    device, num_sentences = source.device, len(source)
    state = decoder.start(source, source_lengths, max_length + 1)
    state.expand(beam_size)
    results: list[list[int]] = [[] for _ in range(num_sentences)]
    remaining = torch.arange(num_sentences, device=device)  # which sentence each row of (B, …) is
    first_rows = remaining.unsqueeze(1) * beam_size  # (B, 1)
    scores = torch.full((num_sentences, beam_size), -torch.inf, device=device)
    scores[:, 0] = 0  # all hypotheses are equal before the first step: only one of them may be extended
    history = torch.full((num_sentences, beam_size, max_length + 1), eos_id, device=device)  # (B, K, T)
    tokens = torch.full((num_sentences * beam_size,), bos_id, device=device)  # (N)
    finished_scores = torch.full_like(scores, -torch.inf)  # (B, K), best first
    finished = history.clone()  # (B, K, T)
    num_finished = torch.zeros(num_sentences, dtype=torch.long, device=device)
    for position in range(max_length + 1):
        logits = decoder.project(decoder.step(tokens, state).outputs).float()
        for rule in rules:
            rule.apply(logits, position)
        vocabulary_size = logits.shape[-1]
        log_probs = logits.log_softmax(-1).view(-1, beam_size, vocabulary_size)
        totals = (scores.unsqueeze(2) + log_probs).flatten(1)  # (B, K·V)
        best, places = totals.topk(min(2 * beam_size, totals.shape[1]), 1)  # (B, 2K)
        parents, words = places // vocabulary_size, places % vocabulary_size
        is_end = (words == eos_id) & (best > -torch.inf)

        ending = is_end.clone()
        ending[:, beam_size:] = False  # what is not among the best K is no result yet
        normalised = (best / length_penalty(position + 1)).masked_fill(~ending, -torch.inf)
        finished_scores, chosen = torch.cat([finished_scores, normalised], 1).topk(beam_size, 1)
        candidates = torch.cat([finished, _take(history, parents)], 1)  # (B, 3K, T)
        finished = _take(candidates, chosen)
        num_finished += ending.sum(1)

        scores, chosen = best.masked_fill(is_end, -torch.inf).topk(beam_size, 1)  # (B, K)
        parents, words = parents.gather(1, chosen), words.gather(1, chosen)
        history = _take(history, parents)
        history[:, :, position] = words
        state.reorder((first_rows + parents).flatten())
        tokens = words.flatten()

        is_behind = scores[:, 0] / length_penalty(position + 1) <= finished_scores[:, 0]
        done = (num_finished >= beam_size) & is_behind | (scores[:, 0] == -torch.inf)
        num_done = int(done.sum())
        if num_done == len(remaining) or num_done >= LEAVING_SHARE * len(remaining):
            for sentence, row in zip(remaining[done].tolist(), finished[done, 0].tolist(), strict=True):
                results[sentence] = _until_end(row, eos_id)
            if num_done == len(remaining):
                break
            alive = (~done).nonzero().squeeze(1)
            state.keep(alive)
            for rule in rules:
                rule.keep(alive)
            remaining, scores, history = remaining[alive], scores[alive], history[alive]
            tokens = tokens.view(-1, beam_size)[alive].flatten()
            finished_scores, finished, num_finished = (
                finished_scores[alive],
                finished[alive],
                num_finished[alive],
            )
            first_rows = first_rows[: len(alive)]
    return results


def _take(rows: Tensor, indices: Tensor) -> Tensor:
    """Return (B, J, T): of the hypotheses (B, K, T), those with `indices` (B, J)."""
    return rows.gather(1, indices.unsqueeze(2).expand(-1, -1, rows.shape[2]))


def _until_end(tokens: list[int], eos_id: int) -> list[int]:
    return tokens[: tokens.index(eos_id)] if eos_id in tokens else tokens
