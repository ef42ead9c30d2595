"""An exported folder translates, scores and aligns as the run does, without PyTorch, and refuses what it cannot do."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from command_line import run_command
from safetensors.torch import load_file, save_file

import nmt as library
from nmt.decoding.engine import Sentence
from nmt.decoding.search_settings import choose_search
from nmt.errors import UserError
from nmt.files.writing import write_manifest
from nmt.runs.migration import FORMAT

pytest.importorskip("ctranslate2")

LINES = ["Der Hund schläft.", "", "  ", "Das kleine Haus ist alt.", "Die Frau und der Mann lesen das Buch."]
TEXT = "".join(f"{line}\n" for line in LINES).encode()
BLOCKED = (
    "import sys; sys.modules['torch'] = None; from nmt.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory, trained_run):
    """Export a tiny run that ends its translations and never writes PAD and BOS; return it, and the export."""
    folder = tmp_path_factory.mktemp("exported")
    run = Path(shutil.copytree(trained_run, folder / "run"))
    for path in run.glob("checkpoints/*/model.safetensors"):
        weights = load_file(path)
        weights["output.bias"][:4] = torch.tensor([-1e4, 0.0, -1e4, 6.0])
        save_file(weights, path)
        (path.parent / "manifest.json").unlink()
        others = sorted(path.parent.iterdir())
        write_manifest(path.parent, [*others, run / "tokenizer.model"])
    (run / "confidence.json").unlink(missing_ok=True)
    done = run_command(["export", f"run={run}", f"output={folder / 'model'}"], folder)
    assert done.returncode == 0, done.stderr.decode()
    return run, folder / "model"


@pytest.fixture(scope="module")
def models(folders):
    """Load the run and its export in float32."""
    run, folder = map(str, folders)
    return library.load(run, device="cpu", precision="float32"), library.load(folder)


def without_pytorch(*arguments, folder):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *arguments], input=TEXT, capture_output=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize(
    "options",
    [("decoding=greedy", "decoding.min_length=4"), ("decoding.length_penalty=0", "decoding.min_length=4")],
    ids=str,
)
def test_the_command_translates_as_with_the_run_without_pytorch(nmt, folders, tmp_path, options):
    run, folder = folders
    expected = nmt("translate", f"run={run}", "precision=float32", *options, stdin=TEXT).stdout.decode()
    assert without_pytorch("translate", f"run={folder}", *options, folder=tmp_path) == expected


def test_the_other_commands_do_without_pytorch(nmt, folders, tmp_path):
    run, folder = folders
    pairs = (f"source={tmp_path / 'in.de'}", f"target={tmp_path / 'in.en'}")
    (tmp_path / "in.de").write_bytes(TEXT)
    (tmp_path / "in.en").write_text("The dog sleeps.\n\nA\nThe house\nThe woman reads .\n")
    scores = without_pytorch("score", f"run={folder}", *pairs, folder=tmp_path).split()
    expected = nmt("score", f"run={run}", "precision=float32", *pairs).stdout.decode().split()
    assert [float(one) for one in scores] == pytest.approx([float(one) for one in expected], abs=1e-3)
    links = without_pytorch("align", f"run={folder}", *pairs, folder=tmp_path).splitlines()
    assert [len(line.split()) for line in links] == [3, 0, 0, 2, 4]
    evaluated = without_pytorch(
        "evaluate", f"run={folder}", "decoding=greedy", "json=e.json", folder=tmp_path
    )
    assert "BLEU" in evaluated
    nmt("evaluate", f"run={run}", "decoding=greedy", "precision=float32", "json=r.json")
    found, own = (json.loads((tmp_path / name).read_text()) for name in ("e.json", "r.json"))
    assert found["bleu"] == own["bleu"]
    assert found["loss"] == pytest.approx(own["loss"], abs=1e-4)


def test_details_are_those_of_the_run(models):
    own, found = (
        model.translate(LINES, details=True, decoding="beam", beam_size=3, length_penalty=0.0, min_length=4,
                        num_hypotheses=3, early_stopping=True)
        for model in models
    )  # fmt: skip
    for one, other in zip(own, found, strict=True):
        assert [each.text for each in one.hypotheses] == [each.text for each in other.hypotheses]
        for each, its in zip(one.hypotheses, other.hypotheses, strict=True):
            assert its.tokens == each.tokens
            assert its.token_log_probs == pytest.approx(each.token_log_probs, abs=1e-4)
            assert its.score == pytest.approx(each.score, abs=1e-4) if each.score else its.score is None
            assert its.alignment == each.alignment  # both are of the only decoder layer
    assert len(found[0].hypotheses) == 3


def test_given_beginnings_are_kept(models):
    prefixes = ["The", "", "", "A small house", "x y z"]
    own, found = (
        [one.text for one in model.translate(LINES, prefixes=prefixes, decoding="greedy", min_length=6)]
        for model in models
    )
    assert own == found
    assert found[0].startswith("The")
    assert found[3].startswith("A small house")


@pytest.mark.parametrize(
    "rule",
    [
        {"min_length": 60, "max_length_extra": 70},
        {"no_repeat_ngram_size": 2},
        {"repetition_penalty": 2.0},
        {"max_length_ratio": 0.0, "max_length_extra": 5, "min_length": 5},
    ],
    ids=str,
)
def test_rules_hold_on_both_sides(models, rule):
    base = {"decoding": "greedy", "min_length": 4}
    own, found = ([one.text for one in model.translate(LINES, **base | rule)] for model in models)
    assert own == found
    assert own != [one.text for one in models[0].translate(LINES, **base)]


def test_what_is_drawn_depends_on_the_seed_and_follows_the_model(models):
    def draw(seed, **options):
        return [
            one.text
            for one in models[1].translate(LINES, decoding="sampling", seed=seed, min_length=4, **options)
        ]

    assert draw(1) == draw(1)
    assert len({tuple(draw(seed)) for seed in range(5)}) > 3
    greedy = [one.text for one in models[1].translate(LINES, decoding="greedy", min_length=4)]
    assert [
        one.text for one in models[1].translate(LINES, decoding="sampling", top_k=1, min_length=4)
    ] == greedy
    equal = models[1].translate(LINES, decoding="sampling", top_k=1, min_length=4, num_hypotheses=2)
    assert [[one.text for one in line.hypotheses] for line in equal] == [
        [one, one] if one else [""] for one in greedy
    ]
    assert (
        models[1].translate(LINES, decoding="mbr", top_k=1, num_samples=3, min_length=4)[0].text == greedy[0]
    )
    assert draw(1, temperature=0.01)[0] == greedy[0]
    assert [draw(seed, top_p=1e-6) for seed in range(5)] == [greedy] * 5
    assert draw((1 << 32) - 1) == draw((1 << 32) - 1)
    assert draw((1 << 63) - 1, top_k=1 << 16) == draw((1 << 63) - 1)


def test_samples_are_ranked_by_their_utility(models):
    (found,) = models[1].translate(LINES[:1], decoding="mbr", num_samples=8, num_hypotheses=4)
    scores = [one.score for one in found.hypotheses]
    assert scores == sorted(scores, reverse=True)
    assert len({one.text for one in found.hypotheses}) == len(found.hypotheses) > 1


@pytest.mark.parametrize(
    ("search", "key"),
    [
        ({"early_stopping": False}, "early_stopping: true"),
        ({"length_penalty_kind": "wu"}, 'length_penalty_kind: "power"'),
        ({"coverage_penalty": 0.2}, "coverage_penalty: 0.0"),
        ({"num_groups": 2}, "num_groups: 1"),
        ({"glossary": "terms.tsv"}, "glossary: null"),
        ({"protect": ["urls"]}, r"protect: \[\]"),
    ],
)
def test_what_the_library_does_not_do_is_refused_by_name(models, search, key):
    settings = models[1].decoding.model_dump() | search
    with pytest.raises(UserError, match=rf"^decoding\.{key} is needed for an exported folder.*; got [^ ]+$"):
        models[1].translate(LINES, **{name: settings[name] for name in search})


def test_what_else_the_folder_does_not_have_is_refused(main, folders):
    run, folder = folders
    for option, message in (
        ("checkpoint=last", "checkpoint: best is needed for an exported folder"),
        (f"ensemble=[{run}]", r"ensemble: [] is needed for an exported folder"),
        ("decoding.shortlist=true", "decoding.shortlist: false is needed for a folder without one"),
        ("device=mps", "device: one that CTranslate2 has here is needed"),
        (
            "precision=int8",
            "nmt export run=DIR output=FOLDER quantization=int8, then run=FOLDER) is needed; got int8",
        ),
        ("precision=float16", "precision: auto or one that CTranslate2 has here is needed"),
    ):
        code, _, said = main("translate", f"run={folder}", option, f"input={__file__}")
        assert (code, said.count("\n")) == (2, 1), (option, said)
        assert message in said
    with pytest.raises(UserError, match=r"^ensemble: \[\] is needed for an exported folder"):
        library.load(str(folder), ensemble=[run])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for command, more, message in (
        ("verify", (), "without run.json"),
        ("export", ("output=new",), "which was exported"),
        ("train", ("resume=true", "training.max_updates=9"), "which was exported"),
    ):
        code, _, said = main(command, f"run={folder}", *more)
        assert (code, said.count("\n")) == (2, 1), said
        assert message in said, said
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_damaged_folder_is_one_line(main, folders, tmp_path):
    (vocabulary,) = folders[1].glob("*_vocabulary.json")
    names = json.loads(vocabulary.read_text())
    renamed = (folders[1] / "model.bin").read_bytes().replace(b"layer_norm/gamma", b"layer_norm/gamme", 1)
    for name, content, message in (
        (vocabulary.name, json.dumps(names[:50]).encode(), "other tokens than its tokenizer"),
        (
            vocabulary.name,
            json.dumps([*names[:50], "x", *names[51:]]).encode(),
            "other tokens than its tokenizer",
        ),
        (vocabulary.name, b"[" * 100_000, "other tokens than its tokenizer"),
        ("model.bin", b"\x06\0\0\0nonsense", "an undamaged export is needed"),
        ("nmt.json", b'{"format": %d}' % FORMAT, "a value is needed"),
        ("nmt.json", b"{", "nmt.json"),
        ("tokenizer.model", b"x", "tokenizer"),
        ("config.json", b'{"eos_token": "zzz"}', "config.json with other tokens than its tokenizer"),
        ("vmap.txt", b"", "a source token, a tab and target tokens of this run are needed"),
        ("model.bin", renamed, "an undamaged export is needed"),
    ):
        shutil.rmtree(tmp_path / "model", ignore_errors=True)
        shutil.copytree(folders[1], tmp_path / "model")
        (tmp_path / "model" / name).write_bytes(content)
        code, _, said = main("translate", f"run={tmp_path / 'model'}", f"input={__file__}")
        assert (code, said.count("\n")) == (2, 1), said
        assert message in said


def test_a_folder_gets_a_shortlist_of_its_own(nmt, folders, tmp_path):
    shutil.copytree(folders[1], tmp_path / "model")
    nmt("shortlist", "run=model", "num_targets=2", "num_frequent=3")
    assert {path.name for path in (tmp_path / "model").iterdir()} >= {"vmap.txt", "model.bin"}
    options = "translate", "run=model", "decoding=greedy", "decoding.min_length=4"
    found, whole = (nmt(*options, *more, stdin=TEXT).stdout for more in (("decoding.shortlist=true",), ()))
    assert found.count(b"\n") == len(LINES)
    assert found != whole


def test_prefixes_are_kept_whatever_the_shortlist_and_change_no_other_line(folders, tmp_path):
    shutil.copytree(folders[1], tmp_path / "model")
    assert (
        run_command(["shortlist", "run=model", "num_targets=2", "num_frequent=3"], tmp_path).returncode == 0
    )
    model = library.load(str(tmp_path / "model"))
    lines = [f"Der Hund {'schläft ' * (i % 7)}." for i in range(60)]  # of several batches
    prefixes = ["The teacher" if i % 3 else "" for i in range(60)]
    for search in ({"decoding": "greedy"}, {"decoding": "beam"}):
        options = {**search, "shortlist": True, "min_length": 4}
        found = [one.text for one in model.translate(lines, prefixes=prefixes, **options)]
        alone = [one.text for one in model.translate(lines, **options)]
        assert [text.startswith(prefix) for text, prefix in zip(found, prefixes, strict=True)] == [True] * 60
        assert [found[i] for i in range(0, 60, 3)] == [alone[i] for i in range(0, 60, 3)]


def test_threads_may_call_it_at_the_same_time(models):
    expected = [one.text for one in models[1].translate(LINES, decoding="greedy", min_length=4)]
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(models[1].translate, LINES, decoding="greedy", min_length=4) for _ in range(20)]
        assert all([one.text for one in call.result()] == expected for call in calls)


def test_a_seed_is_that_of_its_call_whatever_other_threads_and_streams_draw(models):
    def draw(lines, seed):
        return models[1].translate(lines, decoding="sampling", min_length=4, seed=seed)

    def texts(found):
        return [one.text for one in found]

    alone = {seed: texts(draw(LINES, seed)) for seed in range(6)}
    assert len({tuple(some) for some in alone.values()}) == 6
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda seed: texts(draw(LINES, seed)), alone)) == list(alone.values())
    streams = {seed: draw(iter(LINES), seed) for seed in alone}
    for seed in reversed(streams):
        assert texts(streams[seed]) == alone[seed]


@pytest.mark.parametrize(("num_lines", "num_each"), [(40, 20), (10, 5), (3, 2)])
def test_each_thread_has_its_share_of_what_is_no_more_than_a_batch(models, monkeypatch, num_lines, num_each):
    engine, given = models[1].translator(choose_search("greedy")).engine, {}

    class Library:
        def translate_batch(self, source, *_, **options):
            given.update(options)
            return [SimpleNamespace(hypotheses=[[]], scores=None)] * len(source)

    monkeypatch.setattr(engine, "num_threads", 2)
    monkeypatch.setattr(engine, "model", Library())
    search = engine.search(choose_search("greedy"), 1)
    assert len(search([Sentence([5, 6, 7], [], 0)] * num_lines)) == num_lines
    assert given["max_batch_size"] == num_each * 4  # with EOS
    search([Sentence([5] * 99, [], 0)] * 1000)
    assert given["max_batch_size"] == 2048


def test_a_long_line_is_translated_in_parts(models):
    line = " ".join(LINES * 20)
    own, found = (model.translate([line], decoding="greedy", min_length=4)[0] for model in models)
    assert len(found.parts) > 2
    assert (found.parts, found.text) == (own.parts, own.text)


def test_limits_hold_for_each_sentence(models):
    engine = models[1]._translator.engine
    settings = choose_search("greedy", max_length_ratio=1.0, max_length_extra=0, min_length=0)
    sources = engine.tokenizer.source.encode(LINES[3:])
    found = engine.search(settings, 1)([Sentence(ids) for ids in sources])
    assert all(len(one.hypotheses[0].tokens) <= len(ids) for one, ids in zip(found, sources, strict=True))


def test_attention_has_a_row_for_each_token(models):
    engines = [model._translator.engine for model in models]
    source, target = (
        engines[0].tokenizer.source.encode(LINES[3:]),
        engines[0].tokenizer.target.encode(["The house", "A"]),
    )
    own, found = (engine.attention(source, target) for engine in engines)
    for one, other, ids, its in zip(own, found, source, target, strict=True):
        assert other.shape[0] >= len(its)
        assert other.shape[1] >= len(ids)
        size = slice(len(its)), slice(len(ids))
        np.testing.assert_allclose(other[size], one[size], atol=1e-4)


def test_the_folder_says_what_its_search_does(folders):
    settings = json.loads((folders[1] / "nmt.json").read_text())["decoding"]
    assert settings["early_stopping"] is True


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_process_that_was_forked_after_loading_is_told_so(folders):
    code = f"""
