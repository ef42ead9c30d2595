"""What a model says of given translations: how probable each token is, and which words belong together."""

from collections.abc import Sequence

import numpy as np

from nmt.data.arrays import Int64Array
from nmt.data.context import Context, encode_lines
from nmt.data.mixture import tagged
from nmt.data.tokenizer import word_numbers
from nmt.decoding.engine import Engine, Hypothesis
from nmt.decoding.remarks import Remarks
from nmt.decoding.translation import Candidate
from nmt.decoding.word_alignment import attention_of_words, link_words, shares_of_words, word_log_probs
from nmt.errors import RunError

# The least attention that a source token counts with, so that the logarithm of none at all is finite.
LEAST_ATTENTION = 1e-6

Sentences = Sequence[Sequence[int]]


class PairReader:
    """A model that reads pairs of a source and a given translation.

    Source lines begin with the `tag` of a language, where a model of many languages needs one. `remarks` are on pairs
    of which a side was longer than `max_source_tokens` or `max_target_tokens`, or lacks context; `num_tokens` counts
    the tokens of translations. A source has `context` as far as it fits into `max_with_context` tokens. A batch has at
    most `max_batch_tokens` padded tokens of a side.
    """

    def __init__(
        self,
        engine: Engine,
        context: Context,
        tag: str | None,
        max_source_tokens: int,
        max_with_context: int,
        max_target_tokens: int | None,
        max_batch_tokens: int,
    ) -> None:
        self.engine, self.tokenizer, self.context, self.tag = engine, engine.tokenizer, context, tag
        self.max_source_tokens, self.max_target_tokens = max_source_tokens, max_target_tokens
        self.max_with_context, self.max_batch_tokens = max_with_context, max_batch_tokens
        self.begin()

    def begin(self) -> None:
        """Start the counts and the remarks anew."""
        self.remarks, self.num_tokens = Remarks(self.max_source_tokens), 0

    def score(
        self, sources: Sequence[str], targets: Sequence[str], num_before: int = 0, before: Sequence[str] = ()
    ) -> list[Candidate]:
        """Return given translations with the log-probability of each token; both sides are cut to what can be read.

        `before` are the source lines right before the sources, as many as the context has; `num_before` is the number
        of all lines before them.
        """
        found = [Candidate(text) for text in targets]
        source, target = self._encode(sources, targets, num_before, before)
        self._add_log_probs(found, source, target)
        return found

    def align(
        self, sources: Sequence[str], targets: Sequence[str], num_before: int = 0, before: Sequence[str] = ()
    ) -> list[Candidate]:
        """Link the words of given translations to those of their sources, as `score` takes them.

        Raises RunError for a model without attention.
        """
        found = [Candidate(text) for text in targets]
        source, target = self._encode(sources, targets, num_before, before)
        written = self.tokenizer.target.word_numbers(targets)
        self._add_alignment(found, source, target, self._words_read(sources), written)
        if any(one.alignment is None for one in found):
            raise RunError(
                "run: model=attention or model=transformer is needed, since attention is what aligns; "
                "got a run without attention"
            )
        return found

    def _encode(
        self, sources: Sequence[str], targets: Sequence[str], num_before: int, before: Sequence[str]
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Return the token ids of pairs, cut to what the model can read; note those that are cut or lack context."""
        source, short = self.read_with_context(sources, before)
        for i in short:
            self.remarks.short.add(num_before + i + 1)
        target = self.tokenizer.target.encode(targets)
        for i, (ids, others) in enumerate(zip(source, target, strict=True)):
            if len(ids) > self.max_source_tokens or len(others) > (self.max_target_tokens or len(others)):
                self.remarks.cut.add(num_before + i + 1)
        target = [ids[: self.max_target_tokens] for ids in target]
        self.num_tokens += sum(map(len, target))
        return [ids[: self.max_source_tokens] for ids in source], target

    def add_details(
        self,
        candidates: Sequence[Candidate],
        lines: Sequence[str],
        source: Sentences,
        target: Sentences,
        pieces: Sequence[Sequence[str]],
    ) -> None:
        """Add log-probabilities and alignment to translations of `lines`, one each; the ids are `source` and `target`.

        `pieces` are the parts of the text that the target ids became. Lines may have been cut.
        """
        self._add_log_probs(candidates, source, target)
        for one, some in zip(candidates, pieces, strict=True):
            one.word_log_probs = word_log_probs(one.text, some, one.token_log_probs[:-1])
        written = [word_numbers(some) for some in pieces]
        self._add_alignment(candidates, source, target, self._words_read(lines), written)

    def read(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the token ids of source lines, each without context."""
        return encode_lines(self.tokenizer.source, self.with_tag(lines))

    def join(
        self, before: Sequence[list[int]], sentences: Sequence[list[int]]
    ) -> tuple[list[list[int]], list[int]]:
        """Put ids from `read` behind their context; return them, and the indices of those that lack some of it."""
        return self.context.join(before, sentences, self.max_with_context)

    def read_with_context(
        self, lines: Sequence[str], before: Sequence[str] = ()
    ) -> tuple[list[list[int]], list[int]]:
        """Return the token ids of source lines behind their context, and the indices of those that lack some of it."""
        read = self.read([*before, *lines])
        return self.join(read[: len(before)], read[len(before) :])

    def with_tag(self, lines: Sequence[str]) -> Sequence[str]:
        """Return source lines as the tokenizer is to read them."""
        return lines if self.tag is None else [tagged(line, self.tag) for line in lines]

    def _words_read(self, lines: Sequence[str]) -> list[Int64Array]:
        """Return the word number of each piece of source lines; the tag of a language does not count as a word."""
        num_tags = 0 if self.tag is None else 1
        return [numbers - num_tags for numbers in self.tokenizer.source.word_numbers(self.with_tag(lines))]

    def _add_log_probs(self, candidates: Sequence[Candidate], source: Sentences, target: Sentences) -> None:
        """Add tokens and their log-probabilities to candidates, whose ids are `source` and `target`."""
        names, eos_id = self.tokenizer.target.pieces, self.tokenizer.target.eos_id
        found = self.engine.token_log_probs(source, target, self.max_batch_tokens)
        for candidate, ids, log_probs in zip(candidates, target, found, strict=True):
            candidate.tokens = [names[i] for i in [*ids, eos_id]]
            candidate.token_log_probs = log_probs

    def _add_alignment(
        self,
        candidates: Sequence[Candidate],
        source: Sentences,
        target: Sentences,
        read: Sequence[Int64Array],
        written: Sequence[Int64Array],
    ) -> None:
        """Add the alignment of words to candidates, whose ids are `source` and `target`.

        `read` and `written` are the word numbers of the pieces of each side, also of pieces that were cut off.
        """
        found = self.engine.attention(source, target)
        if found is None:
            return
        for row, weights in enumerate(found):
            num_before = max(0, len(source[row]) - len(read[row]))  # tokens of the context
            words = np.pad(read[row], (num_before, 0), constant_values=-1)
            sides = words[: len(source[row])], written[row][: len(target[row])]
            attention = attention_of_words(weights, *sides)
            candidates[row].alignment = link_words(attention)
            candidates[row].attention = shares_of_words(attention)

    def coverage(self, source: Sentences, target: Sentences) -> list[float]:
        """Return how well translations cover their sources, both as token ids: 0 is full coverage, and less is worse.

        It is the sum, over the tokens of a source without its context, of the logarithm of the attention that each gets
        from all tokens of the translation, at most 1 (Wu et al. 2016). Raises RunError for a model without attention.
        """
        found = self.engine.attention(source, target)
        if found is None:
            raise RunError(
                "decoding.coverage_penalty: 0 is needed for a model without attention (model=rnn); got more"
            )
        covered = []
        for weights, ids, translation in zip(found, source, target, strict=True):
            places = [i for i, token in enumerate(ids) if token == self.context.separator_id]
            first = places[-1] + 1 if places else 0  # of the line itself, behind its context
            attended = weights[: len(translation) + 1, first : len(ids)].sum(0)
            covered.append(float(np.log(attended.clip(LEAST_ATTENTION, 1)).sum()))
        return covered

    def rank_by_coverage(
        self, sources: Sentences, found: Sequence[Sequence[Hypothesis]], penalty: float
    ) -> list[list[Hypothesis]]:
        """Rank the hypotheses that a beam found for each source by their score plus `penalty` times their coverage."""
        of_each = [source for source, some in zip(sources, found, strict=True) for _ in some]
        covered = iter(self.coverage(of_each, [one.tokens for some in found for one in some]))

        def scored(one: Hypothesis) -> Hypothesis:
            return one._replace(score=(one.score or 0.0) + penalty * next(covered))

        return [sorted(map(scored, some), key=lambda one: -(one.score or 0.0)) for some in found]
