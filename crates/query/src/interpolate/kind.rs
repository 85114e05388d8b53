//! Points as places: what their axes mean, and what a call of them does.

use super::axes::{Axes, AxisSet, Coordinates, RowPoint, bits_of};
use perfdb_model::predict::{
    Attention, BY_ROUTED_ROWS, Experts, LatentAttention, MatMul, Operands, Point, Precision, Work, configuration,
};
use perfdb_model::roofline::Device;
use smallvec::{SmallVec, smallvec};

/// What the rows of a group agree in and the work of a call depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(super) operands: Operands,
    /// The types of the first two inputs.
    pub(super) types: [Precision; 2],
    pub(super) kv_heads: f64,
    pub(super) expert_parallel: f64,
    /// Of attention by shapes.
    pub(super) head_size: f64,
    /// Tokens that a query sees at most; 0 for all.
    pub(super) window: f64,
}

impl Default for Setting {
    fn default() -> Self {
        Setting {
            operands: Operands::of(Precision::Bf16),
            types: [Precision::Bf16; 2],
            kv_heads: 1.0,
            expert_parallel: 1.0,
            head_size: 0.0,
            window: 0.0,
        }
    }
}

impl Setting {
    /// With the sizes that attention by shapes has.
    pub(super) fn of_heads(self, head_size: i64, kv_heads: i64, window: f64) -> Setting {
        let kv_heads = if kv_heads > 0 { kv_heads as f64 } else { self.kv_heads };
        Setting { head_size: head_size as f64, kv_heads, window, ..self }
    }
}

/// Tokens per request up to which attention decodes: one new token, or a few that are guessed and checked.
const MOST_DECODED: f64 = 8.0;
/// The bit of attention that decodes, which is another kernel than that of prompts.
const DECODES: u8 = 0b10_0000;

/// Which axes a target has, as bits, and as the set of those. Attention has another pattern where it decodes.
pub(super) fn pattern(kind: Kind, target: &Coordinates) -> Option<(u8, AxisSet)> {
    let (bits, axes) = axes_of(target)?;
    let decodes = kind == Kind::Attention && target[2] <= MOST_DECODED;
    Some((if decodes { bits | DECODES } else { bits }, axes))
}

fn axes_of(target: &Coordinates) -> Option<(u8, AxisSet)> {
    let bits = bits_of((0u8..).zip(target).filter(|(_, value)| !value.is_nan()).map(|(axis, _)| axis));
    let axes: AxisSet = match bits {
        0b1 => &[0],
        0b11 => &[0, 1],
        0b111 => &[0, 1, 2],
        0b1111 => &[0, 1, 2, 3],
        0b1_1011 => &[0, 1, 3, 4],
        0b1_1111 => &[0, 1, 2, 3, 4],
        0b1_1101 => &[0, 2, 3, 4],
        0b1011 => &[0, 1, 3],
        0b1101 => &[0, 2, 3],
        _ => return None,
    };
    Some((bits, axes))
}

/// What the axes of points mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Rows, inner and columns of a product, and how many products of a batch.
    Product,
    /// Tokens, length, tokens per request, heads and head size of attention.
    Attention,
    /// Batch, query tokens, tokens before them, heads and key heads of attention by shapes; without key heads of latent attention.
    Heads,
    /// Rows and columns of what an elementwise kernel or a norm writes.
    Matrix,
    /// Tokens, hidden and intermediate size, experts of a rank and top-k.
    Experts,
    /// All sizes that vary, of a kernel that nobody described.
    Generic,
    /// Sizes without further meaning.
    Sizes,
}

impl Kind {
    pub(super) fn of(axes: &Axes) -> Kind {
        match axes.names {
            ["M", "K", "N", ..] => Kind::Product,
            ["q_tokens", "seq", _, "heads", "head_dim"] => Kind::Attention,
            ["batch", "query_tokens", ..] => Kind::Heads,
            ["rows", "columns"] => Kind::Matrix,
            ["tokens", "hidden", ..] => Kind::Experts,
            ["size_0", ..] => Kind::Generic,
            _ => Kind::Sizes,
        }
    }

