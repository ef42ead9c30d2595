"""Vocabularies of other programs, which number the pieces of SentencePiece models as they like."""

import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nmt.data.mixture import known_tags
from nmt.data.tokenizer import NORMAL, USER_DEFINED, WORD_START, Tokenizer, Vocabulary
from nmt.errors import DataError, RunError

# SentencePiece.Type of sentencepiece_model.proto: no text is split into such a piece, but it decodes to its own text.
UNUSED = 5
# SentencePiece scores an unknown character this much below its least likely piece.
UNKNOWN_PENALTY = 10.0
# The tag that a source line begins with in models of several target languages.
TAG = re.compile(">>.+<<")


class Specials(NamedTuple):
    """The rows of the special tokens in a table of embeddings; the decoder begins with the token of row `start`."""

    pad: int
    unk: int
    start: int
    eos: int


@dataclass(frozen=True)
class Side:
    """A vocabulary, the row of each of its token ids in the other program's tables, and the ids without a row."""

    vocabulary: Vocabulary
    rows: list[int]
    missing: list[int]


def read_sides(
    models: tuple[bytes, bytes],
    numbers: tuple[Mapping[str, int], Mapping[str, int]],
    specials: tuple[Specials, Specials],
) -> tuple[Tokenizer, Side, Side]:
    """Return the tokenizer of two SentencePiece models, and for each side the rows of its pieces.

    A piece without a row is read as the unknown token, and never written. Where one table serves both sides, it has
    rows for pieces that a model lacks. The target model gets these for writing alone. The source model gets single
    characters, which it would read as unknown, and tags, which begin a line. Raises RunError where a model cannot have
    such pieces.
    """
    try:
        own = [Vocabulary(model) for model in models]
    except DataError as error:
        raise RunError(f"run: {error}") from None
    source, target = (
        [piece for piece, row in of_side.items() if row not in special and piece not in known]
        for of_side, special, known in zip(
            numbers, specials, (set(own[0].pieces), set(own[1].pieces)), strict=True
        )
    )
    if target and own[1].kind != "unigram":
        raise RunError(
            "run: a target model of kind unigram is needed where the vocabulary has pieces that are not in it; "
            f"got {own[1].kind}, and the piece {target[0]}"
        )
    tags = {WORD_START + piece: row for piece, row in numbers[0].items() if TAG.fullmatch(piece)}
    least = min(own[0].scores) - UNKNOWN_PENALTY
    extended = (
        models[0]
        + b"".join(_piece(piece, USER_DEFINED) for piece in tags if piece not in own[0].pieces)
        + b"".join(_piece(piece, NORMAL, least) for piece in source if len(piece) == 1),
        models[1] + b"".join(_piece(piece, UNUSED) for piece in target),
    )
    try:
        tokenizer = Tokenizer.of_models(extended[0], None if extended[0] == extended[1] else extended[1])
    except DataError as error:
        raise RunError(
            f"run: pieces that SentencePiece can hold are needed in a vocabulary: {error}"
        ) from None
    return (
        tokenizer,
        _side(tokenizer.source, {**numbers[0], **tags}, specials[0]),
        _side(tokenizer.target, numbers[1], specials[1]),
    )


def named_as_theirs(piece: str) -> str:
    """Return a piece as other programs write it: a tag has no mark of a space before it."""
    return piece[1:] if piece[:1] == WORD_START and TAG.fullmatch(piece[1:]) else piece


def tags_of_lines(pieces: Iterable[str]) -> list[str]:
    """Return the tags that lines may begin with: those of our own models, and >>fra<< of models of other programs."""
    of_others = (named_as_theirs(piece) for piece in pieces if named_as_theirs(piece) != piece)
    return [*known_tags(pieces), *of_others]


def _side(vocabulary: Vocabulary, numbers: Mapping[str, int], specials: Specials) -> Side:
    special = dict(zip(vocabulary.special_ids, specials, strict=True))
    found = [special.get(i, numbers.get(piece)) for i, piece in enumerate(vocabulary.pieces)]
    rows = [specials.unk if row is None else row for row in found]
    return Side(vocabulary, rows, [i for i, row in enumerate(found) if row is None])


def _piece(text: str, kind: int, score: float = 0.0) -> bytes:
    """Return a piece as protobuf; appended to a serialised model, it becomes the last piece of that model."""
    encoded = text.encode()
    body = b"\x0a" + _length(encoded) + encoded + b"\x15" + struct.pack("<f", score) + bytes([0x18, kind])
    return b"\x0a" + _length(body) + body


def _length(content: bytes) -> bytes:
    number, digits = len(content), []
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])
