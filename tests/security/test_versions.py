"""Libraries that are older than is safe are refused where they are needed, in one line with both versions."""

import tomllib
from pathlib import Path

import pytest

from nmt import versions
from nmt.errors import UserError
from nmt.versions import FLOORS, require

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "hydra-core": ["train", "--cfg", "job"],
    "torch": ["translate", "run={run}"],
    "sentencepiece": ["train", "run=new"],
    "datasets": ["train", "run=new", "data=hub", "data.path=json"],
    "ctranslate2": ["export", "run={run}", "output=exported"],
}
OLD = {
    "hydra-core": "1.3.5",
    "torch": "2.10.1+cpu",
    "sentencepiece": "0.2.2",
    "datasets": "5.0",
    "ctranslate2": "4.8",
}


@pytest.mark.parametrize("name", FLOORS)
def test_an_old_library_is_refused_in_one_line(nmt, good_run, tmp_path, name):
    if name in ("ctranslate2", "datasets"):
        pytest.importorskip(name)
    faked = tmp_path / "faked" / f"{name.replace('-', '_')}-{OLD[name]}.dist-info"
    faked.mkdir(parents=True)
    (faked / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {OLD[name]}\n")
    arguments = [argument.format(run=good_run) for argument in COMMANDS[name]]
    done = nmt(*arguments, code=2, PYTHONPATH=str(tmp_path / "faked"))
    message = done.stderr.decode()
    assert message.startswith(f"nmt: {name}: version {FLOORS[name]} or later is needed"), message
    assert f"got {OLD[name]};" in message
    assert message.count("\n") == 1
    assert done.stdout == b""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["faked"]


@pytest.mark.parametrize(
    "installed", ["2.11", "2.11.0", "2.11.0+cu130", "2.13.1", "3.0", "10.0.0rc1", "2.11.0a0+git"]
)
def test_as_new_as_is_needed(monkeypatch, installed):
    monkeypatch.setattr(versions, "version", lambda name: installed)
    require("torch")


@pytest.mark.parametrize("installed", ["2.10.9", "2.9", "1.13.1", "2", "0", "unknown"])
def test_older_than_is_needed(monkeypatch, installed):
    monkeypatch.setattr(versions, "version", lambda name: installed)
    with pytest.raises(UserError, match=rf"torch: version 2.11 or later is needed.*; got {installed};"):
        require("torch")


def test_floors_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(text for name in ("export", "hub") for text in project["optional-dependencies"][name]),
    ]
    for name, floor in FLOORS.items():
        assert any(text.split(",")[0] == f"{name}>={floor}" for text in wanted), name
