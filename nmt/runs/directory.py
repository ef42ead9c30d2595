"""Reading a run directory: settings, tokenizer, facts and checkpoints, each checked before it is used."""

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nmt.config import RunCheckpoints, RunModel, TrainSettings
from nmt.config.check import SettingsT, check_file
from nmt.data.context import Context
from nmt.data.learned_lengths import LearnedLengths
from nmt.data.tokenizer import Tokenizer
from nmt.errors import DataError, RunError, SettingsError
from nmt.files.reading import parse_json, read_json, read_plain, require_plain
from nmt.files.writing import MANIFEST, difference, to_json, write_atomically
from nmt.runs.migration import FORMAT, migrate, require_kept

CONFIG = "config.json"
LOG = "train.log"
BEST, LAST = "best.json", "last.json"  # each names an update
EXPORTED_CONFIG = "nmt.json"
DATA = "data.json"
CONFIDENCE = "confidence.json"
SOURCE_TOKENS, IS_GUIDED = "source_tokens", "is_guided"
DISTILLED = "distilled"  # folder of a student's own text
SHORTLIST, VOCABULARY_MAP = "shortlist.txt", "vmap.txt"  # the second is what CTranslate2 looks for
MODEL_WEIGHTS = "model.safetensors"
TRAINING_TENSORS = "training.safetensors"
STATE = "state.json"
OUTPUTS = Path("outputs")
STEP = re.compile("step-[0-9]{6,18}")
# SentencePiece models take 15 bytes for each piece, or three times that in scripts of three bytes a character, and a
# quarter of a million bytes for a normalisation.
MAX_TOKENIZER_BYTES = 1 << 26


