"""Lines in, lines out, from a model to text."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import TokenizerSettings
from nmt.data import lines as module
from nmt.data.batching import Batch
from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import obtain_tokenizer
from nmt.decoding.batch_search import GROUPS, Sentence, plan_batches
from nmt.decoding.chunks import Chunk
from nmt.decoding.search_settings import choose_search
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.errors import RunError

LIMITS = {
    "max_length_ratio": 1.0,
    "max_length_extra": 2,
    "min_length": 0,
    "max_source_tokens": 20,
    "max_tokens": 64,
}
LINES = ["a", "b c d", "", "e f", "   ", "g h i j k l m n o p", "c"]


@pytest.fixture(scope="module")
def make(tiny_model):
    """Return a function that makes a translator of a random model over characters."""
    text = ParallelText(["abc def", "ghi jkl mno"] * 3, ["pqr", "stu vwx yz"] * 3)
    values = {"character_coverage": 1.0, "byte_fallback": False, "normalization": "identity", "model": None}
    tokenizer = obtain_tokenizer(
        TokenizerSettings(kind="char", vocabulary_size=40, joint=True, **values), text
    )

    def make_translator(search, kind="transformer"):
        sizes = (tokenizer.source.size, tokenizer.target.size)
        options = {"max_positions": 16} if kind == "transformer" else {}
        model = tiny_model(kind, sizes=sizes, is_random=False, **options)
        return Translator(TorchEngine(model, tokenizer, torch.device("cpu"), torch.float64), search)

    return make_translator


SEARCHES = [choose_search("greedy", **LIMITS), choose_search("beam", beam_size=3, **LIMITS)]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.kind)
def test_batches_chunks_and_order_change_nothing(make, search, monkeypatch):
    translator = make(search)
    together = list(translator.translate(LINES))
    assert together[2] == together[4] == ""
    assert all(together[i] for i in (0, 1, 3, 5, 6))
    assert together == [next(iter(translator.translate([line]))) for line in LINES]
    monkeypatch.setattr(module, "LINES_AT_ONCE", 2)
    assert list(translator.translate(LINES)) == together
    assert list(translator.translate(reversed(LINES))) == together[::-1]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.kind)
def test_a_line_without_a_word_stays_as_it_is(make, search):
    translator = make(search)
    assert list(translator.translate(["😀", "a b", " ☎ ☎ ", "\u200b", "👩\u200d💻", "a 😀"])) == [
        "😀",
        *translator.translate(["a b"]),
        "☎ ☎",
        "",
        "👩\u200d💻",
        *translator.translate(["a 😀"]),
    ]
    translator.line_tags = {"<2de>"}
    assert list(translator.translate(["<2de> 😀", "<2de>", "<2de> ", "😀 <2de>"]))[:3] == ["😀", "", ""]


def test_each_line_of_a_text_is_drawn_by_its_own_number_whatever_is_translated_at_once(make, monkeypatch):
    translator, lines = make(choose_search("sampling", seed=3, **LIMITS)), ["a b"] * 8
    together = list(translator.translate(lines))
    assert len(set(together)) > 4
    monkeypatch.setattr(module, "LINES_AT_ONCE", 2)
    assert list(translator.translate(lines)) == together


@settings(max_examples=30)
@given(st.lists(st.text(max_size=40), max_size=12))
def test_as_many_lines_come_out_as_go_in(make, lines):
    translator = make(SEARCHES[0])
    out = list(translator.translate(lines))
    assert len(out) == len(lines)
    assert not any("\n" in line for line in out)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=200), st.integers(1, 1000), st.integers(1, 100))
def test_a_batch_holds_so_many_padded_tokens_of_sentences_of_about_one_length(
    lengths, max_tokens, max_sentences
):
    lengths = np.array(lengths)
    batches = plan_batches(lengths, max_tokens, max_sentences)
    order = [row for batch in batches for group in batch for row in group]
    assert sorted(order) == list(range(len(lengths)))
    assert all(first >= second for first, second in zip(lengths[order], lengths[order][1:], strict=False))
    assert all(len(batch) == GROUPS for batch in batches[:-1])
    groups = [group for batch in batches for group in batch]
    most = [max(1, min(max_tokens // lengths[group[0]], max_sentences) // GROUPS) for group in groups]
    assert all(len(group) <= size for group, size in zip(groups, most, strict=True))
    assert all(len(group) == size for group, size in zip(groups[:-1], most[:-1], strict=True)), (
        "none has room"
    )


def test_what_is_too_long_is_cut_and_named(make, caplog):
    translator = make(SEARCHES[0].model_copy(update={"split": "none"}))
    assert translator.max_source_tokens == 15  # the model's 16 positions, EOS among them
    long = "abc def ghi jkl mno pqr"
    lines = ["a", long, long[:5]] * 7
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LINES_AT_ONCE", 4)  # numbers go on from chunk to chunk
        assert list(translator.translate(lines))[1]
    translator.remarks.log()
    assert caplog.messages == ["7 lines were cut to 15 tokens: lines 2, 5, 8, 11, 14 and 2 more"]


def test_the_model_in_training_stays_as_it_is(make, tiny_model):
    model = tiny_model("transformer", is_random=False)
    tokenizer = make(SEARCHES[0]).tokenizer
    model.train()
    Translator(TorchEngine(model, tokenizer, torch.device("cpu"), torch.bfloat16), SEARCHES[0])
    assert model.training
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())


@pytest.mark.parametrize("kind", ["transformer", "attention"])
def test_coverage_ranks_anew_what_the_beam_found(make, kind):
    beam = {"beam_size": 3, **LIMITS}
    plain = make(choose_search("beam", **beam), kind)
    plain = plain.with_search(plain.settings, 3)
    ranked = make(choose_search("beam", coverage_penalty=5.0, **beam), kind)
    eos, bos = ranked.tokenizer.target.eos_id, ranked.tokenizer.target.bos_id
    num_moved = 0
    for line in ("a", "b c d", "g h i j k l m n o p"):
        sentence = Sentence(ranked.tokenizer.source.encode([line])[0])
        ((before, _),), ((after, _),) = plain.search([sentence]), ranked._find([sentence])
        source = torch.tensor([[*sentence.source, eos]])
        expected = {}
        for one in before:
            target = torch.tensor([[*one.tokens, eos]])
            lengths = torch.tensor([source.shape[1]]), torch.tensor([target.shape[1]])
            inputs = torch.tensor([[bos, *one.tokens]])
            weights = ranked.engine.model.alignment(
                Batch(source, lengths[0], inputs, target, lengths[1], lengths)
            )[0]
            covered = sum(math.log(min(1, float(weights[:, i].sum()))) for i in range(len(sentence.source)))
            expected[tuple(one.tokens)] = one.score + 5 * covered
        best = sorted(expected, key=lambda tokens: -expected[tokens])
        assert [tuple(one.tokens) for one in after] == best
        assert [one.score for one in after] == pytest.approx([expected[tokens] for tokens in best], rel=1e-4)
        num_moved += best[0] != tuple(before[0].tokens)
    assert num_moved, "some line becomes something else"


def test_coverage_needs_attention(make):
    with pytest.raises(RunError, match=r"^decoding\.coverage_penalty: 0 is needed"):
        make(choose_search("beam", coverage_penalty=0.2, **LIMITS), "rnn").translate_chunk(Chunk(["a"]))


def test_coverage_is_refused_before_a_model_without_attention_is_trained(main, tmp_path):
    typed = ("model=rnn", "decoding.coverage_penalty=0.2", f"run={tmp_path}/run")
    code, _, error = main("train", *typed)
    assert (code, error.count("\n")) == (2, 1)
    assert error.startswith("nmt: decoding.coverage_penalty: 0 is needed for a model without attention")
    assert not (tmp_path / "run").exists()
