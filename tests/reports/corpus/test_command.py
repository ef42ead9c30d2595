"""`nmt data`: every number against a plain count of the same text."""

import json
import math
import re
import shlex
import statistics
import unicodedata
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import sentencepiece
from browser import find_chromium, look_at, schemes
from hypothesis import given
from hypothesis import strategies as st
from markup import Page

from nmt import grammar
from nmt.reports.corpus.corpus_page import _widen
from nmt.reports.corpus.sides import lengths_of


@pytest.fixture(scope="module")
def corpus():
    """Return the pairs of a corpus that has every kind of fault."""
    splits = {
        name: [[pair.source, pair.target] for pair in pairs]
        for name, pairs in grammar.generate(num_train=900, num_validation=60, num_test=50).items()
    }
    train, test = splits["train"], splits["test"]
    for place in range(0, 40, 4):  # test text, as it is and nearly
        train[100 + place] = list(test[place])
        train[101 + place] = [test[place + 1][0].replace(".", " !"), test[place + 1][1]]
    for place in range(5):
        train[200 + place] = [train[300 + place][0]] * 2
        train[210 + place] = list(train[400 + place])
        train[220 + place][0] = "Собака бежит по полю."
    train[230][1], train[231][0], train[232][0] = "", "\u3000", "viele Wörter " * 40
    train[233][0] += "\u200b\t"
    test[3][0] += " ☃ñ"
    del train[600][1]
    sources = [pair[0] for pair in train]
    targets = [pair[1] for pair in train if len(pair) == 2]  # so a target line is missing, and the file slips
    splits["train"] = [list(pair) for pair in zip(sources[:-1], targets, strict=True)]
    return splits


@pytest.fixture(scope="module")
def files(corpus, tmp_path_factory):
    """Write the corpus and a tokenizer; return the folder, the tokenizer and the overrides that name them."""
    folder = tmp_path_factory.mktemp("corpus")
    lines = [line for pair in corpus["train"] for line in pair]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(folder / "pieces"), vocab_size=300, minloglevel=2,
        character_coverage=0.995,
    )  # fmt: skip
    overrides = ["data=files", f"tokenizer.model={folder / 'pieces.model'}", "data.max_length=60"]
    for split, pairs in corpus.items():
        for number, side in enumerate(("source", "target")):
            path = folder / f"{split}.{side}"
            path.write_text("".join(f"{pair[number]}\n" for pair in pairs), encoding="utf-8")
            overrides.append(f"data.{split}.{side}={path}")
    return folder, sentencepiece.SentencePieceProcessor(model_file=str(folder / "pieces.model")), overrides


@pytest.fixture
def report(nmt, tmp_path, files):
    """Return what the command prints, its JSON and its page."""
    *_, overrides = files
    done = nmt("data", *overrides, "json=report.json", "html=report.html", "data/filter=clean")
    assert b"train        899 pairs are measured\n" in done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    return done.stdout.decode(), json.loads((tmp_path / "report.json").read_text(encoding="utf-8")), page


def blank(pair):
    return not pair[0].strip() or not pair[1].strip()


def stripped(pair):
    return tuple(side.strip() for side in pair)


def test_numbers_are_those_of_a_plain_count(report, corpus, files):
    _, found, _ = report
    _, pieces, _ = files
    for split, pairs in corpus.items():
        own, whole = found["splits"][split], [pair for pair in pairs if not blank(pair)]
        assert own["num_pairs"] == len(pairs)
        assert own["num_empty"] == sum(map(blank, pairs))
        assert own["num_identical"] == sum(a.strip() == b.strip() for a, b in whole)
        assert own["duplicates"] == {
            "pair": len(whole) - len(set(map(stripped, whole))),
            "source": len(whole) - len({stripped(pair)[0] for pair in whole}),
            "target": len(whole) - len({stripped(pair)[1] for pair in whole}),
        }
        # As in training, a blank line has no tokens.
        encoded = [[pieces.encode(side) if side.strip() else [] for side in pair] for pair in pairs]
        assert own["num_too_long"] == sum(
            max(map(len, sides)) > 60 for sides, pair in zip(encoded, pairs, strict=True) if not blank(pair)
        )
        ratios = [len(pair[1]) / len(pair[0]) for pair in whole]
        assert sum(own["ratios"]["counts"]) == len(whole)
        for low, high, count in zip(
            own["ratios"]["edges"], own["ratios"]["edges"][1:], own["ratios"]["counts"], strict=False
        ):
            if low > 0.07 and high < 15:
                assert count == sum(low <= ratio < high for ratio in ratios)
        for number, side in enumerate(("source", "target")):
            lines = [pair[number] for pair in pairs]
            check_side(own[side], lines, [row[number] for row in encoded], pieces.unk_id())
    assert found["splits"]["train"]["num_too_long"] > 1


