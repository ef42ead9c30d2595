"""Going on with a run from a stranger, or scoring it: what it says of its progress and its text is checked as well."""

import gzip
import json
import os
import re
import resource
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from nmt.data.cache import content_key
from nmt.data.lines import MAX_LINE_BYTES, read_raw_lines
from nmt.errors import DataError
from nmt.runs.metrics import Metrics
from nmt.runs.migration import ADDED_TO_DATA

CHECKPOINT = "checkpoints/step-000002"
FILES = (
    "config.json", "tokenizer.model", "best.json", "last.json", "train.log", "metrics.jsonl", "test.json", "run.json",
    "confidence.json",
    *(f"{CHECKPOINT}/{name}" for name in ("model.safetensors", "training.safetensors", "state.json", "manifest.json")),
)  # fmt: skip


@pytest.fixture
def refused(command, tmp_path, monkeypatch):
    """Return a function that runs a command, and asserts that it is refused in one line, which it returns."""
    monkeypatch.chdir(tmp_path)

    def refused(*arguments):
        code, out, message = command(*arguments)
        assert (code, out) == (2, b""), message
        assert message.count("\n") == 1, message
        assert message.startswith("nmt: ")
        return message

    return refused


def resume(run):
    return ("train", f"run={run.path}", "resume=true", "training.max_updates=3", "device=cpu")


def edit_state(key, value):
    def spoil(run):
        path = run.checkpoint / "state.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
        run.describe(path)

    return spoil


def edit_tensors(change):
    def spoil(run):
        path = run.checkpoint / "training.safetensors"
        tensors = load_file(path)
        change(tensors, next(name for name in sorted(tensors) if name.endswith("/exp_avg")))
        save_file(tensors, path)
        run.describe(path)

    return spoil


def append(name, content):
    def spoil(run):
        with open(run.path / name, "ab") as file:
            file.write(content)

    return spoil


