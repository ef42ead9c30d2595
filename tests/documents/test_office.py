"""DOCX and ODT: what is a line, and that all else stays."""

import io
import random
import re
import zipfile

import pytest
from office_files import W, body, docx, member, odt, run

from nmt.decoding.translation import Candidate, Translation
from nmt.documents.document import lines_of
from nmt.documents.opendocument import read_odt
from nmt.documents.word import read_docx

BOLD, ITALIC = "<w:rPr><w:b/></w:rPr>", "<w:rPr><w:i/></w:rPr>"


def test_runs_keep_their_looks(translate, turned):
    document = read_docx(
        docx(
            f'<w:p><w:pPr><w:jc w:val="center"/></w:pPr>{run("Der sehr ")}{run("alte", BOLD)}{run(" Mann ")}{run("schläft &amp; ruht", ITALIC)}{run(" dort ")}</w:p>'
        )
    )
    assert lines_of(document) == ["Der sehr alte Mann schläft & ruht dort"]
    found = body(translate(document, turned))
    assert (
        f'<w:pPr><w:jc w:val="center"/></w:pPr>{run("DORT ")}{run("RUHT &amp; SCHLÄFT", ITALIC)}{run(" MANN ")}{run("ALTE", BOLD)}{run(" SEHR DER")}</w:p>'
        in found
    )


def test_a_look_of_the_whole_is_no_markup(translate):
    document = read_docx(
        docx(
            f"<w:p>{run('Der ', BOLD)}<w:proofErr/>{run('Hund', BOLD)}<w:r>{BOLD}<w:lastRenderedPageBreak/></w:r></w:p>"
        )
    )
    assert f"<w:p>{run('DER HUND', BOLD)}</w:p>" in body(translate(document))


def test_the_look_of_a_box_is_not_that_of_the_text_around_it(translate, turned):
    red = '<w:rPr><w:color w:val="FF0000"/></w:rPr>'
    box = f"<w:r><w:pict><w:txbxContent><w:p>{run('ein langer Text im Kasten', red)}</w:p></w:txbxContent></w:pict></w:r>"
    document = read_docx(docx(f"<w:p>{run('Ein Haus')}{box}{run(' am ')}{run('See', BOLD)}</w:p>"))
    found = body(translate(document, turned))
    assert found.count("FF0000") == 1
    assert run("SEE", BOLD) in found
    assert run(" AM HAUS") in found


def test_tabs_and_breaks_stay_between_what_they_divide(translate, turned):
    document = read_docx(
        docx(
            f"<w:p>{run('Name eins')}<w:r>{BOLD}<w:tab/></w:r>{run('Wert zwei')}<w:r><w:br/><w:t>Ende drei</w:t></w:r></w:p>"
        )
    )
    assert lines_of(document) == ["Name eins", "Wert zwei", "Ende drei"]
    assert (
        f"<w:p>{run('EINS NAME')}<w:r>{BOLD}<w:tab/></w:r>{run('ZWEI WERT')}<w:r><w:br/></w:r>{run('DREI ENDE')}</w:p>"
        in body(translate(document, turned))
    )


def test_links_fields_marks_and_pictures_come_once(translate, turned):
    date = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>DATE</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    document = read_docx(
        docx(
            f'<w:p><w:bookmarkStart w:id="1"/>{run("Siehe ")}<w:hyperlink r:id="r1">{run("unsere Seite", BOLD)}</w:hyperlink><w:bookmarkEnd w:id="1"/>'
            f'{run(" vom ")}{date}<w:r><w:footnoteReference w:id="2"/></w:r><w:del w:id="3"><w:r><w:delText>weg</w:delText></w:r></w:del></w:p>'
        )
    )
    assert lines_of(document) == ["Siehe unsere Seite vom"]
    found = body(translate(document, turned))
    assert f'<w:hyperlink r:id="r1">{run("SEITE UNSERE", BOLD)}</w:hyperlink>' in found
    for part in (date, '<w:footnoteReference w:id="2"/>', "<w:delText>weg</w:delText>"):
        assert found.count(part) == 1
    assert (
        found.index("bookmarkStart") < found.index("VOM") < found.index("SIEHE") < found.index("bookmarkEnd")
    )


