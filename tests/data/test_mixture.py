"""Several corpora at once: shares, tags, and a run that goes on."""

import json
import random
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.torch import load_file

from nmt.cli.compose import compose
from nmt.commands.compare import text_note
from nmt.commands.report import training_text
from nmt.config import TrainSettings
from nmt.config.check import check
from nmt.data import mixture
from nmt.data.cleaning import prepare_corpus
from nmt.data.corpus import ParallelText
from nmt.data.duplicates import Overlap
from nmt.data.mixture import Groups
from nmt.data.sources import load_corpus
from nmt.data.tokenizer import obtain_tokenizer
from nmt.errors import DataError, SettingsError
from nmt.runs.directory import RunDirectory
from nmt.runs.provenance import text_facts
from nmt.runs.text import corpus_of_run, tagged_for

SIZES = {"de-en": 60, "de-fr": 20, "fr-en": 10}


def groups_of(sizes, weights, temperature):
    names = [str(number) for number in range(len(sizes))]
    return Groups(names, None, weights, temperature, {"train": sizes})


@pytest.mark.parametrize(
    ("sizes", "weights", "temperature", "shares"),
    [
        ([60, 20, 10], [1, 1, 1], 1.0, [6 / 9, 2 / 9, 1 / 9]),
        ([60, 20, 10], [1, 3, 6], 1.0, [1 / 3, 1 / 3, 1 / 3]),
        ([60, 40], [1, 1.2], 1.0, [60 / 108, 48 / 108]),
        ([1600, 100], [1, 1], 2.0, [0.8, 0.2]),
        ([1000, 10], [1, 1], 100.0, [0.51, 0.49]),
    ],
)
def test_each_corpus_has_its_share_and_no_pair_is_lost(sizes, weights, temperature, shares):
    groups, total = groups_of(sizes, weights, temperature), sum(sizes)
    repeated = groups.repeat(np.arange(total), seed=1)
    edges = [0, *np.cumsum(sizes)]
    counts = np.diff(np.searchsorted(repeated, edges))
    assert (counts / len(repeated)).tolist() == pytest.approx(shares, abs=0.01)
    times = np.bincount(repeated, minlength=total)
    assert times.min() == 1
    for low, high in pairwise(edges):
        assert np.ptp(times[low:high]) <= 1, (
            "within a corpus no pair is seen more often than any other, but once"
        )
    assert np.array_equal(repeated, groups.repeat(np.arange(total), seed=1))


def test_which_pairs_of_a_smaller_corpus_come_once_more_is_drawn_from_the_seed():
    groups = groups_of([60, 40], [1, 1.2], 1.0)
    drawn = [groups.repeat(np.arange(100), seed).tolist() for seed in (1, 2)]
    assert drawn[0] != drawn[1]
    assert len(drawn[0]) == len(drawn[1])


def test_pairs_that_are_too_long_to_learn_from_are_not_said_to_be_seen_less():
    groups = groups_of([6, 4], [1, 2], 1.0)
    selected = np.array([0, 1, 4, 6, 7, 9])  # the others are too long
    assert (
        groups.describe(groups.repeat(selected, 1))
        == "0 3 pairs (33.3 %, 1.00 times), 1 6 pairs (66.7 %, 2.00 times)"
    )


def test_a_weight_that_would_fill_the_memory_is_refused():
    with pytest.raises(DataError, match=r"data\.pairs: weights .* are needed; got 999999999990$"):
        groups_of([10, 10], [1e11, 1.0], 1.0).repeat(np.arange(20), seed=0)


def test_a_corpus_of_which_nothing_is_left_has_no_share():
    groups = groups_of([3, 2, 4], [1, 5, 1], 1.0)
    assert groups.repeat(np.array([0, 1, 2, 5, 6, 7, 8]), seed=1).tolist() == [0, 1, 2, 5, 6, 7, 8]
    kept = groups.keep(np.array([True, False, True, True, True, False, False, False, True]))
    assert kept.sizes["train"] == [2, 2, 1]


