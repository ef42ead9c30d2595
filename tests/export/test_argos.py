"""`nmt export format=argos`: what is in a package, and whether Argos Translate translates with it as nmt does."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile

import pytest
import torch
from command_line import run_command
from vocabularies import make_vocabulary

from nmt.cli.compose import compose
from nmt.config import EvaluationSettings, ExportSettings, RunData
from nmt.config.check import check
from nmt.data.corpus import ParallelText
from nmt.data.tokenizer import Tokenizer
from nmt.decoding.search_settings import choose_search
from nmt.errors import RunError, SettingsError
from nmt.export.argos.format import Argos
from nmt.export.comparison import Comparison, compare
from nmt.export.formats import Exported
from nmt.runs import languages
from nmt.runs.directory import RunDirectory
from nmt.runs.languages import languages_of
from nmt.runs.text import text_of_run

ctranslate2 = pytest.importorskip("ctranslate2")
sentencepiece = pytest.importorskip("sentencepiece")

UNK = 1
NAME = "translate-de_en-1_0"
# How nmt searches as Argos Translate does with ARGOS_BEAM_SIZE=1.
GREEDILY = (
    "decoding=greedy",
    "decoding.split=none",
    "decoding.max_length_ratio=0",
    "decoding.max_length_extra=256",
)


def exported_of(model, tokenizer, run="mine", **settings):
    """Return the `Exported` that the command gives to a format."""
    settings = {
        "run": "mine", "checkpoint": "best", "format": "argos", "output": "out", "overwrite": False, "device": "cpu",
        "quantization": "float32", "tolerance": 0.3, "source_language": "de", "target_language": "en",
        "splitter": None, "runtime": None, "decoding": choose_search("beam"),
        "evaluation": EvaluationSettings(lowercase=False, ter_case_sensitive=False, tokenize="13a"),
    } | settings  # fmt: skip
    return Exported(RunDirectory(run), model, tokenizer, None, ExportSettings(**settings))


def asked(**typed):
    """Return the languages of a run, given what was typed for them."""
    return languages_of(RunDirectory("mine"), typed["source_language"], typed["target_language"])


@pytest.fixture
def written_text(monkeypatch):
    """Have runs that do not exist report no settings of text, so that their languages are unknown."""
    monkeypatch.setattr(languages, "data_of_run", lambda run: None)


def as_argos_does(path, folder, lines, beam_size):
    """Translate lines with a package as the source of Argos Translate does: one call for each line, one sentence."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    (package,) = folder.iterdir()
    processor = sentencepiece.SentencePieceProcessor(model_file=str(package / "sentencepiece.model"))
    translator = ctranslate2.Translator(str(package / "model"), device="cpu")
    translations = []
    for line in lines:
        (found,) = translator.translate_batch(
            [processor.encode(line, out_type=str)], target_prefix=None, replace_unknowns=True, max_batch_size=32,
            batch_type="tokens", beam_size=beam_size, num_hypotheses=1, length_penalty=0.2, return_scores=True,
        )  # fmt: skip
        text = processor.decode_pieces(found.hypotheses[0]).replace("▁", " ").replace("_", " ")
        translations.append(text.removeprefix(" "))
    return translations


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny_training):
    """Train a tiny model by the real command line."""
    folder = tmp_path_factory.mktemp("trained")
    done = run_command(["train", "run=mine", *tiny_training("transformer")], folder)
    assert done.returncode == 0, done.stderr.decode()
    return folder / "mine"


def test_the_command_writes_a_package_that_translates_as_the_run(nmt, run, tmp_path):
    out = nmt("export", f"run={run}", "format=argos", "output=argos").stdout.decode()
    assert "identical      20  token by token, at least 20 are needed" in out
    assert "beam 4 search without UNK" in out
    assert sorted(path.name for path in (tmp_path / "argos").iterdir()) == ["README.md", f"{NAME}.argosmodel"]
    with zipfile.ZipFile(tmp_path / "argos" / f"{NAME}.argosmodel") as archive:
        files = {name for name in archive.namelist() if not name.endswith("/")}
        metadata = json.loads(archive.read(f"{NAME}/metadata.json"))
        assert archive.read(f"{NAME}/sentencepiece.model") == (run / "tokenizer.model").read_bytes()
    inside = "metadata.json", "sentencepiece.model", "model/model.bin", "model/config.json"
    assert files == {f"{NAME}/{name}" for name in (*inside, "model/shared_vocabulary.json")}
    assert metadata == {
        "package_version": "1.0", "argos_version": "1.9.0", "from_code": "de", "from_name": "German",
        "to_code": "en", "to_name": "English",
    }  # fmt: skip
    page = (tmp_path / "argos" / "README.md").read_text()
    assert f'install_from_path("{NAME}.argosmodel")' in page
    assert "Argos Translate 1.9.0 or later" in page
    assert all(f"    {line}" in page for line in out.splitlines()[:-1])
    assert str(run) not in page
    lines = ["Der Hund schläft.", "Das ist mein Haus.", "🙂 Wer?"]
    given = "".join(f"{line}\n" for line in lines).encode()
    options = (*GREEDILY, "precision=float32", "device=cpu")
    own = nmt("translate", f"run={run}", *options, stdin=given).stdout.decode().split("\n")[:-1]
    (tmp_path / "unpacked").mkdir()
    found = as_argos_does(tmp_path / "argos" / f"{NAME}.argosmodel", tmp_path / "unpacked", lines, 1)
    assert found == [line.replace("_", " ") for line in own]
    assert len(set(found)) > 1


