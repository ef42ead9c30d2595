"""nmt report and nmt compare by the real command line; their figures against figures computed another way."""

import json
import re
import shutil

import pytest
import sacrebleu
import torch
from browser import Browser, find_chromium, look_at, schemes
from command_line import run_command
from markup import Page
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import _bootstrap_resample

from nmt import grammar
from nmt.config import RunScoring
from nmt.data.corpus import ParallelText
from nmt.decoding import translator
from nmt.decoding.search_settings import choose_search
from nmt.reports.run import measures
from nmt.reports.run.log import RunLog
from nmt.reports.run.measures import ReportText
from nmt.reports.run.sections import show_p
from nmt.runs.directory import RunDirectory
from nmt.tracking.live_page import Page as PageTracker

pytestmark = pytest.mark.timeout(900)  # for three trainings, on machines that do much else

HOSTILE = "<script>alert(1)</script> <img src=http://127.0.0.1/x onerror=alert(2)> </style> \"'&amp;"


@pytest.fixture(scope="module")
def runs(tmp_path_factory, tiny_training):
    """Train a tiny run of each kind, on text with some lines of HTML."""
    folder = tmp_path_factory.mktemp("runs")
    for name, pairs in grammar.generate(num_train=300, num_validation=10, num_test=30).items():
        source = [pair.source for pair in pairs]
        target = [pair.target for pair in pairs]
        for i in range(0, len(pairs) if name == "test" else 1, 2):
            source[i], target[i] = f"{source[i]} 1984 {HOSTILE}", f"{target[i]} 1984 {HOSTILE}"
        (folder / f"{name}.de").write_text("".join(f"{line}\n" for line in source), encoding="utf-8")
        (folder / f"{name}.en").write_text("".join(f"{line}\n" for line in target), encoding="utf-8")
    files = [
        f"data.{split}.{side}={folder / f'{split}.{suffix}'}"
        for split in ("train", "validation", "test")
        for side, suffix in (("source", "de"), ("target", "en"))
    ]
    kinds = {
        "transformer": (),
        "attention": ("model.attention.span=local_p", "model.attention.window=2", "model.attention.choice=straight_through"),
        "rnn": (),
    }  # fmt: skip
    for kind, more in kinds.items():
        tiny = [one for one in tiny_training(kind) if not one.startswith("data.")]
        done = run_command(["train", f"run={kind}", "data=files", *files, *tiny, *more], folder)
        assert done.returncode == 0, done.stderr.decode()
    return folder


@pytest.fixture(scope="module")
def report(runs):
    """Return a function that writes the report of a name, unless it is there, and returns its path."""

    def write(name, *arguments):
        path = runs / f"{name}.html"
        if not path.exists():
            few = ["num_resamples=50", "num_trials=50", "precision=float32"]
            done = run_command(
                ["report", f"run={name.split('-')[0]}", f"output={path}", *few, *arguments], runs
            )
            assert done.returncode == 0, done.stderr.decode()
            assert done.stdout.decode() == f"{path}\n"
        return path

    return write


def test_the_figures_are_sacrebleus(report, runs, nmt, tmp_path):
    shown = Page(report("transformer").read_text(encoding="utf-8")).text
    source = (runs / "test.de").read_bytes()
    references = (runs / "test.en").read_text(encoding="utf-8").split("\n")[:-1]
    hypotheses = (
        nmt("translate", f"run={runs / 'transformer'}", "precision=float32", stdin=source)
        .stdout.decode()
        .split("\n")[:-1]
    )
    for name, metric in (("BLEU", BLEU()), ("chrF", CHRF())):
        direct = metric.corpus_score(hypotheses, [references], n_bootstrap=50)
        counts = metric._extract_corpus_statistics(hypotheses, [references])
        drawn = sorted(one.score for one in _bootstrap_resample(counts, metric, n_samples=50)[1])
        assert f"{name} {direct.score:.2f} [{drawn[1]:.2f}, {drawn[-2]:.2f}]" in shown
        assert str(metric.get_signature()) in shown
    words = [len(line.split()) for line in source.decode().split("\n")[:-1]]
    page = report("transformer").read_text(encoding="utf-8")
    for low, high in ((1, 5), (6, 10), (11, 15), (16, 20), (21, 25)):
        lines = [i for i, number in enumerate(words) if low <= number <= high]
        if len(lines) >= 5:
            direct = sacrebleu.corpus_chrf([hypotheses[i] for i in lines], [[references[i] for i in lines]])
            said = f"{direct.score:.2f}".rstrip("0").rstrip(".")
            assert f"<title>{low}–{high}: {said}, 95 %" in page
    rows = [json.loads(row) for row in (runs / "transformer" / "metrics.jsonl").read_text().split("\n")[:-1]]
    losses = [row["negative_log_likelihood"] for row in rows if row["kind"] == "training"]
    assert f"transformer, training from {losses[0]:.2f}".rstrip("0") in page


