"""Nothing that is read or written is code: in the sources, in the files, and in what a process does."""

import ast
import io
import json
import os
import pickletools
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "nmt").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")])
MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "code", "runpy", "imp"}
CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "torch.load", "torch.save", "torch.hub.load",
    "torch.jit.load", "yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load", "pandas.read_pickle",
    "importlib.import_module", "hydra.utils.instantiate", "hydra.utils.call", "instantiate", "np.fromfile",
}  # fmt: skip


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def offences(source: str) -> list[str]:
    """Return the parts of a program that could run code from a file."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        found += [name for name in names if name.split(".")[0] in MODULES or name in CALLS]
        if isinstance(node, ast.Call):
            keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            name = dotted(node.func)
            if name in CALLS:
                found.append(name)
            if name in ("np.load", "numpy.load") and keywords.get("allow_pickle") != "False":
                found.append(name)
            if (
                keywords.get("shell", "False") != "False"
                or keywords.get("trust_remote_code", "False") != "False"
            ):
                found.append(ast.unparse(node))
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and "_target_" in node.value.split()
        ):
            found.append("_target_")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sources_run_no_code_of_files(path):
    # The tables of commands and formats import modules of nmt, whose names are constants there.
    tables = ("cli/commands.py", "export/formats.py", "imports/formats.py")
    allowed = ["importlib.import_module"] if str(path).endswith(tables) else []
    assert offences(path.read_text(encoding="utf-8")) == allowed


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from pickle import loads", "import torch\ntorch.load('x')", "np.load(p, mmap_mode='c')",
     "eval('1')", "from hydra.utils import instantiate", "yaml.load(f)", "run(c, shell=True)", "x = '_target_'"],
)  # fmt: skip
def test_the_search_finds_what_it_looks_for(source):
    assert offences(source) != []


def holds_code(path: Path) -> bool:
    """Tell whether a file is a pickle, an archive that could hold one, or an array of objects."""
    content = path.read_bytes()
    try:
        is_pickle = len(list(pickletools.genops(content))) > 1
    except Exception:
        is_pickle = False
    has_objects = path.suffix == ".npy" and np.lib.format.open_memmap(path, mode="r").dtype.hasobject
    return is_pickle or has_objects or zipfile.is_zipfile(path)


def test_no_file_that_is_written_holds_code(nmt, tmp_path, tiny_training):
    cache = tmp_path / "cache"
    nmt("train", "run=run", *tiny_training(), "training.max_updates=2", NMT_CACHE=str(cache))
    nmt("translate", "run=run", "output=out.en", stdin=b"Haus\n")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    suffixes = {path.suffix for path in files}
    assert suffixes >= {".json", ".safetensors", ".model", ".tokens", ".offsets", ".jsonl", ".log", ".en"}
    assert [path for path in files if holds_code(path)] == []


@pytest.mark.parametrize(
    ("format_name", "library", "suffix"),
    [("ctranslate2", "ctranslate2", ".bin"), ("marian", "ctranslate2", ".npz"), ("huggingface", "transformers", ".safetensors"),
     ("onnx", "onnxscript", ".onnx")],
)  # fmt: skip
def test_no_file_of_an_export_holds_code(
    nmt, trained_run, tiny_training, tmp_path, format_name, library, suffix
):
    pytest.importorskip(library)
    run = trained_run
    if format_name in ("marian", "huggingface"):
        of_theirs = "model.positions=sinusoidal", "model.zero_start=true"
        nmt("train", "run=run", *tiny_training(), "training.max_updates=2", *of_theirs)
        run = "run"
    nmt("export", f"run={run}", f"format={format_name}", "output=exported", "tolerance=100")
    files = [path for path in (tmp_path / "exported").rglob("*") if path.is_file()]
    assert suffix in {path.suffix for path in files}
    # An archive of arrays is what Marian reads; its own members are looked into.
    for path in files:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                assert not any(arrays[name].dtype.hasobject for name in arrays.files)
        else:
            assert not holds_code(path), path


def test_the_search_finds_code_in_files(tmp_path):
    import pickle

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "x").write_bytes(pickle.dumps({"a": print}, protocol))
        assert holds_code(tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "y", "w") as archive:
        archive.writestr("data.pkl", b"")
    assert holds_code(tmp_path / "y")
    np.save(tmp_path / "z.npy", np.array([print], object), allow_pickle=True)
    content = io.BytesIO((tmp_path / "z.npy").read_bytes())
    with pytest.raises(ValueError, match="allow_pickle=False"):
        np.load(content, allow_pickle=False)


# Records what only somebody who means harm would have a process do, all code that it runs, and paths that it writes.
WATCHED = """
import json, os, sys
report, *arguments = sys.argv[1:]
events = set()

