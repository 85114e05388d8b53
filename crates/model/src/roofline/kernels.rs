//! Operations and bytes of each kernel.
//!
//! A multiplication and an addition count as two operations. Bytes are what must cross the memory of the device at least once:
//! operands in, result out, nothing read twice. `s` are bytes of an element: `sa` of activations, `sw` of weights, `so` of results.
//!
//! | kernel | operations F | bytes B |
//! | --- | --- | --- |
//! | product of (m, k) and (k, n) | 2·m·n·k | m·k·sa + n·k·sw + m·n·so |
//! | the same in g groups, m rows in all | 2·m·n·k | m·k·sa + g·n·k·sw + m·n·so |
//! | attention, prefill, b prompts of L tokens | 4·b·h·d·P | 2·b·L·(2h + 2kv)·d |
//! | attention, decode, L tokens in the cache | 4·b·h·d·min(L, w) | b·min(L, w)·kv·2d·s + 4·b·h·d |
//! | latent attention, prefill | 2·b·h·320·P | 2·b·L·h·640 |
//! | latent attention, decode | 2·b·h·1088·L | 2·b·(576·L + 1088·h) |
//! | experts, r = tokens·topk/ep rows | 6·r·H·I/tp | E/ep·(1 − (1 − topk/E)^tokens)·3·H·I/tp·sw + 2·r·(2H + 3I/tp) |
//! | collective of n ranks | 0 (where times are fitted: n steps) | message·(n − 1)/n |
//! | elementwise, norm, rotary embedding, cache | 0 | elements·(bytes read + bytes written) |
//!
//! P, the pairs of a query and a key that a causal mask lets through, is L·(L + 1)/2; with a window of w tokens each row beyond the
//! first w has w of them. 320 = 192 + 128 are the widths of a key and of a value per head of latent attention, 1088 = 576 + 512 those
//! of the compressed key and value, of which all heads share one. The share of experts that get a token at all,
//! 1 − (1 − topk/E)^tokens, is that of tokens routed evenly. Work per matrix follows Williams, Waterman and Patterson, *Roofline*, CACM 2009.

use crate::roofline::precision::Operands;

/// What a kernel must do.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// Floating or integer operations.
    pub operations: f64,
    /// Bytes to and from memory, or over the link.
    pub bytes: f64,
}

impl Work {
    /// Operations per byte.
    pub fn intensity(self) -> f64 {
        self.operations / self.bytes
    }
}

impl std::ops::Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work { operations: self.operations + other.operations, bytes: self.bytes + other.bytes }
    }
}

/// A product of matrices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatMul {
    /// m: rows of the left matrix, mostly tokens.
    pub rows: f64,
    /// n: columns of the right one.
    pub columns: f64,
    /// k: what is summed over.
    pub inner: f64,
}

impl MatMul {
    pub fn work(self, operands: Operands) -> Work {
        self.work_in_groups(1.0, operands)
    }

    /// Its work where the rows are dealt out to `groups` weights of (k, n).
    pub(crate) fn work_in_groups(self, groups: f64, operands: Operands) -> Work {
        let MatMul { rows: m, columns: n, inner: k } = self;
        Work {
            operations: 2.0 * m * n * k,
            bytes: m * k * operands.activation_bytes
                + groups * n * k * operands.weight_bytes
                + m * n * operands.output_bytes,
        }
    }
}

/// Pairs of a query and a key under a causal mask, at most `window` keys each (0: no window).
fn causal_pairs(tokens: f64, window: f64) -> f64 {
    if window > 0.0 && tokens > window {
        window * (window + 1.0) / 2.0 + (tokens - window) * window
    } else {
        tokens * (tokens + 1.0) / 2.0
    }
}

