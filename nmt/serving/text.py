"""A plain text, translated line by line."""

import re
from collections.abc import Sequence
from typing import Protocol

from nmt.decoding.translation import Translation
from nmt.serving.batching import Wanted

LINE_END = re.compile(r"(\r?\n)")


class Finds(Protocol):
    """What translates from one language to another."""

    async def find(self, lines: Sequence[str], wanted: Wanted) -> list[Translation]:
        """Return the translations of the lines of a text; one without a word stays as it is."""


async def translate_text(way: Finds, text: str, num_alternatives: int = 0) -> tuple[str, list[str]]:
    """Return the translation of a text, and others that it could have; its line ends stay as they are."""
    parts = LINE_END.split(text)
    found = await way.find(parts[::2], Wanted(1 + num_alternatives))
    texts = []
    for number in range(1 + num_alternatives):
        parts[::2] = [line.hypotheses[min(number, len(line.hypotheses) - 1)].text for line in found]
        texts.append("".join(parts))
    best, *others = dict.fromkeys(texts)
    return best, others
