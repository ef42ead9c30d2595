"""A folder for Marian (Junczys-Dowmunt et al. 2018): weights, options, vocabularies and settings of the decoder."""

import io
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import yaml

from nmt.config import BeamSettings, DecodingSettings
from nmt.data.tokenizer import Vocabulary
from nmt.decoding.ctranslate2_engine import choose_device, load_ctranslate2
from nmt.errors import RunError
from nmt.export.comparison import Comparison
from nmt.export.formats import Exported, Found, NewModel, Work, plain_search
from nmt.export.onnx.readme import differences
from nmt.export.tokenizer_json import token_names
from nmt.export.weights import require_plain_layers, require_plain_model, weights_in_layout
from nmt.files.writing import write_atomically
from nmt.layouts.marian import (
    ACTIVATIONS,
    DECODER,
    EOS,
    MODEL,
    OPTIONS,
    PROCESSES,
    SOURCE_MODEL,
    TARGET_MODEL,
    UNK,
    layout,
)
from nmt.layouts.pieces import named_as_theirs
from nmt.models.transformer import Transformer

PAGE = """\
# A translation model for Marian

Exported by nmt from checkpoint `{checkpoint}` of the run `{run}`. It was converted by CTranslate2's own converter of
Marian models, and compared with the run before it was written:

{report}

Marian reads lines as pieces, and writes such:

```sh
spm_encode --model {source_model} < in.txt{untagged} \\
    | marian-decoder -c {decoder} | spm_decode --model {target_model} > out.txt
```

CTranslate2 converts it (`nmt export format=ctranslate2` makes the same in one step):

```sh
ct2-marian-converter --model_path {model} --vocab_paths {vocabularies} --output_dir ct2
```

- `{model}` is in float32. To quantise it for a browser, as Bergamot and Firefox do, is for Marian's own tools.
- UNK never comes, because of its output bias.
- Marian computes positions with rates that are a little different from those of the paper, which nmt, CTranslate2 and
  transformers use: {rate} in place of {own_rate}. Marian itself was not there to be compared.
- Marian begins with a vector of zeros, as this model does (`model.zero_start`).
- A line of more than {max_positions} pieces is cut; nmt translates long lines in parts (`decoding.split`).
- A line of emoji alone stays as it is in nmt; here the model is asked for it, and may invent text.
- Marian ends a translation after {max_length_factor} times as many pieces as its source has (`max-length-factor`);
  this run after {max_length_ratio} times as many and {max_length_extra} more.
"""
# Removes the space marker before a tag, which Marian's vocabulary holds without one.
UNTAGGED = " | sed 's/^▁>>/>>/'"


