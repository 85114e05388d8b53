//! Places of calls that are given as named columns.

use crate::predict::point::{Point, configuration};
use crate::roofline::{Attention, Collective, Experts, LatentAttention, MatMul, Operands, Work};
use smallvec::smallvec;

/// Columns that places of a kind of kernels have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnSet {
    /// `m`, `n`, `k`.
    MatMul,
    /// `batch`, `query_tokens`, `heads`, `kv_heads`.
    PrefillAttention,
    /// `batch`, `past_tokens`, `heads`, `kv_heads`.
    DecodeAttention,
    /// `batch`, `query_tokens` or `past_tokens` by `phase`, `heads`.
    LatentAttention,
    /// `tokens`, `hidden`, `intermediate`, `topk`, `experts`, `tp`, `ep`.
    Experts,
    /// `message_bytes` or `message_elements`, `ranks`; an all-gather or a reduce-scatter by `collective`.
    Collective,
    /// `m`, `k`.
    Elementwise,
    /// `tokens`, `tp`.
    Layers,
    /// `prefill_chunk`, `kv_prefill`, `n_decode`, `kv_decode`; or `batch`, `query_tokens`, `past_tokens`.
    MixedAttention,
}

/// A row of named columns.
pub trait Columns {
    /// The number in a column.
    fn number(&self, column: &str) -> Option<f64>;
    /// The text in a column.
    fn text(&self, column: &str) -> Option<&str>;
}

impl ColumnSet {
    /// The columns of a kind, by its name in tables of measured times.
    pub fn named(name: &str) -> Option<ColumnSet> {
        Some(match name {
            "gemm" => ColumnSet::MatMul,
            "prefill_attention" => ColumnSet::PrefillAttention,
            "decode_attention" => ColumnSet::DecodeAttention,
            "mla" => ColumnSet::LatentAttention,
            "moe" => ColumnSet::Experts,
            "collective" => ColumnSet::Collective,
            "elementwise" => ColumnSet::Elementwise,
            "layers" => ColumnSet::Layers,
            "mixed_attention" => ColumnSet::MixedAttention,
            _ => return None,
        })
    }

    /// The point of a row; `None` if it lacks a column.
    pub fn point(self, row: &impl Columns) -> Option<Point> {
        let number = |column: &str| row.number(column);
        let or = |column: &str, default: f64| row.number(column).unwrap_or(default);
        let operands = Operands::of_scheme(row.text("dtype").unwrap_or("bfloat16"));
        Some(match self {
            ColumnSet::MatMul => {
                let product = MatMul { rows: number("m")?, columns: number("n")?, inner: number("k")? };
                Point::matmul(product, operands)
            }
            ColumnSet::PrefillAttention => Point::prefill(attention(row, "query_tokens")?),
            ColumnSet::DecodeAttention => Point::decode(attention(row, "past_tokens")?, cache_bytes(row)),
            ColumnSet::LatentAttention => {
                let is_prefill = row.text("phase") == Some("context");
                let tokens = or(if is_prefill { "query_tokens" } else { "past_tokens" }, 1.0);
                let call = LatentAttention { batch: or("batch", 1.0), tokens, heads: number("heads")? };
                if is_prefill { Point::latent_prefill(call) } else { Point::latent_decode(call) }
            }
            ColumnSet::Experts => {
                let call = Experts {
                    tokens: number("tokens")?,
                    hidden: or("hidden", 1.0),
                    intermediate: or("intermediate", 1.0),
                    top_k: or("topk", 1.0),
                    experts: or("experts", 1.0),
                    tensor_parallel: or("tp", 1.0),
                    expert_parallel: or("ep", 1.0),
                };
                Point::experts(call, operands.weight_bytes)
            }
            ColumnSet::Collective => {
                let element_bytes = if row.text("dtype") == Some("int8") { 1.0 } else { 2.0 };
                let elements = || number("message_elements").map(|elements| elements * element_bytes);
                let message_bytes = number("message_bytes").or_else(elements)?;
                let call = Collective { message_bytes, ranks: or("ranks", 2.0) };
                match row.text("collective") {
                    Some("all_gather" | "reduce_scatter") => Point::gather(call),
                    _ => Point::collective(call),
                }
            }
            ColumnSet::Elementwise => Point::elementwise(number("m")?, number("k")?, 3.0),
            ColumnSet::Layers => Point::layer(number("tokens")?, or("tp", 1.0)),
            ColumnSet::MixedAttention => mixed(row)?,
        })
    }

    /// The number of the axis along which calls grow, among those of a point.
    pub fn size(self) -> usize {
        match self {
            ColumnSet::PrefillAttention | ColumnSet::DecodeAttention | ColumnSet::LatentAttention => 1,
            ColumnSet::MixedAttention => 3,
            _ => 0,
        }
    }
}

fn attention(row: &impl Columns, tokens: &str) -> Option<Attention> {
    let number = |column: &str| row.number(column);
    Some(Attention {
        batch: number("batch").unwrap_or(1.0),
        tokens: number(tokens)?,
        heads: number("heads")?,
        kv_heads: number("kv_heads").or(number("heads"))?,
        head_size: number("head_dim").unwrap_or(128.0),
        window: number("window_size").unwrap_or(0.0),
    })
}

fn cache_bytes(row: &impl Columns) -> f64 {
    if row.text("kv_dtype") == Some("fp8") { 1.0 } else { 2.0 }
}

/// Prompts and cached requests in one call: pairs of tokens, and tokens read.
fn mixed(row: &impl Columns) -> Option<Point> {
    let number = |column: &str| row.number(column);
    let Some(chunk) = number("prefill_chunk") else {
        let (batch, query, past) = (number("batch").unwrap_or(1.0), number("query_tokens")?, number("past_tokens")?);
        let work = Work {
            operations: batch * query.max(1.0) * (past + query / 2.0 + 1.0),
            bytes: batch * (past + query + 1.0),
        };
        let configuration = configuration(&[batch]);
        return Some(Point { axes: smallvec![batch, query, past], work, configuration, ..Point::default() });
    };
    let (past, requests, cached) = (number("kv_prefill")?, number("n_decode")?, number("kv_decode")?);
    let work = Work {
        operations: chunk * (past + chunk / 2.0 + 0.5) + chunk,
        bytes: requests * (cached + 1.0) + past + chunk,
    };
    let configuration = configuration(&[chunk, past, requests]);
    Some(Point { axes: smallvec![chunk, past, requests, cached], work, configuration, ..Point::default() })
}
