"""A run that is loaded to translate and to score: the interface for Python programs, which the commands use, too."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from numbers import Integral
from typing import Any, get_args, overload

from nmt.config import DecodingSettings
from nmt.config.kinds import Device, Precision
from nmt.data.context import with_lines_before
from nmt.data.mixture import language_of, tag_of
from nmt.decoding.confidence import calibration_of
from nmt.decoding.engine import Engine
from nmt.decoding.pair_reader import PairReader
from nmt.decoding.search_settings import change_search
from nmt.decoding.translation import Candidate, Translation
from nmt.decoding.translator import Translator
from nmt.decoding.word_alignment import Link
from nmt.errors import DataError, SettingsError, nearest
from nmt.runs.directory import RunDirectory


def load(
    run: str,
    *,
    checkpoint: str = "best",
    device: str = "auto",
    precision: str = "auto",
    ensemble: Sequence[str] = (),
) -> "Model":
    """Load the run in the folder `run`, or `last`, the newest under outputs/, to translate and to score with.

    It may also be a folder that was exported to CTranslate2, for which PyTorch is not imported. `checkpoint` is best,
    last, average or step-N; `device` auto, cpu, cuda or mps; `precision` auto, float32, bfloat16 or float16. The models
    of the folders in `ensemble` form an ensemble with it, which takes the mean of their probabilities; they have the
    same vocabulary.

    Raises nmt.errors.UserError, whose message says what was expected and what is there.
    """
    for key, value in (("checkpoint", checkpoint), ("device", device), ("precision", precision)):
        if not isinstance(value, str):
            raise TypeError(f"{key}: text is needed; got {value!r}")
    if isinstance(ensemble, str):
        raise TypeError(f"ensemble: a list of folders is needed; got {ensemble!r}")
    for key, value, known in (("device", device, Device), ("precision", precision, Precision)):
        names = list(get_args(known))
        if value not in names:
            raise SettingsError(
                f"{key}: one of {', '.join(names)} is needed; got {value}{nearest(value, names)}"
            )
    return Model(load_translator(run, checkpoint, device, precision, ensemble))


def load_translator(
    run: str, checkpoint: str, device: str, precision: str, ensemble: Sequence[str] = ()
) -> Translator:
    """Return a translator for a run, or for an exported folder, with the search of its settings; see `load`."""
    directory = RunDirectory.existing(run)
    settings = directory.read_model_settings().decoding
    engine: Engine
    # Each imports the library that computes, and no other.
    if directory.is_exported:
        from nmt.decoding.ctranslate2_engine import CTranslate2Engine

        directory.require_alone(checkpoint, ensemble)
        engine = CTranslate2Engine(directory, device, precision)
    else:
        from nmt.decoding.torch_engine import load_engine

        engine = load_engine(directory, checkpoint, ensemble, device, precision)
    # The curves are those of one model.
    calibration = None if ensemble else calibration_of(directory, checkpoint)
    return Translator(engine, settings, calibration)


# How more hypotheses are found, by the kind of the search that has a limit.
MORE_BY = {
    "beam": "decoding.beam_size={}",
    "greedy": "decoding=beam decoding.beam_size={}",
    "mbr": "decoding.num_samples={}",
}


class Model:
    """A trained model, or an ensemble, with its vocabulary and the settings of its search.

    Threads may call it at the same time.
    """

    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    @property
    def decoding(self) -> DecodingSettings:
        """The search that the run was trained with; `translate` takes other values for its keys."""
        return self._translator.settings

    @overload
    def translate(
        self,
        lines: Sequence[str],
        *,
        target_language: str | None = None,
        prefixes: Iterable[str] | None = None,
        num_hypotheses: int = 1,
        details: bool = False,
        decoding: str | None = None,
        **search: Any,
    ) -> list[Translation]: ...
    @overload
    def translate(
        self,
        lines: Iterable[str],
        *,
        target_language: str | None = None,
        prefixes: Iterable[str] | None = None,
        num_hypotheses: int = 1,
        details: bool = False,
        decoding: str | None = None,
        **search: Any,
    ) -> Iterator[Translation]: ...
    def translate(
        self,
        lines: Iterable[str],
        *,
        target_language: str | None = None,
        prefixes: Iterable[str] | None = None,
        num_hypotheses: int = 1,
        details: bool = False,
        decoding: str | None = None,
        **search: Any,
    ) -> list[Translation] | Iterator[Translation]:
        """Translate lines, in order: a list of them at once, a stream as it comes.

        The translation of each line begins with its entry of `prefixes`. `details` adds log-probabilities, alignment
        and, where the run has curves for it, confidence. `decoding` is another search (greedy, beam, sampling, mbr)
        than the run's own, and `search` has values for its keys, as in conf/decoding/: `beam_size=8`.

        Raises SettingsError for an unknown search or key or an invalid value, and DataError for a language that the
        model does not know, or a line that is no text.
        """
        if isinstance(lines, str):
            raise TypeError("lines: a list of lines is needed; got one string")
        if isinstance(prefixes, str):
            raise TypeError("prefixes: a list of prefixes is needed; got one string")
        if isinstance(lines, Sequence) and isinstance(prefixes, Sequence) and len(prefixes) > len(lines):
            raise DataError(
                f"prefixes: as many lines as the text has are needed, {len(lines)}; got {len(prefixes)}"
            )
        settings = change_search(self.decoding, decoding, **search)
        translator = self.translator(settings, num_hypotheses, details, target_language)
        begin = None if prefixes is None else _texts(prefixes, "prefixes")
        found = translator.translations(_texts(lines, "lines"), begin)
        return list(found) if isinstance(lines, Sequence) else found

    @overload
    def score(  # type: ignore[overload-overlap]
        self, pairs: Sequence[tuple[str, str]], *, target_language: str | None = None
    ) -> list[Candidate]: ...
    @overload
    def score(
        self, pairs: Iterable[tuple[str, str]], *, target_language: str | None = None
    ) -> Iterator[Candidate]: ...
    def score(
        self, pairs: Iterable[tuple[str, str]], *, target_language: str | None = None
    ) -> list[Candidate] | Iterator[Candidate]:
        """Score given translations: pairs of a source and its translation.

        Each result has its `log_prob` by the model, in nats, and `token_log_probs`, the same token by token.
        """
        reader = self.pair_reader(target_language)
        found = _of_pairs(reader.score, pairs, reader.context.num_lines)
        return list(found) if isinstance(pairs, Sequence) else found

    @overload
    def align(  # type: ignore[overload-overlap]
        self, pairs: Sequence[tuple[str, str]], *, target_language: str | None = None
    ) -> list[list[Link]]: ...
    @overload
    def align(
        self, pairs: Iterable[tuple[str, str]], *, target_language: str | None = None
    ) -> Iterator[list[Link]]: ...
    def align(
        self, pairs: Iterable[tuple[str, str]], *, target_language: str | None = None
    ) -> list[list[Link]] | Iterator[list[Link]]:
        """Link words of given translations to those of their sources: pairs of a source and its translation.

        Each result is a list of links: the number of a source word and that of a target word, both from 0, in the order
        of the target. Raises RunError for a model without attention.
        """
        reader = self.pair_reader(target_language)
        aligned = _of_pairs(reader.align, pairs, reader.context.num_lines)
        found = (one.alignment or [] for one in aligned)
        return list(found) if isinstance(pairs, Sequence) else found

    def translator(
        self,
        settings: DecodingSettings,
        num_hypotheses: int = 1,
        details: bool = False,
        target_language: str | None = None,
    ) -> Translator:
        """Return a translator for chunks of lines that searches by `settings`.

        Raises SettingsError for more hypotheses than the search can give, or fewer than one.
        """
        limit = settings.most_hypotheses
        is_number = isinstance(num_hypotheses, Integral) and not isinstance(num_hypotheses, bool)
        if not is_number or num_hypotheses < 1:
            raise SettingsError(f"num_hypotheses: an integer of at least 1 is needed; got {num_hypotheses!r}")
        if limit is not None and num_hypotheses > limit:
            raise SettingsError(
                f"num_hypotheses: at most {limit} is needed with this search ({settings.kind}); got {num_hypotheses}; "
                f"{MORE_BY[settings.kind].format(num_hypotheses)} finds as many"
            )
        tag = choose_tag(target_language, self._translator.tags)
        return self._translator.with_search(settings, num_hypotheses, details, tag)

    def pair_reader(
        self, target_language: str | None = None, settings: DecodingSettings | None = None
    ) -> PairReader:
        """Return a reader that scores and aligns pairs, in batches as large as `settings` or else the run's own say.

        Raises DataError for a language that the model does not know.
        """
        return self._translator.with_settings(
            settings, choose_tag(target_language, self._translator.tags)
        ).pairs


def choose_tag(language: str | None, tags: Sequence[str]) -> str | None:
    """Return the tag that each line begins with, for a model that knows these `tags`; None for one that knows none.

    Raises DataError for a language that the model does not know, and for None where it needs one.
    """
    known = list(map(language_of, tags))
    if language is None and not known:
        return None
    if language not in known:
        there = f"one of {', '.join(known)}" if known else "null"
        raise DataError(f"target_language: {there} is needed for this run; got {language or 'null'}")
    return tag_of(language)


def _texts(lines: Iterable[str], key: str) -> Iterator[str]:
    """Yield lines. Raises DataError for what is no text, such as a value that is missing in a table."""
    for number, line in enumerate(lines, 1):
        _require_text(line, key, number)
        yield line


def _require_text(line: object, key: str, number: int) -> None:
    if not isinstance(line, str):
        raise DataError(f"{key}: text is needed; got {line!r} in line {number}")
    if not line.isascii():
        try:
            line.encode()
        except UnicodeEncodeError as error:
            half = line[error.start]
            raise DataError(f"{key}: whole characters are needed; got {half!r} in line {number}") from None


def _checked(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for number, pair in enumerate(pairs, 1):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise DataError(f"pairs: a source and its translation are needed; got {pair!r} in line {number}")
        for line in pair:
            _require_text(line, "pairs", number)
        yield pair


def _of_pairs(
    work: Callable[[Sequence[str], Sequence[str], int, Sequence[str]], list[Candidate]],
    pairs: Iterable[tuple[str, str]],
    context: int,
) -> Iterator[Candidate]:
    rest = _checked(pairs)
    chunks = iter(lambda: list(islice(rest, 1024)), [])
    for chunk, before in with_lines_before(chunks, context):
        sources, targets = zip(*chunk, strict=True)
        yield from work(sources, targets, 0, [source for source, _ in before])
