"""The real command line: what it answers to good and bad input."""

import errno
import gzip
import json
import re
import resource
import shutil
import subprocess

import pytest
import torch
from command_line import COMMAND

GERMAN = ["Das ist ein Haus.", "Der Hund schläft.", "Wir lesen ein Buch.", "Sie kauft Brot."]
ABSENT = "mps" if torch.cuda.is_available() else "cuda"
TWO_LANGUAGES = "data.pairs=[{source: de, target: en, train: [a, b], validation: [c, d]}, {source: en, target: de, train: [b, a]}]"
FEW_PAIRS = ("data.num_train=200", "data.num_validation=20", "data.num_test=20")
ENGLISH = ["This is a house.", "The dog sleeps.", "We read a book.", "She buys bread."]


@pytest.fixture
def run(trained_run):
    """Return the folder of a run that is only read."""
    return trained_run


@pytest.fixture
def text(tmp_path):
    """Write small parallel text, and return the overrides that name it."""
    for name in ("train", "valid"):
        (tmp_path / f"{name}.de").write_text("\n".join(GERMAN * 20) + "\n", encoding="utf-8")
        (tmp_path / f"{name}.en").write_text("\n".join(ENGLISH * 20) + "\n", encoding="utf-8")
    return (
        "data=files",
        "data.train.source=train.de",
        "data.train.target=train.en",
        "data.validation.source=valid.de",
        "data.validation.target=valid.en",
        "tokenizer.vocabulary_size=60",
    )


def one_line(done):
    """Return the message of a mistake: one line, nothing on standard output."""
    assert done.stdout == b""
    message = done.stderr.decode()
    assert message.count("\n") == 1, message
    assert message.startswith("nmt: ")
    return message


