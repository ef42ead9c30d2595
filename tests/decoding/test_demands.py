"""Glossaries and protected strings from a line to the text of its translation, with random models."""

import json
import os
import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import TokenizerSettings
from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import obtain_tokenizer
from nmt.decoding.chunks import Chunk
from nmt.decoding.demands import Demands
from nmt.decoding.engine import Hypothesis
from nmt.decoding.literal_text import makes_longer, text_of
from nmt.decoding.search_settings import choose_search
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.errors import SettingsError

NAMES = ["placeholders", "urls", "emails", "numbers", "tags"]
# Strings that the vocabulary lacks, or that NFKC or the tokenizer's treatment of white space would change.
HOSTILE = [
    "{😀}",
    "{ﬁ①}",
    "{\u00a0}",
    "%1$s",
    "https://x.org/ﬃ?a=１",
    "１２",
    "12.5",
    "<b title='\u2003'>",
    "a@b.cd",
    "&nbsp;",
]
LIMITS = {"max_length_ratio": 1.0, "max_length_extra": 4, "max_source_tokens": 100}


@pytest.fixture(scope="module")
def make(tiny_model):
    """Return a function that makes a translator of a random model over subwords, for a given normalization."""
    text = ParallelText(["abc def 12 ( ) .", "ghi jkl mno"] * 9, ["pqr 1 2", "stu vwx, yz."] * 9)

    def make_translator(
        normalization="identity", kind="transformer", positions=64, count=1, details=False, **search
    ):
        values = {
            "character_coverage": 1.0,
            "byte_fallback": False,
            "normalization": normalization,
            "model": None,
        }
        tokenizer = obtain_tokenizer(
            TokenizerSettings(kind="bpe", vocabulary_size=50, joint=True, **values), text
        )
        sizes = (tokenizer.source.size, tokenizer.target.size)
        limits = {"max_positions": positions} if kind == "transformer" else {}
        model = tiny_model(kind, sizes=sizes, is_random=False, **limits)
        translator = Translator(
            TorchEngine(model, tokenizer, torch.device("cpu"), torch.float64),
            choose_search("beam", **(LIMITS | search)),
        )
        return translator.with_search(translator.settings, count, details)

    return make_translator


@settings(max_examples=25)
@given(
    st.sampled_from(["identity", "nfkc", "nmt_nfkc_cf"]),
    st.sampled_from(["rnn", "attention", "transformer"]),
    st.lists(st.lists(st.sampled_from([*HOSTILE, "abc", "(", ")", ",", "def."]), max_size=7), max_size=4),
    st.integers(1, 3),
    st.sampled_from(["", " "]),
)
def test_what_is_protected_stands_letter_for_letter_as_often_as_in_the_line(
    make, normalization, kind, words, beam_size, space
):
    translator = make(normalization, kind, 512, beam_size=beam_size, protect=NAMES)
    lines = [space.join(some) for some in words]
    for line, found in zip(lines, translator.translate_chunk(Chunk(lines)), strict=True):
        wanted = [line[begin:end] for begin, end in translator.demands.protection.spans(line)]
        assert found.constraints == wanted
        assert found.unmet == []
        there = [found.text[begin:end] for begin, end in translator.demands.protection.spans(found.text)]
        assert all(there.count(one) >= wanted.count(one) for one in wanted)
    assert translator.remarks.num_unmet == 0


def test_lines_without_demands_are_found_as_without_a_glossary(make, tmp_path):
    (tmp_path / "terms.tsv").write_text("xyz\tuvw\n")
    lines = ["abc", "12 def", "ghi jkl", "", "xyz mno"]
    demanding = {"protect": ["numbers"], "glossary": str(tmp_path / "terms.tsv")}
    plain = make(count=3, details=True).translate_chunk(Chunk(lines))
    found = make(count=3, details=True, **demanding).translate_chunk(Chunk(lines))
    for i in (0, 2, 3):
        assert [one.text for one in found[i].hypotheses] == [one.text for one in plain[i].hypotheses]
        assert [one.tokens for one in found[i].hypotheses] == [one.tokens for one in plain[i].hypotheses]
    assert [one.constraints for one in found] == [[], ["12"], [], [], ["uvw"]]


def test_several_translations_of_a_line_have_all_that_is_demanded(make):
    translator = make(count=4, details=True, beam_size=4, protect=["numbers"])
    (found,) = translator.translate_chunk(Chunk(["abc 12 def 12 ghi 2"]))
    assert len(found.hypotheses) > 1
    for one in found.hypotheses:
        assert one.text.split().count("12") >= 2
        assert one.alignment
        words = one.text.split()
        assert all(target < len(words) for _, target in one.alignment)
        assert len(one.tokens) == len(one.token_log_probs)
    json.dumps(found.as_dict(1))


