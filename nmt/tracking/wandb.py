"""Figures for Weights & Biases."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.errors import UserError, first_line
from nmt.tracking.trackers import name_of
from nmt.versions import importing


def require_login() -> None:
    """Raise UserError unless figures can be sent, or WANDB_MODE says that they need not be."""
    with importing("wandb", "tracking"):
        import wandb
    if wandb.setup().settings.mode != "online":
        return
    reason = "none"
    try:
        if wandb.login(prompt=False):
            return
    except wandb.errors.Error as error:  # it asks its server, where it finds a key
        reason = first_line(error)
    raise UserError(
        f"tracking: a key of Weights & Biases that its server takes is needed, by `wandb login` or WANDB_API_KEY; got "
        f"{reason}; WANDB_MODE=offline keeps the figures here"
    )


class Wandb:
    """One run of a project; WANDB_MODE says whether it is sent or only written."""

    def __init__(self, folder: Path, project: str, run_id: str, settings: Mapping[str, Any]) -> None:
        with importing("wandb", "tracking"):
            import wandb
        self.folder = folder / "wandb"
        self.run = wandb.init(
            project=project,
            id=run_id,
            name=name_of(folder),
            resume="allow",
            config=dict(settings),
            dir=str(folder),
            # Standard output is for results alone, and the user's code must not be sent.
            settings=wandb.Settings(
                console="off",
                silent=True,
                symlink=False,
                save_code=False,
                disable_git=True,
                x_disable_stats=True,
            ),
        )
        self._remove_links()

    def log(self, figures: Mapping[str, float], update: int) -> None:
        """Hand figures to the process that writes and sends them."""
        self.run.log(dict(figures), step=update)

    def close(self, failed: bool = False) -> None:
        """Wait until all is written, or sent."""
        self.run.finish(exit_code=int(failed))
        self._remove_links()

    def _remove_links(self) -> None:
        """Remove the library's links to its own logs: a run holds plain files only."""
        for path in self.folder.rglob("*"):
            if path.is_symlink():
                path.unlink()
