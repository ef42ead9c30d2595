"""The first states of recurrent decoders, against their definition."""

import torch
from torch.testing import assert_close

from nmt.models.recurrent import Bridge


def test_the_first_cell_of_a_decoder_is_made_of_the_last_cell_of_the_encoder():
    torch.manual_seed(0)
    bridge = Bridge("lstm", 3, 2)
    hidden, cell = torch.randn(2, 4, 1, 3)
    state = bridge(hidden, cell)
    assert_close(state["hidden"], torch.tanh(hidden @ bridge.hidden.weight.T + bridge.hidden.bias))
    assert_close(state["cell"], cell @ bridge.cell.weight.T + bridge.cell.bias)


def test_the_context_is_what_the_last_layer_of_the_encoder_knows_of_all_words(tiny_model, tiny_batch):
    model, batch = tiny_model("rnn", num_layers=2, bidirectional=False), tiny_batch()
    outputs = model.encode(batch.source, batch.source_lengths).outputs
    last = outputs[torch.arange(len(outputs)), batch.source_lengths - 1]
    expected = torch.tanh(last @ model.context.weight.T + model.context.bias)
    assert_close(model.start(batch.source, batch.source_lengths).hypotheses["context"], expected)
