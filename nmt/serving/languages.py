"""The languages of a server by the names that clients use, and the pairs of them that it has a model for."""

from collections.abc import Iterable
from typing import Any

from nmt.runs.languages import CODES, Language
from nmt.serving.pairs import Pair
from nmt.serving.refusal import Refused

# As clients of LibreTranslate are told languages that have a code of their own inside.
SHOWN = {"pb": "pt-BR", "zh": "zh-Hans", "zt": "zh-Hant"}
AUTO = "auto"


def shown(code: str) -> str:
    """Return the code of a language as it stands in answers."""
    return SHOWN.get(code, code)


class Languages:
    """The languages of all pairs, in the order of their codes."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.pairs = {(pair.source.code, pair.target.code): pair for pair in pairs}
        named = (one for pair in self.pairs.values() for one in (pair.source, pair.target))
        self.by_code = {one.code: one for one in sorted(named)}
        self.sources = sorted({source for source, _ in self.pairs})

    def table(self) -> list[dict[str, Any]]:
        """Return each language with those that it is translated to, itself among them."""
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

    def detect(self) -> Language:
        """Return the language that all text is taken to be of. Raises Refused where there are several.

        Nothing looks at the text yet.
        """
        if len(self.sources) > 1:
            raise Refused(400, f"{AUTO} is not supported")
        return self.by_code[self.sources[0]]

    def pair(self, source: Language, target: Language) -> Pair | None:
        """Return the pair; None for a language and itself. Raises Refused for one that is not there."""
        if not self._reaches(source.code, target.code):
            raise Refused(
                400,
                f"{target.name} ({shown(target.code)}) is not available as a target language from "
                f"{source.name} ({shown(source.code)})",
            )
        return self.pairs.get((source.code, target.code))

    def _reaches(self, source: str, target: str) -> bool:
        return source == target or (source, target) in self.pairs
