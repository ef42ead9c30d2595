"""The best words of a step, found in two stages: first the best blocks of the vocabulary, then inside them."""

import torch
from torch import Tensor

# Positive numbers are in the order of their bits read as integers, whose maximum the CPU finds much faster.
INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
# Words of a block, at least: large enough for vector registers, small enough to leave most words out of the sorting.
BLOCK_OF_CANDIDATES = 128
# For a single word each block costs more than the words in it.
BLOCK_OF_ONE = 1000


def best_token(logits: Tensor) -> Tensor:
    """Return the ids (N) of the largest of logits (N, V), the first of equals."""
    num_rows, vocabulary_size = logits.shape
    size = _block_size(vocabulary_size, BLOCK_OF_ONE)
    num_blocks = vocabulary_size // size
    block = logits.view(num_rows, num_blocks, size).amax(2).argmax(1)  # (N)
    first = torch.arange(0, num_rows * num_blocks, num_blocks, device=logits.device)
    inside = logits.view(-1, size).index_select(0, first + block)  # (N, size)
    return block * size + inside.max(1).indices


def best_candidates(scores: Tensor, logits: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Extend hypotheses of `scores` (B, K) by all words: return the best of each sentence, best first.

    `logits` are (N, V), and written over. The three results, (B, `count`) or fewer columns if there are fewer
    candidates, are the score plus the log-probability, which hypothesis is extended, and by which word. All of the best
    lie in the blocks with the highest maxima, so that only these are sorted. What has no probability in 32 bits (87
    nats behind the best) is impossible.
    """
    num_sentences, beam_size = scores.shape
    vocabulary_size = logits.shape[1]
    size = _block_size(vocabulary_size, BLOCK_OF_CANDIDATES)
    num_blocks = vocabulary_size // size
    if logits.dtype == torch.float16:
        probabilities = logits.softmax(1, dtype=torch.float32)
    else:  # in place: other memory would have to be brought into the cache first
        probabilities = torch.softmax(logits, 1, out=logits)
    blocks = probabilities.view(-1, size)  # (N · blocks of a row, size)
    highest = blocks.view(INTEGERS[blocks.element_size()]).amax(1).view(blocks.dtype)
    totals = scores.repeat_interleave(num_blocks, 1) + highest.view(num_sentences, -1).to(scores.dtype).log()
    chosen = totals.topk(min(count, totals.shape[1]), 1).indices  # (B, J)
    first = torch.arange(0, len(blocks), beam_size * num_blocks, device=logits.device)
    inside = blocks.index_select(0, (first.unsqueeze(1) + chosen).flatten())
    before = scores.gather(1, chosen // num_blocks).unsqueeze(2)
    totals = (inside.view(*chosen.shape, size).to(scores.dtype).log() + before).flatten(1)  # (B, J · size)
    best, places = totals.topk(min(count, totals.shape[1]), 1)
    block = chosen.gather(1, places // size)
    return best, block // num_blocks, block % num_blocks * size + places % size


def _block_size(vocabulary_size: int, at_least: int) -> int:
    """Return the smallest divisor of the size of the vocabulary that is `at_least` so large, or all of it."""
    return next((n for n in range(at_least, vocabulary_size) if vocabulary_size % n == 0), vocabulary_size)
