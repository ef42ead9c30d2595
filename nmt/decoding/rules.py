"""Rules of what a translation may not be: they rule out tokens before the softmax."""

import torch
from torch import Tensor

from nmt.data.batching import send


class Rule:
    """Sets logits of what is not allowed to -inf; what it keeps for each row follows the rows of the search."""

    def apply(self, logits: Tensor, position: int) -> None:
        """Change `logits` (N, V) of target position `position` in place."""
        raise NotImplementedError

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these indices (B')."""


class ForbidTokens(Rule):
    """Some tokens never come, those of `token_ids`: PAD, BOS and, by default, UNK."""

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


class EndAtLimit(Rule):
    """The end, and nothing else, once a sentence has its limit of tokens; it comes last in a list of rules."""

    def __init__(self, eos_id: int, limits: Tensor, device: torch.device) -> None:
        """Take `limits` (B, on the host) for a search on `device`."""
        self.eos_id = eos_id
        self.limits = send(limits, device)
        self.lowest = int(limits.min())  # known to the host: before it there is nothing to do

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
