"""Where text comes from: each kind of `data=`, from the settings that name it to a corpus."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from os.path import isfile
from pathlib import Path

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
    as_list,
)
from nmt.data.arrays import Int64Array
from nmt.data.characters import require_known_scripts
from nmt.data.corpus import (
    SPLITS,
    Corpus,
    Pairs,
    ParallelText,
    hold,
    hold_documents,
    pairs_of_files,
    read_parallel_files,
    unzip,
)
from nmt.data.downloads import is_test_set, load_splits, test_set_files
from nmt.data.lines import require_reader
from nmt.data.mixture import Groups, tag_of
from nmt.data.opus import obtain_corpora
from nmt.data.table import SUFFIXES, Columns, read_table, table_files
from nmt.data.translation_memory import SUFFIXES as MEMORIES
from nmt.data.translation_memory import Languages, read_memories
from nmt.errors import DataError
from nmt.files.reading import is_missing

SIDES = ("source", "target")
MULTI30K_NAMES = {"train": "train", "validation": "val", "test": "test_2016_flickr"}


def named_files(settings: DataSettings, splits: Sequence[str] = SPLITS) -> Iterator[tuple[str, Files]]:
    """Yield the files that settings name for these splits, each after its key; those of the hub for all splits."""
    if isinstance(settings, HubData):
        yield from (("data.data_files", files) for files in (settings.data_files or {}).values())
    for split in splits:
        key = f"data.{split}"
        match settings:
            case FilesData() if not isinstance(pair := getattr(settings, split), str):
                yield from ((f"{key}.{side}", files) for side in SIDES if (files := getattr(pair, side)))
            case TableData() | TmxData() if files := getattr(settings, split):
                if split == "train" or not (isinstance(files, str) and is_test_set(files)):
                    yield key, table_files(files, SUFFIXES if isinstance(settings, TableData) else MEMORIES)
            case Multi30kData():
                yield from (
                    ("data.directory", path) for path in _files_of_multi30k(settings, split) if isfile(path)
                )
            case MixtureData(pairs=parts):
                for number, part in enumerate(parts):
                    yield from (
                        (f"data.pairs.{number}.{split}", files) for files in getattr(part, split) or ()
                    )


def require_files(settings: DataSettings) -> None:
    """Raise DataError if a stranger's settings name something that is no file: a pipe or a device need not end."""
    for _, files in named_files(settings):
        for path in as_list(files):
            if Path(path).exists() and not Path(path).is_file():
                raise DataError(f"data: files are needed, since the run names them; got {path}")


def load_corpus(settings: DataSettings) -> Corpus:
    """Load the text that the settings name.

    Raises DataError when it cannot be had, SettingsError for an unknown script, or without a library.
    """
    texts, groups = _load(settings, SPLITS)
    train, validation = texts["train"], texts["validation"]
    assert train is not None
    assert validation is not None
    return Corpus(train, validation, texts["test"], groups)


def load_split(settings: DataSettings, split: str) -> tuple[ParallelText | None, Groups | None]:
    """Load one split of the text alone, if there is such a split, and the corpora of a mixture; see `load_corpus`."""
    texts, groups = _load(settings, [split])
    return texts[split], groups


def _load(
    settings: DataSettings, splits: Sequence[str]
) -> tuple[Mapping[str, ParallelText | None], Groups | None]:
    require_known_scripts(settings.filter)
    if not isinstance(settings, HubData):  # whose own library reads them
        named = list(named_files(settings, splits))  # those of the last split, too, before any is read
        for _, files in named:
            require_reader(files, "data")
        for key, files in named:
            for path in filter(is_missing, as_list(files)):
                raise DataError(f"{key}: no such file: {path}")
    texts: Mapping[str, ParallelText | None]
    groups = None
    match settings:
        case GrammarData():
            from nmt import grammar  # its words take time, and few commands need them

            sizes = settings.num_train, settings.num_validation, settings.num_test
            generated = grammar.generate(settings.seed, *sizes)
            texts = {
                split: ParallelText(*unzip((pair.source, pair.target) for pair in generated[split]))
                for split in splits
            }
        case FilesData():
            texts = {split: _read_files(settings, split) for split in splits}
        case TableData() | TmxData():
            texts = {split: _read_tables(settings, split) for split in splits}
        case Multi30kData():
            texts = {split: _read_multi30k(settings, split) for split in splits}
        case HubData():
            texts = _read_hub(settings, splits)
        case OpusData():
            texts = _read_opus(settings, splits)
        case MixtureData():
            texts, groups = _read_mixture(settings, splits)
    for split, text in texts.items():
        if settings.context and split != "train" and text is not None and text.starts:
            raise DataError(
                f"data.{split}: one file is needed with data.context={settings.context}, with blank lines between "
                f"documents; got {len(text.starts) + 1}"
            )
    return texts, groups


def _read_files(settings: FilesData, split: str) -> ParallelText | None:
    files, key = getattr(settings, split), f"data.{split}"
    if isinstance(files, str):
        return _read_test_set(files, key, settings)
    if files.source is None or files.target is None:
        return None
    return read_parallel_files(files.source, files.target, key, settings.encoding, settings.context)


