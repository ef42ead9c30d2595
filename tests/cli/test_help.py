"""Help on one screen, a page for each topic, completion in the shells, and the plan."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from nmt.cli import keys
from nmt.cli.commands import COMMANDS
from nmt.cli.value_types import named_values
from nmt.wording import duration

ROOT = Path(__file__).parents[2]

BIN = Path(sys.executable).parent


@pytest.mark.parametrize("arguments", [[], ["--help"], *([command, "--help"] for command in COMMANDS)])
def test_help_fits_one_screen_and_shows_examples(nmt, arguments):
    lines = nmt(*arguments, COLUMNS="100").stdout.decode().split("\n")
    assert len(lines) <= 41
    assert max(map(len, lines)) <= 110
    name = " ".join(["nmt", *arguments[:-1]])
    assert sum(line.startswith(f"  {name} ") for line in lines) >= 1
    assert any("--cfg job" in line for line in lines)


def test_help_is_quick_and_imports_nothing_slow():
    command = (
        "import sys; from nmt.cli.main import main; main(['train', '--help']); main(['--complete', 'train', 'mod|']);"
        "print([name for name in ('torch', 'hydra', 'pydantic', 'numpy') if name in sys.modules])"
    )
    began = time.monotonic()
    done = subprocess.check_output([sys.executable, "-c", command])
    assert done.endswith(b"\n[]\n")
    assert time.monotonic() - began < 5, "half a second on a machine that does nothing else"


def test_the_page_of_all_commands_names_each_and_the_version_is_told(main):
    _, page, _ = main("--help")
    assert page.startswith("nmt: train")
    for command in COMMANDS:
        assert page.count(f"  nmt {command} ") == 2, "what it is for, and an example"
    assert re.fullmatch(r"nmt \d+\.\d+\.\d+\n", main("--version")[1])


@pytest.mark.parametrize("command", COMMANDS)
def test_all_keys_are_there(main, command):
    _, text, _ = main(command, "--help", "all")
    groups = {group.name for group in keys.page(command).groups}
    assert ("length_penalty: 1.0" in text) == ("decoding" in groups)
    assert ("data/filter=clean" in text) == ("data" in groups)
    assert "hydra:" not in text
    for line in (
        (ROOT / "conf" / f"{command}.yaml").read_text(encoding="utf-8").split("hydra:")[0].split("\n")
    ):
        assert line in text


def flat(values, prefix=""):
    for key, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        elif key not in ("kind", "defaults"):
            yield f"{prefix}{key}", value


@pytest.mark.parametrize("path", sorted((ROOT / "conf").rglob("*.yaml")), ids=lambda path: path.stem)
def test_the_reference_reads_what_yaml_reads(path):
    folder = path.parent.relative_to(ROOT / "conf").as_posix()
    group = None if folder == "." else folder
    expected = yaml.safe_load(path.read_text(encoding="utf-8"))
    expected.pop("hydra", None)
    found = keys.page(path.stem, group)
    assert {key.name: yaml.safe_load(key.default) for key in found.keys} == dict(flat(expected))
    assert found.purpose
    named = [item for item in expected.get("defaults", []) if isinstance(item, dict)]
    pairs = [pair for item in named for pair in item.items() if not pair[0].startswith("override")]
    assert [(group.name, group.default) for group in found.groups if "/" not in group.name] == pairs


def test_topics(nmt):
    assert "model.cell=lstm" in nmt("train", "--help", "model=rnn").stdout.decode()
    group = nmt("train", "--help", "schedule").stdout.decode()
    assert "schedule=noam" in group
    assert "schedule.warmup_updates=4000" in group
    key = nmt("train", "--help", "model.dropout").stdout.decode()
    assert key.startswith("model.dropout=0.3\n  share of activations zeroed in training\n")
    assert "model=transformer_base" in key
    assert "precision=auto" in nmt("translate", "--help=precision").stdout.decode()
    for topic, expected in (("modle", "did you mean model?"), ("model=rn", "did you mean rnn?"), ("model.dropuot", "did you mean model.dropout?")):  # fmt: skip
        assert expected in nmt("train", "--help", topic, code=2).stderr.decode()


def test_values_are_those_of_the_settings_and_comments_name_them_all():
    train = COMMANDS["train"]
    assert named_values(train, "precision") == ["auto", "float32", "bfloat16", "float16"]
    assert named_values(train, "resume") == ["false", "true"]
    assert named_values(train, "sweep.prune") == ["false", "true"]
    assert named_values(train, "run") == []
    assert named_values(train, "model.attention.join") == ["input", "output", "output_only"]
    assert named_values(train, "training.max_tokens") == ["auto"]
    for command in COMMANDS.values():
        for place, key in keys.everywhere(command.name):
            values = named_values(command, key.name)
            is_changed = "_" in place or place == "data/filter=clean"  # a comment there says why
            if values not in ([], ["false", "true"]) and not is_changed:
                assert set(values) <= set(re.findall(r"\w+", f"{key.comment} {key.default}")), key


CASES = [
    ("nmt tr", ["train", "translate"]),
    ("nmt train mod", ["model=", "model."]),
    ("nmt train model=tra", ["transformer", "transformer_base", "transformer_big", "transformer_deep",
                             "transformer_small", "transformer_tiny"]),
    ("nmt train model=rnn model.ce", ["model.cell="]),
    ("nmt train model=rnn model.cell=", ["gru", "lstm", "tanh"]),
    ("nmt train model.cell", []),
    ("nmt train experiment=multi30k_rnn model.ce", ["model.cell="]),
    ("nmt train experiment=multi30k_rnn model=transformer model.ce", []),
    ("nmt train precision=b", ["bfloat16"]),
    ("nmt train --help trac", ["tracking"]),
    ("nmt train --pl", ["--plan"]),
    ("nmt translate --pl", []),
    ("nmt evaluate split=", ["test", "validation"]),
    ("nmt --completion z", ["zsh"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "expected"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_bash_completes(tmp_path, line, expected):
    """Ask bash itself, as its line editor does, which splits words at `=` and replaces only the part behind it."""
    script = f"""
        eval "$(nmt --completion bash)"
        COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}
        compopt() {{ echo "option: $2" >&2; }}
        _nmt
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert sorted(word for word in done.stdout.split("\n") if word) == sorted(expected)
    is_open = bool(expected) and expected[0][-1] in "=."
    assert ("option: nospace" in done.stderr) == is_open
    assert ("option: default" in done.stderr) == (not expected)


