"""Token ids of sentences in, hypotheses of token ids out: a model, its vocabulary, and a search by settings."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nmt.config import BeamSettings, DecodingSettings, RandomSettings
from nmt.data.arrays import Int64Array
from nmt.data.batching import cut_by_length, pad_with_end, send
from nmt.data.dataset import Ids
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.beam import Beam
from nmt.decoding.beam_search import LengthPenalty, beam_search, power_penalty, wu_penalty
from nmt.decoding.choice import Sampled
from nmt.decoding.constraints import ConstrainedBeam
from nmt.decoding.engine import Hypothesis, Sentence, limit_of
from nmt.decoding.greedy_search import greedy_search
from nmt.decoding.literal_text import makes_longer
from nmt.decoding.rules import (
    BeginWith,
    EndAtLimit,
    EndWithoutChoice,
    EndWord,
    ForbidTokens,
    MinimumLength,
    NoRepeatedNgram,
    PenalizeRepetition,
    Rule,
)
from nmt.decoding.search import Decoder
from nmt.decoding.shortlist import ShortDecoder, Shortlist
from nmt.models.interface import DecoderState, Seq2Seq

# Groups of a batch: each holds sentences of about equal length, and is encoded by itself.
GROUPS = 2


class BatchSearch:
    """A model with its vocabulary and a search, which finds `num_hypotheses` of each sentence, or all samples of `mbr`.

    `width` (K) is how many hypotheses of a sentence are extended at the same time. With a `shortlist`, only its tokens
    are searched.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        settings: DecodingSettings,
        device: torch.device,
        num_hypotheses: int,
        shortlist: Shortlist | None = None,
    ) -> None:
        self.shortlist = shortlist
        self.model, self.tokenizer, self.settings, self.device = model, tokenizer, settings, device
        self.num_hypotheses = num_hypotheses
        self.width = settings.most_hypotheses or num_hypotheses

    @torch.inference_mode()
    def __call__(self, groups: Sequence[Sequence[Sentence]]) -> list[list[Hypothesis]]:
        """Search the sentences of all groups, each of about one length, as one batch; return the hypotheses of each.

        Beam search returns the best of its beam, best first; other searches return hypotheses as they were drawn.
        """
        sentences = [sentence for group in groups for sentence in group]
        state, limits = self._start(groups)
        if self.shortlist is None:
            return self._search(self.model, int, slice(None), sentences, state, limits)
        given = [(one.prefix, *one.phrases) for one in sentences]
        chosen = self.shortlist.choose(
            [one.source for one in sentences], [ids for some in given for ids in some]
        )
        decoder = ShortDecoder(self.model, chosen, self.device)
        found = self._search(decoder, decoder.place, chosen, sentences, state, limits)
        return [[decoder.in_full(hypothesis) for hypothesis in of_sentence] for of_sentence in found]

    def _search(
        self,
        decoder: Decoder,
        place: Callable[[int], int],
        chosen: Int64Array | slice,
        sentences: Sequence[Sentence],
        state: DecoderState,
        limits: Tensor,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of a decoder of the target ids `chosen`; `place` maps an id to its index among them."""
        settings, vocabulary = self.settings, self.tokenizer.target
        given = decoder, state, int(limits.max()), place(vocabulary.bos_id), place(vocabulary.eos_id)
        if isinstance(settings, BeamSettings):
            kind = power_penalty if settings.length_penalty_kind == "power" else wu_penalty
            penalty = kind(settings.length_penalty)
            beam = self._constraints(sentences, limits, penalty, place, chosen) or Beam(
                settings.beam_size, settings.num_groups, settings.diversity_penalty
            )
            rules = self._rules(sentences, limits, place, chosen, beam.width)
            found = beam_search(*given, beam, penalty, rules, self.num_hypotheses, settings.early_stopping)
            # Hypotheses of several groups may be equal as text, so all are returned, more than were asked for. A single
            # one is the best of all.
            return [some[:1] for some in found] if self.num_hypotheses == 1 else found
        choice, rules = None, self._rules(sentences, limits, place, chosen, self.width)
        if isinstance(settings, RandomSettings):
            numbers = torch.tensor([sentence.number for sentence in sentences])
            drawn = settings.seed, settings.temperature, settings.top_k, settings.top_p
            choice = Sampled(numbers, self.width, *drawn, self.device)
        return greedy_search(*given, rules, choice, self.width)

    def _limits_of(self, sentences: Sequence[Sentence]) -> Tensor:
        """Return the length limits (B), with room for what is given: a prefix counts, phrases come on top."""
        most = self.model.max_positions
        alone = [limit_of(len(sentence.source), self.settings, most) for sentence in sentences]
        given = torch.tensor([sentence.num_given for sentence in sentences])
        prefixes = torch.tensor([len(sentence.prefix) for sentence in sentences])
        limits = torch.maximum(torch.tensor(alone), prefixes) + given - prefixes
        return limits if most is None else torch.maximum(limits.clamp(max=most - 1), given)

    def _rules(
        self,
        sentences: Sequence[Sentence],
        limits: Tensor,
        place: Callable[[int], int],
        chosen: Int64Array | slice,
        width: int,
    ) -> list[Rule]:
        """Return the rules that translations obey; a later rule overrules the earlier ones."""
        settings, vocabulary = self.settings, self.tokenizer.target
        forbidden = torch.tensor(
            [place(token) for token in (vocabulary.pad_id, vocabulary.bos_id, vocabulary.unk_id)]
        )
        eos_id = place(vocabulary.eos_id)
        size: tuple[Any, ...] = len(sentences), width, self.device
        rules: list[Rule] = []
        if settings.repetition_penalty != 1:
            rules.append(PenalizeRepetition(settings.repetition_penalty, *size))
        if settings.no_repeat_ngram_size is not None:
            rules.append(NoRepeatedNgram(settings.no_repeat_ngram_size, *size))
        rules.append(ForbidTokens(send(forbidden, self.device)))
        rules.append(MinimumLength(eos_id, settings.min_length))
        if any(sentence.prefix for sentence in sentences):
            prefixes = [[place(token) for token in sentence.prefix] for sentence in sentences]
            rules.append(BeginWith(prefixes, self.device))
        if any(sentence.is_whole for sentence in sentences):
            positions = [len(sentence.prefix) if sentence.is_whole else -1 for sentence in sentences]
            rules.append(EndWord(self._word_endings[chosen], positions, self.device))
        if settings.no_repeat_ngram_size is not None and settings.min_length > 0:
            rules.append(EndWithoutChoice(eos_id))
        return [*rules, EndAtLimit(eos_id, limits, self.device)]

    def _constraints(
        self,
        sentences: Sequence[Sentence],
        limits: Tensor,
        penalty: LengthPenalty,
        place: Callable[[int], int],
        chosen: Int64Array | slice,
    ) -> ConstrainedBeam | None:
        """Return the beam that puts phrases into translations; None where no sentence has phrases."""
        phrases = [[list(map(place, ids)) for ids in sentence.phrases] for sentence in sentences]
        if not any(map(any, phrases)):
            return None
        first = [len(sentence.prefix) for sentence in sentences]
        penalties = [penalty(len(sentence.source) + 1) for sentence in sentences]
        endings = self._word_endings[chosen]
        return ConstrainedBeam(phrases, first, limits, penalties, endings, self.width, self.device)

    @cached_property
    def _word_endings(self) -> Tensor:
        return torch.tensor([makes_longer(piece) for piece in self.tokenizer.target.pieces])

    def _start(self, groups: Sequence[Sequence[Sentence]]) -> tuple[DecoderState, Tensor]:
        """Encode the sentences; return their decoder state and their length limits, with room for what is given."""
        state, limits, vocabulary = None, [], self.tokenizer.source
        for group in groups:
            rows = np.arange(len(group))
            sources = Ids.of([sentence.source for sentence in group])
            ids, lengths, _ = pad_with_end(sources, rows, vocabulary.pad_id, vocabulary.eos_id)
            limits.append(self._limits_of(group))
            started = self.model.start(send(ids, self.device), lengths)
            if state is None:
                state = started
            else:
                state.join(started)
        assert state is not None
        return state, torch.cat(limits)


def plan_batches(lengths: Int64Array, max_tokens: int, max_sentences: int) -> list[list[Int64Array]]:
    """Cut sentences of `lengths` (N), longest first, into batches: lists of groups of indices of about one length.

    A batch has at most `max_tokens` padded tokens and `max_sentences`, unless a group has but one sentence.
    """
    groups = cut_by_length(lengths, lambda length: min(max_tokens // length, max_sentences) // GROUPS)
    return [groups[start : start + GROUPS] for start in range(0, len(groups), GROUPS)]
