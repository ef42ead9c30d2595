"""Teachers: chunks of lines in, translations of each line out."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from nmt import __version__
from nmt.config import BeamSettings, DecodingSettings, DistilSettings
from nmt.data.cache import content_key
from nmt.decoding.chunks import Chunk
from nmt.decoding.loading import load_translator
from nmt.decoding.search_settings import change_search
from nmt.decoding.translator import Translator
from nmt.device import choose_precision, prepare_device
from nmt.errors import SettingsError, naming
from nmt.files.writing import file_facts
from nmt.runs.directory import RunDirectory

logger = logging.getLogger(__name__)

SEARCH, REVERSE = "distillation.search", "distillation.reverse"


class Teacher(Protocol):
    """A translator for a student; at most `lines_at_once` lines are translated before they are written.

    A line is read with the `num_context` lines before it. `origin` is a key for all that its translations depend on,
    except the lines; None where that is not known. Each line begins with one of `tags`, where there are any.
    """

    lines_at_once: int | None
    num_context: int
    origin: str | None
    tags: Sequence[str]

    def translate(self, chunk: Chunk) -> list[list[str]]:
        """Return the translations of each line of a chunk, best first; a blank line has a blank one."""

    def tell(self) -> None:
        """Log the remarks on all lines at once, such as which were cut."""


class RunTeacher:
    """A run, or several of one vocabulary that translate as an ensemble."""

    lines_at_once: int | None = None

    def __init__(self, settings: DistilSettings, key: str = "teacher") -> None:
        """Load the runs that `key` names.

        Raises UserError for a run that cannot be loaded, an invalid search, or a reverse run whose lines need tags.
        """
        names = settings.reverse_teachers if key == REVERSE else settings.teachers
        with naming(key):
            facts = _facts_of(names)
            translator = load_translator(
                names[0], "best", settings.device, settings.precision, ensemble=names[1:]
            )
            if facts != _facts_of(names):
                facts = None  # the runs have got better meanwhile
        self.tags: Sequence[str] = translator.tags
        if self.tags and key == REVERSE:
            raise SettingsError(
                f"{key}: runs that need no tag at the start of each line are needed, since references have none; "
                f"got {names[0]}, which knows {', '.join(self.tags)}"
            )
        num_hypotheses = settings.distillation.num_hypotheses
        search = teacher_search(settings, translator.settings, is_reverse=key == REVERSE)
        self.translator = translator.with_search(search, num_hypotheses)
        self.translator.begin()
        self.num_context = translator.context.num_lines
        self.origin: str | None = None
        if facts is not None:
            numbers = str(num_hypotheses), str(self.num_context)
            how = __version__, *_arithmetic_of(settings), search.model_dump_json(), *numbers
            self.origin = content_key(*how, facts, _files_of(search, names[0]))

    def translate(self, chunk: Chunk) -> list[list[str]]:
        """Return the translations of each line of a chunk, best first."""
        found = self.translator.translate_chunk(chunk)
        return [[one.text for one in line.hypotheses] for line in found]

    def tell(self) -> None:
        """Say which lines were cut or split."""
        self.translator.remarks.log()


def _facts_of(names: Sequence[str]) -> list[str] | None:
    """Return the settings and the hash of the weights of each run; None if one of them was exported."""
    runs = [RunDirectory.existing(name) for name in names]
    if any(run.is_exported for run in runs):
        return None
    return [f"{run.read_model_settings().model_dump_json()} {run.weights_hash('best')}" for run in runs]


def _arithmetic_of(settings: DistilSettings) -> tuple[str, str]:
    """Return the kind of device and the number type that `auto` means on this machine, or those that were typed."""
    device = prepare_device(settings.device)
    return device.type, str(choose_precision(settings.precision, device))


def _files_of(search: DecodingSettings, run: str) -> list[str]:
    """Return the hashes of the files that a search reads: its glossary, and the shortlist of the run."""
    paths = []
    if isinstance(search, BeamSettings) and search.glossary is not None:
        paths.append(Path(search.glossary).resolve())  # a glossary may be a link, as in other commands
    if search.shortlist:
        paths.append(RunDirectory.existing(run).shortlist_path)
    return [str(file_facts(path)["sha256"]) for path in paths]


def teacher_search(
    settings: DistilSettings, own: DecodingSettings, is_reverse: bool = False
) -> DecodingSettings:
    """Return the teachers' own search, with the typed changes or replaced by the typed one.

    A typed glossary is of the teachers' direction, so teachers of the other direction (`is_reverse`) are not given it.
    Raises SettingsError for a search that is invalid, or that finds too few hypotheses.
    """
    wanted, num_hypotheses = settings.distillation.search, settings.distillation.num_hypotheses
    search = own
    if wanted is not None:
        given = {str(key): value for key, value in wanted.items() if not (is_reverse and key == "glossary")}
        try:
            search = change_search(own, **given)
        except SettingsError as error:
            raise SettingsError(*(f"{SEARCH}: {problem}" for problem in error.problems)) from None
    limit = search.most_hypotheses
    if limit is not None and num_hypotheses > limit:
        raise SettingsError(
            f"distillation.num_hypotheses: at most {limit} is needed with this search ({search.kind}), or another one "
            f"as {SEARCH}={{decoding: beam, beam_size: {num_hypotheses}}}; got {num_hypotheses}"
        )
    return search


def can_align(translator: Translator) -> bool:
    """Return whether a model has attention from which words can be aligned, and reads lines alone, without tags.

    The pairs to align are not in the order of the text, so that a line's context is not before it.
    """
    found = translator.engine.attention(
        [[translator.tokenizer.source.unk_id]], [[translator.tokenizer.target.unk_id]]
    )
    return found is not None and not translator.tags and not translator.context.num_lines
