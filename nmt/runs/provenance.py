"""Origin of a run, for those who come later: text, settings, program, machine, times and scores.

`run.json` refers to what the folder holds already, by hash, and does not repeat it.
"""

import hashlib
import logging
import math
import os
import platform
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt

import nmt
from nmt.config import RecordedSettings
from nmt.config.check import read_checked
from nmt.data.cache import content_key
from nmt.data.corpus import Corpus, ParallelText
from nmt.data.mixture import without_tag
from nmt.errors import RunError
from nmt.files.reading import read_json, read_plain
from nmt.files.writing import file_facts, to_json, write_atomically
from nmt.runs.directory import CONFIDENCE, MAX_TOKENIZER_BYTES, MODEL_WEIGHTS, RunDirectory
from nmt.runs.records import Checkpoint, Hash
from nmt.wording import counted

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

RECORD = "run.json"
TEST = "test.json"  # the scores of the final translation
LIBRARIES = (
    "torch",
    "numpy",
    "sentencepiece",
    "sacrebleu",
    "safetensors",
    "hydra-core",
    "pydantic",
    "datasets",
)

# Names that a stranger may have written, and that are shown.
FigureName = Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
TokenizerFile = Literal["tokenizer.model", "tokenizer.source.model", "tokenizer.target.model"]


class TextFacts(RecordedSettings):
    """A text of two sides: how many pairs, their hash, and that without their tags, where they have some."""

    lines: NonNegativeInt
    hash: Hash
    untagged: Hash | None = None


class Machine(RecordedSettings):
    """The machine that computed."""

    device: str  # cpu | cuda | mps
    name: str
    threads: NonNegativeInt
    precision: str

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.device} ({self.name}), {self.precision}, {threads}"


class GitState(RecordedSettings):
    """The state of the program's own repository, where it is run from one."""

    commit: str
    changed: bool  # whether files differed from the commit


class Session(RecordedSettings):
    """One execution of the program; a run that was resumed has several sessions."""

    command: list[str]
    started: str
    finished: str | None  # None: killed, or still going on
    first_update: NonNegativeInt
    last_update: NonNegativeInt | None
    training_seconds: NonNegativeFloat | None  # of the whole run so far
    target_tokens: NonNegativeInt | None  # likewise
    versions: dict[str, str]
    git: GitState | None
    machine: Machine


class TestFacts(RecordedSettings):
    """The final translation of the test text."""

    checkpoint: Checkpoint
    weights: Hash
    translation: Hash
    seconds: NonNegativeFloat
    machine: Machine
    scores: dict[FigureName, float]
    intervals: dict[FigureName, tuple[float, float]]  # 95 %
    signatures: dict[FigureName, str]


class ValidationFacts(RecordedSettings):
    """The best translation of the validation text while training."""

    checkpoint: Checkpoint
    bleu: float


class RunRecord(RecordedSettings):
    """Content of `run.json`."""

    format: Literal[1]
    settings: Hash  # of config.json
    tokenizer: dict[TokenizerFile, Hash]
    data: dict[Literal["train", "validation", "test"], TextFacts]
    parameters: NonNegativeInt
    sessions: Annotated[list[Session], Field(min_length=1)]
    validation: ValidationFacts | None
    test: TestFacts | None


def read_record(run: RunDirectory) -> RunRecord | None:
    """Return the record of a run; None for runs of older versions. Raises RunError if it is damaged."""
    return read_checked(RunRecord, run.path / RECORD)


def read_scores(run: RunDirectory) -> dict[str, float]:
    """Return the figures of the final translation. Raises RunError where their file is missing or no JSON."""
    return {str(key): value for key, value in read_json(run.path / TEST).items() if isinstance(value, float)}


