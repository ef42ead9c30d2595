"""The training loop."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import torch
from tqdm import tqdm

from nmt.data.batching import Plan, Update
from nmt.data.corpus import ParallelText
from nmt.data.dataset import Dataset
from nmt.decoding.translator import Translator
from nmt.errors import RunError, duration
from nmt.evaluation.model import mean_loss, validation_search
from nmt.evaluation.scoring import corpus_bleu
from nmt.runs.directory import RunDirectory
from nmt.runs.metrics import Metrics
from nmt.tracking.opening import figures_of
from nmt.tracking.system import SystemFigures
from nmt.tracking.trackers import NoTracker, Tracker
from nmt.training.checkpoint import Progress, last_checkpoint, load_checkpoint, save_checkpoint
from nmt.training.device.graphs import recordable_stream
from nmt.training.device.max_tokens import find_max_tokens
from nmt.training.epochs import Epochs
from nmt.training.interruption import Interruption
from nmt.training.progress import Window
from nmt.training.step import TrainingStep

logger = logging.getLogger(__name__)

# A trial would tell nothing on a CPU: the system promises more memory than there is.
MAX_TOKENS_ON_CPU = 16_384

IsHopeless = Callable[[int, float], bool]
"""Says by an update and its validation BLEU whether there is no use in going on."""


class Trainer:
    """Trains one model on one data set and writes one run directory."""

    def __init__(
        self, step: TrainingStep, run: RunDirectory, validation: tuple[ParallelText, Dataset]
    ) -> None:
        self.step, self.run = step, run
        self.settings, self.model, self.pairs = step.settings, step.model, step.pairs
        self.epochs = Epochs(self.pairs, self.settings.seed, self.settings.training.update_tokens)
        self.validation_text, self.validation_dataset = validation
        self.progress = Progress()
        self.window, self.metrics = Window(), Metrics(run.path)
        self.tracker: Tracker = NoTracker()
        self.is_hopeless = False

    def show(self, tracker: Tracker) -> None:
        """Hand what goes into metrics.jsonl from now on, and figures of the machine, to something that draws them."""
        self.tracker, self.system = tracker, SystemFigures(self.step.device)

    def resume(self) -> None:
        """Go on from the last checkpoint of the run; from the start, if it has none yet."""
        self.progress = load_checkpoint(self.run, self.step, self.progress.origins)
        if self.progress.loss_scale:
            self.step.scaler.load_state_dict(self.progress.loss_scale)
        self.window = Window(self.progress.window)
        self.metrics.cut(self.progress.update)
        logger.info("resumed from update %d", self.progress.update)

    def plan(self, epoch: int) -> Plan:
        """Return the updates of an epoch, and have the pairs be those of it."""
        plan = self.epochs.enter(epoch)
        return plan.within(self._find_max_tokens(plan))

    @property
    def max_tokens(self) -> int:
        """Batch size that fits in memory at once, in padded tokens of the longer side."""
        return self.plan(self.progress.epoch).max_tokens

    def _find_max_tokens(self, plan: Plan) -> int:
        """Return what fits; under `auto`, what was found when it was first asked for: the run keeps it."""
        given = self.settings.training.max_tokens
        if given != "auto":
            return given
        if self.progress.max_tokens is None:
            is_cpu = self.step.device.type == "cpu"
            fits = (lambda rows: True) if is_cpu else self.step.fits
            self.progress.max_tokens = find_max_tokens(plan, fits, MAX_TOKENS_ON_CPU if is_cpu else None)
        return self.progress.max_tokens

    def reason_to_stop(self) -> str | None:
        """Say why training is over, if it is."""
        limits, progress = self.settings.training, self.progress
        if progress.update >= limits.max_updates:
            return f"training.max_updates={limits.max_updates}"
        if limits.max_epochs is not None and progress.epoch >= limits.max_epochs:
            return f"training.max_epochs={limits.max_epochs}"
        if limits.max_seconds is not None and progress.seconds >= limits.max_seconds:
            return f"training.max_seconds={limits.max_seconds:g}"
        if limits.patience is not None and progress.validations_without_gain >= limits.patience:
            return f"training.patience={limits.patience} validations without a gain"
        return None

    def train(self, is_hopeless: IsHopeless | None = None) -> None:
        """Run updates until there is a reason to stop; validate and save on the way and at the end.

        At a SIGINT, SIGTERM or SIGHUP, the update at hand is finished and saved, and the signal is raised again.
        """
        limits, progress = self.settings.training, self.progress
        started, seconds_before = time.monotonic(), progress.seconds
        bar = tqdm(total=limits.max_updates, initial=progress.update, unit="update", disable=None)
        with bar, recordable_stream(self.step.device), closing(self.epochs):
            self.step.compile(lambda: self.plan(progress.epoch)[0][0])
            with Interruption() as interruption:
                for update in self._updates():
                    progress.update += 1
                    figures = self.step.run(progress.update, update)
                    progress.num_tokens += figures.num_tokens
                    if figures.ran_out_of_memory and progress.max_tokens is not None:
                        progress.max_tokens = max(1, progress.max_tokens // 2)
                    self.window.add(figures)
                    progress.seconds = seconds_before + time.monotonic() - started
                    bar.update()
                    reason = self.reason_to_stop()
                    if progress.update % limits.log_every == 0 or reason:
                        self._log_training(bar)
                    improved = False
                    if progress.update % limits.validate_every == 0 or reason:
                        # Steps of decoding have too many shapes to compile.
                        with torch.compiler.set_stance("force_eager"), self.step.averaged_weights():
                            improved = self._validate()
                        progress.seconds = seconds_before + time.monotonic() - started
                        reason = reason or self.reason_to_stop()
                        if not reason and is_hopeless and is_hopeless(progress.update, self.last_bleu):
                            self.is_hopeless, reason = True, "hopeless beside the other runs of the sweep"
                    is_due = progress.update % limits.checkpoint_every == 0 or improved or bool(reason)
                    if is_due or interruption.received:
                        self.save(is_interim=not is_due)
                    if interruption.received and not reason:
                        reason = f"{interruption.received.name}; resume=true goes on"
                    if reason:
                        logger.info("stopped at update %d: %s", progress.update, reason)
                        return

    def save(self, is_interim: bool = False) -> None:
        """Write a checkpoint; `is_interim` where only an interruption asks for it."""
        self.progress.loss_scale = self.step.scaler.state_dict()
        self.progress.window = self.window.state()
        self._refuse_to_skip_more()
        self.metrics.flush()
        save_checkpoint(
            self.run,
            self.step.weights(),
            self.step.state(),
            self.progress,
            self.settings.training.keep_checkpoints,
            is_interim,
        )

    def _refuse_to_skip_more(self) -> None:
        """Raise RunError where no update could be applied for too long."""
        num_skipped = self.window.num_skipped_in_row
        if num_skipped >= self.settings.training.max_updates_skipped:
            raise RunError(
                f"training.max_updates_skipped={self.settings.training.max_updates_skipped}: a finite loss and "
                f"gradient is needed; got none in the last {num_skipped} updates up to {self.progress.update}; "
                f"{last_checkpoint(self.run)}"
            )

    def _updates(self) -> Iterator[Update]:
        """Yield the updates from the present position in the plan on, and move the position."""
        progress = self.progress
        while True:
            updates = self.plan(progress.epoch)
            if progress.position >= len(updates):
                raise RunError(
                    f"data: the text that the run began with is needed to go on; got {len(updates)} updates an "
                    f"epoch, and the run was at {progress.position}"
                )
            if self.settings.training.max_updates - progress.update > len(updates) - progress.position:
                self.epochs.begin_next()
            update = updates[progress.position]
            progress.position += 1
            if progress.position == len(updates):
                progress.epoch, progress.position = progress.epoch + 1, 0
            yield update

    def _log_training(self, bar: Any) -> None:
        seconds_per_update = self.window.seconds_per_update()
        figures = self.window.close()
        if figures["updates_skipped"]:
            logger.warning(
                "%d updates skipped: their loss or gradient was not finite", figures["updates_skipped"]
            )
        bar.set_postfix_str(
            f"loss {figures['loss']:.3f}, {figures['tokens_per_second']:.0f} tokens/s, "
            f"learning rate {figures['learning_rate']:.2e}"
        )
        remaining = (self.settings.training.max_updates - self.progress.update) * seconds_per_update
        logger.info(
            "update %d epoch %d loss %.4f tokens/s %.0f learning rate %.2e at most %s to go",
            self.progress.update,
            self.progress.epoch,
            figures["loss"],
            figures["tokens_per_second"],
            figures["learning_rate"],
            duration(remaining),
        )
        self._note({"kind": "training", **figures})
        self._refuse_to_skip_more()

    def _validate(self) -> bool:
        """Validate by loss and by BLEU of greedy decoding; return whether this is the best so far."""
        progress = self.progress
        began = time.monotonic()
        tokenizer, device, dtype = self.step.tokenizer, self.step.device, self.step.dtype
        loss = mean_loss(self.model, self.validation_dataset, tokenizer, self.max_tokens, device, dtype)
        search = validation_search(self.settings.decoding)
        translator = Translator(self.model, tokenizer, search, device, dtype)
        hypotheses = list(translator.translate(self.validation_text.source))
        bleu = corpus_bleu(hypotheses, self.validation_text.target, self.settings.evaluation)
        self.last_bleu = bleu
        improved = progress.is_improved_by(bleu, loss)
        if improved:
            progress.best_bleu, progress.best_step = bleu, progress.update
            progress.best_loss = loss if math.isfinite(loss) else None
            progress.validations_without_gain = 0
        elif progress.update % self.settings.training.validate_every == 0:  # not where a run happens to stop
            progress.validations_without_gain += 1
        perplexity = math.exp(min(loss, 700))
        logger.info(
            "update %d validation loss %.4f perplexity %.2f BLEU %.2f%s",
            progress.update,
            loss,
            perplexity,
            bleu,
            " (best)" if improved else "",
        )
        seconds = time.monotonic() - began
        self.window.leave_out(seconds)
        self._note(
            {
                "kind": "validation",
                "loss": loss,
                "perplexity": perplexity,
                "bleu": bleu,
                "seconds_validating": seconds,
            }
        )
        return improved

    def _note(self, figures: Mapping[str, Any]) -> None:
        progress = self.progress
        at = {"update": progress.update, "epoch": progress.epoch, "seconds": progress.seconds}
        row = at | dict(figures)
        self.metrics.note(row)
        if not isinstance(self.tracker, NoTracker):
            of_system = self.system.read() if row["kind"] == "training" else {}
            self.tracker.log(figures_of(row) | of_system, progress.update)
