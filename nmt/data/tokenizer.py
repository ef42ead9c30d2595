"""Text to ids and back, by SentencePiece (Kudo & Richardson 2018)."""

import io
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
import sentencepiece

from nmt.config import TokenizerSettings
from nmt.data.arrays import Int64Array
from nmt.data.cache import cached_file, entry_name
from nmt.data.corpus import ParallelText
from nmt.data.lines import MAX_LINE_BYTES
from nmt.errors import DataError, SettingsError
from nmt.versions import require

require("sentencepiece")

SENTENCEPIECE: str = sentencepiece.__version__  # other versions may segment text differently
# Pieces mark the start of a word by U+2581.
WORD_START = "▁"
# SentencePiece holds the text that it learns from in memory, some 1.5 kB a line; more lines give the same pieces.
MAX_LINES_LEARNED_FROM = 2_000_000
# SentencePiece starts new threads to encode a list, which takes as long as encoding some thirty lines.
FEW_LINES = 32
KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}  # TrainerSpec.ModelType of sentencepiece_model.proto
NORMAL, USER_DEFINED, BYTE = 1, 4, 6  # SentencePiece.Type of sentencepiece_model.proto

logger = logging.getLogger(__name__)

FieldT = TypeVar("FieldT", int, bytes)


class Normalizer(NamedTuple):
    """What a SentencePiece model does to text before it segments it."""

    characters: bytes  # SentencePiece's own table of what is replaced; empty for nothing
    adds_prefix: bool  # a space before the text
    removes_spaces: bool  # at both ends, and all but one of several
    is_usual: bool  # spaces become WORD_START, and belong to the word after them


