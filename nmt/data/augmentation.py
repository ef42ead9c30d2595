"""Pairs changed on the fly, anew for each epoch: sides exchanged, capitals, no end mark, typos, letters shuffled.

A model learns from the changes what tidy text does not show: that case and punctuation carry over to the translation,
and that a wrong letter changes nothing. Mozilla and OpusTrainer (Bogoychev et al. 2023) train browser models so.
Bi-SimCut (Gao et al. 2022) trains a model of one direction on pairs of both directions first.
"""

import re
import unicodedata

import numpy as np
import torch

from nmt.config import AugmentSettings
from nmt.data.arrays import Int64Array
from nmt.data.dataset import Dataset, Ids
from nmt.data.tokenizer import BYTE, NORMAL, USER_DEFINED, WORD_START, Tokenizer, Vocabulary

WORD = re.compile(r"[^\W\d_]{3,}")
TYPOS_A_WORD = 0.1
# Numbers of random streams; 0 and 1 are those that draw segmentations of source and target.
CHANGED, EXCHANGED = 2, 3


def augment_dataset(
    plain: Dataset, tokenizer: Tokenizer, settings: AugmentSettings, seed: int, number: int, max_length: int
) -> Dataset:
    """Change some pairs, the same whenever and wherever the arguments are the same; the result is on the CPU."""
    exchanged = exchange_sides(plain, settings.exchange, seed, number)
    return change_text(exchanged, tokenizer, settings, seed, number, max_length)


def exchange_sides(plain: Dataset, share: float, seed: int, number: int) -> Dataset:
    """Exchange source and target of a share of the pairs; both sides must have the same vocabulary."""
    if share == 0:
        return plain
    generator = np.random.Generator(np.random.PCG64([seed, number, EXCHANGED]))
    rows, both = np.arange(len(plain)), _joined(plain.source, plain.target)
    of_source = np.where(generator.random(len(plain)) < share, len(plain) + rows, rows)
    return Dataset(both.take(of_source), both.take((len(plain) + of_source) % (2 * len(plain))))


def change_text(
    plain: Dataset, tokenizer: Tokenizer, settings: AugmentSettings, seed: int, number: int, max_length: int
) -> Dataset:
    """Change the text of some pairs; the result is on the CPU.

    The changes that a pair is drawn for are made in the order of the settings. A pair stays as it is if its text has
    characters that the vocabulary lacks, or if a side would become empty or longer than `max_length` tokens.
    """
    generator = np.random.Generator(np.random.PCG64([seed, number, CHANGED]))
    shares = [
        settings.upper_case, settings.title_case, settings.end_punctuation, settings.typos, settings.noise,
    ]  # fmt: skip
    is_drawn = generator.random((len(plain), len(shares))) < np.array(shares)
    rows, changed = list[int](), list[tuple[list[int], list[int]]]()
    for row in np.flatnonzero(is_drawn.any(1)).tolist():
        of_source = _text_of(plain.source, row, tokenizer.source)
        of_target = _text_of(plain.target, row, tokenizer.target)
        if of_source is None or of_target is None or of_target[0]:
            continue
        (tags, source), (_, target) = of_source, of_target
        upper, title, end, typos, noise = is_drawn[row].tolist()
        if upper:
            source, target = source.upper(), target.upper()
        if title:
            source, target = capitalised(source), capitalised(target)
        if end:
            source, target = without_end(source), without_end(target)
        if typos:
            source = with_typos(source, generator)
        if noise:
            source = target = "".join(generator.permutation(list(source)).tolist())
        ids = [*tags, *tokenizer.source.encode([source])[0]], tokenizer.target.encode([target])[0]
        is_known = tokenizer.source.unk_id not in ids[0] and tokenizer.target.unk_id not in ids[1]
        if is_known and len(ids[0]) > len(tags) and ids[1] and max(map(len, ids)) <= max_length:
            rows.append(row)
            changed.append(ids)
    return Dataset(
        _with(plain.source, np.array(rows, np.int64), [source for source, _ in changed]),
        _with(plain.target, np.array(rows, np.int64), [target for _, target in changed]),
    )


def capitalised(text: str) -> str:
    """Return text whose words begin with capitals."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def without_end(text: str) -> str:
    """Return text without the punctuation at its end; a text of punctuation alone stays as it is."""
    end = len(text)
    while end and (text[end - 1] == " " or unicodedata.category(text[end - 1]).startswith("P")):
        end -= 1
    return text[:end] or text


def with_typos(text: str, generator: np.random.Generator) -> str:
    """Return text with a typo in one in ten of its words of three letters or more, and in one of them in any case.

    Two neighbouring letters swap places, or a letter is left out or doubled; the first letter of a word stays.
    """
    words = list(WORD.finditer(text))
    if not words:
        return text
    is_wrong = generator.random(len(words)) < TYPOS_A_WORD
    is_wrong[generator.integers(len(words))] = True
    for word, wrong in zip(reversed(words), reversed(is_wrong.tolist()), strict=True):  # keeps earlier places
        if wrong:
            i = word.start() + int(generator.integers(1, len(word[0]) - 1))
            one, other = text[i], text[i + 1]
            text = text[:i] + (other + one, other, one + one + other)[generator.integers(3)] + text[i + 2 :]
    return text


def _text_of(ids: Ids, row: int, vocabulary: Vocabulary) -> tuple[list[int], str] | None:
    """Return the ids of the tags that a sentence begins with, and the rest as text.

    Return None where the rest has pieces that are no text: unknown ones, or placeholders of the vocabulary's own.
    """
    tokens = ids.tokens[ids.offsets[row] : ids.offsets[row + 1]].tolist()
    types = [vocabulary.types[token] if token < vocabulary.num_pieces else 0 for token in tokens]
    num_tags = 0
    for i, (token, kind) in enumerate(zip(tokens, types, strict=True)):
        if kind == USER_DEFINED:
            num_tags = i + 1
        elif kind != NORMAL or vocabulary.pieces[token] != WORD_START:  # a space may stand before a tag
            break
    if not all(kind in (NORMAL, BYTE) for kind in types[num_tags:]):
        return None
    return tokens[:num_tags], vocabulary.decode(tokens[num_tags:])


def _with(ids: Ids, rows: Int64Array, sentences: list[list[int]]) -> Ids:
    """Return the sentences of `ids`, with those at `rows` replaced by `sentences`."""
    order = np.arange(len(ids.offsets) - 1)
    order[rows] = len(order) + np.arange(len(rows))
    return _joined(ids, Ids.of(sentences)).take(order)


def _joined(ids: Ids, others: Ids) -> Ids:
    """Return the sentences of `ids` followed by the others, on the CPU."""
    offsets = np.concatenate([ids.offsets, len(ids.tokens) + others.offsets[1:]])
    return Ids(torch.cat([ids.tokens.cpu(), others.tokens.cpu()]), offsets)
