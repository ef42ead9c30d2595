"""Translation memories: TMX of every version and encoding, and files that mean harm."""

import gzip
import io
import json
import logging
import os
import re
import socket
import tracemalloc
import xml.etree.ElementTree as ET

import pytest

from nmt.data import corpus, translation_memory
from nmt.data.corpus import ParallelText
from nmt.data.sources import load_corpus, require_files
from nmt.errors import DataError, SettingsError

XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
PAIRS = [
    ('Er sagt <ja> & "nein".', "He says <yes> & 'no'."),
    ("Größe\u00a0: 7 🙂", "size\u2028: 7"),
    ("Tür", "door"),
]
SIDES = ParallelText(*map(list, zip(*PAIRS, strict=True)))


def unit(*segments, language="xml:lang"):
    """Return a unit of (language, content of the segment)."""
    inside = "".join(
        f'<tuv {language}="{name}"><prop type="x">no text</prop>\n<seg>{content}</seg></tuv>'
        for name, content in segments
    )
    return f'<tu tuid="1"><note>no text either</note>{inside}</tu>'


def memory(*units, before="", version="1.4"):
    header = '<header srclang="fr" segtype="sentence"><note>Notiz</note></header>'
    return f'{before}<tmx version="{version}">{header}<body>{"".join(units)}</body></tmx>'


@pytest.fixture
def load(tmp_path, data_settings):
    """Return a function that writes a memory and loads it as training and as validation text."""

    def loaded(content, *overrides, name="a.tmx"):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        given = [f"train={path}", f"validation={path}", "source=de", "target=en", *overrides]
        return load_corpus(data_settings("tmx", *given))

    return loaded


def written_by_another(pairs, language=XML_LANGUAGE, encoding="utf-8"):
    """Return a memory of these pairs as the standard library writes it."""
    root = ET.Element("tmx", version="1.4")
    ET.SubElement(root, "header", srclang="de")
    body = ET.SubElement(root, "body")
    for pair in pairs:
        one = ET.SubElement(body, "tu")
        for name, text in zip(("de-DE", "EN_us"), pair, strict=True):
            ET.SubElement(ET.SubElement(one, "tuv", {language: name}), "seg").text = text
    ET.indent(root)
    file = io.BytesIO()
    ET.ElementTree(root).write(file, encoding=encoding, xml_declaration=True)
    return file.getvalue()


@pytest.mark.parametrize("language", [XML_LANGUAGE, "lang"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "cp1252"])
def test_every_encoding_and_version_has_the_same_pairs(load, language, encoding):
    content = written_by_another(PAIRS, language, encoding.removesuffix("-sig"))
    if encoding.endswith("-sig"):
        content = b"\xef\xbb\xbf" + content
    text = load(content)
    assert text.train == text.validation == SIDES
    assert text.test is None


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_shows_by_its_mark_alone(load, mark):
    order = "utf-16-le" if mark[0] == 0xFF else "utf-16-be"
    assert load(mark + memory(unit(("de", "Tür"), ("en", "door"))).encode(order)).train.source == ["Tür"]


def test_compressed_memories_and_folders_of_them(load, tmp_path):
    (tmp_path / "all").mkdir()
    for name, pair in (("b.tmx.gz", PAIRS[:1]), ("a.tmx", PAIRS[1:]), ("readme.txt", ())):
        content = written_by_another(pair)
        (tmp_path / "all" / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert load(None, name="all").train.source == [PAIRS[i][0] for i in (1, 2, 0)]
    with gzip.open(tmp_path / "c.tmx.gz", "wb") as file:
        file.write(written_by_another(PAIRS))
    assert load(None, name="c.tmx.gz").train == SIDES
    cut = (tmp_path / "c.tmx.gz").read_bytes()[:-20]
    with pytest.raises(
        DataError, match=r"^data.train: a readable file is needed; got .*c.tmx.gz: Compressed file"
    ):
        load(cut, name="c.tmx.gz")
    with pytest.raises(DataError, match=r"^data.train: no such file: .*none.tmx$"):
        load(None, name="none.tmx")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Auf <bpt i='1' x='1'>&lt;b&gt;</bpt>Speichern<ept i='1'>&lt;/b&gt;</ept> klicken", "Auf Speichern klicken"),
        ("Auf <hi type='b'>Spei<hi>chern</hi></hi> klicken", "Auf Speichern klicken"),
        ("Es gibt <ph x='1'>%d</ph> Dateien<it pos='begin'>{\\b</it>", "Es gibt Dateien"),
        ("<ut>{\\f1 }</ut>Ja<ph>&lt;img alt='<sub>ein <hi>Bild</hi></sub>'&gt;</ph>.", "Ja."),
        ("<x/>Ein <g id='1'>Wort</g><!-- keins -->", "Ein Wort"),
        ("\n  Zwei\r\n\tZeilen  \n", "Zwei Zeilen"),
        ("A&#66;&#x43; &amp;amp; &lt;b&gt;<![CDATA[<i>]]>", "ABC &amp; <b><i>"),
        ("no-break\u00a0space, line\u2028separator \u0085", "no-break\u00a0space, line\u2028separator \u0085"),
    ],
)  # fmt: skip
def test_text_is_kept_and_codes_are_not(load, content, text):
    assert load(memory(unit(("de", content), ("en", "x")))).train.source == [text]


