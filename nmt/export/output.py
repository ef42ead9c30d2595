"""A folder that CTranslate2 loads, with the tokenizer and a page on how to translate with it."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt.config import Quantization
from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.decoding.shortlist import Shortlist
from nmt.errors import DataError
from nmt.export.specification import norm_epsilon, specification
from nmt.files.writing import write_atomically
from nmt.models.interface import Seq2Seq
from nmt.runs.directory import RunDirectory

MODEL = "model.bin"
VOCABULARY_MAP = "vmap.txt"  # the name that CTranslate2 looks for


@dataclass(frozen=True)
class TokenNames:
    """Names of the ids of both sides for CTranslate2, which knows tokens by their text alone."""

    source: list[str]
    target: list[str]
    unk: str
    bos: str
    eos: str

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "TokenNames":
        """Name each id by its piece, and the special ones alike on both sides, by what is no piece of the text."""
        sides = (tokenizer.source, tokenizer.target)
        of_text = {
            piece
            for side in sides
            for piece_id, piece in enumerate(side.pieces)
            if piece_id not in _special_ids(side)
        }
        specials = []
        for name in ("<pad>", "<unk>", "<s>", "</s>"):
            while name in of_text:
                name += "_"
            specials.append(name)
        source, target = (list(side.pieces) for side in sides)
        for side, names in zip(sides, (source, target), strict=True):
            for special_id, name in zip(_special_ids(side), specials, strict=True):
                names[special_id] = name
        return cls(source, target, *specials[1:])


def _special_ids(vocabulary: Vocabulary) -> tuple[int, int, int, int]:
    return vocabulary.pad_id, vocabulary.unk_id, vocabulary.bos_id, vocabulary.eos_id


def write_model(
    folder: Path,
    model: Seq2Seq,
    tokenizer: Tokenizer,
    quantization: Quantization = "float32",
    shortlist: Shortlist | None = None,
) -> None:
    """Write model, vocabularies, tokenizer and, where there is one, the shortlist as a vocabulary map.

    Raises RunError for a model that CTranslate2 cannot hold.
    """
    spec: Any = specification(model, tokenizer.target)
    names = TokenNames.of(tokenizer)
    spec.register_source_vocabulary(names.source)
    spec.register_target_vocabulary(names.target)
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = names.unk, names.bos, names.eos
    spec.config.decoder_start_token = names.bos
    spec.config.add_source_bos, spec.config.add_source_eos = False, True
    spec.config.layer_norm_epsilon = norm_epsilon(model)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))
    RunDirectory(folder).write_tokenizer(tokenizer)
    if shortlist is not None:
        write_atomically(folder / VOCABULARY_MAP, shortlist.to_bytes(tokenizer.source))


def check_output(path: Path, overwrite: bool) -> None:
    """Raise DataError unless `path` can be written: it is new, or an earlier export that may be replaced."""
    if not path.absolute().parent.is_dir():
        raise DataError(f"output: a folder in an existing one is needed; got {path}")
    if not path.exists():
        return
    if not overwrite:
        raise DataError(f"output: a new folder is needed, or overwrite=true; got {path}, which exists")
    if not (path / MODEL).is_file():
        raise DataError(f"output: a new folder or an earlier export is needed; got {path}, which is neither")


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to fill that gets its name at the end, and is gone if anything goes wrong."""
    path = path.absolute()
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    earlier = path.with_name(f"{temporary.name}.earlier")
    try:
        temporary.mkdir()
        yield temporary
        if path.exists():
            os.replace(path, earlier)
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(earlier, ignore_errors=True)
