"""torch.compile for the layers that repeat, with eager execution as the reference and the fallback."""

import logging
import shutil
import time
from collections.abc import Callable
from types import MethodType

import torch
import torch.fx.experimental._config
from torch import nn

from nmt.config import Compile
from nmt.models.interface import Seq2Seq
from nmt.models.prepare import compiled_regions

logger = logging.getLogger(__name__)


def compile_layers(
    model: Seq2Seq, wanted: Compile, try_out: Callable[[], bool], backend: str = "inductor"
) -> bool:
    """Compile a model's layers and run `try_out` once; return whether they run compiled from now on.

    `auto` compiles on CUDA only. Layers of one class share a compiled program. Where the machine has no compiler, or
    PyTorch cannot compile, the layers stay as they were, and a warning says why.
    """
    device = model.output.weight.device
    regions = compiled_regions(model)
    if not regions and wanted == "on":
        logger.warning("training.compile: a model with layers that repeat is needed; going on without")
    if not regions or wanted == "off" or (wanted == "auto" and device.type != "cuda"):
        return False
    if (
        backend == "inductor"
        and device.type == "cpu"
        and not any(map(shutil.which, ("g++", "clang++", "c++")))
    ):
        logger.warning(
            "training.compile: a C++ compiler is needed on the CPU, and none was found; going on without"
        )
        return False
    logger.info("compiling %d layers; this takes up to a minute and a half", len(regions))
    began = time.monotonic()
    torch._dynamo.config.suppress_errors = False
    # Two sizes that happen to be equal in the trial batch stay two symbols: else layers would be compiled anew for
    # batches in which the sizes differ.
    torch.fx.experimental._config.use_duck_shape = False
    # One function serves all layers of a class, and one program all shapes: else each would be compiled on its own.
    compiled = {
        kind: torch.compile(kind.forward, backend=backend, dynamic=True)
        for kind in {type(region) for region in regions}
    }
    for region in regions:
        region.forward = MethodType(compiled[type(region)], region)
    try:
        if not try_out():
            raise MemoryError("not enough memory to try it out")
    except Exception as error:  # a compiler may raise anything; a mistake of ours comes again without it
        reset_layers(regions)
        reason = " ".join(str(error).split("\n")[:2])
        logger.warning("training.compile: going on without; %s: %s", type(error).__name__, reason)
        return False
    logger.info("compiled in %.0f s", time.monotonic() - began)
    # If another program is needed later and cannot be compiled, it runs in eager mode.
    torch._dynamo.config.suppress_errors = True
    return True


def reset_layers(regions: list[nn.Module]) -> None:
    """Let the layers run in eager mode again."""
    for region in regions:
        region.__dict__.pop("forward", None)