@pytest.mark.parametrize("name", ["de", "DE", "de-AT", "de_at", "DE-at-1996"])
@pytest.mark.parametrize("wanted", ["de", "DE"])
def test_a_language_stands_for_its_regional_form(load, name, wanted):
    others = [("den", "slavey"), ("d", "x"), ("x-de", "y")]
    text = load(memory(unit(*others, (name, "ja"), ("en", "yes"))), f"source={wanted}")
    assert text.train == ParallelText(["ja"], ["yes"])


def test_the_more_exact_name_takes_its_form(load):
    content = memory(unit(("pt-BR", "ônibus"), ("pt-PT", "autocarro")))
    assert load(content, "source=pt", "target=pt-BR").train == ParallelText(["autocarro"], ["ônibus"])


def test_a_name_for_two_forms_is_refused_and_a_list_takes_both(load):
    content = memory(
        unit(("de", "ja"), ("en-GB", "yes")),
        unit(("de", "nein"), ("en-US", "no")),
        unit(("de", "ah"), ("", "x")),
    )
    with pytest.raises(
        DataError,
        match=r"^data.target: a language with its region, or a list \[en-GB,en-US\], is needed, since en stands for "
        r"each of these; got en, and in .*a.tmx are segments in none \(1\), de \(3\), en-GB \(1\), en-US \(1\)$",
    ):
        load(content)
    assert load(content, "target=[en-GB,en-US]").train == ParallelText(["ja", "nein"], ["yes", "no"])
    assert load(content, "target=en-US").train == ParallelText(["nein"], ["no"])


@pytest.mark.parametrize("context", [0, 1])
def test_two_forms_in_two_files_are_two_forms(load, tmp_path, context):
    for region in ("GB", "US"):
        (tmp_path / f"{region}.tmx").write_text(memory(unit(("de", "ja"), (f"en-{region}", "yes"))))
    with pytest.raises(DataError, match=r"a list \[en-GB,en-US\], is needed.* in .*US.tmx are"):
        load(
            None,
            f"train=[{tmp_path}/GB.tmx,{tmp_path}/US.tmx]",
            f"validation={tmp_path}/GB.tmx",
            f"context={context}",
        )


@pytest.mark.parametrize(
    ("source", "target", "key"), [("fr", "en", "source"), ("de", "[fr,it-IT]", "target")]
)
def test_a_language_that_is_not_there_is_told_which_are(load, source, target, key):
    got = "fr" if key == "source" else "fr and it-IT"
    with pytest.raises(
        DataError,
        match=rf"^data.{key}: a language of .*a.tmx is needed, in which are segments in EN_us \(3\), de-DE \(3\); "
        rf"got {got}$",
    ):
        load(written_by_another(PAIRS), f"source={source}", f"target={target}")


def test_both_sides_are_two_languages(load):
    with pytest.raises(
        SettingsError, match=r"data.target: another language than that of the source is needed; got DE_at"
    ):
        load("", "source=[de,de-AT]", "target=DE_at")


def test_what_is_left_out_is_counted_and_said(load, caplog):
    content = memory(
        unit(("de", "ja"), ("en", "yes"), ("en", "aye"), ("fr", "oui"), ("en", "yeah"), ("de", "doch")),
        unit(("de", "<ph>1</ph> "), ("en", "no")),
        unit(("de", "eins"), ("en", "")),
        unit(("fr", "deux"), ("en", "two")),
        unit(("de", "drei")),
        unit(("de", "vier")),
        unit(),
        unit(("en", "five"), ("de", "fünf")),
    )  # fmt: skip
    with caplog.at_level(logging.WARNING):
        assert load(content).train == ParallelText(["ja", "fünf"], ["yes", "five"])
    said = [record.getMessage() for record in caplog.records if "data.train" in record.getMessage()]
    assert said == [
        "left out     all but the first segment of a side in units of data.train: 3",
        "left out     6 of 8 units of data.train: 2 with an empty segment, 2 without de, 2 without en",
    ]


