"""Greedy and beam search, for anything that can `step` and `project`."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from nmt.data.batching import send
from nmt.decoding.candidates import best_candidates, best_token
from nmt.decoding.rules import Rule
from nmt.models.interface import Decoded, DecoderState

# Finished sentences leave the batch when they are at least this share of it: each time some calls are made for it.
LEAVING_SHARE = 1 / 32
# Sizes of batches have so many binary digits that are not zero, at most, since a kernel is made for each size.
DIGITS_OF_SIZE = 4
# Whether all have finished is asked every so many positions: a GPU has to be waited for.
POSITIONS_BETWEEN_QUESTIONS = {"cpu": 1, "cuda": 8, "mps": 8}


class Decoder(Protocol):
    """A model as a search sees it, or several that act as one."""

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


def let_go(done: Tensor, state: DecoderState, rules: Sequence[Rule]) -> Tensor | None:
    """Let sentences that are `done` (B, on the host) leave; return the indices of those that stay as they lie now.

    The indices are where the state is; None stands for all, which stay where too few would leave. Else, beside those
    that are not done, as many stay as make the size of the batch a round number.
    """
    num_left = len(done) - int(done.sum())
    step = 1 << max(0, num_left.bit_length() - DIGITS_OF_SIZE)
    size = -(-num_left // step) * step
    if size > (1 - LEAVING_SHARE) * len(done):
        return None
    order = state.keep(done.to(torch.int8).argsort(stable=True)[:size].sort().values)
    kept = send(order, state.device)
    for rule in rules:
        rule.keep(kept)
    return kept


def greedy_search(
    decoder: Decoder,
    state: DecoderState,
    max_length: int,
    bos_id: int,
    eos_id: int,
    rules: Sequence[Rule] = (),
) -> list[list[int]]:
    """Take the most probable token at every step.

    `state` is that of B sentences, of which nothing is decoded yet; the rules end every one of them within `max_length`
    tokens. Returns the tokens of each sentence, without EOS.
    """
    device, num_sentences = state.device, state.num_sentences
    history = torch.full((num_sentences, max_length + 1), eos_id, device=device)  # (B, T)
    remaining = torch.arange(num_sentences, device=device)  # which sentence each row is
    ended = torch.zeros(num_sentences, dtype=torch.bool, device=device)
    tokens = torch.full((num_sentences,), bos_id, device=device)
    interval = POSITIONS_BETWEEN_QUESTIONS[device.type]
    for position in range(max_length + 1):
        logits = decoder.project(decoder.step(tokens, state).outputs)
        for rule in rules:
            rule.apply(logits, position)
        tokens = best_token(logits).masked_fill(ended, eos_id)
        history[remaining, position] = tokens
        ended = tokens == eos_id
        if (position + 1) % interval and position < max_length:
            continue
        told = ended.cpu()  # all that a GPU is asked, and waited for
        if told.all():
            break
        kept = let_go(told, state, rules)
        if kept is not None:
            remaining, tokens, ended = remaining[kept], tokens[kept], ended[kept]
    return [_until_end(row, eos_id) for row in history.tolist()]


def beam_search(
    decoder: Decoder,
    state: DecoderState,
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
    hypotheses have finished and none that goes on is ahead of the best of them, or at its limit. State and result
    as in `greedy_search`.
    """
    device, num_sentences = state.device, state.num_sentences
    state.expand(beam_size)
    trellis = Trellis(num_sentences, beam_size, device)
    remaining = torch.arange(num_sentences, device=device)  # which sentence each row of (B, …) is
    first_rows = remaining.unsqueeze(1) * beam_size  # (B, 1)
    scores = torch.full((num_sentences, beam_size), -torch.inf, device=device)
    scores[:, 0] = 0  # all hypotheses are equal before the first step: only one of them may be extended
    tokens = torch.full((num_sentences * beam_size,), bos_id, device=device)  # (N)
    best_finished = torch.full((num_sentences,), -torch.inf, device=device)
    num_finished = torch.zeros(num_sentences, dtype=torch.long, device=device)
    done = torch.zeros(num_sentences, dtype=torch.bool, device=device)
    interval = POSITIONS_BETWEEN_QUESTIONS[device.type]
    for position in range(max_length + 1):
        logits = decoder.project(decoder.step(tokens, state).outputs)
        for rule in rules:
            rule.apply(logits, position)
        best, parents, words = best_candidates(scores, logits, 2 * beam_size)  # (B, 2K)
        is_end = (words == eos_id) & (best > -torch.inf)

        # An end that is not among the best K is no result yet.
        ending = is_end[:, :beam_size] & ~done.unsqueeze(1)
        normalised = (best[:, :beam_size] / length_penalty(position + 1)).masked_fill(~ending, -torch.inf)
        highest, place = normalised.max(1)
        is_better = highest > best_finished
        trellis.finish(remaining, is_better, parents.gather(1, place.unsqueeze(1)).squeeze(1))
        best_finished = torch.where(is_better, highest, best_finished)
        num_finished += ending.sum(1)

        scores, chosen = best.masked_fill(is_end, -torch.inf).topk(beam_size, 1)  # (B, K)
        parents, words = parents.gather(1, chosen), words.gather(1, chosen)
        trellis.extend(parents, words)

        is_behind = scores[:, 0] / length_penalty(position + 1) <= best_finished
        done |= (num_finished >= beam_size) & is_behind | (scores[:, 0] == -torch.inf)
        if (position + 1) % interval == 0 or position == max_length:
            told = done.cpu()  # all that a GPU is asked, and waited for
            if told.all():
                break
            kept = let_go(told, state, rules)
            if kept is not None:
                trellis.keep(kept)
                remaining, scores, best_finished = remaining[kept], scores[kept], best_finished[kept]
                num_finished, done = num_finished[kept], done[kept]
                parents, words = parents[kept], words[kept]
                first_rows = first_rows[: len(kept)]
        state.reorder((first_rows + parents).flatten())
        tokens = words.flatten()
    return trellis.results()


