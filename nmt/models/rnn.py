"""Sequence to sequence through one fixed vector (Sutskever et al. 2014; Cho et al. 2014)."""

from typing import Any

import torch
from torch import Tensor

from nmt.data.batching import send
from nmt.models.interface import Decoded, DecoderState
from nmt.models.layers import VocabularyLayers, xavier_linear
from nmt.models.recurrent import LAYERS, Bridge, RecurrentSeq2Seq, recurrent_layers, run_layer


class RNNSeq2Seq(RecurrentSeq2Seq):
    """A recurrent model whose decoder sees the source only through one context vector.

    `context` is the encoder's last state or the mean over its outputs. `context_use` gives it to the decoder as its
    first state, at every step, or both. At every step, `context_join` concatenates it with the word vector or adds it.
    """

    def __init__(
        self,
        vocabulary_layers: VocabularyLayers,
        context: str,
        context_use: str,
        context_join: str,
        **sizes: Any,
    ) -> None:
        super().__init__(vocabulary_layers, **sizes)
        d_context, d_input = self.encoder.d_output, self.d_embedding
        self.is_mean, self.is_added = context == "mean", context_join == "add"
        self.bridge = Bridge(self.cell, d_context, self.d_hidden) if context_use != "every_step" else None
        self.context = None
        if context_use != "initial":
            self.context = xavier_linear(d_context, self.d_embedding if self.is_added else self.d_hidden)
            d_input += 0 if self.is_added else self.d_hidden
        sizes_of_layers = (d_input, self.d_hidden, self.d_hidden, self.num_layers)
        self.decoder = recurrent_layers(LAYERS[self.cell], *sizes_of_layers, batch_first=True)
        self.readout = xavier_linear(self.d_hidden, self.d_embedding)
        self.state_names = ("hidden", "cell") if self.cell == "lstm" else ("hidden",)

    def start(self, source: Tensor, source_lengths: Tensor) -> DecoderState:
        """Encode `source` (B, S) into one vector for each sentence."""
        outputs, hidden, cell = self.encode(source, source_lengths)
        if self.is_mean:
            lengths = send(source_lengths, source.device).unsqueeze(1)
            mean = outputs.sum(1) / lengths.to(outputs.dtype)  # (B, C)
            hidden, cell = mean.unsqueeze(1).expand_as(hidden), None
        if self.bridge is not None:
            state = self.bridge(hidden, cell)
        else:
            shape = (len(source), self.num_layers, self.d_hidden)
            state = {name: hidden.new_zeros(shape) for name in self.state_names}
        if self.context is not None:
            state["context"] = torch.tanh(self.context(hidden[:, -1]))  # (B, d_embedding or d_hidden)
        return DecoderState([], state)

    def decode(self, embedded: Tensor, state: DecoderState) -> Decoded:
        """Run the decoder over all positions of `embedded` (N, T, E) in one call."""
        states = embedded
        if self.context is not None:
            context = state.hypotheses["context"].unsqueeze(1)  # (N, 1, …)
            if self.is_added:
                states = states + context
            else:
                states = torch.cat([states, context.expand(-1, states.shape[1], -1)], -1)
        ends = []
        for i, layer in enumerate(self.decoder):
            first = (state.hypotheses[name][:, i].unsqueeze(0) for name in self.state_names)
            states, end = run_layer(layer, self.dropout(states), tuple(first))  # (1, N, d_hidden) each
            ends.append(end)
        for name, last in zip(self.state_names, zip(*ends, strict=True), strict=True):
            state.hypotheses[name] = torch.stack([states_of_layer[0] for states_of_layer in last], 1)
        state.length += embedded.shape[1]
        return Decoded(self.dropout(torch.tanh(self.readout(self.dropout(states)))))
