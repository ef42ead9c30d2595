"""A German-to-English parallel corpus, generated from a grammar and a seed."""

from nmt.grammar.generation import Pair, generate

__all__ = ["Pair", "generate"]