def test_paragraphs_in_tables_boxes_headers_and_notes_are_lines(translate):
    box = f"<w:r><w:pict><w:txbxContent><w:p>{run('im Kasten')}</w:p></w:txbxContent></w:pict></w:r>"
    header = f'<w:hdr xmlns:w="{W}"><w:p>{run("oben")}</w:p></w:hdr>'
    given = docx(
        f"<w:p>{run('vor ')}{box}{run('nach')}</w:p><w:tbl><w:tr><w:tc><w:p>{run('Zelle')}</w:p></w:tc></w:tr></w:tbl>",
        **{
            "word/header1.xml": header,
            "word/settings.xml": f'<w:settings xmlns:w="{W}"><w:p>{run("nicht")}</w:p></w:settings>',
        },
    )
    document = read_docx(given)
    assert lines_of(document) == ["vor nach", "im Kasten", "Zelle", "oben"]
    found = translate(document)
    assert body(found).count("IM KASTEN") == body(found).count("ZELLE") == 1
    assert "OBEN" in body(found, "word/header1.xml")
    for name in ("word/settings.xml", "word/media/a.png", "[Content_Types].xml"):
        assert member(found, name) == member(given, name)


def test_a_field_that_ends_in_another_paragraph_stays(translate):
    begins = '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
    ends = '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    given = f"<w:p>{run('vorher ')}{begins}{run('drin')}</w:p><w:p>{run('Ende')}{ends}</w:p>"
    found = body(translate(read_docx(docx(given))))
    assert given.replace("vorher ", "VORHER").replace("Ende", "ENDE") in found