@pytest.fixture
def parts(tmp_path):
    """Write three corpora; return the override that names them."""
    chance, named = random.Random(1), []
    for name, size in SIZES.items():
        source, target = name.split("-")
        for split, number in (("train", size), ("valid", 3)):
            rows = [
                [f"{side} {split} {i} {chance.randint(0, 9)}" for side in (source, target)]
                for i in range(number)
            ]
            for side, column in ((source, 0), (target, 1)):
                (tmp_path / f"{name}.{split}.{side}").write_text("".join(f"{row[column]}\n" for row in rows))
        files = {
            split: f"[{tmp_path}/{name}.{split}.{source},{tmp_path}/{name}.{split}.{target}]"
            for split in ("train", "valid")
        }
        named.append(
            f"{{source: {source}, target: {target}, train: {files['train']}, validation: {files['valid']}, weight: {2 if source == 'fr' else 1}}}"
        )
    return f"pairs=[{', '.join(named)}]"


def test_tags_come_before_source_lines_and_are_pieces(data_settings, parts):
    settings = data_settings("mixture", parts)
    plain = load_corpus(settings)
    corpus = prepare_corpus(plain, settings.filter).corpus
    assert corpus.train.source[0] == f"<2en> {plain.train.source[0]}"
    assert corpus.train.source[60].startswith("<2fr> de train")
    assert corpus.validation.source[6].startswith("<2en> fr valid")
    assert corpus.train.target == plain.train.target
    assert plain.tagged() == corpus
    for kind in ("bpe", "unigram", "char"):
        given = compose("train", [f"tokenizer={kind}", "tokenizer.vocabulary_size=30"], None).values
        source = obtain_tokenizer(
            check(TrainSettings, given).tokenizer, corpus.train, corpus.groups.symbols
        ).source
        ids = source.encode(["<2fr> de train"])[0]
        assert [source.pieces[i] for i in ids].count("<2fr>") == 1
    untagged = data_settings("mixture", parts.replace("target: fr", "target: en"))
    assert load_corpus(untagged).groups.tags is None
    with pytest.raises(
        SettingsError, match=r"^data.tags: on or auto is needed with several target languages; got off"
    ):
        data_settings("mixture", parts, "tags=off")


def test_filters_keep_corpora_apart(data_settings, parts):
    settings = data_settings("mixture", parts, "filter.duplicates=pair")
    plain = load_corpus(settings)
    for index in (1, 61, 62, 85):
        plain.train.source[index], plain.train.target[index] = plain.train.source[0], plain.train.target[0]
    groups = prepare_corpus(plain, settings.filter).corpus.groups
    assert groups.sizes["train"] == [59, 19, 10]  # a line of several target languages is no duplicate


def test_held_out_text_is_found_in_pairs_of_the_other_direction(data_settings, tmp_path):
    held_out = [("Hund", "dog"), ("Katze", "cat")]
    others = [("rotes Haus", "red house"), ("Brot", "bread"), ("Katze", "tomcat")]
    texts = {"train.de-en": others[:2], "valid.de-en": held_out, "train.en-de": [*held_out, others[2]]}
    for name, pairs in texts.items():
        for column, language in enumerate(("de", "en")):
            (tmp_path / f"{name}.{language}").write_text("".join(f"{pair[column]}\n" for pair in pairs))

    def part(name, source, target):
        return f"[{tmp_path}/{name}.{source},{tmp_path}/{name}.{target}]"

    pairs = (
        f"pairs=[{{source: de, target: en, train: {part('train.de-en', 'de', 'en')}, "
        f"validation: {part('valid.de-en', 'de', 'en')}}}, "
        f"{{source: en, target: de, train: {part('train.en-de', 'en', 'de')}}}]"
    )
    for filter_, stay, overlap in (
        ("none", 5, Overlap(2, 2, 2, 2)),
        ("pair", 3, Overlap(2, 0, 1, 0)),
        ("either", 2, Overlap(2, 0, 0, 0)),
    ):
        settings = data_settings("mixture", pairs, f"filter.overlap={filter_}")
        prepared = prepare_corpus(load_corpus(settings), settings.filter)
        assert len(prepared.corpus.train.source) == stay
        assert prepared.overlaps == {"validation": overlap}


