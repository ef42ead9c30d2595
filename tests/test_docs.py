"""The site: every key on its page, every page in its navigation, nothing that a reader would have to fetch."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from itertools import groupby, takewhile
from pathlib import Path

import pytest
import yaml

from nmt.cli import keys
from nmt.cli.commands import COMMANDS
from nmt.cli.compose import compose
from nmt.cli.options import Options

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_the_reference_has_every_key_with_its_meaning(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from reference_page import page

    text = page()
    groups = {group.name: group.prefix for command in COMMANDS for group in keys.page(command).groups}
    assert {"model", "tracking", "sweep", "data/filter"} <= groups.keys()
    num_keys = 0
    for group, prefix in groups.items():
        assert f"\n### {group}\n" in text
        for choice in keys.choices(group):
            section = text.split(f"\n#### {group}={choice}\n")[1].split("\n#")[0]
            for key in keys.page(choice, group).keys:
                assert f"| `{prefix}{key.name}` | `{key.default}` |" in section
                num_keys += 1
    assert num_keys > 150
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert {row.count("|") for row in rows} == {4}, "no bar of a comment ends a cell"


def navigation(entries):
    for entry in entries:
        for value in entry.values():
            yield from navigation(value) if isinstance(value, list) else [value]


def test_the_navigation_names_pages_that_are_there():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    named = set(navigation(settings["nav"]))
    assert named - {"reference.md"} <= {page.name for page in PAGES}
    assert {"index.md", "tour.md", "models.md", "sweeps.md", "tracking.md"} <= named
    assert settings["theme"]["font"] is False
    assert settings["strict"] is True


def commands_of(path):
    """Yield the arguments of each nmt command of a page, without what the shell reads: pipes, redirections, comments."""
    blocks = re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    text = "\n".join(blocks).replace("\\\n", " ").replace("$SLURM_ARRAY_TASK_ID", "1")
    for line in re.findall(r".*\bnmt .*", text):
        words = shlex.shlex(line, posix=True, punctuation_chars="|&<>;")
        words.whitespace_split, words.commenters = True, "#"
        for is_separator, part in groupby(words, key=lambda word: word in ("|", "&&", ";", "&")):
            command = list(takewhile(lambda word: word not in ("<", ">"), part))
            if not is_separator and command[:1] == ["nmt"]:
                yield command[1:]


@pytest.fixture
def composed_in(tmp_path, trained_run, monkeypatch):
    """Return a function that composes a command in a folder that has the runs and the settings that it starts from."""

    def compose_command(page, command, *arguments):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        arguments = [word.replace("=/", "=") for word in arguments]  # all paths are in the folder
        runs = re.findall(r"(?:teacher|from_run|reverse|against)=\[?([\w/,.-]+)", " ".join(arguments))
        runs += [] if command == "train" else re.findall(r"\brun=([\w/.-]+)", " ".join(arguments))
        for name in {name for names in runs for name in names.split(",")}:
            run = folder / ("outputs/mine" if name == "last" else name)
            shutil.copytree(trained_run, run)
            typed = " ".join(arguments)
            if "data.train." in typed and "data=" not in typed:  # the run is of files, too
                settings = json.loads((run / "config.json").read_text())
                (run / "config.json").write_text(json.dumps(settings | {"data": files}))
        for name, content in re.findall(
            r"`(settings/\S+?\.yaml)`.*?```yaml\n(.*?)```", page.read_text(), re.DOTALL
        ):
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text(content)
        monkeypatch.chdir(folder)
        given = [word for word in arguments if word not in ("…", "...")]
        own_text = ["data=files", *text] if len(given) < len(arguments) else []
        options = Options(COMMANDS[command], [*given, *own_text])
        return compose(command, options.overrides, options.config_directory).settings()

    text = [
        f"data.{split}.{side}={side}" for split in ("train", "validation") for side in ("source", "target")
    ]
    files = compose("train", ["data=files", *text], None).values["data"]
    return compose_command


@pytest.mark.parametrize("path", [README, *PAGES], ids=lambda path: path.name)
def test_commands_of_the_pages_can_be_composed(path, composed_in):
    """Each command has only keys, groups, choices and values that exist; nothing is trained."""
    for command, *arguments in commands_of(path):
        if command == "train" and "-m" in arguments:
            names_are_known(arguments)
        elif command in COMMANDS and not {"--help", "--completion"} & set(arguments):
            composed_in(path, command, *arguments)


def names_are_known(arguments):
    """Check the keys and choices of a sweep, whose values are several."""
    names = {key.name for key in keys.page("train").keys}
    groups = {group.name for group in keys.page("train").groups}
    for group in groups - {"experiment"}:
        names |= {
            f"{group.replace('/', '.')}.{key.name}"
            for choice in keys.choices(group)
            for key in keys.all_keys(group, choice)
        }
    for argument in arguments:
        key, _, value = argument.partition("=")
        assert key == "-m" or key in names | groups or key.startswith("hydra"), argument
        if key in groups:
            assert set(value.split(",")) <= set(keys.choices(key)), argument


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path):
    pytest.importorskip("material")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        check=True,
    )
    for page in (tmp_path / "site").rglob("*.html"):
        fetched = re.findall(
            r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?(https?://[^\" >]+)", page.read_text()
        )
        assert fetched == [], page


def test_the_tree_of_files_is_the_one_there_is(monkeypatch):
    """Where this fails: python scripts/tree.py --write"""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from tree import BLOCK, ORDER, PAGE, tree

    (shown,) = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert shown == f"```text\n{tree()}```\n"
    folders = {path.parent.name for path in (ROOT / "nmt").glob("*/__init__.py")}
    assert set(ORDER) == folders


def test_the_examples_of_the_page_about_python_run(trained_run, tmp_path, monkeypatch, capsys):
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "mine").symlink_to(trained_run)
    (tmp_path / "text.de").write_text("Der Hund schläft.\nEin Mann liest.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("beam_size: ") for line in lines), "the message of the last example"
    assert len(lines) > 8


@pytest.mark.parametrize("page", ["translating.md", "scale.md"])
def test_the_keys_of_translate_and_score_on_a_page_are_there(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    commands = re.findall(r"^nmt (translate|score|align) (.*)$", text, re.MULTILINE)
    assert commands
    for command, arguments in commands:
        names = {key.name for key in keys.page(command).keys} | {"decoding"}
        for choice in keys.choices("decoding"):
            names |= {f"decoding.{key.name}" for key in keys.all_keys("decoding", choice)}
        for key in re.findall(r"(?<=[ '])([a-z_.0-9]+)=", f" {arguments}"):
            assert key in names, f"{key} in nmt {command} {arguments}"
