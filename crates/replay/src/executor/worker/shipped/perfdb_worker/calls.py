"""From a case's function and arguments to a call, and from what it returns to the outputs."""
import functools

import torch

from .failures import Unsupported

# Functions that write into their arguments: which arguments are the outputs, by position or name.
IN_PLACE = {
    "torch_npu._npu_reshape_and_cache": (2, 3),
    "torch.ops._C_ascend.dispatch_ffn_combine": ("out", "expert_token_nums"),
    "torch_npu.atb.npu_ring_mla": ("output", "softmax_lse"),
}
# Functions of whose results only the first are outputs.
FIRST_RESULTS = {"torch_npu.npu_grouped_matmul_swiglu_quant": 2}


def argument(value, tensors, group):
    """A Python value for an argument of a case."""
    if isinstance(value, list):
        return [argument(item, tensors, group) for item in value]
    if isinstance(value, dict):
        if "tensor" in value:
            return tensors[value["tensor"]]
        if "dtype" in value:
            return getattr(torch, value["dtype"])
        return group(value["group"])
    return value


def bind(case, tensors, group, attempt=None):
    """Positional and named arguments of a case."""
    named = dict(case["kwargs"])
    if attempt:
        named.update({name: value for name, value in attempt.items() if name != "name"})
    args = [argument(value, tensors, group) for value in case["args"]]
    return args, {name: argument(value, tensors, group) for name, value in named.items()}


def resolve(api):
    """The function behind a dotted name; a torch.Tensor method takes the tensor first."""
    parts = api.split(".")
    found = __import__(parts[0])
    for part in parts[1:]:
        found = getattr(found, part)
    return found


def finish(case, result):
    """What the case wants of a result: one element, made contiguous."""
    if case.get("unwrap") is not None:
        result = result[case["unwrap"]]
    if case.get("then") == "contiguous":
        result = result.contiguous()
    return result


def outputs_of(case, api, args, kwargs, result):
    """The output tensors in the order of the operator's definition."""
    names = IN_PLACE.get(case["api"])
    if names and api == case["api"]:
        return [kwargs[name] if isinstance(name, str) else args[name] for name in names]
    outputs = [item for item in flatten(result) if isinstance(item, torch.Tensor)]
    if kwargs.get("softmax_lse_flag") is False:
        return outputs[:1]
    return outputs[: FIRST_RESULTS.get(case["api"], len(outputs))]


def flatten(result):
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in flatten(item)]
    return [result]


def dtype_name(dtype):
    name = str(dtype).replace("torch.", "")
    return {"qint8": "int8", "quint8": "uint8", "qint32": "int32"}.get(name, name)


def describe(tensor, dump):
    """An output as a message carries it."""
    described = {"shape": list(tensor.shape), "dtype": dtype_name(tensor.dtype)}
    if dump:
        if tensor.is_quantized:
            tensor = tensor.int_repr()
        values = tensor.detach().cpu().reshape(-1)
        if values.dtype in (torch.float16, torch.bfloat16):
            values = values.to(torch.float32)
        described["values"] = [plain(value) for value in values.tolist()]
    return described


def plain(value):
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "nan" if value != value else ("inf" if value > 0 else "-inf")
    return value


def widened(function):
    """The same function with half-precision tensors computed in float32, for CPUs whose torch lacks it."""
    halves = (torch.float16, torch.bfloat16)

    def widen(value):
        return value.to(torch.float32) if isinstance(value, torch.Tensor) and value.dtype in halves else value

    @functools.wraps(function)
    def wide(*args, **kwargs):
        dtype = next((value.dtype for value in args if isinstance(value, torch.Tensor)), torch.float32)
        result = function(*[widen(value) for value in args], **{name: widen(value) for name, value in kwargs.items()})
        narrow = lambda leaf: leaf.to(dtype) if isinstance(leaf, torch.Tensor) and leaf.dtype == torch.float32 else leaf
        return tuple(narrow(leaf) for leaf in result) if isinstance(result, (list, tuple)) else narrow(result)

    return wide


def plain_torch_function(api, reference):
    """The function of a plain torch backend: torch's own, or written out with torch primitives."""
    if api in reference:
        return reference[api]
    if api.startswith("torch.") and not api.startswith("torch.ops."):
        return resolve(api)
    raise Unsupported(f"plain torch has no {api}")


def bound_forms(case, tensors, group):
    """The call with its arguments: one form per alternative, with the alternative's name, or the only one."""
    attempts = case.get("attempts") or [None]
    return [(attempt["name"] if attempt else None, *bind(case, tensors, group, attempt)) for attempt in attempts]
