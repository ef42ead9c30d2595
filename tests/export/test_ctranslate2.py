"""What is exported to CTranslate2 computes and translates as the model that it was made of."""

import json
import subprocess
import sys

import pytest
import torch
from pairwise import pairwise

from nmt import cli
from nmt.config import BeamSettings, EvaluationSettings, GreedySettings, TokenizerSettings
from nmt.data.batching import Batch
from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import Tokenizer, obtain_tokenizer
from nmt.decoding.rules import EndAtLimit, ForbidTokens, MinimumLength
from nmt.decoding.search import beam_search, greedy_search, power_penalty
from nmt.decoding.translator import Translator
from nmt.errors import ExportError, RunError, UserError
from nmt.export import specification
from nmt.export.comparison import Comparison, compare
from nmt.export.folder import TokenNames, write_model
from nmt.export.readme import readme
from nmt.models.layers import Embedding, output_layer
from nmt.models.transformer import Transformer

ctranslate2 = pytest.importorskip("ctranslate2")

PAD, UNK, BOS, EOS = range(4)
OPTIONS = {
    "norm": ("pre", "post"),
    "normalization": ("layer", "rms"),
    "positions": ("sinusoidal", "learned", "rotary", "relative"),
    "activation": ("relu", "gelu", "swiglu"),
    "num_key_value_heads": (None, 1, 2),
    "num_heads": (4, 2),
    "tied": ("none", "two_way", "three_way"),
    "num_encoder_layers": (2, 1),
}
VARIANTS = [*pairwise(OPTIONS), {"num_encoder_layers": 1, "num_decoder_layers": 3}]
every_model = pytest.mark.parametrize(
    "options", VARIANTS, ids=["-".join(map(str, options.values())) for options in VARIANTS]
)
LIMIT = 12
# Three of them are blank, one has letters that no vocabulary knows, one is longer than models here allow.
LINES = ["abc", "", "  ", "\u3000", "fedcba", "axbyz", "abcdef" * 30, "a", "bb cc dd ee ff aa bb cc"]


def char_tokenizer(source="abcdef", target=None):
    """Make a tokenizer of letters: a special token or a letter for each of the 11 ids of tiny models."""
    settings = TokenizerSettings(
        kind="char", vocabulary_size=40, joint=target is None, character_coverage=1.0, byte_fallback=False,
        normalization="identity", model=None,
    )  # fmt: skip
    return obtain_tokenizer(settings, ParallelText([source], [target or source]))


@pytest.fixture(scope="module")
def tokenizer():
    return char_tokenizer()


@pytest.fixture
def exported(tmp_path, tokenizer):
    """Return a function that exports a model and loads it on the other side."""

    def export(model, quantization="float32", of=tokenizer):
        folder = tmp_path / quantization
        folder.mkdir()
        write_model(folder, model, of, quantization)
        compute_type = "float32" if quantization == "float16" else quantization
        return ctranslate2.Translator(str(folder), compute_type=compute_type, intra_threads=1)

    return export


def make_strange(tiny_model, end=1.0, **options):
    """Make a model that would like nothing better than PAD and BOS, and that ends the sooner the higher `end` is."""
    model = tiny_model("transformer", max_relative_distance=2, **options)
    with torch.no_grad():
        model.output.bias[[PAD, BOS]] = 20.0
        model.output.bias[EOS] += end
    return model


def names_of(rows, lengths, names):
    """Return the text of tokens (B, …) without the EOS at the end."""
    return [
        [names[i] for i in row[: length - 1]]
        for row, length in zip(rows.tolist(), lengths.tolist(), strict=True)
    ]


def given(model, batch, min_length=0):
    limits = torch.full((len(batch.source),), LIMIT)
    rules = [ForbidTokens([PAD, BOS, UNK]), MinimumLength(EOS, min_length), EndAtLimit(EOS, limits)]
    return (model, batch.source, batch.source_lengths, LIMIT, BOS, EOS), rules


def translate(translator, batch, tokenizer, **options):
    """Return target ids and scores."""
    names = TokenNames.of(tokenizer)
    results = translator.translate_batch(
        names_of(batch.source, batch.source_lengths, names.source),
        disable_unk=True, max_decoding_length=LIMIT, return_scores=True, **{"min_decoding_length": 0, **options},
    )  # fmt: skip
    ids = {name: i for i, name in enumerate(names.target)}
    return [[ids[name] for name in result.hypotheses[0]] for result in results], [
        r.scores[0] for r in results
    ]


