"""What all searches share: the decoder as they see it, and how finished sentences leave the batch."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from nmt.data.batching import send
from nmt.models.interface import Decoded, DecoderState

# Finished sentences leave the batch only when they make up at least this share of it: each removal takes calls.
LEAVING_SHARE = 1 / 32
# Batch sizes have at most this many significant binary digits, so that few sizes occur: a kernel is made for each.
DIGITS_OF_SIZE = 4
# A search asks which sentences are done only once in so many positions, since it has to wait for a GPU to answer.
POSITIONS_BETWEEN_QUESTIONS = {"cpu": 1, "cuda": 8, "mps": 8}


class Decoder(Protocol):
    """A model as a search sees it, or an ensemble."""

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode one position."""

    def project(self, outputs: Tensor) -> Tensor:
        """Turn outputs into logits."""


class SentenceState(Protocol):
    """An object with state for each sentence of a search: a rule, a way of choosing, or a trellis."""

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these indices (B')."""


def should_check_finished(position: int, max_length: int, device: torch.device) -> bool:
    """Whether a search shall ask after `position` which sentences are done."""
    return (position + 1) % POSITIONS_BETWEEN_QUESTIONS[device.type] == 0 or position == max_length


def drop_finished(done: Tensor, state: DecoderState, states: Sequence[SentenceState]) -> Tensor | None:
    """Remove sentences that are `done` (B, on the host); return the indices of those that stay, in their new order.

    The indices are on the device of the state. None means that all stay, since too few would leave. Otherwise all
    unfinished sentences stay, and as many finished ones as round the size of the batch up.
    """
    num_left = len(done) - int(done.sum())
    step = 1 << max(0, num_left.bit_length() - DIGITS_OF_SIZE)
    size = -(-num_left // step) * step
    if size > (1 - LEAVING_SHARE) * len(done):
        return None
    order = state.keep(done.to(torch.int8).argsort(stable=True)[:size].sort().values)
    kept = send(order, state.device)
    for one in states:
        one.keep(kept)
    return kept
