"""Vocabularies of other programs, which number the pieces of SentencePiece models as they like."""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nmt.data.tokenizer import NORMAL, USER_DEFINED, WORD_START, Tokenizer, Vocabulary
from nmt.errors import DataError, RunError

UNUSED = 5  # SentencePiece.Type of sentencepiece_model.proto: no piece of any text, but it stands for its own
# By how much SentencePiece finds an unknown character less likely than any piece.
UNKNOWN_PENALTY = 10.0
# What a source line begins with in models of several target languages.
TAG = re.compile(">>.+<<")


class Specials(NamedTuple):
    """The rows of the special tokens; `start` is the one that the decoder begins with."""

    pad: int
    unk: int
    start: int
    eos: int


@dataclass(frozen=True)
class Side:
    """A vocabulary, the row of each of its ids in the other program's tables, and the ids that have none."""

    vocabulary: Vocabulary
    rows: list[int]
    missing: list[int]


def read_sides(
    models: tuple[bytes, bytes],
    numbers: tuple[Mapping[str, int], Mapping[str, int]],
    specials: tuple[Specials, Specials],
) -> tuple[Tokenizer, Side, Side]:
    """Return the tokenizer of two SentencePiece models whose pieces have rows of their own, and each side of it.

    A piece without a row is read as an unknown one, and never written. Where one table serves both sides, there are
    rows whose piece a model lacks: those of the target are written and never read; of the source, a character is read
    where it was unknown, and a tag at the begin of a line. Raises RunError where a model cannot have such pieces.
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
    """Return what other programs call a piece: a tag has no space before it."""
    return piece[1:] if piece[:1] == WORD_START and TAG.fullmatch(piece[1:]) else piece


def _side(vocabulary: Vocabulary, numbers: Mapping[str, int], specials: Specials) -> Side:
    special = dict(zip(vocabulary.special_ids, specials, strict=True))
    found = [special.get(i, numbers.get(piece)) for i, piece in enumerate(vocabulary.pieces)]
    rows = [specials.unk if row is None else row for row in found]
    return Side(vocabulary, rows, [i for i, row in enumerate(found) if row is None])


def _piece(text: str, kind: int, score: float = 0.0) -> bytes:
    """Return a piece as protobuf, which adds up what is written one after the other."""
    encoded = text.encode()
    body = b"\x0a" + _length(encoded) + encoded + b"\x15" + struct.pack("<f", score) + bytes([0x18, kind])
    return b"\x0a" + _length(body) + body


def _length(content: bytes) -> bytes:
    number, digits = len(content), []
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])
