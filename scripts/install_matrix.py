"""Install nmt with several Pythons and versions of PyTorch, see that each works, and print a table of them.

usage: python scripts/install_matrix.py [--python PATH,...] [--torch oldest,newest,floors,X.Y.Z,...]
           [--tests PATH,...] [--keep]

Each pair of a Python and a PyTorch gets an environment of its own, one after the other, without any extra. The wheel is
installed first, then the checkout (editable). With each, the demo runs on less text and for fewer updates (train,
translate, evaluate). Then the tests run; those that need an extra skip themselves. The oldest PyTorch is the floor in
pyproject.toml, the newest the one that pip takes; with `floors`, all other dependencies are at their floors, too. The
exit code is 1 if anything failed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FLOORS = dict(re.findall(r"([a-z0-9-]+)>=([0-9.]+)", " ".join(PROJECT["dependencies"])))
TEST_TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis")
SHOWN = ("torch", "numpy", "pydantic", "sentencepiece", "sacrebleu")
SHORT_DEMO = (
    "experiment=demo", "data.num_train=500", "data.num_validation=20", "data.num_test=20",
    "tokenizer.vocabulary_size=300", "model.d_model=32", "model.d_ff=64", "training.max_updates=4",
    "training.validate_every=2", "training.checkpoint_every=2", "decoding.beam_size=2",
    "decoding.max_length_ratio=0.5", "decoding.max_length_extra=3",
)  # fmt: skip
# Prints the version and the size in bytes of each installed package, pip left out.
INVENTORY = """
import json, sys
from importlib.metadata import distributions
def size(file):
    try: return file.locate().stat().st_size
    except OSError: return 0
found = {one.name.lower(): [one.version, sum(map(size, one.files or []))] for one in distributions()}
found.pop("pip", None)
print(json.dumps({"python": sys.version.split()[0], "found": found}))
"""


class Failed(Exception):
    """A command failed; the message is the command and the end of its output."""


@dataclass(frozen=True)
class Environment:
    """A folder with a virtual environment."""

    folder: Path

    @classmethod
    def make(cls, python: str, folder: Path) -> "Environment":
        """Make an environment. Raises Failed if this Python cannot."""
        run([python, "-m", "venv", folder / "env"], folder.parent)
        return cls(folder)

    def program(self, name: str) -> Path:
        """Return the path of a program that is installed here."""
        return self.folder / "env" / "bin" / name

    def pip(self, *words: str | Path) -> None:
        """Run pip. Raises Failed."""
        run(
            [self.program("python"), "-m", "pip", "--quiet", "--disable-pip-version-check", *words],
            self.folder,
        )

    def inventory(self) -> tuple[str, dict[str, tuple[str, int]]]:
        """Return the version of Python, and version and bytes of each package."""
        told = json.loads(run([self.program("python"), "-c", INVENTORY], self.folder))
        return told["python"], told["found"]


def run(words: list[str | Path], folder: Path, stdin: str = "") -> str:
    """Run a command in a folder, without this environment's Python variables; return its output. Raises Failed."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"NMT_CACHE": str(folder / "cache")}
    done = subprocess.run(
        words, cwd=folder, env=environment, input=stdin, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def build_wheel(python: str, folder: Path) -> Path:
    """Build the wheel of this checkout. Raises Failed."""
    Environment.make(python, folder).pip("wheel", "--no-deps", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("nmt-*.whl")
    return wheel


def try_demo(environment: Environment, name: str) -> None:
    """Train, translate and evaluate by the installed `nmt` command. Raises Failed."""
    folder, command = environment.folder / name, environment.program("nmt")
    folder.mkdir()
    run([command, "train", *SHORT_DEMO, "run=demo"], folder)
    translated = run([command, "translate", "run=demo"], folder, "Der Hund schläft.\n\nEin Mann liest.\n")
    evaluated = run([command, "evaluate", "run=demo"], folder)
    if translated.count("\n") != 3 or not evaluated.startswith("BLEU"):
        raise Failed(f"three lines and BLEU are needed; got {translated!r} and {evaluated!r}")


def run_tests(environment: Environment, paths: list[str]) -> str:
    """Run the tests of the checkout; return how many passed and how many were skipped. Raises Failed."""
    words = ["-m", "pytest", "-q", "-n", "2", "-m", "not slow", "-p", "no:cacheprovider", *paths]
    environment.pip("install", *TEST_TOOLS)
    printed = run([environment.program("python"), *words], ROOT)
    return printed.strip().split("\n")[-1].partition(" in ")[0].strip("= ")


def attempt(
    python: str, folder: Path, wanted: list[str], wheel: Path, tests: list[str]
) -> tuple[list[str], bool]:
    """Return the row of one environment, and whether all worked; print to standard error what failed."""
    cells = dict.fromkeys(("wheel", "checkout", "tests"), "")
    version, found = python, dict[str, tuple[str, int]]()
    part = "wheel"
    try:
        environment = Environment.make(python, folder)
        environment.pip("install", *wanted, wheel)
        version, found = environment.inventory()
        try_demo(environment, part)
        cells[part], part = "yes", "checkout"
        environment.pip("install", "--no-deps", "--editable", ROOT)
        try_demo(environment, part)
        cells[part], part = "yes", "tests"
        cells[part] = run_tests(environment, tests)
    except Failed as failure:
        cells[part] = "failed"
        print(f"{folder.name}: {part} failed: {failure}", file=sys.stderr)
    versions = [found.get(name, ("", 0))[0] for name in SHOWN]
    megabytes = sum(size for _, size in found.values()) / 1e6
    row = [version, *versions, str(len(found)), f"{megabytes:,.0f}", *cells.values()]
    return row, "failed" not in cells.values()


def main() -> int:
    """Try all pairs; print each row as soon as it is known; return 1 if anything failed, else 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="interpreters, with commas")
    parser.add_argument("--torch", default="oldest,newest", help="versions, with commas")
    parser.add_argument("--tests", default="tests", help="files and folders of tests, with commas")
    parser.add_argument("--keep", action="store_true", help="remove no environment")
    arguments = parser.parse_args()
    pythons, tests = arguments.python.split(","), arguments.tests.split(",")
    floors = [f"{name}=={version}" for name, version in FLOORS.items()]
    pins = {"oldest": [f"torch=={FLOORS['torch']}"], "newest": [], "floors": floors}
    attempts = [
        (python, f"torch-{version}", pins.get(version, [f"torch=={version}"]))
        for python in pythons
        for version in arguments.torch.split(",")
    ]
    header = ["Python", *SHOWN, "packages", "MB", "wheel", "checkout", "tests"]
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header), flush=True)
    all_worked = True
    top = Path(tempfile.mkdtemp(prefix="install-"))
    try:
        wheel = build_wheel(pythons[0], top)
        for number, (python, name, wanted) in enumerate(attempts):
            folder = top / f"{number}-{name}"
            folder.mkdir()
            row, worked = attempt(python, folder, wanted, wheel, tests)
            print("| " + " | ".join(row) + " |", flush=True)
            all_worked = all_worked and worked
            if not arguments.keep:
                shutil.rmtree(folder)
    except Failed as failure:
        print(f"no wheel: {failure}", file=sys.stderr)
        all_worked = False
    finally:
        print(top, file=sys.stderr) if arguments.keep else shutil.rmtree(top)
    return 0 if all_worked else 1


if __name__ == "__main__":
    sys.exit(main())
