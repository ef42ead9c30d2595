"""How probable a model finds a translation, token by token, in one pass over all its positions."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from nmt.data.batching import Batch
from nmt.models.interface import Seq2Seq

ROWS_AT_ONCE = 1024  # whose logits exist at the same time


def token_log_probs(model: Seq2Seq, batch: Batch) -> Tensor:
    """Return the log-probabilities (number of tokens) of all target tokens of a batch, EOS among them, pair by pair.

    They are in nats, and normalised in 32 bits or more.
    """
    scored = logits_of_tokens(model, batch)
    return torch.cat([-functional.cross_entropy(logits, true, reduction="none") for logits, true in scored])


def logits_of_tokens(model: Seq2Seq, batch: Batch) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield logits (n, V) at the positions of target tokens, pair by pair, in 32 bits or more, and these tokens (n)."""
    positions = torch.arange(batch.target_out.shape[1], device=batch.target_out.device)
    is_token = positions < batch.device_lengths[1].unsqueeze(1)  # (B, T)
    outputs, targets = model(batch).outputs[is_token], batch.target_out[is_token]
    for some, true in zip(outputs.split(ROWS_AT_ONCE), targets.split(ROWS_AT_ONCE), strict=True):
        logits = model.project(some)
        yield logits.to(torch.promote_types(logits.dtype, torch.float32)), true
