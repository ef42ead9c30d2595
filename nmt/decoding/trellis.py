"""Where the hypotheses of a beam search come from."""

import torch
from torch import Tensor


class Trellis:
    """The words of each position and the hypotheses that they extend, so that no hypothesis is copied until the end.

    A node is a hypothesis at a position; its number counts all nodes so far. Node 0 is before all sentences.
    """

    def __init__(self, num_sentences: int, beam_size: int, device: torch.device) -> None:
        self.parents = [torch.zeros(1, dtype=torch.long, device=device)]
        self.words = [torch.zeros(1, dtype=torch.long, device=device)]
        self.num_nodes = 1
        self.nodes = torch.zeros(num_sentences, beam_size, dtype=torch.long, device=device)  # (B, K)
        self.last = torch.zeros(num_sentences, dtype=torch.long, device=device)  # node of each best result

    def extend(self, parents: Tensor, words: Tensor) -> None:
        """Extend the hypotheses `parents` (B, K) of each sentence by `words` (B, K)."""
        self.parents.append(self.nodes.gather(1, parents).flatten())
        self.words.append(words.flatten())
        first, self.num_nodes = self.num_nodes, self.num_nodes + words.numel()
        self.nodes = torch.arange(first, self.num_nodes, device=words.device).view(words.shape)

    def finish(self, sentences: Tensor, is_better: Tensor, parents: Tensor) -> None:
        """Where `is_better` (B), take the hypothesis of `parents` (B) as the result of `sentences` (B)."""
        nodes = self.nodes.gather(1, parents.unsqueeze(1)).squeeze(1)
        self.last[sentences] = torch.where(is_better, nodes, self.last[sentences])

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these indices (B')."""
        self.nodes = self.nodes[sentences]

    def results(self) -> list[list[int]]:
        """Return the words of each sentence's result, without EOS."""
        parents, words = torch.cat(self.parents).tolist(), torch.cat(self.words).tolist()
        results = []
        for node in self.last.tolist():
            result = []
            while node:
                result.append(words[node])
                node = parents[node]
            results.append(result[::-1])
        return results
