"""Details of a translation's words: which source words each goes back to, and how sure the model is of it."""

from collections.abc import Sequence
from typing import Any

from nmt.decoding.translation import Translation

NUM_DIGITS = 4  # of a confidence, and of a share


def details_of(found: Sequence[Translation]) -> dict[str, Any]:
    """Return the words of a text on both sides, numbered across its lines, and the details of the best translations.

    `alignment` has pairs of a word's number in `source` and one in `target`, `attention` such pairs with a share of
    attention, and `confidences` one confidence for each word of `target`, None where the model says nothing.
    """
    source: list[str] = []
    target: list[str] = []
    alignment: list[tuple[int, int]] = []
    attention: list[tuple[int, int, float]] = []
    confidences: list[float | None] = []
    for line in found:
        best = line.hypotheses[0]
        words, translated = line.source.split(), best.text.split()
        # A tokenizer that normalises may count words differently: links beyond the last word lead nowhere.
        alignment += [
            (len(source) + one, len(target) + other)
            for one, other in best.alignment or ()
            if one < len(words) and other < len(translated)
        ]
        attention += [
            (len(source) + one, len(target) + other, round(share, NUM_DIGITS))
            for one, other, share in best.attention
            if one < len(words) and other < len(translated)
        ]
        known = len(best.word_confidences) == len(translated)
        confidences += [
            round(best.word_confidences[i], NUM_DIGITS) if known else None for i in range(len(translated))
        ]
        source += words
        target += translated
    return {
        "source": source,
        "target": target,
        "alignment": alignment,
        "attention": attention,
        "confidences": confidences,
    }