@pytest.mark.parametrize("name", ["transformer", "attention", "rnn"])
def test_hostile_text_stays_text(report, name):
    page = Page(report(name).read_text(encoding="utf-8"))
    page.assert_closed()
    assert page.tags.count("script") == 1
    assert "alert(1)" in page.text


def test_each_kind_of_attention_is_told(report):
    assert "has no attention" in Page(report("rnn").read_text(encoding="utf-8")).text
    attention = report("attention").read_text(encoding="utf-8")
    assert "Local attention (local-p): 2 positions to each side" in Page(attention).text
    assert "Hard attention" in Page(attention).text
    assert 'class="unseen"' in attention
    assert 'class="chosen"' in attention
    transformer = report("transformer").read_text(encoding="utf-8")
    assert "layer 1, head 2" in Page(transformer).text
    assert "Positions: sinusoidal" in Page(transformer).text
    assert "No look ahead" in Page(transformer).text


def test_two_runs_side_by_side(report, runs):
    page = report("transformer-rnn", f"against={runs / 'rnn'}").read_text(encoding="utf-8")
    shown = Page(page).text
    for words in (
        "p bootstrap",
        "Where transformer gains most",
        "Where rnn gains most",
        "model.kind transformer rnn",
    ):
        assert words in shown
    assert 'class="line b"' in page


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0001, "< 0.001"), (0.001, "0.001"), (0.25, "0.250"), (1, "1.000")]
)
def test_a_p_value_is_never_nothing(value, shown):
    assert show_p(value) == shown


def test_confidence_is_what_was_measured_when_the_run_ended(report, runs, nmt, tmp_path):
    found = json.loads((runs / "transformer" / "confidence.json").read_text())["test"]
    page = Page(report("transformer").read_text(encoding="utf-8"))
    shown = page.text[page.text.index("Does a word of confidence 0.8") :]
    for kind in ("words", "lines"):
        assert f"{found[kind]['error']:.4f}" in shown
        numbers = ", ".join(f"{one['number']:,}" for one in found[kind]["bins"])
        assert f"{kind.capitalize()} of each point, transformer: {numbers}." in shown
    both = report("transformer-rnn", f"against={runs / 'rnn'}").read_text(encoding="utf-8")
    assert both.count("Reliability of words") > 1
    nmt("report", f"run={runs / 'transformer'}", "output=last.html", "num_resamples=40", "checkpoint=average")
    assert "Reliability of words" not in (tmp_path / "last.html").read_text(encoding="utf-8")


def test_a_report_is_not_written_over_another(nmt, runs, report):
    path = report("rnn")
    message = nmt("report", f"run={runs / 'rnn'}", f"output={path}", code=2).stderr.decode()
    assert message.startswith("nmt: output: a new file is needed, or overwrite=true; got ")
    message = nmt("report", f"run={runs / 'rnn'}", "output=nowhere/x.html", code=2).stderr.decode()
    assert "a file in an existing folder is needed" in message


def test_an_exported_folder_has_no_log_to_report(nmt, runs, tmp_path):
    pytest.importorskip("ctranslate2")
    run = runs / "transformer"
    nmt("export", f"run={run}", "output=exported", "decoding=greedy")
    for arguments, key in (
        (["run=exported"], "run"),
        ([f"run={run}", "against=exported", "output=report.html"], "against"),
    ):
        message = nmt("report", *arguments, code=2).stderr.decode()
        assert message == (
            f"nmt: {key}: a run that has its training log is needed; got exported, which was exported\n"
        )
    assert not list(tmp_path.glob("**/report.html"))


