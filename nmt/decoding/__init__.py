"""From a model to text: greedy and beam search, lines in and lines out."""