class Vocabulary:
    """A SentencePiece model and the ids of the special tokens, which are decided only here.

    A special token that the model lacks gets an id after its pieces.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model)
            self.num_pieces: int = self._processor.get_piece_size()
            # Pieces that are no UTF-8 would raise in the middle of a translation.
            self._processor.id_to_piece(list(range(self.num_pieces)))
        except (RuntimeError, OSError, UnicodeDecodeError):
            raise _no_model() from None
        self.size = self.num_pieces
        self.pad_id = self._special(self._processor.pad_id())
        self.unk_id = self._special(self._processor.unk_id())
        self.bos_id = self._special(self._processor.bos_id())
        self.eos_id = self._special(self._processor.eos_id())
        self._not_text = {self.pad_id, self.bos_id, self.eos_id}
        if len(self._not_text | {self.unk_id}) < 4:
            raise _no_model("one token for two of padding, unknown, beginning and end")

    @property
    def special_ids(self) -> tuple[int, int, int, int]:
        """The ids that stand for no text: of padding, unknown pieces, beginning and end of sentence."""
        return self.pad_id, self.unk_id, self.bos_id, self.eos_id

    def _special(self, given: int) -> int:
        if given >= 0:
            return given
        self.size += 1
        return self.size - 1

    @cached_property
    def _trainer(self) -> bytes:
        return b"".join(_fields(self.model, 2, bytes))  # protobuf merges a message that comes twice

    @cached_property
    def kind(self) -> str:
        """How the model segments: `bpe`, `unigram`, `word` or `char`."""
        known = [KINDS[number] for number in _fields(self._trainer, 3, int) if number in KINDS]
        return known[-1] if known else "unigram"  # the default of a missing or unknown kind

    @property
    def has_bytes(self) -> bool:
        """Whether characters without a piece are spelled in bytes."""
        return [0, *_fields(self._trainer, 35, int)][-1] == 1

    @cached_property
    def normalization(self) -> str:
        """The name of the normalisation of text before it is segmented; `identity` for none."""
        names = _fields(b"".join(_fields(self.model, 3, bytes)), 1, bytes)
        return names[-1].decode("utf-8", "replace") if names else "identity"

    @property
    def normalizer(self) -> Normalizer:
        """The normalisation of text before it is segmented, in full."""
        spec = b"".join(_fields(self.model, 3, bytes))
        prefix, removes, escapes = ([1, *_fields(spec, number, int)][-1] == 1 for number in (3, 4, 5))
        is_suffix = [0, *_fields(self._trainer, 24, int)][-1] == 1
        characters = [b"", *_fields(spec, 2, bytes)][-1]
        return Normalizer(characters, prefix, removes, escapes and not is_suffix)

    @cached_property
    def pieces(self) -> list[str]:
        """The text of each id, special tokens included."""
        pieces: list[str] = self._processor.id_to_piece(list(range(self.num_pieces)))
        names = {self.pad_id: "<pad>", self.unk_id: "<unk>", self.bos_id: "<s>", self.eos_id: "</s>"}
        return pieces + [names[i] for i in range(self.num_pieces, self.size)]

    @cached_property
    def scores(self) -> list[float]:
        """The score of each piece: in a bpe model, lower for a later merge; else its log probability."""
        scores: list[float] = self._processor.get_score(list(range(self.num_pieces)))
        return scores + [0.0] * (self.size - self.num_pieces)

    @cached_property
    def is_normal(self) -> list[bool]:
        """Whether each piece is learned from text, and so neither special, nor a byte, nor defined by a user."""
        normal = [kind == NORMAL for kind in self.types]
        return normal + [False] * (self.size - self.num_pieces)

    @cached_property
    def types(self) -> list[int]:
        """What each piece of the model is: NORMAL, USER_DEFINED, BYTE, or something special."""
        return [[NORMAL, *_fields(piece, 3, int)][-1] for piece in _fields(self.model, 1, bytes)]

    def is_kept(self, line: str) -> bool:
        """Whether a line is the same after normalisation, but for its white space."""
        return self._words(line) == line.replace(WORD_START, " ").split()

    def num_words(self, line: str) -> int:
        """Number of words of a line, separated by white space, after normalisation."""
        return len(self._words(line))

    def _words(self, line: str) -> list[str]:
        normalized: str = self._processor.normalize(line)
        return normalized.replace(WORD_START, " ").split()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Turn lines into token ids, without BOS or EOS."""
        if len(lines) <= FEW_LINES:
            return [self._processor.encode(line) for line in lines]
        ids: list[list[int]] = self._processor.encode(list(lines))
        return ids

    def segment(self, lines: Sequence[str]) -> list[list[str]]:
        """Turn lines into pieces: the text that each id of `encode` stands for in them, unknown text included."""
        pieces: list[list[str]] = self._processor.encode(list(lines), out_type=str)
        return pieces

    def word_numbers(self, lines: Sequence[str]) -> list[Int64Array]:
        """Return, for each line, the number of the word, from 0, that each piece belongs to; -1 for none.

        Words are separated by white space. Where normalisation makes several words of one, they count as that one;
        where it joins words, all pieces of the line belong to none.
        """
        found = map(word_numbers, self.segment(lines))
        return [
            numbers if self._words(line) == line.split() else self._as_written(line, numbers)
            for line, numbers in zip(lines, found, strict=True)
        ]

    def _as_written(self, line: str, numbers: Int64Array) -> Int64Array:
        """Return numbers of words as they were before normalisation."""
        num_words = [self.num_words(word) for word in line.split()]
        if sum(num_words) != self.num_words(line):
            return np.full_like(numbers, -1)
        own = np.append(np.repeat(np.arange(len(num_words)), num_words), -1)
        return own[numbers]

    def decode(self, ids: Sequence[int]) -> str:
        """Turn token ids into one line of text; PAD, BOS and EOS are left out, and line ends become spaces."""
        pieces = [i for i in ids if i < self.num_pieces and i not in self._not_text]
        text: str = self._processor.decode(pieces)
        return text.replace("\r\n", " ").replace("\n", " ")


@dataclass(frozen=True)
class Tokenizer:
    """The vocabularies of the two sides: one object twice when they share it."""

    source: Vocabulary
    target: Vocabulary

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source is self.target

    @property
    def models(self) -> tuple[bytes, bytes]:
        """The serialised SentencePiece models of both sides: equal ones make equal tokenizers."""
        return self.source.model, self.target.model

    @classmethod
    def of_models(cls, source: bytes, target: bytes | None = None) -> "Tokenizer":
        """Make a tokenizer of serialised SentencePiece models; without `target`, one serves both sides."""
        vocabulary = Vocabulary(source)
        return cls(vocabulary, vocabulary if target is None else Vocabulary(target))


def obtain_tokenizer(
    settings: TokenizerSettings, text: ParallelText, symbols: Sequence[str] = ()
) -> Tokenizer:
    """Load the tokenizer that the settings name, or train it on `text`; a trained one is kept in the cache.

    `symbols` are pieces that the source vocabulary must have, and never splits.
    Raises DataError for a file that is no SentencePiece model, SettingsError for a vocabulary that the text
    does not allow.
    """
    if settings.model is not None:
        try:
            with open(settings.model, "rb") as file:
                return with_symbols(Tokenizer.of_models(file.read()), symbols, "tokenizer.model")
        except FileNotFoundError:
            raise DataError(f"tokenizer.model: no such file: {settings.model}") from None
        except OSError as error:
            raise DataError(f"tokenizer.model: a readable file is needed; got {error}") from None
    if settings.joint:
        return Tokenizer.of_models(_train(settings, [text.source, text.target], symbols))
    return Tokenizer.of_models(_train(settings, [text.source], symbols), _train(settings, [text.target]))


