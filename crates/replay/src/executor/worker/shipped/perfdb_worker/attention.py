"""Attention in its fused forms, sequence by sequence."""
import math

import torch

from .norms import wide, wide_type


def starts(ends):
    return [0] + list(ends[:-1])


def paged_rows(cache, table, length, heads_first):
    """The first `length` rows of a sequence whose blocks `table` names: (length, heads, size)."""
    size = cache.shape[2] if heads_first else cache.shape[1]
    blocks = cache[table[: math.ceil(length / size)].to(torch.int64)]
    if heads_first:
        blocks = blocks.transpose(1, 2)
    return blocks.reshape(-1, *blocks.shape[2:])[:length]


def scores_of(q, k, q_rope, k_rope, scale):
    """(heads, queries, keys) from (queries, heads, size) and (keys, heads, size); key heads are repeated."""
    repeat = q.shape[1] // k.shape[1]
    score = torch.einsum("qhd,khd->hqk", wide(q), wide(k).repeat_interleave(repeat, 1))
    if q_rope is not None:
        score = score + torch.einsum("qhd,khd->hqk", wide(q_rope), wide(k_rope).repeat_interleave(repeat, 1))
    return score * scale


def attend(score, hidden, v):
    """Softmax of the scores times the values, and the logarithm of the sum; rows without a key give zeros."""
    score = score.masked_fill(hidden, -math.inf)
    lse = torch.logsumexp(score, -1)
    weights = torch.exp(score - torch.where(torch.isinf(lse), torch.zeros_like(lse), lse).unsqueeze(-1))
    out = torch.einsum("hqk,khd->qhd", weights, wide(v).repeat_interleave(score.shape[0] // v.shape[1], 1))
    return out, lse


def later_keys(queries, keys, device):
    """True where a key comes after the query, both counted from the end."""
    query = torch.arange(queries, device=device).unsqueeze(1)
    return torch.arange(keys, device=device).unsqueeze(0) > query + keys - queries


def fused_infer_attention_score(query, key, value, atten_mask=None, actual_seq_lengths=None,
                                actual_seq_lengths_kv=None, block_table=None, query_rope=None, key_rope=None,
                                num_heads=1, scale=1.0, input_layout="TND", num_key_value_heads=0, sparse_mode=0,
                                block_size=0, softmax_lse_flag=False):
    token_major = input_layout == "TND"
    kv_heads = num_key_value_heads or num_heads
    out = torch.zeros(query.shape if token_major else (query.shape[1], query.shape[0], *query.shape[2:]),
                      dtype=wide_type(query.dtype), device=query.device)
    lse = torch.zeros(*query.shape[:-1], 1, dtype=torch.float32, device=query.device)
    if token_major:
        q_ends = actual_seq_lengths or [query.shape[0]]
        bounds = list(zip(starts(q_ends), q_ends))
    else:
        bounds = [(0, query.shape[2])] * query.shape[0]

    def keys_of(cache, sequence):
        if cache is None:
            return None
        if block_table is not None:
            heads_first = cache.dim() == 4
            rows = paged_rows(cache, block_table[sequence], actual_seq_lengths_kv[sequence], heads_first)
            return rows if heads_first else rows.reshape(rows.shape[0], kv_heads, -1)
        if token_major:
            ends = actual_seq_lengths_kv or [cache.shape[0]]
            return cache[starts(ends)[sequence]: ends[sequence]]
        length = actual_seq_lengths_kv[sequence] if actual_seq_lengths_kv else cache.shape[2]
        # The call says how many key heads there are, whatever the tensor has.
        return cache[sequence].transpose(0, 1)[:length, :kv_heads]

    def queries_of(tensor, sequence, begin, end):
        if tensor is None:
            return None
        return tensor[begin:end] if token_major else tensor[sequence].transpose(0, 1)

    for sequence, (begin, end) in enumerate(bounds):
        q, k, v = queries_of(query, sequence, begin, end), keys_of(key, sequence), keys_of(value, sequence)
        score = scores_of(q, k, queries_of(query_rope, sequence, begin, end), keys_of(key_rope, sequence), scale)
        hidden = torch.zeros(q.shape[0], k.shape[0], dtype=torch.bool, device=query.device)
        if sparse_mode == 3:
            hidden = later_keys(q.shape[0], k.shape[0], query.device)
        elif atten_mask is not None:
            mask = atten_mask.reshape(-1, *atten_mask.shape[-2:])
            mask = mask[sequence if mask.shape[0] > 1 else 0]
            hidden = mask[: q.shape[0], : k.shape[0]] != 0
        attended, sums = attend(score, hidden, v)
        if token_major:
            out[begin:end], lse[begin:end, :, 0] = attended, sums.transpose(0, 1)
        else:
            out[:, sequence], lse[sequence, :, :, 0] = attended.transpose(0, 1), sums
    return out.to(query.dtype), lse


def lightning_indexer(query, key, weights, actual_seq_lengths_query, actual_seq_lengths_key, block_table,
                      sparse_count=2048, **_):
    chosen = torch.full((query.shape[0], 1, sparse_count), -1, dtype=torch.int32, device=query.device)
    q_ends = actual_seq_lengths_query.tolist()
    for sequence, (begin, end) in enumerate(zip(starts(q_ends), q_ends)):
        width = block_table.shape[1] * key.shape[1]
        length = min(int(actual_seq_lengths_key[sequence]), width)
        k = paged_rows(key, block_table[sequence], length, False)[:, 0]
        score = torch.einsum("qhd,kd->qhk", wide(query[begin:end]), wide(k)).clamp(min=0)
        score = (score * wide(weights[begin:end]).unsqueeze(-1)).sum(1)
        for row in range(end - begin):
            visible = max(0, min(length, length - (end - begin) + row + 1))
            order = torch.sort(score[row, :visible], descending=True, stable=True).indices[:sparse_count]
            chosen[begin + row, 0, : len(order)] = order.to(torch.int32)
    return chosen, None


def sparse_flash_attention(query, key, value, sparse_indices, block_table, actual_seq_lengths_query,
                           actual_seq_lengths_kv, query_rope, key_rope, scale_value, **_):
    out = torch.zeros(query.shape, dtype=wide_type(query.dtype), device=query.device)
    q_ends = actual_seq_lengths_query.tolist()
    for sequence, (begin, end) in enumerate(zip(starts(q_ends), q_ends)):
        length = int(actual_seq_lengths_kv[sequence])
        k, v, k_rope = (paged_rows(cache, block_table[sequence], length, False) for cache in (key, value, key_rope))
        for row in range(end - begin):
            positions = sparse_indices[begin + row, 0].tolist()
            positions = positions[: positions.index(-1)] if -1 in positions else positions
            visible = length - (end - begin) + row + 1
            positions = torch.tensor([at for at in positions if at < visible], dtype=torch.int64, device=query.device)
            if len(positions) == 0:
                continue
            token = begin + row
            score = scores_of(query[token: token + 1], k[positions], query_rope[token: token + 1], k_rope[positions],
                              scale_value)
            attended, _ = attend(score, torch.zeros(1, 1, dtype=torch.bool, device=query.device), v[positions])
            out[token] = attended[0]
    return out.to(query.dtype)


def ring_mla(q_nope, q_rope, k_nope, k_rope, value, pre_out, prev_lse, qk_scale, calc_type, output, softmax_lse, **_):
    score = scores_of(q_nope, k_nope, q_rope, k_rope, qk_scale)
    queries, keys = q_nope.shape[0], k_nope.shape[0]
    first = calc_type == "calc_type_first_ring"
    hidden = torch.zeros(queries, keys, dtype=torch.bool, device=q_nope.device)
    if first:
        hidden = torch.arange(keys, device=q_nope.device).unsqueeze(0) > torch.arange(queries, device=q_nope.device).unsqueeze(1)
    current, lse = attend(score, hidden, value)
    if not first:
        before, now = torch.exp(wide(prev_lse)), torch.exp(lse)
        both = before + now
        shares = (before / both).transpose(0, 1).unsqueeze(-1), (now / both).transpose(0, 1).unsqueeze(-1)
        current, lse = shares[0] * wide(pre_out) + shares[1] * current, torch.log(both)
    output.copy_(current.to(output.dtype))
    softmax_lse.copy_(lse.reshape(softmax_lse.shape).to(softmax_lse.dtype))
    return output, softmax_lse
