"""The objective that training minimises: the one module that is run forward and backward."""

from typing import NamedTuple

from torch import Tensor, nn

from nmt.data.batching import Batch
from nmt.models.interface import Seq2Seq
from nmt.training.consistency import Agreement, ChunkedAgreement, cut_words
from nmt.training.cross_entropy import ChunkedCrossEntropy


class Loss(NamedTuple):
    """Sums over the target tokens of a batch, in nats."""

    total: Tensor  # what is minimised, with label smoothing
    negative_log_likelihood: Tensor  # without, for perplexity; carries no gradient


class Objective(nn.Module):
    """Cross-entropy with label smoothing of a model's predictions, in one pass or in two that should agree."""

    def __init__(self, model: Seq2Seq, label_smoothing: float, agreement: Agreement | None = None) -> None:
        super().__init__()
        self.model, self.label_smoothing, self.agreement = model, label_smoothing, agreement

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Loss:
        """Return the summed loss of a batch; `sample_mask` (B, T) as in `Seq2Seq.forward`."""
        outputs, packing = self.model(batch, sample_mask).packed(batch)
        given = (
            self.model.output.weight,
            self.model.output.bias,
            packing.pack(batch.target_out),
            packing.is_token,
            self.label_smoothing if self.training else 0.0,
        )
        if not self.training or self.agreement is None:
            return Loss(*ChunkedCrossEntropy.apply(outputs, *given))  # type: ignore[no-untyped-call]
        with cut_words(self.model, self.agreement.cutoff):
            second, _ = self.model(batch, sample_mask).packed(batch)
        return Loss(*ChunkedAgreement.apply(outputs, second, *given, self.agreement))  # type: ignore[no-untyped-call]
