"""Parts that the two recurrent models share: the encoder, the bridge to the decoder, and the way of decoding."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from nmt.data.batching import Batch
from nmt.models.interface import Decoded, DecoderState, Seq2Seq
from nmt.models.kernels import Dropout
from nmt.models.layers import VocabularyLayers, xavier_linear

LAYERS: dict[str, type[nn.Module]] = {"lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN}
CELLS: dict[str, type[nn.Module]] = {"lstm": nn.LSTMCell, "gru": nn.GRUCell, "tanh": nn.RNNCell}

Sequences = TypeVar("Sequences", Tensor, PackedSequence)


class Encoded(NamedTuple):
    """The encoder's results for source sentences; C is d_hidden times the number of directions."""

    outputs: Tensor  # (B, S, C), zero behind the end of a sentence
    hidden: Tensor  # (B, L, C): the last state of every layer
    cell: Tensor | None  # (B, L, C): of LSTMs


class RecurrentEncoder(nn.Module):
    """Recurrent layers over the source, in one direction or both (Schuster & Paliwal 1997)."""

    def __init__(
        self, cell: str, d_embedding: int, d_hidden: int, num_layers: int, bidirectional: bool, dropout: float
    ) -> None:
        super().__init__()
        self.d_output = d_hidden * (2 if bidirectional else 1)
        sizes = (d_embedding, self.d_output, d_hidden, num_layers)
        self.layers = recurrent_layers(LAYERS[cell], *sizes, batch_first=True, bidirectional=bidirectional)
        self.dropout = Dropout(dropout)

    def forward(self, embedded: Tensor, lengths: Tensor) -> Encoded:
        """Encode `embedded` (B, S, E) of `lengths` (B, on the host).

        Sentences whose lengths do not fall are sorted first, by indices that have to be sent to the device.
        """
        is_sorted = bool((lengths[1:] <= lengths[:-1]).all())
        outputs = embedded
        hidden: list[Tensor] = []
        cells: list[Tensor] = []
        for layer in self.layers:
            packed = pack_padded_sequence(
                self.dropout(outputs), lengths, batch_first=True, enforce_sorted=is_sorted
            )
            packed, last = run_layer(layer, packed)  # last: each (directions, B, d_hidden)
            outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=embedded.shape[1])
            hidden.append(last[0].transpose(0, 1).flatten(1))
            cells.extend(state.transpose(0, 1).flatten(1) for state in last[1:])
        return Encoded(outputs, torch.stack(hidden, 1), torch.stack(cells, 1) if cells else None)

    def read(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Return encoded positions (B, L, C) for vectors (B, L, D) of `lengths` (B, on the host, each at least 1).

        Like `TransformerEncoder.read`, this is for an output layer of one's own. In one direction, a position sees only
        itself and those before it.
        """
        return self(vectors, lengths).outputs


class Bridge(nn.Module):
    """From the encoder's last states to the decoder's first ones, layer by layer."""

    def __init__(self, cell: str, d_encoded: int, d_hidden: int) -> None:
        super().__init__()
        self.hidden = xavier_linear(d_encoded, d_hidden)
        self.cell = xavier_linear(d_encoded, d_hidden) if cell == "lstm" else None

    def forward(self, hidden: Tensor, cell: Tensor | None) -> dict[str, Tensor]:
        """Return the decoder's state, (B, L, d_hidden) each, for states (B, L, C) of the encoder."""
        state = {"hidden": torch.tanh(self.hidden(hidden))}
        if self.cell is not None:
            state["cell"] = self.cell(hidden if cell is None else cell)
        return state


class RecurrentSeq2Seq(Seq2Seq):
    """A recurrent encoder and a recurrent decoder; subclasses define how the source reaches the decoder."""

    def __init__(
        self,
        vocabulary_layers: VocabularyLayers,
        cell: str,
        d_embedding: int,
        d_hidden: int,
        num_layers: int,
        bidirectional: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding, self.output = vocabulary_layers
        self.cell, self.d_embedding, self.d_hidden, self.num_layers = cell, d_embedding, d_hidden, num_layers
        self.dropout = Dropout(dropout)
        self.encoder = RecurrentEncoder(cell, d_embedding, d_hidden, num_layers, bidirectional, dropout)

    def decode(self, embedded: Tensor, state: DecoderState) -> Decoded:
        """Decode the positions after `embedded` (N, T, E) and advance the state; outputs are (N, T, D)."""
        raise NotImplementedError

    def encode(self, source: Tensor, source_lengths: Tensor) -> Encoded:
        """Read `source` (B, S) of `source_lengths` (B, on the host)."""
        return self.encoder(self.source_embedding(source), source_lengths)

    def forward(self, batch: Batch, sample_mask: Tensor | None = None) -> Decoded:
        """Decode all target positions of a batch; where `sample_mask` (B, T) is True, from the model's prediction."""
        state = self.start(batch.source, batch.source_lengths)
        if sample_mask is None:
            return self.decode(self.target_embedding(batch.target_in), state)
        steps: list[Decoded] = []
        for true, is_sampled in zip(batch.target_in.unbind(1), sample_mask.unbind(1), strict=True):
            tokens = true
            if steps:
                with torch.no_grad():
                    predicted = self.project(steps[-1].outputs.squeeze(1)).argmax(-1)
                tokens = torch.where(is_sampled, predicted, true)
            steps.append(self.decode(self.target_embedding(tokens).unsqueeze(1), state))
        return concatenate(steps, concatenate_positions)

    def step(self, tokens: Tensor, state: DecoderState) -> Decoded:
        """Decode the position after `tokens` (N) and advance the state."""
        decoded = self.decode(self.target_embedding(tokens).unsqueeze(1), state)
        attention = decoded.attention
        return Decoded(decoded.outputs.squeeze(1), None if attention is None else attention.squeeze(1))


def recurrent_layers(
    kind: type[nn.Module], d_input: int, d_between: int, d_hidden: int, num_layers: int, **options: Any
) -> nn.ModuleList:
    """Make recurrent layers, or cells, of a kind; all but the first read vectors of width `d_between`.

    Each gate is initialised as if it stood alone: Xavier for weights of the input, orthogonal for weights of the state
    (Saxe et al. 2014), zero for biases, but one for the forget gate of LSTMs (Jozefowicz et al. 2015).
    """
    layers = nn.ModuleList(
        kind(d_between if layer else d_input, d_hidden, **options) for layer in range(num_layers)
    )
    for name, parameter in layers.named_parameters():
        gates = parameter.chunk(len(parameter) // d_hidden)
        for gate in gates:
            if "weight_ih" in name:
                nn.init.xavier_uniform_(gate)
            elif "weight_hh" in name:
                nn.init.orthogonal_(gate)
            else:
                nn.init.zeros_(gate)
        if "bias_ih" in name and kind in (nn.LSTM, nn.LSTMCell):
            nn.init.ones_(gates[1])
    return layers


def run_layer(
    layer: nn.Module, inputs: Sequences, first: tuple[Tensor, ...] = ()
) -> tuple[Sequences, tuple[Tensor, ...]]:
    """Return the outputs and last states of a recurrent layer over `inputs`, from `first` states, or zeros if none.

    On CUDA the layer computes in the type of its weights. Autocast would use float16, whatever type was asked for, and
    most gradients are too small for float16 where the loss is not scaled.
    """
    if inputs.is_cuda:
        dtype = next(layer.parameters()).dtype
        inputs, first = inputs.to(dtype), tuple(state.to(dtype) for state in first)
    with torch.autocast("cuda", enabled=False) if inputs.is_cuda else nullcontext():
        outputs, last = layer(inputs, first if len(first) > 1 else first[0] if first else None)
    return outputs, last if isinstance(last, tuple) else (last,)


def concatenate_positions(tensors: list[Tensor]) -> Tensor:
    """Return (N, T, …) of positions that follow one another."""
    return torch.cat(tensors, 1)


def concatenate(parts: list[Decoded], join: Callable[[list[Tensor]], Tensor]) -> Decoded:
    """Return the results of all parts as one; `join` makes one tensor of the tensors of the parts."""
    if len(parts) == 1:
        return parts[0]
    attention = [part.attention for part in parts if part.attention is not None]
    return Decoded(join([part.outputs for part in parts]), join(attention) if attention else None)
