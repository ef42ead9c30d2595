"""The benchmark of decoding runs, its engines do the same work, and what it cannot do it says."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from command_line import run_command

from nmt.config import TokenizerSettings
from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import obtain_tokenizer
from nmt.device import _has_int8
from nmt.errors import UserError

pytestmark = pytest.mark.slow
SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
MODULES = {"nmt": "nmt", "ctranslate2": "ctranslate2", "huggingface": "transformers"}
INSTALLED = [engine for engine, module in MODULES.items() if importlib.util.find_spec(module)]
PRECISIONS = {
    "nmt": ["auto", "float32", "int8"],
    "ctranslate2": ["float32", "int8"],
    "huggingface": ["float32", "bfloat16"],
}
HAS_INT8 = _has_int8(torch.device("cpu"))
# One line is blank, one has letters that no vocabulary knows.
LINES = ["Der Hund schläft.", "", "Die Frau liest ein langes Buch.", "Ωμέγα", "Ja."]


def benchmark(run, *arguments, code=0):
    command = [sys.executable, SCRIPTS / "benchmark_decoding.py", "--run", run, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_training):
    folder = tmp_path_factory.mktemp("decoding")
    done = run_command(["train", "run=run", *tiny_training(), "decoding.length_penalty=0.5"], folder)
    assert done.returncode == 0, done.stderr.decode()
    (folder / "source").write_text("\n".join(LINES) + "\n")
    (folder / "reference").write_text("\n".join(LINES) + "\n")
    (folder / "short").write_text("Yes.\n")
    return folder / "run"


@pytest.fixture(scope="module")
def figures(run):
    folder = run.parent
    texts = ["--input", folder / "source", "--reference", folder / "reference", "--json", folder / "out.json"]
    sizes = ["--repeats", "2", "--threads", "1", "--batch-sizes", "1,3"]
    done = benchmark(run, *texts, *sizes, "decoding.beam_size=2")
    return json.loads((folder / "out.json").read_text()), done


def variants(engines):
    return [
        f"{engine} {precision}"
        for engine in engines
        for precision in PRECISIONS[engine]
        if engine != "nmt" or precision != "int8" or HAS_INT8
    ]


def test_every_installed_engine_has_its_figures(figures):
    values, _ = figures
    rows = {(row["engine"], row["precision"], row["beam_size"]): row for row in values["results"]}
    assert len(rows) == len(values["results"]) == 2 * len(variants(INSTALLED))
    for row in rows.values():
        assert row["output_tokens_per_second"] > row["sentences_per_second"] > 0
        assert row["spread"] > 0
        assert 0 < row["peak_memory_gb"] < 4
        assert row["first_line_seconds"] > 0
        assert 0 <= row["bleu"] <= 100
    for table, key, count in (("by_batch_size", "batch_size", 2), ("by_source_words", "source_words", 2)):
        assert len({row[key] for row in values[table]}) == count
        assert len(values[table]) == 2 * count
        for row in values[table]:
            assert list(row)[2:] == variants(INSTALLED)


def test_engines_that_are_not_installed_are_left_out_with_a_reason(figures):
    values, done = figures
    expected = set(variants(MODULES.keys() - set(INSTALLED))) | (set() if HAS_INT8 else {"nmt int8"})
    assert values["left_out"].keys() == expected
    for name in values["left_out"]:
        assert done.stderr.count(f"left out: {name}: ") == 1


def test_engines_find_the_same_in_greedy_search(figures):
    # A beam of an untrained model runs into the limits of the lines, which the engines treat differently.
    rows = [row for row in figures[0]["results"] if row["beam_size"] == 1 and row["precision"] == "float32"]
    assert [row["engine"] for row in rows] == INSTALLED
    assert [row["identical_to_nmt_float32"] for row in rows] == [1] * len(INSTALLED)


def test_tables_are_for_people(figures):
    values, done = figures
    tables = done.stdout.strip().split("\n\n")
    assert [len(table.split("\n")) - 2 for table in tables] == [
        len(values[name]) for name in ("results", "by_batch_size", "by_source_words")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "no"], "nmt: --input: no such file: no"),
        (["--input", "source", "device=cuda"], "nmt: checkpoint=NAME or decoding.KEY=VALUE is needed; got device=cuda"),
        (["--input", "source", "decoding.beams=2"], "nmt: decoding.beams: no such key"),
        (["--input", "source", "--reference", "short"], "nmt: --reference: as many lines as in --input are needed, 5; got 1"),
    ],
    ids=["no input", "not of the search", "unknown key", "another text"],
)  # fmt: skip
def test_what_cannot_be_measured_is_one_line(arguments, message, run, monkeypatch):
    monkeypatch.chdir(run.parent)
    done = benchmark(run, *arguments, code=2)
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_an_engine_that_cannot_search_so_is_left_out(run):
    pytest.importorskip("ctranslate2")
    arguments = ["--input", run.parent / "short", "--engines", "ctranslate2", "--threads", "1"]
    done = benchmark(run, *arguments, "--repeats", "1", "decoding.length_penalty_kind=wu")
    for name in variants(["ctranslate2"]):
        reason = "decoding.length_penalty_kind: power is needed; got wu"
        assert done.stderr.count(f"left out: {name}: {reason}") == 1
    assert "| 1 | ctranslate2 | float32 |" in done.stdout
    assert "| 5 | " not in done.stdout


def make_tokenizer(source, target=None):
    settings = TokenizerSettings(
        kind="char", vocabulary_size=40, joint=target is None, character_coverage=1.0, byte_fallback=False,
        normalization="identity", model=None,
    )  # fmt: skip
    return obtain_tokenizer(settings, ParallelText([source], [target or source]))


@pytest.fixture
def to_huggingface(monkeypatch):
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(SCRIPTS)
    import huggingface_model

    return huggingface_model.to_huggingface


@pytest.mark.parametrize(
    "options",
    [
        {"norm": "pre", "tied": "three_way"},
        {"norm": "post", "tied": "three_way", "num_decoder_layers": 1},
        {"norm": "pre", "tied": "none", "positions": "learned"},
        {"norm": "post", "tied": "two_way", "activation": "gelu", "num_encoder_layers": 3},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_weights_in_another_house_compute_the_same(options, to_huggingface, tiny_model):
    model = tiny_model("transformer", **options).float()
    is_shared = options["tied"] == "three_way"
    theirs = to_huggingface(model, make_tokenizer("abcdef", None if is_shared else "fedcba"))
    assert theirs.lm_head.weight.data_ptr() == model.output.weight.data_ptr()
    assert (theirs.final_logits_bias[0, :3] < -1000).all()  # PAD, UNK and BOS
    assert (theirs.final_logits_bias[0, 3:] > -1000).all()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("attention", {}, "model=transformer is needed"),
        ("transformer", {"normalization": "rms"}, "model.normalization: one of layer is needed; got rms"),
        ("transformer", {"positions": "rotary"}, "model.positions: one of sinusoidal, learned is needed; got rotary"),
        ("transformer", {"activation": "swiglu"}, "model.activation: one of relu, gelu is needed; got swiglu"),
        ("transformer", {"num_key_value_heads": 1}, "model.num_key_value_heads: one of 2 is needed; got 1"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(kind, options, message, to_huggingface, tiny_model):
    with pytest.raises(UserError, match=message):
        to_huggingface(tiny_model(kind, **options).float(), make_tokenizer("abcdef"))


def test_another_computation_is_noticed(to_huggingface, tiny_model):
    model = tiny_model("transformer").float()
    model.options = type(model.options)(**{**vars(model.options), "activation": "gelu"})
    with pytest.raises(UserError, match="logits that differ by at most"):
        to_huggingface(model, make_tokenizer("abcdef"))


def peak_of_memory(before=""):
    command = f"import subprocess, sys, measuring\n{before}\nprint(measuring.peak_resident_memory())"
    done = subprocess.run([sys.executable, "-c", command], cwd=SCRIPTS, capture_output=True, check=True)
    return float(done.stdout)


def test_peak_of_memory_is_not_that_of_who_started_the_process():
    held = b"1" * 200_000_000
    assert 0.001 < peak_of_memory() < len(held) / 1e9


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is that of the process alone")
def test_peak_of_memory_is_also_that_of_started_processes():
    start = """
command = "held = b'1' * 200_000_000; print(len(held), flush=True); del held; input()"
process = subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.stdout.readline()
"""
    assert peak_of_memory(start) > 0.2
