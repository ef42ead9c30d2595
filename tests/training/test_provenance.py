"""run.json: what a run was made of, against hashes and versions that are computed here another way."""

import hashlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from nmt import grammar
from nmt.decoding.confidence import read_calibration
from nmt.errors import RunError
from nmt.runs.directory import RunDirectory
from nmt.runs.provenance import Recorder, git_state, read_record
from nmt.training import session
from nmt.training.step import TrainingStep

ROOT = Path(__file__).parent.parent.parent


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def lines_hash(*sides):
    """Return the hash of a text, computed another way: the hash of the hashes of its sides."""
    parts = [hashlib.sha256("".join(f"{line}\n" for line in side).encode()).digest() for side in sides]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:24]


def test_a_run_records_what_it_was_made_of(trained_run, nmt, tmp_path):
    found = json.loads((trained_run / "run.json").read_text())
    assert found["settings"] == sha256(trained_run / "config.json")
    assert found["tokenizer"] == {"tokenizer.model": sha256(trained_run / "tokenizer.model")}
    data = json.loads((trained_run / "config.json").read_text())["data"]
    splits = grammar.generate(data["seed"], data["num_train"], data["num_validation"], data["num_test"])
    for name, pairs in splits.items():
        sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
        facts = {"lines": len(pairs), "hash": lines_hash(*sides), "untagged": None}
        assert found["data"][name] == facts
    (session,) = found["sessions"]
    assert session["command"][:3] == ["nmt", "train", "run=run"]
    assert session["versions"]["sacrebleu"] == version("sacrebleu")
    assert (session["first_update"], session["last_update"]) == (1, 4)
    assert session["started"] <= session["finished"]
    assert session["target_tokens"] > 0
    assert session["machine"]["device"] in ("cpu", "cuda")
    test = found["test"]
    scores = json.loads((trained_run / "test.json").read_text())
    assert test["scores"]["bleu"] == scores["bleu"]
    assert test["signatures"] == scores["signatures"]
    assert test["intervals"] == scores["intervals"]
    assert set(test["intervals"]) == {"bleu", "chrf", "ter"}
    assert test["weights"] == sha256(trained_run / "checkpoints" / test["checkpoint"] / "model.safetensors")
    source = "".join(f"{pair.source}\n" for pair in splits["test"]).encode()
    translated = nmt("translate", f"run={trained_run}", stdin=source).stdout.decode().split("\n")[:-1]
    assert test["translation"] == lines_hash(translated)
    rows = [json.loads(row) for row in (trained_run / "metrics.jsonl").read_text().split("\n")[:-1]]
    best = max(row["bleu"] for row in rows if row["kind"] == "validation")
    assert found["validation"]["bleu"] == best


def test_a_run_that_goes_on_has_two_sessions(trained_run, nmt, tmp_path):
    shutil.copytree(trained_run, tmp_path / "run")
    nmt("train", "run=run", "resume=true", "training.max_updates=5")
    record = read_record(RunDirectory(tmp_path / "run"))
    assert [(one.first_update, one.last_update) for one in record.sessions] == [(1, 4), (5, 5)]
    assert record.settings == sha256(tmp_path / "run" / "config.json")
    assert record.test is not None
    # A finished run that is asked to go on records nothing new.
    before = (tmp_path / "run" / "run.json").read_bytes()
    nmt("train", "run=run", "resume=true", "training.max_updates=5")
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    # A record that cannot be read is lost, and nothing else is.
    (tmp_path / "run" / "run.json").write_text("{}")
    done = nmt("train", "run=run", "resume=true", "training.max_updates=6")
    assert b"the record begins anew" in done.stderr
    assert len(read_record(RunDirectory(tmp_path / "run")).sessions) == 1


