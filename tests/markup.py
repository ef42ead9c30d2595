"""What a browser makes of a page: its tags and its text, and that the tags are closed as they were opened."""

import base64
import hashlib
import re
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input"}


class Page(HTMLParser):
    """Fails where an end tag does not close the innermost open element; keeps the text, tags and attributes."""

    def __init__(self, content):
        super().__init__()
        self.content, self.open, self.shown, self.tags, self.attributes = content, [], [], [], []
        self.feed(content)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.shown.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.shown))

    def assert_closed(self):
        """Assert that nothing is fetched, and that no script runs but one whose hash the page itself allows."""
        assert not {"img", "link", "iframe", "object", "base", "form"} & set(self.tags)
        assert self.tags.count("style") == 1
        assert not [key for key, _ in self.attributes if key.startswith("on") or key == "style"]
        links = [value for key, value in self.attributes if key in ("href", "src", "xlink:href")]
        assert all(value.startswith("#") for value in links)
        assert not re.search(r"url\(|@import", self.content)
        (policy,) = (value for _, value in self.attributes if (value or "").startswith("default-src"))
        assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")
        scripts = re.findall("<script>(.*?)</script>", self.content, re.DOTALL)
        assert len(scripts) == self.tags.count("script") <= 1
        hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
        assert re.findall("script-src ([^;]*);", policy) == [f"'sha256-{one}'" for one in hashes]
