"""nmt evaluate by the real command line: two translations, two runs, several references, buckets, COMET."""

import json
import os
import re
import shutil

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from nmt import grammar

PAIRS = grammar.generate(num_train=1, num_validation=1, num_test=50)["test"]
REFERENCES = [pair.target for pair in PAIRS]
GOOD = [line if i % 5 else line.replace("the", "a") for i, line in enumerate(REFERENCES)]
BAD = [" ".join(line.split()[::2]) or line for line in REFERENCES]


@pytest.fixture
def folder(tmp_path):
    """Make a folder with a source, two references and two translations."""
    texts = {
        "in.de": [pair.source for pair in PAIRS],
        "a.en": REFERENCES,
        "b.en": [line.upper() for line in REFERENCES],
        "good.en": GOOD,
        "bad.en": BAD,
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def one_line(done):
    message = done.stderr.decode()
    assert message.count("\n") == 1, message
    assert done.stdout == b""
    return message


def test_a_run_is_evaluated_where_its_training_text_is_not_at_hand(nmt, tiny_training, tmp_path):
    files = []
    for split, pairs in grammar.generate(num_train=300, num_validation=10, num_test=10).items():
        for side in ("source", "target"):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{getattr(pair, side)}\n" for pair in pairs))
            files.append(f"data.{split}.{side}={split}.{side}")
    tiny = [one for one in tiny_training() if not one.startswith("data.")]
    nmt("train", "run=run", "data=files", *files, *tiny)
    done = nmt("evaluate", "run=run")
    assert b"is not the text" not in done.stderr
    before = done.stdout
    for side in ("source", "target"):
        (tmp_path / f"train.{side}").unlink()
    assert nmt("evaluate", "run=run").stdout == before
    (tmp_path / "test.source").write_bytes((tmp_path / "validation.source").read_bytes())
    warned = nmt("evaluate", "run=run").stderr.decode()
    assert "data.test of run is not the text that the run recorded (10 lines, now 10 lines)" in warned
    lost = nmt("train", "run=run", "resume=true", "training.max_updates=1000", code=2).stderr
    assert lost.startswith(b"nmt: data.train.source: no such file: train.source")


def test_a_text_of_which_no_pair_counts_has_no_loss(nmt, trained_run, tmp_path):
    (tmp_path / "blank").write_text("\n")
    (tmp_path / "text").write_text("a dog\n")
    texts = ("source=blank", "reference=text", "json=all.json")
    nmt("evaluate", f"run={trained_run}", *texts)
    found = json.loads((tmp_path / "all.json").read_text())
    assert (found["loss"], found["perplexity"]) == (None, None)


def test_two_translations(nmt, folder):
    arguments = ("evaluate", "hypothesis=good.en", "against=bad.en", "reference=a.en", "json=all.json")
    printed = nmt(*arguments, "num_resamples=200", "num_trials=300").stdout.decode()
    found = json.loads((folder / "all.json").read_text())
    systems = [("bad", BAD), ("good", GOOD)]
    bad, good = PairedTest(systems, {"BLEU": BLEU()}, [REFERENCES], "ar", 300)()[1]["BLEU"]
    drawn = [
        [
            BLEU().corpus_score([lines[i] for i in rows], [[REFERENCES[i] for i in rows]]).score
            for rows in texts
        ]
        for texts in [np.random.default_rng(12345).choice(len(REFERENCES), (200, len(REFERENCES)))]
        for lines in (GOOD, BAD)
    ]
    of_good, of_bad = map(sorted, drawn)
    differences = [one - other for one, other in zip(*drawn, strict=True)]
    mean, difference = sum(differences) / 200, good.score - bad.score
    p_bootstrap = (sum(abs(one - mean) >= difference for one in differences) + 1) / 201
    assert found["bleu"] == good.score
    assert found["intervals"]["bleu"] == pytest.approx([of_good[5], of_good[-6]])
    assert found["against"]["bleu"] == {
        "value": bad.score,
        "interval": pytest.approx([of_bad[5], of_bad[-6]]),
        "difference": difference,
        "p_bootstrap": pytest.approx(p_bootstrap),
        "p_randomisation": good.p_value,
        "signature": found["against"]["bleu"]["signature"],
    }
    row = next(line for line in printed.split("\n") if line.startswith("BLEU  ")).split()
    assert (row[1], row[4]) == (f"{good.score:.2f}", f"{bad.score:.2f}")
    assert row[-3:] == [f"{difference:+.2f}", f"{p_bootstrap:.4f}", f"{good.p_value:.4f}"]
    assert "A          good.en\nB          bad.en\n" in printed
    assert "bs:200|ar:300|seed:12345|case:mixed" in printed


def test_several_references_and_lengths(nmt, folder):
    printed = nmt(
        "evaluate", "hypothesis=good.en", "reference=[a.en,b.en]", "source=in.de", "length_buckets=[8]",
        "num_resamples=null", "json=scores.json",
    ).stdout.decode()  # fmt: skip
    found = json.loads((folder / "scores.json").read_text())
    direct = sacrebleu.corpus_bleu(GOOD, [REFERENCES, [line.upper() for line in REFERENCES]])
    assert found["bleu"] == direct.score
    assert found["signatures"]["bleu"].startswith("nrefs:2|case:mixed")
    assert "intervals" not in found
    short = [i for i, pair in enumerate(PAIRS) if len(pair.source.split()) <= 8]
    assert found["by_length"]["words_of"] == "source"
    first = found["by_length"]["buckets"][0]
    assert first["num_lines"] == len(short)
    chosen = [
        [lines[i] for i in short] for lines in (GOOD, REFERENCES, [line.upper() for line in REFERENCES])
    ]
    assert first["scores"][0]["bleu"] == sacrebleu.corpus_bleu(chosen[0], chosen[1:]).score
    assert re.search(rf"^0–8 +{len(short)} +{first['scores'][0]['bleu']:.2f} ", printed, re.MULTILINE)


def test_two_runs(nmt, trained_run, folder):
    shutil.copytree(trained_run, folder / "other")
    found = nmt(
        "evaluate", f"run={trained_run}", "against=other", "num_resamples=50", "num_trials=50", "json=x.json"
    )
    printed = found.stdout.decode()
    assert f"A          {trained_run}, best, beam 2\nB          other, best, beam 2\n" in printed
    against = json.loads((folder / "x.json").read_text())["against"]
    assert [against[name]["difference"] for name in ("bleu", "chrf", "ter")] == [0, 0, 0]
    # Search settings that are typed hold for both runs.
    printed = nmt(
        "evaluate", f"run={trained_run}", "against=other", "decoding=greedy", "source=in.de", "reference=a.en",
        "num_resamples=50", "num_trials=50",
    ).stdout.decode()  # fmt: skip
    assert printed.count("greedy") == 2
    (folder / "other" / "config.json").write_text(
        (folder / "other" / "config.json").read_text().replace('"beam_size": 2', '"beam_size": 3')
    )
    for typed, beams in (((), {2, 3}), (("decoding.beam_size=2",), {2})):
        printed = nmt(
            "evaluate", f"run={trained_run}", "against=other", *typed, "source=in.de", "reference=a.en",
            "num_resamples=50", "num_trials=50",
        ).stdout.decode()  # fmt: skip
        assert set(map(int, re.findall(r"beam (\d)$", printed, re.MULTILINE))) == beams
    # A run against what another program translated.
    printed = nmt(
        "evaluate", f"run={trained_run}", "against=good.en", "source=in.de", "reference=a.en",
        "num_resamples=50", "num_trials=50",
    ).stdout.decode()  # fmt: skip
    assert "B          good.en" in printed
    (folder / "other" / "tokenizer.model").write_bytes(b"spoiled")
    assert "nmt: against: an undamaged tokenizer" in one_line(
        nmt("evaluate", f"run={trained_run}", "against=other", code=2)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("hypothesis=good.en", "against=short.en"),
            "against: as many lines as in the reference are needed, 50",
        ),
        (("hypothesis=good.en", "against=none.en"), "against: no such file: none.en"),
        (("hypothesis=good.en", "against=."), "against: a file is needed beside a finished translation; got ., a folder"),
        (("hypothesis=pieces.en",), "hypothesis: text without marks of subwords is needed"),
        (("hypothesis=good.en", "against=pieces.en"), "got @@ in pieces.en, line 50; put the pieces together"),
        (
            ("hypothesis=good.en", "reference=[a.en,short.en]"),
            "reference: as many lines as in a.en are needed, 50; got 1 in short.en",
        ),
        (("hypothesis=good.en", "reference=pieces.en"), "reference: text without marks"),
        (("hypothesis=good.en", "length_buckets=[5,5]"), "length_buckets: rising numbers are needed"),
        (("hypothesis=good.en", "json=a.en", "overwrite=true"), "json: another file than the reference is needed; got a.en"),
        (("hypothesis=good.en", "against=bad.en", "num_resamples=null"), "num_resamples: a number is needed"),
        (("hypothesis=good.en", "num_resamples=3"), "num_resamples: greater than or equal to 40 is needed; got 3"),
        (("hypothesis=good.en", "comet=x.ckpt"), "source: the text that was translated is needed with `comet`"),
        (
            ("hypothesis=good.en", "source=in.de", "comet=there.ckpt", "reference=[a.en,good.en]"),
            "reference: one file is needed with `comet`; got 2",
        ),
        (("hypothesis=good.en", "checkpoint=last"), "checkpoint: best is needed without `run`; got last"),
        (("hypothesis=good.en", "device=cuda"), "device: auto is needed without `run`; got cuda"),
        (("hypothesis=good.en", "precision=bfloat16"), "precision: auto is needed without `run`; got bfloat16"),
        (("hypothesis=good.en", "json=pipe", "overwrite=true"), "json: a file is needed; got pipe, which is a device or a pipe"),
        (("hypothesis=good.en", "split=validation"), "split: test is needed without `run`; got validation"),
        (
            ("hypothesis=good.en", "source=in.de", "comet=x.ckpt"),
            "comet: the .ckpt file of a model on this disk is needed, since none is downloaded; got x.ckpt",
        ),
        (
            ("hypothesis=good.en", "source=in.de", "comet=there.ckpt", "comet_program=no-such-program"),
            "comet_program: the program comet-score is needed (pip install unbabel-comet, in an environment",
        ),
        (("hypothesis=good.en", "decoding=greedy"), "decoding: no search is needed without `run`, since nothing is translated"),
        (("hypothesis=good.en", "reference=a.en.xz"), "reference: a plain, .gz or .zst file is needed; got a.en.xz"),
        (("hypothesis=good.en", "reference=a.pdf"), "reference: a file of lines, or .docx or .odt to translate, is needed; got a.pdf"),
        (("run=nowhere", "against=good.en"), "run: the folder of a run is needed; got nowhere"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_said_in_one_line(nmt, folder, arguments, message):
    (folder / "short.en").write_text("one\n")
    os.mkfifo(folder / "pipe")
    (folder / "pieces.en").write_text("".join(f"{line}\n" for line in [*REFERENCES[:-1], "the do@@ g"]))
    (folder / "there.ckpt").write_bytes(b"")
    if not any(argument.startswith(("reference", "run")) for argument in arguments):
        arguments = (*arguments, "reference=a.en")
    assert message in one_line(nmt("evaluate", *arguments, code=2))


# Checks what it is given, and prints a mean score as COMET's own program does.
PROGRAM = """#!/bin/sh
test "$HF_HUB_OFFLINE" = 1 || exit 3
test "$2" = "$PWD/there.ckpt" || exit 4
while [ $# -gt 1 ]; do case "$1" in -s) s="$2";; -t) t="$2";; -r) r="$2";; esac; shift; done
cmp -s "$s" in.de && cmp -s "$r" a.en || exit 5
cmp -s "$t" good.en && n=0.7512 || n=-0.1234
echo "a line of the library"
printf '%s\\tscore: %s\\n' "$t" "$n"
"""


def test_comet_by_its_own_program(nmt, folder):
    (folder / "there.ckpt").write_bytes(b"")
    (folder / "comet-score").write_text(PROGRAM)
    (folder / "comet-score").chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    arguments = ("evaluate", "hypothesis=good.en", "reference=a.en", "source=in.de", "comet=there.ckpt")
    (folder / "a folder").mkdir()
    several = ("against=bad.en", "num_resamples=50", "num_trials=50", "json=x.json")
    done = nmt(*arguments, *several, PATH=path, TMPDIR=str(folder / "a folder"))
    assert "COMET      0.7512  good.en, there.ckpt\nCOMET      -0.1234  bad.en" in done.stdout.decode()
    assert json.loads((folder / "x.json").read_text())["comet"] == [0.7512, -0.1234]
    (folder / "comet-score").write_text("#!/bin/sh\necho 'no such model' >&2\nexit 1\n")
    message = nmt(*arguments, "num_resamples=null", PATH=path, code=2).stderr.decode()
    assert message.endswith("comet-score is needed; got no such model\n")


def test_a_terminal_without_a_character_of_the_table_gets_another_one(nmt, folder):
    given = "hypothesis=good.en", "reference=a.en", "source=in.de", "length_buckets=[8]"
    shown = nmt("evaluate", *given, PYTHONIOENCODING="utf-8").stdout.decode()
    assert "0\u20138" in shown
    done = nmt("evaluate", *given, "json=scores.json", PYTHONIOENCODING="latin-1")
    assert done.stdout.decode("latin-1") == shown.replace("\u2013", "?")
    assert (folder / "scores.json").exists()


def test_a_file_that_is_missing_beside_a_run_is_called_so(nmt, folder, trained_run):
    given = (f"run={trained_run}", "source=in.de", "reference=a.en")
    assert (
        one_line(nmt("evaluate", *given, "against=typo.en", code=2))
        == "nmt: against: no such file: typo.en\n"
    )


def test_a_wrong_seed_is_said_before_anything_is_translated(nmt, trained_run):
    done = nmt("evaluate", f"run={trained_run}", SACREBLEU_SEED="abc", code=2)
    assert one_line(done) == "nmt: SACREBLEU_SEED: a whole number, or none, is needed; got abc\n"