def test_lines_before_a_line_end_with_the_file(load, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.tmx").write_bytes(written_by_another(PAIRS))
    text = load(None, f"train=[{tmp_path}/a.tmx,{tmp_path}/b.tmx]", "context=2").train
    assert text.starts == (3,)
    assert text.source == SIDES.source * 2


def test_large_text_is_stored_and_read_once(load, monkeypatch):
    monkeypatch.setattr(corpus, "LARGE", 1)
    text = load(written_by_another(PAIRS)).train
    assert text.is_stored
    assert text == SIDES
    monkeypatch.setattr(translation_memory, "_read_units", None)
    assert load(None).train == SIDES
    with pytest.raises(TypeError):
        load(None, "source=en", "target=de")


BOMB = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 30))
ENTITIES = {
    "bomb": f'<!DOCTYPE tmx [<!ENTITY a0 "ha">{BOMB}]>',
    "quadratic": f'<!DOCTYPE tmx [<!ENTITY a29 "{"ha" * 9999}">]>',
    "external": '<!DOCTYPE tmx [<!ENTITY a29 SYSTEM "file:///etc/hostname">]>',
    "parameter": '<!DOCTYPE tmx [<!ENTITY % a29 SYSTEM "file:///etc/hostname"> %a29;]>',
    "unused": '<!DOCTYPE tmx SYSTEM "tmx14.dtd" [<!ENTITY other "x">]>',
    "binary": '<!DOCTYPE tmx [<!NOTATION n SYSTEM "n"><!ENTITY a29 SYSTEM "x" NDATA n>]>',
}


@pytest.mark.parametrize("name", ENTITIES)
def test_entities_of_a_file_are_refused_where_they_are_declared(load, name):
    content = memory(
        unit(("de", "&a29;" if name != "unused" else "ja"), ("en", "x")), before=f"\n{ENTITIES[name]}"
    )
    with pytest.raises(
        DataError,
        match=r"^data.train: text without entities of its own is needed; got a declaration of \w+, in .*a.tmx, line 2$",
    ):
        load(content)