def test_groups_that_find_the_same_take_no_places_of_what_is_asked_for(make):
    lines = ["abc def", "jkl", "ghi mno abc", "def"]
    few, many = (
        list(make(count=count, beam_size=6, num_groups=3, diversity_penalty=0.0).translations(lines))
        for count in (3, 9)
    )
    for shown, found in zip(few, many, strict=True):
        assert len(shown.hypotheses) == min(3, len(found.hypotheses))


def test_results_depend_on_no_other_line(make):
    lines = ["abc 12 def", "{name} 1 2 3", "jkl", "https://x.org 12 (12)"]
    translator = make(protect=NAMES)
    assert list(translator.translate(lines)) == [next(translator.translate([line])) for line in lines]


def test_what_a_model_has_no_room_for_is_said(make, caplog, tmp_path):
    caplog.set_level("INFO")
    (tmp_path / "terms.tsv").write_text("abc\tghi jkl mno\ndef\tmno jkl ghi\n")
    translator = make(positions=7, protect=["numbers"], glossary=str(tmp_path / "terms.tsv"))
    found = translator.translate_chunk(Chunk(["abc 1", "abc def", "jkl"], num_before=10))
    assert [one.constraints for one in found] == [["ghi jkl mno", "1"], ["ghi jkl mno", "mno jkl ghi"], []]
    assert [one.unmet for one in found] == [[], ["mno jkl ghi"], []]
    translator.remarks.log()
    assert caplog.messages == [
        "2 lines had 3 terms of the glossary and 1 protected string; not met: 1, in line 12"
    ]


def test_of_a_line_that_is_cut_only_what_was_read_is_demanded(make):
    translator = make(protect=["numbers"], split="none", max_source_tokens=6)
    (found,) = translator.translate_chunk(Chunk(["12 abc def ghi jkl mno abc def 99"]))
    assert found.is_cut
    assert found.constraints == ["12"]


def test_no_cut_goes_through_what_is_protected(make):
    translator = make(protect=["tags", "numbers"], long_line=4, long_sentence=4)
    line = "abc def <b title='abc def. Ghi; jkl, mno'> ghi. Jkl 1.000.000 mno"
    (found,) = translator.translate_chunk(Chunk([line]))
    assert len(found.parts) > 1
    assert "".join(found.parts).replace(" ", "") == line.replace(" ", "")
    assert sum("<b title='abc def. Ghi; jkl, mno'>" in part for part in found.parts) == 1
    assert found.unmet == []


def test_what_the_tokenizer_makes_nothing_of_has_a_place_all_the_same(make):
    translator = make("nmt_nfkc", protect=["\u200b*"])
    assert translator.tokenizer.target.encode(["\u200b"]) == [[]]
    (found,) = translator.translate_chunk(Chunk(["abc \u200b def"]))
    assert "\u200b" in found.text
    assert found.unmet == []


def test_a_phrase_stays_apart_from_a_prefix_that_the_vocabulary_lacks(make):
    translator = make(protect=["numbers"], max_length_ratio=0.0, max_length_extra=1)
    for prefix in ("Ł", "abc Ł", "8"):
        (found,) = translator.translate_chunk(Chunk(["44"], beside=[prefix]))
        assert found.text.startswith(f"{prefix} 44")
        assert found.unmet == []


def test_a_prefix_counts(make):
    translator = make(protect=["numbers"])
    (found,) = translator.translate_chunk(Chunk(["12 abc"], beside=["12"]))
    assert found.unmet == []
    assert len(found.hypotheses[0].text.split("12")) == 2


@pytest.mark.parametrize("kind", ["rnn", "attention", "transformer"])
def test_a_term_at_the_end_of_a_prefix_stays_whole(make, kind, tmp_path):
    (tmp_path / "terms.tsv").write_text("abc\tpqr\n")
    translator = make(kind=kind, glossary=str(tmp_path / "terms.tsv"))
    endings = [i for i, piece in enumerate(translator.tokenizer.target.pieces) if makes_longer(piece)]
    with torch.no_grad():
        translator.engine.model.output.bias[endings] += 3.0  # so that the model would go on with the word
    for prefix in ("pqr", "stu pqr", "pqr "):
        with_term, without = translator.translate_chunk(Chunk(["abc def", "def"], beside=[prefix] * 2))
        assert with_term.unmet == []
        assert "pqr" not in without.text.split()
    (found,) = translator.translate_chunk(Chunk(["abc def"], beside=["stupqr"]))
    assert found.text.split()[0].startswith("stupqr")
    assert len(found.text.split()[0]) > len("stupqr"), "a word that only ends like the term may go on"
    assert found.unmet == []


