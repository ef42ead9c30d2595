"""Links of words of the training text: each pair keeps its own, whatever was left out before it."""

import random
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import FilterSettings, TokenizerSettings
from nmt.data.batching import collate
from nmt.data.cleaning import prepare_corpus
from nmt.data.corpus import Corpus, ParallelText
from nmt.data.dataset import load_dataset, select_pairs
from nmt.data.mixture import Groups
from nmt.data.tokenizer import obtain_tokenizer
from nmt.data.word_links import load_links
from nmt.errors import DataError, SettingsError

NO_FILTERS = {
    "min_words": None, "max_words": None, "max_characters": None, "max_ratio": None, "identical": False,
    "duplicates": "none", "overlap": "none", "source_scripts": None, "target_scripts": None, "script_share": 0.5,
}  # fmt: skip
SOURCE = ["der hund bellt", "ein alter mann", "", "sie liest", "hund hund hund hund hund", "der hund bellt"]
TARGET = ["the dog barks", "an old man", "x", "she is reading", "dog", "the dog barks"]
LINES = ["0-0 1-1 2-2", "0-0 1-1 2-2", "", "0-0 1-1 1-2", "0-0 4-0", "2-0"]


def prepared(source=SOURCE, target=TARGET, groups=None, **filters):
    text = ParallelText(list(source), list(target))
    corpus = Corpus(text, ParallelText(["q"], ["q"]), None, groups)
    return prepare_corpus(corpus, FilterSettings(**NO_FILTERS | filters))


def tokenizer_of(text, kind="char", size=40, normalization="identity", symbols=()):
    settings = TokenizerSettings(
        kind=kind, vocabulary_size=size, character_coverage=1.0, byte_fallback=False, normalization=normalization,
        joint=True, model=None,
    )  # fmt: skip
    return obtain_tokenizer(settings, text.corpus.train, symbols)


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def pieces_of_words(vocabulary, line):
    """Return the word of each piece, found in another way: by the number of letters before the piece."""
    ends = np.cumsum([len(word) for word in line.split()])
    words, letters = [], 0
    for piece in vocabulary.segment([line])[0]:
        words.append(int(np.searchsorted(ends, letters, side="right")))
        letters += len(piece.replace("▁", ""))
    return words


def by_hand(tokenizer, source, target, links):
    """Return the shares (T, S) that the links of a pair give, EOS included."""
    words = [pieces_of_words(tokenizer.source, source), pieces_of_words(tokenizer.target, target)]
    shares = torch.zeros(len(words[1]) + 1, len(words[0]) + 1)
    for t, target_word in enumerate(words[1]):
        linked = [s for s, source_word in enumerate(words[0]) if f"{source_word}-{target_word}" in links]
        for s in linked:
            shares[t, s] = 1 / len(linked)
    return shares


@given(st.data())
def test_each_pair_has_its_own_links_after_filters_lengths_and_shuffling(tmp_path_factory, data):
    generator = random.Random(data.draw(st.integers(0, 1 << 30)))
    folder = tmp_path_factory.mktemp("links")

    def line(largest):
        return " ".join("".join(generator.choices("abcd", k=generator.randint(1, 4))) for _ in range(largest))

    size = generator.randint(4, 12)
    source, target = ([line(generator.randint(0, 5)) for _ in range(size)] for _ in range(2))
    # Equal pairs: at least one stays, the other may be filtered.
    source, target = [*source, "aa bb", "aa bb"], [*target, "dd cc", "dd cc"]
    links = [
        " ".join(
            f"{i}-{j}"
            for i in range(len(one.split()))
            for j in range(len(other.split()))
            if generator.random() < 0.3
        )
        for one, other in zip(source, target, strict=True)
    ]
    filters = data.draw(
        st.sampled_from([{}, {"duplicates": "pair"}, {"max_words": 3}, {"min_words": 2, "max_ratio": 3}])
    )
    text = prepared(source, target, **filters)
    tokenizer = tokenizer_of(text, *data.draw(st.sampled_from([("char", 40), ("bpe", 12), ("word", 12)])))
    dataset = load_dataset(text.corpus.train, tokenizer)
    cut = generator.randint(0, len(links))
    files = [write(folder / "one", links[:cut]), write(folder / "other", links[cut:])]
    found = load_links(files, text, tokenizer)
    dataset = type(dataset)(dataset.source, dataset.target, found)
    selected, _ = select_pairs(dataset, data.draw(st.sampled_from([6, 12, 100])))
    rows = np.array(generator.sample(selected.tolist(), len(selected)))
    batch = collate(dataset, rows, tokenizer)
    ordered = rows[np.argsort(-dataset.source.lengths_of(rows), kind="stable")]
    originals = np.flatnonzero(text.kept)[ordered]
    assert batch.alignment.shape == (*batch.target_out.shape, batch.source.shape[1])
    for i, original in enumerate(originals):
        expected = by_hand(tokenizer, source[original], target[original], links[original].split())
        height, width = expected.shape
        torch.testing.assert_close(batch.alignment[i, :height, :width], expected)
        assert batch.alignment[i].sum() == pytest.approx(float(expected.sum()))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (LINES[:-1], "a line for each of the 6 training pairs is needed; got 5 lines in FILE"),
        ([*LINES, ""], "a line for each of the 6 training pairs is needed; got 7 lines in FILE"),
        ([*LINES[:1], "0-0 x-1", *LINES[2:]], "links such as 0-0 1-2 are needed; got x-1 in FILE, line 2"),
        ([*LINES[:1], "0-0 -1-1", *LINES[2:]], "links such as 0-0 1-2 are needed; got -1-1 in FILE, line 2"),
        ([*LINES[:1], "0-0-0", *LINES[2:]], "links such as 0-0 1-2 are needed; got 0-0-0 in FILE, line 2"),
        ([*LINES[:3], "2-0", *LINES[4:]], "words of the pair, from 0, are needed, of 2 in the source and 3 in the target; "
         "got 2-0 in FILE, line 4"),
        ([*LINES[:3], "0-3", *LINES[4:]], "words of the pair, from 0, are needed, of 2 in the source and 3 in the target; "
         "got 0-3 in FILE, line 4"),
    ],
)  # fmt: skip
def test_what_cannot_be_the_links_of_this_text_is_one_line(tmp_path, lines, message):
    text = prepared()
    path = write(tmp_path / "links", lines)
    with pytest.raises(DataError) as error:
        load_links(path, text, tokenizer_of(text))
    assert str(error.value) == f"training.guided_alignment: {message.replace('FILE', path)}"


