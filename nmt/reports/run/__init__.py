"""Pages about runs: what was measured, drawn so that one sees it."""
