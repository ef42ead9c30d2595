"""Sweep folders from strangers: what a search is said to have asked for becomes no override, and no link is followed."""

import json
import os

import pytest

pytest.importorskip("optuna")

SWEEP = [
    "sweep=optuna",
    "sweep.trials=1",
    "training.max_updates=1",
    "model.dropout=interval(0,0.4)",
    "seed=choice(1,2)",
]
FLOAT = '{"name":"FloatDistribution","attributes":{"step":null,"low":0.0,"high":0.4,"log":false}}'
CHOICE = '{"name":"CategoricalDistribution","attributes":{"choices":["1","2"]}}'
HOOK = '{"name":"CategoricalDistribution","attributes":{"choices":["/tmp/evil:${oc.env:PATH}"]}}'
ESCAPE = '{"name":"CategoricalDistribution","attributes":{"choices":["\\u001b[2J","2"]}}'
GOOD = [("model.dropout", FLOAT, 0.1), ("seed", CHOICE, 0)]
PARAMS = {
    "another key": [*GOOD, ("+hydra.job.env_set.PATH", HOOK, 0)],
    "another key instead": [GOOD[0], ("+hydra.job.env_set.PATH", HOOK, 0)],
    "another value": [("model.dropout", HOOK, 0), GOOD[1]],
    "another choice": [GOOD[0], ("seed", ESCAPE, 0)],
    "out of the interval": [("model.dropout", FLOAT, 7.5), GOOD[1]],
    "no number": [("model.dropout", FLOAT, "0.1,hydra.run.dir=/tmp"), GOOD[1]],
    "an index out of the list": [GOOD[0], ("seed", CHOICE, 5)],
}


@pytest.fixture
def options(tiny_training, tmp_path, monkeypatch):
    """Make a sweep folder without runs in a new current folder; return the arguments that resume it."""
    monkeypatch.chdir(tmp_path)
    began = [*tiny_training(), *(option for option in SWEEP if option != "sweep.trials=1")]
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "sweep.json").write_text(json.dumps({"overrides": began}))
    return ["-m", *tiny_training(), *SWEEP, "run=evil", "resume=true"]


def write_journal(folder, params):
    """Write the journal of a search that has asked for one run, with these parameters."""
    worker = {"worker_id": "stranger"}
    study = {"op_code": 0, **worker, "study_name": "sweep", "directions": [2]}
    trial = {"op_code": 4, **worker, "study_id": 0, "datetime_start": "2026-01-01T00:00:00.000000"}
    set_param = {"op_code": 5, **worker, "trial_id": 0}
    lines = [study, trial] + [
        {**set_param, "param_name": name, "distribution": distribution, "param_value_internal": value}
        for name, distribution, value in params
    ]
    (folder / "study.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def is_refused(outcome):
    code, out, err = outcome
    *log, last = err.splitlines()
    return code == 2 and out == b"" and last.startswith("nmt: run: ") and last.isprintable() and len(log) <= 1


@pytest.mark.parametrize("name", PARAMS)
def test_a_journal_brings_in_no_override(command, options, tmp_path, name):
    write_journal(tmp_path / "evil", PARAMS[name])
    outcome = command("train", *options)
    assert is_refused(outcome), outcome
    assert not (tmp_path / "evil" / "0").exists()
    assert not (tmp_path / "evil" / "jobs").exists()


def test_a_journal_like_ours_is_gone_on_with(command, options, tmp_path):
    write_journal(tmp_path / "evil", GOOD)
    code, out, err = command("train", *options)
    assert (code, b"model.dropout=0.1 seed=1" in out) == (0, True), err


@pytest.mark.parametrize("name", ["jobs", "0", "study.jsonl", ".submitit"])
def test_a_link_or_a_pickle_in_a_sweep_is_refused(command, options, tmp_path, name):
    (tmp_path / "outside").mkdir()
    (tmp_path / "evil" / name).symlink_to(tmp_path / "outside")
    outcome = command("train", *options)
    assert is_refused(outcome), outcome
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_journal_that_is_none_is_refused(command, options, tmp_path):
    for content in (b"[" * 100_000 + b"\n", b"\x80\x04\x95pickle\n", b"{}\n[]\n", b'"\x1b[2J"\n1\n'):
        (tmp_path / "evil" / "study.jsonl").write_bytes(content)
        assert is_refused(command("train", *options)), content[:20]
    os.truncate(tmp_path / "evil" / "study.jsonl", 30 << 30)
    assert is_refused(command("train", *options))
