"""The commands of the README, run as they stand there, only on less text and for fewer updates."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nmt import grammar

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHORTER = (
    "tokenizer.vocabulary_size=200", "training.max_updates=2", "training.validate_every=2",
    "training.checkpoint_every=2", "decoding.max_length_ratio=0.2", "decoding.max_length_extra=1",
)  # fmt: skip
LESS_TEXT = ("data.num_train=300", "data.num_validation=5", "data.num_test=5")


def test_the_page_is_finished():
    assert "@" not in README


def commands() -> list[str]:
    """Return the commands of all `sh` blocks, each with its continuation lines, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").split("\n")
    return [re.sub(r"\s+", " ", line.split("    #")[0]).strip() for line in lines if line.strip()]


def test_make_has_the_targets_that_the_readme_names():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {command.split()[1] for command in commands() if command.startswith("make ")}
    assert named >= {"demo", "test"}
    for target in named | set(re.findall(r"`make ([a-z-]+)`", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.fixture
def folder(tmp_path):
    """Make a folder with the files that the README speaks of."""
    splits = grammar.generate(num_train=200, num_validation=5, num_test=5)
    texts = {"train": splits["train"], "new": splits["train"][:100]}
    texts |= {"valid": splits["validation"], "test": splits["test"]}
    for name, pairs in texts.items():
        (tmp_path / f"{name}.de").write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
        (tmp_path / f"{name}.en").write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")
        rows = [json.dumps({"de": pair.source, "en": pair.target}) for pair in pairs]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "film.srt").write_text(
        "1\n00:00:01,000 --> 00:00:02,500\nDer Hund schläft.\n", encoding="utf-8"
    )
    return tmp_path


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_every_command_runs_in_the_order_of_the_page(folder):
    run = [command for command in commands() if command.startswith(("nmt ", "echo "))]
    assert len(run) >= 10
    for command in run:
        # The text of Multi30k is not part of the project, but its settings can still be composed.
        if "multi30k" in command:
            command = f"{command} --cfg job"
        elif command.startswith("nmt train"):
            has_own_text = " data" in command or ("resume=true" in command and " -m " not in command)
            command = " ".join([command, *SHORTER, *(() if has_own_text else LESS_TEXT)])
        elif command.startswith("nmt data"):
            command = f"{command} tokenizer.vocabulary_size=200"
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            capture_output=True,
            env={
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "OMP_NUM_THREADS": "1",
                "HF_HOME": str(folder / "hub"),
                "HF_HUB_OFFLINE": "1",
            },
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr.decode()}"
    assert json.loads((folder / "corpus.json").read_text())["splits"]["train"]["num_pairs"] == 200
    assert (folder / "out.en").read_bytes().count(b"\n") == 5
    assert json.loads((folder / "scores.json").read_text())["num_lines"] == 5
