"""What libraries that draw figures receive: what metrics.jsonl holds, once, whatever happened to the run."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nmt.tracking.mlflow import MLflow
from nmt.tracking.opening import figures_of
from nmt.tracking.trackers import Lenient, Mark, OnlyNew, read_mark

OF_MACHINE = {"memory_mb", "processors_busy"}


class Collected:
    """A tracker that keeps what it gets, until it is told to fail."""

    def __init__(self):
        self.rows, self.fails = [], False

    def log(self, figures, update):
        if self.fails:
            raise ConnectionError("the server has gone\nfor good")
        self.rows.append((update, dict(figures)))

    def close(self, failed=False):
        self.rows.append("failed" if failed else "closed")


def noted(run):
    """Return the figures of metrics.jsonl: a list of (update, value) for each name that a tracker uses."""
    found = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        for name, value in figures_of(row).items():
            found.setdefault(name, []).append((row["update"], value))
    return found


def events_of(run):
    """Return what TensorBoard shows of a run, in the same form."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    shown = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    shown.Reload()
    return {
        name: [(event.step, event.value) for event in shown.Scalars(name)] for name in shown.Tags()["scalars"]
    }


def assert_shows(shown, run, tolerance):
    """Assert that a tracker shows all figures of metrics.jsonl, each point once, and those of machine and test."""
    expected = noted(run)
    assert {name for name in shown if not name.startswith(("system/", "test/"))} == expected.keys()
    for name, points in expected.items():
        assert [update for update, _ in shown[name]] == [update for update, _ in points], name
        for (_, value), (_, found) in zip(points, shown[name], strict=True):
            assert math.isclose(value, found, rel_tol=tolerance, abs_tol=tolerance), name
    updates = [update for update, _ in expected["training/loss"]]
    for name in OF_MACHINE:
        assert [update for update, _ in shown[f"system/{name}"]] == updates
        assert all(value > 0 for _, value in shown[f"system/{name}"])
    scores = json.loads((run / "test.json").read_text())
    ((update, value),) = shown["test/bleu"]
    assert update == updates[-1]
    assert math.isclose(value, scores["bleu"], rel_tol=tolerance, abs_tol=tolerance)


def logged_records(content):
    """Yield the records of a file in LevelDB's log format, behind the seven bytes that W&B puts before them."""
    position, parts = 7, []
    while position + 7 <= len(content):
        if 32768 - position % 32768 < 7:  # what is left of a block is too small for a header
            position += 32768 - position % 32768
            continue
        length, kind = int.from_bytes(content[position + 4 : position + 6], "little"), content[position + 6]
        parts.append(content[position + 7 : position + 7 + length])
        position += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield b"".join(parts)
            parts = []


