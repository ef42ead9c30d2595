"""A plain text, translated line by line."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from nmt.decoding.translation import Translation
from nmt.documents.plain import LINE_END
from nmt.serving.batching import Wanted
from nmt.serving.details import details_of


class Way(Protocol):
    """What translates from one language to another."""

    async def find(self, lines: Sequence[str], wanted: Wanted) -> list[Translation]:
        """Return the translations of the lines of a text; a line without a word stays as it is."""


class Translated(NamedTuple):
    """The translation of a text, the alternatives to it, and the details of its words, or None."""

    text: str
    others: list[str]
    details: dict[str, Any] | None


async def find(way: Way | None, lines: Sequence[str], wanted: Wanted) -> list[Translation]:
    """Return the translations of the lines of a text; where `way` is None, all stay as they are."""
    if way is None:
        return [Translation.unchanged(line) for line in lines]
    return await way.find(lines, wanted)


async def translate_text(
    way: Way | None, text: str, num_alternatives: int = 0, details: bool = False
) -> Translated:
    """Return the translation of a text; its line ends stay as they are, and so does all where `way` is None."""
    parts = LINE_END.split(text)
    found = await find(way, parts[::2], Wanted(1 + num_alternatives, details))
    texts = []
    for number in range(1 + num_alternatives):
        parts[::2] = [line.hypotheses[min(number, len(line.hypotheses) - 1)].text for line in found]
        texts.append("".join(parts))
    best, *others = dict.fromkeys(texts)
    return Translated(best, others, details_of(found) if details else None)
