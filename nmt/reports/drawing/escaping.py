"""What a person or a stranger wrote, as HTML that only shows it."""

import re
from html import escape

# Control characters, halves of characters, and those that turn the direction of what follows.
NOT_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def text(value: object) -> str:
    """Return a text as HTML; what cannot be shown is replaced."""
    return escape(NOT_SHOWN.sub("\ufffd", str(value)), quote=True)
