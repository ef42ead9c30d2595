"""Many runs by one command: all combinations of values, or a search for good ones, and a table of the results."""
