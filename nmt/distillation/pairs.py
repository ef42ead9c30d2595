"""The pairs that a student learns from, chosen from the translations of its teachers.

The translations of training sources take the place of their references (Kim & Rush 2016). A teacher of the reverse
direction translates the references; its translations are added as further sources (Sennrich et al. 2016). With both and
the original pairs, a model learns from its own text three times over (data diversification, Nguyen et al. 2020).
"""

import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any

from nmt.config import DistillationSettings
from nmt.data.encoding import UTF_8
from nmt.data.lines import iterate_lines
from nmt.decoding.expected_utility import expected_utility
from nmt.distillation.folder import READ, REFERENCE, REVERSED, SOURCE, TARGET, TRANSLATIONS, StudentFolder
from nmt.distillation.translations import read_translations
from nmt.errors import DataError
from nmt.files.writing import being_written

logger = logging.getLogger(__name__)


def choose_pairs(folder: StudentFolder, settings: DistillationSettings) -> dict[str, Any]:
    """Write the pairs to learn from; return their number, that of all translations, and of those left out, by reason.

    Pairs from `distillation.reverse` come last. Raises DataError if no pair is left.
    """
    left_out, num_pairs, num_translations = Counter[str](), 0, 0
    with ExitStack() as stack:
        files = [stack.enter_context(being_written(folder.text(name))) for name in (SOURCE, TARGET)]
        for read, beside, written in ((READ, REFERENCE, TRANSLATIONS), (REFERENCE, READ, REVERSED)):
            is_reversed = written == REVERSED
            if is_reversed and settings.reverse is None:
                continue
            chooser = TranslationChooser(settings, left_out, _usual_ratio(folder, read, written))
            translations = read_translations(folder, read, written)
            # Further text has no references.
            others = iterate_lines(str(folder.text(beside)), "student", UTF_8)
            references = chain(islice(others, folder.outcome("text")["pairs"]), repeat(None))
            for (line, texts), reference in zip(translations, references, strict=False):
                num_translations += len(texts)
                chosen = chooser.choose(line, reference, texts)
                if settings.original and reference is not None:
                    # The original pair is written once, even where a teacher makes it, too.
                    chosen = [text for text in chosen if text != reference] + [reference] * (not is_reversed)
                for text in chosen:
                    for file, side in zip(files, (text, line) if is_reversed else (line, text), strict=True):
                        file.write(f"{side}\n".encode())
                num_pairs += len(chosen)
            chooser.warn(written)
        if not num_pairs:
            raise DataError(f"distillation: a translation that passes is needed; got none: {_told(left_out)}")
    given = {name: number for name, number in left_out.items() if number}
    logger.info(
        "distilled    %d pairs of %d translations%s%s",
        num_pairs,
        num_translations,
        "; left out: " + _told(given) if given else "",
        ", with the original pairs" if settings.original else "",
    )
    return {"pairs": num_pairs, "translations": num_translations, "left_out": given}


def _usual_ratio(folder: StudentFolder, read: str, written: str) -> float:
    """Return how many characters translations have for each character that was translated; 1 if there are none."""
    num_read = num_written = 0
    for line, texts in read_translations(folder, read, written):
        written_of_line = [len(text.strip()) for text in texts if text.strip()]
        num_read += len(line.strip()) * len(written_of_line)
        num_written += sum(written_of_line)
    return num_written / num_read if num_read and num_written else 1.0


@dataclass
class TranslationChooser:
    """Chooses the translations of a line to learn from, and counts those that are left out, by reason.

    `usual_ratio` is the number of characters that translations usually have for each character of the source: about a
    quarter from English to Chinese, four from Chinese to English.
    """

    settings: DistillationSettings
    left_out: Counter[str]
    usual_ratio: float = 1.0
    num_compared: int = 0  # with a reference
    num_disagreeing: int = 0

    def choose(self, source: str, reference: str | None, translations: Sequence[str]) -> list[str]:
        """Return the translations that agree with the reference, if there is one, and are about as long as is usual.

        Each comes once, in the given order; with choose=closest, only the one most like the reference is considered.
        """
        written = [text for text in translations if text.strip() and source.strip()]
        texts = list(dict.fromkeys(written))
        self.left_out["blank"] += len(translations) - len(written)
        self.left_out["equal"] += len(written) - len(texts)
        if not texts:
            return []
        if reference is not None and reference.strip():
            agreement = expected_utility(texts, [reference], "chrf").tolist()
            if self.settings.choose == "closest":
                best = max(range(len(texts)), key=agreement.__getitem__)
                self.left_out["not the closest"] += len(texts) - 1
                texts, agreement = [texts[best]], [agreement[best]]
            pairs = zip(texts, agreement, strict=True)
            agreeing = [text for text, one in pairs if one >= self.settings.min_agreement]
            self.num_compared += len(texts)
            self.num_disagreeing += len(texts) - len(agreeing)
            texts = self._passing(texts, agreeing, "min_agreement")
        return self._passing(texts, [text for text in texts if self._is_alike(source, text)], "max_ratio")

    def warn(self, name: str) -> None:
        """Warn where most of the translations in the file `name` disagree with their references."""
        if self.num_disagreeing > self.num_compared / 2:
            logger.warning(
                "distilled    %d of the %d translations with a reference in %s have a chrF below "
                "distillation.min_agreement=%g: who made them is weak on this text, and there is little to learn from",
                self.num_disagreeing, self.num_compared, name, self.settings.min_agreement,
            )  # fmt: skip

    def _passing(self, texts: list[str], passing: list[str], name: str) -> list[str]:
        self.left_out[name] += len(texts) - len(passing)
        return passing

    def _is_alike(self, source: str, text: str) -> bool:
        if self.settings.max_ratio is None:
            return True
        lengths = len(source.strip()) * self.usual_ratio, len(text.strip())
        return max(lengths) <= self.settings.max_ratio * min(lengths)


def _told(left_out: dict[str, int]) -> str:
    return ", ".join(
        f"{number} {name if ' ' in name or name in ('blank', 'equal') else f'by {name}'}"
        for name, number in left_out.items()
    )
