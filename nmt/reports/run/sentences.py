"""Single sentences: those that teach most, and a list to search, with missing and new words marked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from nmt.data.arrays import BoolArray
from nmt.evaluation.calibration import common_words
from nmt.reports.drawing.shapes import cut
from nmt.reports.run.measures import Measures, ReportText

MAX_CHARACTERS = 2000  # of a sentence that is shown
RIGHT = 99.9  # chrF: a sentence that scores more has no fault to learn from
MAX_LISTED = 300  # sentences in the list to search: of more, so many at even distances
SIGNS = {
    "empty": "nothing at all",
    "copies": "a copy of the source",
    "repetitions": "a word three times, or a phrase twice, in a row",
    "untranslated": "a word of the source left as it was",
    "numbers_lost": "a number lost",
}

Words = list[tuple[str, str]]  # each a class of the style sheet, or "", and the words that have it


@dataclass(frozen=True)
class ShownSentence:
    """A line of the text with its translations, as they are shown."""

    line: int  # from 1
    source: str
    reference: Words
    translations: list[tuple[str, float, Words]]  # name, chrF
    signs: list[str]  # those of SIGNS that a translation shows

    @property
    def length(self) -> int:
        """How many words the source has."""
        return len(self.source.split())

    @property
    def score(self) -> float:
        """The chrF of the first translation."""
        return self.translations[0][1]

    @property
    def difference(self) -> float:
        """How much better the last translation is than the first, in chrF."""
        return self.translations[-1][1] - self.score


@dataclass(frozen=True)
class ShownSentences:
    """Single sentences, as a page shows them."""

    chosen: list[tuple[str, list[ShownSentence]]]
    listed: list[ShownSentence]
    number: int  # of lines in the text
    signs: list[tuple[str, str]]


def sentences(runs: Sequence[Measures], shared: ReportText, number: int) -> ShownSentences:
    """Return the sentences that teach most, `number` of each kind, and a list of MAX_LISTED at most."""
    total = len(shared.text.source)
    step = max(total / MAX_LISTED, 1.0)
    return ShownSentences(
        [
            (name, [_sentence(runs, shared, i) for i in lines])
            for name, lines in choose(runs, shared.text.target, number)
        ],
        [_sentence(runs, shared, int(k * step)) for k in range(min(total, MAX_LISTED))],
        total,
        list(SIGNS.items()),
    )


def choose(
    runs: Sequence[Measures], references: Sequence[str], number: int
) -> Iterator[tuple[str, list[int]]]:
    """Yield kinds of sentences with the lines of each; no two lines have the same reference.

    The kinds of two runs are where each gains most over the other. Those of one run are its worst sentences, long
    ones that are right, which say more than short ones, and ones with its usual faults.
    """
    first, last = runs[0].sentence_scores, runs[-1].sentence_scores
    # A blank reference has a score of 0, and shows nothing.
    with_text = [i for i, reference in enumerate(references) if reference.strip()]
    faulty = sorted(first[i] for i in with_text if first[i] < RIGHT)
    middle = faulty[len(faulty) // 2] if faulty else 0.0
    by_difference: dict[str, Callable[[int], float]] = {
        f"Where {runs[0].name} gains most": lambda i: last[i] - first[i],
        f"Where {runs[-1].name} gains most": lambda i: first[i] - last[i],
    }
    by_score: dict[str, Callable[[int], float]] = {
        "The worst": lambda i: first[i],
        "Long and right": lambda i: -len(references[i].split()) * first[i] ** 4,
        "In between": lambda i: abs(first[i] - middle),
    }
    shown: set[str] = set()
    for name, rank in (by_difference if len(runs) > 1 else by_score).items():
        lines: list[int] = []
        for i in sorted(with_text, key=rank):
            gains = len(runs) == 1 or rank(i) < 0
            if gains and len(lines) < number and references[i] not in shown:
                shown.add(references[i])
                lines.append(i)
        yield name, lines


def word_diff(reference: str, hypothesis: str) -> tuple[Words, Words]:
    """Return the words of both: those that the hypothesis lacks as missing, those that only it has as new."""
    wanted, there = reference.split(), hypothesis.split()
    is_right, is_found = common_words(there, wanted)

    def runs_of(words: Sequence[str], is_common: BoolArray, kind: str) -> Words:
        kinds = zip(words, is_common.tolist(), strict=True)
        return [
            ("" if common else kind, " ".join(word for word, _ in some))
            for common, some in groupby(kinds, key=lambda one: one[1])
        ]

    return runs_of(wanted, is_found, "missing"), runs_of(there, is_right, "new")


def _sentence(runs: Sequence[Measures], shared: ReportText, i: int) -> ShownSentence:
    source, reference = (cut(side[i], MAX_CHARACTERS) for side in (shared.text.source, shared.text.target))
    found = [word_diff(reference, cut(one.hypotheses[i], MAX_CHARACTERS)) for one in runs]
    names = ["translation"] if len(runs) == 1 else [one.name for one in runs]
    return ShownSentence(
        i + 1,
        source,
        found[0][0] if len(runs) == 1 else [("", reference)],
        [
            (name, one.sentence_scores[i], words)
            for name, one, (_, words) in zip(names, runs, found, strict=True)
        ],
        [sign for sign in SIGNS if any(i in getattr(one.signs, sign) for one in runs)],
    )
