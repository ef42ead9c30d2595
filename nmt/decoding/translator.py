"""Lines in, as many lines out, in order."""

import copy
import logging
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from nmt.config import BeamSettings, DecodingSettings
from nmt.data.arrays import Int64Array
from nmt.data.batching import cut_by_length, pad_with_end, send
from nmt.data.dataset import Ids
from nmt.data.lines import in_chunks
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.rules import EndAtLimit, ForbidTokens, MinimumLength
from nmt.decoding.search import beam_search, greedy_search, power_penalty, wu_penalty
from nmt.device import floating_point
from nmt.errors import LineNumbers
from nmt.models.interface import DecoderState, Seq2Seq
from nmt.models.kernels.prepare import prepare_for_translating

# A batch consists of so many groups of sentences of about equal length, each encoded by itself.
GROUPS = 2

logger = logging.getLogger(__name__)

Sentences = Sequence[Sequence[int]]


class Translator:
    """A model with its tokenizer and a way of searching.

    `cut` are the lines that were longer than the model or `decoding.max_source_tokens` allow; `num_tokens` counts
    those of the translations.
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
        model = copy.deepcopy(model).to(device, floating_point(dtype, device)).eval()
        prepare_for_translating(model, dtype)
        self.tokenizer, self.settings = tokenizer, settings
        self.batch_search = BatchSearch(model, tokenizer, settings, device)
        self.cut, self.num_tokens = LineNumbers(), 0
        limit = model.max_positions
        self.max_source_tokens = min(
            settings.max_source_tokens, limit - 1 if limit else settings.max_source_tokens
        )

    def warn(self) -> None:
        """Say which lines were cut, if any were."""
        warn_of_cut(self.cut, self.max_source_tokens)

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the translation of each line; a blank line stays blank."""
        num_before = 0
        for chunk in in_chunks(lines):
            yield from self.translate_chunk(chunk, num_before)
            num_before += len(chunk)

    def translate_chunk(self, lines: Sequence[str], num_before: int = 0) -> list[str]:
        """Return the translations of lines that are sorted by length, and held, together.

        So many lines came before them in the text.
        """
        translations = [""] * len(lines)
        with_text = [i for i, line in enumerate(lines) if line.strip()]
        encoded = self.tokenizer.source.encode([lines[i] for i in with_text])
        sentences = {i: ids for i, ids in zip(with_text, encoded, strict=True) if ids}
        if not sentences:
            return translations
        for i, ids in sentences.items():
            if len(ids) > self.max_source_tokens:
                self.cut.add(num_before + i + 1)
        source = [ids[: self.max_source_tokens] for ids in sentences.values()]
        for i, tokens in zip(sentences, self.search(source), strict=True):
            translations[i] = self.tokenizer.target.decode(tokens)
            self.num_tokens += len(tokens)
        return translations

    def search(self, source: Sentences) -> list[list[int]]:
        """Return the target ids of all sentences of ids, found in batches of about equal length; none has EOS."""
        beam_size = self.settings.beam_size if isinstance(self.settings, BeamSettings) else 1
        lengths = np.array([len(ids) + 1 for ids in source])
        found: list[list[int]] = [[] for _ in source]
        for batch in plan_batches(lengths, self.settings.max_tokens // beam_size):
            results = self.batch_search([[source[row] for row in rows] for rows in batch])
            for row, tokens in zip(np.concatenate(batch), results, strict=True):
                found[row] = tokens
        return found


def warn_of_cut(cut: LineNumbers, max_source_tokens: int) -> None:
    """Say which lines were cut to so many tokens, if any were."""
    if cut.count:
        logger.warning("%s", cut.tell(f"cut to {max_source_tokens} tokens"))


def plan_batches(lengths: Int64Array, max_tokens: int) -> list[list[Int64Array]]:
    """Cut sentences of `lengths` (N), longest first, into batches, each some groups of indices of about one length.

    A batch has at most `max_tokens` padded tokens, unless there is but one sentence in a group.
    """
    largest = max_tokens // GROUPS
    groups = cut_by_length(lengths, lambda length: largest // length)
    return [groups[start : start + GROUPS] for start in range(0, len(groups), GROUPS)]


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
