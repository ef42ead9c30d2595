"""A folder of Hugging Face, such as those of OPUS-MT (Tiedemann & Thottingal 2020), as a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field

from nmt.config import RecordedSettings, TransformerSettings
from nmt.config.check import check_file
from nmt.config.kinds import Depth, Number, Share, Size
from nmt.errors import RunError
from nmt.files.reading import read_json
from nmt.imports.folder import read_model, read_numbers, require_folder
from nmt.imports.imported import UNSAID, Imported, read_weights
from nmt.layouts.huggingface import (
    CONFIG,
    GENERATION,
    KEYS,
    LAYOUT,
    NORM_OF_MODEL,
    OUR_ACTIVATIONS,
    POSITIONS,
    SOURCE_MODEL,
    TARGET_MODEL,
    TARGET_VOCABULARY,
    VOCABULARY,
    WEIGHTS,
)
from nmt.layouts.pieces import Specials, read_sides
from nmt.models.positions import sinusoids
from nmt.runs.weights import Shapes, read_foreign, read_shapes

PICKLE = "pytorch_model.bin"
UNK = "<unk>"
LARGEST_DIFFERENCE = 2e-3  # of a position table that was saved in 16 bits


Row = Annotated[int, Number, Field(ge=0)]


class Config(RecordedSettings):
    """The keys of config.json that are read; a missing key has the default that transformers gives it."""

    model_type: Literal["marian", "pegasus"]
    d_model: Size
    encoder_layers: Depth
    decoder_layers: Depth
    encoder_attention_heads: Size
    decoder_attention_heads: Size
    encoder_ffn_dim: Size
    decoder_ffn_dim: Size
    max_position_embeddings: Size
    activation_function: Literal["relu", "gelu", "swish", "silu"]
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    activation_dropout: Share = 0.0
    scale_embedding: Literal[True]
    static_position_embeddings: Literal[True] = True
    normalize_embedding: Literal[False] = False
    tie_word_embeddings: bool = True
    pad_token_id: Row
    eos_token_id: Row
    decoder_start_token_id: Row


def read(folder: Path) -> Imported:
    """Read the folder of a MarianMTModel, or of a Pegasus that nmt has exported. Raises RunError for any other."""
    _require_safe_weights(folder)
    require_folder(folder, [CONFIG, WEIGHTS, SOURCE_MODEL, TARGET_MODEL, VOCABULARY])
    config, path = _read_config(folder), folder / WEIGHTS
    settings = _model_settings(config, folder / CONFIG)
    numbers = read_numbers(folder / VOCABULARY)
    has_two = (folder / TARGET_VOCABULARY).is_file()
    target_numbers = read_numbers(folder / TARGET_VOCABULARY) if has_two else numbers
    specials = _specials(config, numbers, folder), _specials(config, target_numbers, folder)
    models = read_model(folder / SOURCE_MODEL), read_model(folder / TARGET_MODEL)
    tokenizer, *sides = read_sides(models, (numbers, target_numbers), specials)
    shapes = read_shapes(path)
    _require_sinusoids(path, [name for name in POSITIONS if name in shapes])
    names = _names(shapes, config.tie_word_embeddings, path)
    return read_weights(
        path,
        LAYOUT,
        settings,
        tokenizer,
        (sides[0], sides[1]),
        (len(numbers), len(target_numbers)),
        {name: shapes[own] for name, own in names.items()},
        lambda: dict(zip(names, read_foreign(path, names.values()).values(), strict=True)),
    )


def _names(shapes: Shapes, is_tied: bool, path: Path) -> dict[str, str]:
    """Return the names of the weights that are read, each with the name that it has in the file.

    A table of embeddings that stands for several may have any of their names, or several. Tables of positions are
    computed. Raises RunError where tables of which only one is read differ.
    """
    names = {name: name for name in shapes if name not in POSITIONS}
    source, target = LAYOUT.embeddings.values()
    output = [LAYOUT.output_weight] if is_tied else []
    has_two = LAYOUT.shared not in shapes and source in shapes and target in shapes
    is_shared = LAYOUT.shared in shapes or (is_tied and not has_two)
    tied = [LAYOUT.shared, source, target, *output] if is_shared else [target, *output]
    found = [name for name in tied if name in shapes]
    _require_equal(path, found)
    for name in found:
        del names[name]
    if found:
        names[tied[0]] = found[0]
    return names


def _require_equal(path: Path, names: Sequence[str]) -> None:
    """Raise RunError unless all of these tensors are equal."""
    for other in names[1:]:
        one, two = read_foreign(path, [names[0], other]).values()
        if not torch.equal(one.float(), two.float()):
            raise RunError(
                f"run: weights that are equal where the settings tie them are needed; got {path}, whose {other} is not "
                f"{names[0]}"
            )


def _require_safe_weights(folder: Path) -> None:
    if (folder / PICKLE).exists() and not (folder / WEIGHTS).exists():
        raise RunError(
            f"run: {WEIGHTS} is needed, since {PICKLE} holds Python objects, which can run code; got {folder}; "
            "who trusts it converts it by transformers: MarianMTModel.from_pretrained(FOLDER).save_pretrained(FOLDER)"
        )


def _require_sinusoids(path: Path, names: list[str]) -> None:
    """Raise RunError for a table of positions that is not the one of sines and cosines."""
    for name, table in read_foreign(path, names).items():
        is_table = table.dim() == 2 and table.shape[1] % 2 == 0 and table.numel() > 0
        expected = sinusoids(table.shape[0], table.shape[1], torch.device("cpu")) if is_table else None
        if expected is None or not torch.allclose(table.float(), expected, atol=LARGEST_DIFFERENCE):
            raise RunError(
                f"run: positions by sines and cosines are needed; got {path}, whose {name} has others"
            )


def _read_config(folder: Path) -> Config:
    values: dict[str, Any] = read_json(folder / CONFIG)
    if (folder / GENERATION).is_file():  # newer versions of transformers keep the special token ids there
        values = read_json(folder / GENERATION) | {
            key: value for key, value in values.items() if value is not None
        }
    return check_file(Config, values, folder / CONFIG)


def _model_settings(config: Config, path: Path) -> TransformerSettings:
    values: dict[str, Any] = {}
    for theirs, ours in KEYS.items():
        value = getattr(config, theirs)
        if values.setdefault(ours, value) != value:
            raise RunError(
                f"run: {path}: {theirs}: {values[ours]} is needed, as on the other side; got {value}"
            )
    values["norm"] = NORM_OF_MODEL[config.model_type]
    values["activation"] = OUR_ACTIVATIONS[config.activation_function]
    return check_file(TransformerSettings, UNSAID | values, path)


def _specials(config: Config, numbers: Mapping[str, int], path: Path) -> Specials:
    """Return the rows of the special tokens of a side. Raises RunError for a row that the vocabulary lacks."""
    rows = Specials(
        config.pad_token_id, numbers.get(UNK, -1), config.decoder_start_token_id, config.eos_token_id
    )
    for name, row in rows._asdict().items():
        if not 0 <= row < len(numbers):
            raise RunError(
                f"run: a row of the vocabulary is needed for the token {name}; got {row} in {path}"
            )
    return rows
