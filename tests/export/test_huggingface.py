"""What transformers computes and segments with an exported folder, and that the folder can be imported back."""

import json
import resource
import sys
from types import SimpleNamespace

import pytest
import safetensors.torch
import torch
from foreign import exported, lines_of_both, sentencepiece_model

from nmt.config import TokenizerSettings
from nmt.data.context import context_symbols
from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import Tokenizer, obtain_tokenizer
from nmt.decoding.search_settings import choose_search
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.errors import ExportError, RunError, UserError
from nmt.export.comparison import compare
from nmt.export.formats import Work
from nmt.export.huggingface import format as huggingface
from nmt.export.huggingface.format import HuggingFace
from nmt.imports.huggingface import read
from nmt.runs.directory import RunDirectory

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore:Recommended")

POST = [
    {"tied": "three_way", "activation": "silu", "attention_bias": True, "num_decoder_layers": 1},
    {"tied": "two_way", "activation": "gelu"},
    {"tied": "none"},
]
PRE = [{"tied": "three_way"}, {"tied": "three_way", "attention_bias": True, "activation": "silu"}]
VARIANTS = [{"norm": "post", **options} for options in POST] + [{"norm": "pre", **options} for options in PRE]


def make_tokenizer(is_joint, symbols=()):
    """Make a tokenizer as nmt trains it."""
    settings = TokenizerSettings(
        kind="unigram", vocabulary_size=150, joint=is_joint, character_coverage=1.0, byte_fallback=False,
        normalization="nmt_nfkc", model=None,
    )  # fmt: skip
    return obtain_tokenizer(settings, ParallelText(*lines_of_both()), symbols)


def random_model(tiny_model, tokenizer, seed=0, **options):
    sizes = tokenizer.source.size, tokenizer.target.size
    model = tiny_model("transformer", width=16, sizes=sizes, seed=seed, max_positions=200, **options).float()
    model.learned_lengths = None
    return model


