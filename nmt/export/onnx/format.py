"""A folder that ONNX Runtime and transformers.js read: two graphs, settings, and the tokenizer."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmt.config import DecodingSettings, Quantization
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.engine import most_read
from nmt.errors import DeviceError, RunError
from nmt.export import tokenizer_json
from nmt.export.comparison import Comparison
from nmt.export.formats import Exported, Found, NewModel, Work, plain_search
from nmt.export.onnx.graph import check, decoder_graph, encoder_graph
from nmt.export.onnx.readme import readme
from nmt.export.onnx.run import DECODER, ENCODER, Graphs, SpecialIds, greedy_search, load_onnxruntime
from nmt.files.writing import to_json, write_atomically
from nmt.models.transformer import Transformer

GRAPHS = "onnx"  # the folder of the graphs
SUFFIXES: dict[Quantization, str] = {"float32": "", "int8": "_quantized"}


class ONNX:
    """See `nmt.export.formats.Format`. It is compared in greedy search."""

    def require(self, new: NewModel | None = None) -> None:
        load_onnxruntime()
        if new is not None:
            tokenizer_json.require_kind(new.tokenizer.kind)

    def write(self, folder: Path, exported: Exported) -> None:
        check_settings(exported)
        model, tokenizer = check(exported.model), exported.tokenizer
        files = {
            "config.json": model_config(model, tokenizer),
            "generation_config.json": generation_config(model, tokenizer),
            **tokenizer_files(tokenizer, model),
        }
        (folder / GRAPHS).mkdir()
        write_graphs(folder / GRAPHS, model, tokenizer, exported.settings.quantization)
        for name, content in files.items():
            write_atomically(folder / name, to_json(content))
        write_atomically(folder / GRAPHS / "translation.json", to_json(limits_of(exported)))

    def searches(self, exported: Exported) -> Sequence[DecodingSettings]:
        return [plain_search(exported)]

    def translate(self, folder: Path, exported: Exported, work: Work) -> Found:
        _, source, limits = work
        quantization = exported.settings.quantization
        graphs = Graphs(folder / GRAPHS, SUFFIXES[quantization])
        return Found(greedy_search(graphs, source, limits, SpecialIds.of(exported.tokenizer)), quantization)

    def page(self, exported: Exported, comparisons: Sequence[Comparison]) -> str:
        return readme(exported, comparisons, SUFFIXES[exported.settings.quantization], limits_of(exported))


def check_settings(exported: Exported) -> None:
    """Raise UserError for a quantisation or a device that these graphs do not support."""
    settings = exported.settings
    if settings.quantization not in SUFFIXES:
        raise RunError(
            f"quantization: float32 or int8 is needed with format={settings.format}; got {settings.quantization}"
        )
    if settings.device != "cpu":
        raise DeviceError(
            f"device: cpu is needed with format={settings.format}, which is checked there; got {settings.device}"
        )


def write_graphs(folder: Path, model: Transformer, tokenizer: Tokenizer, quantization: Quantization) -> None:
    """Write encoder and decoder to files whose names tell the type of their weights."""
    graphs = {ENCODER: encoder_graph(model), DECODER: decoder_graph(model, tokenizer.target)}
    for name, graph in graphs.items():
        path = folder / f"{name}{SUFFIXES[quantization]}.onnx"
        if quantization == "int8":
            quantize(graph, path)
        else:
            write_atomically(path, graph.SerializeToString())


def quantize(graph: Any, path: Path) -> None:
    """Write a graph that multiplies 8-bit integers; activations get their scale at run time (dynamic quantisation).

    Weights are unsigned, since products of signed ones overflow on processors without instructions for them.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)  # the library logs advice on image models
    try:
        quantize_dynamic(graph, path, weight_type=QuantType.QUInt8)
    finally:
        root.setLevel(level)


def model_config(model: Transformer, tokenizer: Tokenizer) -> dict[str, Any]:
    """Return config.json: the names and shapes of the cache, which loaders have to know.

    `marian` is the model type whose cache has these names. Heads and widths are those of keys and values, which may
    have fewer heads than queries have. How the layers compute is in the graphs alone.
    """
    options, vocabulary = model.options, tokenizer.target
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": tokenizer.source.size,
        "decoder_vocab_size": vocabulary.size,
        "d_model": options.num_shared_heads * options.d_head,
        "encoder_layers": len(model.encoder.layers),
        "decoder_layers": len(model.decoder.layers),
        "encoder_attention_heads": options.num_shared_heads,
        "decoder_attention_heads": options.num_shared_heads,
        "max_position_embeddings": model.max_positions,
        **_special_ids(tokenizer),
    }


def generation_config(model: Transformer, tokenizer: Tokenizer) -> dict[str, Any]:
    """Return generation_config.json: greedy search up to the most tokens that the model can write."""
    return {"num_beams": 1, "do_sample": False, "max_length": model.max_positions, **_special_ids(tokenizer)}


def _special_ids(tokenizer: Tokenizer) -> dict[str, Any]:
    target = tokenizer.target
    return {
        "pad_token_id": target.pad_id,
        "bos_token_id": target.bos_id,
        "eos_token_id": target.eos_id,
        "decoder_start_token_id": target.bos_id,
    }


def tokenizer_files(tokenizer: Tokenizer, model: Transformer) -> dict[str, Any]:
    """Return the files of the tokenizer by their names; the target has its own where it has its own vocabulary."""
    assert model.max_positions is not None
    source, target = tokenizer.source, tokenizer.target
    files = {
        tokenizer_json.FILE: tokenizer_json.tokenizer_json(source),
        tokenizer_json.CONFIG: tokenizer_json.tokenizer_config(source, model.max_positions),
    }
    if not tokenizer.joint:
        files[f"target_{tokenizer_json.FILE}"] = tokenizer_json.tokenizer_json(target)
    return files


def limits_of(exported: Exported) -> dict[str, int | float]:
    """Return nmt's limits on the tokens of a source and of its translation, EOS not counted."""
    decoding, max_positions = exported.settings.decoding, exported.model.max_positions
    assert max_positions is not None
    return {
        "max_source_tokens": most_read(exported.model, decoding.max_source_tokens)[0],
        "max_target_tokens": max_positions - 1,
        "max_length_ratio": decoding.max_length_ratio,
        "max_length_extra": decoding.max_length_extra,
    }
