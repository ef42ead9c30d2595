"""What the characters of a text say of it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.data.characters import SYMBOLS_OF_TEXT, WORDLESS, is_wordless


@given(st.text(max_size=20), st.sampled_from(["", " " * 300, "🙂" * 300, "a" * 300]))
def test_a_text_is_wordless_if_each_of_its_characters_is(text, more):
    assert is_wordless(more + text) == all(
        unicodedata.category(one) in WORDLESS and not SYMBOLS_OF_TEXT.match(one) for one in more + text
    )


@pytest.mark.parametrize("text", ["⠓⠑⠇⠇⠕ ⠺", "\U0001d800\U0001d801 \U0001d85a", "ⓗⓔⓛⓛⓞ", "㍻", "⒜"])
def test_what_is_read_as_text_is_text_though_a_symbol_to_unicode(text):
    assert not is_wordless(text)
    assert is_wordless("☃ 🙂👍🏽 ❤️ ✅ ©")
