"""What is exported as ONNX computes and translates as the model that it was made of."""

import json
import sys

import pytest
import torch
from pairwise import pairwise

from nmt.config import EvaluationSettings, ExportSettings
from nmt.data.corpus import ParallelText
from nmt.decoding.engine import Sentence, limit_of
from nmt.decoding.search_settings import choose_search
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.errors import DeviceError, RunError, UserError
from nmt.export.comparison import compare
from nmt.export.formats import Exported
from nmt.export.onnx.format import ONNX, quantize
from nmt.export.onnx.graph import DecoderGraph, EncoderGraph, check
from nmt.export.onnx.run import Beam, Graphs, SpecialIds, beam_search, greedy_search
from nmt.models.kernels import observing
from nmt.runs.directory import RunDirectory

onnx, onnxruntime, _ = map(pytest.importorskip, ("onnx", "onnxruntime", "onnxscript"))

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
# Tracing takes many seconds, however small the model: only this one is always traced, all others in slow tests.
TRACED = {
    "positions": "rotary", "num_heads": 4, "num_key_value_heads": 2, "norm": "post", "normalization": "rms",
    "activation": "swiglu", "tied": "two_way", "num_encoder_layers": 1, "num_decoder_layers": 1,
}  # fmt: skip
LINES = ["abc", "", "\u3000", "fedcba", "axbyz", "abcdef" * 30, "a", "bb cc dd ee ff aa bb cc"]
LIMITED = ("precision=float32", "decoding.max_length_ratio=0.5", "decoding.max_length_extra=3")
LIMITS = {"split": "none", "max_length_ratio": 1.0, "max_length_extra": 9, "max_source_tokens": 40}


def name(options):
    """Return the name of a test with these options."""
    return "-".join(map(str, options.values()))


def exported_of(model, tokenizer, decoding, quantization="float32", device="cpu", run="mine", runtime=None):
    """Return the `Exported` that the command gives to a format."""
    evaluation = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
    settings = ExportSettings(
        run=str(run), checkpoint="best", format="web" if runtime else "onnx", output="out", overwrite=False, quantization=quantization,
        tolerance=0.3, device=device, decoding=decoding, evaluation=evaluation, source_language=None,
        target_language=None, splitter=None, runtime=runtime,
    )  # fmt: skip
    return Exported(RunDirectory(run), model, tokenizer, None, settings)


FORBIDDEN, ALLOWED = [PAD, UNK, BOS], slice(EOS, None)


def function_of(page):
    """Return the function that the code of a page defines; it reads the current folder."""
    namespace = {}
    exec(page.split("```python\n")[1].split("```")[0], namespace)
    return namespace["translate"]


def empty_cache(model, num_sentences):
    options = model.options
    shape = num_sentences, options.num_shared_heads, 0, options.d_head
    return [torch.zeros(shape, dtype=torch.float64)] * (4 * len(model.decoder.layers))


@pytest.mark.parametrize("options", VARIANTS, ids=name)
def test_both_functions_compute_what_the_model_does(options, strange_model, tiny_batch, tokenizer):
    """In float64, padded sentences give the model's logits, with all positions at once and with one or two a call."""
    model, batch = strange_model(width=16, **options), tiny_batch()
    expected = model.project(model(batch).outputs)[..., ALLOWED]
    is_target = torch.arange(batch.target_in.shape[1]) < batch.target_lengths.unsqueeze(1)
    mask = (torch.arange(batch.source.shape[1]) < batch.source_lengths.unsqueeze(1)).long()
    decode = DecoderGraph(model, tokenizer.target).double()
    with torch.no_grad(), observing():
        encoded = EncoderGraph(model)(batch.source, mask)
        at_once, _ = decode(mask, batch.target_in, encoded, empty_cache(model, 3))
        assert (at_once[..., FORBIDDEN] < -9000).all()
        torch.testing.assert_close(at_once[is_target][..., ALLOWED], expected[is_target])
        cache, logits = empty_cache(model, 3), []
        for length in (1, 2, 1, 2):  # one call may have several positions
            done = cache[0].shape[2]
            step, cache = decode(mask, batch.target_in[:, done : done + length], encoded, cache)
            logits.append(step)
            encoded = torch.full_like(encoded, torch.nan)  # it is read in the first call alone
        torch.testing.assert_close(torch.cat(logits, 1)[is_target][..., ALLOWED], expected[is_target])


def check_graphs(folder, options, strange_model, tokenizer):
    """Export a model, and assert that its graphs find what nmt finds, in padded batches and line by line."""
    model = strange_model(end=1.0, seed=3, width=16, **options).float()
    with torch.no_grad():
        model.output.bias[UNK] = 20.0
    exported = exported_of(model, tokenizer, choose_search("greedy", **LIMITS))
    to = ONNX()
    to.write(folder, exported)
    (search,) = to.searches(exported)
    comparison = compare(folder, to, exported, ParallelText(LINES, ["abc"] * len(LINES)), search)
    assert (comparison.num_lines, comparison.num_identical) == (len(LINES) - 2, len(LINES) - 2)
    graphs, special = Graphs(folder / "onnx"), SpecialIds.of(tokenizer)
    source = [ids[:40] for ids in tokenizer.source.encode(LINES) if ids]
    shapes = {shape[1] for shape in graphs.shapes.values()}
    assert shapes == {model.options.num_shared_heads}
    num_lengths = []
    for settings in (
        {"beam_size": 1, "length_penalty": 0.0},
        {"beam_size": 3, "length_penalty": 1.0},
        {"beam_size": 2, "length_penalty": 0.6, "length_penalty_kind": "wu"},
        {"beam_size": 3, "length_penalty": 1.0, "early_stopping": True},
        {"beam_size": 3, "length_penalty": 1.0, "max_length_ratio": 0.5, "max_length_extra": 1},
    ):
        decoding = choose_search("beam", **{**LIMITS, **settings})
        limits = [limit_of(len(ids), decoding, model.max_positions) for ids in source]
        engine = TorchEngine(model, tokenizer, torch.device("cpu"), torch.float32)
        found = Translator(engine, decoding).search([Sentence(ids) for ids in source])
        expected = [one.hypotheses[0].tokens for one in found]
        num_lengths.append(len({len(ids) for ids in expected}))
        beam = Beam(
            decoding.beam_size, decoding.length_penalty, decoding.length_penalty_kind, decoding.early_stopping
        )
        found = [
            beam_search(graphs, ids, limit, special, beam) for ids, limit in zip(source, limits, strict=True)
        ]
        assert found == expected
        if beam.beam_size == 1:
            assert greedy_search(graphs, source, limits, special) == expected
    assert max(num_lengths) > 1


