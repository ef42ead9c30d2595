"""What a translator needs of whatever computes: sentences of ids in, hypotheses of ids out; what it says of pairs."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from nmt.config import DecodingSettings
from nmt.data.arrays import FloatArray
from nmt.data.learned_lengths import LearnedLengths
from nmt.data.tokenizer import Tokenizer


class Sentence(NamedTuple):
    """A source as ids, without EOS; what its translation begins with; and its number, for what is drawn at random.

    Behind what it begins with, its translation has all `phrases`, each of one token at least or left out.
    """

    source: Sequence[int]
    prefix: Sequence[int] = ()
    number: int = 0
    phrases: Sequence[Sequence[int]] = ()

    @property
    def num_given(self) -> int:
        """The tokens that the translation has in any case."""
        return len(self.prefix) + sum(map(len, self.phrases))


class Hypothesis(NamedTuple):
    """A translation as ids, without EOS, and what the search ranks it by, where it ranks.

    `phrases` are the phrases that the tokens belong to, -1 for none, where a translation must have some.
    """

    tokens: list[int]
    score: float | None = None
    phrases: Sequence[int] = ()


class Found(NamedTuple):
    """What was found for a sentence, of a beam the best first, and the seconds that went by with its batch."""

    hypotheses: list[Hypothesis]
    seconds: float


class Reads(Protocol):
    """What reads sentences of some length: at most `max_positions` tokens, EOS counted; None: as many as there are.

    `learned_lengths` are those of the lines that it learned from, None where they are not known.
    """

    max_positions: int | None
    learned_lengths: LearnedLengths | None


class Search(Protocol):
    """A way of searching with a model."""

    def __call__(self, sentences: Sequence[Sentence]) -> list[Found]:
        """Return the hypotheses of all sentences, in their order."""


class Engine(Reads, Protocol):
    """A model, with its tokenizer, in whatever computes it."""

    tokenizer: Tokenizer

    def search(self, settings: DecodingSettings, num_hypotheses: int) -> Search:
        """Return a search for so many hypotheses of each sentence.

        Raises UserError for what it lacks: a shortlist, or a way of searching that it does not have.
        """

    def token_log_probs(
        self, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]], max_tokens: int
    ) -> list[list[float]]:
        """Return the log-probability, in nats, of each token of given translations, EOS last.

        `max_tokens` padded tokens of a side go through the model at once.
        """

    def attention(
        self, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]
    ) -> list[FloatArray] | None:
        """Return how much of each source token goes into each target token of given translations.

        Each is an array (T, S), EOS of both sides counted, or with more behind it. None without attention.
        """


def limit_of(num_source_tokens: int, settings: DecodingSettings, max_positions: int | None) -> int:
    """Return the most tokens, EOS not counted, of a translation of so many."""
    limit = int(num_source_tokens * settings.max_length_ratio) + settings.max_length_extra
    return max(1, limit if max_positions is None else min(limit, max_positions - 1))


def most_read(model: Reads, max_source_tokens: int) -> tuple[int, int]:
    """Return how many tokens of a source line a model reads, at most so many, and how many with those before it."""
    alone = (
        max_source_tokens if model.max_positions is None else min(max_source_tokens, model.max_positions - 1)
    )
    learned = model.learned_lengths and model.learned_lengths.with_context
    return alone, min(alone, learned or alone)
