"""The plain install: what the base alone suffices for, and how a missing extra is reported."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

# Hides from Python all modules that the base does not bring, as if they were not installed.
BLOCKING = """
import sys
from importlib.machinery import PathFinder

class Base(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {blocked} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Base
"""


def base() -> set[str]:
    """Return the names of all that `pip install nmt` brings."""
    found, waiting = set(), [Requirement(text) for text in PROJECT["dependencies"]]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        is_meant = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        if is_meant and name not in found:
            found.add(name)
            try:
                waiting += map(Requirement, requires(name) or [])
            except PackageNotFoundError:
                continue
    return found


@pytest.fixture(scope="session")
def bare(tmp_path_factory) -> str:
    """Return a folder for PYTHONPATH with which Python finds nothing but the base."""
    own, blocked = base() | {"nmt"}, []
    for module, distributions in packages_distributions().items():
        if not own & set(map(canonicalize_name, distributions)):
            blocked.append(module)
    assert {"hypothesis", "pytest"} <= set(blocked)
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(BLOCKING.format(blocked=set(blocked)))
    return str(folder)


def test_training_translating_and_evaluating_need_the_base_alone(nmt, bare, tmp_path, tiny_training):
    trained = nmt("train", "run=run", *tiny_training(), PYTHONPATH=bare)
    said = trained.stderr.decode()
    assert "warn" not in said.lower(), said
    assert "extra" not in said, said
    translated = nmt("translate", "run=run", stdin=b"Der Hund schl\xc3\xa4ft.\n\n", PYTHONPATH=bare)
    assert translated.stdout.count(b"\n") == 2
    assert nmt("evaluate", "run=run", PYTHONPATH=bare).stdout.startswith(b"BLEU")
    nmt("report", "run=run", "output=report.html", PYTHONPATH=bare)
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_no_module_needs_an_extra_before_it_is_asked_for_something(bare):
    paths = (path.relative_to(ROOT).with_suffix("") for path in (ROOT / "nmt").rglob("*.py"))
    names = sorted(".".join(path.parts).removesuffix(".__init__") for path in paths)
    names.remove("nmt.__main__")
    subprocess.run(
        [sys.executable, "-c", f"import {', '.join(names)}"],
        env={**os.environ, "PYTHONPATH": bare},
        check=True,
    )


TABLE = "data=table data.source_column=de data.target_column=en data.train=no.tsv"
FILES = "data=files data.train.source=no.de data.train.target=no.en data.validation.target=no.en data.validation.source"
# The extra, a library that it brings, the key that asks for it, and a command; no file or run `no` exists.
MISSING = [
    ("hub", "datasets", "data", "train data=hub data.path=json"),
    ("arrow", "pyarrow", "data", f"train {TABLE} data.validation=a.parquet"),
    ("arrow", "pyarrow", "data", f"train {FILES}=a.zst"),
    ("arrow", "pyarrow", "data", f"data {TABLE} data.validation=[no.jsonl,a.zst]"),
    ("arrow", "pyarrow", "training.guided_alignment", f"train {FILES}=no.de training.guided_alignment=a.zst"),
    ("eflomal", "eflomal", "training.guided_alignment", f"train {FILES}=no.de training.guided_alignment=eflomal"),
    ("sentencex", "sentencex", "decoding.sentence_splitter", f"train {FILES}=no.de decoding.sentence_splitter=sentencex:de"),
    ("optuna", "optuna", "sweep", f"train -m {FILES}=no.de sweep=optuna model.dropout=interval(0,0.5) sweep.trials=2"),
    ("submitit", "submitit", "sweep.cluster", f"train -m {FILES}=no.de model.dropout=0.1,0.2 sweep.cluster=slurm"),
    ("tensorboard", "tensorboard", "tracking", f"train {FILES}=no.de tracking=tensorboard"),
    ("wandb", "wandb", "tracking", f"train {FILES}=no.de tracking=wandb"),
    ("serve", "uvicorn", "serve", "serve run=no"),
    ("serve", "starlette", "serve", "serve run=no"),
    ("serve", "python_multipart", "serve", "serve run=no"),
    ("mlflow", "mlflow", "tracking", f"train {FILES}=no.de tracking=mlflow"),
]  # fmt: skip


@pytest.mark.parametrize(("extra", "library", "key", "words"), MISSING)
def test_a_missing_extra_is_named_before_any_text_is_read(
    main, tmp_path, monkeypatch, extra, library, key, words
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, library, None)
    for name in ("a.zst", "a.parquet"):
        (tmp_path / name).touch()
    there = sorted(tmp_path.iterdir())
    code, output, error = main(*words.split())
    assert error.startswith(f"nmt: {key}: the extra `{extra}` is needed: pip install 'nmt[{extra}]'"), error
    assert error.count("\n") == 1
    assert (code, output, sorted(tmp_path.iterdir())) == (2, "", there)


def test_text_in_zstandard_is_refused_before_the_output_is_begun(main, trained_run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "in.zst").touch()
    output = tmp_path / "out"
    code, _, error = main(
        "translate", f"run={trained_run}", f"input={tmp_path / 'in.zst'}", f"output={output}"
    )
    assert error.startswith(
        "nmt: input: the extra `arrow` is needed: pip install 'nmt[arrow]', or another file"
    )
    assert (code, error.count("\n"), output.exists()) == (2, 1, False)


@pytest.mark.parametrize("arguments", [["train", "--cfg", "job"], ["translate", "run=none"]])
def test_a_checkout_can_be_run_where_another_copy_is_installed(arguments):
    """Drop the finder that an editable install adds to Python, which would know the folder of nmt.conf."""
    program = (
        "import sys; sys.meta_path = [one for one in sys.meta_path if 'editable' not in repr(one).lower()];"
        "sys.path.insert(0, sys.argv.pop(1)); from nmt.cli.main import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT), *arguments], capture_output=True, check=False, timeout=100
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode == (0 if "--cfg" in arguments else 2), done.stderr


def test_every_extra_that_is_spoken_of_is_one_and_all_has_it():
    pages = [
        ROOT / "README.md",
        ROOT / "Containerfile",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "conf").rglob("*.yaml"),
    ]
    sources = list((ROOT / "nmt").rglob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in [*pages, *sources])
    spoken_of = {name for names in re.findall(r"(?:nmt|\.)\[([a-z,]+)\]", text) for name in names.split(",")}
    spoken_of |= set(re.findall(r"importing\(\"([a-z0-9]+)\"", text))
    assert {"hub", "arrow", "tensorboard", "export", "ray"} <= spoken_of <= EXTRAS.keys()
    (everything,) = map(Requirement, EXTRAS["all"])
    tools = {"all", "dev", "docs", "benchmarks", "eflomal"}
    assert everything.extras == EXTRAS.keys() - tools


def test_what_the_base_brings_has_none_of_the_extras():
    extras = {
        canonicalize_name(Requirement(text).name)
        for name in EXTRAS.keys() - {"dev"}
        for text in EXTRAS[name]
        if not text.startswith("nmt[")
    }
    assert {"datasets", "pyarrow", "tensorboard"} <= extras
    assert not base() & extras


def test_every_python_that_is_declared_is_in_the_table_of_what_was_tried():
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    rows = re.findall(
        r"^\| (3\.\d+)\.\d+ \| .* \| yes \| yes \| \d+ passed",
        (ROOT / "docs" / "install.md").read_text(),
        re.MULTILINE,
    )
    assert set(declared) == set(rows)
    assert PROJECT["requires-python"] == f">={declared[0]}"