@given(st.lists(st.integers(0, 300), min_size=1), st.lists(st.integers(0, 3000), min_size=1))
def test_two_sides_are_drawn_as_they_are_whatever_their_widths(source, target):
    sides = [lengths_of(np.array(side, np.int64)) for side in (source, target)]
    width = max(side.histogram.edges[1] for side in sides)
    for values, side in zip((source, target), sides, strict=True):
        counts = _widen(side.histogram.edges, side.histogram.counts, width)
        edges = [*(place * width for place in range(len(counts))), math.inf]
        assert counts == [sum(low <= value < high for value in values) for low, high in pairwise(edges)]


def check_side(own, lines, encoded, unk_id):
    words, text = [len(line.split()) for line in lines], "".join(lines)
    assert own["num_words"] == sum(words)
    assert own["num_characters"] == len(text)
    assert own["num_blank"] == sum(not line.strip() for line in lines)
    assert own["words"]["mean"] == pytest.approx(statistics.mean(words))
    assert own["words"]["median"] == statistics.median(words)
    assert own["words"]["max"] == max(words)
    edges, counts = own["words"]["histogram"]["edges"], own["words"]["histogram"]["counts"]
    assert sum(counts) == len(lines)
    edges[-1] = math.inf
    for low, high, count in zip(edges, edges[1:], counts, strict=False):
        assert count == sum(low <= number < high for number in words)
    characters = Counter(text)
    assert own["num_distinct_characters"] == len(characters)
    told = own["frequent"][:8]  # characters of equal counts may come in any order
    assert [one["count"] for one in told] == [count for _, count in characters.most_common(8)]
    assert all(characters[one["character"]] == one["count"] for one in told)
    scripts = Counter(unicodedata.name(c).split()[0].capitalize() for c in text if c.isalpha())
    assert own["scripts"] == scripts
    cyrillic = [i for i, line in enumerate(lines, 1) if "Собака" in line]
    assert (own["num_of_other_script"], own["lines_of_other_script"]) == (len(cyrillic), cyrillic[:5])
    assert own["num_tokens"] == sum(map(len, encoded))
    assert own["num_unknown_tokens"] == sum(row.count(unk_id) for row in encoded)
    assert own["tokens_per_word"] == pytest.approx(own["num_tokens"] / own["num_words"])


def test_what_splits_have_in_common_is_found(report, corpus):
    _, found, _ = report
    train = [stripped(pair) for pair in corpus["train"]]
    for split in ("validation", "test"):
        held_out = [stripped(pair) for pair in corpus[split] if not blank(pair)]
        assert found["overlaps"][split] == {
            "num_pairs": len(corpus[split]),
            "pair": sum(pair in set(train) for pair in held_out),
            "source": sum(pair[0] in {a for a, _ in train} for pair in held_out),
            "target": sum(pair[1] in {b for _, b in train} for pair in held_out),
        }
    assert found["overlaps"]["test"]["pair"] >= 10
    near = {(near["split"], near["of_split"]): near for near in found["near_duplicates"]}
    assert near["test", "train"]["num_pairs"] >= 8
    for line, of_line in near["test", "train"]["examples"]:
        one, other = corpus["test"][line - 1], corpus["train"][of_line - 1]
        grams = [
            {" ".join(" ".join(pair).lower().split())[i : i + 4] for i in range(9999)}
            for pair in (one, other)
        ]
        assert len(grams[0] & grams[1]) / len(grams[0] | grams[1]) > 0.75


def test_the_slip_is_named_with_its_line(report):
    text, found, _ = report
    (stretch,) = found["splits"]["train"]["alignment"]["stretches"]
    assert stretch["shift"] == -1
    assert abs(stretch["first_line"] - 601) <= 5
    assert (
        f"train       from about line {stretch['first_line']} to line 899, source line N goes with target line N − 1"
        in text
    )


def test_characters_that_are_new_or_not_seen_are_named(report):
    text, found, _ = report
    source = found["splits"]["train"]["source"]
    assert {c["name"]: c["count"] for c in source["controls"]} == {
        "U+200B ZERO WIDTH SPACE": 1,
        "U+0009 TAB": 1,
    }
    assert source["lines_with_controls"] == [234]
    unseen = found["splits"]["test"]["source"]["unseen"]
    assert {c["character"]: c["count"] for c in unseen} == {"☃": 1, "ñ": 1}
    assert "U+200B ZERO WIDTH SPACE (1)" in text


def test_what_filters_would_leave_out_is_what_they_leave_out(report, nmt, files, tmp_path, tiny_training):
    text, found, _ = report
    assert re.search(
        r"data.filter would leave out \d+ by max_ratio, \d+ by identical, \d+ by overlap, ", text
    )
    *_, overrides = files
    small = [option for option in tiny_training() if not option.startswith(("data.", "tokenizer."))]
    nmt("train", "run=run", *small, *overrides, "data/filter=clean", "training.max_updates=1")
    assert json.loads((tmp_path / "run" / "data.json").read_text())["filtered"] == found["filtered"]