    /// The number of the axis along which calls grow.
    pub(super) fn size(self, bits: u8) -> usize {
        match self {
            Kind::Attention if bits & 0b100 != 0 => 2,
            Kind::Attention | Kind::Heads => 1,
            _ => 0,
        }
    }

    /// The points that have these axes, with their places.
    pub(super) fn places(
        self,
        points: &[RowPoint],
        setting: Setting,
        bits: u8,
    ) -> impl Iterator<Item = (Point, RowPoint)> {
        let own = points.iter().filter(move |point| pattern(self, &point.at).is_some_and(|(own, _)| own == bits));
        own.map(move |point| (self.place(&point.at, setting), *point))
    }

    /// The least time that the peaks of a device allow a call, in microseconds, where what it does is known. What may lie in caches or not
    /// be read, such as experts without a token, does not count.
    pub(super) fn least_us(self, at: &Coordinates, setting: Setting, device: &Device) -> Option<f64> {
        let work = match self {
            Kind::Product => self.place(at, setting).work,
            Kind::Attention if at[4] > 0.0 => {
                // Keys and values may have fewer bytes than the query.
                let [query, key] = setting.types.map(Precision::bytes);
                let operands = Operands { activation_bytes: query.min(key), ..setting.operands };
                self.place(at, Setting { operands, ..setting }).work
            }
            Kind::Heads => heads_work(at, setting),
            Kind::Experts => Work { bytes: 0.0, ..self.place(at, setting).work },
            _ => return None,
        };
        let of_type = |precision: Precision| device.shortest_us(work, precision);
        let [a, b] = setting.types.map(of_type);
        a.into_iter().chain(b).min_by(f64::total_cmp).filter(|least_us| least_us.is_finite())
    }

    /// The axes of places.
    pub(super) fn axis_names(self, all: &Axes, axes: AxisSet) -> SmallVec<[&'static str; 5]> {
        match (self, axes.len()) {
            (Kind::Product, 4) => smallvec!["M", "N", "K", "batch"],
            (Kind::Product, _) => smallvec!["M", "N", "K"],
            (Kind::Attention, 4) => smallvec!["q_tokens", "seq", "heads", "head_dim"],
            (Kind::Attention, _) => smallvec!["batch", "tokens_per_request", "seq", "heads", "head_dim"],
            (Kind::Heads, _) => {
                let name = |axis: &u8| {
                    if *axis == 3 && axes.contains(&4) { "heads_per_kv_head" } else { all.names[usize::from(*axis)] }
                };
                axes.iter().map(name).collect()
            }
            (Kind::Sizes | Kind::Matrix | Kind::Experts | Kind::Generic, _) => {
                axes.iter().map(|axis| all.names[usize::from(*axis)]).collect()
            }
        }
    }

