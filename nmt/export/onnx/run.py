"""Greedy and beam search over the written graphs, by ONNX Runtime and NumPy alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nmt.data.arrays import Int64Array
from nmt.data.tokenizer import Tokenizer
from nmt.versions import importing

ENCODER, DECODER = "encoder_model", "decoder_model_merged"
SENTENCES_AT_ONCE = 32

Floats = npt.NDArray[np.float32]


class SpecialIds(NamedTuple):
    """The special token ids that a search needs: PAD and EOS of the source, BOS and EOS of the target."""

    source_pad: int
    source_eos: int
    bos: int
    eos: int

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "SpecialIds":
        """Return those of a tokenizer."""
        source, target = tokenizer.source, tokenizer.target
        return cls(source.pad_id, source.eos_id, target.bos_id, target.eos_id)


class Beam(NamedTuple):
    """A beam for one sentence, with the keys of conf/decoding/beam.yaml; with `beam_size` 1 it is greedy search."""

    beam_size: int = 1
    length_penalty: float = 0.0
    length_penalty_kind: str = "power"
    early_stopping: bool = False

    def penalty(self, length: int) -> float:
        """Return the divisor of the score of a hypothesis of `length` tokens, EOS counted."""
        base = length if self.length_penalty_kind == "power" else (5 + length) / 6
        return float(base**self.length_penalty)


def load_onnxruntime() -> Any:
    """Import ONNX Runtime and the libraries that write graphs. Raises UserError where one is not installed."""
    with importing("onnx", "format"):
        import onnx  # noqa: F401
        import onnxruntime
        import onnxscript  # noqa: F401
    return onnxruntime


class Graphs:
    """Encoder and decoder of a folder; the `suffix` of their file names tells the type of the weights."""

    def __init__(self, folder: Path, suffix: str = "") -> None:
        library = load_onnxruntime()
        options = library.SessionOptions()
        options.log_severity_level = 3  # errors alone
        self.encoder, self.decoder = (
            library.InferenceSession(
                str(folder / f"{name}{suffix}.onnx"), options, providers=["CPUExecutionProvider"]
            )
            for name in (ENCODER, DECODER)
        )
        self.shapes = {
            given.name: given.shape for given in self.decoder.get_inputs() if given.name.startswith("past")
        }
        self.results = [found.name for found in self.decoder.get_outputs()]

    def encode(self, ids: Int64Array, mask: Int64Array) -> dict[str, Any]:
        """Return the decoder's inputs for source token ids (B, S) and their mask (B, S), with an empty cache."""
        (encoded,) = self.encoder.run(None, {"input_ids": ids, "attention_mask": mask})
        empty = {
            name: np.zeros((len(ids), shape[1], 0, shape[3]), np.float32)
            for name, shape in self.shapes.items()
        }
        return {"encoder_hidden_states": encoded, "encoder_attention_mask": mask, **empty}

    def step(self, tokens: Int64Array, state: dict[str, Any]) -> tuple[Floats, dict[str, Any]]:
        """Return logits (B, V) of what follows the tokens (B, T), and the state extended by their positions."""
        logits, *present = self.decoder.run(None, {"input_ids": tokens, **state})
        names = [name.replace("present", "past_key_values") for name in self.results[1:]]
        return logits[:, -1], {**state, **dict(zip(names, present, strict=True))}


def greedy_search(
    graphs: Graphs, source: Sequence[Sequence[int]], limits: Sequence[int], special: SpecialIds
) -> list[list[int]]:
    """Return the target token ids of sources (token ids without EOS), for each source at most its limit."""
    found: list[list[int]] = [[] for _ in source]
    by_length = sorted(range(len(source)), key=lambda i: len(source[i]))
    for start in range(0, len(source), SENTENCES_AT_ONCE):
        rows = by_length[start : start + SENTENCES_AT_ONCE]
        batch = _search_batch(graphs, [source[i] for i in rows], max(limits[i] for i in rows), special)
        for i, tokens in zip(rows, batch, strict=True):
            found[i] = tokens[: limits[i]]  # in greedy search, a lower limit changes no token before the cut
    return found


def beam_search(
    graphs: Graphs, source: Sequence[int], limit: int, special: SpecialIds, beam: Beam
) -> list[int]:
    """Return the target token ids, at most `limit`, of a source without EOS, as `nmt.decoding.beam_search` finds them.

    page/search.js is this search in JavaScript.
    """
    ids = np.array([[*source, special.source_eos]])
    state = graphs.encode(ids, np.ones_like(ids))
    state = {name: np.repeat(values, beam.beam_size, 0) for name, values in state.items()}
    scores = np.full(beam.beam_size, -np.inf)
    scores[0] = 0
    tokens = np.full(beam.beam_size, special.bos)
    histories: list[list[int]] = [[] for _ in scores]
    best: list[int] = []
    best_score, num_finished = -np.inf, 0
    for position in range(limit + 1):
        logits, state = graphs.step(tokens[:, None], state)
        log_probs = _log_softmax(logits)
        if position == limit:  # only EOS may come, so its probability is 1
            log_probs[:] = -np.inf
            log_probs[:, special.eos] = 0
        sums = (scores[:, None] + log_probs).ravel()
        chosen = np.argpartition(-sums, 2 * beam.beam_size)[: 2 * beam.beam_size]
        chosen = chosen[np.lexsort((chosen, -sums[chosen]))]
        parents, words = np.divmod(chosen, log_probs.shape[1])
        for rank in range(beam.beam_size):
            if words[rank] == special.eos and sums[chosen[rank]] > -np.inf:
                num_finished += 1
                score = sums[chosen[rank]] / beam.penalty(position + 1)
                if score > best_score:
                    best, best_score = histories[parents[rank]], score
        going_on = np.flatnonzero(words != special.eos)[: beam.beam_size]
        scores, parents, tokens = sums[chosen[going_on]], parents[going_on], words[going_on]
        hope = scores[0] / beam.penalty(position + 1 if beam.early_stopping else limit + 1)
        if hope <= best_score and (not beam.early_stopping or num_finished >= beam.beam_size):
            break
        histories = [[*histories[parent], int(word)] for parent, word in zip(parents, tokens, strict=True)]
        state = {name: values[parents] if ".decoder." in name else values for name, values in state.items()}
    return best


def _log_softmax(logits: Floats) -> npt.NDArray[np.float64]:
    shifted = logits.astype(np.float64) - logits.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def _search_batch(
    graphs: Graphs, source: Sequence[Sequence[int]], max_length: int, special: SpecialIds
) -> list[list[int]]:
    ids = np.full((len(source), max(map(len, source)) + 1), special.source_pad, np.int64)
    mask = np.zeros_like(ids)
    for row, given in enumerate(source):
        ids[row, : len(given) + 1] = [*given, special.source_eos]
        mask[row, : len(given) + 1] = 1
    state = graphs.encode(ids, mask)
    history: list[list[int]] = [[] for _ in source]
    tokens, ended = np.full(len(source), special.bos, np.int64), np.zeros(len(source), bool)
    for _ in range(max_length):
        logits, state = graphs.step(tokens[:, None], state)
        tokens = logits.argmax(1)
        ended |= tokens == special.eos
        if ended.all():
            break
        for words, token, is_over in zip(history, tokens.tolist(), ended, strict=True):
            if not is_over:
                words.append(token)
    return history