def test_a_run_of_many_languages_goes_on_and_translates(nmt, tmp_path, parts, tiny_training):
    small = [option for option in tiny_training() if not option.startswith(("data.", "tokenizer."))]
    in_lines = parts.replace("}, {", "},\n    {")
    shared = [*small, "data=mixture", f"data.{in_lines}", "data.temperature=3", "tokenizer.vocabulary_size=60",
              "device=cpu"]  # fmt: skip
    done = nmt("train", "run=whole", *shared, "training.max_updates=8")
    said = done.stderr.decode()
    assert "mixture      de-en 60 pairs (" in said
    assert "9 validation pairs" in said
    for last in (3, 8):
        nmt("train", "run=parts", "resume=true", *shared, f"training.max_updates={last}")
    one, two = (
        load_file(tmp_path / run / "checkpoints" / "step-000008" / "model.safetensors")
        for run in ("whole", "parts")
    )
    assert all(tensor.equal(two[name]) for name, tensor in one.items())
    refused = nmt("train", "run=parts", "resume=true", "data.temperature=1", code=2)
    assert refused.stderr.startswith(b"nmt: data.temperature: 3.0")
    given = nmt("translate", "run=whole", "target_language=fr", stdin=b"de train 1\n\n")
    assert given.stdout.count(b"\n") == 2
    nothing = nmt("translate", "run=whole", "target_language=fr", stdin="\u200b\nde train 1\n".encode())
    assert nothing.stdout == b"\n" + given.stdout[:-1], "normalisation leaves nothing behind the tag"
    # A tag is no word, so that both target words are linked to the only source word.
    (tmp_path / "one.de").write_text("traintraintrain\n")
    (tmp_path / "two.fr").write_text("fr train\n")
    aligned = nmt("align", "run=whole", "target_language=fr", "source=one.de", "target=two.fr")
    assert aligned.stdout == b"0-0 0-1\n"
    without = nmt("translate", "run=whole", stdin=b"<2fr> de train 1\n\n", code=2)
    assert without.stdout == b""
    assert without.stderr == b"nmt: target_language: one of en, fr is needed for this run; got null\n"
    wrong = nmt("translate", "run=whole", "target_language=es", stdin=b"x\n", code=2)
    assert wrong.stderr == b"nmt: target_language: one of en, fr is needed for this run; got es\n"
    assert json.loads((tmp_path / "whole" / "config.json").read_text())["data"]["pairs"][2]["weight"] == 2.0
    assert b"BLEU" in nmt("evaluate", "run=whole", "split=validation").stdout


def test_a_run_without_tags_takes_no_language(nmt, trained_run):
    done = nmt("translate", f"run={trained_run}", "target_language=en", stdin=b"x\n", code=2)
    assert done.stderr == b"nmt: target_language: null is needed for this run; got en\n"


