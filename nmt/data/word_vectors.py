"""Word vectors from text files as word2vec (Mikolov et al. 2013) and GloVe (Pennington et al. 2014) write them."""

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor

from nmt.data.lines import read_raw_lines
from nmt.data.tokenizer import WORD_START, Vocabulary
from nmt.errors import DataError


def read_word_vectors(path: str, key: str, vocabulary: Vocabulary, width: int) -> tuple[Tensor, Tensor]:
    """Return the ids (M), in order, and the vectors (M, width) of the pieces that are whole words and in the file.

    A line of the file, `.gz` or not, is a word and its numbers, with single spaces between; the first may hold the
    number of words and the width instead. A piece `▁word` gets the vector of `word`, or else of its lower-case form; so
    a vocabulary of characters has no words. Of several lines for a word, the first counts.

    Raises DataError, beginning with `key`, when the file cannot be read, is of another width, holds something other
    than numbers for a word that is needed, or none of the words.
    """
    exact, lower_case = _find_words(vocabulary)
    if not exact:
        raise DataError(f"{key}: null is needed with a vocabulary that has no whole words; got {path}")
    found: dict[bytes, Tensor] = {}
    for number, line in _lines_with_vectors(path, key, width):
        first, _, _ = line.partition(b" ")
        if (first not in exact and first not in lower_case) or first in found:
            continue
        word, *fields = line.rstrip(b" ").rsplit(b" ", width)
        expected = f"{key}: {width} numbers after a word are needed; got {path}, line {number}"
        found[word] = _read_numbers(fields, width, expected)  # a word with spaces matches no piece
    vectors: dict[int, Tensor] = {}
    for ids_of in (lower_case, exact):  # the latter prevails
        for word, ids in ids_of.items():
            if word in found:
                vectors |= dict.fromkeys(ids, found[word])
    if not vectors:
        raise DataError(
            f"{key}: vectors of words of the vocabulary are needed; "
            f"got {path}, which has none of its {len(exact)} words"
        )
    in_order = sorted(vectors)
    return torch.tensor(in_order), torch.stack([vectors[i] for i in in_order])


def _find_words(vocabulary: Vocabulary) -> tuple[dict[bytes, list[int]], dict[bytes, list[int]]]:
    """Return the ids of the pieces that are words, by the word and by its lower-case form."""
    exact: dict[bytes, list[int]] = {}
    lower_case: dict[bytes, list[int]] = {}
    for i, (piece, is_normal) in enumerate(zip(vocabulary.pieces, vocabulary.is_normal, strict=True)):
        word = piece.removeprefix(WORD_START)
        if is_normal and word and word != piece:
            exact.setdefault(word.encode(), []).append(i)
            lower_case.setdefault(word.lower().encode(), []).append(i)
    return exact, lower_case


def _lines_with_vectors(path: str, key: str, width: int) -> Iterator[tuple[int, bytes]]:
    """Yield numbers and text of the lines that hold vectors, after a check of their width."""
    lines = enumerate(read_raw_lines(path, key), start=1)
    first = next(lines, None)
    if first is None:
        raise DataError(f"{key}: word vectors are needed; got {path}, which is empty")
    fields = first[1].rstrip(b" ").split(b" ")
    has_header = len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit()
    numbers = list(itertools.takewhile(_is_number, reversed(fields[1:])))
    file_width = int(fields[1]) if has_header else len(numbers)
    if file_width == 0:
        raise DataError(f"{key}: {width} numbers after a word are needed; got {path}, line 1, which has none")
    if file_width != width:
        raise DataError(
            f"{key}: vectors as wide as the model's embedding, {width}, are needed; "
            f"got {path}, whose are {file_width} wide"
        )
    if not has_header:
        yield first
    yield from lines


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _read_numbers(fields: list[bytes], width: int, expected: str) -> Tensor:
    try:
        values = [float(field) for field in fields]
    except ValueError as error:
        raise DataError(f"{expected}: {error}") from None
    if len(values) != width:
        raise DataError(f"{expected}, which has {len(values)}")
    vector = torch.tensor(values, dtype=torch.float32)
    if not vector.isfinite().all():
        raise DataError(f"{expected}, whose numbers are not all finite")
    return vector
