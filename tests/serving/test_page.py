"""The page of a server, as a person uses it: in a browser that is cut off from everything but that server."""

import json
import time

import pytest
from browser import find_chromium
from person import SHOWN, Person

if find_chromium() is None:
    pytest.skip("no Chromium here", allow_module_level=True)

TEXT = "Der alte Mann sieht den kleinen Hund,\nund das Kind schläft."
HOSTILE = "<img src=x onerror=alert(1)> <script>alert(2)</script>"
# The elements that are cut off at the side of the window, and all styles that decide where lines of a text end.
BEYOND = "[...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.id)"
LAYOUT = """((one) => ['fontFamily', 'fontSize', 'fontWeight', 'letterSpacing', 'lineHeight', 'overflowWrap', 'padding', 'tabSize',
  'textAlign', 'unicodeBidi', 'whiteSpace', 'width', 'wordSpacing', 'wordBreak'].map((name) => getComputedStyle(one)[name]))"""


@pytest.fixture(scope="module")
def server(start, run_of, trained_run, tmp_path_factory):
    """Start a server of both directions between two languages."""
    folder = tmp_path_factory.mktemp("page")
    run_of(trained_run, folder / "back", "en", "de")
    with start(
        folder, f"runs=[{trained_run},back]", "suggestions=better.jsonl", "max_characters=200"
    ) as server:
        server.folder = folder
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    person = Person(tmp_path_factory.mktemp("profile"))
    yield person
    person.browser.close()


@pytest.fixture
def person(shared):
    """Return a person; after the test, assert that the page had no errors and no violations of its policy."""
    yield shared
    assert shared.js("window.violations") == []
    assert shared.browser.messages == []


def marked(person, side, kind):
    """Return the numbers of the marked words of a side."""
    script = f"[...{side}.children].flatMap((one, i) => one.classList.contains('{kind}') ? [i] : [])"
    return person.js(script)


@pytest.mark.parametrize("width", [390, 1280])
def test_it_translates_while_one_writes_and_marks_words_that_belong_together(person, server, width):
    person.open(f"{server.url}/", width)
    translated = person.translate(TEXT)
    asked = {"q": TEXT, "source": "auto", "target": "en", "details": True, "alternatives": 1}
    _, answer = server.json("/translate", asked)
    assert (translated, person.js("target.lang")) == (answer["translatedText"], "en")
    assert [json.loads(body) for body in person.js("asked.flatMap((one) => one.body ?? [])")] == [asked]
    details = answer["details"]
    assert person.js("[...target.children].map((one) => one.textContent)") == details["target"]
    assert person.js("[...mirror.children].map((one) => one.textContent)") == details["source"]
    links = details["alignment"]
    word = links[-1][1]  # of the second line
    person.point(f"target.children[{word}]")
    assert marked(person, "target", "marked") == [word]
    assert marked(person, "mirror", "linked") == [one for one, other in links if other == word]
    shown = "[...mirror.children].flatMap((one, i) => one.matches('.attended') ? [[i, one.style.getPropertyValue('--share')]] : [])"
    shares = [[one, f"{share:.0%}"] for one, other, share in details["attention"] if other == word]
    assert person.js(shown) == sorted(shares)
    said = f"{details['target'][word]} ← {details['source'][links[-1][0]]} · {details['confidences'][word]:.0%} sure"
    assert person.js("document.getElementById('word').textContent") == said.replace("%", " %")
    # A word of the text lies below the field.
    person.point(f"mirror.children[{links[0][0]}]")
    assert marked(person, "mirror", "marked") == [links[0][0]]
    assert marked(person, "target", "linked") == [other for one, other in links if one == links[0][0]]
    person.point("document.querySelector('h1')")
    assert person.js("document.querySelectorAll('.marked, .linked').length") == 0
    unsure = [i for i, sure in enumerate(details["confidences"]) if sure < 0.45]
    assert unsure
    assert marked(person, "target", "least") == unsure
    assert not person.js("document.getElementById('legend').hidden")
    assert person.js("document.documentElement.scrollWidth") == width
    assert person.js(BEYOND) == []
    # The field and what lies below it break their lines alike.
    assert person.js(f"{LAYOUT}(source)") == person.js(f"{LAYOUT}(mirror)")
    (other,) = person.js("[...document.querySelectorAll('#other-list button')].map((one) => one.textContent)")
    assert other == answer["alternatives"][0]
    person.click("document.querySelector('#other-list button')")
    assert person.js("target.textContent") == other
    assert person.js("document.querySelector('#other-list button').textContent") == translated


