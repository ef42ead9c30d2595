"""What tests of students share: the settings of a tiny student, and the text in its folder."""

from pathlib import Path

from nmt.data.lines import read_lines
from nmt.distillation.folder import READ, StudentFolder

TINY_STUDENT = (
    "model=student_tiny", "model.d_model=16", "model.d_ff=32", "model.num_heads=2", "model.num_encoder_layers=1",
    "training.max_updates=4", "training.update_tokens=400", "training.validate_every=2", "training.checkpoint_every=2",
    "decoding.max_length_ratio=0.5", "decoding.max_length_extra=3", "device=cpu",
    "distillation.min_agreement=0", "distillation.max_ratio=null",
)  # fmt: skip


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text file."""
    return read_lines(str(path), "test", "utf-8")


def student_that_reads(path: Path, lines: list[str]) -> StudentFolder:
    """Return the folder of a new student whose teachers have these lines to translate."""
    folder = StudentFolder(str(path))
    folder.distilled.mkdir(parents=True)
    folder.text(READ).write_text("".join(f"{line}\n" for line in lines))
    return folder
