"""Word alignment: words as white space separates them, links from sums of attention over their pieces."""

import io
import random

import numpy as np
import pytest
import sentencepiece

from nmt.data.tokenizer import Vocabulary, word_numbers
from nmt.decoding.word_alignment import attention_of_words, link_words, shares_of_words

TEXT = [
    "der Hund schläft im Garten .",
    "die Katze sieht den Hund nicht , denn sie schläft",
    "ein alter Mann , der liest",
    "Gartenhunde und Katzengärten",
]


def vocabulary(kind, size=None):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 5),
        model_writer=model,
        model_type=kind,
        vocab_size=size or 60,
        hard_vocab_limit=kind in ("bpe", "unigram"),
        user_defined_symbols=["<2en>"],
        minloglevel=2,
    )
    return Vocabulary(model.getvalue())


@pytest.mark.parametrize(("kind", "size"), [("bpe", 60), ("unigram", 40), ("word", 15), ("char", None)])
def test_pieces_belong_to_the_words_of_the_text(kind, size):
    """The lines also have unseen words, and pieces of nothing but white space."""
    own = vocabulary(kind, size)
    for line in [*TEXT, "Der Zzyx schläft .", "Zzyx", "☃ Hund ☃", "<2en> der Hund"]:
        (pieces,), (ids,) = own.segment([line]), own.encode([line])
        assert len(pieces) == len(ids)
        words = [""] * len(line.split())
        for number, piece in zip(word_numbers(pieces), pieces, strict=True):
            words[number] += piece.replace("▁", " ").strip()
        # Unknown words side by side are one piece, which belongs to the first of them.
        assert "".join(words).replace(" ", "") == line.replace(" ", "")
        for found, word in zip(words, line.split(), strict=True):
            assert not found or found.split()[0] == word
    assert word_numbers([]).tolist() == []


@pytest.mark.parametrize("space", ["\xa0", "\u2028", "\u3000", "\t"])
def test_white_space_that_normalisation_left_divides_words_as_well(space):
    for pieces in (["▁Il", "▁dit", f"{space}:", "▁oui"], ["▁Il", f"▁dit{space}", ":", "▁oui"],
                   ["▁Il", "▁dit", space, ":", "▁oui"], ["▁I", "l", f"▁dit{space}:", "▁oui"]):  # fmt: skip
        line = "".join(pieces).replace("▁", " ")
        assert len(line.split()) == 4
        assert word_numbers(pieces)[-1] == 3
    assert word_numbers(["▁Il", f"▁dit{space}", ":", "▁oui"]).tolist() == [0, 1, 2, 3]


def test_what_a_model_writes_may_hold_white_space_twice():
    pieces = ["▁", "▁", "d", "▁", "e", "r", "▁"]
    assert word_numbers(pieces).tolist() == [0, 0, 0, 1, 1, 1, -1], "the last is of no word of the text"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # Normalisation makes a lone accent a space and a combining one.
        ("wie geht´s dir", ["wie", "geht\u0301s", "dir"]),
        ("a\u200bb ¨ c", ["ab", "\u0308", "c"]),
        ("der ▁Hund a▁b", ["der", "Hund", "ab"]),
        ("<2en> ´s ist", ["<2en>", "\u0301s", "ist"]),
    ],
)
def test_words_that_normalisation_divides_are_still_the_words_of_the_text(line, expected):
    own = vocabulary("char")
    (numbers,), (pieces,) = own.word_numbers([line]), own.segment([line])
    words = [""] * len(line.split())
    for number, piece in zip(numbers, pieces, strict=True):
        words[number] += piece.replace("▁", " ").strip()
    assert words == expected
    (plain,) = own.word_numbers(["der Hund"])
    assert plain.tolist() == word_numbers(*own.segment(["der Hund"])).tolist()


def test_words_that_normalisation_joins_have_no_pieces():
    own = vocabulary("char")
    own.num_words = lambda line: 1
    (numbers,) = own.word_numbers(["wie geht´s"])
    assert set(numbers.tolist()) == {-1}


def test_a_word_goes_back_to_the_word_with_most_of_its_weight():
    generator = random.Random(3)
    for _ in range(30):
        source = np.cumsum([0, *generator.choices([0, 1], k=7)])
        target = np.cumsum([0, *generator.choices([0, 1], k=5)])
        # With a column and a row of EOS.
        weights = np.random.default_rng(generator.randrange(99)).dirichlet(np.ones(9), 7)
        expected = []
        for word in range(target.max() + 1):
            total = dict.fromkeys(range(source.max() + 1), 0.0)
            for t, number in enumerate(target):
                for s, other in enumerate(source):
                    total[other] += weights[t, s] if number == word else 0.0
            expected.append((max(total, key=total.get), word))
        attention = attention_of_words(weights, source, target)
        assert link_words(attention) == expected
        for word, row in enumerate(attention):
            assert row.sum() == pytest.approx(1)
            shown = {other: share for other, number, share in shares_of_words(attention) if number == word}
            assert shown == {other: share for other, share in enumerate(row.tolist()) if share >= 0.05}


def test_nothing_goes_back_to_the_tag_of_a_language():
    weights = np.array([[0.8, 0.1, 0.1, 0.0], [0.7, 0.1, 0.2, 0.0]])
    assert link_words(attention_of_words(weights, np.array([-1, 0, 1]), np.array([0, 1]))) == [(0, 0), (1, 1)]
    assert link_words(attention_of_words(weights, np.array([-1, 0, 1]), np.array([0, -1]))) == [(0, 0)]
    assert link_words(attention_of_words(weights, np.array([], int), np.array([0, 1]))) == []
    assert link_words(attention_of_words(weights, np.array([0, 1]), np.array([], int))) == []
