"""One engine in a process of its own: for each request with lines, it answers with their translations and the seconds.

benchmark_engines.py starts it with the name of an engine and a folder. Requests and answers are lines of JSON.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measuring import peak_resident_memory

# Batches of the engines that choose no size themselves: padded source tokens for CTranslate2, and sentences for ONNX
# graphs, both divided by the beam size, and sentences for transformers.
BATCH_TOKENS, SENTENCES_AT_ONCE = 2048, 64

Translate = Callable[[Sequence[str], dict[str, Any]], list[str]]


def own(folder: str, precision: str = "auto") -> Translate:
    """Load a run or an exported folder with this project."""
    import nmt

    model = nmt.load(folder, precision=precision)

    def translate(lines: Sequence[str], search: dict[str, Any]) -> list[str]:
        return [found.text for found in model.translate(list(lines), **search)]

    return translate


def ctranslate2_by_hand(folder: str) -> Translate:
    """Load an exported folder with CTranslate2 and SentencePiece, without this project."""
    import ctranslate2
    import sentencepiece

    model = ctranslate2.Translator(folder, intra_threads=1, inter_threads=int(os.environ["OMP_NUM_THREADS"]))
    pieces = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/tokenizer.model")

    def translate(lines: Sequence[str], search: dict[str, Any]) -> list[str]:
        source = pieces.encode(list(lines), out_type=str)
        options = {"beam_size": 1}
        if search["decoding"] == "beam":
            options = {"beam_size": search["beam_size"], "length_penalty": search["length_penalty"]}
        results = model.translate_batch(
            source,
            max_batch_size=BATCH_TOKENS // options["beam_size"],
            batch_type="tokens",
            disable_unk=True,
            return_end_token=True,
            max_decoding_length=2 * max(map(len, source)) + 20,
            use_vmap=search["shortlist"],
            **options,
        )
        return pieces.decode([result.hypotheses[0] for result in results])

    return translate


def graphs(folder: str, suffix: str, library: str) -> Translate:
    """Load ONNX graphs with ONNX Runtime or OpenVINO; the search around them is in NumPy."""
    import sentencepiece

    from nmt.export.onnx.run import Graphs

    given = Graphs(Path(folder) / "onnx", suffix) if library == "onnxruntime" else OpenVINO(folder, suffix)
    pieces = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/tokenizer.model")
    config = json.loads((Path(folder) / "config.json").read_text())
    special = config["pad_token_id"], config["decoder_start_token_id"], config["eos_token_id"]
    forbidden = [special[0], special[1], pieces.unk_id()]

    def translate(lines: Sequence[str], search: dict[str, Any]) -> list[str]:
        source = pieces.encode(list(lines))
        size = search["beam_size"] if search["decoding"] == "beam" else 1
        order = sorted(range(len(source)), key=lambda i: len(source[i]))
        found: list[list[int]] = [[] for _ in source]
        rows = max(1, SENTENCES_AT_ONCE // size)
        for start in range(0, len(order), rows):
            members = order[start : start + rows]
            hypotheses = beam_search(
                given,
                [source[i] for i in members],
                special,
                forbidden,
                size,
                search.get("length_penalty", 1.0),
            )
            for i, tokens in zip(members, hypotheses, strict=True):
                found[i] = tokens
        return pieces.decode(found)

    return translate


class OpenVINO:
    """The graphs of `nmt.export.onnx.run.Graphs`, run by OpenVINO."""

    def __init__(self, folder: str, suffix: str) -> None:
        import openvino

        core = openvino.Core()
        self.encoder, self.decoder = (
            core.compile_model(f"{folder}/onnx/{name}{suffix}.onnx", "CPU")
            for name in ("encoder_model", "decoder_model_merged")
        )
        self.pasts = {
            given.get_any_name(): given.get_partial_shape()
            for given in self.decoder.inputs
            if given.get_any_name().startswith("past")
        }

    def encode(self, ids: Any, mask: Any) -> dict[str, Any]:
        """Return the decoder's inputs for source token ids (B, S) and their mask (B, S), with an empty cache."""
        encoded = next(iter(self.encoder({"input_ids": ids, "attention_mask": mask}).values()))
        empty = {
            name: np.zeros((len(ids), shape[1].get_length(), 0, shape[3].get_length()), np.float32)
            for name, shape in self.pasts.items()
        }
        return {"encoder_hidden_states": np.array(encoded), "encoder_attention_mask": mask, **empty}

    def step(self, tokens: Any, state: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return logits (B, V) of what follows the tokens (B, T), and the state extended by their positions."""
        results = self.decoder({"input_ids": tokens, **state})
        named = {key.get_any_name(): np.array(value) for key, value in results.items()}
        logits = named.pop("logits")
        present = {name.replace("present", "past_key_values"): value for name, value in named.items()}
        return logits[:, -1], state | present


def beam_search(
    model: Any,
    source: Sequence[Sequence[int]],
    special: tuple[int, int, int],
    forbidden: Sequence[int],
    size: int,
    power: float,
) -> list[list[int]]:
    """Return the token ids of the best hypothesis of each sentence; a beam of one is greedy search."""
    pad, bos, eos = special
    longest = max(map(len, source))
    ids = np.full((len(source), longest + 1), pad, np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(source):
        ids[row, : len(tokens) + 1], mask[row, : len(tokens) + 1] = [*tokens, eos], 1
    rows = np.repeat(np.arange(len(source)), size)
    state = {name: value[rows] for name, value in model.encode(ids, mask).items()}
    scores = np.full((len(source), size), -np.inf)
    scores[:, 0] = 0
    last = np.full(len(rows), bos, np.int64)
    histories: list[list[int]] = [[] for _ in rows]
    ended: list[list[tuple[float, list[int]]]] = [[] for _ in source]
    for length in range(1, 2 * longest + 21):
        logits, state = model.step(last[:, None], state)
        logits[:, forbidden] = -np.inf
        logits -= logits.max(1, keepdims=True)
        log_probs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        totals = (scores[:, :, None] + log_probs.reshape(len(source), size, -1)).reshape(len(source), -1)
        best = np.argpartition(-totals, 2 * size - 1, axis=1)[:, : 2 * size]
        parents, chosen = np.zeros_like(scores, dtype=int), np.full(scores.shape, eos)
        for row, candidates in enumerate(best):
            kept = 0
            for place in candidates[np.argsort(-totals[row, candidates])]:
                beam, token = divmod(int(place), log_probs.shape[1])
                if token == eos:
                    if kept < size:
                        ended[row].append((totals[row, place] / length**power, histories[row * size + beam]))
                        if size == 1:  # greedy search looks at the most probable token alone
                            break
                elif kept < size:
                    parents[row, kept], chosen[row, kept] = beam, token
                    scores[row, kept] = totals[row, place]
                    kept += 1
        if all(len(found) >= size for found in ended):
            break
        order = (np.arange(len(source))[:, None] * size + parents).ravel()
        # What was computed from the source is the same for all hypotheses of a sentence, so its order can stay.
        state = {name: value[order] if ".decoder." in name else value for name, value in state.items()}
        last = chosen.ravel()
        histories = [
            [*histories[i], int(token)] for i, token in zip(order.tolist(), last.tolist(), strict=True)
        ]
    return [max(found)[1] if found else histories[row * size] for row, found in enumerate(ended)]


def transformers(folder: str) -> Translate:
    """Load an exported folder with Hugging Face's transformers."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()

    @torch.inference_mode()
    def translate(lines: Sequence[str], search: dict[str, Any]) -> list[str]:
        size = search["beam_size"] if search["decoding"] == "beam" else 1
        order = sorted(range(len(lines)), key=lambda i: len(lines[i]))
        found = [""] * len(lines)
        for start in range(0, len(order), SENTENCES_AT_ONCE):
            members = order[start : start + SENTENCES_AT_ONCE]
            given = tokenizer([lines[i] for i in members], return_tensors="pt", padding=True)
            given.pop("token_type_ids", None)
            tokens = model.generate(
                **given,
                num_beams=size,
                do_sample=False,
                early_stopping=size > 1,
                length_penalty=search.get("length_penalty", 1.0),
                max_length=2 * given["input_ids"].shape[1] + 20,
            )
            texts = tokenizer.batch_decode(tokens, skip_special_tokens=True)
            for i, text in zip(members, texts, strict=True):
                found[i] = text
        return found

    return translate


ENGINES: dict[str, Callable[[str], Translate]] = {
    "nmt float32": lambda folder: own(folder, "float32"),
    "nmt bfloat16": lambda folder: own(folder, "bfloat16"),
    "nmt exported": own,
    "ctranslate2": ctranslate2_by_hand,
    "onnxruntime": lambda folder: graphs(folder, "", "onnxruntime"),
    "onnxruntime int8": lambda folder: graphs(folder, "_quantized", "onnxruntime"),
    "openvino": lambda folder: graphs(folder, "", "openvino"),
    "transformers": transformers,
}


def main() -> None:
    """Answer requests until there are no more."""
    name, folder = sys.argv[1:]
    began = time.perf_counter()
    try:
        translate = ENGINES[name](folder)
    except Exception as error:
        print(json.dumps({"left_out": f"{type(error).__name__}: {error}".splitlines()[0][:200]}), flush=True)
        return
    print(json.dumps({"loaded": time.perf_counter() - began}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        at_once, lines = request["at_once"], request["lines"]
        chunks = [lines[start : start + at_once] for start in range(0, len(lines), at_once)]
        began = time.perf_counter()
        found = [text for chunk in chunks for text in translate(chunk, request["search"])]
        seconds = time.perf_counter() - began
        print(
            json.dumps({"seconds": seconds, "translations": found, "memory_gb": peak_resident_memory()}),
            flush=True,
        )


if __name__ == "__main__":
    main()
