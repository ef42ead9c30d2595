"""Segmentations drawn anew for each epoch, so that a model sees a word in several ways.

BPE models are sampled by BPE-dropout (Provilkov et al. 2020), unigram models by subword regularisation (Kudo 2018).
This module draws by itself: since version 0.2.2, SentencePiece seeds its generator with something of the process, too,
so that no two processes draw alike.
"""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import torch

from nmt.data.arrays import BoolArray, FloatArray, Int32Array, Int64Array
from nmt.data.dataset import Dataset, Ids
from nmt.data.tokenizer import WORD_START, Tokenizer, Vocabulary
from nmt.errors import SettingsError

# Sentences that share a random generator; another number would change the draws.
SENTENCES_AT_ONCE = 10_000
# Words whose pieces are remembered from chunk to chunk.
WORDS_KEPT = 30_000

# Draws segmentations of words of n letters. It takes the ids of the pieces that W words could consist of (W, n, K) and
# which word each of M occurrences is (M), and returns where pieces start (M, n) and their numbers of letters (M, n).
Draw = Callable[[Int32Array, Int64Array, np.random.Generator], tuple[BoolArray, Int64Array]]


def sample_dataset(
    plain: Dataset, tokenizer: Tokenizer, alpha: float, seed: int, number: int, max_length: int
) -> Dataset:
    """Draw a segmentation of each side of each pair, the same whenever and wherever the arguments are the same.

    `plain` is the text as the tokenizer segments it; the result, on the CPU, has the same pairs in the same order.
    For a bpe model, `alpha` is the probability that a merge is left out: 0 gives the plain segmentation, 1 characters.
    For a unigram model, it is the exponent of the probabilities: 0 makes all segmentations equally likely, a large one
    gives the plain segmentation. A side that would be longer than `max_length` tokens stays plain, as do characters
    that the vocabulary lacks, and pieces that a user defined. Raises SettingsError for other kinds of models.
    """
    refuse_unsampled(tokenizer)
    sides = [(plain.source, tokenizer.source), (plain.target, tokenizer.target)]
    source, target = (
        _Side(vocabulary, alpha).sample(ids, [seed, number, side], max_length)
        for side, (ids, vocabulary) in enumerate(sides)
    )
    return Dataset(source, target)


def refuse_unsampled(tokenizer: Tokenizer) -> None:
    """Raise SettingsError if a vocabulary knows only one way to segment a text."""
    for vocabulary in (tokenizer.source, tokenizer.target):
        if vocabulary.kind not in ("bpe", "unigram"):
            raise SettingsError(
                "training.subword_sampling: a tokenizer of kind bpe or unigram is needed, to segment in several "
                f"ways; got one of kind {vocabulary.kind}"
            )


