"""The models of a server, each with its queue: lines in, their translations out."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial

from nmt.config import MixtureData, ServeSettings
from nmt.data.characters import is_wordless
from nmt.data.context import Context
from nmt.data.mixture import known_tags, language_of
from nmt.data.sentences import cut_into
from nmt.decoding.long_lines import join_parts
from nmt.decoding.translation import Candidate, Translation
from nmt.errors import SettingsError
from nmt.runs.directory import RunDirectory
from nmt.runs.languages import Language, code_of, language, languages_of
from nmt.runs.text import data_of_run
from nmt.serving.batching import LINES_OF_TEXT, Batcher, Wanted, all_of, refuse_more
from nmt.serving.metrics import Metrics
from nmt.serving.models import Models
from nmt.serving.worker import Task

# Characters of a line that is translated at once, as a page has them.
LONG_LINE = 2_000


class Asked:
    """What a request has asked for so far: lines in each queue, and bytes of memory, which `take` takes."""

    def __init__(self, take: Callable[[int], None] = lambda num_bytes: None) -> None:
        self.num_lines = Counter[Batcher]()
        self.take = take


# What the request that is being answered has asked for, in all of its texts together.
asked: ContextVar[Asked] = ContextVar("asked")


class Pair:
    """A model from one language to another, behind a queue.

    A text has at most `max_alternatives` translations beside the best; None: as many as are wanted. A model that
    `has_context` reads a line with the lines before it.
    """

    def __init__(
        self,
        languages: tuple[Language, Language],
        max_alternatives: int | None,
        has_context: bool,
        batcher: Batcher,
    ) -> None:
        self.source, self.target = languages
        self.max_alternatives, self.batcher = max_alternatives, batcher
        self._has_context = has_context

    async def find(self, lines: Sequence[str], wanted: Wanted) -> list[Translation]:
        """Return the translations of the lines of a text; a line without a word stays as it is.

        A very long line goes through the queue in pieces, so that it does not hold up others.
        """
        if max(map(len, lines), default=0) <= LONG_LINE:
            return await self._find(lines, wanted)
        # Other requests are answered while a book of one line is cut, and while its pieces are joined.
        pieces = await asyncio.to_thread(lambda: [cut_into(line, LONG_LINE) or [line] for line in lines])
        found = iter(await self._find([piece for some in pieces for piece in some], wanted))
        each = [(line, [next(found) for _ in some]) for line, some in zip(lines, pieces, strict=True)]
        return await asyncio.to_thread(lambda: [_joined(line, some) for line, some in each])

    async def _find(self, lines: Sequence[str], wanted: Wanted) -> list[Translation]:
        # Blank lines take time and memory, too.
        refuse_more(len(lines), LINES_OF_TEXT * self.batcher.max_waiting)
        found = [Translation.unchanged(line) for line in lines]
        with_words = [i for i, line in enumerate(lines) if not is_wordless(line)]
        if not with_words:
            return found
        if self._has_context:  # blank lines say where a document ends
            places, size = list(range(len(lines))), len(lines)
        else:  # lines of similar length are translated fastest together
            places, size = with_words, self.batcher.part_lines
            if len(places) > size:
                places = sorted(places, key=lambda i: -len(lines[i]))
        num_asked = (asked.get(None) or Asked()).num_lines
        self.batcher.require_room(len(places), num_asked[self.batcher])
        waiting = []
        for start in range(0, len(places), size):
            part = [lines[i] for i in places[start : start + size]]
            waiting.append(asyncio.wrap_future(self.batcher.submit(part, wanted, num_asked[self.batcher])))
            num_asked[self.batcher] += len(part)
        results = [one for some in await all_of(waiting) for one in some]
        of_place = dict(zip(places, results, strict=True))
        for i in with_words:
            found[i] = of_place[i]
        return found


def _joined(line: str, pieces: Sequence[Translation]) -> Translation:
    """Return the translation of a line whose pieces, one or several, have been translated."""
    if len(pieces) == 1:
        return pieces[0]
    if is_wordless(line):
        return Translation.unchanged(line)
    nothing = [Candidate("", alignment=[])]  # of space alone
    return Translation(
        line,
        join_parts(
            [one.source for one in pieces],
            [one.hypotheses if one.source.strip() else nothing for one in pieces],
        ),
        is_cut=any(one.is_cut for one in pieces),
        parts=[part for one in pieces for part in one.parts or [one.source]],
        constraints=[text for one in pieces for text in one.constraints],
        unmet=[text for one in pieces for text in one.unmet],
        seconds=max(one.seconds for one in pieces),
    )


def make_pairs(settings: ServeSettings, models: Models, metrics: Metrics) -> list[Pair]:
    """Return the language pairs of all runs. Raises UserError for a folder that is no run, or two runs of one pair."""
    pairs: list[Pair] = []
    folder_of: dict[tuple[str, str], str] = {}
    for folder in models.folders:
        run = RunDirectory.existing(folder)
        recorded = run.read_model_settings()
        vocabulary = run.read_tokenizer().source
        found = _languages(run, known_tags(vocabulary.pieces), settings)
        # A mixture may have several corpora of one pair.
        by_codes = {(one.code, other.code): ((one, other), name) for (one, other), name in found}
        for source, target in sorted(by_codes):
            if first := folder_of.get((source, target)):
                raise SettingsError(
                    f"runs: one run for each pair of languages is needed; got {first} and {folder}, both for {source} "
                    f"to {target}"
                )
        most = recorded.decoding.most_hypotheses
        has_context = Context.of(vocabulary).num_lines > 0
        for codes, (languages, target_language) in by_codes.items():
            batcher = Batcher(
                partial(_translate, models, folder, target_language),
                settings.batch_lines,
                settings.batch_milliseconds / 1000,
                settings.max_waiting,
                metrics,
            )
            folder_of[codes] = folder
            pairs.append(Pair(languages, None if most is None else most - 1, has_context, batcher))
    return pairs


def _translate(
    models: Models, folder: str, target_language: str | None, lines: Sequence[str], wanted: Wanted
) -> list[Translation]:
    return models.translate(folder, Task(lines, wanted, target_language))


def _languages(
    run: RunDirectory, tags: Sequence[str], settings: ServeSettings
) -> list[tuple[tuple[Language, Language], str | None]]:
    """Return the language pairs of a run, each with the name of the target language in the model, or None.

    A model has such names where its vocabulary has `tags` of languages.
    """
    typed = settings.source_language, settings.target_language
    if "data" in run.read_config() and not any(typed):
        data = data_of_run(run)
        if isinstance(data, MixtureData) and data.has_tags:
            return [((language(pair.source), language(pair.target)), pair.target) for pair in data.pairs]
    try:
        languages = languages_of(run, *typed)
    except SettingsError:
        if len(settings.folders) == 1:
            raise
        raise SettingsError(
            f"runs: runs whose text is known to be of two languages are needed where there are several; got {run.path}"
        ) from None
    return [(languages, _name_of(languages[1].code, settings.target_language, tags, run))]


def _name_of(code: str, typed: str | None, tags: Sequence[str], run: RunDirectory) -> str | None:
    """Return the name of a language in the tags of a model: the name that was typed, or else the one of its code.

    It is None for a model without tags. Raises SettingsError where no name fits, or several do.
    """
    names = list(map(language_of, tags))
    if not names:
        return None
    exact = (typed or "").partition(":")[0].replace("_", "-").lower()
    found = [name for name in names if name.replace("_", "-").lower() == exact]
    found = found or [name for name in names if code_of(name) == code]
    if len(found) != 1:
        raise SettingsError(
            f"target_language: one of {', '.join(names)} is needed for {run.path}; got {typed or code}"
        )
    return found[0]
