"""A stand-in for torch that computes nothing: tensors are shapes and types, calls are written down.

One JSON object per call goes to the file that PERFDB_RECORD names: the function's dotted name, and its arguments."""
import json
import os
import sys
import types

__version__ = "0.0.0+standin"


class dtype:
    def __init__(self, name):
        self.name = name
        self.is_floating_point = name in ("float16", "bfloat16", "float32", "float64")

    def __repr__(self):
        return f"torch.{self.name}"


for _name in ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool", "qint8",
              "quint8", "qint32", "quint4x2"):
    globals()[_name] = dtype(_name)


class Methods(type):
    """Unknown methods of a tensor are calls to be written down."""

    def __getattr__(cls, name):
        return Recorder(f"torch.Tensor.{name}")


class Tensor(metaclass=Methods):
    is_quantized = False
    is_cuda = False

    def __init__(self, shape, kind, device="cpu", format="ND"):
        self.shape, self.dtype, self.device, self.format = list(shape), kind, str(device), format

    def _like(self, **changes):
        made = Tensor(self.shape, self.dtype, self.device, self.format)
        made.__dict__.update(changes)
        return made

    def to(self, target):
        return self._like(dtype=target) if isinstance(target, dtype) else self._like(device=str(target))

    def reshape(self, *shape):
        shape = list(shape[0]) if isinstance(shape[0], (list, tuple)) else list(shape)
        return self._like(shape=shape)

    def transpose(self, a, b):
        shape = list(self.shape)
        shape[a], shape[b] = shape[b], shape[a]
        return self._like(shape=shape)

    def clone(self):
        return self._like()

    def clamp(self, **_):
        return self._like()

    def contiguous(self):
        return self._like()

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def dim(self):
        return len(self.shape)

    def detach(self):
        return self

    cpu = detach

    def tolist(self):
        return [0] * self.numel()

    def __getitem__(self, index):
        return self._like(shape=[index.stop]) if isinstance(index, slice) and index.stop is not None else self._like()

    def __setitem__(self, index, value):
        pass


# Indexing by a case is a call; the worker's own slices of tensors that it builds are not.
_slice = Tensor.__getitem__


def _index(self, index):
    return _slice(self, index) if isinstance(index, slice) else Recorder("torch.Tensor.__getitem__")(self, index)


Tensor.__getitem__ = _index
for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "mod", "floordiv", "rshift", "lshift", "and", "or", "xor", "ge",
              "lt", "neg"):
    setattr(Tensor, f"__{_name}__", lambda self, *other: self._like())


class Recorder:
    """A function of that dotted name."""

    def __init__(self, path):
        self.path = path

    def __getattr__(self, name):
        return Recorder(f"{self.path}.{name}")

    def __call__(self, *args, **kwargs):
        with open(os.environ["PERFDB_RECORD"], "a", encoding="utf-8") as file:
            entry = {"api": self.path, "args": [describe(value) for value in args],
                     "kwargs": {name: describe(value) for name, value in kwargs.items()}}
            file.write(json.dumps(entry) + "\n")
        first = next((value for value in args if isinstance(value, Tensor)), Tensor([], float32))  # noqa: F821
        return first if self.path in ("torch.transpose", "torch.permute") else (first, first, first)


def describe(value):
    if isinstance(value, Tensor):
        return {"tensor": [value.shape, value.dtype.name, value.format, value.device]}
    if isinstance(value, dtype):
        return {"dtype": value.name}
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    return value


def full(shape, value, dtype, device="cpu"):
    return Tensor(shape, dtype, device)


def rand(count, dtype=None, device="cpu"):
    return Tensor([count], dtype, device)


randn = rand


def randint(low, high, size, device="cpu"):
    return Tensor(size, int64, device)  # noqa: F821


def randperm(count, device="cpu"):
    return Tensor([count], int64, device)  # noqa: F821


def arange(count, dtype=None):
    return Tensor([count], dtype or int64)  # noqa: F821


def zeros(*shape, dtype=None):
    return Tensor(shape, dtype)


def tensor(values, dtype=None):
    return Tensor([len(values)] if isinstance(values, list) else [], dtype)


def where(condition, a, b):
    return condition._like(dtype=a.dtype)


def manual_seed(seed):
    pass


def device(name):
    return name


def compile(module, backend=None, dynamic=None):
    return module


class _Module:
    def npu(self):
        return self

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)


def _namespace(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    module.__getattr__ = lambda attribute: Recorder(f"{name}.{attribute}")
    sys.modules[name] = module
    return module


class _Group:
    def _get_backend(self, device):
        return self

    def get_hccl_comm_name(self, rank):
        return "ep"


nn = _namespace("torch.nn", Module=_Module)
distributed = _namespace("torch.distributed", is_initialized=lambda: True, group=types.SimpleNamespace(WORLD=_Group()),
                         barrier=lambda: None)
npu = types.SimpleNamespace(is_available=lambda: True, synchronize=lambda: None, empty_cache=lambda: None,
                            device_count=lambda: 1, set_device=lambda index: None, config=types.SimpleNamespace())
ops = Recorder("torch.ops")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Recorder(f"torch.{name}")
