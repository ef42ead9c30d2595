"""Several processes that train one model are one run: equal weights, whichever process ends or starts again."""

import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from command_line import run_command
from processes import children_of
from ranks import begin_together, environments, train_together
from safetensors.torch import load_file

from nmt.runs.directory import RunDirectory
from nmt.runs.metrics import read_metrics
from nmt.training.ranks import Place, Ranks, first_host

SMALL = (
    "data.num_train=240", "data.num_validation=7", "data.num_test=4", "tokenizer.vocabulary_size=200", "data.max_length=24",
    "training.update_tokens=450", "training.max_updates=8", "training.validate_every=4", "training.checkpoint_every=4",
    "training.log_every=3", "training.patience=null", "decoding.beam_size=1", "schedule=constant",
    "optimizer.learning_rate=0.002", "device=cpu", "precision=float32",
)  # fmt: skip
SLOW = ("training.max_updates=100000", "training.validate_every=100000", "training.log_every=100000")


@pytest.fixture
def together(tmp_path, tiny_training):
    """Return a function that trains a run on ranks, all of which must succeed; a single rank is a plain process."""

    def train(name, *overrides, size, kind="transformer"):
        arguments = [f"run={name}", *tiny_training(kind), *SMALL, *overrides]
        if size == 1:
            ended = [run_command(["train", *arguments], tmp_path)]
        else:
            ended = train_together(arguments, tmp_path, size)
        assert [one.returncode for one in ended] == [0] * size, [one.stderr.decode() for one in ended]
        assert [bool(one.stdout) for one in ended] == [True] + [False] * (size - 1)
        assert all(one.stderr == b"" for one in ended[1:])
        return RunDirectory(tmp_path / name)

    return train


def tensors(run, step):
    folder = run.step_path(step)
    files = [load_file(folder / f"{name}.safetensors") for name in ("model", "training")]
    return files[0] | files[1]


def assert_equal_weights(found, expected, step=8):
    """Assert that all weights and moments agree up to the order of sums."""
    assert found.steps()[-1] == expected.steps()[-1] == step
    theirs = tensors(expected, step)
    ours = tensors(found, step)
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        # Second moments are small: none may hide below a tolerance that is meant for weights.
        atol = min(2e-5, 1e-3 * float(tensor.abs().max())) if tensor.is_floating_point() else 0
        torch.testing.assert_close(ours[name], tensor, rtol=1e-3, atol=atol, msg=name)


def assert_equal_runs(found, expected):
    """Assert that the weights agree, and all figures but those of speed."""
    assert_equal_weights(found, expected)
    of_speed = {"seconds", "tokens_per_second", "seconds_waiting_for_data", "seconds_validating"}
    rows = [
        [{key: row[key] for key in row.keys() - of_speed - {"kind"}} for row in read_metrics(run)]
        for run in (found, expected)
    ]
    assert len(rows[0]) == len(rows[1]) > 3
    for our_row, their_row in zip(*rows, strict=True):
        assert our_row == pytest.approx(their_row, rel=1e-3)


# Where a unit of ReLU is almost zero, another order of sums switches it on or off; GELU has no such bend.
SMOOTH = ("model.dropout=0", "model.activation=gelu")
VOCABULARY = "tokenizer.model=teacher/tokenizer.model"
WAYS = {
    "transformer": ("transformer", SMOOTH),
    "few micro-batches": ("transformer", (*SMOOTH, "training.max_tokens=150")),
    "moving average": ("transformer", (*SMOOTH, "training.ema_decay=0.9")),
    "r-drop": ("transformer", ("consistency=r_drop", *SMOOTH, "model.layer_dropout=1e-9")),
    "subwords drawn anew": ("transformer", (*SMOOTH, "training.subword_sampling=0.2")),
    "words of a teacher": ("transformer", (*SMOOTH, "training.teacher=teacher", VOCABULARY)),
    "links of words": ("transformer", (*SMOOTH, "training.guided_alignment=links")),
    "rnn": ("rnn", ("model.dropout=0",)),
    "attention, its own words": ("attention", ("model.dropout=0", "training.label_smoothing=0.1")),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_two_ranks_learn_what_one_learns(together, way, tmp_path):
    kind, overrides = WAYS[way]
    (tmp_path / "links").write_text("0-0 1-1\n" * 240)
    if VOCABULARY in overrides:
        together("teacher", "training.max_updates=4", size=1)
    alone = together("alone", *overrides, size=1, kind=kind)
    assert_equal_runs(together("both", *overrides, size=2, kind=kind), alone)


@pytest.mark.slow
def test_four_ranks_learn_what_one_learns(together):
    alone = together("alone", *SMOOTH, size=1)
    assert_equal_runs(together("all", *SMOOTH, size=4), alone)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 4)])
