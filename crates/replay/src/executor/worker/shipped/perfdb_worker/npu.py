"""Calls on the NPU: loading of custom operators, and the fall-backs of those that not every installation has."""
import glob
import importlib
import os
import sys

import torch

from .calls import resolve
from .failures import Environment

ADD_RMS_NORM_BIAS = "torch.ops._C_ascend.npu_add_rms_norm_bias"
DISPATCH = "torch.ops._C_ascend.dispatch_ffn_combine"
DECODE = "torch.ops._C_ascend.dispatch_gmm_combine_decode"
QKV = "torch.ops.vllm.qkv_rmsnorm_rope"
QUANT_MATMUL = "torch_npu.npu_quant_matmul"


class NpuCalls:
    """Finds the function of a case. `rank` and `ranks` are those of the process group."""

    def __init__(self, log, rank=0, ranks=1):
        self.log = log
        self.rank = rank
        self.ranks = ranks
        self.graphs = {}
        self.loaded = set()

    def function(self, case):
        """The function, and the name under which the result tells it."""
        api = case["api"]
        if api == QKV:
            self.once("triton", load_triton_operator)
        if api == DISPATCH:
            self.once("dispatch", lambda: load_dispatch(self.log))
            return Dispatch(self, case)
        if api == ADD_RMS_NORM_BIAS:
            return AddRmsNormBias(resolve(api))
        if api == QUANT_MATMUL and case.get("mode") == "graph":
            return Named(api, self.graph(case))
        return Named(api, resolve(api))

    def once(self, name, load):
        if name not in self.loaded:
            load()
            self.loaded.add(name)

    def graph(self, case):
        """npu_quant_matmul compiled once per combination of types and present inputs."""
        key = (tuple((spec["name"], spec["dtype"]) for spec in case["inputs"]), str(case["kwargs"].get("output_dtype")))
        if key not in self.graphs:
            torchair = importlib.import_module("torchair")
            eager = resolve(QUANT_MATMUL)

            class Product(torch.nn.Module):
                def forward(self, *args, **kwargs):
                    return eager(*args, **kwargs)

            backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
            self.graphs[key] = torch.compile(Product().npu(), backend=backend, dynamic=True)
        return self.graphs[key]


class Named:
    """A function with the name that was called."""

    def __init__(self, api, function):
        self.api = api
        self.function = function

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


class AddRmsNormBias:
    """The fused operator; without it the norm, and the bias added to its result."""

    def __init__(self, fused):
        self.api = ADD_RMS_NORM_BIAS
        self.fused = fused

    def __call__(self, x1, x2, gamma, beta, epsilon):
        if self.api == ADD_RMS_NORM_BIAS:
            try:
                return self.fused(x1, x2, gamma, beta, epsilon)
            except RuntimeError as error:
                if not is_unsupported(error, "AddRmsNormBias"):
                    raise
                self.api = "torch_npu.npu_add_rms_norm"
        y, rstd, x = resolve(self.api)(x1, x2, gamma, epsilon)
        return (y if beta is None else y + beta), rstd, x


def is_unsupported(error, op_type):
    text = str(error)
    return op_type in text and ("not support" in text or "unsupported" in text.lower())


class Dispatch:
    """dispatch_ffn_combine in the forms that installations have had."""

    def __init__(self, calls, case):
        self.calls = calls
        self.case = case
        self.api = DISPATCH
        self.form = "keywords"

    def __call__(self, **named):
        while True:
            try:
                return getattr(self, self.form)(named)
            except (AttributeError, RuntimeError, TypeError) as error:
                following = self.following(error)
                if following is None:
                    raise
                self.form = following

    def following(self, error):
        """The form to try after this refusal."""
        text = str(error)
        if self.form == "keywords" and "expected at most 10 argument" in text:
            return "positional"
        absent = isinstance(error, AttributeError) or "No such operator" in text or "has no attribute" in text
        if self.form != "decode" and (absent or is_unsupported(error, "DispatchFFNCombine")):
            return "decode"
        return None

    def keywords(self, named):
        self.api = DISPATCH
        return resolve(DISPATCH)(**named)

    def positional(self, named):
        self.api = DISPATCH
        single = lambda name: named[name][0] if isinstance(named[name], list) else named[name]
        return resolve(DISPATCH)(named["x"], single("weight1"), single("weight2"), named["expert_idx"], single("scale1"),
                                 single("scale2"), named["probs"], named["group"], named["max_output_size"], named["out"])

    def decode(self, named):
        self.api = DECODE
        as_float = lambda scales: [scale.to(torch.float32) for scale in scales]
        experts = named["expert_token_nums"].numel()
        result = resolve(DECODE)(
            x=named["x"], expert_ids=named["expert_idx"], gmm1_permuted_weight=named["weight1"],
            gmm1_permuted_weight_scale=as_float(named["scale1"]), gmm2_weight=named["weight2"],
            gmm2_weight_scale=as_float(named["scale2"]), expert_scales=named["probs"], expert_smooth_scales=None,
            x_active_mask=None, group_ep=named["group"], ep_rank_size=self.calls.ranks, ep_rank_id=self.calls.rank,
            moe_expert_num=experts, shared_expert_num=1, shared_expert_rank_num=0, quant_mode=0,
            global_bs=named["x"].shape[0])
        out, counts = result[0], result[1]
        recorded = named["expert_token_nums"]
        return out, counts.reshape(-1)[: recorded.numel()].reshape(recorded.shape).to(recorded.dtype)


def load_triton_operator():
    """The Triton operator of vllm-ascend, from the installation or from a checkout."""
    def register():
        importlib.import_module("vllm_ascend.ops.register_custom_ops")
        from vllm_ascend.ops.triton.triton_utils import init_device_properties_triton
        init_device_properties_triton()

    try:
        return register()
    except ImportError as error:
        first = error
    for path in (os.environ.get("VLLM_ASCEND_PATH"), os.path.join("..", "vllm-ascend")):
        if path and os.path.isdir(path):
            sys.path.insert(0, os.path.abspath(path))
            try:
                return register()
            except ImportError:
                sys.path.pop(0)
    raise Environment(f"vllm_ascend cannot be imported ({first}); set VLLM_ASCEND_PATH to a checkout")


def load_dispatch(log):
    """Tries in turn what makes the operator known; each failure is a warning."""
    def by_package():
        from vllm_ascend.utils import enable_custom_op
        enable_custom_op()

    def by_folder(folder):
        def load():
            if not folder:
                raise FileNotFoundError("VLLM_ASCEND_PACKAGE_DIR is not set")
            libraries = glob.glob(os.path.join(folder, "libvllm_ascend_kernels.so"))
            libraries += sorted(glob.glob(os.path.join(folder, "vllm_ascend_C*.so")))
            if not libraries:
                raise FileNotFoundError(f"no vllm-ascend library in {folder}")
            for library in libraries:
                torch.ops.load_library(library)
        return load

    def package_folder():
        package = importlib.util.find_spec("vllm_ascend")
        return os.path.dirname(package.origin) if package and package.origin else ""

    def by_extension():
        importlib.import_module("vllm_ascend.vllm_ascend_C")

    for load in (by_package, by_folder(package_folder()), by_folder(os.environ.get("VLLM_ASCEND_PACKAGE_DIR")), by_extension):
        try:
            return load()
        except Exception as error:  # noqa: BLE001 - the next way may work
            log("warn", f"DispatchFFNCombine: {error}")
    return None
