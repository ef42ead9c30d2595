"""The result for a line: its translations, and what is known of each."""

import math
from dataclasses import dataclass, field
from typing import Any

from nmt.decoding.word_alignment import Link, LinkShare


@dataclass
class Candidate:
    """One translation of a line.

    `score` is what the search ranked it by: in beam search the log-probability divided by the length penalty, plus what
    `coverage_penalty` adds; in `mbr` the expected utility. With details, `tokens` are its pieces, EOS last, and
    `token_log_probs` the model's log-probability of each, in nats, whatever the search did. `alignment` links words of
    the source to those of the text, both counted from 0; it is None for a blank line and for a model without attention.
    `attention` has, for each word of the text, the source words with at least a twentieth of its attention, and their
    shares.

    `word_log_probs` are the log-probabilities of the words of the text, in nats. Where the run has curves for it,
    `word_confidences` estimate how probably each word is right, and `confidence` which share of them is right.
    Elsewhere they are empty, and None.
    """

    text: str
    score: float | None = None
    tokens: list[str] = field(default_factory=list)
    token_log_probs: list[float] = field(default_factory=list)
    alignment: list[Link] | None = None
    word_log_probs: list[float] = field(default_factory=list)
    confidence: float | None = None
    word_confidences: list[float] = field(default_factory=list)
    attention: list[LinkShare] = field(default_factory=list)

    @property
    def log_prob(self) -> float | None:
        """The log-probability of the whole, in nats; None without details."""
        return math.fsum(self.token_log_probs) if self.token_log_probs else None

    def as_dict(self) -> dict[str, Any]:
        """Return it as an object for JSON."""
        return {
            "text": self.text,
            "score": _rounded(self.score),
            "log_prob": _rounded(self.log_prob),
            "tokens": self.tokens,
            "token_log_probs": [_rounded(value) for value in self.token_log_probs],
            "alignment": self.alignment,
            "confidence": _rounded(self.confidence),
            "word_confidences": [_rounded(value) for value in self.word_confidences],
        }


@dataclass
class Translation:
    """The translations of one line, best first; `str` returns the best one.

    `is_cut`: the line, or a part of it, was longer than the model or `decoding.max_source_tokens` allow. `parts` are
    what it was split into, none if it was not.
    `constraints` are the strings that its translation must contain, from a glossary or because they must not change,
    and `unmet` are those that it lacks. `seconds` is the time that its batch took, or the slowest batch of its parts.
    """

    source: str
    hypotheses: list[Candidate]
    is_cut: bool = False
    parts: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @classmethod
    def unchanged(cls, line: str) -> "Translation":
        """Return a line as its own translation."""
        return cls(line, [Candidate(line)])

    @property
    def text(self) -> str:
        """The best translation."""
        return self.hypotheses[0].text

    def __str__(self) -> str:
        return self.text

    def as_dict(self, line: int) -> dict[str, Any]:
        """Return it as an object for JSON; `line` is the number of the line, from 1."""
        return {
            "line": line,
            "source": self.source,
            "hypotheses": [one.as_dict() for one in self.hypotheses],
            "cut": self.is_cut,
            "parts": self.parts,
            "constraints": self.constraints,
            "unmet": self.unmet,
            "milliseconds": round(1000 * self.seconds, 3),
        }


def _rounded(value: float | None) -> float | None:
    """Drop digits that 32-bit numbers do not have."""
    return None if value is None else round(value, 6)