def test_a_vocabulary_of_bytes_needs_an_argos_translate_that_puts_them_together(
    tiny_model, tmp_path, written_text
):
    text = ParallelText(["ein Hund", "zwei Hunde"], ["a dog", "two dogs"])
    vocabulary = make_vocabulary(text, "char", byte_fallback=True)
    model = tiny_model("transformer", sizes=[len(vocabulary.pieces)] * 2).float()
    exported, to = exported_of(model, Tokenizer(vocabulary, vocabulary)), Argos()
    to.write(tmp_path, exported)
    with zipfile.ZipFile(tmp_path / f"{NAME}.argosmodel") as archive:
        assert json.loads(archive.read(f"{NAME}/metadata.json"))["argos_version"] == "1.10.0"
    assert "Argos Translate 1.10.0 or later" in to.page(exported, [])


def test_the_beam_finds_the_same_where_what_ends_first_is_best(
    strange_model, tokenizer, tmp_path, written_text
):
    # Some translations are as short as they may be, since EOS is more probable than any letter.
    model = strange_model(end=2.0, seed=3, width=16).float()
    exported, to = exported_of(model, tokenizer), Argos()
    to.write(tmp_path, exported)
    text = ParallelText(["abc", "fedcba", "axbyz", "a", "bb cc"], ["abc"] * 5)
    for search in to.searches(exported):
        comparison = compare(tmp_path, to, exported, text, search)
        assert (comparison.num_lines, comparison.num_identical) == (5, 5)
        assert comparison.is_same_search == (search.kind == "greedy")


def test_what_a_search_that_stops_earlier_finds_is_shown_and_not_judged():
    figures = ("float32", 0.3, "float32", "beam 4", 200, 100, 30.0, 20.0)
    Comparison(*figures, is_same_search=False).require()
    assert "stops its search earlier" in Comparison(*figures, is_same_search=False).report()


def test_unknown_words_never_come_and_nothing_of_the_source_in_their_place(
    strange_model, tokenizer, tmp_path, written_text
):
    model = strange_model(seed=3, width=16).float()
    with torch.no_grad():
        model.output.bias[UNK] = 20.0
    Argos().write(tmp_path, exported_of(model, tokenizer))
    (tmp_path / "unpacked").mkdir()
    lines = ["XYZ", "XaYbZ"]
    found = as_argos_does(tmp_path / f"{NAME}.argosmodel", tmp_path / "unpacked", lines, 4)
    assert any(found)
    assert not set("".join(found)) & set("XYZ")
    assert not any("⁇" in text for text in found)
    assert model.output.bias[UNK] == 20.0, "the run's own model is as it was"


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "relative"])
def test_what_is_longer_than_the_model_knows_is_translated(
    positions, strange_model, tokenizer, tmp_path, written_text
):
    model = strange_model(end=-1e4, positions=positions, max_positions=32).float()
    Argos().write(tmp_path, exported_of(model, tokenizer))
    (tmp_path / "unpacked").mkdir()
    (found,) = as_argos_does(tmp_path / f"{NAME}.argosmodel", tmp_path / "unpacked", ["abc" * 500], 4)
    assert len(found) > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"target": "uvwxyz"},
            "tokenizer.joint=true is needed with format=argos, since a package has one tokenizer",
        ),
        ({"symbols": ("<2en>", "<2fr>")}, "a model of one pair of languages is needed .* got <2en>, <2fr>$"),
        ({"symbols": ("<context=2>",)}, "data.context=0 is needed with format=argos, since .* alone; got 2$"),
    ],
)
def test_text_that_a_package_cannot_tell_of_is_refused(
    options, message, char_tokenizer, strange_model, tmp_path, written_text
):
    with pytest.raises(RunError, match=f"^run: {message}"):
        Argos().write(tmp_path, exported_of(strange_model(), char_tokenizer(**options)))
    assert list(tmp_path.iterdir()) == []


