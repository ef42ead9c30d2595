"""One line says what keeps a server from starting; which languages a run has; an exported folder."""

import asyncio
import json
import resource
import shutil
import socket

import pytest

from nmt.cli.compose import compose
from nmt.errors import SettingsError
from nmt.serving import language_pairs
from nmt.serving.refusal import Refused
from nmt.serving.service import Service


def service(*overrides):
    return Service.load(compose("serve", ["device=cpu", *overrides], None).settings())


@pytest.fixture
def nameless(trained_run, tmp_path):
    """Copy a run whose text does not say which languages it is of."""
    shutil.copytree(trained_run, tmp_path / "nameless")
    path = tmp_path / "nameless" / "config.json"
    settings = json.loads(path.read_text())
    del settings["data"]
    path.write_text(json.dumps(settings))
    return tmp_path / "nameless"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "run: the folder of a run is needed, or several as runs=[A,B]; got null"),
        (["runs=[a,b]", "source_language=de"], "source_language: null is needed with several runs; got de"),
        (["runs=[RUN,./RUN]"], "runs: one run for each pair of languages is needed; got RUN and ./RUN, both for de to en"),
        (["run=RUN", "api_keys=none.txt"], "api_keys: a text file with a key in each line is needed; got none.txt"),
        (["run=RUN", "api_keys=empty.txt"], "api_keys: a file with a key in each line is needed; got none in empty.txt"),
        (["run=RUN", "api_key_link=x"], "api_key_link: null is needed without api_keys; got x"),
        (["run=RUN", "suggestions=none/x"], "suggestions: a file that can be written is needed; got none/x: No such file"),
        (["run=RUN", "url_prefix=mt/"], "url_prefix: "),
        (["run=RUN", "port=PORT"], "port: a port that is free, at an address of this machine (host), is needed; got 127.0.0.1:PORT"),
        (["run=RUN", "host=a..b"], "port: a port that is free, at an address of this machine (host), is needed; got a..b:0: no name"),
        (["run=RUN", "host=203.0.113.1"], "port: a port that is free, at an address of this machine (host), is needed; got 203.0.113.1:0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(main, trained_run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "RUN").symlink_to(trained_run)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = [one.replace("PORT", port) for one in arguments]
        code, out, error = main("serve", *(["port=0"] if given == arguments else []), *given)
    assert error.startswith(f"nmt: {message.replace('PORT', port)}"), error
    assert (code, out, error.count("\n")) == (2, "", 1)


def test_a_port_that_another_has_taken_meanwhile_is_said_in_one_line(main, trained_run, monkeypatch):
    """Both have bound it; the other one was ready to listen first."""
    other = socket.socket()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    other.bind(("127.0.0.1", 0))
    port = other.getsockname()[1]
    load = Service.load

    def load_while_the_other_begins(settings):
        loaded = load(settings)
        other.listen()
        return loaded

    monkeypatch.setattr(Service, "load", load_while_the_other_begins)
    with other:
        code, _, error = main("serve", f"run={trained_run}", "device=cpu", f"port={port}")
    assert (code, error.count("\n")) == (2, 1)
    assert error.startswith(
        f"nmt: port: a port that is free, at an address of this machine (host), is needed; got 127.0.0.1:{port}"
    )


def test_what_the_search_of_a_run_needs_is_looked_for_at_the_start(trained_run, main, tmp_path):
    shutil.copytree(trained_run, tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    settings = json.loads(path.read_text())
    settings["decoding"]["glossary"] = "none.tsv"
    path.write_text(json.dumps(settings))
    code, _, error = main("serve", f"run={tmp_path / 'run'}", "port=0", "device=cpu")
    assert (code, error.count("\n")) == (2, 1)
    assert "none.tsv" in error


def test_languages_are_typed_where_the_text_does_not_say(nameless, main):
    error = main("serve", f"run={nameless}", "port=0")[2]
    assert error.startswith("nmt: "), error
    assert "source_language" in error
    found = service(f"run={nameless}", "source_language=gsw:Schweizerdeutsch", "target_language=zh-Hant")
    assert found.languages.table() == [
        {"code": "gsw", "name": "Schweizerdeutsch", "targets": ["gsw", "zh-Hant"]},
        {"code": "zh-Hant", "name": "Chinese (traditional)", "targets": ["zh-Hant"]},
    ]
    assert found.languages.find("ZH-hant").code == "zt"
    fields = {"q": "Hund", "source": "zt", "target": "gsw"}
    message = r"^Schweizerdeutsch \(gsw\) is not available as a target language from Chinese \(traditional\) \(zh-Hant\)$"
    with pytest.raises(Refused, match=message):
        asyncio.run(found.translate(fields))


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("a/train.de", "train.en.gz", ("de", "en")),
        (["news.pt-BR", "b.x"], "news.sl.zst", ("pb", "sl")),
        ("train.de", "train.txt", None),
    ],
)
def test_files_say_by_their_names_which_languages_they_are_of(nameless, source, target, languages):
    path = nameless / "config.json"
    settings = json.loads(path.read_text())
    files = compose("train", ["data=files", "data.train.source=x", "data.train.target=y", "data.validation.source=x",
                              "data.validation.target=y"], None).settings().data.model_dump(mode="json")  # fmt: skip
    files["train"] = {"source": source, "target": target}
    path.write_text(json.dumps(settings | {"data": files}))
    if languages is None:
        with pytest.raises(SettingsError, match=r"^target_language: a code such as de"):
            service(f"run={nameless}")
    else:
        assert list(service(f"run={nameless}").languages.pairs) == [languages]