@pytest.mark.slow
def test_each_run_translates_with_the_tags_that_it_learned_and_no_others(nmt, tmp_path, parts, tiny_training):
    small = [option for option in tiny_training() if not option.startswith(("data.", "tokenizer."))]
    small += [
        "tokenizer.vocabulary_size=60",
        "device=cpu",
        "training.max_updates=30",
        "training.validate_every=30",
    ]
    nmt("train", "run=many", *small, "data=mixture", f"data.{parts}")
    sides = [
        f"data.{split}.{side}={tmp_path}/de-en.{name}.{language}"
        for split, name in (("train", "train"), ("validation", "valid"))
        for side, language in (("source", "de"), ("target", "en"))
    ]
    nmt("train", "run=two", *small, "data=files", *sides)
    for name in ("train", "valid"):
        text = (tmp_path / f"de-en.{name}.de").read_bytes()
        (tmp_path / f"{name}.de").write_bytes(b"".join(b"<2en> " + line for line in text.splitlines(True)))
    tuned = ("train", "--plan", "training.from_run=many", *small, "data=files", *sides)
    for untagged, tagged in (
        (b"train", "validation.source=valid.de"),
        (b"validation", "train.source=train.de"),
    ):
        refused = nmt(*tuned, f"data.{tagged}", code=2).stderr
        needed = b"nmt: data.%s: a tag at the start of each line, one of <2en>, <2fr>, is needed for this run"
        assert needed % untagged in refused
    few = ("num_resamples=40", "num_trials=40")
    short = ("split=validation", *few)
    plain = (tmp_path / "de-en.valid.de").read_bytes()
    (tmp_path / "two.en").write_bytes(nmt("translate", "run=two", stdin=plain).stdout)
    tagged = nmt("translate", "run=many", "target_language=en", stdin=plain).stdout
    (tmp_path / "many.en").write_bytes(tagged)
    nmt("evaluate", "run=two", "against=many", *short, "json=runs.json")
    nmt(
        "evaluate",
        "hypothesis=two.en",
        "against=many.en",
        "reference=de-en.valid.en",
        *few,
        "json=files.json",
    )
    runs, files = (json.loads((tmp_path / name).read_text()) for name in ("runs.json", "files.json"))
    for metric in ("bleu", "chrf", "ter"):
        assert (runs[metric], runs["against"][metric]["value"]) == (
            files[metric],
            files["against"][metric]["value"],
        )
    nmt("evaluate", "run=many", "against=two", *short, "json=others.json")
    found = json.loads((tmp_path / "others.json").read_text())
    lines = b"".join((tmp_path / f"{name}.valid.{name[:2]}").read_bytes() for name in SIZES)
    (tmp_path / "all.en").write_bytes(nmt("translate", "run=two", stdin=lines).stdout)
    (tmp_path / "all.ref").write_bytes(
        b"".join((tmp_path / f"{name}.valid.{name[3:]}").read_bytes() for name in SIZES)
    )
    nmt("evaluate", "hypothesis=all.en", "reference=all.ref", "json=all.json")
    assert found["against"]["chrf"]["value"] == json.loads((tmp_path / "all.json").read_text())["chrf"]
    typed = ("source=de-en.valid.de", "reference=de-en.valid.en", "num_resamples=null")
    assert nmt("evaluate", "run=many", *typed, code=2).stderr == (
        b"nmt: source: a tag at the start of each line, one of <2en>, <2fr>, is needed for this run; got none in "
        b"lines 1, 2 and 3\n"
    )
    (tmp_path / "tagged.de").write_bytes(b"".join(b"<2en> " + line for line in plain.splitlines(True)))
    done = nmt(
        "evaluate", "run=many", "source=tagged.de", *typed[1:], "length_buckets=[4]", "json=tagged.json"
    )
    assert b"tag" not in done.stderr
    found = json.loads((tmp_path / "tagged.json").read_text())
    assert [one["num_lines"] for one in found["by_length"]["buckets"]] == [3], (
        "of four words each: a tag is none"
    )
    assert found["chrf"] == runs["against"]["chrf"]["value"]
    page = ("num_resamples=40", "num_trials=40", "num_sentences=2", "num_maps=1", "split=validation")
    nmt("report", "run=two", "against=many", *page, "output=report.html")
    assert "&lt;2en&gt;" in (tmp_path / "report.html").read_text(), "the maps of one show its tags"
    (tmp_path / "de-en.valid.de").write_bytes(plain.replace(b"de", b"d", 1))
    two = json.loads((tmp_path / "two" / "config.json").read_text())
    two["data"]["validation"]["source"] = "other.de"
    (tmp_path / "two" / "config.json").write_text(json.dumps(two))
    (tmp_path / "other.de").write_bytes(plain)
    done = nmt("evaluate", "run=two", "against=many", *short, code=2)
    last = done.stderr.splitlines()[-1]  # after the warnings of long lines
    assert last.startswith(b"nmt: against: validation text of many is needed, since its lines have tags;")


def test_a_report_counts_the_words_that_were_learned_from(tmp_path, parts):
    lines = (tmp_path / "de-en.train.de").read_text().split("\n")
    long = f"{lines[0]} much longer"
    (tmp_path / "de-en.train.de").write_text("\n".join([long, *lines[1:]]))
    given = ["data=mixture", f"data.{parts}", "data.filter.max_words=4"]
    run = RunDirectory(tmp_path)
    run.write_config(check(TrainSettings, compose("train", given, None).values))
    source = training_text(run, corpus_of_run(run)).source
    assert source[:2] == lines[1:3]
    assert not any("much" in line or "<2" in line for line in source)
    assert len(source) == sum(SIZES.values()) - 1


