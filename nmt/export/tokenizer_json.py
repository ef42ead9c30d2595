"""A SentencePiece model as `tokenizer.json`, the file that Hugging Face's tokenizers and transformers.js read."""

import base64
import re
from typing import Any

from nmt.data.tokenizer import BYTE, NORMAL, USER_DEFINED, WORD_START, Vocabulary
from nmt.errors import RunError

FILE, CONFIG = "tokenizer.json", "tokenizer_config.json"
# A translation may begin with several pieces that are a space alone.
MOST_SPACES = 1024

Json = dict[str, Any]


def tokenizer_json(vocabulary: Vocabulary) -> Json:
    """Return what the file holds: it gives the ids that `vocabulary.encode` gives, and EOS behind them.

    Where it differs: names of special tokens that stand in the text itself become these tokens; and in a bpe model
    SentencePiece merges from the left where a piece can be made in two ways that overlap (`aa` and `a` in `aaaaa`).
    Raises RunError for what tokenizer.json cannot say.
    """
    if vocabulary.kind == "word":
        raise RunError(
            "run: tokenizer.kind unigram, bpe or char is needed, since tokenizer.json has no way to join the unknown "
            "words that follow each other as SentencePiece does; got word"
        )
    if not vocabulary.normalizer.is_usual:
        raise RunError(
            "run: a SentencePiece model that marks spaces at the start of words is needed for tokenizer.json; "
            "got another one"
        )
    names = token_names(vocabulary)
    eos = names[vocabulary.eos_id]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(i, names[i]) for i in sorted(vocabulary.special_ids)],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(vocabulary)},
        "pre_tokenizer": _pre_tokenizer(vocabulary),
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [_sequence("A"), _special(eos)],
            "pair": [_sequence("A"), _special(eos), _sequence("B"), _special(eos)],
            "special_tokens": {eos: {"id": eos, "ids": [vocabulary.eos_id], "tokens": [eos]}},
        },
        "decoder": {"type": "Sequence", "decoders": _decoders(vocabulary)},
        "model": _unigram(vocabulary, names) if vocabulary.kind == "unigram" else _bpe(vocabulary, names),
    }


def tokenizer_config(vocabulary: Vocabulary, max_length: int) -> Json:
    """Return what `tokenizer_config.json` beside it holds; `max_length` are the most tokens of a source, with EOS."""
    names = token_names(vocabulary)
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "pad_token": names[vocabulary.pad_id],
        "unk_token": names[vocabulary.unk_id],
        "bos_token": names[vocabulary.bos_id],
        "eos_token": names[vocabulary.eos_id],
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
    }


def token_names(vocabulary: Vocabulary) -> list[str]:
    """Return a name for each id, no two alike: its piece, and what is no piece for those that the model lacks."""
    names = vocabulary.pieces[: vocabulary.num_pieces]
    taken = set(names)
    for name in vocabulary.pieces[vocabulary.num_pieces :]:
        while name in taken:
            name += "_"
        names.append(name)
        taken.add(name)
    return names


def symbols(vocabulary: Vocabulary) -> list[str]:
    """Return the pieces that a user defined, and that are never taken apart, longest first."""
    defined = [
        piece
        for piece, kind in zip(vocabulary.pieces, vocabulary.types, strict=False)
        if kind == USER_DEFINED
    ]
    return sorted(defined, key=lambda piece: (-len(piece), piece))


def merges(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """Return the pairs of pieces that become a piece, those first that SentencePiece merges first.

    It has no such list, but merges any two neighbours that are a piece together, of the highest score first.
    """
    scores = {
        piece: score
        for piece, score, kind in zip(vocabulary.pieces, vocabulary.scores, vocabulary.types, strict=False)
        if kind == NORMAL
    }
    by_score = sorted(scores, key=lambda piece: -scores[piece])  # equal ones stay in the order of their ids
    return [
        (piece[:end], piece[end:])
        for piece in by_score
        for end in range(1, len(piece))
        if piece[:end] in scores and piece[end:] in scores
    ]


def _unigram(vocabulary: Vocabulary, names: list[str]) -> Json:
    least = min(
        score for score, kind in zip(vocabulary.scores, vocabulary.types, strict=False) if kind == NORMAL
    )
    # The score of what is unknown goes by the lowest: none may be lower than those of pieces of text.
    scores = [max(score, least) for score in vocabulary.scores]
    for i, kind in enumerate(vocabulary.types):
        if kind == BYTE:
            scores[i] = least
        elif kind == USER_DEFINED:
            scores[i] = 0.0  # it stands alone when it is segmented, and is taken whole
    return {
        "type": "Unigram",
        "unk_id": vocabulary.unk_id,
        "vocab": [[name, score] for name, score in zip(names, scores, strict=True)],
        "byte_fallback": vocabulary.has_bytes,
    }


def _bpe(vocabulary: Vocabulary, names: list[str]) -> Json:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": names[vocabulary.unk_id],
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": vocabulary.has_bytes,
        "ignore_merges": bool(symbols(vocabulary)),  # these are taken whole, not merged
        "vocab": {name: i for i, name in enumerate(names)},
        "merges": [list(pair) for pair in merges(vocabulary)],
    }


def _normalizers(vocabulary: Vocabulary) -> list[Json]:
    """Return, one after the other, what SentencePiece does to a text before it segments it."""
    normalizer = vocabulary.normalizer
    steps: list[Json] = []
    if normalizer.characters:
        table = base64.b64encode(normalizer.characters).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": table})
    if normalizer.removes_spaces:
        steps += [_replace("(?<![\\s\\S]) +", ""), _replace(" {2,}", " ")]
    if normalizer.adds_prefix:
        steps.append({"type": "Prepend", "prepend": WORD_START})
    steps.append({"type": "Replace", "pattern": {"String": " "}, "content": WORD_START})
    if normalizer.removes_spaces:
        steps.append(_replace(f"{WORD_START}+(?![\\s\\S])", ""))
    return steps


def _pre_tokenizer(vocabulary: Vocabulary) -> Json | None:
    """Return what parts a text around the pieces that a user defined; without such it is segmented as a whole."""
    defined = symbols(vocabulary)
    if not defined:
        return None
    pattern = {"Regex": "|".join(re.escape(symbol) for symbol in defined)}
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


def _decoders(vocabulary: Vocabulary) -> list[Json]:
    normalizer = vocabulary.normalizer
    steps: list[Json] = [{"type": "Replace", "pattern": {"String": WORD_START}, "content": " "}]
    if vocabulary.has_bytes:
        steps.append({"type": "ByteFallback"})
    steps.append({"type": "Fuse"})
    if normalizer.removes_spaces or normalizer.adds_prefix:
        num_spaces = MOST_SPACES if normalizer.removes_spaces else 1
        steps.append({"type": "Strip", "content": " ", "start": num_spaces, "stop": 0})
    return steps


def _replace(pattern: str, content: str) -> Json:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _added_token(token_id: int, name: str) -> Json:
    return {
        "id": token_id,
        "content": name,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


def _sequence(name: str) -> Json:
    return {"Sequence": {"id": name, "type_id": 0}}


def _special(name: str) -> Json:
    return {"SpecialToken": {"id": name, "type_id": 0}}