def test_a_suggestion_is_as_long_as_a_text_may_be(trained_run, tmp_path):
    kept = tmp_path / "better.jsonl"
    found = service(f"run={trained_run}", f"suggestions={kept}", "max_characters=20")
    fields = {"q": "Der Hund.", "s": "x" * 20, "source": "de", "target": "en"}
    assert asyncio.run(found.suggest(fields)) == {"success": True}
    before = kept.read_bytes()
    for longer in ({"s": "x" * 21}, {"q": "x" * 21}):
        with pytest.raises(Refused) as caught:
            asyncio.run(found.suggest(fields | longer))
        assert "(21)" in str(caught.value)
    assert kept.read_bytes() == before


def test_a_suggestion_for_which_there_is_no_room_leaves_no_part_of_it(trained_run, tmp_path):
    kept = tmp_path / "better.jsonl"
    found = service(f"run={trained_run}", f"suggestions={kept}")
    fields = {"q": "Der Hund.", "s": "The dog.", "source": "de", "target": "en"}
    asyncio.run(found.suggest(fields))
    before = kept.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, limits[1]))
    try:
        with pytest.raises(
            SettingsError, match=r"^suggestions: a file that can be written is needed; got .*: File too large"
        ):
            asyncio.run(found.suggest(fields))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert kept.read_bytes() == before
    asyncio.run(found.suggest(fields))
    assert kept.read_bytes() == 2 * before


def test_a_suggestion_counts_as_characters_of_a_client(trained_run, tmp_path):
    found = service(
        f"run={trained_run}", f"suggestions={tmp_path / 'better.jsonl'}", "characters_per_minute=20"
    )
    found.admit({"q": "a", "s": "x" * 19}, "1.2.3.4")
    with pytest.raises(Refused, match="20 characters per minute"):
        found.admit({"q": "a"}, "1.2.3.4")


def test_html_with_too_many_tags_is_refused(trained_run, monkeypatch):
    monkeypatch.setattr("nmt.documents.tags.MAX_TAGS", 10)
    found = service(f"run={trained_run}")
    fields = {"q": "<b>" * 11, "source": "de", "target": "en", "format": "html"}
    with pytest.raises(
        Refused, match=r"^Invalid request: file: at most 10 tags are needed in its text; got more$"
    ):
        asyncio.run(found.translate(fields))


def test_an_exported_folder_is_served_as_it_translates(nmt, trained_run, tmp_path):
    pytest.importorskip("ctranslate2")
    nmt("export", f"run={trained_run}", "output=exported")
    lines = ["Der Hund schläft.", "Ein Mann liest."]
    given = "".join(f"{line}\n" for line in lines).encode()
    expected = nmt("translate", "run=exported", stdin=given).stdout.decode().split("\n")[:-1]
    found = service(f"run={tmp_path / 'exported'}")
    answer = asyncio.run(found.translate({"q": lines, "source": "de", "target": "en"}))
    assert answer == {"translatedText": expected}


def test_a_run_that_knows_tags_is_served_with_that_of_the_language(
    nmt, main, tiny_training, tmp_path, monkeypatch
):
    lines = ["der hund", "die katze", "ein haus", "das buch"]
    for language in ("en", "fr"):
        (tmp_path / language).write_text("".join(f"{line} {language}\n" for line in lines))
        (tmp_path / f"tagged.{language}").write_text("".join(f"<2{language}> {line}\n" for line in lines))
    (tmp_path / "de").write_text("".join(f"{line}\n" for line in lines))
    files = "train: [{0}/de,{0}/{1}], validation: [{0}/de,{0}/{1}]"
    pairs = ", ".join(
        f"{{source: de, target: {language}, {files.format(tmp_path, language)}}}"
        for language in ("en", "fr", "en")
    )
    small = [option for option in tiny_training() if not option.startswith(("data.", "tokenizer."))]
    small += ["training.max_updates=2", "tokenizer.vocabulary_size=40"]
    nmt("train", "run=many", *small, "data=mixture", f"data.pairs=[{pairs}]")
    tuned = [
        f"data.{split}.{side}={tmp_path / name}"
        for split in ("train", "validation")
        for side, name in (("source", "tagged.fr"), ("target", "fr"))
    ]
    nmt("train", "run=tuned", *small, "training.from_run=many", "data=files", *tuned)
    queues = []
    monkeypatch.setattr(language_pairs, "Batcher", lambda *given: queues.append(given))
    assert set(service(f"run={tmp_path / 'many'}").languages.pairs) == {("de", "en"), ("de", "fr")}
    assert len(queues) == 2, "both corpora of German and English have one queue"
    monkeypatch.undo()
    given = (tmp_path / "de").read_bytes()
    for run in ("many", "tuned"):
        translated = nmt("translate", f"run={run}", "target_language=fr", stdin=given).stdout.decode()
        found = service(f"run={tmp_path / run}", "source_language=de", "target_language=fr")
        answer = asyncio.run(found.translate({"q": given.decode(), "source": "de", "target": "fr"}))
        assert answer == {"translatedText": translated}
    code, _, error = main("serve", f"run={tmp_path / 'tuned'}", "source_language=de", "target_language=es")
    assert (code, error) == (
        2, f"nmt: target_language: one of en, fr is needed for {tmp_path / 'tuned'}; got es\n"
    )  # fmt: skip
