"""Searches of all models on the pretended GPU."""

import numpy as np
import pytest
import torch
from pretended_gpu.device import GPU, held, pretended_gpu

from nmt.data.batching import pad_with_end
from nmt.data.dataset import Ids
from nmt.decoding.engine import Sentence
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator

# Functions in which the host may wait: for the weights, every few positions for finished sentences, for the result.
ALLOWED_WAITS = {
    "greedy": {"TorchEngine.__init__", "greedy_search"},
    "beam": {"TorchEngine.__init__", "beam_search", "Trellis.results"},
}

CASES = [
    ("transformer", ()),
    ("transformer", ("model.num_key_value_heads=1", "model.positions=rotary", "model.normalization=rms")),
    ("transformer", ("model.positions=relative", "model.activation=swiglu")),
    ("attention", ("model.attention.coverage=true", "model.attention.span=local_p", "model.cell=gru")),
    ("attention", ("model.attention.join=input",)),
    ("rnn", ("model.context=mean",)),
]


def search(made, device, dtype, source):
    made.model.eval()
    translator = Translator(TorchEngine(made.model, made.tokenizer, device, dtype), made.settings.decoding)
    return [found.hypotheses[0].tokens for found in translator.search([Sentence(ids) for ids in source])]


@pytest.mark.parametrize("decoding", ["greedy", "beam"])
@pytest.mark.parametrize(
    ("kind", "options"), CASES, ids=lambda given: given if isinstance(given, str) else " ".join(given)
)
def test_a_search_finds_what_the_cpu_finds_and_waits_where_it_may(kind, options, decoding, make, sentences):
    limits = ("decoding.max_length_ratio=2", "decoding.max_length_extra=2")
    made = make(kind, f"decoding={decoding}", *limits, *options)
    source = sentences(30, longest=16)
    expected = search(made, torch.device("cpu"), torch.float32, source)
    assert len({len(tokens) for tokens in expected}) > 5  # sentences leave one after the other
    with pretended_gpu() as gpu:
        found = search(made, GPU, torch.float32, source)
    assert found == expected
    assert set(gpu.waits) == ALLOWED_WAITS[decoding]
    # One wait every eight positions, whether sentences leave or not, and one at the end.
    longest = 2 * max(map(len, source)) + 2
    assert gpu.waits[f"{decoding}_search"] <= longest // 8 + 2


@pytest.mark.parametrize("kind", ["transformer", "attention", "rnn"])
def test_a_search_in_bfloat16_meets_one_type(kind, make, sentences):
    with pretended_gpu() as gpu:
        assert len(search(make(kind), GPU, torch.bfloat16, sentences(10))) == 10
    assert {dtype for _, dtype in gpu.types} == {torch.bfloat16}


@pytest.mark.parametrize("longest", [3, 16, 17, 40, 80])
def test_what_a_search_keeps_of_the_source_has_one_of_few_widths(longest, make, sentences, tokenizer):
    model = make("transformer").model.eval()
    ids, lengths, _ = pad_with_end(Ids.of([*sentences(5, longest=3), [4] * longest]), np.arange(6), 0, 3)
    with torch.no_grad(), pretended_gpu():
        model.to(GPU)
        group = model.start(ids.to(GPU), lengths).groups[0]
    widths = {
        held(group[name]).shape[dimension] for name, dimension in (("key_0", 2), ("value_0", 2), ("mask", 3))
    }
    assert widths == {-(-(longest + 1) // 32) * 32}
