"""Text with markup inside, and its place in a translation: around what the words inside it became.

As in Bergamot's translators (Bogoychev et al. 2020), the markup follows the word alignment. Here an element stays in
one piece, so that no link comes twice: it takes the run of target words with most links to its own words and fewest
to others.
"""

import re
import unicodedata
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from nmt.decoding.translation import Translation
from nmt.decoding.word_alignment import Link

# A word of more characters than this is none, such as a line without spaces, and is not searched for copies.
MAX_WORD = 1000
# Links of one word that are looked at. A word with more of them is none, such as a page without spaces, and each of its
# elements would look at all words of the translation.
MAX_LINKS = 32


@dataclass(frozen=True)
class Element:
    """Markup: what stands before its content, and behind it.

    An element that `is_kept` comes out as it is, though its content is read as a part of the line. One without content
    marks a place.
    """

    before: str = ""
    behind: str = ""
    content: "list[str | Element]" = field(default_factory=list)
    is_kept: bool = False


Content = Sequence[str | Element]


def text_of(content: Content) -> str:
    """Return text without its markup."""
    return "".join(part if isinstance(part, str) else text_of(part.content) for part in content)


def has_text(content: Content) -> bool:
    """Whether there is anything but markup and space."""
    return any(part.strip() != "" if isinstance(part, str) else has_text(part.content) for part in content)


def num_parts(content: Content) -> int:
    """Return how many elements and texts there are, with those inside of elements."""
    return sum(1 if isinstance(part, str) else 1 + num_parts(part.content) for part in content)


def line_of(content: Content) -> str:
    """Return text without its markup; where spaces meet, such as those around a tag, one is left."""
    return re.sub(" +", " ", text_of(content)).strip(" ")


def render(content: Content, escape: Callable[[str], str]) -> str:
    """Return text with its markup; `escape` says how the text between tags is written."""
    written = []
    for part in content:
        if isinstance(part, str):
            written.append(escape(part))
        else:
            within = "" if part.is_kept else render(part.content, escape)
            written.append(f"{part.before}{within}{part.behind}")
    return "".join(written)


def place(content: Content, translation: Translation) -> Content:
    """Return the best translation of a text with the markup that the text has."""
    target = translation.text
    if target == line_of(content):
        return content
    if all(isinstance(part, str) for part in content):
        return [target]
    links = translation.hypotheses[0].alignment or ()
    return _Placement(text_of(content), target, links).place(content, 0, (0, len(target)), 0)


