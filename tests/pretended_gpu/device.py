"""A pretended GPU: tensors that say that they are on cuda:0, and hold their numbers on the CPU.

What runs on it takes the branches of CUDA and follows the rules of its autocast. An operator refuses operands of two
devices and of two types where a GPU would, and each time that the host would have to wait for the device is noted, with
the function of nmt that makes it wait. It knows nothing of a GPU's own kernels, streams, graphs, memory or time.

PyTorch must have been told that it has a GPU before it is imported: guard.cpp, which test_pretended_gpu.py builds.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_unflatten

GPU = torch.device("cuda", 0)

# Operators whose shape, or whose result in Python, depends on the numbers of a tensor.
WAITING = {"_local_scalar_dense", "equal", "masked_select", "nonzero", "_unique2"}
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_"}
COPYING = {"_to_copy", "copy_"}
# These take the lengths of sentences from the host.
TAKING_LENGTHS = {"_pack_padded_sequence", "_pack_padded_sequence_backward"}
# torch.use_deterministic_algorithms lists them as raising on CUDA, for floating-point numbers.
NOT_DETERMINISTIC = {"cumsum", "cumsum_"}

RECURRENT_LAYERS = ("lstm", "gru", "rnn_tanh")
RECURRENT_CELLS = ("lstm_cell", "gru_cell", "rnn_tanh_cell")


class OnGPU(torch.Tensor):
    """A tensor that says that it is on the GPU; `held` has its numbers."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: Tensor) -> "OnGPU":
        tensor = torch.Tensor._make_wrapper_subclass(
            cls, held.shape, strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype, device=GPU
        )  # fmt: skip
        tensor.held = held
        return tensor

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise AssertionError(f"{function} of the pretended GPU is used outside of pretended_gpu()")

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        copied = OnGPU(self.held.clone())
        return (
            torch.nn.Parameter(copied, self.requires_grad) if isinstance(self, torch.nn.Parameter) else copied
        )

    def __repr__(self) -> str:
        return f"OnGPU({self.held})"

    def tolist(self) -> list[Any]:
        """Return the numbers, which are copied to the host for it."""
        return self.cpu().tolist()

    @property
    def data(self) -> Tensor:
        """Return the tensor without its gradient; setting `data` exchanges the numbers."""
        return self.detach()

    @data.setter
    def data(self, other: "OnGPU") -> None:
        self.held = other.held


def put(found: Any) -> Any:
    """Return tensors of the CPU as tensors of the GPU that share their memory, and anything else as it is."""
    if isinstance(found, tuple | list):
        return type(found)(map(put, found))
    return OnGPU(found) if isinstance(found, Tensor) else found


def held(given: Any) -> Any:
    """Return the tensors of the CPU that tensors of the GPU hold, and anything else as it is."""
    if isinstance(given, tuple | list):
        return type(given)(map(held, given))
    return given.held if isinstance(given, OnGPU) else given


def tensors_of(given: Any) -> Iterator[Tensor]:
    """Yield the tensors among the operands of an operator."""
    for operand in given:
        if isinstance(operand, Tensor):
            yield operand
        elif isinstance(operand, tuple | list):
            yield from tensors_of(operand)


class Kernel(torch.autograd.Function):
    """Several operators of the CPU, as one kernel of the GPU whose gradient is known."""

    @staticmethod
    def forward(ctx: Any, compute: Callable[..., Any], *tensors: OnGPU) -> tuple[Tensor, ...]:
        ctx.inputs = [tensor.held.detach().requires_grad_(tensor.is_floating_point()) for tensor in tensors]
        with torch.enable_grad():
            found = compute(*ctx.inputs)
        ctx.outputs = found if isinstance(found, tuple) else (found,)
        return tuple(put(output.detach()) for output in ctx.outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: OnGPU) -> tuple[Tensor | None, ...]:
        found = torch.autograd.grad(ctx.outputs, ctx.inputs, held(gradients))
        return None, *put(found)


