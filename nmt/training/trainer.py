"""The training loop."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from functools import partial
from signal import Signals
from typing import Any

import torch
from tqdm import tqdm

from nmt.data.batching import EpochPlan, Update, Updates
from nmt.data.corpus import ParallelText
from nmt.errors import RunError
from nmt.runs.directory import RunDirectory
from nmt.runs.metrics import Metrics
from nmt.tracking.opening import figures_of
from nmt.tracking.trackers import NoTracker, Tracker
from nmt.training.checkpoint import last_checkpoint, load_checkpoint, save_checkpoint
from nmt.training.device.graphs import recordable_stream
from nmt.training.device.max_tokens import find_max_tokens
from nmt.training.epochs import Epochs
from nmt.training.interruption import Interruption
from nmt.training.progress import PROGRESS, Progress, Window, reason_to_stop
from nmt.training.step import TrainingStep
from nmt.training.validation import validate
from nmt.wording import duration

logger = logging.getLogger(__name__)

# A trial would tell nothing on a CPU: the system promises more memory than there is.
MAX_TOKENS_ON_CPU = 16_384

ShouldPrune = Callable[[int, float], bool]
"""Tells from the number of an update and its validation BLEU whether going on is of no use."""


class Trainer:
    """Trains one model on one data set and writes one run directory; of several ranks, the first one writes."""

    def __init__(self, step: TrainingStep, run: RunDirectory, validation: ParallelText) -> None:
        self.step, self.run = step, run
        self.settings, self.model, self.pairs, self.ranks = step.settings, step.model, step.pairs, step.ranks
        self.epochs = Epochs(self.pairs, self.settings.seed, self.settings.training.update_tokens)
        self.validation_text = validation
        self.progress = Progress()
        self.window, self.metrics = Window(), Metrics(run.path)
        self.tracker: Tracker = NoTracker()  # gets the figures that go into metrics.jsonl
        self.last_bleu, self.was_pruned = math.nan, False

    def resume(self) -> None:
        """Go on from the last checkpoint of the run; from the start, if it has none yet."""
        self._go_on_from(load_checkpoint(self.run, self.step, self.progress.origins))
        # Without a checkpoint, the validation before the first update is done again, too.
        self.metrics.cut(self.progress.update or -1, self.progress.validation_is_due)
        logger.info("resumed from update %d", self.progress.update)

    def _go_on_from(self, progress: Progress) -> None:
        self.progress, self.window = progress, Window(progress.window)
        if progress.loss_scale:
            self.step.scaler.load_state_dict(progress.loss_scale)

    def broadcast_from_first(self) -> None:
        """Give all ranks the progress, weights and moments of the first one."""
        if self.ranks.size == 1:
            return
        weights, state = self.step.weights(), self.step.state()
        progress, names = self.ranks.gather((asdict(self.progress), list(state)))[0]
        if not self.ranks.is_first:
            shapes = self.step.shapes_of_state(names)
            state = {name: torch.zeros(shapes[name], device=self.step.device) for name in names}
        self.ranks.broadcast([*weights.values(), *(state[name] for name in names)])
        if not self.ranks.is_first:
            self.step.load(weights, state)
            self._go_on_from(PROGRESS.validate_python(progress))
        # All ranks look for `max_tokens` together, here, since the first one alone goes on to log the plan with it.
        self.enter(self.part)

    @property
    def part(self) -> int:
        """The number of the part of the text that training is in, counted over all epochs."""
        return self.progress.epoch * self.pairs.num_parts + self.progress.part

    def enter(self, number: int) -> Updates:
        """Switch the pairs to part `number` of the text, and return its updates."""
        plan = self.epochs.enter(number)
        self._find_max_tokens(plan)
        return plan.within(self.max_tokens)

    @property
    def max_tokens(self) -> int:
        """How many padded tokens of the longer side fit in memory at once; for `auto`, what was found for this run."""
        given = self.settings.training.max_tokens
        found = self.progress.max_tokens if given == "auto" else given
        assert found is not None  # since a part has been entered
        return found

    def _find_max_tokens(self, plan: EpochPlan) -> None:
        """Find what `training.max_tokens=auto` stands for, once for the whole run."""
        if self.settings.training.max_tokens == "auto" and self.progress.max_tokens is None:
            is_cpu = self.step.device.type == "cpu"
            fits = (lambda rows: True) if is_cpu else self.step.fits
            found = find_max_tokens(plan, fits, MAX_TOKENS_ON_CPU if is_cpu else None)
            # The minimum over all ranks: no rank may get more than fits in its memory.
            self.progress.max_tokens = -int(self.ranks.all_reduce_max(-found)[0])

    def reason_to_stop(self) -> str | None:
        """Say why training is over, if it is; where its last validation is still due, it is not."""
        return None if self.progress.validation_is_due else self._limit()

    def _limit(self) -> str | None:
        return reason_to_stop(self.settings.training, self.progress)

    def train(self, should_prune: ShouldPrune | None = None) -> None:
        """Run updates until there is a reason to stop; validate and save on the way and at the end.

        When any rank gets SIGINT, SIGTERM or SIGHUP, the update at hand is finished and saved, and the signal is raised
        again; a validation that is due then is done when the run goes on. All ranks agree on what may differ between
        them at the end of an update: signals, lack of memory, time.
        """
        limits, progress = self.settings.training, self.progress
        started = time.monotonic() - progress.seconds
        is_hidden = None if self.ranks.is_first else True
        bar = tqdm(total=limits.max_updates, initial=progress.update, unit="update", disable=is_hidden)
        with bar, recordable_stream(self.step.device), closing(self.epochs):
            self.step.compile(lambda: self.enter(self.part)[0][0])
            with Interruption(self.ranks.has_launcher) as interruption:
                close = partial(self._close_update, interruption, started, should_prune)
                if limits.from_run is not None and progress.update == 0:
                    self._validate()
                reason = None
                if progress.validation_is_due:
                    reason = close(self._agree(interruption, started), self._limit())
                self.window.start_clock()
                updates = self._updates()
                while reason is None:
                    update = next(updates)
                    progress.update += 1
                    figures = self.step.run(progress.update, update)
                    progress.num_tokens += figures.num_tokens
                    self.window.add(figures)
                    signal = self._agree(interruption, started, figures.ran_out_of_memory)
                    bar.update()
                    limit = self._limit()
                    if progress.update % limits.log_every == 0 or limit:
                        self._log_training(bar)
                    reason = close(signal, limit)
                logger.info("stopped at update %d: %s", progress.update, reason)
                self._warn_of_loss()

    def _close_update(
        self,
        interruption: Interruption,
        started: float,
        should_prune: ShouldPrune | None,
        signal: int,
        limit: str | None,
    ) -> str | None:
        """Validate and save after an update, where that is due; return why training stops here, if it does.

        A checkpoint that is due is also saved before the validation, which takes long and may be killed. A `signal`
        leaves the validation to the process that goes on.
        """
        limits, progress = self.settings.training, self.progress
        is_due = progress.update % limits.checkpoint_every == 0 or limit is not None
        progress.validation_is_due = progress.update % limits.validate_every == 0 or limit is not None
        has_tensors = progress.validation_is_due and bool(is_due or signal)
        if has_tensors:
            self.save(is_interim=True)
            signal = signal or self._agree(interruption, started)
        if progress.validation_is_due and not signal:
            improved = self._validate()
            progress.validation_is_due = False
            signal = self._agree(interruption, started)
            limit = limit or self._limit() or self._reason_to_prune(should_prune)
            is_due = is_due or improved or limit is not None
        if not progress.validation_is_due and (is_due or signal):
            self.save(is_interim=not is_due, has_tensors=has_tensors)
        if not signal:
            return limit
        interruption.received = Signals(signal)
        goes_on = f"{interruption.received.name}; resume=true goes on"
        return goes_on if progress.validation_is_due else limit or goes_on

    def _agree(self, interruption: Interruption, started: float, ran_out_of_memory: bool = False) -> int:
        """Have all ranks take the same time, lack of memory and signal; return the signal, or 0."""
        signal, is_short_of_memory, self.progress.seconds = self.ranks.all_reduce_max(
            interruption.received or 0, ran_out_of_memory, time.monotonic() - started
        )
        if is_short_of_memory and self.progress.max_tokens is not None:
            self.progress.max_tokens = max(1, self.progress.max_tokens // 2)
        return int(signal)

    def _reason_to_prune(self, should_prune: ShouldPrune | None) -> str | None:
        """Say on all ranks why going on is of no use, if `should_prune` does; the first rank alone may have one."""
        own = should_prune is not None and should_prune(self.progress.update, self.last_bleu)
        self.was_pruned = any(self.ranks.gather(own))
        return "hopeless beside the other runs of the sweep" if self.was_pruned else None

    def save(self, is_interim: bool = False, has_tensors: bool = False) -> None:
        """Write a checkpoint; `is_interim` where it is there only for the case of an interruption.

        With `has_tensors`, this update has a checkpoint with the same weights and moments already.
        """
        self.progress.loss_scale = self.step.scaler.state_dict()
        self.progress.window = self.window.state()
        began = time.monotonic()  # the window has waited for the updates before
        self._refuse_to_skip_more()
        if not self.ranks.is_first:
            return
        self.metrics.flush()
        save_checkpoint(
            self.run,
            self.step.weights(),
            self.step.state(),
            self.progress,
            self.settings.training.keep_checkpoints,
            is_interim,
            has_tensors,
        )
        self.window.leave_out(time.monotonic() - began)

    def _refuse_to_skip_more(self) -> None:
        """Raise RunError where too many updates in a row could not be applied."""
        num_skipped, most = self.window.longest_row_skipped, self.settings.training.max_updates_skipped
        with self.ranks.all_or_none():
            if num_skipped >= most:
                raise RunError(
                    f"training: finite losses and gradients are needed; got none in {num_skipped} updates in a row "
                    f"(training.max_updates_skipped), by update {self.progress.update}; with a lower "
                    f"optimizer.learning_rate, resume=true goes on; {last_checkpoint(self.run)}"
                )

    def _updates(self) -> Iterator[Update]:
        """Yield the updates from the present position in the plan on, and move the position."""
        progress = self.progress
        while True:
            began = time.monotonic()
            updates = self.enter(self.part)
            self.window.wait(time.monotonic() - began)
            if progress.position >= len(updates):
                raise RunError(
                    f"data: the text that the run began with is needed to go on; got {len(updates)} updates an "
                    f"epoch, and the run was at {progress.position}"
                )
            if self.settings.training.max_updates - progress.update > len(updates) - progress.position:
                self.epochs.prefetch_next()
            update = updates[progress.position]
            progress.position += 1
            if progress.position == len(updates):
                progress.part, progress.position = progress.part + 1, 0
                if progress.part == self.pairs.num_parts:
                    progress.epoch, progress.part = progress.epoch + 1, 0
            yield update

    def _log_training(self, bar: Any) -> None:
        seconds_per_update = self.window.seconds_per_update()
        figures = self.window.close()
        if figures["updates_skipped"] and self.ranks.is_first:
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

    def _warn_of_loss(self) -> None:
        """Warn where training has only made worse the weights that it started from."""
        start, best = self.progress.start_bleu, self.progress.best_bleu
        if start is not None and best is not None and best < start:
            logger.warning(
                "validation   BLEU was %.2f before the first update, and at best %.2f since: %s translates this text "
                "better; a smaller optimizer.learning_rate changes less",
                start, best, self.settings.training.from_run,
            )  # fmt: skip

    def _validate(self) -> bool:
        """Validate by loss and by BLEU of greedy decoding; return whether this is the best so far.

        Before the first update, the weights are another run's: their BLEU is only noted, to compare with later ones.
        """
        progress = self.progress
        began = time.monotonic()
        # Steps of decoding have too many shapes to compile.
        with torch.compiler.set_stance("force_eager"), self.step.averaged_weights():
            found = validate(self.step, self.settings, self.validation_text, self.max_tokens)
        loss, bleu = found.loss, found.bleu
        self.last_bleu = bleu
        improved = progress.update > 0 and progress.is_improved_by(bleu, loss)
        if progress.update == 0:
            progress.start_bleu = bleu
        elif improved:
            progress.best_bleu, progress.best_step = bleu, progress.update
            progress.best_loss = loss if math.isfinite(loss) else None
            progress.validations_without_gain = 0
        elif progress.update % self.settings.training.validate_every == 0:  # not the one at a run's stop
            progress.validations_without_gain += 1
        logger.info(
            "update %d validation loss %.4f perplexity %.2f BLEU %.2f%s",
            progress.update,
            loss,
            found.perplexity,
            bleu,
            " (best)" if improved else "",
        )
        seconds = time.monotonic() - began
        self.window.leave_out(seconds)
        self._note(
            {
                "kind": "validation",
                "loss": loss,
                "perplexity": found.perplexity,
                "bleu": bleu,
                "seconds_validating": seconds,
            }
        )
        return improved

    def _note(self, figures: Mapping[str, Any]) -> None:
        progress = self.progress
        at = {"update": progress.update, "epoch": progress.epoch, "seconds": progress.seconds}
        row = at | dict(figures)
        if not self.ranks.is_first:
            return
        self.metrics.note(row)
        self.tracker.log(figures_of(row), progress.update)
