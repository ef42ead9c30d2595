"""Sequence to sequence through one fixed vector (Sutskever et al. 2014; Cho et al. 2014)."""

import torch
from torch import Tensor, nn

from nmt.data.batching import send
from nmt.models.interface import Decoded, DecoderState
from nmt.models.layers import Embedding, xavier_linear
from nmt.models.recurrent import (
    LAYERS,
    NUM_GATES,
    Bridge,
    RecurrentEncoder,
    RecurrentSeq2Seq,
    initialise_recurrent,
    run_layer,
)


class RNNSeq2Seq(RecurrentSeq2Seq):
    """The decoder knows of the source what fits into one context vector.

    `context` is the encoder's last state or the mean over all of them; `context_use` gives it to the decoder as
    its first state, at every step, or both; at every step it is concatenated with the word vector or added to it.
    """

    def __init__(
        self,
        source_embedding: Embedding,
        target_embedding: Embedding,
        output: nn.Linear,
        cell: str = "lstm",
        d_embedding: int = 256,
        d_hidden: int = 512,
        num_layers: int = 1,
        bidirectional: bool = True,
        context: str = "last",
        context_use: str = "both",
        context_join: str = "concatenate",
        dropout: float = 0.1,
    ) -> None:
        encoder = RecurrentEncoder(cell, d_embedding, d_hidden, num_layers, bidirectional, dropout)
        super().__init__(source_embedding, target_embedding, output, encoder, dropout)
        d_context = self.encoder.d_output
        self.is_mean = context == "mean"
        self.is_added = context_join == "add"
        self.bridge = Bridge(cell, d_context, d_hidden) if context_use != "every_step" else None
        self.context = None
        d_input = d_embedding
        if context_use != "initial":
            self.context = xavier_linear(d_context, d_embedding if self.is_added else d_hidden)
            d_input = d_embedding if self.is_added else d_embedding + d_hidden
        self.decoder = nn.ModuleList(
            LAYERS[cell](d_hidden if layer else d_input, d_hidden, batch_first=True)
            for layer in range(num_layers)
        )
        initialise_recurrent(self.decoder, NUM_GATES[cell])
        self.readout = xavier_linear(d_hidden, d_embedding)
        self.state_shape = (num_layers, d_hidden)
        self.state_names = ("hidden", "cell") if cell == "lstm" else ("hidden",)

    def start(self, source: Tensor, source_lengths: Tensor) -> DecoderState:
        """Encode `source` (B, S) into one vector for each sentence."""
        encoded = self.encode(source, source_lengths)
        hidden, cell = encoded.hidden, encoded.cell
        if self.is_mean:
            lengths = send(source_lengths, source.device).unsqueeze(1)
            mean = encoded.outputs.sum(1) / lengths.to(encoded.outputs.dtype)  # (B, C)
            hidden, cell = mean.unsqueeze(1).expand_as(hidden), None
        if self.bridge is not None:
            state = self.bridge(hidden, cell)
        else:
            state = {name: hidden.new_zeros(len(source), *self.state_shape) for name in self.state_names}
        if self.context is not None:
            state["context"] = torch.tanh(self.context(hidden[:, -1]))  # (B, d_embedding or d_hidden)
        return DecoderState([], state)

    def decode(self, embedded: Tensor, state: DecoderState) -> Decoded:
        """Run the decoder over all positions of `embedded` (N, T, E) in one call."""
        if self.context is not None:
            context = state.hypotheses["context"].unsqueeze(1)  # (N, 1, …)
            if self.is_added:
                embedded = embedded + context
            else:
                embedded = torch.cat([embedded, context.expand(-1, embedded.shape[1], -1)], -1)
        states, ends = embedded, []
        for i, layer in enumerate(self.decoder):
            first = tuple(
                state.hypotheses[name][:, i].unsqueeze(0) for name in self.state_names
            )  # (1, N, d_hidden)
            states, end = run_layer(layer, self.dropout(states), first)
            ends.append(end)
        state.hypotheses |= {
            name: torch.stack([end[part][0] for end in ends], 1) for part, name in enumerate(self.state_names)
        }
        state.length += embedded.shape[1]
        return Decoded(self.dropout(torch.tanh(self.readout(self.dropout(states)))))
