"""From the formats of other programs to a run."""