def log_probs(model, batch, forbidden=(PAD, BOS), min_length=0):
    with torch.no_grad():
        logits = model.project(model(batch).outputs)
    logits[..., list(forbidden)] = -torch.inf
    logits[:, :min_length, EOS] = -torch.inf
    return logits.log_softmax(-1).gather(2, batch.target_out.unsqueeze(2)).squeeze(2)  # (B, T)


def distance(translator, model, batch, tokenizer):
    """Return the largest difference between log-probabilities of the tokens of given targets."""
    names = TokenNames.of(tokenizer)
    theirs = translator.score_batch(
        names_of(batch.source, batch.source_lengths, names.source),
        names_of(batch.target_out, batch.target_lengths, names.target),
    )
    ours = log_probs(model, batch)
    pairs = [
        (ours[i, : int(length)], torch.tensor(theirs[i].log_probs))
        for i, length in enumerate(batch.target_lengths)
    ]
    assert all(len(a) == len(b) for a, b in pairs)
    return max(float((a - b).abs().max()) for a, b in pairs)


@every_model
def test_float32_is_the_same(options, tiny_model, tiny_batch, tokenizer, exported):
    model = make_strange(tiny_model, **options)
    translator = exported(model)
    batch = tiny_batch(source_lengths=(5, 3, 9, 2), target_lengths=(4, 6, 1, 30))
    assert distance(translator, model, batch, tokenizer) < 1e-5
    arguments, rules = given(model, batch)
    found, _ = translate(translator, batch, tokenizer, beam_size=1)
    assert found == greedy_search(*arguments, rules)


@every_model
def test_a_beam_without_length_penalty_finds_the_same(options, tiny_model, tiny_batch, tokenizer, exported):
    model = make_strange(
        tiny_model, end=3.0, **options
    )  # soon, since the two sides treat a limit differently
    batch = tiny_batch(source_lengths=(5, 3, 9, 2), target_lengths=(2,) * 4)
    arguments, rules = given(model, batch, min_length=3)
    ours = beam_search(*arguments, 4, power_penalty(0.0), rules)
    found, _ = translate(
        exported(model), batch, tokenizer, beam_size=4, length_penalty=0, min_decoding_length=3
    )
    assert found == ours
    assert all(3 <= len(tokens) < LIMIT for tokens in ours)


@pytest.mark.parametrize("power", [0.6, 1.0])
def test_the_length_of_a_score_counts_the_end_on_both_sides(
    power, tiny_model, tiny_batch, tokenizer, exported
):
    model = make_strange(tiny_model, end=2.0)
    batch = tiny_batch(source_lengths=(5, 3, 9, 2), target_lengths=(2,) * 4)
    options = {"beam_size": 4, "length_penalty": power, "return_end_token": True, "min_decoding_length": 3}
    found, scores = translate(exported(model), batch, tokenizer, **options)
    arguments, rules = given(model, batch, min_length=3)
    ours = beam_search(*arguments, 4, power_penalty(power), rules)
    assert sum(tokens[-1] == EOS for tokens in found) > 1
    for i, (theirs, score, own) in enumerate(zip(found, scores, ours, strict=True)):
        if theirs[-1] == EOS:
            assert score_of(model, batch, i, theirs, 3, power) == pytest.approx(score, abs=1e-5)
            if len(own) < LIMIT:  # nmt goes on while something better is in sight
                assert score_of(model, batch, i, [*own, EOS], 3, power) >= score - 1e-5


def score_of(model, batch, row, tokens, min_length, power):
    """Return the score of a hypothesis, EOS included, of one sentence of a batch."""
    length, num_tokens = batch.source_lengths[row : row + 1], torch.tensor([len(tokens)])
    one = Batch(
        batch.source[row : row + 1, : int(length)], length, torch.tensor([[BOS, *tokens[:-1]]]),
        torch.tensor([tokens]), num_tokens, (length, num_tokens),
    )  # fmt: skip
    return float(log_probs(model, one, (PAD, BOS, UNK), min_length).sum()) / len(tokens) ** power


@pytest.mark.parametrize(("quantization", "tolerance"), [("int8", 0.5), ("float16", 0.02)])
@pytest.mark.parametrize("options", VARIANTS[:4], ids=str)
def test_fewer_bits_are_nearly_the_same(
    quantization, tolerance, options, tiny_model, tiny_batch, tokenizer, exported
):
    model = make_strange(tiny_model, end=-3.0, **options)
    translator = exported(model, quantization)
    batch = tiny_batch(source_lengths=(5, 3, 9, 2), target_lengths=(4, 6, 1, 30))
    assert 0 < distance(translator, model, batch, tokenizer) < tolerance
    for beam_size in (1, 4):
        found, _ = translate(translator, batch, tokenizer, beam_size=beam_size)
        assert any(found)
        assert not {PAD, BOS, UNK} & {i for tokens in found for i in tokens}


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "relative"])
def test_the_last_position_is_there(positions, tiny_model, tiny_batch, tokenizer, exported):
    model = tiny_model("transformer", positions=positions, max_relative_distance=2)
    batch = tiny_batch(source_lengths=(64, 2), target_lengths=(64, 63))
    assert distance(exported(model), model, batch, tokenizer) < 1e-5


