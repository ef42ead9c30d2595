"""What the server says of itself, `/spec`, against its routes and its answers; the files of its page; details of words."""

import shutil
import urllib.request
from unittest.mock import Mock

import pytest

from nmt.decoding.translation import Candidate, Translation
from nmt.serving.app import make_app
from nmt.serving.details import details_of
from nmt.serving.pages import pages

jsonschema = pytest.importorskip("jsonschema")
pytest.importorskip("starlette")
ASSETS = {route.path for route in pages("")} - {"/spec"}
TEXT = "Der Hund schläft."


@pytest.fixture(scope="module")
def server(start, trained_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(trained_run, folder / "run")
    # A run without confidence curves gives no confidences.
    (folder / "run" / "confidence.json").unlink()
    with start(folder, "run=run", "suggestions=better.jsonl", "url_prefix=/mt") as server:
        yield server


@pytest.fixture(scope="module")
def spec(server):
    return server.ask("/spec")[2]


def body_of(spec, path):
    return spec["paths"][path]["post"]["requestBody"]["content"]["application/json"]


def check(spec, path, method, status, answer):
    """Assert that an answer is as the description says."""
    said = spec["paths"][path][method]["responses"][str(status)]
    if "$ref" in said:
        said = spec["components"]["responses"][said["$ref"].split("/")[-1]]
    check_schema(spec, said["content"]["application/json"]["schema"], answer)


def check_schema(spec, schema, content):
    jsonschema.Draft202012Validator({**schema, "components": spec["components"]}).validate(content)


def test_the_routes_are_those_that_are_described(server, spec, monkeypatch):
    found = []

    def note(routes, **_):
        found.extend(routes)
        return Mock()

    monkeypatch.setattr("starlette.applications.Starlette", note)
    service = Mock()
    service.settings.url_prefix, service.settings.max_bytes = "", 1
    make_app(service)
    there = {(route.path, *sorted(route.methods - {"HEAD"})) for route in found if route.path not in ASSETS}
    assert there == {(path, method.upper()) for path, methods in spec["paths"].items() for method in methods}
    assert spec["servers"] == [{"url": "/mt"}]


def test_answers_are_as_described(server, spec):
    for path, methods in spec["paths"].items():
        if "get" in methods and path != "/metrics" and "{" not in path:
            status, _, answer = server.ask(path)
            check(spec, path, "get", status, answer)
    for path in ("/translate", "/detect", "/suggest"):
        body = body_of(spec, path)
        check_schema(spec, body["schema"], body["example"])
        check(spec, path, "post", *server.json(path, body["example"]))
        status, answer = server.json(path, {})
        assert status == 400
        check(spec, path, "post", status, answer)
    asked = {**body_of(spec, "/translate")["example"], "source": "auto", "alternatives": 1, "details": True}
    for texts in (TEXT, [TEXT, "\n🙂"]):
        fields = {**asked, "q": texts}
        check_schema(spec, body_of(spec, "/translate")["schema"], fields)
        status, answer = server.json("/translate", fields)
        assert set(answer) == {"translatedText", "alternatives", "details", "detectedLanguage"}
        check(spec, "/translate", "post", status, answer)
    with pytest.raises(jsonschema.ValidationError):  # the check can fail
        check(spec, "/translate", "post", 200, {**answer, "other": 1})


def test_details_are_asked_for(server):
    fields = {"q": f"{TEXT}\n\n🙂\nEin Mann liest.", "source": "de", "target": "en"}
    plain = server.json("/translate", fields)[1]
    assert set(plain) == {"translatedText"}
    for no in (False, None, "false", ""):
        assert server.json("/translate", {**fields, "details": no})[1] == plain
    for yes in (True, "true"):
        answer = server.json("/translate", {**fields, "details": yes})[1]
        assert answer["translatedText"] == plain["translatedText"]
        details = answer["details"]
        assert details["source"] == fields["q"].split()
        assert details["target"] == plain["translatedText"].split()
        assert details["confidences"] == [None] * len(details["target"])
        first, _, emoji, _ = (line.split() for line in plain["translatedText"].split("\n"))
        assert emoji == ["🙂"]
        for source, target in details["alignment"]:
            is_last = target > len(first)
            assert source in (range(4, 7) if is_last else range(3))
        of_target = {target for _, target in details["alignment"]}
        assert of_target == set(range(len(details["target"]))) - {len(first)}
    assert server.form("/translate", **fields, details="true") == (200, answer)
    message = "Invalid request: details parameter is neither true nor false"
    for wrong in ("yes", 2, [True]):
        assert server.json("/translate", {**fields, "details": wrong}) == (400, {"error": message})
    same = server.json("/translate", {**fields, "target": "de", "details": True})[1]
    assert same["translatedText"] == fields["q"]
    assert same["details"]["target"] == fields["q"].split()


def test_words_of_all_lines_are_counted_through():
    sure = Candidate("the  dog", alignment=[(0, 0), (1, 1)], word_confidences=[0.5, 0.123456])
    shares = [(0, 1, 0.123456), (7, 0, 1.0), (0, 7, 1.0)]
    # Links and confidences for other numbers of words.
    unknown = Candidate(
        "a b", None, [], [], [(0, 1), (7, 0), (0, 7)], word_confidences=[0.5], attention=shares
    )
    lines = [Translation("der Hund", [sure]), Translation(" ", [Candidate(" ")]), Translation("x", [unknown])]
    assert details_of(lines) == {
        "source": ["der", "Hund", "x"], "target": ["the", "dog", "a", "b"],
        "alignment": [(0, 0), (1, 1), (2, 3)], "attention": [(2, 3, 0.1235)],
        "confidences": [0.5, 0.1235, None, None],
    }  # fmt: skip


def test_files_of_the_page_are_sent_once_and_say_what_may_run(server):
    kinds = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    for path in ASSETS | {"/spec"}:
        status, headers, body = server.ask(path)
        kind = "application/json" if path == "/spec" else kinds.get(path.rpartition(".")[2], "text/html")
        assert (status, headers.get_content_type()) == (200, kind)
        policy = dict(one.strip().split(" ", 1) for one in headers["Content-Security-Policy"].split(";"))
        assert (policy["default-src"], policy["script-src"], policy["connect-src"]) == (
            "'none'",
            "'self'",
            "'self'",
        )
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")
        assert headers["Cache-Control"] == "no-cache"
        for known in (headers["ETag"], f'"x", W/{headers["ETag"]}'):
            status, again, body = server.ask(path, headers={"If-None-Match": known})
            assert (status, body, again["ETag"]) == (304, "" if path != "/spec" else body, headers["ETag"])
        assert server.ask(path, headers={"If-None-Match": '"x"'})[0] == 200
    assert server.ask("/page.py")[0] == server.ask("/../service.py")[0] == 404


def test_addresses_in_the_page_are_relative_and_it_holds_no_script_of_its_own(server):
    for path in ("/", "/docs"):
        page = server.ask(path)[2]
        assert "<script>" not in page
        assert " style=" not in page
        assert " on" not in page.replace(" on ", "").replace(" once", "")
        for attribute in ("href=", "src="):
            addresses = [one.split('"')[1] for one in page.split(attribute)[1:]]
            assert addresses
            assert not [one for one in addresses if one.startswith(("/", "http", "data"))]


def test_the_prefix_leads_to_the_page(server):
    with urllib.request.urlopen(server.url, timeout=60) as answer:
        assert answer.url == f"{server.url}/"
        assert b"<title>Translate</title>" in answer.read()
