"""A run directory of a model that was not trained here."""

from functools import partial
from pathlib import Path
from typing import get_args

from nmt.config import ImportSettings, TokenizerSettings
from nmt.config.check import check
from nmt.data.tokenizer import Tokenizer
from nmt.errors import DataError
from nmt.export.output import new_folder
from nmt.files.writing import to_json, write_atomically
from nmt.imports.imported import Imported
from nmt.runs.directory import RunDirectory, require_utf_8
from nmt.runs.migration import FORMAT
from nmt.runs.model import load_model
from nmt.training.checkpoint import save_checkpoint
from nmt.training.progress import Progress

NORMALIZATIONS = get_args(TokenizerSettings.model_fields["normalization"].annotation)


def write_run(output: Path, imported: Imported, settings: ImportSettings) -> None:
    """Write a run with one checkpoint, of update 0; its text is `data` of the settings, if that was given."""
    own = settings.model_dump(mode="json", include={"data", "decoding", "evaluation"})
    if settings.data is None:
        del own["data"]
    own["model"] = imported.model.model_dump(mode="json")
    own["tokenizer"] = _tokenizer_settings(imported.tokenizer).model_dump(mode="json")
    with new_folder(output, partial(require_new, output)) as folder:
        run = RunDirectory(folder)
        write_atomically(run.config_path, to_json({"format": FORMAT, **own}))
        run.write_tokenizer(imported.tokenizer)
        save_checkpoint(run, imported.weights, {}, Progress(), keep=1)
        load_model(run, "best")


def require_new(output: Path) -> None:
    """Raise UserError unless a folder can be made there."""
    require_utf_8(output, "output")
    if output.exists() or not output.absolute().parent.is_dir():
        raise DataError(f"output: a new folder in an existing one is needed; got {output}")


def _tokenizer_settings(tokenizer: Tokenizer) -> TokenizerSettings:
    """Return settings that would train a tokenizer of this kind. They only describe it: its models segment the text."""
    source = tokenizer.source
    normalization = source.normalization
    values = {
        "kind": source.kind,
        "vocabulary_size": source.num_pieces,
        "character_coverage": 1.0,
        "byte_fallback": source.has_bytes,
        "normalization": normalization if normalization in NORMALIZATIONS else "identity",
        "joint": tokenizer.joint,
        "model": None,
    }
    return check(TokenizerSettings, values, "input: its tokenizer: ")
