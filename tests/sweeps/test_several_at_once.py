"""Runs of a sweep at once, in local processes, jobs of a cluster or actors of Ray, end as one after the other."""

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import children_of, is_running, wait_for_end
from sweep_outcomes import results_of, weights_of

from nmt.config import GridSweep
from nmt.sweeps.jobs import Job, JobRunner


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
    """Start two endless runs at once; return the process and the two that train, when both have a checkpoint."""
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
        session = json.loads((tmp_path / "sweep" / str(job) / "run.json").read_text())["sessions"][-1]
        assert session["last_update"] == saved, "the record of the run is ended, too"
    assert b"leaked" not in log


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


@pytest.fixture
def on_cluster(tmp_path, learnable):
    """Return a function that begins a sweep of endless runs as jobs of a cluster, and waits until all have saved."""
    pytest.importorskip("submitit")

    def begin(num_runs):
        process = subprocess.Popen(
            [sys.executable, "-m", "nmt", "train", "-m", *learnable, "run=sweep", "sweep.cluster=local",
             f"seed={','.join(map(str, range(num_runs)))}", "training.max_updates=1000000", "training.patience=null",
             "schedule.warmup_updates=1"],
            cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        deadline = time.monotonic() + 90
        while len(list(tmp_path.glob("sweep/?/last.json"))) < num_runs and time.monotonic() < deadline:
            time.sleep(0.02)
        return process

    return begin


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_jobs_of_a_cluster_end_with_their_sweep(tmp_path, on_cluster, number, code):
    process = on_cluster(2)
    jobs = children_of(process.pid)
    process.send_signal(number)
    _, log = process.communicate(timeout=60)
    assert process.returncode == code, log.decode()
    wait_for_end(jobs)
    runs = results_of(tmp_path / "sweep")["runs"]
    assert [run["state"] for run in runs] == ["interrupted"] * 2
    saved = [json.loads((tmp_path / "sweep" / str(job) / "last.json").read_text())["step"] for job in (0, 1)]
    assert saved == [run["updates"] for run in runs], "no job goes on"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2])
def test_a_job_that_its_cluster_ends_is_not_finished(tmp_path, on_cluster, number):
    """SLURM sends SIGTERM, and before its time limit the SIGUSR2 that submitit asks for."""
    process = on_cluster(1)
    for job in children_of(process.pid):
        for task in children_of(job):
            os.kill(task, number)
    _, log = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"1 of 1 runs failed: 0 (ended from outside); resume=true goes on" in log
    (run,) = results_of(tmp_path / "sweep")["runs"]
    assert run["state"] == "interrupted"
    rows = (tmp_path / "sweep" / "0" / "metrics.jsonl").read_text().splitlines()
    assert run["updates"] >= max(json.loads(row)["update"] for row in rows), "its work is saved"


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


class WithoutRoom(JobRunner):
    """Runs of a sweep whose disk is full when they end."""

    def run(self, job, ranks=None):
        raise OSError(errno.ENOSPC, "No space left on device", "jobs/0.json")


def test_what_a_single_run_beside_others_cannot_write_is_said_in_a_line(tmp_path, capfd):
    """Where one run is left, it is trained as if others were there, with its share of the cores."""
    settings = GridSweep(kind="grid", at_once=2, cluster=None, cluster_options=None)
    WithoutRoom(tmp_path, settings, None).run_all([Job(0, "seed=1", [])])
    said = capfd.readouterr().err
    assert said.startswith("[0] job 0: ")
    assert said.endswith("No space left on device: 'jobs/0.json'\n")
    assert said.count("\n") == 1
