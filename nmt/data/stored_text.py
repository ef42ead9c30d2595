"""Text that is too large for memory: written once into files, line by line, and read through memory maps."""

import operator
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import overload

import numpy as np
from tqdm import tqdm

from nmt.data.arrays import Int64Array, map_file
from nmt.files.reading import read_json
from nmt.files.writing import MANIFEST

SIDES = ("source", "target")
PAIRS_AT_ONCE = 10_000
LINE_END = ord("\n")


class StoredLines(Sequence[str]):
    """Lines in a file, each with its `\\n`; another file says where they end. `sha256` is that of the first file."""

    def __init__(self, path: Path, sha256: bytes) -> None:
        self.sha256 = sha256
        self._text = map_file(path, np.uint8)
        self._ends: Int64Array = map_file(_ends_of(path), np.int64)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        indices = range(len(self))[index]
        if isinstance(indices, int):
            return self._lines(indices, indices + 1)[0]
        if indices.step == 1:
            return self._lines(indices.start, indices.stop)
        return [self[i] for i in indices]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), PAIRS_AT_ONCE):
            yield from self[start : start + PAIRS_AT_ONCE]

    def __eq__(self, other: object) -> bool:
        """Whether the lines are the same as those of another sequence, such as a list."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(operator.eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def _lines(self, start: int, stop: int) -> list[str]:
        first = self._ends[start - 1] if start else 0
        last = self._ends[stop - 1] if stop > start else first
        return self._text[first:last].tobytes().decode().split("\n")[:-1]


def store_text(folder: Path, pairs: Iterable[tuple[str, str]], label: str) -> None:
    """Write both sides of pairs, whose lines hold no `\\n`, to a folder; `label` names the progress bar."""
    rest = iter(tqdm(pairs, label, unit=" pairs", unit_scale=True, disable=None, leave=False))
    with ExitStack() as stack:
        paths = [folder / f"{side}.txt" for side in SIDES]
        texts = [stack.enter_context(open(path, "wb")) for path in paths]
        ends = [stack.enter_context(open(_ends_of(path), "wb")) for path in paths]
        while chunk := list(islice(rest, PAIRS_AT_ONCE)):
            for lines, text_file, ends_file in zip(zip(*chunk, strict=True), texts, ends, strict=True):
                text = ("\n".join(lines) + "\n").encode()
                found = np.flatnonzero(np.frombuffer(text, np.uint8) == LINE_END) + 1 + text_file.tell()
                text_file.write(text)
                ends_file.write(found.astype(np.int64).data)


def open_text(folder: Path) -> tuple[StoredLines, StoredLines]:
    """Return the two sides of a text that was stored in an entry of the cache."""
    facts = read_json(folder / MANIFEST)
    source, target = (
        StoredLines(folder / f"{side}.txt", bytes.fromhex(facts[f"{side}.txt"]["sha256"])) for side in SIDES
    )
    return source, target


def _ends_of(path: Path) -> Path:
    return path.with_suffix(".ends")
