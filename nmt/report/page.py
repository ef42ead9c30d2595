"""The page that sections are put into: one file, no script, nothing fetched."""

import itertools
import re
from collections.abc import Sequence
from html import escape

# Nothing but what stands in the page may be shown, and nothing run: whatever a text holds, it stays text.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

COLOURS = "abcdefgh"  # of runs; classes of what is drawn, and variables of the style
STYLE = """
:root{color-scheme:light dark;--paper:#fbfaf8;--card:#fff;--ink:#1d2330;--faint:#667085;--rule:#e4e2dd;--a:#2457c5;
--b:#c2570c;--c:#0f7a4d;--d:#8a3ffc;--e:#b3261e;--f:#0e7490;--g:#7a5c00;--h:#b5179e;--good:#0f7a4d;--bad:#b3261e;--good-ground:#d9f2e4;--bad-ground:#fbe0dd}
@media(prefers-color-scheme:dark){:root{--paper:#14161b;--card:#1c1f26;--ink:#e8e6e1;--faint:#9aa3b2;--rule:#30343d;
--a:#7ea6ff;--b:#ffa561;--c:#63d3a0;--d:#c4a1ff;--e:#ff8a80;--f:#67d3e8;--g:#e3c55b;--h:#ff8fe0;--good:#63d3a0;--bad:#ff8a80;--good-ground:#123626;--bad-ground:#451d1a}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
"Noto Sans","DejaVu Sans",sans-serif}
main{max-width:1180px;margin:0 auto;padding:20px 16px 60px}
h1{font-size:1.6rem;line-height:1.25;margin:.2em 0;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.2em 0 .3em;padding-top:.5em;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.2em 0 .3em}
p,li{max-width:72ch}
.note{color:var(--faint);font-size:.92rem;margin:.2em 0 1em;overflow-wrap:anywhere}
nav{display:flex;flex-wrap:wrap;gap:4px 14px;font-size:.92rem;margin:.8em 0}
a{color:var(--a)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:1em 0}
.tile{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:10px 14px;min-width:0}
.tile b{display:block;font-size:1.55rem;font-variant-numeric:tabular-nums;line-height:1.3}
.tile span{color:var(--faint);font-size:.85rem;overflow-wrap:anywhere}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,350px),1fr));gap:14px;align-items:start}
figure{margin:0;background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:10px;min-width:0}
figcaption{font-size:.88rem;color:var(--faint);margin:0 0 6px;overflow-wrap:anywhere}
figcaption b{color:var(--ink);font-size:.95rem}
svg.chart{display:block;width:100%;height:auto;max-width:480px}
.wide{overflow-x:auto;max-width:100%}
svg.map{display:block;flex:none}
.maps{display:flex;flex-wrap:wrap;gap:14px;align-items:flex-start}
.maps figure{max-width:100%}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:.92rem;margin:.4em 0}
.swatch{display:inline-block;width:.8em;height:.8em;border-radius:3px;margin-right:.45em;vertical-align:-.05em}
"""
STYLE += "".join(
    f".swatch.{name},.bar.{name},.dot.{name},.cell.{name}{{background:var(--{name});fill:var(--{name})}}"
    f".line.{name}{{stroke:var(--{name})}}\n"
    for name in COLOURS
)
STYLE += """
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.whisker{stroke:var(--ink);stroke-width:1.2;fill:none}
.grid{stroke:var(--rule);stroke-width:1}
.tick,.token{fill:var(--faint);font-size:11px}
.token{fill:var(--ink);font-size:10.5px}
.ground{fill:var(--rule);fill-opacity:.35}
.unseen{fill:var(--faint);fill-opacity:.3}
.chosen{fill:var(--card)}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:5px 12px 5px 0;border-bottom:1px solid var(--rule);text-align:right;white-space:nowrap}
th:first-child,td:first-child,.text{text-align:left}
td:first-child{white-space:normal}
td.text{white-space:normal;overflow-wrap:anywhere;min-width:12em}
.wide+.wide,.figures+.wide{margin-top:14px}
thead th{color:var(--faint);font-weight:600}
.sentence{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:8px 14px;margin:0 0 10px;
display:grid;grid-template-columns:6.5em 1fr;gap:2px 10px;overflow-wrap:anywhere}
.sentence dt{color:var(--faint);font-size:.85rem}
.sentence dd{margin:0;unicode-bidi:isolate;min-width:0}
@media(max-width:520px){.sentence{grid-template-columns:1fr}.sentence dt{margin-top:4px}}
ins{text-decoration:none;background:var(--good-ground);color:var(--good);border-radius:3px;padding:0 2px}
del{background:var(--bad-ground);color:var(--bad);border-radius:3px;padding:0 2px}
details{margin:.6em 0}
summary{cursor:pointer;color:var(--a)}
code{font-size:.9em;overflow-wrap:anywhere}
.better{color:var(--good);font-weight:600}.worse{color:var(--bad);font-weight:600}
"""


# Control characters, halves of characters, and those that turn the direction of what follows.
NOT_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def text(value: object) -> str:
    """Return what a person or a stranger wrote as HTML that only shows it; what cannot be shown is replaced."""
    return escape(NOT_SHOWN.sub("\ufffd", str(value)), quote=True)


def page(title: str, body: str) -> bytes:
    """Return a whole page; `title` is text, `body` is HTML."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    ).encode("utf-8", "replace")


def section(identifier: str, title: str, note: str, *parts: str) -> str:
    """Return a section; `note` is text that says how to read it."""
    return (
        f'<section id="{identifier}"><h2>{text(title)}</h2>\n<p class="note">{text(note)}</p>\n'
        + "\n".join(parts)
        + "</section>\n"
    )


def figure(title: str, note: str, drawing: str, below: str = "") -> str:
    """Return a drawing with a caption above it; `below` is HTML."""
    return (
        f"<figure><figcaption><b>{text(title)}</b> {text(note)}</figcaption>"
        f'<div class="wide">{drawing}</div>{below}</figure>'
    )


def figures(*parts: str) -> str:
    """Return figures side by side, as many as there is room for."""
    return f'<div class="figures">{"".join(parts)}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], text_columns: Sequence[int] = ()) -> str:
    """Return a table of cells of text; `text_columns` hold prose, which is not to be aligned as figures are."""
    classes = dict.fromkeys(text_columns, ' class="text"')
    heads = "".join(f"<th{classes.get(i, '')}>{text(cell)}</th>" for i, cell in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{classes.get(i, '')}>{text(cell)}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def tiles(*pairs: tuple[str, str]) -> str:
    """Return figures that stand out: (figure, what it is) each."""
    cells = (
        f'<div class="tile"><b>{text(value)}</b><span>{text(name)}</span></div>' for value, name in pairs
    )
    return f'<div class="tiles">{"".join(cells)}</div>'


def legend(names: Sequence[str]) -> str:
    """Return which colour stands for which run, where there are two."""
    if len(names) < 2:
        return ""
    entries = (
        f'<span><span class="swatch {colour}"></span>{text(name)}</span>'
        for colour, name in zip(itertools.cycle(COLOURS), names, strict=False)
    )
    return f'<p class="legend">{"".join(entries)}</p>'