def _words(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text start and end."""
    found, end = [], 0
    for word in text.split():
        start = text.index(word, end)
        end = start + len(word)
        found.append((start, end))
    return found


class _Placement:
    """A text and its translation, the words of both, and their alignment."""

    def __init__(self, source: str, target: str, links: Sequence[Link]) -> None:
        self.source, self.target = source, target
        self.source_words, self.target_words = _words(source), _words(target)
        num_source, num_target = len(self.source_words), len(self.target_words)
        known = [(one, other) for one, other in links if one < num_source and other < num_target]
        # A model without attention gives no links: take its words to be about where they were.
        if not known and num_source and num_target:
            known = [(int((j + 0.5) * num_source / num_target), j) for j in range(num_target)]
        self.sources_of, self.targets_of = _grouped((j, i) for i, j in known), _grouped(known)
        # How many elements each word of the translation lies in.
        self.depths = [0] * num_target
        # Where a word of the translation, at a depth, repeats pieces of the source: `yes`/`no` is one word.
        self.copies: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def place(self, content: Content, start: int, within: tuple[int, int], depth: int) -> list[str | Element]:
        """Return the translation `within` two places, with the elements of content, whose source begins at `start`.

        An element gets no words that an earlier one beside it has.
        """
        whole = text_of(content).strip()
        taken: list[tuple[int, int, int, list[str | Element]]] = []  # from, to, number
        for number, part in enumerate(content):
            if isinstance(part, str):
                start += len(part)
                continue
            text = text_of(part.content)
            end = start + len(text)
            if whole and text.strip() == whole:
                first, last = within
                self._take(first, last, depth)
            elif part.is_kept and not self._has_word(start, end):  # the rest of its word is translated
                first, last = self._copy_of(start, end, within, depth)
            else:
                first, last = self._span(start, end, within, depth)
            if first == last:
                first = last = _outside(taken, first)
            if part.is_kept and text.isspace():  # it stands for the space between two words
                first, last = self._space_at(first, within)
            kept = part.content if part.is_kept else self.place(part.content, start, (first, last), depth + 1)
            made = replace(part, content=kept)
            some: list[str | Element] = [made]
            if first == last and (part.is_kept or not text):
                some = self._spaced(made, start, end, first, within)
            insort(taken, (first, last, number, some), key=lambda one: one[:3])
            start = end
        found: list[str | Element] = []
        here, before = within[0], -1
        for first, last, number, parts in taken:
            # A place that lies within a later element comes behind it.
            between = self.target[here:first]
            if not between and found and number != before + 1 and _are_joined(found[-1], parts[0]):
                between = " "
            found += [part for part in (between, *parts) if part != ""]
            here, before = max(here, last), number
        return [part for part in (*found, self.target[here : within[1]]) if part != ""]

    def _span(self, start: int, end: int, within: tuple[int, int], depth: int) -> tuple[int, int]:
        """Return the span of the translation, inside of `within`, that the source from `start` to `end` becomes."""
        own = self._source_words(start, end)
        targets = sorted(target for source in own for target in self.targets_of.get(source, ()))
        is_own = set(own)
        gains: list[int | None] = []
        for i in range(targets[0], targets[-1] + 1) if targets else ():
            word, sources = self.target_words[i], self.sources_of.get(i, ())
            # The marks of a word may be outside of what is around it.
            is_free = within[0] < word[1] and word[0] < within[1] and self.depths[i] == depth
            gains.append(sum(1 if one in is_own else -1 for one in sources) if is_free else None)
        run = _best_run(gains)
        if run is None:
            here = min(max(self._gap(start, end), within[0]), within[1])
            return here, here
        first_word, last_word = targets[0] + run[0], targets[0] + run[1]
        first, last = self.target_words[first_word][0], self.target_words[last_word][1]
        self._take(first, last, depth)
        first, last = max(first, within[0]), min(last, within[1])
        text, most = self.source[start:end].strip(), last - first
        first += _num_outside(self.target[first:last], text, self.source[max(0, start - most) : start][::-1])
        last -= _num_outside(self.target[first:last][::-1], text[::-1], self.source[end : end + most])
        return first, last

    def _spaced(
        self, element: Element, start: int, end: int, here: int, within: tuple[int, int]
    ) -> list[str | Element]:
        """Return an element without words, to stand at a place, with spaces around it where the source has them.

        A space is also added where two words would become one; none is at the edge of what it is `within`, where
        emphasis of Markdown cannot have one.
        """

        def is_apart(beside: str, edge: str, neighbour: str) -> bool:
            return neighbour.strip() != "" and (beside.isspace() or (edge.isalnum() and neighbour.isalnum()))

        source, target = self.source, self.target
        before = is_apart(
            source[start - 1 : start], source[start:end][:1], target[max(within[0], here - 1) : here]
        )
        behind = is_apart(source[end : end + 1], source[start:end][-1:], target[here : within[1]][:1])
        return [part for part in (" " * before, element, " " * behind) if part != ""]

    def _take(self, first: int, last: int, depth: int) -> None:
        """Note that an element has the words between two places."""
        i = bisect_left(self.target_words, (first, first))
        while i < len(self.target_words) and self.target_words[i][1] <= last:
            self.depths[i] = depth + 1
            i += 1

    def _has_word(self, start: int, end: int) -> bool:
        """Return whether a whole word, but for punctuation around it, lies between two places of the source."""
        for i in self._source_words(start, end):
            first, last = word = self.source_words[i]
            while first < last and _is_punctuation(self.source[first]):
                first += 1
            while first < last and _is_punctuation(self.source[last - 1]):
                last -= 1
            first, last = (first, last) if first < last else word
            if start <= first and last <= end:
                return True
        return False

    def _copy_of(self, start: int, end: int, within: tuple[int, int], depth: int) -> tuple[int, int]:
        """Return where the translation of its word repeats a piece of the source, or else an empty span for it."""
        text = self.source[start:end].strip()
        copied = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
        for i in self._source_words(start, end) if text else ():
            for j in self.targets_of.get(i, ()):
                first, last = self.target_words[j]
                copies = self.copies.get((j, depth), [])
                is_free = self.depths[j] == depth or 0 < len(copies) < MAX_LINKS
                if not is_free or last - first > MAX_WORD or first < within[0] or within[1] < last:
                    continue
                for copy in copied.finditer(self.target, first, last):
                    if all(copy.end() <= begin or end <= copy.start() for begin, end in copies):
                        self.copies[j, depth] = [*copies, copy.span()]
                        self.depths[j] = depth + 1
                        return copy.span()
        here = min(max(self._gap(start, start), within[0]), within[1])
        return here, here

    def _space_at(self, here: int, within: tuple[int, int]) -> tuple[int, int]:
        """Return the space at a place, or the one before it, if there is any."""
        if here < within[1] and self.target[here] == " ":
            return here, here + 1
        return (here - 1, here) if here > within[0] and self.target[here - 1] == " " else (here, here)

    def _source_words(self, start: int, end: int) -> list[int]:
        """Return the source words at least half of which lies between two places; if none, those that overlap them."""
        i = max(0, bisect_left(self.source_words, (start, start)) - 1)
        some = []
        while i < len(self.source_words) and self.source_words[i][0] < end:
            word = self.source_words[i]
            overlap = min(word[1], end) - max(word[0], start)
            if overlap > 0:
                some.append((i, 2 * overlap >= word[1] - word[0]))
            i += 1
        return [i for i, is_half in some if is_half] or [i for i, _ in some]

    def _gap(self, start: int, end: int) -> int:
        """Return the place of an element that has no words in the translation: at its neighbouring word."""
        words = self.source_words
        if not words or words[0][0] >= start:
            return 0
        if words[-1][1] <= end:
            return len(self.target)
        following = bisect_left(words, (end, end))
        if not self.source[start - 1].isspace():  # it hangs on the word before it
            linked = self.targets_of.get(following - 1)
            if linked:
                return self.target_words[max(linked)][1]
        elif linked := self.targets_of.get(following):
            return self.target_words[min(linked)][0]
        number = round(following / len(words) * len(self.target_words))
        return self.target_words[number - 1][1] if number else 0


def _grouped(pairs: Iterable[Link]) -> dict[int, list[int]]:
    """Return the words that each word is linked to, the first `MAX_LINKS` of them."""
    found: dict[int, list[int]] = {}
    for one, other in pairs:
        others = found.setdefault(one, [])
        if len(others) < MAX_LINKS:
            others.append(other)
    return found


def _outside(taken: Sequence[tuple[int, int, int, list[str | Element]]], here: int) -> int:
    """Return a place, or the end of the taken span that it lies inside of."""
    i = bisect_left(taken, here, key=lambda one: one[0])
    return taken[i - 1][1] if i and here < taken[i - 1][1] else here


def _are_joined(one: str | Element, other: str | Element) -> bool:
    """Whether two parts beside each other are kept words, which would be read as one."""
    return all(
        isinstance(part, Element) and part.is_kept and text_of([part]).strip() for part in (one, other)
    )


def _best_run(gains: Sequence[int | None]) -> tuple[int, int] | None:
    """Return the first and the last index of the run with the largest sum; None where nothing is gained.

    No run crosses None. The method is Kadane's algorithm.
    """
    best, found, total, first = 0, None, 0, 0
    for i, gain in enumerate(gains):
        if gain is None or total <= 0:
            total, first = 0, i
        if gain is not None:
            total += gain
            if total > best:
                best, found = total, (first, i)
    return found


def _num_outside(found: str, text: str, beside: str) -> int:
    """Return how many marks at the beginning of the translation `found` are not of an element with a text.

    A text that begins without punctuation leaves all of it outside: (<b>so</b>). Another one leaves outside what is
    more than its own, as much as the source has `beside` it: (<b>(so)</b>).
    """
    own = _num_marks(text)
    most = _num_marks(beside) if own else len(found) - 1
    return max(0, min(most, _num_marks(found) - own))


def _num_marks(text: str) -> int:
    return sum(1 for _ in takewhile(_is_punctuation, text))


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")
