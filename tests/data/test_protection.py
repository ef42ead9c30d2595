"""Strings that must not change: which they are, and that no line takes long to look through."""

import pytest

from nmt.data.protection import PATTERNS, Protection

LINE = "Hallo {name}, %1$s und %d von 100% (12.5, 3/4): <b>A4</b> &amp; {{ x }} ${y} {}%."


@pytest.mark.parametrize(
    ("patterns", "line", "expected"),
    [
        (["placeholders"], LINE, ["{name}", "%1$s", "%d", "&amp;", "{{ x }}", "${y}", "{}"]),
        (["tags"], LINE, ["<b>", "</b>"]),
        (
            ["numbers"],
            "Um 12:30, am 24.12.2026. 1.000,50 € für 5km, A4, 3-5, 7.",
            ["12:30", "24.12.2026", "1.000,50", "5", "3-5", "7"],
        ),
        (["numbers"], "我有5个", ["5"]),
        (
            ["urls"],
            "(https://a.org/b?c=1&d=2), www.b.de. ftp://c/ä",
            ["https://a.org/b?c=1&d=2", "www.b.de", "ftp://c/ä"],
        ),
        (["emails"], "An max.m+x@mail.example.org, nicht @max", ["max.m+x@mail.example.org"]),
        (["urls", "numbers"], "https://a.org/17 und 17", ["https://a.org/17", "17"]),
        (["numbers", "urls"], "https://a.org/17 und 17", ["https://a.org/17", "17"]),
        (["SKU-*"], "SKU-12a, SKU- und XSKU-3.", ["SKU-12a", "SKU-", "SKU-3"]),
        (["<*|*>", "A.B"], "<a|b> <a b|c> A.B AxB", ["<a|b>", "A.B"]),
        ([], LINE, []),
    ],
)
def test_what_must_not_change(patterns, line, expected):
    assert [line[begin:end] for begin, end in Protection(patterns).spans(line)] == expected


# If time grew faster than the length of the line, these would take days.
HOSTILE = [
    "%",
    "%1",
    "{",
    "{{",
    "<a",
    "http://",
    "www.",
    "a.",
    "a@",
    "a@b.",
    "1",
    "1.",
    "&",
    "&a",
    "!",
    "a",
    "a-",
    "-",
    "\u0661",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_no_line_takes_long(part):
    expression = Protection([*PATTERNS, "a*b*c*a-*-A", "A*"])
    spans = list(expression.spans(part * 100_000 + " "))
    assert all(begin < end for begin, end in spans)