def note(event, arguments):
    if event in ("os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen", "socket.connect",
                 "pickle.find_class", "shutil.rmtree", "os.remove", "os.rename", "os.symlink", "os.link",
                 "marshal.load", "ctypes.dlopen", "code.__new__", "import_from_file"):
        events.add((event, str(arguments[0])))
    elif event == "exec":
        events.add((event, arguments[0].co_filename))
    elif event == "compile":
        events.add((event, os.fsdecode(arguments[1] or b"") if not isinstance(arguments[1], str) else arguments[1]))
    elif event == "open" and isinstance(arguments[2], int):
        path, _, flags = arguments
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
            events.add(("write", str(path)))

sys.dont_write_bytecode = True
sys.addaudithook(note)
from nmt.cli.main import main
code = main(arguments)
found = sorted(events)
with open(report, "w") as file:
    json.dump(found, file)
sys.exit(code)
"""


def watch(tmp_path: Path, run: Path) -> tuple[subprocess.CompletedProcess[bytes], set[tuple[str, str]]]:
    """Translate with a run in a process of its own, and return its unusual events."""
    report, temporary = tmp_path / "report.json", tmp_path / "temporary"
    temporary.mkdir(exist_ok=True)
    arguments = ("translate", f"run={run}", "device=cpu", "precision=float32")
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(report), *arguments],
        input=b"Das Haus\n", capture_output=True, cwd=tmp_path, timeout=100, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert report.exists(), done.stderr.decode()
    events = {(event, what) for event, what in json.loads(report.read_text())}
    report.unlink()
    # Running the code of modules is usual: some are imported only for an error message.
    modules = (sys.prefix, sys.base_prefix, str(ROOT / "nmt"), "<frozen ")
    usual = {"exec": modules, "compile": modules, "write": (str(temporary),), "os.remove": (str(temporary),)}
    return done, {(event, what) for event, what in events if not what.startswith(usual.get(event, ()))}


CANARY = "__import__('os').system('touch canary')"
PICKLE = b"cos\nsystem\n(S'touch canary'\ntR."
HOSTILE = {
    "a pickle as weights": lambda victim: victim.write_weights(PICKLE),
    "a pickle as settings": lambda victim: (victim.path / "config.json").write_bytes(PICKLE),
    "a pickle as tokenizer": lambda victim: (victim.path / "tokenizer.model").write_bytes(PICKLE),
    "a target": lambda victim: victim.edit_config("model._target_", "os.system"),
    "code for a number": lambda victim: victim.edit_config("model.d_model", CANARY),
    "an interpolation": lambda victim: victim.edit_config("model.kind", "${oc.env:HOME}"),
    "an override": lambda victim: victim.edit_config("decoding.kind", "beam,hydra.run.dir=/"),
    "a link": lambda victim: (victim.path / "up").symlink_to(".."),
    "a pipe": lambda victim: os.mkfifo(victim.path / "train.fifo"),
    "a flipped bit": lambda victim: victim.weights.write_bytes(victim.weights.read_bytes()[:-1] + b"\x55"),
    "a huge model": lambda victim: victim.edit_config("model.d_ff", 65_536),
    "a piece without end": lambda victim: (victim.path / "tokenizer.model").write_bytes(
        b"\x0a\x84\xad\xe2\x04\x0a\x80\xad\xe2\x04" + b"x" * 10_000_000
    ),
    "a nest": lambda victim: (victim.path / "best.json").write_bytes(b"[" * 1_000_000),
}


def test_modules_in_a_run_are_not_imported(victim):
    run = victim().path
    for name in ("torch", "nmt", "hydra_plugins", "sitecustomize", "json"):
        (run / f"{name}.py").write_text(CANARY)
    program = Path(sys.executable).with_name("nmt")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [program, "translate", "run=."],
        input=b"Das Haus\n",
        capture_output=True,
        cwd=run,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr) == (0, 1, b"")
    assert not (run / "canary").exists()


@pytest.mark.slow
def test_a_process_does_nothing_else_with_a_hostile_run(victim, tmp_path):
    good = victim()
    (good.path / "__init__.py").write_text(CANARY)
    (good.path / "torch.py").write_text(CANARY)
    done, usual = watch(tmp_path, good.path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert any(event == "exec" for event, _ in usual), "the hook listens"
    assert {what for event, what in usual if event == "write"} <= {os.devnull, "1"}  # 1: standard output
    assert [what for _, what in usual if str(good.path) in what] == []
    for name, spoil in HOSTILE.items():
        spoiled = victim()
        spoil(spoiled)
        done, found = watch(tmp_path, spoiled.path)
        message = done.stderr.decode()
        assert (done.returncode, done.stdout, message.count("\n")) == (2, b"", 1), (name, message)
        assert message.startswith("nmt: "), (name, message)
        assert found <= usual, name
        assert not list(tmp_path.rglob("canary")), name
