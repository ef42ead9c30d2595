"""The languages of a server: the codes that clients use, detection, and the way from one language to another."""

from collections import deque
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from nmt.data.characters import is_wordless
from nmt.runs.languages import CODES, Language, shown
from nmt.serving.detection import MAX_CHARACTERS, Detector, Guess
from nmt.serving.language_pairs import Pair
from nmt.serving.pivot import Pivot
from nmt.serving.refusal import Refused
from nmt.serving.text import Way

AUTO = "auto"
# The detected language of text without a word, at confidence 0.
NO_LANGUAGE = "en"


class Languages:
    """The languages of all pairs, in the order of their codes, and the shortest way from each to each other."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.pairs = {(pair.source.code, pair.target.code): pair for pair in pairs}
        named = (one for pair in self.pairs.values() for one in (pair.source, pair.target))
        self.by_code = {one.code: one for one in sorted(named)}
        self.sources = sorted({source for source, _ in self.pairs})
        self.ways: dict[tuple[str, str], list[Pair]] = {}
        for source in self.sources:
            self._find_ways(source)

    @cached_property
    def detector(self) -> Detector:
        """The language detector, loaded at its first use: it takes tens of megabytes."""
        return Detector(self.by_code)

    def table(self) -> list[dict[str, Any]]:
        """Return each language with its target languages, itself among them."""
        return [
            {
                "code": shown(code),
                "name": language.name,
                "targets": [shown(other) for other in self.by_code if self._reaches(code, other)],
            }
            for code, language in self.by_code.items()
        ]

    def find(self, given: str) -> Language:
        """Return the language of a request. Raises Refused for one that the server does not have."""
        code = CODES.get(given.lower(), given.lower())
        if code not in self.by_code:
            raise Refused(400, f"{code} is not supported")
        return self.by_code[code]

    def detect(self, text: str) -> list[Guess]:
        """Return the languages that a text may be in, best first, at least one.

        Where the server has one source language alone, and the detector does not know it, return that, at confidence 0.
        """
        text = text.strip()[:MAX_CHARACTERS]  # before anything looks at each character
        only = self.sources[0] if len(self.sources) == 1 else None
        if only is not None and not self.detector.knows(only):
            return [Guess(only, 0.0)]
        if is_wordless(text):
            return [Guess(NO_LANGUAGE if NO_LANGUAGE in self.by_code else self.sources[0], 0.0)]
        return self.detector.guess(text) or [Guess(self.sources[0], 0.0)]

    def source_of(self, text: str, target: Language) -> Guess:
        """Return the language that a text is most likely in; where nothing tells, one with a way to the target."""
        guess = self.detect(text)[0]
        if guess.confidence or self._reaches(guess.code, target.code):
            return guess
        return Guess(next(one for one in self.sources if self._reaches(one, target.code)), 0.0)

    def way(self, source: Language, target: Language) -> Way | None:
        """Return the pair or pivot that translates; None from a language to itself. Raises Refused if no way exists."""
        if not self._reaches(source.code, target.code):
            raise Refused(
                400,
                f"{target.name} ({shown(target.code)}) is not available as a target language from "
                f"{source.name} ({shown(source.code)})",
            )
        if source == target:
            return None
        first, *others = self.ways[source.code, target.code]
        return Pivot([first, *others]) if others else first

    def _reaches(self, source: str, target: str) -> bool:
        return source == target or (source, target) in self.ways

    def _find_ways(self, source: str) -> None:
        """Find the ways from a language by breadth-first search: each goes through as few models as possible."""
        found: dict[str, list[Pair]] = {source: []}
        waiting = deque([source])
        while waiting:
            here = waiting.popleft()
            for (one, other), pair in self.pairs.items():
                if one == here and other not in found:
                    found[other] = [*found[here], pair]
                    waiting.append(other)
        self.ways |= {(source, target): way for target, way in found.items() if way}
