"""Which checkpoints there are after a save, what points at them, and that all of it is on the disk."""

import json
import os
from pathlib import Path

import pytest

from nmt.runs.directory import SHORTLIST
from nmt.runs.metrics import Metrics
from nmt.tracking.live_page import PAGE
from nmt.training.checkpoint import clear_unfinished, load_checkpoint


def test_a_save_is_on_the_disk_file_by_file_and_name_by_name(make_trainer, monkeypatch):
    trainer = make_trainer()
    trainer.metrics.note({"update": 0})
    calls, fsync, replace = [], os.fsync, os.replace

    def note_fsync(descriptor):
        calls.append(("flushed", Path(os.readlink(f"/proc/self/fd/{descriptor}"))))
        fsync(descriptor)

    def note_replace(old, new):
        calls.append(("named", Path(old), Path(new)))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    for _ in range(2):  # the same update twice, as where a resumed run saves it again
        trainer.save()
    named = [(i, *call[1:]) for i, call in enumerate(calls) if call[0] == "named"]
    assert {new.name for _, _, new in named} >= {
        "model.safetensors",
        "manifest.json",
        "last.json",
        "step-000000",
    }
    for i, old, new in named:
        if not new.name.endswith(".old"):  # an old folder, which is about to be removed
            assert calls[i + 1] == ("flushed", new.parent)
            assert old.suffix == "" or calls[i - 1] == ("flushed", old)
    assert trainer.run.steps() == [0]
    names = [call[-1].name for call in calls]
    assert names.index("metrics.jsonl") < names.index("step-000000"), (
        "no line of an update that is gone on from is lost"
    )


def test_lines_of_updates_that_come_again_are_gone_from_the_disk_before_these_come(tmp_path, monkeypatch):
    metrics, flushed, fsync = Metrics(tmp_path), [], os.fsync
    for update in (1, 2, 3):
        metrics.note({"update": update})

    def note_fsync(descriptor):
        fsync(descriptor)
        flushed.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).read_text())

    monkeypatch.setattr(os, "fsync", note_fsync)
    metrics.cut(2)
    assert flushed == ['{"update": 1}\n{"update": 2}\n']


def test_kept_are_the_newest_the_best_and_until_the_next_one_what_an_interruption_asked_for(make_trainer):
    trainer = make_trainer("training.keep_checkpoints=2")
    progress = trainer.progress
    for update, best, is_interim, kept in (
        (2, None, False, [2]),
        (4, 4, False, [2, 4]),
        (5, 4, True, [2, 4, 5]),
        (6, 4, False, [4, 6]),
        (8, 4, False, [4, 6, 8]),
        (9, 4, True, [4, 6, 8, 9]),
        (11, 4, True, [4, 6, 8, 11]),
        (12, 12, False, [8, 12]),
    ):
        progress.update, progress.best_step = update, best
        trainer.save(is_interim)
        assert trainer.run.steps() == kept
        pointers = [json.loads((trainer.run.path / name).read_text()) for name in ("last.json", "best.json")]
        assert pointers == [{"step": update}, {"step": best or update}]


def test_what_an_interruption_asked_for_is_gone_even_where_the_next_save_was_cut_off(
    make_trainer, monkeypatch
):
    trainer = make_trainer()
    for update, is_interim in ((2, False), (3, True)):
        trainer.progress.update = update
        trainer.save(is_interim)
    trainer = make_trainer()
    trainer.resume()
    assert trainer.run.steps() == [2, 3]
    trainer.progress.update = 4
    with monkeypatch.context() as patch:
        patch.setattr("nmt.training.checkpoint._point", failing)
        with pytest.raises(OSError, match="full"):
            trainer.save()
    assert trainer.run.steps() == [2, 3, 4]
    (trainer.run.step_path(2) / "state.json").write_text("damaged")  # which is no reason to stop
    trainer = make_trainer()
    trainer.resume()
    assert trainer.run.steps() == [2, 4]


def failing(*_):
    raise OSError("the disk is full")


def test_where_a_damaged_checkpoint_is_set_aside_all_points_at_the_one_before(make_trainer):
    trainer = make_trainer()
    for update in (3, 5):
        trainer.progress.update = trainer.progress.best_step = update
        trainer.save()
    os.truncate(trainer.run.step_path(5) / "model.safetensors", 100)
    trainer = make_trainer()
    trainer.resume()
    for name in ("last.json", "best.json"):
        assert json.loads((trainer.run.path / name).read_text()) == {"step": 3}


def test_a_best_checkpoint_that_is_damaged_is_set_aside_and_is_the_best_no_longer(make_trainer, caplog):
    trainer = make_trainer()
    for update in (3, 5):
        trainer.progress.update, trainer.progress.best_step, trainer.progress.best_bleu = update, 3, 7.0
        trainer.save()
    os.truncate(trainer.run.step_path(3) / "model.safetensors", 100)
    trainer = make_trainer()
    trainer.resume()
    assert (trainer.progress.update, trainer.progress.best_step, trainer.progress.best_bleu) == (
        5,
        None,
        None,
    )
    assert json.loads((trainer.run.path / "best.json").read_text()) == {"step": 5}
    assert trainer.run.steps() == [5]
    assert "set aside as damaged-step-000003" in caplog.text


@pytest.mark.parametrize("has_links", [True, False])
def test_a_checkpoint_that_is_superseded_is_never_without_a_copy(has_links, make_trainer, monkeypatch):
    trainer = make_trainer()
    trainer.progress.update, trainer.progress.validation_is_due = 10, True
    trainer.save(is_interim=True)
    trainer.progress.validation_is_due, last = False, trainer.run.step_path(10)
    replace, calls = os.replace, []
    if not has_links:
        monkeypatch.setattr(os, "link", failing)

    def kill_before_the_new_one_has_its_name(source, target):
        calls.append(target)
        if Path(target) == last:
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", kill_before_the_new_one_has_its_name)
        with pytest.raises(KeyboardInterrupt):
            trainer.save(has_tensors=True)
    assert calls
    assert trainer.run.steps() == []
    clear_unfinished(trainer.run)
    trainer = make_trainer()
    trainer.resume()
    assert (trainer.progress.update, trainer.progress.validation_is_due) == (10, True)
    trainer.progress.validation_is_due = False
    trainer.save(has_tensors=True)
    trainer = make_trainer()
    trainer.resume()
    assert (trainer.progress.update, trainer.progress.validation_is_due) == (10, False)
    assert [path.name for path in last.parent.iterdir()] == ["step-000010"]


def test_what_a_process_that_was_killed_had_begun_to_write_is_removed_and_nothing_else(make_trainer):
    trainer = make_trainer()
    trainer.save()
    (begun := trainer.run.checkpoints_path / ".step-000007").mkdir()
    (begun / "model.safetensors").write_bytes(b"half of it")
    names = "best.json", PAGE, "tokenizer.source.model", SHORTLIST
    of_files = {trainer.run.path / f".{name}.4711" for name in names}
    for path in of_files:
        path.write_bytes(b"half of it")
    before = set(trainer.run.path.rglob("*"))
    clear_unfinished(trainer.run)
    left = before - set(trainer.run.path.rglob("*"))
    assert left == {begun, begun / "model.safetensors", *of_files}
    assert trainer.run.steps() == [0]


def test_a_run_that_did_not_say_what_it_learns_from_says_it_from_now_on(make_trainer):
    trainer = make_trainer()
    trainer.save()
    origins = {"data.train": "0a1b"}
    assert load_checkpoint(trainer.run, trainer.step, origins).origins == origins
