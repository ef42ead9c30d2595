"""The best tokens of a step, found in two stages: first the best blocks of the vocabulary, then inside them."""

from functools import cache

import torch
from torch import Tensor

# The CPU finds the maximum of integers several times faster than that of floating-point numbers.
INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
# The fewest tokens of a block: small enough to leave most tokens out of the sorting.
BLOCK_OF_CANDIDATES = 64
# The same for finding a single token, where a block costs more than the tokens in it.
BLOCK_OF_ONE = 256
# Up to this many rows, their maximum is found sooner without blocks.
ROWS_WITHOUT_BLOCKS = 2
# Integers that are compared at a time; the rest of a block is compared one by one.
INTEGERS_AT_ONCE = 64


def best_token(logits: Tensor) -> Tensor:
    """Return the token ids (N) of the largest of logits (N, V), the first of equals."""
    num_rows, vocabulary_size = logits.shape
    if num_rows <= ROWS_WITHOUT_BLOCKS:
        return logits.max(1).indices
    size = _block_size(vocabulary_size, BLOCK_OF_ONE)
    num_blocks = vocabulary_size // size
    blocks = logits.view(-1, size)  # (N · blocks of a row, size)
    bits = _bits(blocks)
    # Positive numbers are in the order of their bits, negative ones in the opposite order.
    highest, lowest = bits.amax(1), bits.amin(1)
    highest = torch.where(highest < 0, lowest, highest).view(logits.dtype)
    block = highest.view(num_rows, num_blocks).max(1).indices  # (N)
    first = torch.arange(0, len(blocks), num_blocks, device=logits.device)
    return block * size + blocks.index_select(0, first + block).max(1).indices


def probabilities_of(logits: Tensor) -> Tensor:
    """Return the probabilities (N, V) of `logits`, which are overwritten."""
    if logits.dtype == torch.float16:
        return logits.softmax(1, dtype=torch.float32)
    # In place: other memory would have to be brought into the cache first.
    return torch.softmax(logits, 1, out=logits)


def best_candidates(scores: Tensor, probabilities: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Extend hypotheses of `scores` (B, K) by all tokens: return the best of each sentence, best first.

    `probabilities` are (N, V). The three results are the score plus the log-probability, the index of the extended
    hypothesis, and the token: (B, `count`) each, or fewer columns if there are fewer candidates. All of the best
    candidates lie in the blocks with the highest maxima, so that only these blocks are sorted. A token whose
    probability is 0 in 32 bits (87 nats behind the best) is impossible.
    """
    num_sentences, beam_size = scores.shape
    vocabulary_size = probabilities.shape[1]
    size = _block_size(vocabulary_size, BLOCK_OF_CANDIDATES)
    num_blocks = vocabulary_size // size
    blocks = probabilities.view(-1, size)  # (N · blocks of a row, size)
    highest = _bits(blocks).amax(1).view(blocks.dtype)
    totals = scores.repeat_interleave(num_blocks, 1) + highest.view(num_sentences, -1).to(scores.dtype).log()
    chosen = totals.topk(min(count, totals.shape[1]), 1).indices  # (B, J)
    first = torch.arange(0, len(blocks), beam_size * num_blocks, device=blocks.device)
    inside = blocks.index_select(0, (first.unsqueeze(1) + chosen).flatten())
    before = scores.gather(1, chosen // num_blocks).unsqueeze(2)
    totals = (inside.view(*chosen.shape, size).to(scores.dtype).log() + before).flatten(1)  # (B, J · size)
    best, places = totals.topk(min(count, totals.shape[1]), 1)
    block = chosen.gather(1, places // size)
    return best, block // num_blocks, block % num_blocks * size + places % size


def _bits(numbers: Tensor) -> Tensor:
    return numbers.view(INTEGERS[numbers.element_size()])


@cache
def _block_size(vocabulary_size: int, at_least: int) -> int:
    """Return a divisor of the vocabulary size from `at_least` to 4 times that, or the size itself if there is none."""
    divisors = [size for size in range(at_least, 4 * at_least + 1) if vocabulary_size % size == 0]
    return min(divisors, key=lambda size: size % INTEGERS_AT_ONCE / size, default=vocabulary_size)