@pytest.mark.parametrize(
    ("demands", "run", "expected"),
    [
        ("(12)", [("p", -1), ("(", -1), ("▁12", 0), (")", -1)], "p(12)"),
        ("a 12", [("▁12", 0), ("1", -1)], "12 1"),  # not 121
        ("a 12", [("▁12", 0), (",", -1), ("1", -1)], "12 ,1"),  # not 12,1
        ("a 12", [("p", -1), ("▁12", 0), (".", -1)], "p 12."),
        ("{a}{b}", [("▁", 0), ("▁", 1)], "{a}{b}"),
        ("{a} {b}", [("▁", 0), ("▁", 1)], "{a} {b}"),
        ("1 2", [("▁", 0), ("▁", 1)], "1 2"),
    ],
)
def test_spaces_stand_where_the_source_has_them_unless_something_would_change(make, demands, run, expected):
    translator = make(protect=["numbers", "placeholders"])
    vocabulary = translator.tokenizer.target
    ids = [vocabulary.pieces.index(piece) if piece in vocabulary.pieces else 1 for piece, _ in run]
    wanted = translator.demands.of(demands)
    hypothesis = Hypothesis(ids, 0.0, [phrase for _, phrase in run])
    text, pieces = text_of(vocabulary, hypothesis, translator.demands.literals(wanted), vocabulary.decode)
    assert text == expected
    assert "".join(pieces).replace("▁", " ").split() == text.split()


def test_a_term_is_met_by_whole_words():
    demands = Demands(choose_search("beam"), None)
    from nmt.decoding.demands import Demand

    wanted = [Demand("cat", False, 0, ""), Demand("old house", False, 0, "")]
    assert [one.text for one in demands.unmet(wanted, "category, an old house.")] == ["cat"]
    assert demands.unmet(wanted, "the category cat: old house") == []


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (
            {"protect": ["number"]},
            "protect: a list of placeholders, tags, urls, emails, numbers, or of patterns",
        ),
        ({"protect": ["*"]}, "protect: a list of"),
        ({"protect": ["A**"]}, "protect: a list of"),
        ({"protect": ["A" * 101]}, "protect: "),
        ({"glossary": ""}, "glossary: "),
        ({"protect": ["urls"], "num_groups": 5}, "num_groups: 1 is needed with glossary or protect; got 5"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(search, message):
    with pytest.raises(SettingsError) as error:
        choose_search("beam", **search)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_the_command_line(nmt, trained_run, tmp_path):
    (tmp_path / "terms.tsv").write_text("Hund\thound dog\nBuch\tvolume\n", encoding="utf-8")
    lines = "Der Hund schläft.\nDie Frau kauft {count} Bücher.\n\nDas Buch 😀 %1$s!\n"
    asked = (
        "translate",
        f"run={trained_run}",
        "decoding.glossary=terms.tsv",
        "decoding.protect=[placeholders]",
    )
    done = nmt(*asked, "format=jsonl", stdin=lines.encode())
    found = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert [one["constraints"] for one in found] == [["hound dog"], ["{count}"], [], ["volume", "%1$s"]]
    assert not any(one["unmet"] for one in found)
    for one in found:
        assert all(text in one["hypotheses"][0]["text"] for text in one["constraints"])
    assert b"3 lines had 2 terms of the glossary and 2 protected strings; all were met" in done.stderr
    assert nmt(*asked, stdin=lines.encode()).stdout.decode().count("\n") == 4
    os.remove(tmp_path / "terms.tsv")
    refused = nmt(*asked, stdin=lines.encode(), code=2)
    assert refused.stderr == (
        b"nmt: decoding.glossary: no such file: terms.tsv; decoding.glossary=null translates without\n"
    )
    greedy = nmt("translate", f"run={trained_run}", "decoding=greedy", "decoding.protect=[urls]", code=2)
    assert greedy.stderr == b"nmt: decoding.protect: no such key with these settings; decoding=beam has it\n"
    train = nmt("train", "run=new", "decoding.glossary=terms.tsv", code=2)  # before anything is learned
    assert train.stderr.startswith(b"nmt: decoding.glossary: no such file: terms.tsv;")
    assert not (tmp_path / "new").exists()


def test_a_glossary_that_is_gone_is_needed_by_searches_with_it_alone(nmt, trained_run, tmp_path):
    shutil.copytree(trained_run, tmp_path / "run")
    config = json.loads((trained_run / "config.json").read_text())
    config["decoding"]["glossary"] = str(tmp_path / "gone.tsv")
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    for name, line in (("source", "Der Hund schläft."), ("target", "The dog sleeps.")):
        (tmp_path / name).write_text(f"{line}\n")
    done = nmt("translate", "run=run", "input=source", code=2)
    assert done.stderr.startswith(b"nmt: decoding.glossary: no such file")
    assert b"decoding.glossary=null translates without" in done.stderr
    assert len(nmt("translate", "run=run", "input=source", "decoding.glossary=null").stdout.splitlines()) == 1
    for command in ("score", "align"):
        assert len(nmt(command, "run=run", "source=source", "target=target").stdout.splitlines()) == 1
