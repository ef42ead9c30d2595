"""One batch: ids of sentences in, ids of their translations out."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from nmt.config import BeamSettings, DecodingSettings
from nmt.data.batching import pad_with_end, send
from nmt.data.dataset import Ids
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.rules import EndAtLimit, ForbidTokens, MinimumLength
from nmt.decoding.search import beam_search, greedy_search, power_penalty, wu_penalty
from nmt.models.interface import DecoderState, Seq2Seq

Sentences = Sequence[Sequence[int]]


class BatchSearch:
    """A model with its vocabulary and a way of searching."""

    def __init__(
        self, model: Seq2Seq, tokenizer: Tokenizer, settings: DecodingSettings, device: torch.device
    ) -> None:
        self.model, self.tokenizer, self.settings, self.device = model, tokenizer, settings, device

    @torch.inference_mode()
    def __call__(self, groups: Sequence[Sentences]) -> list[list[int]]:
        """Return the translations of the sentences of all groups, each of about one length, found in one batch.

        Neither sentences nor translations have EOS.
        """
        settings, vocabulary = self.settings, self.tokenizer.target
        state, limits = self._start(groups)
        forbidden = torch.tensor([vocabulary.pad_id, vocabulary.bos_id, vocabulary.unk_id])
        rules = [
            ForbidTokens(send(forbidden, self.device)),
            MinimumLength(vocabulary.eos_id, settings.min_length),
            EndAtLimit(vocabulary.eos_id, limits, self.device),
        ]
        given = self.model, state, int(limits.max()), vocabulary.bos_id, vocabulary.eos_id
        if not isinstance(settings, BeamSettings):
            return greedy_search(*given, rules)
        penalty = power_penalty if settings.length_penalty_kind == "power" else wu_penalty
        return beam_search(*given, settings.beam_size, penalty(settings.length_penalty), rules)

    def limits(self, lengths: Tensor) -> Tensor:
        """Return the most tokens (B), EOS not counted, of translations of sources of `lengths` (B), EOS counted."""
        limits = ((lengths - 1) * self.settings.max_length_ratio).long() + self.settings.max_length_extra
        if self.model.max_positions:
            limits = limits.clamp(max=self.model.max_positions - 1)
        return limits.clamp(min=1)

    def _start(self, groups: Sequence[Sentences]) -> tuple[DecoderState, Tensor]:
        """Encode the sentences; return their state, and their limits."""
        state, limits, vocabulary = None, [], self.tokenizer.source
        for sentences in groups:
            rows = np.arange(len(sentences))
            ids, lengths, _ = pad_with_end(Ids.of(sentences), rows, vocabulary.pad_id, vocabulary.eos_id)
            limits.append(self.limits(lengths))
            started = self.model.start(send(ids, self.device), lengths)
            if state is None:
                state = started
            else:
                state.join(started)
        assert state is not None
        return state, torch.cat(limits)
