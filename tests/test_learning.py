"""Each model learns the built-in corpus, by the real command line, well beyond chance."""

import json

import pytest

# A corner of the corpus and a few minutes: enough to tell a model that learns from one that does not.
SMALL = (
    "data.num_train=2000", "data.num_validation=100", "data.num_test=100", "tokenizer.vocabulary_size=1500",
    "training.update_tokens=1024", "training.validate_every=100", "training.checkpoint_every=100",
    "schedule=cosine", "schedule.warmup_updates=50", "optimizer.learning_rate=0.003", "decoding=greedy",
)  # fmt: skip
MODELS = {
    "transformer": ("model.d_model=64", "model.d_ff=128", "model.dropout=0.0", "model.num_encoder_layers=2", "model.num_decoder_layers=2"),
    "attention": ("model.d_embedding=64", "model.d_hidden=96", "model.attention.d_attention=64", "model.dropout=0.0"),
    "rnn": ("model.d_embedding=64", "model.d_hidden=128", "model.dropout=0.0"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_each_model_learns_what_it_has_read(nmt, tmp_path, kind):
    nmt("train", f"model={kind}", "run=run", *MODELS[kind], *SMALL, "training.max_updates=500", timeout=280)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().split("\n")[:-1]]
    losses = [row["negative_log_likelihood"] for row in rows if row["kind"] == "training"]
    assert losses[-1] < losses[0] / 4
    validation = [row["bleu"] for row in rows if row["kind"] == "validation"]
    assert validation[-1] > 10