class Trellis:
    """The words of each position and the hypotheses that they extend, so that no hypothesis is copied until the end.

    A node is a hypothesis at a position; its number counts all nodes so far. Node 0 is before all sentences.
    """

    def __init__(self, num_sentences: int, beam_size: int, device: torch.device) -> None:
        self.parents = [torch.zeros(1, dtype=torch.long, device=device)]
        self.words = [torch.zeros(1, dtype=torch.long, device=device)]
        self.num_nodes = 1
        self.nodes = torch.zeros(num_sentences, beam_size, dtype=torch.long, device=device)  # (B, K)
        self.last = torch.zeros(num_sentences, dtype=torch.long, device=device)  # node of each best result

    def extend(self, parents: Tensor, words: Tensor) -> None:
        """Extend the hypotheses `parents` (B, K) of each sentence by `words` (B, K)."""
        self.parents.append(self.nodes.gather(1, parents).flatten())
        self.words.append(words.flatten())
        first, self.num_nodes = self.num_nodes, self.num_nodes + words.numel()
        self.nodes = torch.arange(first, self.num_nodes, device=words.device).view(words.shape)

    def finish(self, sentences: Tensor, is_better: Tensor, parents: Tensor) -> None:
        """Where `is_better` (B), take the hypothesis of `parents` (B) as the result of `sentences` (B)."""
        nodes = self.nodes.gather(1, parents.unsqueeze(1)).squeeze(1)
        self.last[sentences] = torch.where(is_better, nodes, self.last[sentences])

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these indices (B')."""
        self.nodes = self.nodes[sentences]

    def results(self) -> list[list[int]]:
        """Return the words of each sentence's result, without EOS."""
        parents, words = torch.cat(self.parents).tolist(), torch.cat(self.words).tolist()
        results = []
        for node in self.last.tolist():
            result = []
            while node:
                result.append(words[node])
                node = parents[node]
            results.append(result[::-1])
        return results


def _until_end(tokens: list[int], eos_id: int) -> list[int]:
    return tokens[: tokens.index(eos_id)] if eos_id in tokens else tokens
