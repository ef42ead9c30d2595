"""Sweeps by the real command line: the table, what goes on, what fails, several at once, and the search."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import children_of, is_running, wait_for_end

from nmt.cli.compose import compose
from nmt.errors import UserError
from nmt.sweeps.launching import Sweep, run_sweep
from nmt.sweeps.results import RunResult, best_of, read_result, table, write_results

# Texts that can be learned by heart, so that scores differ from nought within seconds.
SOURCE = ["a b c", "d e", "f g h i j", "k l m n", "a c e g i"] * 12
TARGET = ["x y z w", "z y x w v", "u v w x y", "y z x u", "v w z y"] * 12


@pytest.fixture
def learnable(tmp_path, tiny_training):
    """Write the texts; return the overrides of a run of seconds that learns them."""
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.s").write_text("\n".join(SOURCE) + "\n")
        (tmp_path / f"{name}.t").write_text("\n".join(TARGET) + "\n")
    of_text = ["data=files", "tokenizer=char"]
    for split, name in (("train", "train"), ("validation", "valid"), ("test", "test")):
        of_text += [f"data.{split}.source={name}.s", f"data.{split}.target={name}.t"]
    kept = [
        option
        for option in tiny_training()
        if not option.startswith(
            ("data.", "tokenizer.", "training.max_updates", "training.validate", "decoding.")
        )
    ]
    return [
        *of_text, *kept, "training.max_updates=40", "training.validate_every=20", "training.log_every=20",
        "training.checkpoint_every=40",
        "schedule=constant", "optimizer.learning_rate=0.03", "model.dropout=0.0", "decoding.beam_size=1",
        "training.label_smoothing=0", "device=cpu",
    ]  # fmt: skip


def results_of(folder):
    return json.loads((folder / "results.json").read_text())


def weights_of(run):
    (newest,) = sorted((run / "checkpoints").iterdir())[-1:]
    return hashlib.sha256((newest / "model.safetensors").read_bytes()).hexdigest()


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
        (["-m", "sweep=optuna", "model.dropout=interval(0,1.5)"], "model.dropout: less than"),
        (["-m", "sweep=optuna", "seed=1,2", "model.num_heads=2,3"], "a multiple of num_heads=3 is needed"),
        (
            ["-m", "sweep=optuna", "optimizer.learning_rate=tag(log,interval(0,1))"],
            "optimizer.learning_rate: an interval above 0 is needed for log",
        ),
        (["-m", "sweep=optuna", "model=glob(lstm*)"], "model: a choice is needed; got none by model=glob(lstm*)"),
        (["-m", "run=a,b"], "run: one value is needed for all of the sweep; got run=a,b"),
        (["-m", "resume=true", "seed=1,2"], "run: the folder of the sweep is needed with resume=true"),
        (["sweep=optuna"], "sweep: the option -m is needed with it"),
        (["sweep.trials=3"], "sweep.trials: the option -m is needed with it"),
    ],
)  # fmt: skip
def test_mistakes_are_said_before_anything_is_written(nmt, tmp_path, tiny_training, overrides, expected):
    message = nmt("train", *tiny_training(), *overrides, code=2).stderr.decode()
    assert expected in message
    assert message.count("\n") == 1
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


@pytest.mark.slow
def test_several_at_once_have_the_same_results(nmt, tmp_path, learnable):
    options = [*learnable, "seed=1,2,3"]
    nmt("train", "-m", *options, "run=turns")
    done = nmt("train", "-m", *options, "run=sweep", "sweep.at_once=2")
    for job in range(3):
        assert f"[{job}] update 40 epoch" in done.stderr.decode(), "each line says whose it is"
    for job in range(3):
        assert weights_of(tmp_path / "sweep" / str(job)) == weights_of(tmp_path / "turns" / str(job))
    began = [(tmp_path / "sweep" / str(job) / "config.json").stat().st_mtime for job in range(3)]
    ended = [(tmp_path / "sweep" / "jobs" / f"{job}.json").stat().st_mtime for job in range(3)]
    assert max(began[:2]) < min(ended[:2]), "the first two ran at the same time"


ENDLESS = ("training.max_updates=100000", "training.patience=null", "schedule.warmup_updates=1")


@pytest.fixture
def two_at_once(tmp_path, learnable):
    """Begin two endless runs at once; return the process and those that train, when both have a checkpoint."""
    command = ["train", "-m", *learnable, *ENDLESS, "run=sweep", "seed=1,2", "sweep.at_once=2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt", *command],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    trainers = []
    try:
        while not all((tmp_path / "sweep" / str(job) / "last.json").exists() for job in (0, 1)):
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.02)
        trainers = [
            child
            for child in children_of(process.pid)
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        assert len(trainers) == 2
        yield process, trainers
    finally:
        for number in (process.pid, *trainers):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_several_at_once_end_with_what_was_done_saved(tmp_path, two_at_once, number, code):
    process, _ = two_at_once
    process.send_signal(number)
    _, log = process.communicate()
    assert process.returncode == code, log.decode()
    assert b"sweep; the same command with resume=true goes on" in log
    assert [run["state"] for run in results_of(tmp_path / "sweep")["runs"]] == ["interrupted"] * 2
    for job in (0, 1):
        rows = (tmp_path / "sweep" / str(job) / "metrics.jsonl").read_text().splitlines()
        saved = json.loads((tmp_path / "sweep" / str(job) / "last.json").read_text())["step"]
        assert saved >= max(json.loads(row)["update"] for row in rows), "nothing that was done is lost"


def test_a_process_that_is_killed_ends_no_other(two_at_once):
    process, (killed, other) = two_at_once
    os.kill(killed, signal.SIGKILL)
    time.sleep(0.5)
    assert is_running(other)
    os.kill(other, signal.SIGKILL)
    _, log = process.communicate()
    assert process.returncode == 1
    assert b"2 of 2 runs failed: 0 (ended from outside); 1 (ended from outside)" in log


def test_several_at_once_end_with_a_first_process_that_is_killed(two_at_once):
    process, trainers = two_at_once
    process.kill()
    wait_for_end(trainers)


@pytest.mark.slow
def test_submitit_trains_in_processes_of_its_own_and_leaves_no_folder_to_go_on_with(nmt, tmp_path, learnable):
    pytest.importorskip("submitit")
    options = [*learnable, "training.max_updates=2", "run=sweep", "seed=1,2", "sweep.cluster=local"]
    done = nmt("train", "-m", *options, "sweep.cluster_options={timeout_min: 5}")
    assert [run["state"] for run in results_of(tmp_path / "sweep")["runs"]] == ["finished", "finished"]
    logs = [path.read_text() for path in (tmp_path / "sweep" / ".submitit").glob("*.err")]
    assert {f"job {job}" in log for job in range(2) for log in logs} == {True, False}
    assert b"best by validation BLEU" in done.stdout
    assert (
        b"without .submitit is needed to go on" in nmt("train", "-m", *options, "resume=true", code=2).stderr
    )
    message = nmt(
        "train",
        "-m",
        *learnable,
        "run=other",
        "sweep.cluster=local",
        "sweep.cluster_options={gpus: 1}",
        code=1,
    )
    assert b"sweep.cluster: what submitit can submit is needed; got" in message.stderr


@pytest.mark.slow
def test_the_tasks_of_a_job_train_one_run_together(nmt, tmp_path, learnable):
    pytest.importorskip("submitit")
    options = [*learnable, "training.max_updates=2", "run=sweep", "seed=1,2", "sweep.cluster=local"]
    nmt("train", "-m", *options, "sweep.cluster_options={timeout_min: 5, tasks_per_node: 2}")
    assert [run["state"] for run in results_of(tmp_path / "sweep")["runs"]] == ["finished", "finished"]
    for job in range(2):
        log = (tmp_path / "sweep" / str(job) / "train.log").read_text()
        assert "on each of 2 ranks" in log
        assert log.count("stopped at update 2") == 1


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_runs_on_ray_are_those_of_one_process(nmt, tmp_path, learnable, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    options = [*learnable, "training.max_updates=4", "training.checkpoint_every=1", "seed=1,2,3"]
    nmt("train", "-m", *options, "run=plain", timeout=200)
    on_ray = ["sweep.cluster=ray", "sweep.at_once=2"]
    done = nmt("train", "-m", *options, *on_ray, "run=sweep", timeout=200)
    assert b"best by validation BLEU" in done.stdout
    assert [run["state"] for run in results_of(tmp_path / "sweep")["runs"]] == ["finished"] * 3
    for job in range(3):
        plain, other = (
            tmp_path / name / str(job) / "checkpoints" / "step-000004" / "model.safetensors"
            for name in ("plain", "sweep")
        )
        assert plain.read_bytes() == other.read_bytes()
    failed = nmt("train", "-m", *options, "run=other", *on_ray, "sweep.cluster_options={colour: red}", code=2)
    assert b"nmt: sweep.at_once: options of Ray's actors are needed; got" in failed.stderr


def test_a_sweep_within_torchrun_is_refused(nmt, learnable):
    refused = nmt("train", "-m", *learnable, "seed=1,2", code=2, WORLD_SIZE="2", RANK="0")
    assert refused.stderr.startswith(b"nmt: -m: a process of its own is needed; got 2 ranks")


def searched(run):
    return {key: value for key, value in run.items() if key in ("job", "setting", "state", "validation_bleu")}


@pytest.mark.slow
def test_a_search_goes_on_as_if_it_had_not_been_interrupted(nmt, tmp_path, learnable):
    pytest.importorskip("optuna")
    command = [
        *learnable, "sweep=optuna", "sweep.random_trials=2", "sweep.prune_after_trials=1",
        "model.dropout=interval(0,0.4)", "optimizer.learning_rate=tag(log,interval(1e-6,1e-1))",
        "model.num_encoder_layers=int(interval(1,2))", "model.norm=pre,post", "training.validate_every=10",
    ]  # fmt: skip
    nmt("train", "-m", *command, "run=whole", "sweep.trials=4", timeout=250)
    nmt("train", "-m", *command, "run=parts", "sweep.trials=2", timeout=250)
    nmt("train", "-m", *command, "run=parts", "sweep.trials=4", "resume=true", timeout=250)
    whole, parts = (results_of(tmp_path / name)["runs"] for name in ("whole", "parts"))
    assert [searched(run) for run in whole] == [searched(run) for run in parts]
    assert len(whole) == 4
    for run in whole:
        values = dict(part.split("=") for part in run["setting"].split())
        assert 0 <= float(values["model.dropout"]) <= 0.4
        assert 1e-6 <= float(values["optimizer.learning_rate"]) <= 0.1
        assert values["model.num_encoder_layers"] in ("1", "2")
        assert values["model.norm"] in ("pre", "post")
    assert len({run["setting"] for run in whole}) == 4
    assert b"pickle" not in (tmp_path / "whole" / "study.jsonl").read_bytes()
    for line in (tmp_path / "whole" / "study.jsonl").read_text().splitlines():
        json.loads(line)


def test_what_failed_in_a_search_is_tried_again(nmt, tmp_path, learnable):
    pytest.importorskip("optuna")
    command = [
        *learnable, "training.max_updates=2", "sweep=optuna", "sweep.trials=1", "model.dropout=interval(0,0.4)",
        "run=sweep",
    ]  # fmt: skip
    (tmp_path / "train.t").rename(tmp_path / "elsewhere")
    nmt("train", "-m", *command, code=1)
    (failed,) = results_of(tmp_path / "sweep")["runs"]
    assert failed["state"] == "failed"
    (tmp_path / "elsewhere").rename(tmp_path / "train.t")
    nmt("train", "-m", *command, "resume=true")
    (finished,) = results_of(tmp_path / "sweep")["runs"]
    assert (finished["state"], finished["setting"]) == ("finished", failed["setting"])


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("checkpoints/step-000002/state.json", '{"best_bleu": "high", "seconds": null, "update": [1]}'),
        ("checkpoints/step-000002/state.json", "{"),
        ("test.json", '{"bleu": {}, "intervals": [1, 2]}'),
        ("test.json", '{"bleu": 1.5, "intervals": {"bleu": [null]}}'),
        ("test.json", '{"bleu": 1.5, "intervals": {"bleu": 7}}'),
    ],
)
def test_a_damaged_file_of_one_run_leaves_the_others_in_the_table(tmp_path, file, content):
    checkpoint = tmp_path / "0" / "checkpoints" / "step-000002"
    checkpoint.mkdir(parents=True)
    for name in ("config.json", "checkpoints/step-000002/manifest.json"):
        (tmp_path / "0" / name).write_text("{}")
    (tmp_path / "0" / file).write_text(content)
    damaged, good = read_result(tmp_path, 0, "a=1"), RunResult(1, "a=2", "finished", 12.0)
    assert (damaged.state, damaged.validation_bleu, damaged.test_bleu_low) == ("interrupted", None, None)
    assert damaged.test_bleu == (1.5 if "1.5" in content else None)
    assert len(table([damaged, good]).split("\n")) == 3
    write_results(tmp_path, [damaged, good])


def test_runs_without_scores_and_ties_have_their_place_in_the_table(tmp_path):
    results = [
        RunResult(0, "a=1", "failed", error="tab\tand\nline"),
        RunResult(1, "a=2", "finished", 12.0, 11.0, 10.0, 12.5, 3.0),
        RunResult(2, "a=3", "finished", 12.0, None, None, None, 3.0),
        RunResult(3, "a=4", "pruned", 50.0, None, None, None, 3.0),
        RunResult(4, "a=5", "finished", 11.0, 99.0, 98.0, 100.0, 3.0),
    ]
    assert best_of(results) is results[1]
    assert best_of(results[:1]) is None
    assert [line[0] for line in table(results).split("\n")] == [" ", " ", "*", " ", " ", " "]
    write_results(tmp_path, results)
    rows = (tmp_path / "results.tsv").read_text().split("\n")[:-1]
    assert len({row.count("\t") for row in rows}) == 1
    assert len(rows) == 6
