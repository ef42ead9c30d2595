"""Phrases that a translation must contain: a beam whose candidates begin or continue them, or write free tokens."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmt.data.batching import send
from nmt.decoding.beam import Beam
from nmt.decoding.candidates import best_candidates, probabilities_of
from nmt.decoding.engine import Hypothesis

# The most by which phrases widen a beam: by one for each number of phrase tokens that can have been written.
MAX_ADDED_WIDTH = 32


class ConstrainedBeam(Beam):
    """Up to P phrases a sentence, of up to L tokens each, all of which its translation contains, without overlap.

    The beam is allocated dynamically (Post & Vilar 2018): hypotheses with the same number of written phrase tokens form
    a bank. The best of each bank is kept, and the `beam_size` best of the bank that has all phrases; this takes
    the `width` (K). A token is either free, or one of a phrase. A phrase that is begun is then written to its end;
    the beam tries both to begin it and to leave it for later. A free token that would complete a phrase is ruled out,
    since the phrase itself gives the same text. EOS has to wait for all phrases, and once there is room for the
    missing phrases only, no free token comes.

    A phrase costs its log-probability by the model, but this is divided by the length penalty for the length of the
    source, not of the translation: otherwise an improbable phrase would favour translations that are long for nothing.
    The beam's scores are those of free tokens; the costs of phrases are kept apart from them.

    Candidates are labels: a token, plus `V · (p + 1)` where it is a token of phrase p. The labels of a hypothesis thus
    tell where its phrases stand.
    """

    def __init__(
        self,
        phrases: Sequence[Sequence[Sequence[int]]],
        first_positions: Sequence[int],
        limits: Tensor,
        penalties: Sequence[float],
        word_endings: Tensor,
        beam_size: int,
        device: torch.device,
    ) -> None:
        """Take the `phrases` of B sentences, the first position of any in each, and `limits` (B) with room for them.

        The cost of phrases is divided by `penalties` (B). `word_endings` (V) are True for tokens that would make the
        word before them longer; no such token follows a phrase as a free one.
        """
        num_phrases = max(1, *map(len, phrases))
        longest = max([1, *(len(phrase) for some in phrases for phrase in some)])
        tokens = torch.full((len(phrases), num_phrases, longest), -1)
        # For each phrase, the index of the previous phrase of the sentence that equals it; -1 if there is none.
        earlier = torch.full((len(phrases), num_phrases), -1)
        for some, rows, known in zip(phrases, tokens, earlier, strict=True):
            seen: dict[tuple[int, ...], int] = {}
            for number, phrase in enumerate(some):
                rows[number, : len(phrase)] = torch.tensor(phrase, dtype=torch.long)
                known[number] = seen.get(tuple(phrase), -1)
                seen[tuple(phrase)] = number
        lengths = (tokens >= 0).sum(2)
        before_last = torch.arange(longest - 1) - (longest - lengths).unsqueeze(2)  # (B, P, L - 1)
        starts = torch.where(before_last < 0, -1, tokens.gather(2, before_last.clamp(min=0)))
        last = tokens.gather(2, (lengths - 1).clamp(min=0).unsqueeze(2)).squeeze(2)
        self.tokens, self.lengths, self.earlier = (send(part, device) for part in (tokens, lengths, earlier))
        # All tokens of a phrase but the last, aligned at the right, and the last.
        self.starts, self.last = send(starts, device), send(last, device)
        self.limits, self.first_positions = send(limits, device), send(torch.tensor(first_positions), device)
        self.penalties = send(torch.tensor(penalties), device)
        self.word_endings = send(word_endings, device)
        super().__init__(beam_width_for(beam_size, phrases))
        self.beam_size = self.num_to_finish = beam_size
        size = len(phrases), self.width
        # Tokens of each phrase, and the last tokens, -2 if not free.
        self.written = torch.zeros(*size, num_phrases, dtype=torch.long, device=device)
        self.recent = torch.full((*size, longest - 1), -2, device=device)
        self.is_behind_phrase = torch.zeros(size, dtype=torch.bool, device=device)
        self.costs = torch.zeros(size, device=device)  # log-probabilities of phrases

    def observe(self, logits: Tensor, position: int) -> None:
        """Note the log-probability of the next token of each phrase (B, K, P), before rules that phrases overrule."""
        self.position = position
        rows = logits.view(*self.is_behind_phrase.shape, -1)
        places = self.written.clamp(max=self.tokens.shape[2] - 1).unsqueeze(3)
        tokens = self.tokens.unsqueeze(1).expand(-1, rows.shape[1], -1, -1)
        self.next = tokens.gather(3, places).squeeze(3).clamp(min=0)
        self.log_probs = rows.gather(2, self.next).float() - rows.float().logsumexp(2, keepdim=True)

    def candidates(self, scores: Tensor, logits: Tensor, eos_id: int) -> tuple[Tensor, Tensor, Tensor]:
        """Extend the hypotheses of `scores` (B, K): return scores, parents and labels (B, 1, 2K) of those to be kept.

        The first K end: those that end among the `beam_size` best of their bank. The last K go on. Scores are without
        the costs of phrases. `logits` (N, V) are overwritten.
        """
        num_sentences, width, num_phrases = self.written.shape
        probabilities = probabilities_of(logits)
        rows = probabilities.view(num_sentences, width, -1)
        allowed = rows.gather(2, self.next).to(scores.dtype)
        forced = torch.where(allowed > 0, allowed.log(), self.log_probs)
        forced = forced.masked_fill(~self._can_be_forced(), -torch.inf)
        self._leave_out(rows, eos_id)
        totals = scores + self.costs
        flat = totals.reshape(-1, 1)  # each hypothesis by itself, as a bank may have only one
        free, _, tokens = (
            part.flatten(1) for part in best_candidates(flat, probabilities, self.beam_size + 1)
        )
        count = free.shape[1]
        of_phrases = self.next + rows.shape[2] * torch.arange(1, num_phrases + 1, device=scores.device)
        with_phrase = (totals.unsqueeze(2) + forced).flatten(1)
        values = torch.cat([free.view(num_sentences, -1), with_phrase], 1)  # (B, C)
        labels = torch.cat([tokens.reshape(num_sentences, -1), of_phrases.flatten(1)], 1)
        hypotheses = torch.arange(width, device=scores.device)
        repeats = hypotheses.repeat_interleave(count), hypotheses.repeat_interleave(num_phrases)
        parents = torch.cat(repeats).expand_as(labels)
        num_written = self.written.sum(2).gather(1, parents)
        costs, first = self.costs.gather(1, parents), width * count
        num_written[:, first:] += 1
        costs[:, first:] += forced.flatten(1)
        kept, chosen = self._best_of_banks(values, labels, num_written, eos_id)
        parents, labels, costs = (part.gather(1, chosen) for part in (parents, labels, costs))
        self.kept_costs = costs.masked_fill(kept == -torch.inf, 0).unsqueeze(1)
        return kept.unsqueeze(1) - self.kept_costs, parents.unsqueeze(1), labels.unsqueeze(1)

    def finished_scores(self, scores: Tensor, penalty: float) -> Tensor:
        """Return the final scores of the first candidates, of `scores` (B, 1, K), with the costs of their phrases."""
        return scores / penalty + self.kept_costs[..., : scores.shape[2]] / self.penalties.view(-1, 1, 1)

    def select(self, chosen: Tensor) -> None:
        """Go on with the candidates `chosen` (B, 1, K) among those that were returned last."""
        self.costs = self.kept_costs.gather(2, chosen).flatten(1)

    def best_reachable(self, scores: Tensor, penalty: float) -> Tensor:
        """Return the best score (B, 1) that the hypotheses would have, with the costs of their phrases."""
        return (scores / penalty + self.costs / self.penalties.unsqueeze(1)).amax(1, keepdim=True)

    def _can_be_forced(self) -> Tensor:
        """Return whether the next token of each phrase (B, K, P) may come now."""
        lengths, is_begun = self.lengths.unsqueeze(1), self.written > 0
        is_open = is_begun & (self.written < lengths)
        before = self.earlier.unsqueeze(1).expand_as(self.written)  # equal phrases come in their order
        is_turn = (before < 0) | self.is_begun_of(before)
        can_begin = ~is_begun & (lengths > 0) & is_turn & ~is_open.any(2, keepdim=True)
        return (is_open | can_begin) & self._is_behind_prefix().unsqueeze(2)

    def is_begun_of(self, phrases: Tensor) -> Tensor:
        """Return whether `phrases` (B, K, …) of each hypothesis are begun."""
        return self.written.gather(2, phrases.clamp(min=0)) > 0

    def _is_behind_prefix(self) -> Tensor:
        return (self.first_positions <= self.position).unsqueeze(1)  # (B, 1)

    def _leave_out(self, probabilities: Tensor, eos_id: int) -> None:
        """Set the `probabilities` (B, K, V) of free tokens to 0 where they must not come."""
        lengths = self.lengths.unsqueeze(1)
        needed = (lengths - self.written).sum(2)  # (B, K)
        room = (self.limits - self.position - 1).unsqueeze(1)
        is_open = ((self.written > 0) & (self.written < lengths)).any(2)
        probabilities.masked_fill_((is_open | (needed > room) & (needed > 0)).unsqueeze(2), 0)
        probabilities[..., eos_id].masked_fill_(needed > 0, 0)
        probabilities.masked_fill_(self.is_behind_phrase.unsqueeze(2) & self.word_endings, 0)
        starts = self.starts.unsqueeze(1)  # (B, 1, P, L - 1)
        is_start = ((starts == self.recent.unsqueeze(2)) | (starts < 0)).all(3) & (self.written == 0)
        is_left_out = is_start & (lengths > 0) & self._is_behind_prefix().unsqueeze(2)
        largest = torch.where(is_left_out, 0.0, torch.inf).to(probabilities.dtype)
        last = self.last.clamp(min=0).unsqueeze(1).expand_as(largest)
        probabilities.scatter_reduce_(2, last, largest, "amin")

    def _best_of_banks(
        self, values: Tensor, labels: Tensor, num_written: Tensor, eos_id: int
    ) -> tuple[Tensor, Tensor]:
        """Return the values (B, 2K) of the candidates that are kept, and their indices among all candidates (B, C).

        The rounds of a bank take its best candidate, then its second, and so on; those of the bank with all phrases
        take `beam_size` at once. The beam is filled round by round, in each from the bank with most tokens written.

        `num_written` (B, C) are the numbers of phrase tokens that the candidates have.
        """
        order = values.argsort(dim=1, descending=True, stable=True)
        order = order.gather(1, num_written.gather(1, order).argsort(dim=1, stable=True))
        values, labels, num_written = (part.gather(1, order) for part in (values, labels, num_written))
        places = torch.arange(values.shape[1], device=values.device)
        ranks = places - torch.searchsorted(num_written, num_written)  # in the bank, from 0
        is_end, is_there = labels == eos_id, values > -torch.inf
        ending = values.masked_fill(~is_end | (ranks >= self.beam_size), -torch.inf)
        # Candidates that end are not counted when the others are ranked. All of them are in the last bank, since only
        # hypotheses with all phrases may end.
        ranks = ranks - (is_end & is_there).cumsum(1)
        total = self.lengths.sum(1, keepdim=True)
        rounds = torch.where(num_written == total, ranks // self.beam_size, ranks)
        last = torch.iinfo(torch.long).max
        turns = (rounds * (total + 2) + total - num_written).masked_fill(is_end | ~is_there, last)
        # A stable sort, not `topk`: of candidates with equal turns the best has to win, and which of them `topk` takes
        # depends on what the rest of the batch needs.
        going_on = turns.argsort(dim=1, stable=True)[:, : self.width]
        ends = ending.topk(self.width, 1).indices
        # A sentence keeps as many rows as it would have by itself, whatever others in the batch need.
        is_kept = places[: self.width] < self.beam_size + total.clamp(max=MAX_ADDED_WIDTH)
        going = values.masked_fill(is_end, -torch.inf).gather(1, going_on).masked_fill(~is_kept, -torch.inf)
        kept = torch.cat([ending.gather(1, ends), going], 1)
        return kept, order.gather(1, torch.cat([ends, going_on], 1))

    def advance(self, labels: Tensor, rows: Tensor) -> Tensor:
        """Extend the hypotheses `rows` (N) by `labels` (B, K); return their tokens."""
        vocabulary_size = len(self.word_endings)
        phrases = (labels // vocabulary_size - 1).unsqueeze(2)  # (B, K, 1), -1 for a free token
        tokens, is_of_phrase = labels % vocabulary_size, phrases >= 0
        written = self.written.flatten(0, 1)[rows].view(self.written.shape)
        written = written.scatter_add(2, phrases.clamp(min=0), is_of_phrase.long())
        # Hypotheses of score -inf, which only fill the beam, are kept within their phrases, so that indices stay valid.
        self.written = written.minimum(self.lengths.unsqueeze(1))
        lengths = self.lengths.unsqueeze(1).expand_as(written)
        is_whole = (self.written == lengths).gather(2, phrases.clamp(min=0))
        self.is_behind_phrase = (is_of_phrase & is_whole).squeeze(2)
        if self.recent.shape[2]:
            recent = self.recent.flatten(0, 1)[rows].view(self.recent.shape)
            is_free = ~is_of_phrase & self._is_behind_prefix().unsqueeze(2)
            added = torch.where(is_free, tokens.unsqueeze(2), -2)
            self.recent = torch.cat([recent[..., 1:], added], 2)
        return tokens

    def keep(self, sentences: Tensor) -> None:
        """Keep the phrases of these sentences (B')."""
        for name in (
            "tokens", "lengths", "earlier", "starts", "last", "limits", "first_positions", "penalties",
            "written", "recent", "is_behind_phrase", "costs",
        ):  # fmt: skip
            setattr(self, name, getattr(self, name)[sentences])

    def to_tokens(self, hypothesis: Hypothesis) -> Hypothesis:
        """Turn a hypothesis of labels into one of token ids, with the phrase that each token belongs to."""
        size = len(self.word_endings)
        labels = hypothesis.tokens
        return Hypothesis(
            [label % size for label in labels], hypothesis.score, [label // size - 1 for label in labels]
        )


def beam_width_for(beam_size: int, phrases: Sequence[Sequence[Sequence[int]]]) -> int:
    """Return how many hypotheses of a sentence a beam has for the `phrases` of its sentences."""
    most = max((sum(map(len, some)) for some in phrases), default=0)
    return beam_size + min(most, MAX_ADDED_WIDTH)
