"""Parallel text: lines of two sides, from files, tables, a data set, or the built-in grammar."""

from dataclasses import dataclass
from pathlib import Path

from nmt.config import (
    DataSettings,
    Files,
    FilesData,
    GrammarData,
    HubData,
    MixtureData,
    Multi30kData,
    OptionalTextPair,
    TableData,
    TextPair,
)
from nmt.data.hub import load_splits
from nmt.data.lines import read_lines
from nmt.data.mixture import Groups, tag_of
from nmt.data.table import Columns, read_table
from nmt.data.test_sets import is_test_set, test_set_files
from nmt.errors import DataError

MULTI30K_NAMES = ("train", "val", "test_2016_flickr")


@dataclass(frozen=True)
class ParallelText:
    """Line N of `target` translates line N of `source`."""

    source: list[str]
    target: list[str]


@dataclass(frozen=True)
class Corpus:
    """The text of a run; there may be no test text."""

    train: ParallelText
    validation: ParallelText
    test: ParallelText | None
    groups: Groups | None = None

    def tagged(self) -> "Corpus":
        """Return the corpus with the tags of a mixture, where it has any, before its source lines."""
        groups = self.groups
        if groups is None or groups.tags is None:
            return self
        train, validation = (
            ParallelText(groups.tag(split, text.source), text.target)
            for split, text in (("train", self.train), ("validation", self.validation))
        )
        test = self.test and ParallelText(groups.tag("test", self.test.source), self.test.target)
        return Corpus(train, validation, test, groups)


def read_parallel_files(source: Files, target: Files, key: str, encoding: str | None = None) -> ParallelText:
    """Read the two sides of parallel text. Raises DataError if one has more lines than the other, or none."""
    text = ParallelText(
        read_lines(source, f"{key}.source", encoding), read_lines(target, f"{key}.target", encoding)
    )
    if len(text.source) != len(text.target):
        raise DataError(
            f"{key}: as many lines of source as of target are needed; got {len(text.source)} in "
            f"{_names(source)} and {len(text.target)} in {_names(target)}"
        )
    if not any(line.strip() for line in text.source):
        raise DataError(f"{key}: text is needed; got none in {_names(source)}")
    return text


def require_files(settings: DataSettings) -> None:
    """Raise DataError if what settings of a stranger name is no file: a pipe or a device need not end."""
    named: list[Files | None] = []
    match settings:
        case FilesData():
            for split in (settings.train, settings.validation, settings.test):
                named += [] if isinstance(split, str) else [split.source, split.target]
        case TableData():
            named = [settings.train, settings.validation, settings.test]
        case HubData():
            named = list((settings.data_files or {}).values())
        case MixtureData(pairs=parts):
            splits = [(part.train, part.validation, part.test) for part in parts]
            named = [files for part in splits for sides in part for files in sides or ()]
    for files in named:
        for path in [files] if isinstance(files, str) else files or []:
            if Path(path).exists() and not Path(path).is_file():
                raise DataError(f"data: files are needed, since the run names them; got {path}")


def load_corpus(settings: DataSettings) -> Corpus:
    """Load the text that the settings name. Raises DataError when it cannot be had."""
    match settings:
        case GrammarData():
            from nmt import grammar  # its words take time, and few commands need them

            splits = grammar.generate(
                settings.seed, settings.num_train, settings.num_validation, settings.num_test
            )
            texts = {
                name: ParallelText([pair.source for pair in pairs], [pair.target for pair in pairs])
                for name, pairs in splits.items()
            }
            return Corpus(texts["train"], texts["validation"], texts["test"])
        case FilesData(encoding=encoding):
            train, held_out, test = (
                _read_split(getattr(settings, split), f"data.{split}", encoding)
                for split in ("train", "validation", "test")
            )
            assert train is not None
            assert held_out is not None
            return Corpus(train, held_out, test)
        case TableData():
            return _read_tables(settings)
        case Multi30kData():
            train, validation, test = (_read_multi30k(settings, name) for name in MULTI30K_NAMES)
            return Corpus(train, validation, test)
        case HubData():
            return _load_from_hub(settings)
        case MixtureData():
            return _read_mixture(settings)


def _read_split(files: TextPair | OptionalTextPair | str, key: str, encoding: str) -> ParallelText | None:
    if isinstance(files, str):
        return _read_test_set(files, key)
    if files.source is None or files.target is None:
        return None
    return read_parallel_files(files.source, files.target, key, encoding)


def _read_tables(settings: TableData) -> Corpus:
    """Read each split; a test set of sacreBLEU may stand for validation and test."""
    texts: list[ParallelText | None] = []
    for split in ("train", "validation", "test"):
        files: Files | None = getattr(settings, split)
        if files is None:
            texts.append(None)
        elif split != "train" and isinstance(files, str) and is_test_set(files):
            texts.append(_read_test_set(files, f"data.{split}"))
        else:
            columns = Columns(
                settings.source_column, settings.target_column, settings.header, settings.encoding
            )
            texts.append(ParallelText(*read_table(files, f"data.{split}", columns)))
    train, validation, test = texts
    assert train is not None
    assert validation is not None
    return Corpus(train, validation, test)


def _read_mixture(settings: MixtureData) -> Corpus:
    texts: dict[str, ParallelText | None] = {}
    sizes: dict[str, list[int]] = {}
    for split in ("train", "validation", "test"):
        parts = []
        for number, part in enumerate(settings.pairs):
            files = getattr(part, split)
            key = f"data.pairs.{number}.{split}"
            parts.append(
                ParallelText([], []) if files is None else read_parallel_files(files[0], files[1], key)
            )
        sizes[split] = [len(part.source) for part in parts]
        source, target = (
            [line for part in parts for line in getattr(part, side)] for side in ("source", "target")
        )
        texts[split] = ParallelText(source, target) if source else None
    train, validation = texts["train"], texts["validation"]
    assert train is not None
    assert validation is not None
    groups = Groups(
        names=[f"{part.source}-{part.target}" for part in settings.pairs],
        tags=[tag_of(part.target) for part in settings.pairs] if settings.has_tags else None,
        weights=[part.weight for part in settings.pairs],
        temperature=settings.temperature,
        sizes=sizes,
    )
    return Corpus(train, validation, texts["test"], groups)


def _load_from_hub(settings: HubData) -> Corpus:
    train, validation, test = (ParallelText(*sides) if sides else None for sides in load_splits(settings))
    assert train is not None
    assert validation is not None
    return Corpus(
        train, validation, test if settings.test is None else _read_test_set(settings.test, "data.test")
    )


def _read_test_set(name: str, key: str) -> ParallelText:
    """Read a test set by its name."""
    source, target = (str(path) for path in test_set_files(name, key))
    return read_parallel_files(source, target, key)


def _read_multi30k(settings: Multi30kData, name: str) -> ParallelText:
    path = Path(settings.directory) / name
    return read_parallel_files(
        f"{path}.{settings.source_language}", f"{path}.{settings.target_language}", "data.directory"
    )


def _names(files: Files) -> str:
    return files if isinstance(files, str) else " + ".join(files)
