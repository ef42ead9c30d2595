"""Requests as programs for LibreTranslate send them, and what these programs read of the answers.

Mastodon, Weblate and Subtitle Edit: rebuilt from their source. libretranslatepy and deep_translator: the libraries
themselves, in test_server.py. argostranslate.apis: the library itself, where it is installed. The browser extension
Linguist, the batches of newer Mastodon and Weblate, and filters of Open WebUI: rebuilt from descriptions.
"""

import json

import pytest

TEXT = "Der Hund schläft."
OTHER = "Das ist mein Haus."
PAIR = {"source": "de", "target": "en"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(start, trained_run, tmp_path_factory):
    with start(tmp_path_factory.mktemp("clients"), f"run={trained_run}") as server:
        yield server


@pytest.fixture(scope="module")
def guarded(start, trained_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "keys.txt").write_text("one\n")
    with start(folder, f"run={trained_run}", "api_keys=keys.txt") as server:
        yield server


@pytest.fixture(scope="module")
def expected(server):
    return [server.form("/translate", q=text, **PAIR)[1]["translatedText"] for text in (TEXT, OTHER)]


def test_mastodon_asks_for_languages_and_their_targets(server):
    found = {one["code"]: one["targets"] for one in server.ask("/languages")[2]}
    assert "en" in found["de"]


@pytest.mark.parametrize("source", ["de", "auto"])
@pytest.mark.parametrize("is_list", [True, False])
def test_mastodon_translates_posts(server, expected, source, is_list):
    posts = [f"<p>{TEXT}</p>", f"<p>{OTHER}<br />{TEXT}</p>"]
    fields = {
        "q": posts if is_list else posts[0],
        "source": source,
        "target": "en",
        "format": "html",
        "api_key": None,
    }
    status, body = server.json("/translate", fields)
    assert status == 200
    found = body["translatedText"] if is_list else [body["translatedText"]]
    assert len(found) == (2 if is_list else 1)
    whole = [f"<p>{expected[0]}</p>", f"<p>{expected[1]}<br />{expected[0]}</p>"]
    assert found == (whole if is_list else whole[:1])
    if source == "auto":
        detected = body["detectedLanguage"] if is_list else [body["detectedLanguage"]]
        assert [one["language"] for one in detected] == ["de"] * len(found)


def test_mastodon_tells_a_wrong_key_from_a_busy_server(guarded):
    """Mastodon takes status 403 for a used-up quota, 429 for too many requests, and all others for unexpected."""
    fields = {"q": [TEXT], **PAIR, "format": "html"}
    assert guarded.json("/translate", {**fields, "api_key": "two"})[0] == 403
    assert guarded.json("/translate", {**fields, "api_key": None})[0] == 400


def test_weblate_sends_forms_and_newer_ones_lists(server, expected):
    codes = [one["code"] for one in server.ask("/languages")[2]]
    assert codes == ["de", "en"]
    assert server.form("/translate", api_key="", q=TEXT, **PAIR) == (200, {"translatedText": expected[0]})
    fields = {"api_key": "", "q": [TEXT, OTHER], **PAIR}
    assert server.json("/translate", fields) == (200, {"translatedText": expected})


def test_subtitle_edit_sends_a_body_that_it_wrote_by_hand(server, expected):
    body = f'{{"q": "{TEXT}", "source": "de", "target": "en"}}'.encode()
    status, headers, found = server.ask("/translate", body, {**JSON, "accept": "application/json"})
    assert (status, found["translatedText"]) == (200, expected[0])
    assert headers["Content-Type"] == "application/json"


def test_linguist_sends_parts_without_a_file(server, expected):
    boundary = "----WebKitFormBoundaryA1"
    fields = {"q": TEXT, "source": "auto", "target": "en", "format": "text"}
    parts = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    kind = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Origin": "https://a.example"}
    status, headers, found = server.ask("/translate", f"{parts}--{boundary}--\r\n".encode(), kind)
    assert status == 200
    assert found["translatedText"] == expected[0]
    assert found["detectedLanguage"]["language"] == "de"
    assert headers["Access-Control-Allow-Origin"] == "*"
    # A browser asks first whether it may send JSON to another host.
    asking = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    assert server.ask("/translate", headers=asking, method="OPTIONS")[0] == 200


def test_a_filter_of_open_webui_translates_messages_to_and_fro(server, expected):
    body = json.dumps({"q": TEXT, "source": "auto", "target": "en", "format": "text", "api_key": ""}).encode()
    status, _, found = server.ask("/translate", body, {**JSON, "accept": "application/json"})
    assert (status, found["translatedText"]) == (200, expected[0])
    back = {"q": expected[0], "source": "en", "target": "de"}
    status, found = server.json("/translate", back)
    assert status == 400
    assert "not available as a target language" in found["error"]


def test_argostranslate_has_a_client(server, expected):
    apis = pytest.importorskip("argostranslate.apis")
    client = apis.LibreTranslateAPI(server.url)
    assert client.translate(TEXT, "de", "en") == expected[0]
    assert client.detect(TEXT)[0]["language"] == "de"