/// Attention with keys and values per head, or per group of heads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attention {
    /// Requests.
    pub batch: f64,
    /// Tokens of a prompt (prefill) or in the cache (decode).
    pub tokens: f64,
    /// Heads of the query.
    pub heads: f64,
    /// Heads of key and value.
    pub kv_heads: f64,
    /// The width of a head.
    pub head_size: f64,
    /// Tokens that a query sees at most; 0 for all.
    pub window: f64,
}

impl Attention {
    /// The work of a prompt; 16-bit operands.
    pub fn prefill(self) -> Work {
        let Attention { batch, tokens, heads, kv_heads, head_size, window } = self;
        Work {
            operations: 4.0 * batch * heads * head_size * causal_pairs(tokens, window),
            bytes: 2.0 * batch * tokens * (2.0 * heads + 2.0 * kv_heads) * head_size,
        }
    }

    /// The work of `queries` new tokens per request that see each other under a causal mask and all that is in the cache before
    /// them; `tokens` counts both. Elements of `bytes`. The same as a prompt where the new tokens are all there are.
    pub fn with_cache(self, queries: f64, bytes: f64) -> Work {
        let Attention { batch, tokens, heads, kv_heads, head_size, .. } = self;
        let queries = queries.min(tokens.max(1.0));
        let pairs = queries * tokens.max(queries) - queries * (queries - 1.0) / 2.0;
        Work {
            operations: 4.0 * batch * heads * head_size * pairs,
            bytes: bytes * batch * head_size * (2.0 * tokens * kv_heads + 2.0 * queries * heads),
        }
    }

    /// The work of one more token per request; the cache has elements of `cache_bytes`.
    pub fn decode(self, cache_bytes: f64) -> Work {
        let Attention { batch, tokens, heads, kv_heads, head_size, window } = self;
        let seen = if window > 0.0 { tokens.min(window) } else { tokens };
        Work {
            operations: 4.0 * batch * heads * head_size * seen,
            bytes: batch * seen * kv_heads * 2.0 * head_size * cache_bytes + 4.0 * batch * heads * head_size,
        }
    }
}

/// Attention with one compressed key and value for all heads (MLA).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatentAttention {
    /// Requests.
    pub batch: f64,
    /// Tokens of a prompt (prefill) or in the cache (decode).
    pub tokens: f64,
    /// Heads of the query.
    pub heads: f64,
}

impl LatentAttention {
    /// The work of a prompt.
    pub fn prefill(self) -> Work {
        let LatentAttention { batch, tokens, heads } = self;
        Work {
            operations: 2.0 * batch * heads * 320.0 * causal_pairs(tokens, 0.0),
            bytes: 2.0 * batch * tokens * heads * 640.0,
        }
    }

    /// The work of one more token per request.
    pub fn decode(self) -> Work {
        let LatentAttention { batch, tokens, heads } = self;
        Work {
            operations: 2.0 * batch * heads * 1088.0 * tokens,
            bytes: 2.0 * batch * (576.0 * tokens + 1088.0 * heads),
        }
    }
}

/// The experts of a layer: up, gate and down projection of the tokens that were routed to this rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Experts {
    /// Tokens before routing.
    pub tokens: f64,
    /// H: the width of a token.
    pub hidden: f64,
    /// I: the width between up and down projection.
    pub intermediate: f64,
    /// Experts per token.
    pub top_k: f64,
    /// E: experts in all.
    pub experts: f64,
    /// Ranks that share each expert.
    pub tensor_parallel: f64,
    /// Ranks over which the experts are spread.
    pub expert_parallel: f64,
}

impl Experts {
    /// The work of one rank.
    pub fn work(self, weight_bytes: f64) -> Work {
        let Experts { tokens, hidden, intermediate, top_k, experts, tensor_parallel, expert_parallel } = self;
        let width = intermediate / tensor_parallel;
        let rows = tokens * top_k / expert_parallel;
        let local = (experts / expert_parallel).max(1.0);
        let active = local * (1.0 - (1.0 - (top_k / experts).min(1.0)).powf(tokens));
        Work {
            operations: 6.0 * rows * hidden * width,
            bytes: active * 3.0 * hidden * width * weight_bytes + 2.0 * rows * (2.0 * hidden + 3.0 * width),
        }
    }
}

