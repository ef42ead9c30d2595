"""Several processes that train one model are one run: equal weights, whatever ends or begins again."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from command_line import run_command
from hypothesis import given
from hypothesis import strategies as st
from processes import children_of
from ranks import begin_together, train_together
from safetensors.torch import load_file

from nmt.data.batching import deal, plan_by_length
from nmt.data.corpus import ParallelText
from nmt.data.dataset import load_dataset
from nmt.errors import RunError
from nmt.runs.directory import RunDirectory
from nmt.runs.metrics import read_metrics
from nmt.training import validation
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
    """Return a function that trains a run on several ranks, all of which have to end well; one is a single process."""

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
    """All weights and moments agree but for the order of sums."""
    assert found.steps()[-1] == expected.steps()[-1] == step
    theirs = tensors(expected, step)
    ours = tensors(found, step)
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        torch.testing.assert_close(ours[name], tensor, rtol=1e-3, atol=2e-5, msg=name)


def assert_equal_runs(found, expected):
    """What was learned agrees, and so do all figures but for speed."""
    assert_equal_weights(found, expected)
    of_speed = {"seconds", "tokens_per_second", "seconds_waiting_for_data", "seconds_validating"}
    rows = [
        [{key: row[key] for key in row.keys() - of_speed - {"kind"}} for row in read_metrics(run)]
        for run in (found, expected)
    ]
    assert len(rows[0]) == len(rows[1]) > 3
    for our_row, their_row in zip(*rows, strict=True):
        assert our_row == pytest.approx(their_row, rel=1e-3)


VOCABULARY = "tokenizer.model=teacher/tokenizer.model"
WAYS = {
    "transformer": ("transformer", ("model.dropout=0",)),
    "few micro-batches": ("transformer", ("model.dropout=0", "training.max_tokens=150")),
    "moving average": ("transformer", ("model.dropout=0", "training.ema_decay=0.9")),
    "r-drop": ("transformer", ("consistency=r_drop", "model.dropout=0", "model.layer_dropout=1e-9")),
    "subwords drawn anew": ("transformer", ("model.dropout=0", "training.subword_sampling=0.2")),
    "words of a teacher": ("transformer", ("model.dropout=0", "training.teacher=teacher", VOCABULARY)),
    "links of words": ("transformer", ("model.dropout=0", "training.guided_alignment=links")),
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
    alone = together("alone", "model.dropout=0", size=1)
    assert_equal_runs(together("all", "model.dropout=0", size=4), alone)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 4)])
def test_a_run_goes_on_with_another_number_of_ranks(together, before, after):
    overrides = ("model.dropout=0", "training.ema_decay=0.9", "training.max_tokens=150", "resume=true")
    expected = together("whole", *overrides, size=1)
    together("parts", *overrides, "training.max_updates=5", size=before)
    assert_equal_weights(together("parts", *overrides, size=after), expected)


def first_checkpoint(processes, run, folder):
    """Return when a run has its first checkpoint, or its ranks have ended, which fails."""
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


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    max_tokens=st.integers(1, 200),
    num_ranks=st.integers(1, 8),
)
def test_ranks_are_dealt_all_of_an_update_once_and_about_as_much_each(lengths, max_tokens, num_ranks):
    lengths = np.array(lengths)
    update = plan_by_length(lengths, max_tokens)
    shares = [deal(update, lengths, rank, num_ranks) for rank in range(num_ranks)]
    dealt = [row for share in shares for rows in share for row in rows.tolist()]
    assert sorted(dealt) == list(range(len(lengths)))
    largest = max(len(rows) * lengths[rows].max() for rows in update)
    assert all(len(rows) * lengths[rows].max() <= largest for share in shares for rows in share)
    loads = [sum(int(lengths[rows].sum()) for rows in share) for share in shares]
    sizes = [sum(len(rows) * int(lengths[rows].max()) for rows in share) for share in shares]
    as_they_are = [update[rank::num_ranks] for rank in range(num_ranks)]
    if all(
        map(
            np.array_equal,
            map(np.concatenate, filter(None, shares)),
            map(np.concatenate, filter(None, as_they_are)),
        )
    ):
        assert max(sizes) <= 1.1 * sum(sizes) / num_ranks or max(loads) - min(loads) <= lengths.max()
    else:
        assert max(loads) - min(loads) <= lengths.max()


def test_micro_batches_of_one_size_are_dealt_as_they_are_and_a_small_last_one_is_not():
    lengths = np.full(40, 5)
    update = [np.arange(0, 10), np.arange(10, 20), np.arange(20, 30), np.arange(30, 39)]
    assert [deal(update, lengths, rank, 2) for rank in (0, 1)] == [update[0::2], update[1::2]]
    update = [np.arange(0, 30), np.arange(30, 32)]
    assert [sum(map(len, deal(update, lengths, rank, 2))) for rank in (0, 1)] == [16, 16]


def test_one_rank_is_dealt_the_update_as_it_is():
    update = [np.array([4, 2]), np.array([0])]
    assert deal(update, np.arange(1, 6), 0, 1) == update


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, Place(0, 1, 0)),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, Place(3, 4, 1)),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "2"}, Place(5, 8, 2)),
        ({"SLURM_PROCID": "0"}, Place(0, 1, 0)),  # a batch script, which is no step
    ],
)
def test_the_place_is_what_the_launcher_says(environment, place):
    assert Place.of_process(environment) == place


@pytest.mark.parametrize(
    ("nodes", "host"),
    [("gpu7", "gpu7"), ("gpu[007-009,012],login1", "gpu007"), ("a1,b2", "a1"), ("rack[3,5]-x,z", "rack3-x")],
)
def test_the_first_machine_of_a_list_of_slurms(nodes, host):
    assert first_host(nodes) == host


def recorded(trainer, ranks, update, monkeypatch):
    """Return the losses and gradients that a rank of a trainer gives to the others; alone, the update's own."""
    trainer.step.ranks, given = ranks, []
    monkeypatch.setattr(ranks, "add_up", lambda tensors: given.extend(tensor.clone() for tensor in tensors))
    monkeypatch.setattr(
        trainer.step.scaler,
        "unscale_",
        lambda _: given or given.extend(parameter.grad.clone() for parameter in trainer.model.parameters()),
    )
    figures = trainer.step.run(3, update)
    return given, float(figures.total), figures.num_tokens