def test_compare_shows_what_was_recorded(nmt, runs, tmp_path):
    folders = [str(runs / kind) for kind in ("rnn", "transformer", "attention")]
    printed = nmt("compare", *folders, "html=all.html").stdout.decode()
    for folder in folders:
        record = json.loads((runs / folder / "run.json").read_text())
        low, high = record["test"]["intervals"]["bleu"]
        figures = f"{record['test']['scores']['bleu']:.2f}  [{low:.2f}, {high:.2f}]"
        (row,) = (line for line in printed.split("\n") if line.startswith(f"{folder} "))
        assert figures in re.sub(" {2,}", "  ", row)
        assert row.endswith(f"{record['parameters']:,}")
    scores = [float(value) for value in re.findall(r"^/\S+ +[A-C] +([\d.]+)", printed, re.MULTILINE)]
    assert scores == sorted(scores, reverse=True)
    assert re.search(r"^model\.kind +\w+ +\w+ +\w+$", printed, re.MULTILINE)
    assert "seed" not in printed, "it is the same in all"
    assert printed == nmt("compare", "runs=[" + ",".join(folders) + "]").stdout.decode()
    shown = Page((tmp_path / "all.html").read_text(encoding="utf-8")).text
    assert "model.kind" in shown
    assert "nmt: html: a new file" in nmt("compare", *folders, "html=all.html", code=2).stderr.decode()
    assert "nmt: runs: the folder of a run is needed" in nmt("compare", "nowhere", code=2).stderr.decode()
    assert "runs: " in nmt("compare", code=2).stderr.decode()


def test_compare_of_runs_that_recorded_less(nmt, runs, tmp_path):
    shutil.copytree(runs / "rnn", tmp_path / "a=1")
    (tmp_path / "a=1" / "run.json").unlink()
    shutil.copytree(runs / "rnn", tmp_path / "it's")
    config = json.loads((tmp_path / "it's" / "run.json").read_text())
    config["data"]["test"]["hash"] = "0" * 24
    (tmp_path / "it's" / "run.json").write_text(json.dumps(config))
    printed = nmt("compare", "a=1", "it's", str(runs / "rnn")).stdout.decode()
    assert re.search(r"^a=1 +[A-C] +[\d.]+ +[–\[]", printed, re.MULTILINE)
    assert "These scores are not of one and the same test text." in printed
    shutil.copytree(runs / "rnn", tmp_path / "characters")
    config = json.loads((tmp_path / "characters" / "config.json").read_text())
    config["evaluation"]["tokenize"] = "char"
    (tmp_path / "characters" / "config.json").write_text(json.dumps(config))
    printed = nmt("compare", "characters", str(runs / "rnn")).stdout.decode()
    assert "These scores are not computed alike: see evaluation.* among the settings." in printed
    assert re.search(r"^evaluation\.tokenize +\S+ +\S+$", printed, re.MULTILINE)


def test_a_run_that_has_not_ended_shows_its_log(nmt, runs, tmp_path):
    shutil.copytree(runs / "rnn", tmp_path / "going")
    (tmp_path / "going" / "test.json").unlink()
    for path in ("checkpoints", "tokenizer.model", "best.json", "last.json", "run.json"):
        whole = tmp_path / "going" / path
        if whole.is_dir():
            shutil.rmtree(whole)
        else:
            whole.unlink(missing_ok=True)
    with open(tmp_path / "going" / "metrics.jsonl", "a") as file:
        file.write('{"update": 9')  # a record that is half written
    nmt("report", "run=going", "output=one.html")
    page = Page((tmp_path / "one.html").read_text(encoding="utf-8"))
    page.assert_closed()
    rows = [json.loads(row) for row in (runs / "rnn" / "metrics.jsonl").read_text().split("\n")[:-1]]
    last = [row for row in rows if row["kind"] == "validation"][-1]
    assert f"{last['bleu']:.2f} BLEU of the last validation" in page.text
    assert f"{rows[-1]['update']} updates" in page.text
    assert "nothing was translated" in page.text
    nmt("report", f"run={runs / 'rnn'}", "against=going", "output=two.html")
    assert "model.kind" in Page((tmp_path / "two.html").read_text(encoding="utf-8")).text
    (tmp_path / "going" / "run.json").write_text("{}")
    message = nmt(
        "report", f"run={runs / 'rnn'}", "against=going", "output=three.html", code=2
    ).stderr.decode()
    assert message.startswith("nmt: against: ")


def test_a_run_without_test_text_has_ended_when_its_confidence_is_measured(
    nmt, runs, tmp_path, tiny_training
):
    files = [
        f"data.{split}.{side}={runs / f'{split}.{suffix}'}"
        for split in ("train", "validation")
        for side, suffix in (("source", "de"), ("target", "en"))
    ]
    tiny = [one for one in tiny_training("rnn") if not one.startswith("data.")]
    nmt("train", "run=untested", "data=files", *files, *tiny)
    refused = nmt("report", "run=untested", "output=one.html", code=2).stderr
    assert refused.startswith(b"nmt: split: ")
    (tmp_path / "untested" / "confidence.json").unlink()  # as after an interruption
    nmt("report", "run=untested", "output=one.html")
    assert "nothing was translated" in Page((tmp_path / "one.html").read_text(encoding="utf-8")).text


