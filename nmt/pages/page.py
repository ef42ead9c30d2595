"""A page: sections one below the other, of figures, tables and notes; all of it in one file."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body {
  margin: 0; background: #f5f7f9; color: #1c242c;
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
header, main, footer { max-width: 1180px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 32px; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 1.2rem; margin: 36px 0 10px; }
h3 { font-size: .98rem; margin: 0 0 6px; }
p { margin: 0 0 10px; max-width: 46rem; }
.faint, footer, figcaption { color: #55606b; font-size: .88rem; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr)); gap: 16px;
  align-items: start;
}
.card {
  background: #fff; border: 1px solid #dfe4e9; border-radius: 10px; padding: 14px 16px; margin: 0;
  min-width: 0;
}
.card + .card { margin: 0; }
svg { display: block; width: 100%; height: auto; font-family: inherit; }
figcaption { margin-top: 6px; }
.scroll { overflow-x: auto; background: #fff; border: 1px solid #dfe4e9; border-radius: 10px; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td {
  padding: 6px 12px; text-align: right; border-top: 1px solid #eceff2;
  font-variant-numeric: tabular-nums;
}
th:first-child, td:first-child { text-align: left; }
.text { text-align: left; overflow-wrap: anywhere; min-width: 9rem; }
thead th { border-top: 0; background: #eef2f5; white-space: nowrap; }
tr.group th { background: #f7f9fa; color: #55606b; font-weight: 600; }
ul.notes { list-style: none; margin: 0; padding: 0; display: grid; gap: 8px; }
ul.notes li {
  background: #fff; border: 1px solid #dfe4e9; border-left: 5px solid #c4530f; border-radius: 8px;
  padding: 8px 12px; overflow-wrap: anywhere;
}
ul.notes li.good { border-left-color: #2e7d32; }
ul.notes b { margin-right: 6px; }
code {
  font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .86em; background: #eef2f5;
  border-radius: 4px; padding: 1px 5px;
}
footer { padding: 28px 20px 40px; }
@media (max-width: 500px) {
  body { font-size: 15px; }
  header, main { padding-left: 12px; padding-right: 12px; }
  th, td { padding: 6px 8px; }
  .card { padding: 12px; }
}
"""


@dataclass(frozen=True)
class Section:
    """A heading, a sentence on what is seen, and blocks of HTML that the functions below make."""

    title: str
    blocks: Sequence[str]
    text: str = ""


def page(title: str, subtitle: str, sections: Sequence[Section], footer: str) -> str:
    """Return a whole page of HTML."""
    body = "".join(
        f"<section><h2>{escape(section.title)}</h2>"
        + (f"<p>{escape(section.text)}</p>" if section.text else "")
        + "".join(section.blocks)
        + "</section>"
        for section in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        f'<header><h1>{escape(title)}</h1><p class="faint">{escape(subtitle)}</p></header>'
        f"<main>{body}</main><footer>{escape(footer)}</footer></body></html>\n"
    )


def figure(title: str, svg: str, caption: str = "") -> str:
    """Return a chart with a title above it, and what there is to see in it below."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure class="card"><h3>{escape(title)}</h3>{svg}{below}</figure>'


def grid(blocks: Sequence[str]) -> str:
    """Return blocks side by side, as many as there is room for."""
    return f'<div class="grid">{"".join(blocks)}</div>'


def table(header: Sequence[str], rows: Sequence[Sequence[str]], text_columns: Sequence[int] = ()) -> str:
    """Return a table; a row of one cell is a heading within it. Columns of text are aligned to the left."""
    head = "".join(
        f'<th scope="col"{" class=text" if number in text_columns else ""}>{escape(cell)}</th>'
        for number, cell in enumerate(header)
    )
    body = []
    for row in rows:
        if len(row) == 1:
            body.append(f'<tr class="group"><th colspan="{len(header)}">{escape(row[0])}</th></tr>')
            continue
        cells = "".join(
            f'<td class="text" dir="auto">{escape(cell)}</td>'
            if number in text_columns
            else f"<td>{escape(cell)}</td>"
            for number, cell in enumerate(row)
        )
        body.append(f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def notes(items: Sequence[tuple[str, str, str]], if_none: str) -> str:
    """Return remarks: of each what it is about, the remark, and what to type, if anything."""
    if not items:
        return f'<ul class="notes"><li class="good">{escape(if_none)}</li></ul>'
    rows = "".join(
        f"<li><b>{escape(about)}</b>{escape(text)}"
        + (f" · <code>{escape(code)}</code>" if code else "")
        + "</li>"
        for about, text, code in items
    )
    return f'<ul class="notes">{rows}</ul>'