def test_two_vocabularies(tiny_batch, exported):
    tokenizer = char_tokenizer("abcdef", "uvwxyzabc")
    torch.manual_seed(0)
    width, sizes = 8, {"d_ff": 12, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
    model = Transformer(
        Embedding(tokenizer.source.size, width), Embedding(tokenizer.target.size, width),
        output_layer(tokenizer.target.size, width), d_model=width, max_positions=64, **sizes,
    ).double().eval()  # fmt: skip
    batch = tiny_batch(source_lengths=(5, 3), target_lengths=(4, 6))
    assert tokenizer.source.size == 11 < tokenizer.target.size
    translator = exported(model, of=tokenizer)
    assert distance(translator, model, batch, tokenizer) < 1e-5
    arguments, rules = given(model, batch)
    assert translate(translator, batch, tokenizer, beam_size=1)[0] == greedy_search(*arguments, rules)


def test_special_tokens_behind_the_pieces_and_names_that_are_taken(tmp_path):
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["abc"] * 9), model_prefix=str(tmp_path / "given"), model_type="char",
        user_defined_symbols=["<pad>"], eos_id=-1, vocab_size=20, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    given = Tokenizer.of_models((tmp_path / "given.model").read_bytes())
    names = TokenNames.of(given)
    vocabulary = given.source
    assert vocabulary.pad_id >= vocabulary.num_pieces
    assert names.source[vocabulary.pad_id] == "<pad>_"
    assert names.source[vocabulary.eos_id] == names.eos == "</s>"
    assert len(set(names.source)) == vocabulary.size
    assert names.source == names.target


def make_page(folder, model, tokenizer, decoding):
    """Export a model as the command does; return how it compares, and the function that the page defines."""
    folder.mkdir()
    write_model(folder, model, tokenizer)
    text = ParallelText(LINES, ["abc"] * len(LINES))
    evaluation = EvaluationSettings(lowercase=False, tokenize="13a")
    comparison = compare(folder, model, tokenizer, text, decoding, evaluation, "float32")
    page = readme("mine", "best", tokenizer, decoding, comparison, model.max_positions)
    return comparison, page


def function_of(page):
    """Return the function that a page defines, in the current folder."""
    namespace = {}
    exec(page.split("```python\n")[1].split("```")[0], namespace)
    return namespace["translate"]


@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_comparison_and_page_translate_as_nmt_does(kind, tiny_model, tokenizer, tmp_path, monkeypatch):
    # Greedy search goes on to the limits of the lines; a beam ends before, since the two sides treat a limit differently.
    model = make_strange(tiny_model, end=1.0 if kind == "greedy" else 3.0, seed=3, width=16).float()
    with torch.no_grad():
        model.output.bias[UNK] = 20.0
    limits = {"max_length_ratio": 1.0, "max_length_extra": 9, "min_length": 3}
    sizes = {"max_source_tokens": 512, "max_tokens": 100}
    if kind == "greedy":
        decoding = GreedySettings(kind=kind, **limits, **sizes)
    else:
        penalty = {"length_penalty": 0.0, "length_penalty_kind": "wu"}
        decoding = BeamSettings(kind=kind, beam_size=3, **penalty, **limits, **sizes)
    comparison, page = make_page(tmp_path / "model", model, tokenizer, decoding)
    assert (comparison.num_lines, comparison.num_identical) == (len(LINES) - 3, len(LINES) - 3)
    assert comparison.bleu == comparison.exported_bleu
    assert ("CTranslate2 has only length^p" in page) == (kind == "beam")
    monkeypatch.chdir(tmp_path / "model")
    translator = Translator(model, tokenizer, decoding, torch.device("cpu"), torch.float32)
    expected = list(translator.translate(LINES))
    assert len(set(expected)) > (6 if kind == "greedy" else 1)
    assert translator.num_cut == 1
    assert function_of(page)(LINES) == expected


@pytest.mark.parametrize("kind", ["rnn", "attention"])
def test_recurrent_models_are_refused(kind, tiny_model, tokenizer, tmp_path):
    with pytest.raises(RunError, match=rf"no recurrent layers .*; got {kind}$"):
        write_model(tmp_path, tiny_model(kind), tokenizer)
    assert list(tmp_path.iterdir()) == []


