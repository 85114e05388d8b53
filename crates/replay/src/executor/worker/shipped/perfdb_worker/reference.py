"""The calls that plain torch does not have, written out with torch primitives: by the name that a case gives."""
import torch

from . import attention, norms, products


def moe_token_permute(tokens, indices):
    flat = indices.reshape(-1)
    order = torch.sort(flat, stable=True).indices
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(len(order), device=order.device)
    return tokens[order // (flat.numel() // tokens.shape[0])], inverse.to(torch.int32)


def moe_token_unpermute(permuted_tokens, sorted_indices, probs=None):
    rows = permuted_tokens[sorted_indices.to(torch.int64)]
    if probs is None:
        return rows
    weighted = norms.wide(rows).reshape(*probs.shape, -1) * norms.wide(probs).unsqueeze(-1)
    return weighted.sum(1).to(permuted_tokens.dtype)


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping):
    used = slot_mapping >= 0
    slots = slot_mapping[used].to(torch.int64)
    for cache, rows in ((key_cache, key), (value_cache, value)):
        cache[slots // cache.shape[1], slots % cache.shape[1]] = rows[used].to(cache.dtype)


def scatter_nd_update(data, indices, updates):
    out = data.clone()
    out[indices[:, 0].to(torch.int64)] = updates
    return out


def rows_of(source, index):
    # Before 2.0 torch takes no int32 indices.
    return source[index.to(torch.int64) if index.dtype == torch.int32 else index]


def corner(x, begin, size):
    return x[tuple(slice(first, first + length) for first, length in zip(begin, size))].contiguous()


REFERENCE = {
    "torch_npu.npu_rms_norm": norms.rms_norm,
    "torch.ops._C_ascend.npu_add_rms_norm_bias": norms.add_rms_norm_bias,
    "torch_npu.npu_quantize": norms.quantize,
    "torch_npu.npu_dynamic_quant": norms.dynamic_quant,
    "torch_npu.npu_swiglu": norms.swiglu,
    "torch_npu.npu_interleave_rope": norms.interleave_rope,
    "torch_npu.npu_kv_rmsnorm_rope_cache": norms.kv_rmsnorm_rope_cache,
    "torch.ops.vllm.qkv_rmsnorm_rope": norms.qkv_rmsnorm_rope,
    "torch_npu.npu_quant_matmul": products.quant_matmul,
    "torch_npu.npu_grouped_matmul": products.grouped_matmul,
    "torch_npu.npu_grouped_matmul_swiglu_quant": products.grouped_matmul_swiglu_quant,
    "torch_npu.npu_transpose_batchmatmul": products.transpose_batchmatmul,
    "torch.ops._C_ascend.dispatch_ffn_combine": products.dispatch_ffn_combine,
    "torch_npu.npu_fused_infer_attention_score": attention.fused_infer_attention_score,
    "torch_npu.npu_lightning_indexer": attention.lightning_indexer,
    "torch.ops._C_ascend.npu_sparse_flash_attention": attention.sparse_flash_attention,
    "torch_npu.atb.npu_ring_mla": attention.ring_mla,
    "torch_npu.npu_moe_token_permute": moe_token_permute,
    "torch_npu.npu_moe_token_unpermute": moe_token_unpermute,
    "torch_npu._npu_reshape_and_cache": reshape_and_cache,
    "torch_npu.npu_scatter_nd_update": scatter_nd_update,
    "torch_npu.npu_slice": corner,
    "torch.Tensor.__getitem__": rows_of,
}
