"""tokenizer.json gives the ids that SentencePiece gives, and the text."""

import json

import pytest
from vocabularies import KINDS, SYMBOLS, make_text, make_vocabulary, strange_lines

from nmt.errors import RunError
from nmt.export.tokenizer_json import tokenizer_config, tokenizer_json

tokenizers = pytest.importorskip("tokenizers")

NORMALIZATIONS = {
    "identity": {},
    "folded": {"normalization_rule_name": "nmt_nfkc_cf"},
    "kept": {"remove_extra_whitespaces": False, "add_dummy_prefix": False},
}


@pytest.fixture(scope="session")
def text():
    """Return text to learn from."""
    return make_text()


@pytest.mark.parametrize("symbols", [(), SYMBOLS], ids=["plain", "symbols"])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize(("kind", "byte_fallback"), KINDS)
def test_ids_and_text_are_those_of_sentencepiece(kind, byte_fallback, normalization, symbols, text):
    vocabulary = make_vocabulary(text, kind, byte_fallback, symbols, **NORMALIZATIONS[normalization])
    theirs = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(vocabulary)))
    lines = [*text.source, *text.target, *strange_lines()]
    ids = vocabulary.encode(lines)
    assert [found.ids for found in theirs.encode_batch(lines)] == [[*row, vocabulary.eos_id] for row in ids]
    known = [row for row in ids if vocabulary.unk_id not in row]  # search never writes UNK
    assert len(known) > 500
    assert theirs.decode_batch(known) == [vocabulary.decode(row) for row in known]
    assert all(theirs.token_to_id(symbol) in theirs.encode(f"x{symbol}y").ids for symbol in symbols)


def test_tokens_that_the_model_lacks_get_names_of_their_own(text):
    vocabulary = make_vocabulary(text, "unigram", symbols=["<pad>"], pad_id=-1, unk_id=0)
    content = tokenizer_json(vocabulary)
    assert vocabulary.pad_id == vocabulary.num_pieces
    assert content["model"]["vocab"][vocabulary.pad_id][0] == "<pad>_"
    assert tokenizer_config(vocabulary, 64)["pad_token"] == "<pad>_"
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    assert theirs.token_to_id("<pad>_") == vocabulary.pad_id
    assert theirs.encode("<pad>").ids[:-1] == vocabulary.encode(["<pad>"])[0]


def test_words_are_refused(text):
    with pytest.raises(RunError, match=r"^run: tokenizer.kind unigram, bpe or char is needed, .*; got word$"):
        tokenizer_json(make_vocabulary(text, "word"))
