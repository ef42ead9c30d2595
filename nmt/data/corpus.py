"""Parallel text: lines of two sides, held in memory or, where they are many, on the disk."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate, chain, compress, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import Files, as_list
from nmt.data.arrays import BoolArray, map_file
from nmt.data.cache import cached_folder, entry_name, states_of
from nmt.data.lines import COMPRESSED, PARQUET, iterate_lines, suffix_of
from nmt.data.mixture import Groups
from nmt.data.stored_text import StoredLines, open_text, store_text
from nmt.errors import DataError

SPLITS = ("train", "validation", "test")
# Bytes; text of this size or more is stored in the cache, so that the next run has it at once.
LARGE = 1 << 25
SIZES = "sizes"
TIMES_SMALLER = 4  # compressed text, as a rule

Pairs = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class ParallelText:
    """Line N of `target` translates line N of `source`; with data.context, `starts` are where further files begin."""

    source: Sequence[str]
    target: Sequence[str]
    starts: Sequence[int] = ()

    @property
    def is_stored(self) -> bool:
        """Whether the text is too large for memory, and read from the disk."""
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

        Stored training text got its tags when it was prepared.
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
        """Return the corpus with only those training pairs that are `kept`."""
        if kept.all():
            return self
        source, target = (list(compress(side, kept)) for side in (self.train.source, self.train.target))
        train = ParallelText(source, target)
        return replace(self, train=train, groups=self.groups and self.groups.keep(kept))


def read_parallel_files(
    source: Files, target: Files, key: str, encoding: str | None = None, context: int = 0
) -> ParallelText:
    """Read the two sides of parallel text. Raises DataError if one has more lines, or the source has no text.

    With `context`, a document ends where its file does, so each source file needs a target file of its own.
    """
    if not context:
        return hold([pairs_of_files(source, target, key, encoding)], [source, target], encoding)[0]
    sides = [as_list(side) for side in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"{key}: as many files of source as of target are needed with data.context={context}; "
            f"got {len(sides[0])} and {len(sides[1])}"
        )
    parts = [pairs_of_files(one, other, key, encoding) for one, other in zip(*sides, strict=True)]
    return hold_documents(parts, sides, encoding)


def pairs_of_files(source: Files, target: Files, key: str, encoding: str | None) -> Pairs:
    """Yield the pairs of lines of two sides. Raises DataError if one has more lines than the other, or no text.

    Where both sides have as many files, the lines of each must be as many: else a line that one file lacks and another
    has too many would shift all pairs between them.
    """
    sources: Sequence[Files] = as_list(source)
    targets: Sequence[Files] = as_list(target)
    if len(sources) != len(targets):
        sources, targets = [source], [target]
    files = zip(sources, targets, strict=True)
    pairs = chain.from_iterable(_zip_files(one, other, key, encoding) for one, other in files)
    return with_text(pairs, key, (_names(source), _names(target)))


def with_text(pairs: Iterable[tuple[str, str]], key: str, sides: tuple[str, str]) -> Pairs:
    """Yield pairs. Raises DataError, of `key`, at their end if there is none, or one of the `sides` has no text."""
    rest, has_source, has_target = iter(pairs), False, False
    for source, target in rest:
        yield source, target
        has_source, has_target = has_source or bool(source.strip()), has_target or bool(target.strip())
        if has_source and has_target:
            yield from rest
            return
    raise DataError(f"{key}: text is needed; got none in {sides[has_source]}")


def unzip(pairs: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Return the two sides of pairs."""
    source, target = [], []
    for one, other in pairs:
        source.append(one)
        target.append(other)
    return source, target


def _zip_files(source: Files, target: Files, key: str, encoding: str | None) -> Pairs:
    # Only these keys have one key for each side; of other text, such as a folder's, one key names both.
    has_sides = key.removeprefix("data.") in SPLITS
    sides = [
        iterate_lines(files, f"{key}.{side}" if has_sides else key, encoding)
        for files, side in ((source, "source"), (target, "target"))
    ]
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
        yield one, other


def hold(parts: Sequence[Pairs], files: Sequence[Files], *facts: object) -> tuple[ParallelText, list[int]]:
    """Return the pairs of one corpus or several, one after the other, and the number of pairs of each.

    Large files are read once, into the cache, and the next run reads the pairs from there. `facts` are what the pairs
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

    paths = [path for one in files for path in as_list(one)]
    # Where one is missing, reading says which.
    if sum(map(_size_of_text, paths)) < LARGE or not all(map(os.path.exists, paths)):
        return ParallelText(*unzip(pairs())), sizes
    # The paths alone do not tell where one list of files ends and the next begins.
    num_files = [len(as_list(one)) for one in files]
    folder = cached_folder(entry_name("text", json.dumps([states_of(paths), num_files, facts])), make)
    return ParallelText(*open_text(folder)), map_file(folder / SIZES, np.int64).tolist()


def hold_documents(parts: Sequence[Pairs], files: Sequence[Files], *facts: object) -> ParallelText:
    """Return the pairs of several files as `hold` does, with the `starts` of all but the first."""
    text, sizes = hold(parts, files, *facts, "by file")
    return replace(text, starts=tuple(accumulate(sizes[:-1])))


def _size_of_text(path: str) -> int:
    """Return about how many bytes of text a file holds; 0 for a missing file, which reading will report."""
    with suppress(OSError):
        return os.stat(path).st_size * (TIMES_SMALLER if suffix_of(path) in (*COMPRESSED, PARQUET) else 1)
    return 0


def _names(files: Files) -> str:
    return " + ".join(as_list(files))
