"""tokenizer.json gives the ids that SentencePiece gives, and the text."""

import io
import json
import random

import pytest
import sentencepiece

from nmt.config import TokenizerSettings
from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import Vocabulary, obtain_tokenizer
from nmt.errors import RunError
from nmt.export.tokenizer_json import tokenizer_config, tokenizer_json
from nmt.grammar.generation import generate

tokenizers = pytest.importorskip("tokenizers")

SYMBOLS = ("<2de>", "<2fr>", "<context=2>")
# Letters of the text, spaces of several kinds, what normalisation replaces, and what no vocabulary knows.
LETTERS = "aabeEnrstäÖß   ▁\u00a0\u3000\t.,?1ﬁ１Ａ①½…—日本ابд😀𝒳�"
AWKWARD = [
    "",
    " ",
    "▁",
    "a" * 30,
    "<2de> Hallo",
    "x<2de><2fr>y",
    "  zwei  Wörter  ",
    "▁▁a▁",
    "\ufeffHallo",
    "haha" * 9,
]


@pytest.fixture(scope="session")
def text():
    """Return sentences of the built-in corpus, and others that no corpus has."""
    pairs = generate(num_train=300, num_validation=20, num_test=20)["train"]
    chance = random.Random(1)
    strange = ["".join(chance.choices(LETTERS, k=chance.randrange(25))) for _ in range(1000)]
    return ParallelText([pair.source for pair in pairs], [pair.target for pair in pairs]), strange + AWKWARD


def make_vocabulary(text, kind="bpe", byte_fallback=False, normalization="identity", symbols=()):
    """Train the vocabulary of both sides."""
    settings = TokenizerSettings(
        kind=kind, vocabulary_size=400, joint=True, character_coverage=0.999, byte_fallback=byte_fallback,
        normalization=normalization, model=None,
    )  # fmt: skip
    return obtain_tokenizer(settings, text, symbols).source


@pytest.mark.parametrize("symbols", [(), SYMBOLS], ids=["plain", "symbols"])
@pytest.mark.parametrize("normalization", ["identity", "nmt_nfkc_cf"])
@pytest.mark.parametrize(
    ("kind", "byte_fallback"), [("unigram", False), ("unigram", True), ("bpe", False), ("bpe", True), ("char", False)]
)  # fmt: skip
def test_ids_and_text_are_those_of_sentencepiece(kind, byte_fallback, normalization, symbols, text):
    pairs, strange = text
    vocabulary = make_vocabulary(pairs, kind, byte_fallback, normalization, symbols)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(vocabulary)))
    lines = [*pairs.source, *pairs.target, *strange]
    ids = vocabulary.encode(lines)
    assert [found.ids for found in theirs.encode_batch(lines)] == [[*row, vocabulary.eos_id] for row in ids]
    known = [row for row in ids if vocabulary.unk_id not in row]  # which search never writes
    assert len(known) > 600
    assert theirs.decode_batch(known) == [vocabulary.decode(row) for row in known]
    if symbols:
        assert theirs.token_to_id(SYMBOLS[0]) in theirs.encode("x<2de>y").ids


def test_tokens_that_the_model_lacks_get_names_of_their_own(text):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text[0].source), model_writer=model, vocab_size=200, minloglevel=2,
        pad_id=-1, user_defined_symbols=["<pad>"],
    )  # fmt: skip
    vocabulary = Vocabulary(model.getvalue())
    content = tokenizer_json(vocabulary)
    assert vocabulary.pad_id == vocabulary.num_pieces
    assert content["model"]["vocab"][vocabulary.pad_id][0] == "<pad>_"
    assert tokenizer_config(vocabulary, 64)["pad_token"] == "<pad>_"
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    assert theirs.token_to_id("<pad>_") == vocabulary.pad_id
    assert theirs.encode("<pad>").ids[:-1] == vocabulary.encode(["<pad>"])[0]


def test_words_are_refused(text):
    with pytest.raises(RunError, match=r"^run: tokenizer.kind unigram, bpe or char is needed, .*; got word$"):
        tokenizer_json(make_vocabulary(text[0], "word"))
