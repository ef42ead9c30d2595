"""Filters and overlaps, against plain loops over the text."""

import itertools
import json
import random
import unicodedata

import numpy as np
import pytest

from nmt.cli.compose import compose
from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.data.characters import (
    SCRIPT_OF_WORDS,
    SCRIPTS,
    codes_of,
    require_known_scripts,
    script_of,
    script_shares,
)
from nmt.data.cleaning import prepare_corpus
from nmt.data.corpus import Corpus, ParallelText
from nmt.data.dataset import LeftOut
from nmt.data.duplicates import Fingerprints, find_overlap
from nmt.errors import DataError, SettingsError


def random_text(seed, number):
    """Return text of few words, so that much of it is repeated; some lines are blank, or end in white space."""
    chance = random.Random(seed)

    def line():
        words = [chance.choice(["a", "b", "cc", "ddddddd", "Ж", "жж"]) for _ in range(chance.randint(0, 3))]
        return " ".join(words) + chance.choice(["", "", " ", "\u3000"])

    return ParallelText([line() for _ in range(number)], [line() for _ in range(number)])


@pytest.fixture(scope="module")
def corpus():
    """Return a corpus in which hardly any pair is without a fault."""
    return Corpus(random_text(1, 900), random_text(2, 90), random_text(3, 80))


def settings_of(*overrides):
    given = [f"data.filter.{override}" for override in overrides]
    return check(TrainSettings, compose("train", given, None).values).data.filter


def pairs_of(text):
    return list(zip(text.source, text.target, strict=True))


def blank(pair):
    return not pair[0].strip() or not pair[1].strip()


def stripped(pair):
    return pair[0].strip(), pair[1].strip()


def held_out_lines(corpus, side):
    pairs = pairs_of(corpus.validation) + pairs_of(corpus.test)
    return {stripped(pair)[side] for pair in pairs} - {""}


def held_out_pairs(corpus):
    return {stripped(pair) for pair in pairs_of(corpus.validation) + pairs_of(corpus.test)}


def words(pair):
    return [len(side.split()) for side in pair]


def characters(pair):
    return [len(side.strip()) for side in pair]


PLAIN = {
    "min_words=2": lambda pair, corpus: min(words(pair)) < 2,
    "max_words=2": lambda pair, corpus: max(words(pair)) > 2,
    "max_characters=8": lambda pair, corpus: max(characters(pair)) > 8,
    "max_ratio=2.5": lambda pair, corpus: max(characters(pair)) / min(characters(pair)) > 2.5,
    "identical=true": lambda pair, corpus: pair[0].strip() == pair[1].strip(),
    "overlap=pair": lambda pair, corpus: stripped(pair) in held_out_pairs(corpus),
    "overlap=source": lambda pair, corpus: pair[0].strip() in held_out_lines(corpus, 0),
    "overlap=target": lambda pair, corpus: pair[1].strip() in held_out_lines(corpus, 1),
    "overlap=either": lambda pair, corpus: (
        pair[0].strip() in held_out_lines(corpus, 0) or pair[1].strip() in held_out_lines(corpus, 1)
    ),
}


@pytest.mark.parametrize("override", PLAIN)
def test_each_filter_leaves_out_what_a_plain_loop_does(corpus, override):
    rejected = PLAIN[override]
    expected = [pair for pair in pairs_of(corpus.train) if blank(pair) or not rejected(pair, corpus)]
    prepared = prepare_corpus(corpus, settings_of(override))
    assert pairs_of(prepared.corpus.train) == expected
    assert prepared.filtered == {override.split("=")[0]: 900 - len(expected)}
    assert 0 < len(expected) < 900
    assert (prepared.corpus.validation, prepared.corpus.test) == (corpus.validation, corpus.test)


@pytest.mark.parametrize("kind", ["pair", "source", "target"])
def test_of_duplicates_the_first_one_stays(corpus, kind):
    seen, expected = set(), []
    for pair in pairs_of(corpus.train):
        what = stripped(pair) if kind == "pair" else stripped(pair)[kind == "target"]
        if blank(pair) or what not in seen:
            expected.append(pair)
        if not blank(pair):
            seen.add(what)
    prepared = prepare_corpus(corpus, settings_of(f"duplicates={kind}"))
    assert pairs_of(prepared.corpus.train) == expected