@pytest.mark.parametrize("kind", ["transformer", "attention"])
@pytest.mark.parametrize(
    ("update", "num_ranks", "dropout"),
    [
        ([np.arange(9)], 2, 0.0),
        ([np.arange(9), np.arange(9, 13), np.arange(13, 15)], 2, 0.0),
        ([np.arange(2)], 4, 0.0),  # two ranks have nothing to do
        ([np.arange(start, start + 5) for start in (0, 5, 10, 15)], 2, 0.3),  # of one size
    ],
)
def test_shares_add_up_to_the_update_of_one_rank(make_trainer, kind, update, num_ranks, dropout, monkeypatch):
    def make():
        return make_trainer(f"model.dropout={dropout}", "precision=float32", kind=kind)

    expected, total, num_tokens = recorded(make(), Ranks(), update, monkeypatch)
    shares = [recorded(make(), Ranks(rank, num_ranks), update, monkeypatch) for rank in range(num_ranks)]
    sums = [torch.stack(tensors).sum(0) for tensors in zip(*(share[0] for share in shares), strict=True)]
    assert len(sums) == len(expected)
    torch.testing.assert_close(sums[:-2], expected[:-2], rtol=1e-5, atol=1e-7)
    assert float(sums[-2]) == pytest.approx(total)
    assert {share[2] for share in shares} == {num_tokens}


class Echo:
    """A translator that gives back what it is given, and tells what that was."""

    told = []

    def __init__(self, *_):
        pass

    def translate(self, lines, before=()):
        self.told.append((list(before), list(lines)))
        return iter(lines)


def test_validation_is_of_all_shares_in_the_order_of_the_text(make_trainer, monkeypatch):
    trainer, scored = make_trainer(), []
    text = ParallelText(["a b c", "d e", "f g h i j", "k", "a c e g"], ["x y", "z", "u v w x", "y z", "v w"])
    dataset = load_dataset(text, trainer.step.tokenizer)
    monkeypatch.setattr(validation, "Translator", Echo)
    monkeypatch.setattr(validation, "corpus_bleu", lambda lines, *_: scored.append(lines) or 1.0)

    def validate(ranks):
        trainer.step.ranks = ranks
        return validation.validate(trainer.step, trainer.settings, text, dataset, 100).loss

    loss, shares = validate(Ranks()), []
    for rank in (0, 1):
        ranks = Ranks(rank, 2)
        monkeypatch.setattr(ranks, "gather", lambda share: shares.append(share) or [])
        validate(ranks)
    ranks = Ranks(1, 2)
    monkeypatch.setattr(ranks, "gather", lambda share: shares[:2])
    assert validate(ranks) == pytest.approx(loss)
    assert scored[0] == scored[-1] == text.source


def test_with_context_a_rank_translates_neighbours(make_trainer, monkeypatch):
    trainer = make_trainer()
    text = ParallelText(list("abcdefg"), list("uvwxyza"))
    dataset = load_dataset(text, trainer.step.tokenizer)
    monkeypatch.setattr(validation, "Translator", Echo)
    monkeypatch.setattr(validation, "corpus_bleu", lambda lines, *_: float(lines == text.source))
    monkeypatch.setattr(validation.Context, "of", lambda _: validation.Context(2, 5))
    monkeypatch.setattr(Echo, "told", [])
    shares = []
    for rank in range(3):
        trainer.step.ranks = Ranks(rank, 3)
        monkeypatch.setattr(trainer.step.ranks, "gather", lambda share: shares.append(share) or shares)
        found = validation.validate(trainer.step, trainer.settings, text, dataset, 100)
    assert Echo.told == [([], ["a", "b"]), (["a", "b"], ["c", "d"]), (["c", "d"], ["e", "f", "g"])]
    assert found.bleu == 1


class OtherRankRanOut(Ranks):
    """A rank alone that hears of another one that ran out of memory."""

    def largest(self, *numbers):
        return [
            max(number, 1.0) if place == 1 and len(numbers) == 3 else number
            for place, number in enumerate(numbers)
        ]


def test_batches_become_smaller_on_all_ranks_when_one_runs_out_of_memory(make_trainer):
    trainer = make_trainer("training.max_updates=1", "training.max_tokens=auto")
    trainer.ranks = OtherRankRanOut()
    before = trainer.max_tokens
    trainer.train()
    assert trainer.progress.max_tokens == before // 2


def test_a_rank_with_another_text_is_refused(make_trainer):
    class Others(Ranks):
        def gather(self, value):
            return [value, {**value, "data.train": "another"}]

    with pytest.raises(
        RunError, match=r"data.train: the same on all ranks is needed; rank 0 got 1, rank 1 another"
    ):
        Others(0, 2).require_same({"data.train": "1", "tokenizer": "2"})