class Marian:
    """See `nmt.export.formats.Format`. CTranslate2 converts it for the comparison, in plain greedy search."""

    def require(self, new: NewModel | None = None) -> None:
        load_ctranslate2()
        if new is not None:
            require_plain_layers(new.model, ACTIVATIONS, "Marian")
            if not new.model.zero_start:
                raise RunError(
                    "run: model.zero_start=true is needed, since Marian's decoder begins with zeros; got false"
                )

    def write(self, folder: Path, exported: Exported) -> None:
        tokenizer = exported.tokenizer
        if exported.settings.quantization != "float32":
            raise RunError(
                f"quantization: float32 is needed for format=marian; got {exported.settings.quantization}"
            )
        model = require_plain_model(exported.model, tokenizer, ACTIVATIONS, "Marian")
        _require_zero_start(model, tokenizer.target)
        vocabularies, orders = vocabulary_files(exported), (order(tokenizer.source), order(tokenizer.target))
        weights = weights_in_layout(layout(model.options.norm), model, tokenizer.target, orders)
        arrays = {name: tensor.numpy() for name, tensor in weights.items()}
        options = yaml.safe_dump(_options(model, (len(orders[0]), len(orders[1])))).encode() + b"\0"
        content = io.BytesIO()
        np.savez(content, **arrays, **{OPTIONS: np.frombuffer(options, np.int8)})  # type: ignore[arg-type]
        write_atomically(folder / MODEL, content.getvalue())
        for name, names in vocabularies.items():
            write_atomically(folder / name, _to_yaml(names))
        for name, side in ((SOURCE_MODEL, tokenizer.source), (TARGET_MODEL, tokenizer.target)):
            write_atomically(folder / name, side.model)
        decoder = _decoder(exported.settings.decoding, model, _of_both(vocabularies))
        write_atomically(folder / DECODER, yaml.safe_dump(decoder, sort_keys=False).encode())

    def searches(self, exported: Exported) -> Sequence[DecodingSettings]:
        return [plain_search(exported)]

    def translate(self, folder: Path, exported: Exported, work: Work) -> Found:
        search, source, limits = work
        library, tokenizer = load_ctranslate2(), exported.tokenizer
        device = choose_device(library, exported.settings.device)
        vocabularies = [str(folder / name) for name in _of_both(vocabulary_files(exported))]
        source_names, target_names = (
            names_of(side, is_source)
            for side, is_source in ((tokenizer.source, True), (tokenizer.target, False))
        )
        target_ids = {name: i for i, name in target_names.items()}
        with tempfile.TemporaryDirectory() as converted:
            converter = library.converters.MarianConverter(str(folder / MODEL), vocabularies)
            converter.convert(converted, force=True)
            translator = library.Translator(converted, device=device, compute_type="float32")
            results = translator.translate_batch(
                [[source_names[i] for i in ids] for ids in source],
                max_batch_size=search.max_tokens,
                batch_type="tokens",
                beam_size=1,
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=max(limits),
                disable_unk=True,
            )
        found = [[target_ids[name] for name in result.hypotheses[0]] for result in results]
        return Found([ids[:limit] for ids, limit in zip(found, limits, strict=True)], "float32")

    def page(self, exported: Exported, comparisons: Sequence[Comparison]) -> str:
        tokenizer = exported.tokenizer
        has_tags = any(named_as_theirs(piece) != piece for piece in tokenizer.source.pieces)
        num_rates = exported.model.output.in_features // 2
        return PAGE.format(
            run=exported.run.path.resolve().name,
            checkpoint=exported.settings.checkpoint,
            report=indent(comparisons[0].report(), "    "),
            source_model=SOURCE_MODEL,
            target_model=TARGET_MODEL,
            decoder=DECODER,
            model=MODEL,
            vocabularies=" ".join(_of_both(vocabulary_files(exported))),
            rate=f"10000^(-i/{num_rates - 1})",
            own_rate=f"10000^(-i/{num_rates})",
            max_positions=exported.model.max_positions,
            max_length_factor=_longest(exported.settings.decoding),
            max_length_ratio=exported.settings.decoding.max_length_ratio,
            max_length_extra=exported.settings.decoding.max_length_extra,
            untagged=UNTAGGED if has_tags else "",
        ) + differences(exported.settings.decoding, tokenizer, has_beam=True, has_kinds=False)


def order(vocabulary: Vocabulary) -> list[int]:
    """Return our token ids in Marian's order: EOS, UNK, then the pieces. Marian has neither PAD nor BOS."""
    first = [vocabulary.eos_id, vocabulary.unk_id]
    left_out = {*first, vocabulary.pad_id, vocabulary.bos_id}
    return first + [i for i in range(vocabulary.size) if i not in left_out]


def names_of(vocabulary: Vocabulary, is_source: bool) -> dict[int, str]:
    """Return Marian's name of each token id of ours that it has, in its order. Raises RunError for two equal names."""
    pieces = token_names(vocabulary)
    names = {i: named_as_theirs(pieces[i]) if is_source else pieces[i] for i in order(vocabulary)}
    names |= {vocabulary.eos_id: EOS, vocabulary.unk_id: UNK}
    if len(set(names.values())) < len(names):
        raise RunError(
            f"run: pieces other than {EOS} and {UNK} are needed; got a vocabulary with these in text"
        )
    return names