def kill_at(folder, name, arguments, update):
    """Train, and kill the process without warning when the figures of an update have been noted."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt", "train", f"run={name}", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1", "WANDB_MODE": "offline"},
    )
    path, deadline = folder / name / "metrics.jsonl", time.monotonic() + 90
    while process.poll() is None and time.monotonic() < deadline:
        if path.exists() and f'"update": {update},' in path.read_text():
            process.send_signal(signal.SIGKILL)
        time.sleep(0.01)
    assert process.wait() == -signal.SIGKILL


def steady(tiny_training, last):
    """Return the overrides of a run that saves at update 4 and then only at its end."""
    dropped = ("training.max_updates", "training.validate_every", "training.checkpoint_every")
    kept = [option for option in tiny_training() if not option.startswith(dropped)]
    return [
        *kept,
        f"training.max_updates={last}",
        "training.validate_every=1000",
        "training.checkpoint_every=4",
    ]


def test_tensorboard_shows_what_metrics_jsonl_holds(nmt, tmp_path, tiny_training):
    pytest.importorskip("tensorboard")
    nmt("train", "run=run", *tiny_training(), "tracking=tensorboard")
    assert_shows(events_of(tmp_path / "run"), tmp_path / "run", 1e-6)
    assert nmt("translate", "run=run", stdin=b"Hund\n").stdout.count(b"\n") == 1


def test_tensorboard_shows_nothing_twice_after_a_run_was_killed(nmt, tmp_path, tiny_training):
    pytest.importorskip("tensorboard")
    options = [*steady(tiny_training, 400), "training.checkpoint_every=100", "tracking=tensorboard"]
    kill_at(tmp_path, "run", options, 130)
    before = events_of(tmp_path / "run")["training/loss"]
    assert before[-1][0] > 100, "figures behind the last checkpoint were shown"
    nmt("train", "run=run", "resume=true", "training.max_updates=140")
    assert len(list((tmp_path / "run" / "tensorboard").iterdir())) == 2
    assert_shows(events_of(tmp_path / "run"), tmp_path / "run", 1e-6)


def test_tracking_changes_nothing_of_a_run(nmt, tmp_path, tiny_training, outcome, changed_files):
    pytest.importorskip("tensorboard")
    for name in ("none", "tensorboard"):
        nmt("train", f"run={name}", *tiny_training(), f"tracking={name}", "device=cpu")
    differing = changed_files(outcome(tmp_path / "none"), outcome(tmp_path / "tensorboard"))
    assert [name for name in differing if not name.startswith("tensorboard/")] == ["config.json"]


@pytest.mark.slow
def test_an_older_run_tracks_nothing_unless_it_is_asked_for(nmt, tmp_path, tiny_training):
    pytest.importorskip("tensorboard")
    nmt("train", "run=run", *tiny_training())
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text())
    del config["tracking"]
    path.write_text(json.dumps(config | {"format": 3}))
    nmt("train", "run=run", "resume=true", "training.max_updates=6")
    assert not (tmp_path / "run" / "tensorboard").exists()
    nmt("train", "run=run", "resume=true", "training.max_updates=8", "tracking=tensorboard")
    assert [update for update, _ in events_of(tmp_path / "run")["training/loss"]] == [7, 8]


def test_mlflow_shows_what_metrics_jsonl_holds_once(nmt, tmp_path, tiny_training):
    pytest.importorskip("mlflow")
    options = [*steady(tiny_training, 400), "training.checkpoint_every=100", "tracking=mlflow"]
    kill_at(tmp_path, "run", options, 130)
    nmt("train", "run=run", "resume=true", "training.max_updates=140")
    mark = json.loads((tmp_path / "run" / "tracking.json").read_text())
    shown = {}
    (folder,) = (tmp_path / "run" / "mlflow").glob(f"*/{mark['id']}")
    for path in (folder / "metrics").rglob("*"):
        if path.is_file():
            lines = [line.split() for line in path.read_text().splitlines()]
            shown[str(path.relative_to(folder / "metrics"))] = [
                (int(step), float(value)) for _, value, step, *_ in lines
            ]
    # The first values that were shown stay. Times are left out: those shown are of the process that was killed.
    times = ("seconds", "tokens_per_second", "seconds_waiting_for_data", "seconds_validating")
    expected = {name: points for name, points in noted(tmp_path / "run").items() if not name.endswith(times)}
    assert {name: shown[name] for name in expected} == expected
    assert shown["training/loss"][-1][0] == 140
    assert (folder / "params" / "model.kind").read_text() == "transformer"


@pytest.mark.parametrize(("failed", "status"), [(False, "FINISHED"), (True, "FAILED")])
def test_mlflow_knows_how_a_run_ended_and_of_which_sweep_it_is(tmp_path, failed, status):
    pytest.importorskip("mlflow")
    (tmp_path / "dropout" / "3").mkdir(parents=True)
    tracker = MLflow(tmp_path / "dropout" / "3", "nmt", None, {})
    tracker.close(failed)
    run = tracker.client.get_run(tracker.run_id)
    assert (run.info.status, run.info.run_name) == (status, "dropout/3")


def test_training_does_not_wait_long_for_a_server_of_mlflow_that_has_gone(tmp_path, monkeypatch):
    pytest.importorskip("mlflow")
    import urllib3

    for name in ("MAX_RETRIES", "TIMEOUT"):
        monkeypatch.delenv(f"MLFLOW_HTTP_REQUEST_{name}", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")  # where nobody listens
    waited = []
    monkeypatch.setattr(urllib3.util.retry.time, "sleep", waited.append)
    with pytest.raises(Exception, match=r"127\.0\.0\.1"):
        MLflow(tmp_path, "nmt", None, {})
    assert sum(waited) <= 10


def test_mlflow_shows_once_what_a_killed_process_showed_in_part(tmp_path):
    pytest.importorskip("mlflow")
    first = MLflow(tmp_path, "nmt", None, {})
    first.log({"training/loss": 5.0, "training/epoch": 0.0}, 1)
    first.log({"training/loss": 4.0}, 2)  # and here the process was killed
    again = MLflow(tmp_path, "nmt", first.run_id, {})
    for update, loss in ((1, 5.0), (2, 4.0), (3, 3.0)):
        again.log({"training/loss": loss, "training/epoch": 0.0}, update)
    again.log({"validation/loss": 3.5}, 3)
    assert {
        name: [(metric.step, metric.value) for metric in again.client.get_metric_history(first.run_id, name)]
        for name in ("training/loss", "training/epoch", "validation/loss")
    } == {
        "training/loss": [(1, 5.0), (2, 4.0), (3, 3.0)],
        "training/epoch": [(1, 0.0), (2, 0.0), (3, 0.0)],
        "validation/loss": [(3, 3.5)],
    }


def test_wandb_offline_holds_what_metrics_jsonl_holds_once(nmt, tmp_path, tiny_training):
    pytest.importorskip("wandb")
    from wandb.proto.wandb_internal_pb2 import Record

    options = [*steady(tiny_training, 8), "training.max_updates=4", "tracking=wandb"]
    nmt("train", "run=run", *options, WANDB_MODE="offline")
    nmt("train", "run=run", "resume=true", "training.max_updates=8", WANDB_MODE="offline")
    shown = {}
    for path in sorted((tmp_path / "run" / "wandb").rglob("*.wandb")):
        for content in logged_records(path.read_bytes()):
            record = Record()
            record.ParseFromString(content)
            if record.WhichOneof("record_type") == "history":
                for item in record.history.item:
                    name = item.key or "/".join(item.nested_key)
                    shown.setdefault(name, []).append((record.history.step.num, json.loads(item.value_json)))
    assert shown["training/loss"] == noted(tmp_path / "run")["training/loss"]
    assert [update for update, _ in shown["system/memory_mb"]] == list(range(1, 9))
    assert [update for update, _ in shown["test/bleu"]] == [4, 8]
    assert not any(path.is_symlink() for path in (tmp_path / "run").rglob("*"))


def test_only_what_is_new_is_handed_on(tmp_path):
    collected = Collected()
    first = OnlyNew(collected, tmp_path, Mark(kind="wandb", id="a" * 12))
    for update in (2, 4, 4, 6):
        first.log({"training/loss": float(update)}, update)
    assert [update for update, _ in collected.rows] == [2, 4, 4, 6]
    mark = read_mark(tmp_path, "wandb")
    assert mark.update == 6
    again = OnlyNew(collected, tmp_path, mark)
    for update in (4, 6, 8):
        again.log({"training/loss": float(update)}, update)
    assert [update for update, _ in collected.rows] == [2, 4, 4, 6, 8]
    last = OnlyNew(collected, tmp_path, read_mark(tmp_path, "wandb"))
    for kind in ("training", "validation"):  # the process was killed between the two
        last.log({f"{kind}/loss": 8.0}, 8)
    assert collected.rows[5:] == [(8, {"validation/loss": 8.0})]
    assert read_mark(tmp_path, "wandb").kinds == ["training", "validation"]
    assert read_mark(tmp_path, "mlflow") is None


def test_a_tracker_that_fails_costs_no_training_and_is_named_once(caplog):
    collected = Collected()
    tracker = Lenient(collected)
    tracker.log({"training/loss": 1.0}, 1)
    collected.fails = True
    for update in (2, 3):
        tracker.log({"training/loss": 1.0}, update)
    tracker.close()
    assert collected.rows == [(1, {"training/loss": 1.0})]
    assert [record.message for record in caplog.records] == [
        "tracking: the server has gone; nothing more is shown, and training goes on"
    ]


@pytest.mark.parametrize("kind", ["tensorboard", "wandb", "mlflow"])
def test_an_extra_that_is_not_there_is_named_before_anything_is_written(nmt, tmp_path, kind):
    (tmp_path / "faked").mkdir()
    (tmp_path / "faked" / f"{kind}.py").write_text("raise ImportError('no module of that name')\n")
    done = nmt("train", "run=new", f"tracking={kind}", code=2, PYTHONPATH=str(tmp_path / "faked"))
    assert done.stderr.decode() == (
        f"nmt: tracking: the extra `{kind}` is needed: pip install 'nmt[{kind}]'; got no module of that name\n"
    )
    assert not Path(tmp_path / "new").exists()


def test_a_run_whose_tracker_cannot_begin_goes_on_as_its_error_says(nmt, tmp_path, tiny_training):
    pytest.importorskip("tensorboard")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "train.log").touch()  # of a run that stopped early
    (tmp_path / "run" / "tensorboard").touch()  # where its folder would be
    options = [*tiny_training(), "training.max_updates=1", "run=run", "resume=true"]
    message = nmt("train", *options, "tracking=tensorboard", code=2).stderr.decode().split("\n")[-2]
    advice = "run=run resume=true tracking=none"
    assert message.startswith("nmt: tracking: tensorboard that can begin is needed; got ")
    assert message.endswith(f"; {advice} trains without")
    nmt("train", *advice.split())
    assert (tmp_path / "run" / "test.json").exists()


def test_a_project_is_a_plain_name(nmt, tmp_path):
    message = nmt("train", "tracking=wandb", "tracking.project=../else", code=2).stderr.decode()
    assert message.startswith("nmt: tracking.project: ")
    assert list(tmp_path.iterdir()) == []
