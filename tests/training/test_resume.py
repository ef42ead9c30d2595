"""A run that stopped and went on ends where one that never stopped does."""

import json
import shutil
import signal

import pytest
import torch
from pairwise import pairwise
from safetensors.torch import load_file

from nmt.device import _has_bfloat16, require_determinism
from nmt.training import checkpoint as checkpoint_module
from nmt.training import trainer as trainer_module
from nmt.training.step import TrainingStep
from nmt.training.trainer import Trainer
from nmt.training.validation import validate


def tensors(run, step):
    folder = run / "checkpoints" / f"step-{step:06d}"
    return {
        f"{name}:{key}": value
        for name in ("model", "training")
        for key, value in load_file(folder / f"{name}.safetensors").items()
    }


class Killed(BaseException):
    """Stands for the end of a process: nothing in the package catches it."""


def stop(*_):
    raise Killed


def at_call(monkeypatch, owner, name, number):
    """Stop at the `number`-th call of a function."""
    original, calls = getattr(owner, name), []

    def counting(*arguments, **options):
        calls.append(name)
        if len(calls) == number:
            raise Killed
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, counting)


def at_signal(monkeypatch, epoch, position):
    """Send SIGTERM at the start of the update that leads to this position in the plan."""
    original = Trainer._updates

    def updates(trainer):
        for update in original(trainer):
            if (trainer.progress.epoch, trainer.progress.position) == (epoch, position):
                signal.raise_signal(signal.SIGTERM)
            yield update

    monkeypatch.setattr(Trainer, "_updates", updates)


def at_update(monkeypatch, number):
    """Send SIGTERM at the start of the update with this number."""
    original = Trainer._updates

    def updates(trainer):
        for update in original(trainer):
            if trainer.progress.update == number - 1:
                signal.raise_signal(signal.SIGTERM)
            yield update

    monkeypatch.setattr(Trainer, "_updates", updates)


MOMENTS = {
    "killed within an update": lambda patch: at_call(patch, TrainingStep, "_learn", 12),
    "killed after validation": lambda patch: at_call(patch, trainer_module, "save_checkpoint", 3),
    "killed within the last validation": lambda patch: at_call(patch, trainer_module, "validate", 2),
    "killed after the last validation": lambda patch: at_call(patch, trainer_module, "save_checkpoint", 7),
    "killed while saving": lambda patch: at_call(patch, checkpoint_module, "write_atomically", 6 + 3),
    "terminated within an epoch": lambda patch: at_signal(patch, 0, 1),
    "terminated at the last update of an epoch": lambda patch: at_signal(patch, 1, 0),
    "terminated at the first update of an epoch": lambda patch: at_signal(patch, 1, 1),
    "terminated where a validation is due": lambda patch: at_update(patch, 5),
    "terminated at the last update": lambda patch: at_update(patch, 9),
}
WAYS = {
    "moment": list(MOMENTS),
    "kind": ["transformer", "attention", "rnn"],
    "precision": ["float32", "bfloat16"] if _has_bfloat16(torch.device("cpu")) else ["float32"],
    "training.teacher_forcing_ratio": ["1.0", "0.6"],
    "training.subword_sampling": ["null", "0.1"],
    "consistency": ["none", "r_drop"],
    "optimizer": ["adamw", "muon"],
    "data/augment": ["none", "usual"],
    "data.augment.exchange": ["0", "0.5"],
    "training.ema_decay": ["null", "0.9"],
}


@pytest.mark.parametrize("way", pairwise(WAYS), ids=lambda way: "-".join(way.values()).replace(" ", "_"))
def test_a_run_that_stopped_anywhere_ends_as_one_that_did_not(
    way, train_in, outcome, changed_files, monkeypatch, handle_terminate
):
    overrides = [f"{key}={value}" for key, value in way.items() if key not in ("moment", "kind")]
    expected = outcome(train_in("whole", *overrides, kind=way["kind"]))
    state = expected["checkpoints/step-000009/state.json"]
    assert state["epoch"] >= 1, "the second epoch is reached"
    with monkeypatch.context() as patch:
        MOMENTS[way["moment"]](patch)
        with pytest.raises(Killed):
            train_in("parts", *overrides, kind=way["kind"])
    torch.manual_seed(1234)  # another process would begin with other numbers, too
    found = outcome(train_in("parts", *overrides, kind=way["kind"]))
    assert changed_files(expected, found) == []


def test_updates_before_a_validation_that_is_killed_are_kept(train_in, monkeypatch, caplog):
    with monkeypatch.context() as patch:
        at_call(patch, trainer_module, "validate", 2)
        with pytest.raises(Killed):
            train_in("run")
    caplog.clear()
    train_in("run")
    assert "resumed from update 9" in caplog.text
    assert caplog.text.count(" validation loss ") == 1
    assert "update 9 validation loss" in caplog.text


def test_a_signal_leaves_a_validation_that_is_due_to_the_process_that_goes_on(
    train_in, monkeypatch, caplog, handle_terminate
):
    with monkeypatch.context() as patch:
        at_update(patch, 5)
        with pytest.raises(Killed):
            train_in("run")
    assert "stopped at update 5: SIGTERM; resume=true goes on" in caplog.text
    assert " validation loss " not in caplog.text
    train_in("run")
    assert caplog.text.index("resumed from update 5") < caplog.text.index("update 5 validation loss")


