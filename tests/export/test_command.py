"""The command `nmt export`: what it compares, writes, explains and refuses."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from command_line import run_command

from nmt.config import EvaluationSettings, ExportSettings
from nmt.data.corpus import ParallelText
from nmt.data.dataset import Ids
from nmt.decoding.search_settings import choose_search
from nmt.decoding.shortlist import Shortlist
from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.errors import ExportError, RunError
from nmt.export.comparison import Comparison, compare
from nmt.export.ctranslate2 import specification
from nmt.export.ctranslate2.format import CTranslate2
from nmt.export.formats import Exported
from nmt.runs.directory import RunDirectory

ctranslate2 = pytest.importorskip("ctranslate2")

UNK = 1
# Three of them are blank, one has letters that no vocabulary knows, one is longer than models here allow.
LINES = ["abc", "", "  ", "\u3000", "fedcba", "axbyz", "abcdef" * 30, "a", "bb cc dd ee ff aa bb cc"]


@pytest.fixture
def exported_of(tmp_path, trained_run):
    """Return a function that makes the `Exported` of a model that no run has trained, as the command makes it."""

    def make(model, tokenizer, decoding, shortlist=None):
        config = json.loads((trained_run / "config.json").read_text())
        config["model"]["max_positions"] = model.max_positions
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / "config.json").write_text(json.dumps(config))
        return exported(RunDirectory(tmp_path / "mine"), model, tokenizer, decoding, shortlist)

    return make


def exported(run, model, tokenizer, decoding, shortlist):
    evaluation = EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a")
    settings = ExportSettings(
        run="mine", checkpoint="best", format="ctranslate2", output="out", overwrite=False, quantization="float32",
        tolerance=0.3, device="cpu", source_language=None, target_language=None, splitter=None, runtime=None,
        decoding=decoding, evaluation=evaluation,
    )  # fmt: skip
    return Exported(run, model, tokenizer, shortlist, settings)


def compared(folder, exported, lines=LINES):
    """Export a model as the command does; return the comparison with nmt for each of the searches."""
    folder.mkdir()
    to = CTranslate2()
    to.write(folder, exported)
    text = ParallelText(lines, ["abc"] * len(lines))
    return [compare(folder, to, exported, text, search) for search in to.searches(exported)]


def make_page(folder, exported):
    """Export a model as the command does; return the comparison of the first search, and the page."""
    comparisons = compared(folder, exported)
    return comparisons[0], CTranslate2().page(exported, comparisons)


def function_of(page):
    """Return the function that the code of a page defines; it reads the current folder."""
    namespace = {}
    exec(page.split("```python\n")[1].split("```")[0], namespace)
    return namespace["translate"]


@pytest.mark.parametrize(
    ("kind", "repetition"),
    [
        ("greedy", {}),
        ("beam", {}),
        ("greedy", {"repetition_penalty": 2.0}),
        ("greedy", {"no_repeat_ngram_size": 2}),
    ],
    ids=str,
)
def test_comparison_and_page_translate_as_nmt_does(
    kind, repetition, strange_model, tokenizer, tmp_path, monkeypatch, exported_of
):
    # Greedy search may reach the limits of the lines; a beam ends before, since CTranslate2 treats a limit differently.
    model = strange_model(end=1.0 if kind == "greedy" else 3.0, seed=3, width=16).float()
    with torch.no_grad():
        model.output.bias[UNK] = 20.0
    limits = {"split": "none", "max_length_ratio": 1.0, "max_length_extra": 9, "min_length": 3}
    sizes = {"max_source_tokens": 512, "max_tokens": 100}
    if kind == "greedy":
        decoding = choose_search(kind, **limits, **sizes, **repetition)
    else:
        penalty = {"length_penalty": 0.0, "length_penalty_kind": "wu"}
        decoding = choose_search(kind, beam_size=3, **penalty, **limits, **sizes)
    comparison, page = make_page(tmp_path / "model", exported_of(model, tokenizer, decoding))
    assert (comparison.num_lines, comparison.num_identical) == (len(LINES) - 3, len(LINES) - 3)
    assert comparison.bleu == comparison.exported_bleu
    assert ("CTranslate2 has only length^p" in page) == (kind == "beam")
    monkeypatch.chdir(tmp_path / "model")
    translator = Translator(TorchEngine(model, tokenizer, torch.device("cpu"), torch.float32), decoding)
    expected = list(translator.translate(LINES))
    assert len(set(expected)) > (6 if kind == "greedy" and not repetition else 1)
    assert translator.remarks.cut.count == 1
    assert function_of(page)(LINES) == expected
    assert function_of(page)([]) == []


@pytest.mark.parametrize(
    ("quantization", "tolerance", "num_lines", "num_identical", "exported_bleu", "passes"),
    [
        ("float32", 0.3, 200, 198, 10.0, True),
        ("float32", 30.0, 200, 197, 30.0, False),
        ("float32", 0.3, 100, 99, 30.0, True),
        ("float32", 0.3, 20, 19, 30.0, False),
        ("int8", 0.3, 200, 100, 29.71, True),
        ("int8", 0.3, 200, 200, 29.69, False),
        ("int8", 1.0, 200, 100, 29.01, True),
        ("int8", 0.0, 200, 200, 29.99, False),
        ("float16", 0.3, 200, 100, 35.0, True),
    ],
)
def test_what_passes(quantization, tolerance, num_lines, num_identical, exported_bleu, passes):
    figures = (num_lines, num_identical, 30.0, exported_bleu)
    comparison = Comparison(quantization, tolerance, "float32", "greedy", *figures)
    if passes:
        comparison.require()
    else:
        key, needed = f"quantization={quantization}", f"a loss of at most {tolerance:g} BLEU is needed with"
        expected = f"{key}: at least" if quantization == "float32" else f"tolerance: {needed} {key}; got"
        with pytest.raises(ExportError, match=rf"^{expected} .*nothing was written"):
            comparison.require()


@pytest.mark.parametrize(
    ("search", "sentence"),
    [
        (("mbr", {}), "searches by `mbr`; the lines above search greedily"),
        (("beam", {"beam_size": 4, "num_groups": 2}), "has 2 groups, which CTranslate2 does not have"),
        (("beam", {"protect": ["urls"]}), "`protect` of this run's search, which CTranslate2 does not do"),
    ],
)
def test_the_page_names_searches_that_the_library_does_not_have(
    search, sentence, strange_model, tokenizer, tmp_path, exported_of
):
    model = strange_model(end=1.0, seed=3, width=16).float()
    decoding = choose_search(search[0], **search[1])
    _, page = make_page(tmp_path / "model", exported_of(model, tokenizer, decoding))
    assert sentence in page


def test_the_page_names_the_tags_that_lines_need(char_tokenizer, strange_model, exported_of):
    decoding = choose_search("greedy", max_length_ratio=1.0, max_length_extra=9)
    comparison = Comparison("float32", 0.3, "float32", "greedy", 20, 20, 30.0, 30.0)

    def page_of(*symbols):
        given = exported_of(strange_model(), char_tokenizer(symbols=symbols), decoding)
        return CTranslate2().page(given, [comparison])

    sentence = (
        "Each line begins with the tag of the language to translate into and a space: `<2en>`, `<2fr>`."
    )
    assert sentence in page_of("<2en>", "<2fr>")
    assert "tag" not in page_of()


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_training):
    """Train a tiny model by the real command line."""
    folder = tmp_path_factory.mktemp("trained")
    done = run_command(["train", "run=mine", *tiny_training("transformer")], folder)
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
        "README.md", "config.json", "model.bin", "shared_vocabulary.json", "tokenizer.model", "nmt.json", "data.json",
        "confidence.json",
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
        options = ("decoding=greedy", "decoding.split=none", "precision=float32", "device=cpu")
        expected = nmt("translate", f"run={run}", *options, stdin=given).stdout.decode()
        assert translations == expected.split("\n")[:-1]
    monkeypatch.chdir(tmp_path)
    folder.rename(tmp_path / "outputs")
    with pytest.raises(RunError, match=r"^run: a run under outputs/ is needed for `last`; got none"):
        RunDirectory.existing("last")


def test_a_shortlist_becomes_a_vocabulary_map(nmt, run, tmp_path, monkeypatch):
    shutil.copytree(run, tmp_path / "short")
    nmt("shortlist", "run=short", "num_targets=2", "num_frequent=3")
    options = "run=short", "output=model", "decoding=greedy"
    out = nmt("export", *options).stdout.decode()
    assert out.count("lines          20  of validation text") == 2
    assert "identical      20  token by token, at least 20 are needed" in out
    assert "computed in float32, with its map" in out
    folder = tmp_path / "model"
    assert (folder / "vmap.txt").read_bytes() == (tmp_path / "short" / "shortlist.txt").read_bytes()
    page = (folder / "README.md").read_text()
    report = out.split("in float32\n")[2].removesuffix("to use it: model/README.md\n")
    assert all(f"      {line}" in page for line in report.splitlines())
    assert "use_vmap=True" in page
    (tmp_path / "short" / "shortlist.txt").write_bytes(b"\tnothing-of-this-run\n")
    assert b"in line 1 of short/shortlist.txt" in nmt("export", *options, "overwrite=true", code=2).stderr
    assert (folder / "vmap.txt").stat().st_size > 1000, "the earlier one is still there"


@pytest.mark.parametrize("seed", [0, 2])
def test_the_library_and_nmt_search_the_same_words(
    seed, strange_model, tokenizer, tmp_path, monkeypatch, exported_of
):
    monkeypatch.setattr("nmt.decoding.shortlist.MULTIPLE", 1)  # blocks of 64 would take all of these letters
    model = strange_model(end=0.0, seed=seed, width=16).float()
    size = tokenizer.target.size
    likely = Ids.of([[4 + (i + seed) % (size - 4)] for i in range(size)])
    shortlist = Shortlist(tokenizer.target, [], likely)
    folder, lines = tmp_path / "model", ["ab", "a", "bba"]
    decoding = choose_search("greedy", max_length_ratio=1.0, max_length_extra=9)
    exported = exported_of(model, tokenizer, decoding, shortlist)
    exported.run.shortlist_path.write_bytes(shortlist.to_bytes(tokenizer.source))
    comparisons = compared(folder, exported, lines)
    assert [one.num_identical for one in comparisons] == [3, 3]
    names = tokenizer.source.pieces
    source = [[names[i] for i in ids] for ids in tokenizer.source.encode(lines)]
    library = ctranslate2.Translator(str(folder))
    found, whole = (
        {
            token
            for result in library.translate_batch(
                source, use_vmap=use_vmap, beam_size=1, max_decoding_length=9, disable_unk=True
            )
            for token in result.hypotheses[0]
        }
        for use_vmap in (True, False)
    )
    words = shortlist.choose(tokenizer.source.encode(lines))
    allowed = {names[i] for i in words}
    assert found <= allowed
    assert whole - allowed, "without the map others come"


def test_existing_folders_are_replaced_only_where_asked(run, main, tmp_path, monkeypatch):
    def refused(*options):
        code, out, message = main("export", f"run={run}", *options)
        assert (code, out) == (2, "")
        assert message.count("\n") == 1
        return message

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
    for name, page in (("model.bin", "old"), ("decoder.yml", "old"), ("README.md", "# Mine")):
        (tmp_path / "mine" / name).write_text(page)  # a model of another program
    assert "an earlier export is needed" in refused("output=mine", "overwrite=true")
    assert "without a shortlist" in refused("output=new", "decoding.shortlist=true")
    assert main("export", f"run={run}", "output=earlier")[0] == 0
    shutil.copytree(run, tmp_path / "earlier" / "run")
    code, _, message = main("export", "run=earlier/run", "output=earlier", "overwrite=true")
    assert (code, message) == (
        2, "nmt: output: a folder without the run in it is needed; got earlier, which has earlier/run\n"
    )  # fmt: skip
    shutil.rmtree(tmp_path / "earlier" / "run")
    (tmp_path / "earlier" / "model.bin").write_text("old")
    (tmp_path / "link").symlink_to("earlier")
    assert main("export", f"run={run}", "output=link", "overwrite=true")[0] == 0
    assert (tmp_path / "earlier" / "model.bin").stat().st_size > 1000
    assert (tmp_path / "link").readlink() == Path("earlier")
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "earlier", "link"}


def test_an_export_that_translates_otherwise_leaves_nothing(run, main, tmp_path, monkeypatch):
    monkeypatch.setattr(specification, "FORBIDDEN", 1e4)  # the export then writes PAD and BOS at every step
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / "README.md").write_text("Exported by nmt from checkpoint `best`")
    (tmp_path / "earlier" / "model.bin").write_text("old")
    for output, options in (("new", ()), ("earlier", ("overwrite=true",))):
        code, out, message = main("export", f"run={run}", f"output={tmp_path / output}", *options)
        assert code == 1
        assert "identical       0" in out
        assert message == (
            "nmt: quantization=float32: at least 20 translations as those of the run are needed; got 0; "
            "nothing was written\n"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["earlier"]
    assert (tmp_path / "earlier" / "model.bin").read_text() == "old"


@pytest.mark.parametrize("form", ["ctranslate2", "huggingface", "marian", "onnx"])
def test_a_device_that_is_not_there_is_refused_in_one_line(form, nmt, tmp_path, tiny_training):
    nmt("train", "run=mine", *tiny_training("transformer"), "model.zero_start=true", "training.max_updates=2")
    absent = "mps" if torch.cuda.is_available() else "cuda"
    done = nmt("export", "run=mine", "output=model", f"format={form}", f"device={absent}", code=2)
    assert re.fullmatch(rf"nmt: device: .* needed.*; got {absent}\n", done.stderr.decode().split("\r")[-1])
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_recurrent_run_is_refused_in_one_line(nmt, tmp_path, tiny_training):
    nmt("train", "run=mine", *tiny_training("rnn"), "training.max_updates=2")
    done = nmt("export", "run=mine", "output=model", code=2)
    assert done.stderr.decode().startswith("nmt: run: model=transformer is needed")
    assert done.stderr.count(b"\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
