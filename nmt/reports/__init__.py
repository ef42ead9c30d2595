"""Pages about runs and about corpora."""
