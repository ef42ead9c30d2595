"""What a line became: its translations, and what is known of each."""

import math
from dataclasses import dataclass, field
from typing import Any

from nmt.decoding.word_alignment import Link, Share


@dataclass
class Candidate:
    """One translation of a line.

    `score` is what the search ranked it by: of a beam the log-probability over the length penalty, of `mbr` the
    expected utility. With details, `tokens` are its pieces, EOS last, and `token_log_probs` what the model says of
    each, in nats, whatever the search did; `alignment` links words of the source to those of the text, both counted
    from 0, and is None for a blank line and for a model without attention; `attention` has the shares of all source
    words on which no less than a twentieth of that of a word lies.

    `word_log_probs` are those of the words of the text, in nats; where the run has curves for it, `word_confidences`
    say how sure to be that each is right, and `confidence` which share of them is. They are empty, and None, elsewhere.
    """

    text: str
    score: float | None = None
    tokens: list[str] = field(default_factory=list)
    token_log_probs: list[float] = field(default_factory=list)
    alignment: list[Link] | None = None
    word_log_probs: list[float] = field(default_factory=list)
    confidence: float | None = None
    word_confidences: list[float] = field(default_factory=list)
    attention: list[Share] = field(default_factory=list)

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
    """The translations of one line, best first; as text it is the best one.

    `is_cut`: the line was longer than the model can read. `parts` are what it was split into, none if it was not.
    `constraints` are what its translation was to have, by a glossary or since it must not change, and `unmet` what of
    them it has not. `seconds` went by while it was translated, together with the others of its batch.
    """

    source: str
    hypotheses: list[Candidate]
    is_cut: bool = False
    parts: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)
    seconds: float = 0.0

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