def field(code, text):
    marks = [f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")]
    return f"{marks[0]}<w:r><w:instrText>{code}</w:instrText></w:r>{marks[1]}{text}{marks[2]}"


def test_the_text_of_a_link_is_translated_also_where_the_link_is_a_field(translate, turned):
    simple = '<w:fldSimple w:instr=" HYPERLINK u ">{}</w:fldSimple>'
    for link in (field(" HYPERLINK u ", run("die Seite", BOLD)), simple.format(run("die Seite", BOLD))):
        document = read_docx(docx(f"<w:p>{run('Siehe heute ')}{link}{run(' dort')}</w:p>"))
        assert lines_of(document) == ["Siehe heute die Seite dort"]
        made = f"{run('DORT ')}{simple.format(run('SEITE DIE', BOLD))}{run(' HEUTE SIEHE')}"
        assert f"<w:p>{made}</w:p>" in body(translate(document, turned))


@pytest.mark.parametrize(
    "inner",
    [
        f'<w:hyperlink w:anchor="q">{run("die Seite")}</w:hyperlink>',
        f'<w:ins w:id="1">{run("neu")}</w:ins><w:bookmarkStart w:id="2"/>{run("drei")}',
        field("PAGE", run("7")),
        f"<w:hyperlink>{field('PAGE', run('7'))}</w:hyperlink>",
    ],
)
def test_a_field_stays_with_all_that_is_in_it(inner, translate, turned):
    whole = field("REF x", inner)
    document = read_docx(docx(f"<w:p>{run('Siehe ')}{whole}{run(' dort')}</w:p>"))
    assert lines_of(document) == ["Siehe dort"]
    assert body(translate(document, turned)).count(whole) == 1


def test_all_entries_of_a_table_of_contents_are_translated(translate):
    def entry(text, page):
        number = field(f"PAGEREF _Toc{page}", run(str(page)))
        return f'<w:hyperlink w:anchor="_Toc{page}">{run(text)}<w:r><w:tab/></w:r>{number}</w:hyperlink>'

    contents = field("TOC \\o", f"{entry('erster Eintrag', 1)}</w:p><w:p>{entry('zweiter', 2)}</w:p><w:p>")
    document = read_docx(docx(f"<w:p>{contents}</w:p><w:p>{run('danach')}</w:p>"))
    assert [line for line in lines_of(document) if line] == ["erster Eintrag", "zweiter", "danach"]
    found = body(translate(document))
    begin = contents[: contents.index("<w:hyperlink")]
    assert f'<w:p>{begin}<w:hyperlink w:anchor="_Toc1">{run("ERSTER EINTRAG")}' in found
    assert found.count('w:fldCharType="begin"') == found.count('w:fldCharType="end"') == 3
    for page in (1, 2):
        assert found.count(field(f"PAGEREF _Toc{page}", run(str(page)))) == 1


def test_words_with_a_reading_are_read_with_their_line(translate):
    ruby = f"<w:r><w:ruby><w:rubyPr/><w:rt>{run('かんじ')}</w:rt><w:rubyBase>{run('schrift', BOLD)}</w:rubyBase></w:ruby></w:r>"
    document = read_docx(docx(f"<w:p>{run('die ')}{ruby}{run(' hier')}</w:p>"))
    assert lines_of(document) == ["die schrift hier"]
    assert f"<w:p>{run('DIE ')}{run('SCHRIFT', BOLD)}{run(' HIER')}</w:p>" in body(translate(document))
    ruby = "<t:ruby><t:ruby-base>schrift</t:ruby-base><t:ruby-text>かんじ</t:ruby-text></t:ruby>"
    document = read_odt(odt(f"<t:p>die {ruby} hier</t:p>"))
    assert lines_of(document) == ["die schrift hier"]
    assert "<t:p>DIE SCHRIFT HIER</t:p>" in body(translate(document), "content.xml")


def test_odt_keeps_spans_links_and_notes(translate, turned):
    note = '<t:note t:id="n"><t:note-body><t:p>eine Note</t:p></t:note-body></t:note>'
    given = odt(
        f'<t:h t:level="1">Ein <t:span t:style="b">guter</t:span> Titel</t:h><t:p>Siehe<t:s t:c="2"/><t:a x:href="u">die Seite</t:a>{note} an<t:tab/>dann<t:line-break/>Ende</t:p>\n'
    )
    document = read_odt(given)
    assert lines_of(document) == ["Ein guter Titel", "Siehe die Seite an", "dann", "Ende", "eine Note"]
    found = translate(document, turned)
    text = body(found, "content.xml")
    assert '<t:h t:level="1">TITEL <t:span t:style="b">GUTER</t:span> EIN</t:h>' in text
    assert '<t:a x:href="u">SEITE DIE</t:a>' in text
    assert text.count("<t:note ") == text.count("NOTE EINE") == 1
    assert "<t:tab/>DANN<t:line-break/>ENDE</t:p>" in text
    with zipfile.ZipFile(io.BytesIO(found)) as read:
        assert read.namelist()[0] == "mimetype"


def test_breaks_and_tabs_divide_what_they_are_in(translate):
    inner = "eins<t:line-break/>zwei<t:tab/>"
    given = f'<t:p><t:span t:style="b">{inner}</t:span><t:a x:href="u"><t:span t:style="c"><t:tab/>drei</t:span></t:a></t:p>'
    document = read_odt(odt(given))
    assert lines_of(document) == ["eins", "zwei", "drei"]
    bold = '<t:span t:style="b">{}</t:span>'
    link = '<t:a x:href="u"><t:span t:style="c">{}</t:span></t:a>'
    expected = [
        *map(bold.format, ["EINS", "<t:line-break/>", "ZWEI", "<t:tab/>"]),
        *map(link.format, ["<t:tab/>", "DREI"]),
    ]
    assert f"<t:p>{''.join(expected)}</t:p>" in body(translate(document), "content.xml")

    given = f'<w:p><w:hyperlink w:anchor="1">{run("eins", BOLD)}<w:r><w:tab/></w:r>{run("zwei")}</w:hyperlink></w:p>'
    document = read_docx(docx(given))
    assert lines_of(document) == ["eins", "zwei"]
    link = '<w:hyperlink w:anchor="1">{}</w:hyperlink>'
    parts = [run("EINS", BOLD), "<w:r><w:tab/></w:r>", run("ZWEI")]
    assert f"<w:p>{''.join(map(link.format, parts))}</w:p>" in body(translate(document))


def test_a_control_stays_one_and_its_words_apart(translate):
    given = f"<w:p><w:sdt><w:sdtPr/><w:sdtContent>{run('eins')}<w:r><w:br/></w:r>{run('zwei')}</w:sdtContent></w:sdt></w:p>"
    document = read_docx(docx(given))
    assert lines_of(document) == ["eins zwei"]
    assert given.replace("eins", "EINS").replace("zwei", "ZWEI") in re.sub(
        ' xml:space="preserve"', "", body(translate(document))
    )
    given = '<t:p><t:meta xml:id="m">eins<t:tab/>zwei</t:meta></t:p>'
    document = read_odt(odt(given))
    assert lines_of(document) == ["eins zwei"]
    assert given.replace("eins", "EINS").replace("zwei", "ZWEI") in body(translate(document), "content.xml")


def test_words_that_were_moved_or_have_a_direction_are_words_of_the_line(translate):
    smart = '<w:{0} w:element="e"><w:{0}Pr><w:attr w:name="n"/></w:{0}Pr>{1}</w:{0}>'
    names = [f"<w:{name}>{{}}</w:{name}>" for name in ("moveTo", "bdo", "dir")]
    names += [smart.format(name, "{}") for name in ("customXml", "smartTag")]
    for container in names:
        given = f"<w:p>{run('eins ')}{container.format(run('zwei'))}{run(' drei')}</w:p>"
        document = read_docx(docx(given))
        assert lines_of(document) == ["eins zwei drei"]
        expected = f"<w:p>{run('EINS ')}{container.format(run('ZWEI'))}{run(' DREI')}</w:p>"
        assert expected in body(translate(document))


def test_marks_of_a_recorded_change_keep_their_order(translate, turned):
    start, end = ('<t:change-start t:change-id="1"/>', '<t:change-end t:change-id="1"/>')
    document = read_odt(
        odt(f"<t:p>eins {start}zwei drei{end} vier</t:p><t:p>fünf {start}sechs</t:p><t:p>{end} acht</t:p>")
    )
    assert lines_of(document) == ["eins zwei drei vier", "fünf sechs", "acht"]
    found = re.sub(" +", " ", body(translate(document, turned), "content.xml"))
    assert re.sub("<.*?>", " ", found).split() == ["VIER", "DREI", "ZWEI", "EINS", "SECHS", "FÜNF", "ACHT"]
    assert re.findall("change-(start|end)", found) == ["start", "end"] * 2


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_in_a_paragraph_comes_once(translate, seed):
    """Random paragraphs, turned around by random links: nothing but text changes, and nothing is lost."""
    drawn = random.Random(seed)

    def inline(depth):
        made = []
        for _ in range(drawn.randint(0, 4)):
            kind = drawn.randrange(8)
            number = drawn.randrange(10**6)
            if kind < 3 or depth > 3:
                made.append(
                    run(drawn.choice(["a b", "c ", " d", "e f g ", " "]), drawn.choice(["", BOLD, ITALIC]))
                )
            elif kind == 3:
                made.append(f'<w:hyperlink w:anchor="{number}">{inline(depth + 1)}</w:hyperlink>')
            elif kind == 4:
                made.append(
                    f'<w:sdt><w:sdtPr><w:id w:val="{number}"/></w:sdtPr><w:sdtContent>{inline(depth + 1)}</w:sdtContent></w:sdt>'
                )
            elif kind == 5:
                made.append(
                    f'<w:bookmarkStart w:id="{number}"/>{inline(depth + 1)}<w:bookmarkEnd w:id="{number}"/>'
                )
            elif kind == 6:
                made.append(f'<w:r><w:tab w:val="{number}"/></w:r>')
            else:
                made.append(f'<w:r><w:drawing w:id="{number}"/></w:r>')
        return "".join(made)

    words = []

    def find(line):
        size = len(line.split())
        if not size:
            return Translation(line, [Candidate(line)])
        targets = [f"w{i}" for i in range(drawn.randint(1, 6))]
        words.extend(targets)
        links = [(drawn.randrange(size), j) for j in range(len(targets)) if drawn.random() < 0.8]
        return Translation(line, [Candidate(" ".join(targets), alignment=links)])

    given = docx(f"<w:p>{inline(0)}</w:p><w:p>{inline(0)}</w:p>")
    document = read_docx(given)
    untouched = read_docx(given)
    assert member(untouched.write(untouched.blocks), "word/document.xml") == member(
        given, "word/document.xml"
    )
    found = translate(document, find)
    marks = re.compile(r'<w:(?:id|bookmarkStart|bookmarkEnd|tab|drawing) [^>]*"\d+"')
    before, after = (body(one) for one in (given, found))
    assert sorted(marks.findall(before)) == sorted(marks.findall(after))
    links = re.compile(r'<w:hyperlink [^>]*"\d+"')
    assert set(links.findall(before)) == set(links.findall(after))
    if "<w:tab" not in before:  # a tab divides the hyperlink that it is in
        assert sorted(links.findall(before)) == sorted(links.findall(after))
    tabs = re.compile(r"<w:tab [^>]*>")
    assert len(tabs.findall(before)) == len(tabs.findall(after))
    assert after.count("<w:p>") == before.count("<w:p>")
    assert re.findall(r"w\d", "".join(re.findall(r"<w:t>([^<]*)", after))) == words


def test_a_hyphen_that_breaks_no_line_is_a_character_and_a_place_to_break_a_word_is_none(translate):
    between = "</w:t><w:noBreakHyphen/><w:t>"
    document = read_docx(
        docx(f"<w:p>{run(f'von 1990{between}1995 er')}<w:r><w:softHyphen/></w:r>{run('kam')}</w:p>")
    )
    line = "von 1990\u20111995 erkam"
    assert lines_of(document) == [line]
    assert f"<w:p>{run(line.upper())}</w:p>" in body(translate(document)).replace("&#8209;", "\u2011")


@pytest.mark.parametrize(
    ("read", "given", "name"),
    [
        (read_docx, docx(f"<w:p>{run('eins')}</w:p>"), "word/document.xml"),
        (read_odt, odt("<t:p>eins</t:p>"), "content.xml"),
    ],
)
def test_characters_that_xml_cannot_hold_are_left_out_of_a_translation(translate, read, given, name):
    found = translate(read(given), lambda line: Translation(line, [Candidate("o\x0bn\x1fe\ufffe\ud800")]))
    assert ">one<" in body(found, name)


def test_the_spaces_of_an_indentation_stay(translate):
    given = '<t:p><t:s t:c="4"/>ein <t:s/>Wort<t:tab/><t:span t:style="b"><t:s/>zwei</t:span></t:p>'
    document = read_odt(odt(given))
    assert lines_of(document) == ["ein Wort", "zwei"]
    found = body(translate(document), "content.xml")
    bold = '<t:span t:style="b">{}</t:span>'
    expected = f'<t:s t:c="4"/>EIN WORT<t:tab/>{bold.format("<t:s/>")}{bold.format("ZWEI")}'
    assert f"<t:p>{expected}</t:p>" in found
