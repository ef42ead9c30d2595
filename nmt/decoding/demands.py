"""What the translation of a line must contain: translations of glossary terms, and strings that must not change."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from nmt.config import BeamSettings, DecodingSettings
from nmt.data.glossary import Glossary, is_whole_word, read_glossary
from nmt.data.protection import Protection
from nmt.data.tokenizer import Vocabulary
from nmt.decoding.literal_text import Literal

# Of a string with more tokens, the model is given only the first and the last ones: the text gets the whole string in
# any case, and each token costs a row of the beam.
MAX_TOKENS = 4


class Demand(NamedTuple):
    """A string that a translation must contain: a term's translation or, if `is_protected`, a string of the source.

    The term or string ends in the source line at `end`. `before` is the character right before it; it is empty if there
    is none or if it is white space.
    """

    text: str
    is_protected: bool
    end: int
    before: str


class Demands:
    """Finds what translations of lines must have, by `decoding.glossary` and `decoding.protect`."""

    def __init__(self, settings: DecodingSettings, vocabulary: Vocabulary) -> None:
        """Read the glossary. Raises DataError where it is missing or is no glossary."""
        path = settings.glossary if isinstance(settings, BeamSettings) else None
        patterns = settings.protect if isinstance(settings, BeamSettings) else []
        self.glossary = Glossary({}) if path is None else read_glossary(path)
        self.protection, self.vocabulary = Protection(patterns), vocabulary
        self.are_there = bool(path or patterns)

    def of(self, line: str, start: int = 0) -> list[Demand]:
        """Return the demands on the translation of a line, without its first `start` characters.

        A protected string is demanded as often as it stands in the line, the translation of a term once.
        """
        if not self.are_there:
            return []
        text, found = line[start:], []
        spans = list(self.protection.spans(text))
        terms = {
            term.translation: (term.start, term.end)
            for term in reversed(list(self.glossary.find(text)))
            if all(term.end <= begin or end <= term.start for begin, end in spans)
        }
        asked = [(text[begin:end], True, begin, end) for begin, end in spans]
        asked += [(translation, False, *span) for translation, span in terms.items()]
        for wanted, is_protected, begin, end in asked:
            before = text[begin - 1 : begin] if begin else ""
            found.append(Demand(wanted, is_protected, start + end, before.strip()))
        return sorted(found, key=lambda demand: demand.end)

    def unmet(self, demands: Sequence[Demand], text: str) -> list[Demand]:
        """Return the `demands` that a text does not meet; a protected string must occur once for each demand of it."""
        if not demands:
            return []
        there = Counter(text[begin:end] for begin, end in self.protection.spans(text))
        found = []
        for demand in demands:
            if demand.is_protected:
                is_met = there[demand.text] > 0
                there[demand.text] -= 1
            else:
                is_met = _has_word(text, demand.text)
            if not is_met:
                found.append(demand)
        return found

    def phrases(self, demands: Sequence[Demand], prefix: str, room: int | None) -> list[list[int]]:
        """Return, for each demand, the token ids that must follow a prefix, at most `room` in all.

        The ids are an empty list if the prefix has the string already, or if there is no room for it.
        """
        missing, half = self.unmet(demands, prefix), MAX_TOKENS // 2
        phrases: list[list[int]] = []
        for demand, ids in zip(demands, self.vocabulary.encode([one.text for one in demands]), strict=True):
            # A string that the vocabulary encodes to nothing, not even UNK, needs a place all the same.
            given = [*ids[:half], *ids[-half:]] if len(ids) > MAX_TOKENS else ids or [self.vocabulary.unk_id]
            has_room = room is None or sum(map(len, phrases)) + len(given) <= room
            phrases.append(given if demand in missing and has_room else [])
        return phrases

    def are_last_in(self, prefix: str, demands: Sequence[Demand]) -> bool:
        """Whether one of the demanded strings is the last of a prefix, and stands by itself there."""
        text = prefix.rstrip()
        return any(
            text.endswith(one.text) and self._is_whole(one, text, len(text) - len(one.text))
            for one in demands
        )

    def literals(self, demands: Sequence[Demand]) -> list[Literal]:
        """Return the demanded strings as literals, to be put into the text."""
        return [Literal(one.text, one.before, partial(self._is_whole, one)) for one in demands]

    def _is_whole(self, demand: Demand, text: str, begin: int) -> bool:
        span = begin, begin + len(demand.text)
        return span in self.protection.spans(text) if demand.is_protected else is_whole_word(text, *span)


def _has_word(text: str, word: str) -> bool:
    begin = text.find(word)
    while begin >= 0:
        if is_whole_word(text, begin, begin + len(word)):
            return True
        begin = text.find(word, begin + 1)
    return False
