"""A saved checkpoint is whole or absent: damage, a full disk, two processes, other text."""

import errno
import itertools
import json
import logging
import math
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from faults import fail_at_call
from safetensors.torch import load_file, save_file

from nmt.errors import DeviceError, RunError
from nmt.files.writing import file_facts
from nmt.runs import model as model_of_run
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model
from nmt.runs.weights import read_tensors
from nmt.training.checkpoint import clear_unfinished, load_checkpoint, naming_last_checkpoint, save_checkpoint
from nmt.training.log_file import log_file
from nmt.training.progress import Progress
from nmt.training.step import TrainingStep


def flip(folder):
    path = folder / "training.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def truncate(folder):
    os.truncate(folder / "model.safetensors", 100)


def spoil(name, ending, value):
    """Return a function that changes the last number of a tensor with this ending, and describes it in the manifest."""

    def spoil_in(folder):
        path = folder / f"{name}.safetensors"
        tensors = load_file(path)
        next(tensor for key, tensor in tensors.items() if key.endswith(ending)).view(-1)[-1] = value
        save_file(tensors, path)
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps(manifest | {path.name: file_facts(path)}))

    return spoil_in


DAMAGE = {
    "weight not finite": spoil("model", "weight", -math.inf),
    "moment not finite": spoil("training", "exp_avg", math.nan),
    "flipped": flip,
    "truncated": truncate,
    "state changed": lambda folder: (folder / "state.json").write_text('{"update": 3}'),
    "file missing": lambda folder: (folder / "training.safetensors").unlink(),
    "manifest torn": lambda folder: (folder / "manifest.json").write_text('{"model.safe'),
    "manifest missing": lambda folder: (folder / "manifest.json").unlink(),
    "folder missing": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_one_before_a_damaged_checkpoint_is_used(damage, train_in, outcome, changed_files, tmp_path):
    run = train_in("run", "training.max_updates=4")
    assert RunDirectory(run).steps() == [2, 4]
    DAMAGE[damage](run / "checkpoints" / "step-000004")
    whole = train_in("whole", "training.max_updates=4")
    train_in("run", "training.max_updates=4")
    log = (run / "train.log").read_text()
    assert "step-000004" in log
    assert "resumed from update 2" in log
    kept = outcome(run)
    changed = changed_files(outcome(whole), kept)
    assert all(name.startswith("checkpoints/damaged-step-000004/") for name in changed), changed
    is_checkpoint_no_more = damage in ("manifest missing", "folder missing")
    assert bool(changed) != is_checkpoint_no_more, "what is left of a checkpoint is kept"


def test_the_best_that_was_dropped_for_a_damaged_one_is_no_best_any_more(train_in):
    typed = ("training.validate_every=4", "training.keep_checkpoints=2", "schedule=constant")
    run = train_in("run", *typed, "training.max_updates=8", "optimizer.learning_rate=0.02")
    assert RunDirectory(run).steps() == [6, 8], "the validation after 8 was better than that after 4"
    assert json.loads((run / "best.json").read_text())["step"] == 8
    flip(run / "checkpoints" / "step-000008")
    train_in("run", *typed, "training.max_updates=7", "optimizer.learning_rate=10")
    assert json.loads((run / "best.json").read_text())["step"] in RunDirectory(run).steps()
    load_model(RunDirectory(run), "best")


def test_a_finished_run_is_tested_under_what_it_says_and_takes_nothing_else(nmt, train_in, tmp_path):
    run = train_in("run", "training.max_updates=2")
    before = (run / "config.json").read_bytes()
    done = nmt("train", "run=run", "resume=true", "decoding.max_length_extra=1", "optimizer.learning_rate=1")
    assert (
        b"not changed  decoding.max_length_extra, optimizer.learning_rate: the run is finished\n"
        in done.stderr
    )
    assert (run / "config.json").read_bytes() == before
    (run / "confidence.json").unlink()
    nmt("train", "run=run", "resume=true", "decoding=greedy")
    assert json.loads((run / "confidence.json").read_text())["search"].startswith("beam")
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"test": None}))
    done = nmt("train", "run=run", "resume=true", "decoding.max_length_extra=1", "optimizer.learning_rate=1")
    assert b"not changed  optimizer.learning_rate: the run is finished\n" in done.stderr
    config = json.loads((run / "config.json").read_text())
    assert config["decoding"]["max_length_extra"] == 1
    assert config["optimizer"] == json.loads(before)["optimizer"]
    nmt("verify", "run=run")


def test_a_run_that_was_killed_after_its_last_checkpoint_is_noted_as_ended(nmt, train_in):
    run = train_in("run", "training.max_updates=2")
    record = json.loads((run / "run.json").read_text())
    ended = record["sessions"][-1]
    record["sessions"][-1] = ended | dict.fromkeys(
        ("finished", "last_update", "training_seconds", "target_tokens")
    )
    (run / "run.json").write_text(json.dumps(record))
    nmt("train", "run=run", "resume=true")
    (session,) = json.loads((run / "run.json").read_text())["sessions"]
    assert session.pop("finished") >= ended.pop("finished")
    assert session == ended