def test_a_run_goes_on_with_another_number_of_ranks(together, before, after):
    overrides = (*SMOOTH, "training.ema_decay=0.9", "training.max_tokens=150", "resume=true")
    expected = together("whole", *overrides, size=1)
    together("parts", *overrides, "training.max_updates=5", size=before)
    assert_equal_weights(together("parts", *overrides, size=after), expected)


def first_checkpoint(processes, run, folder):
    """Wait until a run has its first checkpoint; fail where one of its ranks has ended."""
    while not (run / "last.json").exists():
        assert all(process.poll() is None for process in processes), (folder / "0.log").read_text()
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_ranks_end_when_one_is_killed_and_one_line_names_it(together, tmp_path, tiny_training, victim):
    arguments = ["run=run", *tiny_training(), *SMALL, *SLOW]
    processes = begin_together(arguments, tmp_path, 3)
    first_checkpoint(processes, tmp_path / "run", tmp_path)
    processes[victim].kill()
    exit_codes = [process.wait(timeout=60) for process in processes]
    assert exit_codes == [-signal.SIGKILL if rank == victim else 2 for rank in range(3)]
    last_words = [
        line
        for rank in range(3)
        for line in (tmp_path / f"{rank}.log").read_text().split("\n")
        if line.startswith("nmt: ")
    ]
    assert len(last_words) == 1
    assert f"all 3 ranks are needed to go on; rank {victim} has ended" in last_words[0]
    assert all("Traceback" not in (tmp_path / f"{rank}.log").read_text() for rank in range(3))
    last = RunDirectory(tmp_path / "run").steps()[-1]
    resumed = together("run", "resume=true", f"training.max_updates={last + 3}", size=2)
    assert resumed.steps()[-1] == last + 3


@pytest.mark.slow
@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_one_rank_ends_all_after_the_same_update(
    together, tmp_path, tiny_training, number, exit_code
):
    arguments = ["run=run", *tiny_training(), *SMALL, *SLOW, "model.dropout=0"]
    processes = begin_together(arguments, tmp_path, 2)
    first_checkpoint(processes, tmp_path / "run", tmp_path)
    processes[1].send_signal(number)
    assert [process.wait(timeout=60) for process in processes] == [exit_code, exit_code]
    log = (tmp_path / "0.log").read_text()
    (stopped,) = (line for line in log.split("\n") if line.startswith("stopped at update"))
    assert f"{number.name}; resume=true goes on" in stopped
    last = int(stopped.split()[3].rstrip(":"))
    run = RunDirectory(tmp_path / "run")
    assert run.steps()[-1] == last
    resumed = together(
        "run", "resume=true", f"training.max_updates={last + 2}", *SLOW[1:], "model.dropout=0", size=2
    )
    whole = together("whole", f"training.max_updates={last + 2}", *SLOW[1:], "model.dropout=0", size=1)
    assert_equal_weights(resumed, whole, last + 2)


@pytest.mark.slow
def test_all_ranks_stop_early_together(together):
    run = together(
        "run", "training.validate_every=1", "training.patience=2", "training.max_updates=1000",
        "optimizer.learning_rate=1e-9", "training.checkpoint_every=1000", size=2,
    )  # fmt: skip
    assert run.steps()[-1] < 10
    run = together("timed", "training.max_seconds=1", "training.max_updates=100000", size=2)
    assert 0 < run.steps()[-1] < 100000


