"""The same requests to `nmt serve` and to the real LibreTranslate 1.9.6, which has the same model from `nmt export`.

`LIBRETRANSLATE_PYTHON` names the Python of an environment with `libretranslate==1.9.6`; without it nothing is compared:

    LIBRETRANSLATE_PYTHON=…/bin/python python -m pytest -m slow tests/serving/test_libretranslate.py
"""

import json
import os
import socket
import subprocess
import time
import urllib.parse
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from command_line import SCRIPTS, run_command

PYTHON = os.environ.get("LIBRETRANSLATE_PYTHON")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        PYTHON is None, reason="LIBRETRANSLATE_PYTHON names no Python with libretranslate==1.9.6"
    ),
]

TEXT = "Der Hund schläft."
PAIR = {"source": "de", "target": "en"}
FULL = {"q": TEXT, **PAIR}
KEYED = {**FULL, "api_key": "one"}
JSON, FORM = {"Content-Type": "application/json"}, {"Content-Type": "application/x-www-form-urlencoded"}
PARTS = {"Content-Type": "multipart/form-data; boundary=x"}


class Request(NamedTuple):
    """A request to both servers, with a name."""

    name: str
    path: str
    body: bytes | None = None
    headers: dict[str, str] = {}
    method: str | None = None


def parts_of(fields, file=None):
    """Return a form of parts, with a file where one is given as its name and content."""
    head = '--x\r\nContent-Disposition: form-data; name="{}"'
    parts = [f"{head.format(name)}\r\n\r\n{value}\r\n" for name, value in fields.items()]
    if file is not None:
        parts.append(f'{head.format("file")}; filename="{file[0]}"\r\n\r\n{file[1]}\r\n')
    return "".join([*parts, "--x--\r\n"]).encode()


def in_json(name, path, fields):
    return Request(f"{name}, JSON", path, json.dumps(fields).encode(), JSON)


def in_form(name, path, fields):
    return Request(f"{name}, form", path, urllib.parse.urlencode(fields).encode(), FORM)


def carried(name, path, fields):
    """Return a request for each way to send its fields."""
    query = f"{path}?{urllib.parse.urlencode(fields)}"
    return [
        in_json(name, path, fields),
        in_form(name, path, fields),
        Request(f"{name}, parts", path, parts_of(fields), PARTS),
        Request(f"{name}, address", query, b"", {}, "POST"),
    ]


