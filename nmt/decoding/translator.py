"""Lines in, as many lines out, in order."""

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from nmt.config import BeamSettings, DecodingSettings, MBRSettings, SamplingSettings
from nmt.data.characters import is_wordless
from nmt.data.context import Context
from nmt.data.lines import in_chunks
from nmt.data.mixture import known_tags, tagged
from nmt.data.tokenizer import WORD_START
from nmt.decoding.chunks import Chunk, number_chunks, put_beside
from nmt.decoding.confidence import Calibration
from nmt.decoding.demands import Demand, Demands
from nmt.decoding.engine import Engine, Found, Hypothesis, Search, Sentence, most_read
from nmt.decoding.expected_utility import expected_utility
from nmt.decoding.literal_text import text_of
from nmt.decoding.long_lines import LineCutter, join_parts
from nmt.decoding.pair_reader import PairReader
from nmt.decoding.remarks import Remarks
from nmt.decoding.translation import Candidate, Translation
from nmt.errors import DataError
from nmt.layouts.pieces import tags_of_lines

# The parts of a line have numbers of their own, this far apart and so far from its number that no line has them.
PARTS_APART = 1 << 40


class Part(NamedTuple):
    """A part of a line, or all of it: the index of the line in its chunk, its text, and what the model is given.

    `demands` are what its translation must contain, and `prefix` is the text that it begins with.
    """

    line: int
    text: str
    sentence: Sentence
    is_cut: bool
    demands: Sequence[Demand]
    prefix: str


class Shown(NamedTuple):
    """A translation of a part, its ids, and the piece of its text that each id became."""

    candidate: Candidate
    tokens: list[int]
    pieces: list[str]