def test_a_run_that_is_stopped_records_how_far_it_came(tiny_training, tmp_path):
    arguments = [sys.executable, "-m", "nmt", "train", "run=run", *tiny_training("transformer")]
    process = subprocess.Popen(
        [*arguments, "training.max_updates=100000", "training.max_epochs=null"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        deadline = time.monotonic() + 100
        while not (tmp_path / "run" / "best.json").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        running = read_record(RunDirectory(tmp_path / "run"))
        assert running.sessions[0].finished is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=100) == 130
    finally:
        process.kill()
        process.wait()
    record = read_record(RunDirectory(tmp_path / "run"))
    last = json.loads((tmp_path / "run" / "last.json").read_text())["step"]
    assert record.sessions[0].last_update == last
    assert record.test is None


def test_git_state_is_that_of_the_program(monkeypatch):
    expected = None
    if (ROOT / ".git").exists():
        expected = subprocess.check_output(["git", "-C", ROOT, "rev-parse", "HEAD"]).decode().strip()
    found = git_state()
    assert (None if found is None else found.commit) == expected
    monkeypatch.setenv("PATH", "")
    assert git_state() is None


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("sessions", [], "sessions: "),
        ("settings", "\x1b[31m", "settings: "),
        ("parameters", -1, "parameters: "),
        ("data", {"elsewhere": {"lines": 1, "hash": "0" * 24}}, "data"),
        ("test", {"checkpoint": "../../x"}, "test.checkpoint: "),
        ("format", 2, "format: "),
    ],
)
def test_a_record_of_a_stranger_is_checked(trained_run, tmp_path, key, value, message):
    (tmp_path / "config.json").write_text("{}")
    record = json.loads((trained_run / "run.json").read_text()) | {key: value}
    (tmp_path / "run.json").write_text(json.dumps(record))
    with pytest.raises(RunError, match=message):
        read_record(RunDirectory(tmp_path))


def test_a_loss_that_overflowed_is_no_score(train_in, monkeypatch):
    monkeypatch.setattr("nmt.evaluation.translating.mean_loss", lambda *_: math.nan)
    scores = read_record(RunDirectory(train_in("run", "training.max_updates=2"))).test.scores
    assert "bleu" in scores
    assert "loss" not in scores


def test_scores_of_an_earlier_model_do_not_stay_and_a_test_that_was_cut_short_is_made_up_for(
    train_in, monkeypatch
):
    pytest.importorskip("tensorboard")

    def killed(*_):
        raise KeyboardInterrupt

    run = train_in("run", "training.max_updates=2")
    with monkeypatch.context() as patch:
        patch.setattr(session, "evaluate_text", killed)
        with pytest.raises(KeyboardInterrupt):
            train_in("run", "training.max_updates=3")
    assert not (run / "test.json").exists()
    train_in("run", "training.max_updates=3", "tracking=tensorboard")
    assert read_record(RunDirectory(run)).test is not None
    shown = b"".join(path.read_bytes() for path in (run / "tensorboard").iterdir())
    assert b"test/bleu" in shown
    with monkeypatch.context() as patch:  # between test.json and run.json
        patch.setattr(Recorder, "note_test", killed)
        with pytest.raises(KeyboardInterrupt):
            train_in("run", "training.max_updates=4")
    assert (run / "test.json").exists()
    train_in("run", "training.max_updates=4")
    assert read_record(RunDirectory(run)).test is not None


def test_curves_are_made_up_for_and_never_stay_beside_other_weights(train_in, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    run = train_in("run", "training.max_updates=2")
    first = (run / "confidence.json").read_bytes()
    assert read_calibration(RunDirectory(run)).weights == sha256(
        run / "checkpoints" / "step-000002" / "model.safetensors"
    )
    (run / "confidence.json").unlink()
    scores, seconds = (run / "test.json").read_bytes(), read_record(RunDirectory(run)).test.seconds
    train_in("run", "training.max_updates=2")
    assert (run / "confidence.json").read_bytes() == first
    # What was tested already is not tested anew.
    assert (run / "test.json").read_bytes() == scores
    assert read_record(RunDirectory(run)).test.seconds == seconds
    with monkeypatch.context() as patch:
        patch.setattr(session, "evaluate_text", killed)
        with pytest.raises(KeyboardInterrupt):
            train_in("run", "training.max_updates=3")
    assert not (run / "confidence.json").exists()
    train_in("run", "training.max_updates=3")
    assert read_calibration(RunDirectory(run)).checkpoint in ("step-000002", "step-000003")


def test_a_long_validation_text_is_cut(train_in, monkeypatch):
    monkeypatch.setattr(session, "MAX_LINES", 3)
    found = read_calibration(RunDirectory(train_in("run", "training.max_updates=2")))
    assert found.num_lines == 3


def test_a_run_that_was_stopped_at_once_records_what_it_saved(train_in, monkeypatch):
    run_update = TrainingStep.run

    def stopped(step, update, rows):
        if update == 6:
            raise KeyboardInterrupt
        return run_update(step, update, rows)

    monkeypatch.setattr(TrainingStep, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        train_in("run", "training.validate_every=3", "training.checkpoint_every=4")
    run = RunDirectory("run")
    record, saved = read_record(run), json.loads((run.step_path(4) / "state.json").read_text())
    assert run.steps()[-1] == record.sessions[0].last_update == saved["update"] == 4
    assert record.sessions[0].target_tokens == saved["num_tokens"]
    assert record.validation.bleu == saved["best_bleu"]