def test_answers_for_a_text_that_is_gone_are_given_up(person, server):
    late = "window.fakes.translate = ({ body }) => { const { q } = JSON.parse(body); return { late: q === 'old' ? 400 : 0, answer: { translatedText: `${q}!`, details: { source: [], target: [], alignment: [], attention: [], confidences: [] } } } };"
    settings = "window.fakes['frontend/settings'] = () => ({ late: 300, answer: { charLimit: -1, frontendTimeout: 50, language: { source: { code: 'de' }, target: { code: 'en' } } } });"
    person.open(f"{server.url}/", before=late + settings)
    # What is written before the server has said anything waits for it.
    person.write("old")
    person.press("Enter", 2)
    person.wait("asked.some((one) => one.body)")
    person.write("new")
    assert person.js("asked.filter((one) => one.body).map((one) => one.signal.aborted)") == [True]
    person.press("Enter", 2)
    person.wait("target.textContent")
    time.sleep(0.6)
    assert person.js("target.textContent") == "new!"
    assert person.js("asked.filter((one) => one.body).length") == 2
    assert person.js("asked.filter((one) => one.path === 'languages').length") == 1
    person.write("")
    person.press("Enter", 2)
    assert person.js("[target.textContent, document.getElementById('copy').disabled]") == ["", True]


def test_what_a_text_holds_is_text(person, server):
    answer = {
        "translatedText": HOSTILE, "alternatives": [HOSTILE + "2"], "detectedLanguage": {"confidence": 50, "language": HOSTILE},
        "details": {"source": HOSTILE.split(), "target": HOSTILE.split(), "alignment": [[0, 0]], "attention": [], "confidences": [0.5] * 5},
    }  # fmt: skip
    person.open(
        f"{server.url}/", before=f"window.fakes.translate = () => ({{ answer: {json.dumps(answer)} }});"
    )
    assert person.translate(HOSTILE) == HOSTILE
    person.point("target.children[0]")
    assert person.js("mirror.textContent") == HOSTILE + "\n"
    assert person.js("document.getElementById('word').textContent") == "<img ← <img · 50 % sure"
    assert person.js("document.querySelectorAll('main img, main script').length") == 0
    message = (
        f"window.fakes.translate = () => ({{ status: 400, answer: {{ error: {json.dumps(HOSTILE)} }} }})"
    )
    person.js(message)
    person.write("a")
    person.wait("!mistake.hidden")
    assert person.js("document.getElementById('mistake-text').textContent") == HOSTILE
    assert person.js("document.querySelectorAll('main img, main script').length") == 0


def test_swapping_languages_takes_the_translation_along(person, server):
    person.open(f"{server.url}/#de/en")
    translated = person.translate("Der Hund schläft.")
    person.press("s", 2 + 8)
    person.wait(
        f"source.value === {json.dumps(translated)} && asked.filter((one) => one.body).length === 2 && {SHOWN}"
    )
    assert person.js("location.hash") == "#en/de"
    back = server.json("/translate", {"q": translated, "source": "en", "target": "de"})[1]["translatedText"]
    assert person.js("[target.textContent, target.lang, source.lang]") == [back, "de", "en"]
    person.js("location.hash = '#de/en'")
    person.wait("document.getElementById('source-language').value === 'de'")
    person.js("location.hash = '#xx/en'")
    assert person.js("document.getElementById('source-language').value") == "de"
    person.translate("Der Hund schläft.")
    person.write("Das Buch ist neu.")
    person.press("s", 2 + 8)
    assert person.js("source.value") == "Das Buch ist neu.", "its translation has not come"


