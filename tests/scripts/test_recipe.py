"""The script of the recipes trains its models by the real command line, and chooses by validation text alone."""

import json
import sys
from pathlib import Path

import pytest
from command_line import SCRIPTS, run_script

from nmt.cli.compose import compose
from nmt.config import DistilSettings
from nmt.config.check import check


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    yield __import__("recipe")
    sys.modules.pop("recipe")


def test_every_training_is_of_valid_settings(module, tmp_path):
    for pair in module.PAIRS.values():
        data = pair.data(tmp_path, pair.source, pair.target)
        compose("train", [*module.FIRST, *data, *pair.evaluation], None).settings()
        server = [f"distillation.{side}_language={getattr(pair, side)}" for side in ("source", "target")]
        for student in module.STUDENTS.values():
            given = ["teacher=http://127.0.0.1:1", "student=b", *server, *data, *pair.evaluation]
            no_words = "distillation.words=false"  # a server does not give probabilities of words
            composed = compose("distil", [*given, *student.settings, *module.SHARED, no_words], None)
            assert check(DistilSettings, composed.values).model.dropout == 0.2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_recipe_is_followed_to_its_scores_and_not_trained_again(tmp_path):
    nouns = {"de": ["Hund", "Mann", "Ball", "Berg"], "en": ["dog", "man", "ball", "mountain"]}
    verbs = {"de": ["sieht", "sucht", "malt"], "en": ["sees", "seeks", "paints"]}
    for language, the in (("de", "der"), ("en", "the")):
        lines = [
            f"{the} {one} {verb} {the} {other}\n"
            for one in nouns[language]
            for verb in verbs[language]
            for other in nouns[language]
        ]
        for name, part in (("train", lines * 5), ("val", lines[:20]), ("test_2016_flickr", lines[20:])):
            (tmp_path / f"{name}.{language}").write_text("".join(part))
    small = [
        "tokenizer.vocabulary_size=40", "training.max_updates=6", "training.validate_every=3",
        "training.checkpoint_every=3", "decoding.max_length_ratio=0.5",
    ]  # fmt: skip
    first, second = (
        run_script("recipe", ["de-en", "runs", "--data", tmp_path, *small], tmp_path, timeout=500)
        for _ in range(2)
    )
    assert first.returncode == 0, first.stderr
    final = tmp_path / "runs" / "seed-1" / "final"
    pairs = [(final / "distilled" / f"train.{side}").read_text().split("\n") for side in ("source", "target")]
    assert len(pairs[0]) == len(pairs[1]) > 5 * 48, "the pairs themselves, and what was made of them"
    lines = first.stdout.split("\n")[:-1]
    assert [line.split(":")[0] for line in lines] == [
        name
        for student in ("transformer", "attention", "final")
        for name in (f"runs/seed-1/{student}", student, student)
    ]
    assert lines[0].split(": ")[1].startswith("checkpoint=")
    logs = {log.stem: log.read_text() for log in final.parent.glob("*.log")}
    num_trained = {name: log.count("update 6 epoch") for name, log in logs.items()}
    forward = ("forward", "forward-2", "forward-3")
    names = (*forward, "reverse", "transformer", "attention", "final")
    assert num_trained == dict.fromkeys(names, 1)
    seeds = {json.loads((final.parent / name / "config.json").read_text())["seed"] for name in forward}
    assert len(seeds) == 3, (
        "models that differ, since the same ones would teach nothing more than one of them"
    )
    taught = json.loads((final.parent / "transformer" / "config.json").read_text())["training"]["teacher"]
    assert [Path(teacher).name for teacher in taught] == list(forward)
    assert second.stdout == first.stdout
