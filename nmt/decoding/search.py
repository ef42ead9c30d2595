"""What all searches share: the decoder that they see, and sentences that leave when they are done."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from nmt.data.batching import send
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


class Follower(Protocol):
    """Something that keeps what belongs to the sentences of a search: a rule, or a way of choosing."""

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these indices (B')."""


def is_time_to_ask(position: int, max_length: int, device: torch.device) -> bool:
    """Whether a search shall ask after `position` which sentences are done."""
    return (position + 1) % POSITIONS_BETWEEN_QUESTIONS[device.type] == 0 or position == max_length


def let_go(done: Tensor, state: DecoderState, followers: Sequence[Follower]) -> Tensor | None:
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
    for follower in followers:
        follower.keep(kept)
    return kept
