"""A stand-in for torch_npu that writes calls down."""
import torch

__version__ = "0.0.0+standin"
npu = torch.npu


def npu_format_cast(tensor, format):
    return tensor._like(format="FRACTAL_NZ" if format == 29 else format)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return torch.Recorder(f"torch_npu.{name}")
