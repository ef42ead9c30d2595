"""What searches found, in short."""


def best(found):
    """Return the tokens of the first hypothesis of each sentence."""
    return [hypotheses[0].tokens for hypotheses in found]
