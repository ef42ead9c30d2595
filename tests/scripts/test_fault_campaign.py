"""Trainings that are killed at random moments end as one that was not; runs at once share one cache; memory is followed."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"


def run_script(name, folder, *arguments, code=0):
    command = [sys.executable, SCRIPTS / f"{name}.py", "--json", folder / "out.json", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=280, check=False, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads((folder / "out.json").read_text())


@pytest.mark.slow
def test_killed_runs_end_as_the_undisturbed_one(tmp_path):
    result = run_script("fault_campaign", tmp_path, "--kills", "4", "--seed", "3", "training.max_updates=30")
    assert result["kills"] == 4
    assert result["runs_that_differ"] == {}


def test_a_training_that_fails_by_itself_is_no_kill(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    import fault_campaign

    def train(run, overrides, log):
        log.write_text("the reason\n")
        return subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"])

    monkeypatch.setattr(fault_campaign, "train", train)
    with pytest.raises(SystemExit, match="failed by itself:\nthe reason"):
        fault_campaign.disturbed_run(tmp_path / "run", [], random.Random(1), 2, 1000.0)


@pytest.mark.slow
def test_runs_at_once_share_one_cache(tmp_path):
    result = run_script("parallel_runs", tmp_path, "--runs", "4", "training.max_updates=4")
    assert result["ended_alike"] == 4
    assert result["left_half_written_in_the_cache"] == []


@pytest.mark.slow
def test_memory_is_followed(tmp_path):
    arguments = (
        "--minutes",
        "0.4",
        "--every",
        "0.2",
        "--svg",
        tmp_path / "out.svg",
        "training.checkpoint_every=1",
    )
    command = [sys.executable, SCRIPTS / "soak.py", "--json", tmp_path / "out.json", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=280, check=False, text=True)
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["ended_too_early"] == [], done.stdout
    assert len(result["resident_megabytes"]["training"]) > 3
    assert all(value > 1 for value in result["resident_megabytes"]["training"])
    assert (tmp_path / "out.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("samples", "flat"),
    [([9, 5, 5, 5, 5, 5, 5, 5], True), ([1, 2, 3, 4, 5, 6, 7, 8], False), ([5, 5, 5], False), ([], False)],
)
def test_memory_that_grows_or_was_hardly_measured_is_not_flat(samples, flat, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    from soak import is_flat

    assert is_flat(samples) == flat
