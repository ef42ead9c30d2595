"""Each of several ranks computes its share of an update and of a validation, and all shares make the whole."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt.cli.compose import compose
from nmt.data.batching import deal, plan_by_length
from nmt.data.context import Context
from nmt.data.corpus import ParallelText
from nmt.decoding.translator import Translator
from nmt.errors import RunError
from nmt.runs.directory import RunDirectory
from nmt.training import validation
from nmt.training.ranks import Ranks
from nmt.training.setup import prepare


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    max_tokens=st.integers(1, 200),
    num_ranks=st.integers(1, 8),
)
def test_ranks_are_dealt_all_of_an_update_once_and_about_as_much_each(lengths, max_tokens, num_ranks):
    lengths = np.array(lengths)
    update = plan_by_length(lengths, max_tokens)
    shares = [deal(update, lengths, rank, num_ranks) for rank in range(num_ranks)]
    dealt = [row for share in shares for rows in share for row in rows.tolist()]
    assert sorted(dealt) == list(range(len(lengths)))
    largest = max(len(rows) * lengths[rows].max() for rows in update)
    assert all(len(rows) * lengths[rows].max() <= largest for share in shares for rows in share)
    loads = [sum(int(lengths[rows].sum()) for rows in share) for share in shares]
    sizes = [sum(len(rows) * int(lengths[rows].max()) for rows in share) for share in shares]
    as_they_are = [update[rank::num_ranks] for rank in range(num_ranks)]
    if all(
        map(
            np.array_equal,
            map(np.concatenate, filter(None, shares)),
            map(np.concatenate, filter(None, as_they_are)),
        )
    ):
        assert max(sizes) <= 1.1 * sum(sizes) / num_ranks or max(loads) - min(loads) <= lengths.max()
    else:
        assert max(loads) - min(loads) <= lengths.max()


def test_micro_batches_of_one_size_are_dealt_as_they_are_and_a_small_last_one_is_not():
    lengths = np.full(40, 5)
    update = [np.arange(0, 10), np.arange(10, 20), np.arange(20, 30), np.arange(30, 39)]
    assert [deal(update, lengths, rank, 2) for rank in (0, 1)] == [update[0::2], update[1::2]]
    update = [np.arange(0, 30), np.arange(30, 32)]
    assert [sum(map(len, deal(update, lengths, rank, 2))) for rank in (0, 1)] == [16, 16]


def test_one_rank_is_dealt_the_update_as_it_is():
    update = [np.array([4, 2]), np.array([0])]
    assert deal(update, np.arange(1, 6), 0, 1) == update


def recorded(trainer, ranks, update, monkeypatch):
    """Return the losses and gradients that a rank adds to those of the others; for a single rank, all of them."""
    trainer.step.ranks, given = ranks, []
    monkeypatch.setattr(
        ranks, "all_reduce_sum", lambda tensors: given.extend(tensor.clone() for tensor in tensors)
    )
    monkeypatch.setattr(
        trainer.step.scaler,
        "unscale_",
        lambda _: given or given.extend(parameter.grad.clone() for parameter in trainer.model.parameters()),
    )
    figures = trainer.step.run(3, update)
    return given, float(figures.total), figures.num_tokens


@pytest.mark.parametrize("consistency", ["none", "r_drop", "simcut"])
def test_shares_of_consistency_add_up_too(make_trainer, consistency, monkeypatch):
    """Dropout is the same for any number of ranks, where these get whole micro-batches."""
    update = [np.arange(start, start + 5) for start in (0, 5, 10, 15)]

    def make():
        return make_trainer("model.dropout=0.3", "precision=float32", f"consistency={consistency}")

    expected, total, _ = recorded(make(), Ranks(), update, monkeypatch)
    shares = [recorded(make(), Ranks(rank, 2), update, monkeypatch) for rank in range(2)]
    sums = [torch.stack(tensors).sum(0) for tensors in zip(*(share[0] for share in shares), strict=True)]
    torch.testing.assert_close(sums[:-2], expected[:-2], rtol=1e-5, atol=1e-7)
    assert float(sums[-2]) == pytest.approx(total)
    plain = recorded(make_trainer("model.dropout=0.3", "precision=float32"), Ranks(), update, monkeypatch)
    assert (plain[1] == pytest.approx(total)) == (consistency == "none")


@pytest.mark.parametrize("kind", ["transformer", "attention"])
@pytest.mark.parametrize(
    ("update", "num_ranks", "dropout"),
    [
        ([np.arange(9)], 2, 0.0),
        ([np.arange(9), np.arange(9, 13), np.arange(13, 15)], 2, 0.0),
        ([np.arange(2)], 4, 0.0),  # two ranks have nothing to do
        ([np.arange(start, start + 5) for start in (0, 5, 10, 15)], 2, 0.3),  # micro-batches of one size
    ],
)
def test_shares_add_up_to_the_update_of_one_rank(make_trainer, kind, update, num_ranks, dropout, monkeypatch):
    def make():
        return make_trainer(f"model.dropout={dropout}", "precision=float32", kind=kind)

    expected, total, num_tokens = recorded(make(), Ranks(), update, monkeypatch)
    shares = [recorded(make(), Ranks(rank, num_ranks), update, monkeypatch) for rank in range(num_ranks)]
    sums = [torch.stack(tensors).sum(0) for tensors in zip(*(share[0] for share in shares), strict=True)]
    assert len(sums) == len(expected)
    torch.testing.assert_close(sums[:-2], expected[:-2], rtol=1e-5, atol=1e-7)
    assert float(sums[-2]) == pytest.approx(total)
    assert {share[2] for share in shares} == {num_tokens}


class Echo(Translator):
    """A translator that returns the lines that it is given, and records them."""

    told = []

    def translate(self, lines, before=()):
        self.told.append((list(before), list(lines)))
        return iter(lines)


def test_validation_is_of_all_shares_in_the_order_of_the_text(make_trainer, monkeypatch, caplog):
    trainer, scored = make_trainer(), []
    text = ParallelText(
        ["a b c", "d e", "f g h i j", "k", "a c e g"], ["x y", "z", "u v w x", "\u3000", "v w"]
    )
    monkeypatch.setattr(validation, "Translator", Echo)
    monkeypatch.setattr(validation, "corpus_bleu", lambda lines, *_: scored.append(lines) or 1.0)

    def validate(ranks):
        trainer.step.ranks = ranks
        return validation.validate(trainer.step, trainer.settings, text, 100).loss

    loss, shares = validate(Ranks()), []
    left_out = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert left_out == ["1 line was left out of the loss, being empty or too long: line 4"]
    caplog.clear()
    for rank in (0, 1):
        ranks = Ranks(rank, 2)
        monkeypatch.setattr(ranks, "gather", lambda share: shares.append(share) or shares)
        validate(ranks)
    ranks = Ranks(1, 2)
    monkeypatch.setattr(ranks, "gather", lambda share: shares[:2])
    assert validate(ranks) == pytest.approx(loss)
    assert scored[0] == scored[-1] == text.source
    assert [share[0].left_out for share in shares[:2]] == [[], [4]]
    assert "left out" not in caplog.text, "the first rank alone says it, when it has heard of all"


@given(st.lists(st.text("ab ", max_size=30), min_size=1, max_size=60), st.integers(1, 9))
def test_ranks_validate_all_lines_once_and_about_as_many_characters(lines, num_ranks):
    shares = [validation._share(sorted(lines, key=len), rank, num_ranks) for rank in range(num_ranks)]
    assert [place for start, end in shares for place in range(start, end)] == list(range(len(lines)))
    sizes = [sum(map(len, sorted(lines, key=len)[start:end])) for start, end in shares]
    longest = max(map(len, lines))
    assert max(sizes) <= sum(sizes) / num_ranks + longest


def test_with_context_a_rank_reads_the_lines_before_its_own(make_trainer, monkeypatch):
    trainer = make_trainer()
    text = ParallelText(list("abcdefg"), list("uvwxyza"))
    monkeypatch.setattr(validation, "Translator", Echo)
    monkeypatch.setattr(validation, "corpus_bleu", lambda lines, *_: float(lines == text.source))
    monkeypatch.setattr(Context, "of", lambda _: Context(2, 5))
    monkeypatch.setattr(Echo, "told", [])
    shares = []
    for rank in range(3):
        trainer.step.ranks = Ranks(rank, 3)
        monkeypatch.setattr(trainer.step.ranks, "gather", lambda share: shares.append(share) or shares)
        found = validation.validate(trainer.step, trainer.settings, text, 100)
    assert Echo.told == [([], ["a", "b"]), (["a", "b"], ["c", "d"]), (["c", "d"], ["e", "f", "g"])]
    assert found.bleu == 1


class OtherRankRanOut(Ranks):
    """A single rank that is told that another one ran out of memory in the first update."""

    num_asked = 0

    def all_reduce_max(self, *numbers):
        self.num_asked += len(numbers) == 3
        return [
            max(number, 1.0) if place == 1 and len(numbers) == 3 and self.num_asked == 1 else number
            for place, number in enumerate(numbers)
        ]


def test_batches_become_smaller_on_all_ranks_when_one_runs_out_of_memory(make_trainer):
    trainer = make_trainer("training.max_updates=1", "training.max_tokens=auto")
    trainer.ranks = OtherRankRanOut()
    before = trainer.enter(0).max_tokens
    trainer.train()
    assert trainer.progress.max_tokens == before // 2


def test_ranks_compare_what_is_in_files_also_where_settings_name_them_by_the_same_key(
    tmp_path, tiny_training
):
    class Noting(Ranks):
        def gather(self, value):
            gathered.append(value)
            return [value]

    gathered = []
    (tmp_path / "text.tsv").write_text("".join(f"eins {i}\tone {i}\n" for i in range(20)))
    small = [option for option in tiny_training() if not option.startswith(("data", "tokenizer"))]
    text = [f"data.{split}={tmp_path}/text.tsv" for split in ("train", "validation")]
    columns = [
        "data.header=false",
        "data.source_column=1",
        "data.target_column=2",
        "tokenizer.vocabulary_size=40",
    ]
    given = [f"run={tmp_path}/run", "data=table", *text, *columns, *small]
    prepared = prepare(compose("train", given, None).settings(), RunDirectory(tmp_path / "run"), Noting())
    compared = [
        value["data.train"] for value in gathered if isinstance(value, dict) and "data.train" in value
    ]
    assert compared == [prepared.trainer.progress.origins["data.train"], f"{tmp_path}/text.tsv"]


def test_a_rank_with_another_text_is_refused(make_trainer):
    class Others(Ranks):
        def gather(self, value):
            return [value, {**value, "data.train": "another"}]

    with pytest.raises(
        RunError, match=r"data.train: the same on all ranks is needed; rank 0 got 1, rank 1 another"
    ):
        Others(0, 2).require_same({"data.train": "1", "tokenizer": "2"})
