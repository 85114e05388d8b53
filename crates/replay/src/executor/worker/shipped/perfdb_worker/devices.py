"""What differs between CPU, CUDA and NPU: times, waiting, memory, versions."""
import gc
import os
import platform
import time

import torch

from .failures import Environment


def version_of(module):
    try:
        return getattr(__import__(module), "__version__", None)
    except Exception:  # noqa: BLE001 - a broken installation is no version
        return None


class Cpu:
    """Plain torch on the host."""

    backend = "torch-cpu"
    timing = "worker"
    name = "cpu"
    index = 0
    cast_nz = None

    def versions(self):
        return {"python": platform.python_version(), "torch": torch.__version__, "torch_npu": None, "cann": None,
                "vllm_ascend": None}

    def timed(self, call):
        """The call's result, and start and duration in µs."""
        start_us = time.time_ns() / 1000
        begin = time.perf_counter_ns()
        result = call()
        return result, [start_us, (time.perf_counter_ns() - begin) / 1000]

    def forget(self):
        gc.collect()


class Cuda(Cpu):
    """Plain torch on a CUDA device."""

    backend = "torch-cuda"
    name = "cuda"

    def __init__(self):
        if not torch.cuda.is_available():
            raise Environment("no CUDA device: torch.cuda.is_available() is false")
        self.index = physical_index("CUDA_VISIBLE_DEVICES")

    def timed(self, call):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start_us = time.time_ns() / 1000
        begin.record()
        result = call()
        end.record()
        torch.cuda.synchronize()
        return result, [start_us, begin.elapsed_time(end) * 1000]

    def forget(self):
        gc.collect()
        torch.cuda.empty_cache()


class Npu(Cpu):
    """torch_npu on an Ascend device; msprof measures."""

    backend = "npu"
    timing = "profiler"
    name = "npu"

    def __init__(self, log):
        try:
            import torch_npu
        except Exception as error:  # noqa: BLE001 - whatever keeps it from loading
            raise Environment(f"NPU not found: torch_npu cannot be imported ({error}); install it and source the set_env.sh "
                              "of the Ascend toolkit") from error
        self.torch_npu = torch_npu
        try:
            from vllm_ascend.utils import enable_custom_op
            enable_custom_op()
        except Exception as error:  # noqa: BLE001 - most operators do without
            log("warn", f"vllm_ascend.utils.enable_custom_op() failed: {error}")
        torch_npu.npu.config.allow_internal_format = True
        if not torch.npu.is_available():
            raise Environment("NPU not found: torch.npu.is_available() is false")
        rank = int(os.environ.get("RANK", "0"))
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            torch.npu.set_device(rank % torch.npu.device_count())
        self.index = physical_index("ASCEND_RT_VISIBLE_DEVICES")

    def cast_nz(self, tensor):
        return self.torch_npu.npu_format_cast(tensor, 29)

    def versions(self):
        cann = getattr(getattr(self.torch_npu, "version", None), "cann", None)
        cann = cann if isinstance(cann, str) else None
        return {**super().versions(), "torch_npu": getattr(self.torch_npu, "__version__", None), "cann": cann,
                "vllm_ascend": version_of("vllm_ascend")}

    def timed(self, call):
        result = call()
        torch.npu.synchronize()
        return result, None

    def forget(self):
        gc.collect()
        torch.npu.empty_cache()


def physical_index(variable):
    """The number of the first visible device."""
    first = os.environ.get(variable, "").split(",")[0].strip()
    return int(first) if first.isdigit() else 0


def open_device(backend, log):
    if backend == "torch-cpu":
        return Cpu()
    if backend == "torch-cuda":
        return Cuda()
    if backend == "npu":
        return Npu(log)
    raise Environment(f"unknown backend {backend!r}")