class Recorder:
    """Writes the record of a run, from the start of a session to the scores at its end."""

    def __init__(self, run: RunDirectory, machine: Machine) -> None:
        self.run, self.machine = run, machine
        self.values: dict[str, Any] = {}
        try:
            if (earlier := read_record(run)) is not None:
                self.values = earlier.model_dump(mode="json")
        except RunError as error:
            logger.warning("%s; the record begins anew", error)

    @property
    def is_tested(self) -> bool:
        """Whether the final translation is scored, and noted in the record if there is one."""
        is_noted = not self.values or self.values["test"] is not None
        return is_noted and (self.run.path / TEST).exists()

    @property
    def is_ended(self) -> bool:
        """Whether the record, if there is one, has the end of its last session."""
        return not self.values or self.values["sessions"][-1]["finished"] is not None

    def begin(self, corpus: Corpus, joint: bool, num_parameters: int, update: int) -> None:
        """Note what the run is made of, and that a session begins after an update.

        Scores and confidence curves of an earlier session are removed, since their model is about to change.
        """
        for name in (TEST, CONFIDENCE):
            (self.run.path / name).unlink(missing_ok=True)
        tags = corpus.groups.symbols if corpus.groups else ()
        session = Session(
            command=["nmt", *sys.argv[1:]],
            started=_now(),
            finished=None,
            first_update=update + 1,
            last_update=None,
            training_seconds=None,
            target_tokens=None,
            versions=versions(),
            git=git_state(),
            machine=self.machine,
        )
        self.values = {
            "format": 1,
            "settings": settings_hash(self.run),
            "tokenizer": tokenizer_hashes(self.run, joint),
            "data": {name: text_facts(text, tags).model_dump() for name, text in corpus.texts.items()},
            "parameters": num_parameters,
            "sessions": [*self.values.get("sessions", []), session.model_dump()],
            "validation": self.values.get("validation"),
            "test": None,
        }
        self._write()

    def note_settings(self) -> None:
        """Note the changed settings of a test that is still to come. A run without a record gets none."""
        if self.values:
            self.values["settings"] = settings_hash(self.run)
            self._write()

    def end(self, update: int, seconds: float, num_tokens: int, best: tuple[int, float] | None) -> None:
        """Note the progress that the session saved, and the update and BLEU of the best validation."""
        self.values["sessions"][-1] |= {
            "finished": _now(),
            "last_update": update,
            "training_seconds": seconds,
            "target_tokens": num_tokens,
        }
        if best is not None:
            self.values["validation"] = {"checkpoint": self.run.step_path(best[0]).name, "bleu": best[1]}
        self._write()

    def note_test(self, found: Mapping[str, Any], hypotheses: Sequence[str], seconds: float) -> None:
        """Note the final translation, by the best checkpoint, and the scores `found` for it.

        A run without a record gets none.
        """
        if not self.values:
            return
        (folder,) = self.run.find_checkpoints("best")
        self.values["test"] = {
            "checkpoint": folder.name,
            "weights": file_facts(folder / MODEL_WEIGHTS)["sha256"],
            "translation": content_key(hypotheses),
            "seconds": seconds,
            "machine": self.machine.model_dump(),
            "scores": {
                name: value
                for name, value in found.items()
                if isinstance(value, float) and math.isfinite(value)
            },
            "intervals": found.get("intervals", {}),
            "signatures": found["signatures"],
        }
        self._write()

    def _write(self) -> None:
        write_atomically(self.run.path / RECORD, to_json(self.values))


def text_facts(text: ParallelText, tags: Collection[str] = ()) -> TextFacts:
    """Return what tells a text from any other; its source lines may begin with one of `tags`."""
    untagged = (without_tag(line, tags) for line in text.source)
    return TextFacts(
        lines=len(text.source),
        hash=content_key(text.source, text.target),
        untagged=content_key(untagged, text.target) if tags else None,
    )


def refuse_other_text(run: RunDirectory, corpus: Corpus) -> None:
    """Raise RunError where a text is not the one that a run recorded. A run without a record is passed over."""
    record = read_record(run)
    if record is None:
        return
    for name in ("train", "validation", "test"):
        before, text = record.data.get(name), corpus.texts.get(name)
        now = None if text is None else text_facts(text)
        if (before and before.hash) != (now and now.hash):
            got = "none" if now is None else f"another, of {counted(now.lines, 'pair')}"
            needed = (
                "none" if before is None else f"that of the run's start, {counted(before.lines, 'pair')},"
            )
            raise RunError(f"data.{name}: {needed} is needed to go on; got {got}")


def warn_of_other_text(run: RunDirectory, split: str, text: ParallelText) -> None:
    """Warn where a text of a run, without tags, is not the one that it recorded: it may have learned from it."""
    record = read_record(run)
    recorded = None if record is None else record.data.get(split)  # type: ignore[call-overload]
    if recorded is not None and recorded.hash != text_facts(text).hash:
        before, now = counted(recorded.lines, "line"), counted(len(text.source), "line")
        what = f"data.{split} of {run.path} is not the text that the run recorded ({before}, now {now})"
        logger.warning("%s: it may have learned from these lines", what)


def settings_hash(run: RunDirectory) -> str:
    """Return the SHA-256 of a run's settings."""
    return str(file_facts(run.config_path)["sha256"])


def tokenizer_hashes(run: RunDirectory, joint: bool) -> dict[str, str]:
    """Return the SHA-256 of each file of a run's tokenizer."""
    contents = {path.name: read_plain(path, MAX_TOKENIZER_BYTES) for path in run.tokenizer_paths(joint)}
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def describe_machine(device: "torch.device", dtype: "torch.dtype") -> Machine:
    """Return the machine that computes, with the precision `dtype`."""
    import torch  # which an exported folder does without

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _processor()
    return Machine(
        device=device.type,
        name=name,
        threads=torch.get_num_threads(),
        precision=str(dtype).removeprefix("torch."),
    )


def versions() -> dict[str, str]:
    """Return the versions of Python, of nmt, and of the libraries that results can depend on."""
    found = {"nmt": nmt.__version__, "python": platform.python_version()}
    for library in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[library] = version(library)
    return found


def git_state() -> GitState | None:
    """Return the state of the repository that nmt itself is tracked in; None for an installed package."""
    folder = Path(nmt.__file__).parent

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(folder), *arguments],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
                timeout=10,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.decode("utf-8", "replace").strip()

    if git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no")
    return None if commit is None or changes is None else GitState(commit=commit, changed=bool(changes))


def _processor() -> str:
    """Return the name of the processor, as far as the system tells it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
