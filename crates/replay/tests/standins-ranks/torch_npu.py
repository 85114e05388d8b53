"""A stand-in for torch_npu beside a real torch: tensors stay on the host, collectives run on gloo.

DispatchFFNCombine counts the ranks that came together for a call."""
import types

import torch
import torch.distributed

__version__ = "0.0.0+standin"
npu = types.SimpleNamespace(config=types.SimpleNamespace())


def on_host(function):
    def call(*args, **kwargs):
        if kwargs.get("device") == "npu":
            kwargs["device"] = "cpu"
        return function(*("cpu" if isinstance(value, str) and value == "npu" else value for value in args), **kwargs)
    return call


for name in ("full", "rand", "randn", "randint", "randperm"):
    setattr(torch, name, on_host(getattr(torch, name)))
torch.Tensor.to = on_host(torch.Tensor.to)
torch.npu = types.SimpleNamespace(is_available=lambda: True, device_count=lambda: 2, set_device=lambda index: None,
                                  synchronize=lambda: None, empty_cache=lambda: None)

if hasattr(torch.utils, "rename_privateuse1_backend"):
    torch.utils.rename_privateuse1_backend("npu")
    torch.distributed.ProcessGroup._get_backend = lambda group, device: group
torch.distributed.ProcessGroup.get_hccl_comm_name = lambda group, rank: f"ranks-{rank}"

open_on_device = torch.distributed.init_process_group


def init_process_group(kind, **options):
    assert kind == "hccl", kind
    open_on_device("gloo", **options)


torch.distributed.init_process_group = init_process_group


def npu_format_cast(tensor, format):
    return tensor


def dispatch_ffn_combine(*, group, out, expert_token_nums, **inputs):
    rank = torch.distributed.get_rank()
    assert group == f"ranks-{rank}", group
    ranks = torch.ones(1, dtype=torch.int32)
    torch.distributed.all_reduce(ranks)
    out.fill_(rank + 1)
    expert_token_nums.fill_(int(ranks))
    return out, expert_token_nums


torch.ops._C_ascend = types.SimpleNamespace(dispatch_ffn_combine=dispatch_ffn_combine)
