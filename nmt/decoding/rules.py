"""Rules that translations obey: they change logits before the softmax."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmt.data.batching import send
from nmt.data.dataset import Ids


class Rule:
    """Changes logits, to -inf for what is not allowed; its state for each row follows the rows of the search."""

    def apply(self, logits: Tensor, position: int) -> None:
        """Change `logits` (N, V) of target position `position` in place."""
        raise NotImplementedError

    def follow(self, tokens: Tensor, rows: Tensor | None = None) -> None:
        """Extend the hypotheses `rows` (N), or all in their order where it is None, by `tokens` (B, K)."""

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these indices (B')."""


class ForbidTokens(Rule):
    """The tokens `token_ids` never come: PAD, BOS and UNK."""

    def __init__(self, token_ids: Tensor) -> None:
        self.token_ids = token_ids

    def apply(self, logits: Tensor, position: int) -> None:
        """Rule out the tokens everywhere."""
        logits.index_fill_(1, self.token_ids, -torch.inf)


class MinimumLength(Rule):
    """No end before `min_length` tokens."""

    def __init__(self, eos_id: int, min_length: int) -> None:
        self.eos_id = eos_id
        self.min_length = min_length

    def apply(self, logits: Tensor, position: int) -> None:
        """Rule out EOS at the first positions."""
        if position < self.min_length:
            logits[:, self.eos_id] = -torch.inf


class HistoryRule(Rule):
    """A rule that looks at what has been translated: the tokens `history` (B, K, T) of each hypothesis so far."""

    def __init__(self, num_sentences: int, num_hypotheses: int, device: torch.device) -> None:
        self.history = torch.empty(num_sentences, num_hypotheses, 0, dtype=torch.long, device=device)

    def follow(self, tokens: Tensor, rows: Tensor | None = None) -> None:
        """Take over the history of the hypotheses that are extended, and add the new tokens."""
        history = self.history
        if rows is not None:
            history = history.flatten(0, 1).index_select(0, rows).view(history.shape)
        self.history = torch.cat([history, tokens.unsqueeze(2)], 2)

    def keep(self, sentences: Tensor) -> None:
        """Keep the history of these sentences (B')."""
        self.history = self.history[sentences]


class PenalizeRepetition(HistoryRule):
    """Tokens already written become less probable: positive logits are divided by `penalty`, others multiplied.

    Keskar et al. 2019.
    """

    def __init__(self, penalty: float, num_sentences: int, num_hypotheses: int, device: torch.device) -> None:
        super().__init__(num_sentences, num_hypotheses, device)
        self.penalty = penalty

    def apply(self, logits: Tensor, position: int) -> None:
        """Change the logits of all tokens of the hypothesis."""
        history = self.history.flatten(0, 1)
        came = logits.gather(1, history)
        logits.scatter_(1, history, torch.where(came > 0, came / self.penalty, came * self.penalty))


class NoRepeatedNgram(HistoryRule):
    """No sequence of `size` tokens comes twice (Paulus et al. 2018)."""

    def __init__(self, size: int, num_sentences: int, num_hypotheses: int, device: torch.device) -> None:
        super().__init__(num_sentences, num_hypotheses, device)
        self.size = size

    def apply(self, logits: Tensor, position: int) -> None:
        """Rule out each token that followed an earlier occurrence of the last `size` - 1 tokens."""
        history = self.history.flatten(0, 1)  # (N, T)
        if history.shape[1] < self.size:
            return
        windows = history.unfold(1, self.size, 1)  # (N, T - size + 1, size)
        end = history[:, history.shape[1] - self.size + 1 :].unsqueeze(1)
        is_there = (windows[..., :-1] == end).all(2)
        limits = torch.where(is_there, -torch.inf, torch.inf).to(logits.dtype)
        logits.scatter_reduce_(1, windows[..., -1], limits, "amin")


class BeginWith(Rule):
    """Each translation begins with given tokens: one of `prefixes` (B), which may have any length, also none."""

    def __init__(self, prefixes: Sequence[Sequence[int]], device: torch.device) -> None:
        ids = Ids.of(prefixes)
        self.longest = int(ids.lengths.max())  # on the host: from there on, there is nothing to do
        places = torch.arange(self.longest) < torch.from_numpy(ids.lengths).unsqueeze(1)
        tokens = torch.full(places.shape, -1).masked_scatter(places, ids.tokens.long())
        self.tokens = send(tokens, device)  # (B, P), -1 behind the end

    def apply(self, logits: Tensor, position: int) -> None:
        """Rule out all but the token that is given, whatever other rules say of it."""
        if position >= self.longest:
            return
        num_hypotheses = len(logits) // len(self.tokens)
        given = self.tokens[:, position].repeat_interleave(num_hypotheses).unsqueeze(1)  # (N, 1)
        is_given = given >= 0
        logits.masked_fill_(is_given, -torch.inf)
        places = given.clamp(min=0)
        logits.scatter_(1, places, torch.where(is_given, 0.0, logits.gather(1, places)))

    def keep(self, sentences: Tensor) -> None:
        """Keep the prefixes of these sentences (B')."""
        self.tokens = self.tokens[sentences]


class EndWord(Rule):
    """No token makes the last word longer at a position of each sentence: one of `positions` (B), -1 for none."""

    def __init__(self, word_endings: Tensor, positions: Sequence[int], device: torch.device) -> None:
        """Take `word_endings` (V), which are True for tokens that would make the word before them longer."""
        self.word_endings, self.positions = send(word_endings, device), send(torch.tensor(positions), device)
        self.last = max(positions)  # on the host: behind it, there is nothing to do

    def apply(self, logits: Tensor, position: int) -> None:
        """Rule out these tokens for the sentences that are at their position."""
        if position > self.last:
            return
        is_there = (self.positions == position).repeat_interleave(len(logits) // len(self.positions))
        logits.masked_fill_(is_there.unsqueeze(1) & self.word_endings, -torch.inf)

    def keep(self, sentences: Tensor) -> None:
        """Keep the positions of these sentences (B')."""
        self.positions = self.positions[sentences]


class EndWithoutChoice(Rule):
    """EOS comes where earlier rules together leave no token, such as a minimum length where no word may come again."""

    def __init__(self, eos_id: int) -> None:
        self.eos_id = eos_id

    def apply(self, logits: Tensor, position: int) -> None:
        """Allow EOS for hypotheses that nothing else could extend."""
        logits[:, self.eos_id].masked_fill_(logits.amax(1) == -torch.inf, 0.0)


class EndAtLimit(Rule):
    """Only EOS may come once a translation has its limit of tokens; this rule comes last in a list of rules."""

    def __init__(self, eos_id: int, limits: Tensor, device: torch.device) -> None:
        """Take `limits` (B, on the host) for a search on `device`."""
        self.eos_id = eos_id
        self.limits = send(limits, device)
        self.lowest = int(limits.min())  # on the host: before it, there is nothing to do

    def apply(self, logits: Tensor, position: int) -> None:
        """Rule out all but EOS for the sentences that are at their limit."""
        if position < self.lowest:
            return
        at_limit = (self.limits <= position).repeat_interleave(len(logits) // len(self.limits))
        logits.masked_fill_(at_limit.unsqueeze(1), -torch.inf)
        logits[:, self.eos_id].masked_fill_(at_limit, 0.0)

    def keep(self, sentences: Tensor) -> None:
        """Keep the limits of these sentences (B')."""
        self.limits = self.limits[sentences]
