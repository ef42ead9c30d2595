"""How runs are named: by their experiment and the time, by a path, and as the last one."""

import json
import os
import re
from pathlib import Path

from nmt.cli.compose import compose
from nmt.runs.directory import RunDirectory


def test_run_without_a_name_goes_under_its_experiment(nmt, tmp_path, tiny_training):
    nmt("train", "experiment=demo", *tiny_training()[1:])
    (run,) = (tmp_path / "outputs" / "demo").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_[0-9a-f]{6}", run.name)
    assert nmt("translate", "run=last", stdin=b"Haus\n").stdout.count(b"\n") == 1
    assert Path(tmp_path / "outputs").exists()


def test_trainings_that_begin_at_once_have_folders_of_their_own():
    assert len({compose("train", [], None).settings().run for _ in range(3)}) == 3


def test_paths_may_have_any_letters(nmt, tmp_path, tiny_training):
    nmt("train", "run=Übung eins/ö=1", *tiny_training(), "training.max_updates=2")
    assert (tmp_path / "Übung eins" / "ö=1" / "test.json").exists()
    assert nmt("translate", "run=Übung eins/ö=1", stdin=b"Haus").stdout.count(b"\n") == 1


def test_last_is_the_newest_run_for_every_command(nmt, tmp_path, tiny_training):
    nmt("train", *tiny_training(), "training.max_updates=2")
    nmt("train", "run=last", "resume=true", "training.max_updates=3")
    (run,) = (tmp_path / "outputs" / "default").iterdir()
    assert json.loads((run / "last.json").read_text()) == {"step": 3}
    refused = nmt("train", "run=last", "resume=true", "training.update_tokens=800", code=2).stderr.decode()
    assert "training.update_tokens: 400, the run's own value" in refused


def test_last_is_a_run_and_no_folder_of_another_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = {"old": '{"format": 4}', "new": '{"format": 1}', "exported": '{"unk_token": "<unk>"}'}
    for time, (name, content) in enumerate(contents.items()):
        config = tmp_path / "outputs" / name / "config.json"
        config.parent.mkdir(parents=True)
        config.write_text(content)
        os.utime(config, (time, time))
    assert RunDirectory.existing("last").path == Path("outputs/new")
    damaged = tmp_path / "outputs" / "old" / "config.json"
    damaged.write_text('{"format"')
    assert RunDirectory.existing("last").path == Path("outputs/old"), (
        "the newest is named, also where it is damaged"
    )
