"""Greedy search over the written graphs, by ONNX Runtime and NumPy alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nmt.data.arrays import Int64Array
from nmt.errors import UserError

ENCODER, DECODER = "encoder_model", "decoder_model_merged"
SENTENCES_AT_ONCE = 32

Floats = npt.NDArray[np.float32]


class SpecialIds(NamedTuple):
    """The ids that a search has to know: padding and end of a source, beginning and end of a translation."""

    source_pad: int
    source_eos: int
    bos: int
    eos: int


def load_onnxruntime() -> Any:
    """Import ONNX Runtime and what writes graphs. Raises UserError where they are not installed."""
    try:
        import onnx  # noqa: F401
        import onnxruntime
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise UserError(
            "format: the extra `onnx` is needed for onnx, onnxscript and onnxruntime: pip install 'nmt[onnx]'; "
            f"got {error}"
        ) from None
    return onnxruntime


class Graphs:
    """Encoder and decoder of a folder: `suffix` tells files of one type of weights from others."""

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
        """Return what the decoder is given of ids (B, S) with their mask (B, S), and a cache without positions."""
        (encoded,) = self.encoder.run(None, {"input_ids": ids, "attention_mask": mask})
        empty = {
            name: np.zeros((len(ids), shape[1], 0, shape[3]), np.float32)
            for name, shape in self.shapes.items()
        }
        return {"encoder_hidden_states": encoded, "encoder_attention_mask": mask, **empty}

    def step(self, tokens: Int64Array, state: dict[str, Any]) -> tuple[Floats, dict[str, Any]]:
        """Return logits (B, V) behind the tokens (B, T), and the state with the positions of these tokens."""
        logits, *present = self.decoder.run(None, {"input_ids": tokens, **state})
        names = [name.replace("present", "past_key_values") for name in self.results[1:]]
        return logits[:, -1], {**state, **dict(zip(names, present, strict=True))}


def greedy_search(
    graphs: Graphs, source: Sequence[Sequence[int]], limits: Sequence[int], special: SpecialIds
) -> list[list[int]]:
    """Return the target ids of sources without EOS, each of at most as many tokens as its limit."""
    found: list[list[int]] = [[] for _ in source]
    by_length = sorted(range(len(source)), key=lambda i: len(source[i]))
    for start in range(0, len(source), SENTENCES_AT_ONCE):
        rows = by_length[start : start + SENTENCES_AT_ONCE]
        batch = _search_batch(graphs, [source[i] for i in rows], max(limits[i] for i in rows), special)
        for i, tokens in zip(rows, batch, strict=True):
            found[i] = tokens[: limits[i]]  # in greedy search a lower limit cuts, and changes nothing before
    return found


def _search_batch(
    graphs: Graphs, source: Sequence[Sequence[int]], max_length: int, special: SpecialIds
) -> list[list[int]]:
    ids = np.full((len(source), max(map(len, source)) + 1), special.source_pad, np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(source):
        ids[row, : len(tokens) + 1] = [*tokens, special.source_eos]
        mask[row, : len(tokens) + 1] = 1
    state = graphs.encode(ids, mask)
    history: list[list[int]] = [[] for _ in source]
    tokens, ended = np.full(len(source), special.bos, np.int64), np.zeros(len(source), bool)
    for _ in range(max_length):
        logits, state = graphs.step(tokens[:, None], state)
        tokens = logits.argmax(1)
        ended |= tokens == special.eos
        if ended.all():
            break
        for row in np.flatnonzero(~ended):
            history[row].append(int(tokens[row]))
    return history