class PretendedGPU(TorchDispatchMode):
    """Runs all operators; `waits` counts the functions of nmt that made the host wait.

    `types` has each recurrent or attention kernel that ran, with the type that it was given.
    """

    def __init__(self) -> None:
        super().__init__()
        self.waits: Counter[str] = Counter()
        self.types: set[tuple[str, torch.dtype]] = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function._schema.name.removeprefix("aten::")
        tensors = [*tensors_of(args), *tensors_of(kwargs.values())]
        device = kwargs.get("device")
        is_to_gpu = device is not None and torch.device(device).type == "cuda"
        if not is_to_gpu and not any(isinstance(tensor, OnGPU) for tensor in tensors):
            return function(*args, **kwargs)
        if function._can_decompose():  # in inference mode, composite operators have not been decomposed yet
            with self:
                return function.decompose(*args, **kwargs)
        if name in COPYING:
            return self._copy(function, name, args, kwargs, device, is_to_gpu)
        self._refuse(name, args, tensors)
        if name in WAITING or (name in INDEXING and any(map(_is_mask, args[1]))):
            self._wait()
        given = {key: held(value) for key, value in kwargs.items() if key not in ("device", "pin_memory")}
        found = function(*held(args), **given)
        if name in TAKING_LENGTHS and isinstance(found, tuple):
            return put(found[0]), found[1]
        return return_and_correct_aliasing(function, args, kwargs, put(found))

    def _copy(self, function, name, args, kwargs, device, is_to_gpu):
        """Copy from one device to the other, or within one; only pinned memory reaches the GPU without a wait."""
        origin = args[1] if name == "copy_" else args[0]
        if name == "copy_":
            is_to_gpu = isinstance(args[0], OnGPU)
        elif device is None:
            is_to_gpu = isinstance(origin, OnGPU)
        is_quick = kwargs.get("non_blocking", len(args) > 2 and args[2]) and hasattr(origin, "is_pinned_here")
        is_scalar = name == "copy_" and origin.dim() == 0  # the tensor is filled with this number
        if isinstance(origin, OnGPU) != is_to_gpu and not (is_to_gpu and (is_quick or is_scalar)):
            self._wait()
        given = {
            key: "cpu" if key == "device" and value is not None else value for key, value in kwargs.items()
        }
        found = function(*map(held, args), **given)
        if name == "copy_":
            return args[0]
        return put(found) if is_to_gpu else found

    def _refuse(self, name: str, args: Any, tensors: list[Tensor]) -> None:
        """Raise RuntimeError where a GPU would; tensors without dimensions may be on the host."""
        elsewhere = [tensor for tensor in tensors if not isinstance(tensor, OnGPU) and tensor.dim()]
        if elsewhere and name in INDEXING and isinstance(args[0], OnGPU):
            self._wait()  # the index is copied to the GPU
        elif elsewhere and name not in TAKING_LENGTHS:
            raise RuntimeError(
                f"{name}: operands on two devices, {[tuple(tensor.shape) for tensor in elsewhere]} here"
            )
        is_exact = not any(tensor.is_floating_point() for tensor in tensors)
        if name in NOT_DETERMINISTIC and not is_exact and torch.are_deterministic_algorithms_enabled():
            raise RuntimeError(f"{name} does not have a deterministic implementation")

    def _wait(self) -> None:
        """Note that the function of nmt that is running makes the host wait."""
        frame = sys._getframe()
        while frame is not None and not frame.f_globals.get("__name__", "").startswith("nmt."):
            frame = frame.f_back
        self.waits[frame.f_code.co_qualname if frame else "outside nmt"] += 1

    def attention(self) -> Callable[..., Tensor]:
        """Return scaled dot-product attention that the GPU would choose a kernel for."""
        ours = torch.nn.functional.scaled_dot_product_attention

        def attend(query, key, value, mask=None, dropout=0.0, causal=False, *, enable_gqa=False):
            return self._launch(
                "attention", None, lambda *given: ours(*given, dropout_p=dropout, is_causal=causal, enable_gqa=enable_gqa),
                [query, key, value, *([] if mask is None else [mask])],
            )  # fmt: skip

        return attend

    def recurrent(self, name: str, autocast_type: torch.dtype | None) -> Callable[..., Any]:
        """Return the layers of cuDNN, whose autocast knows float16 only, or the recurrent cells of PyTorch."""
        ours = getattr(torch._VF, name)
        return lambda *args: self._launch(name, autocast_type, ours, args)

    def _launch(
        self, name: str, autocast_type: torch.dtype | None, compute: Callable[..., Any], args: Any
    ) -> Any:
        """Compute on all tensors of `args` that are on the GPU, as one kernel, which takes one type alone."""
        leaves, layout = tree_flatten(list(args))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, OnGPU)]
        if not places:
            return compute(*args)
        if torch.is_autocast_enabled("cuda"):
            dtype = autocast_type or torch.get_autocast_dtype("cuda")
            leaves = [leaf.to(dtype) if i in places else leaf for i, leaf in enumerate(leaves)]
        types = {leaves[i].dtype for i in places}
        if len(types) > 1:
            raise RuntimeError(f"{name}: one type is needed; got {types}")
        self.types |= {(name, dtype) for dtype in types}

        def on_the_cpu(*tensors: Tensor) -> Any:
            given = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                given[place] = tensor
            return compute(*tree_unflatten(given, layout))

        found = Kernel.apply(on_the_cpu, *(leaves[i] for i in places))
        return found[0] if len(found) == 1 else found


@contextmanager
def pretended_gpu() -> Iterator[PretendedGPU]:
    """Make cuda:0 available within a `with` block."""
    gpu = PretendedGPU()
    with ExitStack() as changes:
        for place, name, stand_in in (
            (torch.cuda.amp.common, "amp_definitely_not_available", lambda: False),
            (torch.cuda, "is_bf16_supported", lambda including_emulation=True: True),
            (torch.cuda, "mem_get_info", lambda device=None: (70 << 30, 80 << 30)),
            (torch.cuda, "_lazy_init", lambda: None),
            (torch.cuda, "empty_cache", lambda: None),
            (torch.backends.cudnn, "is_acceptable", lambda tensor: False),
            (torch.Tensor, "pin_memory", _pin),
            (torch.nn.functional, "scaled_dot_product_attention", gpu.attention()),
            *((torch._VF, name, gpu.recurrent(name, torch.float16)) for name in RECURRENT_LAYERS),
            *((torch._VF, name, gpu.recurrent(name, None)) for name in RECURRENT_CELLS),
        ):
            changes.enter_context(patch.object(place, name, stand_in, create=place is torch._VF))
        # The thread that asks for gradients has to compute them, since it alone has this mode.
        changes.enter_context(torch.autograd.set_multithreading_enabled(False))
        # torch.tensor makes a tensor on the host, and then copies it by the ordinary operator.
        torch._C._set_only_lift_cpu_tensors(True)
        changes.callback(torch._C._set_only_lift_cpu_tensors, False)
        # Module.to swaps the contents of parameters, so that tied parameters stay tied.
        torch.__future__.set_swap_module_params_on_conversion(True)
        changes.callback(torch.__future__.set_swap_module_params_on_conversion, False)
        yield changes.enter_context(gpu)


def _pin(tensor: Tensor) -> Tensor:
    """Return a copy that the GPU can fetch by itself."""
    pinned = tensor.clone()
    pinned.is_pinned_here = True
    return pinned


def _is_mask(index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8)
