"""Lines that are longer than a model was trained on: cut into sentences, whose translations become one line again."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from operator import add, mul
from statistics import fmean

from nmt.config import DecodingSettings
from nmt.data.characters import is_unspaced, is_wordless
from nmt.data.learned_lengths import USUAL_LENGTH, LearnedLengths
from nmt.data.sentences import middle_cut, sentence_splitter
from nmt.decoding.translation import Candidate

# No token has more characters than this: a part with more of them for each allowed token is cut before it is tokenised.
CHARACTERS_OF_TOKEN = 32
CountTokens = Callable[[str], int]
FindSpans = Callable[[str], Iterable[tuple[int, int]]]


class LineCutter:
    """Cuts lines as `decoding.split` says; `limit` is the most tokens that a model can read.

    Lengths that the settings leave open are those of the training lines; where these are not known, lines of more than
    USUAL_LENGTH tokens are long. No cut goes through one of the spans that `find_whole` finds in a line.
    """

    def __init__(
        self,
        settings: DecodingSettings,
        learned: LearnedLengths | None,
        count_tokens: CountTokens,
        limit: int,
        find_whole: FindSpans = lambda _: (),
    ) -> None:
        """Raise SettingsError where the library that finds sentences is not there."""
        usual, longest, _ = learned or (USUAL_LENGTH, limit, None)
        self.how, self.count_tokens, self.find_whole = settings.split, count_tokens, find_whole
        self.long_sentence = min(limit, settings.long_sentence or longest)
        self.long_line = min(limit, settings.long_line or usual)
        self.split_into_sentences = sentence_splitter(settings.sentence_splitter)

    def __call__(self, line: str, num_tokens: int) -> list[str]:
        """Return the parts of a line of `num_tokens` tokens, only one if it is not cut; joined, they are the line."""
        if self.how == "none" or (self.how == "long" and num_tokens <= self.long_line):
            return [line]
        parts = [part for sentence in self.split_into_sentences(line) for part in self._shorten(sentence)]
        found: list[str] = []
        for part in self._move_cuts(line, parts):
            # White space or emoji alone are no part.
            if found and (is_wordless(part) or is_wordless(found[-1])):
                found[-1] += part
            else:
                found.append(part)
        return found

    def _move_cuts(self, line: str, parts: Sequence[str]) -> list[str]:
        """Move cuts out of spans that stay whole: to the beginning of one or, if that is cut already, its end."""
        spans, cuts = list[tuple[int, int]](), [0]
        for begin, end in sorted(self.find_whole(line)):
            if spans and begin < spans[-1][1]:  # they overlap
                begin, end = spans[-1][0], max(end, spans.pop()[1])
            spans.append((begin, end))
        for cut in accumulate(map(len, parts)):
            place = bisect_left(spans, (cut,)) - 1  # of the last span that begins before
            begin, end = spans[place] if place >= 0 and cut < spans[place][1] else (cut, cut)
            cuts.append(begin if begin > cuts[-1] else max(end, cuts[-1]))
        return [line[begin:end] for begin, end in pairwise(cuts)]

    def _shorten(self, sentence: str) -> list[str]:
        """Halve a sentence until no part of it is too long for the model."""
        parts, rest = [], [sentence]
        while rest:
            part = rest.pop()
            is_short = (
                len(part) <= CHARACTERS_OF_TOKEN * self.long_sentence
                and self.count_tokens(part) <= self.long_sentence
            )
            if is_short or len(part) < 2:
                parts.append(part)
            else:
                place = middle_cut(part)
                rest += [part[place:], part[:place]]
        return parts


def join_parts(parts: Sequence[str], found: Sequence[Sequence[Candidate]], tag: str = "") -> list[Candidate]:
    """Join the translations `found` of the parts of a line: the best of each part, the second of each, and so on.

    Each part begins with the `tag`, where there is one; the line has this word once, as its first. The score is the
    mean over the parts, the confidence the mean over the words, if every part has one. A part with fewer translations
    than others gives its last one again.
    """
    num_found = max(map(len, found))
    parts = [parts[0], *(part.removeprefix(tag and f"{tag} ") for part in parts[1:])]
    ranked = [[some[min(number, len(some) - 1)] for some in found] for number in range(num_found)]
    return [_join(parts, translations, int(tag != "")) for translations in ranked]


def _join(parts: Sequence[str], translations: Sequence[Candidate], num_tags: int) -> Candidate:
    texts: list[str] = []
    links, shares, tokens, log_probs = [], [], [], []
    word_log_probs: list[float] = []
    word_confidences: list[float] = []
    first_source = first_target = 0  # words that stand before those of the part
    for number, (part, one) in enumerate(zip(parts, translations, strict=True)):
        if number and not (parts[number - 1][-1].isspace() or part[0].isspace()):
            first_source -= 1  # it was cut inside of a word
        is_apart = True
        if texts and one.text:
            is_apart = not is_unspaced(texts[-1][-1])
            texts.append(" " * is_apart)
            first_target -= not is_apart
        of_line = partial(_word_of_line, num_before=first_source, num_tags=num_tags if number else 0)
        links += [(of_line(source), target + first_target) for source, target in one.alignment or []]
        shares += [(of_line(source), target + first_target, share) for source, target, share in one.attention]
        texts += [one.text] if one.text else []
        first_source, first_target = first_source + len(part.split()), first_target + len(one.text.split())
        tokens += one.tokens
        log_probs += one.token_log_probs
        # Where two words become one, both have to be right.
        _append(word_log_probs, one.word_log_probs, add, is_apart)
        _append(word_confidences, one.word_confidences, mul, is_apart)
    scores = [one.score for one in translations if one.score is not None]
    score = fmean(scores) if len(scores) == len(translations) else None
    has_links = all(one.alignment is not None for one in translations)
    joined = Candidate("".join(texts), score, tokens, log_probs, links if has_links else None)
    num_words = len(joined.text.split())
    joined.attention = shares
    joined.word_log_probs = word_log_probs if len(word_log_probs) == num_words else []
    joined.word_confidences = word_confidences if len(word_confidences) == num_words else []
    sure = [(one.confidence, len(one.word_confidences)) for one in translations if one.confidence is not None]
    if joined.word_confidences:
        joined.confidence = fmean(*zip(*sure, strict=True))
    return joined


def _word_of_line(word: int, num_before: int, num_tags: int) -> int:
    """Return which word of a line a word of its part is; the tags that the part repeats are the first words of both."""
    return word if word < num_tags else word - num_tags + num_before


def _append(
    words: list[float], more: Sequence[float], join: Callable[[float, float], float], is_apart: bool
) -> None:
    """Append the values of more words; unless `is_apart`, the first of them continues the last word so far."""
    is_joined = bool(words and more and not is_apart)
    if is_joined:
        words[-1] = join(words[-1], more[0])
    words += more[is_joined:]
