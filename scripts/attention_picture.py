"""A picture of what models looked at while they translated a sentence, side by side.

usage: python scripts/attention_picture.py --sentence TEXT --svg FILE RUN [RUN ...]

Each run translates the sentence with its best checkpoint and its own search. A row is a token that was written, a
column one that was read; with several layers or heads, their mean. A model without attention has no picture.
"""

import argparse
import re
import sys
from pathlib import Path

import torch
from arguments import file_to_write

from nmt.decoding.translator import Translator
from nmt.errors import UserError
from nmt.reports.drawing.escaping import text
from nmt.reports.run.maps import draw_crossing, sentence_maps
from nmt.runs.directory import RunDirectory

GAP, TITLE = 24, 28
STYLE = """
text { font: 11px sans-serif; fill: #1d2330 } .title { font-size: 14px }
.ground { fill: #eff2f5 } .unseen { fill: #5c6675; fill-opacity: .3 } .cell { fill: #2457c5 } .chosen { fill: #fff }
"""


def draw(name: str, sentence: str) -> str:
    """Return the heat map of one run. Raises UserError for a run without attention."""
    run = RunDirectory.existing(name)
    model, tokenizer = run.load_model("best")
    device, search = torch.device("cpu"), run.read_model_settings().decoding
    (translation,) = Translator(model, tokenizer, search, device, torch.float32).translate([sentence])
    found = sentence_maps(model.eval(), tokenizer, sentence, translation)
    if not found.crossing:
        raise UserError(f"RUN: a model with attention is needed; got {name}, which has none")
    return draw_crossing(found, name)


def side_by_side(drawings: dict[str, str]) -> str:
    """Put drawings beside one another, each under its name."""
    parts, x, height = [], GAP, 0.0
    for name, drawing in drawings.items():
        size = re.search(r'width="([\d.]+)" height="([\d.]+)"', drawing)
        assert size is not None
        parts.append(f'<text class="title" x="{x}" y="20">{text(name)}</text>')
        parts.append(drawing.replace("<svg ", f'<svg x="{x}" y="{TITLE}" ', 1))
        x, height = x + int(float(size[1])) + GAP, max(height, TITLE + float(size[2]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x} {height + GAP:.0f}" role="img">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" rx="6" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def main() -> None:
    """Draw and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentence", required=True)
    parser.add_argument("--svg", type=file_to_write, required=True)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    arguments = parser.parse_args()
    try:
        drawings = {Path(name).name: draw(name, arguments.sentence) for name in arguments.runs}
    except UserError as error:
        print(f"nmt: {error}", file=sys.stderr)
        sys.exit(2)
    arguments.svg.write_text(side_by_side(drawings), encoding="utf-8")


if __name__ == "__main__":
    main()
