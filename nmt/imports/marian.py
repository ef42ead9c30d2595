"""A folder of Marian (Junczys-Dowmunt et al. 2018), as OPUS-MT packs them, as a run."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import torch
import yaml
from pydantic import Field
from torch import Tensor

from nmt.config import RecordedSettings, TransformerSettings
from nmt.config.check import check_file
from nmt.config.kinds import Depth, Share, Size
from nmt.data.tokenizer import Vocabulary
from nmt.errors import DataError, RunError
from nmt.files.reading import MAX_JSON_BYTES, read_plain
from nmt.imports.folder import read_model, require_folder, require_numbers
from nmt.imports.imported import UNSAID, Imported, read_weights
from nmt.imports.npz import BYTES, Array, read_arrays, read_headers, shapes_of_floats
from nmt.layouts.marian import (
    DECODER,
    EOS,
    OPTIONS,
    OUR_ACTIVATIONS,
    PROCESSES,
    SOURCE_MODEL,
    TARGET_MODEL,
    UNK,
    layout,
)
from nmt.layouts.pieces import Specials, read_sides
from nmt.runs.directory import MAX_TOKENIZER_BYTES

# Sines and cosines can be computed for any position, so the limit is free to choose.
MAX_POSITIONS = 1024
NUMBER = re.compile("[0-9]{1,9}")
# The name of the output layer in newer versions of Marian, which do not transpose it.
UNTURNED = "decoder_ff_logit_out_Wt"
MAX_PIECES = 1_000_000  # of a vocabulary, as in those that are learned here
MAX_DEPTH = 10  # of nested YAML collections
# PyYAML takes a kilobyte of memory for each value of settings, and minutes for a number in base 60 of a megabyte.
MAX_VALUES, MAX_CHARACTERS = 10_000, 1_000
# libyaml reads large vocabularies in a tenth of the time.
Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class Options(RecordedSettings):
    """The options in a model file that are read; a missing option has Marian's default."""

    type: Literal["transformer"]
    width: Size = Field(alias="dim-emb")
    encoder_depth: Depth = Field(alias="enc-depth")
    decoder_depth: Depth = Field(alias="dec-depth")
    heads: Size = Field(alias="transformer-heads")
    inner_width: Size = Field(alias="transformer-dim-ffn")
    inner_depth: Annotated[int, Field(ge=2, le=2)] = Field(2, alias="transformer-ffn-depth")
    activation: Literal["relu", "swish"] = Field(alias="transformer-ffn-activation")
    before: str = Field(alias="transformer-preprocess")
    after: str = Field(alias="transformer-postprocess")
    after_last: str = Field("", alias="transformer-postprocess-top")
    after_embedding: Literal["", "d"] = Field(alias="transformer-postprocess-emb")
    decoder: Literal["self-attention"] = Field("self-attention", alias="transformer-decoder-autoreg")
    has_no_projection: Literal[False] = Field(False, alias="transformer-no-projection")
    learns_positions: Literal[False] = Field(False, alias="transformer-train-position-embeddings")
    writes_from_the_end: Literal[False] = Field(False, alias="right-left")
    dropout: Share = Field(0.0, alias="transformer-dropout")
    attention_dropout: Share = Field(0.0, alias="transformer-dropout-attention")
    activation_dropout: Share = Field(0.0, alias="transformer-dropout-ffn")


class Decoder(RecordedSettings):
    """The keys of decoder.yml that are read."""

    models: Annotated[list[str], Field(min_length=1, max_length=1)]
    vocabs: Annotated[list[str], Field(min_length=2, max_length=2)]


class Numbered(NamedTuple):
    """The number of each piece of a side, and the rows of its special tokens."""

    numbers: dict[str, int]
    specials: Specials


def read(folder: Path) -> Imported:
    """Read a folder with decoder.yml. Raises RunError for one that holds something else."""
    require_folder(folder, [DECODER])
    path = folder / DECODER
    decoder = check_file(Decoder, _settings(path, read_plain(path, MAX_JSON_BYTES)), path)
    path, *vocabularies = [_inside(folder, name) for name in (*decoder.models, *decoder.vocabs)]
    headers = read_headers(path)
    settings = _model_settings(path, headers)
    source, target = [_read_vocabulary(one) for one in vocabularies]
    names = zip(vocabularies, (SOURCE_MODEL, TARGET_MODEL), strict=True)
    # A vocabulary may be a SentencePiece model itself.
    source_model, target_model = [
        read_model(one if one.suffix == ".spm" else _inside(folder, name)) for one, name in names
    ]
    tokenizer, *sides = read_sides(
        (source_model, target_model), (source.numbers, target.numbers), (source.specials, target.specials)
    )
    of_norm = layout(settings.norm)
    found = shapes_of_floats(headers)
    if UNTURNED in found:
        found[of_norm.output_weight] = found.pop(UNTURNED)[::-1]
    return read_weights(
        path,
        of_norm,
        settings,
        tokenizer,
        (sides[0], sides[1]),
        (len(source.numbers), len(target.numbers)),
        found,
        lambda: _read_tensors(path, shapes_of_floats(headers), of_norm.output_weight),
    )


def _read_tensors(path: Path, names: Iterable[str], output: str) -> dict[str, Tensor]:
    tensors = {name: torch.from_numpy(array) for name, array in read_arrays(path, names).items()}
    if UNTURNED in tensors:
        tensors[output] = tensors.pop(UNTURNED).T
    return tensors