def test_graphs_translate_as_nmt_does(strange_model, tokenizer, tmp_path):
    check_graphs(tmp_path, TRACED, strange_model, tokenizer)


@pytest.mark.slow
@pytest.mark.parametrize("options", VARIANTS, ids=name)
def test_graphs_of_all_options_translate_as_nmt_does(options, strange_model, tokenizer, tmp_path):
    check_graphs(tmp_path, options, strange_model, tokenizer)


def test_what_is_refused(tiny_model, strange_model, tokenizer, tmp_path):
    greedy = choose_search("greedy")
    with pytest.raises(RunError, match=r"^run: model=transformer is needed, since the cache .*; got rnn$"):
        check(tiny_model("rnn"))
    model = strange_model().float()
    with pytest.raises(
        RunError, match=r"^quantization: float32 or int8 is needed with format=onnx; got float16$"
    ):
        ONNX().write(tmp_path, exported_of(model, tokenizer, greedy, "float16"))
    with pytest.raises(DeviceError, match=r"^device: cpu is needed with format=onnx, .*; got cuda$"):
        ONNX().write(tmp_path, exported_of(model, tokenizer, greedy, device="cuda"))
    assert list(tmp_path.iterdir()) == []


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(
        UserError, match=r"^format: the extra `onnx` is needed.*pip install 'nmt\[onnx\]'; got"
    ):
        ONNX().require()


def test_the_command_writes_what_loaders_look_for_and_a_page_that_translates(
    trained_run, nmt, tmp_path, monkeypatch
):
    pytest.importorskip("tokenizers")
    done = nmt("export", f"run={trained_run}", "format=onnx", "output=out", timeout=300)
    assert b"20  token by token" in done.stdout
    assert done.stderr == b""
    folder = tmp_path / "out"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == {
        "README.md", "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
        "onnx/encoder_model.onnx", "onnx/decoder_model_merged.onnx", "onnx/translation.json",
    }  # fmt: skip
    config = json.loads((folder / "config.json").read_bytes())
    heads = config["decoder_attention_heads"]
    width = config["d_model"] // heads
    decoder = folder / "onnx" / "decoder_model_merged.onnx"
    assert cache_of(decoder) == {
        f"past_key_values.0.{side}.{part}": ["batch_size", heads, f"past_{side}_sequence_length", width]
        for side in ("decoder", "encoder")
        for part in ("key", "value")
    }

    monkeypatch.chdir(folder)
    lines = ["Der Hund schläft.", "Die Lehrerin kauft ein Buch, und ein Mann liest.", "Ein Mann liest."]
    done = nmt(
        "translate", f"run={trained_run}", "decoding=greedy", *LIMITED, stdin="\n".join(lines).encode()
    )
    translate = function_of((folder / "README.md").read_text(encoding="utf-8"))
    found = [translate(line) for line in lines]
    assert any(found)
    assert found == done.stdout.decode().split("\n")[:-1]

    integers = folder / "onnx" / "decoder_model_merged_quantized.onnx"
    quantize(onnx.load(str(decoder)), integers)
    assert cache_of(integers) == cache_of(decoder)
    assert "MatMulInteger" in {node.op_type for node in onnx.load(str(integers)).graph.node}


def cache_of(path):
    """Return names and shapes of the cache that a decoder takes, and check its other inputs and its outputs."""
    session = onnxruntime.InferenceSession(str(path))
    given = {one.name: one.shape for one in session.get_inputs()}
    cache = {name: given.pop(name) for name in list(given) if name.startswith("past_key_values")}
    assert set(given) == {"input_ids", "encoder_hidden_states", "encoder_attention_mask"}
    presents = [name.replace("past_key_values", "present") for name in cache]
    assert [one.name for one in session.get_outputs()] == ["logits", *presents]
    return cache


@pytest.mark.slow
def test_integers_translate_about_as_well(trained_run, nmt, tmp_path):
    done = nmt("export", f"run={trained_run}", "format=onnx", "output=out", "quantization=int8", timeout=300)
    assert b"weights in int8, computed in int8" in done.stdout
    names = {path.name for path in (tmp_path / "out" / "onnx").iterdir()}
    assert names == {
        "encoder_model_quantized.onnx",
        "decoder_model_merged_quantized.onnx",
        "translation.json",
    }


def test_a_folder_that_is_no_export_is_not_replaced(trained_run, nmt, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "config.json").write_bytes(b"{}")
    done = nmt("export", f"run={trained_run}", "format=onnx", "output=taken", "overwrite=true", code=2)
    assert b"output: a new folder or an earlier export is needed" in done.stderr
