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
    """Return the content of the file; it gives a text the token ids of `vocabulary.encode`, followed by EOS.

    The ids differ in two cases. The name of a special token in a text becomes that token. In a bpe model, where two
    ways to make a piece overlap (`aa` and `a` in `aaaaa`), SentencePiece takes the left one, and this file may not.
    Raises RunError for a vocabulary that tokenizer.json cannot express.
    """
    require_kind(vocabulary.kind)
    require_usual_spaces(vocabulary)
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


def require_kind(kind: str) -> None:
    """Raise RunError for a kind of vocabulary that tokenizer.json cannot express."""
    if kind == "word":
        raise RunError(
            "run: tokenizer.kind unigram, bpe or char is needed, since tokenizer.json has no way to join the unknown "
            "words that follow each other as SentencePiece does; got word"
        )


def require_usual_spaces(vocabulary: Vocabulary) -> None:
    """Raise RunError for a vocabulary whose pieces have spaces, or their mark, elsewhere than at the start of words."""
    if not vocabulary.normalizer.is_usual:
        raise RunError(
            "run: a SentencePiece model that marks spaces at the start of words is needed for this format; "
            "got another one"
        )


def tokenizer_config(vocabulary: Vocabulary, max_length: int) -> Json:
    """Return the content of `tokenizer_config.json`; `max_length` is the most tokens of a source, EOS counted."""
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
    """Return a unique name for each token id: its piece, or one that is no piece for special tokens the model lacks."""
    names = vocabulary.pieces[: vocabulary.num_pieces]
    taken = set(names)
    for name in vocabulary.pieces[vocabulary.num_pieces :]:
        while name in taken:
            name += "_"
        names.append(name)
        taken.add(name)
    return names


def symbols(vocabulary: Vocabulary) -> list[str]:
    """Return the user-defined pieces, which are never split, longest first."""
    defined = [
        piece
        for piece, kind in zip(vocabulary.pieces, vocabulary.types, strict=False)
        if kind == USER_DEFINED
    ]
    return sorted(defined, key=lambda piece: (-len(piece), piece))


def merges(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """Return the pairs of pieces that merge into a piece, in the order in which SentencePiece merges them.

    SentencePiece has no such list: it merges any two neighbours that together are a piece, the highest score first.
    """
    scores = {
        piece: score
        for piece, score, kind in zip(vocabulary.pieces, vocabulary.scores, vocabulary.types, strict=False)
        if kind == NORMAL
    }
    by_score = sorted(scores, key=lambda piece: -scores[piece])  # equal scores stay in the order of ids
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
    # The reader derives the score of UNK from the lowest of all, so none may be lower than those of pieces of text.
    scores = [max(score, least) for score in vocabulary.scores]
    for i, kind in enumerate(vocabulary.types):
        if kind == BYTE:
            scores[i] = least
        elif kind == USER_DEFINED:
            scores[i] = 0.0  # the pre-tokenizer isolates it, and it is taken whole
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
        "ignore_merges": bool(symbols(vocabulary)),  # user-defined pieces are taken whole, not merged
        "vocab": {name: i for i, name in enumerate(names)},
        "merges": [list(pair) for pair in merges(vocabulary)],
    }


def _normalizers(vocabulary: Vocabulary) -> list[Json]:
    """Return the steps, in order, by which SentencePiece normalises a text before it segments it."""
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
    """Return the step that splits a text around user-defined pieces; None, and no split, where there are none."""
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
