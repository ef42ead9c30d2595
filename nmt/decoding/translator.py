"""Lines in, as many lines out, in order."""

import copy
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch

from nmt.config import DecodingSettings, MBRSettings, SamplingSettings
from nmt.data.arrays import Int64Array
from nmt.data.batching import cut_by_length
from nmt.data.context import in_order
from nmt.data.lines import in_chunks
from nmt.data.mixture import known_tags, tagged
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.batch_search import BatchSearch, Sentence
from nmt.decoding.expected_utility import expected_utility
from nmt.decoding.long_lines import LineCutter, join_parts
from nmt.decoding.pairs import PairReader, most_read
from nmt.decoding.remarks import Remarks
from nmt.decoding.search import Hypothesis
from nmt.decoding.translation import Candidate, Translation
from nmt.device import floating_point
from nmt.errors import DataError
from nmt.models.interface import Seq2Seq
from nmt.models.kernels.prepare import prepare_for_translating

# A batch consists of so many groups of sentences of about equal length, each encoded by itself.
GROUPS = 2


class Part(NamedTuple):
    """A part of a line, or all of it: the number of the line in its chunk, its text, and what the model is given."""

    line: int
    text: str
    sentence: Sentence
    is_cut: bool


class Translator:
    """A model with its tokenizer and a way of searching.

    Each line has up to `num_hypotheses` translations, with `details` of each; what is translated begins with the `tag`
    of a language, where a model of many languages needs one. `remarks` are on lines that were longer than the model or
    `decoding.max_source_tokens` allow, or that were split; `num_tokens` counts those of the translations.
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
        self.tags = frozenset(known_tags(tokenizer.source.pieces))
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
        self.settings, self.num_hypotheses, self.details = settings, num_hypotheses, details
        self.batch_search = BatchSearch(self.model, self.tokenizer, settings, self.device, num_hypotheses)
        limit = self.model.max_positions
        self.max_tokens = limit - 1 if limit else None  # of a side, EOS not counted
        self.max_source_tokens, max_with_context = most_read(self.model, settings.max_source_tokens)
        self.pairs = PairReader(
            self.model,
            self.tokenizer,
            self.device,
            tag,
            self.max_source_tokens,
            max_with_context,
            self.max_tokens,
            settings.max_tokens,
        )
        self.cutter = LineCutter(
            settings,
            self.model.learned_lengths,
            lambda text: len(self.pairs.read([text])[0]),
            self.max_source_tokens,
        )
        self.begin()

    def begin(self) -> None:
        """Count, and remark on lines, from now on."""
        self.remarks, self.num_tokens = Remarks(self.max_source_tokens), 0

    def translate(self, lines: Iterable[str], before: Sequence[str] = ()) -> Iterator[str]:
        """Yield the translation of each line; a blank line stays blank. Those `before` are read as context alone."""
        num_before = 0
        for chunk, earlier in in_order(in_chunks(lines), self.pairs.context.num_lines, before):
            yield from self.translate_chunk(chunk, num_before, earlier)
            num_before += len(chunk)

    def translate_chunk(
        self, lines: Sequence[str], num_before: int = 0, before: Sequence[str] = ()
    ) -> list[str]:
        """Return the best translation of each line; see `find`."""
        return [found.text for found in self.find(lines, num_before, before=before)]

    def find(
        self,
        lines: Sequence[str],
        num_before: int = 0,
        prefixes: Sequence[str] | None = None,
        before: Sequence[str] = (),
    ) -> list[Translation]:
        """Return the translations of lines that are sorted by length, and held, together.

        So many lines came before them in the text, of which those `before` are the last, as many as the context has.
        `prefixes` are what the translation of each begins with. A blank line stays blank. Raises DataError for a prefix
        that is longer than what the model can write.
        """
        found = [Translation(line, [Candidate("")]) for line in lines]
        parts = self._parts(lines, num_before, prefixes, before)
        results = self._search([part.sentence for part in parts])
        ranked = [self._rank(hypotheses) for hypotheses, _ in results]
        self.num_tokens += sum(len(best[0][1]) for best in ranked)
        if self.details and parts:
            shown = [(part, *one) for part, some in zip(parts, ranked, strict=True) for one in some]
            of_parts, translations, tokens = zip(*shown, strict=True)
            texts, source = [part.text for part in of_parts], [part.sentence.source for part in of_parts]
            self.pairs.add_details(translations, texts, source, tokens)
        for i, numbers in groupby(range(len(parts)), key=lambda number: parts[number].line):
            several = list(numbers)
            texts = [parts[number].text for number in several]
            candidates = [[one for one, _ in ranked[number]] for number in several]
            found[i].hypotheses = candidates[0]
            if len(texts) > 1:
                found[i].parts, found[i].hypotheses = texts, join_parts(texts, candidates)
            found[i].is_cut = any(parts[number].is_cut for number in several)
            found[i].seconds = max(results[number][1] for number in several)
        return found

    def _parts(
        self, lines: Sequence[str], num_before: int, prefixes: Sequence[str] | None, before: Sequence[str]
    ) -> list[Part]:
        """Return the parts of all lines that have text, each with what it is for the model; remark on some lines."""
        with_text = [i for i, line in enumerate(lines) if line.strip()]
        read = self.pairs.read([*before, *lines])
        begin = self._encode_prefixes(prefixes, with_text, num_before)
        parts = []
        for i, prefix in zip(with_text, begin, strict=True):
            place = len(before) + i
            ids, earlier = read[place], read[max(0, place - self.pairs.context.num_lines) : place]
            texts = self.cutter(lines[i], len(ids))
            if self.tags:  # a line of a corpus of many languages, which begins with its tag
                tag = lines[i].split(maxsplit=1)[0]
                texts[1:] = [tagged(text, tag) if tag in self.tags else text for text in texts[1:]]
            ids_of_parts = [ids] if len(texts) == 1 else self.pairs.read(texts)
            if len(texts) > 1:
                self.remarks.split.add(num_before + i + 1)
            if max(map(len, ids_of_parts)) > self.max_source_tokens:
                self.remarks.cut.add(num_before + i + 1)
            sources, short = self.pairs.join(
                earlier, ids_of_parts
            )  # the parts before a part are lines before it
            if short:
                self.remarks.short.add(num_before + i + 1)
            for number, (text, source) in enumerate(zip(texts, sources, strict=True)):
                given = prefix if number == 0 else []
                sentence = Sentence(source[: self.max_source_tokens], given, num_before + i)
                if source:
                    parts.append(Part(i, text, sentence, len(source) > self.max_source_tokens))
        return parts

    def search(self, source: Sequence[Sequence[int]]) -> list[list[int]]:
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


def plan_batches(lengths: Int64Array, max_tokens: int) -> list[list[Int64Array]]:
    """Cut sentences of `lengths` (N), longest first, into batches, each some groups of indices of about one length.

    A batch has at most `max_tokens` padded tokens, unless there is but one sentence in a group.
    """
    largest = max_tokens // GROUPS
    groups = cut_by_length(lengths, lambda length: largest // length)
    return [groups[start : start + GROUPS] for start in range(0, len(groups), GROUPS)]