def test_the_page_shows_the_same_numbers_and_asks_for_no_network(report):
    _, found, page = report
    Page(page).assert_closed()
    assert "<script" not in page
    assert page.count("<svg") >= 9
    for split in found["splits"].values():
        assert f"<td>{split['source']['num_words']}</td>" in page
        assert f"<td>{split['num_pairs']}</td>" in page


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium here")
def test_the_page_in_a_browser(report, tmp_path):
    assert schemes(look_at(tmp_path / "report.html", tmp_path / "browser")) == {"file"}


def test_a_corpus_without_faults_is_called_so(nmt):
    done = nmt("data", "data.num_train=300", "data.num_validation=20", "data.num_test=20",
               "tokenizer.vocabulary_size=200", "data.max_length=500", "near_duplicates=false")  # fmt: skip
    assert done.stdout.decode().endswith("nothing that asks for attention was found\n")


def test_files_that_exist_are_kept(nmt, tmp_path):
    (tmp_path / "old.html").write_text("mine")
    small = [
        "data.num_train=300",
        "data.num_validation=20",
        "data.num_test=20",
        "tokenizer.vocabulary_size=200",
    ]
    done = nmt("data", *small, "html=old.html", code=2)
    assert done.stderr == b"nmt: html: a new file is needed, or overwrite=true; got old.html, which exists\n"
    (tmp_path / "folder").mkdir()
    done = nmt("data", *small, "html=folder", "overwrite=true", code=2)
    assert done.stderr == b"nmt: html: a file is needed; got folder, which is a folder\n"
    done = nmt("data", *small, "html=both", "json=./both", code=2)
    assert done.stderr == b"nmt: html: another file than that of json is needed; got both\n"
    nmt("data", *small, "html=old.html", "overwrite=true")
    assert (tmp_path / "old.html").read_text().startswith("<!DOCTYPE html>")
    assert b"json: a file in an existing folder" in nmt("data", *small, "json=no/x.json", code=2).stderr


def test_each_corpus_of_a_mixture_has_its_own_scripts(nmt, tmp_path):
    for name, text in (
        ("a.de", "Das Haus {}"),
        ("a.en", "The house {}"),
        ("b.ru", "Дом {}"),
        ("b.en", "A house {}"),
    ):
        (tmp_path / name).write_text("".join(text.format(f"{chr(97 + i % 26)}\n") for i in range(40)))
    corpora = ["{source: de, target: en, train: [a.de,a.en], validation: [a.de,a.en]}",
               "{source: ru, target: en, train: [b.ru,b.en]}"]  # fmt: skip
    given = ["data=mixture", "tokenizer.vocabulary_size=80", "near_duplicates=false"]
    done = nmt("data", *given, f"data.pairs=[{','.join(corpora)}]", "json=x.json").stdout.decode()
    assert "not mostly in" not in done
    found = json.loads((tmp_path / "x.json").read_text())["splits"]["train"]["source"]
    assert found["main_scripts"] == ["Latin", "Cyrillic"]
    with (tmp_path / "b.ru").open("a") as file, (tmp_path / "b.en").open("a") as other:
        file.write("дом 家家家家家\n")
        other.write("A house\n")
    done = nmt("data", *given, f"data.pairs=[{','.join(corpora)}]").stdout.decode()
    assert (
        "1 source line not mostly in Latin, Cyrillic letters: line 81; data.filter.source_scripts=[Latin,Cyrillic]"
        in done
    )


def test_what_is_advised_can_be_typed(nmt, tmp_path):
    for side, letters in (("x", "ᱚᱛᱜᱝᱞ"), ("y", "abcde")):
        lines = [f"{letters[i % 5]}{letters[i // 5]} {letters}" for i in range(25)]
        (tmp_path / f"a.{side}").write_text(
            "\n".join([*lines, "1 éèêëüöäß" if side == "y" else "1 abcdefgh"])
        )
    files = [f"data.{split}.{side}=a.{name}" for split in ("train", "validation")
             for side, name in (("source", "x"), ("target", "y"))]  # fmt: skip
    done = nmt("data", "data=files", *files, "tokenizer=word", "tokenizer.vocabulary_size=8").stdout.decode()
    assert "unknown source token" in done
    assert "byte_fallback" not in done, "which a vocabulary of words has not"
    assert "'data.filter.source_scripts=[Ol Chiki]'" in done
    typed = shlex.split("'data.filter.source_scripts=[Ol Chiki]'")
    filtered = nmt("data", "data=files", *files, *typed, "tokenizer.vocabulary_size=50").stdout.decode()
    assert "1 by source_scripts" in filtered


def test_the_text_that_is_measured_is_never_overwritten(nmt, tmp_path):
    for name in ("train", "val", "test_2016_flickr"):
        for side in ("de", "en"):
            (tmp_path / f"{name}.{side}").write_text("Ein Haus\n" * 5)
    folder_of_hub = ("data=hub", "data.path=.", "data.source_column=de", "data.target_column=en")
    for data in (("data=multi30k", "data.directory=."), folder_of_hub):
        refused = nmt("data", *data, "json=train.de", "overwrite=true", code=2).stderr
        assert b"nmt: json: another file than the text is needed" in refused
    assert (tmp_path / "train.de").read_text() == "Ein Haus\n" * 5