def written(folder, model, tokenizer, **options):
    """Export a model into a folder; return the `Exported` that the format was given."""
    folder.mkdir()
    given = exported(RunDirectory(folder), model, tokenizer, "huggingface", **options)
    HuggingFace().write(folder, given)
    return given


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_transformers_computes_the_same(options, tiny_model, tiny_batch, tmp_path):
    is_joint = options["tied"] == "three_way"
    tokenizer = make_tokenizer(is_joint)
    model = random_model(tiny_model, tokenizer, **options)
    written(tmp_path / "model", model, tokenizer)
    theirs, _ = huggingface.load(tmp_path / "model", "cpu")
    assert type(theirs).__name__ == (
        "MarianMTModel" if options["norm"] == "post" else "PegasusForConditionalGeneration"
    )
    batch = tiny_batch(source_lengths=(5, 3, 60), target_lengths=(4, 6, 50))
    mask = torch.arange(60) < batch.source_lengths.unsqueeze(1)
    with torch.no_grad():
        found = theirs(input_ids=batch.source, attention_mask=mask, decoder_input_ids=batch.target_in).logits
        expected = model.project(model(batch).outputs)
    inside = torch.arange(50) < batch.target_lengths.unsqueeze(1)
    never = [tokenizer.target.pad_id, tokenizer.target.unk_id, tokenizer.target.bos_id]
    assert (found[..., never] < -1000).all()
    found[..., never] = expected[..., never] = 0.0
    torch.testing.assert_close(found[inside], expected[inside], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_what_is_imported_back_is_what_was_exported(options, tiny_model, tmp_path):
    tokenizer = make_tokenizer(options["tied"] == "three_way")
    model = random_model(tiny_model, tokenizer, **options)
    written(tmp_path / "model", model, tokenizer)
    imported = read(tmp_path / "model")
    assert imported.tokenizer.models == tokenizer.models
    assert imported.tokenizer.joint == tokenizer.joint
    assert imported.model.tied_embeddings == options["tied"]
    own = dict(model.named_parameters())
    assert imported.weights.keys() == own.keys()
    for name, tensor in own.items():
        if name == "output.bias":  # the biases of special tokens forbid them
            assert torch.equal(imported.weights[name][4:], tensor[4:])
        else:
            assert torch.equal(imported.weights[name], tensor), name


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_start_from_zeros_and_half_precision(norm, tiny_model, tmp_path):
    tokenizer = make_tokenizer(True)
    model = random_model(tiny_model, tokenizer, norm=norm, tied="three_way")
    model.target_embedding.zero_id = tokenizer.target.bos_id
    written(tmp_path / "model", model, tokenizer, quantization="float16")
    assert (
        safetensors.torch.load_file(tmp_path / "model" / "model.safetensors")["final_logits_bias"].dtype
        == torch.float16
    )
    imported = read(tmp_path / "model")
    assert imported.model.zero_start
    torch.testing.assert_close(
        imported.weights["decoder.layers.0.feed_forward.inner.weight"],
        model.decoder.layers[0].feed_forward.inner.weight.detach(),
        rtol=1e-3,
        atol=1e-3,
    )


@pytest.mark.parametrize(("early_stopping", "theirs"), [("true", True), ("false", "never")])
def test_generate_searches_as_the_run_does(early_stopping, theirs, tiny_model, tmp_path):
    tokenizer = make_tokenizer(True)
    model = random_model(tiny_model, tokenizer, norm="post", tied="three_way")
    beam = {"beam_size": 3, "length_penalty": 0.25, "early_stopping": early_stopping}
    options = {f"decoding.{name}": value for name, value in beam.items()}
    written(tmp_path / "model", model, tokenizer, decoding="beam", **options)
    found = transformers.GenerationConfig.from_pretrained(tmp_path / "model")
    assert (found.num_beams, found.length_penalty, found.early_stopping) == (3, 0.25, theirs)


def by_hand(folder, lines, limit):
    """Return what transformers makes of lines with the code of the page."""
    page = (folder / "README.md").read_text()
    namespace = {}
    exec(page.split("```python\n")[1].split("```")[0].replace('"."', repr(str(folder))), namespace)
    return namespace["translate"](lines)


@pytest.mark.parametrize("has_moses", [True, False])
@pytest.mark.parametrize(("norm", "is_joint"), [("post", True), ("post", False), ("pre", True)])
def test_200_lines_and_the_page(norm, is_joint, has_moses, tiny_model, tmp_path, monkeypatch):
    """Test with and without sacremoses, which a tokenizer would use where it is installed."""

    class Changes:
        def __init__(self, language):
            pass

        def normalize(self, text):
            return "something else"

    monkeypatch.setitem(
        sys.modules, "sacremoses", SimpleNamespace(MosesPunctNormalizer=Changes) if has_moses else None
    )
    tokenizer = make_tokenizer(is_joint)
    model = random_model(tiny_model, tokenizer, norm=norm, tied="three_way" if is_joint else "two_way")
    given = written(
        tmp_path / "model",
        model,
        tokenizer,
        **{"decoding": "greedy", "decoding.max_length_extra": 9, "decoding.max_length_ratio": 0.1},
    )

    text = ParallelText(*(lines[:200] for lines in lines_of_both()))
    to = HuggingFace()
    (search,) = to.searches(given)
    comparison = compare(tmp_path / "model", to, given, text, search)
    assert (comparison.num_lines, comparison.num_identical) == (200, 200)
    (tmp_path / "model" / "README.md").write_text(to.page(given, [comparison]))
    lines = ["Der Hund schläft …", "„Ein Buch“ – 100 %", "  zwei  ", "☃ x"]
    search = choose_search("greedy", max_length_ratio=0.1, max_length_extra=9, split="none")
    translator = Translator(TorchEngine(model, tokenizer, torch.device("cpu"), torch.float32), search)
    for line in lines:
        assert by_hand(tmp_path / "model", [line], 9) == list(translator.translate([line]))


def test_special_tokens_of_other_numbers_come_first(tiny_model, tmp_path):
    german, english = lines_of_both()
    models = sentencepiece_model(tuple(german)), sentencepiece_model(tuple(english), size=140)
    tokenizer = Tokenizer.of_models(*models)
    assert tokenizer.source.pad_id != tokenizer.target.pad_id
    model = random_model(tiny_model, tokenizer, norm="post", tied="two_way")
    given = written(
        tmp_path / "model",
        model,
        tokenizer,
        **{"decoding": "greedy", "decoding.max_length_extra": 9, "decoding.max_length_ratio": 0.1},
    )

    (search,) = HuggingFace().searches(given)
    comparison = compare(
        tmp_path / "model", HuggingFace(), given, ParallelText(german[:20], english[:20]), search
    )
    assert comparison.num_identical == 20
    imported = read(tmp_path / "model")
    assert imported.tokenizer.models == models
    for name, tensor in model.named_parameters():
        if name != "output.bias":
            assert torch.equal(imported.weights[name], tensor), name


def test_a_tokenizer_that_segments_otherwise_is_noticed(tiny_model, tmp_path):
    tokenizer = make_tokenizer(True)
    given = written(
        tmp_path / "model", random_model(tiny_model, tokenizer, norm="pre", tied="three_way"), tokenizer
    )
    table = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
    table["normalizer"] = None
    (tmp_path / "model" / "tokenizer.json").write_text(json.dumps(table))
    source = tokenizer.source.encode(["Der Hund schläft."])
    with pytest.raises(ExportError, match="other pieces in 1 of 1 lines"):
        HuggingFace().translate(
            tmp_path / "model", given, Work(HuggingFace().searches(given)[0], source, [5])
        )


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("attention", {}, "model=transformer is needed"),
        ("transformer", {"normalization": "rms"}, "model.normalization=layer is needed, .*; got rms"),
        ("transformer", {"positions": "rotary"}, "model.positions=sinusoidal is needed, .*; got rotary"),
        ("transformer", {"activation": "swiglu"}, "model.activation=relu or gelu or silu is needed, .*; got swiglu"),
        ("transformer", {"num_key_value_heads": 1}, "model.num_key_value_heads=2 is needed, .*; got 1"),
        ("transformer", {"tied": "two_way"}, "tied_embeddings=three_way is needed with model.norm=pre"),
    ],
)  # fmt: skip
def test_what_the_layout_cannot_hold_is_refused(kind, options, message, tiny_model, tokenizer, tmp_path):
    with pytest.raises(RunError, match=message):
        written(tmp_path / "model", tiny_model(kind, **options).float(), tokenizer)
    assert list((tmp_path / "model").iterdir()) == []


