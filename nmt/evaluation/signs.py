"""Faults of single translations, by signs that need no judge: copies, repetitions, lost numbers."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nmt.data.characters import word_pattern

# In groups of three digits, or in one.
NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[.,\u00a0\u202f' ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?")
MIN_UNTRANSLATED = 4  # letters: many shorter words are the same in two languages
MAX_REPEATED = 6  # words of a phrase that may be repeated


@dataclass(frozen=True)
class Signs:
    """Indices of the lines with each sign; `untranslated` and `numbers_lost` map these to words and numbers."""

    empty: list[int]  # the source has text, the translation none
    copies: list[int]  # the words of the source, but for case; the reference has others
    repetitions: list[int]  # a word three times, or a phrase twice, in a row, where the reference has none
    untranslated: dict[int, list[str]]  # words that are also in the source, but not in the reference
    numbers_lost: dict[int, list[str]]  # numbers of source and reference that are missing
    num_numbers: int  # that source and reference share, so that a translation should have them


def find_signs(source: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]) -> Signs:
    """Look at each line of a translation beside its source and its reference."""
    empty, copies, repetitions = list[int](), list[int](), list[int]()
    untranslated, numbers_lost = dict[int, list[str]](), dict[int, list[str]]()
    num_numbers = 0
    for i, (text, hypothesis, reference) in enumerate(zip(source, hypotheses, references, strict=True)):
        if text.strip() and not hypothesis.strip():
            empty.append(i)
        if text.strip() and _words(text) == _words(hypothesis) != _words(reference):
            copies.append(i)
        if repeats(hypothesis) and not repeats(reference):
            repetitions.append(i)
        if words := _untranslated(text, hypothesis, reference):
            untranslated[i] = words
        wanted = Counter(numbers(text)) & Counter(numbers(reference))
        num_numbers += wanted.total()
        if lost := list((wanted - Counter(numbers(hypothesis))).elements()):
            numbers_lost[i] = lost
    return Signs(empty, copies, repetitions, untranslated, numbers_lost, num_numbers)


def repeats(line: str) -> bool:
    """Return whether a word comes three times in a row, or a phrase of up to six words twice."""
    words = _words(line)
    for size in range(1, MAX_REPEATED + 1):
        times = 3 if size == 1 else 2
        for start in range(len(words) - times * size + 1):
            phrase = words[start : start + size]
            following = (words[start + n * size : start + (n + 1) * size] for n in range(1, times))
            if all(other == phrase for other in following):
                return True
    return False


def numbers(line: str) -> list[str]:
    """Return the numbers in a line by their digits, however a language groups them: 1.000 and 1,000 are one."""
    return [re.sub(r"\D", "", number) for number in NUMBER.findall(line)]


def word_recall(
    hypotheses: Sequence[str], references: Sequence[str], frequencies: Counter[str], bounds: Sequence[int]
) -> list[tuple[str, int, int]]:
    """Return how many words of the references are in the translations, by how often they are in the training text.

    There is one tuple for each range up to the rising `bounds`, and one for what is beyond: (name, words that were
    found, words that there are).
    """
    totals, hits = [0] * (len(bounds) + 1), [0] * (len(bounds) + 1)
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        wanted, there = Counter(tokens(reference)), Counter(tokens(hypothesis))
        for word, count in wanted.items():
            rank = sum(frequencies[word] > bound for bound in bounds)
            totals[rank] += count
            hits[rank] += min(count, there[word])
    lows = [0, *(bound + 1 for bound in bounds)]
    names = [str(low) if low == high else f"{low}–{high}" for low, high in zip(lows, bounds, strict=False)]
    return list(zip([*names, f"{lows[-1]}+"], hits, totals, strict=True))


def count_tokens(lines: Sequence[str]) -> Counter[str]:
    """Return how often each word is in a text."""
    return Counter(token for line in lines for token in tokens(line))


def rarest(line: str, frequencies: Counter[str]) -> int:
    """Return how often the rarest word of a line is in the text of `frequencies`."""
    return min((frequencies[token] for token in tokens(line)), default=0)


def tokens(line: str) -> list[str]:
    """Return the words of a line, as they are written, without what stands between them."""
    return word_pattern().findall(line)


def _words(line: str) -> list[str]:
    return [word.casefold() for word in tokens(line)]


def _untranslated(source: str, hypothesis: str, reference: str) -> list[str]:
    given, wanted = set(_words(source)), set(_words(reference))
    return [
        word
        for word in tokens(hypothesis)
        if len(word) >= MIN_UNTRANSLATED
        and not any(character.isnumeric() or character == "_" for character in word)
        and word.casefold() in given
        and word.casefold() not in wanted
    ]
