"""A way from one language to another through pivot languages."""

from collections.abc import Sequence
from dataclasses import replace

from nmt.decoding.translation import Candidate, Translation
from nmt.serving.batching import Wanted
from nmt.serving.text import Way


class Pivot:
    """Several models, each of which translates what the one before it found."""

    def __init__(self, ways: Sequence[Way]) -> None:
        self.ways = ways

    async def find(self, lines: Sequence[str], wanted: Wanted) -> list[Translation]:
        """Return the translations of the lines of a text; alternatives come from the last model alone."""
        *before, last = self.ways
        found: list[Translation] | None = None
        for way in before:
            found = _joined(found, await way.find(_texts(found, lines), Wanted(1, wanted.details)))
        return _joined(found, await last.find(_texts(found, lines), wanted))


def _texts(found: list[Translation] | None, lines: Sequence[str]) -> Sequence[str]:
    return lines if found is None else [one.text for one in found]


def _joined(first: list[Translation] | None, then: list[Translation]) -> list[Translation]:
    """Return `then`, the translations of `first`, as translations of what `first` translates."""
    if first is None:
        return then
    return [
        replace(
            two,
            source=one.source,
            hypotheses=[_through(one.hypotheses[0], candidate) for candidate in two.hypotheses],
            is_cut=one.is_cut or two.is_cut,
        )
        for one, two in zip(first, then, strict=True)
    ]


def _through(middle: Candidate, candidate: Candidate) -> Candidate:
    """Return a translation of a translation, its alignment composed of both.

    A target word goes back to the source words of the middle words that it is linked to. Its confidence is the mean
    of theirs times its own in the last model.
    """
    if middle.alignment is None or candidate.alignment is None:
        return replace(candidate, alignment=None, attention=[], word_confidences=[])
    sources_of: dict[int, list[int]] = {}
    for source, target in middle.alignment:
        sources_of.setdefault(target, []).append(source)
    links = {(source, target) for word, target in candidate.alignment for source in sources_of.get(word, ())}
    confidences = list(candidate.word_confidences)
    if middle.word_confidences:
        for target in range(len(confidences)):
            some = [middle.word_confidences[word] for word, other in candidate.alignment if other == target]
            confidences[target] *= sum(some) / len(some) if some else 1.0
    return replace(
        candidate,
        alignment=sorted(links, key=lambda link: link[::-1]),
        attention=[],
        word_confidences=confidences,
    )
