"""Recurrent sequence to sequence with attention (Bahdanau et al. 2015; Luong et al. 2015)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from nmt.data.batching import Batch
from nmt.models.interface import AttentionMap, Decoded, DecoderState, concatenate_rows
from nmt.models.layers import VocabularyLayers, padding_mask, xavier_linear
from nmt.models.recurrent import (
    CELLS,
    Bridge,
    RecurrentSeq2Seq,
    concatenate,
    concatenate_positions,
    recurrent_layers,
)
from nmt.models.recurrent_attention import ATTENTIONS


class AttentionSeq2Seq(RecurrentSeq2Seq):
    """A recurrent model whose decoder attends to the source positions at every step.

    `join` says where the context goes. input: the query is the state before the step, and the context enters the
    recurrent layers with the word vector (Bahdanau). output: the query is the state after the step, and context and
    state make the output, which is fed into the next step (Luong, input feeding). output_only: the same without
    feeding, so that training attends for all target positions at once. With coverage, `join` must not be output_only:
    coverage is part of the decoder's state, (N, S), and passes from one position to the next.
    """

    def __init__(
        self, vocabulary_layers: VocabularyLayers, attention: Mapping[str, Any], **sizes: Any
    ) -> None:
        super().__init__(vocabulary_layers, **sizes)
        d_hidden, d_embedding, d_attention = self.d_hidden, self.d_embedding, attention["d_attention"]
        self.join = attention["join"]
        options = {key: value for key, value in attention.items() if key not in ("score", "join")}
        self.attention = ATTENTIONS[attention["score"]](d_hidden, self.encoder.d_output, **options)
        self.bridge = Bridge(self.cell, self.encoder.d_output, d_hidden)
        d_input = d_embedding + {"input": d_attention, "output": d_embedding, "output_only": 0}[self.join]
        self.cells = recurrent_layers(CELLS[self.cell], d_input, d_hidden, d_hidden, self.num_layers)
        d_readout = d_hidden + d_attention + (d_embedding if self.join == "input" else 0)
        self.readout = xavier_linear(d_readout, d_embedding)

    def start(self, source: Tensor, source_lengths: Tensor) -> DecoderState:
        """Encode `source` (B, S), and project keys and values once for all steps."""
        encoded = self.encode(source, source_lengths)
        mask = padding_mask(source_lengths, source.shape[1], source.device)
        group = self.attention.project_memory(self.dropout(encoded.outputs), mask)
        hypotheses = self.bridge(encoded.hidden, encoded.cell)
        if self.join == "output":
            hypotheses["fed_output"] = encoded.outputs.new_zeros(len(source), self.readout.out_features)
        if self.attention.coverage is not None:
            hypotheses["coverage"] = torch.zeros_like(group["fertilities"])
        return DecoderState([group], hypotheses)

    def decode(self, embedded: Tensor, state: DecoderState) -> Decoded:
        """Decode `embedded` (N, T, E) position by position; steps without recurrence take all positions at once."""
        embedded = self.dropout(embedded)
        if self.join == "output_only":
            hidden = torch.stack([self._recur(x, state) for x in embedded.unbind(1)], 1)  # (N, T, d_hidden)
            contexts, weights = self._attend(hidden, state)
            return Decoded(self._read_out(hidden, contexts), weights)
        steps: list[Decoded] = []
        for x in embedded.unbind(1):  # (N, E)
            if self.join == "input":
                contexts, weights = self._attend(state.hypotheses["hidden"][:, -1:], state)
                hidden = self._recur(torch.cat([x, contexts.squeeze(1)], -1), state).unsqueeze(1)
                outputs = torch.cat([hidden, contexts], -1)  # read out below, for all positions at once
            else:
                hidden = self._recur(torch.cat([x, state.hypotheses["fed_output"]], -1), state).unsqueeze(1)
                contexts, weights = self._attend(hidden, state)
                outputs = self._read_out(hidden, contexts)
                state.hypotheses["fed_output"] = outputs.squeeze(1)
            steps.append(Decoded(outputs, weights))
        decoded = concatenate(steps, concatenate_positions)
        if self.join == "input":
            return replace(decoded, outputs=self._read_out(decoded.outputs, embedded))
        return decoded

    @torch.no_grad()
    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        """Return the weights of the source positions, averaged over heads, and the windows of local attention."""
        if self.attention.span is None:
            return [AttentionMap("cross", 1, self(batch).attention.unsqueeze(1))]
        seen: list[Tensor] = []  # of each step, (B or 1, 1, Q, S)
        with self.attention.span.register_forward_hook(
            lambda module, given, found: seen.append(found[0].any(1, keepdim=True))
        ):
            weights = self(batch).attention.unsqueeze(1)  # (B, 1, T, S)
        mask = padding_mask(batch.source_lengths, weights.shape[3], weights.device)[:, None, None]
        is_inside = torch.cat([part.expand(len(weights), -1, -1, -1) for part in seen], 2)
        return [AttentionMap("cross", 1, weights, is_inside & mask)]

    def _recur(self, x: Tensor, state: DecoderState) -> Tensor:
        """Advance all layers by one position x (N, …); return the state of the last one (N, d_hidden)."""
        hidden, cells = [], []
        for i, layer in enumerate(self.cells):
            if i:
                x = self.dropout(x)
            before = state.hypotheses["hidden"][:, i]
            if "cell" in state.hypotheses:
                x, cell = layer(x, (before, state.hypotheses["cell"][:, i]))
                cells.append(cell)
            else:
                x = layer(x, before)
            hidden.append(x)
        state.hypotheses["hidden"] = torch.stack(hidden, 1)
        if cells:
            state.hypotheses["cell"] = torch.stack(cells, 1)
        return x

    def _attend(self, queries: Tensor, state: DecoderState) -> tuple[Tensor, Tensor]:
        """Attend with the queries (N, T, d_hidden) of the next T positions, and advance the state past these.

        Return the contexts (N, T, d_attention) and the weights (N, T, S). The hypotheses of a sentence query the same
        keys side by side, so that keys are never copied.
        """
        length, places, coverage = queries.shape[1], None, state.hypotheses.get("coverage")
        if self.attention.span is not None:
            places = torch.arange(state.length, state.length + length, device=queries.device)
            places = places.repeat(state.beam_size)  # (K·T)
        found, advanced, first = list[tuple[Tensor, Tensor]](), [], 0
        for group in state.groups:
            num_sentences, longest = group["mask"].shape
            here = slice(first, first + num_sentences * state.beam_size)
            covered = None if coverage is None else coverage[here, :longest].view(num_sentences, -1, longest)
            query = queries[here].reshape(num_sentences, -1, queries.shape[2])  # (B, K·T, d_hidden)
            contexts, weights = self.attention(query, group, places, covered)
            if covered is not None:  # it goes from one position to the next, so T is 1
                covered = covered + weights / group["fertilities"].unsqueeze(1)
                advanced.append(covered.flatten(0, 1))
            found.append(
                (contexts.reshape(-1, length, contexts.shape[2]), weights.reshape(-1, length, longest))
            )
            first = here.stop
        state.length += length
        if advanced:
            state.hypotheses["coverage"] = concatenate_rows(advanced)
        if len(found) == 1:  # nothing is copied, in training above all
            return found[0]
        return torch.cat([one for one, _ in found]), concatenate_rows([one for _, one in found])

    def _read_out(self, *parts: Tensor) -> Tensor:
        return self.dropout(torch.tanh(self.readout(torch.cat(parts, -1))))
