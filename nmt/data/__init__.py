"""Parallel text: from files or a grammar, to ids, to batches."""
