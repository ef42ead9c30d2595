"""Rules of the code: which module may import which, how long a file may be, what must not be in it."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import nmt
from nmt.models import kernels

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULES = sorted((ROOT / "nmt").rglob("*.py"))
# A module imports only from its own layer and those before it.
LAYERS = [
    ["wording"],
    ["errors"],
    ["versions"],
    ["files"],
    ["config"],
    ["device", "memory", "ray_map"],
    ["grammar"],
    ["data"],
    ["models"],
    ["runs"],
    ["layouts"],
    ["decoding"],
    ["documents"],
    ["evaluation"],
    ["distillation"],
    ["reports"],
    ["tracking"],
    ["training"],
    ["export"],
    ["imports"],
    ["serving"],
    ["commands"],
    ["cli"],
    ["sweeps"],
    ["__main__"],
]
LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT / "nmt").parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_upwards_only(path):
    layer = layer_of(path)
    if layer == "__init__":
        calls = {f"nmt.decoding.loading.{name}" for name in nmt.__all__} | {"nmt.decoding.loading"}
        assert {name for name in imports_of(path) if name.startswith("nmt")} <= calls
        return
    for name in imports_of(path):
        if name.startswith("nmt."):
            imported = name.split(".")[1]
            if imported != "__version__":
                assert LAYER_OF[imported] <= LAYER_OF[layer], f"{path} imports {name}"


def test_decoding_knows_no_concrete_model():
    for path in (ROOT / "nmt" / "decoding").glob("*.py"):
        for name in imports_of(path):
            if name.startswith("nmt.models"):
                allowed = ("nmt.models.interface", "nmt.models.ensemble", "nmt.models.prepare")
                assert name.startswith(allowed), f"{path} imports {name}"


def test_models_know_of_data_only_what_a_batch_is():
    for path in (ROOT / "nmt" / "models").glob("*.py"):
        names = {name for name in imports_of(path) if name.startswith("nmt.data")}
        allowed = {
            f"nmt.data.{name}"
            for name in ("batching.Batch", "batching.send", "learned_lengths.LearnedLengths")
        } | ({"nmt.data.tokenizer.Tokenizer"} if path.name == "build.py" else set())
        assert names <= allowed, path


def test_models_know_of_kernels_only_their_public_names():
    for path in (ROOT / "nmt" / "models").glob("*.py"):
        names = {name for name in imports_of(path) if name.startswith("nmt.models.kernels")}
        assert names <= {f"nmt.models.kernels.{name}" for name in kernels.__all__}, path


def test_data_knows_nothing_of_models():
    for path in (ROOT / "nmt" / "data").rglob("*.py"):
        assert not any(name.startswith("nmt.models") for name in imports_of(path)), path


def test_only_what_reads_overrides_imports_hydra():
    with_hydra = [path.name for path in MODULES if any(name.startswith("hydra") for name in imports_of(path))]
    assert with_hydra == ["hydra_config.py", "overrides.py", "run_settings.py", "values.py"]
    for path in MODULES:
        assert not any(re.match(r"hydra(_plugins|.*\._)", name) for name in imports_of(path)), path


def test_only_export_imports_what_it_exports_to_and_one_module_ctranslate2():
    importers = set()
    for path in MODULES:
        roots = {name.split(".")[0] for name in imports_of(path)}
        assert layer_of(path) == "export" or roots.isdisjoint({"transformers", "onnx", "onnxruntime"}), path
        importers |= {path.name} if "ctranslate2" in roots else set()
    assert importers == {"ctranslate2_engine.py"}


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("nmt", ["torch", "numpy", "yaml"]),
        ("nmt.cli.main", ["torch", "sacrebleu"]),
        (
            "nmt.decoding.loading",
            ["hydra", "sacrebleu", "datasets", "nmt.training", "nmt.commands", "nmt.cli"],
        ),
        (
            "nmt.commands.translate",
            ["hydra", "sacrebleu", "datasets", "nmt.training", "nmt.export", "nmt.grammar"],
        ),
        (
            "nmt.commands.serve",
            ["hydra", "sacrebleu", "starlette", "uvicorn", "nmt.training", "nmt.export", "nmt.grammar"],
        ),
    ],
)
def test_what_takes_time_to_import_is_imported_where_it_is_needed(module, absent):
    command = f"import sys, {module}; print([name for name in {absent} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", command]) == b"[]\n"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_short_and_load_no_code(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 350, "a file that grows past 350 lines is two ideas"
    assert not re.search(
        r"\bpickle\b(?!=False)|torch\.load\(|\beval\(\w|\bexec\(|\b_target_\b|yaml\.load\(", text
    )
    assert not re.search(r"\b(src|trg|tgt)_", text)


@pytest.mark.parametrize("path", sorted((ROOT / "conf").rglob("*.yaml")), ids=lambda path: path.name)
def test_every_key_has_a_comment(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[0].startswith("#")
    if path.parent.name == "experiment":
        return
    for line in lines:
        if line.startswith("hydra:"):
            break
        if re.match(r"\s*[a-z_0-9]+: .", line) and not line.startswith("kind:"):
            assert " # " in line, f"{path.name}: {line}"


def test_each_library_that_is_imported_is_named():
    """A library that only comes as a dependency of another one is missing as soon as that one drops it."""
    wanted = sum(PYPROJECT["project"]["optional-dependencies"].values(), PYPROJECT["project"]["dependencies"])
    named = {canonicalize_name(Requirement(text).name) for text in wanted}
    found = {name.split(".")[0] for path in MODULES for name in imports_of(path)}
    found -= {"nmt", *sys.stdlib_module_names}
    assert {"torch", "lxml"} <= found
    brought_by = packages_distributions()
    assert not [name for name in found if not named & set(map(canonicalize_name, brought_by[name]))]


def test_every_folder_is_in_the_wheel():
    named = PYPROJECT["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "nmt").rglob("*") if path.is_file()}
    folders |= {Path("nmt") / path.parent.relative_to(ROOT) for path in (ROOT / "conf").rglob("*.yaml")}
    assert sorted(named) == sorted(
        ".".join(folder.parts) for folder in folders if "__pycache__" not in folder.parts
    )
