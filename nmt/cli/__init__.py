"""The command line: what was typed, made into settings, and help."""
