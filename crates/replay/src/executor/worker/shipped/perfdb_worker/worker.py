"""One worker: builds the tensors of a case, calls, measures, answers."""
import os
import traceback

import torch

from . import PROTOCOL, VERSION
from .calls import bound_forms, describe, finish, outputs_of, plain_torch_function, widened
from .devices import open_device
from .failures import Rejected, kind_of
from .npu import DISPATCH, Named, NpuCalls
from .ranks import Ranks
from .reference import REFERENCE
from .tensors import Builder

OPS = ("Add AddRmsNormBias ArgMaxV2 AscendQuantV2 BatchMatMulV2 DispatchFFNCombine DynamicQuant FusedInferAttentionScore "
       "GatherV2 GroupedMatmul GroupedMatmulSwigluQuant Index InterleaveRope KvRmsNormRopeCache LightningIndexer MaskedFill "
       "MatMulCommon MatMulV2 MatMulV3 MoeTokenPermute MoeTokenUnpermute PadV3 QuantBatchMatmulV3 RINGMLAPrefillBF16Kernel "
       "ReshapeAndCacheNdKernel RmsNorm ScatterNdUpdate Slice SoftmaxV2 Sort SparseFlashAttention SwiGlu TensorMove Transpose "
       "TransposeBatchMatMul split_qkv_rmsnorm_rope_kernel").split()


class Worker:
    """Talks to one driver on one device."""

    def __init__(self, hello, channel):
        self.channel = channel
        self.device = open_device(hello["backend"], self.log)
        self.ranks = Ranks(self.device)
        hello = self.ranks.share(hello)
        self.npu_calls = NpuCalls(self.log, self.ranks.rank, self.ranks.size) if self.device.name == "npu" else None
        self.builder = Builder(self.device.name, hello.get("seed", 0), hello.get("exact_init", False), self.device.cast_nz)
        self.debugs_devices = os.environ.get("DFC_DEBUG_DEVICES") == "1"
        # Functions of this CPU's torch that cannot do half precision.
        self.needs_wide = set()

    def log(self, level, message):
        self.channel.send(type="log", level=level, message=message)

    def greeting(self):
        ops = None if self.device.name == "npu" else OPS
        return {"type": "hello", "protocol": PROTOCOL, "worker": f"perfdb-worker {VERSION}",
                "backend": self.device.backend, "device": self.device.name, "device_index": self.device.index,
                "timing": self.device.timing, "ops": ops, "versions": self.device.versions()}

    def serve(self):
        while True:
            leads = self.ranks.rank == 0 or not self.ranks.shares_driver
            message = self.ranks.share(self.channel.receive() if leads else None)
            if message is None or message.get("type") == "shutdown":
                self.ranks.close()
                return
            if message.get("type") == "case":
                self.channel.send(**self.answer(message))
                self.device.forget()

    def answer(self, message):
        """The result of a case, or its error."""
        case, progress = message["case"], {"completed": 0, "resolving": True}
        try:
            return {"type": "result", "id": message["id"], **self.run(case, message.get("dump", False), progress)}
        except Exception as error:  # noqa: BLE001 - every failure is an answer
            traceback.print_exc()
            return {"type": "error", "id": message["id"], "kind": kind_of(error, progress["resolving"]),
                    "exception": type(error).__name__, "message": str(error), "completed": progress["completed"]}
        finally:
            self.ranks.meet()

    def function(self, case):
        if self.npu_calls is not None:
            return self.npu_calls.function(case)
        function = plain_torch_function(case["api"], REFERENCE)
        if case["api"] in self.needs_wide:
            function = widened(function)
        return Named(case["api"], function)

    def run(self, case, dump, progress):
        call = self.function(case)
        progress["resolving"] = False
        tensors = self.builder.build(case)
        if self.debugs_devices and case["api"] == DISPATCH:
            self.debug_devices(tensors)
        forms = bound_forms(case, tensors, self.ranks.group_name)
        samples, accepted = [], None
        for turn in range(case["warmup"] + case["repeat"]):
            if turn and case["fresh_inputs"]:
                tensors = forms = None
                tensors = self.builder.build(case)
                forms = bound_forms(case, tensors, self.ranks.group_name)
            tried = forms if accepted is None else [forms[accepted]]
            (index, result), sample = self.device.timed(lambda: self.call_first_accepted(case, call, tried))
            accepted = index if accepted is None else accepted
            if turn >= case["warmup"]:
                progress["completed"] += 1
                if sample is not None:
                    samples.append(sample)
        attempt, args, kwargs = forms[accepted]
        outputs = outputs_of(case, call.api, args, kwargs, result)
        answer = {"api": call.api, "outputs": [describe(output, dump) for output in outputs], "samples": samples}
        return {**answer, "attempt": attempt} if attempt else answer

    def call_first_accepted(self, case, call, forms):
        """Calls with each form until the framework accepts one; its index and the result."""
        refusals = []
        for index, (attempt, args, kwargs) in enumerate(forms):
            try:
                return index, finish(case, self.call_widening(case, call, args, kwargs))
            except (RuntimeError, ValueError, TypeError) as error:
                if len(forms) == 1:
                    raise
                refusals.append(f"{attempt}: {(str(error).splitlines() or [type(error).__name__])[0]}")
        raise Rejected("; ".join(refusals))

    def call_widening(self, case, call, args, kwargs):
        try:
            return call(*args, **kwargs)
        except RuntimeError as error:
            lacks_half = self.device.name == "cpu" and "not implemented for" in str(error)
            if not lacks_half or case["api"] in self.needs_wide:
                raise
            self.needs_wide.add(case["api"])
            call.function = widened(call.function)
            return call(*args, **kwargs)

    def debug_devices(self, tensors):
        self.debugs_devices = False
        for name, tensor in tensors.items():
            self.log("info", f"{name}: {tuple(tensor.shape)} {tensor.dtype} {tensor.device}")