def _read_tables(settings: TableData | TmxData, split: str) -> ParallelText | None:
    """Read a split; a test set of sacreBLEU may stand for validation and test."""
    files, key = getattr(settings, split), f"data.{split}"
    if files is None:
        return None
    if split != "train" and isinstance(files, str) and is_test_set(files):
        return _read_test_set(files, key, settings)
    if isinstance(settings, TmxData):
        facts: tuple[object, ...] = settings.source, settings.target
        paths = table_files(files, MEMORIES)
        # One for all files, in none of which a name may stand for another language than in the others.
        languages = Languages(settings.source, settings.target)
        read = partial(read_memories, key=key, languages=languages)
    else:
        columns = Columns(settings.source_column, settings.target_column, settings.header, settings.encoding)
        facts, paths = astuple(columns), table_files(files)
        read = partial(read_table, key=key, columns=columns)
    if not paths:
        raise DataError(f"{key}: text is needed; got none in {', '.join(as_list(files))}")
    if settings.context:
        return hold_documents([read(path) for path in paths], paths, *facts)
    return hold([read(files)], paths, *facts)[0]


def _read_hub(settings: HubData, splits: Sequence[str]) -> dict[str, ParallelText | None]:
    texts: dict[str, ParallelText | None] = {}
    if "test" in splits and settings.test is not None:
        texts["test"] = _read_test_set(settings.test, "data.test", settings)
    of_set = load_splits(settings, [split for split in splits if split not in texts])
    return texts | {split: sides and ParallelText(*sides) for split, sides in of_set.items()}


def _read_mixture(
    settings: MixtureData, splits: Sequence[str]
) -> tuple[dict[str, ParallelText | None], Groups]:
    texts: dict[str, ParallelText | None] = {}
    sizes: dict[str, list[int]] = {}
    for split in splits:
        parts: list[Pairs] = []
        files: list[Files] = []
        for number, part in enumerate(settings.pairs):
            sides = getattr(part, split) or ()
            parts.append(
                pairs_of_files(sides[0], sides[1], f"data.pairs.{number}.{split}", None)
                if sides
                else iter(())
            )
            files += sides
        text, sizes[split] = hold(parts, files, [len(getattr(part, split) or ()) for part in settings.pairs])
        texts[split] = text if len(text.source) else None
    groups = Groups(
        names=[f"{part.source}-{part.target}" for part in settings.pairs],
        tags=[tag_of(part.target) for part in settings.pairs] if settings.has_tags else None,
        weights=[part.weight for part in settings.pairs],
        temperature=settings.temperature,
        sizes=sizes,
    )
    return texts, groups


def _read_opus(settings: OpusData, splits: Sequence[str]) -> dict[str, ParallelText | None]:
    """Read corpora of OPUS; where no test set is named, validation and test pairs are held out evenly from all."""
    named = {"validation": settings.validation, "test": settings.test}
    texts: dict[str, ParallelText | None] = {
        split: _read_test_set(name, f"data.{split}", settings)
        for split in splits
        if (name := named.get(split)) is not None
    }
    if set(texts) == set(splits):
        return texts
    corpora = obtain_corpora(settings)
    num_lines = sum(corpus.num_lines for corpus in corpora)
    num_validation = 0 if settings.validation else settings.num_validation
    num_held = num_validation + (0 if settings.test else settings.num_test)
    if num_lines <= 2 * num_held:
        raise DataError(
            f"data.num_validation, data.num_test: less than half of the {num_lines} pairs is needed for both together; "
            f"got {num_held}"
        )
    held = np.arange(num_held) * num_lines // max(num_held, 1)
    is_validation = np.zeros(num_held, bool)
    is_validation[np.arange(num_validation) * num_held // max(num_validation, 1)] = True

    def read(split: str, places: Int64Array, inside: bool) -> ParallelText:
        wanted, parts, first = set(places.tolist()), list[Pairs](), 0
        for corpus in corpora:
            pairs = pairs_of_files(str(corpus.source), str(corpus.target), "data.corpora", None)
            numbered = enumerate(pairs, first)
            parts.append(pair for number, pair in numbered if (number in wanted) is inside)
            first += corpus.num_lines
        files = [str(path) for corpus in corpora for path in (corpus.source, corpus.target)]
        facts = split, num_validation, num_held
        return hold_documents(parts, files, *facts) if settings.context else hold(parts, files, *facts)[0]

    held_out = {"validation": held[is_validation], "test": held[~is_validation]}
    for split in splits:
        if split == "train":
            texts[split] = read(split, held, inside=False)
        elif split not in texts:
            texts[split] = read(split, held_out[split], inside=True) if len(held_out[split]) else None
    return texts


def _read_test_set(name: str, key: str, settings: DataSettings) -> ParallelText:
    """Read a test set of sacreBLEU. Raises DataError for the other direction than that of the settings."""
    test_set, _, pair = name.partition(":")
    languages = [_base(one if isinstance(one, str) else one[0]) for one in settings.languages]
    if [_base(one) for one in pair.split("-")] == languages[::-1] and languages[0] != languages[1]:
        raise DataError(
            f"{key}: {test_set}:{'-'.join(pair.split('-')[::-1])} is needed, since the text is translated from "
            f"{languages[0]} to {languages[1]}; got {name}, which is the other direction"
        )
    source, target = test_set_files(name, key)
    return read_parallel_files(str(source), str(target), key)


def _base(language: str) -> str:
    """Return the code of a language without script and region: `zh` of `zh-Hant` and `zh_TW`."""
    return language.lower().replace("_", "-").partition("-")[0]


def _files_of_multi30k(settings: Multi30kData, split: str) -> list[str]:
    path = Path(settings.directory) / MULTI30K_NAMES[split]
    return [f"{path}.{language}" for language in (settings.source_language, settings.target_language)]


def _read_multi30k(settings: Multi30kData, split: str) -> ParallelText:
    source, target = _files_of_multi30k(settings, split)
    for path in (source, target):
        if not Path(path).exists():
            raise DataError(
                f"data.directory: a folder with {Path(path).name} is needed, as task 1 of the repository "
                f"multi30k/dataset has it, unpacked; got {settings.directory}, which lacks it"
            )
    return read_parallel_files(source, target, "data.directory")