def test_models_that_a_package_cannot_hold_are_refused(
    strange_model, tiny_model, tokenizer, tmp_path, written_text
):
    for model, message in (
        (
            strange_model(positions="learned", max_positions=1023),
            "max_positions of at least 1024 .*; got 1023$",
        ),
        (tiny_model("rnn"), "model=transformer is needed, since CTranslate2 has no recurrent layers"),
    ):
        with pytest.raises(RunError, match=message):
            Argos().write(tmp_path, exported_of(model, tokenizer))
        assert list(tmp_path.iterdir()) == []
    Argos().write(tmp_path, exported_of(strange_model(positions="learned", max_positions=1024), tokenizer))


@pytest.mark.parametrize(
    ("kind", "values", "codes"),
    [
        ("opus", ["corpora=[]", "source=pt_BR", "target=zh_TW"], ["pb", "zt"]),
        ("tmx", ["train=t", "validation=t", "source=[de-AT,de-DE]", "target=EN_us"], ["de", "en"]),
        ("table", ["train=t", "validation=t", "source_column=fr", "target_column=cs"], ["fr", "cs"]),
        ("multi30k", [], ["de", "en"]),
        (
            "mixture",
            ["pairs=[{source: sr-Latn, target: zh-CN, train: [a, b], validation: [a, b]}]"],
            ["sr", "zh"],
        ),
        ("table", ["train=t", "validation=t"], None),
        ("files", ["train.source=a", "train.target=b", "validation.source=a", "validation.target=b"], None),
        ("opus", ["corpora=[]", "source=zza", "target=de"], None),
    ],
)
def test_the_languages_are_those_of_the_text(kind, values, codes, monkeypatch, tokenizer):
    values = [f"data={kind}", *(f"data.{value}" for value in values)]
    data = check(RunData, {"data": compose("train", values, None).values["data"]}, "").data
    monkeypatch.setattr(languages, "data_of_run", lambda run: data)
    nothing = {"source_language": None, "target_language": None}
    if codes is None:
        with pytest.raises(
            SettingsError, match=r"^source_language: a code such as de, .* is needed, since the run"
        ):
            asked(**nothing)
    else:
        assert [one.code for one in asked(**nothing)] == codes
        assert all(one.name != one.code for one in asked(**nothing))
    # What is typed comes first.
    typed = {"source_language": "gsw:Schweizerdeutsch: Basel", "target_language": "pt-BR"}
    assert asked(**typed) == (
        ("gsw", "Schweizerdeutsch: Basel"), ("pb", "Portuguese (Brazil)"),
    )  # fmt: skip
    assert asked(**typed | {"source_language": "gsw"})[0] == ("gsw", "gsw")


def test_what_is_typed_is_checked_before_anything_is_written(main, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def refused(*options):
        code, out, message = main("export", f"run={run}", "output=new", *options)
        assert (code, out) == (2, "")
        assert message.count("\n") == 1
        assert list(tmp_path.iterdir()) == []
        return message

    assert "source_language: null is needed with format=ctranslate2; got de" in refused("source_language=de")
    assert "splitter: null is needed with format=ctranslate2; got de.onnx" in refused("splitter=de.onnx")
    argos = "format=argos"
    assert "target_language: another language than de is needed; got de" in refused(
        argos, "target_language=de-AT"
    )
    assert "nmt: source_language: " in refused(argos, "source_language=../../de")
    assert "splitter: a model of MiniSBD, a file XX.onnx, is needed; got de.onnx" in refused(
        argos, "splitter=de.onnx"
    )


def test_a_splitter_is_put_into_the_package_and_an_earlier_package_replaced(main, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "de.onnx").write_bytes(b"cuts")
    command = "export", f"run={run}", "format=argos", "output=new"
    assert main(*command)[0] == 0
    assert "it fetches when it first translates" in (tmp_path / "new" / "README.md").read_text()
    assert main(*command)[0] == 2
    assert main(*command, "splitter=de.onnx", "overwrite=true", "quantization=int8")[0] == 0
    with zipfile.ZipFile(tmp_path / "new" / f"{NAME}.argosmodel") as archive:
        assert archive.read(f"{NAME}/minisbd/de.onnx") == b"cuts"
    assert "with the model that the package has" in (tmp_path / "new" / "README.md").read_text()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "README.md").write_text("precious")
    code, _, message = main(*command[:-1], "output=thesis", "overwrite=true")
    assert code == 2
    assert "an earlier export is needed" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["de.onnx", "new", "thesis"]


