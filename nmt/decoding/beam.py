"""A beam: which candidates of a step are kept, and how they are scored."""

import torch
from torch import Tensor

from nmt.decoding.candidates import best_candidates, probabilities_of
from nmt.decoding.engine import Hypothesis

# Nats that a token may cost for the sake of groups: with more, its probability could become 0 in 32 bits, as if it were
# impossible, and a group all of whose tokens were taken would have none left.
MAX_COST = 60


class Beam:
    """The hypotheses of a sentence that are extended together, as many as its `width` (K), ranked by the model alone.

    They may form `num_groups` (G) groups of K / G hypotheses, each extended and finished by itself: a token then costs
    `diversity_penalty` for each hypothesis of the earlier groups that takes it at this position (Vijayakumar et al.
    2018), unless no other token may come there. A group may stop early once `num_to_finish` of its hypotheses have
    ended.

    Candidates extend hypotheses by labels. Here a label is a token id; a ConstrainedBeam tells more by it.
    """

    def __init__(self, width: int, num_groups: int = 1, diversity_penalty: float = 0.0) -> None:
        self.width, self.num_groups, self.diversity_penalty = width, num_groups, diversity_penalty
        self.group_size = self.num_to_finish = width // num_groups

    def observe(self, logits: Tensor, position: int) -> None:
        """See the `logits` (N, V) of a position before the rules change them."""

    def candidates(self, scores: Tensor, logits: Tensor, eos_id: int) -> tuple[Tensor, Tensor, Tensor]:
        """Extend the hypotheses of `scores` (B, K) by all tokens: return scores, parents and labels.

        `logits` (N, V) are overwritten. The results are those of `best_candidates` for each group, twice as many as it
        has hypotheses: (B, G, 2K / G). The indices of extended hypotheses count over all groups of a sentence.
        """
        probabilities = probabilities_of(logits)
        if self.num_groups == 1:
            best, parents, tokens = best_candidates(scores, probabilities, 2 * self.width)
            return best.unsqueeze(1), parents.unsqueeze(1), tokens.unsqueeze(1)
        size, found = self.group_size, []
        grouped = probabilities.view(len(scores), self.num_groups, size, -1)
        has_choice = (grouped > 0).sum(3, keepdim=True) > 1
        taken = scores.new_zeros(len(scores), 1, grouped.shape[3])
        for number in range(self.num_groups):
            first = number * size
            costs = (self.diversity_penalty * taken * has_choice[:, number]).clamp(max=MAX_COST)
            changed = (grouped[:, number] * (-costs).exp()).flatten(0, 1)
            best, parents, tokens = best_candidates(scores[:, first : first + size], changed, 2 * size)
            found.append((best, parents + first, tokens))
            # As many hypotheses go on as the group has, whatever ends among the best.
            is_end, places = tokens == eos_id, torch.arange(tokens.shape[1], device=tokens.device)
            is_taken = torch.where(is_end, places, (~is_end).cumsum(1) - 1) < size
            is_taken &= best > -torch.inf
            taken.squeeze(1).scatter_add_(1, tokens, is_taken.to(taken.dtype))
        best, parents, tokens = (torch.stack(parts, 1) for parts in zip(*found, strict=True))
        return best, parents, tokens

    def finished_scores(self, scores: Tensor, penalty: float) -> Tensor:
        """Return the final scores of the first candidates, of `scores` (B, G, K / G), for where they end."""
        return scores / penalty

    def select(self, chosen: Tensor) -> None:
        """Go on with the candidates `chosen` (B, G, K / G), given by their indices in their groups."""

    def best_reachable(self, scores: Tensor, penalty: float) -> Tensor:
        """Return the best score (B, G) that the hypotheses taken, of `scores` (B, K), would have at this penalty."""
        return scores.unflatten(1, (self.num_groups, self.group_size)).amax(2) / penalty

    def advance(self, labels: Tensor, rows: Tensor) -> Tensor:
        """Extend the hypotheses `rows` (N) by `labels` (B, K); return their token ids."""
        return labels

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences with these indices (B')."""

    def to_tokens(self, hypothesis: Hypothesis) -> Hypothesis:
        """Turn a hypothesis of labels into one of token ids."""
        return hypothesis