def test_a_lowered_limit_ends_a_run_for_good(nmt, train_in):
    run = train_in("run", "training.max_updates=4")
    config = json.loads((run / "config.json").read_text())
    config["training"]["max_updates"] = 40  # as if it had been interrupted on the way there
    (run / "config.json").write_text(json.dumps(config))
    done = nmt("train", "run=run", "resume=true", "training.max_updates=4")
    assert b"training.max_updates: 40 before, 4 now" in done.stderr
    assert json.loads((run / "config.json").read_text())["training"]["max_updates"] == 4
    session = json.loads((run / "run.json").read_text())["sessions"][-1]
    assert session["last_update"] == 4
    assert session["finished"]
    scores = (run / "test.json").read_bytes()
    done = nmt("train", "run=run", "resume=true")
    assert b"run is finished: training.max_updates=4" in done.stderr
    assert (run / "test.json").read_bytes() == scores
    nmt("verify", "run=run")


def test_moments_of_muon_are_no_use_to_another_optimizer(train_in):
    train_in("run", "training.max_updates=2")
    with pytest.raises(
        RunError, match=r"^optimizer: adam or adamw, as the run had, is needed to go on, since muon"
    ):
        train_in("run", "training.max_updates=4", "optimizer=muon")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("readme.txt", "the folder of a run, or a new or empty one, is needed"),
        ("sweep.json", "the option -m is needed"),
    ],
)
def test_going_on_in_a_folder_of_something_else_is_refused(train_in, tmp_path, name, message):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("{}")
    with pytest.raises(RunError, match=f"^run: {message}"):
        train_in("run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == [name]


def test_nothing_is_guessed_where_no_checkpoint_is_whole(train_in, tmp_path):
    run = train_in("run", "training.max_updates=4")
    for folder, damage in zip(
        sorted((run / "checkpoints").iterdir()), ("moment not finite", "truncated"), strict=True
    ):
        DAMAGE[damage](folder)
    before = sorted(path.name for path in (run / "checkpoints").iterdir())
    with pytest.raises(RunError, match=r"^run: a checkpoint that is whole is needed .*step-000004"):
        train_in("run")
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == before
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(RunError, match="step-4 is the last one that was saved, and not there"):
        train_in("run")


@pytest.mark.parametrize("call", ["fsync", "replace", "mkdir"])
def test_a_save_that_fails_anywhere_leaves_the_one_before(call, make_trainer, monkeypatch):
    trainer = make_trainer()
    update, number = 1, 0
    trainer.progress.update = 1
    trainer.save()
    for number in itertools.count(1):
        update += 1
        trainer.progress.update = update
        with monkeypatch.context() as patch:
            fail_at_call(patch, call, number)
            try:
                with naming_last_checkpoint(trainer.run):
                    trainer.save()
                break
            except RunError as error:
                message = str(error)
        assert message.startswith("run: a folder that can be written is needed; got ")
        assert "No space left on device" in message
        last = trainer.run.steps()[-1]
        assert message.endswith(f"; the last good checkpoint is step-{last}")
        assert last in (update - 1, update)
        assert not list(trainer.run.checkpoints_path.glob(f".{trainer.run.step_path(update).name}"))
        assert not list(trainer.run.path.glob(".*.json.*"))
        clear_unfinished(trainer.run)
        assert load_checkpoint(trainer.run, make_trainer().step, {}).update == last
        trainer.progress.update = update
        trainer.save()  # there is room again
        assert trainer.run.steps()[-1] == update
    assert number > 1


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system of two megabytes in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_costs_no_checkpoint(nmt, small_disk, tiny_training, outcome, changed_files, tmp_path):
    shared = [*tiny_training(), "model.d_model=32", "device=cpu", "training.keep_checkpoints=2"]
    nmt("train", "run=whole", *shared)
    run = small_disk / "run"
    nmt("train", f"run={run}", *shared, "training.max_updates=2")
    free = shutil.disk_usage(small_disk).free
    needed = sum(path.stat().st_size for path in (run / "checkpoints" / "step-000002").iterdir())
    assert free > needed / 2, "the disk is full because of what follows"
    (small_disk / "filler").write_bytes(b"\0" * (free - needed // 2))
    done = nmt("train", f"run={run}", "resume=true", "training.max_updates=4", code=2)
    message = done.stderr.decode().split("\n")[-2]
    assert message == (
        f"nmt: run: a folder that can be written is needed; got {run / 'tokenizer.model'}: No space left on device; "
        "the last good checkpoint is step-2"
    )
    assert b"Traceback" not in done.stderr
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-000002"]
    (small_disk / "filler").unlink()
    nmt("train", f"run={run}", "resume=true", "training.max_updates=4")
    weights = "checkpoints/step-000004/training.safetensors"
    assert outcome(run)[weights] == outcome(tmp_path / "whole")[weights]
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = nmt("train", f"run={run}", "resume=true", "training.max_updates=6", code=2)
    assert "Read-only file system; the last good checkpoint is step-4" in done.stderr.decode().split("\n")[-2]
    assert b"Traceback" not in done.stderr


def test_too_little_memory_is_a_line_that_names_the_last_checkpoint(train_in, monkeypatch):
    run, calls = TrainingStep.run, []

    def run_out(*given):
        calls.append(given)
        if len(calls) == 4:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nMore of it.")
        return run(*given)

    monkeypatch.setattr(TrainingStep, "run", run_out)
    with pytest.raises(
        DeviceError, match=r"^device: more free memory is needed; got CUDA .* 2 GiB\.; "
    ) as caught:
        train_in("run")
    assert str(caught.value).endswith("the last good checkpoint is step-2")
    assert "\n" not in str(caught.value)


def test_a_line_of_the_log_that_cannot_be_written_is_an_error():
    with pytest.raises(OSError, match="No space left on device"), log_file(Path("/dev/full")):
        logging.getLogger("nmt").warning("something")


def test_one_run_has_one_trainer(nmt, tmp_path, tiny_training):
    (tmp_path / "run").mkdir()
    with log_file(tmp_path / "run" / "train.log"):
        done = nmt("train", "run=run", "resume=true", *tiny_training(), code=2)
    assert done.stderr.decode().split("\n")[-2] == (
        "nmt: run: a run that no other process is training is needed; got run, which one is"
    )
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["train.log"]
    with log_file(tmp_path / "run" / "train.log"):  # the lock was released
        pass


def test_going_on_with_other_text_or_another_vocabulary_is_refused(nmt, train_in, tmp_path):
    for name, lines in (("one", ["a b c", "b c d", "c a b a"]), ("other", ["x y", "y x", "z"])):
        (tmp_path / name).write_text("\n".join(lines * 9) + "\n")
    text = ["tokenizer=char", "tokenizer.vocabulary_size=30", "data=files"]
    text += [
        f"data.{split}.{side}={split}.{side}"
        for split in ("train", "validation")
        for side in ("source", "target")
    ]
    for name in ("train.source", "train.target", "validation.source", "validation.target"):
        shutil.copy(tmp_path / "one", tmp_path / name)
    short = ("training.max_updates=1",)
    run = train_in("run", *text, *short)
    vocabulary = (run / "tokenizer.model").read_bytes()
    for name, key in (("train.target", "data.train"), ("validation.source", "data.validation")):
        shutil.copy(tmp_path / "other", tmp_path / name)
        with pytest.raises(
            RunError, match=f"^{key}: what the run began with, of hash .* is needed to go on; got "
        ):
            train_in("run", *text, "training.max_updates=2")
        done = nmt("train", "run=run", "resume=true", "training.max_updates=2", "--plan", code=2)
        assert done.stderr.decode().startswith(f"nmt: {key}: what the run began with, of hash ")
        shutil.copy(tmp_path / "one", tmp_path / name)
    for name in ("train.source", "train.target"):
        shutil.copy(tmp_path / "other", tmp_path / name)
    other = train_in("another", *text, *short)
    for name in ("train.source", "train.target"):
        shutil.copy(tmp_path / "one", tmp_path / name)
    shutil.copy(other / "tokenizer.model", run / "tokenizer.model")
    with pytest.raises(
        RunError, match=r"^run: an undamaged tokenizer is needed; got run/tokenizer.model, which has changed"
    ):
        train_in("run", *text, "training.max_updates=2")
    (run / "tokenizer.model").write_bytes(vocabulary)
    train_in("run", *text, "training.max_updates=2", "training.log_every=1")
    log = (run / "train.log").read_text()
    assert "changed      training.max_updates: 1 before, 2 now" in log
    assert "changed      training.log_every: 3 before, 1 now" in log


@pytest.mark.parametrize("checkpoint", ["last", "best", "average"])
def test_a_model_is_read_while_a_training_removes_what_it_saved_before(checkpoint, train_in, monkeypatch):
    path = train_in("run", "training.max_updates=2")
    run, updates, removed = RunDirectory(path), itertools.count(3), []
    folder = run.step_path(2)
    weights, state = (load_file(folder / name) for name in ("model.safetensors", "training.safetensors"))

    def read_late(file, shapes):
        """Read a file; the first two times, a training has saved so often before that the file is gone."""
        if len(removed) < 2:
            while file.exists():
                save_checkpoint(run, weights, state, Progress(update=next(updates)), keep=2)
            removed.append(file)
        return read_tensors(file, shapes)

    monkeypatch.setattr(model_of_run, "read_tensors", read_late)
    model, _ = load_model(RunDirectory.existing(str(path)), checkpoint)
    assert len(set(removed)) == 2
    assert all(torch.equal(weights[name], value) for name, value in model.named_parameters())


def test_without_locks_a_warning_says_so_and_training_goes_on(tmp_path, monkeypatch, caplog):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("nmt.files.writing.fcntl.flock", refuse)
    with log_file(tmp_path / "run" / "train.log"):
        logging.getLogger("nmt").warning("it trains")
    assert caplog.messages[0] == (
        f"run: no lock can be had on {tmp_path / 'run'}: [Errno 37] no locks available; train it in one process alone"
    )
    assert (tmp_path / "run" / "train.log").read_text().endswith(" it trains\n")
