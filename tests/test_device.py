"""Settings of PyTorch that preparing a device chooses."""

import torch

from nmt.device import prepare_device


def test_attention_on_cuda_is_not_left_to_cudnn(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    precision = torch.get_float32_matmul_precision()
    try:
        assert prepare_device("cuda").type == "cuda"
        chosen = torch.backends.cuda
        assert not chosen.cudnn_sdp_enabled()
        assert chosen.flash_sdp_enabled()
        assert chosen.mem_efficient_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(True)
        torch.set_float32_matmul_precision(precision)
