"""A page: one file made from a template, which fetches nothing and runs no script but the one that its hash allows."""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from nmt import __version__
from nmt.reports.drawing.shapes import COLOURS, Drawing

# Control characters, lone surrogates, and characters that change the direction of the text after them.
NOT_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Figure:
    """A drawing with its title above it, and a note below it."""

    title: str
    note: str
    drawing: Drawing


@dataclass(frozen=True)
class Table:
    """Cells of text; a row of one cell is a heading within the table, `prose` are indices of columns of sentences."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    prose: Sequence[int] = ()


def render(template: str, **values: Any) -> bytes:
    """Return the page that a template makes of values, each of which is shown as text, whatever it holds."""
    return templates().get_template(template).render(values).encode("utf-8", "replace")


def svg(drawing: Drawing) -> str:
    """Return a drawing as an SVG file of its own, which brings no style."""
    return str(templates().get_template("drawing.html").module.svg(drawing, alone=True)) + "\n"  # type: ignore[attr-defined]


@cache
def templates() -> jinja2.Environment:
    """Return the templates of this package, which escape all values and refuse an undefined one."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("nmt.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _source(environment, "sentences.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals.update(
        version=__version__,
        colours=COLOURS,
        style=Markup(_source(environment, "style.css")),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )
    return environment


def _source(environment: jinja2.Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _shown(value: object) -> object:
    """Replace characters that cannot be shown in a text; what a template made (Markup) has none of them."""
    return (
        NOT_SHOWN.sub("\ufffd", value) if isinstance(value, str) and not isinstance(value, Markup) else value
    )
