"""Builds the tensors of a case. With exact values they are the same as on every other executor."""
import math

import torch

DTYPES = {name: getattr(torch, name) for name in
          ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool")}
NZ_FORMAT = 29
MASK = (1 << 64) - 1


def key_of(seed, op, row, tensor):
    """FNV-1a of the tensor's full name."""
    key = 0xCBF29CE484222325
    for byte in f"{seed}/{op}/{row}/{tensor}".encode("utf-8"):
        key = ((key ^ byte) * 0x100000001B3) & MASK
    return key


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def logical_shift(words, count):
    return (words >> count) & ((1 << (64 - count)) - 1)


def random_words(key, indices):
    """SplitMix64 of key + (index + 1)·golden ratio; 64-bit words held in int64."""
    words = (indices + 1) * signed(0x9E3779B97F4A7C15) + signed(key)
    words = (words ^ logical_shift(words, 30)) * signed(0xBF58476D1CE4E5B9)
    words = (words ^ logical_shift(words, 27)) * signed(0x94D049BB133111EB)
    return words ^ logical_shift(words, 31)


def unit(words):
    return logical_shift(words, 11).to(torch.float64) * 2.0 ** -53


def unsigned_remainder(words, modulus):
    return (logical_shift(words, 1) % modulus * 2 + (words & 1)) % modulus


def elements(shape):
    return math.prod(shape)


def number(value):
    return float(value) if isinstance(value, str) else value


class Builder:
    """Builds tensors for one device."""

    def __init__(self, device, seed, exact, cast_nz=None):
        self.device = device
        self.seed = seed
        self.exact = exact
        self.cast_nz = cast_nz

    def build(self, case):
        """All tensors of a case by name, in order."""
        built = {}
        for spec in case["inputs"]:
            built[spec["name"]] = self._build_one(case, spec, built)
        return built

    def _build_one(self, case, spec, built):
        shape, dtype = spec.get("storage") or spec["shape"], DTYPES[spec["dtype"]]
        device = "cpu" if spec.get("device") == "host" else self.device
        if spec["init"]["kind"] == "copy_of":
            tensor = built[spec["init"]["of"]].clone()
        else:
            key = key_of(self.seed, case["op"], case["row"], spec["name"])
            tensor = self._values(spec["init"], shape, dtype, key, device)
        if spec.get("view") == "t":
            tensor = tensor.transpose(-2, -1)
        if spec.get("format") == "FRACTAL_NZ" and self.cast_nz:
            tensor = self.cast_nz(tensor)
        return tensor

    def _values(self, init, shape, dtype, key, device):
        kind = init["kind"]
        if kind == "full":
            return torch.full(shape, number(init["value"]), dtype=dtype, device=device)
        if kind in ("uniform", "randint", "normal", "permutation"):
            make = exact_random if self.exact else seeded_random
            flat = make(init, elements(shape), dtype, key, device)
        else:
            flat = fixed(init, shape)
        # By way of float32, as every executor rounds.
        if flat.dtype == torch.float64 and dtype in (torch.float16, torch.bfloat16):
            flat = flat.to(torch.float32)
        return flat.to(dtype).reshape(shape).to(device)


def exact_random(init, count, dtype, key, device):
    """Values that every executor computes alike."""
    kind = init["kind"]
    if kind == "permutation":
        return permutation(key, init["n"])[: init["take"]]
    indices = torch.arange(count, dtype=torch.int64)
    if kind == "uniform":
        return init["low"] + unit(random_words(key, indices)) * (init["high"] - init["low"])
    if kind == "randint":
        return init["low"] + unsigned_remainder(random_words(key, indices), init["high"] - init["low"])
    radius = torch.sqrt(-2.0 * torch.log(1.0 - unit(random_words(key, 2 * indices))))
    return radius * torch.cos(2.0 * math.pi * unit(random_words(key, 2 * indices + 1)))


def permutation(key, n):
    words = random_words(key, torch.arange(n, dtype=torch.int64)).tolist()
    order = list(range(n))
    for position in range(n - 1, 0, -1):
        other = (words[position] & MASK) % (position + 1)
        order[position], order[other] = order[other], order[position]
    return torch.tensor(order, dtype=torch.int64)


def seeded_random(init, count, dtype, key, device):
    """Values of the device's own generator, the same in every run."""
    torch.manual_seed(key & (1 << 63) - 1)
    kind = init["kind"]
    if kind == "permutation":
        return torch.randperm(init["n"], device=device)[: init["take"]]
    if kind == "randint":
        return torch.randint(init["low"], init["high"], (count,), device=device)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    if kind == "normal":
        return torch.randn(count, dtype=wide, device=device)
    return torch.rand(count, dtype=wide, device=device) * (init["high"] - init["low"]) + init["low"]


def fixed(init, shape):
    """Values without chance, as int64 or float64."""
    kind, count = init["kind"], elements(shape)
    last = shape[-1] if shape else 1
    if kind == "values":
        values = [number(value) for value in init["values"]]
        whole = all(isinstance(value, int) for value in values)
        return torch.tensor(values, dtype=torch.int64 if whole else torch.float64)
    index = torch.arange(count, dtype=torch.int64)
    if kind == "arange":
        return index + init.get("start", 0)
    if kind == "arange_mod":
        return index % init["modulus"]
    if kind == "arange_clip":
        return (index % last).clamp(max=init["max"])
    if kind == "rank_round_robin":
        ranks, per_rank = init["ranks"], init["per_rank"]
        return index % ranks * per_rank + index // ranks % per_rank
    if kind == "triu":
        rows, columns = shape[-2:]
        above = index % columns - index // columns % rows >= init["diagonal"]
        return torch.where(above, torch.tensor(float(number(init["value"])), dtype=torch.float64),
                           torch.tensor(0.0, dtype=torch.float64))
    if kind == "block_prefix":
        table, counter = torch.zeros(len(init["counts"]), last, dtype=torch.int64), 0
        for row, used in enumerate(init["counts"]):
            table[row, :used] = (torch.arange(used) + counter) % init["modulus"]
            counter += used
        return table.reshape(-1)
    raise ValueError(f"unknown initial values {kind!r}")
