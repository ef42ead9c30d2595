"""Models from token ids to the next token: recurrent ones, with and without attention, and the Transformer.

All share one interface. The encoders can be used alone, too. `TransformerEncoder.read` and `RecurrentEncoder.read` take
vectors (B, L, D) of B sequences and their lengths (B), each at least 1, which stay on the host. They return the
encoder's outputs (B, L, C), where C is d_model, or d_hidden times the number of directions. The vectors may come from
words, measurements, or anything else.

>>> import torch
>>> from nmt.models.layers import LayerOptions
>>> from nmt.models.recurrent import RecurrentEncoder
>>> from nmt.models.transformer import TransformerEncoder
>>> options = LayerOptions(d_model=16, d_ff=32, num_heads=2)
>>> transformer = TransformerEncoder(num_layers=2, options=options, max_positions=100)
>>> recurrent = RecurrentEncoder(
...     "lstm", d_embedding=16, d_hidden=8, num_layers=1, bidirectional=True, dropout=0.1
... )
>>> vectors, lengths = torch.randn(3, 5, 16), torch.tensor([5, 2, 4])
>>> encoded = transformer.read(vectors, lengths)
>>> encoded.shape, recurrent.read(vectors, lengths).shape
(torch.Size([3, 5, 16]), torch.Size([3, 5, 16]))

Positions after a sequence's end are not read, and the outputs there mean nothing. An output layer that looks at one
position at a time may leave them out of its loss; one that pools positions must mask them, or the answer depends on the
batch:

>>> inside = torch.arange(5) < lengths.unsqueeze(1)  # (B, L)
>>> pooled = encoded.masked_fill(~inside.unsqueeze(2), 0).sum(1) / lengths.unsqueeze(1)
>>> torch.nn.Linear(16, 2)(pooled).shape  # the logits of two classes
torch.Size([3, 2])

To forecast, a position must not see those after it: `causal=True` of the Transformer, `bidirectional=False` of the
recurrent encoder. The output at each position is then the same, whatever follows:

>>> _ = transformer.eval()
>>> seen = transformer.read(vectors[:1], torch.tensor([5]), causal=True)
>>> torch.allclose(seen[:, :3], transformer.read(vectors[:1, :3], torch.tensor([3]), causal=True), atol=1e-5)
True

`scripts/classify.py` and `scripts/forecast.py` do both.
"""

from nmt.versions import require

require("torch")
