"""A drawing of an alignment: a sentence above its translation, with lines from source words to target words."""

from collections.abc import Sequence

from nmt.reports.drawing.shapes import Drawing, Shape, breadth, cut, label

LEAST_SHARE = 0.1  # of attention that is drawn as a line; the largest share of a word always is
GAP, MARGIN, DEPTH = 14, 4, 104  # pixels
CHARACTER = 7.4  # pixels: mean width of a character
MAX_WORD = 24  # characters


def alignment(
    title: str, source: Sequence[str], target: Sequence[str], weights: Sequence[Sequence[float]]
) -> Drawing:
    """Draw words on two lines; `weights` has a row for each target word, a column for each source word."""
    sides = [[cut(word, MAX_WORD) for word in words] for words in (source, target)]
    lengths = [sum(_width(word) + GAP for word in words) for words in sides]
    width = max(lengths) + 2 * MARGIN
    places = [_middles(words, (width - length) / 2) for words, length in zip(sides, lengths, strict=True)]
    shapes = []
    for j, row in enumerate(weights):
        for i, share in enumerate(row):
            if share >= LEAST_SHARE or share == max(row):
                x, end = places[0][i], places[1][j]
                shapes.append(
                    Shape(
                        "path",
                        {
                            "class": "link",
                            "stroke-opacity": round(share, 2),
                            "d": f"M{x:.0f} 20C{x:.0f} {DEPTH / 2} {end:.0f} {DEPTH / 2} {end:.0f} {DEPTH - 22}",
                        },
                        title=f"{target[j]} looks at {source[i]}: {share:.2f}",
                    )
                )
    for words, middles, y in zip(sides, places, (14, DEPTH - 8), strict=True):
        shapes += [label(x, y, word, kind="word") for word, x in zip(words, middles, strict=True)]
    return Drawing(title, width, DEPTH, shapes, "map")


def _middles(words: Sequence[str], start: float) -> list[float]:
    middles = []
    for word in words:
        middles.append(start + (_width(word) + GAP) / 2)
        start += _width(word) + GAP
    return middles


def _width(word: str) -> float:
    return CHARACTER * max(breadth(word), 1)
