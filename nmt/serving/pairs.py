"""The models of a server, each with its queue: a text in, its translations out."""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial

from nmt.config import MixtureData, ServeSettings
from nmt.decoding.loading import Model, load_translator, most_hypotheses
from nmt.decoding.translation import Translation
from nmt.decoding.translator import Translator
from nmt.errors import SettingsError
from nmt.runs.directory import RunDirectory
from nmt.runs.languages import Language, language, languages_of
from nmt.runs.text import data_of_run
from nmt.serving.batching import Batcher
from nmt.serving.metrics import Metrics

LINE_END = re.compile(r"(\r?\n)")
# Emoji and what joins them, space, and what controls: nothing that could be translated.
WORDLESS = {"So", "Sk", "Mn", "Me", "Cf", "Cc", "Zs", "Zl", "Zp"}


class Pair:
    """A model from one language to another, behind a queue.

    A text has at most `max_alternatives` translations beside the best; None: as many as are wanted.
    """

    def __init__(
        self,
        languages: tuple[Language, Language],
        model: Model,
        target_language: str | None,
        make_batcher: Callable[..., Batcher],
    ) -> None:
        self.source, self.target = languages
        most = most_hypotheses(model.decoding)
        self.max_alternatives = None if most is None else most - 1
        self._translators: dict[int, Translator] = {}
        self._model, self._target_language = model, target_language
        translator = self._translator(1)
        self._has_context = translator.pairs.context.num_lines > 0
        self.batcher = make_batcher(self._translate)

    async def translate(self, text: str, num_alternatives: int = 0) -> tuple[str, list[str]]:
        """Return the translation of a text, and others that it could have.

        It is translated line by line; line ends, and lines without a word, stay as they are.
        """
        parts = LINE_END.split(text)
        places = [i for i in range(0, len(parts), 2) if not is_wordless(parts[i])]
        if not places:
            return text, []
        if self._has_context:  # blank lines say where a document ends
            places = list(range(0, len(parts), 2))
        size = len(places) if self._has_context else self.batcher.max_lines
        waiting = [
            asyncio.wrap_future(
                self.batcher.submit([parts[i] for i in places[start : start + size]], 1 + num_alternatives)
            )
            for start in range(0, len(places), size)
        ]
        lines = [line for some in await asyncio.gather(*waiting) for line in some]
        texts = []
        for number in range(1 + num_alternatives):
            for i, line in zip(places, lines, strict=True):
                if not is_wordless(line.source):
                    parts[i] = line.hypotheses[min(number, len(line.hypotheses) - 1)].text
            texts.append("".join(parts))
        best, *others = dict.fromkeys(texts)
        return best, others

    def _translate(self, lines: Sequence[str], num_hypotheses: int) -> list[Translation]:
        translator = self._translator(num_hypotheses)
        translator.begin()
        return translator.find(lines)

    def _translator(self, num_hypotheses: int) -> Translator:
        if num_hypotheses not in self._translators:
            self._translators[num_hypotheses] = self._model.translator(
                self._model.decoding, num_hypotheses, target_language=self._target_language
            )
        return self._translators[num_hypotheses]


def is_wordless(text: str) -> bool:
    """Whether a text has nothing that could be translated: only space, or emoji."""
    return all(unicodedata.category(character) in WORDLESS for character in text)


def load_pairs(settings: ServeSettings, metrics: Metrics) -> list[Pair]:
    """Load all runs. Raises UserError for what cannot be had, and for two of the same pair of languages."""
    make_batcher = partial(
        Batcher,
        max_lines=settings.batch_lines,
        wait_seconds=settings.batch_milliseconds / 1000,
        metrics=metrics,
    )
    named = [(folder, _languages(folder, settings)) for folder in settings.folders]  # before weights are read
    folder_of: dict[tuple[str, str], str] = {}
    for folder, some in named:
        codes = {(source.code, target.code) for (source, target), _ in some}
        for one, other in sorted(codes & folder_of.keys()):
            raise SettingsError(
                f"runs: one run for each pair of languages is needed; got {folder_of[one, other]} and {folder}, both "
                f"for {one} to {other}"
            )
        folder_of |= dict.fromkeys(codes, folder)
    pairs = []
    for folder, some in named:
        model = Model(load_translator(folder, settings.checkpoint, settings.device, settings.precision))
        pairs += [Pair(languages, model, tag, make_batcher) for languages, tag in some]
    return pairs


def _languages(folder: str, settings: ServeSettings) -> list[tuple[tuple[Language, Language], str | None]]:
    """Return the pairs of languages of a run, each with the name that its model knows the target language by."""
    run = RunDirectory.existing(folder)
    typed = settings.source_language, settings.target_language
    if "data" in run.read_config() and not any(typed):
        data = data_of_run(run)
        if isinstance(data, MixtureData) and data.has_tags:
            return [((language(pair.source), language(pair.target)), pair.target) for pair in data.pairs]
    try:
        return [(languages_of(run, *typed), None)]
    except SettingsError:
        if len(settings.folders) == 1:
            raise
        raise SettingsError(
            f"runs: runs whose text is known to be of two languages are needed where there are several; got {folder}"
        ) from None