# Stands for zsh's line editor: what it gives a completion function, and how it takes the completions.
ZSH = """
    compdef() { :; }
    compset() { :; }
    _files() { print input.de; }
    compadd() { [[ $1 == -S ]] && shift 2; shift; print -l -- "$@"; }
    eval "$(nmt --completion zsh)"
    words=(${(z)1}); [[ $1 == *' ' ]] && words+=('')
    CURRENT=$#words
    _nmt
"""


@pytest.mark.parametrize(("line", "expected"), [*CASES, ("nmt translate input=in", [])])
@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh at hand")
def test_zsh_completes(tmp_path, line, expected):
    """Where nothing of nmt's own fits, file names are offered."""
    (tmp_path / "input.de").write_text("")
    done = subprocess.run(
        ["zsh", "-f", "-c", ZSH, "zsh", line], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "HOME": str(tmp_path), "PATH": f"{BIN}:{os.environ['PATH']}"},
    )  # fmt: skip
    found = [word.partition("\t")[0] for word in done.stdout.split("\n") if word]
    last = line.split(" ")[-1]
    before = last[: max(last.rfind("="), last.rfind(":")) + 1]
    if expected:
        assert sorted(word.removeprefix(before) for word in found) == sorted(expected)
    else:
        assert found in ([], ["input.de"], [f"{before}input.de"])
    if last.startswith("input="):
        assert found


def test_a_script_is_printed_for_each_shell(nmt):
    for shell in ("bash", "zsh"):
        assert b"nmt --complete" in nmt("--completion", shell).stdout


def test_an_unknown_shell_is_refused(nmt):
    assert nmt("--completion", "csh", code=2).stderr == (
        b"nmt: --completion: one of bash, zsh is needed; got csh\n"
    )


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, "0 s"), (89, "89 s"), (100, "2 min"), (3600, "60 min"), (3 * 3600 + 61, "3 h 01 min"),
     (39 * 3600 + 54 * 60 + 36, "1 d 16 h"), (48 * 3600, "2 d 0 h")],
)  # fmt: skip
def test_times_are_told_as_people_do(seconds, told):
    assert duration(seconds) == told


def test_the_plan_says_what_filters_leave_out(nmt, tmp_path, tiny_training):
    assert (
        b"what would be trained and for how long; makes no folder"
        in nmt("train", "--help", COLUMNS="110").stdout
    )
    done = nmt("train", "--plan", *tiny_training(), "data.filter.max_words=8", "device=cpu")
    assert re.search(rb"^filter +left out of 300 training pairs: \d+ ", done.stderr, re.MULTILINE)


def test_the_plan_makes_no_folder_and_comes_true(nmt, tmp_path, tiny_training):
    options = [*tiny_training(), "run=run", "device=cpu"]
    done = nmt("train", "--plan", *options)
    assert list(tmp_path.iterdir()) == []
    plan = done.stdout.decode()
    assert re.search(r"^updates +4 at most, \d\.\d epochs, 2 validations$", plan, re.MULTILINE)
    # The plan runs the 4 updates of the training at most, and does not time the first half, which warms up caches.
    assert re.search(
        r"^time +about \d+ s at most, .* an update, measured just now over 2 of them", plan, re.MULTILINE
    )
    assert re.search(r"^text +the built-in German and English", plan, re.MULTILINE)
    log = nmt("train", *options).stderr.decode()
    first, second, *_ = (line.split()[0] for line in log.splitlines())
    assert (first, second) == ("run", "text"), "what a person asks first"
    assert re.search(r"^update 1 .* at most \d+ s to go$", log, re.MULTILINE)
    for line in plan.splitlines():
        if not line.startswith(("updates", "time")):
            assert line in log
    left = nmt("train", "--plan", "run=run", "resume=true", "training.max_updates=10").stdout.decode()
    assert re.search(r"^updates +6 at most, .*, 3 validations$", left, re.MULTILINE)
    typed = ("training.max_updates=9", "training.validate_every=3")  # validations after updates 6 and 9
    left = nmt("train", "--plan", "run=run", "resume=true", *typed).stdout.decode()
    assert re.search(r"^updates +5 at most, .*, 2 validations$", left, re.MULTILINE)
    refused = nmt("train", "run=run", "resume=true", "data.test_split=x", code=2).stderr
    assert refused == b"nmt: data.test_split: no such key with these settings; data=hub has it\n"
    done = nmt("train", "--plan", "run=run", "resume=true").stdout.decode()
    assert re.search(r"^updates +0 at most", done, re.MULTILINE)
    assert "time " not in done
    assert json.loads((tmp_path / "run" / "last.json").read_text()) == {"step": 4}
    assert b"a single run is needed" in nmt("train", "-m", "--plan", code=2).stderr