def test_a_file_that_is_none(tmp_path):
    text = prepared()
    for path, message in ((tmp_path / "no", "no such file"), (tmp_path, "a file is needed")):
        with pytest.raises(DataError, match=rf"^training.guided_alignment: {message}"):
            load_links(str(path), text, tokenizer_of(text))
    path = tmp_path / "links"
    path.write_bytes(b"0-0\n\xff\n")
    with pytest.raises(DataError, match=r"^training.guided_alignment: UTF-8 text is needed; got .* line 2"):
        load_links(str(path), text, tokenizer_of(text))


def test_the_tag_of_a_language_is_no_word(tmp_path):
    sizes = {"train": [2, 2], "validation": [1, 0]}
    groups = Groups(["de-en", "de-fr"], ["<2en>", "<2fr>"], [1.0, 1.0], 1.0, sizes)
    text = prepared(SOURCE[:2] + SOURCE[3:5], TARGET[:2] + TARGET[3:5], groups)
    assert text.corpus.train.source[0] == "<2en> der hund bellt"
    tokenizer = tokenizer_of(text, "bpe", 50, symbols=groups.symbols)
    dataset = load_dataset(text.corpus.train, tokenizer)
    links = load_links(write(tmp_path / "links", LINES[:2] + LINES[3:5]), text, tokenizer)
    batch = collate(type(dataset)(dataset.source, dataset.target, links), np.array([0]), tokenizer)
    (names,) = tokenizer.source.segment([text.corpus.train.source[0]])
    tag = names.index("<2en>")
    assert not batch.alignment[0, :, : tag + 1].any()
    first = tokenizer.target.segment(["the"])[0]
    assert batch.alignment[0, : len(first)].sum() == len(first), "the first word of the text is linked"
    with pytest.raises(DataError, match="of 3 in the source and 3 in the target; got 3-0"):
        load_links(write(tmp_path / "links", ["3-0", *LINES[1:2], *LINES[3:5]]), text, tokenizer)


def test_where_normalisation_counts_other_words_links_are_left_out_and_that_is_said_each_time(
    tmp_path, caplog
):
    source = ["a´b c", "d e"]  # NFKC makes a space and an accent of it
    text = prepared(source, ["x y", "y x"])
    tokenizer = tokenizer_of(text, normalization="nfkc")
    path = write(tmp_path / "links", ["0-0 1-1", "0-1"])
    for _ in range(2):
        caplog.clear()
        links = load_links(path, text, tokenizer)
        assert links.words.tokens.tolist() == [1, 2]
        assert "1 line was of another number of words after tokenizer.normalization: line 1" in caplog.text


def test_eflomal_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "eflomal", None)
    text = prepared()
    with pytest.raises(SettingsError, match=r"^training.guided_alignment: .*pip install 'nmt\[eflomal\]'"):
        load_links("eflomal", text, tokenizer_of(text))


def test_eflomal_links_words_of_text_that_goes_in_parallel():
    pytest.importorskip("eflomal")
    generator = random.Random(5)
    words = [f"w{i}" for i in range(12)]
    lines = [generator.sample(words, generator.randint(2, 6)) for _ in range(300)]
    source = [" ".join(line) for line in lines]
    target = [" ".join(word.upper()[::-1] for word in line[::-1]) for line in lines]
    text = prepared(source, target)
    links = load_links("eflomal", text, tokenizer_of(text, size=60))
    num_right = num_found = 0
    for i, line in enumerate(lines):
        found = links.words.take(np.array([i])).tokens.view(-1, 2).tolist()
        num_found += len(found)
        num_right += sum(one + other == len(line) + 1 for one, other in found)
    assert num_found > 0.5 * sum(map(len, lines))
    assert num_right > 0.9 * num_found
