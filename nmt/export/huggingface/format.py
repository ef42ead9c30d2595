"""A folder that transformers loads: MarianMTModel, or Pegasus for a model that normalises before its sub-layers."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from nmt.config import DecodingSettings
from nmt.data.tokenizer import Tokenizer, Vocabulary
from nmt.decoding.engine import most_read
from nmt.device import prepare_device
from nmt.errors import ExportError, RunError
from nmt.export import tokenizer_json
from nmt.export.comparison import Comparison
from nmt.export.formats import Exported, Found, NewModel, TokenLists, Work, plain_search
from nmt.export.huggingface.readme import readme, search_of
from nmt.export.weights import require_plain_layers, require_plain_model, weights_in_layout
from nmt.files.writing import to_json, write_atomically
from nmt.layouts.huggingface import (
    ACTIVATIONS,
    CLASSES,
    CONFIG,
    GENERATION,
    KEYS,
    LAYOUT,
    MODEL_OF_NORM,
    POSITIONS,
    SOURCE_MODEL,
    TARGET_MODEL,
    TARGET_VOCABULARY,
    VOCABULARY,
    WEIGHTS,
)
from nmt.layouts.pieces import named_as_theirs
from nmt.models.positions import sinusoids
from nmt.models.transformer import Transformer
from nmt.versions import importing

SENTENCES_AT_ONCE = 20
LAYOUT_NAME = "Hugging Face's Marian or Pegasus"


class HuggingFace:
    """See `nmt.export.formats.Format`. It is compared in plain greedy search."""

    def require(self, new: NewModel | None = None) -> None:
        load_transformers()
        if new is not None:
            model, tokenizer = new
            require_plain_layers(model, ACTIVATIONS, LAYOUT_NAME)
            if model.norm == "pre":
                # `auto` is three_way with one vocabulary.
                _require_one_embedding(tokenizer.joint and model.tied_embeddings in ("auto", "three_way"))
                tokenizer_json.require_kind(tokenizer.kind)

    def write(self, folder: Path, exported: Exported) -> None:
        tokenizer, quantization = exported.tokenizer, exported.settings.quantization
        if quantization == "int8":
            raise RunError("quantization: float32 or float16 is needed for format=huggingface; got int8")
        model = require_plain_model(exported.model, tokenizer, ACTIVATIONS, LAYOUT_NAME)
        is_shared = model.source_embedding is model.target_embedding
        if model.options.norm == "pre":
            _require_one_embedding(is_shared and "output.weight" not in dict(model.named_parameters()))
        orders = numbering(tokenizer)
        weights = weights_in_layout(LAYOUT, model, tokenizer.target, orders)
        if model.options.norm == "pre":  # else transformers warns that it initialises them
            assert model.max_positions is not None
            table = sinusoids(model.max_positions, model.options.d_model, torch.device("cpu"))
            weights |= {name: table.clone() for name in POSITIONS}
        if quantization == "float16":
            weights = {name: tensor.half() for name, tensor in weights.items()}
        write_atomically(folder / WEIGHTS, safetensors.torch.save(weights, {"format": "pt"}))
        for name, content in _files(exported, model, orders).items():
            write_atomically(folder / name, to_json(content))
        for name, side in ((SOURCE_MODEL, tokenizer.source), (TARGET_MODEL, tokenizer.target)):
            write_atomically(folder / name, side.model)

    def searches(self, exported: Exported) -> Sequence[DecodingSettings]:
        return [plain_search(exported)]

    def translate(self, folder: Path, exported: Exported, work: Work) -> Found:
        search, source, limits = work
        model, tokenizer = load(folder, exported.settings.device)
        orders = numbering(exported.tokenizer)
        _require_same_pieces(tokenizer, exported.tokenizer.source, orders[0], source)
        found = generate(model, _renumbered(source, _places(orders[0])), limits, search)
        # In greedy search, a lower limit cuts a translation and changes no token before the cut.
        cut = [ids[:limit] for ids, limit in zip(_renumbered(found, orders[1]), limits, strict=True)]
        return Found(cut, "float32")

    def page(self, exported: Exported, comparisons: Sequence[Comparison]) -> str:
        return readme(exported, comparisons[0])


def load_transformers() -> Any:
    """Import transformers, which nothing else here needs. Raises UserError where it is not installed."""
    with importing("huggingface", "format"):
        import transformers
    return transformers


def load(folder: Path, device: str) -> tuple[Any, Any]:
    """Return model and tokenizer of a folder as transformers loads them, in float32.

    Raises DeviceError for a device that is not there.
    """
    library = load_transformers()
    library.utils.logging.disable_progress_bar()
    model = library.AutoModelForSeq2SeqLM.from_pretrained(
        str(folder), dtype=torch.float32, local_files_only=True
    )
    with warnings.catch_warnings():  # about a library that this tokenizer does not use in the end
        warnings.simplefilter("ignore", UserWarning)
        tokenizer = library.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    return model.eval().to(prepare_device(device)), tokenizer


@torch.inference_mode()
def generate(
    model: Any, source: Sequence[Sequence[int]], limits: Sequence[int], search: DecodingSettings
) -> TokenLists:
    """Return the target token ids of sources (token ids without EOS), in batches of similar length."""
    pad_id, eos_id = model.config.pad_token_id, model.config.eos_token_id
    found: TokenLists = [[] for _ in source]
    order = sorted(range(len(source)), key=lambda i: len(source[i]))
    for start in range(0, len(order), SENTENCES_AT_ONCE):
        chosen = order[start : start + SENTENCES_AT_ONCE]
        width = max(len(source[i]) for i in chosen) + 1
        ids = torch.tensor([[*source[i], eos_id, *[pad_id] * (width - len(source[i]) - 1)] for i in chosen])
        lengths = torch.tensor([len(source[i]) + 1 for i in chosen])
        results = model.generate(
            input_ids=ids.to(model.device),
            attention_mask=(torch.arange(width) < lengths.unsqueeze(1)).long().to(model.device),
            max_length=None,
            max_new_tokens=max(limits[i] for i in chosen) + 1,
            **search_of(search),
        )
        for i, row in zip(chosen, results[:, 1:].tolist(), strict=True):
            found[i] = row[: row.index(eos_id)] if eos_id in row else row
    return found


def numbering(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return our token ids of both sides, in the order of the rows of the export.

    Special tokens need the same rows on both sides: where our ids of the two sides differ, these tokens come first.
    """
    sides = tokenizer.source, tokenizer.target
    specials = [side.special_ids for side in sides]
    if specials[0] == specials[1]:
        return list(range(sides[0].size)), list(range(sides[1].size))
    orders = [
        [*first, *(i for i in range(side.size) if i not in first)]
        for side, first in zip(sides, specials, strict=True)
    ]
    return orders[0], orders[1]