def test_a_document_type_is_never_fetched(load, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/tmx14.dtd"
        for system in ("tmx14.dtd", address):
            before = f'<?xml version="1.0"?><!DOCTYPE tmx PUBLIC "-//LISA OSCAR:1998//DTD" "{system}">'
            assert load(memory(unit(("de", "ja"), ("en", "yes")), before=before)).train.source == ["ja"]
            (tmp_path / "tmx14.dtd").write_text('<!ENTITY nbsp "stolen">')
            with pytest.raises(
                DataError,
                match=r"numbers for them such as &#160;, are needed; got &nbsp;, in .*a.tmx, line 4$",
            ):
                load(memory(unit(("de", "a\n\n&nbsp;b"), ("en", "yes")), before=before))
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "XML is needed; got no element found, in .*, line 1$"),
        (b"Hallo\tHello\n", "XML is needed; got syntax error, in .*, line 1$"),
        (b"\n<xliff version='1.2'></xliff>", "<tmx> at its beginning is needed; got <xliff>, in .*, line 2$"),
        (b"<tmx>\n<body>\n<tu></body></tmx>", "XML is needed; got mismatched tag, in .*, line 3$"),
        (b"<tmx>\n<body>\n<tu>", "XML is needed; got no element found, in .*, line 3$"),
        (b"<tmx>\n&nbsp;</tmx>", "XML is needed; got undefined entity, in .*, line 2$"),
        (b"<tmx>\n\x02</tmx>", r"XML is needed; got not well-formed \(invalid token\), in .*, line 2$"),
        (b"<tmx>\n\n&#xD800;</tmx>", "XML is needed; got reference to invalid character number, in .*, line 3$"),
        (b"<tmx>\n\xfc</tmx>", r"XML is needed; got not well-formed \(invalid token\), in .*, line 2$"),
        (b"<?xml version='1.0' encoding='utf-16'?><tmx/>", "XML is needed; got encoding specified in XML declaration"),
        (b"<?xml version='1.0' encoding='shift-jis'?><tmx/>", "UTF-8, UTF-16 or an encoding of single bytes is needed; got"),
        (b"<?xml version='1.0' encoding='none'?><tmx/>", "UTF-8, UTF-16 or an encoding of single bytes is needed; got"),
        (b"<?xml version='1.0' encoding='zlib'?><tmx/>", "UTF-8, UTF-16 or an encoding of single bytes is needed; got"),
        (b"<tmx>" + b"\n<a>" * 1000, "at most 64 elements inside each other are needed; got more, in .*, line 65$"),
        (b"<tmx/>", "text is needed; got none in .*"),
        (b"<tmx><seg>x</seg><tuv xml:lang='de'/><tu/></tmx>", "text is needed; got none in .*"),
    ],
)  # fmt: skip
def test_what_is_no_memory_is_said_in_one_line(load, content, message):
    if content.endswith(b"<tu/></tmx>"):
        message = r"data.target: a language of .*a.tmx is needed, in which are segments in de \(1\); got en"
    with pytest.raises(
        DataError, match=message if message.startswith("data.") else f"^data.train: {message}"
    ) as caught:
        load(content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("before", "filling", "after"),
    [
        (b"<tmx><!--", b"x", b"--></tmx>"),
        (b"<tmx><tu><tuv xml:lang='", b"x", b"'/></tu></tmx>"),
        (b"<tmx><tu><tuv xml:lang='de'><seg>", b"x", b"</seg></tuv></tu></tmx>"),
        (b"<tmx><tu><tuv xml:lang='de'><seg>", b"\n<hi>x</hi>", b"</seg></tuv></tu></tmx>"),
    ],
)
def test_what_has_no_end_is_not_held(load, monkeypatch, before, filling, after):
    monkeypatch.setattr(translation_memory, "MAX_LINE_BYTES", 1 << 18)
    endless = gzip.compress(before + filling * (1 << 24) + after)
    assert len(endless) < 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(
            DataError, match=r"^data.train: (tags and comments|segments) of at most 262144 .* got more, in"
        ):
            load(endless, name="a.tmx.gz")
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_file(tmp_path):
    one = unit(("de", "Wort " * 20), ("en", "word " * 20)).encode()
    peaks = []
    for count in (2_000, 20_000):
        with gzip.open(tmp_path / "a.tmx.gz", "wb", compresslevel=1) as file:
            file.write(b"<tmx><body>")
            for _ in range(count):
                file.write(one)
            file.write(b"</body></tmx>")
        tracemalloc.start()
        try:
            languages = translation_memory.Languages("de", "en")
            pairs = translation_memory.read_memories(str(tmp_path / "a.tmx.gz"), "data.train", languages)
            assert sum(1 for _ in pairs) == count
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_languages_without_end_are_not_counted_without_end(load):
    units = [unit((f"x-{i}", "x")) for i in range(500)]
    with pytest.raises(DataError, match=r"^data.source: a language of") as caught:
        load(memory(*units))
    assert len(re.findall(r"x-\d+ \(1\)", str(caught.value))) == translation_memory.MAX_LANGUAGES


def test_what_a_run_names_is_a_file(tmp_path, data_settings):
    os.mkfifo(tmp_path / "pipe.tmx")
    settings = data_settings("tmx", f"train={tmp_path}", "validation=none.tmx", "source=de", "target=en")
    with pytest.raises(
        DataError, match=r"^data: files are needed, since the run names them; got .*pipe.tmx$"
    ):
        require_files(settings)


def test_training_learns_from_a_memory_and_nmt_data_looks_at_it(nmt, tmp_path, tiny_training):
    pairs = [(f"wort {i} und {i % 7}", f"word {i} and {i % 7}") for i in range(60)]
    (tmp_path / "train.tmx").write_bytes(written_by_another([*pairs, ("", "nothing")]))
    (tmp_path / "rest.tmx.gz").write_bytes(gzip.compress(written_by_another(pairs[:5])))
    text = [
        "data=tmx", "data.train=train.tmx", "data.validation=rest.tmx.gz", "data.test=rest.tmx.gz",
        "data.source=de", "data.target=en",
    ]  # fmt: skip
    small = [option for option in tiny_training() if not option.startswith(("data.", "tokenizer."))]
    text.append("tokenizer.vocabulary_size=40")
    assert (
        b"pairs                                  60            5            5\n" in nmt("data", *text).stdout
    )
    done = nmt("train", "run=run", *small, *text)
    assert b"left out     1 of 61 units of data.train: 1 with an empty segment" in done.stderr
    assert b"60 training pairs" in done.stderr
    assert json.loads((tmp_path / "run" / "test.json").read_text())["num_lines"] == 5
    assert b"BLEU" in nmt("evaluate", "run=run", "split=validation").stdout
