"""Norms, rotary embeddings, quantisation of rows: written out with torch primitives."""
import torch


def wide(x):
    """The type that floating-point work is done in."""
    return x.to(wide_type(x.dtype))


def wide_type(dtype):
    """The type that numbers of a type are computed in."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def reciprocal_rms(x, epsilon):
    return 1.0 / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon)


def rms_norm(x, gamma, epsilon=1e-6):
    work = wide(x)
    r = reciprocal_rms(work, epsilon)
    return (work * r * wide(gamma)).to(x.dtype), r.to(torch.float32)


def add_rms_norm_bias(x1, x2, gamma, beta, epsilon):
    x = (wide(x1) + wide(x2)).to(x1.dtype)
    work = wide(x)
    r = reciprocal_rms(work, epsilon)
    y = work * r * wide(gamma)
    if beta is not None:
        y = y + wide(beta)
    return y.to(x.dtype), r.to(torch.float32), x


def saturated(values, dtype):
    """Rounded half to even and clipped to an integer type."""
    limits = torch.iinfo(dtype)
    return torch.round(values).clamp(limits.min, limits.max).to(dtype)


def dynamic_rows(work):
    """int8 rows and their scales; a zero row gives zeros and scale 0."""
    scale = work.abs().amax(-1, keepdim=True) / 127
    quantised = torch.where(scale == 0, torch.zeros_like(work), torch.round(work / scale))
    return quantised.clamp(-128, 127).to(torch.int8), scale.squeeze(-1).to(torch.float32)


def dynamic_quant(x):
    return dynamic_rows(wide(x))


def quantize(x, scales, zero_points, dtype, axis, div_mode):
    scaled = wide(x) * wide(scales)
    if zero_points is not None:
        scaled = scaled + wide(zero_points)
    if dtype == torch.quint4x2:
        digits = torch.round(scaled).clamp(-8, 7).to(torch.int32) & 15
        digits = digits.reshape(*digits.shape[:-1], -1, 8)
        shifts = torch.arange(0, 32, 4, dtype=torch.int32, device=x.device)
        # Digits do not overlap, so that adding them is joining them; the highest wraps into the sign.
        return (digits.to(torch.int64) << shifts).sum(-1).to(torch.int32)
    plain = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}.get(dtype, dtype)
    if plain == torch.int32:
        return torch.round(scaled.to(torch.float64)).clamp(-2 ** 31, 2 ** 31 - 1).to(torch.int64).to(torch.int32)
    return saturated(scaled, plain)


def silu(x):
    return x / (1 + torch.exp(-x))


def swiglu(x, dim=-1):
    first, second = wide(x).chunk(2, dim)
    return (silu(first) * second).to(x.dtype)


def turned_half(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def even_odd(x):
    return torch.cat((x[..., 0::2], x[..., 1::2]), -1)


def interleave_rope(x, cos, sin):
    z = even_odd(wide(x))
    return (z * wide(cos) + turned_half(z) * wide(sin)).to(x.dtype)


def kv_rmsnorm_rope_cache(kv, gamma, cos, sin, index, k_cache, ckv_cache, epsilon=1e-5, **_):
    size = gamma.shape[0]
    c_kv, _ = rms_norm(kv[..., :size], gamma, epsilon)
    k_rope = interleave_rope(kv[..., size:], cos, sin)
    for cache, rows in ((k_cache, k_rope), (ckv_cache, c_kv)):
        block = cache.shape[1]
        flat = rows.reshape(-1, *cache.shape[2:]).to(cache.dtype)
        cache[index // block, index % block] = flat
    return k_cache, ckv_cache, k_rope, c_kv


def qkv_rmsnorm_rope(input, cos_sin_cache, positions, q_weight, k_weight, q_hidden_size, kv_hidden_size, head_dim, eps):
    q, k, v = input.split((q_hidden_size, kv_hidden_size, kv_hidden_size), -1)
    rope = cos_sin_cache.shape[-1]
    cos, sin = wide(cos_sin_cache)[positions].chunk(2, -1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)

    def heads(x, weight):
        work = wide(x).reshape(x.shape[0], -1, head_dim)
        work = work * reciprocal_rms(work, eps) * wide(weight)
        a, b, rest = work[..., : rope // 2], work[..., rope // 2: rope], work[..., rope:]
        return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), -1).reshape(x.shape).to(x.dtype)

    return heads(q, q_weight), heads(k, k_weight), v.clone()
