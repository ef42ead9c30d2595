"""What a machine wants of a whole model: weights laid out for translating, layers to compile, steps to record."""

import torch
from torch import nn

from nmt.errors import SettingsError
from nmt.models.interface import Seq2Seq
from nmt.models.kernels.int8 import quantize
from nmt.models.kernels.linear import prepare_linears
from nmt.models.transformer import Transformer


def prepare_for_translating(model: Seq2Seq, dtype: torch.dtype) -> None:
    """Lay out the weights for speed where that helps, for int8 as integers; they can no longer be trained or saved.

    Raises SettingsError for a model that has no layers that could compute in 8-bit integers.
    """
    if not isinstance(model, Transformer):
        if dtype == torch.int8:
            raise SettingsError(["precision: float32 or bfloat16 is needed for this kind of model; got int8"])
        return
    if dtype == torch.int8:
        if model.options.norm != "pre":
            raise SettingsError(["precision: float32 or bfloat16 is needed with model.norm=post; got int8"])
        quantize(model.encoder, model.decoder, [(model, "output")])
    prepare_linears(model)
    for stack in (model.encoder, model.decoder):
        stack.positions.keep_sinusoids()


def compiled_regions(model: Seq2Seq) -> list[nn.Module]:
    """Return the parts that torch.compile is good for; none, where the time goes into recurrent kernels.

    Layers of a Transformer are alike, so that what is compiled for one serves all.
    """
    return [*model.encoder.layers, *model.decoder.layers] if isinstance(model, Transformer) else []


def is_recordable(model: Seq2Seq) -> bool:
    """Tell whether a training step depends on the host for nothing but the shape of its batch.

    A GPU can repeat such a step by itself; the host draws which layers are left out.
    """
    return isinstance(model, Transformer) and model.options.layer_dropout == 0
