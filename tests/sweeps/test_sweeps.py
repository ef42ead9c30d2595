"""Sweeps by the real command line: the table, what goes on, what fails, and what is refused."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from sweep_outcomes import results_of, weights_of

from nmt.cli.compose import compose
from nmt.cli.hydra_config import TRAIN
from nmt.errors import UserError
from nmt.sweeps.launching import Sweep, run_sweep


def test_a_sweep_ends_with_a_table_and_names_the_best(nmt, tmp_path, learnable):
    done = nmt("train", "-m", *learnable, "run=sweep", "training.max_updates=2,40")
    results = results_of(tmp_path / "sweep")
    runs = results["runs"]
    assert [run["setting"] for run in runs] == ["training.max_updates=2", "training.max_updates=40"]
    assert [run["state"] for run in runs] == ["finished", "finished"]
    assert runs[1]["validation_bleu"] > runs[0]["validation_bleu"]
    assert results["best"] == 1
    out = done.stdout.decode().split("\n")
    assert out[0].split()[:4] == ["job", "setting", "validation", "BLEU"]
    assert out[2].startswith("*    1  training.max_updates=40")
    assert "best by validation BLEU: job 1, training.max_updates=40" in out
    assert "to translate: nmt translate run=sweep/1 input=FILE output=FILE" in out
    scores = json.loads((tmp_path / "sweep" / "1" / "test.json").read_text())
    assert runs[1]["test_bleu"] == scores["bleu"]
    assert [runs[1]["test_bleu_low"], runs[1]["test_bleu_high"]] == scores["intervals"]["bleu"]
    rows = [line.split("\t") for line in (tmp_path / "sweep" / "results.tsv").read_text().splitlines()]
    assert rows[0][:4] == ["job", "setting", "state", "validation_bleu"]
    assert float(rows[2][3]) == runs[1]["validation_bleu"]


@pytest.mark.slow
def test_a_sweep_that_was_killed_goes_on_exactly(nmt, tmp_path, learnable):
    command = [*learnable, "seed=1,2,3", "training.checkpoint_every=5"]
    nmt("train", "-m", *command, "run=whole")
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt", "train", "-m", *command],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 90
    while process.poll() is None and time.monotonic() < deadline:
        if list(tmp_path.glob("outputs/sweeps/*/1/checkpoints/step-000010")):
            process.send_signal(signal.SIGKILL)
        time.sleep(0.005)
    assert process.wait() == -signal.SIGKILL
    (parts,) = (tmp_path / "outputs" / "sweeps").iterdir()
    assert not (parts / "jobs" / "1.json").exists()
    before = (parts / "0" / "last.json").stat().st_mtime_ns
    done = nmt("train", "-m", *command, "resume=true")
    assert b"resumed from update" in done.stderr
    assert (parts / "0" / "last.json").stat().st_mtime_ns == before, "a finished run is not run again"
    for job in range(3):
        assert weights_of(parts / str(job)) == weights_of(tmp_path / "whole" / str(job))
    keys = ("job", "setting", "state", "validation_bleu", "test_bleu", "test_bleu_low", "test_bleu_high")
    whole, found = ([{key: run[key] for key in keys} for run in results_of(folder)["runs"]]
                    for folder in (tmp_path / "whole", parts))  # fmt: skip
    assert found == whole


def test_a_sweep_that_is_interrupted_says_what_it_has(nmt, tmp_path, learnable):
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt", "train", "-m", *learnable, "run=sweep", "seed=1,2",
         "training.max_updates=100000", "training.patience=null", "schedule.warmup_updates=1"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    deadline = time.monotonic() + 90
    while not (tmp_path / "sweep" / "0" / "last.json").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, log = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"sweep; the same command with resume=true goes on" in log
    assert [run["state"] for run in results_of(tmp_path / "sweep")["runs"]] == ["interrupted", "waiting"]


def test_one_failure_is_named_and_ends_no_other(nmt, tmp_path, learnable):
    options = [option for option in learnable if option != "tokenizer=char"]
    done = nmt("train", "-m", *options, "run=sweep", "tokenizer.vocabulary_size=30000,30", code=1)
    runs = results_of(tmp_path / "sweep")["runs"]
    assert [run["state"] for run in runs] == ["failed", "finished"]
    assert runs[0]["error"].startswith("tokenizer.vocabulary_size: at most")
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("nmt: sweep: 1 of 2 runs failed: 0 (tokenizer.vocabulary_size: at most")
    assert "failed" in done.stdout.decode()


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["-m", "model.num_heads=2,3"], "model.d_model: a multiple of num_heads=3 is needed"),
        (["-m", "model.dropout=interval(0,0.3)"], "model.dropout: a list of values is needed with sweep=grid"),
        (["-m", "sweep=optuna", "seed=1"], "sweep: a key to search is needed"),
        (["-m", "sweep=optuna", "sweep.trails=3", "seed=1,2"], "did you mean sweep.trials?"),
        (["-m", "sweep=optuna", "sweep.trials=0", "seed=1,2"], "sweep.trials: greater than 0 is needed; got 0"),
        (["-m", "sweep=optuna", "model.droput=interval(0,0.3)"], "did you mean model.dropout?"),
        (["-m", "sweep=optuna", "model.dropout=interval(0,0.3)", "model.d_ff=0"], "model.d_ff: greater than"),
        (["-m", "sweep=optuna", "model.d_ff=tag(log,range(16,64,step=16))"],
         "model.d_ff: an interval is needed for log; got model.d_ff=tag(log,range(16,64,step=16))"),
        (["-m", "sweep=optuna", "model.d_ff=interval(16,64)"], "model.d_ff: an integer is needed; got "),
        (["-m", "sweep=optuna", "model.dropout=interval(0,1.5)"], "model.dropout: less than"),
        (["-m", "sweep=optuna", "seed=1,2", "model.num_heads=2,3"], "a multiple of num_heads=3 is needed"),
        (
            ["-m", "sweep=optuna", "optimizer.learning_rate=tag(log,interval(0,1))"],
            "optimizer.learning_rate: an interval above 0 is needed for log",
        ),
        (["-m", "sweep=optuna", "model=glob(lstm*)"], "model: a choice is needed; got none by model=glob(lstm*)"),
        (["-m", "run=a,b"], "run: one value is needed for all of the sweep; got run=a,b"),
        (["-m", "resume=true", "seed=1,2"], "run: the folder of the sweep is needed with resume=true"),
        (["-m", "sweep.cluster_options={gpus: 1}", "seed=1,2"], "sweep.cluster_options: null is needed without a cluster"),
        (["sweep=optuna"], "sweep: the option -m is needed with it"),
        (["sweep.trials=3"], "sweep.trials: the option -m is needed with it"),
    ],
)  # fmt: skip
def test_mistakes_are_said_before_anything_is_written(nmt, tmp_path, tiny_training, overrides, expected):
    message = nmt("train", *tiny_training(), *overrides, code=2).stderr.decode()
    assert expected in message
    assert message.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_last_value_that_was_typed_of_a_key_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for typed, expected, seeds in (
        (["seed=1,2", "model.dropout=0.1,0.2", "seed=5"], ["model.dropout=0.1", "model.dropout=0.2"], [5, 5]),
        (["seed=5", "seed=1,2"], ["seed=1", "seed=2"], [1, 2]),
        (["seed=1,2", "seed=3,4"], ["seed=3", "seed=4"], [3, 4]),
    ):
        jobs = Sweep(typed, None).jobs()
        assert [job.setting for job in jobs] == expected
        assert [compose(TRAIN, job.overrides, None).settings().seed for job in jobs] == seeds


def test_the_order_of_a_shuffled_sweep_is_that_of_before_when_it_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = ["seed=shuffle(1,2,3,4,5,6,7,8)"]
    settings = [job.setting for job in Sweep(values, None).jobs()]
    assert sorted(settings) == [f"seed={number}" for number in range(1, 9)]
    command = f"from nmt.sweeps.launching import Sweep; print([one.setting for one in Sweep({values}, None).jobs()])"
    for _ in range(2):
        assert subprocess.check_output([sys.executable, "-c", command], text=True) == f"{settings}\n"


def test_patterns_match_recipes_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    for name in ("lr_b", "lr_c"):
        (tmp_path / "mine" / "experiment" / f"{name}.yaml").write_text("# @package _global_\nseed: 7\n")
    jobs = Sweep(["experiment=glob(lr_*)"], "mine").jobs()
    assert [job.setting for job in jobs] == ["experiment=lr_b", "experiment=lr_c"]


def test_a_recipe_may_say_how_its_runs_are_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = tmp_path / "mine" / "experiment" / "own.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text("# @package _global_\nseed: 7\nsweep:\n  at_once: 2\n")
    sweep = Sweep(["experiment=own", "model.dropout=0.1,0.2"], "mine")
    assert sweep.settings.at_once == 2
    assert [job.setting for job in sweep.jobs()] == ["model.dropout=0.1", "model.dropout=0.2"]
    assert Sweep(["experiment=own", "model.dropout=0.1,0.2", "sweep.at_once=3"], "mine").settings.at_once == 3


def test_names_that_are_not_utf_8_are_refused_before_a_sweep_begins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"^tokenizer.model: text in UTF-8 is needed; got 'a\\udcff'$"):
        Sweep(["tokenizer.model=a\udcff", "seed=1,2", "run=sweep"], None)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_leaves_the_process_as_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Sweep(["seed=1,2"], None)
    with pytest.raises(UserError, match="a multiple of num_heads=3"):
        run_sweep(["model.d_model=32", "model.num_heads=2,3"], None)
    assert compose("train", ["seed=3"], None).values["seed"] == 3


def test_a_folder_holds_one_sweep(nmt, tmp_path, learnable):
    short = [*learnable, "training.max_updates=2"]
    nmt("train", "-m", *short, "run=sweep", "seed=1")
    message = nmt("train", "-m", *short, "run=sweep", "seed=1", code=2).stderr
    assert b"a new folder is needed, or resume=true to go on; got sweep, which holds a sweep" in message
    message = nmt("train", "-m", *short, "run=sweep", "seed=2", "resume=true", code=2).stderr
    assert b"got seed=2 and not seed=1" in message
    message = nmt("train", "-m", *short, "run=sweep", "resume=true", code=2).stderr
    assert b"are needed to go on; got all but seed=1\n" in message


def test_a_sweep_does_not_go_on_with_another_recipe(nmt, tmp_path, learnable):
    short = [*learnable, "training.max_updates=2"]
    recipe = tmp_path / "mine" / "experiment" / "own.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text("# @package _global_\nmodel:\n  attention_dropout: 0.1\n")
    typed = "train", "-m", "--config-dir=mine", *short, "experiment=own", "run=sweep", "seed=1"
    nmt(*typed)
    done = nmt(*typed, "resume=true")
    recipe.write_text("# @package _global_\nmodel:\n  attention_dropout: 0.2\n")
    message = nmt(*typed, "resume=true", code=2).stderr
    assert message.endswith(b"that the sweep in sweep began with are needed to go on; got others\n")
    (tmp_path / "sweep" / "sweep.json").write_text(
        json.dumps({"overrides": json.loads((tmp_path / "sweep" / "sweep.json").read_text())["overrides"]})
    )
    assert nmt(*typed, "resume=true").stdout == done.stdout  # of an older version, which noted no settings


def test_a_sweep_within_torchrun_is_refused(nmt, learnable):
    refused = nmt("train", "-m", *learnable, "seed=1,2", code=2, WORLD_SIZE="2", RANK="0")
    assert refused.stderr.startswith(b"nmt: -m: a process of its own is needed; got 2 ranks")