# Fields of /translate: each is sent as JSON and as a form.
FIELDS = {
    "no text": {**FULL, "q": ""},
    "no fields": {},
    "no source": {"q": TEXT, "target": "en"},
    "no target": {"q": TEXT, "source": "de"},
    "unknown source": {**FULL, "source": "XX"},
    "unknown target": {**FULL, "target": "yy"},
    "both unknown, and another format": {**FULL, "source": "xx", "target": "yy", "format": "pdf"},
    "another format": {**FULL, "format": "pdf"},
    "empty format": {**FULL, "format": ""},
    "html": {**FULL, "q": f"<p>{TEXT}</p>", "format": "html"},
    "html and alternatives": {**FULL, "q": f"<p>{TEXT}</p>", "format": "html", "alternatives": 1},
    "detected": {**FULL, "source": "auto"},
    "detected, upper case": {**FULL, "source": "AUTO", "target": "EN"},
    "to itself": {**FULL, "target": "de"},
    "no such pair": {"q": TEXT, "source": "en", "target": "de"},
    "no such pair, and another format": {"q": TEXT, "source": "en", "target": "de", "format": "pdf"},
    "an alternative": {**FULL, "alternatives": 1},
    "no alternatives": {**FULL, "alternatives": 0},
    "fewer than none": {**FULL, "alternatives": -3},
    "too many alternatives": {**FULL, "alternatives": 9},
    "alternatives that are no number": {**FULL, "alternatives": "x"},
    "alternatives as text": {**FULL, "alternatives": "1"},
    "too many, and no source": {"q": TEXT, "target": "en", "alternatives": 9},
    "emoji": {**FULL, "q": "🙂"},
    "emoji, detected": {**FULL, "q": "🙂", "source": "auto"},
    "spaces": {**FULL, "q": "  "},
    "two lines": {**FULL, "q": f"{TEXT}\n{TEXT}"},
    "an unknown field": {**FULL, "secret": "x", "more": "y"},
}
PLAIN = [
    *carried("text", "/translate", {**FULL, "format": "text"}),
    *(in_json(name, "/translate", fields) for name, fields in FIELDS.items()),
    *(in_form(name, "/translate", fields) for name, fields in FIELDS.items()),
    in_json("a list", "/translate", {**FULL, "q": [TEXT, "🙂", TEXT]}),
    in_json("a list, detected", "/translate", {**FULL, "q": [TEXT, TEXT], "source": "auto"}),
    in_json("a list and alternatives", "/translate", {**FULL, "q": [TEXT, TEXT], "alternatives": 1}),
    in_json("a list, html", "/translate", {**FULL, "q": [f"<b>{TEXT}</b>"], "format": "html"}),
    in_json("an empty list", "/translate", {**FULL, "q": []}),
    in_json("null", "/translate", {**FULL, "q": None}),
    in_json("a key of null", "/translate", {**FULL, "api_key": None}),
    in_json("alternatives of null", "/translate", {**FULL, "alternatives": None}),
    in_json("a number for a text", "/translate", {**FULL, "q": 5}),
    in_json("null in a list", "/translate", {**FULL, "q": [TEXT, None]}),
    in_json("a list as source", "/translate", {**FULL, "source": ["de"]}),
    Request("JSON that is none", "/translate", b'{"q": ', JSON),
    Request("no JSON at all", "/translate", b"", JSON),
    Request("a list in place of an object", "/translate", b"[1]", JSON),
    Request("JSON of another kind", "/translate", json.dumps(FULL).encode(), {"Content-Type": "application/a+json"}),
    Request("JSON and an address", "/translate?q=a&source=de", b"{}", JSON),
    Request("a form and an address", "/translate?q=a", urllib.parse.urlencode(PAIR).encode(), FORM),
    Request("two texts in a form", "/translate", urllib.parse.urlencode([("q", TEXT), ("q", "x"), *PAIR.items()]).encode(), FORM),
    Request("nothing", "/translate", b""),
    *(Request(f"{method} {path}", path, None, {}, method)
      for method in ("GET", "PUT", "DELETE", "OPTIONS")
      for path in ("/translate", "/languages", "/detect", "/frontend/settings", "/health", "/nowhere")),
    Request("languages, asked with a body", "/languages", b"", {}, "GET"),
    Request("languages, posted", "/languages", b"", FORM, "POST"),
    Request("health, posted", "/health", b"", FORM, "POST"),
    *carried("language", "/detect", {"q": "Der Hund schläft in dem Haus meiner Mutter, und die Katze nicht."}),
    in_json("languages of a list", "/detect", {"q": [TEXT, TEXT]}),
    in_form("language of nothing", "/detect", {}),
    in_json("language of nothing", "/detect", {"q": ""}),
    in_form("no suggestions", "/suggest", {**FULL, "s": "A dog."}),
    in_form("no suggestions, no fields", "/suggest", {}),
    Request("a file", "/translate_file", parts_of(PAIR, ("a.txt", TEXT)), PARTS),
    Request("a file of another kind", "/translate_file", parts_of(PAIR, ("a.xyz", TEXT)), PARTS),
    Request("a file without a source", "/translate_file", parts_of({"target": "en"}, ("a.txt", TEXT)), PARTS),
    Request("a file without a target", "/translate_file", parts_of({"source": "de"}, ("a.txt", TEXT)), PARTS),
    Request("a file of an unknown source", "/translate_file", parts_of({**PAIR, "source": "xx"}, ("a.txt", TEXT)), PARTS),
    Request("a file without a name", "/translate_file", parts_of(PAIR, ("", TEXT)), PARTS),
    Request("no file", "/translate_file", parts_of(PAIR), PARTS),
    Request("a file that is not there", "/download_file/a.txt"),
    Request("the page", "/"),
    Request("the routes", "/spec"),
    Request("metrics", "/metrics"),
]  # fmt: skip
GUARDED = [
    *carried("a key", "/translate", KEYED),
    *carried("no key", "/translate", FULL),
    *carried("a wrong key", "/translate", {**FULL, "api_key": "two"}),
    in_json("a wrong key and nothing else", "/translate", {"api_key": "two"}),
    in_json("an empty key", "/translate", {**FULL, "api_key": ""}),
    in_json("null for a key", "/translate", {**FULL, "api_key": None}),
    Request("a key, and JSON that is none", "/translate", b"{", JSON),
    *(in_form(name, path, fields) for path in ("/detect", "/suggest")
      for name, fields in {f"{path} without a key": {}, f"{path} with a wrong key": {"api_key": "two"}}.items()),
    in_json("a text that is too long", "/translate", {**KEYED, "q": "a" * 21}),
    in_form("a text that is too long", "/translate", {**KEYED, "q": "a" * 21, "source": "xx"}),
    in_form("line ends count one", "/translate", {**KEYED, "q": "\r\n".join("a" * 10)}),
    in_json("a text as long as may be", "/translate", {**KEYED, "q": "ä" * 20}),
    in_json("too many texts", "/translate", {**KEYED, "q": ["a"] * 3}),
    in_json("too many texts, too long", "/translate", {**KEYED, "q": ["a" * 21] * 3}),
    in_json("a text of two that is too long", "/translate", {**KEYED, "q": ["a", "a" * 22]}),
    *(request for missing in ("q", "s", "source", "target")
      for request in carried(f"a suggestion without {missing}", "/suggest",
                             {name: value for name, value in {**KEYED, "s": "A dog."}.items() if name != missing})),
    *carried("a suggestion", "/suggest", {**KEYED, "s": "A dog."}),
    in_form("a suggestion that is too long", "/suggest", {**KEYED, "s": "a" * 21}),
    in_form("a suggestion in an unknown language", "/suggest", {**KEYED, "s": "a", "target": "xx"}),
    Request("languages", "/languages"),
    Request("settings", "/frontend/settings"),
    Request("health", "/health"),
]  # fmt: skip