@pytest.mark.slow
def test_what_is_wrong_is_said_once(tmp_path, tiny_training):
    arguments = ["run=run", *tiny_training(), *SMALL, "data.max_length=1"]
    ended = train_together(arguments, tmp_path, 2)
    assert [one.returncode for one in ended] == [2, 2]
    assert [line[:5] for line in ended[0].stderr.split(b"\n")].count(b"nmt: ") == 1
    assert ended[1].stderr == b""
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_what_is_wrong_on_one_rank_alone_is_said_by_that_one(tmp_path, tiny_training):
    arguments = ["run=run", *tiny_training(), *SMALL]
    ended = train_together(arguments, tmp_path, 3, of_last={"NMT_CACHE": "/dev/null/cache"})
    assert [one.returncode for one in ended] == [2, 2, 2]
    assert [one.stderr[:13] for one in ended] == [b"", b"", b"nmt: rank 2: "]
    assert b"NMT_CACHE" in ended[2].stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_torchrun_starts_a_run_again_that_lost_a_rank(tmp_path, tiny_training, together):
    overrides = ("model.dropout=0", "training.max_updates=600", *SLOW[1:], "training.checkpoint_every=20")
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "--max-restarts=1",
    ]
    train = ["-m", "nmt", "train", "run=run", "resume=true", *tiny_training(), *SMALL, *overrides]
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen([*launch, *train], cwd=tmp_path, stdout=log, stderr=log)
    first_checkpoint([process], tmp_path / "run", tmp_path)
    workers = children_of(process.pid)
    assert len(workers) == 2
    os.kill(workers[1], signal.SIGKILL)
    assert process.wait(timeout=200) == 0, (tmp_path / "log").read_text()
    log_text = (tmp_path / "run" / "train.log").read_text()
    assert "resumed from update" in log_text
    assert "stopped at update 600" in log_text


# The compiler is imported as late as in training. A thread of Gloo that is left at the end can abort a process.
ENDED = """
import os, sys
from pathlib import Path
from nmt.errors import RunError
from nmt.training.ranks import Place, joined

def threads_of_gloo():
    return [path for path in Path("/proc/self/task").glob("*/comm") if "gloo" in path.read_text()]

try:
    with joined(Place.of_process()) as ranks:
        import torch._dynamo
        assert ranks.gather(ranks.rank) == [0, 1]
        assert threads_of_gloo()
        if sys.argv[1:]:
            raise RunError(sys.argv[1])
except RunError:
    pass
print(len(threads_of_gloo()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted as Linux lists them")
@pytest.mark.parametrize("error", [[], ["what was wrong"]])
def test_no_thread_of_a_group_outlives_it(error):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ENDED, *error], env={**os.environ, **environment}, stdout=subprocess.PIPE
        )
        for environment in environments(2)
    ]
    assert [process.communicate(timeout=60)[0] for process in processes] == [b"0\n", b"0\n"]
    assert [process.returncode for process in processes] == [0, 0]


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, Place(0, 1, 0)),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, Place(3, 4, 1)),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "2"}, Place(5, 8, 2)),
        ({"SLURM_PROCID": "0"}, Place(0, 1, 0)),  # a batch script, outside of any step
    ],
)
def test_the_place_is_what_the_launcher_says(environment, place):
    assert Place.of_process(environment) == place


def test_one_rank_has_a_launcher_if_torchrun_has_started_it(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert (Ranks().has_launcher, Ranks(1, 2).has_launcher) == (False, True)
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert Ranks().has_launcher


@pytest.mark.parametrize(
    ("nodes", "host"),
    [("gpu7", "gpu7"), ("gpu[007-009,012],login1", "gpu007"), ("a1,b2", "a1"), ("rack[3,5]-x,z", "rack3-x")],
)
def test_the_first_machine_of_a_list_of_slurms(nodes, host):
    assert first_host(nodes) == host
