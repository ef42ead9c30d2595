"""Figures for TensorBoard, as event files in the folder of a run."""

from collections.abc import Mapping
from pathlib import Path


class TensorBoard:
    """Writes event files; TensorBoard hides the figures after update `resumed_from` in earlier event files."""

    def __init__(self, folder: Path, resumed_from: int | None) -> None:
        # Takes a third of a second to import.
        from torch.utils.tensorboard import SummaryWriter

        purge_step = None if resumed_from is None else resumed_from + 1
        self.writer = SummaryWriter(str(folder), purge_step=purge_step)

    def log(self, figures: Mapping[str, float], update: int) -> None:
        """Write figures, so that they are there even if the process is killed right afterwards."""
        for name, value in figures.items():
            self.writer.add_scalar(name, value, update)
        self.writer.flush()

    def close(self, failed: bool = False) -> None:
        """Close the file."""
        self.writer.close()
