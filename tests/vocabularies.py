"""Vocabularies of all kinds, and lines that are hard to segment."""

import io
import random

import sentencepiece

from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import Vocabulary
from nmt.grammar.generation import generate

KINDS = [("unigram", False), ("unigram", True), ("bpe", False), ("bpe", True), ("char", False)]
# Some of these symbols are made of letters of the text: they are never split, nor merged with their neighbours.
SYMBOLS = ("<2de>", "<2fr>", "und", "<context=2>")
# Letters of the text, spaces of several kinds, what normalisation replaces, and what no vocabulary knows.
LETTERS = "aabeEnrstäÖß   ▁\u00a0\u3000\t.,?1ﬁ１Ａ①½…—日本ابд😀𝒳\ufffd"
AWKWARD = [
    "", " ", "▁", "  ▁ ", "<2de> Hallo", "x<2de><2fr>y", "Hunde und Hund", "  zwei  Wörter  ", "▁▁a▁", "\ufeffHallo",
    *(7 * letter for letter in "abelmnst"), *(9 * pair for pair in ("ha", "en", "ne")),
]  # fmt: skip


def make_text():
    """Return sentences of the built-in corpus."""
    pairs = generate(num_train=300, num_validation=20, num_test=20)["train"]
    return ParallelText([pair.source for pair in pairs], [pair.target for pair in pairs])


def strange_lines(letters=LETTERS):
    """Return lines that no text has."""
    chance = random.Random(1)
    return ["".join(chance.choices(letters, k=chance.randrange(25))) for _ in range(1000)] + AWKWARD


def make_vocabulary(text, kind="bpe", byte_fallback=False, symbols=(), **options):
    """Train a vocabulary of both sides, with the options of SentencePiece."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*text.source, *text.target]), model_writer=model, model_type=kind, vocab_size=400,
        hard_vocab_limit=kind in ("unigram", "bpe"), character_coverage=0.999, byte_fallback=byte_fallback,
        user_defined_symbols=list(symbols), minloglevel=2,
        **{"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "normalization_rule_name": "identity"} | options,
    )  # fmt: skip
    return Vocabulary(model.getvalue())
