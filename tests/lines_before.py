"""Text in which each name determines a word of the next line, and settings of runs that read the line before."""

import random

PRONOUNS = {"a": "x", "b": "y"}
# A name is a line of one word, which the filter leaves out of training; as context it still tells the next pronoun.
TRAINING = (
    "data=files", "tokenizer=word", "data.context=1", "data.filter.min_words=2", "model=transformer_tiny",
    "model.d_model=32", "model.d_ff=64", "model.num_heads=2", "model.num_encoder_layers=1",
    "model.num_decoder_layers=1", "model.dropout=0", "schedule=constant", "optimizer.learning_rate=0.007",
    "training.max_updates=200", "training.update_tokens=500", "training.validate_every=200",
    "training.checkpoint_every=200", "device=cpu", "precision=float32", "decoding=greedy",
)  # fmt: skip
TWO_LINES = ("data=files", "tokenizer=word", "data.context=2", "data.max_length=9", "data.filter.min_words=2")


def write_documents(folder, name, num_documents, draw):
    """Write lines of which every second has a pronoun for the name in the line before."""
    source, target = [], []
    for _ in range(num_documents):
        for _ in range(4):
            name_of = draw.choice("ab")
            words = " ".join(draw.choice("klab") for _ in range(3))
            source += [name_of, f"es {words}"]
            target += [name_of, f"{PRONOUNS[name_of]} {words}"]
        source.append("")
        target.append("")
    for side, lines in (("source", source), ("target", target)):
        (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))


def write_lines(folder, name, num_lines):
    """Write lines of none to five words, some of which are repeated."""
    draw = random.Random(name)
    lines = [" ".join(draw.choice("klab") for _ in range(draw.randrange(6))) for _ in range(num_lines)]
    for side in ("source", "target"):
        (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))


def names_of(folder):
    """Return the overrides that name the text of a folder."""
    splits = ("train", "validation", "test")
    return [
        f"data.{split}.{side}={folder}/{split}.{side}" for split in splits for side in ("source", "target")
    ]