def test_a_pair_counts_under_the_first_reason_and_duplicates_are_of_what_stays():
    text = ParallelText(["x", "a b c", "a b c", "a b c"], ["x y", "a b c", "u", "u v"])
    other = ParallelText(["none"], ["none"])
    settings = settings_of("identical=true", "min_words=2", "duplicates=source")
    prepared = prepare_corpus(Corpus(text, other, None), settings)
    assert prepared.filtered == {"min_words": 2, "identical": 1, "duplicates": 0}
    assert pairs_of(prepared.corpus.train) == [("a b c", "u v")]
    with pytest.raises(
        DataError, match=r"^data.filter: a training pair that passes is needed; got none: 4 by min_wo"
    ):
        prepare_corpus(Corpus(text, other, None), settings_of("min_words=5"))


def overlap_with(train, held_out):
    kept = np.ones(len(train.source), bool)
    return find_overlap(Fingerprints.of(held_out), Fingerprints.of(train), kept)


def test_overlap_is_what_sets_have_in_common(corpus):
    for held_out in (corpus.validation, corpus.test):
        overlap = overlap_with(corpus.train, held_out)
        with_text = [stripped(pair) for pair in pairs_of(held_out) if not blank(pair)]
        # Others are not learned.
        train = [stripped(pair) for pair in pairs_of(corpus.train) if not blank(pair)]
        assert overlap.num_pairs == len(held_out.source)
        assert overlap.pair == sum(pair in set(train) for pair in with_text) > 0
        assert overlap.source == sum(pair[0] in {source for source, _ in train} for pair in with_text) > 0
        assert overlap.target == sum(pair[1] in {target for _, target in train} for pair in with_text) > 0
    assert not overlap_with(corpus.train, ParallelText(["new"], ["new"])).found
    without_reference = ParallelText(["one", "two"], ["", "deux"])  # whose first pair is left out of training
    assert not overlap_with(without_reference, ParallelText(["one"], ["un"])).found


def test_scripts_are_told_by_the_names_of_letters():
    examples = {
        "Latin": "aÄßéſªＡ", "Cyrillic": "жЁ", "Greek": "αΩ", "Han": "中々〆", "Hiragana": "ひ", "Katakana": "カｶ",
        "Hangul": "한ㄱ", "Arabic": "ع", "Devanagari": "अ", "Georgian": "აႠ", "Tai Le": "ᥐ", "New Tai Lue": "ᦀ",
        "Canadian Aboriginal": "ᐁ", "": "1 .,!?+😀\u0301\u200b\x85", "Other": "𐎠ʼ𝐀",
    }  # fmt: skip
    for script, characters_of in examples.items():
        assert {script_of(character) for character in characters_of} == {script}, script
    assert set(SCRIPT_OF_WORDS.values()) < set(SCRIPTS)
    letters = [chr(code) for code in range(0x3000) if unicodedata.category(chr(code)).startswith("L")]
    assert sum(script_of(letter) == "Other" for letter in letters) / len(letters) < 0.05


def test_shares_of_scripts_are_those_of_a_plain_count():
    lines = ["Das ist Москва", "", "123 !", "中文 abc", "жук"]
    assert {script_of(character) for character in "コーヒーｺｰﾋｰ"} == {"Katakana"}
    shares = script_shares(lines, ["Latin", "Han"])
    plain = []
    for line in lines:
        letters = [script_of(c) for c in line if c.isalpha()]
        plain.append(sum(s in ("Latin", "Han") for s in letters) / len(letters) if letters else 1.0)
    assert shares.tolist() == plain
    codes, offsets = codes_of(lines)
    assert [codes[a:b].tolist() for a, b in itertools.pairwise(offsets)] == [
        [ord(c) for c in line] for line in lines
    ]
    assert np.array_equal(codes_of(["\ud800"])[0], [0xD800])


def test_text_of_another_script_is_left_out():
    text = ParallelText(["Hund und Katze", "собака", "ok, собака", "12"], ["dog and cat", "dog", "dog", "12"])
    corpus = Corpus(text, ParallelText(["none"], ["none"]), None)
    prepared = prepare_corpus(corpus, settings_of("source_scripts=[Latin]"))
    assert prepared.corpus.train.source == ["Hund und Katze", "12"]
    prepared = prepare_corpus(corpus, settings_of("source_scripts=[Latin]", "script_share=0.2"))
    assert prepared.corpus.train.source == ["Hund und Katze", "ok, собака", "12"]
    with pytest.raises(
        SettingsError,
        match=r"^data.filter.target_scripts: a script of Unicode is needed; got Latn; did you mean Latin",
    ):
        require_known_scripts(settings_of("target_scripts=[Latn]"))


