"""From a run to the formats of other programs, and the proof that they translate the same."""