def test_without_the_library_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(UserError, match=r"pip install 'nmt\[export\]'"):
        specification.load_ctranslate2()


@pytest.mark.parametrize(
    ("quantization", "num_lines", "num_identical", "exported_bleu", "passes"),
    [
        ("float32", 200, 198, 10.0, True),
        ("float32", 200, 197, 30.0, False),
        ("float32", 100, 99, 30.0, True),
        ("float32", 20, 19, 30.0, False),
        ("int8", 200, 100, 29.71, True),
        ("int8", 200, 200, 29.69, False),
        ("float16", 200, 100, 35.0, True),
    ],
)
def test_what_passes(quantization, num_lines, num_identical, exported_bleu, passes):
    comparison = Comparison(quantization, "float32", num_lines, num_identical, 30.0, exported_bleu)
    if passes:
        comparison.require()
    else:
        with pytest.raises(ExportError, match=rf"^quantization={quantization}: .*; got .*; nothing was"):
            comparison.require()


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_training):
    """Train a tiny model by the real command line."""
    folder = tmp_path_factory.mktemp("trained")
    command = [sys.executable, "-m", "nmt", "train", "run=mine", *tiny_training("transformer")]
    done = subprocess.run(command, capture_output=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return folder / "mine"


@pytest.mark.parametrize("quantization", ["float32", "int8", "float16"])
def test_the_command_writes_what_its_page_says(nmt, run, tmp_path, monkeypatch, quantization):
    done = nmt("export", f"run={run}", "output=model", f"quantization={quantization}", "decoding=greedy")
    out = done.stdout.decode()
    assert "lines          20  of validation text" in out
    assert "BLEU" in out
    if quantization == "float32":
        assert "identical      20  token by token, at least 20 are needed" in out
    folder = tmp_path / "model"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert {path.name for path in folder.iterdir()} == {
        "README.md", "config.json", "model.bin", "shared_vocabulary.json", "tokenizer.model",
    }  # fmt: skip
    assert json.loads((folder / "config.json").read_text())["add_source_eos"] is True
    page = (folder / "README.md").read_text()
    assert "`mine`" in page
    assert str(run) not in page
    monkeypatch.chdir(folder)
    lines = ["Der Hund schläft.", "", "  ", "🙂 Haus", " ".join(["Haus"] * 600)]
    translations = function_of(page)(lines)
    assert translations[1:3] == ["", ""]
    if quantization == "float32":
        given = "".join(f"{line}\n" for line in lines).encode()
        options = ("decoding=greedy", "precision=float32", "device=cpu")
        expected = nmt("translate", f"run={run}", *options, stdin=given).stdout.decode()
        assert translations == expected.split("\n")[:-1]


def test_existing_folders_are_replaced_only_where_asked(run, tmp_path, monkeypatch, capsys):
    def refused(*options):
        assert cli.main(["export", f"run={run}", *options]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        return printed.err

    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    assert "overwrite=true; got mine, which exists" in refused("output=mine")
    assert "an earlier export is needed" in refused("output=mine", "overwrite=true")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    assert "in an existing one" in refused("output=nowhere/mine")
    assert "output: a value is needed" in refused()
    assert "did you mean ctranslate2?" in refused("output=new", "format=ctranslate")
    assert "one of float32, float16, int8 is needed; got int4" in refused("output=new", "quantization=int4")
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / "model.bin").write_text("old")
    assert cli.main(["export", f"run={run}", "output=earlier", "overwrite=true"]) == 0
    assert (tmp_path / "earlier" / "model.bin").stat().st_size > 1000
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "earlier"}


def test_an_export_that_translates_otherwise_leaves_nothing(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(specification, "FORBIDDEN", 1e4)  # PAD and BOS at every step
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / "model.bin").write_text("old")
    for output, options in (("new", ()), ("earlier", ("overwrite=true",))):
        assert cli.main(["export", f"run={run}", f"output={tmp_path / output}", *options]) == 1
        printed = capsys.readouterr()
        assert "identical       0" in printed.out
        assert (
            "nmt: quantization=float32: at least 20 are needed; got 0; nothing was written\n" in printed.err
        )
    assert [path.name for path in tmp_path.iterdir()] == ["earlier"]
    assert (tmp_path / "earlier" / "model.bin").read_text() == "old"


def test_a_recurrent_run_is_refused_in_one_line(nmt, tmp_path, tiny_training):
    nmt("train", "run=mine", *tiny_training("rnn"), "training.max_updates=2")
    done = nmt("export", "run=mine", "output=model", code=2)
    assert done.stderr.decode().startswith("nmt: run: model=transformer is needed")
    assert done.stderr.count(b"\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
