"""Models of other programs, made here: folders as OPUS-MT packs them for Hugging Face and for Marian."""

import io
import json
from functools import cache
from pathlib import Path

import numpy as np
import sentencepiece
import torch
import yaml

from nmt.cli.compose import compose
from nmt.grammar.generation import generate
from nmt.runs.directory import RunDirectory

NUM_LINES = 200
LONGEST = 20  # tokens of a translation


@cache
def lines_of_both():
    """Return German and English lines."""
    pairs = generate(seed=5, num_train=800, num_validation=NUM_LINES, num_test=1)["train"]
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


# Letters that only the target vocabulary has, one that neither has, and what looks like a tag.
ODD = ["Ein Fax für Björn: 100 % Quark ☃ ☃!", "  zwei  Wörter ", "<<kein Tag>>", "x", "ß"]


@cache
def given_lines():
    """Return lines to translate."""
    return [*lines_of_both()[0][: NUM_LINES - len(ODD)], *ODD]


@cache
def sentencepiece_model(lines, kind="unigram", size=160, normalization="nmt_nfkc"):
    """Return the bytes of a SentencePiece model as OPUS-MT trains them: with BOS, without PAD."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type=kind, vocab_size=size,
        hard_vocab_limit=False, character_coverage=1.0, normalization_rule_name=normalization, minloglevel=2,
    )  # fmt: skip
    return model.getvalue()


def both_models(kind="unigram"):
    """Return the SentencePiece models of the two sides; the source's has no x."""
    german, english = lines_of_both()
    without_x = tuple(line for line in german if "x" not in line.lower())
    return sentencepiece_model(without_x, kind), sentencepiece_model((*english, "fax xylophone"), kind)


def pieces_of(model):
    """Return the pieces that stand for text."""
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    pieces = [processor.id_to_piece(i) for i in range(processor.get_piece_size())]
    return [piece for piece in pieces if piece not in ("<unk>", "<s>", "</s>")]


def shared_numbers(models, more=()):
    """Return {piece: id} for both sides, as OPUS-MT has it; three pieces are missing, as if no text had them."""
    pieces = sorted({*pieces_of(models[0]), *pieces_of(models[1])})
    names = ["</s>", "<unk>", *more, *[piece for i, piece in enumerate(pieces) if i not in (20, 90, 150)]]
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def make_huggingface(folder: Path, more=(), kind="unigram", **options):
    """Write a MarianMTModel of random weights in the layout of OPUS-MT, and return it."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    models = both_models(kind)
    numbers = shared_numbers(models, more)
    numbers["<pad>"] = pad = len(numbers)
    folder.mkdir()
    for name, model in zip(("source.spm", "target.spm"), models, strict=True):
        (folder / name).write_bytes(model)
    (folder / "vocab.json").write_text(json.dumps(numbers))
    names = {"source_lang": "de", "target_lang": "en", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    given = {
        "vocab_size": len(numbers), "d_model": 16, "encoder_layers": 2, "decoder_layers": 1, "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
        "max_position_embeddings": 256, "activation_function": "swish", "scale_embedding": True, "pad_token_id": pad,
        "eos_token_id": 0, "forced_eos_token_id": 0, "decoder_start_token_id": pad, **options,
    }  # fmt: skip
    torch.manual_seed(1)
    model = transformers.MarianMTModel(transformers.MarianConfig(**given)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.normal_(std=0.5)
            if "layer_norm.weight" in name:
                parameter.add_(1.0)
            if "encoder_attn" in name:  # or all lines would be translated alike
                parameter.mul_(4.0)
        model.final_logits_bias.normal_(std=0.5)
        model.model.shared.weight[pad] = 0.0
    model.save_pretrained(folder)
    return model


def translate_by_transformers(folder: Path, lines, **options):
    """Return the translations of lines by transformers, by default greedy, as text."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    never = [[tokenizer.pad_token_id], [tokenizer.unk_token_id]]
    translations = []
    for start in range(0, len(lines), 50):
        batch = tokenizer(lines[start : start + 50], return_tensors="pt", padding=True)
        with torch.inference_mode():
            found = model.generate(
                **batch, do_sample=False, max_length=None, max_new_tokens=LONGEST, bad_words_ids=never,
                **{"num_beams": 1, **options},
            )  # fmt: skip
        translations += tokenizer.batch_decode(found, skip_special_tokens=True)
    return translations


# The limit here does not count EOS; the limit of transformers does, and forces EOS at the last position.
SEARCH = ("decoding.split=none", "decoding.max_length_ratio=0", f"decoding.max_length_extra={LONGEST - 1}")


