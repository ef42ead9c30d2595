"""A page: one file of sections, made of figures, tables and notes; no script, nothing fetched.

What is called text here is escaped; what functions return is HTML, as are the parts that they take.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from nmt import __version__
from nmt.reports.drawing.escaping import text
from nmt.reports.drawing.style import COLOURS, STYLE

# Nothing but what stands in the page may be shown, and nothing run: whatever a text holds, it stays text.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class Section:
    """A section as HTML, and what leads to it."""

    identifier: str
    title: str
    content: str


def page(command: str, title: str, subtitle: str, sections: Sequence[Section], top: str = "") -> bytes:
    """Return a whole page that a command made; `top` stands before the first section."""
    links = "".join(f'<a href="#{text(one.identifier)}">{text(one.title)}</a>' for one in sections)
    note = f'<p class="note">{text(subtitle)}</p>' if subtitle else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)} – {text(command)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{text(title)}</h1>{note}<nav>{links}</nav></header>\n"
        f"<main>{top}\n{''.join(one.content for one in sections)}</main>\n"
        f"<footer>nmt {text(__version__)}: {text(command)}</footer>\n</body>\n</html>\n"
    ).encode("utf-8", "replace")


def section(identifier: str, title: str, note: str, *parts: str) -> Section:
    """Return a section; `note` is text that says how to read it."""
    said = f'<p class="note">{text(note)}</p>\n' if note else ""
    body = "\n".join(parts)
    return Section(
        identifier,
        title,
        f'<section id="{text(identifier)}"><h2>{text(title)}</h2>\n{said}{body}</section>\n',
    )


def heading(title: str) -> str:
    """Return a heading within a section."""
    return f"<h3>{text(title)}</h3>"


def paragraph(said: str) -> str:
    """Return a paragraph of text."""
    return f"<p>{text(said)}</p>"


def folded(summary: str, *parts: str) -> str:
    """Return what is seen only when its summary is clicked on."""
    return f"<details><summary>{text(summary)}</summary>{''.join(parts)}</details>"


def figure(title: str, note: str, drawing: str, below: str = "") -> str:
    """Return a drawing with its title above it, and below what there is to say of it, and more to look at."""
    caption = f"<figcaption>{text(note)}{below}</figcaption>" if note or below else ""
    return f'<figure>{heading(title)}<div class="wide">{drawing}</div>{caption}</figure>'


def figures(*parts: str) -> str:
    """Return figures of the same width side by side, as many as there is room for."""
    return f'<div class="figures">{"".join(parts)}</div>'


def maps(*parts: str) -> str:
    """Return figures side by side, each as wide as it is drawn."""
    return f'<div class="maps">{"".join(parts)}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], text_columns: Sequence[int] = ()) -> str:
    """Return a table of cells of text; a row of one cell is a heading within it.

    `text_columns` hold prose, which is not to be aligned as figures are.
    """
    classes = dict.fromkeys(text_columns, ' class="text" dir="auto"')
    heads = "".join(f'<th scope="col"{classes.get(i, "")}>{text(cell)}</th>' for i, cell in enumerate(head))
    body = []
    for row in rows:
        if len(row) == 1 < len(head):
            body.append(f'<tr class="group"><th colspan="{len(head)}">{text(row[0])}</th></tr>')
        else:
            cells = "".join(f"<td{classes.get(i, '')}>{text(cell)}</td>" for i, cell in enumerate(row))
            body.append(f"<tr>{cells}</tr>")
    return f'<div class="table"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def tiles(*pairs: tuple[str, str]) -> str:
    """Return figures that stand out: (figure, what it is) each."""
    cells = (
        f'<div class="tile"><b>{text(value)}</b><span>{text(name)}</span></div>' for value, name in pairs
    )
    return f'<div class="tiles">{"".join(cells)}</div>'


def legend(names: Sequence[str]) -> str:
    """Return which colour stands for what, where there are two."""
    if len(names) < 2:
        return ""
    entries = (
        f'<span><span class="swatch {colour}"></span>{text(name)}</span>'
        for colour, name in zip(itertools.cycle(COLOURS), names, strict=False)
    )
    return f'<p class="legend">{"".join(entries)}</p>'


def notes(items: Sequence[tuple[str, str, str]], if_none: str) -> str:
    """Return remarks: of each what it is about, the remark, and what to type, if anything."""
    if not items:
        return f'<ul class="notes"><li class="good">{text(if_none)}</li></ul>'
    rows = "".join(
        f"<li><b>{text(about)}</b>{text(said)}" + (f" · <code>{text(code)}</code>" if code else "") + "</li>"
        for about, said, code in items
    )
    return f'<ul class="notes">{rows}</ul>'
