"""The page that translates in the browser: its segmentation, its search, what it looks like, and what it asks for."""

import functools
import http.server
import json
import os
import random
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from browser import Browser, find_chromium
from vocabularies import KINDS, LETTERS, SYMBOLS, make_text, make_vocabulary, strange_lines

from nmt.data.tokenizer import Vocabulary
from nmt.errors import UserError
from nmt.export.web.runtime import PROGRAM, SCRIPT, VERSION, copy_runtime
from nmt.export.web.vocabulary import vocabulary_json
from nmt.layouts.pieces import UNUSED, _piece
from nmt.runs.languages import code_of, shown

SEGMENT = """
import { Vocabulary } from './segmentation.js';
import fs from 'fs';
const { vocabulary, lines, targets } = JSON.parse(fs.readFileSync(0, 'utf8'));
const read = new Vocabulary(vocabulary);
console.log(JSON.stringify([lines.map((line) => read.encode(line)), targets.map((ids) => read.decode(ids))]));
"""
ECHO = """
import { readFileSync } from 'node:fs';
import { Model } from './search.mjs';
const { language, tag, line } = JSON.parse(readFileSync(0, 'utf8'));
const model = new Model();
model.facts = { long_line: 5, max_source_tokens: 100, source_language: language };
model.source = { encode: (text) => text.split(/(?<=\\S) (?=\\S)/) };
model.target = { decode: (ids) => ids.join(' ') };
model.search = async (ids) => ids;
console.log(JSON.stringify(await model.translate(line, undefined, tag)));
"""
LOADED = """new Promise((done) => {
  const look = () => document.getElementById('translate').disabled ? setTimeout(look, 10) : done();
  look();
})"""
TRANSLATED = """new Promise((done) => {
  const target = document.getElementById('target');
  const look = () => target.textContent.split('\\n').length < %d || target.classList.contains('waiting')
    ? setTimeout(look, 10) : done(target.textContent);
  look();
})"""


@pytest.fixture(scope="session")
def text():
    """Return text to learn from."""
    return make_text()


def segment(vocabulary, lines, targets, folder):
    """Return the token ids of lines, and the texts of ids, by the page's own segmentation."""
    if shutil.which("node") is None:
        pytest.skip("no node here")
    segmentation = Path(vocabulary_json.__code__.co_filename).parent / "page" / "segmentation.js"
    (folder / "segmentation.mjs").write_bytes(segmentation.read_bytes())
    (folder / "run.mjs").write_text(SEGMENT.replace("segmentation.js", "segmentation.mjs"))
    given = {"vocabulary": vocabulary_json(vocabulary), "lines": lines, "targets": targets}
    done = subprocess.run(
        ["node", folder / "run.mjs"], input=json.dumps(given).encode(), stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("symbols", [(), SYMBOLS], ids=["plain", "symbols"])
@pytest.mark.parametrize(
    "options",
    [{}, {"normalization_rule_name": "nmt_nfkc_cf"}, {"remove_extra_whitespaces": False}],
    ids=["identity", "folded", "kept"],
)
@pytest.mark.parametrize(("kind", "byte_fallback"), [*KINDS, ("word", False)])
def test_segmentation_is_that_of_sentencepiece(kind, byte_fallback, options, symbols, text, tmp_path):
    vocabulary = make_vocabulary(text, kind, byte_fallback, symbols, **options)
    # Also names of special tokens, and marks that normalisation joins with the letter before them.
    lines = [*text.source, *text.target, *strange_lines(LETTERS + "\u0301\u0302\u200d"), "<s> </s>", "<0x41>"]
    ids = vocabulary.encode(lines)
    # Random sequences of ids as well, some of which are no text, such as bytes that are no UTF-8.
    chance = random.Random(1)
    targets = ids + [chance.choices(range(vocabulary.size), k=chance.randrange(12)) for _ in range(500)]
    found_ids, found_texts = segment(vocabulary, lines, targets, tmp_path)
    assert found_ids == ids
    assert found_texts == [vocabulary.decode(row) for row in targets]


def test_pieces_that_no_text_is_split_into_are_written_all_the_same(text, tmp_path):
    """The target of an imported model may have such pieces."""
    own = make_vocabulary(text, "unigram", False, ())
    model = own.model + b"".join(_piece(piece, UNUSED) for piece in ("▁nirgends", "xyzzy"))
    vocabulary = Vocabulary(model)
    new = vocabulary.pieces.index("▁nirgends"), vocabulary.pieces.index("xyzzy")
    found_ids, found_texts = segment(vocabulary, ["nirgends xyzzy"], [[*new, 20, *new]], tmp_path)
    assert found_ids == vocabulary.encode(["nirgends xyzzy"])
    assert not {*new} & {*found_ids[0]}
    assert found_texts == [vocabulary.decode([*new, 20, *new])]
    assert found_texts[0].startswith("nirgendsxyzzy")


@pytest.mark.parametrize(
    ("language", "tag", "line", "expected"),
    [
        ("de", "<2fr>", "Der Hund schläft im Garten. Alle sind müde.", "<2fr> Der Hund schläft im Garten. <2fr> Alle sind müde."),
        ("de", "<2fr>", "Der Hund.", "<2fr> Der Hund."),
        ("de", "<2fr>", " \u3000", ""),  # a blank line is not translated
        ("de", "<2fr>", " ☃ 🙂👍🏽", "☃ 🙂👍🏽"),  # nor are emoji
        ("de", "<2fr>", "\u200b", ""),
        ("de", "<2fr>", "⠓⠑⠇⠇⠕", "<2fr> ⠓⠑⠇⠇⠕"),
        ("de", "<2fr>", "Der Hund schläft im Garten. 🎉 🎉", "<2fr> Der Hund schläft im Garten. 🎉 🎉"),
        ("pt-BR", "", "Um dois três quatro cinco. Seis sete.", "Um dois três quatro cinco. Seis sete."),
        ("zh-Hans", "", "今 天 天 气 很 好。 我 们 走。", "今 天 天 气 很 好。我 们 走。"),
        (None, "", "One two three four five. Six.", "One two three four five. Six."),
    ],
)  # fmt: skip
def test_each_sentence_of_a_long_line_has_its_tag(language, tag, line, expected, tmp_path):
    """The page's own search runs around a model that echoes what it read."""
    if shutil.which("node") is None:
        pytest.skip("no node here")
    search = (Path(vocabulary_json.__code__.co_filename).parent / "page" / "search.js").read_text(
        encoding="utf-8"
    )
    (tmp_path / "search.mjs").write_text(
        re.sub("^import .*$", "", search, flags=re.MULTILINE), encoding="utf-8"
    )
    (tmp_path / "run.mjs").write_text(ECHO, encoding="utf-8")
    given = {"language": language, "tag": tag, "line": line}
    done = subprocess.run(
        ["node", tmp_path / "run.mjs"], input=json.dumps(given).encode(), stdout=subprocess.PIPE, check=True
    )
    assert json.loads(done.stdout) == {"text": expected, "isCut": False}


def test_languages_are_told_as_browsers_know_them():
    assert [shown(code_of(name)) for name in ("pt_BR", "zh_CN", "zh-TW", "en_text", "de")] == [
        "pt-BR", "zh-Hans", "zh-Hant", "en", "de"
    ]  # fmt: skip


def test_where_the_runtime_comes_from(tmp_path, monkeypatch, caplog):
    folder = tmp_path / "package"
    (folder / "dist").mkdir(parents=True)
    with pytest.raises(
        UserError, match=rf"^runtime: a folder with {SCRIPT} and .* is needed; got .*package$"
    ):
        copy_runtime(str(folder), tmp_path / "to")
    (folder / "dist" / SCRIPT).write_bytes(b"script")
    (folder / "dist" / PROGRAM).write_bytes(b"program")
    for given in (folder, folder / "dist"):
        to = tmp_path / f"to-{given.name}"
        (folder / "package.json").write_text(json.dumps({"version": VERSION}))
        assert copy_runtime(str(given), to) == VERSION
        assert (to / PROGRAM).read_bytes() == b"program"
        assert not caplog.records
        shutil.rmtree(to)
    (folder / "package.json").write_text('{"version": "0.1"}')
    assert copy_runtime(str(folder), tmp_path / "to") == "0.1"
    assert "was tried with" in caplog.text
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"^runtime: a folder of onnxruntime-web is needed where npm is not"):
        copy_runtime(None, tmp_path / "other")


