"""The format of browsers."""
