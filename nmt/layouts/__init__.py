"""Layouts of other programs: what they call the parameters of a Transformer, and which of their files hold what."""
