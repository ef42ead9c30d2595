"""Beam search, and the trellis that holds its hypotheses."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from nmt.decoding.beam import Beam
from nmt.decoding.engine import Hypothesis
from nmt.decoding.rules import Rule
from nmt.decoding.search import Decoder, drop_finished, should_check_finished
from nmt.models.interface import DecoderState

LengthPenalty = Callable[[int], float]


def power_penalty(power: float) -> LengthPenalty:
    """Return length^power; 0 leaves the sum of log-probabilities as it is."""
    return lambda length: float(length**power)


def wu_penalty(power: float) -> LengthPenalty:
    """Return ((5 + length) / 6)^power (Wu et al. 2016)."""
    return lambda length: float(((5 + length) / 6) ** power)


def beam_search(
    decoder: Decoder,
    state: DecoderState,
    max_length: int,
    bos_id: int,
    eos_id: int,
    beam: Beam,
    length_penalty: LengthPenalty,
    rules: Sequence[Rule] = (),
    num_hypotheses: int = 1,
    early_stopping: bool = False,
) -> list[list[Hypothesis]]:
    """Keep the best hypotheses of each sentence at every step, as many (K) as the beam is wide.

    A beam may consist of several groups (G); most have one. A hypothesis that ends among the best K / G candidates of
    its group at a step is finished. Its score is the sum of its log-probabilities, EOS included, divided by the length
    penalty, which must not fall with the length. A group is done when no unfinished hypothesis could still come among
    its `num_hypotheses` best, however long it became. With `early_stopping`, it is done once `beam.num_to_finish` of
    its hypotheses have finished and no unfinished one, at its present length, would come among these.

    `state` is the decoder state of B sentences before the first position; the rules end every translation within
    `max_length` tokens. Returns the hypotheses of each sentence, at least one: the best of each group, then the second
    of each, and so on, at most `num_hypotheses` of each. The best group comes first.
    """
    device, num_sentences = state.device, state.num_sentences
    width, group_size = beam.width, beam.group_size
    state.expand(width)
    trellis = Trellis(num_sentences, width, beam.num_groups, num_hypotheses, device)
    remaining = torch.arange(num_sentences, device=device)  # which sentence each row of (B, …) is
    first_rows = remaining.unsqueeze(1) * width  # (B, 1)
    scores = torch.full((num_sentences, width), -torch.inf, device=device)
    scores[:, ::group_size] = 0  # the hypotheses of a group are equal at first, so that only one is extended
    tokens = torch.full((num_sentences, width), bos_id, device=device)
    num_finished = torch.zeros(num_sentences, beam.num_groups, dtype=torch.long, device=device)
    done = torch.zeros(num_sentences, beam.num_groups, dtype=torch.bool, device=device)
    for position in range(max_length + 1):
        logits = decoder.project(decoder.step(tokens.flatten(), state).outputs)
        beam.observe(logits, position)
        for rule in rules:
            rule.apply(logits, position)
        # (B, G, 2K / G) each; `parents` are indices among the K hypotheses of a sentence.
        best, parents, labels = beam.candidates(scores, logits, eos_id)
        is_end = (labels == eos_id) & (best > -torch.inf)

        # An end finishes a hypothesis only if it is among the best K / G candidates of its group.
        ending = is_end[..., :group_size] & ~done.unsqueeze(2)
        finished = beam.finished_scores(best[..., :group_size], length_penalty(position + 1))
        finished = finished.masked_fill(~ending, -torch.inf)
        worst = trellis.finish(remaining, finished, parents[..., :group_size])

        best = best.masked_fill(is_end, -torch.inf)
        # A stable sort, not `topk`: which of equal candidates `topk` takes depends on their number, and with phrases
        # that must come, this is what the rest of the batch needs.
        chosen = best.argsort(dim=2, descending=True, stable=True)[..., :group_size]
        best = best.gather(2, chosen)
        beam.select(chosen)
        scores = best.flatten(1)  # (B, K)
        parents, labels = parents.gather(2, chosen).flatten(1), labels.gather(2, chosen).flatten(1)
        trellis.extend(parents, labels)

        reachable = beam.best_reachable(
            scores, length_penalty(position + 1 if early_stopping else max_length + 1)
        )
        is_behind = reachable <= worst
        if early_stopping:
            num_finished += ending.sum(2)
            is_behind &= num_finished >= beam.num_to_finish
        done |= is_behind | (reachable == -torch.inf)
        if should_check_finished(position, max_length, device):
            is_done = done.all(1).cpu()  # the one value of a GPU that the search waits for
            if is_done.all():
                break
            kept = drop_finished(is_done, state, [beam, *rules, trellis])
            if kept is not None:
                remaining, scores, num_finished, done = (
                    rows[kept] for rows in (remaining, scores, num_finished, done)
                )
                parents, labels = parents[kept], labels[kept]
                first_rows = first_rows[: len(kept)]
        rows = (first_rows + parents).flatten()
        state.reorder(rows)
        tokens = beam.advance(labels, rows)
        for rule in rules:
            rule.follow(tokens, rows)
    return [[beam.to_tokens(one) for one in some] for some in trellis.results()]


class Trellis:
    """The labels of each position and the hypotheses that they extend, so that no hypothesis is copied until the end.

    A node is a hypothesis at a position; nodes are numbered in the order in which they are added. Node 0 is the root of
    all sentences. The R best finished hypotheses of each group (of G) of each sentence are stored as their scores and
    last nodes, (B, G, R) each.
    """

    def __init__(
        self, num_sentences: int, width: int, num_groups: int, num_hypotheses: int, device: torch.device
    ) -> None:
        self.parents = [torch.zeros(1, dtype=torch.long, device=device)]
        self.labels = [torch.zeros(1, dtype=torch.long, device=device)]
        self.num_nodes = 1
        self.nodes = torch.zeros(num_sentences, width, dtype=torch.long, device=device)  # (B, K)
        size = num_sentences, num_groups, num_hypotheses
        self.scores = torch.full(size, -torch.inf, device=device)
        self.last = torch.zeros(size, dtype=torch.long, device=device)

    def extend(self, parents: Tensor, labels: Tensor) -> None:
        """Extend the hypotheses `parents` (B, K) of each sentence by `labels` (B, K)."""
        self.parents.append(self.nodes.gather(1, parents).flatten())
        self.labels.append(labels.flatten())
        first, self.num_nodes = self.num_nodes, self.num_nodes + labels.numel()
        self.nodes = torch.arange(first, self.num_nodes, device=labels.device).view(labels.shape)

    def finish(self, sentences: Tensor, scores: Tensor, parents: Tensor) -> Tensor:
        """Finish the hypotheses `parents` (B, G, C) of `sentences` (B) whose `scores` (B, G, C) are not -inf.

        Returns the score (B, G) of the worst of the R best of each group so far.
        """
        num_kept = self.scores.shape[2]
        known = torch.cat([self.scores[sentences], scores], 2)
        ended = self.nodes.gather(1, parents.flatten(1)).view(parents.shape)
        nodes = torch.cat([self.last[sentences], ended], 2)
        best, places = known.topk(num_kept, 2)
        self.scores[sentences], self.last[sentences] = best, nodes.gather(2, places)
        return best[..., -1]

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these indices (B')."""
        self.nodes = self.nodes[sentences]

    def results(self) -> list[list[Hypothesis]]:
        """Return the finished hypotheses of each sentence: the best of each group, then the second of each, and so on.

        The best group comes first. A sentence without finished hypotheses has an empty one.
        """
        parents, labels = torch.cat(self.parents).tolist(), torch.cat(self.labels).tolist()

        def until(node: int) -> list[int]:
            tokens = []
            while node:
                tokens.append(labels[node])
                node = parents[node]
            return tokens[::-1]

        # The best of all groups, the second of all, and so on: (B, R · G) each.
        order = self.scores[..., :1].argsort(1, descending=True).expand_as(self.scores)
        scores, last = (part.gather(1, order).transpose(1, 2).flatten(1) for part in (self.scores, self.last))
        return [
            [Hypothesis(until(node), score) for node, score in zip(*rows, strict=True) if score > -torch.inf]
            or [Hypothesis([])]
            for rows in zip(last.tolist(), scores.tolist(), strict=True)
        ]
