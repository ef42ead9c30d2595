"""Pivot translation: its way through other languages, and the links and confidences of the words at its end."""

import asyncio
import itertools
import random

from nmt.decoding.translation import Candidate, Translation
from nmt.runs.languages import language
from nmt.serving.batching import Wanted
from nmt.serving.languages import Languages
from nmt.serving.pivot import Pivot


class Pair:
    """Translates by a rule: `sources` has the number of the source word that each target word goes back to."""

    max_alternatives = None

    def __init__(self, source="de", target="en", sources=(0,), confidence=1.0, others=0):
        self.source, self.target = language(source), language(target)
        self.sources, self.confidence, self.others, self.asked = sources, confidence, others, []

    async def find(self, lines, wanted):
        self.asked.append(wanted)
        return [self._translation(line) for line in lines]

    def _translation(self, line):
        words = line.split()
        text = " ".join(words[i].upper() for i in self.sources)
        links = [(i, j) for j, i in enumerate(self.sources)]
        best = Candidate(text, alignment=links, word_confidences=[self.confidence] * len(links))
        return Translation(
            line, [best, *(Candidate(f"other {i}") for i in range(self.others))], is_cut="cut" in line
        )


def test_links_and_confidences_go_through_all_models():
    """Check the links against the words themselves, whose letters all models keep."""
    first, second, third = (
        Pair(sources=(2, 0, 1)),
        Pair(sources=(1, 1, 0), confidence=0.5),
        Pair(sources=(2, 0), others=2),
    )
    (found,) = asyncio.run(Pivot([first, second, third]).find(["a b cut"], Wanted(3, True)))
    best = found.hypotheses[0]
    words = found.source.split()
    assert (found.source, found.is_cut) == ("a b cut", True)
    assert best.text.split() == [words[i].upper() for i, _ in best.alignment] == ["CUT", "A"]
    assert [j for _, j in best.alignment] == [0, 1]
    assert best.word_confidences == [0.5, 0.5]
    assert [one.text for one in found.hypotheses[1:]] == ["other 0", "other 1"]
    assert (first.asked, third.asked) == ([Wanted(1, True)], [Wanted(3, True)])


def test_a_word_that_goes_back_to_several_goes_back_to_all_of_theirs():
    class Two(Pair):
        def _translation(self, line):
            return Translation(line, [Candidate("x", alignment=[(0, 0), (1, 0)], word_confidences=[0.5])])

    class Sure(Pair):
        def _translation(self, line):
            best = Candidate("x y", alignment=[(0, 0), (1, 1), (2, 1)], word_confidences=[0.25, 0.75])
            return Translation(line, [best])

    (found,) = asyncio.run(Pivot([Sure(), Two()]).find(["a b c"], Wanted(1, True)))
    assert found.hypotheses[0].alignment == [(0, 0), (1, 0), (2, 0)]
    assert found.hypotheses[0].word_confidences == [0.5 * 0.5]


def test_what_has_no_links_gives_none():
    class Blind(Pair):
        def _translation(self, line):
            return Translation(line, [Candidate(line)])

    for ways in ([Blind(), Pair()], [Pair(), Blind()]):
        (found,) = asyncio.run(Pivot(ways).find(["a"], Wanted(1, True)))
        assert found.hypotheses[0].alignment is None
        assert found.hypotheses[0].word_confidences == []


def test_the_way_is_as_short_as_any():
    """Against Floyd and Warshall's lengths, on random sets of pairs."""
    codes = ["de", "en", "fr", "cs", "it", "nl", "pl"]
    for seed in range(30):
        drawn = random.Random(seed)
        every = list(itertools.permutations(codes, 2))
        some = [Pair(*pair) for pair in drawn.sample(every, drawn.randint(1, 14))]
        languages = Languages(some)
        there = languages.by_code
        length = {(a, b): 0 if a == b else 99 for a in there for b in there}
        length |= {(pair.source.code, pair.target.code): 1 for pair in some}
        for middle, a, b in itertools.product(there, there, there):
            length[a, b] = min(length[a, b], length[a, middle] + length[middle, b])
        for (a, b), expected in length.items():
            way = languages.ways.get((a, b), [])
            assert len(way) == (0 if expected == 99 else expected), (seed, a, b)
            here = a
            for pair in way:
                assert pair.source.code == here
                here = pair.target.code
            assert here == (b if way else a)
        targets = {one["code"]: set(one["targets"]) for one in languages.table()}
        assert targets == {a: {b for b in there if length[a, b] < 99} for a in there}
