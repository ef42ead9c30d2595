"""The benchmarks run and count correctly; no test checks how fast anything is."""

import json
import sys

import pytest
from command_line import SCRIPTS, run_script

TINY = ("model.d_model=16", "model.d_ff=16", "model.num_heads=2", "training.update_tokens=64")


@pytest.fixture
def ids(tmp_path):
    sentences = [[4 + (i + j) % 90 for j in range(1 + i % 7)] + [3] for i in range(200)]
    for language in ("de", "en"):
        (tmp_path / f"train.{language}.json").write_text(json.dumps(sentences))
    return tmp_path


@pytest.mark.parametrize("model", ["transformer", "attention"])
def test_training_on_fixed_work_gives_its_figures(model, ids):
    sizes = TINY if model == "transformer" else ("model.d_hidden=8", "training.update_tokens=64")
    arguments = ["--ids", ids, "--json", "out.json", "--updates", "2", "--repeats", "2"]
    done = run_script("benchmark_training", [*arguments, f"model={model}", *sizes, "precision=float32"], ids)
    assert done.returncode == 0, done.stderr
    figures = json.loads((ids / "out.json").read_text())
    assert figures["target_tokens_per_second"] > 0
    assert figures["precision"] == "float32"
    assert 0 <= figures["padding"] < 1
    assert 0 < figures["matmul_peak_share"] < 1
    assert {"spread", "peak_memory_gb", "share_of_time_waiting_for_data"} <= figures.keys()


def test_operations_are_six_for_each_weight_and_token(tiny_model, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    from benchmark_training import operations

    model = tiny_model(
        "transformer", tied="three_way", width=8, d_ff=16, num_encoder_layers=1, num_decoder_layers=2
    )
    attention, feed_forward, vocabulary = 4 * 8 * 8, 2 * 8 * 16, model.output.weight.numel()
    of_source = attention + feed_forward + 2 * 2 * 8 * 8
    of_target = 2 * (attention + 2 * 8 * 8 + feed_forward) + vocabulary
    assert operations(model, 10, 1) == 6 * (10 * of_source + of_target)


def test_engines_translate_alike(trained_run, tmp_path):
    pytest.importorskip("ctranslate2")
    (tmp_path / "in.de").write_text("Der Hund schläft.\nDas Haus ist alt.\nEin Mann liest.\n" * 4)
    (tmp_path / "in.en").write_text("The dog sleeps.\nThe house is old.\nA man reads.\n" * 4)
    names = ["nmt, float32", "nmt with CTranslate2, float32", "CTranslate2 by hand, float32"]
    done = run_script(
        "benchmark_engines",
        ["--run", trained_run, "--source", "in.de", "--reference", "in.en", "--alone", "2", "--rounds", "1",
         "--only", ";".join(names), "--json", "out.json"],
        tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "out.json").read_text())
    assert [(row["engine"], row["lines_at_once"]) for row in rows[:6]] == [
        (name, size) for size in (12, 1) for name in names
    ]
    assert len(rows) == 12
    assert all(row["tokens_per_second"] > 0 and 0 < row["memory_gb"] < 8 for row in rows)
    own, exported = (row["memory_gb"] for row in rows[:2])
    assert exported < own, "PyTorch is not there"
    assert done.stdout.count("\n| ") == 6


STUB = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open(sys.argv[2], "a") as file:
            print(json.dumps([self.path, fields]), file=file)
        body = json.dumps({"translatedText": fields["q"]}).encode()
        self.send_response(500 if fields["q"] == "bad" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.mark.parametrize("is_bad", [False, True])
def test_a_server_under_load_gets_each_text_once_before_any_comes_again(is_bad, tmp_path):
    (tmp_path / "stub.py").write_text(STUB)
    lines = [f"Zeile {number}." for number in range(7)]
    (tmp_path / "in.de").write_text(
        "".join(f"{line}\n" for line in ["bad", *lines] if is_bad or line != "bad")
    )
    done = run_script(
        "benchmark_serve",
        [
            "--source", "in.de", "--server", f"stub: {sys.executable} stub.py {{port}} asked.txt", "--clients", "1", "3",
            "--sentences", "1", "3", "--seconds", "0.4", "--warming", "0.1", "--json", "out.json",
        ],
        tmp_path,
    )  # fmt: skip
    if is_bad:
        assert done.returncode == 1
        assert "the server answered 500" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "out.json").read_text())
    assert [(row["sentences"], row["clients"]) for row in rows] == [(1, 1), (1, 3), (3, 1), (3, 3)]
    assert done.stdout.count("| stub |") == 4
    for row in rows:
        assert row["sentences_per_second"] == pytest.approx(row["answers"] * row["sentences"] / 0.4, rel=0.5)
        assert 0 < row["median_seconds"] <= row["seconds_99"]
        assert row["memory_gb"] > 0
        assert row["unanswered"] == 0
    asked = [json.loads(line) for line in (tmp_path / "asked.txt").read_text().splitlines()]
    assert all(
        path == "/translate" and {"source": "de", "target": "en"}.items() <= fields.items()
        for path, fields in asked
    )
    texts = [fields["q"] for _, fields in asked]
    assert set(texts[:7]) == set(lines)
    assert set(texts) == {*lines, " ".join(lines[:3]), " ".join(lines[3:6])}
