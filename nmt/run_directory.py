"""Reading a run directory: settings, tokenizer and weights, each checked before it is used."""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from nmt.check import check
from nmt.config import ModelFiles
from nmt.data.tokenizer import Tokenizer
from nmt.errors import RunError, SettingsError
from nmt.migration import FORMAT, current_name, migrate
from nmt.models.build import build_model
from nmt.models.interface import Seq2Seq

CONFIG = "config.json"
MODEL_WEIGHTS = "model.safetensors"
TRAINING_TENSORS = "training.safetensors"
STATE = "state.json"
MANIFEST = "manifest.json"
OUTPUTS = Path("outputs")


class RunDirectory:
    """The folder of a run, that training writes and everything else reads."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def existing(cls, name: str, key: str = "run") -> "RunDirectory":
        """Return the run at the path `name`, or for `last` the newest one; RunError, of `key`, if there is none."""
        if name == "last" and not Path(name).exists():
            configs = sorted(OUTPUTS.glob(f"**/{CONFIG}"), key=lambda path: path.stat().st_mtime)
            if not configs:
                raise RunError(f"{key}: a run under {OUTPUTS}/ is needed for `last`; got none")
            return cls(configs[-1].parent)
        run = cls(name)
        if not run.config_path.is_file():
            what = "a folder without " + CONFIG if run.path.is_dir() else "no such folder"
            raise RunError(f"{key}: the folder of a run is needed; got {name}: {what}")
        return run

    @property
    def config_path(self) -> Path:
        """Where the settings are."""
        return self.path / CONFIG

    @property
    def checkpoints_path(self) -> Path:
        """Where the checkpoints are."""
        return self.path / "checkpoints"

    def read_config(self) -> dict[str, Any]:
        """Return the settings that the run was trained with, not yet checked. Raises RunError if damaged."""
        config = migrate(read_json(self.config_path))
        if config.get("format") != FORMAT:
            raise RunError(
                f"run: settings of format {FORMAT} are needed; got {config.get('format')} in {self.config_path}"
            )
        return {key: value for key, value in config.items() if key != "format"}

    def write_config(self, settings: Mapping[str, Any]) -> None:
        """Store the settings of a run."""
        write_atomically(self.config_path, to_json({"format": FORMAT, **settings}))

    def read_model_settings(self) -> ModelFiles:
        """Return what translating needs of the settings. Raises RunError if it is not there, or wrong."""
        try:
            return check(ModelFiles, self.read_config(), prefix=f"run: {self.config_path}: ")
        except SettingsError as error:
            raise RunError(str(error)) from None

    def write_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Store the vocabularies: one file if both sides share one."""
        if tokenizer.joint:
            write_atomically(self.path / "tokenizer.model", tokenizer.source.model)
        else:
            write_atomically(self.path / "tokenizer.source.model", tokenizer.source.model)
            write_atomically(self.path / "tokenizer.target.model", tokenizer.target.model)

    def read_tokenizer(self, joint: bool) -> Tokenizer:
        """Load the vocabularies. Raises RunError if they are not there."""
        names = ["tokenizer.model"] if joint else ["tokenizer.source.model", "tokenizer.target.model"]
        try:
            return Tokenizer.of_models(*((self.path / name).read_bytes() for name in names))
        except OSError as error:
            raise RunError(f"run: a run with its tokenizer is needed; got {error}") from None

    def steps(self) -> list[int]:
        """Return the updates at which whole checkpoints were saved, in order."""
        names = [path.parent.name for path in self.checkpoints_path.glob(f"step-*/{MANIFEST}")]
        return sorted(int(name.removeprefix("step-")) for name in names if re.fullmatch(r"step-\d+", name))

    def step_path(self, step: int) -> Path:
        """Return the folder of the checkpoint of an update."""
        return self.checkpoints_path / f"step-{step:06d}"

    def find_checkpoints(self, name: str) -> list[Path]:
        """Return the folders that `best`, `last`, `average` or `step-N` stands for; several are to be averaged.

        Raises RunError if there is no such checkpoint.
        """
        steps = self.steps()
        if not steps:
            raise RunError(
                f"run: a run with a checkpoint is needed; got {self.path}, which holds no model yet"
            )
        if name == "average":
            keep = int(self.read_config()["training"]["keep_checkpoints"])
            return [self.step_path(step) for step in steps[-keep:]]
        if name == "last":
            step = steps[-1]
        elif name == "best":
            step = read_json(self.path / "best.json").get("step", 0)
        elif name.startswith("step-") and name[5:].isdecimal():
            step = int(name[5:])
        else:
            raise RunError(f"checkpoint: best, last, average or step-N is needed; got {name}")
        if step not in steps:
            there = ", ".join(f"step-{number}" for number in steps)
            raise RunError(f"checkpoint: one of best, last, average, {there} is needed; got {name}")
        return [self.step_path(step)]

    def load_model(self, checkpoint: str) -> tuple[Seq2Seq, Tokenizer]:
        """Return the model with the weights of a checkpoint, and its tokenizer. Raises RunError if they don't fit."""
        settings = self.read_model_settings()
        tokenizer = self.read_tokenizer(settings.tokenizer.joint)
        model = build_model(settings.model, tokenizer)
        folders = self.find_checkpoints(checkpoint)
        weights = average([read_tensors(folder / MODEL_WEIGHTS) for folder in folders])
        set_parameters(model, weights, folders[-1])
        return model, tokenizer


def average(checkpoints: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of the weights of several checkpoints (Junczys-Dowmunt et al. 2016)."""
    if len(checkpoints) == 1:
        return checkpoints[0]
    return {
        name: torch.stack([tensors[name].double() for tensors in checkpoints]).mean(0).to(first.dtype)
        for name, first in checkpoints[0].items()
    }


def set_parameters(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Fill the parameters of a model. Raises RunError unless names and shapes are the same."""
    parameters = dict(model.named_parameters())
    for name in sorted(parameters.keys() ^ tensors.keys()):
        side = "lacks" if name in parameters else "has an unknown"
        raise RunError(f"run: weights that fit the settings are needed; got {origin}, which {side} {name}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != tensors[name].shape:
                shapes = f"{tuple(tensors[name].shape)}, not {tuple(parameter.shape)}"
                raise RunError(
                    f"run: weights that fit the settings are needed; got {origin}, whose {name} is {shapes}"
                )
            parameter.copy_(tensors[name])


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Load a safetensors file after a check against the manifest beside it. Raises RunError if damaged."""
    manifest = read_json(path.parent / MANIFEST)
    try:
        if file_facts(path) != manifest.get(path.name):
            raise RunError(
                f"run: undamaged weights are needed; got {path}, which its manifest does not describe"
            )
        return {current_name(name): tensor for name, tensor in safetensors.torch.load_file(path).items()}
    except (OSError, safetensors.SafetensorError) as error:
        raise RunError(f"run: undamaged weights are needed; got {path}: {error}") from None


def file_facts(path: Path) -> dict[str, Any]:
    """Return what a manifest says of a file."""
    with open(path, "rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of a run directory. Raises RunError if it is missing or damaged."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"run: a readable {path.name} is needed; got {path}: {error}") from None
    if not isinstance(value, dict):
        raise RunError(f"run: a JSON object is needed; got {path}, which holds something else")
    return value


def to_json(value: Mapping[str, Any]) -> bytes:
    """Return JSON text for people and programs; floats that JSON does not know become null."""
    return (json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, flush it to the disk, and give it its name, for good as well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        flush_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def flush_folder(path: Path) -> None:
    """Have the names in a folder on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
