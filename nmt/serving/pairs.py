"""The models of a server, each with its queue: lines in, their translations out."""

import asyncio
import unicodedata
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial

from nmt.config import MixtureData, ServeSettings
from nmt.decoding.loading import Model, load_translator, most_hypotheses
from nmt.decoding.translation import Candidate, Translation
from nmt.decoding.translator import Translator
from nmt.errors import SettingsError
from nmt.runs.directory import RunDirectory
from nmt.runs.languages import Language, language, languages_of
from nmt.runs.text import data_of_run
from nmt.serving.batching import Batcher, Wanted
from nmt.serving.metrics import Metrics

# Emoji and what joins them, space, and what controls: nothing that could be translated.
WORDLESS = {"So", "Sk", "Mn", "Me", "Cf", "Cc", "Zs", "Zl", "Zp"}


class Asked:
    """How many lines a request has put into queues so far."""

    num_lines = 0


# Of the request that is being answered; many texts of one are still one.
asked: ContextVar[Asked] = ContextVar("asked")


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
        self._translators: dict[Wanted, Translator] = {}
        self._model, self._target_language = model, target_language
        translator = self._translator(Wanted())
        self._has_context = translator.pairs.context.num_lines > 0
        self.batcher = make_batcher(self._translate)

    async def find(self, lines: Sequence[str], wanted: Wanted) -> list[Translation]:
        """Return the translations of the lines of a text; one without a word stays as it is."""
        found = [Translation(line, [Candidate(line)]) for line in lines]
        with_words = [i for i, line in enumerate(lines) if not is_wordless(line)]
        if not with_words:
            return found
        if self._has_context:  # a line is read with those before it, and blank ones say where a document ends
            places, size = list(range(len(lines))), len(lines)
        else:  # what is of about one length is soonest done together
            places, size = with_words, self.batcher.part_lines
            if len(places) > size:
                places = sorted(places, key=lambda i: -len(lines[i]))
        request = asked.get(None) or Asked()
        waiting = []
        for start in range(0, len(places), size):
            part = [lines[i] for i in places[start : start + size]]
            waiting.append(asyncio.wrap_future(self.batcher.submit(part, wanted, request.num_lines)))
            request.num_lines += len(part)
        results = [one for some in await asyncio.gather(*waiting) for one in some]
        of_place = dict(zip(places, results, strict=True))
        for i in with_words:
            found[i] = of_place[i]
        return found

    def _translate(self, lines: Sequence[str], wanted: Wanted) -> list[Translation]:
        translator = self._translator(wanted)
        translator.begin()
        return translator.find(lines)

    def _translator(self, wanted: Wanted) -> Translator:
        if wanted not in self._translators:
            self._translators[wanted] = self._model.translator(
                self._model.decoding, *wanted, target_language=self._target_language
            )
        return self._translators[wanted]


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