def vocabulary_files(exported: Exported) -> dict[str, list[str]]:
    """Return the names of the tokens in each vocabulary file: one file for both sides, or one for each."""
    tokenizer = exported.tokenizer
    if tokenizer.joint:
        return {"vocab.yml": list(names_of(tokenizer.source, False).values())}
    return {
        "vocab.source.yml": list(names_of(tokenizer.source, True).values()),
        "vocab.target.yml": list(names_of(tokenizer.target, False).values()),
    }


def _of_both(vocabularies: Mapping[str, Any]) -> list[str]:
    names = list(vocabularies)
    return [names[0], names[-1]]


def _require_zero_start(model: Transformer, target: Vocabulary) -> None:
    embedding = model.target_embedding
    if embedding.zero_id is None and embedding.weight[target.bos_id].any():
        raise RunError(
            "run: model.zero_start=true is needed, since Marian's decoder begins with zeros; got a model that begins "
            "with a vector; nmt train training.from_run=RUN model.zero_start=true teaches it to"
        )


def _to_yaml(names: Sequence[str]) -> bytes:
    """Return a vocabulary as YAML in Marian's way: a token a line, in single quotes; a quote in a token is doubled."""
    lines = []
    for number, name in enumerate(names):
        if not name.isprintable():
            raise RunError(f"run: pieces that can be printed are needed for format=marian; got {name!a}")
        quoted = name.replace("'", "''")
        lines.append(f"'{quoted}': {number}\n")
    return "".join(lines).encode()


def _options(model: Transformer, sizes: tuple[int, int]) -> dict[str, Any]:
    """Return the options that Marian, and programs that read its models, look for in a model file."""
    options = model.options
    is_shared = model.source_embedding is model.target_embedding
    return {
        "type": "transformer",
        "dim-vocabs": list(sizes),
        "dim-emb": options.d_model,
        "enc-depth": len(model.encoder.layers),
        "dec-depth": len(model.decoder.layers),
        "transformer-heads": options.num_heads,
        "transformer-dim-ffn": options.d_ff,
        "transformer-ffn-depth": 2,
        "transformer-ffn-activation": ACTIVATIONS[options.activation],
        "transformer-postprocess-emb": "d",
        **PROCESSES[options.norm],
        "transformer-decoder-autoreg": "self-attention",
        "transformer-no-projection": False,
        "transformer-train-position-embeddings": False,
        "transformer-tied-layers": [],
        "transformer-guided-alignment-layer": "last",
        "tied-embeddings": model.output.weight is model.target_embedding.weight,
        "tied-embeddings-src": is_shared,
        "tied-embeddings-all": is_shared and model.output.weight is model.target_embedding.weight,
        "layer-normalization": False,
        "skip": False,
    }


def _longest(decoding: DecodingSettings) -> float:
    """Return `max-length-factor`, the most target tokens per source token; Marian adds no constant to it."""
    return max(1.0, decoding.max_length_ratio)


def _decoder(decoding: DecodingSettings, model: Transformer, vocabularies: Sequence[str]) -> dict[str, Any]:
    beam = (decoding.beam_size, decoding.length_penalty) if isinstance(decoding, BeamSettings) else (1, 1.0)
    return {
        "relative-paths": True,
        "models": [MODEL],
        "vocabs": list(vocabularies),
        "beam-size": beam[0],
        "normalize": beam[1],
        "word-penalty": 0,
        "max-length": model.max_positions,
        "max-length-crop": True,  # else it drops a longer line, and keeps back the translations of all lines behind it
        "max-length-factor": _longest(decoding),
        "mini-batch": 32,
        "maxi-batch": 100,
        "maxi-batch-sort": "src",
    }