def test_a_validation_that_was_due_is_of_the_weights_that_are_saved_with_it(
    train_in, monkeypatch, handle_terminate, tmp_path
):
    with monkeypatch.context() as patch:
        at_update(patch, 5)
        with pytest.raises(Killed):
            train_in("run", "training.ema_decay=0.9", "training.max_updates=5")
    averaged = load_file(tmp_path / "run" / "checkpoints" / "step-000005" / "model.safetensors")
    validated = []

    def note(step, *given):
        validated.append({name: tensor.clone() for name, tensor in step.model.state_dict().items()})
        return validate(step, *given)

    monkeypatch.setattr(trainer_module, "validate", note)
    train_in("run", "training.ema_decay=null", "training.max_updates=5")
    saved = load_file(tmp_path / "run" / "checkpoints" / "step-000005" / "model.safetensors")
    assert all(tensor.equal(validated[0][name]) for name, tensor in saved.items())
    assert not all(tensor.equal(saved[name]) for name, tensor in averaged.items())


@pytest.fixture
def handle_terminate():
    """Let SIGTERM raise an exception, as the command line does."""
    before = signal.signal(signal.SIGTERM, stop)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
def test_more_updates_go_on_from_the_end(nmt, tmp_path, tiny_training):
    shared = [*tiny_training("attention"), "model.attention.choice=straight_through", "device=cpu",
              "training.update_tokens=900", "training.validate_every=5"]  # fmt: skip
    nmt("train", "run=whole", *shared, "training.max_updates=22")
    for last in (13, 22):
        done = nmt("train", "run=parts", "resume=true", *shared, f"training.max_updates={last}")
    assert b"changed      training.max_updates: 13 before, 22 now" in done.stderr
    expected, found = tensors(tmp_path / "whole", 22), tensors(tmp_path / "parts", 22)
    assert expected.keys() == found.keys()
    assert any(key.startswith("training:") and key.endswith("exp_avg_sq") for key in expected)
    assert [key for key, value in expected.items() if not value.equal(found[key])] == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU at hand")
@pytest.mark.parametrize("kind", ["transformer", "attention", "rnn"])
def test_a_deterministic_run_on_a_gpu_ends_as_one_that_did_not_stop(nmt, tmp_path, tiny_training, kind):
    shared = [*tiny_training(kind), "device=cuda", "deterministic=true", "training.ema_decay=0.9"]
    nmt("train", "run=whole", *shared, "training.max_updates=12")
    for last in (7, 12):
        nmt("train", "run=parts", "resume=true", *shared, f"training.max_updates={last}")
    expected, found = tensors(tmp_path / "whole", 12), tensors(tmp_path / "parts", 12)
    assert [key for key, value in expected.items() if not value.equal(found[key])] == []


def test_only_deterministic_algorithms_are_allowed_where_they_are_asked_for(train_in):
    train_in("free", "training.max_updates=1")
    assert not torch.are_deterministic_algorithms_enabled()
    for kind in ("transformer", "attention", "rnn"):
        train_in(kind, "training.max_updates=1", "deterministic=true", kind=kind)
        assert torch.are_deterministic_algorithms_enabled()
    require_determinism(False)


def test_another_seed_gives_another_model(nmt, tmp_path, tiny_training):
    nmt("train", "run=one", *tiny_training(), "training.max_updates=2")
    nmt("train", "run=two", *tiny_training(), "training.max_updates=2", "seed=2")
    one, two = tensors(tmp_path / "one", 2), tensors(tmp_path / "two", 2)
    assert not any(one[key].equal(two[key]) for key in one if key.endswith("query_key_value.weight"))


def test_best_and_newest_checkpoints_are_kept(nmt, tmp_path, tiny_training):
    nmt("train", "run=run", *tiny_training(), "training.max_updates=12", "training.keep_checkpoints=2",
        "training.patience=null")  # fmt: skip
    steps = sorted(int(path.name[5:]) for path in (tmp_path / "run" / "checkpoints").iterdir())
    best = json.loads((tmp_path / "run" / "best.json").read_text())["step"]
    assert steps == sorted({best, 10, 12})
    assert json.loads((tmp_path / "run" / "last.json").read_text()) == {"step": 12}


@pytest.mark.slow
def test_training_stops_for_want_of_patience_or_time(nmt, tmp_path, tiny_training):
    shared = [option for option in tiny_training() if "max_updates" not in option]
    done = nmt("train", "run=patient", *shared, "training.max_updates=500", "training.patience=2",
               "optimizer.learning_rate=1e-30")  # fmt: skip  # no weight moves, so that no validation gains
    assert b"training.patience=2 validations without a gain" in done.stderr
    done = nmt("train", "run=timed", *shared, "training.max_updates=100000", "training.max_seconds=2",
               "training.validate_every=100000")  # fmt: skip
    assert b"training.max_seconds=2" in done.stderr
    done = nmt("train", "run=epoch", *shared, "training.max_updates=100000", "training.max_epochs=1",
               "training.patience=null")  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "epoch" / "metrics.jsonl").read_text().split("\n")[:-1]]
    assert rows[-1]["epoch"] == 1
    assert b"training.max_epochs=1" in done.stderr


def test_a_run_from_another_starts_from_it_again_where_it_stopped_before_its_first_checkpoint(
    nmt, tmp_path, tiny_training
):
    nmt("train", "run=parent", *tiny_training())
    nmt("train", "run=child", *tiny_training(), "training.from_run=parent")
    rows = (tmp_path / "child" / "metrics.jsonl").read_text().split("\n")
    shutil.rmtree(tmp_path / "child" / "checkpoints")
    (tmp_path / "child" / "last.json").unlink()
    nmt("train", "run=child", "resume=true")
    assert (tmp_path / "child" / "metrics.jsonl").read_text().split("\n")[0].split('"loss"')[1].split(",")[
        0
    ] == (rows[0].split('"loss"')[1].split(",")[0])
    message = nmt("train", "run=child", "resume=true", "training.from_run=null", code=2).stderr
    assert b"training.from_run: parent, the run's own value, is needed to go on; got null" in message
