"""Parallel text: lines of two sides, from files, tables, a data set, or the built-in grammar."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import partial
from itertools import accumulate, chain, compress, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import (
    DataSettings,
    Files,
    FilesData,
    GrammarData,
    HubData,
    MixtureData,
    Multi30kData,
    OpusData,
    TableData,
    TmxData,
)
from nmt.data.arrays import BoolArray, Int64Array, map_file
from nmt.data.cache import cached_folder, entry_name, states_of
from nmt.data.downloads import is_test_set, load_splits, test_set_files
from nmt.data.lines import PARQUET, is_compressed, iterate_lines, require_reader
from nmt.data.mixture import Groups, tag_of
from nmt.data.opus import obtain_corpora
from nmt.data.stored_text import StoredLines, open_text, store_text
from nmt.data.table import Columns, Pairs, read_table, table_files, unzip
from nmt.data.translation_memory import SUFFIXES as MEMORIES
from nmt.data.translation_memory import read_memories
from nmt.errors import DataError

SPLITS = ("train", "validation", "test")
# Bytes of text from which on it is stored, so that the next run has it at once.
LARGE = 1 << 25
SIZES = "sizes"
TIMES_SMALLER = 4  # compressed text, as a rule
MULTI30K_NAMES = {"train": "train", "validation": "val", "test": "test_2016_flickr"}


@dataclass(frozen=True)
class ParallelText:
    """Line N of `target` translates line N of `source`; with data.context, a file begins at each of `starts`, too."""

    source: Sequence[str]
    target: Sequence[str]
    starts: Sequence[int] = ()

    @property
    def is_stored(self) -> bool:
        """Whether it is too large to hold, and read from the disk."""
        return isinstance(self.source, StoredLines)


@dataclass(frozen=True)
class Corpus:
    """The text of a run; there may be no test text."""

    train: ParallelText
    validation: ParallelText
    test: ParallelText | None
    groups: Groups | None = None

    @property
    def texts(self) -> dict[str, ParallelText]:
        """The texts that there are, by the names of their splits."""
        named = {split: getattr(self, split) for split in SPLITS}
        return {split: text for split, text in named.items() if text is not None}

    def tagged(self) -> "Corpus":
        """Return the corpus with the tags of a mixture, where it has any, before its source lines.

        Training text that is stored got them when it was prepared.
        """
        if self.groups is None or self.groups.tags is None:
            return self
        tagged: dict[str, Any] = {
            split: replace(text, source=list(self.groups.tag(split, text.source)))
            for split, text in self.texts.items()
            if split != "train" or not text.is_stored
        }
        return replace(self, **tagged)

    def keep(self, kept: BoolArray) -> "Corpus":
        """Return the corpus with some of its training pairs left."""
        if kept.all():
            return self
        source, target = (list(compress(side, kept)) for side in (self.train.source, self.train.target))
        train = ParallelText(source, target)
        return replace(self, train=train, groups=self.groups and self.groups.keep(kept))


def read_parallel_files(
    source: Files, target: Files, key: str, encoding: str | None = None, context: int = 0
) -> ParallelText:
    """Read the two sides of parallel text. Raises DataError if one has more lines than the other, or none.

    Files that are read with a `context` are documents, of which each has one of the other language.
    """
    if not context:
        return _hold([_pairs_of_files(source, target, key, encoding)], [source, target], encoding)[0]
    sides = [[side] if isinstance(side, str) else side for side in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"{key}: as many files of source as of target are needed with data.context={context}; "
            f"got {len(sides[0])} and {len(sides[1])}"
        )
    parts = [_pairs_of_files(one, other, key, encoding) for one, other in zip(*sides, strict=True)]
    return _hold_documents(parts, sides, encoding)


def _pairs_of_files(source: Files, target: Files, key: str, encoding: str | None) -> Pairs:
    has_text = False
    sides = iterate_lines(source, f"{key}.source", encoding), iterate_lines(target, f"{key}.target", encoding)
    for number, (one, other) in enumerate(zip_longest(*sides)):
        if one is None or other is None:
            counts = [
                number + (line is not None) + sum(1 for _ in side)
                for line, side in zip((one, other), sides, strict=True)
            ]
            raise DataError(
                f"{key}: as many lines of source as of target are needed; got {counts[0]} in "
                f"{_names(source)} and {counts[1]} in {_names(target)}"
            )
        has_text = has_text or bool(one.strip())
        yield one, other
    if not has_text:
        raise DataError(f"{key}: text is needed; got none in {_names(source)}")


def _hold(parts: Sequence[Pairs], files: Sequence[Files], *facts: object) -> tuple[ParallelText, list[int]]:
    """Return the pairs of one corpus or several, one after the other, and how many are of each.

    Those of large files are read once, into the cache, from where the next run has them. `facts` are what the pairs
    depend on beside the files.
    """
    sizes = [0] * len(parts)

    def pairs() -> Pairs:
        for number, part in enumerate(parts):
            for pair in part:
                sizes[number] += 1
                yield pair

    def make(folder: Path) -> None:
        store_text(folder, pairs(), "reading")
        np.array(sizes, np.int64).tofile(folder / SIZES)

    paths = [path for one in files for path in ([one] if isinstance(one, str) else one)]
    if sum(_size_of_text(path) for path in paths) < LARGE:
        return ParallelText(*unzip(pairs())), sizes
    folder = cached_folder(entry_name("text", json.dumps([states_of(paths), facts])), make)
    return ParallelText(*open_text(folder)), map_file(folder / SIZES, np.int64).tolist()


def _hold_documents(parts: Sequence[Pairs], files: Sequence[Files], *facts: object) -> ParallelText:
    """Return the pairs of several files as `_hold` does; the text knows where each begins."""
    text, sizes = _hold(parts, files, *facts, "by file")
    return replace(text, starts=tuple(accumulate(sizes[:-1])))


def _size_of_text(path: str) -> int:
    """Return about how many bytes of text a file holds; 0 for one that is not there, which reading it tells."""
    with suppress(OSError):
        return os.stat(path).st_size * (TIMES_SMALLER if is_compressed(path) or path.endswith(PARQUET) else 1)
    return 0


def _named_files(settings: DataSettings) -> Iterator[Files]:
    """Yield the files that settings name."""
    named: list[Files | None] = []
    match settings:
        case FilesData(train=train, validation=validation, test=test):
            for split in (train, validation, test):
                named += [] if isinstance(split, str) else [split.source, split.target]
        case TableData(train=train, validation=validation, test=test):
            named = [files and table_files(files) for files in (train, validation, test)]
        case TmxData(train=train, validation=validation, test=test):
            named = [files and table_files(files, MEMORIES) for files in (train, validation, test)]
        case HubData(data_files=patterns):
            named = list((patterns or {}).values())
        case MixtureData(pairs=parts):
            for part in parts:
                named += chain(part.train, part.validation or (), part.test or ())
    yield from (files for files in named if files)


def require_files(settings: DataSettings) -> None:
    """Raise DataError if what settings of a stranger name is no file: a pipe or a device need not end."""
    for files in _named_files(settings):
        for path in [files] if isinstance(files, str) else files:
            if Path(path).exists() and not Path(path).is_file():
                raise DataError(f"data: files are needed, since the run names them; got {path}")


def load_corpus(settings: DataSettings) -> Corpus:
    """Load the text that the settings name. Raises DataError when it cannot be had, SettingsError without a library."""
    if not isinstance(settings, HubData):  # whose own library reads them
        for files in _named_files(settings):
            require_reader(files, "data")  # those of the last split, too, before any is read
    texts: Mapping[str, ParallelText | None]
    groups = None
    match settings:
        case GrammarData():
            from nmt import grammar  # its words take time, and few commands need them

            sizes = settings.num_train, settings.num_validation, settings.num_test
            texts = {
                split: ParallelText([pair.source for pair in pairs], [pair.target for pair in pairs])
                for split, pairs in grammar.generate(settings.seed, *sizes).items()
            }
        case FilesData():
            texts = {split: _read_files(settings, split) for split in SPLITS}
        case TableData() | TmxData():
            texts = {split: _read_tables(settings, split) for split in SPLITS}
        case Multi30kData():
            texts = {split: _read_multi30k(settings, name) for split, name in MULTI30K_NAMES.items()}
        case HubData():
            texts = {split: sides and ParallelText(*sides) for split, sides in load_splits(settings).items()}
            if settings.test is not None:
                texts["test"] = _read_test_set(settings.test, "data.test")
        case OpusData():
            texts = _read_opus(settings)
        case MixtureData():
            texts, groups = _read_mixture(settings)
    train, validation = texts["train"], texts["validation"]
    assert train is not None
    assert validation is not None
    for split, text in texts.items():
        if settings.context and split != "train" and text is not None and text.starts:
            raise DataError(
                f"data.{split}: one file is needed with data.context={settings.context}, with blank lines between "
                f"documents; got {len(text.starts) + 1}"
            )
    return Corpus(train, validation, texts["test"], groups)


def _read_files(settings: FilesData, split: str) -> ParallelText | None:
    files, key = getattr(settings, split), f"data.{split}"
    if isinstance(files, str):
        return _read_test_set(files, key)
    if files.source is None or files.target is None:
        return None
    return read_parallel_files(files.source, files.target, key, settings.encoding, settings.context)


def _read_tables(settings: TableData | TmxData, split: str) -> ParallelText | None:
    """Read a split; a test set of sacreBLEU may stand for validation and test."""
    files, key = getattr(settings, split), f"data.{split}"
    if files is None:
        return None
    if split != "train" and isinstance(files, str) and is_test_set(files):
        return _read_test_set(files, key)
    if isinstance(settings, TmxData):
        facts: tuple[object, ...] = settings.source, settings.target
        paths = table_files(files, MEMORIES)
        read = partial(read_memories, key=key, source=settings.source, target=settings.target)
    else:
        columns = Columns(settings.source_column, settings.target_column, settings.header, settings.encoding)
        facts, paths = astuple(columns), table_files(files)
        read = partial(read_table, key=key, columns=columns)
    if settings.context:
        return _hold_documents([read(path) for path in paths], paths, *facts)
    return _hold([read(files)], paths, *facts)[0]


def _read_mixture(settings: MixtureData) -> tuple[dict[str, ParallelText | None], Groups]:
    texts: dict[str, ParallelText | None] = {}
    sizes: dict[str, list[int]] = {}
    for split in SPLITS:
        parts: list[Pairs] = []
        files: list[Files] = []
        for number, part in enumerate(settings.pairs):
            sides = getattr(part, split) or ()
            parts.append(
                _pairs_of_files(sides[0], sides[1], f"data.pairs.{number}.{split}", None)
                if sides
                else iter(())
            )
            files += sides
        text, sizes[split] = _hold(parts, files, [len(getattr(part, split) or ()) for part in settings.pairs])
        texts[split] = text if len(text.source) else None
    groups = Groups(
        names=[f"{part.source}-{part.target}" for part in settings.pairs],
        tags=[tag_of(part.target) for part in settings.pairs] if settings.has_tags else None,
        weights=[part.weight for part in settings.pairs],
        temperature=settings.temperature,
        sizes=sizes,
    )
    return texts, groups


def _read_opus(settings: OpusData) -> dict[str, ParallelText | None]:
    """Read corpora of OPUS; pairs for validation and test come evenly from all of them, where no test set is named."""
    corpora = obtain_corpora(settings)
    num_lines = sum(corpus.num_lines for corpus in corpora)
    num_validation = 0 if settings.validation else settings.num_validation
    num_held = num_validation + (0 if settings.test else settings.num_test)
    if num_lines <= 2 * num_held:
        raise DataError(
            f"data.num_validation: at most half of the {num_lines} pairs are to be held out; got {num_held}"
        )
    held = np.arange(num_held) * num_lines // max(num_held, 1)
    is_validation = np.zeros(num_held, bool)
    is_validation[np.arange(num_validation) * num_held // max(num_validation, 1)] = True

    def read(split: str, places: Int64Array, inside: bool) -> ParallelText:
        wanted, parts, first = set(places.tolist()), list[Pairs](), 0
        for corpus in corpora:
            pairs = _pairs_of_files(str(corpus.source), str(corpus.target), "data.corpora", None)
            numbered = enumerate(pairs, first)
            parts.append(pair for number, pair in numbered if (number in wanted) is inside)
            first += corpus.num_lines
        files = [str(path) for corpus in corpora for path in (corpus.source, corpus.target)]
        facts = split, num_validation, num_held
        return _hold_documents(parts, files, *facts) if settings.context else _hold(parts, files, *facts)[0]

    texts: dict[str, ParallelText | None] = {"train": read("train", held, inside=False), "test": None}
    for split, name, places in (
        ("validation", settings.validation, held[is_validation]),
        ("test", settings.test, held[~is_validation]),
    ):
        if name is not None:
            texts[split] = _read_test_set(name, f"data.{split}")
        elif len(places):
            texts[split] = read(split, places, inside=True)
    return texts


def _read_test_set(name: str, key: str) -> ParallelText:
    source, target = test_set_files(name, key)
    return read_parallel_files(str(source), str(target), key)


def _read_multi30k(settings: Multi30kData, name: str) -> ParallelText:
    path = Path(settings.directory) / name
    return read_parallel_files(
        f"{path}.{settings.source_language}", f"{path}.{settings.target_language}", "data.directory"
    )


def _names(files: Files) -> str:
    return files if isinstance(files, str) else " + ".join(files)
