"""Text with marks of subwords is found, and text that only looks a little like it is not."""

import pytest

from nmt.errors import DataError
from nmt.evaluation.plain_text import find_mark, require_plain_text


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        ("▁The ▁dog", "▁"),
        ("The dog▁", "▁"),
        ("The do@@ g", "@@"),
        ("The do@@", "@@"),
        ("The dog </s>", "</s>"),
        ("The dog ￭.", "￭"),
        ("The dog sleeps.", None),
        ("@@ -1,3 +1,4 @@ context", None),
        ("write to a@@b or @@", None),
        ("<s> The dog </s>", "</s>"),
        ("<s> is a tag", None),
        ("<b>8</b> euros, before <s>10</s> euros", None),
        ("The dog_sleeps _ # ##", None),
    ],
)
def test_marks(line, mark):
    assert find_mark(["", line, line]) == (None if mark is None else (2, mark))


def test_the_line_is_named():
    with pytest.raises(
        DataError, match=r"^reference: text without marks .* got @@ in ref.en, line 3; put the pieces"
    ):
        require_plain_text(["a", "b", "c@@ d"], "reference", "ref.en")
    require_plain_text([], "reference", "ref.en")
