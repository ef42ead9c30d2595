"""The loss of the validation text against that of each pair alone."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from nmt.data.batching import collate
from nmt.data.dataset import load_dataset
from nmt.decoding.chunks import Chunk
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.evaluation.translating import text_loss, validation_search
from nmt.training.validation import validate


@torch.no_grad()
def test_the_loss_is_the_mean_over_all_tokens_and_ends_without_dropout(make_trainer):
    trainer = make_trainer("model.dropout=0.5")
    text, model = trainer.validation_text, trainer.model
    dataset = load_dataset(text, trainer.step.tokenizer)
    model.train()
    found = validate(trainer.step, trainer.settings, text, 100)
    model.eval()
    losses = []
    for row in range(len(dataset)):
        batch = collate(dataset, np.array([row]), trainer.step.tokenizer)
        logits = model.project(model(batch).outputs)[0]
        losses += functional.cross_entropy(logits, batch.target_out[0], reduction="none").tolist()
    assert len(losses) == int(dataset.target.lengths.sum()) + len(dataset)
    assert found.loss == pytest.approx(np.mean(losses))


def test_batches_of_the_loss_are_no_larger_than_in_training(make_trainer, monkeypatch):
    trainer, sizes, project = make_trainer(), [], TorchEngine.token_log_probs

    def noting(engine, source, target, max_tokens):
        sizes.append(max_tokens)
        return project(engine, source, target, max_tokens)

    monkeypatch.setattr(TorchEngine, "token_log_probs", noting)
    validate(trainer.step, trainer.settings, trainer.validation_text, 17)
    assert set(sizes) == {17}


def test_lines_of_the_validation_text_are_translated_as_they_are(make_trainer):
    trainer = make_trainer("decoding.split=sentences")
    engine = TorchEngine(trainer.model, trainer.step.tokenizer, torch.device("cpu"), torch.float32)
    own = trainer.settings.decoding
    for search, num_parts in ((own, 2), (validation_search(own), 0)):
        (found,) = Translator(engine, search).translate_chunk(Chunk(["Der Hund schläft. Die Frau liest."]))
        assert len(found.parts) == num_parts


def test_a_pair_whose_end_the_model_has_no_position_for_does_not_count(make_trainer):
    trainer = make_trainer()
    text, dataset = trainer.validation_text, load_dataset(trainer.validation_text, trainer.step.tokenizer)
    longer = np.maximum(dataset.source.lengths, dataset.target.lengths)
    _, limit, *_ = np.unique(longer).tolist()
    few_positions = (
        "model.positions=learned",
        f"model.max_positions={limit}",
        f"data.max_length={limit - 1}",
    )
    engine = TorchEngine(
        make_trainer(*few_positions).model, trainer.step.tokenizer, torch.device("cpu"), torch.float32
    )
    translator = Translator(engine, trainer.settings.decoding)
    _, num_tokens, left_out = text_loss(translator, text.source, text.target, 100)
    assert num_tokens == (dataset.target.lengths[longer < limit] + 1).sum() > 0
    assert left_out == (np.flatnonzero(longer >= limit) + 1).tolist()
