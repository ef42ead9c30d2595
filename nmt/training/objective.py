"""What training minimises: the one module that is run forward and backward."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from nmt.config import ConsistencySettings, NoConsistency
from nmt.data.batching import Batch
from nmt.models.interface import Choices, Seq2Seq
from nmt.training.consistency import ChunkedAgreement, agreement, cut_words
from nmt.training.cross_entropy import ChunkedCrossEntropy

# Of hard attention by the score function: what a nat of entropy is worth, and how much of the baseline a batch keeps.
ENTROPY_WEIGHT = 0.002
BASELINE_DECAY = 0.9


class Loss(NamedTuple):
    """Sums over the target tokens of a batch, in nats."""

    total: Tensor  # what is minimised, with label smoothing
    negative_log_likelihood: Tensor  # without, for perplexity; carries no gradient


class Objective(nn.Module):
    """Cross-entropy with label smoothing of a model's predictions, in one pass or in two that should agree."""

    def __init__(
        self,
        model: Seq2Seq,
        label_smoothing: float,
        consistency: ConsistencySettings = NoConsistency(kind="none"),  # noqa: B008  frozen
    ) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
        self.consistency, self.agreement = consistency, agreement(consistency)
        self.baseline: Tensor
        self.register_buffer("baseline", model.output.bias.new_zeros(2))  # running sums: of losses, of tokens

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Loss:
        """Return the summed loss of a batch; `sample_mask` (B, T) as in `Seq2Seq.forward`."""
        decoded = self.model(batch, sample_mask)
        outputs, packing = decoded.packed(batch)
        given = (
            self.model.output.weight,
            self.model.output.bias,
            packing.pack(batch.target_out),
            packing.is_token,
            self.label_smoothing if self.training else 0.0,
        )
        if self.training and self.agreement is not None:
            with cut_words(self.model, self.consistency):
                second, _ = self.model(batch, sample_mask).packed(batch)
            total, losses = ChunkedAgreement.apply(outputs, second, *given, self.agreement)  # type: ignore[no-untyped-call]
        else:
            total, losses = ChunkedCrossEntropy.apply(outputs, *given)  # type: ignore[no-untyped-call]
        if decoded.choices is not None:
            of_positions = packing.unpack(losses.unsqueeze(1), batch.target_out.shape).squeeze(2)
            is_token = packing.unpack(packing.is_token.unsqueeze(1), batch.target_out.shape).squeeze(2)
            total = total + self._loss_of_choices(decoded.choices, of_positions, is_token)
        return Loss(total, losses.sum())

    def _loss_of_choices(self, choices: Choices, losses: Tensor, is_token: Tensor) -> Tensor:
        """Return what teaches hard attention to choose, by the score function (Xu et al. 2015), for losses (B, T).

        A choice is followed by its own and all later tokens of the sentence; how much worse these are than a running
        mean says how much less likely the choice should become. Entropy is rewarded a little.
        """
        new = BASELINE_DECAY * self.baseline + torch.stack([losses.sum(), is_token.sum().to(losses.dtype)])
        # An update that is not finite is not applied, and leaves no trace here either.
        self.baseline.copy_(torch.where(new.isfinite().all(), new, self.baseline))
        mean = self.baseline[0] / self.baseline[1]
        # Sums over a position and all after it, (B, T). On a GPU, a running sum is not the same again in all its bits.
        later = losses.new_ones(losses.shape[1], losses.shape[1]).triu()  # (T, T)
        excess = (((losses - mean) * is_token).unsqueeze(1) * later).sum(2)
        taught = excess * choices.log_probs - ENTROPY_WEIGHT * choices.entropies
        return (taught * is_token).sum()
