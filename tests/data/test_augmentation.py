"""Augmentation of training text: what it changes, how often, and what stays as it is."""

import io
from itertools import pairwise

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import AugmentSettings
from nmt.data.augmentation import augment_dataset, capitalised, with_typos, without_end
from nmt.data.dataset import Dataset, Ids
from nmt.data.tokenizer import Tokenizer

SOURCE = [f"Der Hund {i} schläft im kleinen Haus am Fluss." for i in range(400)]
TARGET = [f"The dog {i} sleeps in the small house by the river!" for i in range(400)]
KEYS = ["exchange", "upper_case", "title_case", "end_punctuation", "typos", "noise"]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÜabcdefghijklmnopqrstuvwxyzäöüßŋ0123456789.,!?"


@pytest.fixture(scope="module")
def tokenizer():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*SOURCE, *TARGET, *LETTERS]), model_writer=model, model_type="bpe", vocab_size=150,
        minloglevel=2, character_coverage=1.0, pad_id=0, unk_id=1, bos_id=2, eos_id=3, user_defined_symbols=["<2en>"],
    )  # fmt: skip
    return Tokenizer.of_models(model.getvalue())


def augmented(tokenizer, source=SOURCE, target=TARGET, seed=1, epoch=0, max_length=100, **shares):
    """Return the text of both sides after augmentation, with these shares of pairs to change."""
    plain = Dataset(Ids.of(tokenizer.source.encode(source)), Ids.of(tokenizer.target.encode(target)))
    settings = AugmentSettings(**{key: shares.get(key, 0.0) for key in KEYS})
    changed = augment_dataset(plain, tokenizer, settings, seed, epoch, max_length)
    return [
        [tokenizer.source.decode(ids.tokens[a:b].tolist()) for a, b in pairwise(ids.offsets)]
        for ids in (changed.source, changed.target)
    ]


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("upper_case", str.upper),
        ("title_case", lambda text: text.title()),
        ("end_punctuation", lambda text: text[:-1]),
    ],
)
def test_both_sides_of_a_share_of_the_pairs_are_changed_alike(tokenizer, key, change):
    assert augmented(tokenizer, **{key: 1.0}) == [
        [change(text) for text in side] for side in (SOURCE, TARGET)
    ]
    sides = augmented(tokenizer, **{key: 0.3})
    is_changed = [
        [after != before for after, before in zip(*both, strict=True)]
        for both in zip(sides, (SOURCE, TARGET), strict=True)
    ]
    assert is_changed[0] == is_changed[1]
    assert 0.2 < np.mean(is_changed[0]) < 0.4


def test_a_share_of_the_pairs_is_learned_in_the_other_direction(tokenizer):
    assert augmented(tokenizer, exchange=1.0) == [TARGET, SOURCE]
    source, target = augmented(tokenizer, exchange=0.3)
    is_exchanged = [line != before for line, before in zip(source, SOURCE, strict=True)]
    assert 0.2 < np.mean(is_exchanged) < 0.4
    expected = [
        (t, s) if exchanged else (s, t) for s, t, exchanged in zip(SOURCE, TARGET, is_exchanged, strict=True)
    ]
    assert list(zip(source, target, strict=True)) == expected
    assert augmented(tokenizer, exchange=0.3, epoch=1) != [source, target]


def test_typos_are_those_of_what_is_the_source_now(tokenizer):
    source, target = augmented(tokenizer, exchange=1.0, typos=1.0)
    assert target == SOURCE
    distances = [distance(one, other) for one, other in zip(TARGET, source, strict=True)]
    assert set(distances) >= {1, 2}
    assert max(distances) <= 8, "the line has eight words of three letters"


def distance(one, other):
    """Return the edit distance: letters inserted, deleted, replaced or swapped with their neighbour."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, o in enumerate(other, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != o))
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def test_typos_are_those_of_a_word_and_of_the_source_alone(tokenizer):
    source, target = augmented(tokenizer, typos=1.0)
    assert target == TARGET
    distances = [distance(one, other) for one, other in zip(SOURCE, source, strict=True)]
    assert set(distances) >= {1, 2}
    assert max(distances) <= 6, "the line has seven words of three letters"
    assert all(len(one.split()) == len(other.split()) for one, other in zip(SOURCE, source, strict=True))


@given(st.text(), st.integers(0, 99))
def test_a_typo_is_at_most_one_of_each_word(text, seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    changed = with_typos(text, generator)
    assert [word[:1] for word in changed.split()] == [word[:1] for word in text.split()]


def test_noise_is_the_same_letters_on_both_sides(tokenizer):
    source, target = augmented(tokenizer, noise=1.0)
    assert source == target
    without_spaces = [sorted(line.replace(" ", "")) for line in source]
    assert without_spaces == [sorted(line.replace(" ", "")) for line in SOURCE]
    assert source != SOURCE


def test_seed_and_epoch_alone_decide(tokenizer):
    shares = dict.fromkeys(KEYS, 0.2)
    first = augmented(tokenizer, **shares)
    assert augmented(tokenizer, **shares) == first
    assert augmented(tokenizer, epoch=1, **shares) != first
    assert augmented(tokenizer, seed=2, **shares) != first
    assert augmented(tokenizer) == [SOURCE, TARGET]


def test_what_cannot_be_changed_stays(tokenizer):
    strange = "Ein 象 schläft."  # 象 is not in the vocabulary
    source = ["<2en> Der Hund.", strange, "der hund", "...", ""]
    target = ["The dog.", "An elephant.", "the dog " * 9, "...", "x"]
    found = augmented(tokenizer, source, target, upper_case=1.0, end_punctuation=1.0, max_length=30)
    assert found[0][0].replace(" ", "") == "<2en>DERHUND", "the tag of a language is none of the text"
    assert found[1][0] == "THE DOG"
    assert found[1][1] == "An elephant."
    # In capitals this target has more pieces than a sentence may have.
    assert (found[0][2], found[1][2]) == ("der hund", " ".join(["the dog"] * 9))
    assert (found[0][3], found[1][3]) == ("...", "...")
    assert (found[0][4], found[1][4]) == ("", "x")


@pytest.mark.parametrize("changed", ["upper_case", "end_punctuation", "noise"])
def test_pairs_with_placeholders_within_their_text_stay_whole(tokenizer, changed):
    source = ["der hund <2en> im haus.", "der hund.", "<2en> der hund <2en> im haus."]
    target = ["the dog.", "please <2en> the dog.", "the dog."]
    encoded = [tokenizer.source.encode(side) for side in (source, target)]
    whole = [[tokenizer.source.decode(ids) for ids in side] for side in encoded]
    assert augmented(tokenizer, source, target, **{changed: 1.0}) == whole


def test_what_would_become_unknown_stays(tokenizer):
    """The vocabulary has no capital of this letter."""
    assert tokenizer.source.encode(["ŋ"]) != tokenizer.source.encode(["Ŋ"])
    found = augmented(tokenizer, ["der ŋ", "der hund"], ["the ŋ", "the dog"], upper_case=1.0)
    assert found == [["der ŋ", "DER HUND"], ["the ŋ", "THE DOG"]]


def test_words_and_ends():
    assert capitalised("der  kleine hund's Bau") == "Der  Kleine Hund's Bau"
    assert without_end("Wirklich?! ") == "Wirklich"
    assert without_end("ja (nein).") == "ja (nein"
    assert without_end("?!") == "?!"
