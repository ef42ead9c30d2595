"""What the characters of a text say of it."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from nmt.data.characters import WORDLESS, is_wordless


@given(st.text(max_size=20), st.sampled_from(["", " " * 300, "🙂" * 300, "a" * 300]))
def test_a_text_is_wordless_if_each_of_its_characters_is(text, more):
    assert is_wordless(more + text) == all(unicodedata.category(one) in WORDLESS for one in more + text)