class _Side:
    """A vocabulary in the form that drawing needs."""

    def __init__(self, vocabulary: Vocabulary, alpha: float) -> None:
        self.pieces = vocabulary.pieces
        self.is_normal = np.array(vocabulary.is_normal)
        self.starts_word = np.array([piece.startswith(WORD_START) for piece in vocabulary.pieces])
        self.id_of = {piece: i for i, piece in enumerate(vocabulary.pieces) if self.is_normal[i]}
        self.longest = max(map(len, self.id_of), default=1)
        self.list_pieces = lru_cache(WORDS_KEPT)(self._list_pieces)
        # The last element is the score of id -1: no such piece.
        scores = np.append(np.array(vocabulary.scores, np.float64), -np.inf)
        self.draw: Draw
        if vocabulary.kind == "bpe":
            self.draw = partial(_draw_merges, -scores, alpha)
        else:
            scores[:-1] *= alpha
            self.draw = partial(_draw_paths, scores)

    def sample(self, ids: Ids, seeds: list[int], max_length: int) -> Ids:
        """Draw sentences, a chunk at a time."""
        tokens, lengths = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for chunk, first in enumerate(range(0, len(ids.offsets) - 1, SENTENCES_AT_ONCE)):
            offsets = np.asarray(ids.offsets[first : first + SENTENCES_AT_ONCE + 1])
            generator = np.random.Generator(np.random.PCG64([*seeds, chunk]))
            plain = ids.tokens[offsets[0] : offsets[-1]].cpu().numpy()
            drawn = self._sample_chunk(plain, offsets - offsets[0], generator, max_length)
            tokens.append(drawn[0])
            lengths.append(drawn[1])
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        return Ids(torch.from_numpy(np.concatenate(tokens)), offsets)

    def _sample_chunk(
        self, plain: Int32Array, offsets: Int64Array, generator: np.random.Generator, max_length: int
    ) -> tuple[Int32Array, Int64Array]:
        """Return the tokens of a chunk and the lengths of its sentences."""
        starts = self._find_words(plain, offsets)
        sizes = np.diff(np.append(starts, len(plain)))
        # Sentence i is the words first_words[i] : first_words[i + 1].
        first_words = np.searchsorted(starts, offsets)
        pool, drawn_starts, drawn_sizes = self._draw_words(plain, starts, sizes, generator)
        lengths = _sum_parts(drawn_sizes, first_words)
        stays_plain = lengths > max_length
        lengths = np.where(stays_plain, np.diff(offsets), lengths)
        word_stays_plain = np.repeat(stays_plain, np.diff(first_words))
        starts = np.where(word_stays_plain, starts, drawn_starts)
        sizes = np.where(word_stays_plain, sizes, drawn_sizes)
        return pool[_concatenate_ranges(starts, sizes)], lengths

    def _find_words(self, plain: Int32Array, offsets: Int64Array) -> Int64Array:
        """Return where words start; each piece that is not normal is a word of its own, which stays as it is."""
        is_start = self.starts_word[plain] | ~self.is_normal[plain]
        is_start[1:] |= ~self.is_normal[plain[:-1]]
        is_start[offsets[offsets < len(plain)]] = True
        return np.flatnonzero(is_start)

    def _draw_words(
        self, plain: Int32Array, starts: Int64Array, sizes: Int64Array, generator: np.random.Generator
    ) -> tuple[Int32Array, Int64Array, Int64Array]:
        """Return a pool of tokens, and for each word where its tokens start in the pool and how many they are."""
        raw, numbers = plain.tobytes(), dict[bytes, int]()
        ranges = zip((starts * 4).tolist(), ((starts + sizes) * 4).tolist(), strict=True)
        which = np.array([numbers.setdefault(raw[a:b], len(numbers)) for a, b in ranges], np.int64)
        by_length = self._group_words(numbers)
        pool, end = [plain], len(plain)
        drawn_starts, drawn_sizes = starts.copy(), sizes.copy()
        row_of, length_of = np.zeros((2, len(numbers)), np.int64)
        for length, words in by_length.items():
            members = [number for number, _ in words]
            row_of[members], length_of[members] = np.arange(len(members)), length
        lengths = length_of[which]
        for length in sorted(by_length):
            table = np.stack([self.list_pieces(word) for _, word in by_length[length]])  # (W, n, K)
            occurrences = np.flatnonzero(lengths == length)
            rows = row_of[which[occurrences]]
            is_start, num_letters = self.draw(table, rows, generator)
            counts = is_start.sum(1)
            drawn_sizes[occurrences] = counts
            drawn_starts[occurrences] = end + np.cumsum(counts) - counts
            occurrence, position = np.nonzero(is_start)
            pool.append(table[rows[occurrence], position, num_letters[is_start] - 1])
            end += len(occurrence)
        return np.concatenate(pool), drawn_starts, drawn_sizes

    def _group_words(self, numbers: dict[bytes, int]) -> dict[int, list[tuple[int, str]]]:
        """Return, by number of letters, the words that have several segmentations, given as bytes of their ids."""
        by_length: dict[int, list[tuple[int, str]]] = {}
        for key, number in numbers.items():
            ids = np.frombuffer(key, np.int32).tolist()
            word = "".join([self.pieces[i] for i in ids])
            if self.is_normal[ids[0]] and len(word) > 1 and all(letter in self.id_of for letter in word):
                by_length.setdefault(len(word), []).append((number, word))
        return by_length

    def _list_pieces(self, word: str) -> Int32Array:
        """Return the ids (n, K) of the pieces of 1, 2, … K letters from each of the n letters on; -1 is none."""
        sizes, find = range(1, min(self.longest, len(word)) + 1), self.id_of.get
        padded = word + "\0" * len(sizes)  # no piece holds NUL, so none ends behind the word
        ids = [find(padded[i : i + size], -1) for i in range(len(word)) for size in sizes]
        return np.array(ids, np.int32).reshape(len(word), -1)