import os, signal, sys
import nmt
from nmt.errors import UserError
model = nmt.load({str(folders[1])!r})
print(model.translate(["Der Hund schläft."], min_length=4)[0].text != "", flush=True)
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
signal.alarm(100)  # where a call waits for ever, nothing else would end this process
for call, given in ((model.translate, "Hund"), (model.score, ("Hund", "dog")), (model.align, ("Hund", "dog"))):
    try:
        call([given])
    except UserError as error:
        print(error, flush=True)
os._exit(0)  # as the processes of a pool end
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    first, *others = done.stdout.splitlines()
    assert first == "True"
    assert len(others) == 3
    assert {one.partition(":")[0] for one in others} == {"run"}
    assert all("load it in each process" in one for one in others)


class Scripted:
    """CTranslate2 that finds the same for each sentence, and keeps how it was asked."""

    def __init__(self, hypotheses, scores):
        self.result, self.given = SimpleNamespace(hypotheses=hypotheses, scores=scores), {}

    def translate_batch(self, source, *_, **options):
        self.given.update(options)
        return [self.result] * len(source)


def test_a_translation_that_was_cut_has_no_score_and_comes_last(models, monkeypatch):
    engine = models[1]._translator.engine
    word, other = (name for name in list(engine.target_ids)[-2:])
    monkeypatch.setattr(engine, "model", Scripted([[word], [other] * 40], [-0.3, -0.9]))
    search = {"decoding": "beam", "num_hypotheses": 2, "max_length_ratio": 1.0, "max_length_extra": 0}
    short, long = models[1].translate([LINES[0], " ".join(LINES * 3)], split="none", **search)
    for found, last in ((short, None), (long, -0.9)):
        assert [one.score for one in found.hypotheses] == [-0.3, last]


@pytest.mark.parametrize("typed", [{"decoding": "sampling"}, {"decoding": "mbr", "num_samples": 16}], ids=str)
def test_samples_are_counted_in_the_size_of_a_batch(models, monkeypatch, typed):
    settings = choose_search(**typed)
    engine = models[1].translator(settings).engine
    library = Scripted([[]] * 16, None)
    monkeypatch.setattr(engine, "load", lambda **threads: library)
    engine.search(settings, 16)([Sentence([5] * 9)] * 1000)
    assert library.given["num_hypotheses"] == 16
    assert library.given["beam_size"] == 1
    assert library.given["max_batch_size"] == 2048 // 16