def test_all_of_it_can_be_done_with_keys(person, server):
    person.open(f"{server.url}/")
    person.translate(TEXT)
    person.click("document.querySelector('h1')")
    seen, visible = [], []
    for _ in range(12):
        person.press("Tab")
        seen.append(person.js("document.activeElement.id || document.activeElement.textContent.trim()"))
        ring = "getComputedStyle(document.activeElement).outlineStyle, getComputedStyle(document.activeElement.closest('.side') ?? document.body).boxShadow"
        visible.append(person.js(f"[{ring}].some((one) => one !== 'none')"))
    other = person.js("document.querySelector('#other-list button').textContent")
    assert seen == [
        "For programs", "theme", "source-language", "swap", "target-language", "source", "file", "clear", "target", "improve",
        "copy",        other,
    ]  # fmt: skip
    assert visible == [True] * 12
    person.js("target.focus()")
    person.press("ArrowRight")
    person.press("ArrowRight")
    assert marked(person, "target", "marked") == [1]
    assert "←" in person.js("document.getElementById('word').textContent"), "told by role=status"
    person.press("ArrowLeft")
    assert marked(person, "target", "marked") == [0]
    # The cursor in the text marks as the pointer does.
    person.js("source.focus(); source.setSelectionRange(5, 5)")
    person.wait("mirror.querySelector('.marked')?.textContent === 'alte'")
    nodes = person.browser.send("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "textbox", "combobox", "link", "group", "status"}
    found = [one for one in nodes if not one.get("ignored") and one["role"]["value"] in roles]
    assert [one for one in found if one["role"]["value"] != "status" and not one["name"]["value"]] == []
    assert len(found) > 10
    assert person.js("target.ariaLive") == "polite"


def test_dark_and_light_are_those_of_the_device_until_one_chooses(person, server):
    ground = "getComputedStyle(document.body).backgroundColor"
    colours = {}
    for scheme in ("dark", "light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        person.browser.send("Emulation.setEmulatedMedia", features=features)
        person.open(f"{server.url}/")
        colours[scheme] = person.js(ground)
    assert colours["dark"] != colours["light"]
    person.click("theme")
    assert person.js(ground) == colours["dark"]
    person.open(f"{server.url}/docs")
    assert (person.js(ground), person.js("theme.ariaPressed")) == (colours["dark"], "true")
    person.js("localStorage.clear()")
    person.open(f"{server.url}/")
    assert person.js(ground) == colours["light"]


def test_nothing_of_a_text_is_kept_or_in_an_address(person, server):
    person.open(f"{server.url}/")
    person.browser.requests.clear()
    person.open(f"{server.url}/")
    person.translate(TEXT)
    assert (
        person.js("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])") == '[{},{},""]'
    )
    assert not any("Mann" in url for url in person.browser.requests)
    others = [url for url in person.browser.requests if not url.startswith((server.url, "data:image/svg"))]
    assert set(others) <= {"about:blank"}


def test_limits_copying_suggestions_and_text_from_the_right(person, server):
    person.browser.send(
        "Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"]
    )
    person.open(f"{server.url}/")
    translated = person.translate(TEXT)
    person.click("document.getElementById('copy')")
    person.wait("state.textContent === 'Copied.'")
    assert person.js("navigator.clipboard.readText()") == translated
    person.click("document.getElementById('improve')")
    assert person.js("document.activeElement.id") == "suggestion"
    assert person.js("suggestion.value") == translated
    person.js("suggestion.value = 'The old man.'")
    person.press("Enter", 2)
    person.wait("state.textContent.startsWith('Thank you')")
    (line,) = (server.folder / "better.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["source"] == TEXT
    assert json.loads(line)["target"] == "The old man."
    person.click("document.getElementById('improve')")
    person.js("suggestion.value = 'The old man sees the dog.'")
    other = person.translate("Der Hund schläft.")
    assert person.js("[better.hidden, suggestion.value]") == [False, "The old man sees the dog."]
    person.js("location.hash = '#en/de'")
    person.wait("document.getElementById('source-language').value === 'en'")
    person.js("better.requestSubmit()")
    person.wait("state.textContent.startsWith('Thank you')")
    *_, line = (server.folder / "better.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(json.loads(line).values()) == [TEXT, "The old man sees the dog.", "de", "en"], "as it was"
    person.js("location.hash = '#de/en'")
    assert person.translate("Der Hund schläft.") == other
    person.click("document.getElementById('improve')")
    assert person.js("suggestion.value") == other
    person.write("🙂" * 200)
    person.wait("document.getElementById('count').textContent === '200 of 200'")
    asked = person.js("asked.length")
    person.write("🙂" * 201)
    person.wait("document.getElementById('count').classList.contains('wrong')")
    assert person.js("state.textContent") == "This server takes 200 characters at a time."
    assert person.js("document.getElementById('count').textContent") == "201 of 200: too long"
    person.press("Enter", 2)
    assert person.js("asked.length") == asked
    assert person.js("target.classList.contains('waiting')"), "it is not the translation of this text"
    person.write("مرحبا بالعالم")
    assert person.js("[source, mirror].map((one) => getComputedStyle(one).direction)") == ["rtl", "rtl"]


SETTINGS = """window.fakes['frontend/settings'] = () => ({ answer: {
  charLimit: -1, frontendTimeout: 10, keyRequired: true, suggestions: false, maxAlternatives: 0, filesTranslation: true,
  supportedFilesFormat: ['.txt'], language: { source: { code: 'auto', name: 'Auto Detect' }, target: { code: 'en' } } } });"""
# What the server answers, and what the person reads of it.
PLAIN = [
    (403, "Invalid API key", "Invalid API key"),
    (429, "Slowdown: 5 per 1 minute", "Too many requests: wait a moment, then go on."),
    (400, "Invalid request: missing q parameter", "missing q parameter"),
]


def test_keys_files_detection_and_errors(person, server, tmp_path):
    person.open(f"{server.url}/", before=SETTINGS)
    person.wait("!document.getElementById('key-row').hidden")
    person.js("document.getElementById('key').value = 'secret'")
    for status, error, message in PLAIN:
        person.js(
            f"fakes.translate = () => ({{ status: {status}, answer: {{ error: {json.dumps(error)} }} }})"
        )
        person.write(f"a{status}")
        person.wait(f"document.getElementById('mistake-text').textContent === {json.dumps(message)}")
    sent = json.loads(person.js("asked.at(-1).body"))
    assert (sent["api_key"], sent["source"]) == ("secret", "auto")
    assert person.js("localStorage.length") == 0
    person.click("keep")
    assert person.js("localStorage.getItem('key')") == "secret"
    answer = {"translatedText": "b", "detectedLanguage": {"confidence": 90, "language": "de"}}
    person.js(f"fakes.translate = () => ({{ answer: {json.dumps(answer)} }})")
    assert person.translate("a") == "b"
    assert (
        person.js("document.getElementById('source-language').selectedOptions[0].text") == "German (detected)"
    )
    person.click("swap")
    assert person.js("[location.hash, source.value]") == ["#en/de", "b"]
    address = {"translatedFileUrl": "http://inside:1/other/download_file/1.b.txt"}
    person.js(f"fakes.translate_file = () => ({{ answer: {json.dumps(address)} }})")
    (tmp_path / "a.txt").write_text("a")
    document = person.browser.send("DOM.getDocument")["root"]["nodeId"]
    node = person.browser.send("DOM.querySelector", nodeId=document, selector="#file")["nodeId"]
    person.browser.send("DOM.setFileInputFiles", nodeId=node, files=[str(tmp_path / "a.txt")])
    person.wait("saved.querySelector('a')")
    assert person.js("saved.querySelector('a').href") == f"{server.url}/download_file/1.b.txt"
    form = "[...asked.at(-1).body].map(([name, value]) => [name, value.name ?? value])"
    assert person.js(form) == [["source", "en"], ["target", "de"], ["api_key", "secret"], ["file", "a.txt"]]
    person.js("localStorage.clear()")


def test_a_file_is_translated(person, server, tmp_path):
    person.open(f"{server.url}/")
    person.wait("!document.getElementById('file-button').hidden")
    (tmp_path / "a.md").write_text("# Der *Hund* schläft.\n\n`bleibt`\n")
    document = person.browser.send("DOM.getDocument")["root"]["nodeId"]
    node = person.browser.send("DOM.querySelector", nodeId=document, selector="#file")["nodeId"]
    person.browser.send("DOM.setFileInputFiles", nodeId=node, files=[str(tmp_path / "a.md")])
    person.wait("saved.querySelector('a')")
    path = person.js("saved.querySelector('a').href").removeprefix(server.url)
    (words,) = server.ask(path)[2].split("\n\n`bleibt`\n")[:1]
    translated = server.json("/translate", {"q": "Der Hund schläft.", "source": "de", "target": "en"})[1]
    assert words.replace("*", "").replace("# ", "") == translated["translatedText"]
    person.write("Der Hund.")
    assert person.js("saved.querySelector('a').textContent") == "Save the translation of a.md"


def test_below_a_path_the_routes_are_shown_and_a_server_that_is_gone_is_said(
    person, start, trained_run, tmp_path
):
    with start(tmp_path, f"run={trained_run}", "url_prefix=/a/mt") as server:
        person.open(server.url + "/docs", 390)
        person.wait("document.querySelectorAll('.route').length > 5")
        assert person.js("document.documentElement.scrollWidth") == 390
        person.click("document.querySelector('.route .main')")
        person.wait("document.querySelector('.route .answer').textContent")
        assert '"translatedText"' in person.js("document.querySelector('.route .answer').textContent")
        assert f"curl '{server.url}/translate'" in person.js("document.querySelector('.route').textContent")
        person.open(server.url)
        assert person.js("location.href") == f"{server.url}/"
        assert (
            person.translate(TEXT)
            == server.json("/translate", {"q": TEXT, "source": "de", "target": "en"})[1]["translatedText"]
        )
        assert person.js("document.getElementById('source-language').length") == 1, "nothing to be detected"
    person.write("Der Hund.")
    person.wait("!mistake.hidden")
    assert person.js("document.getElementById('mistake-text').textContent") == "The server cannot be reached."
    assert "ERR_CONNECTION_REFUSED" in person.browser.messages.pop()


def test_a_page_that_is_cut_off_goes_on_when_it_is_told_to(person, server):
    person.open(f"{server.url}/")
    person.wait("!document.getElementById('source-language').disabled")
    person.browser.connect(False)
    person.write(TEXT)
    person.wait("!mistake.hidden")
    person.browser.connect(True)
    person.click("again")
    person.wait(SHOWN)
    assert person.js("mistake.hidden")
    assert "ERR_INTERNET_DISCONNECTED" in person.browser.messages.pop()


def test_nothing_from_elsewhere_can_run_in_it(person, server):
    person.open(f"{server.url}/")
    person.js(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\"><b style=\"color:red\">a</b>')"
    )
    person.wait("violations.length >= 2")
    assert person.js("window.ran") is None
    assert person.js("fetch('http://localhost:9/').then(() => 'sent', () => 'refused')") == "refused"
    for _ in range(200):  # the picture that is not there may be told of later than all else
        if any("404" in message for message in person.browser.messages):
            break
        person.js("new Promise((done) => setTimeout(done, 50))")
    assert any("404" in message for message in person.browser.messages)
    person.js("violations.length = 0")
    person.browser.messages.clear()
