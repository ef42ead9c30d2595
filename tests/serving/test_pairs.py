"""A text and its lines: what a model is given of them, and what is put together again."""

import asyncio
from functools import partial
from types import SimpleNamespace

import pytest

from nmt.decoding.loading import choose_search
from nmt.decoding.translation import Candidate, Translation
from nmt.runs.languages import language
from nmt.serving.batching import Batcher
from nmt.serving.metrics import Metrics
from nmt.serving.pairs import Pair
from nmt.serving.text import translate_text


class Model:
    """Finds a line in upper case, and twice; of `short` one translation alone."""

    def __init__(self, num_lines):
        self.decoding, self.given = choose_search("beam", beam_size=3), []
        self.num_lines = num_lines

    def translator(self, settings, num_hypotheses, details, target_language):
        def find(lines):
            self.given.append(lines)
            return [
                Translation(
                    line, [Candidate(line.upper()), *([] if line == "short" else [Candidate(line * 2)])]
                )
                for line in lines
            ]

        context = SimpleNamespace(num_lines=self.num_lines)
        return SimpleNamespace(pairs=SimpleNamespace(context=context), begin=lambda: None, find=find)


def pair_of(model, max_lines=2):
    make_batcher = partial(Batcher, max_lines=max_lines, wait_seconds=0, metrics=Metrics())
    return Pair((language("de"), language("en")), model, None, make_batcher)


def test_a_text_is_put_together_from_its_lines():
    pair = pair_of(Model(0))
    assert pair.max_alternatives == 2
    found = asyncio.run(translate_text(pair, "a\r\n\n  \nshort\n🙂\nc", 1))
    assert found[:2] == ("A\r\n\n  \nSHORT\n🙂\nC", ["aa\r\n\n  \nSHORT\n🙂\ncc"])
    assert asyncio.run(translate_text(pair, "short", 1))[:2] == ("SHORT", []), "others are distinct"


@pytest.mark.parametrize(
    ("num_lines", "given"), [(0, [["a", "b", ""], ["c", ""]]), (1, [["a", "", "b", "c", ""]])]
)
def test_lines_that_are_read_with_lines_before_them_stay_together_with_blank_ones(num_lines, given):
    model = Model(num_lines)
    assert asyncio.run(translate_text(pair_of(model), "a\n\nb\nc"))[:2] == ("A\n\nB\nC", [])
    assert model.given == given
