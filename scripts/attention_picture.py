"""A picture of the attention of several models, side by side, while each translated the same sentence.

usage: python scripts/attention_picture.py --sentence TEXT --svg FILE RUN [RUN ...]

Each run translates the sentence with its best checkpoint and its own search. Rows are tokens of the translation,
columns tokens of the source; the attention is the mean of all layers and heads. Every run needs a model with attention.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from arguments import file_to_write, in_one_line

from nmt.decoding.torch_engine import TorchEngine
from nmt.decoding.translator import Translator
from nmt.errors import UserError
from nmt.reports.drawing.shapes import Drawing, Shape
from nmt.reports.page import svg
from nmt.reports.run.maps import draw_crossing, sentence_maps
from nmt.runs.directory import RunDirectory
from nmt.runs.model import load_model

GAP, TITLE = 24, 28
STYLE = (
    "text { font: 11px sans-serif; fill: #1d2330 } .title { font-size: 14px } .ground { fill: #eff2f5 } "
    ".unseen { stroke: #5c6675; stroke-opacity: .3 } .cell { stroke: #2457c5 } .chosen { fill: #fff }"
)


def draw(name: str, sentence: str) -> Drawing:
    """Return the heat map of one run's attention. Raises UserError for a model without attention."""
    run = RunDirectory.existing(name)
    model, tokenizer = load_model(run, "best")
    device, search = torch.device("cpu"), run.read_model_settings().decoding
    (translation,) = Translator(TorchEngine(model, tokenizer, device, torch.float32), search).translate(
        [sentence]
    )
    found = sentence_maps(model.eval(), tokenizer, sentence, translation)
    if not found.crossing:
        raise UserError(f"RUN: a model with attention is needed; got {name}, which has none")
    return draw_crossing(found, run.path.name)


def side_by_side(drawings: Sequence[tuple[str, Drawing]]) -> Drawing:
    """Put drawings beside one another, each under its name."""
    shapes = [
        Shape("style", {}, STYLE),
        Shape("rect", {"width": "100%", "height": "100%", "rx": 6, "fill": "#fff"}),
    ]
    x, height = GAP, max(drawing.height for _, drawing in drawings)
    for name, one in drawings:
        shapes.append(Shape("text", {"class": "title", "x": x, "y": 20}, name))
        size: dict[str, object] = {"x": x, "y": TITLE, "width": round(one.width), "height": round(one.height)}
        shapes.append(Shape("svg", size, shapes=one.shapes))
        x += round(one.width) + GAP
    said = "; ".join(one.alternative for _, one in drawings)
    return Drawing(said, x, height + TITLE + GAP, shapes)


def main() -> None:
    """Draw and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentence", required=True)
    parser.add_argument("--svg", type=file_to_write, required=True)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    arguments = parser.parse_args()
    with in_one_line():
        drawings = [(Path(name).name, draw(name, arguments.sentence)) for name in arguments.runs]
    arguments.svg.write_text(svg(side_by_side(drawings)), encoding="utf-8")


if __name__ == "__main__":
    main()
