"""Lines in, as many lines out, in order."""

import copy
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch

from nmt.config import DecodingSettings, MBRSettings, SamplingSettings
from nmt.data.arrays import Int64Array
from nmt.data.batching import Batch, collate, cut_by_length
from nmt.data.dataset import Dataset, Ids
from nmt.data.lines import in_chunks
from nmt.data.mixture import tagged
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.batch_search import BatchSearch, Sentence
from nmt.decoding.expected_utility import expected_utility
from nmt.decoding.search import Hypothesis
from nmt.decoding.token_scores import token_log_probs
from nmt.decoding.translation import Candidate, Translation
from nmt.decoding.word_alignment import link_words, word_numbers
from nmt.device import floating_point
from nmt.errors import DataError, LineNumbers, RunError
from nmt.models.interface import Seq2Seq
from nmt.models.kernels.prepare import prepare_for_translating

# A batch consists of so many groups of sentences of about equal length, each encoded by itself.
GROUPS = 2
# Cells of the attention, target by source positions, that exist at the same time, for each head of each layer.
CELLS_ALIGNED = 1 << 18

logger = logging.getLogger(__name__)

Sentences = Sequence[Sequence[int]]


class Translator:
    """A model with its tokenizer and a way of searching.

    Each line has up to `num_hypotheses` translations, with `details` of each; what is translated begins with the `tag`
    of a language, where a model of many languages needs one. `cut` are the lines that were longer than the model or
    `decoding.max_source_tokens` allow; `num_tokens` counts those of the translations.
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
        prepare_for_translating(self.model, dtype)
        self.tokenizer, self.device = tokenizer, device
        self._search_by(settings, 1, False, None)

    def searching(
        self,
        settings: DecodingSettings,
        num_hypotheses: int = 1,
        details: bool = False,
        tag: str | None = None,
    ) -> "Translator":
        """Return a translator that searches in another way, with the same model, and counts by itself."""
        other = copy.copy(self)
        other._search_by(settings, num_hypotheses, details, tag)
        return other

    def _search_by(
        self, settings: DecodingSettings, num_hypotheses: int, details: bool, tag: str | None
    ) -> None:
        self.settings, self.num_hypotheses, self.details, self.tag = settings, num_hypotheses, details, tag
        self.batch_search = BatchSearch(self.model, self.tokenizer, settings, self.device, num_hypotheses)
        limit = self.model.max_positions
        self.max_tokens = limit - 1 if limit else None  # of a side, EOS not counted
        self.max_source_tokens = min(
            settings.max_source_tokens, self.max_tokens or settings.max_source_tokens
        )
        self.cut, self.num_tokens = LineNumbers(), 0

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
        """Return the best translation of each line; see `find`."""
        return [found.text for found in self.find(lines, num_before)]

    def find(
        self, lines: Sequence[str], num_before: int = 0, prefixes: Sequence[str] | None = None
    ) -> list[Translation]:
        """Return the translations of lines that are sorted by length, and held, together.

        So many lines came before them in the text. `prefixes` are what the translation of each begins with. A blank
        line stays blank. Raises DataError for a prefix that is longer than what the model can write.
        """
        found = [Translation(line, [Candidate("")]) for line in lines]
        with_text = [i for i, line in enumerate(lines) if line.strip()]
        given = self._with_tag(lines)
        encoded = self.tokenizer.source.encode([given[i] for i in with_text])
        begin = self._encode_prefixes(prefixes, with_text, num_before)
        sentences: dict[int, Sentence] = {}
        for i, ids, prefix in zip(with_text, encoded, begin, strict=True):
            if not ids:
                continue
            if len(ids) > self.max_source_tokens:
                found[i].is_cut = True
                self.cut.add(num_before + i + 1)
            sentences[i] = Sentence(ids[: self.max_source_tokens], prefix, num_before + i)
        results = self._search(list(sentences.values()))
        shown: list[tuple[Candidate, int, Sequence[int], list[int]]] = []
        for (i, sentence), (hypotheses, seconds) in zip(sentences.items(), results, strict=True):
            ranked = self._rank(hypotheses)
            found[i].hypotheses, found[i].seconds = [candidate for candidate, _ in ranked], seconds
            shown += [(candidate, i, sentence.source, tokens) for candidate, tokens in ranked]
            self.num_tokens += len(ranked[0][1])
        if self.details and shown:
            candidates, rows, source, target = zip(*shown, strict=True)
            self._add_log_probs(candidates, source, target)
            read = dict(zip(sentences, self._words_read([lines[i] for i in sentences]), strict=True))
            names = self.tokenizer.target.pieces
            written = [word_numbers([names[i] for i in tokens]) for tokens in target]
            self._add_alignment(candidates, source, target, [read[i] for i in rows], written)
        return found

    def _with_tag(self, lines: Sequence[str]) -> Sequence[str]:
        return lines if self.tag is None else [tagged(line, self.tag) for line in lines]

    def _words_read(self, lines: Sequence[str]) -> list[Int64Array]:
        """Return the words of source lines that their pieces belong to; the tag of a language is none of them."""
        num_tags = 0 if self.tag is None else 1
        return [
            word_numbers(pieces) - num_tags for pieces in self.tokenizer.source.segment(self._with_tag(lines))
        ]

    def search(self, source: Sentences) -> list[list[int]]:
        """Return the best target ids of all sentences of ids, without EOS."""
        found = self._search([Sentence(ids) for ids in source])
        return [hypotheses[0].tokens for hypotheses, _ in found]

    def _search(self, sentences: Sequence[Sentence]) -> list[tuple[list[Hypothesis], float]]:
        """Return the hypotheses of all sentences, found in batches of about equal length, and the seconds of each."""
        lengths = np.array([len(sentence.source) + 1 for sentence in sentences])
        found: list[tuple[list[Hypothesis], float]] = [([], 0.0)] * len(sentences)
        for batch in plan_batches(lengths, self.settings.max_tokens // self.batch_search.num_rows):
            began = time.monotonic()
            results = self.batch_search([[sentences[row] for row in rows] for rows in batch])
            seconds = time.monotonic() - began
            for row, hypotheses in zip(np.concatenate(batch), results, strict=True):
                found[row] = hypotheses, seconds
        return found

    def score(self, sources: Sequence[str], targets: Sequence[str], num_before: int = 0) -> list[Candidate]:
        """Return what the model says of each token of given translations. Both sides are cut to what it can read."""
        found = [Candidate(text) for text in targets]
        self._add_log_probs(found, *self._encode_pairs(sources, targets, num_before))
        return found

    def align(self, sources: Sequence[str], targets: Sequence[str], num_before: int = 0) -> list[Candidate]:
        """Link the words of given translations to those of their sources. Both sides are cut to what it can read.

        Raises RunError for a model without attention.
        """
        found = [Candidate(text) for text in targets]
        source, target = self._encode_pairs(sources, targets, num_before)
        self.num_tokens += sum(map(len, target))
        written = [word_numbers(pieces) for pieces in self.tokenizer.target.segment(targets)]
        self._add_alignment(found, source, target, self._words_read(sources), written)
        if any(one.alignment is None for one in found):
            raise RunError(
                "run: model=attention or model=transformer is needed, since attention is what aligns; "
                "got a run without attention"
            )
        return found

    def _encode_pairs(
        self, sources: Sequence[str], targets: Sequence[str], num_before: int
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Return the ids of pairs, cut to what the model can read; which of them are cut is noted."""
        source = self.tokenizer.source.encode(self._with_tag(sources))
        target = self.tokenizer.target.encode(targets)
        for i, (ids, others) in enumerate(zip(source, target, strict=True)):
            if len(ids) > self.max_source_tokens or len(others) > (self.max_tokens or len(others)):
                self.cut.add(num_before + i + 1)
        return [ids[: self.max_source_tokens] for ids in source], [ids[: self.max_tokens] for ids in target]

    def _rank(self, hypotheses: Sequence[Hypothesis]) -> list[tuple[Candidate, list[int]]]:
        """Return what is to be shown of what was found for a sentence, with its ids: best first, where there is a best.

        What is ranked is distinct as text; what was drawn stays as it was drawn.
        """
        texts = [self.tokenizer.target.decode(hypothesis.tokens) for hypothesis in hypotheses]
        scores = [hypothesis.score for hypothesis in hypotheses]
        order = list(range(len(texts)))
        if isinstance(self.settings, MBRSettings):
            scores = expected_utility(texts, texts, self.settings.utility).tolist()
            order = sorted(order, key=lambda i: -scores[i])
        if not isinstance(self.settings, SamplingSettings):
            first = {texts[i]: i for i in reversed(order)}
            order = [i for i in order if first[texts[i]] == i]
        return [(Candidate(texts[i], scores[i]), hypotheses[i].tokens) for i in order[: self.num_hypotheses]]

    def _add_log_probs(self, candidates: Sequence[Candidate], source: Sentences, target: Sentences) -> None:
        """Say of candidates, those of pairs of ids, what their tokens are and how probable the model finds each."""
        names = self.tokenizer.target.pieces
        for rows, batch in self._batches(source, target, lambda longest: self.settings.max_tokens // longest):
            with torch.inference_mode():
                log_probs = token_log_probs(self.model, batch)
            parts = log_probs.cpu().split([len(target[row]) + 1 for row in rows])
            for row, part in zip(rows, parts, strict=True):
                candidates[row].tokens = [names[i] for i in [*target[row], self.tokenizer.target.eos_id]]
                candidates[row].token_log_probs = part.tolist()

    def _add_alignment(
        self,
        candidates: Sequence[Candidate],
        source: Sentences,
        target: Sentences,
        read: Sequence[Int64Array],
        written: Sequence[Int64Array],
    ) -> None:
        """Say of candidates, those of pairs of ids, which words of the source theirs go back to.

        `read` and `written` are the words that the pieces of each side belong to, also of pieces that were cut off.
        """
        for rows, batch in self._batches(source, target, lambda longest: CELLS_ALIGNED // longest**2):
            with torch.inference_mode():
                found = self.model.alignment(batch)
            if found is None:
                return
            for row, weights in zip(rows, found.float().cpu().numpy(), strict=True):
                sides = read[row][: len(source[row])], written[row][: len(target[row])]
                candidates[row].alignment = link_words(weights, *sides)

    def _batches(
        self, source: Sentences, target: Sentences, size_of: Callable[[int], int]
    ) -> Iterator[tuple[Int64Array, Batch]]:
        """Yield pairs of ids in batches of `size_of` the longest, with their indices in the order of the batch."""
        pairs = Dataset(Ids.of(source), Ids.of(target))
        for rows in cut_by_length(np.maximum(pairs.source.lengths, pairs.target.lengths) + 1, size_of):
            ordered = rows[np.argsort(-pairs.source.lengths_of(rows), kind="stable")]  # as collate keeps them
            yield ordered, collate(pairs, ordered, self.tokenizer).to(self.device)

    def _encode_prefixes(
        self, prefixes: Sequence[str] | None, rows: Sequence[int], num_before: int
    ) -> list[list[int]]:
        if prefixes is None:
            return [[] for _ in rows]
        encoded = self.tokenizer.target.encode([prefixes[row] for row in rows])
        for row, ids in zip(rows, encoded, strict=True):
            if self.max_tokens is not None and len(ids) > self.max_tokens:
                raise DataError(
                    f"prefix: at most the {self.max_tokens} tokens that the model can write are needed; "
                    f"got {len(ids)} in line {num_before + row + 1}"
                )
        return encoded


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