def test_a_report_leaves_out_what_training_did(tmp_path, parts):
    """A line of several target languages is no duplicate, and held-out text counts in both directions."""
    for name, line in (
        ("de-en.train.de", "x"),
        ("de-en.train.en", "y"),
        ("de-fr.train.de", "x"),
        ("de-fr.train.fr", "z"),
    ):
        with (tmp_path / name).open("a") as file:
            file.write(f"{line}\n")
    for side in ("fr", "en"):  # the first held-out pair the other way round
        held_out = (tmp_path / f"fr-en.valid.{side}").read_text().split("\n")[0]
        with (tmp_path / f"de-fr.train.{'de' if side == 'en' else 'fr'}").open("a") as file:
            file.write(f"{held_out}\n")
    given = ["data=mixture", f"data.{parts}", "data.filter.duplicates=source", "data.filter.overlap=either"]
    run = RunDirectory(tmp_path)
    settings = check(TrainSettings, compose("train", given, None).values)
    run.write_config(settings)
    learned = prepare_corpus(corpus_of_run(run), settings.data.filter).corpus
    found = training_text(run, corpus_of_run(run))
    assert found.target == learned.train.target
    assert found.source == [line.partition("> ")[2] for line in learned.train.source]
    assert found.source.count("x") == 2
    assert len(found.source) == sum(SIZES.values()) + 2


def test_a_pair_of_two_corpora_has_the_tags_of_both_in_their_order(tmp_path, parts, monkeypatch):
    for name in SIZES:
        for side in name.split("-"):
            with (tmp_path / f"{name}.valid.{side}").open("a") as file:
                file.write("Berlin\n")
    run = RunDirectory(tmp_path)
    run.write_config(check(TrainSettings, compose("train", ["data=mixture", f"data.{parts}"], None).values))
    corpus = corpus_of_run(run)
    vocabulary = obtain_tokenizer(
        check(TrainSettings, compose("train", ["tokenizer=word"], None).values).tokenizer,
        corpus.train,
        ["<2en>", "<2fr>"],
    )
    monkeypatch.setattr(RunDirectory, "read_tokenizer", lambda *_: vocabulary)
    own = corpus.validation
    assert [line for line in own.source if line == "Berlin"] == ["Berlin"] * 3
    assert tagged_for(run, own, "validation") == corpus.tagged().validation
    few = ParallelText(["Berlin"] * 4, ["Berlin"] * 4)
    assert tagged_for(run, few, "validation").source == [
        f"<2{name}> Berlin" for name in ("en", "fr", "en", "en")
    ]
    run.write_config(check(TrainSettings, compose("train", ["data=grammar"], None).values))
    with pytest.raises(
        DataError, match=r"^run: .*: a tag at the start of each line, one of <2en>, <2fr>, is needed"
    ):
        tagged_for(run, few, "validation")


@pytest.mark.parametrize("line", ["a b", "  a", "\ta", "<2en>", "<2fr> a"])
def test_a_line_without_its_tag_is_the_line(line):
    assert mixture.without_tag(mixture.tagged(line, "<2en>"), ["<2fr>", "<2en>"]) == line


def test_the_same_text_is_known_with_tags_and_without(data_settings, parts):
    corpus = load_corpus(data_settings("mixture", parts))
    tags = corpus.groups.symbols
    assert tags == ["<2en>", "<2fr>"]
    plain, tagged = text_facts(corpus.validation), text_facts(corpus.tagged().validation, tags)
    assert tagged.hash != plain.hash
    assert (tagged.untagged, plain.untagged) == (plain.hash, None)
    records = [
        SimpleNamespace(
            scores={"bleu": 1.0},
            settings={},
            log=SimpleNamespace(record=SimpleNamespace(data={"test": facts})),
        )
        for facts in (plain, tagged, text_facts(corpus.train))
    ]
    assert text_note(records[:2]) == ""
    assert text_note(records) == "These scores are not of one and the same test text."