BETTER = "LibreTranslate fails with status 500, or says nothing of what was wrong"
GUARDS_SUGGESTIONS = "nmt takes suggestions of those who have a key alone, and as texts to train on"
# Requests whose answers must differ, and why.
DIFFERENT = {
    "the routes": "each server describes its own",
    "settings": "nmt also says how many alternatives may be asked for, which its page needs",
    **dict.fromkeys((
        "alternatives that are no number, JSON", "alternatives of null, JSON", "a number for a text, JSON",
        "null in a list, JSON", "a list as source, JSON", "JSON that is none", "no JSON at all",
        "a key, and JSON that is none", "a file that is not there", "no file",
    ), BETTER),
    **dict.fromkeys((
        "/suggest without a key, form", "/suggest with a wrong key, form", "a suggestion that is too long, form",
        "a suggestion in an unknown language, form",
    ), GUARDS_SUGGESTIONS),
    "GET /frontend/settings": "the formats of files are others",
    "OPTIONS /nowhere": "nmt answers whether pages of other hosts may ask before it looks for the route",
    "metrics": "LibreTranslate has them where it is told to",
}  # fmt: skip


def shape(value):
    """Return the shape of an answer: its keys and the types of their values, in a list in any order."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in sorted(value.items())}
    if isinstance(value, list):
        return sorted((shape(one) for one in value), key=json.dumps)
    return "number" if type(value) in (int, float) else type(value).__name__


def seen(server, request):
    """Return what a client sees of an answer: the words of an error, or a shape, or only the status of a page."""
    status, headers, body = server.ask(request.path, request.body, request.headers, request.method)
    is_page = status in (404, 405) or headers.get_content_type() != "application/json"
    if is_page:
        return status, None, {}
    cross = {
        name.lower(): value for name, value in headers.items() if name.lower().startswith("access-control-")
    }
    return status, body if "error" in body else shape(body), cross


@pytest.fixture(scope="module")
def package(trained_run, tmp_path_factory):
    """Export the run."""
    pytest.importorskip("ctranslate2")
    folder = tmp_path_factory.mktemp("package")
    done = run_command(["export", f"run={trained_run}", "format=argos", "output=argos"], folder)
    assert done.returncode == 0, done.stderr.decode()
    (path,) = (folder / "argos").glob("*.argosmodel")
    return path


@contextmanager
def libretranslate(kind, package, folder, *options, prefix=""):
    """Run the real LibreTranslate; `kind` is the class of the servers here."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = PYTHON, SCRIPTS / "libretranslate_offline.py", package, folder, "--port", str(port)
    log = folder / "log"
    with (
        log.open("w") as output,
        subprocess.Popen([*program, *options], stdout=output, stderr=output) as process,
    ):
        try:
            deadline = time.monotonic() + 120
            while True:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.2)
            yield kind(process, f"http://127.0.0.1:{port}{prefix}", [])
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def plain(start, trained_run, package, tmp_path_factory):
    """Start both with their defaults, but for one alternative, since the beam of the run has no more."""
    folder = tmp_path_factory.mktemp("plain")
    with (
        start(folder, f"run={trained_run}", "max_alternatives=1") as ours,
        libretranslate(type(ours), package, folder, "--alternatives-limit", "1") as theirs,
    ):
        yield ours, theirs