class Translator:
    """A model in its engine, with the settings of a search.

    Each line has up to `num_hypotheses` translations. With `details`, each has log-probabilities and alignment and,
    where there is a `calibration`, its confidence. Source lines begin with the `tag` of a language, where a model of
    many languages needs one. `remarks` are on lines that were longer than the model or `decoding.max_source_tokens`
    allow, that were split, or that lack context; `num_tokens` counts the tokens of the translations.
    """

    def __init__(
        self, engine: Engine, settings: DecodingSettings, calibration: Calibration | None = None
    ) -> None:
        self.engine, self.tokenizer, self.calibration = engine, engine.tokenizer, calibration
        # Looked for in the whole vocabulary, once.
        pieces = self.tokenizer.source.pieces
        self.tags = known_tags(pieces)
        # Tags that hold for the whole line that begins with one, also those of models of other programs.
        self.line_tags = tags_of_lines(pieces)
        # What a line is read as if normalisation leaves nothing of its text.
        self.without_text = {(), *map(tuple, self.tokenizer.source.encode(self.line_tags))}
        self.context = Context.of(self.tokenizer.source)
        self._set(settings, None)

    def with_search(
        self,
        settings: DecodingSettings,
        num_hypotheses: int = 1,
        details: bool = False,
        tag: str | None = None,
    ) -> "Translator":
        """Return a translator with the same model, another search, and counts of its own.

        Raises UserError where something that the settings name is missing: a glossary, a shortlist, a library.
        """
        other = self.with_settings(settings, tag)
        other.num_hypotheses, other.details = num_hypotheses, details
        _ = other.search, other.cutter
        return other

    def with_settings(self, settings: DecodingSettings | None = None, tag: str | None = None) -> "Translator":
        """Return a translator with other settings, which loads what they name (such as a glossary) when it is used."""
        other = copy.copy(self)
        for name in ("search", "demands", "cutter"):
            vars(other).pop(name, None)
        other._set(settings or self.settings, tag)
        return other

    def _set(self, settings: DecodingSettings, tag: str | None) -> None:
        self.settings, self.num_hypotheses, self.details = settings, 1, False
        self.coverage_penalty = settings.coverage_penalty if isinstance(settings, BeamSettings) else 0.0
        limit = self.engine.max_positions
        self.max_target_tokens = limit - 1 if limit else None  # of a side, EOS not counted
        self.max_source_tokens, max_with_context = most_read(self.engine, settings.max_source_tokens)
        self.pairs = PairReader(
            self.engine,
            self.context,
            tag,
            max_source_tokens=self.max_source_tokens,
            max_with_context=max_with_context,
            max_target_tokens=self.max_target_tokens,
            max_batch_tokens=settings.max_tokens,
        )
        self.begin()

    @cached_property
    def search(self) -> Search:
        """The search of the engine. Raises UserError for a missing shortlist, or settings that it does not support."""
        settings, num_found = self.settings, self.num_hypotheses
        if isinstance(settings, BeamSettings) and settings.coverage_penalty:
            num_found = settings.beam_size  # the whole beam is ranked anew
        return self.engine.search(settings, num_found)

    @cached_property
    def demands(self) -> Demands:
        """Finds what translations must contain. Raises DataError for a glossary that is missing or none."""
        return Demands(self.settings, self.tokenizer.target)

    @cached_property
    def cutter(self) -> LineCutter:
        """Cuts long lines. Raises SettingsError where the library that finds sentences is not installed."""
        limit, spans = self.max_source_tokens, self.demands.protection.spans
        return LineCutter(self.settings, self.engine.learned_lengths, self._count_tokens, limit, spans)

    def begin(self) -> None:
        """Start the counts and the remarks anew."""
        self.remarks, self.num_tokens = Remarks(self.max_source_tokens), 0

    def translate(self, lines: Iterable[str], before: Sequence[str] = ()) -> Iterator[str]:
        """Yield the translation of each line; a blank line stays blank. Those `before` are read as context alone."""
        return (found.text for found in self.translations(lines, before=before))

    def translations(
        self, lines: Iterable[str], prefixes: Iterable[str] | None = None, before: Sequence[str] = ()
    ) -> Iterator[Translation]:
        """Yield the translations of consecutive lines, however many they are; see `translate_chunk`.

        Raises DataError where there are fewer `prefixes` than lines.
        """
        chunks = number_chunks(in_chunks(lines), self.context.num_lines, before=before)
        for chunk in chunks if prefixes is None else put_beside(chunks, prefixes, "prefixes"):
            yield from self.translate_chunk(chunk)

    def translate_chunk(self, chunk: Chunk) -> list[Translation]:
        """Return the translations of a chunk of lines, which are in memory together and batched by length.

        What is beside the lines are prefixes: the translation of each line begins with its own. A line without a word
        stays as it is, but for the space around it. Raises DataError for a prefix that is longer than what the model
        can write.
        """
        found = [Translation(line, [Candidate(self._without_words(line) or "")]) for line in chunk.lines]
        parts = self._parts(chunk)
        results = self._find([part.sentence for part in parts])
        ranked = [self._rank(hypotheses, part) for part, (hypotheses, _) in zip(parts, results, strict=True)]
        self.num_tokens += sum(len(best[0].tokens) for best in ranked)
        if self.details and parts:
            shown = [(part, *one) for part, some in zip(parts, ranked, strict=True) for one in some]
            of_parts, translations, tokens, pieces = zip(*shown, strict=True)
            texts, source = [part.text for part in of_parts], [part.sentence.source for part in of_parts]
            self.pairs.add_details(translations, texts, source, tokens, pieces)
            if self.calibration is not None:
                for one in translations:
                    self.calibration.judge(one)
        for i, numbers in groupby(range(len(parts)), key=lambda number: parts[number].line):
            several = list(numbers)
            texts = [parts[number].text for number in several]
            candidates = [[one.candidate for one in ranked[number]] for number in several]
            found[i].hypotheses = candidates[0]
            if len(texts) > 1:
                found[i].parts = texts
                found[i].hypotheses = join_parts(texts, candidates, self._split_tag(texts[0])[0])
            found[i].is_cut = any(parts[number].is_cut for number in several)
            found[i].seconds = max(results[number][1] for number in several)
            demands = [one for number in several for one in parts[number].demands]
            self._check(found[i], demands, chunk.num_before + i + 1)
        return found

    def _check(self, found: Translation, demands: Sequence[Demand], line: int) -> None:
        """Note in a translation its constraints and those that it does not meet, and count them."""
        if not demands:
            return
        unmet = self.demands.unmet(demands, found.text)
        found.constraints, found.unmet = [one.text for one in demands], [one.text for one in unmet]
        self.remarks.count_demands(line, [one.is_protected for one in demands], len(unmet))

    def _parts(self, chunk: Chunk) -> list[Part]:
        """Return the parts of all lines that have words, each with what the model is given; remark on some lines."""
        lines, num_before, prefixes, before = chunk
        with_text = [i for i, line in enumerate(lines) if self._without_words(line) is None]
        read = self.pairs.read([*before, *lines])
        begin = self._encode_prefixes(chunk, with_text)
        parts = []
        for i, prefix in zip(with_text, begin, strict=True):
            place = len(before) + i
            ids, earlier = read[place], read[max(0, place - self.pairs.context.num_lines) : place]
            tag, words = self._split_tag(lines[i])
            texts = self.cutter(words, len(ids))
            if tag:  # each part begins with it
                texts = [tagged(text, tag) for text in texts]
            ids_of_parts = [ids] if len(texts) == 1 else self.pairs.read(texts)
            if len(texts) > 1:
                self.remarks.split.add(num_before + i + 1)
            if max(map(len, ids_of_parts)) > self.max_source_tokens:
                self.remarks.cut.add(num_before + i + 1)
            # The earlier parts of a line are context, like lines before it.
            sources, short = self.pairs.join(earlier, ids_of_parts)
            if short:
                self.remarks.short.add(num_before + i + 1)
            for number, (text, alone, source) in enumerate(zip(texts, ids_of_parts, sources, strict=True)):
                given, given_text = ([], "") if number else (prefix, prefixes[i] if prefixes else "")
                is_cut = len(alone) > self.max_source_tokens
                demands = self._demands(text, is_cut)
                room = None if self.max_target_tokens is None else self.max_target_tokens - len(given)
                phrases = self.demands.phrases(demands, given_text, room) if demands else ()
                own_number = num_before + i + number * PARTS_APART
                is_whole = self.demands.are_last_in(given_text, demands)
                sentence = Sentence(source[: self.max_source_tokens], given, own_number, phrases, is_whole)
                if tuple(alone) not in self.without_text:
                    parts.append(Part(i, text, sentence, is_cut, demands, given_text))
        return parts

    def _without_words(self, line: str) -> str | None:
        """Return a line that has no word, without its tag: its emoji, or nothing of space alone; None if it has any."""
        text = self._split_tag(line)[1]
        if not is_wordless(text):
            return None
        is_visible = any(character.isprintable() and not character.isspace() for character in text)
        return text.strip().replace("\n", " ") if is_visible else ""

    def _demands(self, text: str, is_cut: bool) -> list[Demand]:
        """Return the demands on the translation of a part of a line, as far as the model reads the part."""
        tag, _ = self._split_tag(text)
        found = self.demands.of(text, text.index(tag) + len(tag))
        if not is_cut:
            return found
        read = self.pairs.read([text[: one.end] for one in found])
        return [one for one, ids in zip(found, read, strict=True) if len(ids) <= self.max_source_tokens]

    def _split_tag(self, text: str) -> tuple[str, str]:
        """Return the tag that a line, or a part of it, begins with, empty if there is none, and what follows it."""
        first, *rest = text.split(maxsplit=1) or [""]
        return (first, "".join(rest)) if first in self.line_tags else ("", text)

    def _count_tokens(self, text: str) -> int:
        """Count the tokens of a part of a line, with a tag, whichever it is, where the model has tags."""
        tag = next(iter(self.line_tags), None)
        return len(self.tokenizer.source.encode([text if tag is None else tagged(text, tag)])[0])

    def _find(self, sentences: Sequence[Sentence]) -> list[Found]:
        """Search the sentences; return the hypotheses, ranked by coverage as well if `coverage_penalty` is set."""
        found = self.search(sentences)
        if self.coverage_penalty:
            sources = [one.source for one in sentences]
            ranked = self.pairs.rank_by_coverage(sources, [some for some, _ in found], self.coverage_penalty)
            found = [Found(some, seconds) for some, (_, seconds) in zip(ranked, found, strict=True)]
        return found

    def _rank(self, hypotheses: Sequence[Hypothesis], part: Part) -> list[Shown]:
        """Return the translations of a part that are to be shown, best first if the search ranks them.

        Ranked translations are distinct as text; those of `sampling` stay as they were drawn. The groups of a beam take
        turns in what is shown.
        """
        texts, pieces = [], []
        for hypothesis in hypotheses:
            text, its_pieces = self._write(hypothesis, part)
            texts.append(text)
            pieces.append(its_pieces)
        scores = [hypothesis.score for hypothesis in hypotheses]
        order = list(range(len(texts)))
        if isinstance(self.settings, MBRSettings):
            scores = expected_utility(texts, texts, self.settings.utility).tolist()
            order = sorted(order, key=lambda i: -scores[i])
        if not isinstance(self.settings, SamplingSettings):
            first = {texts[i]: i for i in reversed(order)}
            order = [i for i in order if first[texts[i]] == i]
        shown = order[: self.num_hypotheses]
        if isinstance(self.settings, BeamSettings):
            # One that was cut has no score, and comes last.
            shown.sort(key=lambda i: math.inf if (score := scores[i]) is None else -score)
        return [Shown(Candidate(texts[i], scores[i]), hypotheses[i].tokens, pieces[i]) for i in shown]

    def _write(self, hypothesis: Hypothesis, part: Part) -> tuple[str, list[str]]:
        """Return the text of a hypothesis, and the piece of it that each token became."""
        vocabulary, given, begin = self.tokenizer.target, part.sentence.prefix, list[str]()
        if vocabulary.unk_id in given:  # the prefix has characters that the vocabulary lacks
            (begin,) = vocabulary.segment([part.prefix])

        def decode(tokens: Sequence[int]) -> str:
            text = vocabulary.decode(tokens)
            if not begin or list(tokens[: len(given)]) != list(given):
                return text
            known = "".join(begin).replace(WORD_START, " ")
            return " ".join(known.split()) + text.removeprefix(vocabulary.decode(given))

        if hypothesis.phrases:
            text, pieces = text_of(vocabulary, hypothesis, self.demands.literals(part.demands), decode)
        else:
            tokens = hypothesis.tokens
            text, pieces = decode(tokens), [vocabulary.pieces[token] for token in tokens]
        return text, [*begin, *pieces[len(begin) :]]

    def _encode_prefixes(self, chunk: Chunk, rows: Sequence[int]) -> list[list[int]]:
        if chunk.beside is None:
            return [[] for _ in rows]
        encoded = self.tokenizer.target.encode([chunk.beside[row] for row in rows])
        for row, ids in zip(rows, encoded, strict=True):
            if self.max_target_tokens is not None and len(ids) > self.max_target_tokens:
                raise DataError(
                    f"prefix: at most the {self.max_target_tokens} tokens that the model can write are needed; "
                    f"got {len(ids)} in line {chunk.num_before + row + 1}"
                )
        return encoded
