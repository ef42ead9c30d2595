"""Pages about a run, about many and about a corpus: Python measures and places, templates hold all markup."""
