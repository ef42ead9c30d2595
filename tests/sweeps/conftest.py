"""What the tests of sweeps train: runs of seconds on a text that can be learned by heart."""

import pytest

# Texts that can be learned by heart, so that scores differ from nought within seconds.
SOURCE = ["a b c", "d e", "f g h i j", "k l m n", "a c e g i"] * 12
TARGET = ["x y z w", "z y x w v", "u v w x y", "y z x u", "v w z y"] * 12


@pytest.fixture
def learnable(tmp_path, tiny_training):
    """Write the texts; return the overrides of a run of seconds that learns them."""
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.s").write_text("\n".join(SOURCE) + "\n")
        (tmp_path / f"{name}.t").write_text("\n".join(TARGET) + "\n")
    of_text = ["data=files", "tokenizer=char"]
    for split, name in (("train", "train"), ("validation", "valid"), ("test", "test")):
        of_text += [f"data.{split}.source={name}.s", f"data.{split}.target={name}.t"]
    kept = [
        option
        for option in tiny_training()
        if not option.startswith(
            ("data.", "tokenizer.", "training.max_updates", "training.validate", "decoding.")
        )
    ]
    return [
        *of_text, *kept, "training.max_updates=40", "training.validate_every=20", "training.log_every=20",
        "training.checkpoint_every=40",
        "schedule=constant", "optimizer.learning_rate=0.03", "model.dropout=0.0", "decoding.beam_size=1",
        "training.label_smoothing=0", "device=cpu",
    ]  # fmt: skip