    pub(super) fn place(self, at: &Coordinates, setting: Setting) -> Point {
        match (self, at) {
            (Kind::Product, &[rows, inner, columns, batch, _]) => {
                let product = MatMul { rows, columns, inner };
                if batch.is_nan() {
                    Point::matmul(product, setting.operands)
                } else {
                    Point::batched_matmul(product, batch, setting.operands)
                }
            }
            (Kind::Attention, &[tokens, length, per_request, heads, head_size]) => {
                let batch = if per_request.is_nan() { 1.0 } else { tokens / per_request };
                let call =
                    Attention { batch, tokens: length, heads, kv_heads: setting.kv_heads, head_size, window: 0.0 };
                let work = call.with_cache(tokens / batch, setting.operands.activation_bytes);
                let axes = if per_request.is_nan() {
                    smallvec![tokens, length, heads, head_size]
                } else {
                    smallvec![batch, per_request, length, heads, head_size]
                };
                Point { axes, work, configuration: configuration(&[heads, head_size]), ..Point::default() }
            }
            (Kind::Heads, &[batch, queries, past, heads, kv_heads]) => {
                heads_place(batch, queries, past, heads, kv_heads, setting)
            }
            (Kind::Matrix, &[rows, columns, ..]) if !columns.is_nan() => {
                let Operands { activation_bytes, output_bytes, .. } = setting.operands;
                Point::elementwise(rows, columns, activation_bytes + output_bytes)
            }
            (Kind::Experts, &[tokens, hidden, intermediate, experts, top_k]) if !top_k.is_nan() => {
                let expert_parallel = setting.expert_parallel;
                let call = Experts {
                    tokens,
                    hidden,
                    intermediate,
                    top_k,
                    experts: experts * expert_parallel,
                    tensor_parallel: 1.0,
                    expert_parallel,
                };
                Point {
                    axes: SmallVec::from_slice(at),
                    work: call.work(setting.operands.weight_bytes),
                    configuration: configuration(&at[1..]),
                    coupling: BY_ROUTED_ROWS,
                    ..Point::default()
                }
            }
            (Kind::Generic, at) => {
                let sizes: SmallVec<[f64; 5]> = at.iter().copied().filter(|size| !size.is_nan()).collect();
                Point::generic(&sizes)
            }
            (_, at) => {
                let sizes: SmallVec<[f64; 5]> = at.iter().copied().filter(|size| !size.is_nan()).collect();
                Point::sizes(&sizes)
            }
        }
    }
}

/// What attention by shapes does at least.
fn heads_work(at: &Coordinates, setting: Setting) -> Work {
    let &[batch, queries, past, heads, kv_heads] = at;
    let has_keys = !kv_heads.is_nan() || setting.head_size != 0.0;
    if has_keys && queries.is_nan() {
        let tokens = if past.is_nan() { 1.0 } else { past + 1.0 };
        return heads_call([batch, tokens, heads, kv_heads], setting).decode(setting.types[1].bytes());
    }
    heads_place(batch, queries, past, heads, kv_heads, setting).work
}

fn heads_call([batch, tokens, heads, kv_heads]: [f64; 4], setting: Setting) -> Attention {
    let Setting { head_size, window, .. } = setting;
    let kv_heads = if kv_heads.is_nan() { setting.kv_heads } else { kv_heads };
    Attention { batch, tokens, heads, kv_heads, head_size, window }
}

/// Attention by shapes: a prompt, one token and what is in the cache before it, or several of both.
fn heads_place(batch: f64, queries: f64, past: f64, heads: f64, kv_heads: f64, setting: Setting) -> Point {
    let before = if past.is_nan() { 0.0 } else { past };
    let new = if queries.is_nan() { 1.0 } else { queries };
    if kv_heads.is_nan() && setting.head_size == 0.0 {
        return match (queries.is_nan(), past.is_nan()) {
            (false, true) => Point::latent_prefill(LatentAttention { batch, tokens: new, heads }),
            (true, _) => Point::latent_decode(LatentAttention { batch, tokens: before, heads }),
            (false, false) => {
                let all = LatentAttention { batch, tokens: before + new, heads }.prefill();
                let old = LatentAttention { batch, tokens: before, heads }.prefill();
                let work = Work { operations: all.operations - old.operations, bytes: all.bytes };
                let axes = smallvec![batch, new, before, heads];
                Point { axes, work, configuration: configuration(&[heads]), ..Point::default() }
            }
        };
    }
    let [_, cache] = setting.types;
    let call = heads_call([batch, before + new, heads, kv_heads], setting);
    match (queries.is_nan(), past.is_nan()) {
        (false, true) => Point::prefill(call),
        (true, _) => Point::decode(Attention { tokens: before, ..call }, cache.bytes()),
        (false, false) => {
            let work = call.with_cache(new, cache.bytes());
            let axes = smallvec![batch, new, before, heads / call.kv_heads, call.kv_heads];
            Point { axes, work, configuration: configuration(&[heads, call.kv_heads]), ..Point::default() }
        }
    }
}