def with_symbols(tokenizer: Tokenizer, symbols: Sequence[str], key: str) -> Tokenizer:
    """Return the tokenizer. Raises SettingsError, of `key`, if its source vocabulary lacks one of these pieces."""
    for symbol in symbols:
        if symbol not in tokenizer.source.pieces:
            raise SettingsError(
                f"{key}: a vocabulary with {symbol} is needed, for data.tags or data.context; got one without; with "
                "another tokenizer.vocabulary_size, or tokenizer.model=null, one is learned"
            )
    return tokenizer


def _train(settings: TokenizerSettings, sides: list[Sequence[str]], symbols: Sequence[str] = ()) -> bytes:
    num_lines = sum(map(len, sides))
    step = -(-num_lines // MAX_LINES_LEARNED_FROM)

    def train() -> bytes:
        model = io.BytesIO()
        if step > 1:
            logger.info(
                "vocabulary   learned from every line of %d in %d lines, which are as many as it needs",
                step,
                num_lines,
            )
        try:
            sentencepiece.SentencePieceTrainer.train(
                # SentencePiece ends a text at NUL.
                sentence_iterator=(
                    line.replace("\0", " ")
                    for side in sides
                    for line in islice(side, 0, None, step)
                    if line.strip()
                ),
                model_writer=model,
                model_type=settings.kind,
                vocab_size=settings.vocabulary_size,
                # Subwords can be learned in any number; words and characters are only as many as the text has.
                hard_vocab_limit=settings.kind in ("unigram", "bpe"),
                character_coverage=settings.character_coverage,
                byte_fallback=settings.byte_fallback,
                normalization_rule_name=settings.normalization,
                max_sentence_length=MAX_LINE_BYTES,  # SentencePiece silently skips longer ones
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                user_defined_symbols=list(symbols),
                minloglevel=2,
            )
        except RuntimeError as error:
            raise SettingsError(_explain(str(error), settings.vocabulary_size)) from None
        return model.getvalue()

    named = [",".join(symbols)] if symbols else []
    name = entry_name("tokenizer", SENTENCEPIECE, settings.model_dump_json(), *named, *sides)
    return cached_file(name, train).read_bytes()


def _no_model(instead: str = "something else") -> DataError:
    return DataError(f"tokenizer.model: a SentencePiece model is needed; got {instead}")


def _fields(message: bytes, number: int, kind: type[FieldT]) -> list[FieldT]:
    """Return the values of a field of a protobuf message, by its number: integers, or the bytes of texts and messages.

    SentencePiece's interface tells neither the kind of a model nor which pieces a user defined, and its own protobuf
    module works with few versions of protobuf.
    """
    from google.protobuf import empty_pb2, unknown_fields  # few commands need it
    from google.protobuf.message import DecodeError

    try:
        fields = unknown_fields.UnknownFieldSet(empty_pb2.Empty.FromString(message))
    except DecodeError:
        raise _no_model() from None
    return [field.data for field in fields if field.field_number == number and isinstance(field.data, kind)]


def _explain(message: str, vocabulary_size: int) -> str:
    if largest := re.search(r"too high .*value <= (\d+)", message):
        return f"tokenizer.vocabulary_size: at most {largest[1]} is possible with this text; got {vocabulary_size}"
    if smallest := re.search(r"smaller than required_chars\. (\d+) vs (\d+)", message):
        return (
            f"tokenizer.vocabulary_size: at least {smallest[2]} is needed for the characters of this text, "
            f"or a lower tokenizer.character_coverage; got {vocabulary_size}"
        )
    reason, _, _ = message.partition("\n")
    return f"tokenizer: SentencePiece could not be trained on this text: {reason}"


def word_numbers(pieces: Sequence[str]) -> Int64Array:
    """Return which word, from 0, each piece belongs to; -1 for white space at the end, which belongs to none.

    A piece of several words belongs to the first of them.
    """
    numbers, num_words, is_between = [], 0, True
    for piece in pieces:
        # Normalisation may have left other white space, such as U+00A0.
        text = piece.replace(WORD_START, " ")
        inside = text.split()
        is_between = is_between or text[:1].isspace()
        number = num_words if is_between else num_words - 1
        numbers.append(number)
        if inside:
            num_words, is_between = number + len(inside), text[-1].isspace()
    return np.array([number if number < num_words else -1 for number in numbers], np.int64)