@pytest.fixture(scope="module")
def guarded(start, trained_run, package, tmp_path_factory):
    """Start both with keys, limits and suggestions, below a path."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "keys.txt").write_text("one\n")
    adding = "from libretranslate.api_keys import Database; Database('db/api_keys.db').add(100000, 'one')"
    subprocess.run([PYTHON, "-W", "ignore", "-c", adding], cwd=folder, check=True)
    options = (
        "--api-keys", "--require-api-key-origin", "https://a.example", "--get-api-key-link", "https://b.example/",
        "--char-limit", "20", "--batch-limit", "2", "--suggestions", "--url-prefix", "/mt", "--disable-files-translation",
    )  # fmt: skip
    with (
        start(
            folder, f"run={trained_run}", "max_alternatives=1", "api_keys=keys.txt", "api_key_link=https://b.example/",
            "max_characters=20", "max_texts=2", "suggestions=better.jsonl", "url_prefix=/mt",
        ) as ours,
        libretranslate(type(ours), package, folder, *options, prefix="/mt") as theirs,
    ):  # fmt: skip
        yield ours, theirs


def compare(servers, request):
    """Assert that both answer alike, or differently where DIFFERENT says so."""
    ours, theirs = (seen(server, request) for server in servers)
    if request.name in DIFFERENT:
        assert ours != theirs, f"no longer different: {DIFFERENT[request.name]}"
    else:
        assert ours == theirs, f"{ours[:2]}, and LibreTranslate: {theirs[:2]}"


@pytest.mark.parametrize("one", PLAIN, ids=lambda one: one.name)
def test_both_answer_alike(plain, one):
    compare(plain, one)


@pytest.mark.parametrize("one", GUARDED, ids=lambda one: one.name)
def test_both_answer_alike_with_keys_and_limits(guarded, one):
    compare(guarded, one)


def test_the_list_of_differences_is_of_what_is_asked():
    names = [one.name for one in (*PLAIN, *GUARDED)]
    assert len(set(names)) == len(names)
    assert DIFFERENT.keys() <= set(names)


def test_languages_and_settings_are_the_same(plain):
    """But for the order of languages: LibreTranslate puts English first, and shows the second language at first."""
    ours, theirs = (
        [server.ask(path)[2] for path in ("/languages", "/frontend/settings")] for server in plain
    )
    assert sorted(ours[0], key=str) == sorted(theirs[0], key=str)
    assert ours[1].pop("maxAlternatives") == 1
    for name in ("filesTranslation", "supportedFilesFormat", "language"):
        ours[1].pop(name), theirs[1].pop(name)
    assert ours[1] == theirs[1]


def test_the_client_of_argos_translate_understands_both(plain):
    program = (
        "import sys; from argostranslate.apis import LibreTranslateAPI as API; api = API(sys.argv[1]); "
        "print(api.translate('Der Hund schläft.', 'de', 'en')); print(api.detect('Der Hund schläft in dem Haus.'))"
    )
    for server in plain:
        done = subprocess.run(
            [PYTHON, "-W", "ignore", "-c", program, server.url], capture_output=True, text=True, check=True
        )
        translation, detected = done.stdout.splitlines()
        assert translation
        assert "'language': 'de'" in detected
