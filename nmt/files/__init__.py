"""Files that are read with suspicion and written whole."""
