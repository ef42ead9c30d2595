"""Parallel text: lines of two sides, from files, from a data set, or from the built-in grammar."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt.config import DataSettings, Files, FilesData, GrammarData, HubData, Multi30kData
from nmt.data.lines import read_lines
from nmt.errors import DataError
from nmt.versions import require


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


def read_parallel_files(source: Files, target: Files, key: str) -> ParallelText:
    """Read the two sides of parallel text. Raises DataError if one has more lines than the other, or none."""
    text = ParallelText(read_lines(source, f"{key}.source"), read_lines(target, f"{key}.target"))
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
    if not isinstance(settings, FilesData):
        return
    for split in (settings.train, settings.validation, settings.test):
        for files in (split.source, split.target):
            for path in [files] if isinstance(files, str) else files or []:
                if Path(path).exists() and not Path(path).is_file():
                    raise DataError(f"data: files are needed, since the run names them; got {path}")


def load_corpus(settings: DataSettings) -> Corpus:
    """Load the text that the settings name. Raises DataError when it cannot be had."""
    match settings:
        case GrammarData():
            from nmt.data import grammar  # its words take time, and few commands need them

            splits = grammar.generate(
                settings.seed, settings.num_train, settings.num_validation, settings.num_test
            )
            texts = {
                name: ParallelText([pair.source for pair in pairs], [pair.target for pair in pairs])
                for name, pairs in splits.items()
            }
            return Corpus(texts["train"], texts["validation"], texts["test"])
        case FilesData(train=train, validation=validation, test=test):
            return Corpus(
                read_parallel_files(train.source, train.target, "data.train"),
                read_parallel_files(validation.source, validation.target, "data.validation"),
                None
                if test.source is None or test.target is None
                else read_parallel_files(test.source, test.target, "data.test"),
            )
        case Multi30kData():
            return Corpus(*(_read_multi30k(settings, name) for name in ("train", "val", "test_2016_flickr")))
        case HubData():
            return _load_from_hub(settings)


def _read_multi30k(settings: Multi30kData, name: str) -> ParallelText:
    path = Path(settings.directory) / name
    return read_parallel_files(
        f"{path}.{settings.source_language}", f"{path}.{settings.target_language}", "data.directory"
    )


def _load_from_hub(settings: HubData) -> Corpus:
    import datasets  # takes seconds, and few runs need it

    require("datasets")
    try:
        splits = datasets.load_dataset(settings.path, settings.name, data_files=settings.data_files)
    except Exception as error:  # the library raises whatever its loaders, its cache and the network do
        reason = (str(error).strip() or type(error).__name__).split("\n")[0]
        raise DataError(f"data.path: a data set is needed; got {settings.path}: {reason}") from None
    return Corpus(
        _select_columns(splits, "train", settings.train_split, settings),
        _select_columns(splits, "validation", settings.validation_split, settings),
        _select_columns(splits, "test", settings.test_split, settings) if settings.test_split else None,
    )


def _select_columns(splits: Any, role: str, split: str, settings: HubData) -> ParallelText:
    if split not in splits:
        raise DataError(f"data.{role}_split: one of {', '.join(splits)} is needed; got {split}")
    rows = splits[split]
    columns = list(rows.column_names)
    if "translation" in columns and settings.source_column not in columns:
        rows = rows["translation"]
        columns = sorted({key for row in rows[:1] for key in row})
        sides = {name: [row.get(name) for row in rows] for name in columns}
    else:
        sides = {name: list(rows[name]) for name in columns}
    for key in ("source_column", "target_column"):
        if getattr(settings, key) not in columns:
            raise DataError(
                f"data.{key}: one of {', '.join(columns)} is needed; got {getattr(settings, key)}"
            )
    # A record may hold line ends; everywhere else in the project a text is one line.
    source, target = (
        [str(text or "").replace("\r\n", " ").replace("\n", " ") for text in sides[name]]
        for name in (settings.source_column, settings.target_column)
    )
    if not source:
        raise DataError(f"data.{role}_split: text is needed; got none in {split}")
    return ParallelText(source, target)


def _names(files: Files) -> str:
    return files if isinstance(files, str) else " + ".join(files)