def test_a_training_can_be_watched(nmt, tmp_path, tiny_training, monkeypatch):
    nmt("train", "run=run", *tiny_training("rnn"), "tracking=page", "tracking.refresh_seconds=7")
    page = Page((tmp_path / "run" / "training.html").read_text(encoding="utf-8"))
    page.assert_closed()
    rows = [json.loads(row) for row in (tmp_path / "run" / "metrics.jsonl").read_text().split("\n")[:-1]]
    assert f"{rows[-1]['update']} updates" in page.text
    assert 'http-equiv="refresh"' not in page.content, "it has ended"
    written = []
    monkeypatch.setattr(
        "nmt.tracking.live_page.write_atomically", lambda path, content: written.append(content)
    )
    tracker = PageTracker(tmp_path / "run", 7)
    tracker.log({"training/loss": 1.0}, 1)
    assert written == []
    tracker.log({"validation/loss": 1.0}, 1)
    assert b'http-equiv="refresh" content="7"' in written[0]


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium here")
def test_sentences_are_searched_filtered_and_sorted(report, tmp_path):
    browser = Browser(tmp_path / "browser")

    def shown(**choices):
        """Return the cards that the list shows after these values were put into its controls."""
        for control, value in choices.items():
            browser.evaluate(
                f"(() => {{const one = document.querySelector('.tools {control}');"
                f"one.value = {json.dumps(value)}; one.dispatchEvent(new Event('input'));}})()"
            )
        return browser.evaluate(
            "[...document.querySelectorAll('.list .sentence')].filter(one => getComputedStyle(one).display !== 'none')"
            ".map(one => ({...one.dataset, text: one.textContent}))"
        )

    try:
        browser.open(report("transformer"), 1280)
        browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        every = shown()
        assert [int(one["line"]) for one in every] == list(range(1, 31))
        assert browser.evaluate("document.querySelector('.tools output').textContent") == "30 of 30"
        scores = [float(one["score"]) for one in shown(**{".sort": "score 1"})]
        assert scores == sorted(scores)
        lengths = [int(one["length"]) for one in shown(**{".sort": "length -1"})]
        assert lengths == sorted(lengths, reverse=True)
        found = shown(input="ONERROR", **{".sort": "line 1"})
        assert [int(one["line"]) for one in found] == list(range(1, 31, 2))
        assert shown(input="no line has this") == []
        lost = shown(input="", **{".show": "numbers_lost"})
        assert [one["line"] for one in lost] == [
            one["line"] for one in every if "numbers_lost" in one["signs"]
        ]
        assert 0 < len(lost) < 30
        low = shown(**{".show": "below 50"})
        assert [one["line"] for one in low] == [one["line"] for one in every if float(one["score"]) < 50]
        assert browser.messages == []
    finally:
        browser.close()


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium here")
@pytest.mark.parametrize("name", ["transformer", "attention", "rnn", "transformer-rnn", "compare"])
def test_pages_in_a_browser(report, runs, nmt, tmp_path, name):
    if name == "compare":
        nmt("compare", *(str(runs / kind) for kind in ("rnn", "transformer", "attention")), "html=all.html")
        path = tmp_path / "all.html"
    else:
        path = report(name, *([f"against={runs / 'rnn'}"] if "-" in name else []))
    requests = look_at(path, tmp_path / "browser")
    assert schemes(requests) <= {"file", "data"}
    assert len(requests) == 2


def test_a_tag_is_no_word_of_the_source(trained_run, monkeypatch):
    hypotheses = ["Ein Satz zur Probe.", "He has dogs."]
    monkeypatch.setattr(translator, "tags_of_lines", lambda pieces: ("<2en>",))
    monkeypatch.setattr(measures, "translate_text", lambda translator, lines: hypotheses)
    text = ParallelText(
        [f"<2en> {line}" for line in (hypotheses[0], "Er hat zwei Hunde.")],
        ["A sentence to try.", "He has 2 dogs."],
    )
    run, search = RunDirectory(str(trained_run)), choose_search("greedy")
    shared = ReportText.of(text, "test", text, run.read_settings(RunScoring).evaluation, 2)
    log = RunLog.read(run, "run")
    signs = measures.measure(run, log, "best", search, shared, torch.device("cpu"), torch.float32).signs
    assert signs.copies == [0]
    assert (signs.numbers_lost, signs.num_numbers) == ({}, 0)
