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
        for own in module.FIRST.values():
            composed = compose("train", [module.EXPERIMENT, *own, *data, *pair.evaluation], None)
            assert composed.settings().model.dropout == 0.2
        server = [f"distillation.{side}_language={getattr(pair, side)}" for side in ("source", "target")]
        given = ["teacher=http://127.0.0.1:1", "student=b", *server, *data, *pair.evaluation]
        no_words = "distillation.words=false"  # a server does not give probabilities of words
        composed = compose("distil", [*given, *module.STUDENT, no_words], None)
        assert check(DistilSettings, composed.values).model.positions == "relative"


@pytest.mark.slow
@pytest.mark.timeout(1200)
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
        run_script(
            "recipe",
            ["de-en", "runs", "--data", tmp_path, "--seeds", "2", "--final", *small],
            tmp_path,
            timeout=800,
        )
        for _ in range(2)
    )
    assert first.returncode == 0, first.stderr
    folder = tmp_path / "runs" / "seed-1"
    distilled = folder / "student" / "distilled"
    pairs = [(distilled / f"train.{side}").read_text().split("\n") for side in ("de", "en")]
    assert len(pairs[0]) == len(pairs[1]) > 5 * 48, "the pairs themselves, and what was made of them"
    lines = first.stdout.split("\n")[:-1]
    assert [line.split(" ")[0] for line in lines] == [
        *("runs/seed-1/student:", "runs/seed-2/student:", "BLEU", "chrF", "runs/final:", "BLEU", "chrF")
    ]
    assert lines[0].split(": ")[1].startswith("checkpoint=")
    logs = {log.stem: log.read_text() for log in folder.glob("*.log")}
    num_trained = {name: log.count("update 6 epoch") for name, log in logs.items()}
    assert num_trained == dict.fromkeys(("forward", "forward-2", "reverse", "student"), 1)
    configs = {name: json.loads((folder / name / "config.json").read_text()) for name in num_trained}
    assert configs["forward"]["seed"] != configs["forward-2"]["seed"], (
        "as equal models teach no more than one"
    )
    assert configs["reverse"]["data"]["train"]["source"] == str(tmp_path / "train.en")
    taught = configs["student"]["training"]["teacher"]
    assert [Path(teacher).name for teacher in taught] == ["forward", "forward-2"]
    assert Path(configs["student"]["training"]["from_run"]).name == "forward-2"
    final = json.loads((tmp_path / "runs" / "final" / "config.json").read_text())
    students = [f"runs/seed-{seed}/student" for seed in (1, 2)]
    assert final["training"]["teacher"] == students
    assert final["training"]["from_run"] in students
    reverse = json.loads((tmp_path / "runs" / "final" / "distil.json").read_text())["distillation"]["reverse"]
    assert reverse == ["runs/seed-1/reverse", "runs/seed-2/reverse"]
    assert second.stdout == first.stdout


def test_a_student_that_goes_on_gets_what_is_typed_and_nothing_else(module, tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr(module, "run_at_once", lambda given, logs: commands.extend(given))
    student = tmp_path / "student"

    def distil():
        module.distil(student, [Path("a")], [Path("b")], Path("a"), ["seed=2"], ["training.max_tokens=9"])
        return commands.pop()

    begun = distil()
    assert {"teacher=[a]", "distillation.reverse=[b]", "training.from_run=a", "seed=2"} < set(begun)
    assert begun[-1] == "training.max_tokens=9"
    student.mkdir()
    assert distil() == begun, "a folder without settings is not begun"
    (student / "distil.json").write_text("{}")
    assert distil() == ["distil", f"student={student}", "resume=true", "training.max_tokens=9"]
