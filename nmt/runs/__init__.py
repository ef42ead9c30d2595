"""What a run directory is."""
