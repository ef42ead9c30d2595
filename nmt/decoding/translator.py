"""Lines in, as many lines out, in order."""

import copy
import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from threading import Event

import numpy as np
import torch
from torch import Tensor

from nmt.config import BeamSettings, DecodingSettings
from nmt.data.batching import pad_with_end, plan_by_length
from nmt.data.dataset import Ids, Int64Array
from nmt.data.lines import in_chunks
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.rules import EndAtLimit, ForbidTokens, MinimumLength
from nmt.decoding.search import beam_search, greedy_search, power_penalty, round_down, wu_penalty
from nmt.decoding.side_by_side import Stoppable, deal, side_by_side
from nmt.device import floating_point
from nmt.models.interface import DecoderState, Seq2Seq

# A batch consists of so many groups of sentences of about equal length.
GROUPS = 4

logger = logging.getLogger(__name__)


class Translator:
    """A model with its tokenizer and a way of searching.

    `num_cut` counts the lines that were longer than the model or `decoding.max_source_tokens` allow.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        settings: DecodingSettings,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        # A copy: its weights change their type once, and the model that is in training stays as it is.
        self.model = copy.deepcopy(model).to(device, floating_point(dtype, device)).eval()
        if dtype == torch.int8:
            self.model.quantize()
        self.model.prepare_for_translating()
        self.tokenizer = tokenizer
        self.settings = settings
        self.device = device
        self.num_cut = 0
        limit = model.max_positions
        self.max_source_tokens = min(
            settings.max_source_tokens, limit - 1 if limit else settings.max_source_tokens
        )

    def warn(self) -> None:
        """Say how many lines were cut, if any were."""
        if self.num_cut:
            logger.warning("%d lines were cut to %d tokens", self.num_cut, self.max_source_tokens)

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the translation of each line; a blank line stays blank."""
        for chunk in in_chunks(lines):
            yield from self.translate_chunk(chunk)

    def translate_chunk(self, lines: Sequence[str]) -> list[str]:
        """Return the translations of lines that are sorted by length, and held, together."""
        translations = [""] * len(lines)
        with_text = [i for i, line in enumerate(lines) if line.strip()]
        encoded = self.tokenizer.source.encode([lines[i] for i in with_text])
        sentences = {i: ids for i, ids in zip(with_text, encoded, strict=True) if ids}
        if not sentences:
            return translations
        self.num_cut += sum(len(ids) > self.max_source_tokens for ids in sentences.values())
        source = Ids.of([ids[: self.max_source_tokens] for ids in sentences.values()])
        for i, tokens in zip(sentences, self.search(source), strict=True):
            translations[i] = self.tokenizer.target.decode(tokens)
        return translations

    def limits(self, lengths: Tensor) -> Tensor:
        """Return the most tokens (B), EOS not counted, of translations of sources of `lengths` (B), EOS counted."""
        limits = ((lengths - 1) * self.settings.max_length_ratio).long() + self.settings.max_length_extra
        if self.model.max_positions:
            limits = limits.clamp(max=self.model.max_positions - 1)
        return limits.clamp(min=1)

    def search(self, source: Ids) -> list[list[int]]:
        """Return the target ids of all sentences of `source`, found in batches of about equal length."""
        beam_size = self.settings.beam_size if isinstance(self.settings, BeamSettings) else 1
        num_workers = torch.get_num_threads() if self.device.type == "cpu" else 1
        max_tokens = self.settings.max_tokens // (beam_size * num_workers * GROUPS)
        groups = plan_by_length(source.lengths + 1, max_tokens, to_size=round_down)
        batches = deal(groups, num_workers, GROUPS)
        results = side_by_side(partial(self._search_batch, source), batches, num_workers)
        found: list[list[int]] = [[] for _ in source.lengths]
        for batch, sentences in zip(batches, results, strict=True):
            for row, tokens in zip(np.concatenate(batch), sentences, strict=True):
                found[row] = tokens
        return found

    def _start(self, source: Ids, groups: Sequence[Int64Array]) -> tuple[DecoderState, Tensor]:
        """Encode the sentences of `source` in `groups`; return their state, and their limits."""
        state, limits = None, []
        for rows in groups:
            ids, lengths, _ = pad_with_end(
                source, rows, self.tokenizer.source.pad_id, self.tokenizer.source.eos_id
            )
            limits.append(self.limits(lengths))
            started = self.model.start(ids.to(self.device), lengths)
            if state is None:
                state = started
            else:
                state.join(started)
        assert state is not None
        return state, torch.cat(limits)

    @torch.inference_mode()
    def _search_batch(self, source: Ids, groups: Sequence[Int64Array], stopped: Event) -> list[list[int]]:
        """Return the target ids of the sentences of `source` in `groups`, found together in one batch."""
        settings, vocabulary = self.settings, self.tokenizer.target
        state, limits = self._start(source, groups)
        forbidden = [vocabulary.pad_id, vocabulary.bos_id, vocabulary.unk_id]
        rules = [
            ForbidTokens(torch.tensor(forbidden, device=self.device)),
            MinimumLength(vocabulary.eos_id, settings.min_length),
            EndAtLimit(vocabulary.eos_id, limits.to(self.device)),
        ]
        given = (
            Stoppable(self.model, stopped),
            state,
            int(limits.max()),
            vocabulary.bos_id,
            vocabulary.eos_id,
        )
        if not isinstance(settings, BeamSettings):
            return greedy_search(*given, rules)
        penalty = power_penalty if settings.length_penalty_kind == "power" else wu_penalty
        return beam_search(*given, settings.beam_size, penalty(settings.length_penalty), rules)