/// A collective: the bytes that leave a rank in a ring.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Collective {
    /// The message of a rank.
    pub message_bytes: f64,
    /// How many take part.
    pub ranks: f64,
}

impl Collective {
    /// Its work; bytes over the link.
    pub fn work(self) -> Work {
        Work { operations: 0.0, bytes: self.message_bytes * (self.ranks - 1.0).max(0.0) / self.ranks }
    }
}

/// The work of a kernel that reads and writes each element: this many bytes of it.
pub fn elementwise(elements: f64, bytes_per_element: f64) -> Work {
    Work { operations: 0.0, bytes: elements * bytes_per_element }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roofline::Precision;

    #[test]
    fn products_count_each_operand_once() {
        let work = MatMul { rows: 3.0, columns: 5.0, inner: 7.0 }.work(Operands::of(Precision::Bf16));
        assert_eq!((work.operations, work.bytes), (210.0, 2.0 * (21.0 + 35.0 + 15.0)));
        let four_bits = MatMul { rows: 3.0, columns: 5.0, inner: 7.0 }.work(Operands::of_scheme("int4_wo"));
        assert_eq!(four_bits.bytes, 42.0 + 17.5 + 30.0);
    }

    #[test]
    fn a_window_as_long_as_the_prompt_is_none() {
        let whole = Attention { batch: 2.0, tokens: 10.0, heads: 8.0, kv_heads: 2.0, head_size: 64.0, window: 0.0 };
        assert_eq!(whole.prefill(), Attention { window: 10.0, ..whole }.prefill());
        // Rows 1 and 2 see 1 and 2 keys, the other eight 2 each.
        assert_eq!(Attention { window: 2.0, ..whole }.prefill().operations, 4.0 * 2.0 * 8.0 * 64.0 * (3.0 + 16.0));
        assert_eq!(Attention { window: 4.0, ..whole }.decode(2.0), Attention { tokens: 4.0, ..whole }.decode(2.0));
    }

    #[test]
    fn a_prompt_is_new_tokens_before_an_empty_cache() {
        let call = Attention { batch: 2.0, tokens: 10.0, heads: 8.0, kv_heads: 2.0, head_size: 64.0, window: 0.0 };
        assert_eq!(call.with_cache(10.0, 2.0), call.prefill());
        assert_eq!(call.with_cache(1.0, 2.0), call.decode(2.0));
    }

    #[test]
    fn one_token_wakes_its_experts_alone() {
        let one = Experts {
            tokens: 1.0,
            hidden: 16.0,
            intermediate: 8.0,
            top_k: 2.0,
            experts: 8.0,
            tensor_parallel: 1.0,
            expert_parallel: 1.0,
        };
        assert_eq!(one.work(1.0).bytes, 2.0 * 3.0 * 16.0 * 8.0 + 2.0 * 2.0 * (32.0 + 24.0));
        let many = Experts { tokens: 1e6, ..one };
        assert!((many.work(1.0).bytes - 2.0 * 2e6 * 56.0 - 8.0 * 384.0).abs() < 1e-3);
    }

    #[test]
    fn latent_attention_shares_one_key() {
        let call = LatentAttention { batch: 1.0, tokens: 100.0, heads: 4.0 };
        assert_eq!(call.decode().bytes, 2.0 * (57_600.0 + 4352.0));
        assert_eq!(call.prefill().operations, 2.0 * 4.0 * 320.0 * 5050.0);
    }

    #[test]
    fn a_single_rank_sends_nothing() {
        assert_eq!(Collective { message_bytes: 1024.0, ranks: 1.0 }.work().bytes, 0.0);
        assert_eq!(Collective { message_bytes: 1024.0, ranks: 4.0 }.work().bytes, 768.0);
    }
}
