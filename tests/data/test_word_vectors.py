"""Word vectors from files: every format, only the words that are needed, errors that say where."""

import gzip
import io

import pytest
import sentencepiece
import torch

from nmt.data.tokenizer import Tokenizer
from nmt.data.word_vectors import read_word_vectors
from nmt.errors import DataError

TEXT = [
    "the cat sees the Dog",
    "the Dog sees the cat",
    "a cat and a Dog",
    "die Katze sieht Öl und öl",
    "5 Katzen",
] * 10
KEY = "training.source_vectors"
LINES = ["the 0.1 0.2 0.3", "unknown 1 2 3", "cat -4e-1 5 6.25", "dog 7 8 9", "öl 1 1 2"]
VECTORS = {"▁the": [0.1, 0.2, 0.3], "▁cat": [-0.4, 5.0, 6.25], "▁Dog": [7.0, 8.0, 9.0], "▁Öl": [1.0, 1.0, 2.0], "▁öl": [1.0, 1.0, 2.0]}  # fmt: skip


def make_vocabulary(kind="word", **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=model, model_type=kind, vocab_size=options.pop("vocab_size", 70),
        hard_vocab_limit=False, character_coverage=1.0, normalization_rule_name="identity", minloglevel=2,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3, **options,
    )  # fmt: skip
    return Tokenizer.of_models(model.getvalue()).source


@pytest.fixture(scope="module")
def vocabulary():
    return make_vocabulary()


def write(path, lines):
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return str(path)


def read(path, vocabulary, width=3):
    ids, vectors = read_word_vectors(path, KEY, vocabulary, width)
    assert ids.dtype == torch.int64
    assert vectors.dtype == torch.float32
    assert vectors.shape == (len(ids), width)
    assert ids.tolist() == sorted(ids.tolist())
    return {vocabulary.pieces[i]: vector for i, vector in zip(ids, vectors, strict=True)}


def same(got, expected):
    return got.keys() == expected.keys() and all(
        torch.equal(got[piece], torch.tensor(expected[piece])) for piece in got
    )


@pytest.mark.parametrize("header", [[], ["5 3"]], ids=["glove", "word2vec"])
@pytest.mark.parametrize("end", ["", " ", "\r"], ids=["none", "space", "carriage return"])
def test_formats(vocabulary, tmp_path, header, end):
    path = write(tmp_path / "vectors.txt", [*header, *(line + end for line in LINES)])
    assert same(read(path, vocabulary), VECTORS)


def test_compressed(vocabulary, tmp_path):
    (tmp_path / "vectors.gz").write_bytes(gzip.compress("\n".join(LINES).encode()))
    assert same(read(str(tmp_path / "vectors.gz"), vocabulary), VECTORS)


def test_words_with_spaces_are_no_pieces(vocabulary, tmp_path):
    lines = [". . . 5 5 5", "the cat 6 6 6", "cat . 6 6 6", *LINES, "a 1 0.5 0.5 0.5"]
    assert same(read(write(tmp_path / "vectors", lines), vocabulary), VECTORS)


def test_the_word_itself_comes_before_its_lower_case_form(vocabulary, tmp_path):
    for lines in (["dog 7 8 9", "Dog 1 2 3"], ["Dog 1 2 3", "dog 7 8 9"]):
        assert same(read(write(tmp_path / "vectors", lines), vocabulary), {"▁Dog": [1.0, 2.0, 3.0]})


def test_the_first_of_several_lines_counts(vocabulary, tmp_path):
    path = write(tmp_path / "vectors", ["cat 1 2 3", "cat 4 5 6"])
    assert same(read(path, vocabulary), {"▁cat": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_pieces_inside_words_are_no_words(kind, tmp_path):
    vocabulary = make_vocabulary(kind)
    inside = [piece for piece in vocabulary.pieces[4:] if not piece.startswith("▁")]
    assert inside
    path = write(tmp_path / "vectors", [f"{word} 1 2 3" for word in [*inside, "<s>", "▁cat", "▁", "cat"]])
    got = read(path, vocabulary)
    assert "▁cat" in got
    assert {"<s>", "▁", *inside}.isdisjoint(got)
    assert all(piece[1:] in [*inside, "cat"] for piece in got)


def test_a_vocabulary_of_characters_has_no_words(tmp_path):
    path = write(tmp_path / "vectors", ["a 1 2 3", *LINES])
    message = rf"^{KEY}: null is needed with a vocabulary that has no whole words; got {path}$"
    with pytest.raises(DataError, match=message):
        read(path, make_vocabulary("char"))


def test_what_a_user_defined_is_no_word(tmp_path):
    vocabulary = make_vocabulary(user_defined_symbols=["▁dog"])
    path = write(tmp_path / "vectors", LINES)
    assert same(read(path, vocabulary), VECTORS)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["5 2", "cat 1 2"], r"vectors as wide as the model's embedding, 3, are needed; got PATH, whose are 2 wide"),
        (["x 1 2 3 4"], r"vectors as wide as the model's embedding, 3, are needed; got PATH, whose are 4 wide"),
        ([], "word vectors are needed; got PATH, which is empty"),
        (["no vectors at all"], "3 numbers after a word are needed; got PATH, line 1, which has none"),
        (["x 1 2 3", "cat 1 two 3"], "3 numbers after a word are needed; got PATH, line 2: .*'two'"),
        (["5 3", "x 1 2 3", "cat 1 2"], "3 numbers after a word are needed; got PATH, line 3, which has 2"),
        (["x 1 2 3", "cat sat on the mat"], "3 numbers after a word are needed; got PATH, line 2: .*'on'"),
        (["cat 1 2 nan"], "3 numbers after a word are needed; got PATH, line 1, whose numbers are not all finite"),
        (["cat 1 2 1e99"], "3 numbers after a word are needed; got PATH, line 1, whose numbers are not all finite"),
        (["x 1 2 3"], r"vectors of words of the vocabulary are needed; got PATH, which has none of its \d+ words"),
    ],
)  # fmt: skip
def test_errors_say_where(vocabulary, tmp_path, lines, message):
    path = write(tmp_path / "vectors", lines)
    with pytest.raises(DataError, match=f"^{KEY}: {message.replace('PATH', path)}$"):
        read(path, vocabulary)


def test_no_such_file(vocabulary, tmp_path):
    with pytest.raises(DataError, match=rf"^{KEY}: no such file: {tmp_path}/none$"):
        read(f"{tmp_path}/none", vocabulary)
