"""Integer and grouped matrix products, and the fused expert layer."""
import torch

from .norms import dynamic_rows, saturated, silu, wide, wide_type


def integer_product(a, b):
    """The exact product of two int8 matrices, in int32."""
    if a.is_cuda and a.dim() == 2 and a.shape[0] > 16 and a.shape[1] % 8 == 0 and b.shape[1] % 8 == 0:
        int_mm = getattr(torch, "_int_mm", None)
        if int_mm is not None:
            return int_mm(a, b)
    # float32 holds sums of K products of two int8 exactly up to K = 2^24 / 127^2, float64 beyond.
    kind = torch.float32 if a.shape[-1] <= (1 << 24) // (127 * 127) else torch.float64
    return torch.matmul(a.to(kind), b.to(kind)).to(torch.int32)


def product(a, b):
    """The product of rows with one weight: exact for int8, else in the wide type."""
    if a.dtype == torch.int8 and b.dtype == torch.int8:
        return integer_product(a, b)
    return torch.matmul(wide(a), wide(b))


def real_scale(scale):
    """A scale as numbers; int64 carries float32 in its low half."""
    if scale.dtype == torch.int64:
        low = scale & 0xFFFFFFFF
        return torch.where(low >= 1 << 31, low - (1 << 32), low).to(torch.int32).view(torch.float32)
    return wide(scale)


def quant_matmul(x1, x2, scale, output_dtype, bias=None, offset=None, pertoken_scale=None):
    total = integer_product(x1, x2)
    if bias is not None:
        total = total + bias
    if output_dtype == torch.int32:
        return total
    y = total.to(torch.float32) * real_scale(scale)
    if offset is not None:
        y = y + wide(offset)
    if pertoken_scale is not None:
        y = y * wide(pertoken_scale).unsqueeze(-1)
    return saturated(y, torch.int8) if output_dtype == torch.int8 else y.to(output_dtype)


def spread(total, parts):
    """Sizes of `parts` groups over `total` rows: the first get one more."""
    return [total // parts + (part < total % parts) for part in range(parts)]


def group_bounds(group_list, tokens, experts):
    if group_list is None:
        ends = torch.tensor(spread(tokens, experts)).cumsum(0).tolist()
    else:
        ends = group_list.tolist()
    return list(zip([0] + ends[:-1], ends))


def grouped_matmul(x, weight, group_list=None, scale=None, per_token_scale=None, output_dtype=None, **_):
    x, weights = x[0], weight[0] if weight[0].dim() == 3 else weight[0].unsqueeze(0)
    kind = output_dtype or x.dtype
    # An integer sum is a result in itself: float32 would cut off its last digits.
    work = wide_type(x.dtype) if kind.is_floating_point else torch.float64
    out = torch.zeros(x.shape[0], weights.shape[-1], dtype=work, device=x.device)
    for expert, (begin, end) in enumerate(group_bounds(group_list, x.shape[0], weights.shape[0])):
        rows = product(x[begin:end], weights[expert]).to(work)
        if scale is not None:
            of_expert = real_scale(scale[0])
            rows = rows * (of_expert[expert] if of_expert.dim() > 1 else of_expert)
        out[begin:end] = rows
    if per_token_scale is not None:
        out = out * wide(per_token_scale[0]).unsqueeze(-1)
    return [out.to(kind) if kind.is_floating_point else saturated(out, kind)]


def grouped_matmul_swiglu_quant(x, weight, group_list, weight_scale, x_scale):
    parts = []
    out = torch.zeros(x.shape[0], weight.shape[-1], dtype=torch.float32, device=x.device)
    for expert, (begin, end) in enumerate(group_bounds(group_list, x.shape[0], weight.shape[0])):
        out[begin:end] = product(x[begin:end], weight[expert]).to(torch.float32) * wide(weight_scale[expert])
    out = out * wide(x_scale).unsqueeze(-1)
    first, second = out.chunk(2, -1)
    parts.extend(dynamic_rows(silu(first) * second))
    return tuple(parts)


def transpose_batchmatmul(a, b, **_):
    return torch.matmul(wide(a), wide(b)).transpose(0, 1).contiguous().to(a.dtype)


def stacked(tensors, experts):
    """One tensor per expert, whether they come as a list or in one tensor."""
    if len(tensors) == experts:
        return tensors
    whole = tensors[0]
    return list(whole if whole.shape[0] == experts else whole.reshape(experts, -1))


def dispatch_ffn_combine(x, weight1, weight2, expert_idx, scale1, scale2, probs, group, max_output_size, out,
                         expert_token_nums):
    experts = expert_token_nums.numel()
    first, second = stacked(weight1, experts), stacked(weight2, experts)
    scales1, scales2 = stacked(scale1, experts), stacked(scale2, experts)
    chosen = expert_idx.to(torch.int64)
    counts = torch.bincount(chosen.reshape(-1), minlength=experts)[:experts]
    total = torch.zeros(x.shape, dtype=wide_type(x.dtype), device=x.device)
    room = max_output_size
    for expert in range(experts):
        tokens, choices = torch.nonzero(chosen == expert, as_tuple=True)
        tokens, choices = tokens[:room], choices[:room]
        room -= len(tokens)
        if len(tokens) == 0:
            continue
        rows = expert_layer(x[tokens], first[expert], second[expert], scales1[expert], scales2[expert])
        total.index_add_(0, tokens, rows * wide(probs)[tokens, choices].unsqueeze(-1))
    out.copy_(total.to(out.dtype))
    expert_token_nums.copy_(counts.reshape(expert_token_nums.shape).to(expert_token_nums.dtype))
    return out, expert_token_nums


def expert_layer(x, weight1, weight2, scale1, scale2):
    def layer(rows, weight, scale):
        if weight.dtype != torch.int8:
            return torch.matmul(rows, wide(weight))
        quantised, of_row = dynamic_rows(rows)
        return integer_product(quantised, weight).to(torch.float32) * real_scale(scale) * of_row.unsqueeze(-1)

    gate, up = layer(wide(x), weight1, scale1).chunk(2, -1)
    return layer(silu(gate) * up, weight2, scale2)