def test_a_run_directory_holds_what_the_design_says(run):
    names = {path.name for path in run.iterdir()}
    assert names == {
        "config.json", "tokenizer.model", "checkpoints", "best.json", "last.json", "data.json", "metrics.jsonl", "train.log", "test.json",
        "run.json", "confidence.json",
    }  # fmt: skip
    for checkpoint in (run / "checkpoints").iterdir():
        assert {path.name for path in checkpoint.iterdir()} == {
            "model.safetensors", "training.safetensors", "state.json", "manifest.json",
        }  # fmt: skip
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().split("\n")[:-1]]
    assert [row["update"] for row in rows if row["kind"] == "training"] == [1, 2, 3, 4]
    assert [row["update"] for row in rows if row["kind"] == "validation"] == [2, 4]
    assert "_target_" not in (run / "config.json").read_text()


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["model=transfomer"], r"^nmt: model: one of attention, rnn, .*transformer, .* is needed; got transfomer; did you mean transformer\?"),
        (["model.d_modle=64"], r"^nmt: model.d_modle: no such key; did you mean model.d_model\?"),
        (["trainng.max_updates=3"], r"^nmt: trainng.max_updates: no such key; did you mean training.max_updates\?"),
        (["+model.depth=3"], r"^nmt: model.depth: no such key"),
        (["model.norm=prae"], r"^nmt: model.norm: one of pre, post is needed; got prae; did you mean pre\?"),
        (["model.d_model=30"], r"^nmt: model.d_model: a multiple of num_heads=4 is needed; got 30"),
        (["model.dropout=1.5"], r"^nmt: model.dropout: less than 1 is needed; got 1.5"),
        (["training.max_updates=many"], r"^nmt: training.max_updates: .*integer.* is needed; got many"),
        (["training.teacher_forcing_ratio=1.5"], r"^nmt: training.teacher_forcing_ratio: less than or equal to 1 is needed; got 1.5"),
        (["teacher_forcing=linear", "teacher_forcing.final_ratio=1"], r"^nmt: teacher_forcing.final_ratio: less than training.teacher_forcing_ratio=1.0 is needed; got 1.0"),
        (["teacher_forcing.num_updates=3"], r"^nmt: teacher_forcing.num_updates: no such key"),
        (["data.train.source=a.de"], r"^nmt: data.train.source: no such key with these settings; data=files has it"),
        (["data=files", "data.train=a.de", "data.validation=wmt13:de-en"], r"^nmt: data.train: a value for each of source, target is needed; got a.de"),
        (["consistency=rdrop"], r"^nmt: consistency: one of none, r_drop, simcut is needed; got rdrop; did you mean r_drop\?"),
        (["tokenizer=word", "training.subword_sampling=0.1"], r"^nmt: training.subword_sampling: null is needed with tokenizer=word"),
        (["training.from_run=nowhere", *FEW_PAIRS], r"^nmt: training.from_run: the folder of a run is needed; got nowhere: no such folder"),
        (["training.source_vectors=nowhere.vec", *FEW_PAIRS], r"^nmt: training.source_vectors: no such file: nowhere.vec"),
        (["training.freeze=[encodr]", *FEW_PAIRS], r"^nmt: training.freeze: .*got encodr"),
        (["model.num_key_value_heads=3"], r"^nmt: model.num_key_value_heads: a divisor of num_heads=4 is needed; got 3"),
        (["model.tied_embeddings=three_way", "tokenizer.joint=false"], r"^nmt: model.tied_embeddings: auto, none or two_way is needed"),
        (["data.augment.exchange=0.5", "tokenizer.joint=false"], r"^nmt: tokenizer.joint: true is needed with data.augment.exchange, .*got false"),
        (["data.augment.exchange=0.5", "data=mixture", TWO_LANGUAGES], r"^nmt: data.augment.exchange: 0 is needed with data=mixture and tags, .*got 0.5"),
        (["data.augment.exchange=0.5", "data.context=1"], r"^nmt: data.context: 0 is needed with data.augment, .*got 1"),
        ([f"device={ABSENT}"], rf"^nmt: device: one that this machine has is needed \(.*cpu\); got {ABSENT}"),
        (["device=gpu"], r"^nmt: device: one of auto, cpu, cuda, mps is needed; got gpu"),
        (["precision=int8"], r"^nmt: precision: one of auto, float32, bfloat16, float16 is needed; got int8"),
        (["precision=float16", "device=cpu", *FEW_PAIRS], r"^nmt: precision: float32 or bfloat16 is needed on the CPU; got float16"),
        (["data=files"], r"^nmt: data.train.source: a value is needed"),
        (["data=multi30k", "data.directory=nowhere"], r"^nmt: data.directory: a folder with train.de is needed, .* unpacked; got nowhere, which lacks it"),
        (["model=rnn,attention"], r"^nmt: model: one value is needed, or the option -m for several runs; got model=rnn,attention"),
        (["run=outputs/mistyped", "resume=yes"], r"^nmt: resume: true or false is needed; got yes$"),
        (["run=null", "resume=true"], r"^nmt: run: the folder of the run is needed with resume=true"),
        (["tokenizer.model=nowhere.model", *FEW_PAIRS], r"^nmt: tokenizer.model: no such file: nowhere.model"),
        (["tokenizer.vocabulary_size=30000", *FEW_PAIRS], r"^nmt: tokenizer.vocabulary_size: at most \d+ is possible with this text; got 30000"),
        (["tokenizer.vocabulary_size=10", *FEW_PAIRS], r"^nmt: tokenizer.vocabulary_size: at least \d+ is needed"),
        (["data=opus", "data.source=x/y", "data.target=en", "data.corpora=[A]"], r"^nmt: data.source: a code of at most 20 letters, digits, _ and -, such as de, is needed; got x/y"),
        (["--plan=false"], r"^nmt: --plan: an option without a value is needed; got --plan=false"),
        (["--verbose"], r"^nmt: --verbose: no such option of nmt train; see nmt train --help$"),
        (["--max-updates=5"], r"^nmt: --max-updates=5: no such option of nmt train; did you mean training.max_updates=5\?; see"),
        (["--seed", "5"], r"^nmt: --seed: no such option of nmt train; did you mean seed=VALUE\?; see nmt train --help$"),
        (["--model=rnn"], r"^nmt: --model=rnn: no such option of nmt train; did you mean model=rnn\?; see"),
        (["--resume"], r"^nmt: --resume: no such option of nmt train; did you mean resume=true\?; see"),
        (["--num-heads=4"], r"^nmt: --num-heads=4: no such option of nmt train; see nmt train --help$"),  # of several models
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)  # fmt: skip
def test_bad_settings_of_train(nmt, tmp_path, overrides, expected):
    message = nmt("train", "run=new", *overrides, code=2).stderr.decode()
    if overrides == ["data=files"]:  # every missing key is told at once
        message = message.split("\n")[0]
        assert re.search(expected, message)
    else:
        assert re.search(expected, message), message
        assert message.count("\n") == 1, message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("[enforce] DefaultCPUAllocator: can't allocate memory\nat 3"),
        RuntimeError("could not create a primitive"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        MemoryError("Unable to allocate 30.5 MiB for an array"),
        MemoryError(),
    ],
    ids=repr,
)
def test_too_little_memory_is_one_line(error, main, monkeypatch):
    def run_out(*_):
        raise error

    monkeypatch.setattr("nmt.cli.main._run", run_out)
    code, out, said = main("train")
    assert (code, out) == (2, "")
    expected = (str(error) or "MemoryError").split("\n")[0]
    assert said.startswith(f"nmt: device: more free memory is needed; got {expected}; ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("error", [RuntimeError("ours"), OSError(errno.EBADF, "ours")], ids=repr)
def test_another_error_is_none_of_the_users(error, main, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr("nmt.cli.main._run", fail)
    with pytest.raises(type(error), match="ours"):
        main("train")


def test_unknown_command_names_the_nearest(nmt):
    assert "did you mean train?" in one_line(nmt("trian", code=2))


def test_sides_of_unequal_length(nmt, text, tmp_path):
    (tmp_path / "train.en").write_text("one\ntwo\n")
    message = one_line(nmt("train", "run=new", *text, code=2))
    assert "got 80 in train.de and 2 in train.en" in message
    assert not (tmp_path / "new").exists()


def test_text_that_is_not_utf8(nmt, text, tmp_path):
    (tmp_path / "train.de").write_bytes(b"gut\n\nschl\xe4ft\n")
    assert "train.de, line 3" in one_line(nmt("train", "run=new", *text, code=2))


@pytest.mark.parametrize("content", [b"", b"\n\n \n"])
def test_empty_corpus(nmt, text, tmp_path, content):
    for language in ("de", "en"):
        (tmp_path / f"train.{language}").write_bytes(content)
    message = one_line(nmt("train", "run=new", *text, code=2))
    assert message == "nmt: data.train: text is needed; got none in train.de\n"


def test_pairs_that_cannot_be_learned_are_counted(nmt, text, tmp_path, tiny_training):
    source, target = list(GERMAN * 20), list(ENGLISH * 20)
    source[3] = target[7] = ""
    source[9] = " ".join(["Haus"] * 300)
    (tmp_path / "train.de").write_bytes(gzip.compress(("\n".join(source[:50]) + "\n").encode()))
    (tmp_path / "train.de").rename(tmp_path / "first.de.gz")
    (tmp_path / "second.de").write_text("\r\n".join(source[50:]), encoding="utf-8")
    (tmp_path / "train.en").write_text("\n".join(target) + "\n", encoding="utf-8")
    several = [option for option in text if "train.source" not in option and "vocabulary" not in option]
    sizes = [
        option for option in tiny_training("transformer") if not option.startswith(("data.", "tokenizer."))
    ]
    command = (
        "train", "run=new", *several, "data.train.source=[first.de.gz,second.de]", "data.max_length=60",
        "tokenizer=char", *sizes,
    )  # fmt: skip
    plan, done = nmt(*command, "--plan"), nmt(*command)
    assert "77 training pairs" in plan.stdout.decode()
    assert "77 training pairs" in done.stderr.decode()
    for log in (plan.stderr.decode(), done.stderr.decode()):
        assert "left out     2 of 80 training pairs with an empty side: lines 4 and 8\n" in log
        assert "left out     1 of 80 training pairs longer than data.max_length=60 tokens: line 10\n" in log
    assert not (tmp_path / "new" / "test.json").exists()


def test_existing_folders_are_not_taken(nmt, run, tmp_path, tiny_training):
    before = sorted(path.name for path in run.iterdir())
    assert "holds a run" in one_line(nmt("train", f"run={run}", *tiny_training(), code=2))
    assert sorted(path.name for path in run.iterdir()) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    assert "a new or empty folder is needed" in one_line(nmt("train", "run=mine", *tiny_training(), code=2))


def test_a_finished_run_says_so(nmt, run):
    done = nmt("train", f"run={run}", "resume=true")
    assert b"is finished: training.max_updates=4" in done.stderr
    scores = json.loads((run / "test.json").read_text())
    assert f"test         BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}, " in done.stderr.decode()


@pytest.mark.parametrize("option", [(), ("--plan",)])
def test_a_run_that_was_never_begun_does_not_go_on(nmt, tmp_path, option):
    refused = nmt("train", *option, "run=outputs/mistyped", "resume=true", "training.max_updates=9", code=2)
    assert one_line(refused) == (
        "nmt: run: the folder of a run is needed with resume=true, or data=, model= or experiment= of a new one; "
        "got outputs/mistyped: no such run\n"
    )
    assert not (tmp_path / "outputs").exists()


def test_going_on_with_another_model_is_refused(nmt, run):
    message = one_line(nmt("train", f"run={run}", "resume=true", "model.d_model=32", code=2))
    assert message == "nmt: model.d_model: 16, the run's own value, is needed to go on; got 32\n"
    assert "model" in one_line(nmt("train", f"run={run}", "resume=true", "model=rnn", code=2))


def test_translate_gives_as_many_lines_as_it_gets(nmt, run, tmp_path):
    lines = [
        b"der Hund schl\xc3\xa4ft .", b"", b"   ", b" ".join([b"wort"] * 10_000), "🙂 👩‍👩‍👧".encode(),
        "eins\u2028zwei\u0085drei".encode(), b"eins\rzwei", b"nicht \xff\xfe UTF-8", b"\x00", b"ende\r",
    ]  # fmt: skip
    done = nmt("translate", f"run={run}", stdin=b"\n".join(lines))  # the last one without a line end
    out = done.stdout.split(b"\n")
    assert len(out) == len(lines) + 1
    assert out[-1] == b""
    assert out[1] == out[2] == b""
    log = done.stderr.decode()
    assert "1 line was not UTF-8: line 8; what could not be read was replaced by U+FFFD\n" in log
    assert "1 line was longer than usual, and translated in parts: line 4\n" in log
    whole = nmt("translate", f"run={run}", "decoding.split=none", stdin=lines[3])
    assert "1 line was cut to 512 tokens: line 1\n" in whole.stderr.decode()
    assert list(tmp_path.iterdir()) == [], "translating leaves nothing behind"


def test_translate_keeps_the_order(nmt, run, tmp_path):
    lines = GERMAN * 3
    (tmp_path / "in.de").write_text("\n".join(lines) + "\n", encoding="utf-8")
    nmt("translate", f"run={run}", "input=in.de", "output=out.en", "precision=float32")
    together = (tmp_path / "out.en").read_bytes().split(b"\n")[:-1]
    assert together == together[:4] * 3
    alone = nmt("translate", f"run={run}", "precision=float32", stdin=GERMAN[2].encode()).stdout
    assert alone == together[2] + b"\n"
    message = one_line(nmt("translate", f"run={run}", "input=in.de", "output=out.en", code=2))
    assert "a new file is needed, or overwrite=true, or resume=true to go on; got out.en" in message
    nmt("translate", f"run={run}", "input=in.de", "output=out.en", "overwrite=true")
    assert "no such file" in one_line(nmt("translate", f"run={run}", "input=none.de", "output=o", code=2))
    assert not (tmp_path / "o").exists()


def test_a_run_keeps_its_own_search_unless_another_is_typed(nmt, run, tmp_path):
    own = nmt("translate", f"run={run}", "--cfg", "job").stdout.decode()
    assert "beam_size: 2" in own
    assert "max_length_extra: 3" in own
    other = nmt("translate", f"run={run}", "decoding=greedy", "--cfg", "job").stdout.decode()
    assert "kind: greedy" in other
    assert "beam_size" not in other
    typed = nmt("translate", f"run={run}", "decoding.beam_size=7", "--cfg", "job").stdout.decode()
    assert "beam_size: 7" in typed
    assert "max_length_extra: 3" in typed


@pytest.mark.parametrize("checkpoint", ["last", "average", "step-2"])
def test_every_checkpoint_translates_from_a_copied_folder(nmt, run, tmp_path, checkpoint):
    shutil.copytree(run, tmp_path / "copy")
    assert nmt("translate", "run=copy", f"checkpoint={checkpoint}", stdin=b"Haus\n").stdout.count(b"\n") == 1


def test_damaged_runs_are_refused(nmt, run, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "a folder without config.json" in one_line(nmt("translate", "run=empty", code=2))
    assert "no such folder" in one_line(nmt("translate", "run=nowhere", code=2))
    shutil.copytree(run, tmp_path / "other")
    config = json.loads((tmp_path / "other" / "config.json").read_text())
    config["model"]["d_ff"] = 48
    (tmp_path / "other" / "config.json").write_text(json.dumps(config))
    assert "weights that fit the settings are needed" in one_line(nmt("translate", "run=other", code=2))
    shutil.copytree(run, tmp_path / "flipped")
    for path in (tmp_path / "flipped" / "checkpoints").glob("*/model.safetensors"):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    assert "undamaged weights are needed" in one_line(nmt("translate", "run=flipped", code=2))
    shutil.copytree(run, tmp_path / "unborn", ignore=shutil.ignore_patterns("step-*"))
    assert "holds no model yet" in one_line(nmt("translate", "run=unborn", code=2))
    assert "one of best, last, average, step-2, step-4" in one_line(
        nmt("translate", f"run={run}", "checkpoint=step-3", code=2)
    )


def test_evaluate_a_run_and_files(nmt, run, tmp_path):
    (tmp_path / "in.de").write_text("\n".join(GERMAN) + "\n", encoding="utf-8")
    (tmp_path / "ref.en").write_text("\n".join(ENGLISH) + "\n", encoding="utf-8")
    done = nmt("evaluate", f"run={run}", "json=scores.json")
    scores = json.loads((tmp_path / "scores.json").read_text())
    final = json.loads((run / "test.json").read_text())
    assert scores["bleu"] == final["bleu"]
    assert scores["num_lines"] == 20
    assert scores["perplexity"] > 1
    low, high = scores["intervals"]["bleu"]
    assert f"BLEU       {scores['bleu']:6.2f}  [{low:.2f}, {high:.2f}]" in done.stdout.decode()
    assert scores["signatures"]["bleu"].startswith("nrefs:1|bs:1000|seed:12345|case:mixed")
    nmt("evaluate", f"run={run}", "source=in.de", "reference=ref.en")
    (tmp_path / "hyp.en").write_text("\n".join(ENGLISH).upper() + "\n", encoding="utf-8")
    cased = nmt("evaluate", "hypothesis=hyp.en", "reference=ref.en").stdout.decode()
    uncased = nmt(
        "evaluate", "hypothesis=hyp.en", "reference=ref.en", "evaluation.lowercase=true"
    ).stdout.decode()
    assert "case:mixed" in cased
    assert re.search(r"lower-case BLEU 100.00  .*case:lc", uncased)
    (tmp_path / "short.en").write_text("one\n")
    message = one_line(nmt("evaluate", "hypothesis=short.en", "reference=ref.en", code=2))
    assert "as many lines as in the reference are needed, 4; got 1" in message


def test_runs_of_other_versions_stay_of_use(nmt, run, tmp_path):
    shutil.copytree(run, tmp_path / "older")
    config = json.loads((tmp_path / "older" / "config.json").read_text())
    del config["training"]["compile"]
    config["training"]["forgotten"] = 1
    (tmp_path / "older" / "config.json").write_text(json.dumps(config))
    assert nmt("translate", "run=older", stdin=b"Haus\n").stdout.count(b"\n") == 1
    assert b"BLEU" in nmt("evaluate", "run=older").stdout


def test_settings_of_ones_own(nmt, tmp_path):
    (tmp_path / "mine" / "model").mkdir(parents=True)
    (tmp_path / "mine" / "model" / "huge.yaml").write_text("defaults:\n  - transformer\nd_model: 512\n")
    printed = nmt("train", "--config-dir", "mine", "model=huge", "--cfg", "job").stdout.decode()
    assert "d_model: 512" in printed
    assert "d_ff: 1024" in printed


@pytest.mark.slow
def test_a_sweep_runs_the_models_one_after_the_other(nmt, tmp_path, tiny_training):
    shared = [option for option in tiny_training("rnn") if not option.startswith("model")]
    nmt("train", "-m", "model=rnn,attention,transformer", *shared, "training.max_updates=2")
    (sweep,) = (tmp_path / "outputs" / "sweeps").iterdir()
    kinds = [json.loads((sweep / str(job) / "config.json").read_text())["model"]["kind"] for job in range(3)]
    assert kinds == ["rnn", "attention", "transformer"]
    assert all((sweep / str(job) / "test.json").exists() for job in range(3))
    message = nmt("train", "-m", "model=rnn,atention", code=2).stderr.decode()
    assert "did you mean attention?" in message


def test_what_cannot_be_written_is_one_line(nmt, run):
    message = one_line(nmt("evaluate", f"run={run}", "json=nowhere/scores.json", code=2))
    assert "a file in an existing folder is needed" in message
    assert "nowhere" in one_line(nmt("translate", f"run={run}", "output=nowhere/out.en", code=2))
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "train", "--cfg", "job"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, "nmt: No space left on device\n")


def test_a_file_that_grows_too_large_is_said_in_a_line(run, tmp_path):
    done = subprocess.run(
        [*COMMAND, "compare", str(run), "html=page.html"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )
    assert (done.returncode, done.stderr) == (2, "nmt: page.html: File too large\n")


def test_what_hydra_and_the_run_do_not_know(nmt, run, tmp_path):
    message = one_line(nmt("translate", f"run={run}", "hydra.verbose=true", stdin=b"Haus", code=2))
    assert message.startswith("nmt: hydra.verbose: a key of nmt's is needed")
    (tmp_path / "mine" / "model").mkdir(parents=True)
    (tmp_path / "mine" / "model" / "bad.yaml").write_text("d_model: [1\n")
    assert "YAML is needed" in one_line(nmt("train", "--config-dir", "mine", "model=bad", code=2))
    (tmp_path / "mine" / "experiment").mkdir()
    recipe = tmp_path / "mine" / "experiment" / "own.yaml"
    for content in (
        b"defaults:\nseed: 4\n",
        b"defaults:\n  - own\n",
        "seed: 4  # größer\n".encode("latin-1"),
        b"hydra: null\n",
        b"defaults:\n  - 5: 6\n",
    ):
        recipe.write_bytes(b"# @package _global_\n" + content)
        for more in ((), (f"training.from_run={run}", "run=child")):
            refused = nmt("train", "--config-dir", "mine", "experiment=own", *more, "--cfg", "job", code=2)
            assert one_line(refused).startswith("nmt: --config-dir: files for Hydra are needed; got ")
    assert "a single run" in one_line(nmt("train", "-m", "--cfg", "job", code=2))
