"""The objective that training minimises: the one module that is run forward and backward."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.models.interface import Decoded, Seq2Seq
from nmt.training.consistency import Agreement, ChunkedAgreement, cut_words
from nmt.training.cross_entropy import ChunkedCrossEntropy


class Loss(NamedTuple):
    """Sums over the target tokens of a batch, in nats."""

    total: Tensor  # what is minimised, with label smoothing and the weighted loss of alignment
    negative_log_likelihood: Tensor  # without either, for perplexity; carries no gradient
    alignment: Tensor | None = None  # None where no word links are learned; carries no gradient


class Objective(nn.Module):
    """Cross-entropy of a model's predictions with label smoothing, in one pass or in two that should agree.

    Where a batch has word links, attention learns them, too: their cross-entropy is added, times `alignment_weight`
    (Chen et al. 2016; Garg et al. 2019). Where a batch has words that teachers expect, a single pass learns them, too:
    they have a share of `teacher_weight` in its target.
    """

    def __init__(
        self,
        model: Seq2Seq,
        label_smoothing: float,
        agreement: Agreement | None = None,
        alignment_weight: float = 0.0,
        teacher_weight: float = 0.0,
    ) -> None:
        super().__init__()
        assert type(model).project is Seq2Seq.project, "the loss is of `output` itself"
        self.model, self.label_smoothing, self.agreement = model, label_smoothing, agreement
        self.alignment_weight, self.teacher_weight = alignment_weight, teacher_weight

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
        if not self.training or self.agreement is None:
            expected = (
                batch.expected.map(packing.pack) if batch.expected is not None and self.training else None
            )
            sums = ChunkedCrossEntropy.apply(outputs, *given, expected, self.teacher_weight)  # type: ignore[no-untyped-call]
            loss = Loss(*sums)
            return self._with_alignment(loss, batch, [(decoded, 1.0)])
        own_p, own_q = self.agreement.own_p, self.agreement.own_q
        with cut_words(self.model, self.agreement.cutoff):
            again = self.model(batch, sample_mask)
        second, _ = again.packed(batch)
        loss = Loss(*ChunkedAgreement.apply(outputs, second, *given, self.agreement))  # type: ignore[no-untyped-call]
        return self._with_alignment(loss, batch, [(decoded, own_p), (again, own_q)])

    def _with_alignment(self, loss: Loss, batch: Batch, passes: list[tuple[Decoded, float]]) -> Loss:
        """Add the alignment loss of each pass, times the share of the pass, where the batch has word links."""
        if batch.alignment is None:
            return loss
        found = loss.total.new_zeros(())
        for decoded, share in passes:
            assert decoded.attention is not None
            weights = decoded.attention.to(torch.promote_types(decoded.attention.dtype, torch.float32))
            # A weight of zero, which some attention scores give to positions that they cannot see, costs 87 nats.
            log_weights = weights.clamp_min(torch.finfo(torch.float32).tiny).log()
            found = found - share * (batch.alignment * log_weights).sum()
        total = loss.total + self.alignment_weight * found
        return Loss(total, loss.negative_log_likelihood, found.detach())