def test_fewer_bits_and_lines_before_are_refused(tiny_model, tokenizer, char_tokenizer, tmp_path):
    model = tiny_model("transformer", tied="three_way").float()
    with pytest.raises(RunError, match="float32 or float16 is needed for format=huggingface; got int8"):
        written(tmp_path / "int8", model, tokenizer, quantization="int8")
    with pytest.raises(RunError, match=r"data.context=0 is needed, .*; got a run with 2 lines before"):
        written(tmp_path / "context", model, char_tokenizer(symbols=context_symbols(2)))


def test_without_the_library_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match=r"pip install 'nmt\[huggingface\]'"):
        HuggingFace().require()


def test_weights_that_a_disk_has_no_room_for_are_an_error_of_the_system(tiny_model, tokenizer, tmp_path):
    """Such an error is one line for people; that of safetensors would be a traceback."""
    model = tiny_model("transformer", tied="three_way").float()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            written(tmp_path / "model", model, tokenizer)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_the_command(nmt, trained_run, tmp_path):
    """A run that is exported and imported back translates as before."""
    out = nmt("export", f"run={trained_run}", "format=huggingface", "output=model").stdout
    assert b"identical      20  token by token, at least 20 are needed" in out
    assert b"PegasusForConditionalGeneration" in (tmp_path / "model" / "README.md").read_bytes()
    nmt("import", "format=huggingface", "input=model", "output=run")
    lines = "Der Hund schläft.\nDie Lehrerin kauft ein Buch.\n".encode()
    search = "decoding=greedy", "decoding.max_length_ratio=1", "decoding.max_length_extra=3"
    both = [
        nmt("translate", f"run={run}", "precision=float32", *search, stdin=lines).stdout
        for run in (trained_run, "run")
    ]
    assert both[0] == both[1]
    nmt("export", f"run={trained_run}", "format=huggingface", "output=model", "overwrite=true")