def test_npm_that_fetches_nothing_is_no_traceback(tmp_path, monkeypatch):
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error no network' >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    with pytest.raises(UserError, match=r"^runtime: .* where npm cannot fetch it; got npm error no network$"):
        copy_runtime(None, tmp_path / "to")


@pytest.fixture
def runtime():
    """Return the folder of the npm package, in node_modules beside these tests or of NODE_PATH; else skip."""
    for modules in [
        Path(__file__).parents[2] / "node_modules",
        *map(Path, os.environ.get("NODE_PATH", "").split(":")),
    ]:
        if (folder := modules / "onnxruntime-web").is_dir():
            return folder
    pytest.skip("no onnxruntime-web in node_modules or NODE_PATH")


@pytest.fixture
def serve():
    """Return a function that serves a folder at an address of this machine."""
    servers = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    def start(folder):
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=folder)
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_the_page_translates_as_nmt_does_and_asks_nobody_else(trained_run, nmt, runtime, serve, tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    if find_chromium() is None:
        pytest.skip("no Chromium here")
    done = nmt("export", f"run={trained_run}", "format=web", "output=web", f"runtime={runtime}", timeout=300)
    assert b"20  token by token" in done.stdout
    assert "MIT License" in (tmp_path / "web" / "LICENSES.md").read_text(encoding="utf-8")
    lines = [
        "Der Hund schläft.",
        "",
        "Die Lehrerin kauft ein Buch, und ein Mann liest.",
        "EIN MANN <b>liest</b>",
    ]
    done = nmt("translate", f"run={trained_run}", "precision=float32", stdin="\n".join(lines).encode())
    expected = done.stdout.decode().removesuffix("\n")
    assert len(set(expected.split("\n"))) > 2
    address = serve(tmp_path / "web")
    browser = Browser(tmp_path / "profile", is_offline=False)
    try:
        for width in (390, 1280):
            browser.open(f"{address}/index.html", width)
            browser.evaluate(LOADED)
            browser.connect(False)
            assert browser.evaluate("document.title") == "German to English"
            browser.evaluate("document.getElementById('source').focus()")
            browser.send("Input.insertText", text="\n".join(lines))
            assert browser.evaluate(TRANSLATED % len(lines)) == expected
            assert browser.evaluate("document.documentElement.scrollWidth") == width
            browser.connect(True)
        assert (
            browser.evaluate("fetch('http://localhost:9/').then(() => 'sent', () => 'refused')") == "refused"
        )
        assert any("Content Security Policy" in message for message in browser.messages)
        assert {"/".join(url.split("/")[:3]) for url in browser.requests} == {address}
    finally:
        browser.close()