def test_what_cannot_be_learned_is_named_by_its_line_in_the_text(caplog):
    train = ParallelText(["a", "same", "b", "", "same", "c d e"], ["x", "same", "y", "z", "same", "w"])
    held_out = ParallelText(["v"], ["v"])
    prepared = prepare_corpus(Corpus(train, held_out, None), settings_of("identical=true"))
    assert prepared.corpus.train.source == ["a", "b", "", "c d e"]
    prepared.warn(LeftOut(empty=np.array([2]), too_long=np.array([1, 3])), max_length=2)
    assert caplog.messages == [
        "left out     1 of 6 training pairs with an empty side: line 4",
        "left out     2 of 6 training pairs longer than data.max_length=2 tokens: lines 3 and 6",
    ]


@pytest.fixture
def dirty(tmp_path, tiny_training):
    """Write text in which much is repeated, and test text that is in it; return the overrides of a tiny run."""
    chance = random.Random(1)
    pairs = [(f"wort {i} und {chance.randint(0, 9)}", f"word {i}") for i in range(60)]
    splits = {"train": pairs + pairs[:7] + [("gleich gleich", "gleich gleich")] * 2, "valid": pairs[:3]}
    splits["test"] = [pairs[5], ("wort 6", "word 6"), ("neu", "new"), ("neu", "word 7")]
    for name, rows in splits.items():
        (tmp_path / f"{name}.tsv").write_text(
            "".join(f"{a}\t{b}\n" for a, b in [("source", "target"), *rows])
        )
    small = [option for option in tiny_training() if not option.startswith(("data.", "tokenizer."))]
    return [*small, "data=table", "data.train=train.tsv", "data.validation=valid.tsv", "data.test=test.tsv",
            "tokenizer.vocabulary_size=40"]  # fmt: skip


def test_training_warns_of_test_text_that_it_learns_from(nmt, tmp_path, dirty):
    done = nmt("train", "run=run", *dirty)
    said = done.stderr.decode()
    assert (
        "validation   3 of 3 pairs (100.0 %), 3 source and 3 target lines are in the training text; "
        "data.filter.overlap=either leaves these out of training\n"
    ) in said
    assert (
        "test         1 of 4 pairs (25.0 %), 1 source and 3 target lines are in the training text; " in said
    )
    assert "filter  " not in said
    facts = json.loads((tmp_path / "run" / "data.json").read_text())
    lengths = facts.pop("source_tokens")
    assert 0 < lengths["usual"] <= lengths["longest"]
    assert facts.pop("is_guided") is False
    assert facts == {
        "num_read": 69, "filtered": {}, "empty": 0, "too_long": 0, "num_train": 69,
        "overlaps": {
            "validation": {"num_pairs": 3, "pair": 3, "source": 3, "target": 3},
            "test": {"num_pairs": 4, "pair": 1, "source": 1, "target": 3},
        },
    }  # fmt: skip


def test_training_says_and_records_what_filters_left_out(nmt, tmp_path, dirty):
    done = nmt("train", "run=run", *dirty, "data/filter=clean")
    said = done.stderr.decode()
    line = "left out of 69 training pairs: 0 by max_ratio, 2 by identical, 11 by overlap, 2 by duplicates; 54 stay"
    assert f"filter       {line}\n" in said
    assert "in the training text" not in said
    assert "54 training pairs" in said
    facts = json.loads((tmp_path / "run" / "data.json").read_text())
    assert facts["filtered"] == {"max_ratio": 0, "identical": 2, "overlap": 11, "duplicates": 2}
    assert (facts["num_read"], facts["num_train"]) == (69, 54)
    assert line in (tmp_path / "run" / "train.log").read_text()
    again = nmt("train", "run=run", "resume=true", "training.max_updates=6")
    assert line in again.stderr.decode(), "it goes on with the same filters"
    for override in ("data/filter=none", "data.filter.identical=false"):
        refused = nmt("train", "run=run", "resume=true", "training.max_updates=8", override, code=2)
        assert refused.stderr.startswith(b"nmt: data.filter.")