def _draw_merges(
    costs_of: FloatArray, alpha: float, table: Int32Array, rows: Int64Array, generator: np.random.Generator
) -> tuple[BoolArray, Int64Array]:
    """Make the cheapest merge that is not left out, until all are left out: algorithm 1 of Provilkov et al.

    A merge that is left out at one step may be made at the next. SentencePiece's own dropout leaves it out for good,
    which at the same alpha adds about twice as many tokens to the plain segmentation.
    """
    num_words, n, longest = table.shape
    is_start, sizes = np.ones((len(rows), n), np.bool_), np.ones((len(rows), n + 1), np.int64)
    if alpha >= 1:
        return is_start, sizes[:, :n]
    # Costs of the piece of k letters that starts at a letter; no piece starts at n or has more than K letters.
    costs_of_pieces = np.full((num_words, n + 1, longest + 2), np.inf)
    costs_of_pieces[:, :n, 1 : longest + 1] = costs_of[table]
    sizes[:, n] = longest + 1
    before = np.tile(np.arange(-1, n), (len(rows), 1))  # where the piece to the left starts
    before[:, 0] = n
    # Costs of merging the piece that starts at a letter with the next one.
    costs = np.full((len(rows), n + 1), np.inf)
    costs[:, : n - 1] = costs_of_pieces[rows, : n - 1, 2]
    going = np.arange(len(rows))
    while len(going):
        candidates = costs[going]
        chosen = candidates.argmin(1)
        # The number of the cheapest merges that are left out in a row is geometric.
        num_left_out = np.minimum(generator.geometric(1 - alpha, len(going)) - 1, n)
        others = np.flatnonzero(num_left_out)
        ordered = candidates[others].argsort(1, kind="stable")
        chosen[others] = ordered[np.arange(len(others)), num_left_out[others]]
        merges = candidates[np.arange(len(going)), chosen] < np.inf
        going = going[merges]
        merging, left = going, chosen[merges]
        right = left + sizes[merging, left]
        sizes[merging, left] += sizes[merging, right]
        after = left + sizes[merging, left]
        is_start[merging, right], costs[merging, right] = False, np.inf
        inside = after < n
        before[merging[inside], after[inside]] = left[inside]
        for start, end in ((left, after), (before[merging, left], left)):
            size = np.minimum(sizes[merging, start] + sizes[merging, end], longest + 1)
            costs[merging, start] = costs_of_pieces[rows[merging], start, size]
    return is_start, sizes[:, :n]


def _draw_paths(
    scores_of: FloatArray, table: Int32Array, rows: Int64Array, generator: np.random.Generator
) -> tuple[BoolArray, Int64Array]:
    """Draw segmentations by their probabilities: sums over them from the left, then pieces drawn from the right."""
    num_words, n, longest = table.shape
    scores = scores_of[table]
    # Logs of sums over all segmentations of the first letters, and cumulated probabilities of the last piece's size.
    totals = np.zeros((num_words, n + 1))
    cumulated = np.zeros((num_words, n + 1, longest))
    for end in range(1, n + 1):
        size = np.arange(1, min(longest, end) + 1)
        paths = totals[:, end - size] + scores[:, end - size, size - 1]
        largest = paths.max(1, keepdims=True)
        sums = np.exp(paths - largest).cumsum(1)
        totals[:, end] = largest[:, 0] + np.log(sums[:, -1])
        cumulated[:, end, : len(size)] = sums
        cumulated[:, end, len(size) :] = sums[:, -1:]
    is_start, sizes = np.zeros((len(rows), n), np.bool_), np.zeros((len(rows), n), np.int64)
    going, end_of = np.arange(len(rows)), np.full(len(rows), n)
    while len(going):
        shares = cumulated[rows[going], end_of]
        drawn = generator.random(len(going)) * shares[:, -1]
        size = (shares <= drawn[:, None]).sum(1) + 1
        end_of = end_of - size
        is_start[going, end_of], sizes[going, end_of] = True, size
        going, end_of = going[end_of > 0], end_of[end_of > 0]
    return is_start, sizes


def _sum_parts(values: Int64Array, bounds: Int64Array) -> Int64Array:
    """Return the sums of values[bounds[i] : bounds[i + 1]]."""
    sums = np.concatenate([[0], np.cumsum(values)])[bounds]
    return np.diff(sums).astype(np.int64)


def _concatenate_ranges(starts: Int64Array, sizes: Int64Array) -> Int64Array:
    """Return starts[i], starts[i] + 1, … of sizes[i] numbers, one range after the other."""
    first = np.cumsum(sizes) - sizes
    return np.repeat(starts - first, sizes) + np.arange(int(sizes.sum()))