def _places(order: Sequence[int]) -> list[int]:
    """Return the row of each of our token ids."""
    places = [0] * len(order)
    for row, i in enumerate(order):
        places[i] = row
    return places


def _renumbered(rows: Sequence[Sequence[int]], numbers: Sequence[int]) -> TokenLists:
    return [[numbers[i] for i in row] for row in rows]


def _files(exported: Exported, model: Transformer, orders: tuple[list[int], list[int]]) -> dict[str, Any]:
    """Return the files of settings and vocabularies, by their names."""
    source, target = exported.tokenizer.source, exported.tokenizer.target
    place, is_shared = _places(orders[1]), model.source_embedding is model.target_embedding
    kind = MODEL_OF_NORM[model.options.norm]
    tokens = {
        "pad_token_id": place[target.pad_id],
        "bos_token_id": place[target.bos_id],
        "eos_token_id": place[target.eos_id],
        "decoder_start_token_id": place[target.bos_id],
        "forced_eos_token_id": place[target.eos_id],
    }
    max_length = most_read(model, exported.settings.decoding.max_source_tokens)[0] + 1
    files: dict[str, Any] = {
        CONFIG: {
            "architectures": [CLASSES[kind]],
            "model_type": kind,
            "is_encoder_decoder": True,
            "dtype": exported.settings.quantization,
            "activation_function": ACTIVATIONS[model.options.activation],
            "scale_embedding": True,
            "share_encoder_decoder_embeddings": is_shared,
            "tie_word_embeddings": model.output.weight is model.target_embedding.weight,
            "vocab_size": source.size,
            "decoder_vocab_size": target.size,
            **{theirs: settings_of(model)[ours] for theirs, ours in KEYS.items()},
            **tokens,
        },
        GENERATION: {**tokens, **search_of(exported.settings.decoding), "max_length": model.max_positions},
        VOCABULARY: _numbers(source, orders[0], is_alone=not is_shared),
    }
    if kind == "pegasus":
        files |= {
            tokenizer_json.FILE: tokenizer_json.tokenizer_json(source),
            tokenizer_json.CONFIG: tokenizer_json.tokenizer_config(source, max_length),
        }
        return files
    if not is_shared:
        files[TARGET_VOCABULARY] = _numbers(target, orders[1])
    names = tokenizer_json.token_names(source)
    files[tokenizer_json.CONFIG] = {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": not is_shared,
        "model_max_length": max_length,
        "pad_token": names[source.pad_id],
        "unk_token": names[source.unk_id],
        "eos_token": names[source.eos_id],
        "clean_up_tokenization_spaces": False,
    }
    return files


def settings_of(model: Transformer) -> dict[str, Any]:
    """Return the settings of a model, as conf/model/transformer.yaml calls them."""
    return vars(model.options) | {
        "num_encoder_layers": len(model.encoder.layers),
        "num_decoder_layers": len(model.decoder.layers),
        "max_positions": model.max_positions,
        "activation_dropout": model.options.inner_dropout,
    }


def _numbers(vocabulary: Vocabulary, order: Sequence[int], is_alone: bool = False) -> dict[str, int]:
    """Return the row of each piece.

    A vocabulary of the source alone (`is_alone`) has tags without their space marker, as the tokenizer cuts them off.
    """
    names = tokenizer_json.token_names(vocabulary)
    return {named_as_theirs(names[i]) if is_alone else names[i]: row for row, i in enumerate(order)}


def _require_one_embedding(is_one: bool) -> None:
    if not is_one:
        raise RunError(
            "run: model.tied_embeddings=three_way is needed with model.norm=pre, since Pegasus, the layout of such "
            "models, has one embedding for both sides and the output layer; got separate ones"
        )


def _require_same_pieces(
    theirs: Any, ours: Vocabulary, order: Sequence[int], source: Sequence[Sequence[int]]
) -> None:
    """Raise ExportError where the tokenizer of the folder segments lines in another way than ours."""
    lines = [ours.decode(ids) for ids in source]
    expected = [[*ids, theirs.eos_token_id] for ids in _renumbered(ours.encode(lines), _places(order))]
    differing = sum(a != b for a, b in zip(theirs(lines)["input_ids"], expected, strict=True))
    if differing:
        raise ExportError(
            f"format: a tokenizer that segments as the run's is needed; got other pieces in {differing} of "
            f"{len(lines)} lines; nothing was written"
        )
