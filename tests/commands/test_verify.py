"""nmt verify: a run that matches its record, and runs that differ from theirs."""

import json
import os
import shutil

import pytest


@pytest.fixture
def copy(trained_run, tmp_path):
    shutil.copytree(trained_run, tmp_path / "run")
    return tmp_path / "run"


def edit(path, change):
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


def test_a_good_run_is_the_same(nmt, copy):
    printed = nmt("verify", "run=run").stdout.decode()
    rows = {line.split("  ")[0]: line.rstrip() for line in printed.split("\n") if line}
    for name in ("settings", "tokenizer.model", "train text", "test text", "bleu", "chrf", "loss"):
        assert rows[name].endswith("  the same"), printed
    assert printed.rstrip().endswith("the same to the last character")


def test_each_difference_is_a_line(nmt, copy):
    record = json.loads((copy / "run.json").read_text())

    def spoil(values):
        values["test"]["scores"]["bleu"] += 1
        values["data"]["train"]["hash"] = "0" * 24
        values["tokenizer"]["tokenizer.model"] = "f" * 64

    edit(copy / "run.json", spoil)
    done = nmt("verify", "run=run", code=1)
    lines = done.stderr.decode().split("\n")[:-1]
    bleu = record["test"]["scores"]["bleu"]
    assert lines == [
        f"nmt: run: tokenizer.model: ffffffffffff was recorded; got {record['tokenizer']['tokenizer.model'][:12]}",
        f"nmt: run: train text: 000000000000 was recorded; got {record['data']['train']['hash'][:12]}",
        f"nmt: run: bleu: {bleu + 1:.4f} was recorded; got {bleu:.4f}",
    ]
    assert done.stdout.decode().count("NOT THE SAME") == 3
    edit(copy / "config.json", lambda values: values["data"].update(num_test=19))
    message = nmt("verify", "run=run", code=1).stderr.decode()
    assert "run: settings: " in message
    assert "run: test text: " in message


def test_curves_of_other_weights_are_a_difference(nmt, copy):
    edit(copy / "confidence.json", lambda values: values.update(weights="0" * 64))
    done = nmt("verify", "run=run", code=1)
    assert done.stderr.decode().startswith(
        "nmt: run: weights of confidence.json: 000000000000 was recorded; got "
    )
    edit(copy / "confidence.json", lambda values: values.update(checkpoint="step-000099"))
    assert b"000000000000 was recorded; got nothing" in nmt("verify", "run=run", code=1).stderr
    (copy / "confidence.json").write_text("{}")
    lines = nmt("verify", "run=run", code=1).stderr.decode().split("\n")[:-1]
    assert len(lines) == 1
    assert "confidence.json: format: a value is needed" in lines[0]


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGE = {"flipped": flip, "cut": lambda path: os.truncate(path, 9), "gone": lambda path: path.unlink()}


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("model.safetensors", "flipped"),
        ("training.safetensors", "flipped"),
        ("training.safetensors", "gone"),
        ("state.json", "cut"),
        ("manifest.json", "cut"),
    ],
)
@pytest.mark.parametrize("checkpoint", ["best", "other"])
def test_every_file_of_every_checkpoint_is_looked_at(main, copy, name, damage, checkpoint):
    best = json.loads((copy / "best.json").read_text())["step"]
    (other,) = {2, 4} - {best}
    step = f"step-{best if checkpoint == 'best' else other:06d}"
    DAMAGE[damage](copy / "checkpoints" / step / name)
    code, out, message = main("verify", f"run={copy}")
    assert code == 1
    first, *rest = message.split("\n")[:-1]
    assert first.startswith(f"nmt: {copy}: {step}/{name}: ")
    assert f"files of {step}" in out
    assert out.count("NOT THE SAME") == 1
    is_needed = checkpoint == "best" and name in ("model.safetensors", "manifest.json")
    assert len(rest) == is_needed, "what it cannot be scored for is said as well"
    assert ("bleu" in out) != is_needed


def test_a_name_in_a_manifest_leads_nowhere_else(main, copy, tmp_path):
    path = next(copy.glob("checkpoints/*/manifest.json"))
    (tmp_path / "secret").write_text("mine")
    edit(path, lambda facts: facts.update({"../../../secret": {"bytes": 4, "sha256": "0" * 64}}))
    code, _out, message = main("verify", f"run={copy}")
    assert (code, message) == (1, f"nmt: {copy}: {path.parent.name}/../../../secret: no name of a file\n")


def test_a_tolerance_is_kept_to(nmt, copy):
    edit(
        copy / "run.json",
        lambda values: values["test"]["scores"].update(chrf=values["test"]["scores"]["chrf"] + 0.5),
    )
    assert nmt("verify", "run=run", code=1).stderr.count(b"\n") == 1
    nmt("verify", "run=run", "tolerance=0.6")


def test_runs_that_recorded_less(nmt, copy):
    record = (copy / "run.json").read_text()
    # A run without test scores, such as one that was stopped: only its validation score can be compared.
    edit(copy / "run.json", lambda values: values.update(test=None))
    printed = nmt("verify", "run=run").stdout.decode()
    assert "validation bleu" in printed
    edit(copy / "run.json", lambda values: values["validation"].update(bleu=99.0))
    assert b"validation bleu: 99.0000 was recorded" in nmt("verify", "run=run", code=1).stderr
    # A run of an older version has only its scores, and no run.json.
    (copy / "run.json").unlink()
    printed = nmt("verify", "run=run").stdout.decode()
    assert "bleu" in printed
    assert "settings" not in printed
    (copy / "test.json").unlink()
    message = nmt("verify", "run=run", code=2).stderr.decode()
    assert message.startswith("nmt: run: a run that recorded its scores is needed; got run")
    (copy / "run.json").write_text(record)
    shutil.rmtree(copy / "checkpoints")
    assert b"holds no model yet" in nmt("verify", "run=run", code=2).stderr


def test_a_run_that_was_killed_after_a_better_checkpoint_is_the_same(nmt, copy):
    def before(values):
        values["validation"] = {"checkpoint": "step-000001", "bleu": 99.0}
        values["test"] = None

    edit(copy / "run.json", before)
    assert "NOT THE SAME" not in nmt("verify", "run=run").stdout.decode()