SPOILT = {
    "a word for a count": (edit_state("update", "two"), "state.json: update"),
    "less than nothing": (edit_state("position", -1), "state.json: position"),
    "a word for a loss": (edit_state("best_loss", "low"), "state.json: best_loss"),
    "a state that nobody knows": (edit_state("hook", "os.system"), "state.json: hook"),
    "a moment of another shape": (
        edit_tensors(lambda tensors, name: tensors.update({name: torch.zeros(3)})),
        r"exp_avg is \(3,\), not",
    ),
    "a moment less": (edit_tensors(lambda tensors, name: tensors.pop(name)), "lacks .*/exp_avg"),
    "a tensor that nobody knows": (
        edit_tensors(lambda tensors, name: tensors.update(hook=torch.zeros(3))),
        "has an unknown hook",
    ),
    "figures that are no JSON": (append("metrics.jsonl", b"__import__('os')\n"), "metrics.jsonl"),
    "a wide model": (lambda run: run.edit_config("model.d_ff", 65_536), "weights that fit the settings"),
    "no settings of training": (
        lambda run: run.edit_config("training", "x"),
        "training: settings are needed",
    ),
    "a device for text": (
        lambda run: run.edit_config(
            "data",
            {
                "kind": "files",
                "train": {"source": "/dev/zero", "target": "/dev/full"},
                "validation": {"source": "/dev/zero", "target": "/dev/full"},
                "test": {"source": None, "target": None},
                "max_length": 9,
                "encoding": "utf-8",
                **ADDED_TO_DATA,
            },
        ),
        "data: files are needed.*/dev/zero",
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_what_a_run_says_of_its_progress_is_checked(refused, victim, name):
    spoil, expected = SPOILT[name]
    run = victim()
    spoil(run)
    assert re.search(expected, refused(*resume(run)))


@pytest.fixture
def little_memory():
    """Let this process take no more than a gigabyte from now on."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "arguments", [resume, lambda run: ("verify", f"run={run.path}")], ids=["resume", "verify"]
)
def test_a_file_without_end_takes_neither_time_nor_memory(
    command, victim, tmp_path, monkeypatch, little_memory, name, arguments
):
    monkeypatch.chdir(tmp_path)
    run = victim()
    os.truncate(run.path / name, 30 << 30)  # a sparse file, which takes no room on the disk
    code, _out, message = command(*arguments(run))
    assert code in (0, 1, 2), message
    if name == "metrics.jsonl" and arguments is resume:
        assert code == 2
        assert "lines of at most 1048576 bytes are needed; got more in" in message.splitlines()[-1]


def test_figures_are_kept_up_to_an_update_however_many_there_are(tmp_path, little_memory):
    metrics = Metrics(tmp_path)
    for update in (1, 2, 2, 3):
        metrics.note({"update": update})
    whole = metrics.path.read_bytes()
    with open(metrics.path, "ab") as file:
        file.write(b'{"upd')  # torn
        file.seek(30 << 30)
        file.write(b"\n")
    metrics.cut(2)  # the rest of the file is not read
    assert metrics.path.read_bytes() == whole[: whole.index(b'{"update": 3}')]


@pytest.mark.parametrize("name", ["checkpoints", "train.log", "metrics.jsonl"])
def test_training_writes_nowhere_else(refused, victim, tmp_path, name):
    run = victim()
    outside = tmp_path / "outside"
    (run.path / name).rename(outside)
    (run.path / name).symlink_to(outside)
    before = {path: path.stat().st_mtime_ns for path in [outside, *outside.rglob("*")]}
    assert "which is a link" in refused(*resume(run))
    assert {path: path.stat().st_mtime_ns for path in [outside, *outside.rglob("*")]} == before
    (run.path / "config.json").unlink()  # no longer a run, but a link in it still leads elsewhere
    assert "which is a link" in refused(*resume(run)[:3], "device=cpu", "model=transformer")


def test_text_of_a_run_is_in_files(refused, victim, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    run = victim()
    side = {"source": "pipe", "target": "other"}
    data = {
        "kind": "files",
        "train": side,
        "validation": side,
        "test": side,
        "max_length": 9,
        "encoding": "utf-8",
        **ADDED_TO_DATA,
    }
    run.edit_config("data", data)
    assert "data: files are needed, since the run names them; got pipe" in refused(
        "evaluate", f"run={run.path}"
    )
    run.edit_config("data", {**data, "kind": "pickle"})
    assert "data.kind: one of grammar, files" in refused("evaluate", f"run={run.path}")


@pytest.mark.parametrize("value", [None, 0, "all", [], 10**30])
def test_how_many_checkpoints_there_are(refused, victim, value):
    run = victim()
    run.edit_config("training.keep_checkpoints", value)
    assert "config.json" in refused("translate", f"run={run.path}", "checkpoint=average")


def test_printing_settings_of_a_run_resolves_nothing(nmt, victim):
    run = victim()
    run.edit_config("data", "${oc.env:HOME} ${")
    run.edit_config("evaluation", {"lowercase": "${oc.env:HOME}", "tokenize": "13a"})
    done = nmt("evaluate", f"run={run.path}", "--cfg", "job")
    assert b"lowercase: ${oc.env:HOME}" in done.stdout
    assert os.environ["HOME"].encode() not in done.stdout.replace(os.fsencode(run.path), b"")


def test_a_bomb_is_read_in_pieces(tmp_path):
    endless, many = tmp_path / "endless.gz", tmp_path / "many.gz"
    endless.write_bytes(gzip.compress(bytes(8 * MAX_LINE_BYTES), 1))
    many.write_bytes(gzip.compress(b"ein Wort\n" * MAX_LINE_BYTES, 1))
    tracemalloc.start()
    try:
        with pytest.raises(
            DataError, match=f"input: lines of at most {MAX_LINE_BYTES} bytes are needed.*line 1"
        ):
            next(read_raw_lines(endless, "input"))
        _, peak = tracemalloc.get_traced_memory()
        assert peak < 4 * MAX_LINE_BYTES
        tracemalloc.reset_peak()
        assert set(islice(read_raw_lines(many, "input"), 10_000)) == {b"ein Wort"}
        _, peak = tracemalloc.get_traced_memory()
        assert peak < 1 << 20
    finally:
        tracemalloc.stop()


def test_no_text_passes_for_two_in_the_cache():
    keys = {
        content_key(["a", "\0", "b"], ["c"]),
        content_key(["a"], ["b", "\0", "c"]),
        content_key(["a"], ["\0", "b"], ["c"]),
        content_key(b"a\n\0\nb\n", "c", []),
    }
    assert len(keys) == 4