class RunDirectory:
    """The folder of a run: training writes it, everything else reads it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def existing(cls, name: str, key: str = "run") -> "RunDirectory":
        """Return the run at the path `name`, or the newest for `last`. Raises RunError, naming `key`, without one.

        Links, pipes and the like in it are refused at once, so that nothing in it leads elsewhere.
        """
        name = path_of(name, key)
        require_utf_8(name, key)
        run = cls(name)
        if not os.path.isfile(run.config_path):  # False for a name that is too long, too, as pathlib is not
            what = "a folder without " + CONFIG if os.path.isdir(run.path) else "no such folder"
            raise RunError(f"{key}: the folder of a run is needed; got {name}: {what}")
        require_plain(run.path)
        return run

    @property
    def is_exported(self) -> bool:
        """Whether the folder is an export for CTranslate2, which has its own `config.json`; ours is `nmt.json`."""
        return os.path.isfile(self.path / EXPORTED_CONFIG)

    @property
    def config_path(self) -> Path:
        """Where the settings are."""
        return self.path / (EXPORTED_CONFIG if self.is_exported else CONFIG)

    @property
    def shortlist_path(self) -> Path:
        """Where the shortlist is, or would be."""
        return self.path / (VOCABULARY_MAP if self.is_exported else SHORTLIST)

    def require_alone(self, checkpoint: str, ensemble: Sequence[str]) -> None:
        """Raise SettingsError for an ensemble or a checkpoint but `best`: an exported folder has one model."""
        for key, value, needed in (
            ("checkpoint", checkpoint, "best"),
            ("ensemble", ",".join(map(str, ensemble)), ""),
        ):
            if value != needed:
                raise SettingsError(
                    f"{key}: {needed or '[]'} is needed for an exported folder, which has one model; got {value}"
                )

    @property
    def checkpoints_path(self) -> Path:
        """Where the checkpoints are."""
        return self.path / "checkpoints"

    def read_config(self) -> dict[str, Any]:
        """Return the settings that the run was trained with, not yet checked. Raises RunError if damaged.

        A student's own text lies in its folder, and is named where this folder is now.
        """
        config = migrate(read_json(self.config_path))
        if config.get("format") != FORMAT:
            raise RunError(
                f"run: settings of format {FORMAT} are needed; got {config.get('format')} in {self.config_path}"
            )
        return {key: self._in_folder(value) for key, value in config.items() if key != "format"}

    def _in_folder(self, value: Any) -> Any:
        """Return settings in which each path of a text of a student is where this folder is now."""
        if isinstance(value, dict):
            return {key: self._in_folder(inner) for key, inner in value.items()}
        if isinstance(value, str) and Path(value).parent.name == DISTILLED:
            here = self.path / DISTILLED / Path(value).name
            return str(here) if os.path.isfile(here) else value  # False also for a name that is too long
        return value

    def write_config(self, settings: TrainSettings) -> None:
        """Store the settings of a run."""
        write_atomically(self.config_path, _config(settings))

    def require_readable(self, settings: TrainSettings) -> None:
        """Raise UserError for a folder or settings that could not be read again, such as values that nest too deep."""
        require_utf_8(self.path, "run")
        parse_json(_config(settings), self.config_path)

    def read_settings(self, settings_class: type[SettingsT]) -> SettingsT:
        """Return some of the settings that the run was trained with. Raises RunError if they are missing or wrong."""
        return check_file(settings_class, self.read_config(), self.config_path)

    def read_model_settings(self) -> RunModel:
        """Return the settings that translating needs. Raises RunError if they are missing or wrong."""
        require_kept(self.read_config(), self.config_path)
        return self.read_settings(RunModel)

    def write_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Store the vocabularies: one file if both sides share one."""
        sides = (tokenizer.source, tokenizer.target)
        for path, side in zip(self.tokenizer_paths(tokenizer.joint), sides, strict=False):
            write_atomically(path, side.model)

    def tokenizer_paths(self, joint: bool) -> list[Path]:
        """Return where the vocabularies are: in one file if both sides share one."""
        names = ["tokenizer.model"] if joint else ["tokenizer.source.model", "tokenizer.target.model"]
        return [self.path / name for name in names]

    def read_tokenizer(self) -> Tokenizer:
        """Load the vocabularies. Raises RunError if they are not there, or damaged."""
        paths = self.tokenizer_paths(self.read_model_settings().tokenizer.joint)
        models = [read_plain(path, MAX_TOKENIZER_BYTES) for path in paths]
        for manifest in self._manifests():
            for path in paths:
                # Older manifests do not list the tokenizer.
                if path.name in manifest and difference(path, manifest[path.name]):
                    raise RunError(f"run: an undamaged tokenizer is needed; got {path}, which has changed")
        try:
            return Tokenizer.of_models(*models)
        except DataError as error:
            raise RunError(f"run: {self.path}: {error}") from None

    def read_context(self) -> Context:
        """Return how many earlier lines the model reads with a line, and the separator. Raises RunError if damaged."""
        return Context.of(self.read_tokenizer().source)

    def _manifests(self) -> Iterator[dict[str, Any]]:
        """Yield the readable manifests; a checkpoint without one is refused when it is asked for."""
        for step in self.steps():
            with contextlib.suppress(RunError):
                yield read_json(self.step_path(step) / MANIFEST)

    def steps(self) -> list[int]:
        """Return the updates at which whole checkpoints were saved, in order."""
        names = [path.parent.name for path in self.checkpoints_path.glob(f"step-*/{MANIFEST}")]
        return sorted(int(name.removeprefix("step-")) for name in names if STEP.fullmatch(name))

    def step_path(self, step: int) -> Path:
        """Return the folder of the checkpoint of an update."""
        return self.checkpoints_path / f"step-{step:06d}"

    def find_checkpoints(self, name: str) -> list[Path]:
        """Return the folders that `best`, `last`, `average` or `step-N` stands for; several are to be averaged.

        Raises RunError if there is no such checkpoint.
        """
        steps = self.steps()
        if not steps:
            what = "was exported" if self.is_exported else "holds no model yet"
            raise RunError(f"run: a run with a checkpoint is needed; got {self.path}, which {what}")
        if name == "average":
            if "training" not in self.read_config():
                raise RunError(f"checkpoint: best or last of a run that was imported is needed; got {name}")
            keep = self.read_settings(RunCheckpoints).training.keep_checkpoints
            return [self.step_path(step) for step in steps[-keep:]]
        if name == "last":
            step: Any = steps[-1]
        elif name == "best":
            step = read_json(self.path / BEST).get("step")
        elif re.fullmatch("step-[0-9]{1,18}", name):
            step = int(name[5:])
        else:
            raise RunError(f"checkpoint: best, last, average or step-N is needed; got {name}")
        if type(step) is not int or step not in steps:
            there = ", ".join(f"step-{number}" for number in steps)
            raise RunError(f"checkpoint: one of best, last, average, {there} is needed; got {name}")
        return [self.step_path(step)]

    def weights_hash(self, checkpoint: str) -> str | None:
        """Return the SHA-256 of a checkpoint's weights, as its manifest records it; None for a mean of several."""
        folders = self.find_checkpoints(checkpoint)
        facts = read_json(folders[0] / MANIFEST).get(MODEL_WEIGHTS)
        return facts.get("sha256") if len(folders) == 1 and isinstance(facts, dict) else None

    def read_facts(self) -> tuple[LearnedLengths | None, bool]:
        """Return the lengths of the training lines, and whether the model learned from word-alignment links.

        The lengths are None for a run of an older version, which did not record them.
        """
        path = self.path / DATA
        facts = read_json(path) if path.exists() else {}
        found, is_guided = facts.get(SOURCE_TOKENS), facts.get(IS_GUIDED, False)
        if not isinstance(is_guided, bool):
            raise RunError(f"run: true or false is needed as {IS_GUIDED}; got {is_guided} in {path}")
        if found is None:
            return None, is_guided
        names = LearnedLengths._fields
        is_known = isinstance(found, dict) and {"usual", "longest"} <= found.keys() <= set(names)
        if not is_known or not all(isinstance(length, int) and length > 0 for length in found.values()):
            raise RunError(
                f"run: numbers of tokens, usual and longest, are needed as {SOURCE_TOKENS}; got {found} in {path}"
            )
        return LearnedLengths(**found), is_guided


def translating_with(run: str | Path) -> str:
    """Return a line that says what to type to translate with a run, as a shell takes it."""
    return f"to translate: nmt translate {shlex.quote(f'run={run}')} input=FILE output=FILE"


def _is_of_a_run(config: Path) -> bool:
    """Whether a `config.json` holds the settings of a run, perhaps damaged; that of an exported model does not."""
    try:
        return "format" in read_json(config)
    except RunError:
        return True


def _config(settings: TrainSettings) -> bytes:
    return to_json({"format": FORMAT, **settings.recorded()})


def path_of(name: str, key: str = "run") -> str:
    """Return the path of a run: that of the newest now for `last`, else its name. Raises RunError if there is none."""
    if name != "last" or Path(name).exists():
        return name
    configs = filter(_is_of_a_run, OUTPUTS.glob(f"**/{CONFIG}"))
    newest = max(configs, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        raise RunError(f"{key}: a run under {OUTPUTS}/ is needed for `last`; got none")
    return str(newest.parent)


def require_utf_8(path: str | Path, key: str) -> None:
    """Raise SettingsError, of `key`, for a path that is not UTF-8: libraries that read weights open no other."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise SettingsError(f"{key}: a path in UTF-8 is needed; got {str(path)!a}") from None