def make_marian(folder: Path, norm="post", more=(), **options):
    """Write a model of random weights as Marian does, with the parameter names of its own models."""
    generator = np.random.default_rng(2)
    models = both_models()
    numbers = shared_numbers(models, more)
    width, inner, size = 16, 24, len(numbers)
    letters = {"post": ("", "dan", ""), "pre": ("n", "da", "n")}[norm]
    settings = {
        "type": "transformer", "dim-emb": width, "enc-depth": 2, "dec-depth": 1, "dim-vocabs": [size, size],
        "transformer-heads": 2, "transformer-dim-ffn": inner, "transformer-ffn-activation": "swish",
        "transformer-preprocess": letters[0], "transformer-postprocess": letters[1],
        "transformer-postprocess-top": letters[2], "transformer-postprocess-emb": "d",
        "transformer-decoder-autoreg": "self-attention", "transformer-no-projection": False,
        "transformer-guided-alignment-layer": "last", "transformer-dropout": 0.1, "tied-embeddings-all": True,
        **options,
    }  # fmt: skip

    def numbers_of(*shape):
        return generator.normal(scale=0.4, size=shape).astype(np.float32)

    arrays = {"Wemb": numbers_of(size, width), "decoder_ff_logit_out_b": numbers_of(1, size)}
    suffix = "_pre" if norm == "pre" else ""
    for side, depth, attentions in (("encoder", 2, ["self"]), ("decoder", 1, ["self", "context"])):
        for number in range(1, depth + 1):
            layer = f"{side}_l{number}_"
            for attention in attentions:
                for letter in "qkvo":
                    scale = 4.0 if attention == "context" else 1.0  # or all lines would be translated alike
                    arrays[f"{layer}{attention}_W{letter}"] = numbers_of(width, width) * scale
                    arrays[f"{layer}{attention}_b{letter}"] = numbers_of(1, width)
                arrays[f"{layer}{attention}_Wo_ln_scale{suffix}"] = numbers_of(1, width) + 1
                arrays[f"{layer}{attention}_Wo_ln_bias{suffix}"] = numbers_of(1, width)
            arrays |= {f"{layer}ffn_W1": numbers_of(width, inner), f"{layer}ffn_b1": numbers_of(1, inner)}
            arrays |= {f"{layer}ffn_W2": numbers_of(inner, width), f"{layer}ffn_b2": numbers_of(1, width)}
            arrays[f"{layer}ffn_ffn_ln_scale{suffix}"] = numbers_of(1, width) + 1
            arrays[f"{layer}ffn_ffn_ln_bias{suffix}"] = numbers_of(1, width)
        if norm == "pre":
            arrays |= {
                f"{side}_top_ln_scale": numbers_of(1, width),
                f"{side}_top_ln_bias": numbers_of(1, width),
            }
    arrays["special:model.yml"] = np.frombuffer(yaml.safe_dump(settings).encode() + b"\0", np.int8)
    folder.mkdir()
    np.savez(folder / "model.npz", **arrays)
    for name, model in zip(("source.spm", "target.spm"), models, strict=True):
        (folder / name).write_bytes(model)
    quoted = [(name.replace("\\", "\\\\").replace('"', '\\"'), i) for name, i in numbers.items()]
    (folder / "vocab.yml").write_text("".join(f'"{name}": {i}\n' for name, i in quoted))
    decoder = {
        "relative-paths": True,
        "models": ["model.npz"],
        "vocabs": ["vocab.yml", "vocab.yml"],
        "beam-size": 6,
    }
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    return arrays


def translate_by_ctranslate2(folder: Path, lines, vocabularies=("vocab.yml", "vocab.yml")):
    """Return the pieces that CTranslate2 makes of lines with a model of Marian, by its own converter."""
    import ctranslate2

    paths = [str(folder / name) for name in vocabularies]
    ctranslate2.converters.MarianConverter(str(folder / "model.npz"), paths).convert(
        str(folder / "converted")
    )
    source = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    results = ctranslate2.Translator(str(folder / "converted"), intra_threads=1).translate_batch(
        source.encode(lines, out_type=str), beam_size=1, max_decoding_length=LONGEST, disable_unk=True
    )
    return [result.hypotheses[0] for result in results]


def exported(run: RunDirectory, model, tokenizer, name, **options):
    """Return what an export format is given, for a model that no run has trained."""
    from nmt.export.formats import Exported

    settings = compose(
        "export",
        ["run=none", "output=none", f"format={name}", *(f"{k}={v}" for k, v in options.items())],
        None,
    )
    return Exported(run, model, tokenizer, None, settings.settings())
