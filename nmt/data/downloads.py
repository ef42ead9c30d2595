"""Text by its name: data sets of the library `datasets`, from the hub or local files, and test sets of sacreBLEU."""

import contextlib
import glob
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from http.client import HTTPException
from pathlib import Path
from typing import Any

from nmt.config import HubData, as_list
from nmt.data.cache import alone, cache_folder, cached_folder, entry_name, states_of
from nmt.data.corpus import unzip
from nmt.data.stored_text import open_text, store_text
from nmt.data.table import ROWS_AT_ONCE, Columns, sides_of
from nmt.errors import DataError, UserError, first_line, nearest
from nmt.versions import importing, require

# A test set and its pair of languages, such as wmt14:de-en.
TEST_SET = re.compile(
    r"(?P<name>[A-Za-z0-9_./-]+):(?P<pair>[a-z]{2,3}(?:_[A-Za-z]+)?-[a-z]{2,3}(?:_[A-Za-z]+)?)"
)

Sides = tuple[Sequence[str], Sequence[str]]


def load_splits(settings: HubData, roles: Iterable[str]) -> dict[str, Sides | None]:
    """Return the lines of both sides of `train`, `validation` or `test`; None for test text that is not named.

    With `streaming`, rows are stored in the cache as they come, and the next run reads them from there.
    Raises DataError when a split cannot be had.
    """
    opened = cache(partial(_open, settings))  # only if something is not in the cache, and only once
    splits = {
        "train": settings.train_split, "validation": settings.validation_split, "test": settings.test_split,
    }  # fmt: skip
    return {
        role: None if (split := splits[role]) is None else _load_split(settings, opened, role, split)
        for role in roles
    }


def _load_split(settings: HubData, opened: Callable[[], Any], role: str, split: str) -> Sides:
    limit = settings.num_train if role == "train" else None
    if not settings.streaming:
        return unzip(_pairs(settings, opened, role, split, limit))
    pairs = _pairs(settings, opened, role, split, limit)
    folder = cached_folder(
        _entry(settings, split, limit), lambda folder: store_text(folder, pairs, f"{role} text")
    )
    return open_text(folder)


def _entry(settings: HubData, split: str, limit: int | None) -> str:
    """Return the name of the entry for a streamed split, with size and time of local files, which may change."""
    chosen = settings.model_dump(
        mode="json", include={"path", "name", "revision", "data_files", "source_column", "target_column"}
    )
    facts = states_of(local_files(settings))
    return entry_name("hub", json.dumps([chosen, split, limit, facts], sort_keys=True))


def local_files(settings: HubData) -> list[str]:
    """Return the local files of a data set: matches of `data_files`, here or in its folder, or the whole folder."""
    named = [as_list(one) for one in (settings.data_files or {}).values()]
    patterns = [pattern.rpartition("::")[2] for files in named for pattern in files]  # zip://*.csv::all.zip
    places = ["", settings.path] if os.path.isdir(settings.path) else [""]
    wanted = [os.path.join(place, pattern) for place in places for pattern in patterns]
    if not patterns and os.path.isdir(settings.path):
        wanted = [os.path.join(settings.path, "**")]
    found = {path for pattern in wanted for path in [pattern, *glob.iglob(pattern, recursive=True)]}
    return sorted(path for path in found if os.path.isfile(path))


def _pairs(
    settings: HubData, opened: Callable[[], Any], role: str, split: str, limit: int | None
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a split. Raises DataError for a split without pairs, and for any error of the library."""
    where = f"{settings.path}, split {split}"
    columns = Columns(settings.source_column, settings.target_column)
    number = 0
    try:
        splits = opened()
        if split not in splits:
            raise DataError(f"data.{role}_split: one of {', '.join(splits)} is needed; got {split}")
        rows = splits[split] if limit is None else splits[split].take(limit)
        for batch in rows.iter(ROWS_AT_ONCE):
            for values in zip(*batch.values(), strict=True):
                number += 1
                row = dict(zip(batch, values, strict=True))
                yield sides_of(row, columns, f"data.{role}_split", f"{where}, row {number}")
    except UserError:
        raise
    except Exception as error:  # the library raises whatever its loaders, its cache and the network do
        reason = ": ".join(first_line(one) for one in (error, error.__cause__) if one is not None)
        raise DataError(f"data.path: a data set is needed; got {settings.path}: {reason}") from None
    if not number:
        raise DataError(f"data.{role}_split: text is needed; got none in {split}")


def _open(settings: HubData) -> Any:
    with importing("hub", "data"):
        import datasets  # takes seconds, and few runs need it
    require("datasets")
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    return datasets.load_dataset(
        settings.path,
        settings.name,
        data_files=settings.data_files,
        revision=settings.revision,
        streaming=settings.streaming,
        **({"keep_default_na": False} if settings.path == "csv" else {}),  # `NA` and `null` are text
    )


def is_test_set(text: str) -> bool:
    """Whether this is the name of a test set with a pair of languages, and no file."""
    return TEST_SET.fullmatch(text) is not None and not Path(text).exists()


def test_set_files(text: str, key: str) -> tuple[Path, Path]:
    """Return the files of source and first reference of a test set, which are downloaded if they are not there.

    sacreBLEU keeps them in $SACREBLEU, else ~/.sacrebleu. Raises DataError, beginning with `key`, when they cannot
    be had.
    """
    from sacrebleu.dataset import DATASETS  # takes a while, and few runs need it
    from sacrebleu.utils import SACREBLEU_DIR

    found = TEST_SET.fullmatch(text)
    if found is None:
        pairs = sorted(DATASETS[text].langpairs) if text in DATASETS else []
        offered = f", which has {', '.join(pairs)}" if pairs else nearest(text, sorted(DATASETS))
        raise DataError(
            f"{key}: a test set of sacreBLEU with a pair of languages is needed, such as wmt14:de-en; "
            f"got {text}{offered}"
        )
    name, pair = found["name"], found["pair"]
    if name not in DATASETS:
        raise DataError(
            f"{key}: a test set that sacreBLEU knows is needed; got {name}{nearest(name, sorted(DATASETS))}"
        )
    data_set = DATASETS[name]
    if pair not in data_set.langpairs:
        offered = ", ".join(sorted(data_set.langpairs))
        raise DataError(f"{key}: one of {offered} is needed for {name}; got {pair}")
    try:
        with contextlib.ExitStack() as stack:
            # One process after the other: sacreBLEU waits for another's download for a minute only, and not at all
            # while the other writes the text that it has downloaded.
            with contextlib.suppress(OSError):  # where nothing can be written, nothing is downloaded
                stack.enter_context(alone(cache_folder(), f"sacrebleu-{name.replace('/', '-')}"))
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            source, reference = data_set.get_source_file(pair), data_set.get_reference_files(pair)[0]
    except (OSError, HTTPException, SystemExit, EOFError, ValueError) as error:
        failed = isinstance(error, SystemExit)
        reason = "a download that is not what sacreBLEU expects" if failed else first_line(error)
        raise DataError(
            f"{key}: the network or an earlier download is needed for {text}; got {reason}; "
            f"sacreBLEU keeps what it downloads in {SACREBLEU_DIR}"
        ) from None
    return Path(source), Path(reference)