# Installs a package and translates lines. Each line is one sentence, since a splitter would have to be fetched.
PROGRAM = """
import json, sys
from argostranslate import package, sbd, translate

sbd.MiniSBDSentencizer.split_sentences = lambda self, text: [text]
package.install_from_path(sys.argv[1])
(installed,) = package.get_installed_packages()
lines = json.load(sys.stdin)
found = [translate.translate(line, "de", "en") for line in lines]
json.dump([[installed.from_name, installed.to_name], found], sys.stdout)
"""


@pytest.fixture(scope="module")
def learned_run(tmp_path_factory):
    """Train a small model that translates some sentences of the built-in corpus well, and others not."""
    folder = tmp_path_factory.mktemp("learned")
    arguments = (
        "experiment=demo", "data.num_train=6000", "data.num_validation=200", "data.num_test=20", "decoding=greedy",
        "tokenizer.vocabulary_size=2500", "training.max_updates=450", "training.validate_every=450",
        "training.checkpoint_every=450", "schedule.warmup_updates=50",
    )  # fmt: skip
    done = run_command(["train", "run=run", *arguments], folder, timeout=1200)
    assert done.returncode == 0, done.stderr.decode()
    return folder / "run"


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("distribution", ["argos-translate-lt==1.12.1", "argostranslate==1.11.0"])
def test_the_real_program_translates_as_nmt_does(distribution, learned_run, nmt, tmp_path):
    """The program has an environment of its own that also sees the packages of this one, so torch is not fetched."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    show = "import sysconfig; print(sysconfig.get_path('purelib'))"
    purelib = subprocess.check_output([python, "-c", show], text=True).strip()
    seen = {sysconfig.get_path("purelib"), *(path for path in sys.path if path.endswith("site-packages"))}
    (tmp_path / "of_nmt.pth").write_text("".join(f"{path}\n" for path in sorted(seen)))
    (tmp_path / "of_nmt.pth").rename(f"{purelib}/of_nmt.pth")
    constraint = tmp_path / "constraints.txt"
    constraint.write_text(
        f"torch=={torch.__version__.split('+')[0]}\nctranslate2=={ctranslate2.__version__}\n"
    )
    fetched = subprocess.run(
        [python, "-m", "pip", "install", "-q", "-c", constraint, distribution], capture_output=True, text=True
    )
    if fetched.returncode != 0:
        pytest.skip(f"pip cannot install {distribution}: {fetched.stderr.splitlines()[-1:]}")

    nmt("export", f"run={learned_run}", "format=argos", "output=argos")
    lines = list(text_of_run("validation", RunDirectory(learned_run)).source)
    given = "".join(f"{line}\n" for line in lines).encode()
    shared = (
        "decoding.split=none",
        "decoding.min_length=1",
        "decoding.max_length_ratio=0",
        "decoding.max_length_extra=256",
    )
    beam = (
        "decoding=beam", "decoding.beam_size=4", "decoding.length_penalty=0.2", "decoding.early_stopping=true",
    )  # fmt: skip
    for beam_size, search, least in ((1, ("decoding=greedy",), len(lines)), (4, beam, 0.9 * len(lines))):
        own = nmt(
            "translate",
            f"run={learned_run}",
            *search,
            *shared,
            "precision=float32",
            "device=cpu",
            stdin=given,
        ).stdout.decode()
        environment = {
            "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache",
            "ARGOS_BEAM_SIZE": str(beam_size), "ARGOS_COMPUTE_TYPE": "default",
        }  # fmt: skip
        done = subprocess.run(
            [python, "-c", PROGRAM, f"argos/{NAME}.argosmodel"], input=json.dumps(lines), capture_output=True,
            text=True, cwd=tmp_path, env=os.environ | environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        names, found = json.loads(done.stdout)
        assert names == ["German", "English"]
        expected = [line.replace("_", " ") for line in own.split("\n")[:-1]]
        num_identical = sum(one == other for one, other in zip(found, expected, strict=True))
        print(f"{distribution}, beam {beam_size}: {num_identical} of {len(lines)} identical")
        assert num_identical >= least
        assert len(set(found)) > 100
