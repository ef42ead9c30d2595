"""One update: forward, backward, clipping and the optimizer, over the micro-batches of an update."""

import logging
import time
from collections.abc import Callable, Container, Mapping
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor

from nmt.config import ConstantForcing, TrainSettings
from nmt.data.arrays import Int64Array
from nmt.data.batching import Batch, Update, collate, deal
from nmt.data.tokenizer import Tokenizer
from nmt.memory import is_out_of_memory
from nmt.models.interface import Seq2Seq
from nmt.models.kernels import rooms_of
from nmt.models.prepare import is_recordable
from nmt.training.consistency import agreement
from nmt.training.device.compilation import compile_layers
from nmt.training.device.graphs import CudaGraphs, Record, Replay
from nmt.training.moving_average import MovingAverage
from nmt.training.objective import Loss, Objective
from nmt.training.optimizer import build_optimizer, moments_of
from nmt.training.pairs import TrainingPairs
from nmt.training.progress import UpdateFigures
from nmt.training.ranks import Ranks
from nmt.training.schedule import learning_rate, teacher_forcing_ratio

logger = logging.getLogger(__name__)

# Name under which a weight in training is saved, where its moving average is saved as the weight itself.
WEIGHT = "weight_in_training"


class TrainingStep:
    """A model, its objective and its optimizer, trained by one update at a time.

    What an update does depends on the weights, the moments, the settings, its number and its micro-batches alone.
    """

    def __init__(
        self,
        settings: TrainSettings,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        pairs: TrainingPairs,
        device: torch.device,
        dtype: torch.dtype,
        ranks: Ranks,
    ) -> None:
        self.settings, self.tokenizer, self.pairs, self.ranks = settings, tokenizer, pairs, ranks
        self.device, self.dtype = device, dtype
        self.model = model.to(device)
        training = settings.training
        self.objective = Objective(
            self.model,
            training.label_smoothing,
            agreement(settings.consistency),
            training.guided_alignment_weight,
            training.teacher_weight,
        )
        self.optimizer = build_optimizer(settings.optimizer, self.model)
        self.scaler = torch.amp.GradScaler(device.type, enabled=dtype == torch.float16)
        # This initialises it, also on a rank without a share of an update.
        self.scaler.scale(torch.zeros((), device=device))
        self.replay: Replay | None = None
        decay = training.ema_decay
        self.moving_average = None if decay is None else MovingAverage(self.model, decay)
        ratio = training.teacher_forcing_ratio
        self.is_sampling = ratio < 1 or not isinstance(settings.teacher_forcing, ConstantForcing)
        self.teacher_forcing_ratio = torch.ones((), device=device)

    def run(self, number: int, micro_batches: Update) -> UpdateFigures:
        """Run update `number`, counted from 1, on micro-batches of indices into the pairs.

        All ranks run the same update, each its share of it. An update whose loss or gradient is not finite is not
        applied; fused optimizers decide that on the device. Where memory runs out, a rank begins its share again with
        micro-batches of half the size.
        """
        settings, limits = self.settings, self.settings.training
        rate = learning_rate(settings.schedule, number, settings.optimizer.learning_rate, limits.max_updates)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        ratio = teacher_forcing_ratio(settings.teacher_forcing, number, limits.teacher_forcing_ratio)
        self.teacher_forcing_ratio.fill_(ratio)
        num_tokens = sum(int(self.pairs.target_lengths[rows].sum()) for rows in micro_batches)
        share = deal(micro_batches, self.pairs.longer_lengths, self.ranks.rank, self.ranks.size)
        parts = share
        while True:
            try:
                sums, seconds_collating = self._accumulate(number, parts, num_tokens)
                break
            except RuntimeError as error:
                if not is_out_of_memory(error) or all(len(rows) == 1 for rows in parts):
                    raise
            self.forget_gradients()
            parts = [half for rows in parts for half in np.array_split(rows, 2) if len(half)]
            logger.warning("update %d ran out of memory and begins again in %d parts", number, len(parts))
        self._sum_over_ranks(*(part for part in sums if part is not None))
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), limits.max_gradient_norm)
        if not self.scaler.is_enabled():  # an enabled scaler checks the gradients itself
            self.optimizer.found_inf = norm.isfinite().logical_not().float()  # type: ignore[attr-defined]
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=self.replay is None)
        if self.moving_average is not None:
            self.moving_average.update(number, norm.isfinite())
        total, nll, alignment = sums
        has_halved = parts is not share
        return UpdateFigures(total, nll, norm, num_tokens, rate, seconds_collating, has_halved, alignment)

    def fits(self, rows: Int64Array) -> bool:
        """Tell whether a forward and backward pass over these pairs at once fits in memory; nothing is learned."""
        try:
            # These tensors stand for the optimizer's moments, which are allocated in the first update.
            parameters = [] if self.optimizer.state else self.model.parameters()
            moments = [(torch.empty_like(p), torch.empty_like(p)) for p in parameters]
            self._accumulate(0, [rows], num_tokens=1)
            del moments
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return False
        finally:
            self.forget_gradients()
        return True

    def averaged_weights(self) -> AbstractContextManager[None]:
        """Within the block, have the model compute with the weights that are saved for translating."""
        return nullcontext() if self.moving_average is None else self.moving_average.in_place()

    def weights(self) -> dict[str, Tensor]:
        """Return copies of the weights to translate with: the moving averages, where there are any."""
        with self.averaged_weights():
            return {name: parameter.detach().clone() for name, parameter in self.model.named_parameters()}

    def state(self) -> dict[str, Tensor]:
        """Return the tensors that resuming needs beside `weights`.

        These are the moments and, where `weights` returns averages, the weights in training.
        """
        state = {
            f"{name}/{key}": value
            for name, parameter in self.model.named_parameters()
            for key, value in self.optimizer.state.get(parameter, {}).items()
        }
        if self.moving_average is not None:
            state |= {f"{name}/{WEIGHT}": parameter for name, parameter in self.model.named_parameters()}
        return state

    def shapes_of_state(self, names: Container[str]) -> dict[str, torch.Size]:
        """Return the shape of each tensor that `state` must hold, given the `names` of those that were saved.

        A parameter has all of its moments or, being frozen, none: where one name is there, all moments are expected.
        """
        shapes = {}
        for name, parameter in self.model.named_parameters():
            if f"{name}/{WEIGHT}" in names:
                shapes[f"{name}/{WEIGHT}"] = parameter.shape
            moments = moments_of(self.optimizer, parameter)
            if any(f"{name}/{key}" in names for key in moments):
                shapes |= {
                    f"{name}/{key}": torch.Size() if key == "step" else parameter.shape for key in moments
                }
        return shapes

    def load(self, weights: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> None:
        """Go on from `weights` and `state` of the same model, which were saved together."""
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(state.get(f"{name}/{WEIGHT}", weights[name]))
                moments = moments_of(self.optimizer, parameter)
                if f"{name}/{moments[0]}" in state:  # a parameter has all moments or, being frozen, none
                    self.optimizer.state[parameter] = {
                        key: state[f"{name}/{key}"].to(parameter.device) for key in moments
                    }
            if self.moving_average is not None:
                self.moving_average.load(weights)

    def compile(self, first_rows: Callable[[], Int64Array]) -> None:
        """Compile the layers as `training.compile` says; with `on`, use CUDA graphs as well.

        The compiled layers are tried on the pairs that `first_rows` returns; it is called if something is compiled.
        """
        wanted = self.settings.training.compile
        is_compiled = compile_layers(self.model, wanted, lambda: self.fits(first_rows()))
        if is_compiled and wanted == "on" and self.device.type == "cuda":
            if is_recordable(self.model):
                self.record(CudaGraphs())
            else:
                logger.warning(
                    "training.compile: CUDA graphs need model.layer_dropout=0; going on without them"
                )

    def record(self, record: Record) -> None:
        """Record forward and backward of each shape from now on, and replay them."""
        self.replay = Replay(self._learn, record)

    def forget_gradients(self) -> None:
        """Drop the gradients and the graphs that were recorded with them, and free the memory reserved for them."""
        self.optimizer.zero_grad(set_to_none=True)
        if self.replay is not None:
            self.replay.forget()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _sum_over_ranks(self, *losses: Tensor) -> None:
        """Add the gradients and losses of all other ranks to those of this one.

        Parameters without a gradient, such as those of a layer that was left out, get zeros, on one rank as on many.
        """
        learning = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        for parameter in learning:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self.ranks.all_reduce_sum(
            [*(parameter.grad for parameter in learning if parameter.grad is not None), *losses]
        )

    def _accumulate(self, number: int, micro_batches: Update, num_tokens: int) -> tuple[Loss, float]:
        """Add up this rank's gradients of an update of `num_tokens`; return its losses and the seconds of collating."""
        self.objective.train()
        device_num_tokens = torch.full((), num_tokens, device=self.device)
        total, nll, alignment = torch.zeros(3, device=self.device)
        seconds_collating = 0.0
        for index, rows in enumerate(micro_batches):
            of_all = self.ranks.rank + index * self.ranks.size  # the micro-batch's number in the update
            seed = np.random.SeedSequence([self.settings.seed, number, of_all, 0]).generate_state(1)
            torch.manual_seed(int(seed[0]))  # of dropout, and of which tokens are sampled
            began = time.perf_counter()
            batch = collate(self.pairs.dataset, self.pairs.rows[rows], self.tokenizer).to(self.device)
            seconds_collating += time.perf_counter() - began
            loss = (self.replay or self._learn)(batch, device_num_tokens)
            total, nll = total + loss.total, nll + loss.negative_log_likelihood
            alignment = alignment if loss.alignment is None else alignment + loss.alignment
        has_links = self.pairs.dataset.links is not None
        return Loss(total, nll, alignment if has_links else None), seconds_collating

    def _learn(self, batch: Batch, num_tokens: Tensor) -> Loss:
        """Run a batch forward and backward; its loss is divided by the `num_tokens` target tokens of the update."""
        sample_mask = None
        if self.is_sampling:
            # Drawn for the whole room, so that a batch gets the same random numbers whether it is replayed or not.
            _, height, width = rooms_of(batch)[1]
            num_sentences, longest = batch.target_in.shape
            drawn = torch.rand(height, width, device=self.device)[:num_sentences, :longest]
            sample_mask = drawn >= self.teacher_forcing_ratio
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            loss = self.objective(batch, sample_mask)
        # It is 1 where the loss is finite; else NaN, so that the gradients are not finite either.
        is_finite = 1 + 0 * loss.total.detach()
        self.scaler.scale(loss.total * (is_finite / num_tokens)).backward()
        return loss._replace(total=loss.total.detach())
