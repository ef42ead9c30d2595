"""From words and commas to a line of text."""

COMMA = ","


def finish(words: list[str], mark: str) -> str:
    """Join words into a sentence that ends in `mark`; commas that meet are one, and none stays at the end."""
    pieces: list[str] = []
    for word in words:
        if word == COMMA:
            if pieces and not pieces[-1].endswith(COMMA):
                pieces[-1] += COMMA
        else:
            pieces.append(word)
    line = " ".join(pieces).rstrip(COMMA) + mark
    return line[0].upper() + line[1:]
