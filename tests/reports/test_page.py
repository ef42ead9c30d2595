"""Pages ask for nothing but themselves, and whatever a text holds, each template shows it as text."""

import re
from types import SimpleNamespace

import jinja2
import pytest
from browser import find_chromium, look_at, schemes
from markup import Page

from nmt.reports.drawing.alignment_lines import alignment
from nmt.reports.drawing.charts import Bar, Line, bar_chart, line_chart, ranking
from nmt.reports.drawing.heat_map import heat_map
from nmt.reports.page import Figure, Table, render, templates

HOSTILE = "<script>alert('x')</script> <img src=x onerror=alert(1)> \"&amp; \x00\x1b[31m \u202eabc </style>"
SHOWN = "<script>alert('x')</script> <img src=x onerror=alert(1)> \"&amp; \ufffd\ufffd[31m \ufffdabc </style>"
TEMPLATES = ("run.html", "training.html", "compare.html", "corpus.html")


def values_of(said):
    """Return values for every template, in which each text is `said`."""
    line = line_chart(said, [Line(said, [0, 1], [1e9, 1.1e9])], said, said)
    weights = [[0.5] * 60] * 3
    map_ = heat_map(said, weights, [said] * 3, [said] * 60)
    figure, table = Figure(said, said, line), Table([said] * 20, [[said] * 20, [said]], [1])
    sentence = SimpleNamespace(
        line=1, source=said, length=3, score=50.0, difference=1.0, signs=["empty"],
        reference=[("", said), ("missing", said)], translations=[(said, 50.0, [("new", said)]), (said, 0.0, [])],
    )  # fmt: skip
    drawn = SimpleNamespace(
        title=said, alignment=alignment(said, [said] * 60, [said] * 3, weights), map=map_, note=said,
        heads=[(said, [Figure(said, said, heat_map(said, weights))])],
    )  # fmt: skip
    return {
        "command": said, "title": said, "subtitle": said, "names": [said, said], "headline": [(said, said)],
        "note": said, "scores": SimpleNamespace(note=said, table=table, signatures=table, head=[said], rows=[[said]], prose=()),
        "curves": [figure], "kinds": [Figure(said, said, bar_chart(said, [said], [[Bar(1)]], said, said))],
        "signs": SimpleNamespace(num_numbers=1, lengths=figure, table=table, examples=[(said, table)]),
        "confidence": SimpleNamespace(table=table, figures=[figure]),
        "sentences": SimpleNamespace(chosen=[(said, [sentence])], listed=[sentence], number=2, signs=[("empty", said)]),
        "attention": [SimpleNamespace(name=said, settings={"kind": said, "attention": {"span": said, "window": 1, "choice": "soft", "num_heads": 1, "score": said}}, sentences=[drawn], figures=[figure])] * 2,
        "made": SimpleNamespace(different=table, facts=table, settings=table), "refresh_seconds": 30,
        "charts": {"train": [figure]}, "settings": table, "findings": [SimpleNamespace(split=said, text=said, option=said)],
        "numbers": table, "texts": [("train", said)], "writing": [Figure(said, said, ranking(said, [(said, 1)]))],
        "near": table, "filtered": said,
    }  # fmt: skip


def page_of(template, said):
    values = values_of(said)
    if template == "compare.html":
        values["charts"] = values["charts"]["train"]
    return render(template, **values).decode()


@pytest.mark.parametrize("template", TEMPLATES)
def test_each_template_shows_text_of_strangers_as_text(template):
    content = page_of(template, HOSTILE)
    page = Page(content)
    page.assert_closed()
    assert page.content.count("alert(1)") == content.count("&lt;img src=x onerror=alert(1)&gt;") >= 25
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", content)
    assert SHOWN in page.text
    assert "</style>" in page.text


def test_templates_escape_and_miss_nothing():
    environment = templates()
    assert environment.autoescape is True
    with pytest.raises(jinja2.UndefinedError):
        render("training.html", command="nmt report")
    with pytest.raises(jinja2.TemplateNotFound):
        environment.get_template("../page.py")


@pytest.mark.parametrize("kept", ["\u00a0", "\u200c", "日本語", "é", "🙂", "\u3000"])
def test_what_languages_need_stays(kept):
    assert kept in Page(page_of("training.html", kept)).content


def test_a_row_of_one_cell_is_a_heading():
    values = values_of("x") | {"near": Table(["key", "value"], [["a group"], ["a", "b"]])}
    page = render("corpus.html", **values).decode()
    assert '<tr class="group"><th colspan="2">a group</th>' in page
    assert "<td>a</td><td>b</td>" in page


def test_a_legend_is_for_more_than_one():
    values = values_of("x")
    assert "swatch b" in render("training.html", **values).decode()
    assert 'class="swatch' not in render("training.html", **values | {"names": ["x"]}).decode()


def test_only_a_page_of_a_training_that_goes_on_is_read_again():
    values = values_of("x")
    assert '<meta http-equiv="refresh" content="30">' in render("training.html", **values).decode()
    assert "refresh" not in render("training.html", **values | {"refresh_seconds": 0}).decode()


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium here")
@pytest.mark.parametrize("template", TEMPLATES)
def test_nothing_is_wider_than_a_phone(tmp_path, template):
    path = tmp_path / "page.html"
    path.write_text(page_of(template, "x" * 300))
    assert schemes(look_at(path, tmp_path / "browser")) == {"file"}