def _inside(folder: Path, name: str) -> Path:
    """Return the path of a file of the folder. Raises RunError for a file that is elsewhere or missing."""
    path = folder / name
    if Path(name).name != name.removeprefix("./") or not path.is_file():
        raise RunError(f"run: a file in {folder} is needed; got {name}")
    return path


def _settings(path: Path, content: bytes) -> dict[Any, Any]:
    """Return a mapping of settings in YAML. Raises RunError for anything else, and for what no program has written."""
    scalars = (event for event in _events(path, content) if isinstance(event, yaml.ScalarEvent))
    for number, scalar in enumerate(scalars, 1):
        if number > MAX_VALUES or len(scalar.value) > MAX_CHARACTERS:
            raise RunError(
                f"run: settings of at most {MAX_VALUES} values, with at most {MAX_CHARACTERS} characters each, are "
                f"needed; got more in {path}"
            )
    try:
        found = yaml.safe_load(content.decode())
    # LookupError and AttributeError are of tagged scalars without a value, such as `!!bool x` and `!!int ""`.
    except (yaml.YAMLError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        raise _unreadable(path, error) from None
    if not isinstance(found, dict):
        raise RunError(f"run: a mapping in YAML is needed; got {path}, which holds something else")
    return found


def _rows(path: Path, content: bytes) -> dict[str, str]:
    """Return a mapping of text to text in YAML. Raises RunError for anything else.

    The mapping is made from the events of the parser, since a tree of nodes would take hundreds of times its size.
    """
    texts, starts = list[str](), list[type]()
    for event in _events(path, content):
        if isinstance(event, yaml.ScalarEvent):
            texts.append(event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            starts.append(type(event))
        if len(texts) > 2 * MAX_PIECES:
            raise RunError(f"run: a vocabulary of at most {MAX_PIECES} pieces is needed; got more in {path}")
    found = dict(zip(texts[::2], texts[1::2], strict=False))
    if starts != [yaml.MappingStartEvent] or len(found) * 2 != len(texts):
        raise RunError(
            f"run: a mapping in YAML, with a number for each piece, is needed; got {path}, which holds something else"
        )
    return found


def _events(path: Path, content: bytes) -> Iterator[Any]:
    """Yield the events of YAML. Raises RunError for aliases, and for more than MAX_DEPTH levels.

    libyaml builds nested collections recursively, and deep ones would exhaust the stack of the process.
    """
    depth = 0
    try:
        for event in yaml.parse(content.decode(), Loader=Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH or isinstance(event, yaml.AliasEvent):
                raise RunError(
                    f"run: readable YAML is needed, without aliases and of little depth; got other in {path}"
                )
            yield event
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> RunError:
    return RunError(f"run: readable YAML is needed; got {path}: {' '.join(str(error).split())}")


def _read_vocabulary(path: Path) -> Numbered:
    if path.suffix == ".spm":
        try:
            own = Vocabulary(read_model(path))
        except DataError as error:
            raise RunError(f"run: {path}: {error}") from None
        numbers = {piece: i for i, piece in enumerate(own.pieces[: own.num_pieces])}
        for name, number in ((EOS, own.eos_id), (UNK, own.unk_id)):
            if number >= len(numbers):
                raise RunError(f"run: a vocabulary with {name} is needed; got {path}")
        return Numbered(numbers, Specials(len(numbers), own.unk_id, len(numbers), own.eos_id))
    found = _rows(path, read_plain(path, MAX_TOKENIZER_BYTES))
    is_number = all(NUMBER.fullmatch(row) for row in found.values())
    numbers = require_numbers({piece: int(row) for piece, row in found.items()} if is_number else found, path)
    for name in (EOS, UNK):
        if name not in numbers:
            raise RunError(f"run: a vocabulary with {name} is needed; got {path}")
    return Numbered(numbers, Specials(len(numbers), numbers[UNK], len(numbers), numbers[EOS]))


def _model_settings(path: Path, headers: Mapping[str, Array]) -> TransformerSettings:
    """Return the settings of a model, from the options in its file."""
    header = headers.get(OPTIONS)
    if header is None or header.dtype not in BYTES or math.prod(header.shape) > MAX_JSON_BYTES:
        raise RunError(f"run: a model with {OPTIONS} is needed; got {path}, which has none")
    content = read_arrays(path, [OPTIONS])[OPTIONS].tobytes().rstrip(b"\0")
    options = check_file(Options, _settings(path, content), path)
    processes = options.before, options.after, options.after_last
    norms = [norm for norm, letters in PROCESSES.items() if tuple(letters.values()) == processes]
    if not norms:
        raise RunError(
            f"run: normalisation behind sub-layers (dan) or before them (n, da, n) is needed; got {processes} in {path}"
        )
    own = {
        "num_encoder_layers": options.encoder_depth,
        "num_decoder_layers": options.decoder_depth,
        "d_model": options.width,
        "d_ff": options.inner_width,
        "num_heads": options.heads,
        "norm": norms[0],
        "max_positions": MAX_POSITIONS,
        "activation": OUR_ACTIVATIONS[options.activation],
        "dropout": options.dropout,
        "attention_dropout": options.attention_dropout,
        "activation_dropout": options.activation_dropout,
    }
    return check_file(TransformerSettings, UNSAID | own, path)
