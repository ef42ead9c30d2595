"""Ways of choosing one token for each row: the most probable one, or one drawn at random."""

from typing import Protocol

import torch
from torch import Tensor

from nmt.data.batching import send
from nmt.decoding.candidates import best_token

# The multipliers of SplitMix64 (Steele, Lea & Flood 2014), which turns a counter into random bits.
GOLDEN_RATIO = -0x61C8864680B583EB
FIRST_FACTOR = -0x40A7B892E31B1A47
SECOND_FACTOR = -0x6B2FB644ECCEEE15
BITS_OF_UNIFORM = 23  # the most that leave room for half a step in the 24 bits of a 32-bit number


class Choice(Protocol):
    """Chooses one token for each row; `keep` drops the state of sentences that leave the batch."""

    def __call__(self, logits: Tensor, position: int) -> Tensor:
        """Return the token ids (N) chosen by logits (N, V) of target position `position`."""

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these indices (B')."""


class MostProbable:
    """The token with the largest logit, the first of equals."""

    def __call__(self, logits: Tensor, position: int) -> Tensor:
        """Return the token ids (N)."""
        return best_token(logits)

    def keep(self, sentences: Tensor) -> None:
        """Do nothing: there is no state of sentences."""


class Sampled:
    """A token drawn by its probability, at a temperature, among the `top_k` most probable and in the nucleus `top_p`.

    The nucleus is the fewest tokens whose probability reaches `top_p` together (Holtzman et al. 2020); with `top_k`, it
    is the share `top_p` of what these reach together. The draw depends only on the seed, the number of the sentence,
    the number of its hypothesis and the position. It does not depend on the batch, so that a sentence is translated
    alike in any batch.
    """

    def __init__(
        self,
        numbers: Tensor,
        num_hypotheses: int,
        seed: int,
        temperature: float,
        top_k: int | None,
        top_p: float | None,
        device: torch.device,
    ) -> None:
        """Take the `numbers` (B, on the host) of the sentences for a search on `device`."""
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p
        # Seed and number are mixed one after the other, so that another seed draws differently for every line. The 1 is
        # added since `_mix` leaves 0 as it is.
        of_sentences = _mix(_mix(torch.tensor(seed) + 1) + numbers)
        keys = _mix(of_sentences.unsqueeze(1) + torch.arange(num_hypotheses))
        self.keys = send(keys, device)  # (B, K)

    def __call__(self, logits: Tensor, position: int) -> Tensor:
        """Return the token ids (N), each where the cumulative probability passes a random share of the total."""
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        probabilities = (wide / self.temperature).softmax(1)
        words = None
        if self.top_k is not None or self.top_p is not None:
            count = min(self.top_k or logits.shape[1], logits.shape[1])
            probabilities, words = probabilities.topk(count, 1)
        sums = probabilities.cumsum(1)
        totals = sums[:, -1:]
        if self.top_p is not None:
            is_enough = (sums >= self.top_p * totals).to(torch.int8)
            totals = sums.gather(1, is_enough.argmax(1, keepdim=True))
        places = torch.searchsorted(sums, self._uniform(position) * totals, right=True)  # (N, 1)
        places = places.clamp(max=sums.shape[1] - 1)
        return (places if words is None else words.gather(1, places)).squeeze(1)

    def keep(self, sentences: Tensor) -> None:
        """Keep the keys of these sentences (B')."""
        self.keys = self.keys[sentences]

    def _uniform(self, position: int) -> Tensor:
        """Return a random number between 0 and 1 for each row, (N, 1): the middle of one of 2^23 equal steps."""
        bits = _mix(self.keys.flatten() + position) >> (64 - BITS_OF_UNIFORM) & ((1 << BITS_OF_UNIFORM) - 1)
        return ((bits.float() + 0.5) / (1 << BITS_OF_UNIFORM)).unsqueeze(1)


def _mix(counters: Tensor) -> Tensor:
    """Return 64 random bits for each counter (…), as SplitMix64 makes them; products wrap around."""
    z = counters * GOLDEN_RATIO
    z = (z ^ _shift(z, 30)) * FIRST_FACTOR
    z = (z ^ _shift(z, 27)) * SECOND_FACTOR
    return z ^ _shift(z, 31)


def _shift(z: Tensor, places: int) -> Tensor:
    """Shift to the right and fill with zeros from the left: the sign is a bit like the others."""
    return (z >> places) & ((1 << (64 - places)) - 1)
